"""Equal free energies: where two branches coexist."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
from scipy.optimize import brentq

from hopfieldphase.continuation.active_set import ExactPiece
from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint
from hopfieldphase.continuation.face import RESOLUTION, Face
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.tsallis import tsallis_entropy
from hopfieldphase.kernels.active_set import first_zero
from hopfieldphase.phases.stretches import Stretch, stable_stretches

NOISE = 32 * float(np.finfo(np.float64).eps)
"""Relative difference of free energies below which they are equal."""

PRECISION = 1e-11
"""Relative precision of crossings of branches that are not exact."""

# Where the closed form is probed for being zero throughout.
_PROBES = (0.0, 0.21, 0.43, 0.68, 1.0)
# Relative difference of computed, not exact, energies below which they are equal.
_EQUAL = 1e-12
_MAX_DEPTH = 30
# Relative length below which an interval of equal energies is a point.
_NO_LENGTH = 1e-7


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
        check_parameter(branch)
    lower, upper = max(a.lower, b.lower), min(a.upper, b.upper)
    if lower > upper * (1 + RESOLUTION):
        raise InputError(
            f"the branches live on [{a.lower:.12g}, {a.upper:.12g}] and [{b.lower:.12g}, {b.upper:.12g}]: "
            "they have no common interval, choose two branches that overlap in beta"
        )
    if lower >= upper * (1 - RESOLUTION):
        return _meeting(a, b, min(max(lower, a.lower), a.upper), min(max(lower, b.lower), b.upper))
    pairs = product(stable_stretches(a), stable_stretches(b))
    points = [point for first, second in pairs for point in crossings(first, second, a.model.alpha)]
    return tuple(sorted(points, key=lambda point: point.parameter))


def all_coexistence(branches: Sequence[Branch]) -> tuple[tuple[int, int, SpecialPoint], ...]:
    """Every crossing of free energies among branches, also of two stable arms of one branch.

    Parameters
    ----------
    branches : sequence of Branch
        Followed in β, with the same patterns.

    Returns
    -------
    tuple of (int, int, SpecialPoint)
        Positions of the two branches, the smaller first, and the point as `coexistence` gives it.

    Raises
    ------
    InputError
        If a branch is not followed in β.
    """
    found: list[tuple[int, int, SpecialPoint]] = []
    for i, a in enumerate(branches):
        for first, second in combinations(stable_stretches(a), 2):
            found += [(i, i, point) for point in crossings(first, second, a.model.alpha)]
        for j in range(i + 1, len(branches)):
            b = branches[j]
            if max(a.lower, b.lower) <= min(a.upper, b.upper) * (1 + RESOLUTION):
                found += [(i, j, point) for point in coexistence(a, b)]
    return tuple(found)


def crossings(first: Stretch, second: Stretch, alpha: float) -> list[SpecialPoint]:
    """Every crossing of the free energies of two stretches, ascending in β."""
    if all(isinstance(piece, ExactPiece) for piece in (*first.pieces, *second.pieces)):
        pairs: list[tuple[Piece, Piece] | tuple[Stretch, Stretch]] = list(_common(first, second))
    else:
        pairs = [(first, second)]
    points: list[SpecialPoint] = []
    for a, b in pairs:
        low, high = max(a.lower, b.lower), min(a.upper, b.upper)
        if low >= high * (1 - RESOLUTION):
            continue
        if isinstance(a, ExactPiece) and isinstance(b, ExactPiece):
            intervals = _exact(a.face, b.face, low, high)
        else:
            intervals = _bisected(a, b, low, high, alpha)
        for found_low, found_high in intervals:
            point = _point(a, b, found_low, found_high)
            joins = points and point.bracket[0] <= points[-1].bracket[1] * (1 + 2 * RESOLUTION)
            if joins:
                points[-1] = _joined(points[-1], point)
            else:
                points.append(point)
    return points


def _common(a: Stretch, b: Stretch) -> Iterator[tuple[Piece, Piece]]:
    """Pairs of pieces that share an interval of β, ascending."""
    pairs = [
        (first, second)
        for first, second in product(a.pieces, b.pieces)
        if max(first.lower, second.lower) < min(first.upper, second.upper) * (1 - RESOLUTION)
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


def _point(first: Piece | Stretch, second: Piece | Stretch, low: float, high: float) -> SpecialPoint:
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
    first: Piece | Stretch, second: Piece | Stretch, low: float, high: float, alpha: float
) -> list[tuple[float, float]]:
    """Crossings of two minima as intervals of β, with the proof that there are no others.

    Along minima τΓ = min_p [−τ Ψ(p) − ½ pᵀGp] is concave in τ = 1/β with the continuous slope −Ψ. Between two
    nodes each energy therefore lies above its chord and below its tangents, and each slope between its end
    values: an interval is dropped where these bounds exclude a zero of the difference, and searched by sign
    where they exclude a zero of its slope; otherwise it is halved. Energies that agree to rounding at both
    ends and in the middle of an interval agree on all of it.
    """
    known: dict[float, _Node] = {}

    def node(tau: float) -> _Node:
        beta = min(max(1 / tau, low), high)
        states = (first.at(beta), second.at(beta))
        energies = tuple(tau * state.free_energy for state in states)
        slopes = tuple(-float(tsallis_entropy(np.maximum(state.weights, 0), alpha)) for state in states)
        known[tau] = _Node(tau, (energies[0], energies[1]), (slopes[0], slopes[1]))
        return known[tau]

    nodes = [node(tau) for tau in np.linspace(1 / high, 1 / low, 5).tolist()]
    noise = _EQUAL * max(abs(energy) for point in nodes for energy in point.energies)
    roots: list[tuple[float, float]] = []
    flat: list[tuple[float, float]] = []
    waiting = [(left, right, 0) for left, right in pairwise(nodes)]
    while waiting:
        left, right, depth = waiting.pop()
        gaps = (left.gap, right.gap)
        above = max(_sag(left, right, 0), 0.0)
        below = max(_sag(left, right, 1), 0.0)
        if min(gaps) > below + noise or max(gaps) < -above - noise:
            continue
        level = [end.tau for end in (left, right) if abs(end.gap) <= noise]
        steepest = left.slopes[0] - right.slopes[1]
        flattest = right.slopes[0] - left.slopes[1]
        if steepest < 0 or flattest > 0 or depth == _MAX_DEPTH:
            flat += [(tau, tau) for tau in level]
            if not level and gaps[0] * gaps[1] < 0:
                root: Any = brentq(lambda tau: node(tau).gap, left.tau, right.tau, xtol=1e-14 * right.tau)
                roots.append((1 / float(root), 1 / float(root)))
            continue
        middle = node(left.tau + (right.tau - left.tau) / 2)
        if len(level) == 2 and abs(middle.gap) <= noise:
            flat.append((left.tau, right.tau))
        else:
            waiting += [(left, middle, depth + 1), (middle, right, depth + 1)]
    signs = sorted(
        (tau, math.copysign(1, point.gap)) for tau, point in known.items() if abs(point.gap) > noise
    )
    found = sorted([*roots, *_level_intervals(flat, signs)])
    # 1/(1/β) may lie beside β.
    return [(min(max(start, low), high), min(max(stop, low), high)) for start, stop in found]


def _level_intervals(
    flat: list[tuple[float, float]], signs: list[tuple[float, float]]
) -> Iterator[tuple[float, float]]:
    """Intervals of β of equal energies, and among those of no length the crossings; contacts are left out.

    `flat` holds the intervals of τ, `signs` the sign of the difference at all other nodes.
    """
    joined: list[tuple[float, float]] = []
    for start, stop in sorted(flat):
        if joined and start <= joined[-1][1] * (1 + _NO_LENGTH):
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    for start, stop in joined:
        before = [sign for tau, sign in signs if tau < start]
        after = [sign for tau, sign in signs if tau > stop]
        if stop > start * (1 + _NO_LENGTH):
            yield 1 / stop, 1 / start
        elif before and after and before[-1] != after[0]:
            yield 2 / (start + stop), 2 / (start + stop)


def _sag(left: _Node, right: _Node, i: int) -> float:
    """How far a concave energy can rise above its chord between two nodes, given its slopes there."""
    width = right.tau - left.tau
    chord = (right.energies[i] - left.energies[i]) / width
    before, after = left.slopes[i] - chord, chord - right.slopes[i]
    return width * before * after / (before + after) if before + after > 0 else 0.0


def check_parameter(branch: Branch) -> None:
    """Raise `InputError` for anything but a branch that was followed in β."""
    if not isinstance(branch, Branch):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"a {type(branch).__name__} is no branch of the Tsallis family: for those of attention maps that "
            "have a free energy use map_coexistence"
        )
    if branch.parameter != "beta":
        raise InputError(
            f"a branch was followed in {branch.parameter}: free energies are compared along beta, "
            "follow both branches in beta"
        )
