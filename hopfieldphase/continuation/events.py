"""Special points inside one step of a curve: found from sign changes at its ends, then located.

With t the unit tangent and B = (F_x F_p; t) the bordered matrix, sign det B = sign det F_x · sign t_p. Along
a smooth curve t_p changes sign at folds and det B where curves cross, so that both kinds, their pairs and
their coincidences are told apart by three integers at the ends of a step: sign t_p, index, sign det B.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hopfieldphase.continuation.corrector import Arc, Node, belong_together, correct, node_at, node_on_arc
from hopfieldphase.continuation.curve import CurvePointKind
from hopfieldphase.continuation.equations import Equations
from hopfieldphase.continuation.switching import crossing_kind

# Length of the arc (in scaled units) inside which a branch point is read off the interpolated curve: the
# corrector loses digits in proportion to the inverse distance, the interpolation gains four for each one.
SINGULAR_ARC = 1e-3
# Eigenvalues below this fraction of the largest vanish together.
TOGETHER = 1e-8
MAX_ROOT_STEPS = 60


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


def locate(equations: Equations, a: Node, b: Node) -> list[Event]:
    """All special points between two neighbouring points, in order.

    Raises
    ------
    StepTooLong
        When the points between a and b do not join them smoothly: a and b lie on two curves.
    """
    events: list[Event] = []
    _singular_points(equations, a, b, events)
    if not a.monitors.size:
        return events
    everything: list[Event] = []
    last = a
    for event in events:
        everything += [*_monitor_events(equations, last, event.node, event.index_before), event]
        last = event.node
    return everything + _monitor_events(equations, last, b, b.index)


def _singular_points(equations: Equations, a: Node, b: Node, events: list[Event]) -> None:
    if not belong_together(a, b):
        raise StepTooLong
    arc = Arc(a, b)
    turns_back = float(a.tangent[-1]) * float(b.tangent[-1]) < 0.0
    crosses = a.orientation != b.orientation
    if turns_back and not crosses and abs(b.index - a.index) == 1:
        events.append(_fold(equations, arc, a, b))
    elif turns_back or crosses or a.index != b.index:
        if arc.length <= SINGULAR_ARC:
            events.extend(_crossings(equations, a, b, turns_back))
        else:
            middle = _regular_node(equations, arc)
            _singular_points(equations, a, middle, events)
            _singular_points(equations, middle, b, events)
    else:
        turns = arc.turning_points()
        if len(turns) == 2:
            # Two folds may hide between two ends that look alike.
            middle = node_on_arc(equations, arc, 0.5 * sum(turns))
            if middle is not None and float(middle.tangent[-1]) * float(a.tangent[-1]) < 0.0:
                _singular_points(equations, a, middle, events)
                _singular_points(equations, middle, b, events)


def _regular_node(equations: Equations, arc: Arc) -> Node:
    """A point near the middle of the arc at which F_x is not singular."""
    for u in (0.5, 0.42, 0.57):
        node = node_on_arc(equations, arc, u)
        if node is not None and not node.singular:
            return node
    raise StepTooLong


def _fold(equations: Equations, arc: Arc, a: Node, b: Node) -> Event:
    nodes: dict[float, Node] = {0.0: a, 1.0: b}

    def speed(u: float) -> float:
        node = node_on_arc(equations, arc, u)
        if node is None:
            raise StepTooLong
        nodes[u] = node
        return float(node.tangent[-1])

    guess = arc.turning_points()
    u = find_root(speed, float(a.tangent[-1]), float(b.tangent[-1]), guess[0] if len(guess) == 1 else 0.5)
    node = nodes[u]
    if not (belong_together(a, node) and belong_together(node, b)):
        raise StepTooLong
    return Event(
        kind=CurvePointKind.FOLD,
        node=replace(node, index=min(a.index, b.index)),
        index_before=a.index,
        index_after=b.index,
        bracket=_bracket(equations, a, node, b),
    )


class _Spectrum:
    """Eigenvalues of F_x along the interpolated arc, by rising real part."""

    def __init__(self, equations: Equations, arc: Arc) -> None:
        self._equations = equations
        self._arc = arc
        self._known: dict[float, np.ndarray] = {}

    def __call__(self, u: float) -> np.ndarray:
        if u not in self._known:
            linear = self._equations.linearize(self._arc.point(u))
            if linear is None:
                raise StepTooLong
            self._known[u] = linear.spectrum()
        return self._known[u]

    def zero(self, j: int) -> float:
        """Where the real part of eigenvalue j changes sign."""
        start, stop = float(self(0.0)[j].real), float(self(1.0)[j].real)
        if start * stop > 0.0:
            raise StepTooLong
        return find_root(lambda u: float(self(u)[j].real), start, stop, start / (start - stop))


def _crossings(equations: Equations, a: Node, b: Node, turns_back: bool) -> list[Event]:
    """Branch points and Hopf points on an arc so short that its interpolant nearly is the curve."""
    arc = Arc(a, b)
    if turns_back:
        return [_crossing(equations, arc, arc.turning_points()[0], None, a.index, b.index)]
    spectrum = _Spectrum(equations, arc)
    places: dict[int, float] = {}
    for j in range(min(a.index, b.index), max(a.index, b.index)):
        if not any(_vanishing(spectrum(u))[j] for u in places.values()):
            places[j] = spectrum.zero(j)
    events: list[Event] = []
    index = a.index
    for j, u in sorted(places.items(), key=lambda place: place[1]):
        event = _crossing(equations, arc, u, j, index, b.index)
        if len(events) + 1 < len(places):
            index += event.multiplicity if b.index > a.index else -event.multiplicity
            event = replace(event, index_after=index)
        events.append(event)
    return events


def _crossing(equations: Equations, arc: Arc, u: float, j: int | None, before: int, after: int) -> Event:
    """The singular point near the fraction u: where eigenvalue j vanishes, or (None) the parameter turns.

    Its two neighbours are taken at equal distances, so that neither of them is spoiled by the singularity.
    """
    half = 0.5 * SINGULAR_ARC / arc.length
    left, right = (_sharpened(equations, arc, place) for place in (u - half, u + half))
    if not belong_together(left, right):
        raise StepTooLong
    fine = Arc(left, right)
    spectrum = _Spectrum(equations, fine)
    if j is None:
        turns = fine.turning_points()
        if not turns:
            raise StepTooLong
        u = min(turns, key=lambda turn: abs(turn - 0.5))
    else:
        u = spectrum.zero(j)
    values = spectrum(u)
    vanishing = _vanishing(values)
    multiplicity = max(1, int(vanishing.sum()))
    node = Node(
        y=fine.point(u),
        tangent=fine.direction(u),
        index=int(np.count_nonzero((values.real < 0.0) & ~vanishing)),
        orientation=left.orientation,
        monitors=equations.monitors(fine.point(u)),
        error=max(left.error, right.error),
        singular=True,
    )
    if np.abs(values[vanishing].imag).max(initial=0.0) > TOGETHER * np.abs(values).max():
        kind = CurvePointKind.HOPF
    elif multiplicity > 1:
        kind = CurvePointKind.BRANCH_POINT
    else:
        kind = crossing_kind(equations, node, turns_back=j is None)
    return Event(kind, node, before, after, multiplicity, bracket=_bracket(equations, left, node, right))


def _sharpened(equations: Equations, arc: Arc, u: float) -> Node:
    """A point of the arc whose tangent is that of its last digit: close to a singularity both differ."""
    rough = node_on_arc(equations, arc, u)
    found = None if rough is None else correct(equations, rough.y, rough.tangent)
    if rough is None or found is None:
        raise StepTooLong
    return node_at(equations, found, rough.tangent)


def _vanishing(values: np.ndarray) -> np.ndarray:
    return np.abs(values.real) <= TOGETHER * np.abs(values).max()


def _monitor_events(equations: Equations, a: Node, b: Node, index: int) -> list[Event]:
    """Sign changes of monitored functions between two points; those that come together are one event."""
    changed = np.flatnonzero((a.monitors < 0.0) != (b.monitors < 0.0))
    if not changed.size:
        return []
    arc = Arc(a, b)
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
    together = np.abs(node.monitors[changed]) <= TOGETHER * (np.abs(start) + np.abs(stop))
    together[j] = True
    at_once = changed[together]
    values = node.monitors.copy()
    values[at_once] = 0.0
    event = Event(
        kind=CurvePointKind.MONITOR,
        node=replace(node, index=index, monitors=values),
        index_before=index,
        index_after=index,
        multiplicity=len(at_once),
        monitors=tuple(int(k) for k in at_once),
        bracket=_bracket(equations, a, node, b),
    )
    left, right = values.copy(), values.copy()
    left[at_once], right[at_once] = a.monitors[at_once], b.monitors[at_once]
    return [
        *_monitor_events(equations, a, replace(node, monitors=left), index),
        event,
        *_monitor_events(equations, replace(node, monitors=right), b, index),
    ]


def _bracket(equations: Equations, *nodes: Node) -> tuple[float, float]:
    values = [equations.parameter(node.y) for node in nodes]
    return min(values), max(values)


def find_root(f: Callable[[float], float], f0: float, f1: float, guess: float) -> float:
    """Zero of f between 0 and 1, where it has the values f0 and f1 of opposite sign, to rounding.

    Secant steps inside the bracket, halved whenever three of them have not halved it. Returns an
    argument at which f was evaluated, or an end of the bracket where f is zero.
    """
    if f0 == 0.0 or f1 == 0.0:
        return 0.0 if f0 == 0.0 else 1.0
    low, high, f_low = 0.0, 1.0, f0
    goal = 1e-15 * max(abs(f0), abs(f1))
    u, best, f_best = guess, math.nan, math.inf
    older, f_older = (0.0, f0) if abs(f0) < abs(f1) else (1.0, f1)
    width, since = 1.0, 0
    for _ in range(MAX_ROOT_STEPS):
        if not low < u < high:
            u = 0.5 * (low + high)
        value = f(u)
        if abs(value) < abs(f_best):
            best, f_best = u, value
        if abs(value) <= goal:
            break
        if (value < 0.0) == (f_low < 0.0):
            low = u
        else:
            high = u
        slope = (value - f_older) / (u - older) if u != older else 0.0
        older, f_older = u, value
        step = -value / slope if slope else math.inf
        if abs(step) <= 1e-16 or high - low <= 1e-16:
            break
        since += 1
        if since == 3:
            if high - low > 0.5 * width and abs(step) > 1e-6 * width:
                step = math.inf
            width, since = high - low, 0
        u = u + step
    return best
