"""One direction of a sweep in the memory load: a minimum followed while patterns join, or leave."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.continuation.starts import initial_state
from hopfieldphase.continuation.sweep import OVERLAP_THRESHOLD
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import kappa as kernel
from hopfieldphase.kernels.relax import NEWTON
from hopfieldphase.kernels.steps import relative_distance
from hopfieldphase.kernels.sweep import (
    FLOAT_COLUMNS,
    INT_COLUMNS,
    SAME_STATE,
    SAME_STATE_UNPOLISHED,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import SolverOptions

UP, DOWN = 0, 1

Tell = Callable[[float], object]

LARGEST_GROWTH = 1.05
"""At α ≤ 1 no step changes M by more than this factor, unless by one pattern."""

SMOOTH = 0.05
"""A step of several patterns may miss where its first Newton step led by this part of its length."""


@dataclass(frozen=True, eq=False)
class LoadEvents:
    """Single patterns that act on the followed state as they join or leave, in the order of the sweep.

    Attributes
    ----------
    M : ndarray of int, shape (n,)
        Number of patterns at which the new state is first met: with the pattern (up) or without it (down).
    pattern : ndarray of int
        Index of the pattern that enters (up: M − 1) or leaves (down: M).
    jumped : ndarray of bool
        Whether the new state, relaxed among the patterns of before, does not return to the previous state.
    free_energy_before, free_energy_after : ndarray
        Γ_α of the previous and of the new state.
    overlap_max_before, overlap_max_after : ndarray
        z_max = max |z_μ| of the previous and of the new state, each among its own patterns.
    distance : ndarray
        Distance between both states, relative to max(|x|, s·max|ξ|).
    """

    M: np.ndarray
    pattern: np.ndarray
    jumped: np.ndarray
    free_energy_before: np.ndarray
    free_energy_after: np.ndarray
    overlap_max_before: np.ndarray
    overlap_max_after: np.ndarray
    distance: np.ndarray


EVENT_TYPES = (int, int, bool, float, float, float, float, float)


@dataclass(frozen=True, eq=False)
class Trail:
    """What one direction leaves behind.

    `columns` are the observables of `Sweep` on the ascending grid, each of shape (n,), `states` is (n, d) or
    None, and `last` is the state where the sweep ended.
    """

    columns: dict[str, np.ndarray]
    states: np.ndarray | None
    events: LoadEvents
    last: np.ndarray


def follow_load(
    model: HopfieldModel,
    counts: np.ndarray,
    beta: float,
    way: int,
    start: Any,
    options: SolverOptions,
    keep_states: bool,
    tell: Tell | None = None,
) -> Trail:
    """Follow the minimum that a start relaxes to through ascending numbers of patterns, `UP` or `DOWN`.

    Parameters
    ----------
    model : HopfieldModel
        At least as many patterns as the last of `counts`; M of them are its first M rows.
    counts : ndarray of int, shape (n,)
        Where to observe.
    beta : float
        Inverse temperature β.
    way : int
        `UP` or `DOWN`.
    start : str or array, shape (d,)
        See `starts.initial_state`.
    options : SolverOptions
        Of every relaxation.
    keep_states : bool
        Whether to return the states.
    tell : callable, optional
        Called on the way with the part of the work that is done, from 0 to 1.

    Raises
    ------
    InputError
        If the start does not exist or the model has too few patterns.
    """
    N = int(counts[-1])
    check_count(model, N)
    crowd = crowd_of(model, N)
    order = slice(None) if way == UP else slice(None, None, -1)
    loads = [int(M) for M in counts[order]]
    begin = HopfieldModel(crowd.patterns[: loads[0]], model.alpha, model.scale)
    walk = Walk(crowd, beta, options, loads, keep_states, tell)
    walk.begin(initial_state(begin, start, beta, options))
    walk.go(way)
    floats, ints = np.array(walk.floats)[order], np.array(walk.ints)[order]
    columns = {name: floats[:, i] for i, name in enumerate(FLOAT_COLUMNS)}
    columns |= {name: ints[:, i] for i, name in enumerate(INT_COLUMNS)}
    return Trail(
        columns=columns,
        states=np.array(walk.states)[order] if keep_states else None,
        events=walk.event_table(),
        last=walk.state.x.copy(),
    )


def check_count(model: HopfieldModel, N: int) -> None:
    """Raise `InputError` unless the model has N patterns."""
    if model.M < N:
        raise InputError(
            f"the largest kappa needs {N} patterns, but there are {model.M}: "
            f"end the range at kappa <= {math.log(model.M) / model.d:.4f}"
        )


def crowd_of(model: HopfieldModel, N: int) -> kernel.Crowd:
    """The first N patterns of a model, as the kernels take them."""
    patterns = np.require(model.patterns[:N], np.float64, ["C", "W"])
    reach = model.scale * np.linalg.norm(patterns, axis=1)
    return kernel.Crowd(patterns, model.scale, model.alpha, reach, np.maximum.accumulate(reach))


@dataclass(frozen=True, eq=False)
class Point:
    """The followed state among the first M patterns, with the outcome of its relaxation."""

    M: int
    x: np.ndarray
    overlap_max: float
    outcome: tuple[Any, ...]

    @property
    def free_energy(self) -> float:
        """Γ of the state."""
        return self.outcome[1]


class Walk:
    """A state that is followed, and the tables that it fills.

    `loads` are the numbers of patterns to observe, in walking order; `steps` and `jumped` tell what happened
    since the last observation. Where `record` or `observe` of a subclass sets `stopped`, the walk ends.
    """

    def __init__(
        self,
        crowd: kernel.Crowd,
        beta: float,
        options: SolverOptions,
        loads: list[int],
        keep_states: bool,
        tell: Tell | None = None,
    ) -> None:
        N, d = crowd.patterns.shape
        self._tell = tell
        self.crowd, self.beta, self.loads, self.keep_states = crowd, beta, loads, keep_states
        self.solver = (options.method, options.tolerance, options.max_steps, options.polish)
        # Whether a state returns does not depend on the solver.
        self.solver_back = (NEWTON, min(options.tolerance, 1e-10), options.max_steps, True)
        self.nearness = SAME_STATE if options.polish else SAME_STATE_UNPOLISHED
        self.state, self.scratch = kernel.followed(N, d), kernel.scratch(N, d)
        self.M = loads[0]
        self.outcome: tuple[Any, ...] = ()
        self.steps, self.jumped, self.stopped = 0, False, False
        self.floats: list[tuple[float, ...]] = []
        self.ints: list[tuple[int, ...]] = []
        self.states: list[np.ndarray] = []
        self.events: list[tuple[Any, ...]] = []

    def begin(self, x0: np.ndarray) -> None:
        """Relax the start among the patterns of the first load."""
        self.state.x[:] = x0
        kernel.overlaps(self.crowd, self.state.x, 0, self.M, self.state.z)
        self._settle(self.M, self.M)

    def go(self, way: int) -> None:
        """Walk `UP` or `DOWN` through all loads."""
        if self.crowd.alpha <= 1.0:
            self._in_steps()
        elif way == UP:
            self._through_entering()
        else:
            self._through_leaving()

    def _through_entering(self) -> None:
        """Patterns join, and each one that acts on the state is an event."""
        n = 0
        while n < len(self.loads) and not self.stopped:
            threshold, level = kernel.acting_from(self.crowd, self.state, self.outcome[2])
            pattern = kernel.next_acting(self.crowd, self.state, self.M, self.loads[-1], level)
            while n < len(self.loads) and self.loads[n] <= pattern:
                self.observe(self.loads[n])
                n += 1
            if n < len(self.loads):
                self._event(pattern, pattern + 1, bool(self.state.z[pattern] > threshold))

    def _through_leaving(self) -> None:
        """Patterns leave, and each one that acts on the state is an event."""
        n = 0
        while n < len(self.loads) and not self.stopped:
            threshold, level = kernel.acting_from(self.crowd, self.state, self.outcome[2])
            pattern = kernel.last_acting(self.state, level)
            while n < len(self.loads) and self.loads[n] > pattern:
                self.observe(self.loads[n])
                n += 1
            if n < len(self.loads):
                self._event(pattern + 1, pattern, bool(self.state.z[pattern] > threshold))

    def _in_steps(self) -> None:
        """Patterns join or leave in steps, one by one where the state does not follow them smoothly."""
        for load in self.loads:
            n = math.ceil(abs(math.log(load / self.M)) / math.log(LARGEST_GROWTH))
            for goal in np.rint(np.geomspace(self.M, load, n + 1)[1:]):
                self._reach(int(goal))
            if self.stopped:
                return
            self.observe(load)

    def event_table(self) -> LoadEvents:
        """The events as columns."""
        columns = zip(*self.events, strict=True) if self.events else [()] * len(EVENT_TYPES)
        return LoadEvents(*(np.array(c, dtype=t) for c, t in zip(columns, EVENT_TYPES, strict=True)))

    def _event(self, M_old: int, M_new: int, acts: bool) -> None:
        """Let one pattern join or leave; it counts where it acts on the state or, tied with θ, moves it."""
        before = self._point(M_old)
        moved, returned = self._step(M_old, M_new)
        if acts or moved > self.nearness:
            self.record(before, moved, not returned)

    def _reach(self, goal: int) -> None:
        """Go to `goal` patterns in steps that the tangent explains, halved where it does not, down to one."""
        goals = [goal]
        while goals and not self.stopped:
            before, near = self._point(self.M), goals[-1]
            if near == before.M:
                goals.pop()
            elif abs(near - before.M) == 1:
                moved, returned = self._step(before.M, near)
                if not returned:
                    self.record(before, moved, True)
            elif not self._smooth_step(near):
                self._recall(before)
                goals.append((before.M + near) // 2)

    def _smooth_step(self, M: int) -> bool:
        """Relax among M patterns; whether the state then is close to where its first Newton step led."""
        before, guess = self.state.x.copy(), np.empty_like(self.state.x)
        if not kernel.predict(self.crowd, self.beta, M, self.state, self.scratch, guess):
            return False
        self._settle(M, M)
        length = self.crowd.length[M - 1]
        moved = relative_distance(self.state.x, before, length)
        off = relative_distance(self.state.x, guess, length)
        return moved <= self.nearness or off <= SMOOTH * moved

    def _step(self, M_old: int, M_new: int) -> tuple[float, bool]:
        """Relax among M_new patterns; the distance moved, and whether relaxing back among M_old returns."""
        before = self.state.x.copy()
        self._settle(M_new, max(M_old, M_new))
        moved = relative_distance(self.state.x, before, self.crowd.length[M_new - 1])
        returned = moved <= self.nearness or any(
            self._back(M_old, before, verified) <= self.nearness for verified in (False, True)
        )
        return moved, returned

    def _back(self, M: int, previous: np.ndarray, verified: bool) -> float:
        """Distance from the previous state at which the state, relaxed among M patterns, ends.

        The way to a minimum that is known to be one need not be verified.
        """
        kernel.relax_among(
            self.crowd, self.beta, self.state.x, self.state.z, M, *self.solver_back, verified, self.scratch
        )
        return relative_distance(self.scratch.work.x, previous, self.crowd.length[M - 1])

    def _settle(self, M: int, known: int) -> None:
        """Relax the state among the first M patterns and learn its overlaps with the first `known`."""
        self.outcome, n = kernel.relax_among(
            self.crowd, self.beta, self.state.x, self.state.z, M, *self.solver, True, self.scratch
        )
        kernel.adopt(self.crowd, n, known, self.scratch, self.state)
        self.M = M
        self.steps += self.outcome[6]
        self._tell_share()

    def _tell_share(self) -> None:
        """Tell how much is done, in patterns: a step among M of them costs M, and there are 1/M as many."""
        first, last = self.loads[0], self.loads[-1]
        if self._tell is not None and last != first:
            self._tell(min(max((self.M - first) / (last - first), 0.0), 1.0))

    def _point(self, M: int) -> Point:
        return Point(M, self.state.x.copy(), kernel.largest_overlap(self.state, M), self.outcome)

    def _recall(self, point: Point) -> None:
        self.M, self.outcome = point.M, point.outcome
        self.state.x[:] = point.x
        kernel.overlaps(self.crowd, self.state.x, 0, self.M, self.state.z)

    def record(self, before: Point, moved: float, jumped: bool) -> None:
        """Note how the state changed with one pattern."""
        after = self._point(self.M)
        self.jumped = self.jumped or jumped
        self.events.append(
            (
                after.M,
                min(before.M, after.M),
                jumped,
                before.free_energy,
                after.free_energy,
                before.overlap_max,
                after.overlap_max,
                moved,
            )
        )

    def observe(self, M: int) -> None:
        """Note the state as it is among the first M patterns."""
        status, energy, _, residual, inner, outer, _ = self.outcome
        overlap_max, ipr, support, above = kernel.observe(self.crowd, self.state, M, OVERLAP_THRESHOLD)
        self.floats.append((overlap_max, ipr, energy, min(inner, outer), residual))
        self.ints.append((support, above, status, self.steps, self.jumped))
        if self.keep_states:
            self.states.append(self.state.x.copy())
        self.steps, self.jumped = 0, False
