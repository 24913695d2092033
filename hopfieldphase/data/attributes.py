"""Attributes that neither netCDF nor Zarr can hold, written as text and read back equal.

Text, whole numbers, finite floating point numbers and lists of two or more of them are stored as they are, so
that any tool reads them. All else becomes one string, `json:` and a JSON value in which whatever JSON does
not know is an object {"!": kind, ...}. Nothing in a file can name code to be imported or run.
"""

import datetime as dt
import enum
import json
import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import numpy as np

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status

_PREFIX = "json:"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
# Names that the file formats or xarray use themselves.
_RESERVED = frozenset(
    {"CLASS", "NAME", "REFERENCE_LIST", "DIMENSION_LIST", "DIMENSION_LABELS", "coordinates"}
)
_INT64 = range(-(2**63), 2**63)
_ENUMS = {cls.__name__: cls for cls in (Status,)}
_DATES = {cls.__name__: cls for cls in (dt.datetime, dt.date, dt.time)}


def encode(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """Attributes that every file format holds, from attributes of any supported kind.

    Parameters
    ----------
    attrs : mapping
        Values may be None, bool, int, float, str, dates and times, tuples, lists, mappings, NumPy scalars and
        arrays (boolean, numbers, text, dates), `Status`, and members of any other enumeration of integers or
        strings (these read back as the equal integer or string); nested at will.

    Returns
    -------
    dict

    Raises
    ------
    InputError
        For a name that a file cannot hold or a value of another kind.
    """
    for name in attrs:
        if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
            raise InputError(
                f"the attribute name {name!r} cannot be stored: use a letter, then letters, digits, _ . -"
            )
    return {name: _stored(name, value) for name, value in attrs.items()}


def decode(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    """The attributes that `encode` was given, from those of an opened file.

    Raises
    ------
    InputError
        For a value marked as encoded that cannot be decoded.
    """
    return {str(name): _restored(name, value) for name, value in attrs.items()}


def _stored(name: str, value: Any) -> Any:
    if _is_native(value):
        return value
    try:
        return _PREFIX + json.dumps(_to_json(value), allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InputError(
            f"the attribute {name} = {str(value)[:80]!r} cannot be stored ({reason}): "
            "use None, numbers, text, dates, or lists, tuples and mappings of them"
        ) from error


def _restored(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if not (isinstance(value, str) and value.startswith(_PREFIX)):
        return value
    try:
        return _from_json(json.loads(value.removeprefix(_PREFIX)))
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the attribute {name} is damaged ({error}): write the file anew") from error


def _is_native(value: Any) -> bool:
    """Whether Zarr and netCDF both hold the value and give it back unchanged."""
    if type(value) is str:
        clean = value.replace("\n", "").replace("\t", "")
        return bool(clean) and clean.isprintable() and not value.startswith(_PREFIX)
    if type(value) is list:
        kinds = {type(item) for item in value}
        # netCDF reads a list of one back as a number, and holds at most 64 KiB in a list.
        return 1 < len(value) < 1000 and kinds in ({int}, {float}) and all(map(_is_native, value))
    return (type(value) is int and value in _INT64) or (type(value) is float and math.isfinite(value))


def _to_json(value: Any) -> Any:
    """A JSON value; whatever JSON does not know becomes an object with its kind under "!"."""
    match value:
        case None | bool():
            return value
        case Status():
            return {"!": type(value).__name__, "v": value.name}
        case enum.Enum() if isinstance(value, int | str):
            return _to_json(value.value)
        case np.generic() | np.ndarray():
            return _numpy_to_json(value)
        case int():
            return int(value)
        case str():
            return str(value)
        case float():
            return float(value) if math.isfinite(value) else {"!": "float", "v": repr(float(value))}
        case dt.date() | dt.time() if type(value).__name__ in _DATES:
            return {"!": type(value).__name__, "v": value.isoformat()}
        case list():
            return [_to_json(item) for item in value]
        case tuple():
            return {"!": "tuple", "v": [_to_json(item) for item in value]}
        case Mapping():
            return {"!": "dict", "v": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
        case PurePath():
            raise TypeError("a path differs between machines: give its text, str(path)")
        case _:
            raise TypeError(f"a {type(value).__name__} has no stored form")


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind, content = value["!"], value["v"]
    if kind in _ENUMS:
        return _ENUMS[kind][content]
    if kind in _DATES:
        return _DATES[kind].fromisoformat(content)
    if kind == "float":
        return float(content)
    if kind == "array":
        return _array_from_json(value)
    if kind == "scalar":
        return _array_from_json(value)[()]
    items = [_from_json(item) for item in content]
    if kind == "tuple":
        return tuple(items)
    if kind == "dict":
        return dict(items)
    raise ValueError(f"unknown kind {kind!r}")


def _numpy_to_json(value: "np.generic | np.ndarray[Any, Any]") -> Any:
    """A NumPy scalar or array: dtype, shape and a flat list (dates as integers of their unit)."""
    dtype = value.dtype
    if dtype.kind not in "biufUMm" or (dtype.kind == "f" and dtype.itemsize > 8):
        raise TypeError(f"NumPy data of type {dtype} has no stored form")
    flat = np.asarray(value).reshape(-1)
    items = flat.astype(np.int64) if dtype.kind in "Mm" else flat
    kind = "array" if isinstance(value, np.ndarray) else "scalar"
    return {"!": kind, "dtype": dtype.str, "shape": list(value.shape), "v": _to_json(items.tolist())}


def _array_from_json(value: dict[str, Any]) -> "np.ndarray[Any, Any]":
    dtype = np.dtype(str(value["dtype"]))
    if dtype.kind not in "biufUMm":
        raise ValueError(f"NumPy data of type {dtype} is not allowed")
    items = np.array(_from_json(value["v"]), dtype=np.int64 if dtype.kind in "Mm" else dtype)
    return items.astype(dtype).reshape([int(n) for n in value["shape"]])
