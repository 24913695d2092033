"""The normalization Σ_μ p_μ = 1 of the attention weights, one routine per range of α.

With a = α − 1 the weights on the support obey p_μ^a = P^a − a g_μ, where P is the largest weight and
g_μ = β (max z − z_μ)/α ≥ 0 is the gap of pattern μ. Every routine takes float64 arrays whose last axis holds
the patterns of one row, and works on all rows at once.
"""

import math

from hopfieldphase.core.arrays import Array, Namespace

_MAX_STEPS = 120  # every second step at least halves step or bracket: 50 bits twice over, and some
_LOG_PEAK_TOLERANCE = 2e-14  # relative error of P that is left only if the last step was a bisection


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
    gaps = xp.clip(gaps, max=2.0)  # P ≤ 1: the excess changes nothing, and infinities stay out of the sums
    count = xp.arange(1, gaps.shape[-1] + 1, dtype=gaps.dtype, device=gaps.device)
    peak = xp.min((1 + xp.cumulative_sum(xp.sort(gaps, axis=-1), axis=-1)) / count, axis=-1, keepdims=True)
    # The running sum has lost digits over many patterns; one exact Newton step on the support returns them.
    p = xp.clip(peak - gaps, min=0.0)
    support = xp.sum(xp.astype(p > 0, gaps.dtype), axis=-1, keepdims=True)
    peak = peak - (xp.sum(p, axis=-1, keepdims=True) - 1) / support
    return xp.clip(peak - gaps, min=0.0), peak


def entmax_3_2(xp: Namespace, gaps: Array) -> tuple[Array, Array]:
    """Weights at α = 3/2, p = [s − g/2]₊², and s = √P, a root of a quadratic for each support size."""
    half = xp.clip(gaps / 2, max=2.0)  # s ≤ 1, as in `sparsemax`
    size = half.shape[-1]
    count = xp.arange(1, size + 1, dtype=half.dtype, device=half.device)
    ordered = xp.sort(half, axis=-1)
    mean = xp.cumulative_sum(ordered, axis=-1) / count
    scatter = xp.cumulative_sum(ordered**2, axis=-1) - count * mean**2
    roots = mean + xp.sqrt(xp.clip(1 - scatter, min=0.0) / count)
    support = xp.sum(xp.astype(ordered < roots, half.dtype), axis=-1, keepdims=True)
    root = xp.sum(xp.where(count == support, roots, 0.0), axis=-1, keepdims=True)
    # As in `sparsemax`, one Newton step returns the digits that the running sums have lost.
    r = xp.clip(root - half, min=0.0)
    root = root - (xp.sum(r**2, axis=-1, keepdims=True) - 1) / (2 * xp.sum(r, axis=-1, keepdims=True))
    return xp.clip(root - half, min=0.0) ** 2, root


def below_two(xp: Namespace, gaps: Array, alpha: float) -> tuple[Array, Array]:
    """Weights and log P for 0 < α < 2, α ≠ 1: Newton's method on log Σp = 0 in the unknown log P.

    All weights lie below P, and the top one is P: so Σp ≤ 1 at P = 1/M, Σp ≥ 1 at P = 1, and the root is
    bracketed. For α → 1 the function becomes linear and the first step from P = 1 is the softmax; no formula
    divides a difference of nearly equal numbers by a.
    """
    a = alpha - 1
    high = xp.zeros_like(gaps[..., :1])
    low = high - math.log(gaps.shape[-1])
    log_peak, last_step = high, high + math.inf
    for _ in range(_MAX_STEPS):
        p, slopes = _below_two_at(xp, gaps, a, log_peak)
        total = xp.sum(p, axis=-1, keepdims=True)
        high = xp.where(total >= 1, log_peak, high)
        low = xp.where(total <= 1, log_peak, low)
        newton = log_peak - xp.log(total) * total / xp.sum(slopes, axis=-1, keepdims=True)
        safe = (newton >= low) & (newton <= high) & (xp.abs(newton - log_peak) <= last_step / 2)
        new = xp.where(safe, newton, (low + high) / 2)
        last_step = xp.abs(new - log_peak)
        log_peak = new
        if bool(xp.all(last_step <= _LOG_PEAK_TOLERANCE)):
            break
    p, _ = _below_two_at(xp, gaps, a, log_peak)
    return p, log_peak


def _below_two_at(xp: Namespace, gaps: Array, a: float, log_peak: Array) -> tuple[Array, Array]:
    """Weights of largest weight P and their derivatives dp/dlog P = p^{1−a} P^a."""
    lowering = -a * gaps * xp.exp(-a * log_peak)  # p^a = P^a (1 + lowering)
    if a > 0:
        support = lowering > -1
        lowering = xp.where(support, lowering, 0.0)
        p = xp.where(support, xp.exp(log_peak + xp.log1p(lowering) / a), 0.0)
    else:
        p = xp.exp(log_peak + xp.log1p(lowering) / a)
    return p, p / (1 + lowering)


def above_two(
    xp: Namespace, scores: Array, gaps: Array, alpha: float, beta: float
) -> tuple[Array, Array, Array]:
    """Weights for 2 < α < ∞, the lowest score z₀ of the support and its weight q.

    At the edge of the support a weight has infinite slope in θ, so that θ is the wrong unknown. The support
    is found first; then p_μ^a = q^a + (a/α) β (z_μ − z₀), where Σp is convex in q with a slope in [1, k],
    and Newton's method from q = 1/k ≥ the root falls to it monotonically.
    """
    a = alpha - 1
    rate = a * (beta / alpha)
    edge = _lowest_supported_score(xp, xp.where(a * gaps < 1, scores, -math.inf), a, rate)
    support = scores >= edge
    # The weights at q = 0; differences of scores that lie close are exact, those of the gaps are not.
    bare = xp.where(support, rate * (xp.where(support, scores, edge) - edge), 0.0) ** (1 / a)
    q = 1 / xp.sum(xp.astype(support, scores.dtype), axis=-1, keepdims=True)
    for _ in range(_MAX_STEPS):
        p = _combined(xp, bare, q, a, support)
        slope = xp.sum(
            xp.where(support, q / xp.where(support, p, 1.0), 0.0) ** (a - 1), axis=-1, keepdims=True
        )
        new = xp.clip(q - xp.clip(xp.sum(p, axis=-1, keepdims=True) - 1, min=0.0) / slope, min=0.0)
        done = bool(xp.all(new == q))
        q = new
        if done:
            break
    return _combined(xp, bare, q, a, support), edge, q


def _combined(xp: Namespace, bare: Array, q: Array, a: float, support: Array) -> Array:
    """(bare^a + q^a)^{1/a} on the support, scaled by the larger term so that no power under- or overflows."""
    larger = xp.maximum(bare, q + xp.zeros_like(bare))
    ratio = xp.minimum(bare, q + xp.zeros_like(bare)) / xp.where(larger > 0, larger, 1.0)
    return xp.where(support, larger * (1 + ratio**a) ** (1 / a), 0.0)


def _lowest_supported_score(xp: Namespace, candidates: Array, a: float, rate: float) -> Array:
    """Bisect on the sorted scores for the lowest at which, taken as θ, the weights sum to less than one."""
    high = xp.sum(xp.astype(candidates > -math.inf, xp.int64), axis=-1, keepdims=True)
    longest = 1 if 0 in high.shape else int(xp.max(high))
    ordered = xp.flip(xp.sort(candidates, axis=-1), axis=-1)[..., :longest]
    low = xp.ones_like(high)
    while bool(xp.any(low < high)):
        middle = (low + high + 1) // 2
        threshold = xp.take_along_axis(ordered, middle - 1, axis=-1)
        weights = (rate * xp.clip(ordered - threshold, min=0.0)) ** (1 / a)
        supported = xp.sum(weights, axis=-1, keepdims=True) < 1
        low, high = xp.where(supported, middle, low), xp.where(supported, high, middle - 1)
    return xp.take_along_axis(ordered, low - 1, axis=-1)
