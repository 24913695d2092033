"""Following one branch, and all branches found at a reference, at every α."""

import numpy as np
import pytest

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.branches import branches, follow
from hopfieldphase.continuation.following import follow_arclength
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered, equicorrelated


@pytest.fixture(scope="module")
def model():
    return HopfieldModel(clustered(100, 64, seed=0), alpha=2.0)


BETAS = np.arange(20.0, 402.0, 2.0)


def test_branches_of_the_paper_data(model):
    found = branches(model, 290.0, BETAS, top=5)
    assert len(found) == 5 <= found.n_states
    assert found.betas == (20.0, 400.0)
    for branch in found:
        assert branch.reference == 290.0
        assert branch.lower <= 290.0 <= branch.upper
        assert branch.model is model
    assert found[0].at(290.0).overlap_max == pytest.approx(1 / 64, rel=1e-12)
    assert len(found[1:3]) == 2
    numbers = [i for i, _ in found.special_points]
    assert numbers == sorted(numbers)
    assert len(numbers) == sum(len(branch.special_points) for branch in found)


def test_all_branches(model):
    found = branches(model, 290.0, BETAS)
    assert len(found) == found.n_states > 90
    assert found.n_undecided == 0
    supports = {branch.at(290.0).support for branch in found}
    assert len(supports) == len(found)
    sets = [set(support) for support in supports]
    assert not any(a < b for a in sets for b in sets)


def test_a_fold_joins_two_states_to_one_branch():
    """Softmax, equidistant: retrieval states lie on curves of their own, the uniform one on another."""
    model = HopfieldModel(equicorrelated(3, 3), alpha=1.0, scale=1.0)
    found = branches(model, 2.9, [2.0, 5.0])
    assert found.n_states == 4
    assert sum(branch.at(2.9).hessian_min > 0 for branch in found) == len(found)
    for branch in found:
        kinds = {point.kind for point in branch.special_points}
        assert kinds & {PointKind.FOLD, PointKind.BRANCH_POINT}


@pytest.mark.parametrize("alpha", [1.5, 1.9, 2.0, 2.5])
def test_follow_goes_through_the_relaxed_state(alpha):
    model = HopfieldModel(clustered(20, 12, clusters=3, seed=4), alpha=alpha)
    branch = follow(model, model.patterns[2] / np.sqrt(12), 40.0, [30.0, 60.0])
    for beta in (35.0, 40.0, 55.0):
        if branch.lower <= beta <= branch.upper:
            assert model.gradient_residual(branch.at(beta).x, beta) < 1e-10
    assert branch.lower <= 40.0 <= branch.upper
    assert branch.lower >= 30.0
    assert branch.upper <= 60.0


def test_without_a_range_the_exact_tracer_goes_to_zero_and_infinity():
    model = HopfieldModel(equicorrelated(3, 3, cosine=0.2), alpha=2.0, scale=1.0)
    branch = follow(model, model.patterns[0], 4.0)
    assert branch.ends[1].kind is PointKind.UNBOUNDED
    assert np.isinf(branch.upper)


UP, DOWN = 0, 1


@pytest.mark.parametrize("realization", range(2))
def test_sweeps_jump_where_branches_end(realization):
    jumps_at_ends(realization)


@pytest.mark.slow
@pytest.mark.parametrize("realization", range(2, 10))
def test_sweeps_jump_where_branches_end_in_every_realization(realization):
    jumps_at_ends(realization)


def jumps_at_ends(realization):
    """Step by step: within a branch a sweep stays on it, beyond its end it is where the landing state leads.

    At a spinodal both senses of the soft direction are open, and the sweep may take the other one.
    """
    model = HopfieldModel(clustered(100, 64, realization=realization), alpha=2.0)
    result = sweep(model, BETAS, keep_states=True)
    checked = 0
    for direction, step in ((UP, 1), (DOWN, -1)):
        for n in range(BETAS.size)[::step][:-1]:
            here, there = BETAS[n], BETAS[n + step]
            state = result.state[direction, n + step]
            support = tuple(np.flatnonzero(model.weights(state, there)).tolist())
            branch = follow(model, result.state[direction, n], here, [here, there])
            end = branch.ends[1 if step > 0 else 0]
            if not end.is_jump:
                assert not result.jumped[direction, n + step]
                assert branch.at(there).support == support
                continue
            if end.kind is PointKind.ENTERS:
                beyond = follow(model, end.landing.x, end.landing.beta)
                if beyond.lower <= there <= beyond.upper:
                    assert beyond.at(there).support == support
                    checked += 1
    assert checked > 0


def test_arclength_follows_the_exact_branch():
    """Same branch by the method for other α: states to 1e-9, events where they are."""
    model = HopfieldModel(clustered(20, 12, clusters=3, seed=4), alpha=2.0)
    exact = follow(model, model.patterns.mean(axis=0) / np.sqrt(12), 12.0, [8.0, 40.0])
    stepped = follow_arclength(model, exact.at(12.0).x, 12.0, 8.0, 40.0)
    kinks = [point for point in exact.special_points if point.goes_on]
    assert len(kinks) > 1
    stable = [piece for piece in stepped.pieces if piece.index == 0]
    for beta in np.linspace(exact.lower, min(exact.upper, max(piece.upper for piece in stable)), 25):
        np.testing.assert_allclose(stepped.at(beta).x, exact.at(beta).x, atol=1e-9)
    found = {(point.label, round(point.parameter, 6)) for point in stepped.special_points}
    for point in kinks:
        assert (point.label, round(point.parameter, 6)) in found


def test_bad_input(model):
    with pytest.raises(InputError, match="reference beta = 500 lies outside the range"):
        branches(model, 500.0, BETAS)
    with pytest.raises(InputError, match="follow at least one branch"):
        branches(model, 290.0, BETAS, top=0)
    with pytest.raises(InputError, match="at least the lowest and the highest"):
        follow(model, model.patterns[0], 290.0, [290.0])
    with pytest.raises(InputError, match="needs a range"):
        follow(HopfieldModel(model.patterns, alpha=1.0), model.patterns[0], 290.0)
    with pytest.raises(InputError, match="at least the lowest and the highest"):
        branches(model, 290.0, [-20.0, 400.0])
