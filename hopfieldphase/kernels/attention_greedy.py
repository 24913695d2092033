"""Compiled greedy filling: the values of `hopfieldphase.core.attention.capped.GreedyFilling`, unsorted."""

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.attention.capped import GreedyFilling
from hopfieldphase.kernels.attention_capped import cap_rows, caps_held, fill_row
from hopfieldphase.kernels.attention_rows import filled_rows, is_numpy
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.thresholds import sort_descending

_EPSILON = 2.220446049250313e-16
_SAMPLE = 128
_MARGIN = 16  # ranks in the sample by which the edge of the row may differ from its own: three deviations


def greedy_weights(
    attention: GreedyFilling, scores: Array, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """Weights of a linear maximizer under caps, ``attention.weights(scores)``, compiled for NumPy scores.

    Parameters
    ----------
    attention : GreedyFilling
        The map. Scores of other libraries than NumPy take its own method.
    scores, out, threads
        As for `hopfieldphase.kernels.attention_capped.capped_weights`.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    InputError
        As the map, or if `out` does not fit.

    Notes
    -----
    A sorted sample brackets the score where the budget ends; random pivots among the scores in the bracket
    find it in expected linear time.
    """
    caps = cap_rows(attention, np.shape(scores)) if is_numpy(scores) else None
    if caps is None:
        return attention.weights(scores)
    budget = attention.budget
    return filled_rows(attention, scores, lambda z, p, i, j: _rows(z, caps, budget, p, i, j), out, threads)


@jit
def _rows(rows, caps, budget, out, start, stop):
    n = rows.shape[1]
    z, uz, uc = np.empty(n), np.empty(n), np.empty(n)
    for i in range(start, stop):
        u = caps[i if len(caps) > 1 else 0]
        held = caps_held(rows[i], u)
        if not held >= budget * (1.0 - n * _EPSILON):
            return False
        z[:] = rows[i]
        target = min(held, budget)
        edge = _edge(z, u, target * (1.0 - n * _EPSILON), held, uz, uc)
        rest = max(target - _above(z, u, edge), 0.0)
        tied = _pour(z, u, edge, rest, out[i])
        if tied > 1:
            _share(z, u, edge, rest, tied, out[i])
    return True


@jit
def _share(z, caps, edge, rest, tied, p):
    """Spread what is left of the budget over the tied scores as equally as their caps allow."""
    at = np.empty(tied, np.int64)
    count = 0
    for i in range(z.size):
        if z[i] == edge:
            at[count] = i
            count += 1
    shares = np.empty(tied)
    bounds = caps[at]
    fill_row(np.zeros(tied), bounds, min(rest, bounds.sum()), np.empty(tied), np.empty(tied), shares)
    for i in range(tied):
        p[at[i]] = shares[i]


@jit
def _edge(z, caps, target, held, uz, uc):
    """Largest score such that the caps of all at or above it sum to the target."""
    low, high = -np.inf, np.inf
    stride = z.size // _SAMPLE
    if stride > 1:
        sample = z[: stride * _SAMPLE : stride].copy()
        sort_descending(sample)
        rank = int(_SAMPLE * target / held)
        for place in (rank - _MARGIN, rank + _MARGIN):
            level = sample[min(max(place, 0), _SAMPLE - 1)]
            if low < level < high:
                if _above(z, caps, level) < target:
                    high = level
                else:
                    low = level
    above = _above(z, caps, high)
    size = _gather(z, caps, low, high, uz, uc)
    state = np.uint64(0x9E3779B97F4A7C15)
    while True:
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        pivot = uz[np.int64((state >> np.uint64(33)) % np.uint64(size))]
        over = above + _above(uz[:size], uc[:size], pivot)
        if over >= target:
            low = pivot
        else:
            equal = 0.0
            for i in range(size):
                equal += uc[i] if uz[i] == pivot else 0.0
            high, above = pivot, over + equal
            if above >= target:
                return pivot
        kept = 0
        for i in range(size):
            score, cap = uz[i], uc[i]
            uz[kept], uc[kept] = score, cap
            kept += (low < score) & ((score < high) | (over >= target))
        if kept == 0:
            return pivot
        size = kept


@jit(reorder=True)
def _above(z, caps, level):
    """Sum of the caps of the scores above a level."""
    total = 0.0
    for i in range(z.size):
        cap = caps[i]
        total += cap if z[i] > level else 0.0
    return total


@jit
def _gather(z, caps, low, high, uz, uc):
    """Copy the scores in (low, high] and their caps to the front of the scratch."""
    size = 0
    for i in range(z.size):
        # Each store is made, and kept by moving on: a branch would be guessed wrong too often.
        uz[size], uc[size] = z[i], caps[i]
        size += (low < z[i]) & (z[i] <= high)
    return size


@jit(reorder=True)
def _pour(z, caps, edge, rest, p):
    """Fill the scores above the edge to their caps and give the one at it the rest; return how many are."""
    tied = 0
    for i in range(z.size):
        cap, score = caps[i], z[i]
        tied += score == edge
        weight = rest if rest < cap else cap
        weight = weight if score == edge else 0.0
        p[i] = cap if score > edge else weight
    return tied
