"""Compiled normmax: the values of `hopfieldphase.core.attention.normmax`."""

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.attention.normmax import Normmax
from hopfieldphase.kernels.attention_rows import filled_rows, is_numpy
from hopfieldphase.kernels.elementary import exp, log
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.row_batches import acceptable
from hopfieldphase.kernels.rows import weights_row

_SMALLEST_NORMAL = 2.2250738585072014e-308
_STRETCH = 64  # weights whose powers are skipped together when all of them are zero


def normmax_weights(
    attention: Normmax, scores: Array, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """Weights of the normmax, ``attention.weights(scores)``, compiled for NumPy scores.

    Parameters
    ----------
    attention : Normmax
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
    """
    if not is_numpy(scores):
        return attention.weights(scores)
    alpha, beta, power = attention.entmax_index, attention.entmax_beta, 1 / attention.gamma
    return filled_rows(
        attention, scores, lambda z, p, i, j: _normmax_rows(z, alpha, beta, power, p, i, j), out, threads
    )


@jit
def _normmax_rows(rows, alpha, beta, power, out, start, stop):
    z, q = np.empty(rows.shape[1]), np.empty(rows.shape[1])
    for i in range(start, stop):
        if not acceptable(rows[i]):
            return False
        # Double precision throughout: a small weight may have a large power.
        z[:] = rows[i]
        weights_row(z, alpha, beta, q)
        _powers(q, power, out[i])
    return True


@jit(reorder=True)
def _powers(q, power, p):
    """Fill p with the powers of q, zeros staying zeros, normalized."""
    total = 0.0
    for start in range(0, q.size, _STRETCH):
        stretch = q[start : start + _STRETCH]
        count = 0
        for i in range(stretch.size):
            count += stretch[i] > 0.0
        if count:
            total += _raise(stretch, power)
    share = 1.0 / total
    for i in range(q.size):
        p[i] = q[i] * share


@jit(reorder=True)
def _raise(q, power):
    """Raise the positive entries of q to a power in place, and return their sum."""
    total = 0.0
    for i in range(q.size):
        weight = q[i]
        value = exp(power * log(weight if weight > _SMALLEST_NORMAL else _SMALLEST_NORMAL))
        value = value if weight > 0.0 else 0.0
        q[i] = value
        total += value
    return total
