"""`hopfieldphase stability`: what it writes, says and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.data import store
from hopfieldphase.data.stability import stability_lines, stability_summary
from hopfieldphase.runs import studies
from hopfieldphase.runs.stability import stability
from hopfieldphase.runs.stability_spec import DEFAULT_STEPS, StabilitySpec

SMALL = ("--M", "12", "--d", "8", "--beta", "30")
RESULT = {"data.zarr", "figure.png", "figure.svg", "spec.toml", "summary.json", "provenance.json"}


def test_it_writes_a_complete_result_and_says_where(run):
    done = run("stability", *SMALL, "--alpha", "1")
    assert done.code == 0
    (folder,) = Path("runs").iterdir()
    assert {entry.name for entry in folder.iterdir()} == RESULT
    spec = StabilitySpec.from_toml(folder / "spec.toml")
    assert spec.default_folder == folder
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    tree = store.open(folder / "data.zarr")
    again = stability(spec)
    assert tree.attrs == again.attrs
    assert set(tree["modes"].variables) == set(again["modes"].variables)
    # What rounding leaves in single modes, and with it growth from there, differs between runs.
    shown = ["distance", "overlap_max", "onset_predicted", "step", "n_steps", "forecast", "outcome"]
    xr.testing.assert_allclose(
        tree.to_dataset()[shown].isel(iteration=slice(40)),
        again.to_dataset()[shown].isel(iteration=slice(40)),
    )
    assert json.loads((folder / "summary.json").read_text()) == stability_summary(tree)
    assert done.out.splitlines() == stability_lines(stability_summary(tree))
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.error_lines[0].startswith("update stability: alpha 1, clustered, M 12, d 8, beta 30")
    assert done.error_lines[-1] == f"wrote {folder}; see hopfieldphase info {folder}"


def test_the_defaults_are_those_of_the_spec(run):
    assert run("stability", "--out", "x", "--no-plot", "--quiet").code == 0
    assert StabilitySpec.from_toml("x/spec.toml") == StabilitySpec()
    assert (
        run("stability", "--steps", DEFAULT_STEPS, "--out", "x", "--no-plot")
        .error_lines[0]
        .startswith("already done")
    )


@pytest.mark.parametrize(("figure", "alpha"), [(10, 2.0), (11, 1.0)])
def test_the_figure_files_are_the_paper_s_setting(figure, alpha):
    path = Path(__file__).parents[2] / "sweeps" / f"figure-{figure}.toml"
    assert StabilitySpec.from_toml(path) == StabilitySpec(alpha=alpha)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_the_paper_s_setting_has_the_predicted_outcomes(alpha):
    summary = stability_summary(stability(StabilitySpec(alpha=alpha)))
    outcomes = [(step["factor"], step["forecast"], step["outcome"]) for step in summary["steps"]]
    assert outcomes == [
        (0.5, "stable", "converges"),
        (0.9, "stable", "converges"),
        (1.0, "marginal", "persists"),
        (1.02, "unstable", "diverges"),
        (1.1, "unstable", "diverges"),
    ]
    assert summary["unconverged"] == []
    assert summary["rate_deviation"] < 1e-9
    assert [step["onset"] for step in summary["steps"]] == [
        step["onset_predicted"] for step in summary["steps"]
    ]
    if alpha == 2:
        assert summary["fixed_point"]["overlap_max"] == pytest.approx(1 / 64)
        assert summary["critical_step"] == 2 / 300
        assert summary["soft_dimension"] == 64
    else:
        assert summary["critical_step"] == pytest.approx(2.0038899361 / 300, rel=1e-9)
        assert summary["soft_dimension"] == 1


def test_json_is_the_summary_file(run):
    done = run("stability", *SMALL, "--out", "x", "--json", "--quiet", "--no-plot")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == json.loads(Path("x/summary.json").read_text())
    assert not Path("x/figure.png").exists()


def test_info_and_run_know_the_study(run):
    done = run("stability", *SMALL, "--out", "x", "--no-plot")
    assert "update stability" in run("info", "x").out
    again = run("run", "x/spec.toml", "--out", "y", "--no-plot")
    assert again.code == 0
    # All but the deviations of the rates, which are rounding.
    assert again.out.splitlines()[:-1] == done.out.splitlines()[:-1]


def test_the_same_spec_again_is_already_done(run, monkeypatch):
    first = run("stability", *SMALL, "--out", "x", "--no-plot")
    monkeypatch.setattr(studies, "compute", lambda *_, **__: pytest.fail("computed again"))
    again = run("stability", *SMALL, "--out", "x", "--no-plot")
    assert (again.code, again.out) == (0, first.out)
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"


def test_an_iteration_limit_before_convergence_is_named(run):
    done = run("stability", *SMALL, "--steps", "0.001", "--iterations", "5", "--out", "x", "--no-plot")
    assert done.code == 3
    assert "eta/eta_crit = 0.001 had not converged after 5 iterations" in done.err


@pytest.mark.parametrize(
    "words", [("--alpha", "inf"), ("--start", "mean", "--alpha", "0.7"), ("--seed", "4")]
)
def test_other_settings_have_a_result(run, words):
    done = run("stability", *SMALL, *words, "--out", "x", "--json", "--quiet", "--no-plot")
    assert done.code == 0
    assert json.loads(done.out)["rate_deviation"] < 1e-7


def test_patterns_of_a_file(run):
    np.save("keys.npy", np.eye(4))
    done = run("stability", "--patterns", "keys.npy", "--beta", "20", "--out", "x", "--no-plot")
    assert done.code == 0
    assert "keys.npy" in done.err
    assert "sha256" in Path("x/spec.toml").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--steps", "2,1"), "steps = 2,1 is not strictly ascending"),
        (("--steps", "0"), "steps = 0 contains 0"),
        (("--steps", "0.5,x"), "'x' is not a number"),
        (("--steps", "2000"), "steps = 2000 goes beyond 1000"),
        (("--amplitude", "0"), "amplitude = 0.0 is outside its domain"),
        (("--amplitude", "nan"), "amplitude = nan is outside its domain"),
        (("--iterations", "0"), "iterations = 0 is not a whole number >= 1"),
        (("--iterations", "1000000"), "iterations = 1000000 is above 100000"),
        (("--start", "best"), "start = 'best' is not a start"),
        (("--start", "pattern:100"), "start = pattern:100, but there are 100 patterns"),
        (("--beta", "0"), "beta = 0.0 is outside its domain"),
        (("--alpha", "0"), "alpha = 0.0 is outside its domain"),
        (("--realization", "-1"), "realization = -1 is not a whole number"),
        (("--generator", "equicorrelated", "--M", "3", "--realization", "1"), "have no randomness"),
        (("--generator", "digits", "--start", "pattern:1797"), "numbered 0 to 1796"),
        (
            ("--generator", "two_keys", "--epsilon", "0.5", "--beta", "64", "--start", "mean"),
            "leads to no verified minimum",
        ),
        (("--step", "1"), "no option --step; the nearest is --steps"),
    ],
)
def test_bad_input_is_one_line(run, words, message):
    done = run("stability", *words, "--quiet", "--no-plot")
    assert done.code == 2
    assert len(done.error_lines) == 1
    assert message in done.err
    assert not Path("runs").exists() or not any(Path("runs").glob("*/provenance.json"))
