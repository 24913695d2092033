"""The study of learned operators: spec, labelled data, collapse as a result, folder, resume, refusals."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

from hopfieldphase.cli import main
from hopfieldphase.core.bootstrap import bootstrap_ratio
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.operators import Outcome, operators_lines, operators_summary
from hopfieldphase.dynamics.operator_scores import operator_scores
from hopfieldphase.kernels.distances import energy_distance
from hopfieldphase.learn import measure_cost, operator_study
from hopfieldphase.learn.measure_data import OPERATORS
from hopfieldphase.learn.measure_training import MeasureTraining, TrainedMap, train_map
from hopfieldphase.learn.operator_study import compute_operators, estimated_seconds, operators, planned
from hopfieldphase.plotting.operators import plot_operators
from hopfieldphase.runs.operators_spec import KERNELS, PRESETS, OperatorsSpec
from hopfieldphase.runs.studies import read_spec

pytestmark = pytest.mark.slow

TINY = {
    "kernels": "linear-elu,exponential", "transforms": "none,symlog", "points": 24, "batch": 2, "steps": 3,
    "warm_up": 1, "width": 8, "hidden": 8, "blocks": 2, "trials": 5,
}  # fmt: skip
DATA = Path(__file__).parents[2] / "results" / "operators.nc"


@pytest.fixture(scope="module")
def tree():
    return operators(OperatorsSpec(**TINY))


def run(*words):
    """Exit code of a command."""
    with pytest.raises(SystemExit) as stop:
        main(["learn", "operators", *words])
    return stop.value.code or 0


def test_numbers_are_those_of_the_models(tree):
    training = MeasureTraining(
        "exponential", symlog=True, points=24, batch=2, steps=3, warm_up=1, width=8, hidden=8, blocks=2
    )
    trained = train_map(training)
    at = {"transform": "symlog", "kernel": "exponential"}
    np.testing.assert_array_equal(tree["training"]["loss"].sel(at), trained.losses)

    def predict(x):
        with torch.inference_mode():
            return trained.model(torch.from_numpy(x.astype(np.float32)))

    scores = operator_scores(predict, OPERATORS["sheared-swap"], n=24, trials=5)
    trials, root = tree["trials"].to_dataset().sel(at), tree.to_dataset().sel(at)
    np.testing.assert_allclose(trials["distance"], scores.distances, rtol=1e-5)  # float32, batched or not
    np.testing.assert_array_equal(trials["reference"], scores.reference)
    np.testing.assert_allclose(trials["hill_error"], scores.tail_errors, rtol=1e-3)
    expected = bootstrap_ratio(trials["distance"], trials["reference"], "mean")
    found = root[["ratio", "ratio_low", "ratio_high"]].sel(summary="mean")
    assert [float(value) for value in found.values()] == [expected.ratio, expected.low, expected.high]
    errors, reference = (trials[name].sel(axis=1).values for name in ("hill_error", "hill_reference"))
    assert float(root["hill_discrepancy"].sel(axis=1)) == energy_distance(errors, reference, unbiased=True)
    assert tree.attrs["parameters"] == trained.model.size
    assert float(root["peak_memory"]) > 1e6


def constructed(monkeypatch, change):
    """Let every trained model be one whose affine map out is changed."""

    def trained(training, *_, **__):
        model = training.untrained()
        with torch.no_grad():
            change(model.output)
        return TrainedMap(training, model, np.ones(training.steps), 0, 0.1)

    monkeypatch.setattr(operator_study, "train_map", trained)


def one_point(layer):
    layer.weight.zero_()
    layer.bias.copy_(torch.tensor([1.0, 2.0]))


def test_a_collapse_is_a_result(monkeypatch):
    constructed(monkeypatch, one_point)
    tree = operators(OperatorsSpec(**TINY))
    assert (tree["outcome"] == Outcome.COLLAPSED).all()
    assert (tree["trials"]["spread"] == 0).all()
    assert np.isfinite(tree["ratio"]).all()
    assert np.isnan(tree["hill_discrepancy"]).all()  # equal points have no tail index
    summary = operators_summary(tree)
    assert summary["unconverged"] == []
    assert json.loads(json.dumps(summary, allow_nan=False))["models"][0]["hill"] == [None, None]
    assert sum("collapse" in line for line in operators_lines(summary)) == 4
    texts = [text.get_text() for text in plot_operators(tree)[0, 0].texts]
    assert texts == ["ensemble collapse"] * 2


def test_a_narrow_ensemble_is_collapsed_and_a_wide_one_is_not(monkeypatch):
    constructed(monkeypatch, lambda layer: layer.weight.mul_(1e-3))
    assert (operators(OperatorsSpec(**TINY))["outcome"] == Outcome.COLLAPSED).all()
    constructed(monkeypatch, lambda layer: layer.weight.mul_(10))
    assert (operators(OperatorsSpec(**TINY))["outcome"].sel(transform="none") == Outcome.SPREAD).all()


def test_outputs_that_are_not_finite_are_a_result(monkeypatch):
    constructed(monkeypatch, lambda layer: layer.bias.fill_(math.nan))
    tree = operators(OperatorsSpec(**TINY))
    assert (tree["outcome"] == Outcome.NOT_FINITE).all()
    assert np.isnan(tree["ratio"]).all()
    summary = operators_summary(tree)
    assert summary["models"][0]["median"] == [None, None, None]
    assert "outputs not finite" in "\n".join(operators_lines(summary))
    plot_operators(tree)


def test_summary_lines_and_figure(tree):
    summary = operators_summary(tree)
    assert [model["kernel"] for model in summary["models"]] == ["linear-elu", "exponential"] * 2
    lines = operators_lines(summary)
    assert all(len(line) <= 80 for line in lines)
    paper = operators_lines(summary | {"parameters": 3_163_906, "points": 16384, "batch": 64})
    assert "the paper, on an H200: 1.87 s a step and 69.4 GiB (exponential)," in paper
    assert paper[2:-2] == lines[2:]
    axes = plot_operators(tree)
    assert axes.shape == (2, 3)
    assert [line.get_label() for line in axes[1, 2].lines if line.get_label()[0] != "_"] == [
        "linear-elu", "exponential"
    ]  # fmt: skip


def test_the_tree_survives_a_file(tree, tmp_path):
    store.write(tree, tmp_path / "data.nc")
    again = store.open(tmp_path / "data.nc")
    assert operators_summary(again) == operators_summary(tree)


class _Stop(Exception):
    pass


def test_a_stopped_study_goes_on(tmp_path, tree):
    spec = OperatorsSpec(**TINY)

    def stop(done, *_):
        if done == 4:  # in the second model
            raise _Stop

    with pytest.raises(_Stop):
        compute_operators(spec, tmp_path, progress=stop)
    seen = []
    summary = compute_operators(spec, tmp_path, progress=lambda done, *_: seen.append(done))
    assert seen[0] == 4  # the first model was whole
    for found, expected in zip(summary["models"], operators_summary(tree)["models"], strict=True):
        for name in ("median", "mean", "hill", "loss"):
            assert found[name] == expected[name]
    assert not list(tmp_path.glob(".training*"))


def test_minutes_set_the_number_of_steps(monkeypatch):
    monkeypatch.setattr(operator_study, "measured_step", lambda *_: 0.5)
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", "2")
    spec = OperatorsSpec(**TINY | {"steps": 1000, "warm_up": 100, "minutes": 0.5})
    steps = {(job.training.steps, job.training.warm_up) for job in planned(spec)}
    assert steps == {(30, 15)}  # 30 s in two processes for four models with 0.5 s a step
    assert {job.training.steps for job in planned(spec.model_copy(update={"minutes": 1e3}))} == {1000}
    assert estimated_seconds(spec.model_copy(update={"minutes": None})) == 1000 * 4 * 0.5 / 2
    assert estimated_seconds(spec) == 30


def test_specs():
    paper = OperatorsSpec(**PRESETS["paper"])
    assert (paper.points, paper.batch, paper.steps, paper.trials) == (16384, 64, 50000, 128)
    assert (paper.learning_rate, paper.width, paper.hidden, paper.blocks) == (1e-3, 256, 512, 6)
    assert paper.kernels == KERNELS
    assert OperatorsSpec(**PRESETS["small"]).fingerprint != paper.fingerprint
    for options, words in (
        ({"kernels": "relu"}, "kernels has 'relu': use exponential"),
        ({"kernels": "log-elu,log-elu"}, "each once"),
        ({"transforms": "symlgo"}, "transforms has 'symlgo'; the nearest is 'symlog'"),
        ({"operator": "matrix-inverse", "family": "gaussian"}, "no right answer"),
        ({"fraction": 0.01, "points": 64}, "fraction = 0.01 of 64 points is none"),
        ({"device": "tpu"}, "device = 'tpu' is unknown"),
    ):
        with pytest.raises(InputError, match=words):
            OperatorsSpec(**options)


def test_the_study_file_is_the_small_preset(tmp_path):
    spec = read_spec(Path(__file__).parents[2] / "sweeps" / "operators.toml")
    assert spec == OperatorsSpec(**PRESETS["small"])
    (tmp_path / "again.toml").write_text(spec.to_toml(), encoding="utf-8")
    assert read_spec(tmp_path / "again.toml") == spec


def test_command_writes_the_folder(tmp_path, capfd):
    words = [f"--{name}={value}" for name, value in TINY.items() if name in ("points", "kernels", "trials")]
    options = ("--preset", "smoke", *words, "--steps", "2", "--out", str(tmp_path / "found"))
    assert run(*options) == 0
    out, err = capfd.readouterr()
    assert "energy distance / i.i.d. floor" in out
    assert "training takes about" in err
    assert {"data.zarr", "figure.png", "summary.json"} <= {f.name for f in (tmp_path / "found").iterdir()}
    assert run(*options) == 0
    assert "already done" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--preset", "huge"), "preset = huge: choose one of paper, small, smoke"),
        (("--kernels", "relu"), "kernels has 'relu'"),
        (("--device", "tpu"), "device = 'tpu' is unknown"),
        (("--preset", "paper"), "this machine has 8 GiB"),
        (("--preset", "paper", "--minutes", "1"), "this machine has 8 GiB"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(tmp_path, monkeypatch, capfd, words, says):
    monkeypatch.setattr(measure_cost, "available_memory", lambda device: 8 * measure_cost.GIB)
    assert run(*words, "--out", str(tmp_path / "found")) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert says in line
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_without_a_gpu(tmp_path, capfd):
    assert run("--preset", "smoke", "--device", "cuda", "--out", str(tmp_path / "found")) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "PyTorch sees no GPU" in line
    assert not list(tmp_path.iterdir())


def test_the_state_of_another_training_is_refused_and_stays(tmp_path, capfd):
    folder = tmp_path / "found"
    folder.mkdir()
    training = operator_study.planned(OperatorsSpec(**PRESETS["smoke"]))[0].training
    state = folder / f".training-{training.kernel}.pt"
    with pytest.raises(_Stop):
        train_map(training, state, progress=_raise, save_every=0)
    content = state.read_bytes()
    assert run("--preset", "smoke", "--steps", "7", "--out", str(folder)) == 2
    assert "state of another training, with steps = 6 and not 7" in capfd.readouterr().err
    assert state.read_bytes() == content
    assert [file.name for file in folder.iterdir()] == [state.name]
    shutil.rmtree(folder)


def _raise(*_):
    raise _Stop


def test_the_committed_result_is_that_of_the_study_file():
    tree = store.open(DATA)
    spec = OperatorsSpec(**PRESETS["small"])
    assert {name: tree.attrs[name] for name in ("points", "batch", "steps", "width", "trials", "seed")} == {
        name: getattr(spec, name) for name in ("points", "batch", "steps", "width", "trials", "seed")
    }
    assert DATA.stat().st_size < 300_000
    page = (DATA.parents[1] / "docs" / "learned-operators.md").read_text(encoding="utf-8")
    models = operators_summary(tree)["models"]
    assert len(models) == len(spec.kernels) * len(spec.transforms)
    for model in models:  # the table of the page
        scores = [
            f"{model[name][0]:.2f} [{model[name][1]:.2f}, {model[name][2]:.2f}]"
            for name in ("median", "mean")
        ]
        row = (
            model["transform"],
            model["kernel"],
            model["outcome"],
            *scores,
            *(f"{e:.1e}" for e in model["hill"]),
        )
        assert f"| {' | '.join(row)} |" in page
