"""The normalization Σ_μ p_μ = 1 of the attention weights, one routine per range of α.

With a = α − 1 the weights on the support obey p_μ^a = P^a − a g_μ, where P is the largest weight and
g_μ = β (max z − z_μ)/α ≥ 0 is the gap of pattern μ. Every routine takes float64 arrays whose last axis holds
the patterns of one row, and works on all rows at once.
"""

import math

from hopfieldphase.core.arrays import Array, Namespace

_MAX_STEPS = 100  # a guard: the monotone Newton steps below need about 10, and end when rounding stops them
# All weights rise together with the unknown: Σp − 1 is the whole error of the weights, before a last step.
_NORMALIZATION_TOLERANCE = 1e-15
_BOUND_MARGIN = 1e-6  # far above the rounding of running sums


def softmax(xp: Namespace, gaps: Array) -> Array:
    """Weights at α = 1."""
    p = xp.exp(-gaps)
    return p / xp.sum(p, axis=-1, keepdims=True)


def hardmax(xp: Namespace, gaps: Array) -> Array:
    """Weights at α = ∞: patterns tied at the top share equally."""
    p = xp.astype(gaps == 0, xp.float64)
    return p / xp.sum(p, axis=-1, keepdims=True)


def sparsemax(xp: Namespace, gaps: Array) -> tuple[Array, Array]:
    """Weights at α = 2, p = [P − g]₊, and P: the smallest (1 + g₁ + … + g_k)/k over the sorted gaps."""
    ordered, count = _sorted_candidates(xp, gaps)
    peak = xp.min((1 + xp.cumulative_sum(ordered, axis=-1)) / count, axis=-1, keepdims=True)
    # The running sum has lost digits over many patterns; one Newton step on the support returns them.
    p = xp.clip(peak - ordered, min=0.0)
    support = xp.sum(xp.astype(p > 0, p.dtype), axis=-1, keepdims=True)
    peak = peak - (xp.sum(p, axis=-1, keepdims=True) - 1) / support
    return xp.clip(peak - gaps, min=0.0), peak


def entmax_3_2(xp: Namespace, gaps: Array) -> tuple[Array, Array]:
    """Weights at α = 3/2, p = [s − g/2]₊², and s = √P, a root of a quadratic for each support size."""
    gaps = gaps / 2
    ordered, count = _sorted_candidates(xp, gaps)
    mean = xp.cumulative_sum(ordered, axis=-1) / count
    scatter = xp.cumulative_sum(ordered**2, axis=-1) - count * mean**2
    roots = mean + xp.sqrt(xp.clip(1 - scatter, min=0.0) / count)
    support = xp.sum(xp.astype(ordered < roots, roots.dtype), axis=-1, keepdims=True)
    root = xp.sum(xp.where(count == support, roots, 0.0), axis=-1, keepdims=True)
    # As in `sparsemax`, one Newton step returns the digits that the running sums have lost.
    r = xp.clip(root - ordered, min=0.0)
    root = root - (xp.sum(r**2, axis=-1, keepdims=True) - 1) / (2 * xp.sum(r, axis=-1, keepdims=True))
    return xp.clip(root - gaps, min=0.0) ** 2, root


def _sorted_candidates(xp: Namespace, gaps: Array) -> tuple[Array, Array]:
    """Gaps in ascending order, cut where no row has one below 1, and their ranks from 1 on.

    At unit gap the weight is zero whatever P ≤ 1 is, so the cut changes nothing, and a cap keeps infinities
    out of the sums.
    """
    ordered = xp.sort(xp.clip(gaps, max=2.0), axis=-1)
    ordered = ordered[..., : _longest(xp, xp.sum(xp.astype(ordered < 1, xp.int64), axis=-1))]
    return ordered, xp.arange(1, ordered.shape[-1] + 1, dtype=ordered.dtype, device=ordered.device)


def _longest(xp: Namespace, sizes: Array) -> int:
    return 1 if 0 in sizes.shape else int(xp.max(sizes))


def below_two(xp: Namespace, gaps: Array, alpha: float) -> tuple[Array, Array]:
    """Weights and log P for 0 < α < 2, α ≠ 1: Newton's method in P^a on (Σp)^a = 1, from P = 1.

    As a function of P^a, (Σp)^a is a norm of order 1/a, hence convex, for α > 1, and a concave mean of
    negative order for α < 1. From P = 1, where Σp ≥ 1, the steps therefore fall to the root in [1/M, 1]
    monotonically; only rounding can bring them below, and the last step returns. In the unknown log P no
    formula divides a difference of nearly equal numbers by a; for α → 1 the first step is the softmax.
    """
    a = alpha - 1
    lowest, log_peak = -math.log(gaps.shape[-1]), xp.zeros_like(gaps[..., :1])
    for _ in range(_MAX_STEPS):
        p, slopes = below_two_at(xp, gaps, a, log_peak)
        total = xp.sum(p, axis=-1, keepdims=True)
        excess = xp.log(total)
        slope = xp.sum(slopes, axis=-1, keepdims=True) / total
        last, step = log_peak, xp.log1p(xp.expm1(-a * excess) / slope) / a
        log_peak = xp.clip(last + step, min=lowest, max=0.0)
        if bool(xp.all((excess <= _NORMALIZATION_TOLERANCE) | (log_peak == last))):
            break
    return below_two_at(xp, gaps, a, log_peak)[0], log_peak


def below_two_at(xp: Namespace, gaps: Array, a: float, log_peak: Array) -> tuple[Array, Array]:
    """Weights of largest weight P and their derivatives dp/dlog P = p^{1−a} P^a."""
    lowering = -a * gaps * xp.exp(-a * log_peak)  # p^a = P^a (1 + lowering)
    if a > 0:
        support = lowering > -1
        lowering = xp.where(support, lowering, 0.0)
        p = xp.where(support, xp.exp(log_peak + xp.log1p(lowering) / a), 0.0)
    else:
        p = xp.exp(log_peak + xp.log1p(lowering) / a)
    return p, p / (1 + lowering)


def above_two(xp: Namespace, scores: Array, alpha: float, beta: float) -> tuple[Array, Array, Array]:
    """Weights for 2 < α < ∞, the lowest score z₀ of the support and its weight q.

    At the edge of the support a weight has infinite slope in θ, so that θ is the wrong unknown. The support
    is found first; then p_μ^a = q^a + (a/α) β (z_μ − z₀), where Σp is convex in q with a slope in [1, k],
    and Newton's method from q = 1/k ≥ the root falls to it monotonically.
    """
    a = alpha - 1
    rate = a * (beta / alpha)
    ordered, size = _supported_scores(xp, scores, a, rate)
    edge = xp.take_along_axis(ordered, size - 1, axis=-1)
    bare = bare_weights(xp, ordered, edge, a, rate)
    q = 1 / xp.astype(size, scores.dtype)
    for _ in range(_MAX_STEPS):
        p = with_lowest(xp, bare, q, a)
        excess = xp.clip(xp.sum(p, axis=-1, keepdims=True) - 1, min=0.0)
        slopes = (q / xp.where(p > 0, p, 1.0)) ** (a - 1)
        slope = xp.clip(xp.sum(xp.where(bare >= 0, slopes, 0.0), axis=-1, keepdims=True), min=1.0)
        last, q = q, xp.clip(q - excess / slope, min=0.0)
        if bool(xp.all((excess <= _NORMALIZATION_TOLERANCE) | (q == last))):
            break
    return with_lowest(xp, bare_weights(xp, scores, edge, a, rate), q, a), edge, q


def bare_weights(xp: Namespace, scores: Array, edge: Array, a: float, rate: Array) -> Array:
    """Weights at q = 0, and −1 below the edge.

    Differences of close scores are exact, which those of their gaps to the top are not; it matters, because
    the root makes large what is small.
    """
    support = scores >= edge
    above = rate * (xp.where(support, scores, edge) - edge)
    return xp.where(support, above ** (1 / a), -1.0)


def with_lowest(xp: Namespace, bare: Array, q: Array, a: float) -> Array:
    """(bare^a + q^a)^{1/a} on the support, scaled by the larger term so that no power under- or overflows."""
    q = xp.broadcast_to(q, bare.shape)
    larger = xp.maximum(bare, q)
    ratio = xp.clip(xp.minimum(bare, q), min=0.0) / xp.where(larger > 0, larger, 1.0)
    return xp.where(bare >= 0, larger * (1 + ratio**a) ** (1 / a), 0.0)


def _supported_scores(xp: Namespace, scores: Array, a: float, rate: Array) -> tuple[Array, Array]:
    """Scores in descending order, cut where no support reaches, and the number (..., 1) of the supported.

    A score is in the support if, with θ put there, the weights of those above sum to less than one. As every
    such weight is the root of a number below one, the sum of the numbers themselves, which running sums give,
    is a first bound; a bisection does the rest.
    """
    ordered = xp.flip(xp.sort(scores, axis=-1), axis=-1)
    gaps, count = _sorted_candidates(xp, rate * (ordered[..., :1] - ordered))
    possible = (count * gaps - xp.cumulative_sum(gaps, axis=-1) <= 1 + _BOUND_MARGIN) & (gaps < 1)
    high = xp.sum(xp.astype(possible, xp.int64), axis=-1, keepdims=True)
    ordered = ordered[..., : _longest(xp, high)]
    low = xp.ones_like(high)
    while bool(xp.any(low < high)):
        middle = (low + high + 1) // 2
        threshold = xp.take_along_axis(ordered, middle - 1, axis=-1)
        above = (rate * xp.clip(ordered - threshold, min=0.0)) ** (1 / a)
        supported = xp.sum(above, axis=-1, keepdims=True) < 1
        low, high = xp.where(supported, middle, low), xp.where(supported, high, middle - 1)
    return ordered[..., : _longest(xp, low)], low
