"""Where the attention of a trained Transformer works among the phases that its own keys make."""

from dataclasses import dataclass

import numpy as np

from hopfieldphase.learn.capacity import QUERY_NOISE
from hopfieldphase.learn.head_phases import key_phases
from hopfieldphase.learn.training import Trained


@dataclass(frozen=True)
class TrainedKeys:
    """Critical points of the keys of every head, in β, each an array of shape (example, head).

    Attributes
    ----------
    second_minimum : ndarray
        Lowest β at which a second minimum was found (`learn.head_phases.KeyPhases`).
    coexistence : ndarray
        Lowest β at which the free energies of two minima cross; inf where none do.
    instability : ndarray
        Where the state of low β loses stability; inf where it does not.
    factor : ndarray, shape (head,)
        c_h(M): at inverse temperature β the head works at β c_h among these points.
    """

    second_minimum: np.ndarray
    coexistence: np.ndarray
    instability: np.ndarray
    factor: np.ndarray


def trained_keys(trained: Trained, M: int, examples: int, top: int = 5) -> TrainedKeys:
    """Follow the minima that the keys of a trained model make, for the first examples of its evaluation.

    Parameters
    ----------
    trained : Trained
    M : int
        Memories of an example.
    examples : int
    top : int
        Branches to follow (`learn.head_phases.head_phases`).

    Returns
    -------
    TrainedKeys
    """
    model, data = trained.model, trained.training.data
    batch = data.evaluation_batch(0, examples, M, QUERY_NOISE)
    factor = np.ones(model.heads)
    if model.scaling is not None:
        factor = model.scaling(M).detach().double().numpy()
    _, keys = model.heads_of(batch.query, batch.keys)
    found = [[key_phases(k.double().numpy(), model.alpha, top) for k in heads] for heads in keys]
    names = ("second_minimum", "coexistence", "instability")
    return TrainedKeys(
        **{name: np.array([[getattr(at, name) for at in heads] for heads in found]) for name in names},
        factor=factor,
    )
