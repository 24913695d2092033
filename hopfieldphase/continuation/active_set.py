"""The exact tracer for α = 2: branches of strict minima between exactly located events, without a β grid.

On each support the state is a sum of simple poles in t = 2/β (`Face`), so that the next pattern to leave, the
next to enter and the loss of stability are the first zeros of known functions. A leaving pattern is always a
kink. An entering one is a kink when the enlarged support is stable (λ_max(P G P) < t), otherwise the end of
the branch; so is the spinodal λ_max = t.

Source: Proposition 4.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347); strict minima of
standard quadratic programs after Bomze, J. Global Optim. 13 (1998) 369.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State, Vector
from hopfieldphase.continuation.face import RESOLUTION, Face, StoredPatterns
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

MAX_EVENTS = 100_000
"""Cap on the events of one walk in one direction."""

BEYOND = (1e-8, 1e-4)
"""Relative distances behind an end at which the landing state is relaxed; the second where the first ties."""


@dataclass(frozen=True, eq=False)
class ExactPiece(Piece):
    """A piece of an exact branch: the closed form on its support, valid on its whole interval."""

    face: Face = field(repr=False)

    def at(self, parameter: float) -> State:
        """The state at an inverse temperature inside [lower, upper]."""
        return self.face.state(inverse_temperature(parameter))


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
    support: Iterable[int],
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
    support : iterable of int
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
        state loses stability carry the state it relaxes to just beyond the end (`BEYOND`).

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
    face = Face(StoredPatterns(model), support)
    t = 2 / beta
    if not face.is_strict_minimum(t):
        raise InputError(
            f"no branch of strict minima has the support {list(face.patterns)} at beta = {beta:.12g}: "
            "relax a state there first, or choose another beta"
        )
    falling = _walk(face, t, True, 2 / upper, max_events)
    rising = _walk(face, t, False, 2 / lower if lower > 0 else math.inf, max_events)
    return _assemble(model, face, beta, (lower, upper), rising, falling)


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
            returns = event.face is not None and event.face.patterns == faces[-1].patterns
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
    here, found = face.next_event(t, down, max(stop, face.top) if down else stop, fresh)
    if math.isnan(here):
        return _Event(t, PointKind.LIMIT, status=Status.ITERATION_LIMIT)
    acting: list[int] = np.flatnonzero(found).tolist()
    if down and face.top > 0 and face.top >= stop and here - face.top <= RESOLUTION * t:
        multiplicity = face.soft.shape[1]
        entering = tuple(sorted(set(acting).difference(face.patterns)))
        degenerate = multiplicity > 1 or bool(entering)
        return _Event(face.top, PointKind.SPINODAL, entering, multiplicity, degenerate)
    if not acting:
        unbounded = stop == 0 or math.isinf(stop)
        return _Event(stop, PointKind.UNBOUNDED if unbounded else PointKind.RANGE)
    return _resolve(face, here, down, acting)


def _resolve(face: Face, t: float, down: bool, acting: list[int]) -> _Event:
    """Whether the branch goes on where the given patterns leave or enter together, and on which support."""
    entering = tuple(sorted(set(acting).difference(face.patterns)))
    kind = PointKind.ENTERS if entering else PointKind.LEAVES
    union = Face(face.stored, (*face.patterns, *entering)) if entering else face
    if not union.top < t * (1 - RESOLUTION):
        return _Event(t, kind, entering, len(entering), len(entering) > 1)
    if len(acting) == 1:
        beyond = union if entering else Face(face.stored, set(face.patterns).difference(acting))
    else:
        p = np.zeros(len(union.patterns))
        p[np.isin(union.support, face.support)] = face.weights(t)
        stays = _departure(union, t, down, p, np.isin(union.support, acting))
        beyond = Face(face.stored, union.support[stays].tolist())
    return _Event(t, kind, tuple(acting), len(acting), face=beyond)


def _departure(union: Face, t: float, down: bool, p: Vector, tied: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which patterns of the union have positive weight just beyond a point where the tied ones have none.

    The velocity y of p minimises ½ yᵀ(tI − G)y ± pᵀy over Σy = 0 and y ≥ 0 on the tied patterns: a strictly
    convex program, solved by principal pivoting with the least-index rule (Murty), which never cycles.
    """
    n = p.size
    scaled = union.stored.scaled[union.support]
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
    model: HopfieldModel,
    start: Face,
    beta: float,
    span: tuple[float, float],
    rising: list[_Event],
    falling: list[_Event],
) -> Branch:
    """Order both walks in β, name the joints in both directions, and relax beyond the ends."""
    events = [*reversed(rising), *falling]
    lower_faces = [event.face for event in reversed(rising) if event.face is not None]
    upper_faces = [event.face for event in falling if event.face is not None]
    faces = [*lower_faces, start, *upper_faces]
    first = _end(model, faces[0], events[0], span[0], up=False)
    last = _end(model, faces[-1], events[-1], span[1], up=True)
    joints = [_joint(*sides) for sides in zip(faces, faces[1:], events[1:], strict=False)]
    lower_events = [first, *(downward for _, downward in joints)]
    upper_events = [*(upward for upward, _ in joints), last]
    pieces = tuple(
        ExactPiece(face.patterns, lower.parameter, upper.parameter, lower, upper, 0, face)
        for face, lower, upper in zip(faces, lower_events, upper_events, strict=True)
    )
    capped = [end.status for end in (first, last) if end.kind is PointKind.LIMIT]
    return Branch(model, "beta", beta, pieces, (first, *upper_events), max(capped, default=Status.CONVERGED))


def _joint(below: Face, above: Face, event: _Event) -> tuple[SpecialPoint, SpecialPoint]:
    """A kink as seen with rising and with falling β."""
    gone = set(below.patterns).difference(above.patterns)
    come = set(above.patterns).difference(below.patterns)
    beta = 2 / event.t
    patterns = tuple(sorted(gone | come))
    state = (above if len(above.patterns) < len(below.patterns) else below).state(beta)

    def point(kind: PointKind) -> SpecialPoint:
        return SpecialPoint(
            kind=kind,
            parameter=beta,
            goes_on=True,
            patterns=patterns,
            multiplicity=event.multiplicity,
            degenerate=event.degenerate,
            state=state,
            bracket=_bracket(beta),
            precision=RESOLUTION,
            status=event.status,
        )

    return (
        point(PointKind.ENTERS if come else PointKind.LEAVES),
        point(PointKind.ENTERS if gone else PointKind.LEAVES),
    )


def _end(model: HopfieldModel, face: Face, event: _Event, edge: float, *, up: bool) -> SpecialPoint:
    """An end of the branch; where the state loses stability, with the state it relaxes to beyond."""
    if event.kind is PointKind.UNBOUNDED:
        return SpecialPoint(event.kind, edge, goes_on=False, bracket=(edge, edge))
    beta = edge if event.kind is PointKind.RANGE else 2 / event.t
    point = SpecialPoint(
        kind=event.kind,
        parameter=beta,
        goes_on=False,
        patterns=event.patterns,
        multiplicity=event.multiplicity,
        degenerate=event.degenerate,
        state=face.state(beta),
        bracket=_bracket(beta),
        precision=RESOLUTION,
        status=event.status,
    )
    if not point.is_jump or point.state is None:
        return point
    for distance in BEYOND:
        beyond = 2 / (beta * (1 + distance if up else 1 - distance))
        landings = [_land(model, face, weights, beyond) for weights in _fall(face, event, beyond)]
        found = [state for state in landings if state is not None]
        if found:
            lowest = min(state.free_energy for state in found) * (1 - RESOLUTION)
            return replace(point, landing=next(state for state in found if state.free_energy <= lowest))
    return replace(point, status=Status.BOUNDARY)


def _fall(face: Face, event: _Event, beyond: float) -> list[Vector]:
    """Weights (M,) from which to relax at t = `beyond`: the far ends of the directions that open at an end.

    Along a direction that has lost stability the free energy falls monotonically up to the boundary of the
    face. Where both senses are open the one that raises the lowest index comes first. An edge that was flat
    at the end only, and is stable beyond, has its minimum inside.
    """
    union = face
    senses = (1.0, -1.0)
    raised = int(
        np.argmax(np.abs(face.soft).max(axis=1, initial=0.0) > 0.1 * np.abs(face.soft).max(initial=0.0))
    )
    if event.kind is PointKind.ENTERS:
        union = Face(face.stored, (*face.patterns, event.patterns[0]))
        senses = (1.0,)
        raised = union.patterns.index(event.patterns[0])
    p = np.zeros(face.mean_overlaps.size)
    if union.top < beyond and (inside := union.weights(beyond)).min() > 0:
        p[union.support] = inside
        return [p]
    p[face.support] = face.weights(event.t)
    direction = np.zeros(p.size)
    direction[union.support] = union.soft @ union.soft[raised]
    return [_to_boundary(p, sense * direction) for sense in senses]


def _to_boundary(p: Vector, direction: Vector) -> Vector:
    """Go from p along a direction until a weight reaches zero, exactly."""
    falling = np.flatnonzero(direction < 0)
    lengths = -p[falling] / direction[falling]
    moved = p + lengths.min() * direction
    moved[falling[lengths <= lengths.min() + RESOLUTION * (1 + lengths.min())]] = 0.0
    return np.maximum(moved, 0.0)


def _land(model: HopfieldModel, face: Face, weights: Vector, t: float) -> State | None:
    """The strict minimum that a state relaxes to; where its gradient drowns in rounding, by exact descent."""
    solution = relax(model, weights @ face.stored.scaled, 2 / t)
    landed = Face(face.stored, solution.support.tolist())
    if landed.is_strict_minimum(t):
        return landed.state(2 / t)
    settled = settle(face.stored, t, weights)
    return None if settled is None else settled.state(2 / t)


def settle(stored: StoredPatterns, t: float, weights: Vector) -> Face | None:
    """Descend on t|p|² − pᵀGp over the simplex, face by face, to a strict minimum.

    On a stable face the step goes to its minimum, on an unstable one along the soft direction, each cut where
    a weight reaches zero; at the minimum of a face the pattern with the largest overlap above θ enters.

    Returns
    -------
    Face or None
        The face of the minimum, None where it is not strict.
    """
    p = np.where(weights > RESOLUTION, weights, 0.0)
    entering: list[int] = []
    for _ in range(100 * p.size):
        face = Face(stored, {*np.flatnonzero(p).tolist(), *entering})
        stable = face.top < t * (1 - RESOLUTION)
        direction = np.zeros(p.size)
        if stable:
            direction[face.support] = face.weights(t)
            direction -= p
        else:
            slope = t * p - stored.scaled @ (p @ stored.scaled)
            soft = face.soft[:, -1]
            sense = float(soft @ slope[face.support])
            direction[face.support] = -soft if sense > 0 else soft
        target = p + direction
        if stable and target[face.support].min() > 0:
            p = target
            slack = -face.energy(t) - stored.scaled @ (p @ stored.scaled)
            slack[face.support] = math.inf
            if face.is_strict_minimum(t):
                return face
            entering = [int(np.argmin(slack))]
            if slack.min() > -RESOLUTION * face.size:
                return None
        else:
            p = _to_boundary(p, direction)
            entering = []
    return None


def _bracket(beta: float) -> tuple[float, float]:
    return beta * (1 - RESOLUTION), beta * (1 + RESOLUTION)
