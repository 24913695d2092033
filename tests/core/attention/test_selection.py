"""Selected patterns: the exact optimum over supports, tie rules, mass, and what is refused."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import logsumexp

from hopfieldphase.core.attention import CappedEntmax, Entmax, Separable, SparsemaxK, TopK, TopP
from hopfieldphase.core.errors import InputError

# The optimum of a few patterns from closed forms, or from a bracketing solver with a tolerance of 1e-15.
EXACT = 1e-12

INDICES = [0.5, 1.0, 1.5, 2.0, 3.0, math.inf]


def rows(most):
    entry = st.floats(-1, 1) | st.integers(-2, 2).map(float)
    scale = st.sampled_from([1e-3, 0.1, 1.0, 10.0, 1e3])
    return st.tuples(st.lists(entry, min_size=1, max_size=most), scale).map(lambda t: np.array(t[0]) * t[1])


def entropy(p, alpha):
    """H_α in the field's convention, from its definition."""
    p = p[p > 0]
    if math.isinf(alpha):
        return 0.0
    if alpha == 1:
        return -float(np.sum(p * np.log(p)))
    return float(np.sum(p - p**alpha)) / (alpha * (alpha - 1))


def best_on(z, alpha):
    """Largest z·p + H_α(p) over weights on all of these patterns, by a method of its own for each α."""
    if math.isinf(alpha):
        return z.max()
    if alpha == 1:
        return float(logsumexp(z))
    a, y = alpha - 1, z - z.max()
    if alpha < 1:
        # p = (1 − a' (y − τ))^{1/a}-like weights: with L = ((1−α)(τ − y))^{1/(α−1)}, τ above all scores.
        low, high = 1 / -a, len(z) ** -a / -a
        tau = (
            low
            if low == high
            else brentq(lambda t: np.sum((-a * (t - y)) ** (1 / a)) - 1, low, high, xtol=1e-15)
        )
        p = (-a * (tau - y)) ** (1 / a)
    else:
        excess = lambda t: np.sum(np.clip(a * (y - t), 0, None) ** (1 / a)) - 1  # noqa: E731
        low, high = -1 / a, -(len(z) ** -a) / a
        tau = low if len(z) == 1 or excess(low) <= 0 else brentq(excess, low, high + 1e-12, xtol=1e-16)
        p = np.clip(a * (y - tau), 0, None) ** (1 / a)
    return float(z @ (p / p.sum())) + entropy(p / p.sum(), alpha)


@pytest.mark.parametrize("alpha", INDICES)
@given(z=rows(6), data=st.data())
def test_no_support_of_k_patterns_is_better(alpha, z, data):
    k = data.draw(st.integers(1, len(z)))
    attention = CappedEntmax(k, alpha)
    p = attention.weights(z)
    assert np.count_nonzero(p) <= k
    best = max(
        best_on(z[list(subset)], alpha)
        for size in range(1, k + 1)
        for subset in itertools.combinations(range(len(z)), size)
    )
    allowed = EXACT * (1 + abs(z).max() + abs(best)) + (1e-9 if alpha == 3 else 0)  # brentq above α = 2
    assert z @ p + entropy(p, alpha) == pytest.approx(best, abs=allowed)
    assert attention.conjugate(z) == pytest.approx(best, abs=allowed)


@given(z=rows(6), data=st.data())
def test_nearest_point_with_k_non_zeros(z, data):
    """Every support in turn: the projection onto its face, where it is inside, has a closed form."""
    k = data.draw(st.integers(1, len(z)))
    p = SparsemaxK(k).weights(z)
    distances = []
    for size in range(1, k + 1):
        for subset in itertools.combinations(range(len(z)), size):
            q = np.zeros(len(z))
            q[list(subset)] = z[list(subset)] - (z[list(subset)].sum() - 1) / size
            if np.all(q >= 0):
                distances.append(float(np.sum((q - z) ** 2)))
    assert np.sum((p - z) ** 2) == pytest.approx(min(distances), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(p, CappedEntmax(k, 2.0).weights(z), rtol=0, atol=0)
    np.testing.assert_allclose(p, TopK(k, Separable.quadratic()).weights(z), rtol=0, atol=EXACT)


@given(z=rows(60), data=st.data())
def test_top_k(z, data):
    k = data.draw(st.integers(1, len(z)))
    p = TopK(k).weights(z)
    # The definition: sort, with the first of equal scores first, and soften what is left.
    chosen = sorted(range(len(z)), key=lambda i: (-z[i], i))[:k]
    expected = np.zeros(len(z))
    expected[chosen] = np.exp(z[chosen] - z.max()) / np.sum(np.exp(z[chosen] - z.max()))
    np.testing.assert_allclose(p, expected, rtol=1e-12, atol=1e-300)
    np.testing.assert_array_equal(np.flatnonzero(TopK(k).selected(z)), sorted(chosen))
    order = np.random.default_rng(0).permutation(len(z))
    np.testing.assert_allclose(np.sort(TopK(k).weights(z[order])), np.sort(p), rtol=1e-12)


@given(z=rows(60), alpha=st.sampled_from([1.3, 1.5, 2.0, 3.0]), data=st.data())
def test_idle_cap(z, alpha, data):
    free = Entmax(alpha).weights(z)
    k = data.draw(st.integers(np.count_nonzero(free), len(z)))
    np.testing.assert_allclose(CappedEntmax(k, alpha).weights(z), free, rtol=0, atol=1e-15)


@given(z=rows(60), p=st.floats(0.01, 1, exclude_min=True) | st.sampled_from([0.1, 0.25, 0.3, 0.5, 0.75, 0.9]))
def test_top_p(z, p):
    soft = np.exp(z - z.max()) / np.sum(np.exp(z - z.max()))
    attention = TopP(p)
    chosen = attention.selected(z)
    kept = sorted(range(len(z)), key=lambda i: (-z[i], i))[: np.count_nonzero(chosen)]
    assert sorted(kept) == list(np.flatnonzero(chosen))
    if p < 1:
        assert math.fsum(soft[kept]) >= p - 2e-12
        assert math.fsum(soft[kept[:-1]]) < p
    np.testing.assert_allclose(
        attention.weights(z), np.where(chosen, soft, 0) / soft[chosen].sum(), atol=1e-14
    )


def test_mass_reached_but_for_rounding():
    for n, p, wanted in [
        (10, 0.8, 8),
        (10, 0.3, 3),
        (7, 3 / 7, 3),
        (1000, 0.123, 123),
        (4, 0.5, 2),
        (4, 0.51, 3),
    ]:
        np.testing.assert_array_equal(TopP(p).weights(np.zeros(n)) > 0, np.arange(n) < wanted)
    np.testing.assert_array_equal(TopP(1).weights(np.array([0.0, -30.0, -60.0])) > 0, True)
    np.testing.assert_array_equal(TopP(1e-300).weights(np.array([0.0, 1.0, 1.0])), [0, 1, 0])


def test_first_of_equal_scores():
    z = np.array([1.0, 2.0, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(np.flatnonzero(TopK(3).weights(z)), [0, 1, 3])
    np.testing.assert_array_equal(np.flatnonzero(TopK(1).weights(z)), [1])
    np.testing.assert_array_equal(CappedEntmax(1, math.inf).weights(z), [0, 1, 0, 0, 0])
    np.testing.assert_array_equal(CappedEntmax(4, math.inf).weights(z), [0, 0.5, 0, 0.5, 0])
    np.testing.assert_allclose(SparsemaxK(4).weights(z * 0), [0.25, 0.25, 0.25, 0.25, 0])


def test_absent_patterns():
    z = np.array([-math.inf, 0.0, -math.inf, 1.0])
    for attention in (TopK(3), SparsemaxK(3), CappedEntmax(3, 1.2), TopP(0.9), TopP(1)):
        p = attention.weights(z)
        np.testing.assert_array_equal(p[[0, 2]], 0)
        assert p.sum() == pytest.approx(1, abs=1e-15)
    assert np.all(TopK(3).weights(z)[[1, 3]] > 0)
    assert TopK(3).conjugate(z) == pytest.approx(math.log(1 + math.e), abs=1e-14)


MAPS = [
    TopK(3),
    TopK(3, Entmax(1.5)),
    TopK(3, Separable.tsallis(3)),
    SparsemaxK(3),
    CappedEntmax(3, 1.2),
    TopP(0.8),
]


@pytest.mark.parametrize("attention", MAPS)
def test_jacobian_where_the_selection_stays(attention):
    rng, h = np.random.default_rng(8), 1e-6
    compared = 0
    for _ in range(20):
        z, v = rng.normal(size=(2, 7))
        sides = [attention.weights(z + s * h * v) for s in (1, -1)]
        if (
            len({tuple(p > 0) for p in (*sides, attention.weights(z))}) > 1
            or min(p[p > 0].min() for p in sides) < 0.02
        ):
            continue
        compared += 1
        value = attention.jacobian_action(z, v)
        np.testing.assert_allclose(value, (sides[0] - sides[1]) / (2 * h), atol=1e-7)
        np.testing.assert_array_equal(value[attention.weights(z) == 0], 0)
        assert abs(value.sum()) < 1e-14
    assert compared >= 10


@pytest.mark.parametrize("attention", MAPS[:-1])
def test_weights_are_the_gradient_of_a_convex_function(attention):
    rng, h = np.random.default_rng(1), 1e-6
    for _ in range(20):
        z, y = rng.normal(size=(2, 7))
        slopes = [
            (attention.conjugate(z + h * e) - attention.conjugate(z - h * e)) / (2 * h) for e in np.eye(7)
        ]
        np.testing.assert_allclose(slopes, attention.weights(z), atol=1e-6)
        # A tangent lies below: also across changes of the selection.
        assert attention.conjugate(y) >= attention.conjugate(z) + attention.weights(z) @ (y - z) - 1e-13
        for t in (0.2, 0.7):
            chord = t * attention.conjugate(z) + (1 - t) * attention.conjugate(y)
            assert attention.conjugate(t * z + (1 - t) * y) <= chord + 1e-13


def test_no_energy_where_the_mass_decides():
    z = np.array([0.0, 1.0])
    assert not TopP(0.5).has_conjugate
    with pytest.raises(InputError, match="top-p attention is not the gradient of a convex function"):
        TopP(0.5).conjugate(z)
    for attention in (TopK(1), TopP(0.5)):
        with pytest.raises(InputError, match=r"top-. attention has no threshold: ask for its support"):
            attention.threshold(z)


@pytest.mark.parametrize("alpha", [1.1, 1.5, 2.0])
def test_entmax_package(alpha):
    torch = pytest.importorskip("torch")
    package = pytest.importorskip("entmax")
    z = np.random.default_rng(3).normal(size=(30, 50))
    cut = np.sort(z, axis=-1)[:, -5:-4]
    masked = torch.from_numpy(np.where(z >= cut, z, -1e4))  # it does not take -inf
    theirs = package.entmax_bisect(masked, alpha=alpha, n_iter=100).numpy()
    np.testing.assert_allclose(CappedEntmax(5, alpha).weights(z), theirs, atol=1e-12)


def test_margins():
    for top in (1, 2, 3):
        assert TopK(4, Entmax(1.5)).separation_margin(top) == Entmax(1.5).separation_margin(top)
        assert SparsemaxK(4).separation_margin(top) == 1 / top
    assert TopK(4).separation_margin(4) == SparsemaxK(4).separation_margin(9) == 0
    assert TopK(4).separation_margin(3) == math.inf
    with pytest.raises(InputError, match="top-p attention has no separation margin in closed form"):
        TopP(0.5).separation_margin()


@pytest.mark.parametrize("k", [0, -1, 1.5, "two", True, None])
def test_k_that_is_refused(k):
    for make in (TopK, SparsemaxK, CappedEntmax):
        with pytest.raises(InputError, match=r"k = .* is not a whole number >= 1"):
            make(k)


def test_more_than_there_are():
    for attention in (TopK(4), SparsemaxK(4), CappedEntmax(4, 1.5)):
        for method in (attention.weights, attention.selected, attention.conjugate):
            with pytest.raises(InputError, match="k = 4 is above the number of scores, 3: give 1 <= k <= 3"):
                method(np.zeros(3))


@pytest.mark.parametrize("p", [0, -0.1, 1.0001, math.nan, "half", None])
def test_mass_that_is_refused(p):
    with pytest.raises(InputError, match=r"p = .* is outside its domain \(0, 1\]"):
        TopP(p)


def test_inner_that_is_refused():
    with pytest.raises(InputError, match=r"inner = TopP\(p=0.5\) is no regularized map: give Entmax"):
        TopK(2, TopP(0.5))
    with pytest.raises(InputError, match=r"alpha = 0 is outside its domain"):
        CappedEntmax(2, 0)


@pytest.mark.parametrize("attention", MAPS)
def test_scores_that_are_refused(attention):
    for scores, complaint in [
        ([math.nan, 0, 1], "a NaN"),
        ([math.inf, 0, 1], r"an entry \+inf"),
        ([-math.inf] * 3, "a row of nothing but -inf"),
        ([], "give M >= 1 patterns"),
    ]:
        with pytest.raises(InputError, match=complaint):
            attention.weights(scores)


@pytest.mark.parametrize("attention", MAPS)
def test_types_and_shapes(attention):
    z = np.random.default_rng(2).normal(size=(2, 3, 5)).astype(np.float32)
    for value in (attention.weights(z), attention.jacobian_action(z, z)):
        assert value.shape == z.shape
        assert value.dtype == np.float32
    np.testing.assert_array_equal(attention.support(z), attention.weights(z) > 0)
    assert attention.weights(np.empty((0, 3))).shape == (0, 3)
