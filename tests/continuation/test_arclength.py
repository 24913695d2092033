"""The continuation engine on normal forms whose curves and special points are known."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ellipe

from hopfieldphase.continuation.arclength import continue_curve, continue_curves, switch_curve
from hopfieldphase.continuation.curve import CurvePointKind as Kind
from hopfieldphase.continuation.equations import Problem
from hopfieldphase.continuation.stepping import Steps
from hopfieldphase.core.errors import InputError

ROUNDING = 1e-14
"""Points that Newton's method has converged to."""
FOLD = 1e-12
"""What is promised for folds."""
CROSSING = 1e-10
"""Branch points are read off an interpolant between corrected neighbours."""


def scalar(F, F_x, F_p):
    """A problem with one unknown from functions of floats."""
    return Problem(
        lambda x, p: np.array([F(x[0], p)]),
        lambda x, p: np.array([[F_x(x[0], p)]]),
        lambda x, p: np.array([F_p(x[0], p)]),
    )


PARABOLA = scalar(lambda x, p: x * x - p, lambda x, p: 2 * x, lambda x, p: -1.0)
PITCHFORK = scalar(lambda x, p: p * x + x**3, lambda x, p: p + 3 * x * x, lambda x, p: x)
REVERSED_PITCHFORK = scalar(lambda x, p: -(x**3) - p * x, lambda x, p: -3 * x * x - p, lambda x, p: -x)
TRANSCRITICAL = scalar(lambda x, p: p * x - x * x, lambda x, p: p - 2 * x, lambda x, p: x)
CIRCLE = scalar(lambda x, p: x * x + p * p - 1, lambda x, p: 2 * x, lambda x, p: 2 * p)


def s_curve(width):
    """x³ − w x = p: folds at x = ∓√(w/3)."""
    return scalar(lambda x, p: x**3 - width * x - p, lambda x, p: 3 * x * x - width, lambda x, p: -1.0)


def imperfect(gap):
    """The pitchfork x³ − p x broken by a constant."""
    return scalar(lambda x, p: x**3 - p * x - gap, lambda x, p: 3 * x * x - p, lambda x, p: -x)


def kinds(curve):
    return [point.kind for point in curve.special_points]


def inner(curve):
    return curve.special_points[1:-1]


def residual(problem, curve):
    return max(np.abs(problem.F(x, p)).max() for x, p in zip(curve.state, curve.parameter, strict=True))


def check_order(curve):
    """Arc length rising, the parameter monotone between special points, exact rows at these."""
    assert np.all(np.diff(curve.arclength) >= 0)  # values one rounding apart are no length apart
    rows = [point.row for point in curve.special_points]
    assert rows[0] == 0
    assert rows[-1] == len(curve.parameter) - 1
    for first, last in pairwise(rows):
        slopes = np.diff(curve.parameter[first : last + 1])
        assert np.all(slopes > 0) or np.all(slopes < 0)
    for point in curve.special_points:
        assert point.parameter == curve.parameter[point.row]
        assert np.array_equal(point.state, curve.state[point.row])
        assert point.bracket[0] <= point.parameter <= point.bracket[1]


def test_parabola_has_both_arms_and_a_fold_from_a_start_off_the_curve():
    curve = continue_curve(PARABOLA, -0.9, 1.0, p_min=-1.0, p_max=1.0)
    check_order(curve)
    assert kinds(curve) == [Kind.RANGE, Kind.FOLD, Kind.RANGE]
    fold = inner(curve)[0]
    assert abs(fold.parameter) <= FOLD
    assert abs(fold.state[0]) <= FOLD
    assert {fold.index_before, fold.index_after} == {0, 1}
    upper, lower = curve.state[: fold.row, 0], curve.state[fold.row + 1 :, 0]
    assert upper == pytest.approx(np.sqrt(curve.parameter[: fold.row]), abs=ROUNDING)
    assert lower == pytest.approx(-np.sqrt(curve.parameter[fold.row + 1 :]), abs=ROUNDING)
    assert np.all(curve.index[: fold.row] == 0)
    assert np.all(curve.index[fold.row + 1 :] == 1)


def test_fold_on_the_edge_of_the_range_is_passed():
    curve = continue_curve(PARABOLA, -1.0, 1.0, p_min=0.0, p_max=1.0)
    assert kinds(curve) == [Kind.RANGE, Kind.FOLD, Kind.RANGE]
    assert curve.at(0.25) == pytest.approx(np.array([[0.5], [-0.5]]), abs=ROUNDING)


def test_pitchfork_met_from_its_side_branch_is_an_event():
    curve = continue_curve(REVERSED_PITCHFORK, 1.0, -1.0, p_min=-1.0, p_max=1.0)
    check_order(curve)
    assert kinds(curve) == [Kind.RANGE, Kind.PITCHFORK, Kind.RANGE]
    event = inner(curve)[0]
    assert abs(event.parameter) <= CROSSING
    assert (event.index_before, event.index_after) == (1, 1)
    assert curve.state[-1, 0] == pytest.approx(-1.0, abs=ROUNDING)
    arms = switch_curve(curve, event, p_min=-1.0, p_max=1.0)
    assert sorted(arm.parameter[-1] for arm in arms) == [-1.0, 1.0]
    for arm in arms:
        assert np.abs(arm.state).max() <= CROSSING


def test_switching_at_a_pitchfork_follows_both_arms():
    curve = continue_curve(PITCHFORK, 0.0, 2.0, p_min=-2.0, p_max=2.0)
    assert np.array_equal(curve.state, np.zeros_like(curve.state))
    event = inner(curve)[0]
    assert event.kind is Kind.PITCHFORK
    assert abs(event.parameter) <= CROSSING
    assert (event.index_before, event.index_after) == (1, 0)
    arms = switch_curve(curve, event, p_min=-2.0, p_max=2.0, requested=[-1.0])
    assert len(arms) == 2
    assert sorted(float(arm.at(-1.0)[0, 0]) for arm in arms) == pytest.approx([-1.0, 1.0], abs=ROUNDING)
    for arm in arms:
        assert kinds(arm) == [Kind.PITCHFORK, Kind.RANGE]
        assert arm.state[:, 0] ** 2 == pytest.approx(-arm.parameter, abs=CROSSING)
        assert np.all(arm.index[1:] == 0)


def test_requested_values_next_to_a_branch_point_are_hit_on_its_arms():
    curve = continue_curve(PITCHFORK, 0.0, 2.0, p_min=-2.0, p_max=2.0)
    for arm in switch_curve(curve, inner(curve)[0], p_min=-2.0, p_max=2.0, requested=[-1e-7, -1e-9]):
        rows = [int(np.flatnonzero(arm.parameter == value)[0]) for value in (-1e-9, -1e-7)]
        assert np.abs(arm.state[rows, 0]) == pytest.approx(np.sqrt([1e-9, 1e-7]), rel=1e-6)


def test_transcritical_crossing_is_told_from_a_pitchfork():
    curve = continue_curve(TRANSCRITICAL, 0.0, -1.0, p_min=-1.0, p_max=1.0)
    event = inner(curve)[0]
    assert event.kind is Kind.TRANSCRITICAL
    assert abs(event.parameter) <= CROSSING
    arms = switch_curve(curve, event, p_min=-1.0, p_max=1.0)
    assert sorted(float(arm.state[-1, 0]) for arm in arms) == pytest.approx([-1.0, 1.0], abs=ROUNDING)


def test_no_curve_is_switched_to_at_a_fold():
    curve = continue_curve(PARABOLA, 1.0, 1.0, p_min=-1.0, p_max=1.0)
    with pytest.raises(InputError, match="no curves cross at a special point of kind fold"):
        switch_curve(curve, inner(curve)[0], p_min=-1.0, p_max=1.0)


def test_range_that_cuts_an_s_curve_needs_one_start_on_each_arm():
    problem = s_curve(1.0)
    whole = continue_curve(problem, -2.0, -1.0, p_min=-1.0, p_max=1.0)
    assert kinds(whole) == [Kind.RANGE, Kind.FOLD, Kind.FOLD, Kind.RANGE]
    assert whole.at(0.1).shape == (3, 1)
    starts = [-1.0, 0.0, 1.0, -1.01, 0.02]
    cut = continue_curves(problem, starts, 0.0, p_min=-0.2, p_max=0.2)
    assert [round(float(curve.at(0.0)[0, 0])) for curve in cut] == [-1, 0, 1]
    for curve in cut:
        assert kinds(curve) == [Kind.RANGE, Kind.RANGE]
        assert [curve.parameter[0], curve.parameter[-1]] == [-0.2, 0.2]
        assert (
            curve.at(0.1)[0] in whole.at(0.1).round(13)
            or np.isclose(whole.at(0.1), curve.at(0.1)[0], rtol=0, atol=ROUNDING).any()
        )


@pytest.mark.parametrize("p0", [-1.0, 1.0])
def test_start_at_an_end_of_the_range_gives_the_full_curve(p0):
    curve = continue_curve(s_curve(1.0), 1.3 * np.sign(p0), p0, p_min=-1.0, p_max=1.0)
    assert [point.kind for point in inner(curve)] == [Kind.FOLD, Kind.FOLD]
    assert sorted([curve.parameter[0], curve.parameter[-1]]) == [-1.0, 1.0]


def test_requested_values_are_hit_exactly_on_every_arm():
    wanted = [0.1, 0.2, 0.3, 0.7, 0.1 + 0.2]
    curve = continue_curve(PARABOLA, -1.0, 1.0, p_min=-1.0, p_max=1.0, requested=wanted)
    check_order(curve)
    for value in set(wanted):
        rows = np.flatnonzero(curve.parameter == value)
        assert len(rows) == 2
        assert np.abs(curve.state[rows, 0]) == pytest.approx(np.sqrt(value), abs=ROUNDING)


def test_requested_value_at_a_branch_point_and_at_an_end():
    curve = continue_curve(PITCHFORK, 0.0, 2.0, p_min=-2.0, p_max=2.0, requested=[-2.0, 0.0, 2.0])
    assert inner(curve)[0].parameter == 0.0
    assert np.sum(curve.parameter == 0.0) == 1
    assert set(curve.parameter) >= {-2.0, 0.0, 2.0}


def test_requested_value_close_to_a_fold():
    curve = continue_curve(PARABOLA, 1.0, 1.0, p_min=-1.0, p_max=1.0, requested=[1e-10])
    rows = np.flatnonzero(curve.parameter == 1e-10)
    assert sorted(curve.state[rows, 0]) == pytest.approx([-1e-5, 1e-5], rel=1e-9)


@pytest.mark.parametrize("direction", [1, -1])
def test_one_direction_only_starts_at_the_start(direction):
    curve = continue_curve(s_curve(1.0), 0.0, 0.0, p_min=-1.0, p_max=1.0, direction=direction)
    assert kinds(curve)[0] is Kind.START
    assert direction * (curve.parameter[1] - curve.parameter[0]) > 0


def test_step_at_its_minimum_ends_with_a_status():
    wall = scalar(
        lambda x, p: x - p if p < 0.5 else np.nan, lambda x, p: 1.0 if p < 0.5 else np.nan, lambda x, p: -1.0
    )
    curve = continue_curve(wall, 0.0, 0.0, p_min=-1.0, p_max=1.0)
    assert kinds(curve) == [Kind.RANGE, Kind.SMALLEST_STEP]
    assert curve.parameter[-1] == pytest.approx(0.5, abs=1e-7)
    assert curve.parameter[-1] < 0.5


def test_number_of_steps_is_capped():
    curve = continue_curve(s_curve(1.0), -2.0, -1.0, p_min=-1.0, p_max=1.0, steps=Steps(limit=3))
    assert kinds(curve)[-1] is Kind.STEP_LIMIT
    assert len(curve.parameter) <= 1 + 3 + 2


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6, 1e-8])
def test_no_jump_across_a_narrow_gap(gap):
    problem = imperfect(gap)
    upper = continue_curve(problem, np.cbrt(gap), 0.0, p_min=-1.0, p_max=1.0)
    assert np.all(upper.state > 0)
    assert np.all(upper.index == 0)
    lower = continue_curve(problem, -1.0, 1.0, p_min=-1.0, p_max=1.0)
    assert np.all(lower.state < 0)
    assert [point.kind for point in inner(lower)] == [Kind.FOLD]
    # x³ − p x = g folds where p = 3 x², x = −(g/2)^{1/3}
    assert inner(lower)[0].parameter == pytest.approx(3 * (gap / 2) ** (2 / 3), rel=1e-9)


@pytest.mark.parametrize("width", [1e-2, 1e-3, 1e-4])
def test_narrow_window_between_two_points_is_found(width):
    curve = continue_curve(s_curve(width), -2.0, -1.0, p_min=-1.0, p_max=1.0)
    first, second = inner(curve)
    exact = 2 * (width / 3) ** 1.5
    assert [first.kind, second.kind] == [Kind.FOLD, Kind.FOLD]
    assert first.parameter == pytest.approx(exact, rel=1e-9, abs=FOLD)
    assert second.parameter == pytest.approx(-exact, rel=1e-9, abs=FOLD)
    assert (first.index_before, first.index_after, second.index_after) == (0, 1, 0)


def test_closed_curve_ends_where_it_began():
    curve = continue_curve(CIRCLE, 1.0, 0.0, p_min=-2.0, p_max=2.0)
    assert kinds(curve) == [Kind.CLOSED, Kind.FOLD, Kind.FOLD, Kind.CLOSED]
    assert [point.parameter for point in inner(curve)] == pytest.approx([-1.0, 1.0], abs=FOLD)
    assert np.array_equal(curve.state[0], curve.state[-1])
    # an ellipse with the half axes 1 and 1/4 in units of the state and of the parameter range
    assert curve.arclength[-1] == pytest.approx(4 * ellipe(15 / 16), rel=1e-4)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_several_eigenvalues_that_vanish_together_are_one_event(n):
    problem = Problem(
        lambda x, p: p * x + x * (x @ x),
        lambda x, p: (p + x @ x) * np.eye(n) + 2 * np.outer(x, x),
        lambda x, p: x,
        symmetric=True,
    )
    curve = continue_curve(problem, np.zeros(n), 1.0, p_min=-1.0, p_max=1.0)
    event = inner(curve)[0]
    assert len(inner(curve)) == 1
    assert (event.kind, event.multiplicity) == (Kind.BRANCH_POINT, n)
    assert (event.index_before, event.index_after) == (n, 0)
    assert abs(event.parameter) <= CROSSING


def test_eigenvalues_that_cross_zero_both_ways_are_one_event():
    # Three-fold symmetry: along the ray y = 0, x = p the eigenvalues are p and −3p, the index 1 throughout.
    problem = Problem(
        lambda x, p: np.array([-p * x[0] + x[0] ** 2 - x[1] ** 2, -p * x[1] - 2 * x[0] * x[1]]),
        lambda x, p: np.array([[-p + 2 * x[0], -2 * x[1]], [-2 * x[1], -p - 2 * x[0]]]),
        lambda x, p: -x,
        symmetric=True,
    )
    curve = continue_curve(problem, [1.0, 0.0], 1.0, p_min=-1.0, p_max=1.0)
    event = inner(curve)[0]
    assert (event.kind, event.multiplicity) == (Kind.BRANCH_POINT, 2)
    assert abs(event.parameter) <= CROSSING
    assert set(curve.index[[0, -1]]) == {1}
    ends = [arm.state[-1] for arm in switch_curve(curve, event, p_min=-1.0, p_max=1.0)]
    # the two other rays, both ways, and the trivial branch, both ways
    rays = [np.array([np.cos(a), np.sin(a)]) for a in 2 * np.pi / 3 * np.arange(3)]
    for wanted in [sign * rays[i] for sign in (1, -1) for i in (1, 2)] + [np.zeros(2)]:
        assert any(np.allclose(end, wanted, rtol=0, atol=1e-9) for end in ends)


def test_short_unstable_stretch_inside_one_step_is_found():
    # two eigenvalues (p − 0.45)(p − 0.55) along the straight line x = (p, 0, 0)
    problem = Problem(
        lambda x, p: np.array([x[0] - p, *((p - 0.45) * (p - 0.55) * x[1:])]),
        lambda x, p: np.diag([1.0, *np.full(2, (p - 0.45) * (p - 0.55))]),
        lambda x, p: np.array([-1.0, *((2 * p - 1) * x[1:])]),
        symmetric=True,
    )
    curve = continue_curve(problem, np.zeros(3), 0.0, p_min=0.0, p_max=1.0)
    first, second = inner(curve)
    assert [first.parameter, second.parameter] == pytest.approx([0.45, 0.55], abs=CROSSING)
    assert (first.multiplicity, first.index_after, second.index_after) == (2, 2, 0)


def test_hopf_point_is_told_from_a_branch_point():
    problem = Problem(
        lambda x, p: np.array([p * x[0] - x[1], x[0] + p * x[1]]),
        lambda x, p: np.array([[p, -1.0], [1.0, p]]),
        lambda x, p: np.array([x[0], x[1]]),
    )
    curve = continue_curve(problem, [0.0, 0.0], -1.0, p_min=-1.0, p_max=1.0)
    event = inner(curve)[0]
    assert (event.kind, event.multiplicity) == (Kind.HOPF, 2)
    assert (event.index_before, event.index_after) == (2, 0)
    assert abs(event.parameter) <= CROSSING


def test_fold_of_a_system_without_symmetry():
    # x² − p in a skewed frame: det F_x = 0.8 x₁, trace F_x = 2 x₁ − 1
    skew = np.array([[1.0, 2.0], [0.3, 1.0]])
    problem = Problem(
        lambda x, p: skew @ np.array([x[0] ** 2 - p, x[1] - x[0]]),
        lambda x, p: skew @ np.array([[2 * x[0], 0.0], [-1.0, 1.0]]),
        lambda x, p: skew @ np.array([-1.0, 0.0]),
    )
    curve = continue_curve(problem, [1.0, 1.0], 1.0, p_min=-1.0, p_max=1.0)
    fold, hopf = inner(curve)
    assert (fold.kind, hopf.kind) == (Kind.FOLD, Kind.HOPF)
    assert abs(fold.parameter) <= FOLD
    assert hopf.parameter == pytest.approx(0.25, abs=CROSSING)
    for x, index in zip(curve.state[[0, -1]], curve.index[[0, -1]], strict=True):
        assert index == np.sum(np.linalg.eigvals(problem.F_x(x, 1.0)).real < 0)


def test_monitored_function_is_located_and_a_barrier_ends_the_curve():
    marks = {"monitors": lambda x, p: np.array([x[0] - 0.5, p - 2.0, x[0] - 0.5])}
    parts = (PARABOLA.F, PARABOLA.F_x, PARABOLA.F_p)
    curve = continue_curve(Problem(*parts, **marks), 1.0, 1.0, p_min=-1.0, p_max=1.0)
    fold, mark = inner(curve)
    assert (fold.kind, mark.kind) == (Kind.FOLD, Kind.MONITOR)
    assert (mark.monitors, mark.multiplicity) == ((0, 2), 2)
    assert mark.parameter == pytest.approx(0.25, abs=ROUNDING)
    walled = Problem(*parts, monitors=lambda x, p: np.array([x[0] - 0.5]), barrier=True)
    curve = continue_curve(walled, 1.0, 1.0, p_min=-1.0, p_max=1.0)
    assert sorted(kinds(curve)) == [Kind.BARRIER, Kind.RANGE]
    assert curve.parameter.min() == pytest.approx(0.25, abs=ROUNDING)


@settings(max_examples=25, deadline=None)
@given(width=st.floats(0.05, 2.0), scale=st.floats(0.1, 10.0), shift=st.floats(-3.0, 3.0), turn=st.booleans())
def test_folds_of_every_cubic(width, scale, shift, turn):
    """Scaled, shifted and mirrored S-curves: both folds to 1e-12, one curve whatever the start."""
    sign = -1.0 if turn else 1.0
    problem = scalar(
        lambda x, p: sign * ((x - shift) ** 3 - width * (x - shift) - p / scale),
        lambda x, p: sign * (3 * (x - shift) ** 2 - width),
        lambda x, p: -sign / scale,
    )
    edge = 2.0 * scale
    root = max(np.roots([1.0, 0.0, -width, -2.0]).real)
    curve = continue_curve(problem, root + shift, edge, p_min=-edge, p_max=edge)
    check_order(curve)
    assert residual(problem, curve) <= ROUNDING * (1 + abs(shift)) ** 3 * 10
    fold = 2 * (width / 3) ** 1.5 * scale
    assert [point.kind for point in inner(curve)] == [Kind.FOLD, Kind.FOLD]
    assert sorted(point.parameter for point in inner(curve)) == pytest.approx(
        [-fold, fold], abs=FOLD * (scale + (1 + abs(shift)) ** 3)
    )
    again = continue_curve(problem, shift - root, -edge, p_min=-edge, p_max=edge)
    assert [point.parameter for point in inner(again)] == pytest.approx(
        [point.parameter for point in inner(curve)], abs=FOLD * (scale + (1 + abs(shift)) ** 3)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"p0": 2.0}, "do not fit"),
        ({"p_min": 1.0, "p_max": 1.0, "p0": 1.0}, "do not fit"),
        ({"p_max": np.inf}, "do not fit"),
        ({"direction": 2}, "direction = 2"),
        ({"x0": [[1.0]]}, "x0 has shape"),
        ({"x0": np.nan}, "not finite"),
        ({"requested": [3.0]}, "leave the range"),
        ({"p0": -0.5}, "no solution"),
        ({"x0": [1.0, 2.0]}, "F_x|F\\(x, p\\) has shape|has shape"),
        ({"problem": SimpleNamespace(F=PARABOLA.F)}, "no function F_x, F_p"),
    ],
)
def test_bad_input_is_named(options, message):
    arguments = {"problem": PARABOLA, "x0": 1.0, "p0": 1.0, "p_min": -1.0, "p_max": 1.0} | options
    with pytest.raises(InputError, match=message) as caught:
        continue_curve(arguments.pop("problem"), arguments.pop("x0"), arguments.pop("p0"), **arguments)
    assert "\n" not in str(caught.value)


def test_steps_are_checked():
    with pytest.raises(InputError, match="smallest <= first <= largest"):
        Steps(first=0.5, largest=0.1)


def test_a_value_off_the_curve_is_named():
    curve = continue_curve(PARABOLA, 1.0, 1.0, p_min=-1.0, p_max=1.0)
    with pytest.raises(InputError, match="is not on this curve"):
        curve.at(-0.5)
