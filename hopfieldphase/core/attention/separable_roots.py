"""The normalization Σ_μ p_μ = 1 of a separable map: one bracketed unknown for each row.

Where g″(0) > 0, (g′)⁻¹ is smooth at the edge of the support and the unknown is u = max z − τ, in the proven
bracket [g′(1/n), g′(1)]. Where g″(0) = 0 it has infinite slope there, as for α > 2: an error of u would be
magnified in the small weights. Then the support is found first, and the unknown is its lowest weight q, with
p_μ = (g′)⁻¹(g′(q) + z_μ − z_lowest) and 0 ≤ q ≤ 1/k.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from hopfieldphase.core.arrays import Array, Namespace
from hopfieldphase.core.attention.separable_functions import Function, at

Evaluation: TypeAlias = Callable[[Array], tuple[Array, Array]]

_MAX_STEPS = 200  # a guard: bisections alone would end sooner
_ROUNDING = 4.5e-16  # of the unknown
_NORMALIZATION_TOLERANCE = 4e-16  # of the sum; longer rows have more rounding, see `_root`


def solve(
    xp: Namespace, z: Array, top: Array, slope: Function, inverse: Function, curvature: Function
) -> tuple[Array, Array]:
    """Weights (..., n), and the score (..., 1) above which they are positive, −∞ where none vanishes."""
    edge = at(slope, 0.0)
    end = at(slope, 1.0)
    if math.isinf(end):
        end = at(slope, float(np.nextafter(1.0, 0.0)))
    if edge > -math.inf and at(curvature, 0.0) == 0:
        return _from_lowest(xp, z, top, slope, inverse, curvature, (edge, end))

    def weights_of(scores: Array, u: Array) -> Array:
        level = xp.clip(u + (scores - top), max=end)
        present = level > edge
        return xp.where(present, inverse(xp.where(present, level, end)), 0.0)

    size = z.shape[-1]
    # The bracket's lower end is put clear of the root at equal weights, g′(1/n), for the rounding.
    low, high, candidates = xp.full_like(top, at(slope, 0.5 / size)), xp.full_like(top, end), z
    if edge > -math.inf:
        candidates = _longest_support(xp, z, top, end - edge)
        # The m-th largest score weighs no more than 1/m, so that u is at most g′(1/m) and its gap to the top.
        ranks = xp.arange(1, candidates.shape[-1] + 1, dtype=z.dtype, device=z.device)
        bounds = slope(1 / ranks) + (top - candidates)
        high = xp.clip(xp.min(bounds, axis=-1, keepdims=True), min=low, max=end)

    def evaluated(u: Array) -> tuple[Array, Array]:
        p = weights_of(candidates, u)
        positive = p > 0
        return p, xp.where(positive, 1 / curvature(xp.where(positive, p, 1.0)), 0.0)

    u = _root(xp, evaluated, low, high, size)
    p = weights_of(z, u)
    return p / xp.sum(p, axis=-1, keepdims=True), top - u + edge


def _longest_support(xp: Namespace, z: Array, top: Array, margin: float) -> Array:
    """Scores in descending order, cut where no row has one less than the margin below its top."""
    ordered = xp.flip(xp.sort(z, axis=-1), axis=-1)
    sizes = xp.sum(xp.astype(top - ordered < margin, xp.int64), axis=-1)
    return ordered[..., : 1 if 0 in sizes.shape else max(int(xp.max(sizes)), 1)]


def _from_lowest(
    xp: Namespace,
    z: Array,
    top: Array,
    slope: Function,
    inverse: Function,
    curvature: Function,
    ends: tuple[float, float],
) -> tuple[Array, Array]:
    edge, end = ends
    ordered = _longest_support(xp, z, top, end - edge)

    def above(scores: Array, lowest: Array, level: Array | float) -> Array:
        """Weights of scores when the score `lowest` is at the given level of g′."""
        inside = scores >= lowest
        level = xp.clip(level + xp.where(inside, scores - lowest, 0.0), min=edge, max=end)
        return xp.where(inside, inverse(level), 0.0)

    # A score is in the support if, with the threshold put there, those above weigh less than one together.
    high = xp.sum(xp.astype(top - ordered < end - edge, xp.int64), axis=-1, keepdims=True)
    low = xp.ones_like(high)
    high = xp.maximum(low, high)
    while bool(xp.any(low < high)):
        middle = (low + high + 1) // 2
        total = xp.sum(
            above(ordered, xp.take_along_axis(ordered, middle - 1, axis=-1), edge), axis=-1, keepdims=True
        )
        low, high = xp.where(total < 1, middle, low), xp.where(total < 1, high, middle - 1)
    lowest = xp.take_along_axis(ordered, low - 1, axis=-1)

    def evaluated(q: Array) -> tuple[Array, Array]:
        p = above(ordered, lowest, slope(q))
        positive = p > 0
        rate = curvature(q) / curvature(xp.where(positive, p, 1.0))
        return p, xp.where(positive & (ordered > lowest), rate, xp.astype(ordered == lowest, p.dtype))

    size = xp.astype(low, z.dtype)
    q = _root(xp, evaluated, xp.zeros_like(size), 1 / size, z.shape[-1])
    p = above(z, lowest, slope(q))
    p = xp.where(z == lowest, q, p)  # (g′)⁻¹(g′(q)), without its rounding
    return p / xp.sum(p, axis=-1, keepdims=True), lowest - (slope(q) - edge)


def _root(xp: Namespace, evaluated: Evaluation, low: Array, high: Array, size: int) -> Array:
    """Solve Σp = 1 for the unknown (..., 1), in which Σp increases from at most to at least one.

    Newton's method on ln Σp, from the upper end; a bisection where its step leaves the bracket or does not
    halve. `evaluated` gives p and its derivatives.
    """
    tolerance = _NORMALIZATION_TOLERANCE * (1 + math.sqrt(size) / 16)
    unknown, last_step = high, 2 * (high - low)
    for _ in range(_MAX_STEPS):
        p, rates = evaluated(unknown)
        total = xp.sum(p, axis=-1, keepdims=True)
        excess = total - 1
        done = (xp.abs(excess) <= tolerance) | ((excess > 0) & (unknown <= low))
        low = xp.where(excess < 0, unknown, low)
        high = xp.where(excess > 0, unknown, high)
        step = -xp.log(xp.where(total > 0, total, 1.0)) * total / xp.sum(rates, axis=-1, keepdims=True)
        newton = unknown + step
        good = (newton > low) & (newton < high) & (xp.abs(step) <= xp.abs(last_step) / 2)
        following = xp.where(good, newton, low + (high - low) / 2)
        done = done | (xp.abs(step) <= _ROUNDING * xp.abs(unknown))
        done = done | (following == unknown) | (following <= low) | (following >= high)
        if bool(xp.all(done)):
            break
        last_step = following - unknown
        unknown = xp.where(done, unknown, following)
    return unknown
