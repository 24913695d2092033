"""Compiled attention maps over batches of rows: what they share around their kernels."""

from collections.abc import Callable

import array_api_compat
import numpy as np

from hopfieldphase.core.arrays import Array, float_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.kernels.row_batches import checked_out, contiguous_rows, spread

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
    out = checked_out(out, scores)
    target = out if out.flags.c_contiguous else np.empty(scores.shape, scores.dtype)
    rows = contiguous_rows(scores, target)
    filled = target.reshape(rows.shape)

    def checked(start: int, stop: int) -> None:
        if not fill(rows, filled, start, stop):
            attention.weights(scores)
            raise AssertionError(f"{attention.name}: compiled rows refuse what the map takes")

    spread(rows, threads, checked)
    if target is not out:
        out[...] = target
    return out
