"""What a study of one model computes, validated and frozen: patterns, attention map, sweep.

Importing this module and checking a spec costs no NumPy: a wrong option is reported at once.
"""

import math
import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError, shown
from hopfieldphase.runs.attention_spec import PARAMETERS, REQUIRED
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.spec_base import (
    Spec,
    TomlSpec,
    one_of,
    real,
    whole,
)

DEFAULT_BETAS = "20:400:2"
DEFAULT_REALIZATIONS = 10

Noise = Literal["gaussian", "unit"]
Device = Literal["cpu", "cuda"]
Solver = Literal["auto", "gradient-descent", "fixed-point", "newton"]

SOURCES: dict[str, dict[str, Any]] = {
    "clustered": {"M": 100, "d": 64, "seed": 0, "clusters": 4, "delta": 0.04, "noise": "gaussian"},
    "spherical": {"M": 100, "d": 64, "seed": 0},
    "gaussian": {"M": 100, "d": 64, "seed": 0},
    "heavy_tailed": {"M": 100, "d": 64, "seed": 0, "degrees_of_freedom": 2.0},
    "equicorrelated": {"M": REQUIRED, "d": 64, "cosine": 0.0},
    "two_keys": {"epsilon": REQUIRED, "d": 16, "seed": 0},
    "circulant": {"M": REQUIRED, "d": 20, "seed": 0},
    "digits": {},
    "file": {"path": REQUIRED, "sha256": None},
}
"""What each source of patterns takes, with its defaults."""

GENERATORS = tuple(name for name in SOURCES if name != "file")

_START = re.compile(r"mean|best|continue|pattern:\d+")


def _start(name: str) -> BeforeValidator:
    def check(value: Any) -> str:
        if isinstance(value, str) and _START.fullmatch(value):
            return value
        raise InputError(
            f"{name} = {shown(value)} is not a start: use mean, best, continue, or pattern:k with "
            "k = 0 ... M - 1"
        )

    return BeforeValidator(check)


class PatternSpec(Spec):
    """Which stored patterns: a generator (or the digits) with its options, or the path of a file.

    Options that the source does not take are errors; those left out get its defaults (`SOURCES`). The
    digest of a file is that of its numbers, wherever the file lies and whatever its format.
    """

    sources: ClassVar[dict[str, dict[str, Any]]] = SOURCES

    generator: Annotated[str | None, one_of("generator", GENERATORS)] = None
    path: str | None = None
    sha256: str | None = None
    M: Annotated[int | None, whole("M", 1)] = None
    d: Annotated[int | None, whole("d", 1)] = None
    seed: Annotated[int | None, whole("seed", 0)] = None
    clusters: Annotated[int | None, whole("clusters", 1)] = None
    delta: Annotated[float | None, real("delta", 0, 1)] = None
    noise: Annotated[Noise | None, one_of("noise", get_args(Noise))] = None
    cosine: Annotated[float | None, real("cosine", -1, 1, "[)")] = None
    epsilon: Annotated[float | None, real("epsilon", -1, 1)] = None
    degrees_of_freedom: Annotated[float | None, real("degrees_of_freedom", 0.1, 1e6)] = None

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, options: Any) -> Any:
        """Give the options that the source takes their defaults, refuse those it does not take."""
        if not isinstance(options, Mapping):
            return options
        given = {name: value for name, value in options.items() if value is not None}
        source = given.pop("generator", GENERATORS[0] if "path" not in given else None)
        if source not in (None, *GENERATORS):
            return options
        shown = "patterns from a file" if source is None else f"{source} patterns"
        taken = cls.sources.get(source or "file")
        if taken is None:
            raise InputError(f"{shown} do not serve here: use {', '.join(cls.sources)}")
        if source is not None and "path" in given:
            raise InputError(f"both a generator ({source}) and a pattern file are given: choose one of them")
        for name in given:
            if name in cls.model_fields and name not in taken:
                takes = ", ".join(key for key in taken if key != "sha256")
                raise InputError(f"{name} does not apply to {shown}: they take {takes or 'no option'}")
        for name, default in taken.items():
            if default is REQUIRED and name not in given:
                raise InputError(f"{shown} need {name}: give a value")
        return {"generator": source} | taken | given

    @property
    def is_random(self) -> bool:
        """Whether realizations differ: a file and the deterministic generators have just one."""
        return self.seed is not None

    @property
    def is_data(self) -> bool:
        """Whether the patterns are measured ones, for which no default grid is known."""
        return self.generator in (None, "digits")


class AttentionSpec(Spec):
    """Which attention map in the place of the Tsallis family, with the parameters that it takes."""

    name: Annotated[str, one_of("attention", tuple(PARAMETERS))]
    k: Annotated[int | None, whole("k", 1)] = None
    p: Annotated[float | None, real("p", 0, 1, "(]")] = None
    alpha: Annotated[float | None, real("alpha", 0, math.inf, "(]")] = None
    gamma: Annotated[float | None, real("gamma", 1, math.inf, "(]")] = None
    budget: Annotated[float | None, real("budget", 0, math.inf, "()")] = None
    caps: Annotated[float | None, real("caps", 0, math.inf, "(]")] = None

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, options: Any) -> Any:
        """Take a name alone, give parameters their defaults, and refuse those that the map does not take."""
        options = {"name": options} if isinstance(options, str) else options
        if not isinstance(options, Mapping) or options.get("name") not in tuple(PARAMETERS):
            return options
        given = {name: value for name, value in options.items() if value is not None}
        shown, taken = f"{given['name']} attention", PARAMETERS[given["name"]]
        for name in given:
            if name != "name" and name in cls.model_fields and name not in taken:
                raise InputError(
                    f"{name} does not apply to {shown}: it takes {', '.join(taken) or 'no option'}"
                )
        for name, default in taken.items():
            if default is REQUIRED and name not in given:
                raise InputError(f"{shown} needs {name}: give a value")
        return taken | given


class StudySpec(TomlSpec):
    """What every study of one model starts from: stored patterns and the Tsallis index."""

    alpha: Annotated[float, BeforeValidator(tsallis_index)] = 2.0
    patterns: PatternSpec = PatternSpec()

    @property
    def is_resolved(self) -> bool:
        """Whether nothing is left to be found in the data: the digest of a pattern file is known."""
        return self.patterns.path is None or self.patterns.sha256 is not None


class FollowSpec(StudySpec):
    """What sweeps in any parameter have in common: realizations, starts, and how minima are found.

    `parameter` is the swept one, "beta" or "kappa".
    """

    parameter: ClassVar[str]
    realizations: Annotated[int | None, whole("realizations", 1)] = None
    start_up: Annotated[str, _start("start_up")] = "mean"
    start_down: Annotated[str, _start("start_down")] = "pattern:0"
    solver: Annotated[Solver, one_of("solver", get_args(Solver))] = "auto"
    tol: Annotated[float | None, real("tol", 4 * sys.float_info.epsilon, 1, "[)")] = None
    polish: bool = True
    keep_states: bool = False
    device: Annotated[Device, one_of("device", get_args(Device))] = "cpu"

    @model_validator(mode="after")
    def _follow(self) -> Self:
        random = self.patterns.is_random
        if self.realizations is None:
            object.__setattr__(self, "realizations", DEFAULT_REALIZATIONS if random else 1)
        elif self.realizations > 1 and not random:
            raise InputError(
                f"realizations = {self.realizations}, but these patterns have no randomness: leave it at 1"
            )
        if self.start_up == self.start_down == "continue":
            raise InputError(
                "start_up and start_down are both 'continue': one of them needs a start of its own, like mean"
            )
        return self

    def check_starts(self, M_up: int, M_down: int) -> None:
        """Raise `InputError` where a start names a pattern that its sweep does not begin with."""
        starts = (("start_up", self.start_up, M_up), ("start_down", self.start_down, M_down))
        for name, start, M in starts:
            if int(start.partition(":")[2] or 0) >= M:
                raise InputError(
                    f"{name} = {start}, but there are {M} patterns: use pattern:0 to pattern:{M - 1}"
                )


class SweepSpec(FollowSpec):
    """One sweep in the inverse temperature, up and down, with every option resolved.

    `betas` may be given as text (`runs.ranges`); without it generators get `DEFAULT_BETAS`, while for
    digits and files it stays None until `runs.sweeps.resolve` suggests a range from the data.
    """

    parameter: ClassVar[str] = "beta"
    study: Annotated[str, one_of("study", ("sweep-beta",))] = "sweep-beta"
    betas: tuple[float, ...] | None = None
    attention: AttentionSpec | None = None

    @model_validator(mode="before")
    @classmethod
    def _read_grid(cls, options: Any) -> Any:
        if isinstance(options, Mapping) and options.get("betas") is not None:
            options = {**options, "betas": parse_grid(options["betas"])}
        if isinstance(options, Mapping) and options.get("attention") is not None:
            refuse_beside_attention(options)
        return options

    @model_validator(mode="after")
    def _resolve(self) -> Self:
        if self.attention is not None:
            object.__setattr__(self, "alpha", None)  # the map stands in its place
            if self.betas is None and self.patterns.is_data:
                raise InputError("betas is not given: for an attention map no range is known, name one")
        if self.betas is None and not self.patterns.is_data:
            object.__setattr__(self, "betas", parse_grid(DEFAULT_BETAS))
        if self.patterns.M is not None:
            self.check_starts(self.patterns.M, self.patterns.M)
        return self

    @property
    def grid(self) -> tuple[float, ...]:
        """Values of the swept parameter; none before they are resolved."""
        return self.betas or ()

    @property
    def is_resolved(self) -> bool:
        """Whether the grid and the digest of a pattern file are known."""
        return super().is_resolved and self.betas is not None


def refuse_beside_attention(options: Mapping[str, Any]) -> None:
    """Raise `InputError` where an option is given that means nothing to an attention map."""
    attention = options["attention"]
    name = attention.get("name") if isinstance(attention, Mapping) else getattr(attention, "name", attention)
    if options.get("alpha") is not None:
        raise InputError(
            f"alpha = {options['alpha']} and attention = {name} are both given: choose one of them"
        )
    for option, default in (("solver", "auto"), ("polish", True)):
        if options.get(option, default) != default:
            raise InputError(
                f"{option} = {options[option]} does not apply to attention maps: leave it at {default}"
            )
