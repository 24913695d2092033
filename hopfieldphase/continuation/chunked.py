"""One direction of a sweep in β at α = 1 over very many patterns, pass by pass."""

import math

import numpy as np

from hopfieldphase.core.status import Status
from hopfieldphase.kernels.relax import NEWTON
from hopfieldphase.kernels.steps import EPSILON, LONGEST_NEWTON_STEP, relative_distance
from hopfieldphase.kernels.sweep import (
    EXPLAINED,
    FLOAT_COLUMNS,
    INT_COLUMNS,
    SAME_STATE,
    SAME_STATE_UNPOLISHED,
    VISIBLE_WEIGHT,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import SolverOptions
from hopfieldphase.solvers.screening import overlaps
from hopfieldphase.solvers.softmax import Landscape, Relaxed, relax_softmax, solve_positive


def softmax_path(
    model: HopfieldModel, betas: np.ndarray, x0: np.ndarray, options: SolverOptions, overlap_threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sweep through `betas` in the order given, from x0, as `kernels.sweep.sweep_path`.

    Returns
    -------
    floats, ints, states : ndarray
        The tables of `kernels.sweep`, and the states (n, d).
    """
    n, unit = betas.size, model.state_scale
    floats, ints = np.empty((n, len(FLOAT_COLUMNS))), np.zeros((n, len(INT_COLUMNS)), dtype=np.int64)
    states, z = np.empty((n, model.d)), np.empty(model.M)
    nearness = SAME_STATE if options.polish else SAME_STATE_UNPOLISHED
    back = SolverOptions(NEWTON, min(options.tolerance, 1e-10), options.max_steps, True)
    found: Relaxed | None = None
    for k, beta in enumerate(betas.tolist()):
        guess, predicted, before = x0, None, found
        if before is not None:
            exact = options.method == NEWTON and options.polish and before.status is Status.CONVERGED
            predicted = _predicted(model, before, float(betas[k - 1]), beta) if exact else None
            guess = before.point.x if predicted is None else predicted
        found = relax_softmax(model, beta, guess, options)
        point, states[k] = found.point, found.point.x
        overlaps(model, point.x, z)
        floats[k] = np.abs(z).max(), point.ipr, point.energy, found.curvature, point.residual
        visible = point.level + math.log(VISIBLE_WEIGHT) / beta
        ints[k, :4] = np.sum(z > visible), np.sum(z > overlap_threshold), found.status, found.steps
        if before is not None:
            moved = relative_distance(point.x, before.point.x, unit)
            off = relative_distance(point.x, guess, unit)
            if moved > nearness and (predicted is None or off > EXPLAINED * moved):
                returned = relax_softmax(model, float(betas[k - 1]), point.x, back).point.x
                ints[k, 4] = relative_distance(returned, before.point.x, unit) > nearness
    return floats, ints, states


def _predicted(model: HopfieldModel, found: Relaxed, beta_old: float, beta: float) -> np.ndarray | None:
    """The state along the tangent, where that lowers Γ; see `kernels.sweep.tangent_step`."""
    x = found.point.x
    image = solve_positive(found.point.hessian, x)
    if image is None:
        return None
    step = (image - x) * (beta - beta_old) / beta_old
    unit = max(float(np.linalg.norm(x)), model.state_scale)
    if not np.linalg.norm(step) < LONGEST_NEWTON_STEP * unit:
        return None
    land = Landscape(model, beta)
    stay, move = land.at(x), land.at(x + step)
    return None if move.energy > stay.energy + EPSILON * stay.size else move.x
