"""Which attention maps are drawn on two and three scores; importing this costs no NumPy."""

from typing import Annotated, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

MOST_POINTS = 2001
"""Most points along a side of the plane of scores."""


class SimplexMapsSpec(TomlSpec):
    """Softmax, α-entmax, sparsemax, the `k` largest, a share `p`, and sparsemax under `caps`.

    Differences of scores reach from −`reach` to `reach`, in `points` values a side.
    """

    study: Annotated[str, one_of("study", ("simplex-maps",))] = "simplex-maps"
    alpha: Annotated[float, real("alpha", 1.01, 2)] = 1.5
    k: Annotated[int, whole("k", 1)] = 2
    p: Annotated[float, real("p", 0, 1, "(]")] = 0.8
    caps: Annotated[float, real("caps", 0.5, 1)] = 0.6
    reach: Annotated[float, real("reach", 0.1, 100)] = 2.5
    points: Annotated[int, whole("points", 9)] = 241

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.k > 2:
            raise InputError(f"k = {self.k}, but the maps are drawn on two scores too: give 1 or 2")
        if self.points > MOST_POINTS:
            raise InputError(f"points = {self.points}: give at most {MOST_POINTS} a side")
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return f"attention maps on two and three scores, differences up to {self.reach:g}"
