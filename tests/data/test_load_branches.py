"""Trees of branches in the memory load: their numbers, their files, and what is refused."""

import numpy as np
import pytest
import xarray as xr

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import sequence
from hopfieldphase.data import branch_schema, load_branch_schema, store
from hopfieldphase.runs.load_branches import branches_kappa

GRID = "0.15:0.3:0.03"


@pytest.fixture(scope="module", params=[1.0, 2.0, np.inf])
def found(request):
    return branches_kappa(sequence("clustered", 16, seed=2), 0.24, GRID, 90.0, request.param)


@pytest.fixture(scope="module")
def tree(found):
    return found.to_datatree()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".zarr", ".nc"])
def test_files_give_the_tree_back(tree, ending, tmp_path):
    store.write(tree, tmp_path / f"x{ending}")
    again = store.open(tmp_path / f"x{ending}")
    xr.testing.assert_identical(again, tree)
    assert load_branch_schema.holds_load_branches(again)
    assert not branch_schema.holds_branches(again)


def test_curves_and_points_are_the_states_of_the_branches(found, tree):
    curves = branch_schema.group(tree, "curves")
    np.testing.assert_array_equal(curves["M"], np.rint(np.exp(16 * curves["kappa"])))
    for i, branch in enumerate(found):
        for k, (kappa, M) in enumerate(zip(curves["kappa"].values, curves["M"].values, strict=True)):
            alive = branch.lower <= np.log(M) / 16 <= branch.upper
            assert alive == (not np.isnan(curves["free_energy"].values[i, k]))
            if alive:
                state = branch.at(kappa)
                assert curves["overlap_max"].values[i, k] == state.overlap_max
                assert curves["ipr"].values[i, k] == pytest.approx(1 / np.sum(state.weights**2))
                assert curves["support_size"].values[i, k] == len(state.support)
    points = branch_schema.columns(tree, "special_points")
    row = 0
    for i, branch in enumerate(found):
        for point in branch.special_points:
            assert points["branch"][row] == i
            assert points["kind"][row] == point.kind
            assert points["patterns"][row] == point.patterns
            assert points["M"][row] == round(np.exp(16 * point.parameter))
            assert points["jump"][row] == point.is_jump
            assert points["free_energy"][row] == point.state.free_energy
            if point.landing is not None:
                np.testing.assert_array_equal(points["landing_state"][row], point.landing.x)
            row += 1
    assert row == len(points["branch"])


def test_pieces_meet_at_their_points(found, tree):
    pieces, points = (branch_schema.columns(tree, name) for name in ("pieces", "special_points"))
    flat = [piece for branch in found for piece in branch.pieces]
    assert len(flat) == len(pieces["branch"])
    for row, piece in enumerate(flat):
        assert (pieces["M_min"][row], pieces["M_max"][row]) == piece.counts
        assert points["patterns"][pieces["kappa_min_point"][row]] == piece.lower_event.patterns
        assert points["patterns"][pieces["kappa_max_point"][row]] == piece.upper_event.patterns
        np.testing.assert_array_equal(pieces["state"][row], piece.at(piece.lower).x)


def test_incomplete_trees_are_refused(tree, tmp_path):
    partial = tree.copy()
    del partial["coexistence"]
    with pytest.raises(InputError, match="the group coexistence is missing"):
        store.write(partial, tmp_path / "x.zarr")


def test_options_must_not_hide_attributes(found):
    with pytest.raises(InputError, match="the option beta has the name of an attribute"):
        type(found)(**vars(found) | {"options": {"beta": 1.0}}).to_datatree()
