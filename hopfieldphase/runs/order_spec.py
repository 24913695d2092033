"""For which equidistant patterns and α the order of the transition is drawn; importing costs no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.large_d_spec import whole_numbers
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real

MAX_SIZE = 30
"""Most patterns: every size of the support has lines of its own."""


class OrderSpec(TomlSpec):
    """Sizes M, the grid of α on which the closed forms are drawn, and the α at which they are measured.

    Grids may be given as text (`runs.ranges`). At α = 2 nothing is measured: there every size of the support
    has the same energy at K = 2.
    """

    study: Annotated[str, one_of("study", ("order",))] = "order"
    M: Annotated[tuple[int, ...], whole_numbers("M", 2)] = (2, 3, 10)
    alphas: tuple[float, ...] = parse_grid("0.05:4:0.025")
    checks: tuple[float, ...] = parse_grid("0.5,1,1.25,1.5,1.75,2.2,2.5,2.8,3.5,4")
    cosine: Annotated[float, real("cosine", -1, 1, "[)")] = 0.3

    @model_validator(mode="before")
    @classmethod
    def _read_grids(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        grids = {name: parse_grid(options[name], name) for name in ("alphas", "checks") if name in options}
        return {**options, **grids}

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.M[-1] > MAX_SIZE:
            raise InputError(f"M = {self.M[-1]} is more than {MAX_SIZE}: give fewer patterns")
        if len(self.alphas) < 2:
            raise InputError("alphas has one value: give a grid to draw lines on")
        if 2.0 in self.checks:
            raise InputError(
                "checks contains 2, where all states have equal energy at K = 2 and nothing is to be "
                "located: give values beside it"
            )
        if self.cosine < -1 / (self.M[-1] - 1):
            raise InputError(
                f"cosine = {self.cosine:g} is below -1/(M-1) = {-1 / (self.M[-1] - 1):.4g}: no {self.M[-1]} "
                "patterns have it, give a larger one"
            )
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        sizes = ", ".join(map(str, self.M))
        return (
            f"order of the transition for {sizes} equidistant patterns, alpha {self.alphas[0]:g} to "
            f"{self.alphas[-1]:g}; measured at {len(self.checks)} alphas"
        )
