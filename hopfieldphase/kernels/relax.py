"""Compiled search for a minimum of Γ_α at fixed β: iteration, saddle escape, verification.

Distances are relative to the state or to s·max|ξ|, whichever is larger. Every accepted step keeps Γ from
rising by more than its own rounding error.
"""

import numpy as np

from hopfieldphase.core.status import Status
from hopfieldphase.kernels.curvature import soft_direction
from hopfieldphase.kernels.dense import inner
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.steps import (
    EPSILON,
    accept,
    best_newton_step,
    curvature_at,
    descent_step,
    evaluate,
    evaluate_trial,
    fixed_point_step,
    relative_distance,
    relative_rounding,
    retrieval_step,
)
from hopfieldphase.kernels.vectors import assign

GRADIENT_DESCENT = 0
FIXED_POINT = 1
NEWTON = 2

CONVERGED = int(Status.CONVERGED)
BOUNDARY = int(Status.BOUNDARY)
SADDLE_NOT_ESCAPED = int(Status.SADDLE_NOT_ESCAPED)
NO_PROGRESS = int(Status.NO_PROGRESS)
ITERATION_LIMIT = int(Status.ITERATION_LIMIT)
BAD_INPUT = int(Status.BAD_INPUT)

# First-order methods hand over to Newton here: below it differences of Γ drown in rounding.
HANDOVER = 1e-7
# A curvature λ_min/β below this is zero to the accuracy of the eigenvalue.
FLAT = 1e-11
# Overlaps this close to the threshold, relative to the overlaps, count as tied with it.
TIE = 1e-10
# A stalled state with negative curvature and a residual below this is taken for a saddle.
BESIDE_SADDLE = 1e-5
MAX_ESCAPES = 50
STALLED_STEPS = 30
# Trial lengths along a soft direction: 1e-4 of the state, doubled up to its whole length.
FIRST_ESCAPE = 1e-4
ESCAPE_DOUBLINGS = 14


@jit
def softest(problem, beta, p, work):
    """λ_min(∇²Γ)/β at the weights p; at α = 2 only their support counts."""
    ratio = curvature_at(problem, beta, p, work)
    return 1.0 - ratio * work.curvature.at[1]


@jit
def verify(problem, beta, theta, work):
    """Status of a stationary state with both one-sided λ_min/β, equal unless patterns tie with θ."""
    alpha = problem.alpha
    z, p = work.z, work.p
    curvature = softest(problem, beta, p, work)
    if alpha < 2.0 or np.isinf(alpha):
        return (CONVERGED if curvature > FLAT else SADDLE_NOT_ESCAPED), curvature, curvature
    size = abs(theta)
    for mu in range(z.size):
        if p[mu] > 0.0:
            size = max(size, abs(z[mu]))
    # α > 2: a gap to θ is a small power of the weight, and tells a tie only where it drowns in rounding
    closest = TIE * size if alpha == 2.0 else 64.0 * EPSILON * size
    tied = False
    for mu in range(z.size):
        gap = z[mu] - theta
        tied = tied or (-TIE * size <= gap <= (closest if p[mu] > 0.0 else 0.0))
    if not tied:
        return (CONVERGED if curvature > FLAT else SADDLE_NOT_ESCAPED), curvature, curvature
    if alpha > 2.0:
        return (BOUNDARY if curvature > FLAT else SADDLE_NOT_ESCAPED), curvature, -np.inf
    inside = work.trial_p
    for mu in range(z.size):
        inside[mu] = 1.0 if z[mu] - theta > TIE * size else 0.0
    inner = softest(problem, beta, inside, work)
    for mu in range(z.size):
        inside[mu] = 1.0 if z[mu] - theta >= -TIE * size else 0.0
    outer = softest(problem, beta, inside, work)
    # the response only grows with the support: a positive outer Hessian decides for a minimum
    if outer > FLAT:
        return CONVERGED, inner, outer
    return (BOUNDARY if inner > FLAT else SADDLE_NOT_ESCAPED), inner, outer


@jit
def escape(problem, beta, gamma, rounding, work):
    """Leave a saddle along its soft direction by a line search; the lower side wins, + on a tie."""
    curvature_at(problem, beta, work.p, work)
    if work.curvature.counts[1] == 0:
        return False
    soft_direction(work.curvature, work.step)
    unit = max(np.sqrt(inner(work.x, work.x)), problem.length)
    best = gamma - 2.0 * rounding
    best_length = 0.0
    for side in (1.0, -1.0):
        length = side * FIRST_ESCAPE * unit
        for _ in range(ESCAPE_DOUBLINGS):
            for i in range(work.x.size):
                work.trial[i] = work.x[i] + length * work.step[i]
            energy = evaluate_trial(problem, beta, work)[0]
            margin = 2.0 * rounding if side * best_length < 0.0 else 0.0
            if energy < best - margin:
                best = energy
                best_length = length
            length *= 2.0
    if best_length == 0.0 or problem.left_out.broken[0]:
        return False
    for i in range(work.x.size):
        work.x[i] += best_length * work.step[i]
    return True


@jit
def converge(problem, beta, method, tolerance, max_steps, work):
    """Iterate one method from work.x until |x − T(x)| is within the tolerance.

    Returns (status, Γ, θ, size of Γ's terms, residual, steps); CONVERGED means stationary here. Where a step
    needs a pattern that was left out, the state before it stays, with BAD_INPUT.
    """
    gamma, theta, size = evaluate(problem, beta, work.x, work.z, work.p, work.image)
    residual = relative_distance(work.image, work.x, problem.length)
    best = residual
    stalled = 0
    for step in range(max_steps + 1):
        if not np.isfinite(residual + gamma):
            return BAD_INPUT, gamma, theta, size, residual, step
        if residual <= tolerance:
            return CONVERGED, gamma, theta, size, residual, step
        if stalled > STALLED_STEPS:
            return NO_PROGRESS, gamma, theta, size, residual, step
        if step == max_steps:
            break
        rounding = relative_rounding(work.z.size) * size
        if method == GRADIENT_DESCENT:
            found = descent_step(problem, beta, gamma, rounding, work)
        elif method == FIXED_POINT:
            found = fixed_point_step(problem, beta, work)
        else:
            newton = best_newton_step(problem, beta, gamma, rounding, residual, work)
            found = newton[1:] if newton[0] else retrieval_step(problem, beta, rounding, work)
        if problem.left_out.broken[0]:
            return BAD_INPUT, gamma, theta, size, residual, step
        energy, new_residual = found[0], found[3]
        if energy > gamma + 4.0 * rounding:
            return NO_PROGRESS, gamma, theta, size, residual, step
        # progress is a falling energy, or a falling residual where the energy is rounded out
        stalled = 0 if energy < gamma - rounding or new_residual < 0.999 * best else stalled + 1
        best = min(best, new_residual)
        accept(work)
        gamma, theta, size, residual = found
    return ITERATION_LIMIT, gamma, theta, size, residual, max_steps


@jit
def relax(problem, beta, x0, method, tolerance, max_steps, polish, work):
    """Relax x0 to a verified minimum, left in `work` with its overlaps, weights and curvature.

    A curvature already in `work` serves the first Newton steps; set `work.curvature.at[0]` to 0 to start
    without. Returns (status, Γ, θ, residual, λ_min/β without tied patterns, with them, steps).
    """
    assign(work.x, x0)
    steps = 0
    # no residual falls below the rounding of T itself, which grows with β s |ξ||x|
    floor = 16.0 * EPSILON * (1.0 + beta * problem.length * problem.length)
    outcome = (BAD_INPUT, np.nan, np.nan, np.nan, np.nan, np.nan, 0)
    for _ in range(MAX_ESCAPES):
        by_hand = method != NEWTON
        first_tolerance = max(tolerance, HANDOVER) if polish and by_hand else tolerance
        status, gamma, theta, size, residual, n = converge(
            problem, beta, method, first_tolerance, max_steps - steps, work
        )
        steps += n
        if polish and by_hand and status in (CONVERGED, NO_PROGRESS):
            # a plain value: for a constant Numba would compile `converge` once more
            status, gamma, theta, size, residual, n = converge(
                problem, beta, int(NEWTON), tolerance, max_steps - steps, work
            )
            steps += n
        rounding = relative_rounding(work.z.size) * size
        if status == BAD_INPUT:
            return status, gamma, theta, residual, np.nan, np.nan, steps
        if status == NO_PROGRESS and residual <= floor:
            status = CONVERGED
        if status != CONVERGED:
            inner = softest(problem, beta, work.p, work)
            outcome = (status, gamma, theta, residual, inner, inner, steps)
            # beside a saddle Γ is flat to rounding: leave it as if it had been reached
            stuck = status == NO_PROGRESS and residual <= BESIDE_SADDLE and inner < -FLAT
            if not (polish and stuck and escape(problem, beta, gamma, rounding, work)):
                return outcome
            steps += 1
            continue
        if polish and residual > 64.0 * EPSILON:
            newton = best_newton_step(problem, beta, gamma, rounding, residual, work)
            if newton[0]:
                accept(work)
                _, gamma, theta, _, residual = newton
                steps += 1
        status, inner, outer = verify(problem, beta, theta, work)
        outcome = (status, gamma, theta, residual, inner, outer, steps)
        if status != SADDLE_NOT_ESCAPED or not polish:
            return outcome
        if not escape(problem, beta, gamma, rounding, work):
            return outcome
        steps += 1
    return outcome
