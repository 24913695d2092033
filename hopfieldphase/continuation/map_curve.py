"""Curves of fixed points x = T(x, p) of any smooth map, with every way in which they lose stability.

A fixed point attracts while all eigenvalues μ of the Jacobian DT lie inside the unit circle. They leave it
through +1, where F = x − T has a singular Jacobian (folds, pitchforks, branch points: found by the arclength
engine), through −1 (a flip, the birth of a cycle of two states), or as a complex pair (a Neimark–Sacker
point, the birth of an invariant curve). The last two are sign changes of two smooth test functions of DT.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopfieldphase.continuation.arclength import continue_curve
from hopfieldphase.continuation.corrector import Arc
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.equations import Matrix, Problem, Vector
from hopfieldphase.continuation.map_corners import BEFORE, CORNER, across_corners, apart
from hopfieldphase.continuation.stepping import Steps, limits_of
from hopfieldphase.model import sorted_eigenvalues

# An eigenvalue this close to the unit circle is on it, at a located point.
ON_CIRCLE = 1e-6
# An eigenvalue this little outside the unit circle is not counted as outside: it may be on it.
OUTSIDE = 1e-9
# Part of the way to the next point of a curve that is close beside a point.
BESIDE = 1e-3
# Logarithms beyond this say no more than that a test function is far from zero.
LARGEST_LOG = 30.0

FLIP, TORUS = 0, 1


class MapPointKind(StrEnum):
    """What happens at a special point of a curve of fixed points."""

    FOLD = "fold"
    """An eigenvalue passes +1 and the curve turns back: a saddle-node."""
    PITCHFORK = "pitchfork"
    """An eigenvalue passes +1 where another curve crosses and turns back, by symmetry."""
    TRANSCRITICAL = "transcritical"
    """An eigenvalue passes +1 where another curve crosses."""
    BRANCH_POINT = "branch_point"
    """Several eigenvalues pass +1 at once."""
    FLIP = "flip"
    """An eigenvalue passes −1: a cycle of two states begins."""
    NEIMARK_SACKER = "neimark_sacker"
    """A complex pair passes the unit circle: an invariant curve begins."""
    CORNER = "corner"
    """The map has a corner, and the curve goes on with another slope or turns back."""
    START = "start"
    """An end: the walk began here and went the other way only."""
    RANGE = "range"
    """An end: the edge of the parameter range."""
    CLOSED = "closed"
    """An end: the curve has come back to its start."""
    LIMIT = "limit"
    """An end: the cap on steps was reached."""
    JUMP = "jump"
    """An end: no step, however small, goes on, and no corner is found to pass: the map jumps."""


_KINDS = {
    CurvePointKind.FOLD: MapPointKind.FOLD,
    CurvePointKind.PITCHFORK: MapPointKind.PITCHFORK,
    CurvePointKind.TRANSCRITICAL: MapPointKind.TRANSCRITICAL,
    CurvePointKind.BRANCH_POINT: MapPointKind.BRANCH_POINT,
    CurvePointKind.START: MapPointKind.START,
    CurvePointKind.RANGE: MapPointKind.RANGE,
    CurvePointKind.CLOSED: MapPointKind.CLOSED,
    CurvePointKind.STEP_LIMIT: MapPointKind.LIMIT,
    CurvePointKind.SMALLEST_STEP: MapPointKind.JUMP,
}


@dataclass(frozen=True, eq=False)
class MapProblem:
    """A map T(x, p) of n components with one parameter p, whose fixed points are followed.

    Parameters
    ----------
    T : callable
        T(x, p), shape (n,), for x of shape (n,) and a float p.
    T_x : callable
        Its Jacobian DT, shape (n, n).
    T_p : callable
        Its derivative ∂T/∂p, shape (n,).
    gradient : bool
        DT is symmetric with no eigenvalue below zero, so that eigenvalues leave the unit circle through +1
        alone.
    state_scale : float, optional
        Typical |x|, the length unit of the state.

    Notes
    -----
    Where T cannot be evaluated it may return NaN: the step is then shortened.
    """

    T: Callable[[Vector, float], Vector]
    T_x: Callable[[Vector, float], Matrix]
    T_p: Callable[[Vector, float], Vector]
    gradient: bool = False
    state_scale: float | None = None

    def equations(self) -> Problem:
        """The problem F = x − T(x, p) = 0 of the arclength engine."""
        return Problem(
            F=lambda x, p: x - self.T(x, p),
            F_x=lambda x, p: np.eye(len(x)) - self.T_x(x, p),
            F_p=lambda x, p: -self.T_p(x, p),
            symmetric=self.gradient,
            monitors=None if self.gradient else lambda x, p: unit_circle_tests(self.T_x(x, p)),
            state_scale=self.state_scale,
        )


@dataclass(frozen=True, eq=False)
class MapPoint:
    """A located special point of a curve of fixed points.

    Attributes
    ----------
    kind : MapPointKind
    row : int
        Its position in the arrays of the curve, which hold exactly this point there.
    parameter : float
    state : ndarray, shape (n,)
    eigenvalue : complex
        The one nearest to the unit circle; of a complex pair the one with positive imaginary part.
    unstable_before, unstable_after : int
        Number of eigenvalues outside the unit circle on either side, along the curve.
    bracket : tuple of float
        Parameter interval of the two points between which the event was located.
    precision : float
        Estimated uncertainty of the parameter value.
    """

    kind: MapPointKind
    row: int
    parameter: float
    state: Vector
    eigenvalue: complex
    unstable_before: int
    unstable_after: int
    bracket: tuple[float, float]
    precision: float

    @property
    def rotation(self) -> float:
        """Turn of the deviation per update, arg μ/2π in [0, 1/2]: 0 at a fold, 1/2 at a flip."""
        return abs(math.atan2(self.eigenvalue.imag, self.eigenvalue.real)) / (2 * math.pi)


@dataclass(frozen=True, eq=False)
class MapCurve:
    """A curve of fixed points, from one end to the other, with the eigenvalues of DT along it.

    Attributes
    ----------
    problem : MapProblem
    curve : Curve
        The same curve as solutions of x − T(x) = 0.
    """

    problem: MapProblem = field(repr=False)
    curve: Curve = field(repr=False)

    @property
    def parameter(self) -> Vector:
        """Parameter values p, shape (N,)."""
        return self.curve.parameter

    @property
    def state(self) -> Vector:
        """States x, shape (N, n)."""
        return self.curve.state

    @cached_property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Eigenvalues of DT by falling modulus, shape (N, n)."""
        return self._eigenvalues_at(self.state, self.parameter)

    @property
    def spectral_radius(self) -> Vector:
        """Largest modulus of an eigenvalue of DT, shape (N,)."""
        return np.abs(self.eigenvalues[:, 0])

    @cached_property
    def unstable(self) -> NDArray[np.int64]:
        """Number of eigenvalues of DT outside the unit circle, shape (N,); those on it do not count."""
        return np.count_nonzero(np.abs(self.eigenvalues) > 1.0 + OUTSIDE, axis=1).astype(np.int64)

    @cached_property
    def special_points(self) -> tuple[MapPoint, ...]:
        """In order along the curve; the first and the last are its ends."""
        points = [(point, self._kind(point)) for point in self.curve.special_points]
        return tuple(self._point(point, kind) for point, kind in points if kind is not None)

    @property
    def ends(self) -> tuple[MapPoint, MapPoint]:
        """The first and the last special point."""
        return self.special_points[0], self.special_points[-1]

    def at(self, parameter: float) -> Vector:
        """The fixed points at a parameter value, one for each arm, shape (arms, n): see `Curve.at`."""
        return self.curve.at(parameter)

    def attracting_at(self, parameter: float) -> Vector:
        """Those of `at` at which the spectral radius is below 1."""
        states = self.at(parameter)
        values = self._eigenvalues_at(states, np.full(len(states), parameter))
        return states[np.abs(values[:, 0]) < 1.0]

    def _eigenvalues_at(self, states: Vector, parameters: Vector) -> NDArray[np.complex128]:
        jacobians = [self.problem.T_x(x, float(p)) for x, p in zip(states, parameters, strict=True)]
        return sorted_eigenvalues(np.array(jacobians))

    def _kind(self, point: CurvePoint) -> MapPointKind | None:
        """What a special point of x − T(x) = 0 is for the map; None where the map passes nothing there."""
        if point.kind is not CurvePointKind.MONITOR:
            return _KINDS.get(point.kind)
        if CORNER in point.monitors:
            return MapPointKind.CORNER
        values = self.eigenvalues[point.row]
        near = values[np.abs(np.abs(values) - 1.0) <= ON_CIRCLE]
        if FLIP in point.monitors and np.any(np.abs(near + 1.0) <= ON_CIRCLE):
            return MapPointKind.FLIP
        # Two real eigenvalues with μν = 1 change the sign of the test as well, but neither passes the circle.
        return MapPointKind.NEIMARK_SACKER if np.any(np.abs(near.imag) > ON_CIRCLE) else None

    def _point(self, point: CurvePoint, kind: MapPointKind) -> MapPoint:
        values, row = self.eigenvalues[point.row], point.row
        nearest = complex(values[np.argmin(np.abs(np.abs(values) - 1.0) - 1e-9 * (values.imag > 0))])
        return MapPoint(
            kind=kind,
            row=row,
            parameter=point.parameter,
            state=point.state,
            eigenvalue=nearest,
            unstable_before=self._unstable_beside(row, -1, kind is MapPointKind.CORNER),
            unstable_after=self._unstable_beside(row, 1, kind is MapPointKind.CORNER),
            bracket=point.bracket,
            precision=point.precision,
        )

    def _unstable_beside(self, row: int, side: int, corner: bool) -> int:
        """Number of eigenvalues outside the unit circle close beside a point, on one side of it."""
        nodes, equations = self.curve.nodes, self.curve.equations
        rows = range(row + side, len(nodes) if side > 0 else -1, side)
        if not rows:
            return int(self.unstable[row])
        if corner:  # next to a corner points may lie on either side of it, by rounding
            return int(self.unstable[next((r for r in rows if apart(nodes[r], nodes[row]) > BEFORE), row)])
        first = min(row, row + side)
        arc = Arc(nodes[first], nodes[first + 1])
        y = arc.point(BESIDE if side > 0 else 1.0 - BESIDE)
        values = np.linalg.eigvals(self.problem.T_x(equations.state(y), equations.parameter(y)))
        return int(np.count_nonzero(np.abs(values) > 1.0))


def continue_map(
    problem: MapProblem,
    x0: ArrayLike,
    p0: float,
    *,
    p_min: float,
    p_max: float,
    requested: Iterable[float] = (),
    direction: int = 0,
    steps: Steps | None = None,
) -> MapCurve:
    """Follow the curve of fixed points x = T(x, p) through one near (x0, p0), both ways through the range.

    Parameters
    ----------
    problem : MapProblem
        The map and its derivatives as plain functions of (x, p).
    x0, p0, p_min, p_max, requested, direction, steps
        As in `continue_curve`.

    Returns
    -------
    MapCurve
        With the eigenvalues of DT at every point, and folds, branch points, flips and Neimark–Sacker points
        located.

    Raises
    ------
    InputError
        As `continue_curve`.

    Notes
    -----
    Y. A. Kuznetsov, Elements of Applied Bifurcation Theory (2004), Sections 4 and 10.

    Examples
    --------
    The delayed logistic map x' = p x (1 − y), y' = x loses its fixed point to an invariant curve at p = 2:

    >>> delayed = MapProblem(
    ...     T=lambda x, p: np.array([p * x[0] * (1 - x[1]), x[0]]),
    ...     T_x=lambda x, p: np.array([[p * (1 - x[1]), -p * x[0]], [1.0, 0.0]]),
    ...     T_p=lambda x, p: np.array([x[0] * (1 - x[1]), 0.0]),
    ... )
    >>> curve = continue_map(delayed, [1 / 3, 1 / 3], 1.5, p_min=1.2, p_max=2.5)
    >>> [(str(point.kind), round(point.parameter, 9)) for point in curve.special_points]
    [('range', 1.2), ('neimark_sacker', 2.0), ('range', 2.5)]
    """
    values = tuple(requested)
    curve = continue_curve(
        problem.equations(),
        x0,
        p0,
        p_min=p_min,
        p_max=p_max,
        requested=values,
        direction=direction,
        steps=steps,
    )
    limits = limits_of(curve.equations, p_min, p_max, values)
    return MapCurve(problem, across_corners(curve, limits, steps or Steps()))


def unit_circle_tests(jacobian: Matrix) -> Vector:
    """Two smooth functions of DT: one changes sign where an eigenvalue passes −1, one where a pair does.

    They are det(I + DT) = Π(1 + μ) and the determinant of I less the bialternate square of DT,
    Π_{i<j}(1 − μ_i μ_j), each brought to (−1, 1) by v/(1 + |v|).
    """
    values = np.linalg.eigvals(jacobian).astype(np.complex128)
    i, j = np.triu_indices(len(values), 1)
    return np.array([_bounded(1.0 + values), _bounded(1.0 - values[i] * values[j])])


def _bounded(factors: NDArray[np.complex128]) -> float:
    """A real product of complex factors, brought to [−1, 1] without overflow."""
    sizes = np.abs(factors)
    if not np.isfinite(sizes).all():
        return math.nan
    if not (sizes > 0).all():
        return 0.0
    size = math.exp(min(float(np.log(sizes).sum()), LARGEST_LOG))
    sign = 1.0 if np.prod(factors / sizes).real > 0 else -1.0
    return sign * size / (1.0 + size)
