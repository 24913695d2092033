"""The capacity study: its spec, labelled data, summary, folder, resume and figure."""

import numpy as np
import pytest
from typer.testing import CliRunner

from hopfieldphase.cli import learn
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.capacity import capacity_lines, capacity_summary
from hopfieldphase.data.trained import OBSERVABLES, compared
from hopfieldphase.learn import capacity_study
from hopfieldphase.learn.capacity import reliability
from hopfieldphase.learn.training import Training, train
from hopfieldphase.learn.workers import run_trainings
from hopfieldphase.runs.capacity_spec import PRESETS, CapacitySpec
from hopfieldphase.runs.learned_maps import learned_map

pytestmark = pytest.mark.slow

TINY = {"maps": "softmax,sparsemax,asentmax", "steps": 3, "examples": 6, "loads": "8,16"}


@pytest.fixture(scope="module")
def tree():
    return capacity_study.capacity(CapacitySpec(**TINY, realizations=2))


@pytest.mark.parametrize("name", ["sparsemax", "asentmax"])
def test_numbers_are_those_of_the_models(tree, name):
    alpha, scaling = learned_map(name)
    for task in ("selective", "uniform"):
        trained = train(Training(task, alpha, scaling=scaling, seed=1, steps=3))
        point = tree[task].to_dataset().sel(map=name, seed=1, M=16)
        found = reliability(trained.model, trained.training.data, 16, examples=6)
        for observable in OBSERVABLES[task]:
            values = getattr(found, observable)
            assert float(point[observable]) == pytest.approx(values.mean(), rel=1e-12)
            error = values.std(ddof=1) / np.sqrt(6)
            assert float(point[f"{observable}_error"]) == pytest.approx(error, rel=1e-12, abs=1e-15)
        losses = tree[task]["loss"].sel(map=name, seed=1)
        np.testing.assert_allclose(losses, trained.losses, rtol=1e-15)  # each stretch is one step


def test_summary_reads_the_largest_load(tree):
    summary = capacity_summary(tree)
    last = tree["selective"].to_dataset().isel(M=-1).mean("seed")
    assert summary["selective"]["reliability"] == pytest.approx(last["value_correct"].values)
    errors = tree["uniform"].to_dataset()["relative_error"]
    ordering = summary["uniform"]["orderings"][0]
    assert (ordering["better"], ordering["worse"]) == ("softmax", "sparsemax")
    paired = (errors.sel(map="sparsemax") - errors.sel(map="softmax")).isel(M=0)
    assert ordering["differences"][0] == pytest.approx(float(paired.mean()))
    assert ordering["errors"][0] == pytest.approx(float(paired.std(ddof=1)) / np.sqrt(2))
    assert all(len(line) <= 80 for line in capacity_lines(summary))


def test_verdicts():
    assert compared(np.array([1.0, 1.1, 0.9]))["verdict"] == "holds"
    assert compared(np.array([-1.0, -1.1, -0.9]))["verdict"] == "opposite"
    assert compared(np.array([1.0, -1.1, 0.9]))["verdict"] == "undecided"
    assert compared(np.array([1.0]))["verdict"] == "undecided"
    assert compared(np.zeros(3))["verdict"] == "undecided"


def test_specs():
    paper = CapacitySpec(**PRESETS["paper"])
    assert (paper.steps, paper.loads[0], paper.loads[-1], paper.realizations) == (2500, 8, 4096, 3)
    assert CapacitySpec.model_validate(paper.model_dump()) == paper
    quick = CapacitySpec(**PRESETS["quick"])
    assert quick.fingerprint != paper.fingerprint


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loads": "10"}, "loads has 10 memories"),
        ({"maps": "softmin"}, "maps has 'softmin': choose among softmax, sparsemax"),
        ({"maps": "entmax-0"}, "alpha = 0"),
        ({"maps": "softmax,softmax"}, "give each once"),
        ({"tasks": "both"}, "tasks has 'both': use selective, uniform"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(InputError, match=message):
        CapacitySpec(**options)


def test_spec_survives_its_file(tmp_path):
    spec = CapacitySpec(**TINY)
    (tmp_path / "spec.toml").write_text(spec.to_toml())
    assert CapacitySpec.from_toml(tmp_path / "spec.toml") == spec


class _Stop(Exception):
    pass


def test_a_stopped_study_goes_on(tmp_path):
    spec = CapacitySpec(**TINY, realizations=1)

    def stop(done, *_):
        if done == 4:  # in the second model
            raise _Stop

    with pytest.raises(_Stop):
        capacity_study.compute_capacity(spec, tmp_path, progress=stop)
    seen = []
    whole = capacity_study.compute_capacity(spec, tmp_path, progress=lambda done, *_: seen.append(done))
    assert seen[0] == 4  # the first model was whole
    assert whole == capacity_summary(capacity_study.capacity(spec))
    assert not list(tmp_path.glob(".training*"))


def _train(training, news):
    return train(training, progress=news).losses


@pytest.mark.slow
def test_processes_train_the_same_models(monkeypatch):
    """One PyTorch thread each, so that bits do not depend on how many work."""
    trainings = [Training("selective", alpha, steps=60, batch_size=4, loads=(8,)) for alpha in (1.0, 2.0)]
    here = run_trainings(_train, trainings, 60, None)
    monkeypatch.setattr("hopfieldphase.learn.workers._FEW_STEPS", 0)
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", "2")
    seen = []
    apart = run_trainings(_train, trainings, 60, lambda *news: seen.append(news))
    np.testing.assert_array_equal(here, apart)
    assert seen
    assert seen[-1][1] == 120


def test_command_writes_the_folder(tmp_path):
    options = [f"--{name}={value}" for name, value in TINY.items()]
    done = CliRunner().invoke(
        learn.app, ["capacity", *options, "--realizations=1", "--out", str(tmp_path / "found")]
    )
    assert done.exit_code == 0, done.output
    assert "selective: asked for one memory" in done.output
    assert {"data.zarr", "figure.png", "summary.json"} <= {f.name for f in (tmp_path / "found").iterdir()}


@pytest.mark.parametrize("command", ["capacity", "temperature"])
def test_unknown_preset(command):
    result = CliRunner().invoke(learn.app, [command, "--preset", "slow"])
    assert isinstance(result.exception, InputError)
    assert "choose one of quick, paper" in str(result.exception)
