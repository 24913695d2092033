"""The loop expansion as a labelled result: from a spec to its dataset and its result folder."""

import xarray as xr

from hopfieldphase.data.loops import loops_tree
from hopfieldphase.dynamics.loops import QuarticWell, loop_expansion
from hopfieldphase.runs.loops_spec import LoopsSpec
from hopfieldphase.runs.parallel import Progress


def loops(spec: LoopsSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Measure the loop expansion of the effective action of a well.

    Parameters
    ----------
    spec : LoopsSpec
    progress : callable, optional
        Called once, as ``progress(1, 1)``.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.loops`.

    Raises
    ------
    InputError
        If β is too small for the integrals.

    Notes
    -----
    Propositions D.2 and D.3 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    found = loop_expansion(QuarticWell(spec.cubic, spec.quartic), spec.field, spec.betas)
    if progress is not None:
        progress(1, 1)
    return loops_tree(found, spec.model_dump())
