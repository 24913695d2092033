"""Options as a frozen model: their validators, their TOML form, their fingerprint.

Importing this module and checking a spec costs no NumPy: a wrong option is reported at once.
"""

import hashlib
import json
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

import tomli_w
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from hopfieldphase.core.checks import LARGEST, real_number, whole_number
from hopfieldphase.core.errors import InputError, one_line, shown
from hopfieldphase.runs.ranges import format_grid

ALL = "all"
"""Stands for the number of all that are found."""


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


def word_list(name: str, given: object, known: str) -> tuple[str, ...]:
    """Read a comma list, or a sequence, of words, each once; an `InputError` says what is known."""
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple) or not parts:
        raise InputError(f"{name} = {shown(given)} is no list of words: use {known}")
    found = tuple(str(part).strip() for part in parts)
    if len(set(found)) < len(found):
        raise InputError(f"{name} = {shown(','.join(found))}: give each once")
    return found


def words(name: str, given: object, known: tuple[str, ...]) -> tuple[str, ...]:
    """Read a comma list, or a sequence, of some known words, each once.

    Raises
    ------
    InputError
        For anything else; the nearest known word is named.
    """
    found = word_list(name, given, ", ".join(known))
    for word in found:
        if word not in known:
            raise InputError(f"{name} has {shown(word)}{nearest(word, known)}: use {', '.join(known)}")
    return found


def nearest(word: object, known: tuple[str, ...]) -> str:
    """The known word that is most like another one, in words; empty where none is."""
    matches = get_close_matches(shown(word).strip("'"), known, n=1)
    return f"; the nearest is {matches[0]!r}" if matches else ""


def refuse_beside_spec(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
    """Raise `InputError` for an option next to a spec that is not left at its default."""
    for name, value in options.items():
        if not (isinstance(value, type(defaults[name])) and value == defaults[name]):
            raise InputError(
                f"{name} is given next to a spec, which holds all options: change it in the spec"
            )
