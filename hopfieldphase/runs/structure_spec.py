"""Which phase structure is computed: a sweep, and branches followed from one reference; costs no NumPy."""

import math
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.runs.branch_spec import BranchSpec
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.load_branch_spec import LoadBranchSpec
from hopfieldphase.runs.ranges import format_grid, format_number
from hopfieldphase.runs.spec_base import count_or_all, one_of, real, whole
from hopfieldphase.runs.specs import SweepSpec

DEFAULT_TOP = 5


class StructureSpec(SweepSpec):
    """A sweep in β over all realizations, and the branches found at β₀ = `at` among those of one of them."""

    study: Annotated[str, one_of("study", ("structure-beta",))] = "structure-beta"
    at: Annotated[float | None, real("at", 0, math.inf, "()")] = None
    top: Annotated[int | str, count_or_all("top")] = DEFAULT_TOP
    realization: Annotated[int, whole("realization", 0)] = 0

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        object.__setattr__(self, "at", self.branches.at)  # the default, or checked there
        return self

    @property
    def sweep(self) -> SweepSpec:
        """The sweep of all realizations."""
        return SweepSpec(**_options(self, SweepSpec))

    @property
    def branches(self) -> BranchSpec:
        """The branches."""
        return BranchSpec(**_options(self, BranchSpec))

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return _headline(self)


class LoadStructureSpec(KappaSpec):
    """A sweep in κ over all realizations, and the branches found at κ₀ = `at` among those of one of them."""

    study: Annotated[str, one_of("study", ("structure-kappa",))] = "structure-kappa"
    at: Annotated[float | None, real("at", 0, math.inf, "()")] = None
    top: Annotated[int | str, count_or_all("top")] = DEFAULT_TOP
    realization: Annotated[int, whole("realization", 0)] = 0

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        object.__setattr__(self, "at", self.branches.at)  # the default, or checked there
        return self

    @property
    def sweep(self) -> KappaSpec:
        """The sweep of all realizations."""
        return KappaSpec(**_options(self, KappaSpec))

    @property
    def branches(self) -> LoadBranchSpec:
        """The branches."""
        return LoadBranchSpec(**_options(self, LoadBranchSpec))

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        return _headline(self)


def _options(spec: "StructureSpec | LoadStructureSpec", part: Any) -> dict[str, Any]:
    """The options that a part of the study takes."""
    given = spec.model_dump(exclude_none=True, exclude={"study"})
    return {name: value for name, value in given.items() if name in part.model_fields}


def _headline(spec: "StructureSpec | LoadStructureSpec") -> str:
    name, source = spec.parameter, spec.patterns
    attention = getattr(spec, "attention", None)
    facts = [
        f"alpha {format_number(spec.alpha)}" if attention is None else attention.name,
        str(source.path or source.generator),
    ]
    facts += [f"{size} {getattr(source, size)}" for size in ("M", "d") if getattr(source, size) is not None]
    facts += [f"{name} {format_grid(spec.grid)}", f"{spec.realizations} realizations"]
    at = "" if spec.at is None else f" at {spec.at:.12g}"
    return f"structure {name}: {', '.join(facts)}, branches{at}"
