"""Start states of sweeps, given by name or as a state."""

from typing import Any

import numpy as np

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.blocks import mean_row
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel, RetrievalModel
from hopfieldphase.solvers import relax_many
from hopfieldphase.solvers.options import SolverOptions, start_state


def initial_state(model: HopfieldModel, start: Any, beta: float, options: SolverOptions) -> np.ndarray:
    """The state that a start names, shape (d,), for the model at the end of the range where a sweep begins.

    Raises
    ------
    InputError
        If the name is unknown, the pattern does not exist, or the state has another shape.
    """
    if isinstance(start, str) and start == "best":
        patterns = np.asarray(model.patterns, dtype=np.float64)
        found = relax_many(model, model.scale * patterns, beta, max_steps=options.max_steps)
        minima = [s for s in found if s.status is Status.CONVERGED] or found
        return min(minima, key=lambda s: s.free_energy).x.astype(np.float64)
    return named_state(model, start)


def named_state(model: RetrievalModel, start: Any) -> np.ndarray:
    """The state that a start names without any search, shape (d,); errors as `initial_state`."""
    if not isinstance(start, str):
        return start_state(model, start)
    if start == "mean":
        return model.scale * mean_row(model.patterns)
    name, _, index = start.partition(":")
    if name == "pattern" and index.isdecimal():
        if int(index) >= model.M:
            raise InputError(
                f"start {start!r} does not exist: the {model.M} patterns are numbered 0 to {model.M - 1}"
            )
        return model.scale * np.asarray(model.patterns[int(index)], dtype=np.float64)
    raise InputError(
        f"start {start!r} is unknown: "
        f"give 'mean', 'pattern:k', 'best', 'continue' or a state of shape ({model.d},)"
    )


def continues(starts: tuple[Any, Any]) -> tuple[bool, bool]:
    """Which of both sweeps begin where the other one ended.

    Raises
    ------
    InputError
        If both do.
    """
    follows = tuple(isinstance(start, str) and start == "continue" for start in starts)
    if all(follows):
        raise InputError("both sweeps start with 'continue': one of them needs a start state of its own")
    return follows[0], follows[1]


def in_words(start: Any) -> str:
    """A start as a sweep reports it."""
    return start if isinstance(start, str) else "a given state"
