"""Regularized maps: optimality, the entmax family as special cases, reference rows, what is refused."""

import math
import pickle
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import wrightomega

from hopfieldphase.core import closed_forms, entmax
from hopfieldphase.core.attention import Entmax, Separable
from hopfieldphase.core.errors import InputError

ALPHAS = [0.3, 0.9, 1 - 1e-9, 1.0, 1 + 1e-9, 1.1, 1.5, 1.9, 2.0, 2.1, 3.0, 10.0, 100.0]
# Two solvers of one normalization: a few roundings of weights of at most one.
SAME = 1e-13
# Optimality is read off g'(p), whose rounding is that of numbers as large as the scores.
OPTIMAL = 1e-12
# Central differences with a step of 1e-6: 1e-12 of curvature, 1e-10 of rounding, both divided by the weights.
DIFFERENCES = 1e-6


def entropy_and_square():
    """Dense: g = t ln t + t²/2, whose inverse slope is the Wright function."""
    return Separable(
        g=lambda t: np.where(t > 0, t * np.log(np.where(t > 0, t, 1.0)), 0.0) + t**2 / 2,
        slope=lambda t: np.log(t) + t,
        inverse_slope=wrightomega,
        curvature=lambda t: 1 / t + 1,
    )


def hyperbolic():
    """Sparse: g = cosh t − 1, with g'(0) = 0 and g'' between 1 and cosh 1."""
    return Separable(
        g=lambda t: 2 * np.sinh(t / 2) ** 2, slope=np.sinh, inverse_slope=np.arcsinh, curvature=np.cosh
    )


def fermi():
    """Dense, with infinite slopes at both ends: g = t ln t + (1 − t) ln(1 − t)."""

    def g(t):
        return sum(np.where(s > 0, s * np.log(np.where(s > 0, s, 1.0)), 0.0) for s in (t, 1 - t))

    return Separable(
        g=g,
        slope=lambda t: np.log(t) - np.log1p(-t),
        inverse_slope=lambda u: 1 / (1 + np.exp(-u)),
        curvature=lambda t: 1 / (t * (1 - t)),
    )


OTHERS = {"entropy + square": entropy_and_square, "cosh": hyperbolic, "fermi": fermi}
MAPS = {f"tsallis {alpha}": lambda alpha=alpha: Separable.tsallis(alpha) for alpha in ALPHAS} | OTHERS


def score_rows(largest=40):
    """Scores with ties, absent patterns, and spreads from 1e-3 to 1e6."""
    entry = st.floats(-1, 1) | st.integers(-2, 2).map(float) | st.just(-math.inf)
    rows = st.lists(entry, min_size=1, max_size=largest).filter(lambda z: max(z) > -math.inf)
    return st.tuples(rows, st.sampled_from([1e-3, 0.1, 1.0, 10.0, 1e3, 1e6])).map(
        lambda t: np.array(t[0]) * t[1]
    )


def check_optimal(attention, z):
    """z_μ − g'(p_μ) is one number on the support, and z_μ − g'(0) is not above it elsewhere."""
    p = attention.weights(z)
    assert np.all(p >= 0)
    assert abs(p.sum() - 1) < OPTIMAL
    z = z - z.max()
    with np.errstate(divide="ignore"):
        edge, end = attention.slope(np.array([0.0, 1.0]))
    # Subnormal weights have no digits of their own, and a weight of one hides its distance from it; where
    # g'(1) is infinite, that distance tells the weights below the rounding of one.
    floor = 1e-290 if end < math.inf else 1e-14
    end = end if end < math.inf else attention.slope(np.array([1 - 1e-16]))[0]
    clear = (p > floor) & (p < 1 - 1e-3)
    levels = attention.slope(np.where(clear, p, 0.5))
    # At a distance d from the top both the score and g' carry the rounding of d.
    allowed = OPTIMAL * (1 + abs(z) + np.where(clear, abs(levels), 0.0))
    zeros = (p <= floor) & (z > -math.inf)
    # Where one weight is all, any threshold up to that of a weight of one will do.
    tau, slack = -end, 0.0
    if clear.any():
        best = np.argmin(np.where(clear, allowed, math.inf))
        tau, slack = (z - levels)[best], allowed[best]
        assert np.all(abs(z - levels - tau)[clear] <= allowed[clear] + slack)
    beyond = z[zeros] - tau - (allowed[zeros] + slack + OPTIMAL * (abs(edge) if edge > -math.inf else 0.0))
    assert np.all(attention.inverse_slope(np.maximum(beyond, edge)) <= floor)


@pytest.mark.parametrize("name", MAPS)
def test_optimality(name):
    attention = MAPS[name]()

    @given(score_rows())
    @example(np.zeros(7))
    @example(np.array([1.0, -math.inf]))
    @example(np.array([0.0]))
    @example(np.array([0.5, 0.0]))
    def check(z):
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            check_optimal(attention, z)

    check()


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ALPHAS)
@given(z=score_rows(200), data=st.data())
def test_agrees_with_the_entmax_family(alpha, z, data):
    ours, family = Separable.tsallis(alpha), Entmax(alpha)
    p = family.weights(z)
    np.testing.assert_allclose(ours.weights(z), p, rtol=0, atol=SAME)
    finite = z[z > -math.inf]
    size = 1 + abs(finite).max() + float(family.regularizer(np.full(len(z), 1 / len(z)))) ** 2
    np.testing.assert_allclose(ours.conjugate(z), family.conjugate(z), rtol=SAME, atol=SAME * size)
    np.testing.assert_allclose(ours.regularizer(p), family.regularizer(p), rtol=SAME, atol=SAME)
    np.testing.assert_allclose(ours.threshold(z), family.threshold(z), rtol=SAME, atol=SAME * size)
    np.testing.assert_array_equal(ours.support(z)[p > 1e-12], True)
    v = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=len(z), max_size=len(z))))
    expected = family.jacobian_action(z, v)
    # For α > 2 and a weight near zero, s = p^{2−α} amplifies the rounding of p, which is the same for both.
    smallest = float(p[p > 0].min())
    if alpha <= 2 or smallest ** (1 - min(alpha, 10)) < 1e6:
        np.testing.assert_allclose(
            ours.jacobian_action(z, v), expected, rtol=1e-9, atol=1e-9 * abs(expected).max()
        )


def test_named_instances():
    z = np.random.default_rng(0).normal(size=(50, 12))
    np.testing.assert_allclose(Separable.shannon().weights(z), entmax.entmax(z, 1), atol=SAME)
    np.testing.assert_allclose(Separable.quadratic().weights(z), entmax.entmax(z, 2), atol=SAME)
    # t²/2 and (t² − t)/2 differ by 1/2 on the simplex.
    np.testing.assert_allclose(Separable.quadratic().conjugate(z) + 0.5, Entmax(2).conjugate(z), atol=SAME)


REFERENCE_ROWS = [
    ([0, 0, 1], 1, [0.2119415576, 0.2119415576, 0.5761168848]),
    ([0, 0, 1], 1.00001, [None, None, 0.5761194525]),
    ([0, 0, 1], 1.1, [None, None, 0.6030672173]),
    ([0, 0, 1], 1.5, [None, None, 0.7402530734]),
    ([0, 0, 1], 2, [0, 0, 1]),
    ([0.001, 0], 10, [0.5946379668, None]),
    ([0.01, 0], 10, [0.7652544854, None]),
    ([0.05, 0], 10, [0.9150989502, None]),
    ([0.1, 0], 10, [0.9883615331, None]),
    ([0.111, 0], 10, [0.9998888, None]),
    ([0.1112, 0], 10, [1, 0]),
    ([0, 0.5, 1], 2, [0, 0.25, 0.75]),
    ([0.1, 0.2, 0.3, 0.4, 0.5], 2, [0, 0.1, 0.2, 0.3, 0.4]),
    ([0.175, 0, -2], 2, [0.5875, 0.4125, 0]),
    ([0.4, 0.3, -0.4, 0.5], 2, [1 / 3, 7 / 30, 0, 13 / 30]),
    ([-5, -6, 3, 4], 2, [0, 0, 0, 1]),
    ([1, -math.inf], 2, [1, 0]),
    ([1, -math.inf], 1, [1, 0]),
    ([2, 1, 2, 2], math.inf, [1 / 3, 0, 1 / 3, 1 / 3]),
]


@pytest.mark.parametrize(("scores", "alpha", "expected"), REFERENCE_ROWS)
def test_reference_rows(scores, alpha, expected):
    # The rows are given with ten digits, one of them with seven.
    tolerance = 1e-7 if scores == [0.111, 0] else 6e-11
    # [0, .5, 1] in the paper's convention at β = 2 is [0, .5, 1] in the field's.
    maps = [Entmax(alpha)] + ([] if math.isinf(alpha) else [Separable.tsallis(alpha)])
    for attention in maps:
        for p, wanted in zip(attention.weights(np.array(scores, dtype=float)), expected, strict=True):
            assert wanted is None or p == pytest.approx(wanted, abs=tolerance)


def test_absent_patterns_change_nothing():
    z = np.array([0.3, -math.inf, 0.1, -math.inf])
    for make in MAPS.values():
        attention = make()
        np.testing.assert_allclose(attention.weights(z)[[0, 2]], attention.weights(z[[0, 2]]), atol=SAME)
        assert attention.conjugate(z) == pytest.approx(attention.conjugate(z[[0, 2]]), abs=SAME)


@pytest.mark.parametrize("name", MAPS)
def test_permutation_and_shift(name):
    attention, rng = MAPS[name](), np.random.default_rng(5)
    z = np.round(rng.normal(size=(20, 9)), 1)
    order = rng.permutation(9)
    np.testing.assert_allclose(attention.weights(z[:, order]), attention.weights(z)[:, order], atol=SAME)
    np.testing.assert_allclose(
        attention.weights(z + 8.0), attention.weights(z), atol=1e-6 if "100" in name else 1e-12
    )


def jacobian(attention, z):
    return np.stack([attention.jacobian_action(z, e) for e in np.eye(len(z))], axis=-1)


@pytest.mark.parametrize("name", MAPS)
def test_jacobian(name):
    attention, rng = MAPS[name](), np.random.default_rng(3)
    for _ in range(10):
        z = rng.normal(size=6) * 0.3
        p, J = attention.weights(z), jacobian(attention, z)
        positive = p > 0
        s = np.where(positive, 1 / attention.curvature(np.where(positive, p, 0.5)), 0.0)
        if s.max() > 1e6:  # a weight near zero, where the naive formula has no digits
            continue
        exact = np.diag(s) - np.outer(s, s) / s.sum()
        np.testing.assert_allclose(J, exact, atol=OPTIMAL * max(1, s.max()))
        if min(abs(np.diff(np.sort(np.append(z, attention.threshold(z)))))) > 1e-4:
            h = 1e-6
            measured = np.stack(
                [(attention.weights(z + h * e) - attention.weights(z - h * e)) / (2 * h) for e in np.eye(6)],
                -1,
            )
            np.testing.assert_allclose(J, measured, atol=DIFFERENCES * max(1, s.max() ** 2))


@pytest.mark.parametrize("name", [*OTHERS, "tsallis 1.5", "tsallis 3.0"])
def test_second_opinion(name):
    """SciPy's general optimizer on the simplex; its own tolerance limits the agreement."""
    attention = MAPS[name]()
    for seed in range(3):
        z = np.random.default_rng(seed).normal(size=5)
        found = minimize(
            lambda p, z=z: float(attention.regularizer(np.clip(p, 1e-300, None)) - z @ p),
            np.full(5, 0.2),
            jac=lambda p, z=z: attention.slope(np.clip(p, 1e-12, 1 - 1e-12)) - z,
            method="SLSQP",
            bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        np.testing.assert_allclose(attention.weights(z), found.x, atol=1e-5)
        assert -found.fun == pytest.approx(float(attention.conjugate(z)), abs=1e-9)


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 3.0])
def test_entmax_package(alpha):
    torch = pytest.importorskip("torch")
    package = pytest.importorskip("entmax")
    z = np.random.default_rng(1).normal(size=(40, 30))
    theirs = package.entmax_bisect(torch.from_numpy(z), alpha=alpha, n_iter=100).numpy()
    # Their bisection finds the threshold to rounding; for α > 2 small weights keep half of its digits.
    tolerance = 1e-12 if alpha <= 2 else 1e-7
    np.testing.assert_allclose(Entmax(alpha).weights(z), theirs, atol=tolerance)
    np.testing.assert_allclose(Separable.tsallis(alpha).weights(z), theirs, atol=tolerance)


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_gap_that_isolates(alpha, k):
    gap = Entmax(alpha).separation_margin(k)
    assert gap == pytest.approx(k ** (1 - alpha) / (alpha - 1), rel=SAME)
    assert gap == pytest.approx(closed_forms.isolation_gap(k, alpha, beta=alpha), rel=SAME)
    assert Separable.tsallis(alpha).separation_margin(k) == pytest.approx(gap, rel=1e-12)
    for n in (k + 1, 100, 3000):
        for attention in (Entmax(alpha), Separable.tsallis(alpha)):
            for factor, isolated in ((1 + 1e-9, True), (1 - 1e-6, False)):
                z = np.zeros(n)
                z[k:] = -gap * factor
                assert np.all(attention.support(z)[k:] == (not isolated))


def test_the_four_relevant_tokens():
    for n in (10, 1000, 100_000):
        z = np.where(np.arange(n) < 4, 1.0, 0.0)
        np.testing.assert_allclose(Entmax(1.5).weights(z), z / 4, atol=1e-15)
    assert Entmax(1.5).separation_margin(4) == 1.0


def test_equal_maps():
    assert Separable.tsallis(1.5) == Separable.tsallis(1.5) != Separable.tsallis(1.6)
    assert Separable.shannon() == Separable.tsallis(1)
    assert pickle.loads(pickle.dumps(Separable.tsallis(3))).weights([0.0, 0.1]).sum() == pytest.approx(1)
    assert repr(Separable.tsallis(1.5)) == "Separable(g=tsallis(alpha=1.5))"
    assert repr(Separable.quadratic()) == "Separable(g=half_square)"


def test_sparsity():
    assert not Separable.shannon().is_sparse
    assert not Separable.tsallis(0.5).is_sparse
    assert Separable.tsallis(1.5).is_sparse
    assert Separable.quadratic().is_sparse
    assert [OTHERS[name]().is_sparse for name in OTHERS] == [False, True, False]
    assert Separable.shannon().separation_margin() == math.inf
    assert Entmax(0.7).separation_margin() == Entmax(1).separation_margin() == math.inf
    assert Entmax(math.inf).separation_margin() == 0
    assert hyperbolic().separation_margin() == pytest.approx(math.sinh(1), rel=SAME)


def test_threshold_separates():
    z = np.random.default_rng(9).normal(size=(30, 40))
    for attention in (Entmax(1.5), Entmax(2), Entmax(4), Entmax(math.inf), Entmax(1), hyperbolic(), fermi()):
        support = z > attention.threshold(z)[:, None]
        np.testing.assert_array_equal(support, attention.support(z))


def test_types_and_shapes():
    z = np.random.default_rng(2).normal(size=(2, 3, 4)).astype(np.float32)
    for attention in (Entmax(1.5), Entmax(math.inf), hyperbolic(), Separable.tsallis(3)):
        for value, shape in (
            (attention.weights(z), z.shape),
            (attention.jacobian_action(z, z), z.shape),
            (attention.threshold(z), (2, 3)),
            (attention.conjugate(z), (2, 3)),
            (attention.regularizer(attention.weights(z)), (2, 3)),
        ):
            assert value.shape == shape
            assert value.dtype == np.float32
        assert attention.weights([0, 1]).dtype == np.float64
        assert attention.weights(np.empty((0, 3))).shape == (0, 3)


GOOD = {
    "g": lambda t: t * t / 2,
    "slope": lambda t: t,
    "inverse_slope": lambda u: u,
    "curvature": lambda t: t * 0 + 1,
}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"slope": lambda t: -t}, "slope does not increase at t = 0: g must be strictly convex"),
        ({"slope": lambda t: t - 2 * t * t}, "slope does not increase at t = 0.24"),
        ({"slope": lambda t: np.maximum(t - 0.3, 0)}, "slope does not increase at t = 0.02"),
        ({"curvature": lambda t: t}, "curvature(t) is 1e-08 at t = 1e-08, but the derivative of slope is 1"),
        ({"inverse_slope": lambda u: u * u}, "inverse_slope(slope(t)) is 1e-16 at t = 1e-08, but t is 1e-08"),
        ({"g": lambda t: t * t}, "slope(t) is"),
        ({"g": lambda t: t * t / 2 + 1}, "g(0) = 1: subtract it"),
        ({"g": 3}, "g = 3 is not a function"),
        ({"slope": lambda t: t.sum()}, "slope gave shape () for shape"),
        ({"slope": lambda t: np.where(t > 0.5, np.nan, t)}, "slope is not finite at 0.52"),
    ],
)
def test_functions_that_are_refused(change, complaint):
    with pytest.raises(InputError, match=re.escape(complaint)):
        Separable(**(GOOD | change))


def test_slopes_may_miss_a_constant():
    shifted = Separable(**(GOOD | {"slope": lambda t: t - 5, "inverse_slope": lambda u: u + 5}))
    z = np.random.default_rng(4).normal(size=(10, 8))
    np.testing.assert_allclose(shifted.weights(z), Separable.quadratic().weights(z), atol=1e-14)
    np.testing.assert_allclose(shifted.threshold(z), Separable.quadratic().threshold(z), atol=1e-14)


@pytest.mark.parametrize("alpha", [0, -1, math.nan, "x", None])
def test_alpha_outside_its_domain(alpha):
    for make in (Entmax, Separable.tsallis):
        with pytest.raises(InputError, match=r"alpha = .* is outside its domain \(0, inf\]"):
            make(alpha)


def test_large_alpha_needs_entmax():
    for alpha in (101, math.inf):
        with pytest.raises(InputError, match=r"is above 100: t.alpha underflows"):
            Separable.tsallis(alpha)


@pytest.mark.parametrize(
    "attention", [Entmax(1.5), Entmax(math.inf), Separable.tsallis(1.5), Separable.tsallis(3)]
)
@pytest.mark.parametrize(
    ("scores", "complaint"),
    [
        ([0.0, math.nan], "a NaN"),
        ([0.0, math.inf], r"an entry \+inf"),
        ([[0.0, 1.0], [-math.inf, -math.inf]], "a row of nothing but -inf"),
        ([], "give M >= 1 patterns"),
        (np.array([1, 2j]), "has dtype complex128"),
    ],
)
def test_scores_that_are_refused(attention, scores, complaint):
    for method in (attention.weights, attention.threshold, attention.conjugate):
        with pytest.raises(InputError, match=complaint):
            method(scores)


def test_margin_of_no_scores():
    with pytest.raises(InputError, match="top = 0 is not a whole number >= 1"):
        Entmax(1.5).separation_margin(0)
