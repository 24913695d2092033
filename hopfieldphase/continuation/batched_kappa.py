"""Sweeps in the memory load of all realizations and both directions at once, on any array library.

Every state is among its own number M of patterns and walks at its own pace, in the steps of
`continuation.load`: from event to event at α > 1, in halved steps at α ≤ 1. A round moves all of them;
between rounds the host looks at what each has met, and says where it goes next.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hopfieldphase.continuation.batched_sweep import observe
from hopfieldphase.continuation.kappa import KappaSweep, join, pattern_counts, pattern_facts
from hopfieldphase.continuation.load import (
    DOWN,
    EVENT_TYPES,
    LARGEST_GROWTH,
    SMOOTH,
    UP,
    LoadEvents,
    Trail,
    check_count,
)
from hopfieldphase.continuation.starts import continues, initial_state
from hopfieldphase.core.arrays import Array
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.kernels import batched
from hopfieldphase.kernels.batched_steps import (
    Batch,
    choose,
    evaluate,
    newton_step,
    relative_distance,
)
from hopfieldphase.kernels.device import Backend
from hopfieldphase.kernels.relax import NEWTON, TIE
from hopfieldphase.kernels.sweep import FLOAT_COLUMNS, INT_COLUMNS, SAME_STATE, SAME_STATE_UNPOLISHED
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import SolverOptions, solver_options

_DEEPEST = 64  # halvings of a step: 2⁶⁴ patterns are more than any memory holds


def kappa_batch(
    models: Sequence[HopfieldModel],
    kappas: Any,
    beta: float,
    backend: Backend,
    *,
    start_up: Any = "mean",
    start_down: Any = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    max_steps: int | None = None,
    polish: bool = True,
    keep_states: bool = False,
    progress: Callable[[int, int], object] | None = None,
) -> list[KappaSweep]:
    """`continuation.kappa.kappa_sweep` of several models at once; parameters, results and errors are its own.

    Parameters
    ----------
    models : sequence of HopfieldModel
        They agree in M, d, α and scale.
    kappas : array, shape (n,)
        Memory loads, strictly ascending.
    beta : float
        Inverse temperature β > 0.
    backend : Backend
        Where to compute.
    start_up, start_down, solver, tol, max_steps, polish, keep_states
        See `continuation.kappa.kappa_sweep`.
    progress : callable, optional
        Called as ``progress(done, total)`` after each round, in observations made.
    """
    axis, counts = pattern_counts(kappas, models[0].d)
    beta = inverse_temperature(beta)
    options = solver_options(solver, tol, max_steps, polish, np.asarray(models[0].patterns).dtype)
    starts = (start_up, start_down)
    follows = continues(starts)
    own = [way for way in (UP, DOWN) if not follows[way]]
    N = int(counts[-1])
    for model in models:
        check_count(model, N)
    firsts = (int(counts[0]), N)
    x = np.stack(
        [
            [
                initial_state(
                    HopfieldModel(np.asarray(model.patterns)[: firsts[way]], model.alpha, model.scale),
                    starts[way],
                    beta,
                    options,
                )
                for way in own
            ]
            for model in models
        ]
    )
    crowd = _Crowd(models, N, beta, backend)
    trails: list[dict[int, Trail]] = [{} for _ in models]
    waves = [own] + [[way] for way in (UP, DOWN) if follows[way]]
    total = 2 * axis.size * len(models)
    before = 0
    for ways in waves:
        walk = _Walk(crowd, ways, counts, x, options)
        while walk.round():
            if progress is not None:
                progress(before + walk.observed, total)
        before += walk.observed
        found = walk.trails(keep_states)
        for r, row in enumerate(found):
            for way, trail in zip(ways, row, strict=True):
                trails[r][way] = trail
        x = np.stack([[row[-1].last] for row in found])
    return [
        join(axis, counts, (trails[r][UP], trails[r][DOWN]), starts, pattern_facts(model, N))
        for r, model in enumerate(models)
    ]


class _Crowd:
    """The first N patterns of all models on the device, at one β."""

    def __init__(self, models: Sequence[HopfieldModel], N: int, beta: float, backend: Backend) -> None:
        self.backend, self.xp = backend, backend.xp
        self.scale, self.alpha, self.N, self.d = models[0].scale, models[0].alpha, N, models[0].d
        patterns = np.stack([np.asarray(model.patterns[:N], dtype=np.float64) for model in models])
        reach = self.scale * np.linalg.norm(patterns, axis=-1)
        self.lengths = np.maximum.accumulate(reach, axis=-1)
        self.patterns = backend.put(patterns)
        self.index = backend.put(np.arange(N))
        self.beta = backend.put(np.array([[beta]]))

    def among(self, M: np.ndarray) -> Batch:
        """The batch in which each state sees its first M (R, S) patterns."""
        put = self.backend.put
        length = np.take_along_axis(self.lengths, M - 1, axis=1)
        return Batch(self.xp, self.patterns, self.first(M), self.scale, self.alpha, self.beta, put(length))

    def first(self, M: np.ndarray) -> Array:
        """Which patterns are among the first M (R, S)."""
        return self.index < self.backend.put(M)[..., None]

    def relative(self, a: Array, b: Array, batch: Batch) -> np.ndarray:
        """Distances of states, on the host."""
        return self.backend.fetch(relative_distance(self.xp, a, b, batch.length))


class _Walk:
    """States (R, S), one column per direction, on their way through ascending numbers of patterns.

    On the host: `M` and the outcome of the last relaxation, `goal` the next stop of each, and the tables.
    """

    def __init__(
        self, crowd: _Crowd, ways: list[int], counts: np.ndarray, x0: np.ndarray, options: SolverOptions
    ) -> None:
        R, S, n = x0.shape[0], len(ways), counts.size
        self.crowd, self.xp, self.ways, self.options = crowd, crowd.xp, ways, options
        self.nearness = SAME_STATE if options.polish else SAME_STATE_UNPOLISHED
        self.up = np.broadcast_to(np.array([way == UP for way in ways]), (R, S))
        self.stops = [_stops(counts if way == UP else counts[::-1], crowd.alpha) for way in ways]
        self.at = np.zeros((R, S), dtype=int)  # stops reached
        self.seen = np.zeros((R, S), dtype=int)  # observations made
        self.stack = np.zeros((R, S, _DEEPEST), dtype=int)
        self.depth = np.zeros((R, S), dtype=int)
        self.steps, self.jumped = np.zeros((R, S), dtype=int), np.zeros((R, S), dtype=bool)
        self.floats = np.zeros((R, S, n, len(FLOAT_COLUMNS)))
        self.ints = np.zeros((R, S, n, len(INT_COLUMNS)), dtype=int)
        self.path = np.zeros((R, S, n, crowd.d))
        self.events: list[np.ndarray] = []
        self.M = np.broadcast_to(np.array([stops[0][0] for stops in self.stops]), (R, S)).copy()
        out = self._relax(crowd.backend.put(np.ascontiguousarray(x0)), self.M, None)
        self.out, self.energy = out, crowd.backend.fetch(out.states.energy)

    @property
    def observed(self) -> int:
        """Number of observations made."""
        return int(self.seen.sum())

    def round(self) -> bool:
        """Observe what can be, then move every state that is on its way; whether any was."""
        return self._round_of_steps() if self.crowd.alpha <= 1 else self._round_of_events()

    def _round_of_events(self) -> bool:
        """α > 1: each state goes to the next pattern that acts on it, and observes on its way."""
        crowd, xp, fetch = self.crowd, self.xp, self.crowd.backend.fetch
        states = self.out.states
        z = crowd.scale * xp.matmul(states.x, xp.matrix_transpose(crowd.patterns))
        top = xp.max(xp.where(states.p > 0, z, -np.inf), axis=-1)
        threshold = top if math.isinf(crowd.alpha) else states.theta
        level = threshold - TIE * xp.maximum(xp.abs(threshold), xp.abs(top))
        acting = z >= level[..., None]
        joins = xp.astype(acting & ~crowd.first(self.M), xp.int8)
        leaves = xp.flip(xp.astype(acting & crowd.first(self.M), xp.int8), axis=-1)
        none = xp.max(joins, axis=-1) == 0
        entering = xp.where(none, crowd.N, xp.argmax(joins, axis=-1))
        leaving = crowd.N - 1 - xp.argmax(leaves, axis=-1)
        pattern = np.where(self.up, fetch(entering), fetch(leaving))
        here = crowd.backend.put(np.minimum(pattern, crowd.N - 1))[..., None]
        acts = fetch(xp.take_along_axis(z, here, axis=-1)[..., 0] > threshold)
        while True:
            load, left = self._next_stop()
            passing = left & np.where(self.up, load <= pattern, load > pattern)
            if not passing.any():
                break
            self._observe(passing, load, z)
            self.at += passing
        if not left.any():
            return False
        old = np.where(left, np.where(self.up, pattern, pattern + 1), self.M)
        new = np.where(left, np.where(self.up, pattern + 1, pattern), self.M)
        before = self.energy, self._largest(z, old)
        moved, returned = self._step(old, new, left)
        # a pattern counts where it acts on the state or, tied with θ, moves it
        counts = left & (acts | (moved > self.nearness))
        self._record(counts, old, before, moved, counts & ~returned)
        return True

    def _round_of_steps(self) -> bool:
        """α ≤ 1: each state takes a step that its first Newton step explains, or half of it, down to one."""
        crowd = self.crowd
        while True:
            self.depth -= (self.depth > 0) & (self._top() == self.M)
            load, left = self._next_stop()
            idle = left & (self.depth == 0)
            arrived = idle & (load == self.M)
            if arrived.any():
                self._observe(arrived & self._observing(), load, self.out.states.z)
            self.at += arrived
            begins = idle & ~arrived
            self._push(begins, load)
            top = self._top()
            moving = (self.depth > 0) & (top != self.M)
            waiting = self._next_stop()[1] & ~moving
            if not waiting.any() and not ((self.depth > 0) & ~moving).any():
                break
        if not moving.any():
            return False
        goal = np.where(moving, top, self.M)
        single = moving & (np.abs(goal - self.M) == 1)
        old, last, before = self.M.copy(), self.out, (self.energy, self._largest(self.out.states.z, self.M))
        batch = crowd.among(goal)
        step, found = newton_step(batch, evaluate(batch, last.states.x))
        moved, returned = self._step(old, goal, moving, asked=single)
        states = self.out.states
        off = crowd.relative(states.x, last.states.x + step, batch)
        smooth = crowd.backend.fetch(found) & ((moved <= self.nearness) | (off <= SMOOTH * moved))
        taken = single | (moving & smooth)
        self._record(single & ~returned, old, before, moved, single & ~returned)
        self._recall(moving & ~taken, old, last)
        self._push(moving & ~taken, (old + goal) // 2)
        return True

    def _next_stop(self) -> tuple[np.ndarray, np.ndarray]:
        """M of the next stop of each state, and whether there is one."""
        loads, left = np.zeros_like(self.M), np.zeros(self.M.shape, dtype=bool)
        for column, stops in enumerate(self.stops):
            own = self.at[:, column]
            left[:, column] = own < len(stops)
            loads[:, column] = np.array([stop[0] for stop in stops])[np.minimum(own, len(stops) - 1)]
        return loads, left

    def _observing(self) -> np.ndarray:
        """Whether the next stop of each state is one where it is observed."""
        found = np.zeros(self.M.shape, dtype=bool)
        for column, stops in enumerate(self.stops):
            marks = np.array([stop[1] for stop in stops])
            found[:, column] = marks[np.minimum(self.at[:, column], len(stops) - 1)]
        return found

    def _top(self) -> np.ndarray:
        """What was pushed last."""
        return np.take_along_axis(self.stack, np.maximum(self.depth - 1, 0)[..., None], axis=-1)[..., 0]

    def _push(self, where: np.ndarray, goal: np.ndarray) -> None:
        r, s = np.nonzero(where)
        self.stack[r, s, self.depth[r, s]] = goal[r, s]
        self.depth[r, s] += 1

    def _relax(self, x: Array, M: np.ndarray, active: np.ndarray | None) -> batched.Outcome:
        options, put = self.options, self.crowd.backend.put
        on = None if active is None else put(active)
        out = batched.relax(
            self.crowd.among(M), x, options.method, options.tolerance, options.max_steps, options.polish, on
        )
        self.steps = self.steps + self.crowd.backend.fetch(out.steps)
        return out

    def _step(
        self, old: np.ndarray, new: np.ndarray, active: np.ndarray, asked: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Relax among `new` patterns; distances moved, and whether relaxing back among `old` returns."""
        last, put = self.out, self.crowd.backend.put
        before = last.states.x
        out = self._relax(before, new, active)
        self.out = out._replace(**self._verdicts(put(active), out, last))
        self.M = np.where(active, new, self.M)
        self.energy = np.where(active, self.crowd.backend.fetch(out.states.energy), self.energy)
        moved = self.crowd.relative(out.states.x, before, self.crowd.among(new))
        lost = (active if asked is None else asked) & (moved > self.nearness)
        for verified in (False, True):
            if lost.any():
                lost &= self._back(old, before, lost, verified) > self.nearness
        return moved, ~lost

    def _back(self, M: np.ndarray, previous: Array, active: np.ndarray, verified: bool) -> np.ndarray:
        batch, options = self.crowd.among(M), self.options
        # Whether a state returns does not depend on the solver.
        out = batched.relax(
            batch, self.out.states.x, NEWTON, min(options.tolerance, 1e-10), options.max_steps, True,
            self.crowd.backend.put(active), verified,
        )  # fmt: skip
        return self.crowd.relative(out.states.x, previous, batch)

    def _recall(self, where: np.ndarray, M: np.ndarray, last: batched.Outcome) -> None:
        """Put states back to where they were."""
        on = self.crowd.backend.put(where)
        states = choose(self.xp, on, last.states, self.out.states)
        self.out = self.out._replace(states=states, **self._verdicts(on, last, self.out))
        self.M = np.where(where, M, self.M)
        self.energy = self.crowd.backend.fetch(self.out.states.energy)

    def _verdicts(self, on: Array, one: batched.Outcome, other: batched.Outcome) -> dict[str, Array]:
        """What was found of the states of one outcome where `on`, else of those of the other."""
        names = ("status", "inner", "outer")
        return {name: self.xp.where(on, getattr(one, name), getattr(other, name)) for name in names}

    def _largest(self, z: Array, M: np.ndarray) -> np.ndarray:
        """Max |z| over the first M patterns."""
        xp = self.xp
        largest = xp.max(xp.where(self.crowd.first(M), xp.abs(z), 0.0), axis=-1)
        return self.crowd.backend.fetch(largest)

    def _record(
        self,
        where: np.ndarray,
        old: np.ndarray,
        before: tuple[np.ndarray, np.ndarray],
        moved: np.ndarray,
        jumped: np.ndarray,
    ) -> None:
        """Note how states changed with one pattern."""
        if not where.any():
            return
        self.jumped = self.jumped | (jumped & where)
        after = self._largest(self.out.states.z, self.M)
        number = np.arange(self.M.size).reshape(self.M.shape)
        columns = (
            number, self.M, np.minimum(old, self.M), jumped, before[0], self.energy, before[1], after, moved,
        )  # fmt: skip
        self.events.append(np.stack([column[where].astype(float) for column in columns], axis=-1))

    def _observe(self, where: np.ndarray, M: np.ndarray, z: Array) -> None:
        """Note states as they are among the first M patterns."""
        if not where.any():
            return
        xp, fetch = self.xp, self.crowd.backend.fetch
        seen = xp.where(self.crowd.first(M), z, -np.inf)
        out = self.out._replace(states=self.out.states._replace(z=seen))
        real, whole = (fetch(table) for table in observe(self.crowd.among(M), out))
        r, s = np.nonzero(where)
        n = self.seen[r, s]
        self.floats[r, s, n], self.ints[r, s, n] = real[r, s], whole[r, s]
        self.ints[r, s, n, 3], self.ints[r, s, n, 4] = self.steps[r, s], self.jumped[r, s]
        self.path[r, s, n] = fetch(out.states.x)[r, s]
        self.steps, self.jumped = np.where(where, 0, self.steps), self.jumped & ~where
        self.seen[r, s] += 1

    def trails(self, keep_states: bool) -> list[list[Trail]]:
        """What each state leaves behind."""
        R, S = self.M.shape
        table = np.concatenate(self.events) if self.events else np.zeros((0, 1 + len(EVENT_TYPES)))
        x = self.crowd.backend.fetch(self.out.states.x)
        found: list[list[Trail]] = []
        for r in range(R):
            row: list[Trail] = []
            for s, way in enumerate(self.ways):
                order = slice(None, None, 1 if way == UP else -1)
                events = table[table[:, 0] == r * S + s, 1:]
                columns = {name: self.floats[r, s, order, k] for k, name in enumerate(FLOAT_COLUMNS)}
                columns |= {name: self.ints[r, s, order, k] for k, name in enumerate(INT_COLUMNS)}
                typed = (events[:, k].astype(kind) for k, kind in enumerate(EVENT_TYPES))
                states = self.path[r, s, order] if keep_states else None
                row.append(Trail(columns, states, LoadEvents(*typed), x[r, s].copy()))
            found.append(row)
        return found


def _stops(loads: np.ndarray, alpha: float) -> list[tuple[int, bool]]:
    """Numbers of patterns on the way through the loads, and whether to observe there."""
    if alpha > 1:
        return [(int(load), True) for load in loads]
    stops: list[tuple[int, bool]] = []
    M = int(loads[0])
    for load in map(int, loads):
        n = math.ceil(abs(math.log(load / M)) / math.log(LARGEST_GROWTH))
        stops += [(int(goal), False) for goal in np.rint(np.geomspace(M, load, n + 1)[1:])]
        stops.append((load, True))
        M = load
    return stops
