"""Patterns in the plane whose escape times can be simulated, solved on a grid, and predicted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.barriers import Barrier, barrier
from hopfieldphase.solvers.relaxation import relax


@dataclass(frozen=True, eq=False)
class EscapeSystem:
    """A minimum with its ways out.

    Attributes
    ----------
    name : str
    ways : tuple of Barrier
        All from the same minimum.
    """

    name: str
    ways: tuple[Barrier, ...]

    @property
    def height(self) -> float:
        """ΔΓ of the first way."""
        return self.ways[0].height


def equidistant(count: int, alpha: float, coupling: float) -> EscapeSystem:
    """Escape from one of two opposite unit patterns, or of three at 120°, over one or two equivalent saddles.

    Parameters
    ----------
    count : {2, 3}
        Number of patterns.
    alpha : float
        Tsallis index.
    coupling : float
        K = b (1 − c), large enough for each pattern to have a minimum of its own.
    """
    if count not in (2, 3):
        raise InputError(f"count = {count}: in the plane 2 or 3 patterns have one distance, give one of them")
    alpha = tsallis_index(alpha)
    coupling = real_number("coupling", coupling, 0, np.inf, ends="()")
    angles = np.pi * (1 / 2 + 2 * np.arange(count) / count)
    model = HopfieldModel(np.column_stack([np.cos(angles), np.sin(angles)]), alpha, 1.0)
    beta = coupling / (1 - np.cos(2 * np.pi / count))
    return _system(f"alpha = {alpha:g}, {count} patterns", model, float(beta), range(1, count))


def facet_saddle(mean: float) -> EscapeSystem:
    """Escape at α = 2 over a saddle on a facet of the support.

    Two unit patterns (±√(1−m²), m) and a third one (0, −m), m < 1/√3, at b = 1/(2m²): their equal-weight
    pair is the saddle between the two, and the third pattern ties with its threshold. Across the facet, whose
    normal is orthogonal to the direction of descent, the second eigenvalue of the Hessian falls from β to
    β/3.

    Parameters
    ----------
    mean : float
        m, the norm of the mean of the two unit patterns.
    """
    mean = real_number("mean", mean, 0, 1 / np.sqrt(3), ends="()")
    half = np.sqrt(1 - mean**2)
    patterns = np.array([[half, mean], [-half, mean], [0.0, -mean]])
    return _system("alpha = 2, facet", HopfieldModel(patterns, 2.0, 1.0), 1 / (2 * mean**2), (1,))


def _system(name: str, model: HopfieldModel, beta: float, ends: Sequence[int]) -> EscapeSystem:
    minima = [relax(model, pattern, beta).x for pattern in model.patterns]
    return EscapeSystem(name, tuple(barrier(model, minima[0], minima[end], beta) for end in ends))
