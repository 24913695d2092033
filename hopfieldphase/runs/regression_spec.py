"""Which keys, values and temperatures attention as kernel regression is measured on; no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.large_d_spec import whole_numbers
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

LARGEST = 20_000
"""Most keys."""


class RegressionSpec(TomlSpec):
    """`keys` noisy values on a circle, more of them around angle 0, and the `queries` where they are fitted.

    `concentration` of the von Mises law of the keys, `noise` of the values, `temperature` of the fits shown,
    and `temperatures` over which the error of a fit is measured. The identity with kernel regression is
    measured on as many random directions in each of the `dimensions`. Grids may be given as text
    (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("regression",))] = "regression"
    seed: Annotated[int, whole("seed", 0)] = 0
    keys: Annotated[int, whole("keys", 8)] = 300
    queries: Annotated[int, whole("queries", 8)] = 361
    concentration: Annotated[float, real("concentration", 0, 20)] = 1.5
    noise: Annotated[float, real("noise", 0, 10)] = 0.25
    temperature: Annotated[float, real("temperature", 1e-6, 1e3)] = 0.01
    temperatures: tuple[float, ...] = parse_grid("0.0001:0.3:x1.2")
    dimensions: Annotated[tuple[int, ...], whole_numbers("dimensions", 2)] = (2, 16, 64)

    @model_validator(mode="before")
    @classmethod
    def _read_grid(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or "temperatures" not in options:
            return options
        return {**options, "temperatures": parse_grid(options["temperatures"], "temperatures")}

    @model_validator(mode="after")
    def _fit(self) -> Self:
        for name in ("keys", "queries"):
            if getattr(self, name) > LARGEST:
                raise InputError(f"{name} = {getattr(self, name)}: give at most {LARGEST}")
        low, high = self.temperatures[0], self.temperatures[-1]
        if not 1e-6 <= low <= high <= 1e3:
            raise InputError(f"temperatures reach from {low:g} to {high:g}: stay between 1e-6 and 1000")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"attention as kernel regression: {self.keys} keys on a circle, temperature {self.temperature:g}"
        )
