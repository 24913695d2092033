"""Ensembles of heavy-tailed laws and of their images, on which maps between measures are trained."""

from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.ensembles import MatrixInverse, ShearedSwap, draw_instance
from hopfieldphase.core.ensembles.operators import Family, PlaneOperator
from hopfieldphase.core.errors import InputError

OPERATORS: dict[str, type[PlaneOperator]] = {"sheared-swap": ShearedSwap, "matrix-inverse": MatrixInverse}
"""The maps to learn, by name."""

_TRAINING = 2  # beside the streams 0 and 1 of one seed, from which `dynamics.operator_scores` draws


@dataclass(frozen=True)
class Ensembles:
    """B trials in float32: independent ensembles of the input and of the output law of one instance each.

    Attributes
    ----------
    inputs, targets : Tensor, shape (B, N, 2)
    """

    inputs: Tensor
    targets: Tensor


@dataclass(frozen=True)
class MeasureData:
    """Trials of one operator between laws on the plane, a fresh instance in every trial.

    Of the matrix inverse on Gaussian marginals the input law does not tell the output law
    (`core.ensembles.gaussian_twins`): no map can be right there.

    Parameters
    ----------
    operator : str
        One of `OPERATORS`.
    family : {"pareto", "gaussian"}
        Mirrored Pareto marginals, or Gaussian ones as the light-tailed control.
    points : int
        N, points of an ensemble.
    seed : int

    Raises
    ------
    InputError
        If an option is outside its domain.

    Notes
    -----
    Sections 3.1 and 3.2 and Appendix D of "Attention Kernels for Learning Maps Between Heavy-Tailed
    Measures".
    """

    operator: str
    family: Family = "pareto"
    points: int = 16384
    seed: int = 0

    def __post_init__(self) -> None:
        if self.operator not in OPERATORS:
            raise InputError(f"operator = {self.operator!r} is unknown: use {', '.join(OPERATORS)}")
        if self.family not in get_args(Family):
            raise InputError(f"family = {self.family!r} is unknown: use pareto or gaussian")
        whole_number("points", self.points, 2)
        whole_number("seed", self.seed, 0)

    def batch(self, step: int, trials: int) -> Ensembles:
        """The trials of one training step; they depend on the seed, the step and their number alone."""
        pairs = [self._trial(step, number) for number in range(trials)]
        inputs, targets = (np.stack(side).astype(np.float32) for side in zip(*pairs, strict=True))
        return Ensembles(torch.from_numpy(inputs), torch.from_numpy(targets))

    def _trial(self, step: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        sequence = np.random.SeedSequence(self.seed, spawn_key=(_TRAINING, step, number))
        generator = np.random.default_rng(sequence)
        instance = draw_instance(OPERATORS[self.operator], self.family, generator)
        drawn = instance.ensembles(self.points, generator)
        return drawn.inputs, drawn.targets
