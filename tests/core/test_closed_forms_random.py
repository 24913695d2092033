"""Random patterns, large and finite dimension; one-pattern Hopfield; dispersion of attention."""

import math

import mpmath
import numpy as np
import pytest
from scipy import optimize

from hopfieldphase.core import closed_forms as cf
from hopfieldphase.core import patterns as pt
from hopfieldphase.core.errors import InputError

ROUNDING = 1e-13


@pytest.mark.parametrize(
    ("M", "d", "b", "alpha", "expected"), [(50, 10, 6, 1.5, 0.0517283), (200, 16, 8, 2, 0.949028)]
)
def test_exact_storage_probability_printed(M, d, b, alpha, expected):
    assert cf.exact_storage_probability(M, d, b, alpha) == pytest.approx(expected, rel=1e-6)
    with mpmath.workdps(30):
        q = 1 - mpmath.mpf(alpha) / ((alpha - 1) * mpmath.mpf(b))
        half = mpmath.mpf(d - 1) / 2
        exact = mpmath.betainc(half, half, 0, (1 + q) / 2, regularized=True) ** (M - 1)
    assert cf.exact_storage_probability(M, d, b, alpha) == pytest.approx(float(exact), rel=1e-12)


def test_exact_storage_probability_against_simulated_patterns():
    M, d, b, alpha, trials = 30, 6, 8.0, 2, 4000
    xi = pt.spherical(M * trials, d, seed=12).reshape(trials, M, d)
    stored = 0
    for patterns in xi:
        cosines = patterns[1:] @ patterns[0]
        stored += b * (1 - cosines.max()) > alpha / (alpha - 1)
    expected = cf.exact_storage_probability(M, d, b, alpha)
    assert 0.1 < expected < 0.9
    # Four binomial standard errors.
    assert stored / trials == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / trials))


def test_exact_storage_probability_on_the_circle_and_the_sphere():
    for q in (-0.9, -0.2, 0.0, 0.7, 0.999):
        b = 2 / (1 - q)  # α = 2: the largest cosine allowed is q
        assert cf.exact_storage_probability(2, 2, b, 2) == pytest.approx(
            1 - math.acos(q) / math.pi, rel=1e-12
        )
        assert cf.exact_storage_probability(4, 3, b, 2) == pytest.approx(((1 + q) / 2) ** 3, rel=1e-12)


def test_exact_storage_probability_at_its_ends():
    assert cf.exact_storage_probability(10, 5, 0.999, 2) == 0  # b < α/(2(α−1))
    assert cf.exact_storage_probability(10, 5, 50, 1) == 0
    assert cf.exact_storage_probability(10, 5, 50, 0.5) == 0
    assert cf.exact_storage_probability(10, 5, 0.01, math.inf) == 1
    assert cf.exact_storage_probability(1, 5, 0.01, 1) == 1
    # One pair in 10^15 above the bound: the digits of 1 − F must survive.
    rare = 1 - cf.exact_storage_probability(10**6, 64, 4, 2)
    single = mpmath.betainc(31.5, 31.5, 0, 0.25, regularized=True)
    assert rare == pytest.approx(float(1 - (1 - single) ** (10**6 - 1)), rel=1e-9)


def test_rem_capacity_printed():
    kappa = cf.rem_capacity([0.1, 0.5, 1, 2, 10])
    np.testing.assert_allclose(kappa, [0.095025, 0.387006, 0.622572, 0.908754, 1.663790], rtol=0, atol=5.1e-7)


def test_rem_cumulant_is_the_best_compromise_of_entropy_and_overlap():
    for lam in (0.01, 0.3, 1, 7, 100):
        best = optimize.minimize_scalar(
            lambda phi, lam=lam: -(0.5 * math.log1p(-phi * phi) + lam * phi), bounds=(0, 1), method="bounded"
        )
        assert float(cf.rem_cumulant(lam)) == pytest.approx(-best.fun, rel=1e-8)


def test_rem_identity_over_thirty_decades():
    lam = np.geomspace(1e-15, 1e15, 61)
    shifted = np.sqrt(lam) * np.sqrt(1 + lam)
    with mpmath.workdps(60):
        for x, u in zip(lam, shifted, strict=True):
            exact = mpmath.sqrt(mpmath.mpf(x) ** 2 + mpmath.mpf(x))
            g = mpmath.mpf(x) - mpmath.log1p(x) / 2  # g(√(λ²+λ)) by the identity
            assert float(cf.rem_cumulant(u)) == pytest.approx(float(g), rel=1e-11 if x < 1e3 else 1e-13)
            assert float(cf.rem_capacity(u)) == pytest.approx(float(exact - g), rel=1e-13)


def test_rem_threshold_inverts_the_capacity():
    for load in (0, 1e-9, 0.1, 0.3, 1, 5, 100):
        assert float(cf.rem_capacity(cf.rem_threshold(load))) == pytest.approx(load, rel=1e-12)


def exact_field(u, M, d):
    """p + (1−p) A at one u, with mpmath's Bessel functions."""
    u, order = mpmath.mpf(u), mpmath.mpf(d) / 2 - 1
    low, high = mpmath.besseli(order, u), mpmath.besseli(order + 1, u)
    S = (M - 1) * mpmath.exp(-u) * mpmath.gamma(mpmath.mpf(d) / 2) * (2 / u) ** order * low
    return 1 / (1 + S) + S / (1 + S) * high / low


def test_annealed_fold_printed():
    assert cf.annealed_fold(121, 16) == pytest.approx(8.6184, abs=5e-5)
    with mpmath.workdps(30):
        u = mpmath.findroot(
            lambda u: mpmath.diff(lambda v: v / exact_field(v, 121, 16), u), (8.0, 8.4), solver="anderson"
        )
        assert cf.annealed_fold(121, 16) == pytest.approx(float(u / exact_field(u, 121, 16)), rel=1e-12)


@pytest.mark.parametrize(("d", "excess"), [(16, 49), (64, 22), (100, 16), (200, 9)])
def test_annealed_fold_above_the_large_d_threshold_at_load_0_3(d, excess):
    fold = cf.annealed_fold(round(math.exp(0.3 * d)), d)
    assert 100 * (fold / (d * cf.rem_threshold(0.3)) - 1) == pytest.approx(excess, abs=0.5)


def test_annealed_fold_becomes_the_large_d_threshold():
    excess = [
        cf.annealed_fold(math.floor(math.exp(0.3 * d)), d) / (d * cf.rem_threshold(0.3)) - 1
        for d in (100, 400, 1600)
    ]
    assert excess[0] > 2 * excess[1] > 4 * excess[2] > 0
    assert excess[2] < 0.02


@pytest.mark.parametrize(
    ("M", "d"), [(2, 2), (3, 2), (100, 2), (1000, 3), (30, 5), (121, 16), (10, 50), (4, 1000)]
)
def test_annealed_fold_by_a_grid(M, d):
    """The last local minimum of b(u) = u/f(u), or none."""
    u = np.geomspace(1e-2, 60, 600) if d < 100 else np.geomspace(1e-2, 60, 60)
    with mpmath.workdps(20):
        b = np.array([float(x / exact_field(x, M, d)) for x in u])
    turns = np.flatnonzero((np.diff(b)[:-1] < 0) & (np.diff(b)[1:] > 0)) + 1
    fold = cf.annealed_fold(M, d)
    if len(turns) == 0:
        assert math.isnan(fold)
    else:
        assert fold == pytest.approx(b[turns[-1]], rel=1e-3)
        assert fold <= b[turns[-1]]


@pytest.mark.parametrize(("M", "d"), [(2, 2), (30, 5), (121, 16), (4, 1000), (10**9, 10**4), (10**26, 200)])
def test_annealed_overlap_solves_its_equation(M, d):
    fold = cf.annealed_fold(M, d)
    start = 1.5 if math.isnan(fold) else fold * (1 + 1e-9)
    overlaps = []
    for b in (start, 1.05 * start, 1.5 * start, 4 * start):
        m = cf.annealed_overlap(b, M, d)
        with mpmath.workdps(40):
            residual = abs(float(exact_field(b * m, M, d)) - m)
        assert residual < 1e-10
        overlaps.append(m)
    assert overlaps == sorted(overlaps)
    assert 0 < overlaps[0] < overlaps[-1] <= 1
    if not math.isnan(fold):
        assert math.isnan(cf.annealed_overlap(fold * (1 - 1e-9), M, d))


@pytest.mark.parametrize("beta", [1 + 1e-12, 1 + 1e-6, 1.01, 1.05, 1.5, 4, 30])
def test_one_pattern_overlap(beta):
    for d in (1, 9, 64):
        q = cf.hopfield_one_pattern_overlap(beta, d)
        with mpmath.workdps(40):
            start = mpmath.sqrt(3 * (mpmath.mpf(beta) - 1)) if beta < 1.5 else mpmath.mpf(beta)
            y = mpmath.findroot(lambda y: y / mpmath.tanh(y) - beta, start)
            expected = mpmath.sqrt(d) * mpmath.tanh(y)
        assert q == pytest.approx(float(expected), rel=1e-13)
        assert q == pytest.approx(math.sqrt(d) * math.tanh(beta * q / math.sqrt(d)), rel=1e-12)
        assert q > 0


def test_one_pattern_transition():
    assert cf.HOPFIELD_CRITICAL_BETA == 1
    assert cf.hopfield_one_pattern_overlap(1, 9) == 0
    assert cf.hopfield_one_pattern_overlap(0.5, 9) == 0


@pytest.mark.parametrize("d", [1, 4, 9, 31])
def test_one_pattern_energy_counts_spin_states(d):
    beta = 1.7
    up = np.arange(d + 1)
    z = (2 * up - d) / math.sqrt(d)
    expected = [-(x**2) / 2 - math.log(math.comb(d, n)) / beta for x, n in zip(z, up, strict=True)]
    np.testing.assert_allclose(cf.hopfield_one_pattern_energy(z, beta, d), expected, rtol=0, atol=1e-12)


def test_one_pattern_energy_approaches_its_limit():
    beta = 1.4
    for d in (100, 10_000):
        q = np.linspace(-1, 1, 21) * math.sqrt(d)
        finite = beta * cf.hopfield_one_pattern_energy(q, beta, d) + d * math.log(2)
        limit = cf.hopfield_one_pattern_limit(q, beta, d)
        # Stirling: the binomial differs from its entropy by less than ln(d)/2 + 1.
        np.testing.assert_allclose(finite, limit, rtol=0, atol=math.log(d) / 2 + 1)


@pytest.mark.parametrize("beta", [0.7, 1.5])
def test_one_pattern_limit_is_stationary_at_the_overlap(beta):
    d = 25
    q = cf.hopfield_one_pattern_overlap(beta, d)
    around = q + np.array([-2e-3, -1e-3, 0, 1e-3, 2e-3])
    F = cf.hopfield_one_pattern_limit(around, beta, d)
    assert np.argmin(F) == 2
    slope = (F[0] - 8 * F[1] + 8 * F[3] - F[4]) / (12 * 1e-3)
    assert slope == pytest.approx(0, abs=1e-9)
    ends = cf.hopfield_one_pattern_limit([-5.0, 5.0], beta, d)
    np.testing.assert_allclose(ends, -beta * d / 2 + d * math.log(2), rtol=ROUNDING)


def test_isolation_gap():
    assert cf.isolation_gap(4, 1.5, beta=1.5) == pytest.approx(1, rel=ROUNDING)
    assert cf.isolation_gap(1, 2) == 2
    assert cf.isolation_gap(3, 1) == math.inf
    assert cf.isolation_gap(3, math.inf) == 0
    for alpha in (1.2, 1.5, 2, 3):
        for k in (1, 4):
            beta = 3.0
            gap = cf.isolation_gap(k, alpha, beta)
            # KKT with p = 1/k on the top scores: their level above θ is exactly the gap.
            level = alpha / ((alpha - 1) * beta) * (1 / k) ** (alpha - 1)
            assert gap == pytest.approx(level, rel=ROUNDING)
            assert gap == pytest.approx(
                cf.uniform_existence(np.eye(k + 1), range(k), alpha) / k / beta, rel=ROUNDING
            )


def test_dispersion_bounds_hold_and_are_approached():
    rng = np.random.default_rng(7)
    for n in (2, 10, 1000):
        for spread in (0.0, 0.5, 3.0):
            beta = 2.0
            bounds = cf.dispersion_bounds(spread, n, beta)
            for shape in (rng.random(n), np.eye(n)[0], 1 - np.eye(n)[0]):
                z = spread * (shape - shape.min()) / np.ptp(shape)
                p = np.exp(beta * z) / np.exp(beta * z).sum()
                entropy = -np.sum(p * np.log(p))
                slack = 1e-12
                assert bounds.weight_min * (1 - slack) <= p.min()
                assert p.max() <= bounds.weight_max * (1 + slack)
                assert bounds.entropy_min - slack <= entropy <= bounds.entropy_max + slack
    wide = cf.dispersion_bounds(1.0, 10**6)
    one_up = math.e / (math.e + 10**6 - 1)
    assert wide.weight_max == pytest.approx(one_up, rel=1e-5)
    assert cf.dispersion_bounds(1e6, 3, 1e6) == (0, 1, 0, math.log(3))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cf.exact_storage_probability(0, 3, 1, 2), "M = 0"),
        (lambda: cf.exact_storage_probability(2, 1, 1, 2), "d = 1"),
        (lambda: cf.exact_storage_probability(2, 3, 0, 2), "b = 0"),
        (lambda: cf.exact_storage_probability(2, 3, 1, 0), "alpha = 0"),
        (lambda: cf.rem_capacity(-0.1), "b/d"),
        (lambda: cf.rem_cumulant([0.1, math.inf]), "b/d"),
        (lambda: cf.rem_threshold(-1), "load = -1"),
        (lambda: cf.annealed_fold(1, 5), "M = 1"),
        (lambda: cf.annealed_fold(5, 1), "d = 1"),
        (lambda: cf.annealed_fold(10**30, 5), "too large"),
        (lambda: cf.annealed_overlap(0, 5, 5), "b = 0"),
        (lambda: cf.hopfield_one_pattern_overlap(0, 5), "beta = 0"),
        (lambda: cf.hopfield_one_pattern_overlap(2, 0), "d = 0"),
        (lambda: cf.hopfield_one_pattern_energy(3.1, 2, 9), "[-3, 3]"),
        (lambda: cf.hopfield_one_pattern_limit(math.nan, 2, 9), "[-3, 3]"),
        (lambda: cf.isolation_gap(0, 2), "k = 0"),
        (lambda: cf.dispersion_bounds(-1, 5), "spread = -1"),
    ],
)
def test_arguments_outside_the_domain(call, word):
    with pytest.raises(InputError) as error:
        call()
    assert word in str(error.value)
    assert "\n" not in str(error.value)
