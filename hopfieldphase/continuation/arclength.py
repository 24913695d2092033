"""Pseudo-arclength continuation of F(x, p) = 0: through folds, past branch points, along every arm.

Each step extrapolates the curve, corrects with a bordered Newton method and is kept only when the two points
lie on one smooth curve: small turn, chord along both tangents, landing no farther from the prediction than
its own curvature explains, and every change of index accounted for by a located special point. Otherwise
the step is halved, so that no jump to another curve goes unseen.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hopfieldphase.continuation.corrector import Arc, Node, belong_together, correct, node_at
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind, hit
from hopfieldphase.continuation.equations import Equations, Vector
from hopfieldphase.continuation.events import Event, StepTooLong, locate
from hopfieldphase.continuation.switching import arms
from hopfieldphase.core.errors import InputError

# A landing may lie off the prediction by this part of the step, and of what the curvature term adds to it.
MAX_LANDING = 0.01
MAX_LANDING_OF_CURVATURE = 0.5
# The next step aims at this turn (radians) and at this part of the allowed landing distance.
AIM_TURN = 0.35
AIM_LANDING = 0.3
MAX_GROWTH = 2.0
# Extrapolation reaches at most this many lengths of the last step.
MAX_REACH = 2.5
# A closed curve is recognized when it passes its start at less than this part of the step.
CLOSED_NEAR = 0.02
# Special points this close to a requested value (in scaled units) are at that value.
SNAP = 1e-13


@dataclass(frozen=True)
class Steps:
    """Lengths of the steps in scaled units (of the state scale and of the parameter range), and their number.

    Parameters
    ----------
    first, largest, smallest : float
        0 < smallest ≤ first ≤ largest.
    limit : int
        Cap on the number of steps in each direction.
    """

    first: float = 0.02
    largest: float = 0.25
    smallest: float = 1e-9
    limit: int = 5000

    def __post_init__(self) -> None:
        if not (0.0 < self.smallest <= self.first <= self.largest < math.inf and self.limit >= 1):
            raise InputError(
                f"{self} is not a set of steps: choose 0 < smallest <= first <= largest and limit >= 1"
            )


@dataclass
class _Track:
    """What one walk has collected: nodes in order, events by their row, and how it ended."""

    nodes: list[Node]
    events: dict[int, Event]
    end: CurvePointKind = CurvePointKind.STEP_LIMIT


@dataclass(frozen=True)
class _Limits:
    low: float
    high: float
    requested: tuple[float, ...]


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
        Points in order along the curve, with tangents, index and located special points.

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
    limits = _limits(equations, p_min, p_max, requested)
    if direction:
        start = start if direction > 0 else start.reversed()
        return _curve(
            equations, _Track([start], {}, CurvePointKind.START), _walk(equations, [start], limits, steps)
        )
    down = _walk(equations, [start.reversed()], limits, steps)
    if down.end is CurvePointKind.CLOSED:
        return _curve(equations, _Track(down.nodes[:1], {}, CurvePointKind.CLOSED), down)
    return _curve(equations, down, _walk(equations, [start], limits, steps))


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
        dimensions, the arms met from the projections of the coordinate axes.

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
    limits = _limits(equations, p_min, p_max, requested)
    steps = steps or Steps()
    curves: list[Curve] = []
    for arm in arms(equations, node, point.multiplicity):
        chord = arm.y - node.y
        first = replace(
            node,
            tangent=2.0 * (chord @ arm.tangent) / (chord @ chord) * chord - arm.tangent,
            orientation=arm.orientation,
        )
        track = _walk(equations, [first, arm], limits, steps)
        curves.append(_curve(equations, _Track([first], {}, point.kind), track))
    return tuple(curves)


def _limits(equations: Equations, p_min: float, p_max: float, requested: Iterable[float]) -> _Limits:
    values = sorted({float(value) for value in requested if p_min < value < p_max})
    scale = equations.parameter_scale
    return _Limits(p_min / scale, p_max / scale, tuple(values))


def _walk(equations: Equations, nodes: list[Node], limits: _Limits, steps: Steps) -> _Track:
    """Walk from the last of the given nodes along its tangent until something ends the curve."""
    track = _Track(list(nodes), {})
    last = nodes[-1]
    arc = Arc(nodes[0], last) if len(nodes) > 1 else None
    length = steps.first
    if _leaves(last, limits):
        track.end = CurvePointKind.RANGE
        return track
    for _ in range(steps.limit):
        while True:
            if length < steps.smallest:
                track.end = CurvePointKind.SMALLEST_STEP
                return track
            landing = _step(equations, arc, last, length, limits)
            if landing is not None:
                try:
                    events = locate(equations, last, landing[0])
                    break
                except StepTooLong:
                    pass
            length *= 0.5
        landed, ease = landing
        arc = Arc(last, landed)
        if _append(equations, track, landed, events, limits):
            return track
        length = min(steps.largest, MAX_REACH * arc.length, arc.length * ease)
        last = landed
    return track


def _leaves(node: Node, limits: _Limits) -> bool:
    """Whether the walk leaves the range at this point."""
    q, speed = float(node.y[-1]), float(node.tangent[-1])
    return (q >= limits.high and speed > 0.0) or (q <= limits.low and speed < 0.0)


def _step(
    equations: Equations, arc: Arc | None, last: Node, length: float, limits: _Limits
) -> tuple[Node, float] | None:
    """The point a step lands on and how much longer the next one may be; None where it must be shorter."""

    def predict(reach: float) -> Vector:
        return last.y + reach * last.tangent if arc is None else arc.point(1.0 + reach / arc.length)

    guess = predict(length)
    straight = last.y + length * last.tangent
    allowed = MAX_LANDING * length + MAX_LANDING_OF_CURVATURE * _distance(guess, straight)
    normal = last.tangent if arc is None else arc.direction(1.0 + length / arc.length)
    q, ahead = float(last.y[-1]), float(guess[-1])
    if not limits.low < ahead < limits.high:
        edge = limits.high if ahead >= limits.high else limits.low
        on_edge = predict(length * (edge - q) / (ahead - q))
        on_edge[-1] = edge
        node = _land(equations, last, on_edge, None, normal)
        if node is not None:
            return node, 1.0
    node = _land(equations, last, guess, normal, normal)
    if node is None or node.singular or not limits.low <= float(node.y[-1]) <= limits.high:
        return None
    landing = _distance(node.y, guess)
    if landing > allowed:
        return None
    turn = math.acos(min(1.0, float(last.tangent @ node.tangent)))
    ease = min(
        MAX_GROWTH, AIM_TURN / max(turn, 1e-3), (AIM_LANDING * allowed / max(landing, 1e-12)) ** (1 / 3)
    )
    return node, max(ease, 0.5)


def _land(
    equations: Equations, last: Node, guess: Vector, normal: Vector | None, forward: Vector
) -> Node | None:
    found = correct(equations, guess, normal)
    if found is None:
        return None
    node = node_at(equations, found, forward)
    return node if belong_together(last, node) else None


def _append(equations: Equations, track: _Track, landed: Node, events: list[Event], limits: _Limits) -> bool:
    """Add one step with its special points and requested values; True when the curve ends on it."""
    closing = _closing_point(equations, track, landed)
    if closing is not None:
        position = float(closing @ landed.tangent)
        events = [event for event in events if float(event.node.y @ landed.tangent) < position]
    for event in events:
        node = _snapped(equations, event.node, limits)
        if not limits.low <= float(node.y[-1]) <= limits.high:
            edge = limits.high if float(node.y[-1]) > limits.high else limits.low
            landed = hit(equations, track.nodes[-1], node, edge * equations.parameter_scale)
            break
        _fill(equations, track, node, limits)
        track.events[len(track.nodes) - 1] = replace(event, node=node)
        if equations.barrier and event.kind is CurvePointKind.MONITOR:
            track.end = CurvePointKind.BARRIER
            return True
    if closing is not None:
        landed = replace(landed, y=closing, tangent=track.nodes[0].tangent)
        track.end = CurvePointKind.CLOSED
    elif float(landed.y[-1]) in (limits.low, limits.high):
        track.end = CurvePointKind.RANGE
    _fill(equations, track, landed, limits)
    return track.end is not CurvePointKind.STEP_LIMIT


def _fill(equations: Equations, track: _Track, node: Node, limits: _Limits) -> None:
    """Append a point, and before it the requested values that lie between it and the last one."""
    last = track.nodes[-1]
    if not np.any(last.y != node.y):
        track.nodes[-1] = node
        return
    low, high = sorted((equations.parameter(last.y), equations.parameter(node.y)))
    values = [value for value in limits.requested if low < value < high]
    if float(node.y[-1]) < float(last.y[-1]):
        values.reverse()
    for value in values:
        track.nodes.append(hit(equations, track.nodes[-1], node, value))
    track.nodes.append(node)


def _snapped(equations: Equations, node: Node, limits: _Limits) -> Node:
    """The point with its parameter moved, within rounding, to a requested value or an edge of the range."""
    p = equations.parameter(node.y)
    scale = equations.parameter_scale
    for value in (limits.low * scale, *limits.requested, limits.high * scale):
        if value != p and abs(value - p) <= SNAP * scale:
            y = node.y.copy()
            y[-1] = value / scale
            return replace(node, y=y)
    return node


def _closing_point(equations: Equations, track: _Track, landed: Node) -> Vector | None:
    """The start of the walk, where the last step passes it again in the same direction."""
    start, last = track.nodes[0], track.nodes[-1]
    if len(track.nodes) < 3 or float(start.tangent @ landed.tangent) < 0.5:
        return None
    arc = Arc(last, landed)
    u = float((start.y - last.y) @ (landed.y - last.y)) / arc.length**2
    if not 0.0 < u <= 1.0 or _distance(arc.point(u), start.y) > CLOSED_NEAR * arc.length:
        return None
    found = correct(equations, start.y, arc.direction(u))
    if found is None or not belong_together(last, node_at(equations, found, arc.direction(u))):
        return None
    return start.y


def _curve(equations: Equations, back: _Track, forward: _Track) -> Curve:
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


def _distance(a: Vector, b: Vector) -> float:
    return math.sqrt(float((a - b) @ (a - b)))
