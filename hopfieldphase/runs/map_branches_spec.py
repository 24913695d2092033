"""Which fixed points of an attention map are found and followed; importing this costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.data.wording import attention_text
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.spec_base import ALL, count_or_all, one_of, real, whole
from hopfieldphase.runs.specs import DEFAULT_BETAS, AttentionSpec, StudySpec, refuse_beside_attention

DEFAULT_TOP = 10
"""Branches that are followed: some maps have hundreds."""


class MapBranchesSpec(StudySpec):
    """The fixed points at a reference β₀ and the range of β through which their branches are followed.

    `betas` may be given as text (`runs.ranges`). It is the range in which branches are followed and the grid
    on which their curves are kept, by default `DEFAULT_BETAS`; digits and files need one. Without `at` the
    reference is the middle of the range.
    """

    study: Annotated[str, one_of("study", ("branches-map",))] = "branches-map"
    attention: AttentionSpec
    at: Annotated[float | None, real("at", 0, math.inf, "()")] = None
    betas: tuple[float, ...] = ()
    top: Annotated[int | str, count_or_all("top")] = DEFAULT_TOP
    realization: Annotated[int, whole("realization", 0)] = 0

    @model_validator(mode="before")
    @classmethod
    def _read(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        given = options.get("betas")
        options = {**options, "betas": () if given is None or given == () else parse_grid(given)}
        if options.get("attention") is None:
            raise InputError("attention is not given: name the map, such as log-elu")
        refuse_beside_attention(options)
        return options

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        object.__setattr__(self, "alpha", None)  # the map stands in its place
        if self.realization > 0 and not self.patterns.is_random:
            raise InputError(
                f"realization = {self.realization}, but these patterns have no randomness: leave it at 0"
            )
        if not self.betas:
            if self.patterns.is_data:
                raise InputError("betas is not given: for an attention map no range is known, name one")
            object.__setattr__(self, "betas", parse_grid(DEFAULT_BETAS))
        low, high = self.betas[0], self.betas[-1]
        if low == high:
            raise InputError(f"betas has one value, {low:g}: give the lowest and the highest beta")
        if self.at is None:
            between = self.betas[1:-1]
            middle = between[len(between) // 2] if between else (low + high) / 2
            object.__setattr__(self, "at", middle)
        elif not low <= self.at <= high:
            raise InputError(
                f"at = {self.at:.12g} lies outside the range [{low:.12g}, {high:.12g}] of betas: "
                "choose a reference inside the range, or a wider range"
            )
        return self

    @property
    def reference(self) -> float:
        """The reference β₀."""
        return self.at or self.betas[0]

    @property
    def count(self) -> int | None:
        """How many branches are followed at most; None for all."""
        return None if self.top == ALL else int(self.top)

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        source = self.patterns
        facts = [attention_text(self.attention.model_dump(exclude_none=True))]
        facts += [str(source.path or source.generator)]
        facts += [
            f"{name} {getattr(source, name)}" for name in ("M", "d") if getattr(source, name) is not None
        ]
        facts += [f"at beta {self.reference:.12g}", f"beta {format_grid(self.betas)}"]
        return f"branches beta: {', '.join(facts)}"
