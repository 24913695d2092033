"""The α-entmax family: 50-digit values, the cases that other tools get wrong, bad input, the Jacobian."""

import math

import mpmath as mp
import numpy as np
import pytest

from hopfieldphase.core import entmax
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.tsallis import tsallis_entropy

INF = math.inf
BELOW_TWO = [
    0.05, 0.3, 0.5, 0.9, 0.999, 1 - 1e-8, 1 - 1e-12,
    1 + 1e-12, 1 + 1e-8, 1.001, 1.1, 1.25, 1.5, 1.75, 1.9, 1.999, 2,
]  # fmt: skip
ABOVE_TWO = [2 + 1e-9, 2.001, 2.5, 3, 5, 10, 50]
INDICES = [*BELOW_TWO, 1, *ABOVE_TWO, INF]
ROUNDING = 1e-15  # absolute on weights, relative on Ω*: a few units in the last place
THETA = 2e-13  # relative: θ may be a small difference of the top score and α/((α−1)β)

_rng = np.random.default_rng(5)
PROBLEMS = {
    "moderate": (np.array([0.3, -0.2, 0.25, 0.1]), 1.0),
    "cold": (np.array([0.3, -0.2, 0.25, 0.1]), 12.0),
    "tied at the top": (np.array([1.0, 1.0, 0.5]), 3.0),
    "normal": (_rng.normal(size=6), 1.0),
    "large scores": (1e3 * _rng.normal(size=6), 1e-2),
    "hot": (_rng.normal(size=6), 1e-6),
    "far from zero": (1e6 + _rng.normal(size=5), 2.0),
    "absent pattern": (np.array([0.0, -INF, 0.1]), 1.0),
    "every scale of gap": (np.array([0.0, -1e-9, -1e-3, -0.5, -1.0]), 1.0),
    "one pattern": (np.array([0.0, -50.0, -60.0, -70.0]), 1.0),
    "extreme scores": (np.array([5e-324, 0.0, -1e300]), 1.0),
}


def bisect(rises, low, high, digits):
    for _ in range(int(3.4 * digits)):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) < 1 else (low, middle)
    return (low + high) / 2


def by_definition(z, alpha, beta):
    """Weights and θ by bisection on θ itself, with the digits that its root takes away."""
    # Digits: 30 of p are 30 (α−1) of θ, and α → 1 divides by α − 1.
    with mp.workdps(int(40 + 30 * max(alpha - 1, 0) - 2 * math.log10(abs(alpha - 1)))):
        digits = mp.mp.dps
        index, inverse = mp.mpf(alpha), mp.mpf(beta)
        a = index - 1
        present = [mp.mpf(x) for x in z if x > -INF]
        top, unit = max(present), index / (a * inverse)

        def p_at(log_peak):
            powers = [mp.exp(a * log_peak) - (top - x) / unit for x in present]
            return [x ** (1 / a) if x > 0 else mp.mpf(0) for x in powers]

        log_peak = bisect(lambda t: mp.fsum(p_at(t)), -mp.log(len(present)), mp.mpf(0), digits)
        p = iter(p_at(log_peak))
        return [next(p) if x > -INF else mp.mpf(0) for x in z], top - unit * mp.exp(a * log_peak)


def by_smallest_weight(z, alpha, beta):
    """Weights and θ for α > 2 by bisection on the smallest weight of the support."""
    with mp.workdps(60):
        a, rate = mp.mpf(alpha) - 1, (mp.mpf(alpha) - 1) / alpha * beta

        def p_at(q, edge):
            return [(q**a + rate * (mp.mpf(x) - edge)) ** (1 / a) if x >= edge else mp.mpf(0) for x in z]

        edge = min(mp.mpf(x) for x in z if x > -INF and mp.fsum(p_at(mp.mpf(0), mp.mpf(x))) < 1)
        q = bisect(lambda t: mp.fsum(p_at(t, edge)), mp.mpf(0), mp.mpf(1), 60)
        return p_at(q, edge), edge - q**a / rate


def check(z, alpha, beta, solution):
    p, theta = solution
    with mp.workdps(60):
        entropy = mp.fsum(x - x ** mp.mpf(alpha) for x in p if x > 0) / (mp.mpf(alpha) - 1)
        conjugate = (
            mp.fsum(mp.mpf(beta) * mp.mpf(y) * x for x, y in zip(p, z, strict=True) if x > 0) + entropy
        )
    np.testing.assert_allclose(
        entmax.weights(z, alpha, beta), np.array(p, dtype=float), rtol=0, atol=ROUNDING, strict=True
    )
    assert entmax.threshold(z, alpha, beta) == pytest.approx(float(theta), rel=THETA)
    assert entmax.conjugate(z, alpha, beta) == pytest.approx(float(conjugate), rel=ROUNDING)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("alpha", [*BELOW_TWO, 2.001, 2.5, 3])
def test_against_the_definition(alpha, problem):
    z, beta = PROBLEMS[problem]
    check(z, alpha, beta, by_definition(z, alpha, beta))


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("alpha", ABOVE_TWO)
def test_steep_edge_of_the_support(alpha, problem):
    z, beta = PROBLEMS[problem]
    check(z, alpha, beta, by_smallest_weight(z, alpha, beta))


def test_the_two_references_agree():
    z, beta = PROBLEMS["moderate"]
    direct, _ = by_definition(z, 5, beta)
    other, _ = by_smallest_weight(z, 5, beta)
    assert max(abs(x - y) for x, y in zip(direct, other, strict=True)) < 1e-25


@pytest.mark.parametrize("problem", PROBLEMS)
def test_softmax_and_hardmax(problem):
    z, beta = PROBLEMS[problem]
    with mp.workdps(50):
        powers = [mp.exp(beta * (mp.mpf(x) - mp.mpf(z.max()))) for x in z]
        expected = np.array([x / mp.fsum(powers) for x in powers], dtype=float)
        conjugate = beta * mp.mpf(z.max()) + mp.log(mp.fsum(powers))
    np.testing.assert_allclose(entmax.weights(z, 1, beta), expected, rtol=0, atol=ROUNDING)
    assert entmax.conjugate(z, 1, beta) == pytest.approx(float(conjugate), rel=ROUNDING)
    top = z == z.max()
    np.testing.assert_array_equal(entmax.weights(z, INF, beta), top / top.sum())
    assert entmax.conjugate(z, INF, beta) == beta * z.max()
    assert np.isnan(entmax.threshold(z, 1, beta))
    assert np.isnan(entmax.threshold(z, INF, beta))


@pytest.mark.parametrize("step", [-1e-12, 1e-12, 3e-16])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_continuous_through_softmax(problem, step):
    """To 1e-12 in the weights and Ω*: their derivatives with respect to α are below ten here."""
    z, beta = PROBLEMS[problem]
    p = entmax.weights(z, 1, beta)
    np.testing.assert_allclose(entmax.weights(z, 1 + step, beta), p, rtol=0, atol=1e-12)
    assert entmax.conjugate(z, 1 + step, beta) == pytest.approx(entmax.conjugate(z, 1, beta), rel=1e-12)
    np.testing.assert_allclose(
        entmax.jacobian(p, 1 + step), entmax.jacobian(p, 1), rtol=0, atol=1e-12, strict=True
    )


@pytest.mark.parametrize("alpha", [1.5, 2])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_exact_routines_continue_their_neighbours(alpha, problem):
    z, beta = PROBLEMS[problem]
    for step in (-1e-13, 1e-13):
        np.testing.assert_allclose(
            entmax.weights(z, alpha + step, beta), entmax.weights(z, alpha, beta), rtol=0, atol=2e-12
        )


# Inputs on which tools of the field have failed, in the standard convention.
STANDARD = [
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
    ([1, -INF], 2, [1, 0]),
    ([1, 3, 3, -2], INF, [0, 0.5, 0.5, 0]),
]
PRINTED = {0.9998888: 5e-8}  # absolute; the others are printed to ten digits


@pytest.mark.parametrize(("scores", "alpha", "expected"), STANDARD)
def test_known_values(scores, alpha, expected):
    p = entmax.entmax(np.array(scores, dtype=float), alpha)
    assert p.sum() == pytest.approx(1, abs=ROUNDING)
    for value, right in zip(p, expected, strict=True):
        if right is not None:
            assert value == pytest.approx(right, abs=PRINTED.get(right, 5.1e-11))


def test_gap_as_wide_as_the_margin():
    """[0, -1] at α = 2 in the standard convention: a tie at θ, exactly."""
    np.testing.assert_array_equal(entmax.entmax(np.array([0.0, -1.0]), 2), [1, 0])
    assert entmax.threshold(np.array([0.0, -1.0]), 2, 2) == -1


@pytest.mark.parametrize("alpha", INDICES)
def test_absent_pattern_changes_nothing(alpha):
    z = np.array([0.3, -0.2, 0.25, 0.1])
    wider = np.array([-INF, 0.3, -0.2, -INF, 0.25, 0.1])
    p = entmax.weights(wider, alpha, 3.0)
    np.testing.assert_array_equal(p[[0, 3]], 0)
    np.testing.assert_allclose(p[[1, 2, 4, 5]], entmax.weights(z, alpha, 3.0), rtol=0, atol=ROUNDING)
    assert entmax.conjugate(wider, alpha, 3.0) == pytest.approx(entmax.conjugate(z, alpha, 3.0), rel=1e-15)
    np.testing.assert_allclose(
        entmax.threshold(wider, alpha, 3.0), entmax.threshold(z, alpha, 3.0), rtol=1e-14, equal_nan=True
    )


@pytest.mark.parametrize("alpha", INDICES)
@pytest.mark.parametrize("score", [-3.0, 0.0, 1e300])
def test_one_pattern(alpha, score):
    z = np.array([score])
    np.testing.assert_array_equal(entmax.weights(z, alpha, 0.7), [1.0])
    assert entmax.conjugate(z, alpha, 0.7) == pytest.approx(0.7 * score)
    if alpha not in {1, INF}:
        expected = score - alpha / ((alpha - 1) * 0.7)
        assert entmax.threshold(z, alpha, 0.7) == pytest.approx(expected, rel=ROUNDING)
    np.testing.assert_array_equal(entmax.jacobian(np.array([1.0]), alpha), [[0.0]])


@pytest.mark.parametrize("alpha", [*INDICES, 1e-300, 1e-5, 1e3, 1e17, 1e300])
def test_scores_of_any_magnitude(alpha):
    for z, beta in (
        ([1e308, -1e308, 0.0, -INF], 1.0),
        ([1e200, 1e200, -1e200], 1.0),
        ([5e-324, 0.0, -5e-324], 1.0),
        ([1.0, 1.0, 0.5], 1e300),
        ([1.0, 1.0, 0.5], 1e-300),
        ([1.0, 1 - 1.2e-16, 1 - 1e-15, 0.0], 1e15),
    ):
        p = entmax.weights(np.array(z), alpha, beta)
        assert p.sum() == pytest.approx(1, abs=ROUNDING)
        assert np.all(p >= 0)
        assert np.all(np.diff(p[np.argsort(z)]) >= 0)
        assert math.isfinite(entmax.conjugate(np.array(z), alpha, beta))
    np.testing.assert_array_equal(entmax.weights(np.zeros(4), alpha, 1e-300), np.full(4, 0.25))


def test_support_of_uniform_weights_and_its_isolation_gap():
    """k equal top scores are isolated by the gap α k^{1−α}/(β(α−1))."""
    for alpha in (1.25, 1.5, 1.7, 2, 2.5, 4):
        for k in (1, 3, 4):
            gap = alpha * k ** (1 - alpha) / (2.5 * (alpha - 1))
            for factor, joins in ((1 + 1e-9, False), (1 - 1e-9, True)):
                z = np.zeros(k + 5)
                z[k:] = -gap * factor
                assert np.all((entmax.weights(z, alpha, 2.5)[k:] > 0) == joins)


@pytest.mark.parametrize("alpha", [0.5, 1 + 1e-8, 1.3, 1.5, 1.9, 2, 2.5])
def test_many_patterns(alpha):
    z = np.random.default_rng(0).normal(size=(3, 20_000))
    for scale in (0.01, 1.0, 100.0):
        p = entmax.entmax(scale * z, alpha)
        np.testing.assert_allclose(p.sum(axis=-1), 1, rtol=0, atol=1e-14)  # sums of 20,000 roundings
    # One top score and many equal ones in the support: each of their weights has its own rounding.
    p = entmax.weights(np.append(1.0, np.zeros(20_000)), alpha, 0.5)
    assert abs(math.fsum(p) - 1) < 20_000 * np.finfo(float).eps


def test_leading_axes_and_empty_batches():
    z = np.random.default_rng(1).normal(size=(2, 3, 4, 7))
    for alpha in (0.5, 1, 1.3, 1.5, 2, 3, INF):
        p = entmax.weights(z, alpha, 2.0)
        assert entmax.threshold(z, alpha).shape == entmax.conjugate(z, alpha).shape == (2, 3, 4)
        assert entmax.jacobian(p, alpha).shape == (2, 3, 4, 7, 7)
        np.testing.assert_allclose(p[1, 2, 3], entmax.weights(z[1, 2, 3], alpha, 2.0), rtol=0, atol=ROUNDING)
        assert entmax.weights(np.zeros((0, 5)), alpha).shape == (0, 5)
        assert entmax.conjugate(np.zeros((4, 0, 5)), alpha).shape == (4, 0)


@pytest.mark.parametrize("alpha", [0.5, 1, 1.3, 1.5, 2, 3, INF])
def test_dtype_is_kept(alpha):
    z = np.random.default_rng(2).normal(size=(4, 9)).astype(np.float32)
    p = entmax.weights(z, alpha, 2.0)
    for value in (p, entmax.threshold(z, alpha), entmax.conjugate(z, alpha), entmax.entmax(z, alpha)):
        assert value.dtype == np.float32
    assert entmax.jacobian(p, alpha).dtype == np.float32
    assert entmax.jacobian_action(p, z, alpha).dtype == np.float32
    assert entmax.jacobian_action(p, z.astype(float), alpha).dtype == np.float64
    np.testing.assert_array_equal(p, entmax.weights(z.astype(float), alpha, 2.0).astype(np.float32))
    assert entmax.weights([0, 0, 1], alpha).dtype == np.float64
    assert entmax.weights(np.array([0, 0, 1]), alpha).dtype == np.float64


def test_input_is_left_alone():
    z = np.array([0.3, -INF, 0.25])
    z.flags.writeable = False
    p = entmax.weights(z, 2.5)
    assert not np.shares_memory(p, z)


@pytest.mark.parametrize("function", [entmax.weights, entmax.threshold, entmax.conjugate])
class TestBadInput:
    @pytest.mark.parametrize("alpha", [0, -1.0, math.nan, -INF, "two", None])
    def test_index(self, function, alpha):
        for call in (lambda: function(np.zeros(3), alpha), lambda: entmax.entmax(np.zeros(3), alpha)):
            with pytest.raises(InputError, match=r"alpha = .* is outside its domain \(0, inf\]"):
                call()

    @pytest.mark.parametrize("beta", [0, -1.0, math.nan, INF])
    def test_inverse_temperature(self, function, beta):
        with pytest.raises(InputError, match=r"beta = .* is outside its domain \(0, inf\)"):
            function(np.zeros(3), 2, beta)

    @pytest.mark.parametrize("alpha", [0.5, 1, 2, 3, INF])
    @pytest.mark.parametrize(
        ("scores", "words"),
        [
            ([0.0, math.nan], "scores have a NaN"),
            ([-INF, math.nan], "scores have a NaN"),
            ([0.0, INF], r"scores have an entry \+inf"),
            ([[0.0, 1.0], [-INF, -INF]], "scores have a row of nothing but -inf"),
            ([[]], r"scores has shape \(1, 0\)"),
            (1.0, r"scores has shape \(\)"),
            ([1j, 0], "scores has dtype complex128"),
            (np.zeros(2, dtype=np.float16), "scores has dtype float16"),
        ],
    )
    def test_scores(self, function, alpha, scores, words):
        with pytest.raises(InputError, match=words):
            function(scores, alpha)


class TestJacobian:
    SPECIAL = (
        [0.3, 0.2, 0.5],
        [1 - 1e-12, 1e-12, 0.0],
        [0.5, 0.5 - 1e-15, 1e-15],
        [0.6, 0.4 - 1e-6, 1e-6],
        [1.0, 0.0, 0.0],
    )

    @pytest.mark.parametrize("alpha", [0.05, 0.5, 1, 1.3, 1.5, 2, 2.5, 5, 20])
    @pytest.mark.parametrize("p", SPECIAL)
    def test_every_entry_to_rounding(self, alpha, p):
        """Entry by entry, although w spans up to 300 decades and cancels."""
        with mp.workdps(900):
            index = mp.mpf(alpha)
            w = [mp.mpf(x) ** (2 - index) / index if x > 0 else mp.mpf(0) for x in p]
            total = mp.fsum(w)
            exact = [[(x if i == j else 0) - x * y / total for j, y in enumerate(w)] for i, x in enumerate(w)]
            v = [0.3, -1.0, 0.7]
            action = [mp.fsum(x * y for x, y in zip(row, v, strict=True)) for row in exact]
            expected, expected_action = np.array(exact, dtype=float), np.array(action, dtype=float)
        np.testing.assert_allclose(entmax.jacobian(np.array(p), alpha), expected, rtol=1e-13)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(
            entmax.jacobian_action(np.array(p), np.array(v), alpha),
            expected_action,
            rtol=0,
            atol=3e-15 * scale,
        )

    @pytest.mark.parametrize("alpha", INDICES)
    def test_one_pattern_with_all_weight(self, alpha):
        p = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
        np.testing.assert_array_equal(entmax.jacobian(p, alpha), np.zeros((2, 3, 3)))
        np.testing.assert_array_equal(
            entmax.jacobian_action(p, np.array([1.0, -2.0, 5.0]), alpha), np.zeros((2, 3))
        )

    def test_sparsemax(self):
        """α = 2: half the projector onto the support's zero-sum directions."""
        p = np.array([0.2, 0.0, 0.7, 0.1])
        inside = (p > 0).astype(float)
        np.testing.assert_allclose(
            entmax.jacobian(p, 2), (np.diag(inside) - np.outer(inside, inside) / 3) / 2, rtol=0, atol=1e-16
        )

    def test_softmax(self):
        p = np.array([0.2, 0.1, 0.7])
        np.testing.assert_allclose(entmax.jacobian(p, 1), np.diag(p) - np.outer(p, p), rtol=0, atol=1e-16)

    @pytest.mark.parametrize("alpha", INDICES)
    def test_infinite_index_and_broadcasting(self, alpha):
        p = entmax.weights(np.random.default_rng(3).normal(size=(5, 1, 6)), alpha)
        v = np.random.default_rng(4).normal(size=(2, 6))
        action = entmax.jacobian_action(p, v, alpha)
        assert action.shape == (5, 2, 6)
        J = entmax.jacobian(p, alpha)
        if alpha == INF:
            np.testing.assert_array_equal(J, np.zeros((5, 1, 6, 6)))
        scale = max(1.0, np.abs(J).max())
        np.testing.assert_allclose(action, np.einsum("...ij,...j->...i", J, v), rtol=0, atol=1e-14 * scale)

    def test_bad_input(self):
        with pytest.raises(InputError, match="alpha = 0"):
            entmax.jacobian(np.ones(1), 0)
        with pytest.raises(InputError, match="alpha = 0"):
            entmax.jacobian_action(np.ones(1), np.ones(1), 0)
        with pytest.raises(InputError, match="p has a negative"):
            entmax.jacobian(np.array([-0.1, 1.1]), 2)
        with pytest.raises(InputError, match="v has shape"):
            entmax.jacobian_action(np.ones(1), 1.0, 2)


class TestIndependentMethod:
    """The `entmax` package, whose convention is β = α and whose bisection knows nothing of ours."""

    BISECTION = 1e-12  # the last interval of 100 halvings, and float64 sums of 40 terms
    STEEP = 1e-7  # for α > 2 an error ε in θ is ε^{1/(α−1)} in the weights at the edge

    @pytest.fixture
    def scores(self):
        return 2 * np.random.default_rng(6).normal(size=(30, 40))

    def test_sorted_routines(self, scores):
        torch, peer = pytest.importorskip("torch"), pytest.importorskip("entmax")
        z = torch.from_numpy(scores)
        np.testing.assert_allclose(
            entmax.entmax(scores, 2), peer.sparsemax(z).numpy(), rtol=0, atol=self.BISECTION
        )
        np.testing.assert_allclose(
            entmax.entmax(scores, 1.5), peer.entmax15(z).numpy(), rtol=0, atol=self.BISECTION
        )

    @pytest.mark.parametrize("alpha", [1.1, 1.3, 1.5, 1.7, 2, 2.5, 3])
    def test_bisection(self, scores, alpha):
        torch, peer = pytest.importorskip("torch"), pytest.importorskip("entmax")
        expected = peer.entmax_bisect(torch.from_numpy(scores), alpha=alpha, n_iter=100).numpy()
        tolerance = self.STEEP if alpha > 2 else self.BISECTION
        np.testing.assert_allclose(entmax.entmax(scores, alpha), expected, rtol=0, atol=tolerance)


def test_conjugate_is_attained():
    z = np.random.default_rng(7).normal(size=(20, 12))
    for alpha in INDICES:
        p = entmax.weights(z, alpha, 3.0)
        value = 3.0 * np.sum(z * p, axis=-1) + tsallis_entropy(p, alpha)
        np.testing.assert_allclose(entmax.conjugate(z, alpha, 3.0), value, rtol=1e-14)
