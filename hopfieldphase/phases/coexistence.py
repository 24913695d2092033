"""Equal free energies: where two branches coexist, and which branch is the equilibrium one."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import brentq

from hopfieldphase.continuation.active_set import ExactPiece
from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint
from hopfieldphase.continuation.face import RESOLUTION, Face
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.tsallis import tsallis_entropy
from hopfieldphase.kernels.active_set import first_zero

NOISE = 32 * float(np.finfo(np.float64).eps)
"""Relative difference of free energies below which they are equal."""

PRECISION = 1e-11
"""Relative precision of crossings of branches that are not exact."""

# Where the closed form is probed for being zero throughout.
_PROBES = (0.0, 0.21, 0.43, 0.68, 1.0)
# Relative difference of computed, not exact, energies below which they are equal.
_EQUAL = 1e-12
_MAX_DEPTH = 30
# Relative distance beyond a transition at which the energies are compared.
_BESIDE = 1e-9


def coexistence(a: Branch, b: Branch) -> tuple[SpecialPoint, ...]:
    """Every crossing of the free energies of two branches of minima on their common interval.

    Parameters
    ----------
    a, b : Branch
        Followed in β, with the same patterns.

    Returns
    -------
    tuple of SpecialPoint
        Kind COEXISTENCE, ascending in β, with the state of `a` as `state` and the one of `b` as `landing`.
        Where both branches are exact (α = 2) the crossings are the zeros of a rational function of β, to
        1e-12; otherwise they are bisected to 1e-11. All of them are found, pairs between equally ordered
        ends included; a contact without crossing is none. `degenerate` marks equal energies on an interval
        (`bracket`): the single point where one branch takes over from the other, or all of it where a
        symmetry of the patterns maps one branch onto the other.

    Raises
    ------
    InputError
        If the branches have no common interval or are not followed in β.

    Notes
    -----
    Γ as the free energy of a state: Theorem 3.1 and Eq. (3.5) of "On the Statistical Mechanics of Attention"
    (arXiv:2610.17347); for two keys the coexistence at b = 2/(1 − ε) is its Proposition 4.1.
    """
    for branch in (a, b):
        if branch.parameter != "beta":
            raise InputError(
                f"a branch was followed in {branch.parameter}: free energies are compared along beta, "
                "follow both branches in beta"
            )
    lower, upper = max(a.lower, b.lower), min(a.upper, b.upper)
    if lower > upper * (1 + RESOLUTION):
        raise InputError(
            f"the branches live on [{a.lower:.12g}, {a.upper:.12g}] and [{b.lower:.12g}, {b.upper:.12g}]: "
            "they have no common interval, choose two branches that overlap in beta"
        )
    if lower >= upper * (1 - RESOLUTION):
        return _meeting(a, b, min(max(lower, a.lower), a.upper), min(max(lower, b.lower), b.upper))
    points: list[SpecialPoint] = []
    for first, second in _common(a, b):
        low, high = max(first.lower, second.lower), min(first.upper, second.upper)
        if isinstance(first, ExactPiece) and isinstance(second, ExactPiece):
            crossings = _exact(first.face, second.face, low, high)
        else:
            crossings = _bisected(first, second, low, high, a.model.alpha)
        for found_low, found_high in crossings:
            point = _point(first, second, found_low, found_high)
            joins = points and point.bracket[0] <= points[-1].bracket[1] * (1 + 2 * RESOLUTION)
            if joins:
                points[-1] = _joined(points[-1], point)
            else:
                points.append(point)
    return tuple(sorted(points, key=lambda point: point.parameter))


def _common(a: Branch, b: Branch) -> Iterator[tuple[Piece, Piece]]:
    """Pairs of pieces of minima that share an interval of β, ascending."""
    pairs = [
        (first, second)
        for first in a.pieces
        for second in b.pieces
        if first.index == 0 == second.index
        and max(first.lower, second.lower) < min(first.upper, second.upper) * (1 - RESOLUTION)
    ]
    yield from sorted(pairs, key=lambda pair: max(pair[0].lower, pair[1].lower))


def _meeting(a: Branch, b: Branch, beta_a: float, beta_b: float) -> tuple[SpecialPoint, ...]:
    """The coexistence point of two branches that share a single value of β, if their energies agree there."""
    first, second = a.at(beta_a), b.at(beta_b)
    if abs(first.free_energy - second.free_energy) > RESOLUTION * max(1.0, abs(first.free_energy)):
        return ()
    bracket = (beta_a * (1 - RESOLUTION), beta_a * (1 + RESOLUTION))
    return (
        SpecialPoint(
            PointKind.COEXISTENCE, beta_a, True, degenerate=True, state=first, landing=second,
            bracket=bracket, precision=RESOLUTION,
        ),
    )  # fmt: skip


def _point(first: Piece, second: Piece, low: float, high: float) -> SpecialPoint:
    """The record of a crossing (low = high) or of an interval of equal energies."""
    degenerate = high > low
    exact = isinstance(first, ExactPiece) and isinstance(second, ExactPiece)
    precision = RESOLUTION if exact else PRECISION
    inside = low if low > 0 else high / 2
    bracket = (low, high) if degenerate else (low * (1 - precision), low * (1 + precision))
    return SpecialPoint(
        kind=PointKind.COEXISTENCE,
        parameter=low,
        goes_on=True,
        degenerate=degenerate,
        state=first.at(inside),
        landing=second.at(inside),
        bracket=bracket,
        precision=precision,
    )


def _joined(earlier: SpecialPoint, later: SpecialPoint) -> SpecialPoint:
    """Two records at one value, met at the joint of two pieces, as one."""
    if not (earlier.degenerate or later.degenerate):
        return earlier
    return replace(earlier, degenerate=True, bracket=(earlier.bracket[0], later.bracket[1]))


def _exact(a: Face, b: Face, low: float, high: float) -> list[tuple[float, float]]:
    """Crossings on one pair of exact pieces as intervals of β, of no length unless all energies are equal.

    t (Γ_a − Γ_b) = c₀ + c₁ t + Σ n/(t − λ) in t = 2/β; its zeros are met one after the other with rising t.
    """
    constant = b.mean_square - a.mean_square
    linear = 1 / a.support.size - 1 / b.support.size
    residues = np.concatenate([-(a.pulls**2), b.pulls**2])
    levels = np.concatenate([a.levels, b.levels])
    start, stop = 2 / high, 2 / low if low > 0 else math.inf

    def sign(t: float) -> float:
        terms = residues / (t - levels)
        size = a.mean_square + b.mean_square + t / a.support.size + t / b.support.size + np.abs(terms).sum()
        value = float(constant + linear * t + terms.sum())
        return math.copysign(1.0, value) if abs(value) > NOISE * size else 0.0

    span = stop if math.isfinite(stop) else 4 * max(start, a.size, b.size)
    signs = [sign(start + share * (span - start)) for share in _PROBES]
    if not any(signs):
        return [(low, high)]
    at_start = signs[0] == 0
    zeros = [start] if at_start else []
    side = sign(start * (1 + 1e-6)) if at_start else signs[0]
    t, fresh = start, at_start
    while True:
        zero = first_zero(side * constant, side * linear, side * residues, levels, t, False, stop, fresh)
        if not zero < stop:
            break
        zeros.append(zero)
        t, fresh, side = zero, True, -side
    if math.isfinite(stop) and sign(stop) == 0:
        zeros.append(stop)
    return [(2 / zero, 2 / zero) for zero in reversed(zeros)]


@dataclass(frozen=True)
class _Node:
    """Scaled energies τΓ of two minima at τ = 1/β, and their slopes −Ψ(p)."""

    tau: float
    energies: tuple[float, float]
    slopes: tuple[float, float]

    @property
    def gap(self) -> float:
        return self.energies[0] - self.energies[1]


def _bisected(
    first: Piece, second: Piece, low: float, high: float, alpha: float
) -> list[tuple[float, float]]:
    """Crossings on one pair of pieces, with the proof that there are no others.

    On a branch of minima τΓ = min_p [−τ Ψ(p) − ½ pᵀGp] is concave in τ = 1/β with slope −Ψ. Between two nodes
    each energy therefore lies above its chord and below its tangents, and each slope between its end
    values: an interval is dropped where these bounds exclude a zero of the difference, and searched
    by sign where they exclude a zero of its slope; otherwise it is halved.
    """

    def node(tau: float) -> _Node:
        states = (first.at(1 / tau), second.at(1 / tau))
        energies = tuple(tau * state.free_energy for state in states)
        slopes = tuple(-float(tsallis_entropy(np.maximum(state.weights, 0), alpha)) for state in states)
        return _Node(tau, (energies[0], energies[1]), (slopes[0], slopes[1]))

    nodes = [node(tau) for tau in np.linspace(1 / high, 1 / low, 5).tolist()]
    noise = _EQUAL * max(abs(energy) for point in nodes for energy in point.energies)
    if all(abs(point.gap) <= noise for point in nodes):
        return [(low, high)]
    zeros: list[float] = []
    waiting = [(left, right, 0) for left, right in pairwise(nodes)][::-1]
    while waiting:
        left, right, depth = waiting.pop()
        width = right.tau - left.tau
        above = max(_sag(left, right, 0), 0.0)
        below = max(_sag(left, right, 1), 0.0)
        gaps = (left.gap, right.gap)
        if min(gaps) > below + noise or max(gaps) < -above - noise:
            continue
        steepest = left.slopes[0] - right.slopes[1]
        flattest = right.slopes[0] - left.slopes[1]
        if steepest < 0 or flattest > 0 or depth == _MAX_DEPTH:
            if left.gap * right.gap < 0:
                root: Any = brentq(lambda tau: node(tau).gap, left.tau, right.tau, xtol=1e-14 * right.tau)
                zeros.append(float(root))
            elif left.gap == 0:
                zeros.append(left.tau)
            continue
        middle = node(left.tau + width / 2)
        waiting += [(middle, right, depth + 1), (left, middle, depth + 1)]
    return [(1 / tau, 1 / tau) for tau in reversed(zeros)]


def _sag(left: _Node, right: _Node, i: int) -> float:
    """How far a concave energy can rise above its chord between two nodes, given its slopes there."""
    width = right.tau - left.tau
    chord = (right.energies[i] - left.energies[i]) / width
    before, after = left.slopes[i] - chord, chord - right.slopes[i]
    return width * before * after / (before + after) if before + after > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An interval of β on which one branch has the lowest free energy of all branches given.

    Attributes
    ----------
    lower, upper : float
        The interval.
    branch : int
        Position of the branch in the sequence given.
    transition : SpecialPoint or None
        What ends the interval at `upper`: a crossing, the end of this branch, or the lower end of the one
        that takes over; None at the end of the range.
    """

    lower: float
    upper: float
    branch: int
    transition: SpecialPoint | None


def equilibrium(branches: Sequence[Branch]) -> tuple[Equilibrium, ...]:
    """Lowest free energy over the branches found: the Maxwell line, from transition to transition.

    Parameters
    ----------
    branches : sequence of Branch
        Followed in β, with the same patterns. Of branches with equal energies the first counts.

    Returns
    -------
    tuple of Equilibrium
        Ascending in β; β where no branch exists is left out.

    Raises
    ------
    InputError
        If there is no branch, or one is not followed in β.
    """
    if not branches:
        raise InputError("there is no branch to choose from: give at least one Branch")
    ends = sorted({end for branch in branches for end in (branch.lower, branch.upper)})
    beta, last = ends[0], ends[-1]
    segments: list[Equilibrium] = []
    opened, point = beta, None
    winner = _lowest(branches, beta)
    while beta < last:
        if winner is None:
            beta = min(branch.lower for branch in branches if branch.lower > beta)
            opened, winner = beta, _lowest(branches, beta)
            continue
        here, point = _next_transition(branches, winner, beta)
        beta = here
        following = _lowest(branches, here) if here < last else None
        if following != winner:
            ended = here >= last and point is None
            segments.append(Equilibrium(opened, here, winner, None if ended else point))
            opened, winner = here, following
    return tuple(segments)


def _lowest(branches: Sequence[Branch], beta: float) -> int | None:
    """Position of the branch of lowest Γ just above β."""
    just_above = beta * (1 + _BESIDE) if beta > 0 else min(1.0, *(branch.upper for branch in branches)) * 1e-6
    energies = {
        i: branch.at(just_above).free_energy
        for i, branch in enumerate(branches)
        if branch.lower <= just_above <= branch.upper
    }
    if not energies:
        return None
    lowest = min(energies.values())
    return next(i for i, energy in energies.items() if energy <= lowest + RESOLUTION * abs(lowest))


def _next_transition(
    branches: Sequence[Branch], winner: int, beta: float
) -> tuple[float, SpecialPoint | None]:
    """The next β above which another branch may be lower, and the special point that makes it so."""
    current = branches[winner]
    best: tuple[float, SpecialPoint | None] = (
        current.upper,
        current.ends[1] if current.ends[1].is_jump else None,
    )
    for branch in branches:
        if branch is current or branch.upper <= beta or branch.lower >= best[0]:
            continue
        start = branch.lower
        if start > beta * (1 + _BESIDE) and branch.at(start).free_energy < current.at(start).free_energy:
            best = (start, branch.ends[0])
            continue
        if min(current.upper, branch.upper) <= max(start, current.lower):
            continue
        for crossing in coexistence(current, branch):
            if beta * (1 + _BESIDE) < crossing.parameter < best[0] and not crossing.degenerate:
                best = (crossing.parameter, crossing)
    return best
