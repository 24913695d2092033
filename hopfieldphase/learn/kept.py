"""Studies of many trainings that a killed run leaves in its folder, and that the next one goes on from."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr

from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw, Resolved, write_result

_PREFIX, _SUFFIX = ".training-", ".pt"


def state_file(folder: Path | None, name: str) -> Path | None:
    """Where the state of the training of a name is kept; nowhere without a folder."""
    return None if folder is None else folder / f"{_PREFIX}{name}{_SUFFIX}"


def compute_kept(
    measure: Callable[..., xr.DataTree],
    summarize: Callable[[xr.DataTree], dict[str, Any]],
    spec: Resolved,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """Train and measure with the states kept in the folder, write its result, and let go of the states.

    Parameters
    ----------
    measure : callable
        Called as ``measure(spec, path, progress=progress)``.
    summarize : callable
        From the tree to the content of `summary.json`, which is returned.
    spec, path, draw, progress
        As for `runs.studies.compute`.
    """
    start = time.perf_counter()
    tree = measure(spec, path, progress=progress)
    summary = write_result(spec, path, summarize(tree), time.perf_counter() - start, tree, draw)
    for state in path.glob(f"{_PREFIX}*{_SUFFIX}"):
        state.unlink()
    return summary
