"""Compiled warm-started sweep in β: relax at each value from the last state and watch for jumps."""

import numpy as np

from hopfieldphase.kernels.curvature import solve_curvature
from hopfieldphase.kernels.dense import inner
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.relax import CONVERGED, NEWTON, relax
from hopfieldphase.kernels.steps import (
    EPSILON,
    LONGEST_NEWTON_STEP,
    curvature_at,
    evaluate_trial,
    relative_distance,
    workspace,
)
from hopfieldphase.kernels.vectors import assign

# Columns of the two observable tables that `sweep_path` fills.
FLOAT_COLUMNS = ("overlap_max", "ipr", "free_energy", "hessian_min", "residual")
INT_COLUMNS = ("support_size", "threshold_count", "status", "n_steps", "jumped")

# At α ≤ 1 every weight is positive; the paper counts those above this one (App. F.2).
VISIBLE_WEIGHT = 1e-10
# Two states closer than this, relative to their size, are the same state.
SAME_STATE = 1e-6
SAME_STATE_UNPOLISHED = 1e-3
# A move this close to its prediction, relative to its length, needs no check for a jump.
EXPLAINED = 0.25


@jit
def observe(z, p, alpha, overlap_threshold, floats, ints):
    """Fill overlap_max, ipr and the support counts of one state."""
    largest = 0.0
    purity = 0.0
    above = 0
    support = 0
    least = VISIBLE_WEIGHT if alpha == 1.0 else 0.0
    for mu in range(z.size):
        largest = max(largest, abs(z[mu]))
        purity += p[mu] * p[mu]
        above += z[mu] > overlap_threshold
        support += p[mu] > least
    floats[0] = largest
    floats[1] = 1.0 / purity
    ints[0] = z.size if alpha < 1.0 else support
    ints[1] = above


@jit
def supported_step(problem, beta, work):
    """α = 2: the step from work.x to the stationary point at `beta` on the support of work.p."""
    ratio = curvature_at(problem, beta, work.p, work)
    chosen = work.curvature.chosen[: work.curvature.counts[0]]
    theta = -2.0 / beta
    for mu in chosen:
        theta += work.z[mu]
    theta /= chosen.size
    pull = -work.x
    for mu in chosen:
        w = problem.scale * 0.5 * beta * (work.z[mu] - theta)
        for i in range(pull.size):
            pull[i] += w * problem.patterns[mu, i]
    return solve_curvature(work.curvature, ratio, pull, work.step)


@jit
def tangent_step(problem, beta_old, beta, work):
    """The step (β − β₀) dx/dβ along the branch of work.x, dx/dβ = ((I − BᵀB)⁻¹ x − x)/β₀."""
    if work.curvature.at[0] != beta_old:
        curvature_at(problem, beta_old, work.p, work)
    if not solve_curvature(work.curvature, 1.0, work.x, work.step):
        return False
    for i in range(work.x.size):
        work.step[i] = (work.step[i] - work.x[i]) * (beta - beta_old) / beta_old
    return True


@jit
def predict(problem, beta_old, beta, work, guess):
    """Fill `guess` with the state expected at `beta`, given the minimum in `work` at `beta_old`.

    False, with the state itself, where there is no prediction or it does not lower Γ at `beta`.
    """
    assign(guess, work.x)
    exact = problem.alpha == 2.0
    found = supported_step(problem, beta, work) if exact else tangent_step(problem, beta_old, beta, work)
    unit = max(np.sqrt(inner(work.x, work.x)), problem.length)
    if not (found and inner(work.step, work.step) < (LONGEST_NEWTON_STEP * unit) ** 2):
        return False
    if not exact:
        assign(work.trial, work.x)
        stay = evaluate_trial(problem, beta, work)
        assign(work.trial, work.trial + work.step)
        move = evaluate_trial(problem, beta, work)
        if move[0] > stay[0] + EPSILON * stay[2]:
            return False
    guess += work.step
    return True


@jit
def same_support(p, q):
    """Whether two weight vectors are positive on the same patterns."""
    different = 0
    for mu in range(p.size):
        different += (p[mu] > 0.0) != (q[mu] > 0.0)
    return different == 0


@jit
def returns(problem, beta_old, previous, nearness, tolerance, max_steps, work):
    """Whether the state in `work`, relaxed at `beta_old`, ends at `previous`; `work` is restored."""
    x, z, p = work.x.copy(), work.z.copy(), work.p.copy()
    # plain values: for constants Numba would compile `relax` once more
    relax(problem, beta_old, x, int(NEWTON), min(tolerance, 1e-10), max_steps, bool(1), work)
    back = relative_distance(work.x, previous, problem.length) <= nearness
    assign(work.x, x)
    assign(work.z, z)
    assign(work.p, p)
    work.curvature.at[0] = 0.0
    return back


@jit
def sweep_path(
    problem, betas, x0, method, tolerance, max_steps, polish, overlap_threshold, floats, ints, states, last
):
    """Sweep through `betas` in the order given, from x0; fill one row of each table per value.

    `states` is (n, d) to keep the states or (0, d); `last` (d,) receives the final state. Returns the number
    of points done: fewer than there are where the next one needs a pattern that was left out.
    """
    M, d = problem.patterns.shape
    work = workspace(M, d)
    guess = x0.copy()
    previous = x0.copy()
    previous_weights = np.empty(M)
    nearness = SAME_STATE if polish else SAME_STATE_UNPOLISHED
    for n in range(betas.size):
        predicted = False
        if n > 0:
            assign(previous, work.x)
            assign(previous_weights, work.p)
            assign(guess, work.x)
            if method == NEWTON and polish and ints[n - 1, 2] == CONVERGED:
                predicted = predict(problem, betas[n - 1], betas[n], work, guess)
        status, gamma, _, residual, inner, outer, steps = relax(
            problem, betas[n], guess, method, tolerance, max_steps, polish, work
        )
        if problem.left_out.broken[0]:
            return n
        observe(work.z, work.p, problem.alpha, overlap_threshold, floats[n], ints[n])
        floats[n, 2] = gamma
        floats[n, 3] = min(inner, outer)
        floats[n, 4] = residual
        ints[n, 2] = status
        ints[n, 3] = steps
        ints[n, 4] = 0
        if n > 0:
            moved = relative_distance(work.x, previous, problem.length)
            # From α = 2 on, states change without a jump only where their support stays.
            explained = predicted and (problem.alpha < 2.0 or same_support(work.p, previous_weights))
            if explained and problem.alpha != 2.0:
                off = relative_distance(work.x, guess, problem.length)
                explained = off <= EXPLAINED * moved
            if moved > nearness and not explained:
                ints[n, 4] = not returns(
                    problem, betas[n - 1], previous, nearness, tolerance, max_steps, work
                )
                if problem.left_out.broken[0]:
                    return n
        if states.shape[0] > 0:
            assign(states[n], work.x)
        assign(last, work.x)
    return betas.size
