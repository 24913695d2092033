"""Trained Transformers at other temperatures as a labelled result: from a spec to its folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.temperature import temperature_summary, temperature_tree
from hopfieldphase.data.trained import OBSERVABLES
from hopfieldphase.learn.capacity import Reliability
from hopfieldphase.learn.capacity_study import Job, measure, stacked, state, trainings
from hopfieldphase.learn.kept import compute_kept
from hopfieldphase.learn.trained_keys import TrainedKeys, trained_keys
from hopfieldphase.learn.training import train
from hopfieldphase.learn.workers import News, run_trainings
from hopfieldphase.runs.learned_maps import learned_map
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw
from hopfieldphase.runs.temperature_spec import TemperatureSpec


@dataclass(frozen=True)
class _Job:
    """One model to train and measure, and of how many examples the phases of its keys are found."""

    job: Job
    key_examples: int


def temperature(
    spec: TemperatureSpec, folder: Path | None = None, *, progress: Progress | None = None
) -> xr.DataTree:
    """Train models at β = 1 (frozen) and at every β (matched), and measure how they work at every β.

    Parameters
    ----------
    spec : TemperatureSpec
    folder : Path, optional
        Where the state of every training is kept, so that a killed run goes on.
    progress : callable, optional
        Called as ``progress(training steps done, all training steps, text with the loss)``.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.temperature`.

    Notes
    -----
    Appendix G.3 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    models = trainings(spec, spec.trained_betas)
    jobs = []
    for training in models:
        frozen = training.beta == 1 and "frozen" in spec.protocols
        points = tuple((spec.load, beta) for beta in (spec.betas if frozen else (training.beta,)))
        job = Job(training, points, spec.examples, state(folder, training))
        jobs.append(_Job(job, spec.key_examples if frozen else 0))
    found = run_trainings(_work, jobs, spec.steps, progress)
    shape = (len(spec.maps), spec.realizations)
    observables: dict[str, dict[str, dict[str, np.ndarray]]] = {}
    phases: dict[str, list[TrainedKeys]] = {}
    for task in spec.tasks:
        mine = [k for k, training in enumerate(models) if training.task == task]
        over = {
            "frozen": [found[k][0] for k in mine if models[k].beta == 1],
            "matched": [
                [_at(jobs[m].job, found[m][0], models[m].beta) for m in mine[k : k + len(spec.trained_betas)]]
                for k in range(0, len(mine), len(spec.trained_betas))
            ],
        }
        observables[task] = {
            protocol: stacked(over[protocol], OBSERVABLES[task], shape) for protocol in spec.protocols
        }
        phases[task] = [keys for k in mine if (keys := found[k][1]) is not None]
    alphas = tuple(learned_map(name).alpha for name in spec.maps)
    keys = phases if "frozen" in spec.protocols and spec.key_examples else None
    return temperature_tree(observables, keys, alphas, spec.seeds, spec.model_dump())


def compute_temperature(
    spec: TemperatureSpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train and measure, write the result folder and return the content of `summary.json`."""
    return compute_kept(temperature, temperature_summary, spec, path, draw=draw, progress=progress)


def _work(task: _Job, news: News) -> tuple[list[Reliability], TrainedKeys | None]:
    trained = train(task.job.training, task.job.state, progress=news)
    keys = trained_keys(trained, task.job.points[0][0], task.key_examples) if task.key_examples else None
    return measure(trained, task.job), keys


def _at(job: Job, points: list[Reliability], beta: float) -> Reliability:
    """What was measured at β."""
    return points[[b for _, b in job.points].index(beta)]
