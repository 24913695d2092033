"""For which law and score attention integrals are followed; importing this costs no NumPy."""

import math
from typing import Annotated, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.large_d_spec import whole_numbers
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

LOWEST = 0.2
"""Least tail index: below it, draws leave the range of floats."""

LARGEST = 2**26
"""Most points of a sample."""


class IntegrabilitySpec(TomlSpec):
    """Means over samples of a mirrored Pareto law of the tail index `index`, up to each of the `sizes`.

    The key z has the score `score` times z. The control is a Gaussian of standard deviation `sigma`; both
    laws have their centre at 1. `sizes` may be given as text (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("integrability",))] = "integrability"
    seed: Annotated[int, whole("seed", 0)] = 0
    index: Annotated[float, real("index", LOWEST, math.inf, "[)")] = 1.5
    score: Annotated[float, real("score", 0, math.inf, "()")] = 1.0
    sigma: Annotated[float, real("sigma", 0, math.inf, "()")] = 1.5
    sizes: Annotated[tuple[int, ...], whole_numbers("sizes", 2)] = (256, 1024, 4096, 16384, 65536, 262144)
    draws: Annotated[int, whole("draws", 2)] = 200

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.sizes[-1] > LARGEST:
            raise InputError(f"sizes has {self.sizes[-1]}: give at most {LARGEST} points")
        if len(self.sizes) < 4:
            raise InputError(f"sizes has {len(self.sizes)} values: growth is fitted over half of at least 4")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"integrability: tail index {self.index:g}, score {self.score:g} z, {self.draws} samples "
            f"of up to {self.sizes[-1]} points"
        )
