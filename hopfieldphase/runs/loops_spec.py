"""For which well and field the loop expansion is measured; importing this costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real

FEWEST = 4
"""Orders are fitted, and coefficients extrapolated, over the upper half of the grid."""


class LoopsSpec(TomlSpec):
    """The well H(x) = x²/2 + cubic x³ + quartic x⁴, the field φ, and the grid of β.

    `betas` may be given as text (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("loops",))] = "loops"
    cubic: Annotated[float, real("cubic", -math.inf, math.inf, "()")] = 0.1
    quartic: Annotated[float, real("quartic", 0, math.inf, "()")] = 0.25
    field: Annotated[float, real("field", -math.inf, math.inf, "()")] = 0.4
    betas: tuple[float, ...] = parse_grid("4:4096:x2")

    @model_validator(mode="before")
    @classmethod
    def _read_grid(cls, options: Any) -> Any:
        if isinstance(options, Mapping) and options.get("betas") is not None:
            return {**options, "betas": parse_grid(options["betas"])}
        return options

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not 3 * self.cubic * self.cubic < 4 * self.quartic:
            raise InputError(
                f"cubic = {self.cubic:g}, quartic = {self.quartic:g}: the well is convex for 3 cubic^2 < "
                "4 quartic only; use a smaller cubic or a larger quartic term"
            )
        if len(self.betas) < FEWEST:
            raise InputError(f"betas has {len(self.betas)} values: give at least {FEWEST}, to fit an order")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"loop expansion: H = x^2/2 + {self.cubic:g} x^3 + {self.quartic:g} x^4, field {self.field:g}, "
            f"beta {format_grid(self.betas)}"
        )
