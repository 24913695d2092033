"""Compiled curvature of the free energy: ∇²Γ/β = I − BᵀB with one row of B per responding pattern but one.

With w the response weights (w = p^{2−α}/α on the support) and r the pattern with the largest w,

    s²β ΞᵀJΞ = BᵀB,   B = (I − (1 − √(w_r/W)) v vᵀ) diag(√(βw)) s (ξ_j − ξ_r),   v_j = √(w_j / Σ_{i≠r} w_i),

over j ≠ r, W = Σ w. Differences to the pattern r keep every digit when w_r diverges (α > 2), and the smaller
of B Bᵀ and BᵀB carries the spectrum, so that a state on k patterns costs k × k, not d × d.
"""

from typing import NamedTuple

import numpy as np

from hopfieldphase.kernels.dense import add_weighted_rows, rows_times, small_gram, wide_gram
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.tridiagonal import (
    from_reduced,
    largest_eigenvalue,
    reduce,
    solve_tridiagonal,
    to_reduced,
    top_vector,
)
from hopfieldphase.kernels.vectors import assign

# Responses below this fraction of the largest one cannot be seen in double precision.
NEGLIGIBLE_RESPONSE = 1e-19
# Keeps p^{2-alpha} finite when a weight underflows at alpha > 2.
LARGEST_RESPONSE = 1e140
# A pivot below this is zero to the accuracy of the elimination.
SINGULAR = 1e-14


class Curvature(NamedTuple):
    """B and the reduction of its smaller Gram matrix at one state and one β.

    `counts` is (patterns k, rows m of B, order n of the Gram matrix); `at` is (β, λ_max(BᵀB)), with
    β = 0 where nothing has been computed.
    """

    chosen: np.ndarray
    response: np.ndarray
    rows: np.ndarray
    gram: np.ndarray
    heights: np.ndarray
    diagonal: np.ndarray
    off: np.ndarray
    counts: np.ndarray
    at: np.ndarray


@jit
def curvature_arrays(M, d):
    """Allocate a `Curvature` for M patterns in d dimensions, with nothing computed."""
    m = max(M - 1, 1)
    n = min(m, d)
    return Curvature(
        np.empty(M, np.int64), np.empty(M), np.empty((m, d)), np.empty(n * n),
        np.empty(n), np.empty(n), np.empty(n), np.zeros(3, np.int64), np.zeros(2),
    )  # fmt: skip


@jit
def _responding_patterns(p, alpha, chosen, response):
    """Fill `chosen` with the indices of the responding patterns and `response` with w; return how many."""
    if np.isinf(alpha):
        return 0
    k = 0
    largest = 0.0
    for mu in range(p.size):
        if p[mu] > 0.0:
            if alpha == 1.0:
                w = p[mu]
            elif alpha == 2.0:
                w = 0.5
            else:
                w = min(p[mu] ** (2.0 - alpha) / alpha, LARGEST_RESPONSE)
            largest = max(largest, w)
            chosen[k] = mu
            response[k] = w
            k += 1
    kept = 0
    for j in range(k):
        if response[j] > NEGLIGIBLE_RESPONSE * largest:
            chosen[kept] = chosen[j]
            response[kept] = response[j]
            kept += 1
    return kept


@jit
def _response_rows(patterns, scale, beta, chosen, response, k, rows):
    """Fill the first k − 1 rows of `rows` with B; return their number."""
    if k < 2:
        return 0
    d = patterns.shape[1]
    r = 0
    for j in range(k):
        if response[j] > response[r]:
            r = j
    rest = 0.0
    for j in range(k):
        if j != r:
            rest += response[j]
    shrink = 1.0 - np.sqrt(response[r] / (response[r] + rest))
    reference = chosen[r]
    along = np.zeros(d)
    m = 0
    for j in range(k):
        if j == r:
            continue
        factor = np.sqrt(beta * response[j]) * scale
        v = np.sqrt(response[j] / rest)
        mu = chosen[j]
        for i in range(d):
            b = factor * (patterns[mu, i] - patterns[reference, i])
            rows[m, i] = b
            along[i] += v * b
        m += 1
    m = 0
    for j in range(k):
        if j == r:
            continue
        v = shrink * np.sqrt(response[j] / rest)
        for i in range(d):
            rows[m, i] -= v * along[i]
        m += 1
    return m


@jit
def _same_support(p, curvature):
    """Whether the patterns with p > 0 are the ones of the last reduction."""
    k = 0
    for mu in range(p.size):
        k += p[mu] > 0.0
    if k != curvature.counts[0]:
        return False
    inside = 0
    for mu in curvature.chosen[:k]:
        inside += p[mu] > 0.0
    return inside == k


@jit
def update_curvature(patterns, scale, alpha, beta, p, curvature):
    """Bring the reduction to the weights p at β; return ρ with ∇²Γ/β = I − ρ BᵀB.

    At α = 2 the response is 1/2 on any support and B scales with √β: one reduction lasts as long as
    the support, and ρ = β/β₀. Otherwise ρ = 1.
    """
    if alpha == 2.0 and curvature.at[0] > 0.0 and _same_support(p, curvature):
        return beta / curvature.at[0]
    k = _responding_patterns(p, alpha, curvature.chosen, curvature.response)
    m = _response_rows(patterns, scale, beta, curvature.chosen, curvature.response, k, curvature.rows)
    n = min(m, patterns.shape[1])
    curvature.counts[0] = k
    curvature.counts[1] = m
    curvature.counts[2] = n
    curvature.at[0] = beta
    curvature.at[1] = 0.0
    if m > 0:
        b = curvature.rows[:m]
        gram = curvature.gram[: n * n].reshape(n, n)
        if n == m:
            small_gram(b, gram)
        else:
            wide_gram(b, gram)
        reduce(gram, curvature.heights[:n], curvature.diagonal[:n], curvature.off[:n])
        curvature.at[1] = largest_eigenvalue(curvature.diagonal[:n], curvature.off[:n])
    return 1.0


@jit
def solve_curvature(curvature, ratio, g, step):
    """Fill `step` with (I − ρBᵀB)⁻¹ g; False (step of no use) unless that matrix is positive definite."""
    m, n = curvature.counts[1], curvature.counts[2]
    assign(step, g)
    if m == 0:
        return True
    heights, diagonal, off = curvature.heights[:n], curvature.diagonal[:n], curvature.off[:n]
    gram = curvature.gram[: n * n].reshape(n, n)
    b = curvature.rows[:m]
    y = np.empty(n)
    if n == m:
        rows_times(b, g, 1.0, y)
    else:
        assign(y, g)
    to_reduced(gram, heights, y)
    if not solve_tridiagonal(diagonal, off, 1.0, ratio, SINGULAR, y):
        return False
    from_reduced(gram, heights, y)
    if n < m:
        assign(step, y)
        return True
    add_weighted_rows(b, y, ratio, step)
    return True


@jit
def soft_direction(curvature, direction):
    """Fill `direction` (unit length) with the eigenvector of λ_min; its largest component is positive."""
    m, n = curvature.counts[1], curvature.counts[2]
    y = np.empty(n)
    top_vector(curvature.diagonal[:n], curvature.off[:n], curvature.at[1], y)
    from_reduced(curvature.gram[: n * n].reshape(n, n), curvature.heights[:n], y)
    soft = y
    if n == m:
        soft = np.zeros(direction.size)
        add_weighted_rows(curvature.rows[:m], y, 1.0, soft)
    largest = 0
    norm = 0.0
    for i in range(soft.size):
        norm += soft[i] * soft[i]
        if abs(soft[i]) > abs(soft[largest]) * (1.0 + 1e-9):
            largest = i
    sign = 1.0 if soft[largest] > 0.0 else -1.0
    for i in range(soft.size):
        direction[i] = sign * soft[i] / np.sqrt(norm)
