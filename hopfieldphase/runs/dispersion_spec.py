"""How long contexts become, and with which scores; importing this costs no NumPy."""

import math
from typing import Annotated, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.large_d_spec import whole_numbers
from hopfieldphase.runs.spec_base import TomlSpec, one_of, real, whole

LONGEST = 2**25
"""Most scores in one context."""

LENGTHS = (*(m * 10**e for e in range(6) for m in (1, 2, 5)), 1_000_000)[1:]
"""2, 5, 10, …, 10⁶."""


class DispersionSpec(TomlSpec):
    """Contexts of the given `lengths`, of scores of one spread and of two levels of scores.

    `draws` contexts of scores uniform in [0, `spread`]; `relevant` scores at `gap` above all others, which
    are to hold the share `mass`; and a context of `context` uniform scores to which one more is appended.
    `slope` is that of scalable softmax, `trained_length` that of YaRN. `lengths` may be given as text
    (`runs.ranges`).
    """

    study: Annotated[str, one_of("study", ("dispersion",))] = "dispersion"
    seed: Annotated[int, whole("seed", 0)] = 0
    alpha: Annotated[float, real("alpha", 1.01, 2)] = 1.5
    spread: Annotated[float, real("spread", 0, 100, "(]")] = 5.7
    relevant: Annotated[int, whole("relevant", 1)] = 4
    gap: Annotated[float, real("gap", 0, 100, "(]")] = 1.0
    mass: Annotated[float, real("mass", 0, 1, "()")] = 0.9
    lengths: Annotated[tuple[int, ...], whole_numbers("lengths", 2)] = LENGTHS
    draws: Annotated[int, whole("draws", 1)] = 10
    slope: Annotated[float, real("slope", 0, math.inf, "()")] = 1.0
    trained_length: Annotated[int, whole("trained_length", 1)] = 64
    context: Annotated[int, whole("context", 2)] = 64

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if max(self.lengths[-1], self.context) > LONGEST:
            raise InputError(f"a context has more than {LONGEST} scores: give shorter ones")
        if len(self.lengths) < 4:
            raise InputError(
                f"lengths has {len(self.lengths)} values: growth is fitted over half of at least 4"
            )
        if self.lengths[-1] * self.mass <= self.relevant:
            raise InputError(
                f"relevant = {self.relevant} of {self.lengths[-1]} equal scores hold {self.mass:g} already: "
                "give longer contexts or a larger mass"
            )
        return self

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return (
            f"dispersion of attention: spread {self.spread:g}, {self.relevant} relevant scores, up to "
            f"{self.lengths[-1]} scores, {self.draws} draws"
        )
