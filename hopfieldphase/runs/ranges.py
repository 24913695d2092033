"""Parameter grids written as text, read without rounding drift.

`start:stop:step` ascends by a step, `start:stop:xfactor` by a factor (both include the stop when it is
hit), and a comma list names every value.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

from hopfieldphase.core.errors import InputError, shown

MAX_POINTS = 1_000_000
"""A grid with more points than this is taken as a slip of the step, not as a wish."""

_FORM = "give start:stop:step (20:400:2), start:stop:xfactor (0.1:50:x1.05) or a comma list (20,50,100)"

_SHORT = 5  # characters of an end that is written as it is
GEOMETRIC_FROM = 20
"""A suggested range is spaced geometrically when it spans more than this factor."""


def parse_grid(grid: str | float | Iterable[float], name: str = "betas") -> tuple[float, ...]:
    """Read a strictly ascending grid of positive, finite parameter values.

    Parameters
    ----------
    grid : str, float or iterable of float
        `start:stop:step`, with the stop included when it is hit; `start:stop:xfactor`; a comma list;
        or the values themselves. Point i of a range is the double nearest to the exact decimal
        start + i step (or start factor^i), so that no rounding accumulates and 0.1:0.3:0.1 ends at 0.3.
    name : str
        What the grid is called in error messages.

    Returns
    -------
    tuple of float

    Raises
    ------
    InputError
        If the grid is empty, reversed, not strictly ascending, not positive and finite, or has
        more than `MAX_POINTS` points.
    """
    if isinstance(grid, str):
        if not grid.strip():
            values = ()
        else:
            values = _parse_range(grid, name) if ":" in grid else _parse_list(grid, name)
    else:
        try:
            values = (float(grid),) if isinstance(grid, int | float) else tuple(float(x) for x in grid)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"{name} = {_short(grid)} is not a list of numbers: {_FORM}") from error
    return _checked(values, grid, name)


def parse_values(text: str, name: str) -> tuple[float, ...]:
    """Read a range whose values may be of any sign, `start:stop:step` or `start:stop:xfactor`.

    Raises
    ------
    InputError
        If it is no range, does not ascend, or has more than `MAX_POINTS` points.
    """
    return _parse_range(text, name)


def format_grid(values: Sequence[float]) -> str:
    """Write a grid as the shortest text that `parse_grid` reads back to the same doubles."""
    for text in _possible_ranges(values):
        if _parse_range(text, "grid") == tuple(values):
            return text
    return ",".join(format_number(value) for value in values)


def suggest_grid(lower: float, upper: float, points: int = 191) -> str:
    """Write a range of about `points` round values that covers [lower, upper].

    The steps are equal, 1, 2 or 5 times a power of ten, where the ends lie within a factor
    `GEOMETRIC_FROM`, and geometric otherwise.
    """
    if upper > GEOMETRIC_FROM * lower:
        factor = math.floor(1000 * (upper / lower) ** (1 / (points - 1))) / 1000
        # One factor beyond the upper end, so that the last point does not fall short of it.
        start, stop = _rounded(lower, 2, ROUND_FLOOR), _rounded(upper * factor, 2, ROUND_CEILING)
        return f"{start}:{stop}:x{factor}"
    raw = max(upper - lower, 0.1 * lower) / (points - 1)
    power = math.floor(math.log10(raw))
    digit = next(digit for digit in (1, 2, 5, 10) if digit * 10.0**power >= raw * (1 - 1e-9))
    step = digit * Fraction(10) ** power
    start = max(math.floor(Fraction(lower) / step), 1) * step
    stop = math.ceil(Fraction(upper) / step) * step
    return ":".join(format_number(float(value)) for value in (start, stop, step))


def format_number(value: float) -> str:
    """Shortest decimal that reads back to the same double, without a trailing '.0'."""
    return repr(float(value)).removesuffix(".0")


def _number(text: str, grid: str, name: str) -> Fraction:
    """The exact decimal that the text stands for, if a double can hold it (not 1e999999999)."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"{name} = {_short(grid)}: {shown(text.strip())} is not a number; {_FORM}") from None
    if not math.isfinite(value):
        raise InputError(
            f"{name} = {_short(grid)}: {_short(text)} is not finite; give positive, finite values"
        )
    return Fraction(Decimal(text.strip())) if value else Fraction(0)


def _parse_range(grid: str, name: str) -> tuple[float, ...]:
    parts = [part.strip() for part in grid.split(":")]
    if len(parts) != 3 or not all(parts):
        raise InputError(f"{name} = {_short(grid)} is not a range: {_FORM}")
    geometric = parts[2].startswith("x")
    start, stop, rise = (_number(part, grid, name) for part in (*parts[:2], parts[2].removeprefix("x")))
    if not geometric and rise <= 0:
        raise InputError(f"{name} = {_short(grid)} has a step of {parts[2]}: the step must be positive")
    if geometric and not (rise > 1 and start > 0):
        raise InputError(
            f"{name} = {_short(grid)} does not ascend: give a positive start and a factor above 1"
        )
    if stop < start:
        raise InputError(
            f"{name} = {_short(grid)} is reversed: the start must not lie above the stop "
            "(both directions are always swept)"
        )
    # In logarithms: the quotient of two such numbers can be larger than a double.
    count = (_log(stop) - _log(start)) / _log(rise) if geometric else (stop - start) / rise
    if count >= MAX_POINTS:
        raise InputError(
            f"{name} = {_short(grid)} has more than {MAX_POINTS} points, which is the most: use larger steps"
        )
    return _geometric(start, stop, rise) if geometric else _arithmetic(start, stop, rise)


def _arithmetic(start: Fraction, stop: Fraction, step: Fraction) -> tuple[float, ...]:
    return tuple(float(start + i * step) for i in range(math.floor((stop - start) / step) + 1))


def _geometric(start: Fraction, stop: Fraction, factor: Fraction) -> tuple[float, ...]:
    """Powers in 60 digits: exact ones grow with every point, those of doubles differ between machines."""
    values: list[float] = []
    with localcontext(prec=60):
        point, rise = (Decimal(x.numerator) / Decimal(x.denominator) for x in (start, factor))
        while float(point) <= float(stop):
            values.append(float(point))
            point *= rise
    return tuple(values)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _possible_ranges(values: Sequence[float]) -> Iterator[str]:
    """Ranges that could have made the values: those that fit the first two and the last."""
    if len(values) < 3:
        return
    steps = len(values) - 1
    first, second, last = (Fraction(repr(value)) for value in (*values[:2], values[-1]))
    if first + steps * (second - first) == last:
        yield ":".join(format_number(float(value)) for value in (first, last, second - first))
    for digits in range(1, 7):
        factor = round(values[1] / values[0], digits)
        if factor > 1 and abs(steps * math.log(factor) - math.log(values[-1] / values[0])) < 1e-9:
            stops = (_rounded(values[-1], digits, ROUND_CEILING) for digits in range(2, 18))
            stop = next(stop for stop in stops if float(stop) < values[-1] * factor)
            exact = format_number(values[-1])
            stop = exact if len(exact) <= _SHORT else stop
            yield f"{format_number(values[0])}:{stop}:x{format_number(factor)}"


def _rounded(value: float, digits: int, rounding: str) -> str:
    """The nearest number of so many significant digits below or above."""
    exact = Decimal(value)
    return format_number(
        float(exact.quantize(Decimal(1).scaleb(exact.adjusted() + 1 - digits), rounding=rounding))
    )


def _parse_list(grid: str, name: str) -> tuple[float, ...]:
    entries = grid.split(",")
    if not all(entry.strip() for entry in entries):
        raise InputError(f"{name} = {_short(grid)} has an empty entry: {_FORM}")
    return tuple(float(_number(entry, grid, name)) for entry in entries)


def _checked(values: tuple[float, ...], grid: object, name: str) -> tuple[float, ...]:
    if not values:
        raise InputError(f"{name} is empty: {_FORM}")
    if len(values) > MAX_POINTS:
        raise InputError(f"{name} has {len(values)} points: at most {MAX_POINTS} are allowed")
    for value in values:
        if not 0 < value < math.inf:
            raise InputError(
                f"{name} = {_short(grid)} contains {format_number(value)}, outside its domain (0, inf): "
                "give positive, finite values"
            )
    if any(second <= first for first, second in pairwise(values)):
        raise InputError(
            f"{name} = {_short(grid)} is not strictly ascending: sort the values and drop repeats "
            "(both directions are always swept)"
        )
    return values


def _short(grid: object) -> str:
    """The grid as the user gave it, on one short line."""
    text = shown(grid)
    text = text[1:-1] if isinstance(grid, str) else text
    return text if len(text) <= 60 else text[:57] + "..."
