"""What can be asked of any set of patterns, generated or loaded: is it sound, equal rows, row norms."""

import math
from collections.abc import Iterator
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.blocks import StoredRows, is_stored, row_blocks, take_rows

Patterns = NDArray[np.float64]

_ROWS_SHOWN = 5
_ROWS_COMPARED = 8192
_FACTOR = 0x9E3779B97F4A7C15  # odd: no bit of a number is lost in a product with its powers


def check_patterns(patterns: Any) -> Any:
    """Return the patterns as an (M, d) floating array, or raise a one-line error.

    Parameters
    ----------
    patterns : array-like, shape (M, d)
        float32 and float64 arrays of any array library are returned as they are; whatever else holds
        real numbers becomes a NumPy float64 array (integers of another library: float64 of that
        library). Rows need not have unit norm (see `norm_range`) and may be equal (see
        `duplicate_rows`). An array in chunks on disk (Zarr) is read block by block.

    Returns
    -------
    array, shape (M, d)
        `StoredRows` where the patterns stay on disk.

    Raises
    ------
    InputError
        If the array is not two-dimensional, empty, not of real numbers, masked, or has a row that is
        zero, not finite, or of a norm whose square leaves the range of floats. The rows are named.
    """
    array: Any = _floating(patterns)
    if array.ndim != 2:
        raise InputError(
            f"patterns have shape {tuple(array.shape)}: give a two-dimensional array (M, d), "
            "one pattern per row"
        )
    if 0 in array.shape:
        raise InputError(
            f"patterns have shape {tuple(array.shape)}: give at least one pattern of at least one component"
        )
    if _has_blocks(array):
        largest: Any = np.concatenate([_largest_entries(rows) for _, rows in row_blocks(array)])
    else:
        largest = _largest_entries(array)
    xp = array_api_compat.array_namespace(largest)
    _refuse_rows(~xp.isfinite(largest), "NaN or inf", "remove or repair them")
    _refuse_rows(largest == 0, "only zeros", "a zero pattern has no direction: remove them")
    limits = xp.finfo(array.dtype)
    smallest = math.sqrt(float(limits.smallest_normal))
    extreme = (largest < smallest) | (largest > math.sqrt(float(limits.max) / array.shape[1]))
    _refuse_rows(extreme, "numbers whose squares leave the range of floats", "rescale the patterns")
    return array


def _has_blocks(array: Any) -> bool:
    return isinstance(array, np.ndarray) or is_stored(array)


def _largest_entries(rows: Any) -> Any:
    """The largest modulus of each row; NaN where there is one."""
    xp = array_api_compat.array_namespace(rows)
    return xp.max(xp.abs(rows), axis=1)


def _floating(patterns: Any) -> Any:
    if is_stored(patterns):
        stored = patterns if isinstance(patterns, StoredRows) else StoredRows(patterns)
        if stored.dtype.name not in ("float32", "float64"):
            raise InputError(f"patterns on disk have dtype {stored.dtype}: store float32 or float64")
        return stored
    if _of_another_library(patterns):
        xp = array_api_compat.array_namespace(patterns)
        if xp.isdtype(patterns.dtype, "real floating"):
            return patterns
        if xp.isdtype(patterns.dtype, "integral"):
            return xp.astype(patterns, xp.float64)
        raise InputError(f"patterns have dtype {patterns.dtype}: give real numbers")
    if np.ma.is_masked(patterns):
        raise InputError("patterns have masked entries: fill or remove them, a pattern must be complete")
    try:
        array: NDArray[Any] = np.asarray(patterns)
    except ValueError as error:
        raise InputError(f"patterns are not an array ({error}): give rows of equal length") from error
    if array.dtype.kind in "iuf":
        return array if array.dtype.name in ("float32", "float64") else array.astype(np.float64)
    raise InputError(f"patterns have dtype {array.dtype}: give real numbers")


def _of_another_library(array: Any) -> bool:
    if isinstance(array, np.ndarray):
        return False
    return bool(array_api_compat.is_array_api_obj(array))  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _refuse_rows(bad: Any, what: str, advice: str) -> None:
    xp = array_api_compat.array_namespace(bad)
    if not bool(xp.any(bad)):
        return
    rows = [row for row in range(bad.shape[0]) if bool(bad[row])]
    shown = ", ".join(map(str, rows[:_ROWS_SHOWN])) + (", …" if len(rows) > _ROWS_SHOWN else "")
    plural = "s" if len(rows) > 1 else ""
    raise InputError(
        f"pattern row{plural} {shown} (counted from 0; {len(rows)} of {bad.shape[0]}) "
        f"hold{'' if plural else 's'} {what}: {advice}"
    )


def duplicate_rows(patterns: Any) -> list[tuple[int, ...]]:
    """Groups of equal patterns, each as ascending row indices; empty when all rows differ.

    Equal patterns share their weight in every state: none of a group is retrieved alone, while the
    state x itself is well defined.

    Parameters
    ----------
    patterns : array-like, shape (M, d)

    Returns
    -------
    list of tuple of int
        Ordered by the first row of each group.
    """
    stored: Any = patterns if is_stored(patterns) else np.asarray(patterns)
    keys = np.concatenate([_row_keys(rows) for _, rows in row_blocks(stored)])
    _, group, counts = np.unique(keys, return_inverse=True, return_counts=True)
    suspects = np.flatnonzero(counts[group] > 1)  # equal rows, and those that share a key by chance
    members: dict[bytes, list[int]] = {}
    for start in range(0, suspects.size, _ROWS_COMPARED):
        numbers = suspects[start : start + _ROWS_COMPARED]
        for row, values in zip(numbers.tolist(), take_rows(stored, numbers) + 0.0, strict=True):
            members.setdefault(values.tobytes(), []).append(row)
    return [tuple(rows) for rows in members.values() if len(rows) > 1]


def _row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A number per row that equal rows share: its bits, summed with odd factors modulo 2⁶⁴."""
    bits: NDArray[np.float64] = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # -0.0 is 0.0
    factors: NDArray[np.uint64] = np.cumprod(
        np.full(bits.shape[1], _FACTOR, dtype=np.uint64), dtype=np.uint64
    )
    mixed: NDArray[np.uint64] = bits.view(np.uint64)
    products: NDArray[np.uint64] = (mixed ^ (mixed >> np.uint64(29))) * factors
    keys: NDArray[np.uint64] = products.sum(axis=1, dtype=np.uint64)
    return keys


def row_norms(patterns: Any) -> NDArray[Any]:
    """Norms |ξ_μ| of patterns in memory or on disk, shape (M,), in their own floating type."""
    rows: Any = patterns if is_stored(patterns) else np.asarray(patterns)
    return np.concatenate([np.sqrt(np.sum(part**2, axis=-1)) for _, part in row_blocks(rows)])


def norm_range(patterns: Any) -> tuple[float, float]:
    """Smallest and largest norm |ξ_μ|; (1, 1) up to rounding for the paper's convention."""
    norms = np.concatenate([np.linalg.norm(part, axis=1) for part in _as_float64(patterns)])
    return float(norms.min()), float(norms.max())


def _as_float64(patterns: Any) -> Iterator[NDArray[np.float64]]:
    rows: Any = patterns if is_stored(patterns) else np.asarray(patterns)
    return (part.astype(np.float64) for _, part in row_blocks(rows))


def unit_rows(patterns: Any) -> Patterns:
    """The patterns scaled to unit norm, shape (M, d); a zero row is an `InputError`."""
    rows: Patterns = np.asarray(patterns, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    _refuse_rows(largest[:, 0] == 0, "only zeros", "a zero pattern has no direction: remove them")
    scaled: Patterns = rows / largest  # squares of heavy-tailed entries would overflow
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled
