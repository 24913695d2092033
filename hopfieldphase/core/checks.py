"""Plain number checks with one-line errors, shared by the generators and the closed forms."""

import math
import operator
from typing import Any

from hopfieldphase.core.errors import InputError, shown

LARGEST = 2**63 - 1
"""The largest whole number of 64 bits; files and arrays hold no larger one."""


def whole_number(name: str, value: Any, at_least: int = 1, at_most: int | None = None) -> int:
    """Return value as an int, or raise `InputError` unless it is a whole number in the range.

    Formulas take whole numbers of any size; what becomes an array or goes into a file is at most `LARGEST`.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = at_least - 1
    if isinstance(value, bool) or number < at_least:
        raise InputError(f"{name} = {shown(value)} is not a whole number >= {at_least}: give one")
    if at_most is not None and number > at_most:
        raise InputError(f"{name} = {shown(value)} is larger than {at_most}: give a smaller one")
    return number


def real_number(name: str, value: Any, low: float, high: float, *, ends: str = "[]") -> float:
    """Return value as a float, or raise `InputError` unless it lies between low and high.

    `ends` says which ends belong to the interval: "[]", "[)", "(]" or "()".
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    above = low <= number if ends[0] == "[" else low < number
    below = number <= high if ends[1] == "]" else number < high
    if not (above and below):
        domain = f"{ends[0]}{low:.12g}, {high:.12g}{ends[1]}"
        raise InputError(f"{name} = {shown(value)} is outside its domain {domain}: give a number inside it")
    return number
