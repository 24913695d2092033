"""The dispersion of attention in long contexts as a labelled result."""

from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.attention import TopK
from hopfieldphase.data.dispersion import dispersion_tree
from hopfieldphase.dynamics.dispersion import (
    append,
    is_softmax,
    isolating_gap,
    length_maps,
    map_weights,
    measured_gap,
    spreading,
    two_level,
)
from hopfieldphase.runs.dispersion_spec import DispersionSpec
from hopfieldphase.runs.parallel import Progress, run_tasks

APPENDED_POINTS = 151


def dispersion(spec: DispersionSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Measure entropies, supports and gaps of all maps as the context grows.

    Parameters
    ----------
    spec : DispersionSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every context.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.dispersion`.
    """
    maps = length_maps(spec.alpha, spec.relevant, spec.slope, spec.trained_length)
    # lengths run fastest, so that every chunk of contexts costs about the same
    k, contexts = spec.relevant, list(product(range(spec.draws), spec.lengths))

    def random_scores(draw: int, n: int) -> Any:
        rng = np.random.default_rng(np.random.SeedSequence(spec.seed, spawn_key=(n, draw)))
        return rng.uniform(0.0, spec.spread, n)

    def context(i: int) -> Any:
        if i < len(contexts):
            scores = random_scores(*contexts[i])
            return [spreading(attention, scores) for attention in maps.values()]
        n = spec.lengths[i - len(contexts)]
        return [_levels(attention, k, n, spec.gap, spec.mass) for attention in maps.values()]

    found = run_tasks(context, len(contexts) + len(spec.lengths), None, progress)
    shape = (spec.draws, len(spec.lengths), len(maps), 3)
    spread = np.reshape(np.array(found[: len(contexts)], float), shape).transpose(3, 2, 1, 0)
    levels = np.array(found[len(contexts) :], float).transpose(2, 1, 0)
    # a context of its own, which no draw of the same length shares
    base = random_scores(spec.draws, spec.context)
    positions = np.linspace(-spec.spread, 2 * spec.spread, APPENDED_POINTS)
    appended = np.array([[append(one, base, float(b)) for b in positions] for one in maps.values()])
    return dispersion_tree(maps, spread, levels, base, positions, appended, spec.model_dump())


def _levels(attention: Any, k: int, n: int, gap: float, mass: float) -> tuple[float, ...]:
    """Mass and entropy at one gap, gap of the mass, isolating gap; NaN where there are no other scores."""
    if n <= k:
        return (np.nan,) * 4
    held = map_weights(attention, two_level(k, n, gap))
    positive = held[held > 0]
    entropy = float(-(positive * np.log(positive)).sum())
    if isinstance(attention, TopK):  # any gap isolates
        return float(held[:k].sum()), entropy, 0.0, 0.0
    isolated = np.nan if is_softmax(attention) else isolating_gap(attention, k, n)
    needed = measured_gap(attention, k, n, mass) if mass * n > k else np.nan
    return float(held[:k].sum()), entropy, needed, isolated
