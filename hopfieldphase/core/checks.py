"""Plain number checks with one-line errors, shared by the generators and the closed forms."""

import math
import operator
from typing import Any

from hopfieldphase.core.errors import InputError


def whole_number(name: str, value: Any, at_least: int = 1) -> int:
    """Return value as an int, or raise `InputError` unless it is a whole number ≥ at_least."""
    try:
        number = operator.index(value)
    except TypeError:
        number = at_least - 1
    if isinstance(value, bool) or number < at_least:
        raise InputError(f"{name} = {_shown(value)} is not a whole number >= {at_least}: give one")
    return number


def real_number(name: str, value: Any, low: float, high: float, *, ends: str = "[]") -> float:
    """Return value as a float, or raise `InputError` unless it lies between low and high.

    `ends` says which ends belong to the interval: "[]", "[)", "(]" or "()".
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    above = low <= number if ends[0] == "[" else low < number
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below):
        domain = f"{ends[0]}{low:.12g}, {high:.12g}{ends[1]}"
        raise InputError(f"{name} = {_shown(value)} is outside its domain {domain}: give a number inside it")
    return number


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)
