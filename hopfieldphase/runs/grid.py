"""Grids of sweeps: planned once, computed batch by batch by any executor, whole when all batches are."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.errors import HopfieldPhaseError, InputError
from hopfieldphase.data import grid_store, store
from hopfieldphase.data.files import OutputError
from hopfieldphase.data.grid import LOOP, Column, grid_summary
from hopfieldphase.data.limits import check_links
from hopfieldphase.data.provenance import provenance
from hopfieldphase.runs.executors import Executor, Serial
from hopfieldphase.runs.folder import DATA, FIGURE, MARKER, SPEC, SUMMARY, read_summary, writing
from hopfieldphase.runs.grid_job import Job
from hopfieldphase.runs.grid_plan import fixed_patterns, grid_layout, grid_tables, resolve_grid
from hopfieldphase.runs.grid_spec import GridSpec
from hopfieldphase.runs.layout import Layout
from hopfieldphase.runs.ledger import Ledger, Mark, made_by
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw


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
    patterns = fixed_patterns(spec)
    table, coordinates = grid_tables(spec, patterns)
    ledger, layout = Ledger(path), grid_layout(spec, patterns, table)
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
    grid_store.clear(path / DATA, table, {layout.place(batch) for batch in marks})  # what lost workers left
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
    begun = None if (path / MARKER).exists() else ledger.plan()
    if begun is None or begun.get("fingerprint") != spec.fingerprint or not (path / DATA).exists():
        return None
    ledger.check_versions()
    _check_own(path / DATA)
    layout = Layout(layout.shape, tuple(begun["batch"]))
    marks = _verified(ledger, path, layout, table)
    grid_store.clear(path / DATA, table, {layout.place(batch) for batch in marks})
    return marks


def _check_own(data: Path) -> None:
    """Raise `OutputError` where a store to go on with leads elsewhere: that is not this run's to write to."""
    try:
        if data.is_symlink():
            raise InputError("it is a link itself")
        check_links(data)
    except InputError as error:
        raise OutputError(
            f"cannot go on in {data}: {error}; move the store into the folder, or start anew with --force"
        ) from error


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
