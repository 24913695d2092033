"""Which averages of the attention weights are compared; importing this and checking a spec costs no NumPy."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import format_grid, format_number, parse_grid
from hopfieldphase.runs.spec_base import one_of, whole
from hopfieldphase.runs.specs import StudySpec

DEFAULT_BETAS = "1:1000000:x1.15"

_QUERY = re.compile(r"mean|pattern:\d+")


def _query(value: Any) -> str:
    if isinstance(value, str) and _QUERY.fullmatch(value):
        return value
    raise InputError(f"query = {value!r} is not a query: use mean, or pattern:k with k = 0 ... M - 1")


class ThermalSpec(StudySpec):
    """Thermal against deterministic attention of one query over a range of β, with every option resolved.

    `betas` may be given as text (`runs.ranges`); `query` is a stored pattern or the mean of all.
    """

    study: Annotated[str, one_of("study", ("thermal",))] = "thermal"
    query: Annotated[str, BeforeValidator(_query)] = "pattern:0"
    betas: tuple[float, ...] = parse_grid(DEFAULT_BETAS)
    realization: Annotated[int, whole("realization", 0)] = 0

    @model_validator(mode="before")
    @classmethod
    def _read_grid(cls, options: Any) -> Any:
        if isinstance(options, Mapping) and options.get("betas") is not None:
            return {**options, "betas": parse_grid(options["betas"])}
        return options

    @model_validator(mode="after")
    def _check(self) -> Self:
        if math.isinf(self.alpha):
            raise InputError("alpha = inf has no deformed Gibbs ensemble: give a finite alpha")
        if self.realization > 0 and not self.patterns.is_random:
            raise InputError(
                f"realization = {self.realization}, but these patterns have no randomness: leave it at 0"
            )
        if self.patterns.M is not None:
            self.check_query(self.patterns.M)
        return self

    def check_query(self, M: int) -> None:
        """Raise `InputError` where the query names a pattern that is not there."""
        if self.pattern is not None and self.pattern >= M:
            raise InputError(
                f"query = {self.query}, but there are {M} patterns: use pattern:0 to pattern:{M - 1}"
            )

    @property
    def pattern(self) -> int | None:
        """Number of the pattern that is the query; None for the mean."""
        return int(self.query.partition(":")[2]) if ":" in self.query else None

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        source = self.patterns
        facts = [f"alpha {format_number(self.alpha)}", str(source.path or source.generator)]
        facts += [
            f"{name} {getattr(source, name)}" for name in ("M", "d") if getattr(source, name) is not None
        ]
        facts += [f"query {self.query}", f"beta {format_grid(self.betas)}"]
        return f"thermal attention: {', '.join(facts)}"
