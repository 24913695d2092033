"""Equal free energies of two branches: every crossing, exact or bisected, and the Maxwell line."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.branches import follow
from hopfieldphase.continuation.discovery import discover
from hopfieldphase.core.closed_forms import two_keys_coexistence
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import equicorrelated, two_keys
from hopfieldphase.phases.coexistence import _bisected, coexistence
from hopfieldphase.phases.enumeration import enumerate_minima
from hopfieldphase.phases.equilibrium import equilibrium

# Zeros of sums of a few poles, found to rounding.
EXACT = 1e-12
# Bisected crossings of states that a Newton corrector gives to 1e-12.
BISECTED = 1e-9


def planar():
    angles = np.deg2rad([0, 50, 140])
    return HopfieldModel(np.stack([np.cos(angles), np.sin(angles)], axis=1), alpha=2.0, scale=1.0)


def random_model(seed, alpha=2.0):
    rows = np.random.default_rng(seed).normal(size=(8, 4))
    if seed % 2:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return HopfieldModel(rows, alpha=alpha, scale=1.0)


def distinct_branches(model, betas=(1.0, 2.0, 4.0, 8.0)):
    found = []
    for beta in betas:
        for state in discover(model, beta).states:
            branch = trace(model, state.support, beta)
            if all(branch.pieces[0].support != other.pieces[0].support for other in found):
                found.append(branch)
    return found


def overlapping(branches):
    for i, a in enumerate(branches):
        for b in branches[:i]:
            lower, upper = max(a.lower, b.lower), min(a.upper, b.upper)
            if lower < upper * (1 - 1e-9):
                yield a, b, lower, min(upper, 50 * max(lower, 0.1))


# seed, supports at β = 1, number of crossings: windows between two of them are narrow on purpose.
SEVERAL = [
    (182, (1, 2, 3), (0, 1, 2, 4, 5, 6), 3),
    (83, (1, 2, 3, 4, 5, 6, 7), (0, 1, 2, 3, 4, 5, 6, 7), 2),
    (4, (0, 1, 3, 5, 6, 7), (0, 1, 2, 3, 4, 5, 6, 7), 2),
]


@pytest.mark.parametrize(("seed", "low_a", "low_b", "count"), SEVERAL)
def test_several_crossings_between_ends_that_agree(seed, low_a, low_b, count):
    by_support = {branch.pieces[0].support: branch for branch in distinct_branches(random_model(seed))}
    a, b = by_support[low_a], by_support[low_b]
    points = coexistence(a, b)
    assert len(points) == count
    assert [point.parameter for point in points] == sorted(point.parameter for point in points)
    for point in points:
        assert point.kind is PointKind.COEXISTENCE
        assert not point.degenerate
        below, above = point.parameter * (1 - 1e-7), point.parameter * (1 + 1e-7)
        assert (a.at(below).free_energy - b.at(below).free_energy) * (
            a.at(above).free_energy - b.at(above).free_energy
        ) < 0
        assert point.state.free_energy == pytest.approx(point.landing.free_energy, rel=EXACT)
        assert point.bracket[0] <= point.parameter <= point.bracket[1]
    if count == 2:
        ends = [max(a.lower, b.lower) * 1.001, min(a.upper, b.upper, 8.0)]
        signs = [np.sign(a.at(beta).free_energy - b.at(beta).free_energy) for beta in ends]
        assert signs[0] == signs[1]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_no_crossing_is_missed_or_invented(seed):
    for a, b, lower, upper in overlapping(distinct_branches(random_model(seed))):
        points = coexistence(a, b)
        if any(point.degenerate for point in points):
            continue
        grid = np.linspace(lower, upper, 803)[1:-1]
        gap = np.array([a.at(beta).free_energy - b.at(beta).free_energy for beta in grid])
        seen = np.count_nonzero(np.diff(np.sign(gap)))
        assert seen == sum(grid[0] < point.parameter < grid[-1] for point in points)


def test_order_of_the_branches_does_not_matter():
    a, b, _, _ = next(overlapping(distinct_branches(random_model(4))))
    there, back = coexistence(a, b), coexistence(b, a)
    assert [p.parameter for p in there] == pytest.approx([p.parameter for p in back], rel=EXACT)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.85])
def test_two_keys_meet_in_one_point(epsilon):
    """Proposition 4.1: the pair and the key have equal energy at b = 2/(1 − ε) only, and never coexist."""
    model = HopfieldModel(two_keys(epsilon), alpha=2.0, scale=1.0)
    pair, key = trace(model, (0, 1), 1.0), trace(model, (0,), 100.0)
    (point,) = coexistence(pair, key)
    assert point.parameter == pytest.approx(two_keys_coexistence(epsilon, 2.0), rel=EXACT)
    assert point.degenerate


def test_equal_energies_throughout_are_one_degenerate_interval():
    model = planar()
    (point,) = coexistence(trace(model, (0,), 7.0), trace(model, (2,), 7.0))
    assert point.degenerate
    assert point.bracket == (pytest.approx(2 / (1 - math.cos(math.radians(50))), rel=EXACT), math.inf)


# α, M, K_coex of equidistant patterns: the engine does not know the symmetry.
POTTS = [
    (1.0, 3, 2.772588722),
    (1.0, 10, 18 * math.log(9) / 8),
    (1.25, 10, 3.876389724),
    (1.5, 3, 2.465853273),
    (1.5, 10, 3.038987707),
]


@pytest.mark.parametrize(("alpha", "M", "expected"), POTTS)
def test_equidistant_patterns(alpha, M, expected):
    model = HopfieldModel(equicorrelated(M, M), alpha=alpha, scale=1.0)
    uniform = follow(model, model.patterns.mean(axis=0), 2.0, [1.5, 6.0])
    retrieval = follow(model, model.patterns[0], 5.5, [1.5, 6.0])
    (point,) = coexistence(uniform, retrieval)
    assert point.parameter == pytest.approx(expected, rel=BISECTED)
    assert point.state.free_energy == pytest.approx(point.landing.free_energy, abs=1e-11)


def test_bisection_agrees_with_the_exact_zeros():
    """The same α = 2 branches, told to be inexact."""
    by_support = {branch.pieces[0].support: branch for branch in distinct_branches(random_model(182))}
    a, b = by_support[1, 2, 3], by_support[0, 1, 2, 4, 5, 6]
    exact = [point.parameter for point in coexistence(a, b)]
    bisected = []
    for first in a.pieces:
        for second in b.pieces:
            low, high = max(first.lower, second.lower), min(first.upper, second.upper, 100.0)
            if low < high:
                bisected += [beta for beta, _ in _bisected(first, second, low, high, 2.0)]
    assert sorted(bisected) == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("seed", range(6))
def test_equilibrium_is_the_lowest_state(seed):
    model = random_model(seed)
    branches = distinct_branches(model, (0.3, 0.6, 1.0, 2.0, 4.0, 8.0))
    line = equilibrium(branches)
    assert line[0].lower == 0.0
    for before, after in pairwise(line):
        assert before.upper == after.lower
        assert before.branch != after.branch
        assert before.transition.parameter == before.upper
    assert line[-1].transition is None
    for beta in np.geomspace(0.1, 20.0, 12):
        (interval,) = [piece for piece in line if piece.lower <= beta < piece.upper]
        lowest = enumerate_minima(model, beta)
        assert branches[interval.branch].at(beta).free_energy == pytest.approx(
            lowest.equilibrium_energy, rel=EXACT
        )


def test_bad_input():
    model = planar()
    low, key = trace(model, (0, 1), 3.0, 2.0, 4.0), trace(model, (0,), 8.0, 6.0, 9.0)
    with pytest.raises(InputError, match="no common interval"):
        coexistence(low, key)
    with pytest.raises(InputError, match="followed in kappa"):
        coexistence(replace(low, parameter="kappa"), key)
    with pytest.raises(InputError, match="no branch to choose from"):
        equilibrium([])
