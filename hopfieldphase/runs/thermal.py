"""Thermal attention as a labelled result: from a spec to its tree and its result folder."""

import math
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.entmax import weights
from hopfieldphase.data.thermal import Ensemble, thermal_tree
from hopfieldphase.dynamics.thermal import (
    local_growth,
    thermal_attention,
    vertex_attention,
    zero_temperature_attention,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.sources import make_patterns
from hopfieldphase.runs.thermal_spec import ThermalSpec


def thermal(spec: ThermalSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Attention weights of one query over β: deterministic ones, and Gibbs and escort averages.

    Parameters
    ----------
    spec : ThermalSpec
        Resolved.
    progress : callable, optional
        Called as ``progress(done, total)`` after every β.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.thermal`.

    Raises
    ------
    InputError
        If the patterns cannot be made, or the query names one that they do not have.

    Notes
    -----
    Energies are counted from the best vertex, as Lemma D.2 and Proposition D.8 of "On the Statistical
    Mechanics of Attention" (arXiv:2610.17347) assume.
    """
    model = HopfieldModel(make_patterns(spec.patterns, spec.realization), spec.alpha)
    spec.check_query(model.M)
    query = model.patterns.mean(axis=0) if spec.pattern is None else model.patterns[spec.pattern]
    scores = np.asarray(model.overlaps(query))
    alpha = spec.alpha
    found: dict[Ensemble, list[Any]] = {name: [] for name in Ensemble.of(alpha)}
    normalisation, growth = [], []
    for done, beta in enumerate(spec.betas, start=1):
        found[Ensemble.SOFTMAX].append(weights(scores, 1.0, beta))
        found[Ensemble.GIBBS].append(thermal_attention(scores, 1.0, beta).weights)
        if alpha != 1:
            escort = thermal_attention(scores, alpha, beta)
            found[Ensemble.DETERMINISTIC].append(weights(scores, alpha, beta))
            found[Ensemble.ESCORT].append(escort.weights)
            found[Ensemble.ESCORT_VERTICES].append(vertex_attention(scores, alpha, beta).weights)
            normalisation.append(escort.log_normalisation)
            growth.append(local_growth(scores, alpha, beta) if alpha > 1 else math.nan)
        if progress is not None:
            progress(done, len(spec.betas))
    limits = {
        name: zero_temperature_attention(scores, alpha if name is Ensemble.ESCORT else 1.0) for name in found
    }
    given = spec.model_dump(exclude_none=True, exclude={"patterns": {"path"}})
    return thermal_tree(scores, spec.betas, found, limits, normalisation, growth, given)
