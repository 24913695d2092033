"""Attention in long contexts: bounds hold, gaps and supports match their closed forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hopfieldphase.core.attention import Entmax, LengthScaled, Logarithmic, PowerOfLogarithm, TopK, Yarn
from hopfieldphase.core.closed_forms import dispersion_bounds, isolation_gap
from hopfieldphase.dynamics.dispersion import (
    append,
    edge_support,
    holding_gap,
    isolating_gap,
    least_entropy,
    length_maps,
    map_weights,
    measured_gap,
    spreading,
    two_level,
)

ROUNDING = 1e-12  # of sums over up to 10⁴ weights
LENGTHS = (5, 30, 1000, 20_000)

scores = st.lists(st.floats(-8, 8), min_size=2, max_size=60).map(np.array)


def entropy(p):
    p = p[p > 0]
    return float(-(p * np.log(p)).sum())


@given(scores, st.floats(0.05, 20))
def test_dispersion_bounds_and_the_sharper_one(z, temperature):
    spread, n = float(np.ptp(z)), len(z)
    p = np.asarray(Entmax(1.0).weights(z / temperature))
    bounds = dispersion_bounds(spread, n, 1 / temperature)
    assert p.min() >= bounds.weight_min * (1 - ROUNDING)
    assert p.max() <= bounds.weight_max * (1 + ROUNDING)
    sharp = least_entropy(spread, n, 1 / temperature)
    assert bounds.entropy_min <= sharp + ROUNDING
    assert sharp - ROUNDING <= entropy(p) <= bounds.entropy_max + ROUNDING


@given(scores, st.sampled_from(sorted(length_maps(1.5, 4, 1.0, 8.0))))
def test_support_bounds_the_entropy(z, name):
    found = spreading(length_maps(1.5, 4, 1.0, 8.0)[name], z)
    assert found.entropy <= math.log(found.support) + ROUNDING
    assert math.isnan(found.slack) or found.slack > -ROUNDING


@pytest.mark.parametrize("spread", [1e-4, 0.3, 2.0, 5.7, 20.0])
def test_the_sharp_bound_is_reached_by_two_levels(spread):
    n = 100_000
    q = spread / -math.expm1(-spread)
    share = (q - 1) / math.expm1(spread)
    deepest = min(
        entropy(map_weights(Entmax(1.0), two_level(k, n, spread)))
        for k in {max(1, math.floor(share * n)), max(1, math.ceil(share * n))}
    )
    assert deepest >= least_entropy(spread, n) - ROUNDING
    # the best number of top scores is not whole: at a minimum this costs (δk/k)²
    assert_allclose(deepest, least_entropy(spread, n), atol=2 / (share * n) ** 2 + 1e-11)


def test_the_quoted_spread_of_a_trained_model():
    n, spread = 10**6, 5.7
    simple = dispersion_bounds(spread, n).entropy_min
    assert_allclose([simple, simple / math.log(n)], [8.1155, 0.58742], rtol=1e-5)  # printed: 8.1, 0.59
    assert_allclose(least_entropy(spread, n) / math.log(n), 0.784639, rtol=1e-6)


@pytest.mark.parametrize("n", LENGTHS)
@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0])
def test_isolation_gap_does_not_depend_on_the_length(alpha, n):
    gap = isolation_gap(4, alpha, alpha)
    assert_allclose(isolating_gap(Entmax(alpha), 4, n), gap, rtol=1e-10)
    assert np.count_nonzero(map_weights(Entmax(alpha), two_level(4, n, gap * 1.0001))) == 4
    assert np.count_nonzero(map_weights(Entmax(alpha), two_level(4, n, gap * 0.99))) == n
    assert_allclose(holding_gap(alpha, 4, n, 1.0), gap, rtol=1e-14)


def test_one_and_a_half_entmax_isolates_four_at_one():
    assert isolation_gap(4, 1.5, 1.5) == 1.0
    for n in (10, 1000, 1_000_000):
        assert_allclose(isolating_gap(Entmax(1.5), 4, n), 1.0, rtol=1e-10)
    assert math.isnan(isolating_gap(Entmax(1.0), 4, 10)) or isolating_gap(Entmax(1.0), 4, 10) > 700
    assert math.isinf(holding_gap(1.0, 4, 10, 1.0))


@pytest.mark.parametrize("mass", [0.6, 0.9, 0.999])
@pytest.mark.parametrize("n", LENGTHS[1:])
def test_gap_that_holds_a_weight(n, mass):
    for alpha in (1.0, 1.25, 1.5, 2.0):
        expected = holding_gap(alpha, 4, n, mass)
        assert_allclose(measured_gap(Entmax(alpha), 4, n, mass), expected, rtol=1e-10)
        for scaling in (Logarithmic(1.3), Yarn(64), PowerOfLogarithm(1.0, 0.5, 2.0)):
            scaled = LengthScaled(Entmax(alpha), scaling)
            assert_allclose(measured_gap(scaled, 4, n, mass), expected / scaling.factor(n), rtol=1e-10)


def test_softmax_needs_a_gap_that_grows_with_the_logarithm():
    gaps = [holding_gap(1.0, 4, 4 + 10**e, 0.9) for e in (2, 4, 6)]
    assert_allclose(np.diff(gaps), 2 * math.log(10), rtol=1e-12)
    scalable = [gap / math.log(4 + 10**e) for gap, e in zip(gaps, (2, 4, 6), strict=True)]
    assert abs(scalable[-1] - 1) < abs(scalable[0] - 1)  # towards 1/s


@pytest.mark.parametrize("slope", [0.8, 1.0, 1.25])
def test_scalable_softmax_at_its_threshold(slope):
    # at gap 1: k n^s/(k n^s + n − k), which tends to 0, k/(k+1), 1
    k, n = 4, 10_000
    held = map_weights(LengthScaled(Entmax(1.0), Logarithmic(slope)), two_level(k, n, 1.0))[:k].sum()
    assert_allclose(held, k * n**slope / (k * n**slope + n - k), rtol=1e-12)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_support_of_uniform_scores_grows_like_a_root(alpha):
    n, spread = 200_000, 5.7
    quantiles = spread * (np.arange(n) + 0.5) / n  # without fluctuations
    found = spreading(Entmax(alpha), quantiles)
    # sums against integrals: one part in the size of the support
    assert abs(found.support / edge_support(alpha, n, spread) - 1) < 2 / found.support
    growth = math.log(edge_support(alpha, 10 * n, spread) / edge_support(alpha, n, spread), 10)
    assert_allclose(growth, 1 / alpha, rtol=1e-12)
    assert edge_support(alpha, 3, 1e-3) == 3


def test_appended_tokens():
    rng = np.random.default_rng(1)
    z = rng.uniform(0, 3, 40)
    for b in (-5.0, 0.0, 2.0, 4.0):
        found = append(Entmax(1.0), z, b)
        weight = math.exp(b) / (math.exp(b) + np.exp(z).sum())
        top = math.exp(z.max()) / np.exp(z).sum()
        assert_allclose(found, (weight, weight * top), rtol=1e-12)
    for alpha in (1.25, 1.5, 2.0):
        edge = float(Entmax(alpha).threshold(z))
        below = append(Entmax(alpha), z, edge - 1e-6)
        assert below.share == 0
        assert below.change < 1e-15  # sums of 40 and of 41 terms round differently
        assert append(Entmax(alpha), z, edge + 0.1).change > 0
    cut = np.sort(z)[-4]
    assert append(TopK(4), z, cut - 1e-9) == (0.0, 0.0)
    assert append(TopK(4), z, cut + 1e-9).share > 0.05
    # a factor of the length moves the others, though the token itself has no weight
    scaled = append(LengthScaled(Entmax(1.5), PowerOfLogarithm()), z, -50.0)
    assert scaled.share == 0
    assert scaled.change > 1e-5
