"""Barriers as a labelled result: from a spec to its tree and its result folder."""

import math

import numpy as np
import xarray as xr

from hopfieldphase.core import patterns
from hopfieldphase.core.closed_forms import pair_barrier, potts_barrier, potts_coexistence
from hopfieldphase.data.barrier import PairBarriers, barrier_tree
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.barriers import Barrier
from hopfieldphase.phases.barriers import barrier as find_barrier
from hopfieldphase.runs.barrier_spec import BarrierSpec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.solvers.relaxation import relax


def barrier(spec: BarrierSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Find paths of least energy, next to the closed forms of their barriers.

    Parameters
    ----------
    spec : BarrierSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every path of the first part and every α of the second.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.barrier`.
    """
    total = len(spec.M) + len(spec.alphas)

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, total)

    paths = []
    for M in spec.M:
        paths.append((M, _coexistence(M, spec.images), potts_barrier(M, 1.0)))
        tell(len(paths))
    pairs = []
    for n, alpha in enumerate(spec.alphas, start=1):
        pairs += [_pairs(spec, alpha, third) for third in (None, spec.third)]
        tell(len(paths) + n)
    return barrier_tree(paths, spec.couplings, pairs, spec.model_dump(exclude_none=True))


def _coexistence(M: int, images: int) -> Barrier:
    """From the uniform state to retrieval at the coupling at which both have one free energy, α = 1."""
    beta = potts_coexistence(M, 1.0)
    model = HopfieldModel(patterns.equicorrelated(M, M, cosine=0.0), 1.0, 1.0)
    retrieval = relax(model, model.patterns[0], beta).x
    return find_barrier(model, model.patterns.mean(axis=0), retrieval, beta, images=images)


def _pairs(spec: BarrierSpec, alpha: float, third: float | None) -> PairBarriers:
    """Between two orthogonal patterns at every coupling; NaN where they are not stored."""
    gram = np.eye(2)
    nearest = 1.0 if third is None else 1.0 - third
    if third is not None:
        gram = np.array([[1.0, 0.0, third], [0.0, 1.0, third], [third, third, 1.0]])
    model = HopfieldModel(np.linalg.cholesky(gram), alpha, 1.0)
    # stored, and the middle of the edge is a maximum along it
    onset = max(alpha / (alpha - 1), alpha * 2 ** (2 - alpha)) / nearest
    heights, exact, statuses, steps = [], [], [], []
    for coupling in spec.couplings:
        if coupling <= onset:
            heights.append(math.nan)
            exact.append(math.nan)
            statuses.append("not stored")
            steps.append(0)
            continue
        found = find_barrier(model, model.patterns[0], model.patterns[1], coupling, images=spec.images)
        heights.append(found.height)
        exact.append(pair_barrier(coupling * nearest, alpha))
        statuses.append(str(found.status))
        steps.append(len(found.saddles))
    return PairBarriers(alpha, third, heights, exact, statuses, steps)
