"""For which maps and α the smoothness across boundaries is measured; importing this costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole


class SmoothnessSpec(TomlSpec):
    """The grid of Tsallis indices whose entry exponents are fitted, and the parameters of the other maps.

    `alpha` is that of entmax and of entmax with at most `k` weights, `p` the share of top-p, `caps` the
    largest weight of the constrained maps. `alphas` may be given as text (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("smoothness",))] = "smoothness"
    alphas: tuple[float, ...] = parse_grid("1.1,1.125,1.2,1.25,1.3333333333333333,1.4,1.5,1.6,1.7,2,2.5,3,4")
    alpha: Annotated[float, real("alpha", 1.01, 2)] = 1.5
    k: Annotated[int, whole("k", 1)] = 2
    p: Annotated[float, real("p", 0, 1, "()")] = 0.8
    caps: Annotated[float, real("caps", 0.25, 1, "()")] = 0.65

    @model_validator(mode="before")
    @classmethod
    def _read_grid(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or "alphas" not in options:
            return options
        return {**options, "alphas": parse_grid(options["alphas"], "alphas")}

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if not LOWEST <= self.alphas[0] <= self.alphas[-1] < math.inf:
            raise InputError(
                f"alphas = {self.alphas[0]:g}: an entering weight has a power law for alpha > 1, and doubles "
                f"resolve it from {LOWEST:g} on"
            )
        if self.alphas[-1] > HIGHEST:
            raise InputError(f"alphas = {self.alphas[-1]:g}: give values up to {HIGHEST:g}")
        if self.k > 3:
            raise InputError(f"k = {self.k} of four scores: give 1, 2 or 3")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return f"smoothness of attention maps: entry exponents at {len(self.alphas)} alphas, eleven maps"


LOWEST, HIGHEST = 1.05, 20.0
"""Range of the Tsallis indices that are fitted."""
