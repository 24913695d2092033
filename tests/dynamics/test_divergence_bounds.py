"""Proposition E.4: where the bounds on the divergence hold, how sharp they are, and where they end."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core import entmax
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import clustered, spherical
from hopfieldphase.core.tsallis import tsallis_divergence
from hopfieldphase.dynamics.divergence_bounds import check_divergence, divergence_bounds, hidden_change
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

ROUNDING = 1e-12


def path_of_weights(model, x, beta, steps=60):
    """Weights along x ← T(x)."""
    rows = []
    for _ in range(steps):
        rows.append(model.weights(x, beta))
        x = model.retrieve(x, beta)
    return np.array(rows)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0]),
    st.integers(2, 8),
    st.floats(0.05, 0.95),
    st.integers(0, 10_000),
)
def test_the_constants_hold_on_the_whole_neighbourhood(alpha, M, spread, seed):
    rng = np.random.default_rng(seed)
    model = HopfieldModel(rng.normal(size=(M, 3)), alpha=alpha)
    target = rng.dirichlet(np.ones(M)) * 0.9 + 0.1 / M
    change = rng.normal(size=(50, M))
    change -= change.mean(axis=1, keepdims=True)
    change *= spread / np.abs(change / target).max(axis=1, keepdims=True)
    found = check_divergence(model, target + change * rng.uniform(0.1, 1, (50, 1)), target, spread=spread)
    assert found.inside.any()
    assert found.lower_slack >= 1 - 1e-6
    assert found.upper_slack >= 1 - 1e-6
    bounds = found.bounds
    assert bounds is not None
    ratio = found.divergence[found.inside] / found.weight_distance[found.inside] ** 2
    assert bounds.lower_weights * (1 - 1e-6) <= ratio.min()


def test_the_constants_meet_for_uniform_weights_at_alpha_two():
    # D_2(p‖1/M) = M|p − 1/M|² exactly.
    model = HopfieldModel(spherical(5, 4, seed=0), alpha=2.0)
    bounds = divergence_bounds(model, np.full(5, 0.2), 0.5)
    assert bounds.lower_weights == pytest.approx(bounds.upper) == pytest.approx(5)
    assert bounds.lower == pytest.approx(5 / np.linalg.norm(model.gram, 2) ** 2)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.3])
def test_the_bounds_hold_along_a_path(alpha):
    model = HopfieldModel(clustered(12, 6, clusters=3, seed=2), alpha=alpha)
    beta = 6.0
    target = model.weights(relax(model, model.scale * model.patterns[0], beta).x, beta)
    assert (target > 0).all()
    rows = path_of_weights(model, model.scale * model.patterns[0], beta)
    found = check_divergence(model, rows, target)
    assert found.inside.sum() >= 2
    assert found.lower_slack >= 1
    assert found.upper_slack >= 1
    assert found.divergence[-1] < 1e-15
    # Along the update p is a function of z, and follows it whatever the Gram matrix is (M > d here).
    z_rows, z = np.array([rows[:-1] @ model.gram, rows[1:] @ model.gram]), target @ model.gram
    moved = np.linalg.norm(rows[1:] - target, axis=1)
    scores = np.linalg.norm(z_rows[0] - z, axis=1)
    resolved = scores > 1e-12
    assert (moved[resolved] <= beta / alpha * scores[resolved] * (1 + 1e-6)).all()


def test_on_the_boundary_the_divergence_is_infinite_until_the_support_is_reached():
    # α = 2, start at the mean: weights leave the support one after the other.
    model = HopfieldModel(clustered(12, 6, clusters=3, seed=2), alpha=2.0)
    beta = 22.0
    x = model.scale * (0.4 * model.patterns[0] + 0.6 * model.patterns.mean(axis=0))
    rows = path_of_weights(model, x, beta)
    target = model.weights(relax(model, x, beta).x, beta)
    support = target > 0
    assert 1 < support.sum() < 12
    found = check_divergence(model, rows, target)
    outside = (rows[:, ~support] > 0).any(axis=1)
    assert outside[0]
    assert not outside[-1]
    np.testing.assert_array_equal(np.isinf(found.divergence), outside)
    # On the face the bounds are those of the interior.
    assert found.inside.any()
    assert found.lower_slack >= 1
    assert found.upper_slack >= 1


def test_below_one_the_divergence_of_the_boundary_is_finite():
    # α < 1 never truncates, but weights from elsewhere may.
    assert math.isfinite(tsallis_divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0]), 0.5))
    assert tsallis_divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0]), 1.5) == math.inf


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("kind", ["duplicates", "more than d + 1"])
def test_scores_can_hide_a_change_of_the_weights(alpha, kind):
    patterns = spherical(4, 6, seed=1) if kind == "duplicates" else spherical(9, 4, seed=1)
    if kind == "duplicates":
        patterns[3] = patterns[0]
    model = HopfieldModel(patterns, alpha=alpha)
    target = np.random.default_rng(0).dirichlet(np.full(model.M, 5.0))
    found = hidden_change(model, target)
    assert found.weights.sum() == pytest.approx(1)
    assert found.weights.min() > 0
    assert np.abs(found.weights / target - 1).max() == pytest.approx(0.5)
    assert found.score_change < ROUNDING
    assert found.divergence > 1e-3
    # The bounds in p hold, so that no c can bound D by the scores from above.
    check = check_divergence(model, found.weights, target, spread=0.51)
    assert check.upper_slack >= 1
    assert check.divergence[0] > 1e20 * check.score_distance[0] ** 2


def test_an_invertible_gram_matrix_hides_nothing():
    model = HopfieldModel(spherical(4, 6, seed=1), alpha=2.0)
    with pytest.raises(InputError, match="invertible"):
        hidden_change(model, np.full(4, 0.25))
    # Four of nine patterns in four dimensions: on this support scores determine the weights.
    model = HopfieldModel(spherical(9, 4, seed=1), alpha=2.0)
    with pytest.raises(InputError, match="invertible"):
        hidden_change(model, np.array([0.25, 0.25, 0.25, 0.25, 0, 0, 0, 0, 0]))


def test_bad_neighbourhoods_are_refused():
    model = HopfieldModel(spherical(4, 6, seed=1), alpha=2.0)
    for spread in (0.0, 1.0, math.nan):
        with pytest.raises(InputError, match=r"^spread"):
            divergence_bounds(model, np.full(4, 0.25), spread)
    with pytest.raises(InputError, match="alpha = inf"):
        divergence_bounds(HopfieldModel(model.patterns, alpha=math.inf), np.full(4, 0.25), 0.5)


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([0.4, 0.8, 1.0, 1.3, 1.7, 2.0]),
    st.integers(2, 8),
    st.floats(0.1, 20),
    st.integers(0, 9999),
)
def test_weights_follow_their_scores_up_to_alpha_two(alpha, M, beta, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=M)
    other = z + rng.normal(size=M) * 10.0 ** rng.uniform(-4, 0)
    change = entmax.weights(z, alpha, beta) - entmax.weights(other, alpha, beta)
    assert np.linalg.norm(change) <= beta / alpha * np.linalg.norm(z - other) * (1 + 1e-9)


def test_above_alpha_two_they_need_not():
    # Two weights that enter together: their difference answers the faster, the smaller they are.
    slopes = []
    for excess in (1e-3, 1e-5):
        z = np.array([0.0, excess - 1.5, excess - 1.5])  # α = 3, β = 1: both enter at θ = −3/2
        moved = z + np.array([0.0, 0.1, -0.1]) * excess**2
        change = entmax.weights(moved, 3.0) - entmax.weights(z, 3.0)
        slopes.append(np.linalg.norm(change) / np.linalg.norm(moved - z))
    assert slopes[1] > 50 * slopes[0] > 50
