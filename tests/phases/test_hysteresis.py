"""Hysteresis of plain arrays: loops whose edges, jumps and areas are known."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.hysteresis import (
    TOLERANCE,
    Interval,
    Jump,
    hysteresis,
    intervals,
    loop_area,
    sweeps_differ,
    window,
)


def loop_of(sweep, **options):
    return hysteresis(sweep.values, sweep.free_energy, sweep.overlap_max, sweep.jumped, **options)


def test_a_loop_has_the_edges_jumps_and_area_it_was_made_with(make_sweep):
    loop = loop_of(make_sweep(lower=4, upper=7))
    assert loop.intervals == (Interval(4.0, 7.0, 3, 6),)
    assert loop.edges == (4.0, 7.0)
    (up,), (down,) = loop.jumps_up, loop.jumps_down
    assert (up.before, up.after) == (7.0, 8.0)
    assert (down.before, down.after) == (4.0, 3.0)
    assert up.size == pytest.approx(0.2)
    assert down.size == pytest.approx(-0.2)
    # 3 cells in full and half a cell at either side.
    assert loop.area == pytest.approx(0.2 * 4)


def test_equal_sweeps_have_no_hysteresis(make_sweep):
    loop = loop_of(make_sweep(lower=7, upper=6))
    assert loop.intervals == ()
    assert loop.edges is None
    assert loop.area == 0
    assert loop.jumps_up == (Jump(6.0, 7.0, pytest.approx(0.2)),)


def test_a_window_may_reach_both_ends_of_the_grid(make_sweep):
    loop = loop_of(make_sweep(lower=0, upper=99))
    assert loop.intervals == (Interval(1.0, 11.0, 0, 10),)
    assert (loop.jumps_up, loop.jumps_down) == ((), ())


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("..###..", [(2, 4)]),
        ("..#.#..", [(2, 4)]),  # one point of agreement is a crossing
        ("..#..#..", [(2, 2), (5, 5)]),  # two are an interval
        ("#.##.#", [(0, 5)]),
        ("#.....#", [(0, 0), (6, 6)]),
        (".#", [(1, 1)]),
        (".", []),
        ("#", [(0, 0)]),
    ],
)
def test_intervals_are_maximal_runs_and_crossings_do_not_split_them(pattern, expected):
    differ = np.array([c == "#" for c in pattern])
    found = intervals(np.arange(differ.size) * 2.0, differ)
    assert [(i.first, i.last) for i in found] == expected
    assert [(i.lower, i.upper) for i in found] == [(2.0 * a, 2.0 * b) for a, b in expected]


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_intervals_cover_the_differing_points_and_are_apart_by_two(flags):
    differ = np.array(flags)
    found = intervals(np.arange(differ.size), differ)
    covered = np.zeros(differ.size, dtype=bool)
    for interval in found:
        covered[interval.first : interval.last + 1] = True
        assert differ[[interval.first, interval.last]].all()
    assert covered[differ].all()
    # What is covered though it agrees is isolated; what separates two intervals is not.
    extra = np.flatnonzero(covered & ~differ)
    assert all(differ[i - 1] and differ[i + 1] for i in extra)
    assert all(b.first - a.last > 2 for a, b in itertools.pairwise(found))


def test_an_interval_mirrors_with_the_axis():
    rng = np.random.default_rng(0)
    differ = rng.random(200) < 0.6
    forward = intervals(np.arange(200), differ)
    backward = intervals(np.arange(200), differ[::-1])
    assert [(199 - i.last, 199 - i.first) for i in backward[::-1]] == [(i.first, i.last) for i in forward]


def test_points_that_are_not_numbers_neither_open_nor_split_a_window(make_sweep):
    sweep = make_sweep(lower=4, upper=9)
    for column, expected in ((0, (4.0, 9.0)), (5, (4.0, 9.0)), (3, (5.0, 9.0))):
        energy = sweep.free_energy.copy()
        energy[0, column] = np.nan
        loop = hysteresis(sweep.values, energy, sweep.overlap_max, sweep.jumped)
        assert loop.edges == expected
        assert len(loop.intervals) == 1
    overlap = sweep.overlap_max.copy()
    overlap[1, 5] = np.nan
    assert loop_area(sweep.values, overlap) == pytest.approx(loop_area(sweep.values, sweep.overlap_max))


def test_either_observable_alone_tells_two_states_apart():
    level = np.full((2, 4), 0.5)
    other = level.copy()
    other[1, 2] += 2 * TOLERANCE
    for energy, overlap in ((other, level), (level, other)):
        differ, known = sweeps_differ(energy, overlap)
        assert differ.tolist() == [False, False, True, False]
        assert known.all()


@pytest.mark.parametrize(("energy", "threshold"), [(-0.01, TOLERANCE), (-50.0, 50 * TOLERANCE)])
def test_the_free_energy_is_compared_in_units_of_the_temperature(energy, threshold):
    overlap = np.ones((2, 2))
    for factor, expected in ((0.98, False), (1.02, True)):
        gap = np.array([[energy, energy], [energy + factor * threshold, energy]])
        assert sweeps_differ(gap, overlap)[0].tolist() == [expected, False]


def test_rounding_of_a_vanishing_overlap_is_no_difference():
    # Antipodal patterns: x* = 0 at low β, known to rounding only.
    overlap = np.array([[0.0, 1e-17, 0.3], [1e-18, 0.0, 0.3]])
    assert not sweeps_differ(np.full((2, 3), -0.5), overlap)[0].any()
    assert not sweeps_differ(np.full((2, 3), -0.5), np.zeros((2, 3)))[0].any()


def test_realizations_are_compared_each_on_its_own_scale():
    rng = np.random.default_rng(3)
    energy, overlap = rng.normal(size=(5, 2, 7)), rng.random((5, 2, 7))
    together = sweeps_differ(energy, overlap, tolerance=0.3)[0]
    alone = [sweeps_differ(energy[k], overlap[k], tolerance=0.3)[0] for k in range(5)]
    assert np.array_equal(together, alone)


def test_loop_area_is_exact_for_piecewise_linear_curves_on_an_uneven_grid():
    values = np.array([1.0, 1.5, 4.0, 5.0])
    gap = np.array([0.0, 1.0, 2.0, 0.0])
    assert loop_area(values, [gap, 0 * gap]) == pytest.approx(0.25 + 3.75 + 1.0)
    assert loop_area(values, [0 * gap, gap]) == loop_area(values, [gap, 0 * gap])


def test_jumps_come_in_the_order_in_which_each_sweep_walks():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    overlap = np.array([[0.1, 0.2, 0.2, 0.4], [0.1, 0.3, 0.4, 0.4]])
    jumped = np.array([[0, 1, 0, 1], [1, 1, 0, 0]], dtype=bool)
    loop = hysteresis(values, np.zeros((2, 4)), overlap, jumped)
    assert [(j.before, j.after) for j in loop.jumps_up] == [(1.0, 2.0), (4.0, 8.0)]
    assert [(j.before, j.after) for j in loop.jumps_down] == [(4.0, 2.0), (2.0, 1.0)]
    assert [j.size for j in loop.jumps_up] == pytest.approx([0.1, 0.2])
    assert [j.size for j in loop.jumps_down] == pytest.approx([-0.1, -0.2])


def test_the_window_over_realizations(make_sweep):
    sweeps = [make_sweep(3, 6), make_sweep(5, 9), make_sweep(5, 7), make_sweep(7, 6)]
    values, loops = sweeps[0].values, [loop_of(s) for s in sweeps]
    found = window(values, loops)
    assert [(i.lower, i.upper) for i in found.any] == [(3.0, 9.0)]
    assert found.all == ()  # the last one shows none
    assert found.count == 3
    assert found.lower == pytest.approx((np.mean([3, 5, 5]), np.std([3, 5, 5])))
    assert found.upper == pytest.approx((np.mean([6, 9, 7]), np.std([6, 9, 7])))
    assert [(i.lower, i.upper) for i in window(values, loops[:3]).all] == [(5.0, 6.0)]


def test_the_window_of_loops_without_hysteresis_is_empty(make_sweep):
    sweep = make_sweep(7, 6)
    found = window(sweep.values, [loop_of(sweep)])
    assert (found.any, found.all, found.count, found.lower, found.upper) == ((), (), 0, None, None)


@pytest.mark.parametrize("tolerance", [-1e-9, 1.0, np.nan, np.inf])
def test_a_tolerance_outside_its_domain_is_refused(make_sweep, tolerance):
    with pytest.raises(InputError, match="tolerance = "):
        loop_of(make_sweep(), tolerance=tolerance)


def test_bad_arrays_are_refused(make_sweep):
    sweep = make_sweep()
    for values in (sweep.values[::-1], sweep.values[:, None], [], np.full(11, 2.0)):
        with pytest.raises(InputError, match="ascend strictly"):
            hysteresis(values, sweep.free_energy, sweep.overlap_max, sweep.jumped)
    with pytest.raises(InputError, match=r"all must be \(2, 11\)"):
        hysteresis(sweep.values, sweep.free_energy[:, :5], sweep.overlap_max, sweep.jumped)
    with pytest.raises(InputError, match="at least one realization"):
        window(sweep.values, [])


@pytest.mark.parametrize("place", [(0, 0), (1, -1)])
def test_a_jump_at_the_start_of_a_sweep_is_refused(make_sweep, place):
    sweep = make_sweep()
    jumped = sweep.jumped.copy()
    jumped[place] = True
    with pytest.raises(InputError, match="where the sweep starts"):
        hysteresis(sweep.values, sweep.free_energy, sweep.overlap_max, jumped)
