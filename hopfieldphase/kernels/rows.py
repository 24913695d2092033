"""Weights and conjugate of one row of scores: the compiled building blocks of every other kernel."""

import math

import numpy as np

from hopfieldphase.kernels.jit import jit


@jit
def weights_row(z, alpha, beta, p):
    """Fill p with the weights of the scores z (at least one finite) and return the threshold θ.

    1-d arrays that do not overlap; alpha and beta are floats and not checked. Entries of −inf
    get weight zero. θ is NaN for alpha = 1 and inf, where there is none.
    """
    top = z[0]
    for i in range(1, z.size):
        top = max(top, z[i])
    top = float(top)
    if alpha == 1.0:
        total = 0.0
        for i in range(z.size):
            total += math.exp(beta * (z[i] - top))
        for i in range(z.size):
            p[i] = math.exp(beta * (z[i] - top)) / total
        return np.nan
    if alpha == np.inf:
        count = 0
        for i in range(z.size):
            count += z[i] == top
        for i in range(z.size):
            p[i] = 1.0 / count if z[i] == top else 0.0
        return np.nan
    if alpha <= 2.0:
        return _low_index_row(z, top, alpha, beta, p)
    return _high_index_row(z, top, alpha, beta, p)


@jit
def _low_index_row(z, top, alpha, beta, p):
    """0 < alpha <= 2: Newton for the logarithm of the largest weight."""
    a = alpha - 1.0
    low, high = -math.log(z.size), 0.0
    level = high
    for _ in range(200):
        peak = math.exp(a * level)
        total = 0.0
        slope = 0.0
        for i in range(z.size):
            gap = beta * (top - z[i]) / alpha
            inner = 1.0 - a * gap / peak
            if inner > 0.0 and gap < np.inf:
                weight = math.exp(level + math.log1p(-a * gap / peak) / a)
                total += weight
                slope += weight / inner
        excess = math.log(total)
        if excess > 0.0:
            high = level
        else:
            low = level
        step = excess * total / slope
        new = level - step
        if not low <= new <= high:
            new = 0.5 * (low + high)
        done = abs(new - level) <= 1e-16 * max(1.0, -level)
        level = new
        if done:
            break
    peak = math.exp(a * level)
    total = 0.0
    for i in range(z.size):
        gap = beta * (top - z[i]) / alpha
        weight = 0.0
        if 1.0 - a * gap / peak > 0.0 and gap < np.inf:
            weight = math.exp(level + math.log1p(-a * gap / peak) / a)
        total += weight
        p[i] = weight
    for i in range(z.size):
        p[i] = p[i] / total
    return top - alpha * math.exp(a * level) / (a * beta)


@jit
def _high_index_row(z, top, alpha, beta, p):
    """2 < alpha < inf: size of the support by bisection, then Newton for the smallest weight."""
    a = alpha - 1.0
    scale = a * beta / alpha
    ordered = np.sort(z)[::-1]
    inside, outside = 1, z.size + 1
    while outside - inside > 1:
        k = (inside + outside) // 2
        total = 0.0
        for i in range(k - 1):
            total += (scale * (float(ordered[i]) - float(ordered[k - 1]))) ** (1.0 / a)
        if total < 1.0:
            inside = k
        else:
            outside = k
    k = inside
    lowest = float(ordered[k - 1])
    q = 1.0 / k
    for _ in range(200):
        power = q**a
        total = 0.0
        slope = 0.0
        for i in range(k):
            weight = (scale * (float(ordered[i]) - lowest) + power) ** (1.0 / a)
            total += weight
            slope += (q / weight) ** (alpha - 2.0)
        step = (total - 1.0) / slope
        new = q - step
        if not new > 0.0:
            new = 0.5 * q
        done = abs(new - q) <= 1e-16 * q
        q = new
        if done:
            break
    power = q**a
    total = 0.0
    for i in range(z.size):
        weight = 0.0
        if z[i] >= lowest:
            weight = (scale * (z[i] - lowest) + power) ** (1.0 / a)
        total += weight
        p[i] = weight
    for i in range(z.size):
        p[i] = p[i] / total
    return lowest - power / scale


@jit
def conjugate_row(z, p, alpha, beta):
    """Return Ω*(βz) = β z·p + Ψ(p) for the weights p of the scores z."""
    top = -np.inf
    for i in range(z.size):
        top = max(top, float(z[i]))
    if alpha == np.inf:
        return beta * top
    a = alpha - 1.0
    total = 0.0
    for i in range(z.size):
        weight = float(p[i])
        if weight > 0.0:
            surprise = -math.log(weight)
            if a != 0.0:
                surprise = -math.expm1(-a * surprise) / a
            total += weight * (beta * (z[i] - top) + surprise)
    return beta * top + total
