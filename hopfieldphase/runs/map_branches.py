"""Branches of fixed points of an attention map as a labelled result: found, followed, written."""

import xarray as xr

from hopfieldphase.continuation import map_branches as continuation
from hopfieldphase.data.map_branches import map_branches_tree
from hopfieldphase.model import AttentionModel
from hopfieldphase.runs.attention_spec import describe_attention, make_attention
from hopfieldphase.runs.map_branches_spec import MapBranchesSpec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.ranges import format_grid
from hopfieldphase.runs.sources import make_patterns


def map_branches(spec: MapBranchesSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Find and follow the branches of a spec.

    Parameters
    ----------
    spec : MapBranchesSpec
    progress : callable, optional
        Called once, as ``progress(1, 1)``.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.map_branches`.

    Raises
    ------
    InputError
        If the map refuses its parameters or the scores, or no attracting fixed point is found.
    """
    attention = make_attention(spec.attention.model_dump(exclude_none=True))
    model = AttentionModel(make_patterns(spec.patterns, spec.realization), attention)
    found = continuation.map_branches(model, spec.reference, spec.betas, top=spec.count)
    if progress is not None:
        progress(1, 1)
    options = spec.model_dump(exclude_none=True, exclude={"study"})
    described = {"attention": describe_attention(attention), "betas": format_grid(spec.betas)}
    return map_branches_tree(found, options | described)
