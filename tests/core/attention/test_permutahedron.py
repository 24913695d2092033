"""Projection onto the permutahedron: brute force over its vertices, special cases, derivatives, bad input."""

import itertools
import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.attention.capped import CappedSimplex
from hopfieldphase.core.attention.permutahedron import Permutahedron
from hopfieldphase.core.entmax import entmax
from hopfieldphase.core.errors import InputError

KKT = 1e-12  # roundings of sums of a few dozen terms of order one
SLSQP = 1e-6  # the root of the rounding of its objective
DIFFERENCE = 1e-8  # central differences with a step of 1e-6

quarters = st.integers(-12, 12).map(lambda k: k / 4)
weights = st.integers(0, 8).map(lambda k: k / 4) | st.floats(0, 2)


@st.composite
def problems(draw, most):
    n = draw(st.integers(1, most))
    z = draw(st.lists(quarters | st.floats(-5, 5), min_size=n, max_size=n))
    w = draw(st.lists(weights, min_size=n, max_size=n).filter(lambda w: max(w) > 0))
    return np.array(z), np.array(w)


def differences(function, z, v, step=1e-6):
    return (function(z + step * v) - function(z - step * v)) / (2 * step)


@settings(max_examples=80)
@given(problems(most=5))
def test_optimality_over_all_vertices(problem):
    """p is the projection if and only if p ∈ P(w) and (z − p)·(v − p) ≤ 0 for every vertex v."""
    z, w = problem
    p = Permutahedron(w).weights(z)
    vertices = np.array(list(itertools.permutations(w)))
    assert np.max((vertices - p) @ (z - p)) <= KKT * 10
    check_member(p, w)


def check_member(p, w):
    """Majorization: the k largest of p sum to at most those of w, for every k, and in all to the same."""
    excess = np.cumsum(np.sort(p)[::-1]) - np.cumsum(np.sort(w)[::-1])
    assert np.all(excess <= KKT)
    assert abs(excess[-1]) <= KKT
    assert np.all(p >= 0)


@settings(max_examples=80)
@given(problems(most=40))
def test_optimality(problem):
    """The vertex that is best for z − p is w in the order of the scores."""
    z, w = problem
    p = Permutahedron(w).weights(z)
    check_member(p, w)
    gap = np.sort(w) @ np.sort(z - p) - p @ (z - p)
    assert abs(gap) <= KKT * (1 + np.sum(w) * np.max(np.abs(z)))
    # Tied scores get equal weights.
    for value in np.unique(z):
        assert np.ptp(p[z == value]) <= KKT


@pytest.mark.parametrize("seed", range(4))
def test_agrees_with_a_quadratic_program_over_vertices(seed):
    """SciPy minimizes over the mixtures of the 24 vertices."""
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=4), rng.uniform(0, 1, 4)
    vertices = np.array(list(itertools.permutations(w)))
    solution = scipy.optimize.minimize(
        lambda m: np.sum((m @ vertices - z) ** 2) / 2, np.full(24, 1 / 24),
        jac=lambda m: vertices @ (m @ vertices - z), bounds=[(0, 1)] * 24, method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
        constraints={"type": "eq", "fun": lambda m: np.sum(m) - 1, "jac": lambda m: np.ones(24)},
    )  # fmt: skip
    np.testing.assert_allclose(Permutahedron(w).weights(z), solution.x @ vertices, rtol=0, atol=SLSQP)


@settings(max_examples=40)
@given(st.lists(quarters | st.floats(-5, 5), min_size=2, max_size=20), st.data())
def test_k_ones_give_the_capped_simplex(z, data):
    z = np.array(z)
    k = data.draw(st.integers(1, len(z)))
    p = Permutahedron((np.arange(len(z)) < k).astype(float)).weights(z)
    np.testing.assert_allclose(p, CappedSimplex(k).weights(z), rtol=0, atol=KKT)
    if k == 1:
        np.testing.assert_allclose(p, entmax(z, 2), rtol=0, atol=KKT)


def test_scores_far_apart_get_w_in_their_order():
    w = np.array([0.1, 0.2, 0.3, 0.4])
    for scale in (1.0, 1e9, 1e200):
        p = Permutahedron(w).weights(scale * np.array([3.0, -2.0, 7.0, 0.0]))
        np.testing.assert_array_equal(p, [0.3, 0.1, 0.4, 0.2])


def test_small_differences_of_large_scores_count():
    w = np.array([0.5, 0.3, 0.2, 0.0])
    near = np.array([0.125, 0.0])
    z = np.concatenate([1e9 + near, -1e9 + near])
    # Each pair shares its weights as two patterns alone would.
    pair = [Permutahedron(part).weights(near) for part in ([0.5, 0.3], [0.2, 0.0])]
    np.testing.assert_allclose(Permutahedron(w).weights(z), np.concatenate(pair), rtol=0, atol=KKT)


class TestDerivatives:
    w = np.array([0.9, 0.5, 0.5, 0.2, 0.1, 0.0])

    @pytest.mark.parametrize("seed", range(5))
    def test_jacobian_action(self, seed):
        z, v = np.random.default_rng(seed).normal(size=(2, 6)) * [[0.3], [1.0]]
        attention = Permutahedron(self.w)
        action = attention.jacobian_action(z, v)
        np.testing.assert_allclose(action, differences(attention.weights, z, v), rtol=0, atol=DIFFERENCE)
        assert abs(np.sum(action)) < KKT

    @pytest.mark.parametrize("seed", range(5))
    def test_weights_are_the_gradient_of_the_conjugate(self, seed):
        z, v = np.random.default_rng(seed).normal(size=(2, 6)) * [[0.3], [1.0]]
        attention = Permutahedron(self.w)
        slope = differences(attention.conjugate, z, v)
        np.testing.assert_allclose(slope, attention.weights(z) @ v, rtol=0, atol=DIFFERENCE)

    def test_ties_among_full_patterns_do_not_move(self):
        """Both tied patterns are at the cap, and stay there whatever their order."""
        v = np.array([1.0, 2.0, 3.0, 4.0])
        action = Permutahedron([1.0, 1.0, 0.0, 0.0]).jacobian_action(np.array([3.0, 3.0, 0.0, 0.0]), v)
        np.testing.assert_array_equal(action, 0)


def test_conjugate_and_regularizer_obey_fenchel_and_young():
    attention = Permutahedron(TestDerivatives.w)
    z, y = np.random.default_rng(0).normal(size=(2, 50, 6))
    p, q = attention.weights(z), attention.weights(y)
    best = attention.conjugate(z) + attention.regularizer(p) - np.sum(p * z, axis=-1)
    np.testing.assert_allclose(best, 0, atol=KKT)
    assert np.all(attention.conjugate(z) + attention.regularizer(q) - np.sum(q * z, axis=-1) > -KKT)
    assert attention.regularizer(2.2 * np.eye(6)[0]) == math.inf


def test_separation_margin():
    attention = Permutahedron([0.9, 0.6, 0.0, 0.0])
    assert attention.separation_margin(1) == math.inf
    assert attention.separation_margin(2) == 0.75
    for gap in (0.7, 0.8):
        assert (attention.weights(np.array([0, 0, -gap, -gap]))[-1] > 0) == (gap < 0.75)


def test_absent_patterns_take_the_zeros_of_w():
    attention = Permutahedron([0.5, 0.3, 0.2, 0.0, 0.0])
    z = np.array([0.3, -math.inf, 0.1, 0.2, -math.inf])
    here = np.isfinite(z)
    p = attention.weights(z)
    np.testing.assert_array_equal(p[~here], 0)
    np.testing.assert_array_equal(p[here], Permutahedron([0.5, 0.3, 0.2]).weights(z[here]))
    assert attention.conjugate(z) == Permutahedron([0.5, 0.3, 0.2]).conjugate(z[here])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Permutahedron([]), "shape \\(0,\\)"),
        (lambda: Permutahedron([[1.0]]), "shape \\(1, 1\\)"),
        (lambda: Permutahedron([0.5, -0.1]), "finite numbers >= 0"),
        (lambda: Permutahedron([math.nan, 1.0]), "finite numbers >= 0"),
        (lambda: Permutahedron([0.0, 0.0]), "not all 0"),
        (lambda: Permutahedron([1.0, 0.0]).weights(np.zeros(3)), "3 patterns, w 2"),
        (lambda: Permutahedron([0.5, 0.5]).weights([0.0, -math.inf]), "1 absent patterns in a row, w has 0"),
        (lambda: Permutahedron([1.0, 0.0]).weights([0.0, math.nan]), "NaN"),
        (lambda: Permutahedron([1.0, 0.0]).threshold(np.zeros(2)), "no threshold"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words) as error:
        make()
    assert "\n" not in str(error.value)
