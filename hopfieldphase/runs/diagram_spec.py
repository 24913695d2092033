"""What a phase diagram computes; importing this and checking a spec costs no NumPy."""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import one_of, real, whole
from hopfieldphase.runs.specs import PatternSpec, StudySpec

AXES = ("kappa", "alpha", "noise-strength", "epsilon")
"""What the second axis can be."""

DEFAULT_VALUES = {
    "kappa": "0.1:0.28:0.01",
    "alpha": "0.5:2.875:0.125",
    "noise-strength": "0.01:0.2:0.01",
    "epsilon": "0.03:0.87:0.04",
}

DEFAULT_SOURCES: dict[str, dict[str, Any]] = {
    "kappa": {"generator": "clustered", "d": 16},
    "alpha": {"generator": "equicorrelated", "M": 10, "d": 16},
    "noise-strength": {"generator": "clustered", "M": 40, "d": 24},
    "epsilon": {"generator": "two_keys"},
}

_GENERATORS = {
    "kappa": ("clustered", "spherical", "gaussian", "heavy_tailed"),
    "noise-strength": ("clustered",),
    "epsilon": ("two_keys", "equicorrelated"),
}
# The option of a generator whose place the second axis takes.
_TAKEN = {
    ("kappa", "*"): "M",
    ("noise-strength", "clustered"): "delta",
    ("epsilon", "two_keys"): "epsilon",
    ("epsilon", "equicorrelated"): "cosine",
}


class DiagramSpec(StudySpec):
    """Maps and lines over β and a second parameter y, with every option resolved.

    `betas` and `y_values` may be given as text (`runs.ranges`); they are cell centres. Without `betas` a
    range is suggested from the patterns (`runs.diagram.resolve_diagram`). The option of the patterns that is
    the second axis holds its first value.
    """

    study: Annotated[str, one_of("study", ("phase-diagram",))] = "phase-diagram"
    y: Annotated[str, one_of("y", AXES)]
    betas: tuple[float, ...] | None = None
    y_values: tuple[float, ...]
    realizations: Annotated[int, whole("realizations", 1)] = 1
    queries: Annotated[int, whole("queries", 1)] = 16
    query_noise: Annotated[float, real("query_noise", 0, 100)] = 0.3

    @model_validator(mode="before")
    @classmethod
    def _read_grids(cls, options: Any) -> Any:
        if not isinstance(options, Mapping) or options.get("y") not in AXES:
            return options
        y = options["y"]
        grids = {"y_values": parse_grid(options.get("y_values") or DEFAULT_VALUES[y], "y_values")}
        if options.get("betas") is not None:
            grids["betas"] = parse_grid(options["betas"])
        return {**options, **grids}

    @model_validator(mode="after")
    def _fit(self) -> Self:
        for name in ("betas", "y_values"):
            values = getattr(self, name)
            if values is not None and len(values) < 2:
                raise InputError(f"{name} has one value: a phase diagram needs at least two cells each way")
        if math.isinf(self.alpha):
            raise InputError("alpha = inf has no lines to follow: give a finite alpha")
        source = self.patterns
        allowed = _GENERATORS.get(self.y)
        if allowed is not None and source.generator not in allowed:
            shown = source.generator or "patterns from a file"
            raise InputError(
                f"y = {self.y} does not apply to {shown}: use --generator {' or '.join(allowed)}"
            )
        highest = {"noise-strength": 1.0, "epsilon": 1.0}.get(self.y, math.inf)
        if self.y_values[-1] >= highest:
            raise InputError(
                f"y_values ends at {self.y_values[-1]:g}, outside the domain of {self.y}: "
                f"stay below {highest:g}"
            )
        if self.y == "kappa":
            self.check_loads(int(source.d or 0))
        if self.realizations > 1 and not source.is_random:
            raise InputError(
                f"realizations = {self.realizations}, but these patterns have no randomness: leave it at 1"
            )
        return self

    def check_loads(self, d: int) -> None:
        """Raise `InputError` where the memory load asks for no pattern or for too many."""
        sizes = [self.size(kappa, d) for kappa in (self.y_values[0], self.y_values[-1])]
        if not 2 <= sizes[0] <= sizes[1] <= MOST_PATTERNS:
            raise InputError(
                f"kappa from {self.y_values[0]:g} to {self.y_values[-1]:g} at d = {d} asks for {sizes[0]} to "
                f"{sizes[1]} patterns: choose values that ask for 2 to {MOST_PATTERNS}"
            )

    @staticmethod
    def size(kappa: float, d: int) -> int:
        """Number of patterns M = round(exp(κ d)), at most one above the largest that is allowed."""
        exponent = min(kappa * d, math.log(MOST_PATTERNS + 1))
        return round(math.exp(exponent))

    @property
    def coordinate(self) -> str:
        """Name of the second axis in a dataset."""
        return self.y.replace("-", "_")

    @property
    def is_resolved(self) -> bool:
        """Whether the range of β and the digest of a pattern file are known."""
        return super().is_resolved and self.betas is not None


MOST_PATTERNS = 2000
"""Largest number of patterns in a diagram: every cell searches for coexisting states."""


def diagram_spec(y: str, given: Mapping[str, Any], alpha: float | None, **study: Any) -> DiagramSpec:
    """A spec from the options of the command line, those that were not given being None.

    Parameters
    ----------
    y : str
        The second axis, one of `AXES`.
    given : mapping
        Options of `PatternSpec`.
    alpha : float or None
    **study
        Further options of `DiagramSpec`.

    Raises
    ------
    InputError
        If an option is given whose place the second axis takes, or any other does not fit.
    """
    if y not in AXES:
        raise InputError(f"y = {y!r} is unknown: use {', '.join(AXES)}")
    options = {name: value for name, value in given.items() if value is not None}
    if y == "alpha" and alpha is not None:
        raise InputError("alpha is the second axis: give its values with --y-values, not with --alpha")
    chosen = options.get("generator")
    default = DEFAULT_SOURCES[y]
    if "path" not in options and chosen in (None, default["generator"]):
        options = default | options
    taken = _TAKEN.get((y, "*")) or _TAKEN.get((y, str(options.get("generator"))))
    if taken is not None:
        if taken in options:
            raise InputError(f"{taken} follows from the second axis {y}: give its values with --y-values")
        values = parse_grid(study.get("y_values") or DEFAULT_VALUES[y], "y_values")
        options[taken] = 1 if y == "kappa" else values[0]
    study = {name: value for name, value in study.items() if value is not None}
    return DiagramSpec(y=y, patterns=PatternSpec(**options), alpha=2.0 if alpha is None else alpha, **study)
