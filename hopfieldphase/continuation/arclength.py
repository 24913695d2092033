"""Pseudo-arclength continuation of F(x, p) = 0: through folds, past branch points, along every arm."""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hopfieldphase.continuation.corrector import Node, belong_together, correct, mirrored, node_at
from hopfieldphase.continuation.crossings import Event
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.equations import Equations, Vector
from hopfieldphase.continuation.stepping import Limits, Steps, limits_of
from hopfieldphase.continuation.switching import arms
from hopfieldphase.continuation.walk import Track, walk
from hopfieldphase.core.errors import InputError

# States at one parameter value that differ by less (in scaled units) are one state.
SAME_STATE = 1e-8
# Distances (in scaled units) at which a curve is met beyond a corner: the last up to which nothing happens.
DEPARTURES = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
# The way to the curve, over the distance, grows by no more than this from one to the next, and at first is no
# more than that: otherwise another curve is met.
MAX_STRETCH = 3.0
FIRST_STRETCH = 1e4


def continue_curve(
    problem: Any,
    x0: ArrayLike,
    p0: float,
    *,
    p_min: float,
    p_max: float,
    requested: Iterable[float] = (),
    direction: int = 0,
    steps: Steps | None = None,
) -> Curve:
    """Follow the curve F(x, p) = 0 through a solution near (x0, p0), both ways to the ends of the range.

    Parameters
    ----------
    problem : Problem, or any object with F, F_x and F_p
        The equations and their derivatives as plain functions of (x, p); see `Problem` for what is optional.
    x0 : array_like, shape (n,), or float for n = 1
        A state near a solution at p0.
    p0 : float
        Start value, inside [p_min, p_max]; it may be an end of the range.
    p_min, p_max : float
        Range of the parameter; the curve ends exactly there.
    requested : iterable of float
        Parameter values that must be among the points, exactly, on every arm that passes them.
    direction : {0, 1, -1}
        0 walks both ways from the start, 1 (−1) only the way that starts with a rising (falling) parameter.
    steps : Steps, optional
        Step lengths and the cap on their number.

    Returns
    -------
    Curve
        Points in order along the curve, in the direction in which the parameter rises at the start, with
        the index of each and the located special points.

    Raises
    ------
    InputError
        If the range is empty or does not contain p0, no solution is found near x0 at p0, or the problem is
        incomplete.

    Notes
    -----
    Folds are located to 1e-12 or better, as zeros of the parameter component of the tangent on corrected
    points. Branch points are told from folds by the sign of the bordered determinant, with the dimension
    of the kernel; `switch_curve` follows the curves that cross there.

    Examples
    --------
    >>> import numpy as np
    >>> import hopfieldphase as hp
    >>> parabola = hp.Problem(
    ...     F=lambda x, p: x**2 - p, F_x=lambda x, p: np.diag(2 * x), F_p=lambda x, p: np.array([-1.0])
    ... )
    >>> curve = hp.continue_curve(parabola, [0.9], 1.0, p_min=-1.0, p_max=1.0)
    >>> [str(point.kind) for point in curve.special_points]
    ['range', 'fold', 'range']
    """
    x = np.atleast_1d(np.asarray(x0, dtype=np.float64))
    if x.ndim != 1 or not np.isfinite(x).all():
        raise InputError(f"x0 has shape {x.shape} or is not finite: give one finite state of shape (n,)")
    if not (-math.inf < p_min <= p0 <= p_max < math.inf and p_min < p_max):
        raise InputError(
            f"p0 = {p0} and the range [{p_min}, {p_max}] do not fit: choose finite p_min <= p0 <= p_max with "
            "p_min < p_max"
        )
    if direction not in (-1, 0, 1):
        raise InputError(f"direction = {direction} is not allowed: use 1, -1, or 0 for both")
    steps = steps or Steps()
    equations = Equations(problem, x, p0, p_max - p_min)
    found = correct(equations, equations.scaled(x, p0), None)
    if found is None:
        raise InputError(
            f"Newton's method finds no solution of F(x, p) = 0 near x0 at p = {p0}: give a better x0, or "
            "another p0 if F_x is singular there"
        )
    upward = np.zeros(len(x) + 1)
    upward[-1] = 1.0
    start = node_at(equations, found, upward)
    limits = limits_of(equations, p_min, p_max, requested)
    if direction:
        start = start if direction > 0 else start.reversed()
        return curve_of(
            equations, Track([start], {}, CurvePointKind.START), walk(equations, [start], limits, steps)
        )
    down = walk(equations, [start.reversed()], limits, steps)
    if down.end is CurvePointKind.CLOSED:
        return curve_of(equations, Track(down.nodes[:1], {}, CurvePointKind.CLOSED), down)
    return curve_of(equations, down, walk(equations, [start], limits, steps))


def continue_curves(
    problem: Any,
    starts: Iterable[ArrayLike],
    p0: float,
    *,
    p_min: float,
    p_max: float,
    requested: Iterable[float] = (),
    steps: Steps | None = None,
) -> tuple[Curve, ...]:
    """Follow the curves through several start states at one parameter value, each curve once.

    A range may cut a curve into arms that are not connected inside it: only a start on each arm finds all.

    Parameters
    ----------
    problem, p0, p_min, p_max, requested, steps
        As in `continue_curve`.
    starts : iterable of array_like, shape (n,)
        States near solutions at p0.

    Returns
    -------
    tuple of Curve
        In the order of the first start on each.

    Raises
    ------
    InputError
        As in `continue_curve`.
    """
    values = tuple(requested)
    curves: list[Curve] = []
    for x0 in starts:
        curve = continue_curve(
            problem, x0, p0, p_min=p_min, p_max=p_max, requested=(p0, *values), steps=steps
        )
        scale = curve.equations.state_scale
        ours = curve.at(p0)
        if not any(
            np.abs(known - state).max() <= SAME_STATE * scale
            for other in curves
            for known in other.at(p0)
            for state in ours
        ):
            curves.append(curve)
    return tuple(curves)


def switch_curve(
    curve: Curve,
    point: CurvePoint,
    *,
    p_min: float,
    p_max: float,
    requested: Iterable[float] = (),
    steps: Steps | None = None,
) -> tuple[Curve, ...]:
    """Follow the other curves that cross a curve at one of its branch points, each arm on its own.

    Parameters
    ----------
    curve : Curve
    point : CurvePoint
        A pitchfork, transcritical or branch point of this curve.
    p_min, p_max, requested, steps
        As in `continue_curve`.

    Returns
    -------
    tuple of Curve
        One curve for each arm, from the branch point on: two at a simple crossing. At a kernel of several
        dimensions, the arms met from the coordinate axes and a fixed set of directions.

    Raises
    ------
    InputError
        If no curves cross at the point.
    """
    crossings = (CurvePointKind.PITCHFORK, CurvePointKind.TRANSCRITICAL, CurvePointKind.BRANCH_POINT)
    if point.kind not in crossings:
        raise InputError(
            f"no curves cross at a special point of kind {point.kind}: choose one of {', '.join(crossings)}"
        )
    equations = curve.equations
    node = curve.nodes[point.row]
    limits = limits_of(equations, p_min, p_max, requested)
    steps = steps or Steps()
    curves: list[Curve] = []
    for arm in arms(equations, node, point.multiplicity):
        first = replace(node, tangent=mirrored(arm.tangent, arm.y - node.y), orientation=arm.orientation)
        track = walk(equations, [first, arm], limits, steps)
        curves.append(curve_of(equations, Track([first], {}, point.kind), track))
    return tuple(curves)


def leave_barrier(
    problem: Any,
    x0: Vector,
    p0: float,
    opening: tuple[int, ...],
    towards: tuple[Vector, float],
    *,
    p_min: float,
    p_max: float,
    requested: Iterable[float] = (),
    steps: Steps | None = None,
) -> Curve | None:
    """Follow a curve from a point on the barriers of its problem into the domain.

    Parameters
    ----------
    problem : Problem, or any object like it
        With barriers; some of them vanish at the start.
    x0, p0 : ndarray, shape (n,), and float
        A solution on the barriers.
    opening : tuple of int
        The monitored functions that vanish there and must become positive.
    towards : tuple of ndarray, shape (n,), and float
        The gradient of their sum in x and p. The curve may have a corner at the start: it is met on planes
        across this direction.
    p_min, p_max, requested, steps
        As in `continue_curve`.

    Returns
    -------
    Curve or None
        From the start on; None when no curve is met inside the domain.
    """
    equations = Equations(problem, x0, p0, p_max - p_min)
    corner = equations.scaled(x0, p0)
    normal = np.append(towards[0] * equations.state_scale, towards[1] * equations.parameter_scale)
    normal /= math.sqrt(float(normal @ normal))
    limits = limits_of(equations, p_min, p_max, requested)
    landed: Node | None = None
    reached = FIRST_STRETCH
    for distance in DEPARTURES:
        found = correct(equations, corner + distance * normal, normal)
        node = None if found is None else node_at(equations, found, found[0] - corner)
        if node is None or not _opens(node, opening, limits):
            continue
        away = math.sqrt(float((node.y - corner) @ (node.y - corner)))
        if away > MAX_STRETCH * reached * distance:
            break
        if landed is not None and (node.index != landed.index or not belong_together(landed, node)):
            break
        landed, reached = node, away / distance
    if landed is None:
        return None
    first = replace(landed, y=corner, tangent=mirrored(landed.tangent, landed.y - corner))
    track = walk(equations, [first, landed], limits, steps or Steps())
    return curve_of(equations, Track([first], {}, CurvePointKind.START), track)


def _opens(node: Node, opening: tuple[int, ...], limits: Limits) -> bool:
    """Whether a point lies in the range and inside all barriers, some of them strictly."""
    inside = bool((node.monitors >= 0.0).all()) and float(node.monitors[list(opening)].min()) > 0.0
    return inside and limits.low <= float(node.y[-1]) <= limits.high


def curve_of(equations: Equations, back: Track, forward: Track) -> Curve:
    """Join a walk backward and a walk forward from the same start."""
    shift = len(back.nodes) - 1
    nodes = [*(node.reversed() for node in back.nodes[:0:-1]), *forward.nodes]
    events = {
        shift - row: replace(event, index_before=event.index_after, index_after=event.index_before)
        for row, event in back.events.items()
    }
    events |= {row + shift: event for row, event in forward.events.items()}
    ends = {0: back.end, len(nodes) - 1: forward.end}
    points: list[CurvePoint] = []
    for row in sorted({*events, *ends}):
        node = nodes[row]
        p = equations.parameter(node.y)
        event = events.get(row) or Event(ends[row], node, node.index, node.index, bracket=(p, p))
        points.append(
            CurvePoint(
                kind=ends.get(row, event.kind),
                row=row,
                parameter=p,
                state=equations.state(node.y),
                index_before=event.index_before,
                index_after=event.index_after,
                multiplicity=event.multiplicity,
                monitors=event.monitors,
                bracket=event.bracket,
                precision=node.error * equations.parameter_scale,
            )
        )
    return Curve(equations, tuple(nodes), tuple(points))
