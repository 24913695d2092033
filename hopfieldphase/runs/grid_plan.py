"""What a grid needs before its first sweep: patterns of files, variables and coordinates, batches."""

import math
from collections.abc import Mapping

import numpy as np
import xarray as xr

from hopfieldphase.continuation.kappa import pattern_counts
from hopfieldphase.data.grid import Column, columns, frame
from hopfieldphase.runs.attention_spec import make_attention
from hopfieldphase.runs.grid_job import source_name
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.layout import Layout, plan
from hopfieldphase.runs.sources import Patterns, digest, make_patterns
from hopfieldphase.runs.specs import PatternSpec, SweepSpec

BATCH_SECONDS = 2.0
"""How long a batch should take: what a killed worker loses, against the price of writing it."""

_RATE = 1e8
"""Pattern components that a sweep goes through in a second, roughly."""

_BATCH_BYTES = 2**28
"""Most memory that the tables of a batch may take."""


def resolve_grid(spec: GridSpec) -> GridSpec:
    """Complete a spec from its data: the digests of its pattern files.

    Raises
    ------
    InputError
        If patterns cannot be read, or a start state names one that they do not have.
    """
    if spec.is_resolved:
        return spec
    stored = {path: make_patterns(PatternSpec(path=path)) for path in spec.paths}
    digests = {path: digest(rows) for path, rows in stored.items()}
    return spec.model_copy(update={"digests": {**digests, **spec.digests}})


def fixed_patterns(spec: GridSpec) -> dict[str, Patterns]:
    """Measured patterns, which are read once; the others are made where they are needed.

    Generators that have limits of their own are tried here, so that a wrong option is told before anything
    runs.
    """
    found: dict[str, Patterns] = {}
    tried: set[PatternSpec] = set()
    for cell in spec.outlines():
        source = cell.patterns
        if source.is_data and source_name(source) not in found:
            found[source_name(source)] = make_patterns(source)
        if source.is_data and isinstance(cell, SweepSpec):
            M = len(found[source_name(source)])
            cell.check_starts(M, M)
        elif source.generator in ("equicorrelated", "two_keys", "circulant") and source not in tried:
            tried.add(source)
            make_patterns(source)
    return found


def grid_tables(spec: GridSpec, patterns: Mapping[str, Patterns]) -> tuple[dict[str, Column], xr.Dataset]:
    """The variables of the store, and its coordinates with all options as attributes."""
    first = spec.cell(0)
    maps = {
        name: getattr(cell, "attention", None)
        for cell in (spec.outlines() if "attention" in spec.grid else [first])
        for name in [getattr(getattr(cell, "attention", None), "name", "")]
    }
    energy = any(
        choice is None or make_attention(choice.model_dump(exclude_none=True)).has_conjugate
        for choice in maps.values()
    )
    d = (
        patterns[source_name(first.patterns)].shape[1]
        if source_name(first.patterns) in patterns
        else first.patterns.d
    )
    components = int(d or 0) if first.keep_states else None
    table = columns(
        spec.parameter, len(first.grid), attention="" not in maps, energy=energy, components=components
    )
    counts = None
    if isinstance(first, KappaSpec):
        ds = [int(value) for value in spec.grid["d"]] if "d" in spec.grid else [int(d or 1)]
        rows = np.array([pattern_counts(first.kappas, one)[1] for one in ds])
        counts = rows if "d" in spec.grid else rows[0]
    nested = {name: value for name, value in spec.base.items() if name not in ("study", "patterns")}
    source = {name: value for name, value in spec.base.get("patterns", {}).items() if name != "path"}
    options = {
        "sweep": spec.base["study"], "realizations": spec.realizations, "axes": ",".join(spec.grid),
        **nested, **source,
    }  # fmt: skip
    if spec.paths:
        options["sha256"] = ",".join(spec.digests[path] for path in spec.paths)
    coordinates = frame(
        spec.parameter, first.grid, spec.grid, spec.shape[-1], options, counts=counts, components=components
    )
    return table, coordinates


def grid_layout(spec: GridSpec, patterns: Mapping[str, Patterns], table: Mapping[str, Column]) -> Layout:
    """Batches of a size that takes about `BATCH_SECONDS`, from the largest patterns of the grid."""
    points = next(iter(table.values())).shape[-1]
    largest = max(_size(cell, patterns) for cell in spec.outlines())
    wanted = int(BATCH_SECONDS * _RATE / (largest * points))
    each = sum(8 * math.prod(column.shape) for column in table.values())
    return plan(spec.shape, min(wanted, max(_BATCH_BYTES // each, 1)))


def _size(spec: SweepSpec | KappaSpec, patterns: Mapping[str, Patterns]) -> float:
    """M d of the patterns of one cell."""
    source = spec.patterns
    if isinstance(spec, KappaSpec):
        d = int(source.d or 1)
        return math.exp(min(spec.kappas[-1] * d, 50.0)) * d
    stored = patterns.get(source_name(source))
    return stored.size if stored is not None else (source.M or 2) * (source.d or 1)
