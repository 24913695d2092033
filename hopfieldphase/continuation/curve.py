"""The record of a followed curve: points in order, special points among them, the state at any parameter."""

import math
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.corrector import MAX_SHIFT, Arc, Node, node_at_parameter, node_on_arc
from hopfieldphase.continuation.equations import Equations, Vector
from hopfieldphase.core.errors import InputError

# An interpolated point is a solution when its residual is below this part of the derivatives.
SOLVED = 1e-13
SHORTEST_ARC = 1e-12
# A point belongs to an arc when it lies off its interpolant by no more than this part of the way to the next
# end; the other arm of a fold lies twice as far as the fold.
MAX_ASIDE = 1.0


class CurvePointKind(StrEnum):
    """What happens at a special point of a curve F(x, p) = 0."""

    FOLD = "fold"
    """The curve turns back in the parameter; one eigenvalue of F_x changes sign."""
    PITCHFORK = "pitchfork"
    """Two curves cross, and the parameter turns back on one of them."""
    TRANSCRITICAL = "transcritical"
    """Two curves cross, and both go on in the parameter."""
    BRANCH_POINT = "branch_point"
    """Several eigenvalues of F_x vanish at once; any number of curves may cross."""
    HOPF = "hopf"
    """A pair of complex eigenvalues crosses the imaginary axis."""
    MONITOR = "monitor"
    """Monitored functions change sign."""
    BARRIER = "barrier"
    """An end: a monitored function vanishes and the problem is no longer this one."""
    START = "start"
    """An end: the walk began here and went the other way only."""
    RANGE = "range"
    """An end: the edge of the parameter range."""
    CLOSED = "closed"
    """An end: the curve has come back to its start."""
    STEP_LIMIT = "step_limit"
    """An end: the cap on steps was reached."""
    SMALLEST_STEP = "smallest_step"
    """An end: the corrector fails even at the smallest step."""


@dataclass(frozen=True, eq=False)
class CurvePoint:
    """A located special point of a curve.

    Attributes
    ----------
    kind : CurvePointKind
        What happens here.
    row : int
        Its position in the arrays of the curve, which hold exactly this point there.
    parameter : float
        Parameter value.
    state : ndarray, shape (n,)
        State.
    index_before, index_after : int
        Number of eigenvalues of F_x with a negative real part on either side.
    multiplicity : int
        Number of eigenvalues that vanish, or of monitored functions that change sign.
    monitors : tuple of int
        The monitored functions that change sign.
    bracket : tuple of float
        Parameter interval of the two points between which the event was located.
    precision : float
        Estimated uncertainty of the parameter value.
    """

    kind: CurvePointKind
    row: int
    parameter: float
    state: Vector
    index_before: int
    index_after: int
    multiplicity: int = 1
    monitors: tuple[int, ...] = ()
    bracket: tuple[float, float] = (math.nan, math.nan)
    precision: float = 0.0


@dataclass(frozen=True, eq=False)
class Curve:
    """A curve of solutions of F(x, p) = 0, from one end to the other.

    Attributes
    ----------
    equations : Equations
        The problem in the units of this curve.
    nodes : tuple of Node
        The points in scaled units, N of them.
    special_points : tuple of CurvePoint
        In order along the curve; the first and the last are its ends.
    """

    equations: Equations = field(repr=False)
    nodes: tuple[Node, ...] = field(repr=False)
    special_points: tuple[CurvePoint, ...]

    @cached_property
    def parameter(self) -> Vector:
        """Parameter values p, shape (N,)."""
        return np.array([self.equations.parameter(node.y) for node in self.nodes])

    @cached_property
    def state(self) -> Vector:
        """States x, shape (N, n)."""
        return np.array([self.equations.state(node.y) for node in self.nodes])

    @cached_property
    def index(self) -> NDArray[np.int64]:
        """Number of eigenvalues of F_x with a negative real part, shape (N,)."""
        return np.array([node.index for node in self.nodes])

    @cached_property
    def arclength(self) -> Vector:
        """Length along the curve in scaled units from its first point, shape (N,), strictly rising."""
        lengths = [Arc(a, b).length for a, b in zip(self.nodes, self.nodes[1:], strict=False)]
        return np.concatenate(([0.0], np.cumsum(lengths)))

    @property
    def ends(self) -> tuple[CurvePoint, CurvePoint]:
        """The first and the last special point."""
        return self.special_points[0], self.special_points[-1]

    def at(self, parameter: float) -> Vector:
        """The states at a parameter value, one for each arm of the curve, in order along it.

        Parameters
        ----------
        parameter : float
            Inside the range that the curve covers.

        Returns
        -------
        ndarray, shape (arms, n)
            Interpolated and corrected to rounding.

        Raises
        ------
        InputError
            Where the curve does not reach.
        """
        found: list[Vector] = []
        q = parameter / self.equations.parameter_scale
        for row, (a, b) in enumerate(zip(self.nodes, self.nodes[1:], strict=False)):
            start, stop = float(a.y[-1]), float(b.y[-1])
            if q == start and (row == 0 or not found or q != float(self.nodes[row - 1].y[-1])):
                found.append(self.equations.state(a.y))
            elif min(start, stop) < q < max(start, stop):
                found.append(self.equations.state(self.node_between(row, parameter).y))
        if q == float(self.nodes[-1].y[-1]):
            found.append(self.equations.state(self.nodes[-1].y))
        if not found:
            raise InputError(
                f"parameter = {parameter} is not on this curve, which covers "
                f"[{self.parameter.min():.12g}, {self.parameter.max():.12g}]: ask for a value inside"
            )
        return np.array(found)

    def node_between(self, row: int, parameter: float) -> Node:
        """The point at a parameter value between the rows `row` and `row + 1`."""
        return hit(self.equations, self.nodes[row], self.nodes[row + 1], parameter)


def hit(equations: Equations, a: Node, b: Node, parameter: float) -> Node:
    """The point of the curve between a and b, where the parameter is monotone, at a parameter value.

    Interpolation and Newton's method at a fixed parameter; the arc is halved where that leaves it. Close to
    a singular point Newton's method fails, but the interpolant of a short arc solves the equations.
    """
    q = parameter / equations.parameter_scale
    while True:
        arc = Arc(a, b)
        found = node_at_parameter(equations, arc, parameter)
        if found is not None and _on_arc(arc, found, q):
            return found
        interpolated = _interpolated(equations, arc, q)
        linear = equations.linearize(interpolated.y)
        if linear is not None and np.abs(linear.residual).max() <= SOLVED * linear.size:
            return interpolated
        middle = node_on_arc(equations, arc, 0.5) if arc.length > SHORTEST_ARC else None
        if middle is None:
            return interpolated
        if (float(middle.y[-1]) < q) == (float(a.y[-1]) < q):
            a = middle
        else:
            b = middle


def _on_arc(arc: Arc, node: Node, q: float) -> bool:
    """Whether a point at the scaled parameter q is the one that the arc leads to, not one on another arm."""
    guess = arc.point(arc.fraction_at(q))
    aside = node.y - guess
    limit = MAX_ASIDE**2 * min(float((y - guess) @ (y - guess)) for y in (arc.start.y, arc.stop.y))
    if arc.start.singular or arc.stop.singular:
        limit = max(limit, MAX_SHIFT**2)
    return float(aside @ aside) <= limit


def _interpolated(equations: Equations, arc: Arc, q: float) -> Node:
    u = arc.fraction_at(q)
    y = arc.point(u)
    y[-1] = q
    return replace(arc.start, y=y, tangent=arc.direction(u), monitors=equations.monitors(y))
