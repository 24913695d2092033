"""Which critical points of one set of patterns are looked for; importing this costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import one_of, real
from hopfieldphase.runs.specs import StudySpec

ALL = "all"


def _top(value: Any) -> int | str:
    if value == ALL:
        return ALL
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or isinstance(value, bool) or number != float(value):
        raise InputError(f"top = {value} is not a number of branches: give a whole number >= 1, or {ALL}")
    return number


class CriticalSpec(StudySpec):
    """Which critical points are looked for, with every option that was given.

    `betas` may be given as text (`runs.ranges`); the first and the last value are the range. Without it and
    without `at` the patterns decide.
    """

    study: Annotated[str, one_of("study", ("critical",))] = "critical"
    at: Annotated[float | None, real("at", 0, math.inf, "()")] = None
    betas: tuple[float, ...] | None = None
    top: Annotated[int | str, BeforeValidator(_top)] = 10

    @model_validator(mode="before")
    @classmethod
    def _read_range(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or options.get("betas") is None:
            return options
        values = parse_grid(options["betas"])
        low, high = values[0], values[-1]
        if low == high:
            raise InputError(f"betas has one value, {low:g}: give the lowest and the highest beta")
        return {**options, "betas": (low, high)}

    @model_validator(mode="after")
    def _check_reference(self) -> Self:
        if self.alpha == math.inf:
            raise InputError(
                "alpha = inf has no critical points, its states do not depend on beta: give a finite alpha"
            )
        if self.at is not None and self.betas is not None and not self.betas[0] <= self.at <= self.betas[1]:
            raise InputError(
                f"at = {self.at:.12g} lies outside the range [{self.betas[0]:.12g}, {self.betas[1]:.12g}] of "
                "betas: choose a reference inside, or a wider range"
            )
        return self
