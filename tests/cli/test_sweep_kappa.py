"""`hopfieldphase sweep kappa`: what it writes, says and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core.patterns import sequence
from hopfieldphase.data import store
from hopfieldphase.runs.kappa import sweep_kappa_tree
from hopfieldphase.runs.kappa_spec import KappaSpec

# A sweep of a few milliseconds.
SMALL = ("--d", "16", "--beta", "60", "--kappas", "0.15:0.3:0.05", "--realizations", "2")


def test_a_sweep_writes_a_complete_result_with_its_events(run):
    done = run("sweep", "kappa", *SMALL)
    assert done.code == 0
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("sweep-kappa-")
    names = {"data.zarr", "figure.png", "figure.svg", "spec.toml", "summary.json", "provenance.json"}
    assert {entry.name for entry in folder.iterdir()} == names
    spec = KappaSpec.from_toml(folder / "spec.toml")
    assert spec.default_folder == folder
    tree = store.open(folder / "data.zarr")
    assert isinstance(tree, xr.DataTree)
    xr.testing.assert_identical(tree, sweep_kappa_tree(spec))
    sequences = [sequence("clustered", 16, realization=k) for k in range(2)]
    xr.testing.assert_equal(tree, sweep_kappa_tree(sequences, "0.15:0.3:0.05", 60.0))
    with xr.open_zarr(folder / "data.zarr", group="events") as events:
        assert events.sizes["event"] > 0
        assert {"M", "pattern", "kind", "jumped"} <= set(events.variables)
    assert done.error_lines[0].startswith(
        "sweep kappa: alpha 2, beta 60, clustered, d 16, kappa 0.15:0.3:0.05, 2 realizations"
    )
    assert done.error_lines[-1] == f"wrote {folder}; see hopfieldphase info {folder}"
    assert "beta = 60" in done.out
    assert "patterns in each realization act on the state as they enter" in " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_summary_lists_every_jump_to_the_single_pattern(run):
    done = run("sweep", "kappa", *SMALL, "--out", "x", "--json", "--quiet")
    assert done.err == ""
    summary = json.loads(done.out)
    assert summary == json.loads(Path("x/summary.json").read_text())
    assert summary["model"] == {
        "alpha": 2.0, "beta": 60.0, "d": 16, "start_up": "mean", "start_down": "pattern:0"
    }  # fmt: skip
    events = store.open("x/data.zarr")["events"].to_dataset(inherit=False)
    for way in ("up", "down"):
        for k in range(2):
            own = (events["realization"] == k) & (events["direction"] == way)
            found = summary["events"][way][k]
            assert found["events"] == int(own.sum())
            jumps = events.isel(event=(own & events["jumped"]).values)
            assert [jump["M"] for jump in found["jumps"]] == jumps["M"].values.tolist()
            for jump in found["jumps"]:
                assert jump["pattern"] == jump["M"] - (way == "up")
                assert jump["kappa"] == pytest.approx(np.log(jump["M"]) / 16)
                assert {"free_energy_before", "free_energy_after", "overlap_max_after"} <= set(jump)
    shown = run("info", "x", "--json")
    assert json.loads(shown.out)["summary"]["events"] == summary["events"]


@pytest.mark.slow
def test_the_default_is_figure_4_of_the_paper(run):
    done = run("sweep", "kappa", "--alpha", "2", "--json", "--quiet")
    assert done.code == 0
    summary = json.loads(done.out)
    assert summary["points"] == summary["verified_minima"] == 540
    assert summary["hysteresis"]["realizations"] == 10
    (folder,) = Path("runs").iterdir()
    spec = KappaSpec.from_toml(folder / "spec.toml")
    assert (spec.beta, spec.patterns.d, spec.realizations) == (180.0, 48, 10)
    assert len(spec.kappas) == 27
    assert store.open(folder / "data.zarr")["M"].values[-1] == 9136


def test_softmax_names_no_pattern_where_nothing_jumps(run):
    done = run("sweep", "kappa", *SMALL, "--alpha", "1", "--beta", "20", "--realizations", "1", "--no-plot")
    assert done.code == 0
    assert "all patterns act on the state as they enter; none makes it jump" in done.out


def test_the_same_spec_again_is_already_done(run):
    run("sweep", "kappa", *SMALL, "--out", "x", "--no-plot")
    again = run("sweep", "kappa", *SMALL, "--out", "x", "--no-plot", "--seed", "0", "--alpha", "2.0")
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"
    other = run("sweep", "kappa", *SMALL, "--out", "x", "--no-plot", "--seed", "1")
    assert other.code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--kappas", "0.3:0.1:0.01"), "kappas = 0.3:0.1:0.01 is reversed"),
        (("--kappas", "0.1:nan:0.01"), "nan is not finite"),
        (("--kappas=-0.1:0.1:0.05",), "outside its domain (0, inf)"),
        (("--beta", "0"), "beta = 0.0 is outside its domain (0, inf)"),
        (("--alpha", "-1"), "alpha = -1.0"),
        (
            ("--generator", "two_keys"),
            "two_keys patterns do not serve here: use clustered, spherical, gaussian",
        ),
        (("--generator", "spherical", "--delta", "0.1"), "delta does not apply to spherical patterns"),
        (("--start-up", "pattern:11", "--kappas", "0.15,0.3"), "there are 11 patterns"),
        (("--start-down", "pattern:500"), "start_down = pattern:500, but there are 122 patterns"),
        (("--start-up", "continue", "--start-down", "continue"), "both 'continue'"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(run, options, words):
    done = run("sweep", "kappa", *SMALL, *options)
    assert done.code == 2
    assert len(done.error_lines) == 1
    assert done.error_lines[0].startswith("error: ")
    assert words in done.error_lines[0]
    assert not Path("runs").exists()


def test_more_patterns_than_memory_holds_are_refused(run):
    done = run("sweep", "kappa", *SMALL, "--kappas", "0.1:2:0.1")
    assert done.code == 2
    assert "kappa = 2 at d = 16 means M = 10^13.9 patterns, but the memory of this machine holds" in done.err
    assert done.error_lines[-1].startswith("error: ")
    assert not Path("runs").exists()


def test_options_of_a_fixed_number_of_patterns_are_unknown(run):
    done = run("sweep", "kappa", "--M", "100")
    assert done.code == 2
    assert "--M" in done.err
