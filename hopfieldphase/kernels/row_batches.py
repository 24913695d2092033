"""Batches of rows of scores: where the result goes, how rows lie in memory, and which can be taken."""

from collections.abc import Callable

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.threads import run_chunks

_LEAST_SCORES = 16384  # a chunk of fewer is done before another thread has woken up


def checked_out(out: Array | None, scores: np.ndarray) -> np.ndarray:
    """`out`, or a new array, like the scores in shape and type.

    Raises
    ------
    InputError
        If `out` does not fit.
    """
    if out is None:
        return np.empty(scores.shape, scores.dtype)
    if not isinstance(out, np.ndarray) or (out.shape, out.dtype) != (scores.shape, scores.dtype):
        given = f"{out.dtype}{out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise InputError(f"out is {given}: give a NumPy array {scores.dtype}{scores.shape} like the result")
    if not out.flags.writeable:
        raise InputError("out is read-only: give an array that can be written")
    return out


def contiguous_rows(scores: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """The scores as a contiguous (rows, M) array that does not overlap `out`."""
    shared = out is not None and np.may_share_memory(scores, out)
    # The compiled code is made once, for writable arrays, although it never writes into the scores.
    if shared or not scores.flags.c_contiguous or not scores.flags.writeable:
        scores = scores.copy(order="C")
    return scores.reshape(-1, scores.shape[-1])


def spread(rows: np.ndarray, threads: int | None, chunk: Callable[[int, int], None]) -> None:
    """Call ``chunk(start, stop)`` for all rows, over threads where there is enough to do."""
    run_chunks(chunk, len(rows), threads, least=-(-_LEAST_SCORES // rows.shape[1]))


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
