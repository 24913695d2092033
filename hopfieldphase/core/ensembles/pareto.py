r"""The mirrored Pareto law: polynomial tails on both sides of its centre, a continuous density."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.ensembles.laws import Floats, SymmetricLaw, points, probabilities


@dataclass(frozen=True)
class MirroredPareto(SymmetricLaw):
    r"""A Pareto variable X of index a and scale λ, or its mirror image 2λ − X, with equal chance.

    .. math:: f(z) = \tfrac12 a \lambda^a m^{-a-1}, \qquad P(Z > z) = \tfrac12 (m/\lambda)^{-a}
       \ (z \ge \lambda), \qquad m(z) = \lambda + |z - \lambda|.

    Parameters
    ----------
    index : float
        Tail index a > 0; E|Z|^p is finite if and only if p < a.
    scale : float
        λ > 0, also the centre of symmetry.

    Raises
    ------
    InputError
        If the index or the scale is not positive and finite.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", equations (5), (6), (18)-(20) and
    Proposition 3.

    Examples
    --------
    >>> law = MirroredPareto(1.5)
    >>> float(law.cdf(-7.0)), float(law.quantile(0.5)), law.absolute_moment(1.5)
    (0.018518518518518517, 1.0, inf)
    """

    index: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        real_number("tail index", self.index, 0, math.inf, ends="()")
        real_number("scale", self.scale, 0, math.inf, ends="()")

    @property
    def centre(self) -> float:
        """λ; the mean for a > 1."""
        return self.scale

    def folded(self, z: Any) -> Floats:
        """m(z) = λ + abs(z − λ), which has the Pareto law itself."""
        return self.scale + np.abs(points(z) - self.scale)

    def density(self, z: Any) -> Floats:
        """f(z) of equation (6)."""
        return 0.5 * self.index / self.scale * (self.folded(z) / self.scale) ** (-self.index - 1)

    def survival(self, z: Any) -> Floats:
        """P(Z > z), equation (19)."""
        half: Floats = 0.5 * (self.folded(z) / self.scale) ** -self.index
        return np.where(points(z) >= self.scale, half, 1.0 - half)

    def upper_quantile(self, s: Any) -> Floats:
        """The point z with P(Z > z) = s."""
        s = probabilities(s)
        with np.errstate(divide="ignore", over="ignore"):
            m: Floats = self.scale * (2 * np.minimum(s, 1 - s)) ** (-1 / self.index)
        return np.where(s <= 0.5, m, 2 * self.scale - m)

    def absolute_moment(self, p: float) -> float:
        r"""E|Z|^p for p > 0: finite if and only if p < a (Proposition 3), inf otherwise.

        The right half gives :math:`\tfrac{a}{2(a-p)}\lambda^p`; the mirrored one, with its zero at 2λ,
        :math:`\tfrac{a}{2}\lambda^p [2^{-a-1} {}_2F_1(a+1, p+1; p+2; \tfrac12)/(p+1) +
        2^{p-a} B(p+1, a-p)]`.
        """
        p, a = real_number("p", p, 0, math.inf, ends="()"), self.index
        if p >= a:
            return math.inf
        near = 2 ** (-a - 1) * scipy.special.hyp2f1(a + 1, p + 1, p + 2, 0.5) / (p + 1)
        far = 2 ** (p - a) * scipy.special.beta(p + 1, a - p)
        return float(0.5 * a * self.scale**p * (1 / (a - p) + near + far))

    def variance(self) -> float:
        """E(Z − λ)² = 2λ²/((a − 1)(a − 2)) for a > 2, inf otherwise."""
        return math.inf if self.index <= 2 else 2 * self.scale**2 / ((self.index - 1) * (self.index - 2))

    def expected_distance(self, z: Any) -> Floats:
        """E|z − Z| = m − λ + λ^a m^(1−a)/(a − 1) for a > 1, inf otherwise."""
        m = self.folded(z)
        if self.index <= 1:
            return np.full_like(m, math.inf)
        tail = self.scale * (m / self.scale) ** (1 - self.index) / (self.index - 1)
        return m - self.scale + tail

    def mean_difference(self) -> float:
        """δ = E|Z − Z′| = λ(3a − 1)/((a − 1)(2a − 1)) for a > 1, inf otherwise."""
        a = self.index
        return math.inf if a <= 1 else self.scale * (3 * a - 1) / ((a - 1) * (2 * a - 1))


def pareto_transport(z: Any, source: MirroredPareto, target: MirroredPareto) -> Floats:
    """The increasing map T that takes one mirrored Pareto law to another one, equation (20).

    On the folded coordinate it is the power m ↦ λ′ (m/λ)^(a/a′).

    Parameters
    ----------
    z : array-like
        Points on the side of `source`.
    source, target : MirroredPareto

    Returns
    -------
    ndarray
        T(z), elementwise, with cdf of the target at T(z) equal to cdf of the source at z.
    """
    z = points(z)
    m = target.scale * (source.folded(z) / source.scale) ** (source.index / target.index)
    return np.where(z >= source.scale, m, 2 * target.scale - m)
