"""One walk along a curve: steps of adapted length, their special points, and how the walk ends.

Each step extrapolates the curve, corrects with a bordered Newton method and is kept only when the two points
lie on one smooth curve: small turn, chord along both tangents, landing no farther from the prediction than
its own curvature explains, and every change of index accounted for by a located special point. Otherwise
the step is halved, so that no jump to another curve goes unseen.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from hopfieldphase.continuation.corrector import Arc, Node, belong_together, correct, node_at
from hopfieldphase.continuation.crossings import Event, StepTooLong, bracket_of
from hopfieldphase.continuation.curve import CurvePointKind, hit
from hopfieldphase.continuation.equations import Equations, Vector
from hopfieldphase.continuation.events import locate
from hopfieldphase.core.errors import InputError

# A landing may lie off the prediction by this part of the step, and of what the curvature term adds to it.
MAX_LANDING = 0.02
MAX_LANDING_OF_CURVATURE = 0.5
# The next step aims at this turn (radians) and at this part of the allowed landing distance.
AIM_TURN = 0.35
AIM_LANDING = 0.3
MAX_GROWTH = 2.0
# A step that lands on a singular point, where the index is accidental, is shortened once to this part.
EVADE = 0.8
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
class Track:
    """What one walk has collected: nodes in order, events by their row, and how it ended."""

    nodes: list[Node]
    events: dict[int, Event]
    end: CurvePointKind = CurvePointKind.STEP_LIMIT


@dataclass(frozen=True)
class Limits:
    """Range of the scaled parameter, and the parameter values that must be hit."""

    low: float
    high: float
    requested: tuple[float, ...]


def limits_of(equations: Equations, p_min: float, p_max: float, requested: Iterable[float]) -> Limits:
    """The range and the requested values in the units of the equations."""
    values = sorted({float(value) for value in requested})
    if values and not p_min <= values[0] <= values[-1] <= p_max:
        raise InputError(
            f"requested values from {values[0]} to {values[-1]} leave the range [{p_min}, {p_max}]: "
            "request values inside, or widen the range"
        )
    scale = equations.parameter_scale
    return Limits(p_min / scale, p_max / scale, tuple(values))


def walk(equations: Equations, nodes: list[Node], limits: Limits, steps: Steps) -> Track:
    """Walk from the last of the given nodes along its tangent until something ends the curve."""
    track = Track(list(nodes), {})
    last = nodes[-1]
    arc = Arc(nodes[0], last) if len(nodes) > 1 else None
    length = steps.first if arc is None else min(steps.first, MAX_REACH * arc.length)
    if _leaves(last, limits):
        track.end = CurvePointKind.RANGE
        return track
    for _ in range(steps.limit):
        evaded = last.singular
        while True:
            if length < steps.smallest:
                track.end = CurvePointKind.SMALLEST_STEP
                return track
            landing = _step(equations, arc, last, length, limits)
            if landing is not None and landing[0].singular and not evaded and not _leaves(landing[0], limits):
                evaded = True  # a singular point, but not a singular stretch
                length *= EVADE
                continue
            if landing is not None:
                try:
                    events = locate(equations, last, landing[0])
                    break
                except StepTooLong:
                    pass
            length *= 0.5
        landed, ease = landing
        if last.singular and not landed.singular and landed.index != last.index:
            _leave_stretch(equations, track, landed)
        arc = Arc(last, landed)
        if _append(equations, track, landed, events, limits):
            return track
        length = min(steps.largest, MAX_REACH * arc.length, arc.length * ease)
        last = landed
    return track


def _leave_stretch(equations: Equations, track: Track, landed: Node) -> None:
    """Say that the index has changed along the stretch of singular points that the walk leaves here."""
    rows = [row for row in range(len(track.nodes)) if track.nodes[row].singular]
    start = next(row for row in reversed(rows) if row - 1 not in rows)
    middle = max((row for row in track.events if row >= start), default=(start + rows[-1]) // 2)
    node = track.nodes[middle]
    event = track.events.get(middle) or Event(
        CurvePointKind.BRANCH_POINT, node, node.index, node.index,
        bracket=bracket_of(equations, *track.nodes[start : rows[-1] + 1]),
    )  # fmt: skip
    track.events[middle] = replace(event, index_after=landed.index)


def _leaves(node: Node, limits: Limits) -> bool:
    """Whether the walk leaves the range at this point."""
    q, speed = float(node.y[-1]), float(node.tangent[-1])
    return (q >= limits.high and speed > 0.0) or (q <= limits.low and speed < 0.0)


def _step(
    equations: Equations, arc: Arc | None, last: Node, length: float, limits: Limits
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
    if node is None or not limits.low <= float(node.y[-1]) <= limits.high:
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
    node = node_at(equations, found, forward, last)
    return node if belong_together(last, node) else None


def _append(equations: Equations, track: Track, landed: Node, events: list[Event], limits: Limits) -> bool:
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


def _fill(equations: Equations, track: Track, node: Node, limits: Limits) -> None:
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


def _snapped(equations: Equations, node: Node, limits: Limits) -> Node:
    """The point with its parameter moved, within rounding, to a requested value or an edge of the range."""
    p = equations.parameter(node.y)
    scale = equations.parameter_scale
    for value in (limits.low * scale, *limits.requested, limits.high * scale):
        if value != p and abs(value - p) <= SNAP * scale:
            y = node.y.copy()
            y[-1] = value / scale
            return replace(node, y=y)
    return node


def _closing_point(equations: Equations, track: Track, landed: Node) -> Vector | None:
    """The start of the walk, where the last step passes it again in the same direction."""
    start, last = track.nodes[0], track.nodes[-1]
    if len(track.nodes) < 3 or float(start.tangent @ landed.tangent) < 0.5:
        return None
    arc = Arc(last, landed)
    u = float((start.y - last.y) @ (landed.y - last.y)) / arc.length**2
    if not 0.0 < u <= 1.0 or _distance(arc.point(u), start.y) > CLOSED_NEAR * arc.length:
        return None
    found = correct(equations, start.y, arc.direction(u))
    if found is None or not belong_together(last, node_at(equations, found, arc.direction(u), last)):
        return None
    return start.y


def _distance(a: Vector, b: Vector) -> float:
    return math.sqrt(float((a - b) @ (a - b)))
