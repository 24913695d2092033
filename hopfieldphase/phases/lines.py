"""Lines of a phase diagram, followed in two parameters from one of their points, over cusps and kinks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hopfieldphase.continuation.arclength import continue_curve
from hopfieldphase.continuation.corrector import Arc, correct, node_on_arc
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.equations import Equations, Vector
from hopfieldphase.continuation.roots import find_root
from hopfieldphase.continuation.walk import Steps
from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.families import Family
from hopfieldphase.phases.line_corners import Corner, successors
from hopfieldphase.phases.line_parts import Limit, Part
from hopfieldphase.phases.line_problems import (
    NOISE,
    CoexistenceProblem,
    EntryProblem,
    FoldProblem,
    InstabilityProblem,
    LineKind,
    LineProblem,
    chart_of,
    unit_of,
)
from hopfieldphase.phases.line_starts import LineStart

SYMMETRIC = 1e-9
"""Largest defect of the full equations where the reduced ones hold: the symmetry has been kept."""

VANISHING = 1e-7
"""Conditions below this at the start of a line vanish identically: two lines that coincide."""

_MAX_PIECES = 64
_STEPS = Steps(first=0.05, largest=0.05, limit=1000)
# Parts of the range of y at which a line is met beyond a corner: the first at which it exists.
_DEPARTURES = (1e-6, 1e-8)
# How far from the corner, in units of the state, it may be met.
_NEAR = 0.05
# Away from α = 2, at which weights jump, and from α = 1, at which no pattern is ever stored.
_BESIDE = 1e-9


@dataclass(frozen=True)
class LinePoint:
    """A special point of a line: a cusp, a turning point in y, a kink, or an end.

    Attributes
    ----------
    name : str
        "cusp", "turn", "kink", "range", or the `Limit` that ends the line.
    y, beta : float
    patterns : tuple of int
        The patterns that enter or leave there.
    """

    name: str
    y: float
    beta: float
    patterns: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class LinePiece:
    """A smooth part of a line: one system of equations and the curve of its solutions.

    Attributes
    ----------
    problem : LineProblem
    curve : Curve
    against : bool
        Whether the line runs through the points of the curve from the last to the first.
    """

    problem: LineProblem = field(repr=False)
    curve: Curve = field(repr=False)
    against: bool = False

    @cached_property
    def beta(self) -> Vector:
        """Inverse temperatures of the stored points, shape (N,)."""
        return np.array([self.problem.beta(state) for state in self._along(self.curve.state)])

    @property
    def y(self) -> Vector:
        """Values of y of the stored points, shape (N,)."""
        return self._along(self.curve.parameter)

    def weights(self, row: int) -> tuple[Vector, ...]:
        """Weights (M,) of each state at one of the stored points."""
        return self.problem.weights(self._along(self.curve.state)[row], float(self.y[row]))

    @property
    def supports(self) -> tuple[tuple[int, ...], ...]:
        """Support of each state in the middle of the piece."""
        return tuple(tuple(np.flatnonzero(p > 0).tolist()) for p in self.weights(len(self.y) // 2))

    @cached_property
    def turns(self) -> tuple[LinePoint, ...]:
        """Cusps, and points at which the piece turns back in y, in order along the line."""
        kinds = (CurvePointKind.FOLD, CurvePointKind.PITCHFORK)
        found = [
            (float(p.row), "turn", p.parameter, p.state) for p in self.curve.special_points if p.kind in kinds
        ]
        found += [(row, "cusp", y, state) for row, y, state in self._cusps()]
        points = [LinePoint(name, y, self.problem.beta(state)) for _, name, y, state in sorted(found)]
        return tuple(points[::-1] if self.against else points)

    def _cusps(self) -> list[tuple[float, float, Vector]]:
        """Row, y and state of every zero of the quadratic coefficient along a fold."""
        if not isinstance(self.problem, FoldProblem):
            return []
        measure, equations, nodes = self.problem.quadratic, self.curve.equations, self.curve.nodes
        values = [measure(*pair) for pair in zip(self.curve.state, self.curve.parameter, strict=True)]
        cusps: list[tuple[float, float, Vector]] = []
        for row in np.flatnonzero(np.diff(np.sign(values))):
            arc = Arc(nodes[row], nodes[row + 1])

            def at(u: float, arc: Arc = arc) -> Vector:
                node = node_on_arc(equations, arc, u)
                return arc.point(u) if node is None else node.y

            def value(u: float, at: Callable[[float], Vector] = at) -> float:
                y = at(u)
                return measure(equations.state(y), equations.parameter(y))

            before, after = values[row], values[row + 1]
            y = at(find_root(value, before, after, before / (before - after)))
            cusps.append((row + 0.5, equations.parameter(y), equations.state(y)))
        return cusps

    def _along(self, rows: Vector) -> Vector:
        return rows[::-1] if self.against else rows


@dataclass(frozen=True, eq=False)
class Line:
    """A line of a phase diagram.

    Attributes
    ----------
    kind : LineKind
    parameter : str
        Name of y.
    pieces : tuple of LinePiece
        In order along the line, each beginning where the one before ends.
    special_points : tuple of LinePoint
        In order; the first and the last are the ends.
    """

    kind: LineKind
    parameter: str
    pieces: tuple[LinePiece, ...] = field(repr=False)
    special_points: tuple[LinePoint, ...]

    @cached_property
    def beta(self) -> Vector:
        """Inverse temperature of every stored point, shape (N,); a joint of two pieces appears twice."""
        return np.concatenate([piece.beta for piece in self.pieces])

    @cached_property
    def y(self) -> Vector:
        """Value of y of every stored point, shape (N,)."""
        return np.concatenate([piece.y for piece in self.pieces])

    @property
    def ends(self) -> tuple[LinePoint, LinePoint]:
        """Both ends."""
        return self.special_points[0], self.special_points[-1]

    def at(self, y: float) -> Vector:
        """Inverse temperatures of the line at one y, ascending; empty where the line does not reach."""
        found: list[float] = []
        for piece in self.pieces:
            if piece.y.min() <= y <= piece.y.max():
                found += [piece.problem.beta(state) for state in piece.curve.at(y)]
        values = np.sort(found)
        return values[np.append(True, np.diff(values) > 1e-9 * values[1:])] if found else values


def follow_line(
    family: Family,
    start: LineStart,
    ys: tuple[float, float],
    betas: tuple[float, float],
    requested: Iterable[float] = (),
) -> Line:
    """Follow a line both ways from one of its points, to the ends of the ranges or of the line.

    Parameters
    ----------
    family : Family
        The models as a function of y.
    start : LineStart
        A point of the line, to about 1e-6.
    ys, betas : tuple of float
        Ranges of y and β; the line ends at their edges.
    requested : iterable of float
        Values of y that are to be among the stored points, exactly.

    Returns
    -------
    Line
        Every stored point solves the equations of `line_problems` to rounding.

    Raises
    ------
    InputError
        If a range is empty or does not hold the start, or there is no such line near it.

    Notes
    -----
    Cusps are passed as folds of the extended system. Where a condition of a piece fails the line goes on with
    another support or another cluster of eigenvalues, if it still is a line of minima; its corner is then a
    point of both pieces.
    """
    low, high = _range(family, start, ys)
    values = [y for y in requested if low <= y <= high]
    problem = line_problem(family, start, (low, high), betas)
    measured = problem.measure(problem.start, start.y)
    problem.forget(np.flatnonzero(np.abs(measured) <= VANISHING).tolist())
    curve = continue_curve(
        problem, problem.start, start.y, p_min=low, p_max=high, requested=values, steps=_STEPS
    )
    pieces = [LinePiece(problem, curve)]
    context = (family, (low, high), betas, values)
    forward, after = _extend(pieces[-1], context, forward=True)
    backward, before = _extend(pieces[0], context, forward=False)
    pieces = [*backward[::-1], *pieces, *forward]
    for piece in pieces:
        for row in (0, len(piece.y) // 2, -1):
            if piece.problem.defect(piece.curve.state[row], float(piece.curve.parameter[row])) > SYMMETRIC:
                raise InputError(
                    f"the {start.kind} line loses its symmetry near {family.parameter} = {piece.y[row]:g}: "
                    "follow it on a smaller range"
                )
    return Line(start.kind, family.parameter, tuple(pieces), _special_points(pieces, [*before[::-1], *after]))


_Context = tuple[Family, tuple[float, float], tuple[float, float], list[float]]


def _range(family: Family, start: LineStart, ys: tuple[float, float]) -> tuple[float, float]:
    """The range of y, cut at the values of α at which the equations of this line change."""
    low, high = family.check(ys[0]), family.check(ys[1])
    if family.alpha is None:
        if chart_of(start.kind, start.y, start.weights) == "scores":
            high = min(high, 2.0 - _BESIDE)
        elif start.kind in (LineKind.FOLD, LineKind.COEXISTENCE, LineKind.ENTRY):
            low = max(low, 2.0)
        elif start.kind is LineKind.STORAGE or np.count_nonzero(start.weights[0]) < len(start.weights[0]):
            low = max(low, 1.0 + _BESIDE)
    if not low <= start.y <= high or low == high:
        raise InputError(
            f"{family.parameter} = {start.y:g} does not lie in the range [{low:g}, {high:g}] of this line: "
            "start inside"
        )
    return low, high


def line_problem(
    family: Family, start: LineStart, ys: tuple[float, float], betas: tuple[float, float]
) -> LineProblem:
    """The system of equations of a line near one of its points."""
    unit = unit_of(family, start.y)
    tau = float(np.log(start.beta * unit))
    chart = chart_of(start.kind, family.alpha_at(start.y), start.weights)
    parts = [
        Part(family, weights, weights > 0, tau, start.y, ys, chart, unit, n)
        for n, weights in enumerate(start.weights)
    ]
    if start.kind is LineKind.FOLD:
        return FoldProblem(parts[0], tau, start.y, betas)
    if start.kind is LineKind.INSTABILITY:
        return InstabilityProblem(parts[0], tau, start.y, betas)
    if start.kind is LineKind.COEXISTENCE:
        return CoexistenceProblem(parts[0], parts[1], tau, start.y, betas)
    return EntryProblem(parts[0], start.entering, tau, start.y, betas, start.kind)


def _extend(piece: LinePiece, context: _Context, forward: bool) -> tuple[list[LinePiece], list[LinePoint]]:
    """The pieces beyond one end of a piece, in order away from it, the kinks between them, and the end."""
    family, (low, high), betas, values = context
    added: list[LinePiece] = []
    points: list[LinePoint] = []
    while True:
        end = piece.curve.ends[1 if forward or added else 0]
        condition = piece.problem.kept(end.monitors[0]) if end.kind is CurvePointKind.BARRIER else None
        point = _named(piece.problem, end, str(end.kind) if condition is None else str(condition.limit))
        if condition is None or condition.limit is Limit.BETA or len(added) == _MAX_PIECES:
            break
        corner = Corner(family, (low, high), betas, piece.problem, condition, end.state, end.parameter)
        problem, curve = next(
            (
                (problem, curve)
                for problem, opening in successors(corner)
                if (curve := _beyond(problem, end.parameter, opening, (low, high), values)) is not None
            ),
            (None, None),
        )
        if problem is None or curve is None:
            break
        piece = LinePiece(problem, curve, against=not forward)
        added.append(piece)
        points.append(replace(point, name="kink"))
    return added, [*points, point]


def _beyond(
    problem: LineProblem,
    y: float,
    opening: tuple[int, ...],
    ys: tuple[float, float],
    values: list[float],
) -> Curve | None:
    """The curve beyond a corner, met close to it on the side where the opening conditions are positive."""
    jet = problem.jet(problem.start, y)
    velocity = -np.linalg.lstsq(jet[1], jet[2])[0]
    for distance in _DEPARTURES:
        for side in (1, -1):
            beside = y + side * distance * (ys[1] - ys[0])
            if not ys[0] <= beside <= ys[1]:
                continue
            guess = problem.start + velocity * (beside - y)
            equations = Equations(problem, guess, beside, ys[1] - ys[0])
            found = correct(equations, equations.scaled(guess, beside), None)
            if found is None:
                continue
            U = equations.state(found[0])
            measured = problem.monitors(U, beside)
            near = float(np.linalg.norm(U - problem.start)) <= _NEAR * problem.state_scale
            if near and (measured >= 0.0).all() and measured[list(opening)].min() > 2 * NOISE:
                wanted = [value for value in values if (value - beside) * side > 0]
                curve = continue_curve(
                    problem, U, beside, p_min=ys[0], p_max=ys[1], requested=wanted, direction=side,
                    steps=_STEPS,
                )  # fmt: skip
                return curve if len(curve.nodes) > 1 else None
    return None


def _named(problem: LineProblem, point: CurvePoint, name: str) -> LinePoint:
    patterns = problem.kept(point.monitors[0]).patterns if point.monitors else ()
    return LinePoint(name, point.parameter, problem.beta(point.state), patterns)


def _special_points(pieces: list[LinePiece], joints: list[LinePoint]) -> tuple[LinePoint, ...]:
    """Ends and kinks with the cusps of each piece between them, in order along the line."""
    points = [joints[0]]
    for piece, joint in zip(pieces, joints[1:], strict=True):
        points += piece.turns
        points.append(joint)
    return tuple(points)
