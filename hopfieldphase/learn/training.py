"""Training of the Transformers of Appendix G, with checkpoints from which a killed run goes on."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.learn.checkpoint_state import restore_state, save_state
from hopfieldphase.learn.retrieval_data import RetrievalData
from hopfieldphase.learn.score_scaling import Scaling
from hopfieldphase.learn.transformer import CrossAttentionTransformer
from hopfieldphase.runs.capacity_spec import Task

SAVE_EVERY = 20.0  # seconds between two checkpoints


@dataclass(frozen=True)
class Training:
    """Everything that determines a trained model.

    Step n takes the memory load ``loads[n % len(loads)]`` and the query noise ``noises[n % len(noises)]``.

    Parameters
    ----------
    task : {"selective", "uniform"}
        See `RetrievalData`.
    alpha, beta : float
        Tsallis index and inverse temperature of the attention.
    scaling : {"none", "logarithmic", "adaptive"}
        Learned factor of the scores, see `CrossAttentionTransformer`.
    seed : int
        Of the initial weights and the data; models of one seed and task see the same examples.
    steps, batch_size : int
        Optimizer steps, and examples per step.
    learning_rate, weight_decay : float
        Of AdamW.
    loads : tuple of int
        Numbers of memories M.
    noises : tuple of float
        Levels σ_Q.

    Notes
    -----
    The defaults are those of Appendix G.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """

    task: Task
    alpha: float
    beta: float = 1.0
    scaling: Scaling = "none"
    seed: int = 0
    steps: int = 2500
    batch_size: int = 64
    learning_rate: float = 3e-4
    weight_decay: float = 1e-4
    loads: tuple[int, ...] = (8, 16, 32, 64)
    noises: tuple[float, ...] = (0.05, 0.10, 0.15)

    def __post_init__(self) -> None:
        tsallis_index(self.alpha)
        inverse_temperature(self.beta)
        if self.steps < 1 or self.batch_size < 1:
            raise InputError(f"steps = {self.steps}, batch_size = {self.batch_size}: give at least 1 of each")
        for M in self.loads:
            self.data.relevant_count(M)

    @property
    def data(self) -> RetrievalData:
        """The examples."""
        return RetrievalData(self.task, self.seed)

    def untrained(self) -> CrossAttentionTransformer:
        """The model before the first step."""
        return CrossAttentionTransformer(self.alpha, scaling=self.scaling, seed=self.seed)


@dataclass(frozen=True)
class Trained:
    """A trained model and the loss of every step, shape (steps,)."""

    training: Training
    model: CrossAttentionTransformer
    losses: np.ndarray


def train(
    training: Training,
    checkpoint: Path | None = None,
    *,
    progress: Callable[[int, float], object] | None = None,
    save_every: float = SAVE_EVERY,
) -> Trained:
    r"""Minimize :math:`\frac1B \sum_b |\hat y^{(b)} - y^{(b)}|^2` with AdamW.

    Parameters
    ----------
    training : Training
    checkpoint : Path, optional
        A file for the state of the run. What it holds of the same training is gone on with; on one machine
        with one number of threads the result is then the same to the last bit.
    progress : callable, optional
        Called as ``progress(steps done, loss)`` after every step.
    save_every : float
        Seconds between two savings, beside the one at the end: what an interruption may cost.

    Returns
    -------
    Trained

    Raises
    ------
    InputError
        If the checkpoint is damaged, or that of another training or of another version of this package or
        of PyTorch; it is left as it is.
    OutputError
        If the checkpoint cannot be written.
    """
    model, data = training.untrained(), training.data
    optimizer = torch.optim.AdamW(  # fused: the same formulas in one pass over all parameters
        model.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay, fused=True
    )
    losses = np.empty(training.steps)
    made_by = asdict(training)
    known = {} if checkpoint is None else restore_state(checkpoint, made_by, model, optimizer)
    done = 0
    if known:
        done = len(known["losses"])
        losses[:done] = known["losses"].numpy()
    saved_at = time.monotonic()
    while done < training.steps:
        losses[done] = step(done, training, model, optimizer, data)
        done += 1
        if checkpoint is not None and (done == training.steps or time.monotonic() - saved_at >= save_every):
            record = {"losses": torch.from_numpy(losses[:done].copy())}
            save_state(checkpoint, made_by, model, optimizer, record)
            saved_at = time.monotonic()
        if progress is not None:
            progress(done, losses[done - 1])
    return Trained(training, model, losses)


def step(
    number: int,
    training: Training,
    model: CrossAttentionTransformer,
    optimizer: torch.optim.Optimizer,
    data: RetrievalData,
) -> float:
    """One step of the training, with the examples of its number: the loss before it."""
    M = training.loads[number % len(training.loads)]
    noise = training.noises[number % len(training.noises)]
    batch = data.training_batch(number, training.batch_size, M, noise)
    output, _ = model(batch.query, batch.keys, batch.values, training.beta)
    loss = (output - batch.target).square().sum(-1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
