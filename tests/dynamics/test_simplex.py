"""Line integrals for averages over the simplex: multiprecision, closed forms, other methods, limits, laws."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import dblquad

from hopfieldphase.dynamics.simplex import (
    exponential_covariance,
    exponential_integral,
    falling_power_integral,
    rising_power_integral,
    singular_power_integral,
)

EXACT = 1e-12
"""Bound on relative errors of moments and absolute errors of logarithms: some hundred roundings."""

QUADRATURE = 1e-9
"""What adaptive quadrature of a kinked integrand in two dimensions gives."""

GAPS = np.array([0.0, 0.7, 2.5])


def log_divided_difference(nodes):
    """log exp[y_1, …, y_M] in multiprecision: Σ_j h_j(y − mean)/(M − 1 + j)!, h complete homogeneous."""
    with mpmath.workdps(60):
        y = [mpmath.mpf(float(node)) for node in nodes]
        mean = sum(y) / len(y)
        y = [node - mean for node in y]
        terms = int(4 * max(abs(node) for node in y)) + 200
        sums, powers = [], [mpmath.mpf(1)] * len(y)
        for _ in range(terms):
            powers = [power * node for power, node in zip(powers, y, strict=True)]
            sums.append(sum(powers))
        homogeneous, total, factor = [mpmath.mpf(1)], mpmath.mpf(0), 1 / mpmath.factorial(len(y) - 1)
        for j in range(terms):
            total += homogeneous[j] * factor
            factor /= len(y) + j
            newest = sum(sums[i] * homogeneous[j - i] for i in range(j + 1)) / (j + 1)
            homogeneous.append(newest)
        return mean + mpmath.log(total)


def over_triangle(integrand):
    value, _ = dblquad(
        lambda q, r: integrand(np.array([r, q, 1 - q - r])), 0, 1, 0, lambda r: 1 - r,
        epsabs=1e-12, epsrel=1e-12,
    )  # fmt: skip
    return value


def test_four_scores():
    found = exponential_integral(np.array([0.0, 1.0, 2.0, -1.0]))
    assert_allclose(math.exp(found.log_value), 0.311055195, rtol=2e-9)
    assert_allclose(found.mean, [0.218376, 0.265533, 0.332162, 0.183928], atol=5e-7)


@pytest.mark.parametrize(("M", "spread"), [(60, 1.0), (200, 1.0), (200, 10.0)])
def test_against_multiprecision(M, spread):
    y = spread * np.random.default_rng(M).normal(size=M)
    y[3] = y[7]
    found = exponential_integral(y)
    exact = log_divided_difference(y)
    assert abs(found.log_value - float(exact)) < EXACT
    for k in (int(np.argmax(y)), 3):
        moment = float(mpmath.exp(log_divided_difference([*y, y[k]]) - exact))
        assert_allclose(found.mean[k], moment, rtol=EXACT)
    assert found.mean[3] == found.mean[7]


def test_covariance_against_multiprecision():
    y = 3 * np.random.default_rng(1).normal(size=30)
    y[4] = y[5]
    exact, mean = log_divided_difference(y), exponential_integral(y).mean
    covariance = exponential_covariance(y)
    for i, j in ((0, 1), (2, 2), (4, 5)):
        pair = float(mpmath.exp(log_divided_difference([*y, y[i], y[j]]) - exact)) * (2 if i == j else 1)
        assert_allclose(covariance[i, j] + mean[i] * mean[j], pair, rtol=EXACT)
    assert_allclose(np.sum(covariance, axis=0), 0, atol=1e-15)
    assert np.linalg.eigvalsh(covariance)[0] > -1e-15


@pytest.mark.parametrize("gap", [1e-9, 1.3, 40.0, 1e5])
def test_two_nodes_in_closed_form(gap):
    found = exponential_integral(np.array([0.0, gap]))
    assert_allclose(found.log_value, gap + math.log(-math.expm1(-gap) / gap), rtol=EXACT, atol=EXACT)
    # ⟨p₂⟩ = 1/(1 − e^{−gap}) − 1/gap, which cancels for small gaps: there ½ + gap/12.
    exact = 0.5 + gap / 12 if gap < 1e-3 else -1 / math.expm1(-gap) - 1 / gap
    assert_allclose(found.mean[1], exact, rtol=EXACT)


def test_ties_share_equally_and_one_pattern_holds_all():
    M = 500
    found = exponential_integral(np.full(M, 3.0))
    assert_allclose(found.mean, 1 / M, rtol=EXACT)
    assert_allclose(found.log_value, 3 - math.lgamma(M), rtol=EXACT)
    assert exponential_integral(np.array([2.0])).mean == [1.0]
    assert abs(exponential_integral(np.array([2.0])).log_value - 2) < EXACT


def test_one_matrix_exponential():
    # The Taylor series of the non-negative bidiagonal matrix, scaled and squared: no cancellation either.
    y = np.random.default_rng(5).normal(size=40)
    M = y.size
    scale, halvings = (M - 1) / math.e, 12
    nodes = np.concatenate([y, [y[10]]]) - y.min()
    matrix = (np.diag(nodes) + scale * np.diag(np.ones(M), 1)) / 2**halvings
    term = total = np.eye(M + 1)
    for n in range(1, 40):
        term = term @ matrix / n
        total = total + term
    for _ in range(halvings):
        total = total @ total
    ratio = total[0, M] / total[0, M - 1] / scale
    found = exponential_integral(y)
    assert_allclose(found.mean[10], ratio, rtol=EXACT)
    log_value = math.log(total[0, M - 1]) - (M - 1) * math.log(scale) + y.min()
    assert abs(found.log_value - log_value) < EXACT


@pytest.mark.parametrize("k", [0.3, 1.0, 2.0, 3.0, 3.2, 3.6, 4.0, 7.5])
def test_falling_powers_against_cubature(k):
    found = falling_power_integral(GAPS, k)
    total = over_triangle(lambda p: (1 + GAPS @ p) ** -k)
    mean = [over_triangle(lambda p, i=i: p[i] * (1 + GAPS @ p) ** -k) / total for i in range(3)]
    assert abs(found.log_value - math.log(total)) < EXACT
    assert_allclose(found.mean, mean, rtol=EXACT)


@pytest.mark.parametrize(
    ("k", "scale", "accuracy"), [(2.0, 1.0, QUADRATURE), (0.5, 0.3, EXACT), (3.5, 0.3, EXACT)]
)
def test_rising_powers_against_cubature(k, scale, accuracy):
    gaps = scale * GAPS  # scale 1: zero on a part of the simplex
    found = rising_power_integral(gaps, k)
    total = over_triangle(lambda p: max(1 - gaps @ p, 0.0) ** k)
    mean = [over_triangle(lambda p, i=i: p[i] * max(1 - gaps @ p, 0.0) ** k) / total for i in range(3)]
    assert abs(found.log_value - math.log(total)) < accuracy
    assert_allclose(found.mean, mean, rtol=accuracy)


def test_singular_power_is_the_limit_of_the_falling_one():
    gaps = np.array([0.0, 0.5, 1.0, 2.0, 0.7])
    limit = singular_power_integral(gaps, 2.0)
    scale = 1e9
    found = falling_power_integral(scale * gaps, 2.0)
    # Corrections are of the order of log(scale)/scale² and 1/scale.
    assert_allclose(found.mean, limit.mean, rtol=1e-7)
    assert abs(found.log_value + 2 * math.log(scale) - limit.log_value) < 1e-7


@pytest.mark.parametrize("M", [3, 20, 1000])
def test_both_forms_of_the_falling_power_agree(M):
    # At k = M + 1/2 one line integral replaces the other; the derivative in k is of the order of log M.
    gaps = 3 * np.random.default_rng(M).random(M)
    gaps[0] = 0
    below, above = (falling_power_integral(gaps, M + 0.5 + shift) for shift in (-1e-12, 1e-12))
    assert abs(below.log_value - above.log_value) < 1e-10
    assert_allclose(below.mean, above.mean, rtol=1e-11)


@pytest.mark.parametrize("M", [2, 20, 1000])
@pytest.mark.parametrize("epsilon", [1e-4, 1e-9])
def test_powers_tend_to_the_exponential_to_first_order(M, epsilon):
    # (1 ± εg)^{∓1/ε} = e^{−g}(1 ± εg²/2 + …): the mean of both sides cancels the first order.
    gaps = 3 * np.random.default_rng(M).random(M)
    gaps[0] = 0
    limit = exponential_integral(-gaps)
    falling = falling_power_integral(epsilon * gaps, 1 / epsilon)
    rising = rising_power_integral(epsilon * gaps, 1 / epsilon)
    second_order = max(EXACT, 100 * epsilon**2)
    assert abs((falling.log_value + rising.log_value) / 2 - limit.log_value) < second_order * max(
        1, abs(limit.log_value)
    )
    assert_allclose((falling.mean + rising.mean) / 2, limit.mean, rtol=second_order)
    assert falling.log_value > limit.log_value > rising.log_value


@pytest.mark.parametrize("k", [1e-4, 0.5, 50.0, 1e4])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_extreme_exponents_and_scales(k, scale):
    gaps = scale * np.random.default_rng(3).random(60)
    gaps[0] = 0
    for found in (falling_power_integral(gaps, k), rising_power_integral(gaps, k)):
        assert math.isfinite(found.log_value)
        assert bool(np.all(np.diff(found.mean[np.argsort(gaps)]) <= 1e-15))
        assert_allclose(np.sum(found.mean), 1, rtol=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=12), st.floats(-100, 100), st.randoms())
def test_laws(nodes, shift, random):
    y = np.array(nodes)
    found = exponential_integral(y)
    assert_allclose(np.sum(found.mean), 1, rtol=1e-13)
    moved = exponential_integral(y + shift)
    assert abs(moved.log_value - found.log_value - shift) < EXACT
    assert_allclose(moved.mean, found.mean, rtol=1e-10)
    order = list(range(y.size))
    random.shuffle(order)
    assert_allclose(exponential_integral(y[order]).mean, found.mean[order], rtol=EXACT)
    # Thermal weights follow the order of the scores, and are less decided than the softmax.
    assert bool(np.all(np.diff(found.mean[np.argsort(y)]) >= -1e-15))
