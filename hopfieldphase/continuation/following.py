"""Branches of stationary states along β for any finite α, followed by pseudo-arclength through everything.

Folds, pitchfork points and support changes are located on the way, with stable and unstable arms alike. Up
to α = 1.5 one curve crosses support changes smoothly; above, each support is a curve of its own, and they
are joined where a weight or an overlap reaches its threshold.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from hopfieldphase.continuation.arclength import continue_curve, leave_barrier
from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State, Vector
from hopfieldphase.continuation.corrector import Arc, Node, node_on_arc
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.problems import FaceProblem, MotionProblem, state_at
from hopfieldphase.continuation.walk import Steps
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

SMOOTH_INDEX = 1.5
"""Up to this α support changes leave the Jacobian Lipschitz continuous."""

MAX_SUPPORT_CHANGES = 10_000
"""Cap on the support changes of one walk in one direction."""

NEAR = 1e-4
"""How far the start may lie from the curve, relative to the state scale."""

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
class _Leg:
    """Part of a curve between two of its special points, in the direction of the branch."""

    space: Space
    curve: Curve
    start: CurvePoint
    stop: CurvePoint

    @property
    def rising(self) -> bool:
        return self.start.parameter < self.stop.parameter


def follow_arclength(
    model: HopfieldModel,
    x: Vector,
    beta: float,
    lower: float,
    upper: float,
    *,
    requested: Iterable[float] = (),
    steps: Steps | None = None,
) -> Branch:
    """Follow the branch through a stationary state both ways in β, around folds, to the ends of the range.

    Parameters
    ----------
    model : HopfieldModel
        0 < α < ∞. At α = 2 the exact tracer is faster and crosses flat edges, where this method stops.
    x : array, shape (d,)
        A stationary state at `beta`, stable or not, to about 1e-6.
    beta : float
        Where to start.
    lower, upper : float
        Range of β, 0 < lower ≤ beta ≤ upper < ∞.
    requested : iterable of float
        Values of β that must be among the stored points of the curves.
    steps : Steps, optional
        Step lengths and their cap.

    Returns
    -------
    Branch
        Its pieces carry the index, the number of negative eigenvalues of ∇²Γ; special points are exact to
        about 1e-12. Where a stable piece ends, the point carries the state that is reached beyond.

    Raises
    ------
    InputError
        If α = ∞, the range does not fit, or x is not close to a stationary state.

    Notes
    -----
    Source: Eq. (3.5) and Propositions 3.2, 3.3 of "On the Statistical Mechanics of Attention"
    (arXiv:2610.17347); Keller, in Applications of Bifurcation Theory (1977) 359.
    """
    beta = inverse_temperature(beta)
    if math.isinf(model.alpha):
        raise InputError(
            "alpha = inf: the weights jump with x, there is no smooth curve to follow; use a finite alpha"
        )
    if not 0 < lower <= beta <= upper < math.inf or lower == upper:
        raise InputError(
            f"beta = {beta:.12g} and the range [{lower:.12g}, {upper:.12g}] do not fit: "
            "choose 0 < lower <= beta <= upper < inf with lower < upper"
        )
    state = state_at(model, np.asarray(x, dtype=np.float64), beta)
    if model.alpha <= SMOOTH_INDEX:
        space: Space = MotionProblem(model)
    else:
        space = _space_on(model, state.support)
    values = sorted({float(value) for value in requested})

    def extend(space: Space, end: CurvePoint) -> list[tuple[Space, Curve]]:
        found: list[tuple[Space, Curve]] = []
        while end.kind is CurvePointKind.BARRIER and len(found) < MAX_SUPPORT_CHANGES:
            space, curve = _beyond(model, space, end, lower, upper, values, steps)
            if curve is None:
                break
            found.append((space, curve))
            end = curve.ends[1]
        return found

    start = space.unknown(state)
    middle = continue_curve(
        space, start, beta, p_min=lower, p_max=upper, requested=(beta, *values), steps=steps
    )
    _check_start(space, middle, start, beta)
    back, ahead = (extend(space, end) for end in middle.ends)
    legs = [leg for far, curve in reversed(back) for leg in _legs(far, curve, reverse=True)]
    legs += [leg for far, curve in [(space, middle), *ahead] for leg in _legs(far, curve)]
    return _assemble(model, beta, legs)


def _check_start(space: Space, curve: Curve, start: Vector, beta: float) -> None:
    """Raise unless the curve passes the start state, inside its domain."""
    rows = np.flatnonzero(curve.parameter == beta)
    distances = np.abs(curve.state[rows] - start).max(axis=1)
    nearest = int(np.argmin(distances))
    monitors = curve.nodes[int(rows[nearest])].monitors
    if distances[nearest] > NEAR * curve.equations.state_scale or (
        space.barrier and monitors.min() < -NEAR * np.abs(monitors).max()
    ):
        raise InputError(
            f"x is not close to a stationary state at beta = {beta:.12g}: relax it there first "
            "(hopfieldphase.relax), or polish an unstable state with Newton's method"
        )


def _space_on(model: HopfieldModel, support: tuple[int, ...]) -> Space:
    if model.alpha < 2.0 or len(support) == 1:
        return MotionProblem(model, support)
    return FaceProblem(model, support)


def _beyond(
    model: HopfieldModel,
    space: Space,
    end: CurvePoint,
    lower: float,
    upper: float,
    requested: list[float],
    steps: Steps | None,
) -> tuple[Space, Curve | None]:
    """The curve on the support that follows where patterns enter or leave."""
    inside = set(space.support or ())
    entering = tuple(sorted(set(end.monitors) - inside))
    state = space.state(end.state, end.parameter)
    weights = state.weights.copy()
    weights[[mu for mu in end.monitors if mu in inside]] = 0.0
    beyond = _space_on(model, tuple(sorted(inside ^ set(end.monitors))))
    unknown = beyond.unknown(replace(state, weights=weights))
    towards = beyond.towards(unknown, entering) if entering else None
    # the Hessian is continuous below α = 2, and the index with it
    index = end.index_before if model.alpha < 2.0 else None
    return beyond, leave_barrier(
        beyond, unknown, end.parameter, end.monitors, towards, index,
        p_min=lower, p_max=upper, requested=requested, steps=steps,
    )  # fmt: skip


def _legs(space: Space, curve: Curve, *, reverse: bool = False) -> list[_Leg]:
    points = curve.special_points
    legs = [_Leg(space, curve, start, stop) for start, stop in pairwise(points)]
    if reverse:
        legs = [replace(leg, start=leg.stop, stop=leg.start) for leg in reversed(legs)]
    return legs


def _assemble(model: HopfieldModel, beta: float, legs: list[_Leg]) -> Branch:
    """Name the joints of the legs in both directions and make pieces of them."""
    supports = [_support(model, leg) for leg in legs]
    forward: list[SpecialPoint] = []
    backward: list[SpecialPoint] = []
    for i in range(len(legs) + 1):
        before = (legs[i - 1], supports[i - 1]) if i else None
        after = (legs[i], supports[i]) if i < len(legs) else None
        there, back = _joint(model, before, after)
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
    before: tuple[_Leg, tuple[int, ...]] | None,
    after: tuple[_Leg, tuple[int, ...]] | None,
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
        multiplicity=len(patterns) or point.multiplicity,
        degenerate=point.kind is CurvePointKind.BARRIER and len(patterns) > 1,
        state=state,
        bracket=point.bracket,
        precision=point.precision / abs(point.parameter),
        status=status,
        landing=_landing(model, state, before and before[0], after and after[0]),
    )
    return forward, replace(forward, kind=back)


def _landing(model: HopfieldModel, state: State, before: _Leg | None, after: _Leg | None) -> State | None:
    """Where a state relaxes just beyond the point at which its branch loses stability."""
    if before is None or after is None or (_index(before) == 0) == (_index(after) == 0):
        return None
    upward = before.rising if _index(before) == 0 else not after.rising
    beta = state.beta * (1 + BEYOND if upward else 1 - BEYOND)
    solution = relax(model, state.x, beta)
    return state_at(model, solution.x, beta) if solution.status.is_minimum else None


def _support(model: HopfieldModel, leg: _Leg) -> tuple[int, ...]:
    """The patterns with positive weight along a leg."""
    if leg.space.support is not None:
        return leg.space.support
    if model.alpha <= 1.0:
        return tuple(range(model.M))
    return tuple(np.flatnonzero(_inner_node(leg).monitors > 0.0).tolist())


def _index(leg: _Leg) -> int:
    """Number of unstable directions along a leg."""
    return _inner_node(leg).index


def _inner_node(leg: _Leg) -> Node:
    """A point inside a leg."""
    first, last = sorted((leg.start.row, leg.stop.row))
    nodes = leg.curve.nodes
    if last - first > 1:
        return nodes[first + 1]
    return node_on_arc(leg.curve.equations, Arc(nodes[first], nodes[last]), 0.5) or nodes[first]
