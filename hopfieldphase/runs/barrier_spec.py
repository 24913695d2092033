"""Which barriers are computed; importing this and checking a spec costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.large_d_spec import whole_numbers
from hopfieldphase.runs.ranges import format_grid, format_number, parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole


class BarrierSpec(TomlSpec):
    """Barriers at coexistence of `M` equidistant patterns (softmax), and between two stored patterns.

    The latter are orthogonal, for each of the `alphas` and at each of the `couplings` K = b, alone and beside
    a third pattern whose cosine to both is `third`. Grids may be given as text (`runs.ranges`). `images` is
    the number of states on a path between two minima.
    """

    study: Annotated[str, one_of("study", ("barrier",))] = "barrier"
    M: Annotated[tuple[int, ...], whole_numbers("M", 3)] = (3, 10, 100)
    alphas: tuple[float, ...] = (1.5, 2.0)
    couplings: tuple[float, ...] = parse_grid("2:14:0.5")
    third: Annotated[float, real("third", 0, math.sqrt(0.5), "[)")] = 0.66
    images: Annotated[int, whole("images", 5)] = 41

    @model_validator(mode="before")
    @classmethod
    def _read_grids(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        grids = {name: parse_grid(options[name], name) for name in ("alphas", "couplings") if name in options}
        return {**options, **grids}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not (self.alphas[0] > 1 and self.alphas[-1] < math.inf):
            raise InputError(f"alphas = {format_grid(self.alphas)}: patterns are stored for 1 < alpha < inf")
        if not self.couplings[0] > 0:
            raise InputError(f"couplings = {format_grid(self.couplings)}: give values above 0")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        sizes = ",".join(map(str, self.M))
        return (
            f"barriers: coexistence of M {sizes} (softmax), pairs at alpha {format_grid(self.alphas)}, "
            f"third cosine {format_number(self.third)}"
        )
