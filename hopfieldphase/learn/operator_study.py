"""Learned maps between heavy-tailed measures as a labelled result: from a spec to its folder."""

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import xarray as xr

from hopfieldphase.data.operators import TrainedOperator, operators_summary, operators_tree
from hopfieldphase.dynamics.operator_scores import Floats, operator_scores
from hopfieldphase.kernels.threads import thread_count
from hopfieldphase.learn.checkpoint_state import read_state
from hopfieldphase.learn.kept import compute_kept, state_file
from hopfieldphase.learn.measure_cost import check_memory, measured_step, peak_memory
from hopfieldphase.learn.measure_data import OPERATORS
from hopfieldphase.learn.measure_training import MeasureTraining, checked_device, train_map
from hopfieldphase.learn.measure_transformer import MeasureTransformer
from hopfieldphase.learn.workers import News, one_by_one, run_trainings
from hopfieldphase.runs.operators_spec import OperatorsSpec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.results import Draw


@dataclass(frozen=True)
class Job:
    """One model to train and to score."""

    training: MeasureTraining
    spec: OperatorsSpec
    state: Path | None


_SHARED = (
    "norm", "operator", "family", "points", "batch", "steps", "warm_up", "learning_rate", "width", "hidden",
    "blocks", "seed",
)  # fmt: skip
"""Options that a spec and its trainings share."""


def operators(
    spec: OperatorsSpec, folder: Path | None = None, *, progress: Progress | None = None
) -> xr.DataTree:
    """Train a model for each transform and kernel, and score it against the i.i.d. floor.

    On a CPU the models are trained side by side, one on each core; on a GPU one after the other. A model is
    scored trial by trial: no more than one ensemble is held.

    Parameters
    ----------
    spec : OperatorsSpec
    folder : Path, optional
        Where the state of every training is kept, so that a killed run goes on.
    progress : callable, optional
        Called as ``progress(training steps done, all training steps, text with the loss)``.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.operators`.

    Raises
    ------
    InputError
        If the models do not fit into the memory, there is no such device, or the folder holds the state of
        another training. Nothing is trained then.

    Notes
    -----
    Section 4.2 and Appendices E, G, H, I and J of "Attention Kernels for Learning Maps Between Heavy-Tailed
    Measures".
    """
    jobs = planned(spec, folder)
    for job in jobs:
        if job.state is not None:
            read_state(job.state, asdict(job.training))
    steps = jobs[0].training.steps
    run = run_trainings if spec.device == "cpu" else one_by_one  # a GPU holds one model at a time
    found = run(work, jobs, steps, progress)
    rows = np.array(found, dtype=object).reshape(len(spec.transforms), len(spec.kernels)).tolist()
    return operators_tree(rows, jobs[0].training.untrained().size, spec.model_dump(exclude_none=True))


def compute_operators(
    spec: OperatorsSpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train and score, write the result folder and return the content of `summary.json`."""
    return compute_kept(operators, operators_summary, spec, path, draw=draw, progress=progress)


def planned(spec: OperatorsSpec, folder: Path | None = None) -> list[Job]:
    """The models of a study, by transform and kernel, checked against the machine.

    Where the spec limits the time, a step of each model is measured, and all get the number of steps that
    fits into it; no states are kept then.

    Raises
    ------
    InputError
        See `operators`.
    """
    trainings, state = _trainings(spec), folder
    if spec.minutes is not None:
        steps = 60 * spec.minutes * _at_once(spec) / _seconds_of_steps(spec, trainings)
        steps = min(max(int(steps), 1), spec.steps)
        warm_up, state = min(spec.warm_up, steps // 2), None
        trainings = [replace(training, steps=steps, warm_up=warm_up) for training in trainings]
    return [Job(training, spec, _state(state, training)) for training in trainings]


def estimated_seconds(spec: OperatorsSpec) -> float:
    """About how long all trainings take, from measured steps of each model.

    Raises
    ------
    InputError
        See `operators`.
    """
    seconds = spec.steps * _seconds_of_steps(spec, _trainings(spec)) / _at_once(spec)
    return seconds if spec.minutes is None else min(seconds, 60 * spec.minutes)


def _trainings(spec: OperatorsSpec) -> list[MeasureTraining]:
    """Every training of a study; `InputError` where the device is not there or has too little memory."""
    checked_device(spec.device)
    shared = {name: getattr(spec, name) for name in _SHARED}
    trainings = [
        MeasureTraining(kernel, symlog=transform == "symlog", **shared)
        for transform in spec.transforms
        for kernel in spec.kernels
    ]
    check_memory(trainings[0], spec.device, _at_once(spec))
    return trainings


def _at_once(spec: OperatorsSpec) -> int:
    """How many models are trained side by side."""
    return 1 if spec.device == "cuda" else min(thread_count(), len(spec.transforms) * len(spec.kernels))


def _seconds_of_steps(spec: OperatorsSpec, trainings: list[MeasureTraining]) -> float:
    """Seconds of one step of every model together, with one thread on a CPU, as `run_trainings` has it."""
    jobs = [Job(training, spec, None) for training in trainings]
    return sum(run_trainings(_measured, jobs, 1, None))


def _measured(job: Job, _: News) -> float:
    return measured_step(job.training, job.spec.device)


def _state(folder: Path | None, training: MeasureTraining) -> Path | None:
    return state_file(folder, f"{training.kernel}{'-symlog' if training.symlog else ''}")


def work(job: Job, news: News) -> TrainedOperator:
    """Train and score one model."""
    spec = job.spec
    trained = train_map(job.training, job.state, device=spec.device, progress=news)
    predict = _Predictor(trained.model, torch.device(spec.device))
    scores = operator_scores(
        predict, OPERATORS[spec.operator], spec.family, n=spec.points, trials=spec.trials,
        fraction=spec.fraction, seed=spec.seed, threads=1 if spec.device == "cpu" else None,
    )  # fmt: skip
    scores.distances[~np.array(predict.finite)] = math.nan
    peak, spread = peak_memory(spec.device), np.array(predict.spread)
    return TrainedOperator(trained.losses, trained.skipped, trained.seconds_per_step, peak, scores, spread)


class _Predictor:
    """A trained model as a map of arrays, which notes what its outputs are like.

    Outputs that are not finite are counted, and stand as a point mass at zero.
    """

    def __init__(self, model: MeasureTransformer, device: torch.device) -> None:
        self.model, self.device = model, device
        self.finite: list[bool] = []
        self.spread: list[float] = []

    def __call__(self, inputs: Floats) -> Floats:
        points = torch.from_numpy(inputs.astype(np.float32)).to(self.device)
        with torch.inference_mode():
            output = self.model(points[None])[0].cpu().numpy().astype(np.float64)
        self.finite.append(bool(np.isfinite(output).all()))
        output = output if self.finite[-1] else np.zeros_like(inputs)
        self.spread.append(_spread(output) / _spread(inputs))
        return output


def _spread(points: Floats) -> float:
    """Median distance of points from their median by coordinates."""
    return float(np.median(np.linalg.norm(points - np.median(points, axis=0), axis=1)))
