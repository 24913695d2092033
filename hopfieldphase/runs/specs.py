"""What a study computes, validated and frozen: patterns and sweep, their TOML form, their fingerprint.

Importing this module and checking a spec costs no NumPy: a wrong option is reported at once.
"""

import hashlib
import json
import math
import re
import sys
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import tomli_w
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, model_validator

from hopfieldphase.core.checks import LARGEST, real_number, whole_number
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError, one_line, shown
from hopfieldphase.runs.attention_spec import PARAMETERS, REQUIRED
from hopfieldphase.runs.ranges import format_grid, parse_grid

DEFAULT_BETAS = "20:400:2"
DEFAULT_REALIZATIONS = 10

Noise = Literal["gaussian", "unit"]
Device = Literal["cpu", "cuda"]
Solver = Literal["auto", "gradient-descent", "fixed-point", "newton"]

ALL = "all"
"""Stands for the number of all that are found."""

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


def whole(name: str, at_least: int) -> BeforeValidator:
    """A whole number from `at_least` on, or None."""
    return BeforeValidator(
        lambda value: None if value is None else whole_number(name, value, at_least, LARGEST)
    )


def real(name: str, low: float, high: float, ends: str = "[]") -> BeforeValidator:
    """A real number between two limits, or None."""
    return BeforeValidator(
        lambda value: None if value is None else real_number(name, value, low, high, ends=ends)
    )


def one_of(name: str, choices: tuple[str, ...]) -> BeforeValidator:
    """One of some words, or None; for another the nearest is named."""

    def check(value: Any) -> Any:
        if value is None or value in choices:
            return value
        raise InputError(
            f"{name} = {shown(value)} is unknown{nearest(value, choices)}: use {', '.join(choices)}"
        )

    return BeforeValidator(check)


def count_or_all(name: str) -> BeforeValidator:
    """A whole number from 1 on, or `ALL`; digits as text are a number."""

    def check(value: Any) -> int | str:
        if value == ALL:
            return ALL
        try:
            return whole_number(name, int(value) if isinstance(value, str) else value, 1)
        except (TypeError, ValueError):
            raise InputError(
                f"{name} = {shown(value)} is neither a whole number >= 1 nor {ALL!r}: give one of them"
            ) from None

    return BeforeValidator(check)


def _start(name: str) -> BeforeValidator:
    def check(value: Any) -> str:
        if isinstance(value, str) and _START.fullmatch(value):
            return value
        raise InputError(
            f"{name} = {shown(value)} is not a start: use mean, best, continue, or pattern:k with "
            "k = 0 ... M - 1"
        )

    return BeforeValidator(check)


class Spec(BaseModel):
    """Frozen options; an unknown key is an error that names the nearest known one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    def __init__(self, /, **options: Any) -> None:
        try:
            super().__init__(**options)
        except ValidationError as error:
            raise InputError(one_line(_complaint(error, tuple(type(self).model_fields)))) from None
        except InputError as error:
            raise InputError(one_line(str(error))) from error


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


class TomlSpec(Spec):
    """The name of a study, the TOML form of its options, and their fingerprint."""

    study: str

    @classmethod
    def from_toml(cls, path: str | Path, *, reduced: bool = False) -> Self:
        """Read a spec from a TOML file.

        Parameters
        ----------
        path : path-like
        reduced : bool
            Take the options in the table `reduced` of the file, a quick setting for tests, before the others.

        Raises
        ------
        InputError
            If the file cannot be read, is not TOML, or holds an unknown key or a wrong value.
        """
        return cls(**read_toml(path, reduced=reduced))

    def to_toml(self) -> str:
        """Every option as TOML, from which `from_toml` makes an equal spec."""
        options = self.model_dump(exclude_none=True)
        return tomli_w.dumps(
            {name: _as_text(item) if isinstance(item, tuple) else item for name, item in options.items()}
        )

    @property
    def is_resolved(self) -> bool:
        """Whether nothing is left to be found in the data."""
        return True

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all options in canonical form: floats by their exact value, files by their numbers.

        Raises
        ------
        InputError
            Before the spec is resolved.
        """
        if not self.is_resolved:
            raise InputError("the spec is not resolved: what it leaves to the data must be looked up first")
        options = self.model_dump(exclude_none=True)
        options.get("patterns", {}).pop("path", None)
        text = json.dumps(canonical(options), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def default_folder(self) -> Path:
        """`runs/<study>-<hash>`: equal specs meet in one folder, others do not."""
        return Path("runs") / f"{self.study}-{self.fingerprint[:8]}"


def _as_text(values: tuple[Any, ...]) -> str:
    """A grid of numbers, or names."""
    return ",".join(values) if values and isinstance(values[0], str) else format_grid(values)


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


def read_toml(path: str | Path, *, reduced: bool = False) -> dict[str, Any]:
    """The options in a TOML file, see `TomlSpec.from_toml`; `InputError` if it cannot be read or is none."""
    try:
        options = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        _check_numbers(options)
    except InputError as error:
        raise InputError(f"the spec {path} has {error}") from None
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else one_line(str(error), 200)
        raise InputError(f"cannot read the spec {path}: {reason}; give a TOML file") from error
    quick = options.pop("reduced", {})
    return options | quick if reduced and isinstance(quick, dict) else options


def _check_numbers(value: Any) -> None:
    """Raise `InputError` for a whole number that TOML does not allow, `RecursionError` for deep tables."""
    if isinstance(value, int) and not -LARGEST <= value <= LARGEST:
        raise InputError(f"the number {shown(value)}: give whole numbers of 64 bits")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _check_numbers(item)


def canonical(value: Any) -> Any:
    """JSON values in which a float is its exact hexadecimal form."""
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, Mapping):
        return {key: canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    return value


def _complaint(error: ValidationError, known: tuple[str, ...]) -> str:
    """The first complaint of pydantic; the package's own messages pass unchanged."""
    first = error.errors()[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "value_error":
        return str(first.get("ctx", {})["error"])
    if first["type"] == "extra_forbidden":
        return f"unknown key {shown(name)}{nearest(name, known)}: known are {', '.join(known)}"
    return f"{name} = {shown(first['input'])}: {first['msg'].replace('Input should', 'it must', 1)}"


def words(name: str, given: object, known: tuple[str, ...]) -> tuple[str, ...]:
    """Read a comma list, or a sequence, of some known words, each once.

    Raises
    ------
    InputError
        For anything else; the nearest known word is named.
    """
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or not parts:
        raise InputError(f"{name} = {shown(given)} is no list of words: use {', '.join(known)}")
    found = tuple(str(part).strip() for part in parts)
    for part in found:
        if part not in known:
            raise InputError(f"{name} has {shown(part)}{nearest(part, known)}: use {', '.join(known)}")
    if len(set(found)) < len(found):
        raise InputError(f"{name} = {shown(','.join(found))}: give each once")
    return found


def nearest(word: object, known: tuple[str, ...]) -> str:
    """The known word that is most like another one, in words; empty where none is."""
    matches = get_close_matches(shown(word).strip("'"), known, n=1)
    return f"; the nearest is {matches[0]!r}" if matches else ""
