"""Singular points where the curve goes on: located on an arc so short that its interpolant is the curve.

The corrector loses digits in proportion to the inverse distance from a singular point, cubic interpolation
gains four for each one: the point is read off the interpolant between two neighbours at a fixed distance.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.corrector import Arc, Node, belong_together, correct, node_at, node_on_arc
from hopfieldphase.continuation.curve import CurvePointKind
from hopfieldphase.continuation.equations import Equations, Matrix
from hopfieldphase.continuation.roots import find_root
from hopfieldphase.continuation.switching import crossing_kind

# Largest distance (in scaled units) between the two neighbours.
SINGULAR_ARC = 1e-3
# A residual below this part of the derivatives nearby is that of a solution.
SOLVED = 1e-6
# Rounding of a point, divided by its distance from the singularity.
ROUNDING = 1e-15
# What has fallen to this part of its value at the neighbours vanishes, and vanishes together.
TOGETHER = 1e-6


class StepTooLong(Exception):
    """The two ends of the step do not lie on one smooth curve."""


@dataclass(frozen=True, eq=False, slots=True)
class Event:
    """A special point as it is found, before it has a place in a curve."""

    kind: CurvePointKind
    node: Node
    index_before: int
    index_after: int
    multiplicity: int = 1
    monitors: tuple[int, ...] = ()
    bracket: tuple[float, float] = (math.nan, math.nan)


class _Spectrum:
    """Eigenvalues of F_x along the interpolated arc, by rising real part."""

    def __init__(self, equations: Equations, arc: Arc) -> None:
        self._equations = equations
        self._arc = arc
        self._known: dict[float, NDArray[np.complex128]] = {}

    def __call__(self, u: float) -> NDArray[np.complex128]:
        if u not in self._known:
            linear = self._equations.linearize(self._arc.point(u))
            if linear is None:
                raise StepTooLong
            self._known[u] = linear.spectrum()
        return self._known[u]

    def vanishing(self, u: float) -> NDArray[np.bool_]:
        """Which eigenvalues have a real part that vanishes there, seen from the ends."""
        ends = np.maximum(np.abs(self(0.0).real), np.abs(self(1.0).real))
        return np.abs(self(u).real) <= TOGETHER * ends

    def zero(self, j: int) -> float:
        """Where the real part of eigenvalue j changes sign."""
        start, stop = float(self(0.0)[j].real), float(self(1.0)[j].real)
        if start * stop > 0.0:
            raise StepTooLong
        return find_root(lambda u: float(self(u)[j].real), start, stop, start / (start - stop))


def crossings(equations: Equations, a: Node, b: Node, turns_back: bool) -> list[Event]:
    """Points between two near neighbours at which eigenvalues change sign, or the parameter turns back."""
    arc = Arc(a, b)
    if turns_back:
        return [_event(equations, arc, arc.turning_points()[0], _turning, a.index, b.index)]
    spectrum = _Spectrum(equations, arc)
    places: dict[int, float] = {}
    for j in range(min(a.index, b.index), max(a.index, b.index)):
        if not any(spectrum.vanishing(u)[j] for u in places.values()):
            places[j] = spectrum.zero(j)
    events: list[Event] = []
    index = a.index
    for j, u in sorted(places.items(), key=lambda place: place[1]):

        def zero(fine: Arc, j: int = j) -> float:
            return _Spectrum(equations, fine).zero(j)

        event = _event(equations, arc, u, zero, index, b.index)
        if len(events) + 1 < len(places):
            index += event.multiplicity if b.index > a.index else -event.multiplicity
            event = replace(event, index_after=index)
        events.append(event)
    return events


def negative_space(equations: Equations, node: Node) -> Matrix:
    """Eigenvectors (n, index) of the negative eigenvalues of a symmetric F_x."""
    values, vectors = np.linalg.eigh(equations.jacobian(node.y))
    return vectors[:, values < 0.0]


def highest_on(equations: Equations, space: Matrix, node: Node) -> float:
    """Largest eigenvalue of F_x restricted to a space: positive when one direction is no longer negative."""
    return float(np.linalg.eigvalsh(space.T @ equations.jacobian(node.y) @ space)[-1])


def exchange(equations: Equations, a: Node, b: Node, space: Matrix) -> Event | None:
    """The point between two near neighbours of equal index at which eigenvalues cross zero both ways.

    `space` holds the negative directions at a, one of which is no longer negative at b.
    """

    def zero(fine: Arc) -> float:
        def highest(u: float) -> float:
            return float(np.linalg.eigvalsh(space.T @ equations.jacobian(fine.point(u)) @ space)[-1])

        start, stop = highest(0.0), highest(1.0)
        if start * stop > 0.0:
            raise StepTooLong
        return find_root(highest, start, stop, start / (start - stop))

    arc = Arc(a, b)
    event = _event(equations, arc, zero(arc), zero, a.index, b.index)
    return event if event.multiplicity > 1 else None


def dip(equations: Equations, arc: Arc) -> float | None:
    """Inner fraction at which a monitored function seems to have another sign than at both ends, if any.

    Judged by the parabola through its values at the ends and at the middle of the interpolant.
    """
    start, stop = arc.start.monitors, arc.stop.monitors
    middle = equations.monitors(arc.point(0.5))
    bend = 2.0 * (start - 2.0 * middle + stop)
    slope = stop - start - bend
    inside = (slope * bend < 0.0) & (np.abs(slope) < 2.0 * np.abs(bend)) & ((start < 0.0) == (stop < 0.0))
    where = np.flatnonzero(inside)
    if not where.size:
        return None
    u = slope[where] / (-2.0 * bend[where])
    lowest = start[where] + 0.5 * slope[where] * u
    turned = np.flatnonzero((lowest < 0.0) != (start[where] < 0.0))
    return float(u[turned[np.argmax(np.abs(lowest[turned]))]]) if turned.size else None


def bracket_of(equations: Equations, *nodes: Node) -> tuple[float, float]:
    """The parameter interval that the nodes span."""
    values = [equations.parameter(node.y) for node in nodes]
    return min(values), max(values)


def _turning(fine: Arc) -> float:
    turns = fine.turning_points()
    if not turns:
        raise StepTooLong
    return min(turns, key=lambda turn: abs(turn - 0.5))


def _event(
    equations: Equations, arc: Arc, u: float, zero: Callable[[Arc], float], before: int, after: int
) -> Event:
    """The singular point near the fraction u, where `zero` finds it on the fine arc around it.

    Both neighbours are taken at equal distances, so that neither of them is spoiled by the singularity.
    """
    width = min(SINGULAR_ARC, arc.length)
    half = 0.5 * width / arc.length
    left, right = (_sharpened(equations, arc, place) for place in (u - half, u + half))
    if not belong_together(left, right):
        raise StepTooLong
    fine = Arc(left, right)
    u = zero(fine)
    if fine.length > 2.0 * width or not _solves(equations, fine, u):
        raise StepTooLong
    spectrum = _Spectrum(equations, fine)
    values, vanishing = spectrum(u), spectrum.vanishing(u)
    multiplicity = max(1, int(vanishing.sum()))
    node = replace(
        left,
        y=fine.point(u),
        tangent=fine.direction(u),
        index=int(np.count_nonzero((values.real < 0.0) & ~vanishing)),
        monitors=equations.monitors(fine.point(u)),
        error=max(left.error, right.error, ROUNDING / width),
        singular=True,
    )
    if np.abs(values[vanishing].imag).max(initial=0.0) > TOGETHER * np.abs(values).max():
        kind = CurvePointKind.HOPF
    elif multiplicity > 1:
        kind = CurvePointKind.BRANCH_POINT
    else:
        kind = crossing_kind(equations, node, turns_back=zero is _turning)
    return Event(kind, node, before, after, multiplicity, bracket=bracket_of(equations, left, node, right))


def _solves(equations: Equations, arc: Arc, u: float) -> bool:
    """Whether the interpolated point is a solution, as measured by the derivatives at its neighbour."""
    linear = equations.linearize(arc.start.y)
    residual = np.abs(equations.residual(arc.point(u))).max()
    return linear is not None and bool(residual <= SOLVED * linear.size)


def _sharpened(equations: Equations, arc: Arc, u: float) -> Node:
    """A point of the arc whose tangent is that of its last digit: close to a singularity both differ."""
    rough = node_on_arc(equations, arc, u)
    found = None if rough is None else correct(equations, rough.y, rough.tangent)
    if rough is None or found is None:
        raise StepTooLong
    return node_at(equations, found, rough.tangent)
