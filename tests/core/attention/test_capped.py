"""Maps under caps: optimality conditions, second opinions, limits, derivatives, bad input."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.attention.capped import (
    CappedSimplex,
    ConstrainedSoftmax,
    ConstrainedSparsemax,
    GreedyFilling,
    WaterFilling,
)
from hopfieldphase.core.entmax import entmax
from hopfieldphase.core.errors import InputError

# Optimality conditions: a few roundings of sums of at most 60 terms, relative to the budget or the scores.
KKT = 1e-12
# SLSQP stops at about the root of the rounding of the objective.
SLSQP = 1e-6
# Central differences with a step of 1e-6 of smooth pieces of order one.
DIFFERENCE = 1e-8

QUARTERS = [0.0, 0.25, 0.5, 1.0, math.inf]


@st.composite
def problems(draw, spread=1.0):
    """Scores (some absent, some tied), caps (some zero, some infinite) and a budget they hold."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, 60))
    # Multiples of 1/4 are often tied, and tied with a score less its cap.
    z = (
        rng.integers(-20, 21, n) / 4
        if draw(st.booleans())
        else rng.normal(size=n) * draw(st.floats(0.01, 1e3))
    )
    z = z * spread
    caps = np.where(rng.random(n) < draw(st.floats(0, 1)), rng.choice(QUARTERS, n), rng.uniform(0, 3, n))
    absent = rng.random(n) < draw(st.sampled_from([0.0, 0.3]))
    if np.all(absent | (caps == 0)):
        absent[0], caps[0] = False, 0.75
    z[absent] = -math.inf
    budget = draw(st.floats(1e-3, 1.0)) * min(float(np.sum(caps[~absent])), 20.0)
    return z, caps, budget


scores = st.lists(st.integers(-20, 20).map(lambda k: k / 4) | st.floats(-1e3, 1e3), min_size=1, max_size=20)


def check_feasible(p, z, caps, budget):
    assert np.all((p >= 0) & (p <= caps))
    assert np.all(p[np.isneginf(z)] == 0)
    assert abs(np.sum(p) - budget) <= KKT * budget


def check_order(marginal, p, caps, scale):
    """No pattern that could take more has a larger marginal gain than one that could give some."""
    can_take, can_give = p < caps, p > 0
    if np.any(can_take) and np.any(can_give):
        assert np.max(marginal[can_take]) <= np.min(marginal[can_give]) + KKT * scale


def differences(function, z, v, step=1e-6):
    return (function(z + step * v) - function(z - step * v)) / (2 * step)


class TestWaterFilling:
    @settings(max_examples=200)
    @given(problems())
    def test_optimality(self, problem):
        z, caps, budget = problem
        p = WaterFilling(budget, caps).weights(z)
        check_feasible(p, z, caps, budget)
        check_order(z - p, p, caps, max(1.0, budget, np.max(np.abs(z[np.isfinite(z)]))))

    @settings(max_examples=60)
    @given(problems(spread=1e8))
    def test_optimality_of_scores_far_apart(self, problem):
        """Conditions among the patterns near the threshold hold in absolute terms, whatever the spread."""
        z, caps, budget = problem
        p = WaterFilling(budget, caps).weights(z)
        check_feasible(p, z, caps, budget)
        free = (p > 0) & (p < caps)
        if np.any(free):
            reference = z[free][0]  # differences of close scores are exact
            excess = (z[free] - reference) - (p[free] - p[free][0])
            assert np.max(np.abs(excess)) <= KKT * max(1.0, budget)

    @settings(max_examples=100)
    @given(problems())
    def test_threshold_bounds_the_support(self, problem):
        z, caps, budget = problem
        attention = WaterFilling(budget, caps)
        p, tau = attention.weights(z), attention.threshold(z)
        rounding = KKT * max(1.0, budget, abs(tau))
        assert np.all(p[z > tau + rounding] > np.where(caps[z > tau + rounding] > 0, 0, -1))
        assert np.all(p[z < tau - rounding] == 0)
        np.testing.assert_allclose(p, np.clip(z - tau, 0, caps), rtol=0, atol=rounding)

    @pytest.mark.parametrize("seed", range(6))
    def test_agrees_with_a_quadratic_program(self, seed):
        rng = np.random.default_rng(seed)
        z, caps = rng.normal(size=6), rng.uniform(0.1, 0.8, 6)
        budget = rng.uniform(0.2, 0.9) * caps.sum()
        solution = scipy.optimize.minimize(
            lambda p: np.sum((p - z) ** 2) / 2, caps * budget / caps.sum(), jac=lambda p: p - z,
            bounds=[(0, cap) for cap in caps], method="SLSQP", options={"ftol": 1e-15, "maxiter": 500},
            constraints={"type": "eq", "fun": lambda p: np.sum(p) - budget, "jac": lambda p: np.ones(6)},
        )  # fmt: skip
        np.testing.assert_allclose(WaterFilling(budget, caps).weights(z), solution.x, rtol=0, atol=SLSQP)

    @pytest.mark.parametrize("k", [1, 2, 7, 19])
    def test_agrees_with_the_bisection_of_entmax(self, k):
        torch = pytest.importorskip("torch")
        budget_bisect = pytest.importorskip("entmax").budget_bisect
        z = np.random.default_rng(k).normal(size=(4, 20))
        expected = budget_bisect(torch.from_numpy(z), budget=k, n_iter=60).numpy()
        # Sixty halvings of a bracket of a few, and their rescaling.
        np.testing.assert_allclose(CappedSimplex(k).weights(z), expected, rtol=0, atol=1e-12)

    @given(scores)
    @settings(max_examples=60)
    def test_caps_of_one_do_not_bind_a_budget_of_one(self, z):
        z = np.array(z)
        expected = entmax(z, 2)
        for attention in (CappedSimplex(1), ConstrainedSparsemax(1.0), ConstrainedSparsemax(math.inf)):
            np.testing.assert_allclose(attention.weights(z), expected, rtol=0, atol=KKT)

    def test_flat_total_takes_the_largest_threshold(self):
        z = np.array([3.0, 2.5, -1.0])
        attention = CappedSimplex(2)
        np.testing.assert_array_equal(attention.weights(z), [1, 1, 0])
        assert attention.threshold(z) == 1.5
        np.testing.assert_array_equal(attention.jacobian_action(z, np.array([1.0, 2.0, 3.0])), 0)

    def test_caps_that_just_hold_the_budget(self):
        """Ten caps of 0.1 sum to less than one by rounding."""
        z = np.arange(10.0)
        np.testing.assert_array_equal(ConstrainedSparsemax(np.full(10, 0.1)).weights(z), 0.1)

    def test_caps_per_row(self):
        z = np.random.default_rng(0).normal(size=(3, 5))
        caps = np.random.default_rng(1).uniform(0.3, 0.5, size=(3, 5))
        together = ConstrainedSparsemax(caps).weights(z)
        for row, cap, p in zip(z, caps, together, strict=True):
            np.testing.assert_array_equal(ConstrainedSparsemax(cap).weights(row), p)

    def test_scores_at_the_end_of_the_floats(self):
        z = np.array([1e17, 1e17, -1e300])
        np.testing.assert_allclose(WaterFilling(0.8, [0.3, 0.7, 1]).weights(z), [0.3, 0.5, 0], rtol=1e-15)

    def test_small_scores_under_a_large_one_keep_their_digits(self):
        """The sum of the weights may be right by chance although 1e12 has eaten the differences."""
        small = np.array([0.5, 0.25, 0.0625, 0.0]) * 1e-5
        p = WaterFilling(10.0, 9.0).weights(np.concatenate([[1e12], small]))
        np.testing.assert_allclose(p[1:], 0.25 + small - small.mean(), rtol=0, atol=1e-15)

    def test_single_precision_is_kept(self):
        z = np.random.default_rng(0).normal(size=8).astype(np.float32)
        p = CappedSimplex(2).weights(z)
        assert p.dtype == np.float32
        expected = CappedSimplex(2).weights(z.astype(float))
        np.testing.assert_array_equal(p, expected.astype(np.float32))


class TestConstrainedSoftmax:
    @settings(max_examples=200)
    @given(problems())
    def test_optimality(self, problem):
        z, caps, budget = problem
        caps = caps / budget  # the budget is one
        p = ConstrainedSoftmax(caps).weights(z)
        check_feasible(p, z, caps, 1.0)
        # The marginal gain is z − ln p − 1, in logarithms of weights that underflow far below the others.
        counts = p > 1e-290
        z, p, caps = z[counts], p[counts], caps[counts]
        check_order(z - np.log(p), p, caps, max(1.0, np.max(np.abs(z))))

    @given(scores)
    @settings(max_examples=60)
    def test_loose_caps_give_softmax(self, z):
        z = np.array(z)
        for caps in (1.0, 5.0, math.inf):
            np.testing.assert_allclose(
                ConstrainedSoftmax(caps).weights(z), scipy.special.softmax(z), rtol=1e-13, atol=1e-300
            )

    @pytest.mark.parametrize("seed", range(4))
    def test_agrees_with_a_convex_program(self, seed):
        rng = np.random.default_rng(seed)
        z, caps = 2 * rng.normal(size=6), rng.uniform(0.15, 0.4, 6)
        caps *= max(1.0, 1.1 / caps.sum())
        solution = scipy.optimize.minimize(
            lambda p: np.sum(p * np.log(p)) - z @ p, caps / caps.sum(), jac=lambda p: np.log(p) + 1 - z,
            bounds=[(1e-12, cap) for cap in caps], method="SLSQP", options={"ftol": 1e-15, "maxiter": 500},
            constraints={"type": "eq", "fun": lambda p: np.sum(p) - 1, "jac": lambda p: np.ones(6)},
        )  # fmt: skip
        np.testing.assert_allclose(ConstrainedSoftmax(caps).weights(z), solution.x, rtol=0, atol=SLSQP)

    def test_weights_below_a_dominant_score_keep_their_digits(self):
        p = ConstrainedSoftmax([0.5, 1.0, 1.0]).weights(np.array([1e3, 0.0, math.log(3)]))
        np.testing.assert_allclose(p, [0.5, 0.125, 0.375], rtol=1e-15)


class TestGreedyFilling:
    @settings(max_examples=100)
    @given(problems())
    def test_optimality(self, problem):
        z, caps, budget = problem
        p = GreedyFilling(budget, caps).weights(z)
        check_feasible(p, z, caps, budget)
        check_order(z, p, caps, 0.0)

    @settings(max_examples=30)
    @given(problems())
    def test_value_of_the_linear_program(self, problem):
        z, caps, budget = problem
        here = np.isfinite(z)
        solution = scipy.optimize.linprog(
            -z[here], A_eq=np.ones((1, here.sum())), b_eq=[budget],
            bounds=[(0, min(cap, budget)) for cap in caps[here]],
        )  # fmt: skip
        # Feasibility tolerance of HiGHS, times the scores.
        tolerance = 1e-6 * max(1.0, np.max(np.abs(z[here])))
        assert abs(GreedyFilling(budget, caps).conjugate(z) + solution.fun) <= tolerance

    def test_cold_limit_of_water_filling(self):
        rng = np.random.default_rng(0)
        z = rng.integers(-3, 4, size=(20, 12)).astype(float)
        caps = rng.uniform(0.2, 1, size=12)
        cold = WaterFilling(2.5, caps).weights(z / 1e-6)
        np.testing.assert_allclose(GreedyFilling(2.5, caps).weights(z), cold, rtol=0, atol=KKT)

    def test_threshold_is_the_best_score_left_out(self):
        attention = GreedyFilling(2.0, 1.0)
        z = np.array([3.0, 1.0, 1.0, -1.0])
        assert attention.threshold(z) == -1
        np.testing.assert_array_equal(attention.support(z), z > -1)
        assert attention.threshold(np.array([1.0, 0.5])) == -math.inf

    def test_membership_has_no_derivative(self):
        z, v = np.random.default_rng(0).normal(size=(2, 9))
        np.testing.assert_array_equal(GreedyFilling(3.0, 1.0).jacobian_action(z, v), 0)


CAPS = np.array([0.3, 0.6, 0.25, math.inf, 0.4, 0.2])
MAPS = [
    WaterFilling(1.3, CAPS), CappedSimplex(2.5), ConstrainedSparsemax(CAPS), ConstrainedSoftmax(CAPS),
]  # fmt: skip


@pytest.mark.parametrize("attention", MAPS, ids=lambda attention: attention.name)
@pytest.mark.parametrize("seed", range(4))
class TestDerivatives:
    def data(self, seed):
        return np.random.default_rng(seed).normal(size=(2, 6))

    def test_jacobian_action(self, attention, seed):
        z, v = self.data(seed)
        action = attention.jacobian_action(z, v)
        np.testing.assert_allclose(action, differences(attention.weights, z, v), rtol=0, atol=DIFFERENCE)
        assert abs(np.sum(action)) < KKT

    def test_jacobian_is_symmetric_and_nonnegative(self, attention, seed):
        z, _ = self.data(seed)
        jacobian = np.stack([attention.jacobian_action(z, v) for v in np.eye(6)])
        np.testing.assert_allclose(jacobian, jacobian.T, rtol=0, atol=KKT)
        assert np.min(np.linalg.eigvalsh(jacobian)) > -KKT

    def test_weights_are_the_gradient_of_the_conjugate(self, attention, seed):
        z, v = self.data(seed)
        slope = differences(attention.conjugate, z, v)
        np.testing.assert_allclose(slope, attention.weights(z) @ v, rtol=0, atol=DIFFERENCE)


@pytest.mark.parametrize("attention", [*MAPS, GreedyFilling(1.3, CAPS)], ids=lambda attention: attention.name)
def test_conjugate_and_regularizer_obey_fenchel_and_young(attention):
    """Ω*(z) + Ω(q) ≥ z·q, with equality at the weights; Ω is infinite above the caps."""
    z, y = np.random.default_rng(0).normal(size=(2, 50, 6))
    p, q = attention.weights(z), attention.weights(y)
    best = attention.conjugate(z) + attention.regularizer(p) - np.sum(p * z, axis=-1)
    np.testing.assert_allclose(best, 0, atol=KKT)
    assert np.all(attention.conjugate(z) + attention.regularizer(q) - np.sum(q * z, axis=-1) > -KKT)
    assert attention.regularizer(np.eye(6)[0] * 1.1) == math.inf


@pytest.mark.parametrize(
    ("attention", "top", "margin"),
    [
        (CappedSimplex(2), 3, 2 / 3), (CappedSimplex(2), 2, 1), (CappedSimplex(2), 1, math.inf),
        (WaterFilling(1.5, 0.8), 2, 0.75), (ConstrainedSparsemax(1.0), 1, 1),
    ],
)  # fmt: skip
def test_separation_margin(attention, top, margin):
    assert attention.separation_margin(top) == margin
    for gap in np.array([0.01, 0.5, 0.999, 1.001]) * (margin if margin < math.inf else 1e3):
        z = np.where(np.arange(6) < top, 0.0, -gap)
        assert (attention.weights(z)[-1] > 0) == (gap < margin)


def test_separation_margins_without_a_gap():
    assert GreedyFilling(2.0, 1.0).separation_margin(2) == 0
    assert GreedyFilling(2.0, 1.0).separation_margin(1) == math.inf
    assert ConstrainedSoftmax(0.5).separation_margin(3) == math.inf


def test_absent_patterns_cost_nothing():
    z = np.array([0.4, -math.inf, 0.1, -0.3])
    here = np.isfinite(z)
    for maps in (CappedSimplex(1.5), ConstrainedSoftmax(0.5), GreedyFilling(1.5, 1.0)):
        p = maps.weights(z)
        assert p[1] == 0
        np.testing.assert_array_equal(p[here], maps.weights(z[here]))
        assert maps.conjugate(z) == maps.conjugate(z[here])


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: CappedSimplex(0), "budget = 0"),
        (lambda: CappedSimplex(-1), "budget = -1"),
        (lambda: WaterFilling(math.nan, 1.0), "budget = nan"),
        (lambda: WaterFilling(math.inf, 1.0), "budget = inf"),
        (lambda: ConstrainedSoftmax(-0.1), "negative"),
        (lambda: ConstrainedSparsemax([0.5, math.nan]), "NaN"),
        (lambda: CappedSimplex(4).weights(np.zeros(3)), "cannot hold the budget 4"),
        (lambda: ConstrainedSoftmax(0.3).weights(np.zeros(3)), "sum to 0.9"),
        (lambda: ConstrainedSparsemax(0.5).weights([0.0, -math.inf]), "sum to 0.5"),
        (lambda: GreedyFilling(2.0, [1.0, 1.0]).weights(np.zeros(3)), "caps have shape"),
        (lambda: CappedSimplex(1).weights([math.nan, 1.0]), "NaN"),
        (lambda: CappedSimplex(1).weights([-math.inf]), "nothing but -inf"),
        (lambda: ConstrainedSparsemax([0.5, 0.7]).separation_margin(), "all caps are one number"),
        (lambda: CappedSimplex(2).separation_margin(0), "top = 0"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words) as error:
        make()
    assert "\n" not in str(error.value)
