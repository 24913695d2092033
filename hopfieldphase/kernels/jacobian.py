"""The Jacobian of the attention weights times a vector, compiled: what gradients through attention need."""

import math
from typing import Any

import array_api_compat
import numpy as np

from hopfieldphase.core import entmax as core
from hopfieldphase.core.arrays import Array, pattern_array
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.elementary import exp, log
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.row_batches import checked_out, spread
from hopfieldphase.kernels.screening import BLOCK, LANES, largest, top_score

_SMALLEST_NORMAL = 2.2250738585072014e-308
_LARGEST = 1.7976931348623157e308


def jacobian_action(
    p: Array, v: Array, alpha: float, *, out: Array | None = None, threads: int | None = None
) -> Array:
    r"""Product J v of the Jacobian :math:`J = \partial p/\partial(\beta z)` with a vector, from p alone.

    Parameters
    ----------
    p : array, shape (..., M)
        Weights, as `hopfieldphase.kernels.maps.weights` returns them (zeros off the support).
    v : array, shape (..., M)
        Vectors in score space; the leading shapes broadcast.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.
    out : array, shape (..., M), optional
        NumPy array of the dtype of the result to write into; it must not overlap `p` or `v`.
    threads : int, optional
        Threads to use; by default the environment variable HOPFIELDPHASE_THREADS, else all cores. The
        result does not depend on it.

    Returns
    -------
    array, shape (..., M)
        :math:`(Jv)_\mu = w_\mu (v_\mu - \sum_\nu w_\nu v_\nu/\sum_\nu w_\nu)`,
        :math:`w_\mu = p_\mu^{2-\alpha}/\alpha` on the support and 0 off it.

    Raises
    ------
    InputError
        If α is outside (0, ∞], an entry of `p` is negative or NaN, a row of it is zero, or `out`
        does not fit.

    Notes
    -----
    The score-space Jacobian of Appendix E of "On the Statistical Mechanics of Attention" (arXiv:2610.17347);
    arrays of other namespaces go to `hopfieldphase.core.entmax.jacobian_action`, whose values are the same.
    """
    return _action(p, v, tsallis_index(alpha), False, out, threads)


def entmax_jacobian_action(
    p: Array, v: Array, alpha: float, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """Product with the Jacobian by the scores of `maps.entmax`: α times `jacobian_action`.

    Parameters, result and errors are those of `jacobian_action`.

    Notes
    -----
    Peters, Niculae and Martins, "Sparse Sequence-to-Sequence Models" (2019).
    """
    return _action(p, v, tsallis_index(alpha), True, out, threads)


def _action(
    p: Array, v: Array, alpha: float, by_scores: bool, out: Array | None, threads: int | None
) -> Array:
    """`entmax_jacobian_action` if `by_scores`, else `jacobian_action`."""
    if not all(isinstance(a, np.ndarray) or not array_api_compat.is_array_api_obj(a) for a in (p, v)):
        return (alpha if by_scores and not math.isinf(alpha) else 1.0) * core.jacobian_action(p, v, alpha)
    p, v = _same_shape(p, v)
    out = checked_out(out, p)
    if not out.flags.c_contiguous or np.may_share_memory(out, p) or np.may_share_memory(out, v):
        raise InputError("out is not contiguous, or shares memory with p or v: give an array of its own")
    if math.isinf(alpha):
        out[...] = 0
        return out
    share = 1.0 if by_scores else 1.0 / alpha
    rows, vectors, filled = (a.reshape(-1, p.shape[-1]) for a in (p, v, out))

    def checked(start: int, stop: int) -> None:
        if _rows(rows, vectors, alpha, share, filled, start, stop) >= 0:
            core.jacobian_action(rows, vectors, alpha)  # says what is wrong

    spread(rows, threads, checked)
    return out


def _same_shape(p: Array, v: Array) -> tuple[np.ndarray, np.ndarray]:
    """Both as writable, contiguous arrays of one shape and one floating type."""
    fits = all(isinstance(a, np.ndarray) and a.flags.c_contiguous and a.flags.writeable for a in (p, v))
    if fits and p.dtype == v.dtype and p.dtype in (np.float32, np.float64) and p.shape == v.shape and p.ndim:
        return p, v
    _, p, p_dtype = pattern_array(p, "p")
    _, v, v_dtype = pattern_array(v, "v")
    dtype: Any = np.result_type(p_dtype, v_dtype)
    p, v = np.broadcast_arrays(p, v)
    # Copies: the compiled code is made once, for writable arrays, although it never writes into these.
    return np.array(p, dtype, order="C"), np.array(v, dtype, order="C")


@jit
def _rows(p, v, alpha, share, out, start, stop):
    """Fill `out[start:stop]` with products by w = share p^(2−α); the first row without weights, or −1."""
    n = p.shape[1]
    if n < BLOCK and alpha <= 2.0:
        return _short_rows(p, v, alpha, share, out, start, stop)
    maxima = np.empty(n, p.dtype)
    support = np.empty(n, np.int64)
    weights, vectors, products = np.empty(n), np.empty(n), np.empty(n)
    for i in range(start, stop):
        top = top_score(p[i], maxima)
        if not (_below_zero(p[i]) == 0.0 and top > 0.0):
            return i
        count = _list_support(p[i], maxima[n - n // BLOCK * LANES :], support)
        if count < 0:
            _act(p[i], v[i], alpha, share, out[i])
            continue
        for k in range(count):
            weights[k] = p[i, support[k]]
            vectors[k] = v[i, support[k]]
        _act(weights[:count], vectors[:count], alpha, share, products[:count])
        out[i] = 0.0
        for k in range(count):
            out[i, support[k]] = products[k]
    return -1


@jit
def _act(p, v, alpha, share, out):
    if alpha > 2.0:
        _steep_row(p, v, alpha, share, out)
    else:
        _flat_row(p, v, alpha, share, out)


@jit(reorder=True)
def _below_zero(p):
    """Zero if all entries are finite and none is negative."""
    total = 0.0
    for i in range(p.size):
        total += float(abs(p[i]) - p[i])
    return total


@jit
def _list_support(p, maxima, support):
    """List the indices of all positive weights, given the largest of every lane (`screening.top_score`).

    Returns
    -------
    int
        How many there are; −1, and no list, where they are not few.
    """
    # Stores that are all made, and kept by moving on, as in `screening.gather`.
    lanes = support[p.size - maxima.size :]
    n_hits = 0
    for lane in range(maxima.size):
        lanes[n_hits] = lane
        n_hits += maxima[lane] > 0.0
    if 2 * n_hits > maxima.size:
        return -1
    count = 0
    for hit in range(n_hits):
        start = lanes[hit] // LANES * BLOCK + lanes[hit] % LANES
        for i in range(start, start + BLOCK, LANES):
            support[count] = i
            count += p[i] > 0.0
    for i in range(maxima.size // LANES * BLOCK, p.size):
        support[count] = i
        count += p[i] > 0.0
    return count


@jit(reorder=True)
def _short_rows(p, v, alpha, share, out, start, stop):
    """`_rows` for less than a block and α ≤ 2, where calls and slices would outlast the arithmetic."""
    n = p.shape[1]
    for i in range(start, stop):
        wrong = 0
        largest = p[i, 0]
        for j in range(n):
            wrong += 0 if p[i, j] >= 0.0 else 1
            largest = p[i, j] if p[i, j] > largest else largest
        if wrong > 0 or not 0.0 < largest < np.inf:
            return i
        peak = 0
        while p[i, peak] != largest:
            peak += 1
        _fill_curvature(p[i], alpha, out[i])
        reference = float(v[i, peak])
        total = 0.0
        moment = 0.0
        for j in range(n):
            total += float(out[i, j])
            moment += float(out[i, j]) * (float(v[i, j]) - reference)
        mean = moment / total
        own = share * float(out[i, peak]) * -mean
        mean += reference
        for j in range(n):
            out[i, j] = share * float(out[i, j]) * (float(v[i, j]) - mean)
        out[i, peak] = own
    return -1


@jit
def _flat_row(p, v, alpha, share, out):
    """Any α ≤ 2, where w does not fall with p; `out` holds w between the passes.

    Differences are taken against the largest weight: where it has nearly all, its v − mean would lose digits.
    """
    top = largest(p)
    peak = 0
    while p[peak] != top:
        peak += 1
    _fill_curvature(p, alpha, out)
    reference = float(v[peak])
    total, moment = _moments(out, v, reference)
    mean = moment / total
    own = share * float(out[peak]) * -mean
    _respond(out, v, reference + mean, share)
    out[peak] = own


@jit(reorder=True)
def _moments(w, v, reference):
    total = 0.0
    moment = 0.0
    for i in range(w.size):
        total += float(w[i])
        moment += float(w[i]) * (float(v[i]) - reference)
    return total, moment


@jit(reorder=True)
def _respond(w, v, mean, share):
    for i in range(w.size):
        w[i] = share * float(w[i]) * (float(v[i]) - mean)


@jit(reorder=True)
def _fill_curvature(p, alpha, w):
    """Fill w with p^(2−α) on the support."""
    if alpha == 2.0:
        for i in range(p.size):
            w[i] = 1.0 if p[i] > 0.0 else 0.0
    elif alpha == 1.5:
        for i in range(p.size):
            w[i] = math.sqrt(p[i])
    elif alpha == 1.0:
        for i in range(p.size):
            w[i] = p[i]
    else:
        power = 2.0 - alpha
        for i in range(p.size):
            weight = float(p[i])
            w[i] = exp(power * log(max(weight, _SMALLEST_NORMAL))) if weight > 0.0 else 0.0


@jit
def _steep_row(p, v, alpha, share, out):
    """Any α > 2, where w diverges as p → 0: the largest w is that of the least weight."""
    power = 2.0 - alpha
    least = -1
    for i in range(p.size):
        if p[i] > 0.0 and (least < 0 or p[i] < p[least]):
            least = i
    smallest = float(p[least])
    reference = float(v[least])
    total = 0.0
    moment = 0.0
    for i in range(p.size):
        if p[i] > 0.0:
            part = (float(p[i]) / smallest) ** power
            total += part
            moment += part * (float(v[i]) - reference)
    mean = moment / total
    rest = 0.0
    for i in range(p.size):
        entry = 0.0
        if p[i] > 0.0 and i != least:
            w = min(share * float(p[i]) ** power, _LARGEST)
            entry = w * (float(v[i]) - reference - mean)
            rest += entry
        out[i] = entry
    out[least] = -rest
