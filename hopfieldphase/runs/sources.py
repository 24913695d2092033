"""From a spec to its stored patterns, and what a spec leaves to be found in them."""

import hashlib
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core import patterns
from hopfieldphase.core.closed_forms import suggest_beta_range
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.blocks import StoredRows, row_blocks
from hopfieldphase.data import patterns_io
from hopfieldphase.runs.ranges import parse_grid, suggest_grid
from hopfieldphase.runs.specs import PatternSpec, StudySpec, SweepSpec

Patterns = NDArray[np.float64] | StoredRows
MOST_COMPARED = 20_000
"""Patterns of which all pairs are compared, to suggest a range."""

Study = TypeVar("Study", bound=StudySpec)

_RANDOM: dict[str, Callable[..., Patterns]] = {
    "clustered": patterns.clustered,
    "spherical": patterns.spherical,
    "gaussian": patterns.gaussian,
    "heavy_tailed": patterns.heavy_tailed,
    "two_keys": patterns.two_keys,
    "circulant": patterns.circulant,
}


def make_patterns(spec: PatternSpec, realization: int = 0) -> Patterns:
    """Return the stored patterns of one realization, shape (M, d).

    Raises
    ------
    InputError
        If the generator refuses its options, or the file is missing, unsound, or not the one whose digest
        the spec holds.
    """
    if spec.path is not None:
        stored = patterns_io.load(spec.path)
        if spec.sha256 not in (None, digest(stored)):
            raise InputError(
                f"pattern file {spec.path} has changed since this spec was written: "
                "restore it, or drop sha256 from the spec"
            )
        return stored
    if spec.generator == "digits":
        return patterns_io.digits()
    options = spec.model_dump(exclude_none=True, exclude={"generator"})
    if spec.generator == "equicorrelated":
        return patterns.equicorrelated(**options)
    if spec.generator == "circulant":
        options["k"] = options.pop("M")
    return _RANDOM[str(spec.generator)](**options, realization=realization)


def digest(stored: Patterns) -> str:
    """SHA-256 of shape and numbers, the same for every file format."""
    content = hashlib.sha256(repr(tuple(stored.shape)).encode())
    for _, rows in row_blocks(stored):
        content.update(np.ascontiguousarray(rows, dtype="<f8").data)
    return content.hexdigest()


def resolve(spec: SweepSpec) -> SweepSpec:
    """Complete a spec from its data: the digest of a pattern file, and the grid where none was given.

    Raises
    ------
    InputError
        If the patterns cannot be read, or a start state names one that they do not have.
    """
    source = spec.patterns
    if not source.is_data or (spec.betas is not None and (source.path is None or source.sha256)):
        return spec
    stored = make_patterns(source)
    spec.check_starts(len(stored), len(stored))
    if source.path is not None:
        source = source.model_copy(update={"sha256": digest(stored)})
    betas = spec.betas or suggest_betas(stored, spec.alpha)
    return spec.model_copy(update={"patterns": source, "betas": betas})


def with_digest(spec: Study) -> Study:
    """Complete a spec whose patterns come from a file: the digest of their numbers.

    Raises
    ------
    InputError
        If the patterns cannot be read.
    """
    source = spec.patterns
    if source.path is None or source.sha256 is not None:
        return spec
    source = source.model_copy(update={"sha256": digest(make_patterns(source))})
    return spec.model_copy(update={"patterns": source})


def suggest_betas(stored: Patterns, alpha: float, scale: float | None = None) -> tuple[float, ...]:
    """Suggest about 100 to 200 values of β, from the mean state to stored patterns.

    The range is that of `closed_forms.suggest_beta_range`.

    Raises
    ------
    InputError
        If there are too many patterns to compare them all in pairs.
    """
    if len(stored) > MOST_COMPARED:
        raise InputError(
            f"betas is not given: to find a range all pairs of {len(stored)} patterns would be compared, "
            f"more than of {MOST_COMPARED}; name one"
        )
    suggested = suggest_beta_range(stored, alpha, scale)
    return parse_grid(suggest_grid(suggested.low, suggested.high))
