"""Weights and conjugate of one row of scores: the compiled building blocks of every other kernel.

Nothing is checked here. Rows are one-dimensional, contiguous, of float32 or float64 (kept; sums run in
float64), with at least one finite score and neither NaN nor +inf; −inf marks an absent pattern. alpha and
beta are floats. z and p must not overlap: p also serves as scratch.
"""

import math

import numpy as np

from hopfieldphase.kernels.elementary import exp, expm1, log
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.screening import cut_at, gather, keep, largest, lower_bound, top_score
from hopfieldphase.kernels.thresholds import (
    gini_threshold,
    high_weight,
    low_weight,
    peak_level,
    smallest_weight,
    sort_descending,
    three_halves_threshold,
)

_STRETCH = 64  # scores whose weights are skipped together when all of them are zero
_SMALLEST_NORMAL = 2.2250738585072014e-308


@jit
def weights_row(z, alpha, beta, p):
    """Fill p with the weights of the scores z and return the threshold θ (NaN for alpha = 1 and inf)."""
    top = top_score(z, p)
    if alpha == 1.0:
        return _fill_softmax(z, top, beta, p)
    if np.isinf(alpha):
        return _fill_hardmax(z, top, p)
    power = alpha - 1.0
    scale = power / alpha * beta
    if alpha < 1.0:
        level, total = peak_level(z, top, scale, power, 0.0)
        return _fill_low(z, top, scale, power, level, 1.0 / total, p)
    bend = min(power, 1.0)
    scores, t = gather(z, top, scale, bend, p)
    if alpha == 2.0:
        t, total = gini_threshold(scores, top, scale, t)
        return _fill_gini(z, top, scale, t, 1.0 / total, p)
    if alpha == 1.5:
        t, total = three_halves_threshold(scores, top, scale, t)
        return _fill_three_halves(z, top, scale, t, 1.0 / total, p)
    t = lower_bound(scores, top, scale, bend, t)
    if alpha < 2.0:
        level, total = peak_level(scores, top, scale, power, math.log(-t) / power)
        return _fill_low(z, top, scale, power, level, 1.0 / total, p)
    scores = keep(scores, cut_at(t, top, scale), p)
    sort_descending(scores)
    lowest, q, total = smallest_weight(scores, scale, power)
    return _fill_high(z, lowest, scale, power, q, 1.0 / total, p)


@jit(reorder=True)
def conjugate_row(z, p, alpha, beta):
    """Return Ω*(βz) = β z·p + Ψ(p) for the weights p of the scores z."""
    top = largest(z)
    total = 0.0
    if alpha == 2.0:
        for i in range(z.size):
            weight = float(p[i])
            gap = float(z[i]) - top if weight > 0.0 else 0.0
            total += weight * (beta * gap + 1.0 - weight)
    elif not np.isinf(alpha):
        power = alpha - 1.0
        inverse = 1.0 / power if power != 0.0 else 1.0
        for i in range(z.size):
            weight = float(p[i])
            present = weight >= _SMALLEST_NORMAL
            weight = weight if present else 0.0
            gap = float(z[i]) - top if present else 0.0
            surprise = -log(weight if present else 1.0)
            if power != 0.0:
                surprise = -expm1(-power * surprise) * inverse
            total += weight * (beta * gap + surprise)
    return beta * top + total


@jit(reorder=True)
def _fill_softmax(z, top, beta, p):
    total = 0.0
    for i in range(z.size):
        weight = exp(beta * (float(z[i]) - top))
        total += weight
        p[i] = weight
    share = 1.0 / total
    for i in range(z.size):
        p[i] *= share
    return np.nan


@jit(reorder=True)
def _fill_hardmax(z, top, p):
    count = 0
    for i in range(z.size):
        count += z[i] == top
    share = 1.0 / count
    for i in range(z.size):
        p[i] = share if z[i] == top else 0.0
    return np.nan


@jit(reorder=True)
def _fill_gini(z, top, scale, t, share, p):
    for i in range(z.size):
        weight = scale * (float(z[i]) - top) - t
        p[i] = weight * share if weight > 0.0 else 0.0
    return top + t / scale


@jit(reorder=True)
def _fill_three_halves(z, top, scale, t, share, p):
    for i in range(z.size):
        root = scale * (float(z[i]) - top) - t
        p[i] = root * root * share if root > 0.0 else 0.0
    return top + t / scale


@jit(reorder=True)
def _fill_low(z, top, scale, power, level, share, p):
    ratio = scale * math.exp(-power * level)
    inverse = 1.0 / power
    for start in range(0, z.size, _STRETCH):
        stop = min(start + _STRETCH, z.size)
        count = 0
        for i in range(start, stop):
            count += ratio * (float(z[i]) - top) > -1.0
        if count:
            for i in range(start, stop):
                weight, _ = low_weight(ratio * (float(z[i]) - top), level, inverse)
                p[i] = weight * share
        else:
            for i in range(start, stop):
                p[i] = 0.0
    return top - 1.0 / ratio


@jit(reorder=True)
def _fill_high(z, lowest, scale, power, q, share, p):
    base = q**power
    inverse = 1.0 / power
    for start in range(0, z.size, _STRETCH):
        stop = min(start + _STRETCH, z.size)
        count = 0
        for i in range(start, stop):
            count += z[i] >= lowest
        if count:
            for i in range(start, stop):
                weight = high_weight(scale * (float(z[i]) - lowest), q, base, inverse)
                p[i] = weight * share if z[i] >= lowest else 0.0
        else:
            for i in range(start, stop):
                p[i] = 0.0
    return lowest - base / scale
