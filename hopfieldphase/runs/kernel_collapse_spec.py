"""At which tail indices and temperatures attention kernels retrieve; importing this costs no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, whole

LOWEST = 0.3
"""Least tail index: below it, the small patterns of a sum are lost in the rounding of the largest one."""

MAX_PATTERNS = 10_000
"""Most patterns in one set."""

_GRIDS = ("indices", "b")


class KernelCollapseSpec(TomlSpec):
    """Sets of `M` patterns in dimension `d` with mirrored Pareto coordinates of each of the `indices`.

    Of each of the `realizations` of a set, `queries` patterns are asked for at every inverse temperature
    `b`, in units of the median squared norm. The control has Gaussian coordinates. Grids may be given as
    text (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("kernel-collapse",))] = "kernel-collapse"
    seed: Annotated[int, whole("seed", 0)] = 0
    M: Annotated[int, whole("M", 3)] = 256
    d: Annotated[int, whole("d", 1)] = 64
    indices: tuple[float, ...] = (0.6, 0.8, 1.0, 1.2, 1.5, 1.8, 2.1, 2.4, 2.7, 3.1, 3.5)
    b: tuple[float, ...] = tuple(2.0**n for n in range(-3, 11))
    queries: Annotated[int, whole("queries", 1)] = 24
    realizations: Annotated[int, whole("realizations", 2)] = 16

    @model_validator(mode="before")
    @classmethod
    def _read_grids(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        grids = {name: parse_grid(options[name], name) for name in _GRIDS if name in options}
        return {**options, **grids}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.M > MAX_PATTERNS:
            raise InputError(f"M = {self.M}: give at most {MAX_PATTERNS} patterns")
        if self.indices[0] < LOWEST:
            raise InputError(f"indices has {self.indices[0]:g}: give tail indices from {LOWEST:g} on")
        if self.queries >= self.M:
            raise InputError(
                f"queries = {self.queries}, but of {self.M} patterns {self.M - 1} can be queried: "
                "give at most these"
            )
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"kernel collapse: M = {self.M}, d = {self.d}, {len(self.indices)} tail indices and a Gaussian, "
            f"{len(self.b)} temperatures, {self.realizations} realizations"
        )
