"""The numerical validation of Appendix G.4: which systems of keys; importing this costs no NumPy."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, field_validator

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

UNIT = 1.0
"""The appendix prints β = 2/(1 − ε), without the 1/d of G: overlaps are those of unit keys, s = 1."""

_Scale = Annotated[float, real("scale", 0, 1e6, "()")]


def _cosines(values: Any) -> list[float]:
    if isinstance(values, str | Mapping) or not hasattr(values, "__iter__") or not (found := list(values)):
        raise InputError(f"cosines = {values!r} is no list: give cosines in [-1, 1), like [0.0, 0.5]")
    return [real_number("cosines", value, -1, 1, ends="[)") for value in found]


class TwoKeysSpec(TomlSpec):
    """Two unit keys with each of some cosines, in random orientations, at α = 2 (Figure 16)."""

    study: Annotated[str, one_of("study", ("two-keys",))] = "two-keys"
    cosines: Annotated[list[float], BeforeValidator(_cosines)] = Field(
        default_factory=lambda: [n / 20 for n in range(18)]
    )
    d: Annotated[int, whole("d", 2)] = 16
    rotations: Annotated[int, whole("rotations", 1)] = 5
    scale: _Scale = UNIT

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"two keys: {len(self.cosines)} cosines, d {self.d}, {self.rotations} rotations, "
            f"scale {self.scale:g}"
        )


class SupportsSpec(TomlSpec):
    """Circulant systems of k keys, at α = 2 (Figure 17)."""

    study: Annotated[str, one_of("study", ("supports",))] = "supports"
    sizes: list[int] = Field(default_factory=lambda: [3, 4, 5, 6, 8])
    d: Annotated[int, whole("d", 2)] = 20
    systems: Annotated[int, whole("systems", 1)] = 10
    scale: _Scale = UNIT

    @field_validator("sizes")
    @classmethod
    def _check_sizes(cls, sizes: list[int]) -> list[int]:
        if not sizes:
            raise InputError("sizes is empty: give numbers of keys, like [3, 4, 5]")
        return [whole_number("sizes", size, 3) for size in sizes]

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        sizes = ", ".join(map(str, self.sizes))
        return f"supports: k = {sizes}, d {self.d}, {self.systems} systems each, scale {self.scale:g}"
