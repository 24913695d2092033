"""Physics at the ends: one pattern, one dimension, equal and opposite patterns, every β, α and κ.

Each case has a value in closed form, or an equation of motion solved with 40 digits, or a clear refusal.
"""

import math

import mpmath as mp
import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.continuation.kappa import kappa_sweep
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core import entmax
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.phases.critical import critical_points

INF = math.inf
ALPHAS = [0.05, 0.2, 0.5, 1 - 1e-6, 1.0, 1 + 1e-6, 1.5, 2.0, 3.0, 10.0, 50.0, INF]
BETAS = [1e-6, 1.0, 8.0, 1e3, 1e9]
DTYPES = [np.float64, np.float32]

WEIGHT = {np.float64: 1e-15, np.float32: 1.2e-7}
"""Absolute, on weights: a few roundings of the type that holds them."""

STATE = {np.float64: 2e-13, np.float32: 1e-6}
"""On |x − T(x)| relative to s·max|ξ|: the default tolerance of the solver, and its rounding to float32."""


def high_precision_weights(z, alpha, beta):
    """The weights [(α−1)β(z−θ)/α]₊^(1/(α−1)) with 40 digits, θ by bisection; limits at α = 1 and ∞."""
    with mp.workdps(40):
        z, top, beta = list(map(mp.mpf, z)), mp.mpf(max(z)), mp.mpf(beta)
        if math.isinf(alpha):
            count = z.count(top)
            return [mp.mpf(value == top) / count for value in z]
        if alpha == 1:
            terms = [mp.exp(beta * (value - top)) for value in z]
            return [term / mp.fsum(terms) for term in terms]
        index = mp.mpf(alpha)
        rise, power = (index - 1) / index * beta, 1 / (index - 1)

        def weights(y):  # y^power is the weight at the top
            bases = (rise * (value - top) + y for value in z)
            return [base**power if base > 0 else mp.mpf(0) for base in bases]

        low, high = sorted([mp.mpf(1), mp.mpf(len(z)) ** (-1 / power)])
        for _ in range(120):
            middle = (low + high) / 2
            if (mp.fsum(weights(middle)) > 1) == (power > 0):
                high = middle
            else:
                low = middle
        return weights((low + high) / 2)


def high_precision_update(patterns, x, alpha, beta):
    """T(x) = s Ξᵀ p(s Ξ x) with 40 digits, at the numbers as they are."""
    with mp.workdps(40):
        rows = [[mp.mpf(float(value)) for value in row] for row in patterns]
        state = [mp.mpf(float(value)) for value in x]
        s = 1 / mp.sqrt(len(state))
        p = high_precision_weights([s * mp.fdot(row, state) for row in rows], alpha, beta)
        return [s * mp.fdot(p, column) for column in zip(*rows, strict=True)]


def waves(M=7, d=5):
    """Unit patterns ξ_mi ∝ sin(1.3 m i + 0.7 m + 0.3 i² + 1)."""
    m, i = np.arange(1, M + 1)[:, None], np.arange(1, d + 1)
    xi = np.sin(1.3 * m * i + 0.7 * m + 0.3 * i**2 + 1)
    return xi / np.linalg.norm(xi, axis=1, keepdims=True)


# Weights


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_weights_of_every_alpha_and_beta(alpha, dtype):
    scores = np.array([0.3, -0.2, 0.25, 0.1, 0.3], dtype=dtype)
    for beta in BETAS:
        right = np.array(high_precision_weights(scores.tolist(), alpha, beta), dtype=float)
        for weights in (hp.weights, entmax.weights):
            p = weights(scores, alpha, beta)
            assert p.dtype == dtype
            np.testing.assert_allclose(p, right, rtol=0, atol=WEIGHT[dtype])
            assert p[0] == p[4]


# One pattern


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_pattern_is_the_only_state(alpha, d, dtype):
    """M = 1: p = 1 and x = sξ whatever x was, Γ = −β s²|ξ|²/2."""
    xi = np.arange(1.0, d + 1)[None].astype(dtype)
    model = hp.HopfieldModel(xi, alpha)
    for beta in BETAS:
        for start in (-model.scale * xi[0], np.zeros(d, dtype)):
            found = hp.relax(model, start, beta)
            assert found.status is Status.CONVERGED
            assert found.x.dtype == dtype
            np.testing.assert_allclose(found.x, model.scale * xi[0], rtol=2 * np.finfo(dtype).eps)
            right = -beta * model.scale**2 * float((xi.astype(float) ** 2).sum()) / 2
            assert found.free_energy == pytest.approx(right, rel=4 * float(np.finfo(dtype).eps))
            assert found.weights.tolist() == [1.0]
            assert found.hessian_min == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, INF])
def test_a_sweep_over_one_pattern_has_no_loop(alpha):
    found = sweep(hp.HopfieldModel(np.array([[3.0, 4.0]]), alpha), [1e-6, 1.0, 1e9])
    assert np.all(found.status == Status.CONVERGED)
    assert not found.jumped.any()
    np.testing.assert_allclose(found.overlap_max, 12.5, rtol=1e-15)  # s²|ξ|²


# One dimension, two opposite patterns: a magnet in a mean field


def magnetization(beta):
    """The largest root of x = tanh(βx)."""
    if beta <= 1:
        return 0.0
    with mp.workdps(40):
        return float(mp.findroot(lambda x: x - mp.tanh(beta * x), mp.sqrt(3 * (1 - 1 / mp.mpf(beta)))))


@pytest.mark.parametrize("beta", [1e-6, 0.5, 1.2, 2.0, 30.0, 1e9])
def test_opposite_patterns_in_one_dimension_are_a_magnet(beta):
    """α = 1: x = tanh(βx). α = 2: x = βx until the edge, so 0 below β = 1 and ±1 above it. α = ∞: ±1."""
    xi = np.array([[1.0], [-1.0]])
    for start in (0.7, -0.7):
        right = {1.0: magnetization(beta), 2.0: float(beta > 1), INF: 1.0}
        for alpha, value in right.items():
            found = hp.relax(hp.HopfieldModel(xi, alpha), np.array([start]), beta)
            assert found.status is Status.CONVERGED
            assert found.x[0] == pytest.approx(math.copysign(value, start), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_the_symmetric_state_of_opposite_patterns(alpha):
    """x = 0 is stationary at every β: a residual of 0 and not 0/0, a saddle where β is high."""
    model = hp.HopfieldModel(np.array([[0.6, 0.8], [-0.6, -0.8]]), alpha)
    low = hp.relax(model, np.zeros(2), 0.1)
    assert low.status is Status.CONVERGED
    assert low.residual <= 1e-16
    literal = hp.relax(model, np.zeros(2), 1e3, solver="fixed-point", polish=False)
    assert literal.status is not Status.CONVERGED
    assert np.all(literal.x == 0)
    assert literal.hessian_min < 0
    escaped = hp.relax(model, np.zeros(2), 1e3)
    assert escaped.status is Status.CONVERGED
    np.testing.assert_allclose(np.abs(escaped.x), model.scale * np.array([0.6, 0.8]), rtol=1e-5)


# Equal patterns, data without variance


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("row", [(0.2, 0.2, 0.2), (3.0, 0.0, -4.0)])
def test_data_without_variance_are_one_pattern(alpha, row):
    """M equal patterns: x = sξ, equal weights 1/M, no loop at any β."""
    rows = np.tile(row, (6, 1))
    model = hp.HopfieldModel(rows, alpha)
    assert hp.patterns.duplicate_rows(rows) == [tuple(range(6))]
    for beta in BETAS:
        found = hp.relax(model, -model.patterns[0], beta)
        # A weight of 1/6 stands α 6^(1−α)/((α−1)β) above the threshold: of a tie no minimum is claimed.
        assert found.status is Status.CONVERGED or (alpha >= 10 and found.status is Status.BOUNDARY)
        np.testing.assert_allclose(found.x, model.scale * rows[0], rtol=1e-13)
        np.testing.assert_allclose(found.weights, 1 / 6, rtol=1e-13)
    found = sweep(model, [1.0, 1e3])
    assert not found.jumped.any()
    assert found.duplicates == 5


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0, INF])
def test_a_pattern_stored_twice_shares_its_weight(alpha):
    xi = np.vstack([np.eye(3), np.eye(3)[:1]])
    found = hp.relax(hp.HopfieldModel(xi, alpha), np.array([1.0, 0.0, 0.0]), 1e9)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.weights, [0.5, 0.0, 0.0, 0.5], atol=1e-9)
    assert found.weights[0] == found.weights[3]


def test_critical_points_of_data_without_variance_are_refused_or_none():
    model = hp.HopfieldModel(np.full((4, 3), 0.2), 2.0)
    try:
        found = critical_points(model)
    except InputError as error:
        message = str(error)
        assert "\n" not in message
    else:
        assert list(found) == []


# Every α and β


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_states_solve_the_equation_of_motion(alpha, dtype):
    """A state that is called a minimum solves x = T(x) with 40 digits, from 1e-6 to 1e9."""
    xi = waves().astype(dtype)
    model = hp.HopfieldModel(xi, alpha)
    refused = 0
    for beta in BETAS:
        for start in (model.scale * xi.mean(axis=0), model.scale * xi[2]):
            found = hp.relax(model, start, beta)
            assert found.x.dtype == dtype
            if found.status is not Status.CONVERGED:
                # Near α = ∞ the weights jump where a pattern meets the threshold: said, not hidden.
                assert found.status is Status.BOUNDARY
                refused += 1
                continue
            right = high_precision_update(xi, found.x, alpha, beta)
            with mp.workdps(40):
                distance = mp.norm([mp.mpf(float(u)) - v for u, v in zip(found.x, right, strict=True)])
            assert distance <= STATE[dtype] * model.state_scale
    assert refused == 0 or alpha == 50


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 3.0])
def test_states_at_the_lowest_and_highest_beta(alpha):
    """β → 0: the mean, s Σξ/M. β → ∞: the stored patterns, sξ_μ, with every weight but one gone."""
    xi = waves()
    model = hp.HopfieldModel(xi, alpha)
    low = hp.relax(model, model.scale * xi[2], 1e-6)
    np.testing.assert_allclose(low.x, model.scale * xi.mean(axis=0), atol=1e-6)
    high = hp.relax(model, model.scale * xi[2], 1e9)
    np.testing.assert_allclose(high.x, model.scale * xi[2], rtol=1e-9, atol=1e-12)
    assert high.weights[2] == pytest.approx(1.0, abs=1e-12)


def test_a_sweep_over_fifteen_decades():
    model = hp.HopfieldModel(waves(), 2.0)
    found = sweep(model, np.geomspace(1e-6, 1e9, 31))
    assert np.all(found.status == Status.CONVERGED)
    assert np.all(np.diff(found.support_size[0]) <= 0)
    assert found.support_size[:, -1].tolist() == [1, 1]
    assert found.support_size[:, 0].tolist() == [7, 7]


# The load


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0])
def test_the_lowest_load_is_one_pattern(alpha):
    """M(κ) = round(exp(κd)): from one pattern on, where x = sξ and the overlap is s²|ξ|²."""
    xi = waves(40, 8)
    kappas = np.array([1e-6, 0.01, 0.05, math.log(40) / 8])
    swept = kappa_sweep(hp.HopfieldModel(xi, alpha), kappas, 60.0)
    found = swept.sweep
    assert swept.M.tolist() == [1, 1, 1, 40]
    assert np.all(found.status == Status.CONVERGED)
    assert found.overlap_max[0, 0] == pytest.approx(1 / 8, rel=1e-14)
    assert found.support_size[:, 0].tolist() == [1, 1]
    # The last one is that of all patterns at once.
    whole = sweep(hp.HopfieldModel(xi, alpha), [60.0])
    down = 1
    assert found.overlap_max[down, -1] == pytest.approx(whole.overlap_max[down, 0], rel=1e-12)


@pytest.mark.parametrize(
    ("kappa", "words"), [(0.0, "kappas"), (-1.0, "kappas"), (50.0, "memory"), (1e9, "memory")]
)
def test_loads_beyond_both_ends_are_refused(kappa, words):
    with pytest.raises(InputError, match=words):
        kappa_sweep(hp.HopfieldModel(waves(), 2.0), np.array([kappa]), 60.0)


# Refusals


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hp.HopfieldModel(waves(), 0.0), "alpha = 0"),
        (lambda: hp.HopfieldModel(waves(), -INF), "alpha = -inf"),
        (lambda: hp.HopfieldModel(waves(), math.nan), "alpha = nan"),
        (lambda: hp.HopfieldModel(waves(), 10**400), "alpha = "),
        (lambda: hp.HopfieldModel(np.zeros((2, 2)), 2.0), "only zeros"),
        (lambda: hp.HopfieldModel(np.full((2, 2), 1e200), 2.0), "range of floats"),
        (lambda: hp.HopfieldModel(np.full((2, 2), 1e-200), 2.0), "range of floats"),
        (lambda: hp.HopfieldModel(np.full((2, 2), 1e30, np.float32), 2.0), "range of floats"),
        (lambda: hp.HopfieldModel(np.empty((0, 2)), 2.0), "at least one"),
        (lambda: hp.HopfieldModel(np.empty((2, 0)), 2.0), "at least one"),
        (lambda: hp.relax(hp.HopfieldModel(waves()), np.zeros(5), 0.0), "beta = 0"),
        (lambda: hp.relax(hp.HopfieldModel(waves()), np.zeros(5), INF), "beta = inf"),
        (lambda: hp.relax(hp.HopfieldModel(waves()), np.zeros(5), 1.0, tol=1e-20), "tol = 1e-20"),
        (lambda: hp.relax(hp.HopfieldModel(waves()), np.full(5, math.nan), 1.0), "NaN|finite"),
        (lambda: hp.weights(np.array([math.nan, 1.0]), 2.0), "NaN|finite"),
        (lambda: hp.weights(np.array([-INF, -INF]), 2.0), "inf"),
        (lambda: hp.patterns.gaussian(10**12, 64), "not enough memory"),
    ],
)
def test_what_has_no_right_value_is_refused(call, words):
    with pytest.raises(InputError, match=words) as error:
        call()
    assert "\n" not in str(error.value)
