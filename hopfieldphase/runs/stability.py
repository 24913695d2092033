"""Update stability as a labelled result: from a spec to its tree and its result folder."""

import numpy as np
import xarray as xr

from hopfieldphase.continuation.starts import initial_state
from hopfieldphase.data.stability import stability_tree
from hopfieldphase.dynamics.minimum import find_minimum
from hopfieldphase.dynamics.modes import measured_rates
from hopfieldphase.dynamics.stability import descend
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.sources import make_patterns
from hopfieldphase.runs.stability_spec import StabilitySpec
from hopfieldphase.solvers.options import solver_options


def stability(spec: StabilitySpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Descend from near a minimum with several step sizes, and measure the contraction of every mode.

    Parameters
    ----------
    spec : StabilitySpec
        Resolved.
    progress : callable, optional
        Called as ``progress(done, total)`` after every step size.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.stability`.

    Raises
    ------
    InputError
        If the patterns cannot be made, or the start leads to no verified minimum.

    Notes
    -----
    Source: Appendix E and Section G.1 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    model = HopfieldModel(make_patterns(spec.patterns, spec.realization), spec.alpha)
    # The names that the spec allows, the mean and a pattern, are never relaxed: any options do.
    options = solver_options("auto", None, None, True, np.float64)
    point = find_minimum(model, initial_state(model, spec.start, spec.beta, options), spec.beta)
    descents, rates = [], []
    for done, factor in enumerate(spec.steps, start=1):
        step = factor * point.critical_step
        descents.append(descend(point, step, amplitude=spec.amplitude, iterations=spec.iterations))
        rates.append(measured_rates(point, step))
        if progress is not None:
            progress(done, len(spec.steps))
    given = spec.model_dump(exclude_none=True, exclude={"patterns": {"path"}})
    return stability_tree(point, spec.steps, descents, rates, given)
