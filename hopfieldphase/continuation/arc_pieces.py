"""Pieces and special points of a branch from the curves that were followed."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State
from hopfieldphase.continuation.corrector import Arc, Node, node_on_arc
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.problems import FaceProblem, MotionProblem, state_at
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

BEYOND = 1e-6
"""Relative distance behind a loss of stability at which the landing state is relaxed."""

_KINDS = {
    CurvePointKind.FOLD: PointKind.FOLD,
    CurvePointKind.PITCHFORK: PointKind.PITCHFORK,
    CurvePointKind.TRANSCRITICAL: PointKind.BRANCH_POINT,
    CurvePointKind.BRANCH_POINT: PointKind.BRANCH_POINT,
    CurvePointKind.RANGE: PointKind.RANGE,
    CurvePointKind.CLOSED: PointKind.CLOSED,
}

Space = MotionProblem | FaceProblem


@dataclass(frozen=True, eq=False)
class ArcPiece(Piece):
    """A piece of a branch between two rows of a followed curve.

    Attributes
    ----------
    space : MotionProblem or FaceProblem
        The equations of the curve.
    curve : Curve
    first_row, last_row : int
        Rows of the curve between which the piece lies, in its own direction.
    """

    space: Space = field(repr=False)
    curve: Curve = field(repr=False)
    first_row: int
    last_row: int

    def at(self, parameter: float) -> State:
        """The state at an inverse temperature inside [lower, upper], to rounding."""
        values = self.curve.parameter[self.first_row : self.last_row + 1]
        sign = 1.0 if values[-1] > values[0] else -1.0
        row = self.first_row + int(np.searchsorted(sign * values, sign * parameter, side="right")) - 1
        row = min(max(row, self.first_row), self.last_row)
        if self.curve.parameter[row] == parameter:
            unknown = self.curve.state[row]
        else:
            unknown = self.curve.equations.state(self.curve.node_between(row, parameter).y)
        return self.space.state(unknown, parameter)


@dataclass(frozen=True, eq=False)
class Leg:
    """Part of a curve between two of its special points, in the direction of the branch."""

    space: Space
    curve: Curve
    start: CurvePoint
    stop: CurvePoint

    @property
    def rising(self) -> bool:
        """Whether β rises along the leg."""
        return self.start.parameter < self.stop.parameter


def legs_of(space: Space, curve: Curve, *, reverse: bool = False) -> list[Leg]:
    """The legs of a curve, in its own direction or against it."""
    points = curve.special_points
    legs = [Leg(space, curve, start, stop) for start, stop in pairwise(points)]
    if reverse:
        return [replace(leg, start=leg.stop, stop=leg.start) for leg in reversed(legs)]
    return legs


def assemble(model: HopfieldModel, beta: float, legs: list[Leg], *, closed: bool = False) -> Branch:
    """Name the joints of the legs in both directions and make pieces of them."""
    supports = [_support(model, leg) for leg in legs]
    forward: list[SpecialPoint] = []
    backward: list[SpecialPoint] = []
    for i in range(len(legs) + 1):
        before = (legs[i - 1], supports[i - 1]) if i else None
        after = (legs[i], supports[i]) if i < len(legs) else None
        there, back = _joint(model, before, after)
        if closed and not (before and after):
            there = back = replace(there, kind=PointKind.CLOSED, status=Status.CONVERGED)
        forward.append(there)
        backward.append(back)
    pieces = []
    for leg, support, start, stop in zip(legs, supports, backward, forward[1:], strict=False):
        low, high = (start, stop) if leg.rising else (stop, start)
        rows = sorted((leg.start.row, leg.stop.row))
        pieces.append(
            ArcPiece(
                support=support,
                lower=low.parameter,
                upper=high.parameter,
                lower_event=low,
                upper_event=high,
                index=_index(leg),
                space=leg.space,
                curve=leg.curve,
                first_row=rows[0],
                last_row=rows[1],
            )
        )
    ends = [end.status for end in (forward[0], forward[-1])]
    return Branch(
        model=model,
        parameter="beta",
        reference=beta,
        pieces=tuple(pieces),
        special_points=tuple(forward),
        status=max(ends),
    )


def _joint(
    model: HopfieldModel,
    before: tuple[Leg, tuple[int, ...]] | None,
    after: tuple[Leg, tuple[int, ...]] | None,
) -> tuple[SpecialPoint, SpecialPoint]:
    """The special point between two legs, or at an end, as met along the branch and against it."""
    sides = [side for side in (before, after) if side is not None]
    points = [leg.stop if side is before else leg.start for side in sides for leg in side[:1]]
    place = next((i for i, point in enumerate(points) if point.kind is CurvePointKind.BARRIER), 0)
    point, leg = points[place], sides[place][0]
    come = gone = frozenset[int]()
    if before and after:
        come = frozenset(after[1]).difference(before[1])
        gone = frozenset(before[1]).difference(after[1])
    kind = back = _KINDS.get(point.kind, PointKind.LIMIT)
    if come or gone:
        kind = PointKind.ENTERS if come else PointKind.LEAVES
        back = PointKind.ENTERS if gone else PointKind.LEAVES
    patterns = tuple(sorted(come | gone))
    status = Status.CONVERGED
    if kind is PointKind.LIMIT:
        capped = point.kind is CurvePointKind.STEP_LIMIT
        status = Status.ITERATION_LIMIT if capped else Status.NO_PROGRESS
    state = leg.space.state(point.state, point.parameter)
    forward = SpecialPoint(
        kind=kind,
        parameter=point.parameter,
        goes_on=len(sides) == 2,
        patterns=patterns,
        multiplicity=max(len(patterns), point.multiplicity),
        degenerate=point.kind is CurvePointKind.BARRIER and point.multiplicity > 1,
        state=state,
        bracket=point.bracket,
        precision=point.precision / abs(point.parameter),
        status=status,
        landing=_landing(model, state, before and before[0], after and after[0]),
    )
    return forward, replace(forward, kind=back)


def _landing(model: HopfieldModel, state: State, before: Leg | None, after: Leg | None) -> State | None:
    """Where a state relaxes just beyond the point at which its branch loses stability."""
    if before is None or after is None or (_index(before) == 0) == (_index(after) == 0):
        return None
    upward = before.rising if _index(before) == 0 else not after.rising
    beta = state.beta * (1 + BEYOND if upward else 1 - BEYOND)
    solution = relax(model, state.x, beta)
    return state_at(model, solution.x, beta) if solution.status.is_minimum else None


def _support(model: HopfieldModel, leg: Leg) -> tuple[int, ...]:
    """The patterns with positive weight along a leg."""
    if leg.space.support is not None:
        return leg.space.support
    if model.alpha <= 1.0:
        return tuple(range(model.M))
    return tuple(np.flatnonzero(_inner_node(leg).monitors > 0.0).tolist())


def _index(leg: Leg) -> int:
    """Number of unstable directions along a leg."""
    return _inner_node(leg).index


def _inner_node(leg: Leg) -> Node:
    """A point inside a leg."""
    first, last = sorted((leg.start.row, leg.stop.row))
    nodes = leg.curve.nodes
    if last - first > 1:
        return nodes[first + 1]
    return node_on_arc(leg.curve.equations, Arc(nodes[first], nodes[last]), 0.5) or nodes[first]
