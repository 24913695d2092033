"""Attention maps on two and three scores as a labelled result."""

from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.simplex_maps import simplex_maps_tree
from hopfieldphase.dynamics.simplex_maps import pair_curve, plane_map, shown_maps
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.simplex_maps_spec import SimplexMapsSpec


def simplex_maps(spec: SimplexMapsSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Scan the maps over differences of two scores, and over the plane of differences of three.

    Parameters
    ----------
    spec : SimplexMapsSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every map.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.simplex_maps`.
    """
    maps = shown_maps(spec.alpha, spec.k, spec.p, spec.caps)
    axis = np.linspace(-spec.reach, spec.reach, spec.points)
    differences = 2 * axis

    def scan(i: int) -> Any:
        attention = list(maps.values())[i]
        return pair_curve(attention, differences), plane_map(attention, axis)

    pairs, planes = zip(*run_tasks(scan, len(maps), None, progress), strict=True)
    return simplex_maps_tree(list(maps), differences, pairs, axis, planes, spec.model_dump())
