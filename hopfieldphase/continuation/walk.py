"""One walk along a curve: steps of adapted length, their special points, and how the walk ends.

A step is kept only when every change of index along it is accounted for by a located special point.
"""

from dataclasses import dataclass, replace

import numpy as np

from hopfieldphase.continuation.corrector import Arc, Node, belong_together, correct, node_at
from hopfieldphase.continuation.crossings import Event, StepTooLong, bracket_of
from hopfieldphase.continuation.curve import CurvePointKind, hit
from hopfieldphase.continuation.equations import Equations, Vector
from hopfieldphase.continuation.events import locate
from hopfieldphase.continuation.stepping import MAX_REACH, Landing, Limits, Predictor, Steps, step

# A step that lands on a singular point, where the index is accidental, is shortened once to this part.
EVADE = 0.8
# A closed curve is recognized when it passes its start at less than this part of the step.
CLOSED_NEAR = 0.02
# Special points this close to a requested value (in scaled units) are at that value.
SNAP = 1e-13


@dataclass
class Track:
    """What one walk has collected: nodes in order, events by their row, and how it ended."""

    nodes: list[Node]
    events: dict[int, Event]
    end: CurvePointKind = CurvePointKind.STEP_LIMIT


def walk(equations: Equations, nodes: list[Node], limits: Limits, steps: Steps) -> Track:
    """Walk from the last of the given nodes along its tangent until something ends the curve."""
    track = Track([nodes[0]], {})
    for node in nodes[1:]:
        _fill(equations, track, node, limits)
    predictor = Predictor(nodes[-1], Arc(nodes[0], nodes[-1]) if len(nodes) > 1 else None)
    length = steps.first
    if limits.left_at(nodes[-1]):
        track.end = CurvePointKind.RANGE
        return track
    for _ in range(steps.limit):
        last = predictor.last
        if predictor.arc is not None:
            length = min(length, MAX_REACH * predictor.arc.length)
        found = _next(equations, predictor, length, limits, steps)
        if found is None:
            track.end = CurvePointKind.SMALLEST_STEP
            return track
        landing, arc, events = found
        landed = landing.node
        if last.singular and not landed.singular and landed.index != last.index:
            _leave_stretch(equations, track, landed)
        if _append(equations, track, arc, events, limits):
            return track
        if landing.barrier is not None:
            _end_on_barrier(equations, track, landing, limits)
            return track
        predictor = Predictor(landed, arc)
        length = min(steps.largest, arc.length * landing.ease)
    return track


def _next(
    equations: Equations, predictor: Predictor, length: float, limits: Limits, steps: Steps
) -> tuple[Landing, Arc, list[Event]] | None:
    """The next landing with the special points before it, the step halved until it holds, or None."""
    last = predictor.last
    evaded = last.singular
    while length >= steps.smallest:
        landing = step(equations, predictor, length, limits)
        if landing and landing.node.singular and not evaded and not limits.left_at(landing.node):
            evaded = True  # a singular point, but not a singular stretch
            length *= EVADE
            continue
        if landing:
            arc = Arc(last, landing.node)
            try:
                return landing, arc, locate(equations, arc)
            except StepTooLong:
                pass
        length *= 0.5
    return None


def _end_on_barrier(equations: Equations, track: Track, landing: Landing, limits: Limits) -> None:
    inside, barrier = landing.node, landing.barrier
    assert barrier is not None
    _fill(equations, track, barrier, limits)
    track.events[len(track.nodes) - 1] = Event(
        CurvePointKind.MONITOR,
        barrier,
        inside.index,
        inside.index,
        len(landing.patterns),
        landing.patterns,
        bracket_of(equations, inside, barrier),
    )
    track.end = CurvePointKind.BARRIER


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
    for row in range(middle + 1, len(track.nodes)):
        track.nodes[row] = replace(track.nodes[row], index=landed.index)


def _append(equations: Equations, track: Track, arc: Arc, events: list[Event], limits: Limits) -> bool:
    """Add one step with its special points and requested values; True when the curve ends on it."""
    landed = arc.stop
    closing = _closing_point(equations, track, arc)
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


def _closing_point(equations: Equations, track: Track, arc: Arc) -> Vector | None:
    """The start of the walk, where the last step passes it again in the same direction."""
    start, last, landed = track.nodes[0], arc.start, arc.stop
    if len(track.nodes) < 3 or float(start.tangent @ landed.tangent) < 0.5:
        return None
    u = float((start.y - last.y) @ (landed.y - last.y)) / arc.length**2
    if not 0.0 < u <= 1.0:
        return None
    aside = arc.point(u) - start.y
    if float(aside @ aside) > (CLOSED_NEAR * arc.length) ** 2:
        return None
    found = correct(equations, start.y, arc.direction(u))
    if found is None or not belong_together(last, node_at(equations, found, arc.direction(u), last)):
        return None
    return start.y
