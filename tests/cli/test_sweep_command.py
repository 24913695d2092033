"""`hopfieldphase sweep beta`: what it writes, says and returns."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import hopfieldphase
from hopfieldphase.core.patterns import spherical
from hopfieldphase.core.status import Status
from hopfieldphase.data import patterns_io, store
from hopfieldphase.runs import sweep_results
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.sweeps import sweep_beta

RESULT = {"data.zarr", "figure.png", "figure.svg", "spec.toml", "summary.json", "provenance.json"}


def names(path: str | Path) -> set[str]:
    return {entry.name for entry in Path(path).iterdir()}


def test_a_sweep_writes_a_complete_result_and_says_where(run, small):
    done = run("sweep", "beta", *small)
    assert done.code == 0
    (folder,) = Path("runs").iterdir()
    assert names(folder) == RESULT
    spec = SweepSpec.from_toml(folder / "spec.toml")
    assert spec.default_folder == folder
    # The dataset is the one that Python gives for this spec.
    xr.testing.assert_identical(store.open(folder / "data.zarr"), sweep_beta(spec))
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert "sweep" in done.out
    assert "of 12 points are verified minima" in done.out
    assert done.error_lines[0].startswith("sweep beta: alpha 2, clustered, M 10, d 8, beta 20:60:20")
    assert done.error_lines[-1] == f"wrote {folder}; see hopfieldphase info {folder}"
    assert max(map(len, done.out.splitlines())) <= 80
    assert len(done.error_lines[-1]) <= 80


@pytest.mark.slow
def test_the_default_is_figure_2_of_the_paper(run):
    """Saturation at 1/64 with zero spread at β = 400, K_Δ = 0 at β = 20, hysteresis between."""
    done = run("sweep", "beta", "--alpha", "2", "--json", "--quiet")
    assert done.code == 0
    summary = json.loads(done.out)
    assert summary["points"] == summary["verified_minima"] == 3820
    (folder,) = Path("runs").iterdir()
    data = xr.open_zarr(folder / "data.zarr")
    assert dict(data.sizes) == {"realization": 10, "direction": 2, "beta": 191}
    assert (data["threshold_count"].sel(beta=20) == 0).all()
    last = data.sel(beta=400)
    # The exact overlap of a stored pattern with itself, s² = 1/64; 1e-9 as in the paper's saturation.
    np.testing.assert_allclose(last["overlap_max"], 1 / 64, rtol=0, atol=1e-9)
    np.testing.assert_allclose(last["ipr"], 1, rtol=0, atol=1e-9)
    mean = data["overlap_max"].mean("realization").sel(beta=slice(220, 300))
    assert float((mean.sel(direction="down") - mean.sel(direction="up")).max()) > 0.0005


def test_json_is_the_summary_file_and_nothing_else(run, small):
    done = run("sweep", "beta", *small, "--out", "x", "--json")
    assert json.loads(done.out) == json.loads(Path("x/summary.json").read_text())
    assert done.out == Path("x/summary.json").read_text()


def test_quiet_says_nothing_but_json(run, small):
    assert run("sweep", "beta", *small, "--out", "x", "--quiet") == type(run("--version"))(0, "", "")
    done = run("sweep", "beta", *small, "--out", "y", "--quiet", "--json")
    assert done.err == ""
    assert json.loads(done.out)["points"] == 12


def test_the_same_spec_again_is_already_done(run, small, monkeypatch):
    first = run("sweep", "beta", *small, "--out", "x")
    monkeypatch.setattr(sweep_results, "compute_result", lambda *_, **__: pytest.fail("computed again"))
    again = run("sweep", "beta", *small, "--out", "x")
    assert again.code == 0
    assert again.out == first.out
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"
    assert again.error_lines[-1] == "kept x; see hopfieldphase info x"
    # Written differently, the same study.
    assert run("sweep", "beta", *small, "--alpha", "2.0", "--seed", "0", "--out", "x").code == 0


@pytest.mark.slow
def test_force_another_version_and_a_missing_figure_compute_again(run, small, monkeypatch):
    run("sweep", "beta", *small, "--out", "x", "--no-plot")
    assert names("x") == RESULT - {"figure.png", "figure.svg"}
    assert "already done" in run("sweep", "beta", *small, "--out", "x", "--no-plot").err
    assert "already done" not in run("sweep", "beta", *small, "--out", "x").err
    assert names("x") == RESULT
    assert "already done" not in run("sweep", "beta", *small, "--out", "x", "--force").err
    marker = json.loads(Path("x/provenance.json").read_text())
    Path("x/provenance.json").write_text(json.dumps(marker | {"package_version": "0.0.1"}))
    assert "already done" not in run("sweep", "beta", *small, "--out", "x").err
    assert json.loads(Path("x/provenance.json").read_text())["package_version"] == hopfieldphase.__version__


def test_another_spec_is_refused_and_replaced_by_force(run, small):
    run("sweep", "beta", *small, "--out", "x")
    before = Path("x/summary.json").read_text()
    refused = run("sweep", "beta", *small, "--alpha", "1", "--out", "x")
    assert refused.code == 2
    assert refused.error_lines == [
        "error: x holds the result of another spec: choose another folder with --out, "
        "or replace it with --force"
    ]
    assert Path("x/summary.json").read_text() == before
    assert run("sweep", "beta", *small, "--alpha", "1", "--out", "x", "--force", "--no-plot").code == 0
    assert SweepSpec.from_toml("x/spec.toml").alpha == 1.0
    assert names("x") == RESULT - {"figure.png", "figure.svg"}


def test_the_command_to_go_on_with_can_be_pasted(run, small):
    done = run("sweep", "beta", *small, "--out", "my results", "--no-plot")
    assert done.error_lines[-1] == "wrote my results; see hopfieldphase info 'my results'"


def test_states_are_kept_on_request(run, small):
    run("sweep", "beta", *small, "--out", "x", "--states", "--no-plot")
    assert store.open("x/data.zarr")["state"].shape == (2, 2, 3, 8)


@pytest.mark.parametrize("alpha", ["inf", "1", "0.5", "1.5", "3"])
def test_every_alpha_runs(run, small, alpha):
    done = run("sweep", "beta", *small, "--alpha", alpha, "--out", "x", "--json", "--no-plot")
    assert done.code in (0, 3)
    assert store.open("x/data.zarr").attrs["alpha"] == float(alpha)
    assert json.loads(done.out)["points"] == 12


def test_measured_patterns_get_a_range_of_their_own_and_their_norms_are_named(run):
    patterns_io.save("keys.npy", 3 * spherical(12, 6))
    done = run("sweep", "beta", "--patterns", "keys.npy", "--out", "x", "--no-plot")
    assert done.code == 0
    assert "not of unit norm" in done.out
    assert done.error_lines[0].startswith("sweep beta: alpha 2, keys.npy, beta ")
    data = store.open("x/data.zarr")
    # A pattern is stored exactly at the end of the range, and its overlap with itself is s²|ξ|² = 9/6.
    assert float(data["overlap_max"].sel(direction="down")[0, -1]) == pytest.approx(1.5, rel=1e-12)
    assert (data.attrs["M"], data.attrs["d"]) == (12, 6)


def test_the_digits_run_with_a_range_of_their_own(run):
    pytest.importorskip("sklearn")
    patterns_io.save("digits.npy", patterns_io.digits()[:60])
    done = run("sweep", "beta", "--alpha", "2", "--patterns", "digits.npy", "--json", "--quiet", "--no-plot")
    assert done.code == 0
    assert json.loads(done.out)["model"] == {
        "alpha": 2.0, "M": 60, "d": 64, "start_up": "mean", "start_down": "pattern:0"
    }  # fmt: skip


def test_points_that_did_not_converge_are_named_and_give_exit_code_3(run, small, monkeypatch):
    def failing(spec: SweepSpec, **options: object) -> xr.Dataset:
        dataset = sweep_beta(spec)
        dataset["status"][1, 0, 1:] = Status.ITERATION_LIMIT
        dataset["residual"][1, 0, 1:] = 1e-5
        return dataset

    monkeypatch.setattr(sweep_results, "sweep_spec", failing)
    for words in ((), (), ("--quiet",)):  # computed, shown again, and never left out
        done = run("sweep", "beta", *small, "--out", "x", "--no-plot", *words)
        assert done.code == 3
        assert "warning: 2 of 12 points did not converge:" in done.error_lines
        assert (
            "  realization 1, up, beta 40: iteration limit, residual 1.0e-05, last good beta 20"
            in done.error_lines
        )
        assert "try --solver newton" in done.err
    assert len(json.loads(Path("x/summary.json").read_text())["unconverged"]) == 2


def test_a_log_gets_plain_lines_of_progress(run, small):
    done = run("sweep", "beta", *small, "--realizations", "20", "--out", "x", "--no-plot")
    progress = [line for line in done.error_lines if "%" in line]
    assert [line[:4] for line in progress] == [f"{tenth:3d} " for tenth in range(10, 101, 10)]
    assert "2 of 20 realizations" in progress[0]
    assert "\x1b" not in done.err + done.out
