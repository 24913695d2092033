"""How far distances between samples tell tail indices apart: the spliced testbed.

Two samples of N points come from laws that agree below a seam and have different Pareto indices above it
(`core.ensembles.SplicedPareto`); three statistics of the pair are measured over many draws.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.distances import hill
from hopfieldphase.core.ensembles.spliced import SplicedPareto
from hopfieldphase.kernels.pair_sums import sorted_energy

Floats = NDArray[np.float64]

STATISTICS = ("energy", "wasserstein", "hill")
"""Energy distance (squared, V-statistic), 2-Wasserstein distance, absolute difference of Hill estimates."""


@dataclass(frozen=True)
class TailPoint:
    """One point of the testbed.

    Attributes
    ----------
    size : int
        N, points of each sample.
    seam : float
        Quantile q₀ from which on the two laws differ.
    index, reference : float
        Tail indices above the seam of the candidate and of the reference law.
    """

    size: int
    seam: float
    index: float
    reference: float

    @property
    def k(self) -> int:
        """How many of the largest values the Hill estimates take: max(2, round(N(1 − q₀)))."""
        return max(2, round(self.size * (1 - self.seam)))

    def draws(self, count: int, seed: int) -> Floats:
        """Every statistic over independent pairs of samples.

        Parameters
        ----------
        count : int
            Number of pairs.
        seed : int
            The first draws are the same for every larger count; what is drawn depends on the seed and on
            this point alone, not on the rest of a sweep.

        Returns
        -------
        ndarray, shape (3, count)
            By `STATISTICS`.
        """
        key = (self.size, *np.array([self.seam, self.index, self.reference]).view(np.uint64).tolist())
        generator = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
        laws = [SplicedPareto(a, self.seam, self.reference) for a in (self.reference, self.index)]
        values = np.empty((len(STATISTICS), count))
        for n in range(count):
            # the survival function falls: sorted samples come from probabilities sorted the other way
            x, y = (law.upper_quantile(np.sort(1 - generator.random(self.size))[::-1]) for law in laws)
            values[:, n] = (
                sorted_energy(x, y),
                np.sqrt(np.mean((x - y) ** 2)),
                abs(hill(x, self.k) - hill(y, self.k)),
            )
        return values


def noise_units(mean: Floats, deviation: Floats, reference: int) -> Floats:
    """Means in noise units, z_j = (μ_j − μ_ref)/ς with ς the median deviation along the last axis.

    Parameters
    ----------
    mean, deviation : ndarray, shape (..., J)
        Over draws, at each candidate index.
    reference : int
        Position of the reference index.

    Returns
    -------
    ndarray, shape (..., J)

    Notes
    -----
    Equation (32) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".
    """
    unit = np.median(deviation, axis=-1, keepdims=True)
    return (mean - mean[..., [reference]]) / unit
