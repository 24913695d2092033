"""`hopfieldphase branches kappa`: what it writes, says and refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import hopfieldphase as hp
from hopfieldphase.data import store
from hopfieldphase.runs.load_branch_spec import LoadBranchSpec
from hopfieldphase.runs.load_branches import branches_of_spec

# Some milliseconds.
SMALL = ("--d", "16", "--beta", "60", "--kappas", "0.15:0.3:0.05", "--at", "0.25", "--top", "all")


def test_branches_write_a_complete_result(run):
    done = run("branches", "kappa", *SMALL)
    assert done.code == 0
    (folder,) = Path("runs").iterdir()
    assert folder.name.startswith("branches-kappa-")
    names = {"data.zarr", "figure.png", "figure.svg", "spec.toml", "summary.json", "provenance.json"}
    assert {entry.name for entry in folder.iterdir()} == names
    spec = LoadBranchSpec.from_toml(folder / "spec.toml")
    assert spec.default_folder == folder
    tree = store.open(folder / "data.zarr")
    assert isinstance(tree, xr.DataTree)
    xr.testing.assert_identical(tree, branches_of_spec(spec).to_datatree())
    found = hp.branches_kappa(hp.patterns.sequence("clustered", 16), 0.25, "0.15:0.3:0.05", 60.0)
    xr.testing.assert_equal(tree, found.to_datatree())
    assert done.error_lines[0] == (
        "branches kappa: alpha 2, beta 60, clustered, d 16, at kappa 0.25, kappa 0.15:0.3:0.05"
    )
    assert done.error_lines[-1] == f"wrote {folder}; see hopfieldphase info {folder}"
    assert "exact to the single pattern" in " ".join(done.out.split())
    assert max(map(len, done.out.splitlines())) <= 80


def test_the_summary_tells_ends_pieces_and_swaps(run):
    done = run("branches", "kappa", *SMALL, "--out", "x", "--json", "--quiet", "--no-plot")
    assert done.err == ""
    summary = json.loads(done.out)
    assert summary == json.loads(Path("x/summary.json").read_text())
    assert (summary["reference"], summary["reference_M"]) == (0.25, 55)
    assert summary["exact"]
    found = hp.branches_kappa(hp.patterns.sequence("clustered", 16), 0.25, "0.15:0.3:0.05", 60.0)
    assert len(summary["branches"]) == len(found) == summary["search"]["followed"] > 3
    jumps = 0
    for row, branch in zip(summary["branches"], found, strict=True):
        state = branch.at(0.25)
        assert tuple(row["support"]) == state.support
        assert row["free_energy"] == pytest.approx(state.free_energy, abs=1e-12)
        assert row["overlap_max"] == pytest.approx(state.overlap_max, abs=1e-12)
        assert (row["kappa_min"], row["kappa_max"]) == (branch.lower, branch.upper)
        assert row["kappa_max"] == pytest.approx(np.log(row["M_max"]) / 16)
        for side, end in zip(("min", "max"), branch.ends, strict=True):
            told = row[f"kappa_{side}_end"]
            assert told["type"] == end.kind
            assert told["jump"] == end.is_jump
            if end.is_jump:
                jumps += 1
                assert told["pattern"] == end.patterns[0]
                assert told["M"] == row[f"M_{side}"] + (1 if side == "max" else -1)
                assert told["landing"]["free_energy"] == pytest.approx(end.landing.free_energy, abs=1e-12)
                assert tuple(told["landing"]["support"]) == end.landing.support
                onto = told["landing"]["branch"]
                if onto is not None:
                    np.testing.assert_allclose(found[onto].at(end.parameter).x, end.landing.x, atol=1e-9)
            else:
                assert told["landing"] is None
        assert [piece["support"] for piece in row["pieces"]] == [list(p.support) for p in branch.pieces]
        for told, piece in zip(row["pieces"], branch.pieces, strict=True):
            assert (told["M_min"], told["M_max"]) == piece.counts
            assert told["kappa_min_event"] == piece.lower_event.label
            assert told["kappa_max_event"] == piece.upper_event.label
    assert jumps > 0
    for swap in summary["coexistence"]:
        signs = [np.sign(np.subtract(*swap[name])) for name in ("free_energy", "free_energy_before")]
        assert signs[0] == -signs[1] != 0


@pytest.mark.parametrize(("alpha", "at", "M", "least"), [("2", 0.12, 317, 5), ("1", 0.08, 47, 1)])
def test_the_defaults_are_those_of_the_paper(run, alpha, at, M, least):
    done = run("branches", "kappa", "--alpha", alpha, "--json", "--no-plot", "--out", "x")
    assert done.code == 0
    summary = json.loads(done.out)
    assert (summary["reference"], summary["reference_M"]) == (at, M)
    assert f"no --at given: kappa {at}" in done.err
    assert len(summary["branches"]) == least
    assert summary["grid"]["M_last"] == 9136
    assert summary["unconverged"] == []
    assert summary["exact"] == (alpha == "2")


@pytest.mark.parametrize("alpha", ["1", "1.5", "inf"])
def test_other_alpha_are_written_and_shown(run, alpha):
    done = run("branches", "kappa", *SMALL, "--alpha", alpha, "--out", "x", "--no-plot")
    assert done.code == 0
    shown = run("info", "x")
    assert shown.code == 0
    assert done.out.splitlines()[-1] == shown.out.splitlines()[-1]
    assert max(map(len, shown.out.splitlines())) <= 80
    words = "smoothly" if alpha == "1" else "exact to the single pattern"
    assert words in " ".join(shown.out.split())
    told = json.loads(run("info", "x", "--json").out)
    assert told["kind"] == "branches in kappa"
    assert told["summary"] == json.loads(Path("x/summary.json").read_text())


def test_the_same_spec_again_is_already_done(run):
    run("branches", "kappa", *SMALL, "--out", "x", "--no-plot")
    again = run("branches", "kappa", *SMALL, "--out", "x", "--no-plot", "--seed", "0", "--alpha", "2.0")
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"
    assert "ends by" in again.out
    other = run("branches", "kappa", *SMALL, "--out", "x", "--no-plot", "--realization", "1")
    assert other.code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--at", "0.5"), "at = 0.5 lies outside the range [0.15, 0.3] of kappas"),
        (("--at", "-1"), "at = -1"),
        (("--top", "0"), "top = '0' is neither a whole number >= 1 nor 'all'"),
        (("--top", "many"), "top = 'many' is neither"),
        (("--kappas", "0.25"), "kappas has one value, 0.25"),
        (("--kappas", "0.3:0.1:0.01"), "kappas = 0.3:0.1:0.01 is reversed"),
        (("--beta", "0"), "beta = 0.0 is outside its domain (0, inf)"),
        (("--alpha", "0"), "alpha = 0"),
        (("--realization", "-1"), "realization = -1"),
        (("--generator", "two_keys"), "two_keys patterns do not serve here"),
        (("--kappas", "0.1:2:0.1"), "but the memory of this machine holds"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(run, options, words):
    done = run("branches", "kappa", *SMALL, *options)
    assert done.code == 2
    assert words in done.error_lines[-1]
    assert done.error_lines[-1].startswith("error: ")
    assert not Path("runs").exists()
