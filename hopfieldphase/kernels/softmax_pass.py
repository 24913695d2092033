"""Log-sum-exp, update and curvature of softmax weights in one pass over the patterns, tile by tile.

Each tile is read once, from a cache the second time: its scores, its share of Σ e^{β(z − top)} and of the
sums weighted with it. Where a tile raises the maximum, what was summed before is scaled down.
"""

import numpy as np

from hopfieldphase.kernels.dense import add_weighted_rows, rows_times, wide_gram
from hopfieldphase.kernels.elementary import exp
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.screening import largest

TOP, TOTAL, SQUARES, FIRST = 0, 1, 2, 3
"""The first sums are max z, Σ e, Σ e²; then Σ e ξ (d) and, where asked for, Σ e ξ ξᵀ (d, d; lower half)."""

_TILE = 256


@jit
def softmax_sums(rows, x, scale, beta, sums):
    """Fill `sums` for a block of patterns; its length, 3 + d or 3 + d + d², says what is asked for."""
    d = x.size
    z, e = np.empty(_TILE), np.empty(_TILE)
    curved = sums.size > FIRST + d
    image = sums[FIRST : FIRST + d]
    weighted = np.empty((_TILE if curved else 0, d))
    gram = np.empty((d if curved else 0, d))
    sums[:] = 0.0
    sums[TOP] = -np.inf
    for start in range(0, rows.shape[0], _TILE):
        part = rows[start : start + _TILE]
        n = part.shape[0]
        rows_times(part, x, scale, z[:n])
        top = largest(z[:n])
        if top > sums[TOP]:
            rescale(sums, beta, top)
        _exponentials(z, n, sums[TOP], beta, e, sums)
        add_weighted_rows(part, e[:n], 1.0, image)
        if curved:
            for mu in range(n):
                root = np.sqrt(e[mu])
                for i in range(d):
                    weighted[mu, i] = root * part[mu, i]
            wide_gram(weighted[:n], gram)
            for i in range(d):
                for j in range(i + 1):
                    sums[FIRST + d + i * d + j] += gram[i, j]


@jit
def rescale(sums, beta, top):
    """Make `top` the maximum that the sums are relative to."""
    factor = np.exp(beta * (sums[TOP] - top))
    for i in range(1, sums.size):
        sums[i] *= factor
    sums[SQUARES] *= factor
    sums[TOP] = top


@jit(reorder=True)
def _exponentials(z, n, top, beta, e, sums):
    total = 0.0
    squares = 0.0
    for mu in range(n):
        weight = exp(beta * (z[mu] - top))
        e[mu] = weight
        total += weight
        squares += weight * weight
    sums[TOTAL] += total
    sums[SQUARES] += squares
