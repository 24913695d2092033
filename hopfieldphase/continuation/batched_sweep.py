"""Warm-started sweeps in β of all realizations and both directions at once, on any array library."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hopfieldphase.continuation.starts import continues, in_words, initial_state
from hopfieldphase.continuation.sweep import OVERLAP_THRESHOLD, Sweep, ascending_axis
from hopfieldphase.core.arrays import Array
from hopfieldphase.core.patterns import duplicate_rows
from hopfieldphase.kernels import batched
from hopfieldphase.kernels.batched_steps import Batch, relative_distance
from hopfieldphase.kernels.device import Backend
from hopfieldphase.kernels.relax import NEWTON
from hopfieldphase.kernels.sweep import (
    FLOAT_COLUMNS,
    INT_COLUMNS,
    SAME_STATE,
    SAME_STATE_UNPOLISHED,
    VISIBLE_WEIGHT,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import SolverOptions, solver_options

UP, DOWN = 0, 1


def sweep_batch(
    models: Sequence[HopfieldModel],
    betas: Any,
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
) -> list[Sweep]:
    """`continuation.sweep.sweep` of several models at once; parameters, results and errors are its own.

    Patterns go to the device once, observables come back once. Every state takes its own steps; whether a
    point was a jump is asked of all points together at the end. The start "best" is looked for on the host.

    Parameters
    ----------
    models : sequence of HopfieldModel
        They agree in M, d, α and scale.
    betas : array, shape (n,)
        Inverse temperatures, strictly ascending.
    backend : Backend
        Where to compute.
    start_up, start_down, solver, tol, max_steps, polish, keep_states
        See `continuation.sweep.sweep`. The path of "gradient-descent" is that of the compiled kernels; "auto"
        takes the same kind of steps from the last state, without a prediction.
    progress : callable, optional
        Called as ``progress(done, total)`` after each value of β.
    """
    axis = ascending_axis(betas, "betas")
    options = solver_options(solver, tol, max_steps, polish, np.asarray(models[0].patterns).dtype)
    starts = (start_up, start_down)
    follows = continues(starts)
    own = [way for way in (UP, DOWN) if not follows[way]]
    ends = (float(axis[0]), float(axis[-1]))
    states = np.stack(
        [[initial_state(model, starts[way], ends[way], options) for way in own] for model in models]
    )
    device = _Stored(models, backend)
    n, waves = axis.size, [own] + [[way] for way in (UP, DOWN) if follows[way]]
    tell = None if progress is None else progress
    parts: dict[int, _Path] = {}
    for wave, ways in enumerate(waves):
        told = None if tell is None else lambda i, wave=wave: tell(wave * n + i, len(waves) * n)
        found = _follow(device, axis, ways, states, options, told)
        states = found.x[:, :, -1]
        for column, way in enumerate(ways):
            parts[way] = found.take(column)
    paths = [parts[UP], parts[DOWN]]
    jumped = _jumps(device, axis, paths, options)
    return [_labelled(model, axis, paths, jumped, r, keep_states, starts) for r, model in enumerate(models)]


def bytes_per_model(model: HopfieldModel) -> int:
    """Memory of the device that a model takes while it is swept in both directions."""
    return 2 * _bytes_per_state(model.M, model.d) + 8 * model.M * model.d


def _bytes_per_state(M: int, d: int) -> int:
    # Twice the weighted patterns of the curvature, and about two dozen rows of scores and weights.
    return 8 * M * (2 * d + 24)


class _Stored:
    """The patterns of all models on the device."""

    def __init__(self, models: Sequence[HopfieldModel], backend: Backend) -> None:
        self.backend, self.xp = backend, backend.xp
        first = models[0]
        self.scale, self.alpha, self.M, self.d = first.scale, first.alpha, first.M, first.d
        patterns = np.stack([np.asarray(model.patterns, dtype=np.float64) for model in models])
        self.patterns = backend.put(patterns)
        self.length = np.array([[model.state_scale] for model in models])

    def batch(self, beta: np.ndarray) -> Batch:
        """The patterns at β of shape (1 or R, S)."""
        put = self.backend.put
        return Batch(self.xp, self.patterns, None, self.scale, self.alpha, put(beta), put(self.length))


class _Path:
    """What was seen along the axis, on the host: floats and ints (R, S, n, columns), x (R, S, n, d).

    Along the way of each direction; `kept` says that the support is that of the point before.
    """

    def __init__(self, floats: np.ndarray, ints: np.ndarray, x: np.ndarray) -> None:
        self.floats, self.ints, self.x = floats, ints, x

    def take(self, column: int) -> "_Path":
        """One of the directions."""
        return _Path(self.floats[:, column], self.ints[:, column], self.x[:, column])


def _follow(
    device: _Stored,
    axis: np.ndarray,
    ways: list[int],
    x0: np.ndarray,
    options: SolverOptions,
    tell: Callable[[int], object] | None,
) -> _Path:
    """Relax at each β from the last state, in all directions at once."""
    xp, fetch = device.xp, device.backend.fetch
    x = device.backend.put(np.ascontiguousarray(x0))
    support: Array = None
    floats, ints, path = [], [], []
    for i in range(axis.size):
        beta = np.array([[axis[i] if way == UP else axis[-1 - i] for way in ways]])
        batch = device.batch(beta)
        out = batched.relax(batch, x, options.method, options.tolerance, options.max_steps, options.polish)
        x, found = out.states.x, out.states.p > 0
        same = (
            xp.ones_like(out.status, dtype=xp.bool) if support is None else xp.all(found == support, axis=-1)
        )
        support = found
        real, whole = observe(batch, out)
        floats.append(real)
        ints.append(xp.concat([whole, xp.astype(same, xp.int64)[..., None]], axis=-1))
        path.append(x)
        if tell is not None:
            tell(i + 1)
    return _Path(*(fetch(xp.stack(rows, axis=2)) for rows in (floats, ints, path)))


def observe(batch: Batch, out: batched.Outcome) -> tuple[Array, Array]:
    """The columns of `kernels.sweep` of each state, (R, S, 5) each, not knowing of jumps."""
    xp, states, alpha = batch.xp, out.states, batch.alpha
    present = states.z > -np.inf
    largest = xp.max(xp.abs(xp.where(present, states.z, 0.0)), axis=-1)
    ipr = 1.0 / xp.sum(states.p**2, axis=-1)
    curve = xp.minimum(out.inner, out.outer)
    visible = present if alpha < 1 else states.p > (VISIBLE_WEIGHT if alpha == 1 else 0.0)

    def count(rows: Array) -> Array:
        return xp.sum(xp.astype(rows, xp.int64), axis=-1)

    real = xp.stack([largest, ipr, states.energy, curve, states.residual], axis=-1)
    above = count(states.z > OVERLAP_THRESHOLD)
    zero = xp.zeros_like(out.steps)
    return real, xp.stack([count(visible), above, out.status, out.steps, zero], axis=-1)


def _jumps(device: _Stored, axis: np.ndarray, paths: list[_Path], options: SolverOptions) -> list[np.ndarray]:
    """Which points do not lead back to the one before, (R, n) for each direction.

    At α = 2 a state on the support of the one before is on its branch. All others that have moved are relaxed
    back, as many at once as the memory takes.
    """
    nearness = SAME_STATE if options.polish else SAME_STATE_UNPOLISHED
    R, n = paths[UP].x.shape[:2]
    jumped = [np.zeros((R, n), dtype=bool) for _ in paths]
    asked = []
    for way, path in enumerate(paths):
        moved = _relative(path.x[:, 1:], path.x[:, :-1], device.length) > nearness
        if device.alpha == 2.0:
            status = path.ints[:, :, 2] == 0
            on_branch = (path.ints[:, 1:, 5] == 1) & status[:, 1:] & status[:, :-1]
            moved &= ~on_branch
        asked += [(r, way, i + 1) for r, i in np.argwhere(moved)]
    columns = [[point for point in asked if point[0] == r] for r in range(R)]
    most = max(map(len, columns))
    at_once = max(1, device.backend.memory // (R * _bytes_per_state(device.M, device.d)))
    for first in range(0, most, at_once):
        S = min(at_once, most - first)
        x, before = np.zeros((R, S, device.d)), np.zeros((R, S, device.d))
        beta, active = np.full((R, S), axis[0]), np.zeros((R, S), dtype=bool)
        for r, points in enumerate(columns):
            for k, (_, way, i) in enumerate(points[first : first + S]):
                x[r, k], before[r, k] = paths[way].x[r, i], paths[way].x[r, i - 1]
                beta[r, k] = axis[i - 1] if way == UP else axis[n - i]
                active[r, k] = True
        put = device.backend.put
        back = batched.relax(
            device.batch(beta),
            put(x),
            NEWTON,
            min(options.tolerance, 1e-10),
            options.max_steps,
            True,
            put(active),
        )
        off = _relative(device.backend.fetch(back.states.x), before, device.length)
        for r, points in enumerate(columns):
            for k, (_, way, i) in enumerate(points[first : first + S]):
                jumped[way][r, i] = off[r, k] > nearness
    return jumped


def _relative(a: np.ndarray, b: np.ndarray, length: np.ndarray) -> np.ndarray:
    return relative_distance(np, a, b, length)


def _labelled(
    model: HopfieldModel,
    axis: np.ndarray,
    paths: list[_Path],
    jumped: list[np.ndarray],
    r: int,
    keep_states: bool,
    starts: tuple[Any, Any],
) -> Sweep:
    """One realization as a `Sweep`, both directions along the ascending axis."""
    order = (slice(None), slice(None, None, -1))

    def both(tables: list[np.ndarray]) -> np.ndarray:
        return np.stack([table[r][order[way]] for way, table in enumerate(tables)])

    floats, ints = both([path.floats for path in paths]), both([path.ints for path in paths])
    columns = {name: floats[:, :, k] for k, name in enumerate(FLOAT_COLUMNS)}
    columns |= {name: ints[:, :, k] for k, name in enumerate(INT_COLUMNS)}
    columns["status"] = columns["status"].astype(np.int8)
    columns["jumped"] = both(jumped)
    norms = np.asarray(model.pattern_norms)
    return Sweep(
        parameter="beta",
        values=axis,
        state=both([path.x for path in paths]) if keep_states else None,
        saturation=model.state_scale**2,
        start_up=in_words(starts[UP]),
        start_down=in_words(starts[DOWN]),
        pattern_norms=(float(norms.min()), float(norms.max())),
        duplicates=sum(len(rows) - 1 for rows in duplicate_rows(model.patterns)),
        **columns,
    )
