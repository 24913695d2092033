"""Special points inside one step of a curve: found from sign changes at its ends, then located.

With t the unit tangent and B = (F_x F_p; t) the bordered matrix, sign det B = sign det F_x · sign t_p. Along
a smooth curve t_p changes sign at folds and det B where curves cross, so that both kinds, their pairs and
their coincidences are told apart by three integers at the ends of a step: sign t_p, index, sign det B.
Eigenvalues that cross zero both ways at once change none of them, but the space of negative directions.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from hopfieldphase.continuation.corrector import Arc, Node, belong_together, node_on_arc
from hopfieldphase.continuation.crossings import (
    SINGULAR_ARC,
    TOGETHER,
    Event,
    StepTooLong,
    bracket_of,
    crossings,
    dip,
    exchange,
    highest_on,
    negative_space,
)
from hopfieldphase.continuation.curve import CurvePointKind
from hopfieldphase.continuation.equations import NEUTRAL, Equations
from hopfieldphase.continuation.roots import find_root

# A parameter that slows down to this part of its speed at both ends may turn back twice in between.
SLOW = 0.1
FURTHER = 0.9
# Folds closer than this (in scaled units) are one point.
CLOSEST = 1e-6
# Arcs longer than this (in scaled units) are looked at in their middle.
LONG = 0.05
# Below this speed the parameter stands still for longer than a rounding error, and at a fold.
VERTICAL = 1e-9
STANDS = 3e-13


def locate(equations: Equations, arc: Arc) -> list[Event]:
    """All special points between the two ends of an arc, in order.

    Raises
    ------
    StepTooLong
        When the points between a and b do not join them smoothly: a and b lie on two curves.
    """
    a, b = arc.start, arc.stop
    marks = [] if equations.barrier else _monitor_events(equations, a, b)
    # The curvature may jump where a monitored function vanishes: the stretches in between are smooth.
    corners = [a, *(mark.node for mark in marks if not mark.node.singular), b]
    events: list[Event] = []
    if not marks:
        _singular_points(equations, arc, events)
        return events
    for first, last in pairwise(corners):
        _singular_points(equations, Arc(first, last), events)
    chord = b.y - a.y
    return sorted([*events, *marks], key=lambda event: float(event.node.y @ chord))


def _singular_points(equations: Equations, arc: Arc, events: list[Event]) -> None:
    a, b = arc.start, arc.stop
    turns_back = float(a.tangent[-1]) * float(b.tangent[-1]) < 0.0
    if a.singular or b.singular:
        if turns_back and max(abs(float(a.tangent[-1])), abs(float(b.tangent[-1]))) > VERTICAL:
            events.append(_turn_of_a_singular_stretch(equations, arc, a, b))
        return
    if not belong_together(a, b):
        raise StepTooLong
    crosses = a.orientation != b.orientation
    if turns_back and not crosses and abs(b.index - a.index) == 1:
        events.append(_fold(equations, arc, a, b))
    elif turns_back or crosses or a.index != b.index:
        if arc.length <= SINGULAR_ARC:
            events.extend(crossings(equations, a, b, turns_back))
        else:
            middle = _regular_node(equations, arc)
            _singular_points(equations, Arc(a, middle), events)
            _singular_points(equations, Arc(middle, b), events)
    else:
        if b.suspect and a.index > 0:
            _exchanges(equations, arc, events)
        if not _hidden_folds(equations, arc, events):
            _hidden_crossings(equations, arc, events)


def _hidden_crossings(equations: Equations, arc: Arc, events: list[Event]) -> None:
    """Eigenvalues may cross zero twice between two ends that look alike: look in the middle of a long arc."""
    if arc.length < LONG:
        return
    linear = equations.linearize(arc.point(0.5))
    if linear is None or linear.singular or linear.index() == arc.start.index:
        return
    middle = node_on_arc(equations, arc, 0.5)
    if middle is not None and middle.index != arc.start.index:
        _singular_points(equations, Arc(arc.start, middle), events)
        _singular_points(equations, Arc(middle, arc.stop), events)


def _hidden_folds(equations: Equations, arc: Arc, events: list[Event]) -> bool:
    """Two folds may hide between two ends that look alike: look where the parameter is slowest."""
    a, b = arc.start, arc.stop
    slowest = arc.slowest()
    if slowest is None:
        return False
    u, speed = slowest
    low, high = sorted((a.tangent[-1], b.tangent[-1]), key=abs)
    # next to a point that is slow already, any further dip counts
    dip = FURTHER if abs(low) < SLOW * abs(high) else SLOW
    if speed / low < dip and min(u, 1.0 - u) * arc.length > CLOSEST:
        middle = node_on_arc(equations, arc, u)
        if middle is not None:
            _singular_points(equations, Arc(a, middle), events)
            _singular_points(equations, Arc(middle, b), events)
            return True
    return False


def _exchanges(equations: Equations, arc: Arc, events: list[Event]) -> None:
    a, b = arc.start, arc.stop
    space = negative_space(equations, a)
    if highest_on(equations, space, b) <= 0.0:
        return
    if arc.length <= SINGULAR_ARC:
        event = exchange(equations, a, b, space)
        if event is not None:
            events.append(event)
        return
    middle = _regular_node(equations, arc)
    for first, last in ((a, middle), (middle, b)):
        search = _exchanges if first.index == last.index else _singular_points
        search(equations, Arc(first, last), events)


def _regular_node(equations: Equations, arc: Arc) -> Node:
    """A point near the middle of the arc at which F_x is not singular."""
    for u in (0.5, 0.42, 0.57):
        node = node_on_arc(equations, arc, u)
        if node is not None and not node.singular:
            return node
    raise StepTooLong


def _fold(equations: Equations, arc: Arc, a: Node, b: Node) -> Event:
    node = _turn(equations, arc, a, b)
    return Event(
        kind=CurvePointKind.FOLD,
        node=replace(node, index=min(a.index, b.index)),
        index_before=a.index,
        index_after=b.index,
        bracket=bracket_of(equations, a, node, b),
    )


def _turn_of_a_singular_stretch(equations: Equations, arc: Arc, a: Node, b: Node) -> Event:
    node = _turn(equations, arc, a, b)
    linear = equations.linearize(node.y)
    if linear is None:
        raise StepTooLong
    vanishing = np.abs(linear.spectrum()) <= NEUTRAL * linear.size
    return Event(
        kind=CurvePointKind.BRANCH_POINT,
        node=replace(node, error=min(node.error, NEUTRAL)),
        index_before=a.index,
        index_after=b.index,
        multiplicity=max(1, int(vanishing.sum())),
        bracket=bracket_of(equations, a, node, b),
    )


def _turn(equations: Equations, arc: Arc, a: Node, b: Node) -> Node:
    """The point between a and b at which the parameter turns back."""
    nodes: dict[float, Node] = {0.0: a, 1.0: b}

    def speed(u: float) -> float:
        node = node_on_arc(equations, arc, u)
        if node is None:
            raise StepTooLong
        nodes[u] = node
        return float(node.tangent[-1])

    guess = arc.turning_points()
    u = find_root(
        speed, float(a.tangent[-1]), float(b.tangent[-1]), guess[0] if len(guess) == 1 else 0.5, goal=STANDS
    )
    node = nodes[u]
    if not (belong_together(a, node) and belong_together(node, b)):
        raise StepTooLong
    return node


def _monitor_events(equations: Equations, a: Node, b: Node) -> list[Event]:
    """Sign changes of monitored functions between two points; those that come together are one event."""
    if not a.monitors.size:
        return []
    changed = np.flatnonzero((a.monitors < 0.0) != (b.monitors < 0.0))
    arc = Arc(a, b)
    if not changed.size:
        u = dip(equations, arc) if arc.length > SINGULAR_ARC else None
        middle = None if u is None else node_on_arc(equations, arc, u)
        if middle is None or not np.any((a.monitors < 0.0) != (middle.monitors < 0.0)):
            return []
        return [*_monitor_events(equations, a, middle), *_monitor_events(equations, middle, b)]
    start, stop = a.monitors[changed], b.monitors[changed]
    guesses = start / (start - stop)
    j = int(np.argmin(guesses))
    nodes: dict[float, Node] = {0.0: a, 1.0: b}

    def monitored(u: float) -> float:
        node = node_on_arc(equations, arc, u)
        if node is None:
            raise StepTooLong
        nodes[u] = node
        return float(node.monitors[changed[j]])

    node = nodes[find_root(monitored, float(start[j]), float(stop[j]), float(guesses[j]))]
    if abs(float(node.monitors[changed[j]])) > TOGETHER * float(np.abs(start[j]) + np.abs(stop[j])):
        raise StepTooLong
    together = np.abs(node.monitors[changed]) <= TOGETHER * (np.abs(start) + np.abs(stop))
    together[j] = True
    at_once = changed[together]
    values = node.monitors.copy()
    values[at_once] = 0.0
    event = Event(
        kind=CurvePointKind.MONITOR,
        node=replace(node, monitors=values),
        index_before=node.index,
        index_after=node.index,
        multiplicity=len(at_once),
        monitors=tuple(int(k) for k in at_once),
        bracket=bracket_of(equations, a, node, b),
    )
    left, right = values.copy(), values.copy()
    left[at_once], right[at_once] = a.monitors[at_once], b.monitors[at_once]
    return [
        *_monitor_events(equations, a, replace(node, monitors=left)),
        event,
        *_monitor_events(equations, replace(node, monitors=right), b),
    ]
