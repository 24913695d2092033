"""The light-tailed control: a Gaussian with its centre where the mirrored Pareto law has it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.ensembles.laws import Floats, SymmetricLaw, points, probabilities


@dataclass(frozen=True)
class Gaussian(SymmetricLaw):
    """N(μ, σ²).

    Parameters
    ----------
    sigma : float
        Standard deviation σ > 0.
    mean : float
        μ.

    Raises
    ------
    InputError
        If σ is not positive or one of the two is not finite.
    """

    sigma: float
    mean: float = 1.0

    def __post_init__(self) -> None:
        real_number("sigma", self.sigma, 0, math.inf, ends="()")
        real_number("mean", self.mean, -math.inf, math.inf, ends="()")

    @property
    def centre(self) -> float:
        """μ."""
        return self.mean

    def density(self, z: Any) -> Floats:
        """exp(−(z − μ)²/2σ²)/√(2πσ²)."""
        return np.exp(-0.5 * self._scaled(z) ** 2) / (self.sigma * math.sqrt(2 * math.pi))

    def survival(self, z: Any) -> Floats:
        """P(Z > z)."""
        return np.asarray(scipy.special.ndtr(-self._scaled(z)))

    def upper_quantile(self, s: Any) -> Floats:
        """The point z with P(Z > z) = s."""
        return np.asarray(self.mean - self.sigma * scipy.special.ndtri(probabilities(s)))

    def variance(self) -> float:
        """σ²."""
        return self.sigma**2

    def expected_distance(self, z: Any) -> Floats:
        """E|z − Z| = σ(√(2/π) e^(−t²/2) + t erf(t/√2)), t = (z − μ)/σ."""
        t = self._scaled(z)
        core = math.sqrt(2 / math.pi) * np.exp(-0.5 * t**2) + t * scipy.special.erf(t / math.sqrt(2))
        return np.asarray(self.sigma * core)

    def mean_difference(self) -> float:
        """δ = E|Z − Z′| = 2σ/√π."""
        return 2 * self.sigma / math.sqrt(math.pi)

    def _scaled(self, z: Any) -> Floats:
        return (points(z) - self.mean) / self.sigma
