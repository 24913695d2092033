"""Distances between samples in plain NumPy: conventions, floors, tail indices, bootstrap intervals."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose

from hopfieldphase.core.bootstrap import bootstrap_ratio
from hopfieldphase.core.distances import (
    deterministic_mean,
    distance_to_law,
    energy_distance,
    hill,
    iid_floor,
    wasserstein_2,
)
from hopfieldphase.core.ensembles import Gaussian, MirroredPareto, symexp
from hopfieldphase.core.errors import InputError

ROUNDING = 1e-12
STANDARD_ERRORS = 4
"""Fixed seeds: a right mean lies outside of four standard errors for one seed in 16000."""

numbers = st.floats(-1e3, 1e3)
samples = hnp.arrays(float, st.integers(2, 12), elements=numbers)


def test_values_by_hand():
    # 2·(0 + 3 + 1 + 2)/4 − 2·1/4 − 2·3/4 = 1; with n(n − 1) below: 3 − 1 − 3
    assert energy_distance([0, 1], [0, 3]) == 1
    assert energy_distance([0, 1], [0, 3], unbiased=True) == -1
    assert energy_distance([[0, 0]], [[3, 4]]) == 10
    assert_allclose(energy_distance([[0, 0]], [[3, 4]], exponent=0.5), 2 * math.sqrt(5))
    assert wasserstein_2([3.0, 0.0], [0.0, 7.0]) == math.sqrt(8)
    assert_allclose(hill([1.0, math.e, math.e**2, math.e**3], 2), 2 / 3)


def test_energy_distance_is_the_square_of_scipys():
    generator = np.random.default_rng(0)
    x, y = generator.standard_normal(300), generator.standard_t(2, 500)
    assert_allclose(energy_distance(x, y), scipy.stats.energy_distance(x, y) ** 2, rtol=1e-10)


@given(samples, samples, st.floats(0.1, 1.9))
def test_v_and_u_statistic(x, y, exponent):
    # they differ by the mean distances within, over n − 1 and m − 1
    v, u = (energy_distance(x, y, exponent=exponent, unbiased=flag) for flag in (False, True))
    within = [np.mean(np.abs(np.subtract.outer(z, z)) ** exponent) / (z.size - 1) for z in (x, y)]
    assert_allclose(v - u, sum(within), rtol=1e-9, atol=1e-9 * (1 + sum(within)))


@pytest.mark.parametrize("law", [MirroredPareto(3.0), Gaussian(1.5)], ids=str)
def test_floor_of_independent_samples(law):
    n, trials = 60, 3000
    generator = np.random.default_rng(5)
    values = [energy_distance(law.sample(n, generator), law.sample(n, generator)) for _ in range(trials)]
    error = np.std(values, ddof=1) / math.sqrt(trials)
    assert abs(np.mean(values) - iid_floor(law.mean_difference(), n)) < STANDARD_ERRORS * error
    # the U-statistic of the same law has mean zero
    generator = np.random.default_rng(6)
    values = [
        energy_distance(law.sample(n, generator), law.sample(n, generator), unbiased=True)
        for _ in range(trials)
    ]
    assert abs(np.mean(values)) < STANDARD_ERRORS * np.std(values, ddof=1) / math.sqrt(trials)


@pytest.mark.parametrize("law", [MirroredPareto(3.0), Gaussian(1.5)], ids=str)
def test_a_fixed_set_against_independent_samples(law):
    n, trials = 60, 3000
    delta, generator = law.mean_difference(), np.random.default_rng(7)
    quantiles = law.quantile((np.arange(n) + 0.5) / n)
    for points, better in ((quantiles, True), (quantiles + 1, False)):
        expected = deterministic_mean(distance_to_law(points, law), delta, n)
        values = [energy_distance(points, law.sample(n, generator)) for _ in range(trials)]
        error = np.std(values, ddof=1) / math.sqrt(trials)
        assert abs(np.mean(values) - expected) < STANDARD_ERRORS * error
        # a set of quantiles scores below the sampling reference without being the law
        assert (expected < iid_floor(delta, n)) == better


@pytest.mark.slow
@given(hnp.arrays(float, st.integers(1, 8), elements=st.floats(-20, 20)), st.floats(1.1, 5.0))
def test_distance_to_a_law(points, index):
    # 2 ∫ (F_R − F)² dz between the points, plus the two tails of the law beyond them
    law = MirroredPareto(index)
    distance = distance_to_law(points, law)
    assert distance > -1e-12 * (1 + law.mean_difference())
    many = law.quantile((np.arange(2000) + 0.5) / 2000)
    # 2000 quantiles stand for the law but for its outermost tails
    tails = 8 * law.mean_difference() * 2000 ** (1 / index - 1) + 1e-3
    assert abs(energy_distance(points, many) - distance) < tails


@pytest.mark.parametrize("a", [0.7, 1.5, 3.0])
def test_hill_on_exact_pareto_tails(a):
    n, k = 200_000, 5000
    sample = scipy.stats.pareto(a).rvs(n, random_state=3)
    assert abs(hill(sample, k) - a) < STANDARD_ERRORS * a / math.sqrt(k)
    # k + 1 spacings of a Pareto sample are those of a whole one: the same law for every k
    estimates = [hill(MirroredPareto(a).sample(4000, seed), 200) for seed in range(200)]
    assert abs(np.mean(estimates) - a * 200 / 199) < STANDARD_ERRORS * a / math.sqrt(200 * 198)
    # scale drops out, and a power divides the index
    assert_allclose(hill(7 * sample**2, k), hill(sample, k) / 2, rtol=1e-10)


def test_hill_is_the_inverse_mean_excess_of_exponential_tails():
    sample = np.random.default_rng(0).exponential(1 / 1.8, 1000)
    top = np.sort(np.exp(sample))[::-1]
    assert_allclose(hill(np.exp(sample), 50), 1 / np.mean(np.log(top[:50] / top[50])), rtol=ROUNDING)
    assert math.isinf(hill([1.0, 2.0, 2.0, 2.0], 2))
    assert hill(symexp(sample + 5), 50) > 0


def test_wasserstein_is_the_least_cost_of_all_couplings():
    generator = np.random.default_rng(2)
    x, y = generator.standard_normal(7), generator.standard_cauchy(7)
    cost = np.subtract.outer(x, y) ** 2
    rows, columns = scipy.optimize.linear_sum_assignment(cost)
    assert_allclose(wasserstein_2(x, y), math.sqrt(cost[rows, columns].mean()), rtol=ROUNDING)


@given(samples, numbers, st.floats(0.01, 100))
def test_wasserstein_laws(x, shift, scale):
    y = x[::-1] ** 2 / 1e3
    assert wasserstein_2(x, x[::-1]) == 0
    assert_allclose(wasserstein_2(x, x + shift), abs(shift), rtol=1e-9, atol=1e-9)
    assert_allclose(wasserstein_2(scale * x, scale * y), scale * wasserstein_2(x, y), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("summary", ["median", "mean"])
def test_bootstrap_ratio(summary):
    generator = np.random.default_rng(4)
    d, reference = 1.3 * generator.gamma(9, size=128), generator.gamma(9, size=128)
    found = bootstrap_ratio(d, reference, summary)
    of = getattr(np, summary)
    assert_allclose(found.ratio, of(d) / of(reference), rtol=ROUNDING)
    # the plain loop of equation (37), on other random numbers
    other = np.random.default_rng(9)
    ratios = [
        of(d[other.integers(128, size=128)]) / of(reference[other.integers(128, size=128)])
        for _ in range(2000)
    ]
    # a quantile of 2000 resamples is known to a few per cent of the width
    width = np.diff(np.quantile(ratios, [0.025, 0.975]))[0]
    assert_allclose([found.low, found.high], np.quantile(ratios, [0.025, 0.975]), atol=0.12 * width)
    assert found == bootstrap_ratio(d, reference, summary)
    narrow = bootstrap_ratio(d, reference, summary, level=0.5)
    assert found.low < narrow.low < found.ratio < narrow.high < found.high


def test_bootstrap_intervals_cover():
    # 95 % intervals of a mean of well-behaved trials: 200 repetitions have a standard error of 1.5 %
    generator = np.random.default_rng(8)
    hits = 0
    for trial in range(200):
        groups = generator.gamma(4, size=128), generator.gamma(4, size=128)
        interval = bootstrap_ratio(*groups, "mean", resamples=400, seed=trial)
        hits += interval.low <= 1 <= interval.high
    assert abs(hits / 200 - 0.95) < STANDARD_ERRORS * 0.0155


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: energy_distance([], [1.0]), r"x has shape \(0,\): give at least 1 point"),
        (lambda: energy_distance([1.0], [1.0, 2.0], unbiased=True), "x has shape .* give at least 2 points"),
        (lambda: energy_distance([1.0, math.nan], [1.0]), "x holds NaN or inf"),
        (lambda: energy_distance([1.0], [math.inf]), "y holds NaN or inf"),
        (lambda: energy_distance(np.ones((3, 2)), np.ones((3, 3))), "x has 2 and y has 3 dimensions"),
        (lambda: energy_distance(np.ones((3, 2, 2)), [1.0]), "give at least 1 point, of shape"),
        (lambda: energy_distance(["a"], [1.0]), "does not hold real numbers"),
        (lambda: energy_distance([1.0], [1.0], exponent=2.0), "exponent = 2.0"),
        (lambda: wasserstein_2([1.0, 2.0], [1.0]), "equal size"),
        (lambda: wasserstein_2(np.ones((2, 2)), np.ones((2, 2))), "one-dimensional"),
        (lambda: hill([1.0, 2.0], 2), "give k < 2"),
        (lambda: hill([1.0, 2.0, 3.0], 0), "k = 0"),
        (lambda: hill([-3.0, -2.0, 1.0], 1), "not positive"),
        (lambda: hill([1.0], 1), "at least 2 points"),
        (lambda: hill([1.0, math.nan, 2.0], 1), "NaN"),
        (lambda: hill(np.ones((3, 2)), 1), "one-dimensional"),
        (lambda: iid_floor(-1.0, 3), "mean_difference = -1"),
        (lambda: iid_floor(1.0, 0), "n = 0"),
        (lambda: deterministic_mean(-0.1, 1.0, 3), "distance = -0.1"),
        (lambda: distance_to_law([1.0], MirroredPareto(0.9)), "has no mean"),
        (lambda: distance_to_law(np.ones((3, 2)), MirroredPareto(1.5)), "one-dimensional"),
        (lambda: bootstrap_ratio([1.0], [1.0, 2.0]), "at least 2 points"),
        (lambda: bootstrap_ratio([1.0, 2.0], [1.0, math.nan]), "reference holds NaN"),
        (lambda: bootstrap_ratio([1.0, 2.0], [1.0, 2.0], "mode"), "summary = 'mode'"),
        (lambda: bootstrap_ratio([1.0, 2.0], [0.0, 0.0]), "give positive distances"),
        (lambda: bootstrap_ratio([1.0, 2.0], [1.0, 2.0], level=1.0), "level = 1.0"),
        (lambda: bootstrap_ratio([1.0, 2.0], [0.0, 2.0]), "reach zero"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
