"""Patterns too many to hold, read block by block: a mapped file, or an array in chunks on disk."""

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError

BLOCK_SIZE = 2**21
"""Numbers in one block: 16 MiB of float64."""


class StoredRows:
    """Patterns in an array in chunks on disk (Zarr, HDF5), of which only the rows at work are read.

    Parameters
    ----------
    array : array-like
        Anything with `shape`, `dtype` and slices of rows.

    Raises
    ------
    InputError
        When the whole is asked for as one NumPy array and exceeds the memory of the machine.
    """

    def __init__(self, array: Any) -> None:
        self._array = array
        self.shape: tuple[int, ...] = tuple(array.shape)
        self.dtype: np.dtype[Any] = np.dtype(array.dtype)
        self.ndim = len(self.shape)
        self.size = math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> NDArray[Any]:
        if not isinstance(rows, int | slice):
            return take_rows(self, np.asarray(rows))
        return np.asarray(self._array[rows])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        size = self.size * self.dtype.itemsize
        if size > memory():
            raise InputError(
                f"the patterns take {size / 2**30:.0f} GiB, the memory is {memory() / 2**30:.0f} GiB: what "
                "is asked for needs all of them at once; relax and sweep_beta read them block by block"
            )
        return np.asarray(self._array[:], dtype=dtype)

    @property
    def T(self) -> NDArray[Any]:
        """The transposed matrix, read into memory."""
        return np.asarray(self).T


def memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**34


def check_size(M: int, d: int) -> None:
    """Raise `InputError` where M × d numbers are more than the memory of this machine."""
    if 8 * M * d > memory():
        raise InputError(
            f"not enough memory for M = {M} patterns of d = {d}: they take {8 * M * d / 2**30:.3g} GiB, this "
            f"machine has {memory() / 2**30:.3g} GiB; use smaller M or d"
        )


def is_stored(patterns: Any) -> bool:
    """Whether an array lies in chunks on disk: it has shape, type and chunks, but is no array in memory."""
    if isinstance(patterns, StoredRows):
        return True
    if isinstance(patterns, np.ndarray) or hasattr(patterns, "__array_namespace__"):
        return False
    return getattr(patterns, "chunks", None) is not None and hasattr(patterns, "__getitem__")


def row_blocks(patterns: Any) -> Iterator[tuple[int, NDArray[Any]]]:
    """Blocks of rows in order, each with the number of its first row."""
    for start, stop in block_bounds(patterns.shape):
        yield start, np.asarray(patterns[start:stop])


def block_bounds(shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """First and last row (exclusive) of every block."""
    step = max(BLOCK_SIZE // max(shape[1], 1), 1)
    return [(start, min(start + step, shape[0])) for start in range(0, shape[0], step)]


def take_rows(patterns: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """The rows of ascending numbers, as float64; chunks on disk are read at most once."""
    if isinstance(patterns, np.ndarray):
        return patterns[rows].astype(np.float64)
    out = np.empty((rows.size, patterns.shape[1]))
    for start, stop in block_bounds(patterns.shape):
        first, last = np.searchsorted(rows, (start, stop))
        if last > first:
            out[first:last] = patterns[start:stop][rows[first:last] - start]
    return out


def mean_row(patterns: Any) -> NDArray[np.float64]:
    """The mean of all rows, summed in float64."""
    total = np.zeros(patterns.shape[1])
    for _, rows in row_blocks(patterns):
        total += rows.sum(axis=0, dtype=np.float64)
    return total / patterns.shape[0]
