"""One direction of a sweep in β over very many patterns, of which only those that can matter are touched."""

from dataclasses import dataclass

import numpy as np

from hopfieldphase.kernels import sweep as kernel
from hopfieldphase.kernels.dense import rows_times
from hopfieldphase.kernels.rows import weights_row
from hopfieldphase.kernels.steps import Problem
from hopfieldphase.solvers.options import SolverOptions
from hopfieldphase.solvers.screening import Screen

_DENSE_POINTS = 2
"""With all patterns at hand so many points are done before screening is tried again."""


@dataclass(frozen=True, eq=False)
class Path:
    """Every point of one direction: the tables of `kernels.sweep`, states, thresholds and supports.

    What the tables say of all overlaps is known of the patterns at hand only; see `screening.certify`.
    """

    floats: np.ndarray
    ints: np.ndarray
    states: np.ndarray
    thresholds: np.ndarray
    supports: list[np.ndarray]
    passes: int
    touched: int


def screened_path(
    screen: Screen, betas: np.ndarray, x0: np.ndarray, options: SolverOptions, overlap_threshold: float
) -> Path:
    """Sweep through `betas` in the order given, from x0.

    A stretch of the sweep runs on the patterns that can matter near its references. Where a state is
    evaluated that none of them covers, that state becomes a reference too, and the sweep begins again at the
    last point done: each relaxation takes the very steps that it would take with all patterns. After progress
    only the new reference is kept; a relaxation that has begun too often is made with all patterns.
    """
    n, d = betas.size, x0.size
    floats = np.empty((n, len(kernel.FLOAT_COLUMNS)))
    ints = np.empty((n, len(kernel.INT_COLUMNS)), dtype=np.int64)
    states, thresholds, supports = np.empty((n, d)), np.empty(n), list[np.ndarray]()
    done, touched, lost, last = 0, 0, 0, np.empty(d)
    problem = screen.refer(x0, float(betas[0]))
    while True:
        first = max(done - 1, 0)
        complete = screen.rows.size == screen.model.M
        stop = min(first + _DENSE_POINTS, n) if complete else n
        row, count, path = floats[first:stop].copy(), ints[first:stop].copy(), states[first:stop].copy()
        reached = first + kernel.sweep_path(
            problem, betas[first:stop], states[first] if done else x0, options.method, options.tolerance,
            options.max_steps, options.polish, overlap_threshold, row, count, path, last,
        )  # fmt: skip
        touched += screen.touched
        lost += screen.touched
        for k in range(done, reached):
            floats[k], ints[k], states[k] = row[k - first], count[k - first], path[k - first]
            thresholds[k], inside = _weights_at(problem, float(betas[k]), states[k])
            supports.append(screen.rows[inside])
        if reached == n:
            return Path(floats, ints, states, thresholds, supports, screen.passes, touched)
        if reached > done:
            done, lost = reached, 0
            screen.clear()
        where = screen.broken_at()
        if screen.gives_up(lost):
            problem = screen.everything()
        else:
            problem = screen.refer(states[done - 1] if where is None else where, float(betas[done]))


def _weights_at(problem: Problem, beta: float, x: np.ndarray) -> tuple[float, np.ndarray]:
    """θ (max z for α = ∞) and the patterns with weight, of those at hand."""
    z, p = np.empty(len(problem.patterns)), np.empty(len(problem.patterns))
    rows_times(problem.patterns, x, problem.scale, z)
    theta = weights_row(z, problem.alpha, beta, p)
    return float(z.max()) if np.isinf(problem.alpha) else theta, np.flatnonzero(p)
