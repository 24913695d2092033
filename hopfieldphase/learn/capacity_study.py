"""Reliability of trained Transformers against memory load as a labelled result: from a spec to its folder."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.capacity import capacity_summary, capacity_tree
from hopfieldphase.data.trained import OBSERVABLES
from hopfieldphase.learn.capacity import Reliability, reliability
from hopfieldphase.learn.kept import compute_kept, state_file
from hopfieldphase.learn.training import Trained, Training, train
from hopfieldphase.learn.workers import News, run_trainings
from hopfieldphase.runs.capacity_spec import CapacitySpec, TrainedSpec
from hopfieldphase.runs.learned_maps import learned_map
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw


@dataclass(frozen=True)
class Job:
    """One model to train, and where it is then measured: points (M, β)."""

    training: Training
    points: tuple[tuple[int, float], ...]
    examples: int
    state: Path | None


def capacity(
    spec: CapacitySpec, folder: Path | None = None, *, progress: Progress | None = None
) -> xr.DataTree:
    """Train a model for each task, map and seed, and measure it over memory loads.

    Parameters
    ----------
    spec : CapacitySpec
    folder : Path, optional
        Where the state of every training is kept, so that a killed run goes on.
    progress : callable, optional
        Called as ``progress(training steps done, all training steps, text with the loss)``.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.capacity`.

    Notes
    -----
    Appendix G.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    points = tuple((M, 1.0) for M in spec.loads)
    jobs = [Job(training, points, spec.examples, state(folder, training)) for training in trainings(spec)]
    found = run_trainings(_work, jobs, spec.steps, progress)
    shape = (len(spec.maps), spec.realizations)
    observables, losses = {}, {}
    for task, part in zip(spec.tasks, np.split(np.arange(len(jobs)), len(spec.tasks)), strict=True):
        losses[task] = np.array([found[k][0] for k in part]).reshape(*shape, spec.steps)
        observables[task] = stacked([found[k][1] for k in part], OBSERVABLES[task], shape)
    alphas = tuple(learned_map(name).alpha for name in spec.maps)
    return capacity_tree(observables, losses, alphas, spec.seeds, spec.model_dump())


def compute_capacity(
    spec: CapacitySpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train and measure, write the result folder and return the content of `summary.json`."""
    return compute_kept(capacity, capacity_summary, spec, path, draw=draw, progress=progress)


def trainings(spec: TrainedSpec, betas: tuple[float, ...] = (1.0,)) -> list[Training]:
    """Every model of a study, by task, map, seed and inverse temperature."""
    return [
        Training(task, alpha, beta=beta, scaling=scaling, seed=seed, steps=spec.steps)
        for task in spec.tasks
        for alpha, scaling in map(learned_map, spec.maps)
        for seed in spec.seeds
        for beta in betas
    ]


def state(folder: Path | None, training: Training) -> Path | None:
    """Where the state of a training is kept."""
    name = f"{training.task}-{training.alpha:g}-{training.scaling}-{training.beta:g}-{training.seed}"
    return state_file(folder, name)


def stacked(
    measured: list[list[Reliability]], names: Iterable[str], shape: tuple[int, ...]
) -> dict[str, np.ndarray]:
    """By observable, what was measured of every model at every point, shape (*shape, point, example)."""
    return {
        name: np.array([[getattr(at, name) for at in points] for points in measured]).reshape(
            *shape, len(measured[0]), -1
        )
        for name in names
    }


def measure(trained: Trained, job: Job) -> list[Reliability]:
    """What a trained model is like at every point of a job."""
    data = job.training.data
    return [reliability(trained.model, data, M, beta=beta, examples=job.examples) for M, beta in job.points]


def _work(job: Job, news: News) -> tuple[np.ndarray, list[Reliability]]:
    trained = train(job.training, job.state, progress=news)
    return trained.losses, measure(trained, job)
