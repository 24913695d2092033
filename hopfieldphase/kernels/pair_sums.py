"""Compiled sums over pairs of points: distances of all pairs, and the energy distance of sorted samples.

Nothing is checked here. Points come as (d, n) and (d, m) contiguous float64 arrays, one coordinate after the
other, so that the loops over points become SIMD code.
"""

import numpy as np

from hopfieldphase.kernels.jit import jit

TILE = 512  # points whose squared distances stay in the first-level cache


@jit(reorder=True)
def cross_sums(x, y, power, start, stop, sums):
    """Fill sums[i] with Σ_j |x_i − y_j|^(2 power) over all j, for start <= i < stop."""
    m = y.shape[1]
    squares = np.empty(TILE)
    for i in range(start, stop):
        sums[i] = 0.0
    for first in range(0, m, TILE):
        last = min(first + TILE, m)
        for i in range(start, stop):
            sums[i] += _tile_sum(x, i, y, first, last, power, squares)


@jit(reorder=True)
def within_sums(x, power, start, stop, sums):
    """Fill sums[i] with Σ_j |x_i − x_j|^(2 power) over j > i, for start <= i < stop."""
    n = x.shape[1]
    squares = np.empty(TILE)
    for i in range(start, stop):
        sums[i] = 0.0
    for first in range(start // TILE * TILE, n, TILE):
        last = min(first + TILE, n)
        for i in range(start, min(stop, last - 1)):
            sums[i] += _tile_sum(x, i, x, max(first, i + 1), last, power, squares)


@jit(reorder=True)
def _tile_sum(x, i, y, first, last, power, squares):
    """Σ_j |x_i − y_j|^(2 power) over first <= j < last; `squares` is scratch."""
    d = x.shape[0]
    if d == 1:
        return _line_sum(x[0, i], y[0, first:last], power)
    # slices, not offsets: a sum of two indices might be negative, and its test keeps SIMD away
    size = last - first
    partial = squares[:size]
    for c in range(d - 2):
        centre, row = x[c, i], y[c, first:last]
        for j in range(size):
            gap = centre - row[j]
            partial[j] = gap * gap if c == 0 else partial[j] + gap * gap
    centre, row = x[d - 2, i], y[d - 2, first:last]
    other_centre, other_row = x[d - 1, i], y[d - 1, first:last]
    total = 0.0
    if d == 2 and power == 0.5:
        for j in range(size):
            gap, other = centre - row[j], other_centre - other_row[j]
            total += np.sqrt(gap * gap + other * other)
    elif power == 0.5:
        for j in range(size):
            gap, other = centre - row[j], other_centre - other_row[j]
            total += np.sqrt(partial[j] + gap * gap + other * other)
    else:
        for j in range(size):
            gap, other = centre - row[j], other_centre - other_row[j]
            rest = partial[j] if d > 2 else 0.0
            total += (rest + gap * gap + other * other) ** power
    return total


@jit(reorder=True)
def _line_sum(centre, row, power):
    total = 0.0
    if power == 0.5:
        for j in range(row.size):
            total += abs(centre - row[j])
    else:
        for j in range(row.size):
            total += abs(centre - row[j]) ** (2.0 * power)
    return total


@jit
def sorted_energy(x, y):
    """2 ∫ (F − G)² dz of two ascending samples with distribution functions F and G: their V-statistic.

    Every term is non-negative, so that nothing cancels.
    """
    n, m = x.size, y.size
    share_x, share_y = 1.0 / n, 1.0 / m
    i = 0
    j = 0
    total = 0.0
    last = min(x[0], y[0])
    while i < n and j < m:
        here = min(x[i], y[j])
        lead = i * share_x - j * share_y
        total += lead * lead * (here - last)
        last = here
        # one of the two moves on, or both: without a branch that nothing could predict
        i, j = i + (x[i] == here), j + (y[j] == here)
    while i < n:
        lead = i * share_x - 1.0
        total += lead * lead * (x[i] - last)
        last = x[i]
        i += 1
    while j < m:
        lead = 1.0 - j * share_y
        total += lead * lead * (y[j] - last)
        last = y[j]
        j += 1
    return 2.0 * total


@jit
def sorted_difference(x):
    """Mean of |x_i − x_j| over all n² pairs of an ascending sample."""
    n = x.size
    total = 0.0
    for k in range(1, n):
        total += (k / n) * ((n - k) / n) * (x[k] - x[k - 1])
    return 2.0 * total
