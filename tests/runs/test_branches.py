"""Branches from models and specs: the promised calls, defaults, resolution, result folders."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.continuation.branches import BranchSet
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import clustered, spherical
from hopfieldphase.data import patterns_io, store
from hopfieldphase.data.branch_summary import branches_summary
from hopfieldphase.runs.branch_spec import BranchSpec
from hopfieldphase.runs.branches import branches, compute_branches, resolve
from hopfieldphase.runs.folder import claim_folder
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.specs import PatternSpec

SMALL = PatternSpec(generator="clustered", M=20, d=12)


@pytest.fixture(scope="module")
def model():
    return hp.HopfieldModel(clustered(100, 64, clusters=4, delta=0.04, seed=0), alpha=2.0)


# Python


def test_the_promised_calls(model):
    betas = np.arange(20.0, 402.0, 2.0)
    found = hp.branches(model, at=290.0, betas=betas, top=5)
    assert isinstance(found, BranchSet)
    assert len(found) == 5
    assert {point.kind.value for _, point in found.special_points} == {"enters", "range"}
    assert found[0].at(300.0).support == (0,)
    tree = found.to_datatree()
    assert set(tree.children) == {
        "branches", "pieces", "special_points", "arcs", "curves", "equilibrium", "patterns"
    }  # fmt: skip
    assert np.array_equal(tree["curves"]["beta"], betas)


def test_without_a_range_exact_branches_go_from_zero_to_infinity(model):
    found = hp.branches(model, at=290.0, top=3)
    assert found.betas == (0.0, math.inf)
    assert all(branch.upper == math.inf for branch in found)
    assert found.options["betas"] is None
    # The grid of the curves comes from the patterns, and holds the reference.
    assert found.grid[0] < 290.0 < found.grid[-1]
    assert found.to_datatree().attrs["upper"] == math.inf


def test_two_values_are_a_range_and_get_a_grid(model):
    found = hp.branches(model, at=290.0, betas=(200, 400), top=1)
    assert (found.betas, len(found.grid)) == ((200.0, 400.0), 201)
    assert found.options["betas"] == "200:400:1"
    assert hp.branches(model, at=290.0, betas="200:400:1", top=1).grid == found.grid


def test_the_grid_reaches_to_a_reference_outside_of_it(model):
    found = hp.branches(model, at=5000.0, top=1)
    assert found.grid[0] <= 5000.0 <= found.grid[-1]


def test_patterns_without_a_scale_of_beta_get_a_grid_around_the_reference():
    found = hp.branches(hp.HopfieldModel(np.ones((2, 4)), alpha=2.0), at=8.0)
    assert found.grid[0] <= 8.0 <= found.grid[-1]
    assert len(found.to_datatree()["branches"]["branch"]) == len(found) == 1


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "at is not given"),
        ({"at": 290.0, "top": 0}, "top = 0"),
        ({"at": 10.0, "betas": (20.0, 400.0)}, "lies outside the range"),
        ({"at": 290.0, "betas": (300.0,)}, "betas has 1 values"),
        ({"at": 290.0, "betas": "400:20:2"}, "is reversed"),
        ({"at": -1.0}, "beta = -1.0"),
    ],
)
def test_wrong_options_are_one_line(model, options, complaint):
    with pytest.raises(InputError) as error:
        hp.branches(model, **options)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_other_alpha_need_a_range(model):
    with pytest.raises(InputError, match="needs a range"):
        hp.branches(hp.HopfieldModel(model.patterns, alpha=1.5), at=290.0)
    with pytest.raises(InputError, match="alpha = inf"):
        hp.branches(hp.HopfieldModel(model.patterns, alpha=math.inf), at=290.0, betas=(20.0, 400.0))


# Specs


def test_defaults_are_those_of_the_papers_data():
    spec = BranchSpec()
    assert (spec.at, spec.betas, spec.top, spec.count) == (290.0, None, "all", None)
    assert spec.is_resolved
    assert BranchSpec(alpha=1.0).at == 140.0
    assert BranchSpec(alpha=1.0).betas == parse_grid("20:400:2")
    assert BranchSpec(patterns=PatternSpec(seed=3)).at == 290.0


def test_otherwise_the_reference_is_the_middle_of_the_range():
    for spec in (
        BranchSpec(alpha=1.5),
        BranchSpec(patterns=SMALL),
        BranchSpec(patterns=PatternSpec(delta=0.1)),
    ):
        assert spec.at == 210.0
        assert spec.reference_origin == "beta 210, the middle of the range"
    assert BranchSpec(betas="20:200:2").at == 110.0
    assert BranchSpec(betas=(20.0, 100.0)).at == 60.0
    assert BranchSpec().reference_origin == "beta 290, the default reference"


def test_specs_survive_toml_and_have_a_fingerprint(tmp_path):
    spec = BranchSpec(alpha=1.5, patterns=SMALL, betas="40:80:10", top="3", realization=2)
    path = tmp_path / "spec.toml"
    path.write_text(spec.to_toml(), encoding="utf-8")
    assert BranchSpec.from_toml(path) == spec
    assert spec.count == 3
    prints = {
        BranchSpec(**options).fingerprint
        for options in (
            {},
            {"at": 280.0},
            {"top": 5},
            {"betas": "20:400:2"},
            {"realization": 1},
            {"alpha": 1.0},
        )
    }
    assert len(prints) == 6
    assert BranchSpec(at=290.0, top="all").fingerprint == BranchSpec().fingerprint


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"top": 0}, "top = 0 is neither a whole number >= 1 nor 'all'"),
        ({"top": "many"}, "top = 'many' is neither"),
        ({"top": True}, "top = True is neither"),
        ({"top": 2.5}, "top = 2.5 is neither"),
        ({"at": 0.0}, "at = 0.0 is outside its domain"),
        ({"at": math.inf}, "at = inf is outside its domain"),
        ({"at": 10.0, "betas": "20:400:2"}, "at = 10 lies outside the range [20, 400]"),
        ({"betas": "20,"}, "empty entry"),
        ({"betas": (20.0,)}, "betas has one value, 20"),
        ({"alpha": math.inf}, "alpha = inf"),
        ({"realization": -1}, "realization = -1"),
        ({"realization": 1, "patterns": PatternSpec(generator="equicorrelated", M=4)}, "no randomness"),
        ({"tops": 3}, "the nearest is 'top'"),
    ],
)
def test_wrong_specs_are_one_line(options, complaint):
    with pytest.raises(InputError) as error:
        BranchSpec(**options)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


def test_a_wrong_spec_is_reported_without_numpy():
    code = (
        "import sys\n"
        "from hopfieldphase.runs.branch_spec import BranchSpec\n"
        "try: BranchSpec(top=0)\n"
        "except ValueError as error: print(error)\n"
        "print({'numpy', 'xarray', 'numba'} & set(sys.modules) or 'light')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[0].startswith("top = 0")
    assert said.splitlines()[1] == "light"


def test_a_spec_gives_what_the_model_gives():
    spec = BranchSpec(patterns=SMALL, at=60.0, betas="20:100:4", top=3, realization=1)
    stored = clustered(20, 12, seed=0, realization=1)
    of_spec = branches(spec)
    of_model = branches(hp.HopfieldModel(stored, alpha=2.0), at=60.0, betas="20:100:4", top=3)
    assert [branch.at(60.0).free_energy for branch in of_spec] == [
        branch.at(60.0).free_energy for branch in of_model
    ]
    assert (of_spec.options["realization"], of_spec.options["generator"]) == (1, "clustered")
    with pytest.raises(InputError, match="next to a spec"):
        branches(spec, at=60.0)


def test_pattern_files_are_resolved(tmp_path):
    path = tmp_path / "keys.npy"
    patterns_io.save(path, 2 * spherical(12, 6))
    for alpha, followed in ((2.0, False), (1.5, True)):
        spec = BranchSpec(alpha=alpha, patterns=PatternSpec(path=str(path)))
        assert not spec.is_resolved
        with pytest.raises(InputError, match="not resolved"):
            _ = spec.fingerprint
        done = resolve(spec)
        assert done.is_resolved
        assert (done.betas is not None) == followed
        assert done.patterns.sha256 is not None
        assert resolve(done) is done
        assert len(branches(done)) >= 1
        # What was found out is in the TOML form, so that the same file gives the same result.
        assert BranchSpec.from_toml(_written(tmp_path, done)) == done


def _written(folder, spec):
    path = folder / "spec.toml"
    path.write_text(spec.to_toml(), encoding="utf-8")
    return path


# Result folders


def test_a_result_folder_holds_data_summary_and_spec(tmp_path):
    spec = BranchSpec(patterns=SMALL, at=60.0, betas="20:100:4", top=3)
    drawn = []
    with claim_folder(tmp_path / "x"):
        summary = compute_branches(spec, tmp_path / "x", draw=lambda tree, file: drawn.append((tree, file)))
    assert json.loads((tmp_path / "x" / "summary.json").read_text()) == summary
    assert BranchSpec.from_toml(tmp_path / "x" / "spec.toml") == spec
    tree = store.open(tmp_path / "x" / "data.zarr")
    assert branches_summary(tree) == summary
    assert len(drawn) == 1
    assert drawn[0][1].name == "figure.png"
    marker = json.loads((tmp_path / "x" / "provenance.json").read_text())
    assert marker["fingerprint"] == spec.fingerprint
