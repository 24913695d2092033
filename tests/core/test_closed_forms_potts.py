"""Equidistant patterns: the printed table, the reference file, and brute force in 40 digits."""

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest

from hopfieldphase.core import closed_forms as cf
from hopfieldphase.core.errors import InputError

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "values.json").read_text())
PRINTED = 5.1e-10  # nine printed decimals
ROUNDING = 1e-13
TABLE = [
    # α, M, K_spin, K_coex, K_inst, K_vertex
    (1, 3, 2.745643577, 2.772588722, 3, math.inf),
    (1, 100, 7.458675454, 9.284017656, 100, math.inf),
    (1.25, 10, 3.596820081, 3.876389724, 7.029266565, 5),
    (1.5, 3, 2.449489743, 2.465853273, 2.598076211, 3),
    (1.5, 10, 2.846049894, 3.038987707, 4.743416490, 3),
    (1.5, 100, 2.984962311, 3.636363636, 15, 3),
    (1.75, 10, 2.325780082, 2.436065360, 3.111988968, 7 / 3),
    (2, 3, 2, 2, 2, 2),
    (2, 50, 2, 2, 2, 2),
]


def landscape(alpha, M, K, p):
    """F(p₁) − F(1/M) in mpmath, straight from the definitions."""
    alpha, K, p = mpmath.mpf(alpha), mpmath.mpf(K), mpmath.mpf(p)
    q = (1 - p) / (M - 1)
    uniform = mpmath.mpf(1) / M

    def minus_entropy(x, y):
        if alpha == 1:
            return sum(n * w * mpmath.log(w) for n, w in ((1, x), (M - 1, y)) if w > 0)
        return (x**alpha + (M - 1) * y**alpha - 1) / (alpha - 1)

    def value(x, y):
        return minus_entropy(x, y) - K / 2 * (x**2 + (M - 1) * y**2)

    return value(p, q) - value(uniform, uniform)


def stationary_coupling(alpha, M, p):
    alpha, p = mpmath.mpf(alpha), mpmath.mpf(p)
    q = (1 - p) / (M - 1)
    if alpha == 1:
        return mpmath.log(p / q) / (p - q)
    return alpha / (alpha - 1) * (p ** (alpha - 1) - q ** (alpha - 1)) / (p - q)


def ray_slope(alpha, M, K, p):
    return mpmath.diff(lambda x: landscape(alpha, M, K, x), p)


def smallest_on_the_ray(alpha, M):
    """(p₁, K) of the minimum of K(p₁): grid, then golden section, in y = ln(p₁/q)."""
    with mpmath.workdps(40):

        def at(y):
            p = 1 / (1 + (M - 1) * mpmath.exp(-y))
            return stationary_coupling(alpha, M, p)

        grid = [mpmath.mpf(n) / 8 for n in range(1, 400)]
        best = min(range(len(grid)), key=lambda n: at(grid[n]))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
        golden = (mpmath.sqrt(5) - 1) / 2
        for _ in range(90):
            left, right = high - golden * (high - low), low + golden * (high - low)
            low, high = (low, right) if at(left) < at(right) else (left, high)
        y = (low + high) / 2
        return 1 / (1 + (M - 1) * mpmath.exp(-y)), at(y)


@pytest.mark.parametrize("row", TABLE)
def test_printed_table(row):
    alpha, M, spinodal, coexistence, instability, vertex = row
    assert cf.potts_spinodal(M, alpha) == pytest.approx(spinodal, abs=PRINTED)
    assert cf.potts_coexistence(M, alpha) == pytest.approx(coexistence, abs=PRINTED)
    assert cf.potts_instability(M, alpha) == pytest.approx(instability, abs=PRINTED)
    assert cf.potts_vertex(alpha) == pytest.approx(vertex, abs=PRINTED)


@pytest.mark.parametrize("case", REFERENCE["orthonormal_softmax"], ids=lambda case: f"M={case['M']}")
def test_reference_values(case):
    M = case["M"]
    assert cf.potts_coexistence(M, 1) == pytest.approx(case["beta_coexist"], rel=ROUNDING)
    assert cf.potts_instability(M, 1) == pytest.approx(case["beta_spinodal_uniform"], rel=ROUNDING)
    assert cf.uniform_spinodal(np.eye(M), 1) == pytest.approx(case["beta_spinodal_uniform"], rel=1e-12)


@pytest.mark.parametrize("M", [3, 7, 100])
@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.9, 1, 1 + 1e-9, 1.2, 1.5, 1.9])
def test_spinodal_by_brute_force(alpha, M):
    _, expected = smallest_on_the_ray(alpha, M)
    assert cf.potts_spinodal(M, alpha) == pytest.approx(float(expected), rel=ROUNDING)


@pytest.mark.parametrize(
    ("alpha", "M"), [(0.3, 3), (0.5, 20), (0.9, 100), (1, 5), (1.1, 4), (1.5, 3), (1.5, 4), (1.9, 3)]
)
def test_coexistence_inside_the_ray_by_brute_force(alpha, M):
    fold, _ = smallest_on_the_ray(alpha, M)
    with mpmath.workdps(40):
        start = mpmath.log(fold * (M - 1) / (1 - fold))

        def mismatch(y):
            p = 1 / (1 + (M - 1) * mpmath.exp(-y))
            return landscape(alpha, M, stationary_coupling(alpha, M, p), p)

        low = high = start
        while mismatch(high) > 0:
            low, high = high, high + 1
        y = mpmath.findroot(mismatch, (low, high), solver="anderson", tol=1e-30)
        p = 1 / (1 + (M - 1) * mpmath.exp(-y))
        expected = stationary_coupling(alpha, M, p)
    assert cf.potts_coexistence(M, alpha) == pytest.approx(float(expected), rel=ROUNDING)


@pytest.mark.parametrize(("alpha", "M"), [(1.25, 100), (1.5, 10), (1.5, 100), (1.75, 10), (1.9, 5)])
def test_coexistence_with_the_pattern_itself(alpha, M):
    K = cf.potts_coexistence(M, alpha)
    assert cf.potts_vertex(alpha) <= K
    with mpmath.workdps(40):
        assert abs(landscape(alpha, M, K, 1)) < ROUNDING


@pytest.mark.parametrize(("M", "expected"), [(3, 0.00112925), (10, 0.0713807), (100, 0.488659)])
def test_softmax_barrier_printed(M, expected):
    assert cf.potts_barrier(M, 1) == pytest.approx(expected, rel=5e-6)
    # The general branch, a hair away from α = 1, agrees with the closed form.
    assert cf.potts_barrier(M, 1 + 1e-9) == pytest.approx(cf.potts_barrier(M, 1), rel=1e-7)


@pytest.mark.parametrize(("alpha", "M"), [(0.5, 10), (1, 10), (1.25, 10), (1.5, 3), (1.5, 100), (1.9, 10)])
def test_barrier_is_the_highest_point_between_two_equal_minima(alpha, M):
    K = cf.potts_coexistence(M, alpha)
    p = np.linspace(1 / M, 1, 20_001)
    F = np.array([cf.potts_free_energy(min(float(x), 1.0), K, M, alpha) for x in p])
    top = int(np.argmax(F[: int(np.argmin(F[100:])) + 100]))
    # F is sampled at steps h: the top of a parabola is missed by at most F″h²/8.
    curvature = abs(np.diff(F[top - 1 : top + 2], 2)[0])
    assert cf.potts_barrier(M, alpha) == pytest.approx(F[top], abs=curvature + 1e-14)
    assert F.min() == pytest.approx(0, abs=curvature + 1e-12)


@pytest.mark.parametrize("M", [2, 3, 50])
@pytest.mark.parametrize("alpha", [0.5, 1, 1.5, 2, 2.5, 4])
def test_landscape_and_stationary_coupling(alpha, M):
    for p in (1 / M, 0.51, 0.9, 1 - 1e-12, 1.0):
        K = 3.7
        with mpmath.workdps(40):
            assert cf.potts_free_energy(p, K, M, alpha) == pytest.approx(
                float(landscape(alpha, M, K, p)), abs=1e-12
            )
            if 1 / M < p < 1:
                assert cf.potts_coupling(p, M, alpha) == pytest.approx(
                    float(stationary_coupling(alpha, M, p)), rel=1e-12
                )
                slope = ray_slope(alpha, M, cf.potts_coupling(p, M, alpha), p)
                # The float K carries a rounding of 1e-16, ∂F/∂p₁ that of K times p₁ − q.
                assert abs(slope) < 1e-12 * max(1, cf.potts_coupling(p, M, alpha))
    assert cf.potts_coupling(1 / M, M, alpha) == pytest.approx(cf.potts_instability(M, alpha), rel=ROUNDING)
    assert cf.potts_coupling(1, M, alpha) == cf.potts_vertex(alpha)


@pytest.mark.parametrize("alpha", [0.5, 1, 1.5, 1.9, 1.999])
def test_two_patterns_are_continuous(alpha):
    assert cf.potts_spinodal(2, alpha) == cf.potts_instability(2, alpha) == cf.two_keys_instability(0, alpha)
    assert math.isnan(cf.potts_coexistence(2, alpha))


@pytest.mark.parametrize("M", [3, 4, 10, 1000, 10**6])
def test_critical_points_keep_their_order_and_meet_at_alpha_2(M):
    for alpha in (0.5, 1, 1.3, 1.9, 2 - 1e-5, 2 - 1e-9, 2 - 1e-13):
        spinodal, coexistence = cf.potts_spinodal(M, alpha), cf.potts_coexistence(M, alpha)
        assert spinodal < coexistence < cf.potts_instability(M, alpha)
        assert cf.potts_barrier(M, alpha) > 0
        if alpha > 1.9:
            # To first order in 2 − α every critical point moves by a multiple of it.
            assert 0 < (spinodal - 2) / (2 - alpha) < (coexistence - 2) / (2 - alpha) < 2 + 1e-2
    assert cf.potts_barrier(M, 2) == 0


@pytest.mark.parametrize("M", [3, 10, 1000])
def test_alpha_1_is_no_special_case(M):
    for function in (cf.potts_spinodal, cf.potts_coexistence, cf.potts_barrier):
        for alpha in (1 - 1e-10, 1 + 1e-10):
            assert function(M, alpha) == pytest.approx(function(M, 1), rel=1e-7)


@pytest.mark.parametrize(("k", "M", "alpha"), [(1, 4, 2.5), (2, 4, 2.5), (3, 4, 4), (4, 4, 3), (5, 20, 2.2)])
def test_windows_above_alpha_2_by_perturbation(k, M, alpha):
    low, high = cf.potts_window(k, M, alpha)
    state = np.zeros(M)
    state[:k] = 1 / k
    rng = np.random.default_rng(3)
    directions = [np.eye(M)[mu] - state for mu in range(1, M)]
    directions += [direction - state for direction in rng.dirichlet(np.ones(M), 300)]

    def is_minimum(K, step=1e-4):
        def F(p):
            return (np.sum(p**alpha) - 1) / (alpha - 1) - K / 2 * np.sum(p**2)

        return all(F(state + step * v) > F(state) for v in directions)

    if low > 0:
        assert not is_minimum(0.99 * low)
        assert is_minimum(1.01 * low)
    else:
        assert is_minimum(0.01)
    if high < math.inf:
        assert is_minimum(0.99 * high)
        assert not is_minimum(1.01 * high)
    else:
        assert is_minimum(1e3)
    assert (low == 0) == (k == M)
    assert (high == math.inf) == (k == 1)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cf.potts_spinodal(1, 1), "M = 1"),
        (lambda: cf.potts_spinodal(5, 2.5), "alpha = 2.5"),
        (lambda: cf.potts_coexistence(5, 0), "alpha = 0"),
        (lambda: cf.potts_coexistence(5, 3), "(0, 2]"),
        (lambda: cf.potts_barrier(2, 1), "M = 2"),
        (lambda: cf.potts_instability(3, math.inf), "alpha = inf"),
        (lambda: cf.potts_vertex(math.nan), "alpha = nan"),
        (lambda: cf.potts_coupling(0.1, 5, 1), "p = 0.1"),
        (lambda: cf.potts_free_energy(0.5, -1, 5, 1), "coupling = -1"),
        (lambda: cf.potts_window(6, 5, 3), "k = 6"),
        (lambda: cf.potts_window(2, 5, 2), "alpha = 2"),
    ],
)
def test_arguments_outside_the_domain(call, word):
    with pytest.raises(InputError) as error:
        call()
    assert word in str(error.value)
    assert "\n" not in str(error.value)
