"""A sweep and the branches beside it: the parts are those of their own studies, and warm starts go on."""

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import store
from hopfieldphase.data.structure import structure_parts, structure_summary
from hopfieldphase.runs.branches import branches
from hopfieldphase.runs.kappa_spec import SequenceSpec
from hopfieldphase.runs.load_branches import branches_of_spec
from hopfieldphase.runs.specs import PatternSpec
from hopfieldphase.runs.structure import structure
from hopfieldphase.runs.structure_spec import LoadStructureSpec, StructureSpec
from hopfieldphase.runs.sweeps import sweep_beta

# Two routes to one state differ by the tolerance of a relaxation, 1.8e-12, and a few rounding errors.
SAME_STATE = 1e-10

IN_BETA = StructureSpec(patterns=PatternSpec(M=30, d=16), betas="20:120:4", at=80.0, top=4, realizations=2)
IN_LOAD = LoadStructureSpec(
    patterns=SequenceSpec(d=24), beta=100.0, kappas="0.06:0.16:0.01", at=0.1, top=3, realizations=2
)


@pytest.fixture(scope="module")
def in_beta():
    return structure(IN_BETA)


@pytest.fixture(scope="module")
def in_load():
    return structure(IN_LOAD)


def test_the_parts_are_those_of_their_own_studies(in_beta, in_load):
    sweep, followed, _ = structure_parts(in_beta)
    assert sweep.identical(sweep_beta(IN_BETA.sweep))
    assert followed.identical(branches(IN_BETA.branches).to_datatree())
    assert structure_parts(in_load)[1].identical(branches_of_spec(IN_LOAD.branches).to_datatree())


def test_warm_starts_lie_on_the_branch_until_it_ends_and_jump_there(in_beta):
    _, followed, continued = structure_parts(in_beta)
    curves = followed["curves"].to_dataset(inherit=False)
    assert continued["beta"].values.tolist() == list(IN_BETA.grid)
    at = int(np.flatnonzero(continued["beta"] == IN_BETA.at)[0])
    for branch in continued["branch"].values:
        exact = curves["free_energy"].sel(branch=branch).values
        warm = continued["free_energy"].sel(branch=branch).values
        alive = np.isfinite(exact)
        jumped = continued["jumped"].sel(branch=branch).values
        # Stable along the whole stretch around the reference that no jump has left.
        low = max(np.flatnonzero(jumped[:at]), default=-1) + 1
        high = min(np.flatnonzero(jumped[at + 1 :]) + at + 1, default=jumped.size)
        held = alive & (np.arange(alive.size) >= low) & (np.arange(alive.size) < high)
        assert held[at]
        assert warm[held] == pytest.approx(exact[held], rel=SAME_STATE)


def test_a_reference_off_the_grid_is_added_to_it():
    tree = structure(IN_BETA.model_copy(update={"at": 81.0}))
    continued = structure_parts(tree)[2]
    assert 81.0 in continued["beta"].values
    assert continued.sizes["beta"] == len(IN_BETA.grid) + 1


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".zarr", ".nc"])
def test_trees_are_written_and_read_back(tmp_path, in_beta, in_load, suffix):
    for tree in (in_beta, in_load):
        store.write(tree, tmp_path / f"data{suffix}")
        assert store.open(tmp_path / f"data{suffix}").identical(tree)
    plain = xr.open_datatree(tmp_path / f"data{suffix}")
    assert plain["sweep"]["overlap_max"].attrs["long_name"].startswith("maximal overlap")


def test_a_tree_without_a_part_is_refused(tmp_path, in_beta):
    broken = in_beta.copy()
    del broken["continued"]
    with pytest.raises(InputError, match="group continued is missing"):
        store.write(broken, tmp_path / "data.zarr")


def test_the_summary_has_both_parts(in_beta, in_load):
    for tree, parameter in ((in_beta, "beta"), (in_load, "kappa")):
        summary = structure_summary(tree)
        assert summary["sweep"]["parameter"] == summary["branches"]["parameter"] == parameter
        assert summary["unconverged"] == []


def test_specs_know_the_papers_references_and_refuse_those_outside():
    assert StructureSpec().at == 290.0
    assert StructureSpec(alpha=1.0).at == 140.0
    assert LoadStructureSpec().at == 0.12
    assert LoadStructureSpec(alpha=1.0).at == 0.08
    with pytest.raises(InputError, match="at = 500 lies outside the range"):
        StructureSpec(at=500.0)
    again = StructureSpec(**IN_BETA.model_dump(exclude_none=True))
    assert again.fingerprint == IN_BETA.fingerprint
