"""Compiled selections: the values of `hopfieldphase.core.attention.selection`, without sorting any row."""

import math

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.selection import CappedEntmax, SparsemaxK, TopK, TopP
from hopfieldphase.core.attention.tsallis import Entmax
from hopfieldphase.kernels.attention_rows import filled_rows, is_numpy
from hopfieldphase.kernels.elementary import exp
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.row_batches import acceptable
from hopfieldphase.kernels.rows import weights_row
from hopfieldphase.kernels.screening import BLOCK, LANES, largest, top_score
from hopfieldphase.kernels.thresholds import sort_descending

_STRETCH = 16  # scores that are passed over together when none of them is wanted
_CUTS = 40  # a backstop: where scores are tied or far apart, bisections stop with many candidates
_FEW = 128  # candidates that are cheap to sort
_MASS_ROUNDING = 1e-12  # as in `TopP`
_UNDERFLOW = 746.0  # e^−x is zero from here on
_LEAST_GAP = 1e-6


def selected_weights(
    attention: TopK | CappedEntmax | SparsemaxK | TopP,
    scores: Array,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Weights of a selection, ``attention.weights(scores)``, compiled for NumPy scores.

    Parameters
    ----------
    attention : TopK, CappedEntmax, SparsemaxK or TopP
        The map. Scores of other libraries than NumPy, and separable inner maps, take its own method.
    scores : array, shape (..., n)
        Scores; −∞ marks an absent pattern.
    out : array, shape (..., n), optional
        NumPy array of the dtype of the result to write into; undefined after an error.
    threads : int, optional
        Threads to use; by default the environment variable HOPFIELDPHASE_THREADS, else all cores. The
        result does not depend on it.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    InputError
        As the map, or if `out` does not fit.

    Notes
    -----
    The k-th largest of the maxima of short stretches is a lower bound of the k-th largest score; few scores
    reach it, and among them a quickselect finds the cut. For a softmax mass the cut is bracketed by sums over
    the scores above a level, until few scores are left between two levels.
    """
    inner = attention.inner
    if not is_numpy(scores):
        return attention.weights(scores)
    if not isinstance(inner, Entmax):
        return filled_rows(attention, scores, lambda z, w, i, j: _plain(attention, z, w, i, j), out, threads)
    if isinstance(attention, TopP):
        p = attention.p
        return filled_rows(attention, scores, lambda z, w, i, j: _mass_rows(z, p, w, i, j), out, threads)
    k, alpha = attention.k, inner.alpha
    beta = 1.0 if math.isinf(alpha) else alpha
    return filled_rows(
        attention, scores, lambda z, w, i, j: _largest_rows(z, k, alpha, beta, w, i, j), out, threads
    )


def _plain(attention: Attention, rows: np.ndarray, p: np.ndarray, start: int, stop: int) -> bool:
    p[start:stop] = attention.weights(rows[start:stop])
    return True


@jit
def _largest_rows(rows, k, alpha, beta, out, start, stop):
    n = rows.shape[1]
    if k > n:
        return False
    index = np.empty(n + 1, np.int64)
    chosen = np.empty(k, rows.dtype)
    weights = np.empty(k, rows.dtype)
    for i in range(start, stop):
        z, p = rows[i], out[i]
        if not acceptable(z):
            return False
        _select(z, k, index, p)
        for j in range(k):
            chosen[j] = z[index[j]]
        weights_row(chosen, alpha, beta, weights)
        p[:] = 0.0
        for j in range(k):
            p[index[j]] = weights[j]
    return True


@jit
def _select(z, k, index, p):
    """Put the places of the k largest scores, the first of tied ones, into `index`; p is scratch."""
    top = top_score(z, p)
    n_maxima = z.size // BLOCK * LANES
    sample = p[z.size - n_maxima :] if n_maxima >= k else z
    count = _places_from(z, _level(sample, k, k // 4, top), index)
    if count == k:
        return
    scores = p[:count]
    for j in range(count):
        scores[j] = z[index[j]]
    cut = _level(scores, k, 0, top)
    tied = 0
    if _count_from(scores, cut) == k:
        cut = np.nextafter(cut, -np.inf)
    else:
        cut = float(_kth_largest(scores, k))
        tied = k - _count_above(scores, cut)
    kept = 0
    for j in range(count):
        place = index[j]
        score = z[place]
        if score > cut or (score == cut and tied > 0):
            tied -= score == cut
            index[kept] = place
            kept += 1


@jit
def _level(sample, k, excess, top):
    """Return a level that at least k of the sample reach, and no more than `excess` others if it can be."""
    low = _lowest_finite(sample, top)
    if _count_from(sample, low) < k:
        return -np.inf
    high = top
    for _ in range(_CUTS):
        middle = 0.5 * low + 0.5 * high
        if not low < middle < high:
            break
        count = _count_from(sample, middle)
        if count < k:
            high = middle
        else:
            low = middle
            if count <= k + excess:
                break
    return low


@jit(reorder=True)
def _lowest_finite(sample, top):
    low = top
    for i in range(sample.size):
        score = float(sample[i])
        score = score if score > -np.inf else top
        low = score if score < low else low
    return low


@jit(reorder=True)
def _count_from(sample, cut):
    count = 0
    for i in range(sample.size):
        count += sample[i] >= cut
    return count


@jit(reorder=True)
def _count_above(sample, cut):
    count = 0
    for i in range(sample.size):
        count += sample[i] > cut
    return count


@jit(reorder=True)
def _places_from(z, cut, index):
    """Put the places of the scores of at least `cut` into `index`, one longer than z, and return how many."""
    count = 0
    for start in range(0, z.size - _STRETCH + 1, _STRETCH):
        hits = 0
        for j in range(_STRETCH):
            hits += z[start + j] >= cut
        if hits:
            # Each store is made, and kept by moving on: branches would be guessed wrong.
            for j in range(_STRETCH):
                index[count] = start + j
                count += z[start + j] >= cut
    for i in range(z.size // _STRETCH * _STRETCH, z.size):
        index[count] = i
        count += z[i] >= cut
    return count


@jit
def _kth_largest(values, k):
    """Return the k-th largest entry; the values are left in another order."""
    low, high = 0, values.size - 1
    target = k - 1
    for _ in range(64):
        if high - low < 2:
            break
        a, b, c = values[low], values[(low + high) // 2], values[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while values[i] > pivot:
                i += 1
            while values[j] < pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if target <= j:
            high = j
        elif target >= i:
            low = i
        else:
            return values[target]
    part = values[low : high + 1]
    sort_descending(part)
    return part[target - low]


@jit
def _mass_rows(rows, p, out, start, stop):
    n = rows.shape[1]
    mass = np.empty(n)
    between = np.empty(n + 1, rows.dtype)
    for i in range(start, stop):
        z = rows[i]
        if not acceptable(z):
            return False
        top = largest(z)
        if p == 1.0:
            weights_row(z, 1.0, 1.0, out[i])
            continue
        total = _fill_mass(z, top, mass)
        cut, tied, held = _mass_cut(z, top, mass, total, p, between)
        _fill_from(z, mass, cut, tied, 1.0 / held, out[i])
    return True


@jit(reorder=True)
def _fill_mass(z, top, mass):
    total = 0.0
    for i in range(z.size):
        weight = exp(float(z[i]) - top)
        total += weight
        mass[i] = weight
    return total


@jit
def _mass_cut(z, top, mass, total, p, between):
    """Return the lowest selected score, how many scores equal to it are selected, and the selected mass."""
    wanted = (p - _MASS_ROUNDING) * total
    high, ceiling = np.inf, top
    above_high = 0.0
    n_high = 0
    # Down from the top in steps of the gap at which a score has the mean mass.
    low = top
    gap = max(math.log(z.size / total), _LEAST_GAP)
    while True:
        low = max(top - gap, top - _UNDERFLOW)
        above, n_low = _mass_from(z, mass, low)
        if above >= wanted or gap >= _UNDERFLOW:
            break
        high, ceiling, n_high = low, low, n_low
        above_high = above
        gap *= 2.0
    for _ in range(_CUTS):
        middle = 0.5 * low + 0.5 * ceiling
        if n_low - n_high <= _FEW or not low < middle < ceiling:
            break
        above, count = _mass_from(z, mass, middle)
        if above >= wanted:
            low, n_low = middle, count
        else:
            high, ceiling, n_high = middle, middle, count
            above_high = above
    count = _gather_between(z, low, high, between)
    part = between[:count]
    sort_descending(part)
    tied, cut = 0, top
    held = above_high
    for i in range(count):
        if i > 0 and held >= wanted:
            break
        tied = tied + 1 if i > 0 and part[i] == cut else 1
        cut = float(part[i])
        held += exp(cut - top)
    return cut, tied, held


@jit(reorder=True)
def _gather_between(z, low, high, between):
    """Put the scores in [low, high) into `between`, one longer than z, and return how many."""
    count = 0
    for start in range(0, z.size - _STRETCH + 1, _STRETCH):
        hits = 0
        for j in range(_STRETCH):
            hits += (z[start + j] >= low) & (z[start + j] < high)
        if hits:
            for j in range(_STRETCH):
                between[count] = z[start + j]
                count += (z[start + j] >= low) & (z[start + j] < high)
    for i in range(z.size // _STRETCH * _STRETCH, z.size):
        between[count] = z[i]
        count += (z[i] >= low) & (z[i] < high)
    return count


@jit(reorder=True)
def _mass_from(z, mass, cut):
    total = 0.0
    count = 0
    for i in range(z.size):
        reached = z[i] >= cut
        total += mass[i] if reached else 0.0
        count += reached
    return total, count


@jit(reorder=True)
def _fill_from(z, mass, cut, tied, share, p):
    for i in range(z.size):
        p[i] = mass[i] * (share if z[i] >= cut else 0.0)
    count = 0
    for i in range(z.size):
        count += z[i] == cut
    if count > tied:
        for i in range(z.size):
            if z[i] == cut:
                tied -= 1
                if tied < 0:
                    p[i] = 0.0
