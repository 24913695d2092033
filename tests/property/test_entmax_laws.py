"""Laws that hold for every α: simplex, symmetries, duality, derivatives."""

import math

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hopfieldphase.core import entmax, tsallis

INF = math.inf
ROUNDING = 5e-15  # absolute, on weights of up to 12 patterns: their sum and its normalization
DUALITY = 5e-14  # relative to the size of the terms β z·p and Ψ

FINITE_ALPHAS = st.one_of(
    st.sampled_from([0.5, 1 - 1e-9, 1.0, 1 + 1e-9, 1.25, 1.5, 2.0, 2.5, 3.0, 10.0]),
    st.floats(0.05, 20.0),
)
ALPHAS = st.one_of(FINITE_ALPHAS, st.just(INF))
BETAS = st.one_of(st.sampled_from([0.125, 1.0, 8.0]), st.floats(1e-3, 1e3))
# Multiples of 2^-20, so that shifts by whole numbers are exact: for α > 2 the weights at the edge of the
# support have infinite slope, and would show the rounding of a shift.
GRID = st.integers(-(2**23), 2**23).map(lambda n: n / 2**20)
SCORES = st.integers(1, 12).flatmap(lambda size: arrays(np.float64, size, elements=GRID))
SOME_ABSENT = st.integers(1, 12).flatmap(
    lambda size: arrays(np.float64, size, elements=st.one_of(GRID, st.just(-INF), st.floats(-1e6, 1e6)))
)


def simplex(size):
    """A few of the points of the simplex: vertices, faces and the inside."""
    parts = arrays(np.float64, size, elements=st.one_of(st.just(0.0), st.floats(1e-6, 1.0)))
    return parts.filter(lambda x: x.sum() > 0).map(lambda x: x / x.sum())


def derivative(function, x, h):
    """Central difference of eighth order along every axis; shape (M, ...)."""
    coefficients = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    steps = h * np.eye(len(x))
    return sum(c * (function(x + j * steps) - function(x - j * steps)) for j, c in coefficients.items()) / h


@given(SOME_ABSENT, ALPHAS, BETAS)
def test_weights_lie_on_the_simplex(z, alpha, beta):
    assume(np.any(z > -INF))
    p = entmax.weights(z, alpha, beta)
    assert np.all(p >= 0)
    assert abs(p.sum() - 1) <= ROUNDING
    assert np.all(p[z == -INF] == 0)


@given(SCORES, ALPHAS, BETAS)
def test_a_higher_score_never_has_less_weight(z, alpha, beta):
    p = entmax.weights(z, alpha, beta)
    assert np.all(np.diff(p[np.argsort(z)]) >= 0)
    for value in np.unique(z):
        assert len(set(p[z == value])) == 1


@given(SCORES, st.integers(-1000, 1000), ALPHAS, BETAS)
def test_shift(z, shift, alpha, beta):
    np.testing.assert_array_equal(entmax.weights(z + shift, alpha, beta), entmax.weights(z, alpha, beta))
    moved = entmax.conjugate(z + shift, alpha, beta)
    expected = entmax.conjugate(z, alpha, beta) + beta * shift
    assert abs(moved - expected) <= DUALITY * (beta * (abs(shift) + np.abs(z).max()) + 1)


@given(SCORES, st.randoms(use_true_random=False), ALPHAS, BETAS)
def test_permutation(z, random, alpha, beta):
    order = np.array(random.sample(range(len(z)), len(z)))
    p = entmax.weights(z, alpha, beta)
    np.testing.assert_allclose(entmax.weights(z[order], alpha, beta), p[order], rtol=0, atol=ROUNDING)


@given(SCORES, ALPHAS)
def test_convention_of_the_field(z, alpha):
    expected = entmax.weights(z, alpha, 1.0 if alpha == INF else alpha)
    np.testing.assert_array_equal(entmax.entmax(z, alpha), expected)


@given(st.data(), SCORES, ALPHAS, BETAS)
def test_fenchel_young_inequality(data, z, alpha, beta):
    q = data.draw(simplex(len(z)))
    scale = beta * np.abs(z).max() + max(1.0, tsallis.tsallis_entropy(np.full(len(z), 1 / len(z)), alpha))
    value = entmax.conjugate(z, alpha, beta)
    assert value >= beta * (z @ q) + tsallis.tsallis_entropy(q, alpha) - DUALITY * scale
    p = entmax.weights(z, alpha, beta)
    assert abs(value - beta * (z @ p) - tsallis.tsallis_entropy(p, alpha)) <= DUALITY * scale


@given(SCORES, FINITE_ALPHAS, BETAS)
def test_threshold_gives_back_the_weights(z, alpha, beta):
    """In the powers p^{α−1}: the root that makes p of them enlarges the rounding of θ without bound."""
    theta, p = entmax.threshold(z, alpha, beta), entmax.weights(z, alpha, beta)
    if alpha == 1:
        assert np.isnan(theta)
        return
    a = alpha - 1
    powers = np.maximum(a / alpha * beta * (z - theta), 0)
    scale = abs(a) / alpha * beta * (np.abs(z) + abs(theta))
    if alpha < 1:
        assert theta > z.max()
    # Weights of 1e-300 have lost digits or underflowed, and say nothing of their powers.
    large = p > 1e-280
    error = np.abs(p[large] ** a - powers[large])
    assert np.all(error <= DUALITY * (scale[large] + powers[large]))
    assert np.all(np.maximum(powers - DUALITY * scale, 0)[~large] ** (1 / a) <= 1e-270)


@given(SCORES, FINITE_ALPHAS, st.sampled_from([0.5, 1.0, 2.0]))
def test_gradient_of_the_conjugate_is_the_weights(z, alpha, beta):
    p = entmax.weights(z, alpha, beta)
    assume(smooth(z, p, alpha, beta))
    slope = derivative(lambda y: entmax.conjugate(y, alpha, beta), z, 2e-3) / beta
    # Rounding of Ω* over the step, and the eighth-order remainder at a distance of 0.1 from the edge.
    np.testing.assert_allclose(slope, p, rtol=0, atol=1e-10 * (1 + np.abs(z).max()))


@given(SCORES, FINITE_ALPHAS, st.sampled_from([0.5, 1.0, 2.0]))
def test_jacobian_is_the_derivative_of_the_weights(z, alpha, beta):
    p = entmax.weights(z, alpha, beta)
    assume(smooth(z, p, alpha, beta))
    difference = derivative(lambda y: entmax.weights(y, alpha, beta), z, 2e-3) / beta
    np.testing.assert_allclose(entmax.jacobian(p, alpha), difference.T, rtol=0, atol=1e-9)


def smooth(z, p, alpha, beta):
    """Whether no score is close to θ, where derivatives jump or diverge."""
    if alpha <= 1:
        return True
    margins = (alpha - 1) / alpha * beta * (z - entmax.threshold(z, alpha, beta))
    return bool(np.all(np.abs(margins) > 0.1)) and bool(np.all((p > 0) == (margins > 0)))


@given(SCORES, ALPHAS, BETAS)
def test_jacobian_is_a_covariance(z, alpha, beta):
    p = entmax.weights(z, alpha, beta)
    J = entmax.jacobian(p, alpha)
    scale = max(np.abs(J).max(), np.finfo(float).tiny)
    np.testing.assert_array_equal(J, J.T)
    assert np.abs(J.sum(axis=1)).max() <= ROUNDING * scale
    assert np.linalg.eigvalsh(J / scale).min() >= -ROUNDING
    assert np.all(J[p == 0] == 0)


@given(st.data(), SCORES, ALPHAS, BETAS)
def test_jacobian_action(data, z, alpha, beta):
    p = entmax.weights(z, alpha, beta)
    v = data.draw(arrays(np.float64, len(z), elements=st.floats(-8, 8)))
    J = entmax.jacobian(p, alpha)
    action = entmax.jacobian_action(p, v, alpha)
    scale = max(np.abs(J).max(), np.finfo(float).tiny) * max(np.abs(v).max(), 1.0)
    np.testing.assert_allclose(action, J @ v, rtol=0, atol=2e-14 * scale)
    assert abs(action.sum()) <= ROUNDING * scale


@given(SCORES, st.lists(st.floats(0.05, 20), min_size=2, max_size=2), BETAS)
def test_conjugate_falls_with_the_index(z, alphas, beta):
    """Ψ_α falls with α at fixed weights, and so does the maximum."""
    low, high = sorted(alphas)
    scale = beta * np.abs(z).max() + 1
    assert entmax.conjugate(z, high, beta) <= entmax.conjugate(z, low, beta) * (1 + DUALITY) + DUALITY * scale


@given(st.data(), st.integers(1, 12), ALPHAS)
def test_entropy_divergence_and_effective_support(data, size, alpha):
    p, q = data.draw(simplex(size)), data.draw(simplex(size))
    entropy = tsallis.tsallis_entropy(p, alpha)
    uniform = tsallis.tsallis_entropy(np.full(size, 1 / size), alpha)
    assert -ROUNDING <= entropy <= uniform + ROUNDING * max(1.0, uniform)
    assert tsallis.tsallis_divergence(p, q, alpha) >= -ROUNDING
    assert 1 - ROUNDING <= tsallis.effective_support(p, alpha) <= np.sum(p > 0) * (1 + ROUNDING)
    escort = tsallis.escort(p, alpha)
    assert abs(escort.sum() - 1) <= ROUNDING
    if alpha not in {1.0, INF} and abs(alpha - 1) > 1e-3:
        assume(1 - (alpha - 1) * entropy > 1e-3)  # elsewhere this identity (Remark F.1) cancels
        size_from_entropy = (1 - (alpha - 1) * entropy) ** (1 / (1 - alpha))
        assert abs(tsallis.effective_support(p, alpha) / size_from_entropy - 1) <= 1e-11


@given(st.data(), st.integers(2, 8), FINITE_ALPHAS)
def test_gradient_of_the_entropy(data, size, alpha):
    p = data.draw(arrays(np.float64, size, elements=st.floats(0.1, 1.0)))
    slope = derivative(lambda x: tsallis.tsallis_entropy(x, alpha), p, 2e-3)
    np.testing.assert_allclose(slope, tsallis.tsallis_entropy_gradient(p, alpha), rtol=1e-9, atol=1e-10)


@given(st.floats(-20, 20), FINITE_ALPHAS)
def test_exponential_and_logarithm_are_inverse(u, alpha):
    # Inside the domain, and where u is not lost beside the pole of log at 0 or ∞.
    assume(1e-3 < 1 + (1 - alpha) * u < 1e3)
    y = tsallis.exp_alpha(np.array(u), alpha)
    assume(1e-200 < y < 1e200)
    assert abs(tsallis.log_alpha(y, alpha) - u) <= 1e-11 * (1 + abs(u))


@given(SCORES, st.sampled_from([0.5, 1.0, 1.3, 1.5, 2.0, 3.0, INF]), BETAS)
def test_dtype_is_kept(z, alpha, beta):
    narrow = z.astype(np.float32)
    p = entmax.weights(narrow, alpha, beta)
    assert p.dtype == np.float32
    np.testing.assert_array_equal(p, entmax.weights(narrow.astype(float), alpha, beta).astype(np.float32))
