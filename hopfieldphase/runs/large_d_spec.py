"""Which pattern sets are simulated beside the theory of large dimension; importing this costs no NumPy."""

import math
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.checks import LARGEST, whole_number
from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

MAX_PATTERNS = 20_000
"""Most patterns in one simulated set."""


def whole_numbers(name: str, at_least: int) -> BeforeValidator:
    """Ascending whole numbers, as a list, a comma list or a range (`runs.ranges`)."""

    def check(value: Any) -> tuple[int, ...]:
        return tuple(
            whole_number(f"an entry of {name}", entry, at_least, LARGEST) for entry in _entries(value, name)
        )

    return BeforeValidator(check)


def _entries(value: Any, name: str) -> tuple[float | int, ...]:
    return tuple(int(entry) if entry.is_integer() else entry for entry in parse_grid(value, name))


class LargeDSpec(TomlSpec):
    """Sizes of the three parts of the study; all patterns are uniform on the sphere.

    Folds of softmax retrieval in dimension `d`: `instances` sets of `M` patterns, and `load_instances` sets
    for each of the `loads`. Exact storage: `trials` sets at each b for the pairs of `storage_M` and
    `storage_d`. Scaling: `scaling_instances` sets of round(exp(κ d)) patterns in each of the `dimensions`.
    """

    study: Annotated[str, one_of("study", ("large-d",))] = "large-d"
    seed: Annotated[int, whole("seed", 0)] = 0
    d: Annotated[int, whole("d", 2)] = 16
    M: Annotated[int, whole("M", 3)] = 121
    instances: Annotated[int, whole("instances", 2)] = 400
    loads: Annotated[tuple[int, ...], whole_numbers("loads", 3)] = (20, 40, 250, 500, 1000)
    load_instances: Annotated[int, whole("load_instances", 2)] = 40
    storage_M: Annotated[tuple[int, ...], whole_numbers("storage_M", 2)] = (50, 200, 1000)
    storage_d: Annotated[tuple[int, ...], whole_numbers("storage_d", 2)] = (10, 16, 32)
    trials: Annotated[int, whole("trials", 1)] = 400
    kappa: Annotated[float, real("kappa", 0, 5, "()")] = 0.25
    dimensions: Annotated[tuple[int, ...], whole_numbers("dimensions", 2)] = (12, 16, 20, 24, 30)
    scaling_instances: Annotated[int, whole("scaling_instances", 2)] = 40

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if len(self.storage_M) != len(self.storage_d):
            raise InputError(
                f"storage_M has {len(self.storage_M)} values and storage_d {len(self.storage_d)}: "
                "give one dimension for each number of patterns"
            )
        if len(self.dimensions) == 1:
            raise InputError(f"dimensions = {self.dimensions[0]}: a slope needs at least two of them")
        smallest, largest = self.patterns_in(self.dimensions[0]), self.patterns_in(self.dimensions[-1])
        if smallest < 3:
            raise InputError(
                f"kappa = {self.kappa:g} makes {smallest} patterns in d = {self.dimensions[0]}: give a "
                "larger kappa or larger dimensions, for at least 3"
            )
        if max(largest, self.M, *self.loads, *self.storage_M) > MAX_PATTERNS:
            raise InputError(
                f"a set would have more than {MAX_PATTERNS} patterns (kappa = {self.kappa:g} makes {largest} "
                f"in d = {self.dimensions[-1]}): give smaller numbers"
            )
        return self

    def patterns_in(self, d: int) -> int:
        """M = round(exp(κ d)), the number of patterns at the fixed load."""
        return round(math.exp(min(self.kappa * d, 50.0)))

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        sets = self.instances + self.load_instances * len(self.loads)
        onsets = self.scaling_instances * len(self.dimensions)
        return (
            f"folds of {sets} pattern sets in d = {self.d}, storage in {self.trials} sets a point, "
            f"scaling in {onsets} sets up to d = {self.dimensions[-1]}"
        )
