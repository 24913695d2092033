"""Uniform states, exact storage, two keys, pairs: each formula against a calculation without it."""

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import optimize

from hopfieldphase.core import closed_forms as cf
from hopfieldphase.core import patterns as pt
from hopfieldphase.core.errors import InputError

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "values.json").read_text())
ROUNDING = 1e-12
ALPHAS = [0.5, 1.0, 1.3, 1.5, 2.0, 2.5, 3.0, 4.0]
PLANAR = np.array([[math.cos(t), math.sin(t)] for t in np.radians([0, 50, 140])])


def plain_weights(scores, alpha):
    """argmax p·y + Ψ_α(p) by bisection for the multiplier, written for the test alone."""
    y = np.asarray(scores, dtype=float)
    if alpha == 1:
        p = np.exp(y - y.max())
        return p / p.sum()

    def weights(theta):
        if alpha > 1:
            return np.maximum((alpha - 1) / alpha * (y - theta), 0) ** (1 / (alpha - 1))
        return ((1 - alpha) / alpha * (theta - y)) ** (-1 / (1 - alpha))

    if alpha > 1:
        low, high = y.max() - alpha / (alpha - 1), y.max()
    else:
        edge = alpha / (1 - alpha)
        low, high = y.max() + edge, y.max() + edge * len(y) ** (1 - alpha)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if weights(middle).sum() > 1 else (low, middle)
    return weights(high) / weights(high).sum()


def energy(p, coupled, alpha):
    """F(p) = −Ψ_α(p) − ½ pᵀ(bC)p."""
    p = np.asarray(p, dtype=float)
    tsallis = np.sum(p[p > 0] * np.log(p[p > 0])) if alpha == 1 else (np.sum(p**alpha) - 1) / (alpha - 1)
    return tsallis - p @ coupled @ p / 2


def softest_curvature(xi, x, b, alpha):
    """Smallest eigenvalue of ∇²Γ/b at x (unit scale), from differences of the update alone."""
    d = xi.shape[1]

    def update(state):
        return xi.T @ plain_weights(b * (xi @ state), alpha)

    h = 1e-5
    jacobian = np.array([(update(x + h * e) - update(x - h * e)) / (2 * h) for e in np.eye(d)])
    return np.linalg.eigvalsh(np.eye(d) - (jacobian + jacobian.T) / 2)[0]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize(
    "xi", [pt.circulant(5, 6, seed=1), pt.equicorrelated(4, 4, 0.3)], ids=["circulant", "equi"]
)
def test_uniform_spinodal_is_where_the_curvature_vanishes(xi, alpha):
    formula = cf.uniform_spinodal(xi @ xi.T, alpha)
    x = xi.mean(axis=0)
    measured = optimize.brentq(lambda b: softest_curvature(xi, x, b, alpha), 0.8 * formula, 1.2 * formula)
    # Second differences with h = 1e-5: h² and 1e-16/h both stay below 1e-9.
    assert measured == pytest.approx(formula, rel=1e-7)


def test_for_alpha_2_the_spinodal_holds_for_every_state_on_the_support():
    xi = np.array([[1.0, 0, 0], [0.6, 0.8, 0], [0.5, 0.2, math.sqrt(0.71)]])
    C = xi @ xi.T
    formula = cf.uniform_spinodal(C, 2)
    assert not cf.is_uniform_stationary(C)
    b = 0.5 * formula
    q = np.linalg.solve(2 / b * np.eye(3) - C, np.ones(3))
    p = q / q.sum()
    assert (p > 0).all()
    assert np.ptp(p) > 0.02
    # λ_min/b = 1 − (b/2) λ_max(P C P) on a fixed support.
    assert softest_curvature(xi, xi.T @ p, b, 2) == pytest.approx(1 - b / formula, abs=1e-8)


def test_uniform_spinodal_of_one_or_equal_patterns_is_infinite():
    assert cf.uniform_spinodal([[1.0]], 2) == math.inf
    xi = pt.unit_rows(np.tile([[1.0, 2, 3]], (4, 1)))
    assert cf.uniform_spinodal(xi @ xi.T, 1.5) == math.inf


def test_gram_units_carry_over():
    xi = pt.circulant(5, 20)
    C = xi @ xi.T
    for alpha in (1, 1.5, 2):
        assert cf.uniform_spinodal(C / 20, alpha) == pytest.approx(
            20 * cf.uniform_spinodal(C, alpha), rel=ROUNDING
        )
        assert cf.exact_storage_onset(C / 20, alpha) == pytest.approx(
            20 * cf.exact_storage_onset(C, alpha), rel=ROUNDING
        )


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2, 3])
def test_uniform_existence_is_where_the_others_drop_out(alpha):
    xi = np.vstack([pt.equicorrelated(3, 6, 0.5), pt.spherical(4, 6, seed=3)])
    gram = xi @ xi.T
    b = cf.uniform_existence(gram, [0, 1, 2], alpha)
    x = xi[:3].mean(axis=0)
    above = plain_weights(1.0001 * b * (xi @ x), alpha)
    np.testing.assert_allclose(above[:3], 1 / 3, rtol=1e-9)
    assert np.all(above[3:] == 0)
    assert np.any(plain_weights(0.999 * b * (xi @ x), alpha)[3:] > 0)


def test_uniform_existence_at_its_ends():
    gram = np.eye(4)
    assert cf.uniform_existence(gram, [0, 1, 2, 3], 2) == 0
    assert cf.uniform_existence(gram, [3, 2, 1, 0], 1) == 0
    assert cf.uniform_existence(gram, [0, 1], 1) == math.inf
    assert cf.uniform_existence(np.ones((3, 3)), [0, 1], 2) == math.inf  # a third equal pattern
    assert cf.is_uniform_stationary(gram)
    assert not cf.is_uniform_stationary(PLANAR @ PLANAR.T)


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2, 2.5, 4])
def test_exact_storage_onset_separates_one_hot_from_mixed(alpha):
    xi = pt.gaussian(12, 5, seed=8)  # un-normalised: some patterns are never stored
    onset = cf.exact_storage_onset(xi @ xi.T, alpha)
    assert 0 < np.isinf(onset).sum() < 12
    for mu in range(12):
        scores = xi @ xi[mu]
        if np.isinf(onset[mu]):
            assert plain_weights(1e6 * scores, alpha)[mu] < 1
            continue
        assert plain_weights(1.0001 * onset[mu] * scores, alpha)[mu] == 1
        assert plain_weights(0.99 * onset[mu] * scores, alpha)[mu] < 1
    assert cf.all_stored_onset(xi @ xi.T, alpha) == math.inf
    unit = pt.unit_rows(xi)
    assert cf.all_stored_onset(unit @ unit.T, alpha) == max(cf.exact_storage_onset(unit @ unit.T, alpha))


@pytest.mark.parametrize("alpha", [1.5, 2, 2.5, 4])
def test_a_stored_pattern_is_a_strict_minimum(alpha):
    xi = pt.spherical(6, 4, seed=2)
    C = xi @ xi.T
    b = 1.05 * cf.all_stored_onset(C, alpha)
    rng = np.random.default_rng(0)
    for mu in range(6):
        vertex = np.eye(6)[mu]
        for direction in rng.dirichlet(np.ones(6), 200):
            p = vertex + 1e-3 * (direction - vertex)
            assert energy(p, b * C, alpha) > energy(vertex, b * C, alpha)


def test_storage_onset_where_nothing_is_stored_or_everything():
    C = np.array([[1, 0.2, 1.0], [0.2, 1, 0.2], [1.0, 0.2, 1]])
    assert cf.exact_storage_onset(C, 2) == pytest.approx([math.inf, 2.5, math.inf])
    assert np.all(cf.exact_storage_onset(C, 1) == math.inf)
    assert np.all(cf.exact_storage_onset(C, 0.5) == math.inf)
    assert cf.exact_storage_onset(C, math.inf) == pytest.approx([math.inf, 1.25, math.inf])
    assert cf.exact_storage_onset([[2.0]], 0.5) == 0


def test_equal_patterns_are_never_told_apart_by_rounding():
    xi = pt.spherical(40, 30, seed=1)
    xi = np.vstack([xi, xi])
    assert np.all(cf.exact_storage_onset(xi @ xi.T, 2) == math.inf)
    assert np.all(cf.pattern_separation(xi) == 0)


def test_pattern_separation_works_in_blocks(monkeypatch):
    monkeypatch.setattr("hopfieldphase.core.closed_forms.storage._PRODUCTS_AT_ONCE", 7 * 500)
    xi = pt.gaussian(500, 3, seed=4)
    gram = xi @ xi.T
    expected = np.diagonal(gram) - np.max(np.where(np.eye(500, dtype=bool), -np.inf, gram), axis=1)
    separation = cf.pattern_separation(xi)
    np.testing.assert_allclose(separation, expected, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(
        cf.onset_of_separation(separation, 2), cf.exact_storage_onset(gram, 2), rtol=1e-6
    )
    assert cf.pattern_separation([[1.0, 0]]) == math.inf


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        (1.2, "minimum"),
        (1.9, "minimum"),
        (2, "marginal"),
        (2.2, "no minimum"),
        (2.9, "no minimum"),
        (3, "marginal"),
        (3.2, "minimum"),
        (5, "minimum"),
    ],
)
def test_onset_character_by_the_energy_next_to_the_vertex(alpha, expected):
    assert cf.onset_character(alpha) == expected
    with mpmath.workdps(40):
        a, t = mpmath.mpf(alpha), mpmath.mpf("1e-8")
        K = a / (a - 1)
        rise = ((1 - t) ** a + t**a - 1) / (a - 1) + K * t * (1 - t)
        sign = 0 if abs(rise) < mpmath.mpf("1e-30") else mpmath.sign(rise)
    assert sign == {"minimum": 1, "no minimum": -1, "marginal": 0}[expected]


def two_key_minima(alpha, K):
    """Local minima of F along the segment between two keys, p = (1−t, t) with t ≤ ½."""
    t = 0.5 * np.linspace(0, 1, 10_001) ** 2  # dense at the vertex
    entropy = (
        -((1 - t) * np.log1p(-t) + t * np.log(np.where(t > 0, t, 1)))
        if alpha == 1
        else (1 - (1 - t) ** alpha - t**alpha) / (alpha - 1)
    )
    F = -entropy - K / 2 * ((1 - t) ** 2 + t**2)
    rises = np.diff(F, prepend=np.inf, append=F[-2])  # the mirror image follows t = ½
    return t[(rises[:-1] < 0) & (rises[1:] > 0)]


@pytest.mark.parametrize("alpha", [0.5, 1, 1.5, 1.9, 2.1, 2.5, 2.9, 3.1, 4, 6])
def test_two_keys_order_of_the_transition(alpha):
    K_mix, K_vertex = cf.two_keys_instability(0, alpha), cf.two_keys_vertex(0, alpha)
    order = cf.two_keys_transition(alpha)
    assert order == ("first order" if 2 < alpha < 3 else "continuous")
    below = two_key_minima(alpha, 0.998 * K_mix)
    assert 0.5 in below
    assert len(below) == (2 if order == "first order" else 1)
    assert 0.5 not in two_key_minima(alpha, 1.002 * K_mix)
    if order == "first order":
        assert list(two_key_minima(alpha, 1.002 * K_vertex)) == [0, 0.5]
        assert list(two_key_minima(alpha, 0.998 * K_vertex)) == [0.5]
    elif alpha > 1:
        assert list(two_key_minima(alpha, 1.002 * K_vertex)) == [0]
        assert 0 not in two_key_minima(alpha, 0.998 * K_vertex)


@pytest.mark.parametrize("epsilon", [-0.5, 0, 0.85])
@pytest.mark.parametrize("alpha", [2, 2.2, 2.5, 3])
def test_two_keys_coexistence_is_an_energy_crossing(alpha, epsilon):
    C = np.array([[1, epsilon], [epsilon, 1]])
    b = cf.two_keys_coexistence(epsilon, alpha)
    assert energy([1, 0], b * C, alpha) == pytest.approx(energy([0.5, 0.5], b * C, alpha), rel=ROUNDING)
    assert (
        cf.two_keys_vertex(epsilon, alpha) * (1 - 1e-15)
        <= b
        <= cf.two_keys_instability(epsilon, alpha) * (1 + 1e-15)
    )


def test_two_keys_at_alpha_2_is_proposition_4_1():
    for epsilon in np.arange(0, 0.9, 0.05):
        expected = 2 / (1 - epsilon)
        assert cf.two_keys_coexistence(epsilon, 2) == pytest.approx(expected, rel=1e-15)
        assert cf.two_keys_instability(epsilon, 2) == pytest.approx(expected, rel=1e-15)
        assert cf.two_keys_vertex(epsilon, 2) == pytest.approx(expected, rel=1e-15)
        C = np.array([[1, epsilon], [epsilon, 1]])
        along = [energy([1 - t, t], expected * C, 2) for t in np.linspace(0, 1, 11)]
        assert np.ptp(along) < ROUNDING  # the whole segment is flat
    assert cf.two_keys_transition(2) is cf.Transition.DEGENERATE
    assert cf.two_keys_transition(3) is cf.Transition.DEGENERATE
    assert math.isnan(cf.two_keys_coexistence(0.1, 1.5))
    assert cf.two_keys_vertex(0.1, 1) == math.inf


def test_two_key_softmax_pitchfork():
    # m = tanh(Km/2): the mixture is stable up to K = 2.
    assert cf.two_keys_instability(0.25, 1) * 0.75 == 2


def test_pair_intervals_of_three_planar_vectors():
    C = PLANAR @ PLANAR.T
    assert cf.pair_interval(C, 0, 1) == pytest.approx((0.830278, 5.598910), abs=1e-6)
    assert cf.pair_interval(C, 1, 2) == pytest.approx((1.780537, 2), abs=1e-6)
    assert cf.pair_interval(C, 0, 2) is None
    assert cf.exact_storage_onset(C, 2) == pytest.approx([5.598910, 5.598910, 2], abs=1e-6)


def test_pair_interval_by_perturbing_the_pair():
    xi = pt.spherical(7, 4, seed=5)
    C = xi @ xi.T
    rng = np.random.default_rng(1)
    found = 0
    for i in range(7):
        for j in range(i + 1, 7):
            pair = (np.eye(7)[i] + np.eye(7)[j]) / 2
            directions = [np.eye(7)[k] - pair for k in range(7)]
            directions += [direction - pair for direction in rng.dirichlet(np.ones(7), 100)]
            step = 1e-4

            def is_minimum(b, pair=pair, directions=directions, step=step):
                here = energy(pair, b * C, 2)
                return all(energy(pair + step * v, b * C, 2) > here for v in directions)

            interval = cf.pair_interval(C, i, j)
            if interval is None:
                assert not any(is_minimum(b) for b in np.geomspace(0.05, 200, 60))
                continue
            found += 1
            low, high = interval
            margin = 0.01 * min(low, high - low)
            assert is_minimum(low + margin)
            assert is_minimum(high - margin)
            assert not is_minimum(low - margin)
            assert not is_minimum(high + margin)
    assert found >= 4


def test_pair_interval_at_its_ends():
    assert cf.pair_interval([[1, 0.5], [0.5, 1]], 0, 1) == (0, 4)
    assert cf.pair_interval([[1, 1, 0], [1, 1, 0], [0, 0, 1.0]], 0, 1) == (1, math.inf)
    assert cf.pair_interval([[4, 2], [2, 4.0]], 1, 0) == (0, 1)


def test_pair_barrier():
    assert cf.pair_barrier(6, 2) == pytest.approx(1, rel=ROUNDING)
    assert cf.pair_barrier(6, 1.5) == pytest.approx(0.914213562, abs=5e-10)
    for alpha in (1.2, 1.5, 2, 2.5, 3, 5):
        K = 1.3 * max(alpha / (alpha - 1), alpha * 2 ** (2 - alpha))
        top = max(energy([1 - t, t], K * np.eye(2), alpha) for t in np.linspace(0, 1, 1001))
        assert cf.pair_barrier(K, alpha) == pytest.approx(
            top - energy([1, 0], K * np.eye(2), alpha), rel=1e-10
        )


def reference_patterns(case):
    m, i = np.arange(1, case["M"] + 1)[:, None], np.arange(1, case["d"] + 1)
    a, b, c = case["pattern_parameters"]
    return pt.unit_rows(np.sin(a * m * i + b * m + c * i**2 + 1))


def test_proposition_4_1_on_every_reference_state():
    states = 0
    for case in REFERENCE["exact_alpha2"]:
        xi, beta = reference_patterns(case), case["beta"]
        gram = xi @ xi.T / case["d"]
        z, theta, energies = [], [], []
        for state in case["stable_states"]:
            p = np.zeros(case["M"])
            p[state["support"]] = state["weights"]
            z.append(gram @ p)
            theta.append(z[-1][state["support"][0]] - 2 / beta * state["weights"][0])
            energies.append(state["free_energy"])
        residual = cf.proposition_4_1_residual(z, theta, gram, beta, energies)
        assert residual.shape == (len(energies),)
        np.testing.assert_allclose(residual, 0, atol=ROUNDING)
        single = cf.proposition_4_1_energy(z[0], theta[0], gram, beta)
        assert float(single) == pytest.approx(energies[0], abs=ROUNDING)
        states += len(energies)
    assert states > 10


def test_proposition_4_1_sees_a_state_that_is_not_stationary():
    gram = np.eye(2) * 3
    residual = cf.proposition_4_1_residual([0.9, 0.3], 0.1, gram, 2.0, -1.0)
    # (β/2)² Σ [z−θ]₊[z−θ]₊ K = 0.64 + 0.04 − 3 (0.64 + 0.04)
    assert float(residual) == pytest.approx(1.36, rel=ROUNDING)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cf.uniform_spinodal(np.eye(3), 0), "alpha = 0"),
        (lambda: cf.uniform_spinodal(np.eye(3), math.inf), "alpha = inf"),
        (lambda: cf.uniform_spinodal(np.ones((2, 3)), 1), "(2, 3)"),
        (lambda: cf.uniform_spinodal([[1, 0], [0.5, 1]], 1), "symmetric"),
        (lambda: cf.uniform_spinodal([[math.nan]], 1), "NaN"),
        (lambda: cf.uniform_existence(np.eye(3), [], 2), "support = []"),
        (lambda: cf.uniform_existence(np.eye(3), [0, 3], 2), "below 3"),
        (lambda: cf.uniform_existence(np.eye(3), [0, 0], 2), "different"),
        (lambda: cf.uniform_existence(np.eye(3), [0.5], 2), "0.5"),
        (lambda: cf.exact_storage_onset(np.eye(3), -1), "alpha = -1"),
        (lambda: cf.onset_character(1), "alpha = 1"),
        (lambda: cf.onset_character(math.inf), "alpha = inf"),
        (lambda: cf.two_keys_instability(1, 2), "cosine = 1"),
        (lambda: cf.two_keys_vertex(-1.1, 2), "cosine = -1.1"),
        (lambda: cf.two_keys_coexistence(0, math.inf), "alpha = inf"),
        (lambda: cf.pair_interval(np.eye(3), 0, 0), "i = 0, j = 0"),
        (lambda: cf.pair_interval(np.eye(3), 0, 3), "below 3"),
        (lambda: cf.pair_interval(np.diag([1.0, 2]), 0, 1), "different norms"),
        (lambda: cf.pair_barrier(1.9, 2), "coupling = 1.9"),
        (lambda: cf.pair_barrier(6, 1), "alpha = 1"),
        (lambda: cf.proposition_4_1_energy([1.0], 0, [[1.0]], 0), "beta = 0"),
    ],
)
def test_arguments_outside_the_domain(call, word):
    with pytest.raises(InputError) as error:
        call()
    assert word in str(error.value)
    assert "\n" not in str(error.value)
