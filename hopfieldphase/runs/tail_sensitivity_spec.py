"""At which sizes, seams and tail indices distances are tested; importing this costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.large_d_spec import whole_numbers
from hopfieldphase.runs.ranges import format_grid, format_number, parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

LOWEST = 0.2
"""Least tail index: below it, squares of draws leave the range of floats."""

LARGEST = 2**24
"""Most points of a sample."""

_GRIDS = ("seams", "indices")


class TailSensitivitySpec(TomlSpec):
    """Samples of `sizes` points from laws that differ above the quantiles `seams` in their tail index.

    The reference law has the index `reference`, the candidates have `indices`, the reference among them; each
    point averages `draws` pairs of samples. Grids may be given as text (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("tail-sensitivity",))] = "tail-sensitivity"
    seed: Annotated[int, whole("seed", 0)] = 0
    sizes: Annotated[tuple[int, ...], whole_numbers("sizes", 8)] = (256, 1024, 4096, 16384, 65536)
    seams: tuple[float, ...] = (0.5, 0.9, 0.99)
    indices: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2, 1.5, 1.8, 2.2, 2.8, 3.5)
    reference: Annotated[float, real("reference", LOWEST, math.inf, "[)")] = 1.5
    draws: Annotated[int, whole("draws", 2)] = 200

    @model_validator(mode="before")
    @classmethod
    def _read_grids(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        grids = {name: parse_grid(options[name], name) for name in _GRIDS if name in options}
        return {**options, **grids}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.sizes[-1] > LARGEST:
            raise InputError(f"sizes has {self.sizes[-1]}: give at most {LARGEST} points")
        if self.indices[0] < LOWEST:
            raise InputError(f"indices has {self.indices[0]:g}: give tail indices from {LOWEST:g} on")
        if self.seams[-1] >= 1:
            raise InputError(f"seams has {self.seams[-1]:g}: they are quantiles, give values below 1")
        if round(self.sizes[0] * (1 - self.seams[0])) >= self.sizes[0]:
            raise InputError(
                f"seams has {self.seams[0]:g}: of {self.sizes[0]} points none is below, give a larger one"
            )
        if self.reference not in self.indices or len(self.indices) < 2:
            raise InputError(
                f"indices = {format_grid(self.indices)}: give the reference index "
                f"{format_number(self.reference)} and others"
            )
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"tail sensitivity: {self.draws} pairs of N = {', '.join(map(str, self.sizes))} points, seams "
            f"{format_grid(self.seams)}, {len(self.indices)} indices against {self.reference:g}"
        )
