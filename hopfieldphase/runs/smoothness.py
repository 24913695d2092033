"""The smoothness of attention maps across boundaries as a labelled result."""

from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.smoothness import smoothness_tree
from hopfieldphase.dynamics.map_smoothness import (
    compared_maps,
    crossings,
    entering_weight,
    entry_exponent,
    path,
)
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.smoothness_spec import SmoothnessSpec

REACH = 6.0
"""The moved score passes from −REACH to REACH."""

PATH_POINTS = 1201
DISTANCES = np.geomspace(1e-8, 1e-1, 50)


def smoothness(spec: SmoothnessSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Fit how weights enter the support for each α, and the order of continuity of every map.

    Parameters
    ----------
    spec : SmoothnessSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every map.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.smoothness`.
    """
    maps = compared_maps(spec.alpha, spec.k, spec.p, spec.caps)
    positions = np.linspace(-REACH, REACH, PATH_POINTS)

    def measure(i: int) -> Any:
        attention = list(maps.values())[i]
        return np.asarray(attention.weights(path(positions))), crossings(attention, -REACH, REACH)

    weights, found = zip(*run_tasks(measure, len(maps), None, progress), strict=True)
    exponents = [entry_exponent(alpha) for alpha in spec.alphas]
    entering = [entering_weight(alpha, DISTANCES) for alpha in spec.alphas]
    return smoothness_tree(
        exponents, DISTANCES, entering, list(maps), positions, weights, found, spec.model_dump()
    )
