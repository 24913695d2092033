"""Separable maps over threads, on the few scores that can carry weight where the map is sparse."""

import math

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.attention.separable import Separable
from hopfieldphase.kernels.attention_rows import filled_rows, is_numpy
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.row_batches import acceptable, spread
from hopfieldphase.kernels.screening import BLOCK, LANES, top_score
from hopfieldphase.kernels.threads import run_chunks

_STRETCH = 16  # scores that are passed over together when none of them can carry weight
_ROUNDING = 1 + 1e-12  # of the cut
_GAPS = 16  # halvings of the gap at which scores are counted
_LEAST_PACKED = 65536  # a chunk of fewer spends its time in Python
_WORTHWHILE = 0.5  # share of the scores up to which packing pays


def separable_weights(
    attention: Separable, scores: Array, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """Weights of a separable map, ``attention.weights(scores)``, over threads for NumPy scores.

    Parameters
    ----------
    attention : Separable
        The map. Scores of other libraries than NumPy take its own method.
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
    The functions g, g′, (g′)⁻¹ and g″ are Python's: each step of the solver calls them once for many rows.
    For a sparse map few scores are handed on: where m scores lie within a gap d of the top, the lowest of
    them weighs no more than 1/m, so that the threshold is no lower than g′(1/m) + d below the top.
    """
    if not is_numpy(scores):
        return attention.weights(scores)
    if not attention.is_sparse:
        return filled_rows(attention, scores, lambda z, p, i, j: _dense(attention, z, p, i, j), out, threads)
    n = np.shape(scores)[-1] if np.ndim(scores) else 1
    with np.errstate(divide="ignore"):
        slopes = attention.slope(np.append(0.0, 1.0 / np.arange(1, n + 1)))
    margins = slopes - slopes[0]
    return filled_rows(
        attention, scores, lambda z, p, _, __: _sparse(attention, margins, z, p, threads), out, threads=1
    )


def _dense(attention: Separable, rows: np.ndarray, p: np.ndarray, start: int, stop: int) -> bool:
    p[start:stop] = attention.weights(rows[start:stop])
    return True


def _sparse(
    attention: Separable, margins: np.ndarray, rows: np.ndarray, p: np.ndarray, threads: int | None
) -> bool:
    """Fill p by the weights of packed candidates; margins[m] is g′(1/m) − g′(0⁺), by m."""
    n = rows.shape[1]
    cuts, sizes = np.empty(len(rows)), np.empty(len(rows), np.int64)

    def measured(start: int, stop: int) -> None:
        _measure(rows, margins, p, cuts, sizes, start, stop)

    spread(rows, threads, measured)
    if sizes.min(initial=1) < 1:
        return False
    widest = int(sizes.max(initial=1))

    def solved(start: int, stop: int) -> None:
        if widest > _WORTHWHILE * n:
            p[start:stop] = attention.weights(rows[start:stop])
            return
        packed = np.full((stop - start, widest), -math.inf, rows.dtype)
        places = np.empty((stop - start, widest), np.int64)
        _pack(rows[start:stop], cuts[start:stop], packed, places)
        _unpack(attention.weights(packed), places, sizes[start:stop], p[start:stop])

    run_chunks(solved, len(rows), threads, least=-(-_LEAST_PACKED // widest))
    return True


@jit
def _measure(rows, margins, scratch, cuts, sizes, start, stop):
    """Find for each row a score that no positive weight lies below, and how many reach it (0: a bad row)."""
    for i in range(start, stop):
        z, p = rows[i], scratch[i]
        sizes[i] = 0
        if acceptable(z):
            top = top_score(z, p)
            n_maxima = z.size // BLOCK * LANES
            sample = p[z.size - n_maxima :] if n_maxima else z
            margin, gap = margins[1], margins[1]
            for _ in range(_GAPS):
                gap *= 0.5
                margin = min(margin, gap + margins[max(_count_from(sample, top - gap), 1)])
            cuts[i] = top - margin * _ROUNDING
            sizes[i] = _count_from(z, cuts[i])


@jit(reorder=True)
def _count_from(z, cut):
    count = 0
    for i in range(z.size):
        count += z[i] >= cut
    return count


@jit
def _pack(rows, cuts, packed, places):
    for i in range(rows.shape[0]):
        z, cut = rows[i], cuts[i]
        count = 0
        for start in range(0, z.size, _STRETCH):
            stop = min(start + _STRETCH, z.size)
            if _count_from(z[start:stop], cut):
                for j in range(start, stop):
                    if z[j] >= cut:
                        packed[i, count] = z[j]
                        places[i, count] = j
                        count += 1


@jit
def _unpack(weights, places, sizes, p):
    p[:] = 0.0
    for i in range(weights.shape[0]):
        for j in range(sizes[i]):
            p[i, places[i, j]] = weights[i, j]
