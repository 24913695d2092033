"""Curves of piecewise smooth equations, followed from piece to piece across their corners.

On both sides of a corner F has one value and two Jacobians, which differ by a matrix of rank one, u bᵀ: b is
normal to the surface where the pieces meet. The other piece of the curve is met on a plane across b.
"""

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from hopfieldphase.continuation.arclength import curve_of
from hopfieldphase.continuation.corrector import Node, correct, node_at
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.equations import Equations, Matrix, Vector
from hopfieldphase.continuation.stepping import Limits, Steps
from hopfieldphase.continuation.walk import Track, walk

CORNER = 1_000
"""Stands for a corner among the monitored functions of a `MONITOR` point."""

MAX_CORNERS = 500

# All lengths are in scaled units. Both Jacobians are taken this far from the corner, and F may change between
# by no more than STEEP times that: else it jumps. Points farther than BEFORE from it lie on their own side.
ASIDE = 1e-6
STEEP = 1e3
BEFORE = 3e-6
# A difference of Jacobians below this part of them is none, and another singular value above this part of the
# first is one of another rank than one.
KINK = 1e-4
RANK_ONE = 0.1
# Distances of the plane, and how much longer the way to the curve may be.
PLANES = (1e-6, 1e-5, 1e-4)
STRETCH = 1e4
# The curve must leave the corner along its own tangent, to this cosine.
STRAIGHT = 0.98


def across_corners(curve: Curve, limits: Limits, steps: Steps) -> Curve:
    """The curve with what lies beyond the corners that end it, at both ends.

    Parameters
    ----------
    curve : Curve
    limits : Limits
        Range and requested values, in the units of its equations.
    steps : Steps
        Step lengths and their cap, for each piece.

    Returns
    -------
    Curve
        Its corners are `MONITOR` points of the function `CORNER`.
    """
    return _reversed(_extended(_reversed(_extended(curve, limits, steps)), limits, steps))


def _extended(curve: Curve, limits: Limits, steps: Steps) -> Curve:
    for _ in range(MAX_CORNERS):
        if curve.special_points[-1].kind is not CurvePointKind.SMALLEST_STEP:
            break
        node = _beyond(curve)
        if node is None:
            break
        track = walk(curve.equations, [node], limits, steps)
        if len(track.nodes) == 1:
            break
        start = Track([node], {}, CurvePointKind.START)
        curve = _joined(curve, curve_of(curve.equations, start, track), steps.smallest)
    return curve


def _beyond(curve: Curve) -> Node | None:
    """A point of the next piece of the curve, or None where it is no corner that ends this one."""
    equations, end = curve.equations, curve.nodes[-1]
    # The end itself may lie on the other side by rounding: the way there is that of the last point before.
    before = next((node for node in reversed(curve.nodes) if apart(node, end) > BEFORE), None)
    if before is None:
        return None
    normal = _normal(equations, end.y, before.tangent)
    if normal is None:
        return None
    for distance in PLANES:
        found = correct(equations, end.y + distance * normal, normal)
        if found is None:
            continue
        chord = found[0] - end.y
        length = math.sqrt(float(chord @ chord))
        node = node_at(equations, found, chord)
        if length <= STRETCH * distance and float(node.tangent @ chord) >= STRAIGHT * length:
            return node
    return None


def apart(a: Node, b: Node) -> float:
    """Distance of two points."""
    return math.sqrt(float((a.y - b.y) @ (a.y - b.y)))


def _normal(equations: Equations, y: Vector, tangent: Vector) -> Vector | None:
    """Unit vector across the surface of a corner at y, pointing out of the piece that ends there."""
    sides = [_values(equations, y + step * tangent) for step in (-ASIDE, ASIDE)]
    (before, inside), (after, outside) = sides
    size = float(np.abs(inside).max())
    kink = outside - inside
    if not (np.isfinite(kink).all() and np.abs(after - before).max() <= STEEP * ASIDE * size):
        return None
    _, values, rows = np.linalg.svd(kink)
    if not (values[0] > KINK * size and (len(values) == 1 or values[1] <= RANK_ONE * values[0])):
        return None
    normal = np.asarray(rows[0], dtype=np.float64)
    return normal if float(normal @ tangent) > 0 else -normal


def _values(equations: Equations, y: Vector) -> tuple[Vector, Matrix]:
    """F and its derivatives by the scaled unknowns, shape (n, n + 1)."""
    linear = equations.linearize(y)
    if linear is None:
        return np.full(equations.n, np.nan), np.full((equations.n, equations.n + 1), np.nan)
    return linear.residual, np.column_stack([equations.jacobian(y), linear.slope])


def _joined(curve: Curve, beyond: Curve, missed: float) -> Curve:
    """Two pieces as one curve; the corner is the last point of the first, to the length `missed`."""
    shift = len(curve.nodes)
    last, first = curve.special_points[-1], beyond.nodes[0]
    corner = replace(
        last,
        kind=CurvePointKind.MONITOR,
        monitors=(CORNER,),
        index_before=curve.nodes[-1].index,
        index_after=first.index,
        bracket=_bracket(last.parameter, curve.equations.parameter(first.y)),
        precision=missed * curve.equations.parameter_scale,
    )
    points = (*curve.special_points[:-1], corner, *_shifted(beyond.special_points[1:], shift))
    return Curve(curve.equations, (*curve.nodes, *beyond.nodes), points)


def _shifted(points: Iterable[CurvePoint], shift: int) -> tuple[CurvePoint, ...]:
    return tuple(replace(point, row=point.row + shift) for point in points)


def _reversed(curve: Curve) -> Curve:
    last = len(curve.nodes) - 1
    points = tuple(
        replace(point, row=last - point.row, index_before=point.index_after, index_after=point.index_before)
        for point in reversed(curve.special_points)
    )
    return Curve(curve.equations, tuple(node.reversed() for node in reversed(curve.nodes)), points)


def _bracket(a: float, b: float) -> tuple[float, float]:
    return min(a, b), max(a, b)
