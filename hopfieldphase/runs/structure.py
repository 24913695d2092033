"""The phase structure in one parameter: a sweep over realizations and the top branches of one of them."""

import time
from pathlib import Path
from typing import Any

import xarray as xr

from hopfieldphase.data.branch_summary import branches_summary
from hopfieldphase.data.load_branch_summary import load_branches_summary
from hopfieldphase.data.store import Labelled
from hopfieldphase.data.structure import structure_parts, structure_tree
from hopfieldphase.runs.branches import branches
from hopfieldphase.runs.kappa import sweep_kappa_tree
from hopfieldphase.runs.load_branches import branches_of_spec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw, write_result
from hopfieldphase.runs.structure_spec import LoadStructureSpec, StructureSpec
from hopfieldphase.runs.sweep_results import summarise
from hopfieldphase.runs.sweeps import sweep_beta


def structure(spec: StructureSpec | LoadStructureSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Sweep all realizations up and down, then follow the branches of one of them.

    Parameters
    ----------
    spec : StructureSpec or LoadStructureSpec
        Resolved.
    progress : callable, optional
        Called as ``progress(done, total)`` while the sweeps run.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.structure`.

    Raises
    ------
    InputError
        See `sweep_beta`, `sweep_kappa`, `branches` and `branches_kappa`.

    Notes
    -----
    Source: Figures 2 to 5 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    swept: Labelled
    if isinstance(spec, LoadStructureSpec):
        swept = sweep_kappa_tree(spec.sweep, progress=progress)
        return structure_tree(swept, branches_of_spec(spec.branches).to_datatree())
    swept = sweep_beta(spec.sweep, progress=progress)
    return structure_tree(swept, branches(spec.branches).to_datatree())


def compute_structure(
    spec: StructureSpec | LoadStructureSpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute a structure and write its result folder; return the content of `summary.json`."""
    start = time.perf_counter()
    tree = structure(spec, progress=progress)
    return write_result(spec, path, structure_summary(tree), time.perf_counter() - start, tree, draw)


def structure_summary(tree: xr.DataTree) -> dict[str, Any]:
    """The summary of the sweep under `sweep`, that of the branches under `branches`, and `unconverged`."""
    sweep, followed = structure_parts(tree)
    swept = summarise(sweep)
    found = load_branches_summary(followed) if "kappa" in sweep.dims else branches_summary(followed)
    failed = [
        f"sweep {point['direction']} of realization {point['realization']} at "
        f"{swept['parameter']} {point[swept['parameter']]:g}: {point['status'].replace('_', ' ')}"
        for point in swept["unconverged"]
    ]
    failed += [
        f"branch {point['branch']}, {point['type']}: {point['status'].replace('_', ' ')}"
        for point in found["unconverged"]
    ]
    return {"sweep": swept, "branches": found, "unconverged": failed}
