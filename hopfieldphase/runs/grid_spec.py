"""Which grid of sweeps, validated completely before anything runs; importing this costs no NumPy."""

import hashlib
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Self, get_args

import tomli_w
from pydantic import Field, PrivateAttr, model_validator

from hopfieldphase.core.errors import InputError
from hopfieldphase.runs.kappa_spec import KappaSpec, SequenceSpec
from hopfieldphase.runs.ranges import format_grid, parse_values
from hopfieldphase.runs.spec_base import TomlSpec, canonical, nearest, one_of, whole
from hopfieldphase.runs.specs import AttentionSpec, PatternSpec, SweepSpec

MAX_TASKS = 1_000_000
"""A grid with more tasks than this is taken as a slip, not as a wish."""

SWEEPS: dict[str, type[SweepSpec] | type[KappaSpec]] = {"sweep-beta": SweepSpec, "sweep-kappa": KappaSpec}

Value = bool | int | float | str
"""What an option on a grid axis can be."""

_SHARED = ("study", "realizations", "betas", "kappas", "keep_states", "device", "patterns", "sha256")
"""Options that all sweeps of a grid have in common."""

_WORDS = ("generator", "noise", "path", "solver", "start_up", "start_down", "attention")


class GridSpec(TomlSpec):
    """A grid over any model, pattern and sweep parameter, with realizations: one sweep at every point.

    `base` holds the options of a sweep in β (`SweepSpec`) or, with ``study = "sweep-kappa"``, in the memory
    load (`KappaSpec`), as their own study files do. `grid` gives some of them several values, as a list, a
    range ("0.02:0.08:0.02") or a comma list; every combination is one cell. An option of `patterns` or of
    `attention` stands in `grid` under its own name. `digests` are those of the pattern files, by their path.
    """

    study: Annotated[str, one_of("study", ("grid",))] = "grid"
    realizations: Annotated[int | None, whole("realizations", 1)] = None
    base: dict[str, Any] = Field(default_factory=dict)
    grid: dict[str, tuple[Value, ...]] = Field(default_factory=dict)
    digests: dict[str, str] = Field(default_factory=dict)
    _points: tuple[float, ...] = PrivateAttr(default=())

    @model_validator(mode="before")
    @classmethod
    def _read_axes(cls, options: Any) -> Any:
        if not isinstance(options, Mapping):
            return options
        for table in ("base", "grid"):
            if not isinstance(options.get(table, {}), Mapping):
                raise InputError(f"{table} is no table: write its options below a line [{table}]")
        base = options.get("base", {})
        kind = base.get("study", "sweep-beta")
        if kind not in SWEEPS:
            raise InputError(f"base.study = {kind!r} is no sweep: use {', '.join(SWEEPS)}")
        if "realizations" in base:
            raise InputError("realizations stands in [base]: write it above, beside study")
        axes = {name: axis_values(name, given) for name, given in options.get("grid", {}).items()}
        return {**options, "grid": axes}

    @model_validator(mode="after")
    def _check_all(self) -> Self:
        known = _options(self._kind, self._with_attention)
        for name in self.grid:
            if name in _SHARED:
                raise InputError(f"grid has {name}, which all its sweeps share: set it outside of [grid]")
            if name not in known:
                raise InputError(f"grid has the unknown option {name!r}{nearest(name, tuple(known))}")
            if name in self.base or name in self._table("patterns") or name in self._table("attention"):
                raise InputError(f"{name} stands in [base] and in [grid]: keep one of them")
        if self.cells * (self.realizations or 1) > MAX_TASKS:
            raise InputError(f"the grid has {self.cells} cells: at most {MAX_TASKS} sweeps are allowed")
        if self.base.get("keep_states") and {"d", "path"} & self.grid.keys():
            raise InputError("keep_states needs states of one dimension: take d or path out of [grid]")
        source = self._table("patterns")
        if "sha256" in source and "path" in source:
            object.__setattr__(self, "digests", {**self.digests, source["path"]: source["sha256"]})
        if self.base.get("device", "cpu") != "cpu":
            raise InputError(f"device = {self.base['device']}: the sweeps of a grid are computed on the CPU")
        first = self.cell(0)
        object.__setattr__(self, "realizations", first.realizations)
        if not first.grid:
            raise InputError("betas is not given: the sweeps of measured patterns need a common range")
        self._points = first.grid
        for _ in self.outlines():
            pass
        object.__setattr__(self, "base", self._resolved(first))
        if self.tasks > MAX_TASKS:
            raise InputError(f"the grid has {self.tasks} sweeps: at most {MAX_TASKS} are allowed")
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values of each axis, in the order of the file, and of realizations."""
        return (*(len(values) for values in self.grid.values()), self.realizations or 1)

    @property
    def cells(self) -> int:
        """Number of combinations."""
        return math.prod(len(values) for values in self.grid.values())

    @property
    def tasks(self) -> int:
        """Number of sweeps."""
        return math.prod(self.shape)

    @property
    def paths(self) -> tuple[str, ...]:
        """The pattern files that are read."""
        if "path" in self.grid:
            return tuple(str(path) for path in self.grid["path"])
        path = self._table("patterns").get("path")
        return () if path is None else (path,)

    def combination(self, number: int) -> dict[str, Value]:
        """The value of every axis at one cell; the last axis runs fastest."""
        found: dict[str, Value] = {}
        for name in reversed(self.grid):
            number, place = divmod(number, len(self.grid[name]))
            found[name] = self.grid[name][place]
        return {name: found[name] for name in self.grid}

    def cell(self, number: int, points: tuple[float, ...] = ()) -> SweepSpec | KappaSpec:
        """The spec of all realizations of one cell, on some points of the range only where they are given.

        Raises
        ------
        InputError
            Where this combination is none that a sweep takes; the message names it.
        """
        chosen = self.combination(number)
        options: dict[str, Any] = {**self.base, "realizations": self.realizations}
        if points or self._points:
            options[f"{self.parameter}s"] = points or self._points
        patterns = dict(self._table("patterns"))
        attention = {**self._table("attention")}
        for name, value in chosen.items():
            if name == "attention":
                attention["name"] = value
            elif self._with_attention and name in AttentionSpec.model_fields:
                attention[name] = value
            elif name in PatternSpec.model_fields:
                patterns[name] = value
            else:
                options[name] = value
        if patterns.get("path") in self.digests:
            patterns["sha256"] = self.digests[patterns["path"]]
        if attention:
            options["attention"] = attention
        try:
            source = SequenceSpec if self._kind is KappaSpec else PatternSpec
            return self._kind(**{**options, "patterns": source(**patterns)})
        except InputError as error:
            if not chosen:
                raise
            words = ", ".join(f"{name} = {value}" for name, value in chosen.items())
            raise InputError(f"the combination {words} of the grid is none: {error}") from None

    def specs(self) -> Iterator[SweepSpec | KappaSpec]:
        """The spec of every cell, one after the other."""
        return map(self.cell, range(self.cells))

    def outlines(self) -> Iterator[SweepSpec | KappaSpec]:
        """`specs` with no more of the range than its ends: all else is the same, and ten times as fast."""
        ends = tuple(sorted({self._points[0], self._points[-1]}))
        return (self.cell(number, ends) for number in range(self.cells))

    @property
    def parameter(self) -> str:
        """What is swept: beta or kappa."""
        return self._kind.parameter

    @property
    def is_resolved(self) -> bool:
        """Whether the digests of all pattern files are known."""
        return all(path in self.digests for path in self.paths)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all options in canonical form: the order of the axes counts, the place of files not."""
        if not self.is_resolved:
            raise InputError("the spec is not resolved: the digests of its pattern files must be looked up")
        options = self.model_dump(exclude_none=True)
        options["digests"] = [self.digests[path] for path in self.paths]
        options["base"] = {
            **self.base,
            "patterns": {key: value for key, value in self._table("patterns").items() if key != "path"},
        }
        options["axes"] = list(self.grid)
        text = json.dumps(canonical(options), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        axes = " x ".join(f"{len(values)} {name}" for name, values in self.grid.items())
        return (
            f"grid: {self.tasks} sweeps in {self.parameter}"
            f" ({axes + ' x ' if axes else ''}{self.realizations} realizations)"
        )

    def to_toml(self) -> str:
        """Every option as TOML, from which `from_toml` makes an equal spec."""
        grid = {name: list(values) for name, values in self.grid.items()}
        digests = {"digests": self.digests} if self.digests else {}
        head = {"study": self.study, "realizations": self.realizations}
        return tomli_w.dumps({**head, "base": self.base, "grid": grid, **digests})

    @property
    def _kind(self) -> "type[SweepSpec] | type[KappaSpec]":
        return SWEEPS[self.base.get("study", "sweep-beta")]

    @property
    def _with_attention(self) -> bool:
        return "attention" in self.grid or self.base.get("attention") is not None

    def _table(self, name: str) -> Mapping[str, Any]:
        """The options of the patterns or of the attention map in the base."""
        table = self.base.get(name, {})
        if isinstance(table, str) and name == "attention":
            return {"name": table}
        if not isinstance(table, Mapping):
            raise InputError(f"base.{name} is no table: write its options below a line [base.{name}]")
        return table

    def _resolved(self, first: SweepSpec | KappaSpec) -> dict[str, Any]:
        """The base with every default that all cells share."""
        nested = ("patterns", "attention")
        base = first.model_dump(exclude_none=True, exclude={"realizations", *nested, *self.grid})
        base[f"{first.parameter}s"] = format_grid(first.grid)
        for name, switches in zip(nested, ({"generator", "path"}, {"attention"}), strict=True):
            spec = getattr(first, name, None)
            if spec is None:
                continue
            # What takes which option depends on the source: only where that is one for all, defaults are.
            free = bool(switches & self.grid.keys())
            table = self._table(name) if free else spec.model_dump(exclude_none=True)
            base[name] = {key: value for key, value in table.items() if free or key not in self.grid}
            base[name].pop("sha256", None)
        return base


def axis_values(name: str, given: Any) -> tuple[Value, ...]:
    """The values of one axis: a list, one value, a comma list, or, of numbers, a range as text.

    Raises
    ------
    InputError
        Where the axis is empty, has a value twice, or is no list of what the option takes.
    """
    if isinstance(given, str) and name in _WORDS:
        entries: list[Any] = [word.strip() for word in given.split(",")]
    elif isinstance(given, str) and ":" in given:
        entries = list(parse_values(given, f"grid.{name}"))
    elif isinstance(given, str):
        entries = [_number(word, name) for word in given.split(",")]
    else:
        entries = list(given) if isinstance(given, list | tuple) else [given]
    if name not in _WORDS and name != "polish":
        entries = [_of_kind(entry, name) for entry in entries]
    kind = str if name in _WORDS else bool if name == "polish" else int | float
    for entry in entries:
        if not isinstance(entry, kind) or (kind is not bool and isinstance(entry, bool)):
            wanted = "words" if kind is str else "true and false" if kind is bool else "numbers"
            raise InputError(f"grid.{name} holds {entry!r}: give {wanted}, as a list or a comma list")
    if not entries:
        raise InputError(f"grid.{name} is empty: give at least one value")
    seen: set[Value] = set()
    for entry in entries:
        if entry in seen:
            raise InputError(f"grid.{name} has {entry} twice: give every value once")
        seen.add(entry)
    return tuple(entries)


def _number(word: str, name: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise InputError(
            f"grid.{name}: {word.strip()!r} is not a number; give a list, a comma list or start:stop:step"
        ) from None


def _of_kind(entry: Any, name: str) -> Any:
    """A number as the option takes it: counts are whole, all else is real."""
    if isinstance(entry, bool) or not isinstance(entry, int | float):
        return entry
    field = PatternSpec.model_fields.get(name) or AttentionSpec.model_fields.get(name)
    if field is None or int not in get_args(field.annotation):
        return float(entry)
    return int(entry) if float(entry).is_integer() else entry


def _options(kind: type[TomlSpec], with_attention: bool) -> tuple[str, ...]:
    """Names of all options that a sweep of this kind takes."""
    names = itertools.chain(
        kind.model_fields, PatternSpec.model_fields, AttentionSpec.model_fields if with_attention else ()
    )
    return tuple(dict.fromkeys(name for name in names if name not in (*_SHARED, "name")))
