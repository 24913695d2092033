"""Attention weights of many rows at once, in a fixed number of operations: nothing here asks the device.

The equations are those of `core.entmax_roots`; where it stops when rounding does, these take as many Newton
steps for every row. They are monotone, and a row that is done stays where it is.
"""

import math

from hopfieldphase.core import entmax_roots as roots
from hopfieldphase.core.arrays import Array, Namespace


def newton_steps(M: int) -> int:
    """How many Newton steps M scores get.

    Scores of many laws (normal, uniform, exponential, Cauchy, geometric) need up to 6 at M = 100, 10 at 10⁴,
    and 13 at 3·10⁵.
    """
    return 6 + math.ceil(math.log2(M) / 2)


def weights(xp: Namespace, z: Array, top: Array, alpha: float, beta: Array) -> tuple[Array, Array]:
    """Weights p (..., M) and threshold θ (..., 1) at α of scores z, with top (..., 1) = max z, at β (..., 1).

    Scores −∞ are absent patterns. θ is NaN for α = 1 and ∞. Where |Σp − 1| is above rounding, the fixed
    number of steps was too small.
    """
    if math.isinf(alpha):
        return roots.hardmax(xp, top - z), xp.full_like(top, math.nan)
    if alpha == 1:
        return roots.softmax(xp, beta * (top - z)), xp.full_like(top, math.nan)
    a = alpha - 1
    unit = alpha / (a * beta)
    if alpha > 2:
        p, edge, lowest = _above_two(xp, xp.maximum(z, top - 2 * unit), a, beta * (a / alpha))
        return p, edge - unit * lowest**a
    if alpha in (1.5, 2):
        p, peak = _powers(xp, (top - z) / unit, round(1 / a))
        return p, top - unit * peak
    p, log_peak = _below_two(xp, (beta / alpha) * (top - z), a)
    return p, top - unit * xp.exp(a * log_peak)


def _powers(xp: Namespace, gaps: Array, power: int) -> tuple[Array, Array]:
    """α = 1 + 1/power: p = [u − g]₊^power, and u; (Σp)^{1/power} is convex in u, Newton falls from u = 1."""
    peak = xp.ones_like(gaps[..., :1])
    for _ in range(newton_steps(gaps.shape[-1])):
        r = xp.clip(peak - gaps, min=0.0)
        if power == 1:
            total = xp.sum(r, axis=-1, keepdims=True)
            peak = peak - (total - 1) / xp.sum(xp.astype(r > 0, r.dtype), axis=-1, keepdims=True)
        else:
            total = xp.sum(r * r, axis=-1, keepdims=True)
            # rounding alone brings it up again
            peak = peak - (total - xp.sqrt(total)) / xp.sum(r, axis=-1, keepdims=True)
    return xp.clip(peak - gaps, min=0.0) ** power, peak


def _below_two(xp: Namespace, gaps: Array, a: float) -> tuple[Array, Array]:
    """0 < α < 2, α ≠ 1: as `core.entmax_roots.below_two`."""
    lowest, log_peak = -math.log(gaps.shape[-1]), xp.zeros_like(gaps[..., :1])
    for _ in range(newton_steps(gaps.shape[-1])):
        p, slopes = roots.below_two_at(xp, gaps, a, log_peak)
        total = xp.sum(p, axis=-1, keepdims=True)
        slope = xp.sum(slopes, axis=-1, keepdims=True) / total
        step = xp.log1p(xp.expm1(-a * xp.log(total)) / slope) / a
        log_peak = xp.clip(log_peak + step, min=lowest, max=0.0)
    return roots.below_two_at(xp, gaps, a, log_peak)[0], log_peak


def _above_two(xp: Namespace, scores: Array, a: float, rate: Array) -> tuple[Array, Array, Array]:
    """α > 2, finite scores: weights, the lowest supported score, and its weight; as in `core.entmax_roots`.

    The support is found by bisection over the ranks.
    """
    ordered = xp.flip(xp.sort(scores, axis=-1), axis=-1)
    count = ordered.shape[-1]
    low = xp.ones_like(ordered[..., :1], dtype=xp.int64)
    high = xp.full_like(low, count)
    for _ in range(math.ceil(math.log2(count)) + 1 if count > 1 else 0):
        middle = (low + high + 1) // 2
        threshold = xp.take_along_axis(ordered, middle - 1, axis=-1)
        above = (rate * xp.clip(ordered - threshold, min=0.0)) ** (1 / a)
        supported = xp.sum(above, axis=-1, keepdims=True) < 1
        low, high = xp.where(supported, middle, low), xp.where(supported, high, middle - 1)
        high = xp.maximum(low, high)
    edge = xp.take_along_axis(ordered, low - 1, axis=-1)
    bare = roots.bare_weights(xp, scores, edge, a, rate)
    q = 1 / xp.astype(low, scores.dtype)
    for _ in range(newton_steps(count)):
        p = roots.with_lowest(xp, bare, q, a)
        excess = xp.clip(xp.sum(p, axis=-1, keepdims=True) - 1, min=0.0)
        slopes = (q / xp.where(p > 0, p, 1.0)) ** (a - 1)
        slope = xp.clip(xp.sum(xp.where(bare >= 0, slopes, 0.0), axis=-1, keepdims=True), min=1.0)
        q = xp.clip(q - excess / slope, min=0.0)
    return roots.with_lowest(xp, bare, q, a), edge, q
