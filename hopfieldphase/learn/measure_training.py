"""Training of maps between measures: energy distance, AdamW, a cosine schedule, and what it costs."""

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.ensembles.operators import Family
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.checkpoint_state import restore_state, save_state
from hopfieldphase.learn.energy_loss import energy_distance
from hopfieldphase.learn.measure_data import MeasureData
from hopfieldphase.learn.measure_transformer import MeasureTransformer, Norm

SAVE_EVERY = 60.0  # seconds between two states in the file
CLIP = 1.0
"""Largest norm of the gradient of a step."""


@dataclass(frozen=True)
class MeasureTraining:
    """Everything that determines a trained map.

    Parameters
    ----------
    kernel, norm, symlog, width, hidden, blocks
        See `MeasureTransformer`.
    operator, family, points
        See `MeasureData`.
    seed : int
        Of the initial weights and the data; models of one seed see the same ensembles.
    steps, batch : int
        Optimizer steps, and trials in each.
    warm_up : int
        Steps over which the learning rate rises in proportion to the step.
    learning_rate : float
        Largest one; after the warm-up half a cosine takes it to zero.

    Notes
    -----
    The defaults are those of Appendix E.3 of "Attention Kernels for Learning Maps Between Heavy-Tailed
    Measures". Not printed there and chosen here: a warm-up over 2 % of the steps, an end at zero, and the
    decays 0.9 and 0.999 of AdamW.
    """

    kernel: str
    norm: Norm = "post"
    symlog: bool = False
    operator: str = "sheared-swap"
    family: Family = "pareto"
    points: int = 16384
    batch: int = 64
    steps: int = 50000
    warm_up: int = 1000
    learning_rate: float = 1e-3
    width: int = 256
    hidden: int = 512
    blocks: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch", "steps", "width", "hidden", "blocks"):
            whole_number(name, getattr(self, name))
        whole_number("warm_up", self.warm_up, 0)
        real_number("learning_rate", self.learning_rate, 0, math.inf, ends="()")
        self.data  # noqa: B018  # checks its own options

    @property
    def data(self) -> MeasureData:
        """The ensembles."""
        return MeasureData(self.operator, self.family, self.points, self.seed)

    def untrained(self) -> MeasureTransformer:
        """The model before the first step."""
        return MeasureTransformer(
            self.kernel, norm=self.norm, symlog=self.symlog, seed=self.seed, width=self.width,
            hidden=self.hidden, blocks=self.blocks,
        )  # fmt: skip

    def rate(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        if step < self.warm_up:
            return self.learning_rate * (step + 1) / self.warm_up
        share = (step - self.warm_up) / max(self.steps - self.warm_up, 1)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * share))


@dataclass(frozen=True)
class TrainedMap:
    """A trained model with what its training gave.

    Attributes
    ----------
    training : MeasureTraining
    model : MeasureTransformer
    losses : ndarray, shape (steps,)
        Mean energy distance of every step before its update.
    skipped : int
        Steps whose loss or gradient was not finite: the weights stayed as they were.
    seconds_per_step : float
        Median over the steps.
    """

    training: MeasureTraining
    model: MeasureTransformer
    losses: np.ndarray
    skipped: int
    seconds_per_step: float


def train_map(
    training: MeasureTraining,
    checkpoint: Path | None = None,
    *,
    device: str = "cpu",
    progress: Callable[[int, float], object] | None = None,
    save_every: float = SAVE_EVERY,
) -> TrainedMap:
    """Minimize the mean energy distance between output and target ensembles.

    A step whose loss or gradient is not finite changes nothing and is counted; gradients are clipped to
    norm 1. On a GPU everything but the sums of the slower kernels runs in bfloat16 where PyTorch's autocast
    puts it, as in the paper.

    Parameters
    ----------
    training : MeasureTraining
    checkpoint : Path, optional
        A file for the state of the run. What it holds of the same training is gone on with; on a CPU, with
        one number of threads, the result is then the same to the last bit.
    device : {"cpu", "cuda"}
    progress : callable, optional
        Called as ``progress(steps done, loss)``.
    save_every : float
        Seconds between two savings, beside the one at the end: what an interruption may cost.

    Returns
    -------
    TrainedMap

    Raises
    ------
    InputError
        If the checkpoint is that of another training, or there is no such device.
    OutputError
        If the checkpoint cannot be written.
    """
    run = Run(training, checked_device(device))
    losses, seconds = torch.full((2, training.steps), math.nan, dtype=torch.float64)
    skipped, done = 0, 0
    if checkpoint is not None:
        record = restore_state(checkpoint, asdict(training), run.model, run.optimizer)
        if record:
            done, skipped = len(record["losses"]), int(record["skipped"])
            losses[:done], seconds[:done] = record["losses"], record["seconds"]
    saved_at = time.monotonic()
    while done < training.steps:
        start = time.perf_counter()
        losses[done], taken = run.step(done)
        seconds[done] = time.perf_counter() - start
        skipped += not taken
        done += 1
        if checkpoint is not None and (done == training.steps or time.monotonic() - saved_at >= save_every):
            record = {"losses": losses[:done].clone(), "seconds": seconds[:done].clone()}
            record["skipped"] = torch.tensor(skipped)
            save_state(checkpoint, asdict(training), run.model, run.optimizer, record)
            saved_at = time.monotonic()
        if progress is not None:
            progress(done, float(losses[done - 1]))
    return TrainedMap(training, run.model.eval(), losses.numpy(), skipped, float(seconds.median()))


class Run:
    """Model and optimizer of one training on a device, before their first step."""

    def __init__(self, training: MeasureTraining, device: torch.device) -> None:
        self.training, self.device = training, device
        self.data, self.model = training.data, training.untrained().to(device)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=training.learning_rate, weight_decay=0.0, fused=True
        )

    def step(self, number: int) -> tuple[float, bool]:
        """One step of the optimizer: the loss before it, and whether it was taken."""
        drawn = self.data.batch(number, self.training.batch)
        inputs, targets = drawn.inputs.to(self.device), drawn.targets.to(self.device)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.device.type == "cuda"):
            outputs = self.model(inputs)
        loss = energy_distance(outputs, targets).mean()
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        value, finite = loss.item(), math.isfinite(loss.item()) and math.isfinite(norm.item())
        if finite:
            for group in self.optimizer.param_groups:
                group["lr"] = self.training.rate(number)
            self.optimizer.step()
        return value, finite


def checked_device(name: str) -> torch.device:
    """The device of this name.

    Raises
    ------
    InputError
        If the name is unknown, or PyTorch sees no GPU.
    """
    if name not in ("cpu", "cuda"):
        raise InputError(f"device = {name!r} is unknown: use cpu or cuda")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("device = cuda, but PyTorch sees no GPU: use cpu, or a PyTorch built for CUDA")
    return torch.device(name)
