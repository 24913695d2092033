"""From a spec to a finished result folder: data, summary, figure, spec and provenance."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import xarray as xr

from hopfieldphase.data import store
from hopfieldphase.data.provenance import provenance
from hopfieldphase.data.summary import sweep_summary
from hopfieldphase.runs.folder import DATA, FIGURE, SPEC, SUMMARY, writing
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.sweeps import Progress, sweep_beta, unconverged_points


def compute_result(
    spec: SweepSpec,
    path: Path,
    *,
    draw: Callable[[xr.Dataset, Path], object] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute a sweep and write its result folder.

    Parameters
    ----------
    spec : SweepSpec
        Resolved.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    draw : callable, optional
        Called as ``draw(dataset, file)`` to write the figure to the PNG file `file`.
    progress : callable, optional
        See `sweep_beta`.

    Returns
    -------
    dict
        The content of `summary.json`.

    Raises
    ------
    OutputError
        If the file system refuses; nothing of the result is left then.
    """
    start = time.perf_counter()
    dataset = sweep_beta(spec, progress=progress)
    summary = summarise(dataset)
    marker = provenance(time.perf_counter() - start) | {"fingerprint": spec.fingerprint}
    with writing(path, marker) as staging:
        store.write(dataset, staging / DATA)
        (staging / SPEC).write_text(spec.to_toml(), encoding="utf-8")
        (staging / SUMMARY).write_text(
            json.dumps(summary, indent=2, allow_nan=False) + "\n", encoding="utf-8"
        )
        if draw is not None:
            draw(dataset, staging / FIGURE)
    return summary


def summarise(dataset: xr.Dataset) -> dict[str, Any]:
    """What a sweep shows, as plain JSON values, with the points that did not converge under `unconverged`."""
    return sweep_summary(dataset) | {"unconverged": unconverged_points(dataset)}
