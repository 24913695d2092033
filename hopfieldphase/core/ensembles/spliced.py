r"""Two Pareto laws joined at a quantile: equal below the seam, another tail index above it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.ensembles.laws import Floats, Law, points, probabilities


@dataclass(frozen=True)
class SplicedPareto(Law):
    r"""The Pareto law of a reference index up to its quantile q₀, a translated Pareto of index a above.

    .. math:: P(Z > x) = (1 - q_0) \Bigl(\frac{x-b}{u_0-b}\Bigr)^{-a} \ (x > u_0), \qquad
       u_0 = \lambda (1-q_0)^{-1/a_{ref}}, \quad b = u_0 (1 - a/a_{ref}).

    The translation b makes the density continuous at the knot u₀.

    Parameters
    ----------
    index : float
        Tail index a > 0 above the seam.
    seam : float
        Quantile q₀ in (0, 1) of the seam.
    reference : float
        Index below the seam; with a equal to it the law is one Pareto law.
    scale : float
        λ > 0, the left end of the support.

    Raises
    ------
    InputError
        If a parameter is outside its domain.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", equation (31).
    """

    index: float
    seam: float
    reference: float = 1.5
    scale: float = 1.0

    def __post_init__(self) -> None:
        real_number("tail index", self.index, 0, math.inf, ends="()")
        real_number("seam", self.seam, 0, 1, ends="()")
        real_number("reference index", self.reference, 0, math.inf, ends="()")
        real_number("scale", self.scale, 0, math.inf, ends="()")

    @property
    def knot(self) -> float:
        """u₀, the point of the seam."""
        return float(self.scale * (1 - self.seam) ** (-1 / self.reference))

    @property
    def shift(self) -> float:
        """b, by which the upper Pareto law is translated; its scale is u₀ − b = u₀ a/a_ref."""
        return self.knot * (1 - self.index / self.reference)

    def density(self, z: Any) -> Floats:
        """f(z); zero below the scale."""
        z = points(z)
        knot, width = self.knot, self.knot - self.shift
        body = self.reference / self.scale * self._ratio(z) ** (-self.reference - 1)
        above = (1 - self.seam) * self.index / width
        tail = above * (1 + np.maximum(z - knot, 0) / width) ** (-self.index - 1)
        return np.where(z < self.scale, 0.0, np.where(z <= knot, body, tail))

    def survival(self, z: Any) -> Floats:
        """P(Z > z), equation (31)."""
        z = points(z)
        knot, width = self.knot, self.knot - self.shift
        tail = (1 - self.seam) * (1 + np.maximum(z - knot, 0) / width) ** -self.index
        return np.where(z <= knot, self._ratio(z) ** -self.reference, tail)

    def upper_quantile(self, s: Any) -> Floats:
        """The point z with P(Z > z) = s."""
        s = probabilities(s)
        z = np.empty_like(s)
        above, mass = s < 1 - self.seam, 1 - self.seam
        with np.errstate(divide="ignore", over="ignore"):
            z[above] = self.shift + (self.knot - self.shift) * (s[above] / mass) ** (-1 / self.index)
        z[~above] = self.scale * s[~above] ** (-1 / self.reference)
        return z

    def mean(self) -> float:
        """E[Z] for a > 1 (the reference index may have any value), inf otherwise."""
        if self.index <= 1:
            return math.inf
        tail = self.shift + (self.knot - self.shift) * self.index / (self.index - 1)
        power = 1 - 1 / self.reference  # the body is ∫ λ s^(−1/a_ref) ds over (1 − q₀, 1)
        mass = 1 - self.seam
        body = -math.expm1(power * math.log(mass)) / power if power else -math.log(mass)
        return self.scale * body + mass * tail

    def _ratio(self, z: Floats) -> Floats:
        """The point in units of the scale, 1 below it."""
        return np.maximum(z / self.scale, 1.0)
