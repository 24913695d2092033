"""Compiled steps of a sweep in the memory load: a minimum among the first M of N patterns, M up or down.

At α > 1 the patterns below the threshold θ do not act on a state. A relaxation therefore needs only the rows
that can reach θ somewhere in a ball around its start: per distance, an overlap rises by at most s|ξ|, and θ,
which moves no faster than the overlaps, falls by at most s·max|ξ|. Inside the ball the free energies with and
without the other rows are one function.
"""

from typing import NamedTuple

import numpy as np

from hopfieldphase.kernels.bounds import nothing
from hopfieldphase.kernels.curvature import solve_curvature
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.relax import TIE, converge, relax
from hopfieldphase.kernels.rows import weights_row
from hopfieldphase.kernels.steps import Problem, Workspace, curvature_at, evaluate, workspace
from hopfieldphase.kernels.sweep import VISIBLE_WEIGHT
from hopfieldphase.kernels.vectors import assign

# Radius of the first ball around a start, relative to the state; the next ones are twice the distance moved.
FIRST_RADIUS = 0.125
# Overlaps this close to a bound, relative to the overlaps, are on both sides of it.
ROUNDING = 1e-9


class Crowd(NamedTuple):
    """All N patterns; `reach` is s|ξ| of each, `length` its running maximum, the unit of distances."""

    patterns: np.ndarray
    scale: float
    alpha: float
    reach: np.ndarray
    length: np.ndarray


class Followed(NamedTuple):
    """A state among the first M patterns: x, the overlaps z, and its weights p on the rows `members`.

    All other weights are zero; `size` (1,) is the number of members, in ascending order.
    """

    x: np.ndarray
    z: np.ndarray
    members: np.ndarray
    p: np.ndarray
    size: np.ndarray


class Scratch(NamedTuple):
    """Arrays of one relaxation: the rows that can matter, gathered, and a workspace for up to N of them."""

    members: np.ndarray
    rows: np.ndarray
    p: np.ndarray
    work: Workspace


@jit
def followed(N, d):
    """Allocate a `Followed` for N patterns in d dimensions."""
    return Followed(np.empty(d), np.empty(N), np.empty(N, np.int64), np.empty(N), np.zeros(1, np.int64))


@jit
def scratch(N, d):
    """Allocate a `Scratch` for N patterns in d dimensions."""
    return Scratch(np.empty(N, np.int64), np.empty((N, d)), np.empty(N), workspace(N, d))


@jit
def _first(work, n):
    """The workspace, for n patterns."""
    return Workspace(
        work.x, work.image, work.z[:n], work.p[:n],
        work.trial, work.trial_image, work.trial_z[:n], work.trial_p[:n], work.step, work.curvature,
    )  # fmt: skip


@jit(reorder=True)
def overlaps(crowd, x, first, stop, z):
    """Fill z with the overlaps of the rows first to stop − 1; each is computed alike, whatever the range."""
    for mu in range(first, stop):
        total = 0.0
        for i in range(x.size):
            total += crowd.patterns[mu, i] * x[i]
        z[mu] = crowd.scale * total


@jit
def _gather(crowd, z, M, level, radius, scratch):
    """Collect the rows whose overlap can pass `level` within `radius`; all M where that is most of them."""
    n = 0
    for mu in range(M):
        if z[mu] + crowd.reach[mu] * radius > level:
            scratch.members[n] = mu
            n += 1
    if 2 * n > M:
        for mu in range(M):
            scratch.members[mu] = mu
        return M
    for k in range(n):
        scratch.rows[k] = crowd.patterns[scratch.members[k]]
    return n


@jit
def relax_among(crowd, beta, x0, z, M, method, tolerance, max_steps, polish, verified, scratch):
    """Relax x0, whose overlaps are z, among the first M patterns; return the outcome of `relax` and n.

    `scratch` then holds the state, and its weights on n rows. Not `verified`, it is stationary and no more.
    """
    alpha = crowd.alpha
    length = crowd.length[M - 1]
    lowest = 0.0
    if alpha > 1.0:
        theta = weights_row(z[:M], alpha, beta, scratch.p[:M])
        top = z[:M].max()
        lowest = top if np.isinf(alpha) else theta
        lowest -= ROUNDING * max(abs(top), abs(lowest))
    radius = FIRST_RADIUS * max(np.sqrt(np.dot(x0, x0)), length)
    while True:
        n = M
        if alpha > 1.0:
            n = _gather(crowd, z, M, lowest - length * radius, radius, scratch)
        else:
            for mu in range(M):
                scratch.members[mu] = mu
        rows = crowd.patterns[:M] if n == M else scratch.rows[:n]
        work = _first(scratch.work, n)
        work.curvature.at[0] = 0.0
        problem = Problem(rows, crowd.scale, alpha, length, nothing(x0.size))
        if verified:
            outcome = relax(problem, beta, x0, method, tolerance, max_steps, polish, work)
        else:
            assign(work.x, x0)
            found = converge(problem, beta, method, tolerance, max_steps, work)
            outcome = (found[0], found[1], found[2], found[4], np.nan, np.nan, found[5])
        moved = 0.0
        for i in range(x0.size):
            moved += (work.x[i] - x0[i]) ** 2
        moved = np.sqrt(moved)
        # a state that is not finite ends the search as well
        if n == M or not moved > radius:
            return outcome, n
        radius = 2.0 * moved


@jit
def predict(crowd, beta, M, state, scratch, guess):
    """Fill `guess` with the first Newton step of the state among the first M patterns (α ≤ 1).

    False where that step is not towards a minimum.
    """
    work = _first(scratch.work, M)
    assign(work.x, state.x)
    work.curvature.at[0] = 0.0
    left_out = nothing(state.x.size)
    problem = Problem(crowd.patterns[:M], crowd.scale, crowd.alpha, crowd.length[M - 1], left_out)
    evaluate(problem, beta, work.x, work.z, work.p, work.image)
    ratio = curvature_at(problem, beta, work.p, work)
    found = solve_curvature(work.curvature, ratio, work.image - work.x, work.step)
    assign(guess, work.x + work.step)
    return found


@jit
def adopt(crowd, n, known, scratch, state):
    """Make the outcome of a relaxation on n rows the state; learn its overlaps with the first `known`."""
    assign(state.x, scratch.work.x)
    state.size[0] = n
    for k in range(n):
        state.members[k] = scratch.members[k]
        state.p[k] = scratch.work.p[k]
    overlaps(crowd, state.x, 0, known, state.z)


@jit
def acting_from(crowd, state, theta):
    """The overlap above which a pattern acts on the state (α > 1), and one lower by a tie with it."""
    top = -np.inf
    for k in range(state.size[0]):
        if state.p[k] > 0.0:
            top = max(top, state.z[state.members[k]])
    if np.isinf(crowd.alpha):
        return top, top - TIE * abs(top)
    return theta, theta - TIE * max(abs(theta), abs(top))


@jit(reorder=True)
def next_acting(crowd, state, first, stop, level):
    """The first row from `first` on whose overlap reaches `level`, else `stop`; fills overlaps up to it."""
    for mu in range(first, stop):
        total = 0.0
        for i in range(state.x.size):
            total += crowd.patterns[mu, i] * state.x[i]
        state.z[mu] = crowd.scale * total
        if state.z[mu] >= level:
            return mu
    return stop


@jit
def last_acting(state, level):
    """The last row whose overlap reaches `level`."""
    for k in range(state.size[0] - 1, -1, -1):
        if state.z[state.members[k]] >= level:
            return state.members[k]
    return -1


@jit
def largest_overlap(state, M):
    """Max |z| over the first M patterns."""
    largest = 0.0
    for mu in range(M):
        largest = max(largest, abs(state.z[mu]))
    return largest


@jit
def observe(crowd, state, M, overlap_threshold):
    """Among the first M patterns: max |z|, 1/Σp², support size, number of overlaps above a threshold."""
    above = 0
    for mu in range(M):
        above += state.z[mu] > overlap_threshold
    purity = 0.0
    support = 0
    least = VISIBLE_WEIGHT if crowd.alpha == 1.0 else 0.0
    for k in range(state.size[0]):
        purity += state.p[k] * state.p[k]
        support += state.p[k] > least
    return largest_overlap(state, M), 1.0 / purity, M if crowd.alpha < 1.0 else support, above
