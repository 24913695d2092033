"""Which branches in the memory load are found and followed; checking a spec costs no NumPy."""

import math
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.kappa_spec import DEFAULT_KAPPAS, SequenceSpec, read_kappas
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import ALL, count_or_all, one_of, real, whole
from hopfieldphase.runs.specs import StudySpec

DEFAULT_REFERENCES = {2.0: 0.12, 1.0: 0.08}
"""Reference κ₀ in the default range, by α."""

DEFAULT_TOP = 5


class LoadBranchSpec(StudySpec):
    """The minima at a reference κ₀ and the range of κ through which their branches are followed, at one β.

    `kappas` may be given as text (`runs.ranges`). Without `at` the reference is that of `DEFAULT_REFERENCES`
    for the default range, otherwise the middle value of the grid.
    """

    study: Annotated[str, one_of("study", ("branches-kappa",))] = "branches-kappa"
    patterns: SequenceSpec = SequenceSpec()  # pyright: ignore[reportIncompatibleVariableOverride]  # frozen
    beta: Annotated[float, BeforeValidator(inverse_temperature)] = 180.0
    kappas: Annotated[tuple[float, ...], BeforeValidator(read_kappas)] = parse_grid(DEFAULT_KAPPAS)
    at: Annotated[float | None, real("at", 0, math.inf, "()")] = None
    top: Annotated[int | str, count_or_all("top")] = DEFAULT_TOP
    realization: Annotated[int, whole("realization", 0)] = 0

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        first, last = self.kappas[0], self.kappas[-1]
        if first == last:
            raise InputError(
                f"kappas has one value, {first:g}: give at least the lowest and the highest kappa"
            )
        if self.at is None:
            default = DEFAULT_REFERENCES.get(self.alpha)
            if default is None or self.kappas != parse_grid(DEFAULT_KAPPAS):
                default = self.kappas[len(self.kappas) // 2]
            object.__setattr__(self, "at", default)
        elif not first <= self.at <= last:
            raise InputError(
                f"at = {self.at:.12g} lies outside the range [{first:.12g}, {last:.12g}] of kappas: "
                "choose a reference inside the range, or a wider range"
            )
        return self

    @property
    def count(self) -> int | None:
        """How many branches are followed at most; None for all."""
        return None if self.top == ALL else int(self.top)
