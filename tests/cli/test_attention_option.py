"""`--attention` of the commands for sweeps and branches."""

import json
from pathlib import Path

import pytest
import xarray as xr

from hopfieldphase.runs.attention_spec import PARAMETERS

RESULT = {"data.zarr", "figure.png", "figure.svg", "spec.toml", "summary.json", "provenance.json"}
BRANCHES = ("branches", "beta", "--M", "20", "--d", "8", "--betas", "20:80:20")


def names(path):
    return {entry.name for entry in Path(path).iterdir()}


def test_a_sweep_writes_a_complete_result(run, small):
    done = run("sweep", "beta", *small, "--attention", "log-elu")
    assert done.code == 0
    (folder,) = Path("runs").iterdir()
    assert names(folder) == RESULT
    assert done.error_lines[0].startswith("sweep beta: log-elu, clustered, M 10, d 8, beta 20:60:20")
    assert done.out.splitlines()[0] == "sweep       log-elu, M = 10, d = 8, 2 realizations"
    data = xr.open_zarr(folder / "data.zarr")
    assert "free_energy" not in data
    assert (data["spectral_radius"] < 1).all()
    again = run("run", str(folder / "spec.toml"))
    assert again.code == 0
    assert again.error_lines[0] == f"already done: {folder} holds this result (--force recomputes)"
    assert run("info", str(folder)).code == 0


@pytest.mark.slow
def test_parameters_reach_the_map(run, small):
    done = run("sweep", "beta", *small, "--attention", "top-k", "--k", "3", "--json", "--quiet")
    assert done.code == 0
    summary = json.loads(done.out)
    assert summary["model"]["attention"]["k"] == 3
    assert summary["stability"]["free_energy"] is True
    done = run("sweep", "beta", *small, "--attention", "entmax", "--alpha", "1.5", "--json", "--quiet")
    assert json.loads(done.out)["model"]["attention"] == {"name": "entmax", "alpha": 1.5}


def test_branches_write_a_complete_result(run):
    done = run(*BRANCHES, "--attention", "squared-elu", "--out", "found")
    assert done.code == 0
    assert names("found") == RESULT
    assert done.error_lines[0].startswith("branches beta: squared-elu, clustered, M 20, d 8, at beta 60")
    assert max(map(len, done.out.splitlines())) <= 80
    assert run("info", "found").code == 0
    again = run("run", "found/spec.toml", "--out", "found")
    assert "already done" in again.err


@pytest.mark.parametrize("command", [("sweep", "beta"), BRANCHES])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--attention", "logelu"), "the nearest is 'log-elu'"),
        (("--attention", "top-k"), "top-k attention needs k: give a value"),
        (("--k", "3"), "k is given without an attention map: add --attention NAME"),
        (("--attention", "top-k", "--k", "0"), "k = 0 is not a whole number >= 1"),
        (("--attention", "log-elu", "--alpha", "2"), "alpha does not apply to log-elu attention"),
        (("--attention", "top-p", "--p", "2"), "p = 2.0 is outside its domain (0, 1]"),
        (("--attention", "normmax", "--gamma", "1"), "gamma = 1.0 is outside its domain (1, inf]"),
    ],
)
def test_bad_input_is_one_line(run, command, words, message):
    done = run(*command, *words)
    assert done.code == 2
    assert done.out == ""
    assert len(done.error_lines) == 1
    assert message in done.err
    assert not Path("runs").exists()


def test_what_needs_a_free_energy_says_so(run, small):
    done = run("sweep", "beta", *small, "--attention", "log-elu", "--start-up", "best")
    assert done.code == 2
    assert "'best' compares free energies, which log-elu attention does not have" in done.error_lines[-1]


def test_too_many_selected_patterns_are_refused(run, small):
    done = run("sweep", "beta", *small, "--attention", "top-k", "--k", "11")
    assert done.code == 2
    assert done.error_lines[-1] == "error: k = 11 is above the number of scores, 10: give 1 <= k <= 10"


def test_help_names_every_map(run):
    for command in ("sweep", "branches"):
        text = " ".join(run(command, "beta", "--help").out.split()).replace("- ", "-")
        for name in PARAMETERS:
            assert name in text
