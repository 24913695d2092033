"""Compiled attention maps over batches of rows: what they share around their kernels."""

from collections.abc import Callable

import array_api_compat
import numpy as np

from hopfieldphase.core.arrays import Array, float_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.threads import run_chunks

_LEAST_SCORES = 16384  # a chunk of fewer is done before another thread has woken up

# Fills out[start:stop] from rows[start:stop]; False where a row cannot be taken.
Filler = Callable[[np.ndarray, np.ndarray, int, int], bool]


def is_numpy(scores: Array) -> bool:
    """Whether scores (or a nested sequence of them) are NumPy's to work on."""
    return isinstance(scores, np.ndarray) or not array_api_compat.is_array_api_obj(scores)


def filled_rows(
    attention: Attention, scores: Array, fill: Filler, out: np.ndarray | None, threads: int | None
) -> np.ndarray:
    """Weights of NumPy scores, row by row from `fill`, spread over threads.

    Rows are contiguous and have at least one score; `fill` never sees an `out` that overlaps them.

    Raises
    ------
    InputError
        If `out` does not fit, and what `attention` says of the scores where a row could not be taken.
    """
    scores = np.asarray(scores)
    if scores.dtype not in (np.float32, np.float64):
        scores = float_array(scores, "scores")[1]
    if scores.ndim == 0 or scores.shape[-1] == 0:
        attention.weights(scores)  # says what is wrong
    if out is not None and (
        not isinstance(out, np.ndarray)
        or (out.shape, out.dtype) != (scores.shape, scores.dtype)
        or not out.flags.writeable
    ):
        raise InputError(
            f"out does not fit: give a writable NumPy array {scores.dtype}{scores.shape} like the result"
        )
    target = np.empty(scores.shape, scores.dtype) if out is None or not out.flags.c_contiguous else out
    # The compiled code is made once, for writable arrays, although it never writes into the scores.
    shared = np.may_share_memory(scores, target)
    if shared or not scores.flags.c_contiguous or not scores.flags.writeable:
        scores = scores.copy(order="C")
    rows = scores.reshape(-1, scores.shape[-1])
    filled = target.reshape(rows.shape)

    def checked(start: int, stop: int) -> None:
        if not fill(rows, filled, start, stop):
            attention.weights(scores)
            raise AssertionError(f"{attention.name}: compiled rows refuse what the map takes")

    run_chunks(checked, len(rows), threads, least=-(-_LEAST_SCORES // rows.shape[1]))
    if out is None or target is out:
        return target
    out[...] = target
    return out


@jit(reorder=True)
def acceptable(z):
    """Whether a row has a finite score and neither NaN nor +inf."""
    product = 0.0
    for i in range(z.size):
        product += float(z[i]) * 0.0
    if product == 0.0:
        return True
    finite = False
    for i in range(z.size):
        if not z[i] < np.inf:
            return False
        finite |= z[i] > -np.inf
    return finite
