"""What can be asked of any set of patterns, generated or loaded: is it sound, equal rows, row norms."""

import math
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError

Patterns = NDArray[np.float64]

_ROWS_SHOWN = 5


def check_patterns(patterns: Any) -> Any:
    """Return the patterns as an (M, d) floating array, or raise a one-line error.

    Parameters
    ----------
    patterns : array-like, shape (M, d)
        float32 and float64 arrays of any array library are returned as they are; whatever else holds
        real numbers becomes a NumPy float64 array (integers of another library: float64 of that
        library). Rows need not have unit norm (see `norm_range`) and may be equal (see
        `duplicate_rows`).

    Returns
    -------
    array, shape (M, d)

    Raises
    ------
    InputError
        If the array is not two-dimensional, empty, not of real numbers, masked, or has a row that is
        zero, not finite, or of a norm whose square leaves the range of floats. The rows are named.
    """
    array = _floating(patterns)
    if array.ndim != 2:
        raise InputError(
            f"patterns have shape {tuple(array.shape)}: give a two-dimensional array (M, d), "
            "one pattern per row"
        )
    if 0 in array.shape:
        raise InputError(
            f"patterns have shape {tuple(array.shape)}: give at least one pattern of at least one component"
        )
    xp = array_api_compat.array_namespace(array)
    _refuse_rows(~xp.all(xp.isfinite(array), axis=1), "NaN or inf", "remove or repair them")
    largest = xp.max(xp.abs(array), axis=1)
    _refuse_rows(largest == 0, "only zeros", "a zero pattern has no direction: remove them")
    limits = xp.finfo(array.dtype)
    smallest = math.sqrt(float(limits.smallest_normal))
    extreme = (largest < smallest) | (largest > math.sqrt(float(limits.max) / array.shape[1]))
    _refuse_rows(extreme, "numbers whose squares leave the range of floats", "rescale the patterns")
    return array


def _floating(patterns: Any) -> Any:
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
    rows = np.asarray(patterns) + 0.0  # -0.0 and 0.0 are one number
    _, group, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    members: dict[int, list[int]] = {}
    for row in np.flatnonzero(counts[group] > 1).tolist():
        members.setdefault(int(group[row]), []).append(row)
    return [tuple(rows) for rows in members.values()]


def norm_range(patterns: Any) -> tuple[float, float]:
    """Smallest and largest norm |ξ_μ|; (1, 1) up to rounding for the paper's convention."""
    norms = np.linalg.norm(np.asarray(patterns, dtype=np.float64), axis=1)
    return float(norms.min()), float(norms.max())


def unit_rows(patterns: Any) -> Patterns:
    """The patterns scaled to unit norm, shape (M, d); a zero row is an `InputError`."""
    rows: Patterns = np.asarray(patterns, dtype=np.float64)
    largest = np.abs(rows).max(axis=1, keepdims=True)
    _refuse_rows(largest[:, 0] == 0, "only zeros", "a zero pattern has no direction: remove them")
    scaled: Patterns = rows / largest  # squares of heavy-tailed entries would overflow
    scaled /= np.linalg.norm(scaled, axis=1, keepdims=True)
    return scaled
