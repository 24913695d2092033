"""Which sweep in the memory load, validated and frozen; importing this costs no NumPy."""

import math
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import one_of
from hopfieldphase.runs.specs import SOURCES, FollowSpec, PatternSpec

DEFAULT_KAPPAS = "0.06:0.19:0.005"
DEFAULT_DIMENSION = 48
ENDLESS = ("clustered", "spherical", "gaussian", "heavy_tailed")


def read_kappas(grid: Any) -> tuple[float, ...]:
    """The grid of memory loads that a text or a list of numbers stands for."""
    return parse_grid(grid, "kappas")


class SequenceSpec(PatternSpec):
    """Which endless sequence of patterns: a random generator with its options, but no number of patterns."""

    sources: ClassVar[dict[str, dict[str, Any]]] = {
        name: {key: value for key, value in SOURCES[name].items() if key != "M"} | {"d": DEFAULT_DIMENSION}
        for name in ENDLESS
    }


class KappaSpec(FollowSpec):
    """One sweep in the memory load κ = log(M)/d, up and down, with every option resolved.

    `kappas` may be given as text (`runs.ranges`).
    """

    parameter: ClassVar[str] = "kappa"
    study: Annotated[str, one_of("study", ("sweep-kappa",))] = "sweep-kappa"
    patterns: SequenceSpec = SequenceSpec()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    beta: Annotated[float, BeforeValidator(inverse_temperature)] = 180.0
    kappas: Annotated[tuple[float, ...], BeforeValidator(read_kappas)] = parse_grid(DEFAULT_KAPPAS)

    @property
    def grid(self) -> tuple[float, ...]:
        """Values of the swept parameter."""
        return self.kappas

    @model_validator(mode="after")
    def _check_starts(self) -> Self:
        d = self.patterns.d or DEFAULT_DIMENSION
        # More patterns than this exceed any memory, which is reported where they are made.
        first, last = (round(math.exp(min(kappa * d, 100))) for kappa in (self.kappas[0], self.kappas[-1]))
        self.check_starts(first, last)
        return self
