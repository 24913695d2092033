"""The exact tracer for α = 2: branches of strict minima between exactly located events, without a β grid.

On each support weights and overlaps are explicit functions of t = 2/β (`Face`), and the next pattern to
leave, the next to enter and the loss of stability are their first zeros. A leaving pattern is always a kink.
An entering one is a kink when the enlarged support is stable (λ_max(P G P) < t), otherwise the end of
the branch; so is the spinodal λ_max = t.

Source: Proposition 4.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347); strict minima of
standard quadratic programs after Bomze, J. Global Optim. 13 (1998) 369.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State, Vector
from hopfieldphase.continuation.face import RESOLUTION, Face, StoredPatterns
from hopfieldphase.continuation.landing import landing_state
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.kernels import kinks as kernel
from hopfieldphase.model import HopfieldModel

MAX_EVENTS = 100_000
"""Cap on the events of one walk in one direction."""

# Kinks that one call of the compiled walk returns at most, and weights it holds at most.
_CHUNK = 64
_CHUNK_SIZE = 2**21


@dataclass(frozen=True, eq=False)
class ExactPiece(Piece):
    """A piece of an exact branch: the closed form on its support, valid on its whole interval."""

    stored: StoredPatterns = field(repr=False)

    @cached_property
    def face(self) -> Face:
        """The closed form."""
        return Face(self.stored, self.support)

    def at(self, parameter: float) -> State:
        """The state at an inverse temperature inside [lower, upper]."""
        return self.face.state(inverse_temperature(parameter))


@dataclass(frozen=True, eq=False)
class _Event:
    """How one step of a walk ended: where, what acts there, and the support on which the branch goes on."""

    t: float
    kind: PointKind
    patterns: tuple[int, ...] = ()
    multiplicity: int = 1
    degenerate: bool = False
    status: Status = Status.CONVERGED
    beyond: tuple[int, ...] | None = None
    state: State | None = None


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
    stored = StoredPatterns(model)
    face = Face(stored, support)
    t = 2 / beta
    if not face.is_strict_minimum(t):
        raise InputError(
            f"no branch of strict minima has the support {list(face.patterns)} at beta = {beta:.12g}: "
            "relax a state there first, or choose another beta"
        )
    falling = _walk(stored, face.patterns, t, True, 2 / upper, max_events)
    rising = _walk(stored, face.patterns, t, False, 2 / lower if lower > 0 else math.inf, max_events)
    return _assemble(model, stored, face.patterns, beta, (lower, upper), rising, falling)


def _walk(
    stored: StoredPatterns, support: tuple[int, ...], t: float, down: bool, stop: float, max_events: int
) -> list[_Event]:
    """Events from t in one direction, the last of them an end; kinks carry the support beyond."""
    events: list[_Event] = []
    fresh = np.zeros(len(stored.scaled), dtype=np.bool_)
    while len(events) < max_events:
        code, kinks, here, acting = _plain_kinks(
            stored, support, t, down, stop, fresh, max_events - len(events)
        )
        events += kinks
        if kinks:
            support = kinks[-1].beyond or ()
            fresh[:] = False
            fresh[list(kinks[-1].patterns)] = True
            t = kinks[-1].t
        if code == kernel.FULL:
            continue
        event = _event(stored, support, code, here, down, stop, acting)
        if code == kernel.TOGETHER and events and abs(here - events[-1].t) <= RESOLUTION * here:
            event = _merged(events.pop(), event, support)
        else:
            fresh[:] = False
        events.append(event)
        if event.beyond is None:
            return events
        fresh[list(event.patterns)] = True
        support, t = event.beyond, event.t
    return [*events, _Event(t, PointKind.LIMIT, status=Status.ITERATION_LIMIT)]


def _plain_kinks(
    stored: StoredPatterns,
    support: tuple[int, ...],
    t: float,
    down: bool,
    stop: float,
    fresh: NDArray[np.bool_],
    most: int,
) -> tuple[int, list[_Event], float, list[int]]:
    """The compiled walk: how it ended, the kinks before that, where it ended and which patterns act there."""
    inside = np.array(support)
    rows, row_of = stored.rows(inside)
    M, d = stored.scaled.shape
    count = max(1, min(_CHUNK, most, _CHUNK_SIZE // M))
    patterns = np.empty(count, dtype=np.int64)
    table = np.empty((count, 4))
    weights = np.zeros((count, M))
    states = np.zeros((count, d))
    acting = np.zeros(M, dtype=np.bool_)
    code, n, here, last_top = kernel.walk(
        stored.scaled, rows, row_of, inside, t, down, stop, fresh.copy(), acting,
        patterns, table, weights, states,
    )  # fmt: skip
    tops = [*table[:n, 1].tolist(), last_top]
    kinks: list[_Event] = []
    for i, pattern in enumerate(patterns[:n].tolist()):
        at = bisect_left(support, pattern)
        leaves = at < len(support) and support[at] == pattern
        beyond = support[:at] + (support[at + 1 :] if leaves else (pattern, *support[at:]))
        place, _, energy, overlap_max = table[i].tolist()
        state = State(
            parameter=2 / place,
            beta=2 / place,
            x=states[i],
            weights=weights[i],
            support=beyond if leaves else support,
            free_energy=energy / place - 1,
            overlap_max=overlap_max,
            threshold=-energy,
            hessian_min=1 - tops[i + leaves] / place,
        )
        kind = PointKind.LEAVES if leaves else PointKind.ENTERS
        kinks.append(_Event(place, kind, (pattern,), beyond=beyond, state=state))
        support = beyond
    return code, kinks, here, np.flatnonzero(acting).tolist()


def _event(
    stored: StoredPatterns,
    support: tuple[int, ...],
    code: int,
    t: float,
    down: bool,
    stop: float,
    acting: list[int],
) -> _Event:
    """What the compiled walk stopped at."""
    if code == kernel.REACHED:
        unbounded = stop == 0 or math.isinf(stop)
        return _Event(stop, PointKind.UNBOUNDED if unbounded else PointKind.RANGE)
    if code == kernel.JUMP:
        return _Event(t, PointKind.ENTERS, tuple(acting))
    face = Face(stored, support)
    if code == kernel.SPINODAL:
        entering = face.tied_outside(face.top)
        multiplicity = face.soft.shape[1]
        return _Event(
            face.top, PointKind.SPINODAL, entering, multiplicity, multiplicity > 1 or len(entering) > 0
        )
    if code == kernel.TOGETHER:
        return _resolve(face, t, down, acting)
    return _Event(t, PointKind.LIMIT, status=Status.ITERATION_LIMIT)


def _merged(first: _Event, second: _Event, before_second: tuple[int, ...]) -> _Event:
    """Two events at one value as one: the piece between them has no length."""
    changed = set(first.patterns)
    start = tuple(sorted(changed.symmetric_difference(before_second)))
    returns = second.beyond == start
    return replace(
        second,
        t=first.t,
        patterns=tuple(sorted({*first.patterns, *second.patterns})),
        multiplicity=first.multiplicity + second.multiplicity,
        degenerate=second.beyond is None or returns,
        beyond=None if returns else second.beyond,
    )


def _resolve(face: Face, t: float, down: bool, acting: list[int]) -> _Event:
    """Whether the branch goes on where the given patterns leave or enter together, and on which support."""
    entering = tuple(sorted(set(acting).difference(face.patterns)))
    kind = PointKind.ENTERS if entering else PointKind.LEAVES
    union = Face(face.stored, (*face.patterns, *entering)) if entering else face
    if not union.top < t * (1 - RESOLUTION):
        return _Event(t, kind, entering, len(entering), len(entering) > 1)
    if len(acting) == 1:
        beyond = union.patterns if entering else tuple(sorted(set(face.patterns).difference(acting)))
    else:
        p = np.zeros(len(union.patterns))
        p[np.isin(union.support, face.support)] = face.weights(t)
        stays = _departure(union, t, down, p, np.isin(union.support, acting))
        beyond = tuple(union.support[stays].tolist())
    return _Event(t, kind, tuple(acting), len(acting), beyond=beyond, state=face.state(2 / t))


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
    stored: StoredPatterns,
    start: tuple[int, ...],
    beta: float,
    span: tuple[float, float],
    rising: list[_Event],
    falling: list[_Event],
) -> Branch:
    """Order both walks in β, name the joints in both directions, and relax beyond the ends."""
    events = [*reversed(rising), *falling]
    below = [event.beyond for event in reversed(rising) if event.beyond is not None]
    above = [event.beyond for event in falling if event.beyond is not None]
    supports = [*below, start, *above]
    first = _end(model, stored, supports[0], events[0], span[0], up=False)
    last = _end(model, stored, supports[-1], events[-1], span[1], up=True)
    joints = [_joint(*sides) for sides in zip(supports, supports[1:], events[1:], strict=False)]
    lower_events = [first, *(downward for _, downward in joints)]
    upper_events = [*(upward for upward, _ in joints), last]
    pieces = tuple(
        ExactPiece(support, lower.parameter, upper.parameter, lower, upper, 0, stored)
        for support, lower, upper in zip(supports, lower_events, upper_events, strict=True)
    )
    capped = [end.status for end in (first, last) if end.kind is PointKind.LIMIT]
    return Branch(model, "beta", beta, pieces, (first, *upper_events), max(capped, default=Status.CONVERGED))


def _joint(
    below: tuple[int, ...], above: tuple[int, ...], event: _Event
) -> tuple[SpecialPoint, SpecialPoint]:
    """A kink as seen with rising and with falling β."""
    gone = set(below).difference(above)
    come = set(above).difference(below)
    beta = 2 / event.t
    patterns = tuple(sorted(gone | come))

    def point(kind: PointKind) -> SpecialPoint:
        return SpecialPoint(
            kind=kind,
            parameter=beta,
            goes_on=True,
            patterns=patterns,
            multiplicity=event.multiplicity,
            degenerate=event.degenerate,
            state=event.state,
            bracket=_bracket(beta),
            precision=RESOLUTION,
            status=event.status,
        )

    return (
        point(PointKind.ENTERS if come else PointKind.LEAVES),
        point(PointKind.ENTERS if gone else PointKind.LEAVES),
    )


def _end(
    model: HopfieldModel,
    stored: StoredPatterns,
    support: tuple[int, ...],
    event: _Event,
    edge: float,
    *,
    up: bool,
) -> SpecialPoint:
    """An end of the branch; where the state loses stability, with the state it relaxes to beyond."""
    if event.kind is PointKind.UNBOUNDED:
        return SpecialPoint(event.kind, edge, goes_on=False, bracket=(edge, edge))
    beta = edge if event.kind is PointKind.RANGE else 2 / event.t
    face = Face(stored, support)
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
    if not point.is_jump:
        return point
    entering = event.patterns if event.kind is PointKind.ENTERS else ()
    landing = landing_state(model, face, event.t, entering, up)
    return replace(point, landing=landing, status=Status.CONVERGED if landing else Status.BOUNDARY)


def _bracket(beta: float) -> tuple[float, float]:
    return beta * (1 - RESOLUTION), beta * (1 + RESOLUTION)
