"""Normmax: optimality conditions, the solver of entmax, limits, derivatives, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.attention.normmax import Normmax
from hopfieldphase.core.entmax import entmax
from hopfieldphase.core.errors import InputError

GAMMAS = [1.05, 1.5, 2.0, 3.0, 10.0]
KKT = 1e-12  # roundings of sums of a few dozen terms of order one
# Fifty halvings in the other package leave the root of what a small weight is the root of.
BISECTION = {1.5: 1e-12, 2.0: 1e-12, 3.0: 1e-7}
DIFFERENCE = 1e-7  # central differences with a step of 1e-6 of smooth pieces with curvatures up to 100

scores = st.lists(st.integers(-8, 8).map(lambda k: k / 8) | st.floats(-3, 3), min_size=1, max_size=30)


def differences(function, z, v, step=1e-6):
    return (function(z + step * v) - function(z - step * v)) / (2 * step)


@settings(max_examples=60)
@given(scores, st.sampled_from(GAMMAS), st.sampled_from([0.1, 1.0, 100.0, 1e6]))
def test_optimality(z, gamma, spread):
    """On the support z − (p/‖p‖)^{γ−1} = τ, and z ≤ τ off it."""
    z = spread * np.array(z)
    attention = Normmax(gamma)
    p, tau = attention.weights(z), attention.threshold(z)
    assert abs(np.sum(p) - 1) <= KKT
    rounding = KKT * max(1.0, abs(tau))
    marginal = (p / np.sum(p**gamma) ** (1 / gamma)) ** (gamma - 1)
    support = p > 0
    np.testing.assert_allclose(marginal[support], z[support] - tau, rtol=0, atol=rounding)
    assert np.all(z[~support] <= tau + rounding)
    np.testing.assert_array_equal(attention.support(z), support)


@pytest.mark.parametrize("gamma", BISECTION)
def test_agrees_with_the_bisection_of_entmax(gamma):
    torch = pytest.importorskip("torch")
    normmax_bisect = pytest.importorskip("entmax").normmax_bisect
    z = np.random.default_rng(0).normal(size=(6, 12))
    expected = normmax_bisect(torch.from_numpy(z), alpha=gamma, n_iter=60).numpy()
    np.testing.assert_allclose(Normmax(gamma).weights(z), expected, rtol=0, atol=BISECTION[gamma])


def test_two_patterns_in_closed_form():
    """For γ = 2: u² + (u − d)² = 1 for the largest u = z₁ − τ."""
    d = np.linspace(0, 0.99, 12)
    u = (d + np.sqrt(2 - d**2)) / 2
    p = Normmax(2.0).weights(np.stack([d, np.zeros_like(d)], axis=-1))
    np.testing.assert_allclose(p[:, 0], u / (2 * u - d), rtol=1e-15)


@settings(max_examples=60)
@given(scores)
def test_infinite_order_is_uniform_on_the_support_of_sparsemax(z):
    z = np.array(z)
    support = entmax(z, 2) > 0
    np.testing.assert_allclose(Normmax(math.inf).weights(z), support / support.sum(), rtol=1e-15)


def test_lowest_orders_approach_the_hardmax():
    z = np.array([1.0, 0.9, 0.0])
    # Weights are those of a gap of 0.1 to the power 1/(γ−1), relative to τ → max z − 1.
    assert Normmax(1.001).weights(z)[0] > 1 - 1e-12
    np.testing.assert_allclose(Normmax(1.0 + 1e-9).weights(np.array([0.5, 0.5, 0.0])), [0.5, 0.5, 0])


@pytest.mark.parametrize("gamma", [*GAMMAS, math.inf])
def test_a_lead_of_one_takes_all(gamma):
    attention = Normmax(gamma)
    z = np.array([0.25, -0.75, -3.0])
    np.testing.assert_array_equal(attention.weights(z), [1, 0, 0])
    np.testing.assert_allclose([attention.threshold(z), attention.conjugate(z)], [-0.75, 0.25], rtol=KKT)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("seed", range(3))
class TestDerivatives:
    def data(self, seed):
        return np.random.default_rng(seed).normal(size=(2, 5)) * [[0.2], [1.0]]

    def test_jacobian_action(self, gamma, seed):
        z, v = self.data(seed)
        attention = Normmax(gamma)
        action = attention.jacobian_action(z, v)
        np.testing.assert_allclose(
            action, differences(attention.weights, z, v), rtol=DIFFERENCE, atol=DIFFERENCE
        )
        assert abs(np.sum(action)) < KKT

    def test_weights_are_the_gradient_of_the_conjugate(self, gamma, seed):
        z, v = self.data(seed)
        attention = Normmax(gamma)
        p = attention.weights(z)
        np.testing.assert_allclose(differences(attention.conjugate, z, v), p @ v, rtol=0, atol=DIFFERENCE)

    def test_conjugate_is_the_maximum(self, gamma, seed):
        z, _ = self.data(seed)
        attention = Normmax(gamma)

        def objective(p):
            return p @ z + 1 - np.sum(p**gamma, axis=-1) ** (1 / gamma)

        best = attention.conjugate(z)
        assert abs(objective(attention.weights(z)) - best) < KKT
        assert np.all(objective(np.random.default_rng(seed).dirichlet(np.ones(5), size=200)) <= best)


@pytest.mark.parametrize("gamma", [*GAMMAS, math.inf])
@pytest.mark.parametrize("top", [1, 3])
def test_separation_margin(gamma, top):
    attention = Normmax(gamma)
    margin = attention.separation_margin(top)
    for ratio in (0.2, 0.99, 1.01):
        z = np.where(np.arange(6) < top, 0.0, -ratio * margin)
        assert (attention.weights(z)[-1] > 0) == (ratio < 1)


@pytest.mark.parametrize("gamma", [*GAMMAS, math.inf])
def test_conjugate_and_regularizer_obey_fenchel_and_young(gamma):
    attention = Normmax(gamma)
    z, y = np.random.default_rng(0).normal(size=(2, 50, 6))
    p, q = attention.weights(z), attention.weights(y)
    best = attention.conjugate(z) + attention.regularizer(p) - np.sum(p * z, axis=-1)
    np.testing.assert_allclose(best, 0, atol=KKT)
    assert np.all(attention.conjugate(z) + attention.regularizer(q) - np.sum(q * z, axis=-1) > -KKT)


def test_flat_where_one_pattern_holds_all():
    np.testing.assert_array_equal(Normmax(2.0).jacobian_action([5.0, 0.0], [1.0, 2.0]), 0)


def test_absent_patterns_cost_nothing():
    z = np.array([0.4, -math.inf, 0.1])
    attention = Normmax(2.0)
    np.testing.assert_array_equal(attention.weights(z), np.insert(attention.weights(z[[0, 2]]), 1, 0))


@pytest.mark.parametrize("gamma", [1.0, 0.5, -1, math.nan, "two"])
def test_order_outside_its_domain(gamma):
    with pytest.raises(InputError, match="gamma"):
        Normmax(gamma)


@pytest.mark.parametrize("z", [[math.nan, 0.0], [math.inf, 0.0], [-math.inf, -math.inf]])
def test_bad_scores(z):
    for function in (Normmax(2.0).weights, Normmax(2.0).threshold, Normmax(2.0).conjugate):
        with pytest.raises(InputError, match="scores have"):
            function(z)
