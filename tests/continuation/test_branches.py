"""Following one branch, and all branches found at a reference, at every α."""

import numpy as np
import pytest

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.branches import branches, follow
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
