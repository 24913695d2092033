"""The exact tracer for α = 2: branches of strict minima between exactly located events, without a β grid.

On each support the state is a sum of simple poles in t = 2/β (`Face`), so that the next pattern to leave, the
next to enter and the loss of stability are the first zeros of known functions. A leaving pattern is always a
kink. An entering one is a kink when the enlarged support is stable (λ_max(P G P) < t), otherwise the end of
the branch; so is the spinodal λ_max = t.

Source: Proposition 4.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347); strict minima of
standard quadratic programs after Bomze, J. Global Optim. 13 (1998) 369.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State, Vector
from hopfieldphase.continuation.face import RESOLUTION, Face
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

MAX_EVENTS = 100_000
"""Cap on the events of one walk in one direction."""

BEYOND = 1e-8
"""Relative distance behind an end at which the landing state is relaxed."""


@dataclass(frozen=True, eq=False)
class ExactPiece(Piece):
    """A piece of an exact branch: the closed form on its support, valid on its whole interval."""

    face: Face

    def at(self, parameter: float) -> State:
        """The state at an inverse temperature inside [lower, upper]."""
        return self.face.state(2 / parameter)


@dataclass(frozen=True, eq=False)
class _Event:
    """How one step of a walk ended: where, what acts there, and the face on which the branch goes on."""

    t: float
    kind: PointKind
    patterns: tuple[int, ...] = ()
    multiplicity: int = 1
    degenerate: bool = False
    status: Status = Status.CONVERGED
    face: Face | None = None


def trace(
    model: HopfieldModel,
    support: NDArray[np.int64] | tuple[int, ...],
    beta: float,
    lower: float = 0.0,
    upper: float = math.inf,
    *,
    max_events: int = MAX_EVENTS,
) -> Branch:
    """Follow the strict minimum on a support both ways in β, from event to event.

    Parameters
    ----------
    model : HopfieldModel
        α = 2; patterns of any norms.
    support : sequence of int
        The patterns with positive weight at `beta`.
    beta : float
        Where the state is known to be a strict minimum.
    lower, upper : float
        The range of β; by default from 0 to infinity.
    max_events : int
        Cap on the events in each direction.

    Returns
    -------
    Branch
        Pieces ascending in β, evaluated in closed form; every event to 1e-12 relative. Ends at which the
        state loses stability carry the state it relaxes to at β (1 ± 1e-8) beyond the end.

    Raises
    ------
    InputError
        If α is not 2, the range does not contain β, or the support carries no strict minimum at β.
    """
    if model.alpha != 2.0:
        raise InputError(
            f"alpha = {model.alpha:g}: the exact tracer needs alpha = 2; use hopfieldphase.follow, which "
            "takes the arclength method for every other alpha"
        )
    beta = inverse_temperature(beta)
    if not 0 <= lower <= beta <= upper:
        raise InputError(
            f"beta = {beta:.12g} lies outside the range [{lower:.12g}, {upper:.12g}]: "
            "start from an inverse temperature inside the range"
        )
    scaled = model.scale * np.ascontiguousarray(model.patterns, dtype=np.float64)
    face = Face(scaled, np.unique(np.asarray(support, dtype=np.int64)))
    t = 2 / beta
    if not face.is_strict_minimum(t):
        raise InputError(
            f"no branch of strict minima has the support {face.support.tolist()} at beta = {beta:.12g}: "
            "relax a state there first, or choose another beta"
        )
    falling = _walk(face, t, True, 2 / upper, max_events)
    rising = _walk(face, t, False, 2 / lower if lower > 0 else math.inf, max_events)
    return _assemble(model, face, beta, rising, falling)


def _walk(face: Face, t: float, down: bool, stop: float, max_events: int) -> list[_Event]:
    """Events from t in one direction, the last of them an end; kinks carry the face beyond."""
    events: list[_Event] = []
    faces = [face]
    fresh = np.zeros(face.mean_overlaps.size, dtype=np.bool_)
    for _ in range(max_events):
        event = _next(faces[-1], t, down, stop, fresh)
        if (
            events
            and abs(event.t - t) <= RESOLUTION * t
            and event.kind not in (PointKind.RANGE, PointKind.LIMIT)
        ):
            # The piece in between has no length: what happens here is one event of both patterns.
            first = events.pop()
            faces.pop()
            patterns = tuple(sorted({*first.patterns, *event.patterns}))
            size = first.multiplicity + event.multiplicity
            returns = event.face is not None and np.array_equal(event.face.support, faces[-1].support)
            event = _Event(
                first.t, event.kind, patterns, size, event.face is None or returns,
                face=None if returns else event.face,
            )  # fmt: skip
        else:
            fresh[:] = False
        events.append(event)
        if event.face is None:
            return events
        fresh[list(event.patterns)] = True
        faces.append(event.face)
        t = event.t
    return [*events, _Event(t, PointKind.LIMIT, status=Status.ITERATION_LIMIT)]


def _next(face: Face, t: float, down: bool, stop: float, fresh: NDArray[np.bool_]) -> _Event:
    """The first thing that happens to a face when t moves towards `stop`."""
    reach = t - max(stop, face.top) if down else stop - t
    tau, found = face.next_event(t, down, reach, fresh)
    if math.isnan(tau):
        return _Event(t, PointKind.LIMIT, status=Status.ITERATION_LIMIT)
    here = t - tau if down else t + tau
    acting = np.flatnonzero(np.isfinite(found))
    if down and face.top > 0 and face.top >= stop and here - face.top <= RESOLUTION * t:
        multiplicity = face.soft.shape[1]
        entering = np.setdiff1d(acting, face.support)
        degenerate = multiplicity > 1 or entering.size > 0
        return _Event(face.top, PointKind.SPINODAL, tuple(entering.tolist()), multiplicity, degenerate)
    if acting.size == 0:
        unbounded = stop == 0 or math.isinf(stop)
        return _Event(stop, PointKind.UNBOUNDED if unbounded else PointKind.RANGE)
    return _resolve(face, here, down, acting)


def _resolve(face: Face, t: float, down: bool, acting: NDArray[np.int64]) -> _Event:
    """Whether the branch goes on where the given patterns leave or enter together, and on which support."""
    entering = np.setdiff1d(acting, face.support)
    kind = PointKind.ENTERS if entering.size else PointKind.LEAVES
    union = Face(face.scaled, np.union1d(face.support, entering)) if entering.size else face
    if not union.top < t * (1 - RESOLUTION):
        return _Event(t, kind, tuple(entering.tolist()), entering.size, entering.size > 1)
    if acting.size == 1:
        beyond = union if entering.size else Face(face.scaled, np.setdiff1d(face.support, acting))
    else:
        p = np.zeros(union.support.size)
        p[np.isin(union.support, face.support)] = face.weights(t)
        stays = _departure(union, t, down, p, np.isin(union.support, acting))
        beyond = Face(face.scaled, union.support[stays])
    return _Event(t, kind, tuple(acting.tolist()), acting.size, face=beyond)


def _departure(union: Face, t: float, down: bool, p: Vector, tied: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which patterns of the union have positive weight just beyond a point where the tied ones have none.

    The velocity y of p minimises ½ yᵀ(tI − G)y ± pᵀy over Σy = 0 and y ≥ 0 on the tied patterns: a strictly
    convex program, solved by principal pivoting with the least-index rule (Murty), which never cycles.
    """
    n = p.size
    scaled = union.scaled[union.support]
    stiffness = t * np.eye(n) - scaled @ scaled.T
    pull = -p if down else p
    free = np.ones(n, dtype=np.bool_)
    for _ in range(2 ** min(int(tied.sum()), 16)):
        size = int(free.sum())
        bordered = np.zeros((size + 1, size + 1))
        bordered[:size, :size] = stiffness[np.ix_(free, free)]
        bordered[:size, size] = bordered[size, :size] = 1.0
        solution = np.linalg.solve(bordered, np.append(-pull[free], 0.0))
        y = np.zeros(n)
        y[free] = solution[:size]
        force = stiffness @ y + pull + solution[size]
        wrong = tied & np.where(free, y <= 1e-12 * np.abs(y).max(), force < -1e-12 * np.abs(pull).max())
        if not wrong.any():
            break
        first = int(np.argmax(wrong))
        free[first] = not free[first]
    return free


def _assemble(
    model: HopfieldModel, start: Face, beta: float, rising: list[_Event], falling: list[_Event]
) -> Branch:
    """Order both walks in β, name the joints in the direction of rising β, and relax beyond the ends."""
    events = [*reversed(rising), *falling]
    lower_faces = [event.face for event in reversed(rising) if event.face is not None]
    upper_faces = [event.face for event in falling if event.face is not None]
    faces = [*lower_faces, start, *upper_faces]
    last = len(faces)
    points: list[SpecialPoint] = []
    for i, event in enumerate(events):
        if i in (0, last):
            points.append(_end(model, faces[0 if i == 0 else -1], event, up=i == last))
        else:
            points.append(_joint(faces[i - 1], faces[i], event))
    pieces = tuple(
        ExactPiece(
            support=tuple(face.support.tolist()),
            lower=points[i].parameter,
            upper=points[i + 1].parameter,
            lower_event=points[i] if i == 0 else _joint(face, faces[i - 1], events[i]),
            upper_event=points[i + 1],
            index=0,
            face=face,
        )
        for i, face in enumerate(faces)
    )
    status = max(points[0].status, points[-1].status) if _capped(points) else Status.CONVERGED
    return Branch("beta", beta, pieces, tuple(points), status)


def _capped(points: list[SpecialPoint]) -> bool:
    return any(point.kind is PointKind.LIMIT for point in (points[0], points[-1]))


def _joint(before: Face, after: Face, event: _Event) -> SpecialPoint:
    """A kink as seen on leaving `before` for `after`."""
    entered = np.setdiff1d(after.support, before.support)
    left = np.setdiff1d(before.support, after.support)
    smaller = after if after.support.size < before.support.size else before
    return SpecialPoint(
        kind=PointKind.ENTERS if entered.size else PointKind.LEAVES,
        parameter=2 / event.t,
        goes_on=True,
        patterns=tuple(np.union1d(entered, left).tolist()),
        multiplicity=event.multiplicity,
        degenerate=event.degenerate,
        state=smaller.state(event.t),
        bracket=_bracket(2 / event.t),
        precision=RESOLUTION,
        status=event.status,
    )


def _end(model: HopfieldModel, face: Face, event: _Event, up: bool) -> SpecialPoint:
    """An end of the branch; where the state loses stability, with the state it relaxes to beyond."""
    if event.kind is PointKind.UNBOUNDED:
        beta = math.inf if up else 0.0
        return SpecialPoint(event.kind, beta, goes_on=False, bracket=(beta, beta))
    beta = 2 / event.t
    point = SpecialPoint(
        kind=event.kind,
        parameter=beta,
        goes_on=False,
        patterns=event.patterns,
        multiplicity=event.multiplicity,
        degenerate=event.degenerate,
        state=face.state(event.t),
        bracket=_bracket(beta),
        precision=RESOLUTION,
        status=event.status,
    )
    if not point.is_jump or point.state is None:
        return point
    beyond = beta * (1 + BEYOND if up else 1 - BEYOND)
    solutions = [relax(model, start, beyond) for start in _fall(face, event, 2 / beyond)]
    best = min(solutions, key=lambda solution: solution.free_energy)
    tied = [s for s in solutions if s.free_energy <= best.free_energy + RESOLUTION * abs(best.free_energy)]
    landed = Face(face.scaled, tied[0].support)
    if not landed.is_strict_minimum(2 / beyond):
        return replace(point, status=max(tied[0].status, Status.BOUNDARY))
    return replace(point, landing=landed.state(2 / beyond))


def _fall(face: Face, event: _Event, beyond: float) -> list[Vector]:
    """States from which to relax at t = `beyond`: the far ends of the flat or falling directions of an end.

    Along a direction that has lost stability the free energy falls monotonically up to the boundary of the
    face. Where both senses are open the one that raises the lowest index comes first. An edge that was flat
    at the end only, and is stable beyond, has its minimum inside.
    """
    p = face.weights(event.t)
    if event.kind is PointKind.ENTERS:
        union = Face(face.scaled, np.union1d(face.support, event.patterns[:1]))
        p = np.insert(p, np.searchsorted(face.support, event.patterns[0]), 0.0)
        if union.top < beyond and (inside := union.weights(beyond)).min() > 0:
            return [inside @ union.scaled[union.support]]
        raised = int(np.searchsorted(union.support, event.patterns[0]))
        senses: tuple[float, ...] = (1.0,)
    else:
        union = face
        raised = int(np.argmax(np.abs(face.soft).max(axis=1) > 0.1 * np.abs(face.soft).max()))
        senses = (1.0, -1.0)
    direction = union.soft @ union.soft[raised]
    starts = []
    for sense in senses:
        falling = np.flatnonzero(sense * direction < 0)
        length = np.min(p[falling] / np.abs(direction[falling]))
        starts.append((p + sense * length * direction) @ union.scaled[union.support])
    return starts


def _bracket(beta: float) -> tuple[float, float]:
    return beta * (1 - RESOLUTION), beta * (1 + RESOLUTION)
