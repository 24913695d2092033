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
from hopfieldphase.kernels.threads import run_chunks

_LEAST_WEIGHTS = 16384  # a chunk of fewer is done before another thread has woken up
_STRETCH = 64  # weights that are passed over together when all are zero
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
    alpha = tsallis_index(alpha)
    if not all(isinstance(a, np.ndarray) or not array_api_compat.is_array_api_obj(a) for a in (p, v)):
        return core.jacobian_action(p, v, alpha)
    p, v = _same_shape(p, v)
    if out is None:
        out = np.empty(p.shape, p.dtype)
    elif (
        not isinstance(out, np.ndarray)
        or (out.shape, out.dtype) != (p.shape, p.dtype)
        or not (out.flags.c_contiguous and out.flags.writeable)
        or np.may_share_memory(out, p)
        or np.may_share_memory(out, v)
    ):
        raise InputError(
            f"out does not fit: give a writable, contiguous NumPy array {p.dtype}{p.shape} of its own"
        )
    if math.isinf(alpha):
        out[...] = 0
        return out
    rows, vectors, filled = (a.reshape(-1, p.shape[-1]) for a in (p, v, out))

    def checked(start: int, stop: int) -> None:
        if _rows(rows, vectors, alpha, filled, start, stop) >= 0:
            core.jacobian_action(rows, vectors, alpha)  # says what is wrong

    run_chunks(checked, len(rows), threads, least=-(-_LEAST_WEIGHTS // rows.shape[1]))
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
def _rows(p, v, alpha, out, start, stop):
    """Fill `out[start:stop]`; the first row that holds no weights, or −1."""
    if p.shape[1] <= _STRETCH and alpha <= 2.0:
        return _short_rows(p, v, alpha, out, start, stop)
    occupied = np.empty(p.shape[1] // _STRETCH + 1, np.int64)
    for i in range(start, stop):
        count, peak = _occupied_stretches(p[i], occupied)
        if peak < 0:
            return i
        if alpha > 2.0:
            _steep_row(p[i], v[i], alpha, out[i])
        else:
            _flat_row(p[i], v[i], alpha, peak, occupied[:count], out[i])
    return -1


@jit(reorder=True)
def _short_rows(p, v, alpha, out, start, stop):
    """`_rows` for rows of one stretch and α ≤ 2, where calls and slices would outlast the arithmetic."""
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
        share = 1.0 / alpha
        own = float(out[i, peak]) * -mean / alpha
        mean += reference
        for j in range(n):
            out[i, j] = share * float(out[i, j]) * (float(v[i, j]) - mean)
        out[i, peak] = own
    return -1


@jit
def _occupied_stretches(p, occupied):
    """List where stretches with any weight start; return how many, and the index of the largest weight.

    The index is −1 where the row holds no weights.
    """
    count = 0
    largest = 0.0
    home = 0
    for start in range(0, p.size, _STRETCH):
        top = _largest_weight(p[start : start + _STRETCH])
        if not top >= 0.0:
            return 0, -1
        if top > 0.0:
            occupied[count] = start
            count += 1
            if top > largest:
                largest = top
                home = start
    if not 0.0 < largest < np.inf:
        return 0, -1
    for i in range(home, p.size):
        if p[i] == largest:
            return count, i
    return 0, -1


@jit(reorder=True)
def _largest_weight(p):
    """The largest entry; NaN where one is negative or NaN."""
    wrong = 0
    top = p[0]
    for i in range(p.size):
        wrong += 0 if p[i] >= 0.0 else 1
        top = p[i] if p[i] > top else top
    return float(top) if wrong == 0 else np.nan


@jit
def _flat_row(p, v, alpha, peak, occupied, out):
    """Any α ≤ 2, where w does not fall with p; `out` holds w between the passes.

    Differences are taken against the largest weight: where it has nearly all, its v − mean would lose digits.
    """
    out[:] = 0.0
    reference = float(v[peak])
    total = 0.0
    moment = 0.0
    for start in occupied:
        stop = min(start + _STRETCH, p.size)
        _fill_curvature(p[start:stop], alpha, out[start:stop])
        part, part_moment = _moments(out[start:stop], v[start:stop], reference)
        total += part
        moment += part_moment
    mean = moment / total
    own = float(out[peak]) * -mean / alpha
    for start in occupied:
        stop = min(start + _STRETCH, p.size)
        _respond(out[start:stop], v[start:stop], reference + mean, 1.0 / alpha)
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
def _steep_row(p, v, alpha, out):
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
            share = (float(p[i]) / smallest) ** power
            total += share
            moment += share * (float(v[i]) - reference)
    mean = moment / total
    rest = 0.0
    for i in range(p.size):
        entry = 0.0
        if p[i] > 0.0 and i != least:
            w = min(float(p[i]) ** power / alpha, _LARGEST)
            entry = w * (float(v[i]) - reference - mean)
            rest += entry
        out[i] = entry
    out[least] = -rest
