"""Budgets spread over patterns under caps: the solvers of `hopfieldphase.core.attention.capped`.

Scores z and caps have shape (…, n), budgets (…, 1); all are floating, and a cap may be +∞.
"""

import math

from hopfieldphase.core.arrays import Array, Namespace

_EPSILON = 2.220446049250313e-16
_SETTLED = 1e-14  # of the budget: what a sum of thousands of weights may miss it by
_NEAR = 16  # budgets: a threshold so close to the origin has lost no digits against it
_MAX_ROUNDS = 4  # each round multiplies the error of the threshold by the rounding of the scores


def fill(xp: Namespace, z: Array, caps: Array, budget: Array) -> tuple[Array, Array]:
    """Weights (…, n) and threshold (…, 1) of `WaterFilling`.

    The threshold is a sum of two numbers, origin + level, so that z − τ keeps its digits where scores are
    large and far apart; the origin is moved until that is so.
    """
    origin = xp.max(xp.where(caps > 0, z, -math.inf), axis=-1, keepdims=True)
    origin = xp.where(xp.isfinite(origin), origin, 0.0)  # all caps zero: nothing to fill
    p, level = xp.zeros_like(z), xp.zeros_like(origin)
    for _ in range(_MAX_ROUNDS):
        origin = origin + level
        above = xp.where(caps > 0, z - origin, 0.0)
        level = _level(xp, above, caps, budget)
        # Breakpoints may have been rounded; Newton steps on the support return the digits.
        for _ in range(2):
            p = xp.minimum(xp.clip(above - level, min=0.0), caps)
            free = xp.sum(xp.astype((p > 0) & (p < caps), xp.float64), axis=-1, keepdims=True)
            level = level + (xp.sum(p, axis=-1, keepdims=True) - budget) / xp.clip(free, min=1.0)
        p = xp.minimum(xp.clip(above - level, min=0.0), caps)
        missed = xp.abs(xp.sum(p, axis=-1, keepdims=True) - budget)
        if bool(xp.all((missed <= _SETTLED * budget) & (xp.abs(level) <= _NEAR * budget))):
            break
    # A weight within rounding of its cap is at it: its derivative is that of the cap.
    return xp.where((p > 0) & (p >= caps - 8 * _EPSILON * budget), caps, p), origin + level


def _level(xp: Namespace, z: Array, caps: Array, budget: Array) -> Array:
    """Largest root (…, 1) of Σ_i min(u_i, [z_i − τ]₊) = R, by bisection over the sorted breakpoints.

    Running sums over them would be faster, but wrong where scores are so far apart that z − u is rounded.
    """
    edges = xp.sort(xp.concat([z, z - caps], axis=-1), axis=-1, descending=True)
    low = xp.zeros(budget.shape, dtype=xp.int64, device=z.device)
    high = xp.full_like(low, edges.shape[-1] - 1)
    while bool(xp.any(low < high)):
        middle = (low + high + 1) // 2
        short = _total(xp, z, caps, xp.take_along_axis(edges, middle, axis=-1)) < budget
        low, high = xp.where(short, middle, low), xp.where(short, high, middle - 1)
    upper = xp.take_along_axis(edges, low, axis=-1)
    lower = xp.take_along_axis(edges, xp.clip(low + 1, max=edges.shape[-1] - 1), axis=-1)
    free = xp.sum(xp.astype((z >= upper) & (z - caps <= lower), xp.float64), axis=-1, keepdims=True)
    return upper - (budget - _total(xp, z, caps, upper)) / xp.clip(free, min=1.0)


def _total(xp: Namespace, z: Array, caps: Array, level: Array) -> Array:
    return xp.sum(xp.minimum(xp.clip(z - level, min=0.0), caps), axis=-1, keepdims=True)


def spread(xp: Namespace, z: Array, caps: Array, budget: Array) -> Array:
    """Weights (…, n) of `ConstrainedSoftmax`."""
    present = caps > 0
    priority = xp.where(present, z - xp.log(xp.where(present, caps, 1.0)), -math.inf)
    rank = xp.argsort(xp.argsort(priority, axis=-1, descending=True), axis=-1)
    low = xp.zeros_like(rank[..., :1])
    high = xp.sum(xp.astype(present, rank.dtype), axis=-1, keepdims=True)
    while bool(xp.any(low < high)):
        middle = (low + high) // 2
        free = _share(xp, z, caps, budget, present & (rank >= middle))
        enough = xp.all(free <= caps, axis=-1, keepdims=True)
        low, high = xp.where(enough, low, middle + 1), xp.where(enough, middle, high)
    free = present & (rank >= low)
    return xp.where(free, xp.minimum(_share(xp, z, caps, budget, free), caps), caps)


def _share(xp: Namespace, z: Array, caps: Array, budget: Array, free: Array) -> Array:
    """Softmax over the free patterns of what the caps of the others leave of the budget."""
    top = xp.max(xp.where(free, z, -math.inf), axis=-1, keepdims=True)
    top = xp.where(xp.isfinite(top), top, 0.0)
    p = xp.where(free, xp.exp(xp.where(free, z, top) - top), 0.0)
    rest = xp.clip(budget - xp.sum(xp.where(free, 0.0, caps), axis=-1, keepdims=True), min=0.0)
    total = xp.sum(p, axis=-1, keepdims=True)
    return p * (rest / xp.where(total > 0, total, 1.0))


def pour(xp: Namespace, z: Array, caps: Array, budget: Array) -> tuple[Array, Array]:
    """Weights (…, n) of `GreedyFilling`, and the last score (…, 1) that the budget reaches."""
    order = xp.argsort(z, axis=-1, descending=True)
    filled = xp.cumulative_sum(xp.take_along_axis(caps, order, axis=-1), axis=-1)
    # Running sums that should meet the budget may miss it by rounding.
    short = filled < budget * (1 - z.shape[-1] * _EPSILON)
    last = xp.clip(xp.sum(xp.astype(short, xp.int64), axis=-1, keepdims=True), max=z.shape[-1] - 1)
    edge = xp.take_along_axis(z, xp.take_along_axis(order, last, axis=-1), axis=-1)
    above = xp.where(z > edge, caps, 0.0)
    tied = xp.where(z == edge, caps, 0.0)
    rest = xp.clip(budget - xp.sum(above, axis=-1, keepdims=True), min=0.0)
    rest = xp.minimum(rest, xp.sum(tied, axis=-1, keepdims=True))
    return above + fill(xp, xp.zeros_like(z), tied, rest)[0], edge
