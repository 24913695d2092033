"""Which branches are found and followed; importing this and checking a spec costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import ALL, count_or_all, one_of, real, whole
from hopfieldphase.runs.specs import DEFAULT_BETAS, PatternSpec, StudySpec

DEFAULT_REFERENCES = {2.0: 290.0, 1.0: 140.0}
"""Reference β₀ for the default patterns, by α."""


class BranchSpec(StudySpec):
    """The minima at a reference β₀ and the range of β through which their branches are followed.

    `betas` may be given as text (`runs.ranges`). It is the range in which branches are followed and the grid
    on which their curves are kept. Without it branches at α = 2 are followed from 0 to ∞; for other α the
    range is `DEFAULT_BETAS` for generators, and for digits and files it stays None until
    `runs.branches.resolve` suggests one. Without `at` the reference is that of `DEFAULT_REFERENCES`
    for the default patterns, otherwise the middle of the range.
    """

    study: Annotated[str, one_of("study", ("branches",))] = "branches"
    at: Annotated[float | None, real("at", 0, math.inf, "()")] = None
    betas: tuple[float, ...] | None = None
    top: Annotated[int | str, count_or_all("top")] = ALL
    realization: Annotated[int, whole("realization", 0)] = 0

    @model_validator(mode="before")
    @classmethod
    def _read_grid(cls, options: Any) -> Any:
        if isinstance(options, Mapping) and options.get("betas") is not None:
            return {**options, "betas": parse_grid(options["betas"])}
        return options

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        if math.isinf(self.alpha):
            raise InputError(
                "alpha = inf: the states do not depend on beta, there is no branch to follow: "
                "give a finite alpha"
            )
        if self.realization > 0 and not self.patterns.is_random:
            raise InputError(
                f"realization = {self.realization}, but these patterns have no randomness: leave it at 0"
            )
        if self.betas is None and self.alpha != 2.0 and not self.patterns.is_data:
            object.__setattr__(self, "betas", parse_grid(DEFAULT_BETAS))
        if self.betas is not None and self.betas[0] == self.betas[-1]:
            raise InputError(f"betas has one value, {self.betas[0]:g}: give the lowest and the highest beta")
        if self.at is None and not (self.betas is None and self.patterns.is_data):
            object.__setattr__(self, "at", self.reference_in(self.betas or parse_grid(DEFAULT_BETAS)))
        if self.betas is not None and self.at is not None:
            low, high = self.betas[0], self.betas[-1]
            if not low <= self.at <= high:
                raise InputError(
                    f"at = {self.at:.12g} lies outside the range [{low:.12g}, {high:.12g}] of betas: "
                    "choose a reference inside the range, or a wider range"
                )
        return self

    def reference_in(self, betas: tuple[float, ...]) -> float:
        """The reference β₀ that is taken where none is given."""
        known = DEFAULT_REFERENCES.get(self.alpha)
        as_default = self.patterns == PatternSpec(seed=self.patterns.seed)
        if known is not None and as_default and betas[0] <= known <= betas[-1]:
            return known
        first, *between, last = betas
        return between[len(between) // 2] if between else (first + last) / 2

    @property
    def reference_origin(self) -> str:
        """Where a reference that was not given comes from, in words."""
        known = self.at == DEFAULT_REFERENCES.get(self.alpha)
        return f"beta {self.at:.12g}, " + ("the default reference" if known else "the middle of the range")

    @property
    def is_resolved(self) -> bool:
        """Whether the reference, the range and the digest of a pattern file are known."""
        return super().is_resolved and self.at is not None and (self.betas is not None or self.alpha == 2.0)

    @property
    def count(self) -> int | None:
        """How many branches are followed at most; None for all."""
        return None if self.top == ALL else int(self.top)
