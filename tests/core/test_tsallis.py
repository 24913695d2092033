"""Tsallis family: definitions at 50 digits, limits of the index and of the weights, bad input."""

import math

import mpmath as mp
import numpy as np
import pytest

from hopfieldphase.core import tsallis
from hopfieldphase.core.errors import InputError

INF = math.inf
INDICES = [0.05, 0.5, 0.999, 1 - 1e-8, 1 - 1e-12, 1, 1 + 1e-12, 1 + 1e-8, 1.001, 1.5, 2, 3, 50]
P = np.array([0.375, 0.125, 0.5 - 2.0**-30, 2.0**-30, 0.0])  # sums to one exactly
Q = np.array([0.25, 0.125, 0.125, 0.375, 0.125])
ROUNDING = 2e-15  # relative: a few operations, the logarithms of P reach 21


@pytest.fixture(autouse=True)
def fifty_digits():
    with mp.workdps(50):
        yield


def mp_log(y, alpha):
    return mp.log(y) if alpha == 1 else (mp.mpf(y) ** (1 - mp.mpf(alpha)) - 1) / (1 - mp.mpf(alpha))


def mp_entropy(p, alpha):
    return -mp.fsum(mp.mpf(x) ** mp.mpf(alpha) * mp_log(x, alpha) for x in p if x > 0)


@pytest.mark.parametrize("alpha", INDICES)
class TestDefinitions:
    def test_entropy(self, alpha):
        assert tsallis.tsallis_entropy(P, alpha) == pytest.approx(float(mp_entropy(P, alpha)), rel=ROUNDING)

    def test_entropy_is_that_of_the_power_sum(self, alpha):
        if abs(alpha - 1) > 1e-2:
            expected = (1 - np.sum(P[P > 0] ** alpha)) / (alpha - 1)
            assert tsallis.tsallis_entropy(P, alpha) == pytest.approx(expected, rel=1e-14)

    def test_gradient(self, alpha):
        a = mp.mpf(alpha) - 1
        expected = [-1 - mp.log(x) if a == 0 else (1 - alpha * mp.mpf(x) ** a) / a for x in P[:4]]
        expected += [mp.inf if alpha <= 1 else 1 / a]
        np.testing.assert_allclose(
            tsallis.tsallis_entropy_gradient(P, alpha),
            np.array(expected, dtype=float),
            rtol=1e-14,
            atol=1e-15,
        )

    def test_logarithm(self, alpha):
        expected = np.array([mp_log(y, alpha) for y in Q], dtype=float)
        np.testing.assert_allclose(tsallis.log_alpha(Q, alpha), expected, rtol=1e-13)

    def test_exponential_inverts_the_logarithm(self, alpha):
        y = np.array([1e-3, 0.5, 1.0, 1.7, 4.0])
        u = np.array([mp_log(x, alpha) for x in y], dtype=float)
        # For α = 50 the function is so steep below its pole that a last digit of u is many of y.
        allowed = 1e-13 + np.finfo(float).eps * np.abs(u) * y ** (alpha - 1)
        assert np.all(np.abs(tsallis.exp_alpha(u, alpha) / y - 1) <= allowed)

    def test_divergence(self, alpha):
        pairs = [(mp.mpf(p), mp.mpf(q)) for p, q in zip(P, Q, strict=True) if p > 0]
        expected = -mp.fsum(p * mp_log(q / p, alpha) for p, q in pairs)
        # A power of 49 multiplies the rounding of a logarithm by 49.
        assert tsallis.tsallis_divergence(P, Q, alpha) == pytest.approx(float(expected), rel=5e-14)
        assert tsallis.tsallis_divergence(P, P, alpha) == 0

    def test_effective_support(self, alpha):
        if alpha == 1:
            expected = mp.exp(mp_entropy(P, 1))
        else:
            expected = mp.fsum(mp.mpf(x) ** mp.mpf(alpha) for x in P if x > 0) ** (1 / (1 - mp.mpf(alpha)))
        assert tsallis.effective_support(P, alpha) == pytest.approx(float(expected), rel=1e-14)

    def test_escort(self, alpha):
        powers = [mp.mpf(x) ** mp.mpf(alpha) for x in P]
        expected = np.array([x / mp.fsum(powers) for x in powers], dtype=float)
        np.testing.assert_allclose(tsallis.escort(P, alpha), expected, rtol=1e-14)


@pytest.mark.parametrize("step", [-1e-12, 1e-12])
def test_everything_is_continuous_through_one(step):
    """To 1e-12: the derivatives with respect to α of these values are of order one to ten."""
    for function in (
        lambda alpha: tsallis.tsallis_entropy(P, alpha),
        lambda alpha: tsallis.tsallis_entropy_gradient(P[:3], alpha),
        lambda alpha: tsallis.exp_alpha(np.array([-0.8, 0.0, 0.7]), alpha),
        lambda alpha: tsallis.log_alpha(Q, alpha),
        lambda alpha: tsallis.tsallis_divergence(P, Q, alpha),
        lambda alpha: tsallis.effective_support(Q, alpha),
        lambda alpha: tsallis.escort(Q, alpha),
    ):
        np.testing.assert_allclose(function(1 + step), function(1.0), rtol=0, atol=5e-12)
        np.testing.assert_allclose(function(np.nextafter(1.0, 1 + step)), function(1.0), rtol=0, atol=1e-14)


def test_infinite_index_is_its_own_case():
    assert tsallis.tsallis_entropy(P, INF) == 0
    np.testing.assert_array_equal(tsallis.tsallis_entropy_gradient(P, INF), np.zeros(5))
    np.testing.assert_array_equal(tsallis.exp_alpha(np.array([-2.0, 0.0, 0.1]), INF), [1, 1, INF])
    np.testing.assert_array_equal(tsallis.log_alpha(np.array([0.0, 0.9, 1.0, 5.0]), INF), [-INF, -INF, 0, 0])
    np.testing.assert_array_equal(tsallis.tsallis_divergence(np.stack([P, Q]), Q, INF), [INF, 0])
    np.testing.assert_array_equal(tsallis.escort(np.array([0.4, 0.2, 0.4]), INF), [0.5, 0, 0.5])
    assert tsallis.effective_support(np.array([0.4, 0.2, 0.4]), INF) == 2.5


def test_entropy_at_the_ends_of_the_simplex():
    for alpha in INDICES:
        assert tsallis.tsallis_entropy(np.array([0.0, 1.0, 0.0]), alpha) == 0
        uniform = -float(mp_log(mp.mpf(1) / 4, 2 - alpha)) if alpha != 1 else math.log(4)
        assert tsallis.tsallis_entropy(np.full(4, 0.25), alpha) == pytest.approx(uniform, rel=ROUNDING)


def test_tiny_weights_neither_overflow_nor_count():
    p = np.array([1.0, 5e-324, 1e-310, 0.0])
    for alpha in (1e-3, 0.05, 0.5, 1.0, 1.5, 40.0):
        expected = float(mp_entropy(p, alpha))
        assert tsallis.tsallis_entropy(p, alpha) == pytest.approx(expected, rel=1e-13, abs=1e-300)
        assert 1 <= tsallis.effective_support(p, alpha) <= 3


def test_effective_support_of_uniform_weights_is_their_number():
    for order in (0.01, 0.76, 0.9, 1, 1.2, 1.26, 2, 300, INF):
        assert tsallis.effective_support(np.full(7, 1 / 7), order) == pytest.approx(7, rel=1e-14)


def test_inverse_participation_ratio_is_the_default():
    assert tsallis.effective_support(P) == pytest.approx(1 / np.sum(P**2), rel=1e-15)


def test_exponential_beyond_its_domain():
    assert tsallis.exp_alpha(np.array(-2.0), 0.5) == 0
    assert tsallis.exp_alpha(np.array(-2.1), 0.5) == 0
    assert tsallis.exp_alpha(np.array(1.0), 2.0) == INF
    assert tsallis.exp_alpha(np.array(1.5), 2.0) == INF
    np.testing.assert_array_equal(tsallis.exp_alpha(np.array([-INF, INF]), 0.5), [0, INF])
    np.testing.assert_array_equal(tsallis.exp_alpha(np.array([-INF, INF]), 2.0), [0, INF])


def test_logarithm_at_zero():
    assert tsallis.log_alpha(np.array(0.0), 0.5) == -2
    assert tsallis.log_alpha(np.array(0.0), 1.0) == -INF
    assert tsallis.log_alpha(np.array(0.0), 2.0) == -INF


@pytest.mark.parametrize(("alpha", "expected"), [(0.5, 1.0), (1.0, INF), (2.0, INF)])
def test_divergence_off_the_support(alpha, expected):
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.0, 0.5])
    assert tsallis.tsallis_divergence(p, q, alpha) == pytest.approx(expected)


def test_divergence_broadcasts_and_promotes():
    p = np.full((4, 1, 5), 0.2, dtype=np.float32)
    assert tsallis.tsallis_divergence(p, np.stack([P, Q, Q]), 0.5).shape == (4, 3)
    assert tsallis.tsallis_divergence(p, Q, 0.5).dtype == np.float64
    assert tsallis.tsallis_divergence(p, Q.astype(np.float32), 0.5).dtype == np.float32


@pytest.mark.parametrize("alpha", [0, -1.0, math.nan, -INF, "two", None])
def test_index_outside_its_domain(alpha):
    calls = (
        lambda: tsallis.tsallis_entropy(P, alpha),
        lambda: tsallis.tsallis_entropy_gradient(P, alpha),
        lambda: tsallis.exp_alpha(P, alpha),
        lambda: tsallis.log_alpha(P, alpha),
        lambda: tsallis.tsallis_divergence(P, Q, alpha),
        lambda: tsallis.effective_support(P, alpha),
        lambda: tsallis.escort(P, alpha),
    )
    for call in calls:
        with pytest.raises(InputError, match=r"alpha = .* is outside its domain \(0, inf\]"):
            call()


@pytest.mark.parametrize(
    ("p", "words"),
    [
        ([0.5, -0.1, 0.6], "p has a negative, infinite or NaN entry"),
        ([0.5, math.nan], "p has a negative, infinite or NaN entry"),
        ([INF, 0.0], "p has a negative, infinite or NaN entry"),
        ([[1.0, 0.0], [0.0, 0.0]], "p has a row of zeros"),
        ([], r"p has shape \(0,\)"),
        (0.5, r"p has shape \(\)"),
        (["a", "b"], "p has dtype"),
        ([1j, 0], "p has dtype complex128"),
        (np.ones(3, dtype=np.float16), "p has dtype float16"),
    ],
)
def test_what_cannot_be_weights(p, words):
    for function in (tsallis.tsallis_entropy, tsallis.tsallis_entropy_gradient, tsallis.escort):
        with pytest.raises(InputError, match=words):
            function(p, 2.0)
    with pytest.raises(InputError, match=words.replace("p has", "q has")):
        tsallis.tsallis_divergence(np.ones(1), p, 2.0)


def test_arguments_outside_their_domain():
    with pytest.raises(InputError, match="y has a negative or NaN entry"):
        tsallis.log_alpha(np.array([-1.0]), 2.0)
    with pytest.raises(InputError, match="u has a NaN"):
        tsallis.exp_alpha(np.array([math.nan]), 2.0)
