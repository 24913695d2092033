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
_STRETCH = 64  # weights that are passed over together when all of them are zero
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
    for i in range(start, stop):
        peak = _peak(p[i])
        if peak < 0:
            return i
        if alpha > 2.0:
            _steep_row(p[i], v[i], alpha, out[i])
        elif alpha == 2.0:
            _gini_row(p[i], v[i], peak, out[i])
        elif alpha == 1.5:
            _three_halves_row(p[i], v[i], peak, out[i])
        elif alpha == 1.0:
            _shannon_row(p[i], v[i], peak, out[i])
        else:
            _flat_row(p[i], v[i], alpha, peak, out[i])
    return -1


@jit(reorder=True)
def _peak(p):
    """Index of the largest weight, or −1 where the row holds no weights."""
    wrong = False
    largest = p[0]
    for i in range(p.size):
        wrong |= not p[i] >= 0.0
        largest = max(largest, p[i])
    if wrong or not 0.0 < largest < np.inf:
        return -1
    for i in range(p.size):
        if p[i] == largest:
            return i
    return -1


# In every row differences are taken against the pattern of largest w, and its own entry is what the others
# leave: where it has nearly all weight, they keep the digits that v − mean would lose.


@jit(reorder=True)
def _gini_row(p, v, peak, out):
    reference = float(v[peak])
    count = 0.0
    total = 0.0
    for i in range(p.size):
        count += 1.0 if p[i] > 0.0 else 0.0
        total += float(v[i]) - reference if p[i] > 0.0 else 0.0
    mean = total / count
    for i in range(p.size):
        out[i] = 0.5 * (float(v[i]) - reference - mean) if p[i] > 0.0 else 0.0


@jit(reorder=True)
def _three_halves_row(p, v, peak, out):
    reference = float(v[peak])
    total = 0.0
    moment = 0.0
    for i in range(p.size):
        w = math.sqrt(float(p[i]))
        total += w
        moment += w * (float(v[i]) - reference)
    mean = moment / total
    rest = 0.0
    for i in range(p.size):
        entry = math.sqrt(float(p[i])) * (float(v[i]) - reference - mean) * (2.0 / 3.0)
        rest += entry if i != peak else 0.0
        out[i] = entry
    out[peak] = -rest


@jit(reorder=True)
def _shannon_row(p, v, peak, out):
    reference = float(v[peak])
    total = 0.0
    moment = 0.0
    for i in range(p.size):
        total += float(p[i])
        moment += float(p[i]) * (float(v[i]) - reference)
    mean = moment / total
    rest = 0.0
    for i in range(p.size):
        entry = float(p[i]) * (float(v[i]) - reference - mean)
        rest += entry if i != peak else 0.0
        out[i] = entry
    out[peak] = -rest


@jit(reorder=True)
def _flat_row(p, v, alpha, peak, out):
    """Any α < 2, where w grows with p; `out` holds w between the passes."""
    power = 2.0 - alpha
    reference = float(v[peak])
    total = 0.0
    moment = 0.0
    for start in range(0, p.size, _STRETCH):
        stop = min(start + _STRETCH, p.size)
        count = 0
        for i in range(start, stop):
            count += p[i] > 0.0
        if count:
            for i in range(start, stop):
                weight = float(p[i])
                w = exp(power * log(max(weight, _SMALLEST_NORMAL))) if weight > 0.0 else 0.0
                out[i] = w
                total += w
                moment += w * (float(v[i]) - reference)
        else:
            for i in range(start, stop):
                out[i] = 0.0
    mean = moment / total
    rest = 0.0
    for i in range(p.size):
        entry = float(out[i]) * (float(v[i]) - reference - mean) / alpha
        rest += entry if i != peak else 0.0
        out[i] = entry
    out[peak] = -rest


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
