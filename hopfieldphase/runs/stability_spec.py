"""Which descents near a minimum are studied; importing this and checking a spec costs no NumPy."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import format_grid, format_number, parse_grid
from hopfieldphase.runs.spec_base import one_of, real, whole
from hopfieldphase.runs.specs import StudySpec

DEFAULT_STEPS = "0.5,0.9,1,1.02,1.1"
LARGEST_STEP = 1000.0
"""Largest step size in units of η_crit: beyond it the first step says all."""

MOST_ITERATIONS = 100_000
"""Every iteration of every path is kept."""

_START = re.compile(r"mean|pattern:\d+")


def _start(value: Any) -> str:
    if isinstance(value, str) and _START.fullmatch(value):
        return value
    raise InputError(f"start = {value!r} is not a start: use mean, or pattern:k with k = 0 ... M - 1")


class StabilitySpec(StudySpec):
    """Fixed-step descents from near one minimum, with every option resolved.

    `steps` are step sizes in units of η_crit and may be given as text (`runs.ranges`); `start` is relaxed to
    the minimum x*, and the descents begin at x* + `amplitude` u_soft.
    """

    study: Annotated[str, one_of("study", ("stability",))] = "stability"
    beta: Annotated[float, real("beta", 0, math.inf, "()")] = 300.0
    start: Annotated[str, BeforeValidator(_start)] = "pattern:0"
    steps: tuple[float, ...] = parse_grid(DEFAULT_STEPS)
    amplitude: Annotated[float, real("amplitude", 0, math.inf, "()")] = 1e-2
    iterations: Annotated[int, whole("iterations", 1)] = 500
    realization: Annotated[int, whole("realization", 0)] = 0

    @model_validator(mode="before")
    @classmethod
    def _read_steps(cls, options: Any) -> Any:
        if isinstance(options, Mapping) and options.get("steps") is not None:
            return {**options, "steps": parse_grid(options["steps"], "steps")}
        return options

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.steps[-1] > LARGEST_STEP:
            raise InputError(
                f"steps = {format_grid(self.steps)} goes beyond {LARGEST_STEP:g}: give step sizes in units "
                "of the critical one, 2/lambda_max"
            )
        if self.iterations > MOST_ITERATIONS:
            raise InputError(
                f"iterations = {self.iterations} is above {MOST_ITERATIONS}: every one is kept, give fewer"
            )
        if self.realization > 0 and not self.patterns.is_random:
            raise InputError(
                f"realization = {self.realization}, but these patterns have no randomness: leave it at 0"
            )
        M = self.patterns.M
        if M is not None and int(self.start.partition(":")[2] or 0) >= M:
            raise InputError(
                f"start = {self.start}, but there are {M} patterns: use pattern:0 to pattern:{M - 1}"
            )
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        source = self.patterns
        facts = [f"alpha {format_number(self.alpha)}", str(source.path or source.generator)]
        facts += [
            f"{name} {getattr(source, name)}" for name in ("M", "d") if getattr(source, name) is not None
        ]
        facts += [f"beta {format_number(self.beta)}", f"eta/eta_crit {format_grid(self.steps)}"]
        return f"update stability: {', '.join(facts)}"
