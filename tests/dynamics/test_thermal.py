"""Thermal attention: the source-field relation, the closed forms of two patterns, limits, Lemma D.2."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hopfieldphase.core import tsallis
from hopfieldphase.core.entmax import weights
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.thermal import (
    gibbs_covariance,
    local_growth,
    normalisation_growth,
    thermal_attention,
    vertex_attention,
    zero_temperature_attention,
)

EXACT = 1e-12
"""Bound on relative errors: some hundred roundings."""

DIFFERENCES = 1e-9
"""Fourth-order central differences with h = 1e-4 of values known to 1e-15."""

SCORES = np.array([0.3, -0.2, 0.9, 0.1])


def gradient(function, z, h=1e-4):
    """Fourth-order central differences."""
    return np.array(
        [
            (
                8 * (function(z + h * e) - function(z - h * e))
                - function(z + 2 * h * e)
                + function(z - 2 * h * e)
            )
            / (12 * h)
            for e in np.eye(z.size)
        ]
    )


@pytest.mark.parametrize("alpha", [0.5, 0.8, 1.0, 1.25, 1.3, 2.0, 3.0])
@pytest.mark.parametrize("average", [thermal_attention, vertex_attention])
def test_escort_moment_is_the_response_to_the_scores(alpha, average):
    # Eq. (D.10): ∇_z log_α Z = β p^(esc) at fixed |x|².
    beta, half_norm = 0.4, 0.5

    def potential(z):
        found = average(z, alpha, beta, lowest_energy=half_norm - z.max())
        return float(tsallis.log_alpha(np.array(math.exp(found.log_partition)), alpha))

    found = average(SCORES, alpha, beta, lowest_energy=half_norm - SCORES.max())
    assert_allclose(gradient(potential, SCORES), beta * found.escort_moment, rtol=DIFFERENCES)


def test_covariance_is_the_response_of_the_weights():
    covariance, beta = gibbs_covariance(SCORES, 3.0), 3.0
    for k in range(SCORES.size):
        response = gradient(lambda z, k=k: thermal_attention(z, 1.0, beta).weights[k], SCORES)
        assert_allclose(response, beta * covariance[k], rtol=1e-8)


@pytest.mark.parametrize("alpha", [1.5, 2.0, 3.0, 1.1])
@pytest.mark.parametrize("beta", [1e-3, 1.0, 1e5])
def test_two_patterns_in_elementary_functions(alpha, beta):
    # With q the weight of the lower pattern: ∫₀¹ (1 + ag q)^{−s} dq and ∫₀¹ q (1 + ag q)^{−s} dq.
    c = (alpha - 1) * beta
    s = alpha / (alpha - 1)

    def plain(s):
        return math.log1p(c) / c if s == 1 else -math.expm1((1 - s) * math.log1p(c)) / ((s - 1) * c)

    found = thermal_attention(np.array([0.0, 1.0]), alpha, beta)
    assert_allclose(found.log_partition, math.log(plain(1 / (alpha - 1))), atol=EXACT)
    normalisation = plain(s) / plain(1 / (alpha - 1)) ** alpha
    assert_allclose(math.exp(found.log_normalisation), normalisation, rtol=1e-10)
    lower = (plain(s - 1) - plain(s)) / c / plain(s)
    assert_allclose(found.weights[0], lower, rtol=1e-10 / min(c, 1))  # the form cancels for small c


@pytest.mark.parametrize(
    ("alpha", "M", "limit"),
    [(1.5, 2, 0.5), (2.0, 2, 1.0), (1.5, 3, 1.0), (3.0, 2, 0.5), (3.0, 3, 0.0), (2.0, 4, 0.0)],
)
def test_growth_of_the_normalisation(alpha, M, limit):
    scores = np.zeros(M)
    scores[0] = 1.0
    assert_allclose(normalisation_growth(alpha, M), limit, atol=EXACT)
    growth = [local_growth(scores, alpha, beta) for beta in (1e3, 1e6, 1e12)]
    assert abs(growth[2] - limit) < abs(growth[0] - limit)
    # At M − 1 = k = 1/(α − 1) logarithms correct it: d log(β^a log^{−α} β)/d log β = a − α/log β.
    at_border = (M - 1) * (alpha - 1) == 1
    expected = limit - alpha / math.log(1e12) if at_border else limit
    assert abs(growth[2] - expected) < (0.01 if at_border else 1e-5)


@pytest.mark.parametrize(("alpha", "M"), [(1.3, 3), (2.0, 5), (2.5, 40)])
def test_local_growth_is_a_logarithmic_derivative(alpha, M):
    scores = np.random.default_rng(M).normal(size=M)
    logs = [
        thermal_attention(scores, alpha, 7.0 * math.exp(h)).log_normalisation
        for h in (-2e-3, -1e-3, 1e-3, 2e-3)
    ]
    slope = (8 * (logs[2] - logs[1]) - (logs[3] - logs[0])) / 12e-3
    assert_allclose(local_growth(scores, alpha, 7.0), slope, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_hard_argmax_at_zero_temperature_with_few_patterns(alpha):
    # Proposition D.8 where M − 1 < α/(α − 1).
    scores = np.array([0.2, 1.0]) if alpha == 2 else np.array([0.2, 1.0, 0.7])
    errors = [1 - thermal_attention(scores, alpha, beta).weights[1] for beta in (1e3, 1e6, 1e9)]
    assert errors[0] > errors[1] > errors[2] > -EXACT
    assert errors[2] < 1e-3
    assert_allclose(zero_temperature_attention(scores, alpha), scores == scores.max())


@pytest.mark.parametrize(("alpha", "M"), [(2.0, 4), (3.0, 3), (1.5, 6), (2.0, 50)])
def test_escort_weights_stay_mixed_with_many_patterns(alpha, M):
    # Equal gaps: 1 − p_top has the density q^{M−2−s}, s = α/(α − 1), on (0, 1), so that ⟨p_top⟩ = 1/(M − s).
    scores = np.zeros(M)
    scores[2] = 1.0
    limit = zero_temperature_attention(scores, alpha)
    assert_allclose(limit[2], 1 / (M - alpha / (alpha - 1)), rtol=EXACT)
    assert_allclose(thermal_attention(scores, alpha, 1e15).weights, limit, rtol=1e-4)
    assert thermal_attention(scores, 1.0, 1e15).weights[2] > 1 - 1e-12


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0, 4.0])
def test_single_patterns_concentrate_for_every_index(alpha):
    errors = [1 - vertex_attention(SCORES, alpha, beta).weights[2] for beta in (10.0, 1e4, 1e8)]
    assert errors[0] >= errors[1] >= errors[2] > -EXACT
    # exp_α falls like (β gap)^{−1/(α−1)}, its escort like (β gap)^{−α/(α−1)}.
    assert errors[2] < 1e-9
    found = vertex_attention(SCORES, alpha, 1e8)
    assert abs(found.log_normalisation) < 0.02


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0, 5.0])
def test_high_temperature(alpha):
    for average in (thermal_attention, vertex_attention):
        assert_allclose(average(SCORES, alpha, 1e-9).weights, 0.25, rtol=1e-8)


def test_reference_values(reference_values):
    for case in reference_values["thermal_alpha1"]:
        scores, beta = np.array(case["z"]), case["beta"]
        found = thermal_attention(scores, 1.0, beta, lowest_energy=-scores.max())
        assert_allclose(found.weights, case["mean_weights"], rtol=1e-14)
        assert_allclose(found.log_partition, case["log_partition"], rtol=1e-14)


def test_vertices_at_alpha_one_are_the_softmax():
    found = vertex_attention(SCORES, 1.0, 5.0, lowest_energy=-0.9)
    assert_allclose(found.weights, weights(SCORES, 1.0, 5.0), rtol=EXACT)
    assert_allclose(found.log_partition, math.log(np.sum(np.exp(5 * SCORES))), rtol=EXACT)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(-3, 3), min_size=2, max_size=30),
    st.sampled_from([0.4, 0.9, 1.0, 1.2, 1.5, 2.0, 3.5]),
    st.floats(1e-3, 1e4),
)
def test_weights_are_a_distribution_in_the_order_of_the_scores(scores, alpha, beta):
    z = np.array(scores)
    for average in (thermal_attention, vertex_attention):
        found = average(z, alpha, beta)
        assert_allclose(np.sum(found.weights), 1, rtol=1e-12)
        assert bool(np.all(np.diff(found.weights[np.argsort(z)]) >= -1e-13))
    # Every point of the simplex counts, so that its average is never more decided than that of the vertices.
    assert (
        thermal_attention(z, 1.0, beta).weights.max() <= vertex_attention(z, 1.0, beta).weights.max() + 1e-12
    )


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 2.0), (1.3, 2.0), (2.0, 40.0), (0.8, 0.3)])
def test_many_patterns_against_sampling(alpha, beta):
    # Uniform points of the simplex are normalised exponential variables; weighted averages of 20,000.
    rng = np.random.default_rng(1)
    scores = 3 * rng.normal(size=100)
    p = rng.exponential(size=(20_000, 100))
    p /= p.sum(axis=1, keepdims=True)
    w = tsallis.exp_alpha(-beta * (p @ (scores.max() - scores)), alpha) ** alpha
    mean = w @ p / w.sum()
    error = np.sqrt(w**2 @ (p - mean) ** 2) / w.sum()
    deviations = (thermal_attention(scores, alpha, beta).weights - mean) / error
    # Root mean square of 100 standardised deviations: 1 ± 0.07; five standard deviations are allowed.
    assert abs(np.sqrt(np.mean(deviations**2)) - 1) < 0.35


@pytest.mark.parametrize("alpha", [0.01, 0.999, 1.0, 1.0000001, 1.5, 10.0, 1e6])
@pytest.mark.parametrize("beta", [1e-300, 1e20, 1e300])
def test_extreme_parameters(alpha, beta):
    for average in (thermal_attention, vertex_attention):
        found = average(SCORES, alpha, beta)
        assert_allclose(np.sum(found.weights), 1, rtol=1e-12)
        assert math.isfinite(found.log_partition)
        assert math.isfinite(found.log_normalisation)


def test_no_limit_on_the_number_of_patterns():
    scores = np.random.default_rng(0).normal(size=20_000)
    found = thermal_attention(scores, 2.0, 50.0)
    assert_allclose(np.sum(found.weights), 1, rtol=1e-12)
    assert math.isfinite(found.log_normalisation)
    assert bool(np.all(np.isinf(found.escort_moment)))


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((SCORES, 0.0, 1.0), {}, "alpha = 0.0"),
        ((SCORES, math.inf, 1.0), {}, "alpha = inf"),
        ((SCORES, 1.0, -1.0), {}, "beta = -1.0"),
        (([1.0, math.nan], 1.0, 1.0), {}, "finite overlaps"),
        ((np.ones((2, 2)), 1.0, 1.0), {}, r"shape \(2, 2\)"),
        (
            (SCORES, 2.0, 10.0),
            {"lowest_energy": -0.2},
            "diverges for alpha = 2 at beta = 10: it must be above -0.1",
        ),
        ((SCORES, 0.5, 10.0), {"lowest_energy": 0.3}, "vanishes .* it must be below 0.2"),
    ],
)
def test_bad_input(arguments, options, words):
    for average in (thermal_attention, vertex_attention):
        with pytest.raises(InputError, match=words):
            average(*arguments, **options)


def test_growth_needs_an_index_above_one():
    for function in (lambda: normalisation_growth(1.0, 3), lambda: local_growth(SCORES, 0.5, 1.0)):
        with pytest.raises(InputError, match="alpha"):
            function()
