"""Only minima count in the Maxwell line: branches through folds are cut where they lose stability."""

import math

import numpy as np
import pytest

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.branches import branches, follow
from hopfieldphase.core.closed_forms import potts_coexistence, potts_spinodal
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered, equicorrelated, two_keys
from hopfieldphase.phases.coexistence import all_coexistence
from hopfieldphase.phases.equilibrium import equilibrium
from hopfieldphase.phases.stretches import stable_stretches

# A fold is read off an interpolant of the curve.
FOLD = 1e-9


@pytest.fixture(scope="module")
def potts():
    """Uniform and retrieval state of ten orthonormal patterns, softmax."""
    model = HopfieldModel(equicorrelated(10, 10), alpha=1.0, scale=1.0)
    uniform = follow(model, model.patterns.mean(axis=0), 6.0, [3.0, 15.0])
    return uniform, follow(model, model.patterns[0], 6.0, [3.0, 15.0])


def test_unstable_arms_belong_to_no_stretch(potts):
    uniform, retrieval = potts
    (low,), (high,) = stable_stretches(uniform), stable_stretches(retrieval)
    assert [piece.index > 0 for piece in retrieval.pieces] == [True, True, False]
    assert (high.lower_event.kind, high.upper_event.kind) == (PointKind.FOLD, PointKind.RANGE)
    assert high.lower == pytest.approx(potts_spinodal(10, 1.0), rel=FOLD)
    assert (low.lower, low.upper) == (3.0, pytest.approx(10.0, rel=FOLD))
    assert high.at(6.0).hessian_min > 0


def test_equilibrium_of_a_folded_branch_begins_at_its_fold(potts):
    uniform, retrieval = potts
    (alone,) = equilibrium([retrieval])
    assert alone.lower == pytest.approx(potts_spinodal(10, 1.0), rel=FOLD)
    below, above = equilibrium([uniform, retrieval])
    assert (below.branch, above.branch) == (0, 1)
    assert below.transition.kind is PointKind.COEXISTENCE
    assert below.upper == pytest.approx(potts_coexistence(10, 1.0), rel=FOLD)


def test_a_stretch_ends_where_the_branch_turns_back_without_losing_stability():
    """Two keys, softmax: both arms of the pitchfork are one branch and two stretches."""
    model = HopfieldModel(two_keys(0.5), alpha=1.0)
    branch = follow(model, model.patterns[0], 70.0, [40.0, 200.0])
    one, other = stable_stretches(branch)
    assert one.lower == other.lower == pytest.approx(64.0, rel=FOLD)
    assert np.argmax(one.at(100.0).weights) != np.argmax(other.at(100.0).weights)
    ((i, j, point),) = all_coexistence([branch])
    assert (i, j, point.degenerate) == (0, 0, True)


def test_arms_of_one_branch_exchange_stability_and_are_compared_with_each_other():
    """α = 3: the Maxwell line meets saddles nowhere, and each transition is an end or an equal energy."""
    model = HopfieldModel(clustered(24, 16, seed=0), alpha=3.0)
    found = branches(model, 60.0, [10.0, 120.0], top=4)
    line = equilibrium(found)
    assert line[-1].upper == 120.0
    arms = [stretch for branch in found for stretch in stable_stretches(branch)]
    for interval in line:
        middle = (interval.lower + interval.upper) / 2
        state = found[interval.branch].at(middle)
        assert state.hessian_min > 0
        others = [arm.at(middle).free_energy for arm in arms if arm.lower <= middle <= arm.upper]
        assert state.free_energy <= min(others) + 1e-12 * abs(state.free_energy)
    for interval in line[:-1]:
        assert interval.transition.parameter == interval.upper


def test_equal_energies_to_the_end_of_the_range_are_one_interval():
    """α = 1.5: two patterns that are exactly stored have equal energies from the later onset on."""
    model = HopfieldModel(clustered(40, 32, seed=0), alpha=1.5)
    a, b = branches(model, 150.0, np.arange(40.0, 202.0, 2.0), top=2)
    onsets = [
        piece.lower
        for branch in (a, b)
        for piece in branch.pieces
        if piece.index == 0 and len(piece.support) == 1
    ]
    (last,) = [point for _, _, point in all_coexistence([a, b]) if point.degenerate]
    # The energies part with the third power of the distance: not told apart 1e-4 below the onset.
    assert last.bracket == (pytest.approx(max(onsets), rel=1e-3), 200.0)
    assert math.isclose(last.state.free_energy, last.landing.free_energy, rel_tol=1e-11)
