"""Retrieval of heavy-tailed patterns by attention kernels as a labelled result."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.ensembles.gaussian import Gaussian
from hopfieldphase.core.ensembles.pareto import MirroredPareto
from hopfieldphase.data.kernel_collapse import kernel_collapse_summary, kernel_collapse_tree
from hopfieldphase.dynamics.kernel_collapse import Measured, draw_keys, measure
from hopfieldphase.runs.kernel_collapse_spec import KernelCollapseSpec
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.results import Draw, write_result


def kernel_collapse(spec: KernelCollapseSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Ask for stored patterns at every tail index and temperature, with every kernel.

    Parameters
    ----------
    spec : KernelCollapseSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every set of patterns.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.kernel_collapse`.

    Notes
    -----
    Realization r draws the sets of all tail indices from the same uniform numbers: they differ by the tails
    alone, and errors along the tail index are correlated.
    """
    laws = [*(MirroredPareto(index) for index in spec.indices), Gaussian(1.0)]
    bs = np.array(spec.b)

    def one(i: int) -> Measured:
        # realizations run slowest, so that every chunk of tasks costs about the same
        realization, law = divmod(i, len(laws))
        streams = [np.random.SeedSequence(spec.seed, spawn_key=(realization, k)) for k in (0, 1)]
        patterns, probes = (np.random.default_rng(stream) for stream in streams)
        return measure(draw_keys(laws[law], spec.M, spec.d, spec.queries, patterns), bs, probes)

    found = run_tasks(one, len(laws) * spec.realizations, None, progress)
    by_law = [found[law :: len(laws)] for law in range(len(laws))]
    return kernel_collapse_tree(by_law[:-1], by_law[-1], spec.model_dump())


def compute_kernel_collapse(
    spec: KernelCollapseSpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Follow all queries, write the result folder and return the content of `summary.json`."""
    start = time.perf_counter()
    tree = kernel_collapse(spec, progress=progress)
    return write_result(spec, path, kernel_collapse_summary(tree), time.perf_counter() - start, tree, draw)
