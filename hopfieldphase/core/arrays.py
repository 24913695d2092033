"""Arrays of any namespace that follows the array API standard: NumPy, PyTorch, CuPy, array-api-strict."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias, cast

import array_api_compat
import numpy as np

from hopfieldphase.core.errors import InputError

Array: TypeAlias = Any
Namespace: TypeAlias = Any
DType: TypeAlias = Any

# pyright knows CuPy's types only where CuPy is installed.
_is_array = cast(
    Callable[[Any], bool],
    array_api_compat.is_array_api_obj,  # pyright: ignore[reportUnknownMemberType]
)


def float_array(values: Array, name: str) -> tuple[Namespace, Array, DType]:
    """Return the namespace of `values`, the values in float64, and the dtype that results are given in.

    Results keep float32 and float64; integers and nested sequences become float64. All arithmetic is
    float64, so that a float32 result is the float64 one rounded once.

    Raises
    ------
    InputError
        If `values` holds anything but real numbers, or has another floating type.
    """
    array: Array = values if _is_array(values) else np.asarray(values)
    xp: Namespace = array_api_compat.array_namespace(array)
    if xp.isdtype(array.dtype, "integral"):
        return xp, xp.astype(array, xp.float64), xp.float64
    if array.dtype not in (xp.float32, xp.float64):
        raise InputError(f"{name} has dtype {array.dtype}: use float32 or float64")
    return xp, xp.astype(array, xp.float64, copy=False), array.dtype


def pattern_array(values: Array, name: str) -> tuple[Namespace, Array, DType]:
    """Return what `float_array` does, or raise `InputError` unless the last axis holds M ≥ 1 patterns."""
    xp, values, dtype = float_array(values, name)
    if values.ndim == 0 or values.shape[-1] == 0:
        raise InputError(f"{name} has shape {tuple(values.shape)}: give M >= 1 patterns along the last axis")
    return xp, values, dtype


def score_array(scores: Array) -> tuple[Namespace, Array, Array, DType]:
    """Return namespace, scores in float64, the largest of each row (..., 1), and the dtype of results.

    Raises
    ------
    InputError
        As `pattern_array`, and if a row holds NaN or +∞, or nothing but −∞.
    """
    xp, z, dtype = pattern_array(scores, "scores")
    top = xp.max(z, axis=-1, keepdims=True)
    if not bool(xp.all(xp.isfinite(top))):
        if bool(xp.any(xp.isnan(z))):
            fault = "a NaN"
        elif bool(xp.any(top == math.inf)):
            fault = "an entry +inf"
        else:
            fault = "a row of nothing but -inf"
        raise InputError(f"scores have {fault}: give finite overlaps, with -inf for absent patterns only")
    return xp, z, top, dtype


def distribution(p: Array, name: str) -> tuple[Namespace, Array, DType]:
    """Return what `pattern_array` does, or raise `InputError` unless every row can be one of weights."""
    xp, p, dtype = pattern_array(p, name)
    if not bool(xp.all((p >= 0) & (p < xp.inf))):
        raise InputError(f"{name} has a negative, infinite or NaN entry: weights lie between 0 and 1")
    if not bool(xp.all(xp.any(p > 0, axis=-1))):
        raise InputError(f"{name} has a row of zeros: the weights of a row sum to one")
    return xp, p, dtype
