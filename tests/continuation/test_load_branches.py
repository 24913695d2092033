"""Branches in the memory load: against relaxation at every single M, sweeps, and their own reversal."""

from itertools import pairwise

import numpy as np
import pytest

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.kappa import kappa_sweep
from hopfieldphase.continuation.load_branches import load_branches
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import PatternSequence, sequence
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

PAPER = np.arange(12, 39) / 200  # 0.06:0.19:0.005
UP, DOWN = 0, 1
# Two relaxations to one minimum differ by the tolerance 1.8e-12 over the smallest curvature, here above 1e-3.
SAME_STATE = 1e-9
# By definition of a jump.
SAME_AFTER_RETURN = 1e-6
FEW = {"d": 12, "beta": 60.0, "M": (6, 40, 110)}


def loads(counts, d):
    return np.log(counts) / d


def found_for(name, alpha, *, d, beta, M, top=None, **options):
    """Branches between the first and the last M, found at the middle one; the grid has points in between."""
    patterns = sequence(name, d, seed=4, **options)
    counts = np.unique(np.r_[M, np.linspace(M[0], M[2], 6).astype(int)])
    return load_branches(patterns, np.log(M[1]) / d, loads(counts, d), beta, alpha, top=top)


def one_by_one(patterns, alpha, beta, x, counts):
    """States while M goes through `counts`, one by one, until a change cannot be undone, and the landing."""
    states = [relax(HopfieldModel(patterns[: counts[0]], alpha), x, beta)]
    for M_old, M in pairwise(counts):
        model, back = HopfieldModel(patterns[:M], alpha), HopfieldModel(patterns[:M_old], alpha)
        old, new = states[-1], relax(model, states[-1].x, beta)
        unit = SAME_AFTER_RETURN * max(np.linalg.norm(old.x), model.state_scale)
        returned = relax(back, new.x, beta).x
        if np.linalg.norm(new.x - old.x) > unit and np.linalg.norm(returned - old.x) > unit:
            return states, new
        states.append(new)
    return states, None


@pytest.mark.parametrize("alpha", [0.8, 1.0, 1.5, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("name", ["clustered", "spherical"])
def test_equals_relaxation_at_every_single_m(name, alpha):
    d, beta, (first, middle, last) = FEW["d"], FEW["beta"], FEW["M"]
    found = found_for(name, alpha, **FEW, top=4)
    patterns = sequence(name, d, seed=4).take(last)
    for branch in found:
        assert branch.status is Status.CONVERGED
        x = branch.at(found.at).x
        for sign, end in ((1, branch.ends[1]), (-1, branch.ends[0])):
            walk = np.arange(middle, (last if sign > 0 else first) + sign, sign)
            states, landing = one_by_one(patterns, alpha, beta, x, walk)
            for M, state in zip(walk, states, strict=False):
                here = branch.at(np.log(M) / d)
                np.testing.assert_allclose(here.x, state.x, atol=SAME_STATE)
                assert here.weights.shape == (M,)
                np.testing.assert_allclose(here.weights, state.weights, atol=SAME_STATE * beta)
                assert here.free_energy == pytest.approx(state.free_energy, abs=1e-10)
                assert here.overlap_max == pytest.approx(np.abs(state.overlaps).max(), abs=SAME_STATE)
                if np.isfinite(alpha):
                    assert here.hessian_min == pytest.approx(state.hessian_min, abs=1e-6)
            edge = middle + sign * (len(states) - 1)
            assert (branch.upper if sign > 0 else branch.lower) == pytest.approx(np.log(edge) / d, rel=1e-14)
            if landing is None:
                assert end.kind is PointKind.RANGE
                assert not end.is_jump
                assert end.landing is None
            else:
                assert end.is_jump
                assert end.label == (f"enters:{edge}" if sign > 0 else f"leaves:{edge - 1}")
                assert end.parameter == pytest.approx(np.log(edge + sign) / d, rel=1e-14)
                np.testing.assert_allclose(end.landing.x, landing.x, atol=SAME_STATE)
                assert end.landing.free_energy == pytest.approx(landing.free_energy, abs=1e-10)
                assert end.landing.weights.shape == (edge + sign,)
            np.testing.assert_allclose(end.state.x, states[-1].x, atol=SAME_STATE)
            assert end.state.weights.shape == (edge,)


def test_some_of_the_compared_branches_jump_and_some_bend():
    ends = [
        (branch.ends, len(branch.pieces))
        for name in ("clustered", "spherical")
        for alpha in (1.5, 2.0)
        for branch in found_for(name, alpha, **FEW, top=4)
    ]
    assert any(low.is_jump for (low, _), _ in ends)
    assert any(high.is_jump for (_, high), _ in ends)
    assert any(number > 2 for _, number in ends)


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_pieces_are_the_stretches_of_one_state(alpha):
    found = found_for("clustered", alpha, **FEW)
    d, kinks = FEW["d"], 0
    for branch in found:
        assert branch.special_points[0] is branch.pieces[0].lower_event
        assert branch.special_points[-1] is branch.pieces[-1].upper_event
        for piece in branch.pieces:
            first, last = piece.counts
            (low, high) = (piece.at(np.log(M) / d) for M in (first, last))
            np.testing.assert_array_equal(low.x, high.x)
            assert low.support == high.support == piece.support
            assert low.free_energy == high.free_energy
        for k, (left, right) in enumerate(pairwise(branch.pieces)):
            kinks += 1
            M = right.counts[0]
            assert left.counts[1] == M - 1
            assert branch.special_points[k + 1] is left.upper_event
            assert (left.upper_event.label, right.lower_event.label) == (f"enters:{M - 1}", f"leaves:{M - 1}")
            assert left.upper_event.goes_on
            assert right.lower_event.goes_on
            np.testing.assert_array_equal(left.upper_event.state.x, right.at(np.log(M) / d).x)
            np.testing.assert_array_equal(right.lower_event.state.x, left.at(np.log(M - 1) / d).x)
            assert left.upper_event.bracket == pytest.approx((np.log(M - 1) / d, np.log(M) / d))
            # the pattern that enters had an overlap above the threshold of the state it meets
            pattern = sequence("clustered", d, seed=4).take(M)[-1]
            before = left.at(np.log(M - 1) / d)
            assert pattern @ before.x / np.sqrt(d) > before.threshold
    assert kinks > 10


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0])
def test_another_reference_on_a_branch_gives_the_same_branch(alpha):
    found = found_for("clustered", alpha, **FEW, top=6)
    d, compared = FEW["d"], 0
    patterns = sequence("clustered", d, seed=4)
    for branch in found:
        counts = [round(np.exp(edge * d)) for edge in (branch.lower, branch.upper)]
        M = (counts[0] + counts[1]) // 2
        there = branch.at(np.log(M) / d)
        again = load_branches(patterns, np.log(M) / d, found.kappas, FEW["beta"], alpha, states=[there.x])
        twin = min(again, key=lambda other: np.linalg.norm(other.at(again.at).x - there.x))
        np.testing.assert_allclose(twin.at(again.at).x, there.x, atol=SAME_STATE)
        assert (twin.lower, twin.upper) == (branch.lower, branch.upper)
        assert [point.label for point in twin.ends] == [point.label for point in branch.ends]
        if alpha > 1:
            assert [piece.counts for piece in twin.pieces] == [piece.counts for piece in branch.pieces]
            assert [piece.support for piece in twin.pieces] == [piece.support for piece in branch.pieces]
        compared += 1
    assert compared == len(found) > 0


def test_the_grid_does_not_matter_above_alpha_1():
    d, (first, middle, last) = FEW["d"], FEW["M"]
    patterns = sequence("clustered", d, seed=4)
    fine = load_branches(patterns, np.log(middle) / d, loads(np.arange(first, last + 1), d), FEW["beta"])
    coarse = load_branches(patterns, np.log(middle) / d, loads([first, last], d), FEW["beta"])
    assert len(fine) == len(coarse) >= 4
    for one, other in zip(fine, coarse, strict=True):
        assert [piece.counts for piece in one.pieces] == [piece.counts for piece in other.pieces]
        assert [point.label for point in one.special_points] == [
            point.label for point in other.special_points
        ]


@pytest.mark.slow
@pytest.mark.parametrize("realization", [0, 1, 2])
def test_paper_data_jumps_of_sweeps_end_branches(realization):
    patterns = sequence("clustered", d=48, realization=realization)
    found = load_branches(patterns, 0.12, PAPER, 180.0)
    assert len(found) >= 5
    ranks = [branch.at(0.12).overlap_max for branch in found]
    assert ranks == sorted(ranks, reverse=True) or np.allclose(ranks, sorted(ranks, reverse=True), rtol=1e-9)
    model = HopfieldModel(patterns.take(9136), 2.0)
    events = kappa_sweep(model, PAPER, 180.0).events
    met = 0
    for way, step, side in ((UP, 1, 1), (DOWN, -1, 0)):
        jumps = np.flatnonzero(events[way].jumped)
        # the states right before the jumps, on a grid that holds them
        before = events[way].M[jumps] - step
        counts = np.unique(np.r_[18, before, 9136])
        states = kappa_sweep(model, loads(counts, 48), 180.0, keep_states=True).sweep.state[way]
        for n, M in zip(jumps, before, strict=True):
            x, kappa = states[np.searchsorted(counts, M)], np.log(M) / 48
            for branch in found:
                here = [piece.at(kappa).x for piece in branch.pieces if piece.contains(kappa)]
                if not here or np.linalg.norm(here[0] - x) > SAME_AFTER_RETURN * np.linalg.norm(x):
                    continue
                met += 1
                end = branch.ends[side]
                assert end.is_jump
                assert end.patterns == (events[way].pattern[n],)
                assert end.parameter == pytest.approx(np.log(events[way].M[n]) / 48, rel=1e-14)
                assert end.landing.free_energy == pytest.approx(events[way].free_energy_after[n], abs=1e-10)
    assert met > 0


def test_softmax_keeps_one_piece_and_finds_every_load():
    found = load_branches(sequence("clustered", d=48), 0.08, PAPER, 180.0, 1.0, top=1)
    (branch,) = found
    (piece,) = branch.pieces
    assert piece.counts == (18, 9136)
    assert [end.label for end in branch.ends] == ["range", "range"]
    patterns = sequence("clustered", d=48).take(9136)
    for M in (18, 77, 1500):
        state = branch.at(np.log(M) / 48)
        model = HopfieldModel(patterns[:M], 1.0)
        assert model.gradient_residual(state.x, 180.0) < 1e-11
        assert state.free_energy == pytest.approx(model.free_energy(state.x, 180.0), abs=1e-12)


def test_results_do_not_depend_on_threads():
    patterns = sequence("spherical", FEW["d"], seed=4)
    one, two = (
        load_branches(patterns, 0.3, np.linspace(0.15, 0.39, 5), 60.0, threads=threads) for threads in (1, 3)
    )
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.at(0.3).x, b.at(0.3).x)
        assert [point.label for point in a.special_points] == [point.label for point in b.special_points]


def test_a_reference_at_the_end_of_the_range_goes_one_way():
    patterns = PatternSequence("spherical", 10, 1)
    found = load_branches(patterns, 0.4, [0.2, 0.3, 0.4], 60.0, top=3)
    for branch in found:
        assert branch.ends[1].kind is PointKind.RANGE
        assert branch.upper == pytest.approx(np.log(55) / 10)
        assert branch.at(0.4).weights.shape == (55,)
    with pytest.raises(InputError, match=r"kappa = 0\.5 is not on this branch"):
        found[0].at(0.5)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"at": 0.5}, "the reference kappa = 0.5 lies outside the range"),
        ({"top": 0}, "top = 0: follow at least one branch"),
        ({"beta": -1.0}, "beta = -1"),
        ({"alpha": 0.0}, "alpha = 0"),
        ({"kappas": [0.3, 0.2]}, "ascending"),
        ({"kappas": [0.1, 9.0]}, "memory"),
    ],
)
def test_bad_input(options, words):
    given = {"at": 0.3, "kappas": [0.2, 0.4]} | options
    with pytest.raises(InputError, match=words):
        load_branches(sequence("spherical", 10), **given)
