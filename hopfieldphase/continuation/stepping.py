"""One step along a curve: prediction, landing, and the length of the next one.

Each step extrapolates the curve, corrects with a bordered Newton method and is kept only when the two points
lie on one smooth curve: small turn, chord along both tangents, landing no farther from the prediction than
its own curvature explains. Otherwise it must be shorter, so that no jump to another curve goes unseen.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.corrector import (
    MAX_SHIFT,
    MAX_TURN_COSINE,
    Arc,
    Node,
    belong_together,
    correct,
    mirrored,
    node_at,
)
from hopfieldphase.continuation.crossings import SINGULAR_ARC, TOGETHER, StepTooLong, dip
from hopfieldphase.continuation.equations import Equations, Vector
from hopfieldphase.continuation.roots import find_root
from hopfieldphase.core.errors import InputError

# A landing may lie off the prediction by this part of the step, and of what the curvature term adds to it.
MAX_LANDING = 0.02
MAX_LANDING_OF_CURVATURE = 0.5
# The next step aims at this turn (radians) and at this part of the allowed landing distance.
AIM_TURN = 0.45
AIM_LANDING = 0.5
MAX_GROWTH = 2.5
# Extrapolation reaches at most this many lengths of the last step.
MAX_REACH = 2.5
# A barrier is approached at this part of the way, met from there at no larger angle than that, and with the
# index that the curve has close beside it.
INSIDE = 0.8
BESIDE = 1.0 - 1e-6
MAX_BARRIER_COSINE = math.cos(0.3)
MAX_BARRIERS = 20
# A monitored function below this part of the largest one is zero.
BARRIER_NOISE = 1e-14


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

    first: float = 0.05
    largest: float = 0.25
    smallest: float = 1e-9
    limit: int = 5000

    def __post_init__(self) -> None:
        if not (0.0 < self.smallest <= self.first <= self.largest < math.inf and self.limit >= 1):
            raise InputError(
                f"{self} is not a set of steps: choose 0 < smallest <= first <= largest and limit >= 1"
            )


@dataclass(frozen=True)
class Limits:
    """Range of the scaled parameter, and the parameter values that must be hit."""

    low: float
    high: float
    requested: tuple[float, ...]

    def left_at(self, node: Node) -> bool:
        """Whether a walk leaves the range at this point."""
        q, speed = float(node.y[-1]), float(node.tangent[-1])
        return (q >= self.high and speed > 0.0) or (q <= self.low and speed < 0.0)


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


@dataclass(frozen=True, eq=False)
class Predictor:
    """Extrapolation beyond the last point: of the arc that ends there, or along its tangent."""

    last: Node
    arc: Arc | None

    def point(self, reach: float) -> Vector:
        """Prediction at a distance."""
        if self.arc is None:
            return self.last.y + reach * self.last.tangent
        return self.arc.point(1.0 + reach / self.arc.length)

    def direction(self, reach: float) -> Vector:
        """Unit tangent of the prediction."""
        return self.last.tangent if self.arc is None else self.arc.direction(1.0 + reach / self.arc.length)

    def land(self, equations: Equations, reach: float, q: float | None = None) -> tuple[Node, float] | None:
        """The point of the curve across the prediction, or at a scaled parameter q, and how far off it is."""
        guess, direction = self.point(reach), self.direction(reach)
        if q is not None:
            guess[-1] = q
        found = correct(equations, guess, direction if q is None else None)
        if found is None:
            return None
        return node_at(equations, found, direction, self.last), _distance(found[0], guess)

    def allowed(self, reach: float) -> float:
        """How far off a landing may be."""
        curvature = _distance(self.point(reach), self.last.y + reach * self.last.tangent)
        return MAX_LANDING * reach + MAX_LANDING_OF_CURVATURE * curvature


@dataclass(frozen=True, eq=False)
class Landing:
    """Where a step ends, how much longer the next may be, and the barrier behind it, if there is one.

    Attributes
    ----------
    node : Node
    ease : float
    barrier : Node or None
        The point on the barrier at which the curve ends.
    patterns : tuple of int
        The monitored functions that vanish there.
    """

    node: Node
    ease: float
    barrier: Node | None = None
    patterns: tuple[int, ...] = ()


def step(equations: Equations, predictor: Predictor, length: float, limits: Limits) -> Landing | None:
    """One step of a given length; None where it must be shorter."""
    last = predictor.last
    q, ahead = float(last.y[-1]), float(predictor.point(length)[-1])
    if not limits.low < ahead < limits.high:
        edge = limits.high if ahead >= limits.high else limits.low
        reach = length * (edge - q) / (ahead - q)
        landed = predictor.land(equations, reach, edge)
        if landed is not None and _crossed(equations, last, landed[0]).size:
            return _stop(equations, predictor, reach, landed[0])
        if landed is not None and belong_together(last, landed[0]):
            return Landing(landed[0], 1.0)
    landed = predictor.land(equations, length)
    if landed is None or not limits.low <= float(landed[0].y[-1]) <= limits.high:
        return None
    node, off = landed
    if _crossed(equations, last, node).size:
        return _stop(equations, predictor, length, node)
    allowed = predictor.allowed(length)
    if last.singular or node.singular:
        # points on a singular stretch are free to shift along it
        if off > max(allowed, MAX_SHIFT) or float(last.tangent @ node.tangent) < MAX_TURN_COSINE:
            return None
    elif off > allowed or not belong_together(last, node):
        return None
    if equations.barrier and length > SINGULAR_ARC and dip(equations, Arc(last, node)) is not None:
        return None
    turn = math.acos(min(1.0, float(last.tangent @ node.tangent)))
    ease = min(AIM_TURN / max(turn, 1e-3), (AIM_LANDING * allowed / max(off, 1e-12)) ** (1 / 3))
    return Landing(node, max(0.5, min(MAX_GROWTH, ease)))


def _crossed(equations: Equations, last: Node, node: Node) -> NDArray[np.intp]:
    """The barriers between a point inside all of them and another point."""
    if not equations.barrier:
        return np.empty(0, dtype=np.intp)
    noise = BARRIER_NOISE * float(np.abs(last.monitors).max())
    return np.flatnonzero((last.monitors >= -noise) & (node.monitors < -noise))


def _stop(equations: Equations, predictor: Predictor, reach: float, beyond: Node) -> Landing | None:
    """The first barrier before a point beyond it, and a point of the curve shortly before that.

    The curve may have any curvature on the barrier: the tangent there is taken from the chord. None where the
    way to it is not smooth.
    """
    last = predictor.last
    patterns: set[int] = set()
    for _ in range(MAX_BARRIERS):
        crossed = _crossed(equations, last, beyond)
        if crossed.size:
            met = _meet(equations, predictor, reach, beyond, crossed)
            if met is None:
                return None
            fraction, beyond, patterns = met
            reach *= fraction
            continue
        landed, beside = (predictor.land(equations, part * reach) for part in (INSIDE, BESIDE))
        if landed is None or beside is None:
            return None
        again = [node for node in (landed[0], beside[0]) if _crossed(equations, last, node).size]
        if not again:
            break
        beyond = again[0]
        reach *= INSIDE if beyond is landed[0] else BESIDE
    else:
        return None
    inside, off = landed
    if off > predictor.allowed(INSIDE * reach):
        return None
    chord = beyond.y - inside.y
    straight = float(chord @ inside.tangent) >= MAX_BARRIER_COSINE * math.sqrt(float(chord @ chord))
    if not straight or not belong_together(last, inside) or beside[0].index != inside.index:
        return None
    barrier = replace(
        beyond,
        tangent=mirrored(inside.tangent, chord),
        index=inside.index,
        orientation=inside.orientation,
    )
    return Landing(inside, 1.0, barrier, tuple(sorted(patterns)))


def _meet(
    equations: Equations, predictor: Predictor, reach: float, beyond: Node, crossed: NDArray[np.intp]
) -> tuple[float, Node, set[int]] | None:
    """Where the barrier that seems the first of some is met: fraction of the way, point, and which."""
    before = np.maximum(predictor.last.monitors[crossed], 0.0)
    after = beyond.monitors[crossed]
    first = int(np.argmin(before / (before - after)))
    j = int(crossed[first])
    nodes = {0.0: predictor.last, 1.0: beyond}

    def height(fraction: float) -> float:
        landed = predictor.land(equations, fraction * reach)
        if landed is None:
            raise StepTooLong
        nodes[fraction] = landed[0]
        return float(landed[0].monitors[j])

    start, stop = float(before[first]), float(after[first])
    try:
        fraction = find_root(height, start, stop, start / (start - stop))
    except StepTooLong:
        return None
    node = nodes[fraction]
    together = crossed[np.abs(node.monitors[crossed]) <= TOGETHER * (before - after)]
    if j not in together:
        return None
    values = node.monitors.copy()
    values[together] = 0.0
    return fraction, replace(node, monitors=values), set(together.tolist())


def _distance(a: Vector, b: Vector) -> float:
    return math.sqrt(float((a - b) @ (a - b)))
