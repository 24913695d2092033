"""The capacity study: its spec, labelled data, summary, folder, resume and figure."""

import numpy as np
import pytest
from typer.testing import CliRunner

from hopfieldphase.cli import learn
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.capacity import OBSERVABLES, capacity_lines, capacity_summary
from hopfieldphase.learn import capacity_study
from hopfieldphase.learn.capacity import reliability
from hopfieldphase.learn.training import Training, train
from hopfieldphase.runs.capacity_spec import PRESETS, CapacitySpec

TINY = {"alphas": "1,2", "steps": 3, "examples": 6, "loads": "8,16", "betas": "1,4", "beta_load": 8}


@pytest.fixture(scope="module")
def tree():
    return capacity_study.capacity(CapacitySpec(**TINY, realizations=2))


def test_numbers_are_those_of_the_models(tree):
    for task in ("selective", "uniform"):
        trained = train(Training(task, 2.0, seed=1, steps=3))
        for group, at, M, beta in ((task, {"M": 16}, 16, 1.0), (f"{task}_beta", {"beta": 4.0}, 8, 4.0)):
            point = tree[group].to_dataset().sel(alpha=2.0, seed=1, **at)
            found = reliability(trained.model, trained.training.data, M, beta=beta, examples=6)
            for name in OBSERVABLES[task]:
                values = getattr(found, name)
                assert float(point[name]) == pytest.approx(values.mean(), rel=1e-12)
                error = values.std(ddof=1) / np.sqrt(6)
                assert float(point[f"{name}_error"]) == pytest.approx(error, rel=1e-12, abs=1e-15)
        np.testing.assert_array_equal(tree[task]["loss"].sel(alpha=2.0, seed=1), trained.losses)


def test_summary_reads_the_largest_load(tree):
    summary = capacity_summary(tree)
    last = tree["selective"].to_dataset().isel(M=-1).mean("seed")
    assert summary["selective"]["accuracy"] == pytest.approx(last["value_correct"].values)
    error = summary["uniform"]["relative_error"]
    assert summary["uniform"]["best"] == summary["alphas"][int(np.argmin(error))]
    assert all(len(line) <= 80 for line in capacity_lines(summary))


def test_specs():
    paper = CapacitySpec(**PRESETS["paper"])
    assert (paper.steps, paper.loads[0], paper.loads[-1], paper.betas[-1]) == (2500, 8, 4096, 512)
    quick = CapacitySpec(**PRESETS["quick"])
    assert quick.fingerprint != paper.fingerprint
    with pytest.raises(InputError, match="loads has 10 memories"):
        CapacitySpec(loads="10")
    with pytest.raises(InputError, match="alphas = 0 contains 0"):
        CapacitySpec(alphas="0")


class _Stop(Exception):
    pass


def test_a_stopped_study_goes_on(tmp_path):
    spec = CapacitySpec(**TINY)

    def stop(done, _):
        if done == 4:  # in the second model
            raise _Stop

    with pytest.raises(_Stop):
        capacity_study.compute_capacity(spec, tmp_path, progress=stop)
    seen = []
    whole = capacity_study.compute_capacity(spec, tmp_path, progress=lambda done, _: seen.append(done))
    assert seen[0] == 4  # the first model was whole
    assert whole == capacity_summary(capacity_study.capacity(spec))
    assert not list(tmp_path.glob(".training*"))


def test_command_writes_the_folder(tmp_path):
    options = [f"--{name}={value}" for name, value in TINY.items() if name != "beta_load"]
    done = CliRunner().invoke(learn.app, ["capacity", *options, "--out", str(tmp_path / "found")])
    assert done.exit_code == 0, done.output
    assert "selective: asked for one memory" in done.output
    assert {"data.zarr", "figure.png", "summary.json"} <= {f.name for f in (tmp_path / "found").iterdir()}


def test_unknown_preset():
    result = CliRunner().invoke(learn.app, ["capacity", "--preset", "slow"])
    assert isinstance(result.exception, InputError)
    assert "choose one of quick, paper" in str(result.exception)
