"""One batch of a grid, as any worker computes it."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import grid_store
from hopfieldphase.data.events import last_jumps
from hopfieldphase.data.grid import Column, row
from hopfieldphase.runs.folder import DATA
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.kappa import spec_kappa_sweep
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.layout import Layout
from hopfieldphase.runs.ledger import Ledger, made_by
from hopfieldphase.runs.sources import Patterns
from hopfieldphase.runs.specs import PatternSpec
from hopfieldphase.runs.sweeps import spec_model, spec_sweep


@dataclass(frozen=True)
class Job:
    """All that a worker needs to compute any batch of a grid; it is sent to each worker once.

    Attributes
    ----------
    spec : GridSpec
        Resolved.
    folder : Path
        Of the result, which every worker can write to.
    layout : Layout
    columns : mapping
        The variables of the store.
    session : int
        Number of this run of the command.
    patterns : mapping
        Stored patterns that are no random ones, by path or, of the digits, by the name of their generator.
    versions : mapping
        `ledger.made_by` of the process that planned the job.
    """

    spec: GridSpec
    folder: Path
    layout: Layout
    columns: Mapping[str, Column]
    session: int
    patterns: Mapping[str, Patterns]
    versions: Mapping[str, str]

    def run(self, batch: int) -> int:
        """Compute one batch, write its region and its marker; return its number.

        Raises
        ------
        InputError
            If a sweep refuses its options; the message names it. If this process runs other versions.
        OSError
            If the file system refuses; the batch does not count then.
        """
        if made_by() != self.versions:
            raise InputError(
                f"a worker has {made_by()}, but this run needs {self.versions}: install the same versions"
            )
        region = self.layout.region(batch)
        extent = tuple(part.stop - part.start for part in region)
        tables = {
            name: np.full((*extent, *column.shape), column.fill, dtype=column.quantity.dtype)
            for name, column in self.columns.items()
        }
        seconds: list[float] = []
        for place in self.layout.members(batch):
            start = time.perf_counter()
            inner = tuple(i - part.start for i, part in zip(place, region, strict=True))
            for name, value in self._sweep(place).items():
                tables[name][inner] = value
            seconds.append(round(time.perf_counter() - start, 6))
        written = _regions(self.folder, tuple(self.columns.items()), self.session).write(
            self.layout.place(batch), region, tables
        )
        Ledger(self.folder).mark(batch, self.session, written, seconds)
        return batch

    def _sweep(self, place: tuple[int, ...]) -> dict[str, Any]:
        """What the sweep at one place of the grid puts into each variable."""
        *cell, realization = place
        number = 0
        for index, count in zip(cell, self.layout.shape[:-1], strict=True):
            number = number * count + index
        spec = self.spec.cell(number)
        try:
            if isinstance(spec, KappaSpec):
                swept = spec_kappa_sweep(spec, realization, threads=1)
                return row(swept.sweep, tuple(self.columns), last_jumps(swept))
            model = spec_model(spec, realization, self.patterns.get(source_name(spec.patterns)))
            return row(spec_sweep(spec, model, threads=1), tuple(self.columns))
        except InputError as error:
            words = "".join(f"{name} = {value}, " for name, value in self.spec.combination(number).items())
            raise InputError(f"the sweep of {words}realization {realization}: {error}") from None


@lru_cache(maxsize=1)
def _regions(folder: Path, named: tuple[tuple[str, Column], ...], session: int) -> grid_store.Regions:
    """The open store; it is another one when the command runs again."""
    return grid_store.Regions(folder / DATA, dict(named))


def source_name(spec: PatternSpec) -> str:
    """Under which name the patterns of a spec are kept, where they are kept."""
    return spec.path or str(spec.generator)
