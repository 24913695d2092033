"""Compiled positive kernels: the values of `hopfieldphase.core.attention.positive`."""

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.attention.positive import Exponential, LinearElu, LogElu, SquaredElu
from hopfieldphase.kernels.attention_rows import filled_rows, is_numpy
from hopfieldphase.kernels.elementary import exp, log1p_and_reciprocal
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.row_batches import acceptable
from hopfieldphase.kernels.screening import largest

_EXPONENTIAL, _LINEAR, _SQUARED, _LOGARITHMIC = range(4)
_CODES = {Exponential: _EXPONENTIAL, LinearElu: _LINEAR, SquaredElu: _SQUARED, LogElu: _LOGARITHMIC}


def positive_weights(
    attention: Exponential | LinearElu | SquaredElu | LogElu,
    scores: Array,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Weights of a positive kernel, ``attention.weights(scores)``, compiled for NumPy scores.

    Parameters
    ----------
    attention : Exponential, LinearElu, SquaredElu or LogElu
        The kernel. Scores of other libraries than NumPy take its own method.
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
    code = _CODES[type(attention)]
    return filled_rows(attention, scores, lambda z, p, i, j: _positive_rows(z, code, p, i, j), out, threads)


@jit
def _positive_rows(rows, code, out, start, stop):
    g = np.empty(rows.shape[1])
    for i in range(start, stop):
        if not acceptable(rows[i]):
            return False
        top = largest(rows[i])
        if code == _EXPONENTIAL:
            total = _exponential(rows[i], top, g)
        elif code == _LOGARITHMIC:
            total = _logarithmic(rows[i], top, g)
        else:
            total = _linear(rows[i], top, code == _SQUARED, g)
        _share(g, 1.0 / total, out[i])
    return True


@jit(reorder=True)
def _exponential(z, top, g):
    total = 0.0
    for i in range(z.size):
        g[i] = exp(float(z[i]) - top)
        total += g[i]
    return total


@jit(reorder=True)
def _linear(z, top, squared, g):
    total = 0.0
    scale = 1.0 / (1.0 + max(top, 0.0))
    shift = min(top, 0.0)
    for i in range(z.size):
        score = float(z[i])
        above = score if score > 0.0 else 0.0
        below = score if score < 0.0 else 0.0
        value = (exp(below - shift) + above) * scale
        value *= value if squared else 1.0
        g[i] = value
        total += value
    return total


@jit(reorder=True)
def _logarithmic(z, top, g):
    total = 0.0
    scale = 1.0 - min(top, 0.0)
    for i in range(z.size):
        score = float(z[i])
        above = score if score > 0.0 else 0.0
        below = score if score < 0.0 else 0.0
        logarithm, _ = log1p_and_reciprocal(above)
        value = 1.0 + logarithm if score > 0.0 else scale / (1.0 - below)
        g[i] = value
        total += value
    return total


@jit(reorder=True)
def _share(g, share, p):
    for i in range(g.size):
        p[i] = g[i] * share
