"""The tail-sensitivity testbed as a labelled result, kept point by point while it runs."""

import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.data.tail_sensitivity import tail_sensitivity_summary, tail_sensitivity_tree
from hopfieldphase.dynamics.tail_sensitivity import TailPoint
from hopfieldphase.runs.checkpoint import Checkpoint, run_kept
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw, write_result
from hopfieldphase.runs.tail_sensitivity_spec import TailSensitivitySpec


def tail_sensitivity(
    spec: TailSensitivitySpec, *, progress: Progress | None = None, checkpoint: Checkpoint | None = None
) -> xr.DataTree:
    """Measure energy distance, 2-Wasserstein distance and Hill gap at every point of the testbed.

    Parameters
    ----------
    spec : TailSensitivitySpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every point.
    checkpoint : Checkpoint, optional
        Where finished points are kept; those already there are not computed again.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.tail_sensitivity`.

    Notes
    -----
    Figure 1 and Appendix F of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures". Each point
    draws from a stream of its own, so that the values depend neither on interruptions nor on threads.
    """
    # sizes run fastest, so that every chunk of points costs about the same
    grid = list(product(spec.seams, spec.indices, spec.sizes))

    def point(i: int) -> NDArray[np.float64]:
        seam, index, size = grid[i]
        return TailPoint(size, seam, index, spec.reference).draws(spec.draws, spec.seed)

    parts = run_kept(lambda i, _: point(i), len(grid), None, progress, checkpoint)
    table = np.reshape(parts, (len(spec.seams), len(spec.indices), len(spec.sizes), -1, spec.draws))
    return tail_sensitivity_tree(table.transpose(3, 2, 0, 1, 4), spec.model_dump())


def compute_tail_sensitivity(
    spec: TailSensitivitySpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure the testbed, write the result folder and return the content of `summary.json`.

    Points that an interrupted run has finished are read from the folder.
    """
    start = time.perf_counter()
    checkpoint = Checkpoint(path, spec.fingerprint)
    tree = tail_sensitivity(spec, progress=progress, checkpoint=checkpoint)
    seconds = time.perf_counter() - start
    summary = write_result(spec, path, tail_sensitivity_summary(tree), seconds, tree, draw)
    checkpoint.remove()
    return summary
