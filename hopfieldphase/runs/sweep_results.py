"""From the spec of a sweep to its finished result folder."""

import time
from pathlib import Path
from typing import Any

import xarray as xr

from hopfieldphase.continuation.starts import continues
from hopfieldphase.data import store
from hopfieldphase.data.sweep_report import sweep_report
from hopfieldphase.runs.checkpoint import Checkpoint
from hopfieldphase.runs.device import device_facts
from hopfieldphase.runs.kappa import kappa_spec_tree, warm_up_kappa
from hopfieldphase.runs.kappa_spec import KappaSpec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw, write_result
from hopfieldphase.runs.specs import SweepSpec
from hopfieldphase.runs.sweeps import sweep_spec
from hopfieldphase.runs.sweeps import warm_up as warm_up_beta


def warm_up(spec: SweepSpec | KappaSpec) -> None:
    """Load or compile every kernel that the sweep needs, so that its progress can be timed."""
    if isinstance(spec, KappaSpec):
        warm_up_kappa(spec)
    else:
        warm_up_beta(spec)


def progress_units(spec: SweepSpec | KappaSpec) -> tuple[str, int]:
    """What the progress of `compute_result` counts, and up to which number."""
    realizations = spec.realizations or 1
    return ("sweeps", 2 * realizations) if isinstance(spec, KappaSpec) else ("realizations", realizations)


def kept_units(spec: SweepSpec | KappaSpec, path: Path) -> int:
    """How much of `progress_units` an interrupted run has left in its folder."""
    both = isinstance(spec, KappaSpec) and any(continues((spec.start_up, spec.start_down)))
    return len(Checkpoint(path, spec.fingerprint).parts) * (2 if both else 1)


def compute_result(
    spec: SweepSpec | KappaSpec,
    path: Path,
    *,
    draw: Draw[xr.Dataset] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute a sweep and write its result folder.

    Realizations (of a sweep in κ, directions of them) that an interrupted run has finished are read from the
    folder.

    Parameters
    ----------
    spec : SweepSpec or KappaSpec
        Resolved.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    draw : callable, optional
        Called as ``draw(dataset, file)`` to write the figure to the PNG file `file`.
    progress : callable, optional
        See `sweep_beta` and `sweep_kappa`.

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
    checkpoint = Checkpoint(path, spec.fingerprint)
    if isinstance(spec, KappaSpec):
        data: store.Labelled = kappa_spec_tree(spec, progress=progress, checkpoint=checkpoint)
    else:
        data = sweep_spec(spec, progress=progress, checkpoint=checkpoint)
    seconds = time.perf_counter() - start
    on_root = None if draw is None else lambda labelled, file: draw(_root(labelled), file)
    facts = device_facts(spec.device)
    summary = write_result(spec, path, sweep_report(data), seconds, data, on_root, facts)
    checkpoint.remove()
    return summary


def _root(data: store.Labelled) -> xr.Dataset:
    return data.to_dataset() if isinstance(data, xr.DataTree) else data
