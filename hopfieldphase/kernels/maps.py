"""The attention maps for arrays of any shape: compiled rows, spread over threads.

NumPy arrays (and nested sequences) run here; arrays of any other namespace go to `hopfieldphase.core.entmax`,
whose values these functions reproduce.
"""

import math
from collections.abc import Callable
from typing import Any

import array_api_compat
import numpy as np

from hopfieldphase.core import entmax as core
from hopfieldphase.core.arrays import Array, pattern_array
from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.row_batches import acceptable, checked_out, contiguous_rows, spread
from hopfieldphase.kernels.rows import conjugate_row, weights_row


def weights(
    scores: Array, alpha: float, beta: float = 1.0, *, out: Array | None = None, threads: int | None = None
) -> Array:
    r"""Attention weights :math:`p = \arg\max_{p \in \Delta}\, \beta z \cdot p + \Psi_\alpha(p)`.

    For α > 1, :math:`p_\mu = [\tfrac{\alpha-1}{\alpha}\,\beta\,(z_\mu - \theta)]_+^{1/(\alpha-1)}` with exact
    zeros off the support; α = 1 is softmax(βz), and for α < 1 no weight vanishes. α = ∞ shares the weight
    equally among the scores tied at the top.

    Parameters
    ----------
    scores : array, shape (..., M)
        Scores z of M patterns along the last axis; −inf marks an absent pattern.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.
    beta : float
        Inverse temperature, 0 < β < ∞.
    out : array, shape (..., M), optional
        NumPy array of the dtype of the result to write into; it may be `scores` itself. After an error its
        content is undefined.
    threads : int, optional
        Threads to use; by default the environment variable HOPFIELDPHASE_THREADS, else all cores. The
        result does not depend on it.

    Returns
    -------
    array, shape (..., M)
        In the dtype of the scores (float32 or float64; float64 for integers). Each row sums to one.

    Raises
    ------
    InputError
        If a row has NaN, +inf or no finite score, or a parameter is outside its domain.

    See Also
    --------
    entmax : the same in the convention of the entmax literature.

    Notes
    -----
    Lemma F.1 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    if _is_foreign(scores, out):
        return core.weights(scores, alpha, beta)
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    scores = _float_scores(scores)
    out = checked_out(out, scores)
    rows = contiguous_rows(scores, out)
    target = out if out.flags.c_contiguous else np.empty_like(out, order="C")
    filled = target.reshape(rows.shape)
    _run(rows, threads, lambda i, j: _weights_rows(rows, alpha, beta, filled, i, j), scores)
    if target is not out:
        out[...] = target
    return out


def threshold(scores: Array, alpha: float, beta: float = 1.0, *, threads: int | None = None) -> Array:
    r"""Threshold θ of the weights: the score at and below which they vanish (α > 1).

    For α < 1 it lies above all scores, :math:`p_\mu = [\tfrac{1-\alpha}{\alpha}\,\beta\,
    (\theta - z_\mu)]^{-1/(1-\alpha)}`.

    Parameters
    ----------
    scores, alpha, beta, threads
        As for `weights`.

    Returns
    -------
    array, shape (...)
        In the units and the dtype of the scores; NaN for α = 1 and α = ∞, which have no threshold.

    Raises
    ------
    InputError
        As for `weights`.

    Notes
    -----
    Lemma F.1 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    if _is_foreign(scores, None):
        return core.threshold(scores, alpha, beta)
    return _reduced(_threshold_rows, scores, alpha, beta, threads)


def conjugate(scores: Array, alpha: float, beta: float = 1.0, *, threads: int | None = None) -> Array:
    r"""Conjugate :math:`\Omega^*_\alpha(\beta z) = \max_{p \in \Delta} \beta z \cdot p + \Psi_\alpha(p)`.

    For α = 1 it is :math:`\log \sum_\mu e^{\beta z_\mu}`, for α = ∞ :math:`\beta \max_\mu z_\mu`. Its
    gradient with respect to βz is `weights`.

    Parameters
    ----------
    scores, alpha, beta, threads
        As for `weights`.

    Returns
    -------
    array, shape (...)
        Dimensionless, in the dtype of the scores.

    Raises
    ------
    InputError
        As for `weights`.

    Notes
    -----
    Definition 3.2 and Proposition 3.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    if _is_foreign(scores, None):
        return core.conjugate(scores, alpha, beta)
    return _reduced(_conjugate_rows, scores, alpha, beta, threads)


def entmax(scores: Array, alpha: float, *, out: Array | None = None, threads: int | None = None) -> Array:
    """Weights in the convention of the entmax literature: ``weights(scores, alpha, beta=alpha)``.

    Parameters
    ----------
    scores, alpha, out, threads
        As for `weights`; α = 1 is softmax, 2 sparsemax, ∞ hardmax.

    Returns
    -------
    array, shape (..., M)

    Raises
    ------
    InputError
        As for `weights`.

    Notes
    -----
    Peters, Niculae and Martins, "Sparse Sequence-to-Sequence Models" (2019).
    """
    alpha = tsallis_index(alpha)
    return weights(scores, alpha, 1.0 if math.isinf(alpha) else alpha, out=out, threads=threads)


def _is_foreign(scores: Array, out: Array | None) -> bool:
    """Whether the scores belong to another array namespace than NumPy."""
    foreign = array_api_compat.is_array_api_obj(scores) and not isinstance(scores, np.ndarray)
    if foreign and out is not None:
        raise InputError(f"out is for NumPy scores, but scores is a {type(scores).__name__}: leave it out")
    return foreign


def _float_scores(scores: Array) -> np.ndarray:
    scores = np.asarray(scores)
    if scores.dtype not in (np.float32, np.float64) or scores.ndim == 0 or scores.shape[-1] == 0:
        _, scores, _ = pattern_array(scores, "scores")
    return scores


def _reduced(kernel: Any, scores: Array, alpha: float, beta: float, threads: int | None) -> Array:
    """One number per row, from a kernel that fills `values[i:j]`."""
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    scores = _float_scores(scores)
    rows = contiguous_rows(scores)
    values = np.empty(len(rows), scores.dtype)
    _run(rows, threads, lambda i, j: kernel(rows, alpha, beta, values, i, j), scores)
    return values.reshape(scores.shape[:-1])[()]


def _run(rows: np.ndarray, threads: int | None, chunk: Callable[[int, int], int], scores: np.ndarray) -> None:
    """Run a kernel over all rows; it answers with the first row that it cannot take, or −1."""

    def checked(start: int, stop: int) -> None:
        bad = chunk(start, stop)
        if bad >= 0:
            raise InputError(_complaint(rows[bad], bad, scores.shape))

    spread(rows, threads, checked)


def _complaint(row: np.ndarray, index: int, shape: tuple[int, ...]) -> str:
    place = f" in row {tuple(map(int, np.unravel_index(index, shape[:-1])))}" if len(shape) > 1 else ""
    if np.isnan(row).any():
        return f"scores has NaN{place}: give finite scores, or -inf for an absent pattern"
    if np.isposinf(row).any():
        return f"scores has +inf{place}: give finite scores, or -inf for an absent pattern"
    return f"scores has only -inf{place}: at least one pattern must be present"


@jit
def _weights_rows(rows, alpha, beta, out, start, stop):
    for i in range(start, stop):
        if not acceptable(rows[i]):
            return i
        weights_row(rows[i], alpha, beta, out[i])
    return -1


@jit
def _threshold_rows(rows, alpha, beta, out, start, stop):
    p = np.empty(rows.shape[1], rows.dtype)
    for i in range(start, stop):
        if not acceptable(rows[i]):
            return i
        out[i] = weights_row(rows[i], alpha, beta, p)
    return -1


@jit
def _conjugate_rows(rows, alpha, beta, out, start, stop):
    p = np.empty(rows.shape[1], rows.dtype)
    for i in range(start, stop):
        if not acceptable(rows[i]):
            return i
        weights_row(rows[i], alpha, beta, p)
        out[i] = conjugate_row(rows[i], p, alpha, beta)
    return -1
