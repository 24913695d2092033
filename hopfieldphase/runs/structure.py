"""The phase structure in one parameter: a sweep over realizations and the top branches of one of them."""

import xarray as xr

from hopfieldphase.continuation.kappa import kappa_sweep
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.data.store import Labelled
from hopfieldphase.data.structure import continued, structure_tree
from hopfieldphase.runs.branches import branches
from hopfieldphase.runs.kappa import sweep_kappa_tree
from hopfieldphase.runs.load_branches import branches_of_spec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.structure_spec import LoadStructureSpec, StructureSpec
from hopfieldphase.runs.sweeps import sweep_beta


def structure(spec: StructureSpec | LoadStructureSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Sweep all realizations up and down, then follow the top branches of one of them from a reference.

    A branch ends where its state ceases to be a minimum; what a warm start finds beyond is kept beside it.

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
    if isinstance(spec, LoadStructureSpec):
        swept: Labelled = sweep_kappa_tree(spec.sweep, progress=progress)
        return structure_tree(swept, *_in_load(spec))
    return structure_tree(sweep_beta(spec.sweep, progress=progress), *_in_temperature(spec))


def _in_temperature(spec: StructureSpec) -> tuple[xr.DataTree, xr.Dataset]:
    """The branches, and what warm starts from their states at β₀ find on either side."""
    found, at = branches(spec.branches), float(spec.at or 0.0)
    below, above = _sides(spec.grid, at)
    parts = []
    for branch in found:
        x = branch.at(at).x
        down = sweep(found.model, below, start_down=x)
        up = sweep(found.model, above, start_up=x)
        parts.append((down, up))
    return found.to_datatree(), continued(parts)


def _in_load(spec: LoadStructureSpec) -> tuple[xr.DataTree, xr.Dataset]:
    """The same in the memory load."""
    found, at = branches_of_spec(spec.branches), float(spec.at or 0.0)
    below, above = _sides(spec.kappas, at)
    parts = []
    for branch in found:
        x = branch.at(at).x
        down = kappa_sweep(found.model, below, spec.beta, start_down=x).sweep
        up = kappa_sweep(found.model, above, spec.beta, start_up=x).sweep
        parts.append((down, up))
    return found.to_datatree(), continued(parts)


def _sides(grid: tuple[float, ...], at: float) -> tuple[list[float], list[float]]:
    """The values of a grid up to the reference and from it on, each with the reference itself."""
    return [*(value for value in grid if value < at), at], [at, *(value for value in grid if value > at)]
