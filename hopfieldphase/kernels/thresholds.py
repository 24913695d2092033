"""The one unknown of a row of weights, found from the scores that can carry weight.

Each function returns, with its unknown, the sum of the weights there: one up to the rounding of the unknown,
which a division by that sum removes. Scores are measured as y = scale (z − top), where top is the largest and
scale = (alpha−1)/alpha β; power is alpha − 1.
"""

import math

import numpy as np

from hopfieldphase.kernels.elementary import exp, log, log1p_and_reciprocal
from hopfieldphase.kernels.jit import jit

_EPSILON = 2.220446049250313e-16
_SMALLEST_NORMAL = 2.2250738585072014e-308
_FIRST_GUESS = -0.6  # saves one or two steps of four for some tens of scores that spread over a unit of y
_MAX_STEPS = 100  # a backstop: 2 to 10 steps are taken


@jit(reorder=True)
def gini_threshold(scores, top, scale, t):
    """Solve, for alpha = 2, Σ(y − t)₊ = 1 from a lower bound t; each step is exact on its support.

    Returns
    -------
    t, total
    """
    total = 1.0
    previous = np.inf
    for _ in range(_MAX_STEPS):
        total = 0.0
        count = 0
        for i in range(scores.size):
            weight = scale * (float(scores[i]) - top) - t
            weight = weight if weight > 0.0 else 0.0
            total += weight
            count += weight > 0.0
        excess = total - 1.0
        step = excess / count
        if _settled(excess, previous, count, step, t):
            break
        previous = excess
        t += step
    return t, total


@jit(reorder=True)
def three_halves_threshold(scores, top, scale, t):
    """Solve, for alpha = 3/2, Σ(y − t)₊² = 1 from a lower bound t.

    On one support the equation is quadratic. Its root lies above the solution if the support is too large
    and below if it is too small: the two close in, and meet in two or three steps. Where they do not,
    Newton's step, which stays below, or the lower bound, helps on.
    """
    low, high = t, 0.0
    if t == -1.0:  # nothing is known of t
        t = _FIRST_GUESS
    total = 1.0
    previous = np.inf
    for _ in range(_MAX_STEPS):
        total = 0.0
        linear = 0.0
        count = 0
        for i in range(scores.size):
            root = scale * (float(scores[i]) - top) - t
            root = root if root > 0.0 else 0.0
            total += root * root
            linear += root
            count += root > 0.0
        excess = total - 1.0
        step = 0.5 * excess / linear
        if _settled(excess, previous, count, step, t):
            break
        previous = excess
        if excess > 0.0:
            low, fallback = t, t + step
        else:
            high, fallback = t, low
        square = linear * linear - count * excess
        t += excess / (linear + math.sqrt(square)) if square > 0.0 else step
        t = max(t, low)
        if not t < high:
            t = fallback
    return t, total


@jit(reorder=True)
def peak_level(scores, top, scale, power, high):
    """Solve, for 0 < alpha < 2 but 1, ln Σp = 0 for the logarithm of the largest weight.

    With power = alpha − 1 and l the unknown, p = exp(l + log1p(scale (z − top) e^{−power l}) / power), which
    keeps every digit as alpha → 1. ln Σp is increasing and all but concave in l, so that Newton's steps come
    from below; a bracket guards them.

    Returns
    -------
    l, total
    """
    inverse = 1.0 / power
    low = -1.0 - math.log(scores.size)  # clear of the root at equal weights, for the rounding
    level = high
    total = 1.0
    previous = np.inf
    for _ in range(_MAX_STEPS):
        ratio = scale * math.exp(-power * level)
        total = 0.0
        slope = 0.0
        for i in range(scores.size):
            x = ratio * (float(scores[i]) - top)
            weight, steepness = low_weight(x, level, inverse)
            total += weight
            slope += weight * steepness
        excess = math.log(total)
        step = excess * total / slope
        if _settled(excess, previous, scores.size, step, 1.0):
            break
        previous = excess
        if excess > 0.0:
            high = level
        else:
            low = level
        level -= step
        if not low < level < high:
            level = 0.5 * (low + high)
    return level, total


@jit(reorder=True)
def smallest_weight(ordered, scale, power):
    """Find, for alpha > 2, the support and the smallest weight on it, of scores in descending order.

    The support is the largest k for which the weights of the first k scores, with z_k itself as threshold,
    sum to less than one. With p = (scale (z − z_k) + q^power)^{1/power} that sum is convex and increasing in
    the smallest weight q: Newton from q = 1/k comes down to the root. The threshold as unknown would lose
    half of the digits of q or more.

    Returns
    -------
    z_k, q, total
    """
    inverse = 1.0 / power
    inside, outside = 1, ordered.size + 1
    while outside - inside > 1:
        k = (inside + outside) // 2
        total = 0.0
        for i in range(k):
            total += high_weight(scale * (float(ordered[i]) - float(ordered[k - 1])), 0.0, 0.0, inverse)
        if total < 1.0:
            inside = k
        else:
            outside = k
    lowest = float(ordered[inside - 1])
    q = 1.0 / inside
    total = 1.0
    previous = np.inf
    for _ in range(_MAX_STEPS):
        base = q**power
        total = 0.0
        slope = 0.0
        for i in range(inside):
            rise = scale * (float(ordered[i]) - lowest)
            weight = high_weight(rise, q, base, inverse)
            total += weight
            # (q/p)^(power−1), without a second power
            slope += base / (rise + base) * weight / q if rise > 0.0 else 1.0
        excess = total - 1.0
        step = excess / slope
        if _settled(excess, previous, inside, step, q):
            break
        previous = excess
        q = q - step if q > step else 0.5 * q
    return lowest, q, total


@jit
def sort_descending(scores):
    """Heapsort in place: never slow, and small to compile."""
    n = scores.size
    for position in range(n // 2 - 1 + n, 0, -1):
        if position >= n:
            root, end = position - n, n
        else:
            scores[0], scores[position] = scores[position], scores[0]
            root, end = 0, position
        value = scores[root]
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and scores[child + 1] < scores[child]:
                child += 1
            if not scores[child] < value:
                break
            scores[root] = scores[child]
            root = child
            child = 2 * root + 1
        scores[root] = value


@jit(element=True)
def low_weight(x, level, inverse):
    """Return p = e^level (1 + x)^inverse, zero off the support, and dln p/dl = 1/(1 + x); 0 < alpha < 2."""
    present = -1.0 < x < np.inf
    logarithm, steepness = log1p_and_reciprocal(x if present else 0.0)
    weight = exp(level + logarithm * inverse)
    return (weight if present else 0.0), steepness


@jit(element=True)
def high_weight(rise, q, base, inverse):
    """Return p = (rise + q^power)^inverse of a score that lies `rise` above the lowest one; alpha > 2."""
    weight = exp(log(max(rise + base, _SMALLEST_NORMAL)) * inverse)
    return weight if rise > 0.0 else q


@jit
def _settled(excess, previous, count, step, unknown):
    """Whether Newton has arrived: the excess of Σp over one, or the step, is down to rounding."""
    size = abs(excess)
    if size <= _EPSILON * (1.0 + math.sqrt(count) / 16.0) or abs(step) <= 2.0 * _EPSILON * abs(unknown):
        return True
    # Rounding of the sum may keep it above; but then it no longer shrinks.
    return size <= _EPSILON * (16.0 + count / 8.0) and size > 0.25 * abs(previous)
