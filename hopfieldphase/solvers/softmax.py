"""Minima at α = 1 over very many patterns: each evaluation is one pass, and nothing of their number is kept.

The steps are those of `kernels.relax`; the curvature is ∇²Γ/β = I − β s² Cov_p(ξ), a d × d matrix.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.core.status import Status
from hopfieldphase.kernels import softmax_pass as kernel
from hopfieldphase.kernels.relax import (
    BESIDE_SADDLE,
    ESCAPE_DOUBLINGS,
    FIRST_ESCAPE,
    FLAT,
    GRADIENT_DESCENT,
    HANDOVER,
    MAX_ESCAPES,
    NEWTON,
    STALLED_STEPS,
)
from hopfieldphase.kernels.steps import (
    EPSILON,
    FIRST_STEP_SIZE,
    LONGEST_NEWTON_STEP,
    relative_distance,
    relative_rounding,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import screening
from hopfieldphase.solvers.options import SolverOptions
from hopfieldphase.solvers.screening import blocks_of


def is_chunked(model: HopfieldModel) -> bool:
    """Whether softmax weights are summed pass by pass: α = 1 and many patterns, or they are on disk."""
    return model.alpha == 1 and screening.is_large(model)


@dataclass(frozen=True, eq=False)
class Point:
    """A state with what one pass tells of it; `hessian` is ∇²Γ/β where it was asked for.

    `level` is the overlap of a pattern of weight 1, `ipr` is 1/Σp², `size` that of the terms that make up Γ.
    """

    x: np.ndarray
    energy: float
    size: float
    image: np.ndarray
    residual: float
    ipr: float
    level: float
    hessian: Any


@dataclass(frozen=True)
class Landscape:
    """Γ of a model with α = 1 at one β."""

    model: HopfieldModel
    beta: float

    def at(self, x: np.ndarray, *, curved: bool = False) -> Point:
        """Evaluate a state in one pass over the patterns."""
        model, beta, d = self.model, self.beta, self.model.d
        sums = _sums(model, x, beta, kernel.FIRST + d + (d * d if curved else 0))
        top, total, squares = (float(sums[i]) for i in (kernel.TOP, kernel.TOTAL, kernel.SQUARES))
        mean = sums[kernel.FIRST : kernel.FIRST + d] / total
        half, conjugate = 0.5 * beta * float(x @ x), beta * top + float(np.log(total))
        hessian = None
        if curved:
            lower = np.tril(sums[kernel.FIRST + d :].reshape(d, d)) / total
            spread = lower + np.tril(lower, -1).T - np.outer(mean, mean)
            hessian = np.eye(d) - beta * model.scale**2 * spread
        return Point(
            x=x,
            energy=half - conjugate,
            size=half + abs(conjugate),
            image=model.scale * mean,
            residual=relative_distance(model.scale * mean, x, model.state_scale),
            ipr=total**2 / squares,
            level=conjugate / beta,
            hessian=hessian,
        )

    def curved(self, point: Point) -> Point:
        """The same state with its curvature."""
        return point if point.hessian is not None else self.at(point.x, curved=True)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """How a relaxation ended: the point, with its curvature, λ_min/β and the accepted steps."""

    status: Status
    point: Point
    curvature: float
    steps: int


def relax_softmax(model: HopfieldModel, beta: float, x0: np.ndarray, options: SolverOptions) -> Relaxed:
    """Relax x0 to a verified minimum at α = 1, by the steps of `kernels.relax`."""
    land = Landscape(model, beta)
    method, polish = options.method, options.polish
    point, steps = land.at(x0, curved=method == NEWTON), 0
    floor = 16 * EPSILON * (1 + beta * model.state_scale**2)
    for _ in range(MAX_ESCAPES):
        tolerance = max(options.tolerance, HANDOVER) if polish else options.tolerance
        phases = [(NEWTON, options.tolerance)]
        if method != NEWTON:
            phases = [(method, tolerance), *(phases if polish else [])]
        status = Status.NO_PROGRESS
        for by, within in phases:
            status, point, n = _converge(land, point, by, within, options.max_steps - steps)
            steps += n
            if status not in (Status.CONVERGED, Status.NO_PROGRESS):
                break
        if status is Status.BAD_INPUT:
            return Relaxed(status, point, np.nan, steps)
        if status is Status.NO_PROGRESS and point.residual <= floor:
            status = Status.CONVERGED
        point = land.curved(point)
        values, vectors = np.linalg.eigh(point.hessian)
        lowest = float(values[0])
        if status is not Status.CONVERGED:
            stuck = status is Status.NO_PROGRESS and point.residual <= BESIDE_SADDLE and lowest < -FLAT
            left = _escape(land, point, vectors[:, 0]) if polish and stuck else None
        elif lowest > FLAT:
            return Relaxed(Status.CONVERGED, point, lowest, steps)
        else:
            status = Status.SADDLE_NOT_ESCAPED
            left = _escape(land, point, vectors[:, 0]) if polish else None
        if left is None:
            return Relaxed(status, point, lowest, steps)
        point, steps = left, steps + 1
    return Relaxed(Status.SADDLE_NOT_ESCAPED, land.curved(point), np.nan, steps)


def _converge(
    land: Landscape, point: Point, method: int, tolerance: float, max_steps: int
) -> tuple[Status, Point, int]:
    """Iterate one method until |x − T(x)| is within the tolerance; see `kernels.relax.converge`."""
    best, stalled = point.residual, 0
    for step in range(max_steps + 1):
        if not np.isfinite(point.residual + point.energy):
            return Status.BAD_INPUT, point, step
        if point.residual <= tolerance:
            return Status.CONVERGED, point, step
        if stalled > STALLED_STEPS:
            return Status.NO_PROGRESS, point, step
        if step == max_steps:
            break
        rounding = relative_rounding(land.model.M) * point.size
        if method == NEWTON:
            point = land.curved(point)
            found = _newton(land, point, rounding) or _prolonged(land, point, rounding)
        elif method == GRADIENT_DESCENT:
            found = _descent(land, point, rounding)
        else:
            found = land.at(point.image)
        if found.energy > point.energy + 4 * rounding:
            return Status.NO_PROGRESS, point, step
        falls = found.energy < point.energy - rounding or found.residual < 0.999 * best
        stalled = 0 if falls else stalled + 1
        best = min(best, found.residual)
        point = found
    return Status.ITERATION_LIMIT, point, max_steps


def _newton(land: Landscape, point: Point, rounding: float) -> Point | None:
    """One Newton step; None where the curvature is not positive, or neither Γ nor the residual falls."""
    step = solve_positive(point.hessian, point.image - point.x)
    unit = max(float(np.linalg.norm(point.x)), land.model.state_scale)
    if step is None or not np.linalg.norm(step) <= LONGEST_NEWTON_STEP * unit:
        return None
    found = land.at(point.x + step, curved=True)
    lower = found.energy < point.energy - rounding
    flat = found.energy <= point.energy + rounding and found.residual < point.residual
    return found if lower or flat else None


def solve_positive(matrix: Any, right: np.ndarray) -> np.ndarray | None:
    """The solution with a positive definite matrix, None where it is not."""
    try:
        lower = np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return None
    return np.linalg.solve(lower.T, np.linalg.solve(lower, right))


def _prolonged(land: Landscape, point: Point, rounding: float) -> Point:
    """The update T, prolonged by powers of two while Γ keeps falling."""
    found, factor = land.at(point.image), 1.0
    while factor < 1e6:
        longer = land.at(point.x + 2 * factor * (point.image - point.x))
        if not longer.energy < found.energy - rounding:
            return found
        found, factor = longer, 2 * factor
    return found


def _descent(land: Landscape, point: Point, rounding: float) -> Point:
    """The paper's step x − η∇Γ (App. F.2)."""
    eta, found = FIRST_STEP_SIZE * land.beta, point
    for _ in range(64):
        found = land.at(point.x + eta * (point.image - point.x))
        if found.energy <= point.energy + rounding:
            break
        eta /= 2
    return found


def _escape(land: Landscape, point: Point, soft: np.ndarray) -> Point | None:
    """Leave a saddle along its soft direction; the lower side wins, + on a tie."""
    rounding = relative_rounding(land.model.M) * point.size
    soft = soft * np.sign(soft[np.argmax(np.abs(soft) > (1 - 1e-9) * np.abs(soft).max())])
    unit = max(float(np.linalg.norm(point.x)), land.model.state_scale)
    best, left = point.energy - 2 * rounding, None
    for side in (1.0, -1.0):
        margin = 2 * rounding if side < 0 and left is not None else 0.0
        for doubling in range(ESCAPE_DOUBLINGS):
            trial = land.at(point.x + side * FIRST_ESCAPE * unit * 2**doubling * soft)
            if trial.energy < best - margin:
                best, left, margin = trial.energy, trial, 0.0
    return left


def _sums(model: HopfieldModel, x: np.ndarray, beta: float, length: int) -> np.ndarray:
    """The sums of all patterns: those of the blocks, added in their order."""
    parts: dict[int, np.ndarray] = {}

    def part(first: int, rows: np.ndarray) -> None:
        parts[first] = np.empty(length)
        kernel.softmax_sums(rows, x, model.scale, beta, parts[first])

    blocks_of(model.patterns, part)
    top = max(sums[kernel.TOP] for sums in parts.values())
    total = np.zeros(length)
    for first in sorted(parts):
        kernel.rescale(parts[first], beta, top)
        total += parts[first]
    total[kernel.TOP] = top
    return total
