"""Compiled steps of a relaxation at fixed β: evaluation, descent, retrieval and Newton steps.

A step reads the state of the workspace and fills its trial; `accept` makes the trial the state.
"""

from typing import NamedTuple

import numpy as np

from hopfieldphase.kernels.bounds import LeftOut, covers
from hopfieldphase.kernels.curvature import Curvature, curvature_arrays, solve_curvature, update_curvature
from hopfieldphase.kernels.dense import add_weighted_rows, inner, rows_times
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.rows import conjugate_row, weights_row
from hopfieldphase.kernels.screening import largest
from hopfieldphase.kernels.vectors import assign

EPSILON = float(np.finfo(np.float64).eps)
# η₀ of the paper's descent (App. F.2); it restarts from here at every iteration.
FIRST_STEP_SIZE = 0.5
# A Newton step longer than this fraction of the state is not trusted.
LONGEST_NEWTON_STEP = 0.5
# A step with an old reduction must shrink the residual by this factor, else a new one pays.
CHORD_GAIN = 0.1


class Problem(NamedTuple):
    """What stays fixed during a sweep; `length` = s·max|ξ| is the unit of distances.

    `patterns` are all of them, or those that are not `left_out` (α > 1).
    """

    patterns: np.ndarray
    scale: float
    alpha: float
    length: float
    left_out: LeftOut


# More doubles than any vector register and unrolling spans.
_GAP = 64


class Workspace(NamedTuple):
    """Arrays that relaxations reuse: the state and a trial, each with image T, overlaps and weights."""

    x: np.ndarray
    image: np.ndarray
    z: np.ndarray
    p: np.ndarray
    trial: np.ndarray
    trial_image: np.ndarray
    trial_z: np.ndarray
    trial_p: np.ndarray
    step: np.ndarray
    curvature: Curvature


@jit
def relative_rounding(M):
    """How far rounding may move Γ, relative to the size of its terms, with sums over M patterns.

    Measured at fixed states: by at most 5 ε among 10⁴ patterns, 11 ε among 10⁵, 30 ε among 10⁶.
    """
    return 4.0 * EPSILON * max(1.0, 0.01 * np.sqrt(M))


@jit
def workspace(M, d):
    """Allocate a `Workspace` for M patterns in d dimensions."""
    z, p = apart(M)
    trial_z, trial_p = apart(M)
    return Workspace(
        np.empty(d), np.empty(d), z, p, np.empty(d), np.empty(d), trial_z, trial_p, np.empty(d),
        curvature_arrays(M, d),
    )  # fmt: skip


@jit
def apart(M):
    """Two arrays of M values that are never close neighbours in memory.

    Vectorised loops from one into the other fall back to scalar code, with other roundings, where the two
    nearly overlap: chance in the allocator must not decide the last bit of a state.
    """
    buffer = np.empty(2 * M + _GAP)
    return buffer[:M], buffer[M + _GAP :]


@jit
def evaluate(problem, beta, x, z, p, image):
    """Fill overlaps z, weights p and image T(x); return Γ, θ and the size of the terms that make up Γ.

    Γ is NaN where a pattern that was left out may have weight.
    """
    rows_times(problem.patterns, x, problem.scale, z)
    theta = weights_row(z, problem.alpha, beta, p)
    level = largest(z) if np.isinf(problem.alpha) else theta
    complete = covers(problem.left_out, x, level, problem.length)
    image[:] = 0.0
    add_weighted_rows(problem.patterns, p, problem.scale, image)
    half = 0.5 * beta * inner(x, x)
    conjugate = conjugate_row(z, p, problem.alpha, beta)
    energy = half - conjugate if complete else np.nan
    return energy, theta, half + abs(conjugate)


@jit
def evaluate_trial(problem, beta, work):
    """Evaluate the trial state; return Γ, θ, the size of Γ's terms and the relative residual."""
    energy, theta, size = evaluate(problem, beta, work.trial, work.trial_z, work.trial_p, work.trial_image)
    return energy, theta, size, relative_distance(work.trial_image, work.trial, problem.length)


@jit
def accept(work):
    """Make the trial the state."""
    assign(work.x, work.trial)
    assign(work.image, work.trial_image)
    assign(work.z, work.trial_z)
    assign(work.p, work.trial_p)


@jit
def relative_distance(a, b, length):
    """|a − b| / max(|b|, length)."""
    distance = 0.0
    norm = 0.0
    for i in range(a.size):
        distance += (a[i] - b[i]) ** 2
        norm += b[i] * b[i]
    return np.sqrt(distance) / max(np.sqrt(norm), length)


@jit
def curvature_at(problem, beta, p, work):
    """Bring work.curvature to the weights p; return ρ with ∇²Γ/β = I − ρBᵀB."""
    return update_curvature(problem.patterns, problem.scale, problem.alpha, beta, p, work.curvature)


@jit
def descent_step(problem, beta, gamma, rounding, work):
    """The paper's step x − η∇Γ, η = η₀2^{−m} with the smallest m for which Γ does not rise."""
    eta = FIRST_STEP_SIZE * beta
    found = evaluate_trial(problem, beta, work)
    for _ in range(64):
        for i in range(work.x.size):
            work.trial[i] = work.x[i] + eta * (work.image[i] - work.x[i])
        found = evaluate_trial(problem, beta, work)
        if found[0] <= gamma + rounding:
            break
        eta *= 0.5
    return found


@jit
def fixed_point_step(problem, beta, work):
    """One update T."""
    assign(work.trial, work.image)
    return evaluate_trial(problem, beta, work)


@jit
def retrieval_step(problem, beta, rounding, work):
    """The update T, prolonged by powers of two while Γ keeps falling."""
    found = fixed_point_step(problem, beta, work)
    factor = 1.0
    while factor < 1e6:
        for i in range(work.x.size):
            work.trial[i] = work.x[i] + 2.0 * factor * (work.image[i] - work.x[i])
        longer = evaluate_trial(problem, beta, work)
        if not longer[0] < found[0] - rounding:
            for i in range(work.x.size):
                work.trial[i] = work.x[i] + factor * (work.image[i] - work.x[i])
            return evaluate_trial(problem, beta, work)
        found = longer
        factor *= 2.0
    return found


@jit
def newton_step(problem, beta, gamma, rounding, residual, chord, work):
    """One semi-smooth Newton step; usable where the curvature is positive and Γ, or the residual, falls.

    With `chord` the reduction at hand serves, and the step must then cut the residual tenfold.
    """
    # BᵀB grows in proportion to β as long as the weights hold
    ratio = beta / work.curvature.at[0] if chord else curvature_at(problem, beta, work.p, work)
    pull = work.image - work.x
    unusable = (False, gamma, 0.0, 0.0, residual)
    if not solve_curvature(work.curvature, ratio, pull, work.step):
        return unusable
    unit = max(np.sqrt(inner(work.x, work.x)), problem.length)
    if not inner(work.step, work.step) <= (LONGEST_NEWTON_STEP * unit) ** 2:
        return unusable
    for i in range(work.x.size):
        work.trial[i] = work.x[i] + work.step[i]
    energy, theta, size, new_residual = evaluate_trial(problem, beta, work)
    lower = energy < gamma - rounding or (energy <= gamma + rounding and new_residual < residual)
    usable = lower and (not chord or new_residual <= CHORD_GAIN * residual)
    return usable, energy, theta, size, new_residual


@jit
def best_newton_step(problem, beta, gamma, rounding, residual, work):
    """A step with the reduction at hand where one serves, else with a new one; see `newton_step`."""
    # one call for both: for each constant Numba would compile `newton_step` once more
    found = (False, gamma, 0.0, 0.0, residual)
    for chord in (True, False):
        if not chord or work.curvature.at[0] > 0.0:
            found = newton_step(problem, beta, gamma, rounding, residual, chord, work)
            if found[0]:
                break
    return found
