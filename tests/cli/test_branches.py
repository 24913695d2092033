"""`hopfieldphase branches beta`: what it writes, says and returns."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import hopfieldphase as hp
from hopfieldphase.core.patterns import spherical
from hopfieldphase.data import patterns_io, store
from hopfieldphase.runs import branches as runs

RESULT = {"data.zarr", "figure.png", "figure.svg", "spec.toml", "summary.json", "provenance.json"}
SMALL = ("--M", "20", "--d", "12", "--at", "60")

# Supports of at most six patterns: events are zeros of sums of five poles, good to a few rounding errors.
RELATIVE = 1e-12


def names(path):
    return {entry.name for entry in Path(path).iterdir()}


def test_it_writes_a_complete_result_and_says_where(run):
    done = run("branches", "beta", *SMALL)
    assert done.code == 0
    (folder,) = Path("runs").iterdir()
    assert names(folder) == RESULT
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")
    lines = done.out.splitlines()
    assert any(line.split()[:2] == ["branch", "support"] for line in lines)
    assert lines[1].startswith("reference   beta = 60: ")
    assert max(map(len, lines)) <= 80
    assert done.error_lines[0] == "branches beta: alpha 2, clustered, M 20, d 12, at beta 60, all beta"
    assert done.error_lines[-2] == f"figure: {folder}/figure.png"
    assert done.error_lines[-1] == f"wrote {folder}; see hopfieldphase info {folder}"
    assert max(map(len, done.error_lines)) <= 80
    summary = json.loads((folder / "summary.json").read_text())
    read = hp.open(folder / "data.zarr")
    assert read[0].at(60.0).free_energy == summary["branches"][0]["free_energy"]


@pytest.mark.slow
def test_the_default_is_the_papers_data_at_290(run):
    done = run("branches", "beta", "--json", "--quiet")
    assert done.code == 0
    summary = json.loads(done.out)
    assert (summary["reference"], summary["search"]["minima"]) == (290.0, 98)
    assert summary["range"] == {"lower": None, "upper": None}
    # At least the stored patterns: equal energies, z_max = s² = 1/64.
    stored = [row for row in summary["branches"] if len(row["support"]) == 1]
    assert len(stored) >= 5
    for row in stored:
        assert row["overlap_max"] == pytest.approx(1 / 64, rel=1e-12)
        assert row["beta_max"] is None
        assert row["beta_max_end"]["type"] == "unbounded"
        assert row["beta_min_end"]["type"] == "enters"
        assert row["beta_min_end"]["pattern"] not in (None, *row["support"])
    assert summary["equilibrium"][-1]["beta_max"] is None


@pytest.mark.slow
@pytest.mark.parametrize("case", range(4))
def test_exact_states_of_a_pattern_file(run, reference_values, case):
    """Every stable α = 2 state with its energy, the ends of its piece and what ends it (40 digits)."""
    expected = reference_values["exact_alpha2"][case]
    a, b, c = expected["pattern_parameters"]
    m, i = np.arange(1, expected["M"] + 1)[:, None], np.arange(1, expected["d"] + 1)[None, :]
    rows = np.sin(a * m * i + b * m + c * i**2 + 1)
    np.save("keys.npy", rows / np.linalg.norm(rows, axis=1, keepdims=True))
    words = ("--alpha", "2", "--patterns", "keys.npy", "--at", str(expected["beta"]), "--top", "all")
    done = run("branches", "beta", *words, "--json", "--quiet", "--no-plot")
    assert done.code == 0
    found = {tuple(row["support"]): row for row in json.loads(done.out)["branches"]}
    for state in expected["stable_states"]:
        row = found[tuple(state["support"])]
        assert row["free_energy"] == pytest.approx(state["free_energy"], rel=RELATIVE)
        (piece,) = [piece for piece in row["pieces"] if piece["support"] == state["support"]
                    and (piece["beta_min"] or 0) <= expected["beta"]
                    and expected["beta"] <= (piece["beta_max"] or np.inf)]  # fmt: skip
        assert piece["beta_min"] == pytest.approx(state["beta_min"], rel=RELATIVE)
        assert piece["beta_min_event"] == state["beta_min_event"]
        assert piece["beta_max_event"] == state["beta_max_event"]
        if state["beta_max"] is None:
            assert piece["beta_max"] is None
        else:
            assert piece["beta_max"] == pytest.approx(state["beta_max"], rel=RELATIVE)
        last = row["pieces"][-1]
        assert (row["beta_max"], row["beta_max_end"]["type"]) == (
            last["beta_max"], last["beta_max_event"].partition(":")[0]
        )  # fmt: skip


def test_three_planar_vectors(run):
    """Unit vectors at 0°, 50°, 140°: the intervals to six digits, that of the pair {12} in closed form."""
    angles = np.deg2rad([0, 50, 140])
    # The scale is 1/√2 for two components: β is twice the b that is printed.
    np.save("planar.npy", np.stack([np.cos(angles), np.sin(angles)], axis=1))
    seen = {}
    for b in ("3.8", "12"):
        done = run(
            "branches", "beta", "--patterns", "planar.npy", "--at", b, "--json", "--quiet", "--no-plot"
        )
        for row in json.loads(done.out)["branches"]:
            for piece in row["pieces"]:
                seen[tuple(piece["support"])] = (piece["beta_min"], piece["beta_max"])
    pair = 2 / (1 - np.cos(angles[1] - angles[0]) - np.cos(angles[2] - angles[0]))
    expected = {
        (0, 1, 2): (None, 0.830278), (0, 1): (0.830278, 5.598910), (1, 2): (pair, 2.0), (2,): (2.0, None),
        (0,): (5.598910, None), (1,): (5.598910, None),
    }  # fmt: skip
    assert seen.keys() == expected.keys()
    for support, ends in expected.items():
        for beta, value in zip(seen[support], ends, strict=True):
            assert (beta is None) == (value is None)
            assert value is None or beta / 2 == pytest.approx(value, abs=5e-7)


def test_json_is_the_summary_file_and_nothing_else(run):
    done = run("branches", "beta", *SMALL, "--top", "2", "--out", "x", "--json", "--no-plot")
    assert done.out == Path("x/summary.json").read_text()
    summary = json.loads(done.out)
    assert len(summary["branches"]) == 2
    for row in summary["branches"]:
        promised = "support free_energy overlap_max beta_min beta_max beta_min_end beta_max_end pieces"
        assert row.keys() >= set(promised.split())


def test_quiet_says_nothing(run):
    done = run("branches", "beta", *SMALL, "--out", "x", "--quiet", "--no-plot")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_reference_that_was_not_given_is_named(run):
    done = run("branches", "beta", "--M", "20", "--d", "12", "--betas", "20:100:4", "--out", "x", "--no-plot")
    assert "no --at given: beta 60, the middle of the range" in done.error_lines


def test_the_same_spec_again_is_already_done(run, monkeypatch):
    first = run("branches", "beta", *SMALL, "--out", "x", "--no-plot")
    monkeypatch.setattr(runs, "compute_branches", lambda *_, **__: pytest.fail("computed again"))
    again = run("branches", "beta", *SMALL, "--out", "x", "--no-plot")
    assert again.out == first.out
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"
    assert again.error_lines[-1] == "kept x; see hopfieldphase info x"
    assert run("branches", "beta", *SMALL, "--top", "2", "--out", "x", "--no-plot").code == 2


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ["0.7", "1", "1.5", "3"])
def test_every_finite_alpha_runs(run, alpha):
    words = (*SMALL, "--betas", "20:100:10", "--alpha", alpha, "--top", "3", "--out", "x")
    done = run("branches", "beta", *words, "--json")
    assert done.code in (0, 3)
    summary = json.loads(done.out)
    assert summary["model"]["alpha"] == float(alpha)
    assert summary["range"] == {"lower": 20.0, "upper": 100.0}
    assert xr.open_zarr("x/data.zarr", group="curves").sizes["beta"] == 9


@pytest.mark.slow
def test_measured_patterns_get_a_range_of_their_own(run):
    patterns_io.save("keys.npy", 3 * spherical(12, 6))
    for alpha, range_of in (("2", "all beta"), ("1.5", "beta ")):
        done = run("branches", "beta", "--patterns", "keys.npy", "--alpha", alpha, "--no-plot")
        assert done.code == 0
        assert "the middle of the range" in done.error_lines[1]
        assert done.error_lines[0].startswith(f"branches beta: alpha {alpha}, keys.npy, at beta ")
        assert range_of in done.error_lines[0]


def test_points_that_did_not_converge_are_named_and_give_exit_code_3(run, monkeypatch):
    summary = runs.branches_summary

    def failing(tree):
        tree["special_points"]["status"][:2] = 4
        return summary(tree)

    monkeypatch.setattr(runs, "branches_summary", failing)
    done = run("branches", "beta", *SMALL, "--out", "x", "--no-plot", "--quiet")
    assert done.code == 3
    assert done.error_lines[0] == "warning: 2 special points were not located as asked:"
    assert "iteration limit" in done.error_lines[1]
    assert "try another reference" in done.error_lines[-1]


def test_info_shows_such_a_folder(run):
    run("branches", "beta", *SMALL, "--out", "x", "--no-plot")
    done = run("info", "x")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0] == "x: branches in beta"
    assert any(line.startswith("groups      branches (") for line in lines)
    assert any(line.split()[:2] == ["branch", "support"] for line in lines)
    assert max(map(len, lines)) <= 80
    found = json.loads(run("info", "x", "--json").out)
    assert found["summary"] == json.loads(Path("x/summary.json").read_text())
    assert found["variables"]["special_points/kind"]["dims"] == ["point"]
    assert found["options"]["generator"] == "clustered"
    store.write(store.open("x/data.zarr"), "copy.nc")
    assert json.loads(run("info", "copy.nc", "--json").out)["summary"] == found["summary"]


CASES = [
    (("--alpha", "inf"), "alpha = inf"),
    (("--alpha", "0"), "alpha = 0.0 is outside its domain"),
    (("--top", "0"), "top = '0' is neither"),
    (("--top", "some"), "top = 'some' is neither"),
    (("--at", "0"), "at = 0.0 is outside its domain"),
    (("--at=-3",), "at = -3.0 is outside its domain"),
    (("--at", "nan"), "at = nan is outside its domain"),
    (("--at", "10", "--betas", "20:400:2"), "at = 10 lies outside the range [20, 400]"),
    (("--at", "500", "--alpha", "1"), "at = 500 lies outside the range [20, 400]"),
    (("--betas=-1:1:0.1",), "betas = -1:1:0.1 contains -1, outside its domain"),
    (("--betas", "20,20"), "is not strictly ascending"),
    (("--betas", "20"), "betas has one value, 20"),
    (("--realization", "-1"), "realization = -1"),
    (("--generator", "two_keys", "--epsilon", "0.5", "--realization", "x"), "'--realization'"),
    (("--generator", "equicorrelated", "--M", "4", "--realization", "1"), "no randomness: leave it at 0"),
    (("--solver", "newton"), "has no option --solver"),
    (("--tops", "3"), "the nearest is --top"),
    (("--patterns", "missing.npy"), "pattern file missing.npy does not exist"),
    (("--generator", "two_keys", "--epsilon", "0.5", "--d", "4", "--at", "16"), "reaches a strict minimum"),
]


@pytest.mark.parametrize(("words", "complaint"), CASES, ids=[" ".join(words)[:40] for words, _ in CASES])
def test_wrong_options_are_one_line_and_write_nothing(run, words, complaint):
    done = run("branches", "beta", *words)
    assert done.code == 2
    said = [line for line in done.error_lines if line.startswith("error: ")]
    assert len(said) == 1
    assert complaint in said[0]
    assert done.out == ""
    assert not Path("runs").exists()


def test_a_group_without_its_command_says_what_there_is(run):
    done = run("branches")
    assert done.code == 2
    (line,) = done.error_lines
    assert line.startswith("error: hopfieldphase branches needs a command: beta")
