"""Which escapes are simulated; importing this and checking a spec costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.large_d_spec import whole_numbers
from hopfieldphase.runs.ranges import format_grid, format_number, parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

HIGHEST = 12.0
"""Largest ΔΓ/T that is simulated: an escape then takes some million steps."""


class EscapeSpec(TomlSpec):
    """Escapes from one of 2 or 3 equidistant patterns at each α, and over a saddle on a facet at α = 2.

    `counts` has the number of patterns for each of the `alphas`, `coupling` is their K = b(1 − c), `facet`
    the norm of the mean of the two patterns between which the saddle on the facet lies
    (`dynamics.escape_systems`). `heights` are values of ΔΓ/T and may be given as text (`runs.ranges`); `step`
    is the time step in units of 1/β.
    """

    study: Annotated[str, one_of("study", ("escape",))] = "escape"
    seed: Annotated[int, whole("seed", 0)] = 0
    alphas: tuple[float, ...] = (1.0, 1.5)
    counts: Annotated[tuple[int, ...], whole_numbers("counts", 2)] = (2, 3)
    coupling: Annotated[float, real("coupling", 0, math.inf, "()")] = 6.0
    facet: Annotated[float, real("facet", 0, 1 / math.sqrt(3), "()")] = 0.4
    heights: tuple[float, ...] = (5.0, 5.5, 6.0, 6.5)
    walkers: Annotated[int, whole("walkers", 2)] = 2000
    step: Annotated[float, real("step", 0, 1, "(]")] = 0.15

    @model_validator(mode="before")
    @classmethod
    def _read_grids(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        grids = {name: parse_grid(options[name], name) for name in ("alphas", "heights") if name in options}
        return {**options, **grids}

    @model_validator(mode="after")
    def _check(self) -> Self:
        for alpha in self.alphas:
            if not 0 < alpha < math.inf:
                raise InputError(f"alphas has {alpha:g}: give finite Tsallis indices above 0")
        if len(self.alphas) != len(self.counts) or self.counts[-1] > 3:
            raise InputError(
                f"counts = {','.join(map(str, self.counts))} for alphas = {format_grid(self.alphas)}: "
                "give 2 or 3 patterns for each alpha"
            )
        if not (self.heights[0] > 0 and self.heights[-1] <= HIGHEST):
            raise InputError(
                f"heights = {format_grid(self.heights)} leaves (0, {HIGHEST:g}]: an escape takes e^height "
                "times as long as a relaxation, give smaller values"
            )
        if len(self.heights) < 2:
            raise InputError("heights has one value: a slope needs at least two of them")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"escape times: alpha {format_grid(self.alphas)} and a facet at 2, "
            f"K {format_number(self.coupling)}, dGamma/T {format_grid(self.heights)}, {self.walkers} walkers"
        )
