"""Compiled passes over very many patterns: which can matter near a state, and what all states see of them."""

import numpy as np

from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.rows import weights_row
from hopfieldphase.kernels.screening import largest

BINS = 4096
"""Of the histogram that brackets a threshold."""

_TILE = 128  # rows whose overlaps with all states are made together, from a cache


@jit
def threshold_of(z, alpha, beta, scratch):
    """Return the threshold θ of the weights of many scores, α > 1; max z for α = ∞.

    The weights of all scores, each lowered to the lower edge of its bin in a histogram, sum to less than the
    true ones: where they still exceed one at an edge, θ lies above it. Only the scores above the highest such
    edge can matter to θ; the exact threshold of these few is that of all. `scratch` is (2 M).
    """
    top = largest(z)
    if np.isinf(alpha):
        return top
    power = alpha - 1.0
    width = alpha / (power * beta)  # θ ≥ max z − width, the threshold of a single score
    low = top - width
    counts = np.zeros(BINS + 1, np.int64)
    step = width / BINS
    if not (step > 0.0 and low + step > low):
        low, step = -np.inf, 0.0  # beyond the resolution of the scores: all of them
    else:
        per = 1.0 / step
        for i in range(z.size):
            if z[i] > low:
                counts[min(np.int64((z[i] - low) * per), BINS)] += 1
        first, last = 0, BINS
        while last - first > 1:
            edge = (first + last) // 2
            total = 0.0
            for k in range(edge + 1, BINS + 1):
                # one bin less than the edge of the count: the rounding of the bins
                total += counts[k] * (max(k - 1 - edge, 0) / BINS) ** (1.0 / power)
            if total >= 1.0:
                first = edge
            else:
                last = edge
        low += (first - 1) * step
    n = 0
    for i in range(z.size):
        scratch[n] = z[i]
        n += z[i] >= low
    return weights_row(scratch[:n], alpha, beta, scratch[z.size : z.size + n])


@jit
def distances(z, reach, level, out):
    """Fill `out` with the distance from the reference within which each overlap cannot pass `level`."""
    inside = 0
    for mu in range(z.size):
        out[mu] = (level - z[mu]) / reach[mu]
        inside += out[mu] <= 0.0
    return inside


@jit
def choose(distance, limit, z, reach, chosen, chord):
    """List the patterns within `limit`, fill `chord` for the others (`bounds.LeftOut`); return how many."""
    n = 0
    height, radius = -np.inf, np.inf
    for mu in range(z.size):
        if distance[mu] <= limit:
            chosen[n] = mu
            n += 1
        else:
            height = max(height, z[mu])
            radius = min(radius, distance[mu])
    highest = height
    for mu in range(z.size):
        if distance[mu] > limit:
            highest = max(highest, z[mu] + reach[mu] * radius)
    chord[0] = height
    chord[1] = (highest - height) / radius if radius < np.inf else 0.0
    chord[2] = radius
    return n


@jit(reorder=True)
def norms(rows, scale, out):
    """Fill `out` with s|ξ|, an upper bound to rounding."""
    for mu in range(rows.shape[0]):
        row = rows[mu]
        total = 0.0
        for i in range(row.size):
            total += float(row[i]) * float(row[i])
        out[mu] = scale * np.sqrt(total) * (1.0 + 1e-12)


@jit(reorder=True)
def _overlaps(rows, count, x, scale, z):
    """Fill z with the overlaps of the first `count` rows, a multiple of four."""
    for mu in range(0, count, 4):
        a, b, c, d = rows[mu], rows[mu + 1], rows[mu + 2], rows[mu + 3]
        sa = sb = sc = sd = 0.0
        for i in range(x.size):
            sa += a[i] * x[i]
            sb += b[i] * x[i]
            sc += c[i] * x[i]
            sd += d[i] * x[i]
        z[mu] = scale * sa
        z[mu + 1] = scale * sb
        z[mu + 2] = scale * sc
        z[mu + 3] = scale * sd


@jit(reorder=True)
def _extremes(z, count, overlap_threshold):
    """Max z, max |z|, and how many exceed a threshold."""
    top = -np.inf
    size = 0.0
    above = 0
    for mu in range(count):
        top = max(top, z[mu])
        size = max(size, abs(z[mu]))
        above += z[mu] > overlap_threshold
    return top, size, above


@jit
def tally(
    rows, first, states, scale, thresholds, starts, members, overlap_threshold, gap, overlap_max, above
):
    """What a block of patterns is to all states of a sweep at once.

    Parameters
    ----------
    rows : ndarray, shape (m, d)
        The block, and `first` the number of its first row.
    states : ndarray, shape (n, d)
    thresholds : ndarray, shape (n,)
        θ of each state as it was found.
    starts, members : ndarray of int, shapes (n + 1,) and (starts[-1],)
        The patterns with weight in state k, ascending: members[starts[k] : starts[k + 1]].
    overlap_threshold : float
    gap, overlap_max, above : ndarray, shape (n,)
        Raised to the largest z − θ of a pattern without weight, and the largest |z|; and raised by the number
        of overlaps above the overlap threshold.
    """
    tile = np.zeros((_TILE, states.shape[1]))
    z = np.empty(_TILE)
    for start in range(0, rows.shape[0], _TILE):
        count = min(_TILE, rows.shape[0] - start)
        tile[:count] = rows[start : start + count]
        for k in range(states.shape[0]):
            _overlaps(tile, (count + 3) // 4 * 4, states[k], scale, z)
            top, size, over = _extremes(z, count, overlap_threshold)
            overlap_max[k] = max(overlap_max[k], size)
            above[k] += over
            if top > thresholds[k]:
                own = members[starts[k] : starts[k + 1]]
                at = np.searchsorted(own, first + start)
                for mu in range(count):
                    if at < own.size and own[at] == first + start + mu:
                        at += 1
                    else:
                        gap[k] = max(gap[k], z[mu] - thresholds[k])
            else:
                gap[k] = max(gap[k], top - thresholds[k])
