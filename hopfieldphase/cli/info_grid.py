"""`hopfieldphase info` of grids: the progress of a run, and a finished store without reading its points."""

import json
import time
from pathlib import Path
from typing import Any

from hopfieldphase.core.errors import InputError


def unfinished(file: Path) -> dict[str, Any] | None:
    """How far the run in a folder, or of a store in it, is; None where none is under way."""
    from hopfieldphase.runs.folder import DATA
    from hopfieldphase.runs.progress import run_progress

    folder = file.parent if file.name == DATA else file
    found = run_progress(folder) if folder.is_dir() else None
    return None if found is None else {"path": str(folder), **found}


def progress_lines(found: dict[str, Any]) -> list[str]:
    """The progress of a run in words."""
    words = {
        "running": f"running: {found['holder']}",
        "interrupted": "interrupted: the same command computes the rest",
        "unknown": f"running or lost: {found['holder']}",
    }
    lines = [
        f"{found['path']}: a grid of sweeps, not finished",
        f"progress    {found['done']} of {found['tasks']} sweeps ({found['done'] / found['tasks']:.1%})",
        f"state       {words[found['state']]}",
    ]
    if found["started"] is not None:
        times = "once" if found["sessions"] == 1 else f"{found['sessions']} times"
        begun = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(found["started"]))
        lines.append(f"started     {begun}, run {times}, {found['executor']}")
    if found["last"] is not None:
        lines.append(f"last batch  {_duration(time.time() - found['last'])} ago")
    if found["seconds_left"] is not None:
        lines.append(f"left        about {_duration(found['seconds_left'])}")
    return lines


def finished_grid(folder: Path) -> dict[str, Any] | None:
    """What `info` tells of a finished grid; None where the folder holds none."""
    from hopfieldphase.runs.folder import DATA, MARKER, SUMMARY, read_marker

    if read_marker(folder) is None:
        return None
    summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
    if summary.get("study") != "grid":
        return None
    from hopfieldphase.data import attributes, grid_store

    with grid_store.reading(folder / DATA) as data:
        attrs = attributes.decode(data.attrs)
        dims = {str(name): size for name, size in data.sizes.items()}
        variables = {
            str(name): {
                "dims": list(map(str, variable.dims)),
                "dtype": str(variable.dtype),
                "long_name": variable.attrs.get("long_name", ""),
            }
            for name, variable in data.data_vars.items()
        }
    shown = {"title", "kind", "schema_version", "package_version", "git_revision"}
    return {
        "kind": attrs.get("title", "dataset"),
        "options": {name: value for name, value in attrs.items() if name not in shown},
        "dims": dims,
        "variables": variables,
        "package_version": attrs.get("package_version"),
        "git_revision": attrs.get("git_revision"),
        "provenance": json.loads((folder / MARKER).read_text(encoding="utf-8")),
        "summary": summary,
    }


def citations_of(found: dict[str, Any]) -> str:
    """BibTeX for a result that `info` has described."""
    from hopfieldphase.data.citations import bibtex, citations

    if "options" not in found:
        raise InputError(f"{found['path']} is no finished result: there are no methods to cite")
    options = dict(found["options"])
    if options.get("study") == "grid":
        options["axes"] = found["summary"]["axes"]
    sessions = (found["provenance"] or {}).get("sessions", [])
    return bibtex(citations(options, [session["executor"] for session in sessions]))


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
