"""Grids of sweeps: planned once, computed batch by batch by any executor, whole when all batches are."""

import json
import math
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.continuation.kappa import pattern_counts
from hopfieldphase.core.errors import HopfieldPhaseError, InputError
from hopfieldphase.data import grid_store, store
from hopfieldphase.data.events import last_jumps
from hopfieldphase.data.files import OutputError
from hopfieldphase.data.grid import LOOP, Column, columns, frame, grid_summary, row
from hopfieldphase.data.provenance import provenance
from hopfieldphase.runs.attention_spec import make_attention
from hopfieldphase.runs.executors import Executor, Serial
from hopfieldphase.runs.folder import DATA, FIGURE, MARKER, SPEC, SUMMARY, read_summary, writing
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.kappa import spec_kappa_sweep
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.layout import Layout, plan
from hopfieldphase.runs.ledger import Ledger, Mark, made_by
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw
from hopfieldphase.runs.sources import Patterns, digest, make_patterns
from hopfieldphase.runs.specs import PatternSpec, SweepSpec
from hopfieldphase.runs.sweeps import spec_model, spec_sweep

BATCH_SECONDS = 2.0
"""How long a batch should take: what a killed worker loses, against the price of writing it."""

_RATE = 1e8
"""Pattern components that a sweep goes through in a second, roughly."""

_BATCH_BYTES = 2**28
"""Most memory that the tables of a batch may take."""


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
            model = spec_model(spec, realization, self.patterns.get(_source(spec.patterns)))
            return row(spec_sweep(spec, model, threads=1), tuple(self.columns))
        except InputError as error:
            words = "".join(f"{name} = {value}, " for name, value in self.spec.combination(number).items())
            raise InputError(f"the sweep of {words}realization {realization}: {error}") from None


@lru_cache(maxsize=1)
def _regions(folder: Path, named: tuple[tuple[str, Column], ...], session: int) -> grid_store.Regions:
    """The open store; it is another one when the command runs again."""
    return grid_store.Regions(folder / DATA, dict(named))


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


def grid(spec: GridSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Compute all sweeps of a grid in this process and return them as labelled data.

    Parameters
    ----------
    spec : GridSpec
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of sweeps.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.grid`; all in memory, while `compute_grid` needs no more than a batch.
    """
    with tempfile.TemporaryDirectory(prefix="hopfieldphase-") as folder:
        compute_grid(resolve_grid(spec), Path(folder), progress=progress)
        found = store.open(Path(folder) / DATA)
    if not isinstance(found, xr.DataTree):
        raise TypeError("a grid is stored as a measurement, which is read as a tree")
    return found


def compute_grid(
    spec: GridSpec,
    path: Path,
    *,
    executor: Executor | None = None,
    draw: Draw[xr.Dataset] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute the sweeps of a grid that are not there yet, and write the result folder.

    The store stands in the folder from the start and is filled batch by batch; what is finished stays,
    whatever ends the run, and the same call computes the rest.

    Parameters
    ----------
    spec : GridSpec
        Resolved.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    executor : Executor, optional
        By default `runs.executors.Serial`; the values do not depend on it.
    draw : callable, optional
        Called as ``draw(dataset, file)`` to write the figure to the PNG file `file`.
    progress : callable, optional
        Called as ``progress(done, total)`` with numbers of sweeps.

    Returns
    -------
    dict
        The content of `summary.json`.

    Raises
    ------
    InputError
        If a sweep refuses its options, or the folder holds an unfinished run of another version.
    OutputError
        If the file system refuses.
    """
    path = path.absolute()
    executor = executor or Serial()
    if read_summary(path, spec.fingerprint, with_figure=False) is not None:  # all but the figure
        old = json.loads((path / MARKER).read_text(encoding="utf-8"))
        return _finish(spec, path, old, draw)
    patterns = _fixed_patterns(spec)
    table, coordinates = _tables(spec, patterns)
    ledger, layout = Ledger(path), _layout(spec, patterns, table)
    finished = _kept(ledger, spec, path, layout, table)
    if finished is None:
        (path / MARKER).unlink(missing_ok=True)  # from here on there is no complete result
        ledger.begin({"fingerprint": spec.fingerprint, "tasks": layout.tasks, "batch": layout.batch})
        grid_store.create(path / DATA, coordinates, table, layout.shape, layout.batch)
        finished = {}
    else:
        layout = Layout(layout.shape, tuple((ledger.plan() or {})["batch"]))
    missing = [batch for batch in range(layout.batches) if batch not in finished]
    done = sum(layout.size(batch) for batch in finished)
    session = ledger.open_session(executor.facts)
    job = Job(spec, path, layout, table, session, patterns, made_by())

    def news(batch: int) -> None:
        nonlocal done
        done += layout.size(batch)
        if progress is not None:
            progress(done, layout.tasks)

    if progress is not None and done:
        progress(done, layout.tasks)
    try:
        executor.run(job, missing, news)
    except OSError as error:
        if isinstance(error, HopfieldPhaseError):
            raise
        reason = error.strerror or " ".join(str(error).split())
        raise OutputError(
            f"cannot write to {path}: {reason}; what was finished is kept, the same command computes the rest"
        ) from error
    marks = _verified(ledger, path, layout, table)
    if len(marks) < layout.batches:
        raise InputError(
            f"{layout.batches - len(marks)} batches of {path} are damaged: run the command again"
        )
    os.sync()  # every region reaches the disk before the result counts as whole
    record = _record(ledger, layout, marks) | {"fingerprint": spec.fingerprint}
    summary = _finish(spec, path, record, draw)
    ledger.remove()
    return summary


def _finish(
    spec: GridSpec, path: Path, record: dict[str, Any], draw: Draw[xr.Dataset] | None
) -> dict[str, Any]:
    """Write all but the store, which is in place."""
    with xr.open_zarr(path / DATA, chunks=None) as whole:
        # Of each sweep what all of them show together; the points stay on the disk.
        data = whole[[*LOOP, "jumped"]].assign({name: whole[name].load() for name in LOOP})
        summary = grid_summary(data)
        with writing(path, record, (DATA,)) as staging:
            (staging / SPEC).write_text(spec.to_toml(), encoding="utf-8")
            text = json.dumps(summary, indent=2, allow_nan=False)
            (staging / SUMMARY).write_text(text + "\n", encoding="utf-8")
            if draw is not None:
                draw(data, staging / FIGURE)
    return summary


def _kept(
    ledger: Ledger, spec: GridSpec, path: Path, layout: Layout, table: Mapping[str, Column]
) -> dict[int, Mark] | None:
    """What an earlier run of this spec has finished, all else cleared away; None where there was none."""
    begun = ledger.plan()
    if begun is None or begun.get("fingerprint") != spec.fingerprint or not (path / DATA).exists():
        return None
    ledger.check_versions()
    layout = Layout(layout.shape, tuple(begun["batch"]))
    marks = _verified(ledger, path, layout, table)
    grid_store.clear(path / DATA, table, {layout.place(batch) for batch in marks})
    return marks


def _verified(ledger: Ledger, path: Path, layout: Layout, table: Mapping[str, Column]) -> dict[int, Mark]:
    """The batches whose region is on the disk as their marker says."""
    return {
        batch: mark
        for batch, mark in ledger.marks().items()
        if batch < layout.batches
        and grid_store.digest(path / DATA, table, layout.place(batch)) == mark.digest
    }


def _record(ledger: Ledger, layout: Layout, marks: Mapping[int, Mark]) -> dict[str, Any]:
    """What `provenance.json` says: every run of the command, and what each sweep took where."""
    seconds = np.zeros(layout.shape)
    hosts: dict[str, int] = {}
    for batch, mark in marks.items():
        region = layout.region(batch)
        seconds[region] = np.reshape(mark.seconds, seconds[region].shape)
        hosts[mark.host] = hosts.get(mark.host, 0) + len(mark.seconds)
    sessions = ledger.sessions()
    for number, session in enumerate(sessions):
        own = [mark for mark in marks.values() if mark.session == number]
        session["sweeps"] = sum(len(mark.seconds) for mark in own)
        last = max((mark.finished for mark in own), default=session["started"])
        first = min((mark.finished - sum(mark.seconds) for mark in own), default=last)
        session["seconds"] = round(last - session["started"], 3)
        session["computing_seconds"] = round(last - first, 3)
    wall = sum(session["seconds"] for session in sessions)
    return provenance(wall) | {
        "sessions": sessions,
        "sweeps": {"seconds": seconds.ravel().tolist(), "hosts": hosts},
    }


def _layout(spec: GridSpec, patterns: Mapping[str, Patterns], table: Mapping[str, Column]) -> Layout:
    """Batches of a size that takes about `BATCH_SECONDS`, from the largest patterns of the grid."""
    points = next(iter(table.values())).shape[-1]
    largest = max(_size(cell, patterns) for cell in spec.specs())
    wanted = int(BATCH_SECONDS * _RATE / (largest * points))
    each = sum(8 * math.prod(column.shape) for column in table.values())
    return plan(spec.shape, min(wanted, max(_BATCH_BYTES // each, 1)))


def _size(spec: SweepSpec | KappaSpec, patterns: Mapping[str, Patterns]) -> float:
    """M d of the patterns of one cell."""
    source = spec.patterns
    if isinstance(spec, KappaSpec):
        d = int(source.d or 1)
        return math.exp(min(spec.kappas[-1] * d, 50.0)) * d
    stored = patterns.get(_source(source))
    return stored.size if stored is not None else (source.M or 2) * (source.d or 1)


def _source(spec: PatternSpec) -> str:
    """Under which name the patterns of a spec are kept, where they are kept."""
    return spec.path or str(spec.generator)


def _fixed_patterns(spec: GridSpec) -> dict[str, Patterns]:
    """Measured patterns, which are read once; the others are made where they are needed.

    Generators that have limits of their own are tried here, so that a wrong option is told before anything
    runs.
    """
    found: dict[str, Patterns] = {}
    tried: set[PatternSpec] = set()
    for cell in spec.specs():
        source = cell.patterns
        if source.is_data and _source(source) not in found:
            found[_source(source)] = make_patterns(source)
        if source.is_data and isinstance(cell, SweepSpec):
            M = len(found[_source(source)])
            cell.check_starts(M, M)
        elif source.generator in ("equicorrelated", "two_keys", "circulant") and source not in tried:
            tried.add(source)
            make_patterns(source)
    return found


def _tables(spec: GridSpec, patterns: Mapping[str, Patterns]) -> tuple[dict[str, Column], xr.Dataset]:
    """The variables of the store, and its coordinates with all options as attributes."""
    first = spec.cell(0)
    maps = {
        name: getattr(cell, "attention", None)
        for cell in (spec.specs() if "attention" in spec.grid else [first])
        for name in [getattr(getattr(cell, "attention", None), "name", "")]
    }
    energy = any(
        choice is None or make_attention(choice.model_dump(exclude_none=True)).has_conjugate
        for choice in maps.values()
    )
    d = (
        patterns[_source(first.patterns)].shape[1]
        if _source(first.patterns) in patterns
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
