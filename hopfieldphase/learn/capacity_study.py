"""Capacity and reliability of trained Transformers as a labelled result: from a spec to its folder."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.capacity import OBSERVABLES, capacity_summary, capacity_tree
from hopfieldphase.learn.capacity import reliability
from hopfieldphase.learn.retrieval_data import Task
from hopfieldphase.learn.training import Trained, Training, train
from hopfieldphase.runs.capacity_spec import CapacitySpec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw, write_result

_TASKS: tuple[Task, ...] = ("selective", "uniform")


def capacity(
    spec: CapacitySpec, folder: Path | None = None, *, progress: Progress | None = None
) -> xr.DataTree:
    """Train a model for each task, index and seed, and measure it over loads and temperatures.

    Parameters
    ----------
    spec : CapacitySpec
    folder : Path, optional
        Where the state of every training is kept, so that a killed run goes on.
    progress : callable, optional
        Called as ``progress(training steps done, all training steps)``.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.capacity`.

    Notes
    -----
    Appendices G.2 and G.3 (frozen β) of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    seeds = range(spec.seed, spec.seed + spec.realizations)
    shape = (len(spec.alphas), len(seeds))
    places = [(i, j) for i in range(shape[0]) for j in range(shape[1])]
    total = len(_TASKS) * len(places) * spec.steps
    over_loads, over_betas, losses = {}, {}, {}
    before = 0
    for task in _TASKS:
        names = OBSERVABLES[task]
        losses[task] = np.empty((*shape, spec.steps))
        over_loads[task] = {name: np.empty((*shape, len(spec.loads), spec.examples)) for name in names}
        over_betas[task] = {name: np.empty((*shape, len(spec.betas), spec.examples)) for name in names}
        for i, j in places:
            training = Training(task, spec.alphas[i], seed=seeds[j], steps=spec.steps)

            def news(done: int, _: int, before: int = before) -> None:
                if progress is not None:
                    progress(before + done, total)

            trained = train(training, _state(folder, training), progress=news)
            before += spec.steps
            losses[task][i, j] = trained.losses
            _fill(over_loads[task], (i, j), trained, [(M, 1.0) for M in spec.loads], spec.examples)
            at_betas = [(spec.beta_load, beta) for beta in spec.betas]
            _fill(over_betas[task], (i, j), trained, at_betas, spec.examples)
    return capacity_tree(over_loads, over_betas, losses, seeds, spec.model_dump())


def compute_capacity(
    spec: CapacitySpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train and measure, write the result folder and return the content of `summary.json`."""
    start = time.perf_counter()
    tree = capacity(spec, path, progress=progress)
    summary = write_result(spec, path, capacity_summary(tree), time.perf_counter() - start, tree, draw)
    for state in path.glob(".training-*.pt"):
        state.unlink()
    return summary


def _state(folder: Path | None, training: Training) -> Path | None:
    if folder is None:
        return None
    return folder / f".training-{training.task}-{training.alpha:g}-{training.seed}.pt"


def _fill(
    arrays: dict[str, np.ndarray],
    place: tuple[int, int],
    trained: Trained,
    points: list[tuple[int, float]],
    examples: int,
) -> None:
    """Measure one model at the points (M, β) of a grid."""
    for k, (M, beta) in enumerate(points):
        found = reliability(trained.model, trained.training.data, M, beta=beta, examples=examples)
        for name, values in arrays.items():
            values[(*place, k)] = getattr(found, name)
