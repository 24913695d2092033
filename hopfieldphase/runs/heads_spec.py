"""Which checkpoint reads which text, and what is asked of its heads; importing this costs no NumPy."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from hopfieldphase.core.errors import InputError, shown
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.spec_base import ALL, TomlSpec, count_or_all, one_of

DEFAULT_ALPHAS = (1.0, 1.5, 2.0)
DEFAULT_TOP = 5

CONFIG = "config.json"
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "sentencepiece.bpe.model", "spiece.model")
"""Any of these files makes a tokenizer."""


def _indices(name: str) -> BeforeValidator:
    def check(value: Any) -> str:
        text = "" if isinstance(value, bool) else str(value)
        parts = [part.strip() for part in text.split(",")]
        if text == ALL:
            return text
        if not all(part.isdecimal() for part in parts):
            raise InputError(
                f"{name} = {shown(value)} is no list of numbers: give {ALL}, or numbers like 0,3,5"
            )
        return ",".join(map(str, sorted({int(part) for part in parts})))

    return BeforeValidator(check)


class HeadsSpec(TomlSpec):
    """A checkpoint folder, a text file, and the indices α at which the keys of every head are studied.

    `model` and `text` are paths; the digests say what lies there, so that equal content gives one result
    wherever it lies. `centred` takes the mean key out first, which no attention weight notices. `top` is how
    many branches of minima are followed.
    """

    study: Annotated[str, one_of("study", ("heads",))] = "heads"
    model: str
    text: str
    model_sha256: str | None = None
    text_sha256: str | None = None
    alphas: tuple[float, ...] = DEFAULT_ALPHAS
    layers: Annotated[str, _indices("layers")] = ALL
    heads: Annotated[str, _indices("heads")] = ALL
    centred: bool = False
    top: Annotated[int | str, count_or_all("top")] = DEFAULT_TOP

    @model_validator(mode="before")
    @classmethod
    def _read_grid(cls, options: Any) -> Any:
        if isinstance(options, Mapping) and options.get("alphas") is not None:
            return {**options, "alphas": parse_grid(options["alphas"], "alphas")}
        return options

    @model_validator(mode="after")
    def _find_digests(self) -> Self:
        if self.model_sha256 is None:
            object.__setattr__(self, "model_sha256", checkpoint_digest(self.model))
        if self.text_sha256 is None:
            object.__setattr__(self, "text_sha256", text_digest(read_text(self.text)))
        return self

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all options, with the content of checkpoint and text in the place of their paths."""
        return super(HeadsSpec, self.model_copy(update={"model": "", "text": ""})).fingerprint

    @property
    def headline(self) -> str:
        """What is computed, in one line."""
        what = "" if self.layers == self.heads == ALL else f", layers {self.layers}, heads {self.heads}"
        keys = "keys without their mean" if self.centred else "keys"
        return (
            f"attention heads of {checkpoint_name(self.model)}: {keys} from {Path(self.text).name}, "
            f"alpha {format_grid(self.alphas)}{what}"
        )


def checkpoint_name(folder: str | Path) -> str:
    """The last two parts of the path of a checkpoint."""
    return "/".join(Path(folder).resolve().parts[-2:])


def read_config(folder: str | Path) -> dict[str, Any]:
    """The `config.json` of a checkpoint.

    Raises
    ------
    InputError
        If the folder is none, or has no readable configuration, no safetensors weights or no tokenizer.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError(f"{folder} is no folder: give that of a checkpoint, with its {CONFIG}")
    try:
        config = json.loads((place / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder} has no {CONFIG}: give the folder of a checkpoint") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{place / CONFIG} cannot be read ({error}): save the checkpoint again") from error
    if not isinstance(config, dict):
        raise InputError(f"{place / CONFIG} holds no JSON object: save the checkpoint again")
    if not any(place.glob("*.safetensors")):
        raise InputError(
            f"{folder} has no weights: give a folder with model.safetensors (other formats can run code)"
        )
    if not any((place / name).is_file() for name in TOKENIZERS):
        raise InputError(f"{folder} has no tokenizer: give a folder with one of {', '.join(TOKENIZERS)}")
    return config


def checkpoint_digest(folder: str | Path) -> str:
    """SHA-256 of configuration, weights and tokenizer files by name, wherever the folder lies.

    Raises
    ------
    InputError
        See `read_config`.
    """
    read_config(folder)
    place = Path(folder)
    named = {CONFIG, *TOKENIZERS, "tokenizer_config.json", "special_tokens_map.json", "merges.txt"}
    files = [file for file in place.iterdir() if file.name in named or file.suffix == ".safetensors"]
    total = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.name):
        total.update(file.name.encode())
        with file.open("rb") as stream:
            total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def read_text(path: str | Path) -> str:
    """The text in a UTF-8 file; `InputError` if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"text file {path} is not in UTF-8: save it as plain text in UTF-8") from error
    except OSError as error:
        raise InputError(
            f"text file {path} cannot be read: {error.strerror}; give a plain text file"
        ) from error


def text_digest(text: str) -> str:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()
