r"""Which attention integrals exist under polynomial tails, and how those that do not grow with the sample.

For a query with the score cz of a key z, a positive kernel g of growth order q (g ~ z^q; q = 0 for the
logarithm) and the mirrored Pareto law of index a, E g(cZ)|Z|^p is finite if and only if q + p < a: p = 0 is
the denominator, p = 1 the numerator of attention. The exponential has no finite one for any c ≠ 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.ensembles.laws import Floats, points
from hopfieldphase.core.ensembles.pareto import MirroredPareto


@dataclass(frozen=True)
class ScoreKernel:
    """A positive attention kernel g by its logarithm, so that no score overflows.

    Attributes
    ----------
    name : str
    order : float
        q with g(s) ~ s^q for large s; 0 for logarithmic, inf for exponential growth.
    above, below : callable
        ln g for s ≥ 0 and for s ≤ 0.
    """

    name: str
    order: float
    above: Callable[[Floats], Floats]
    below: Callable[[Floats], Floats]

    def log(self, scores: Any) -> Floats:
        """Logarithm of g(s), elementwise."""
        s = points(scores, "scores")
        return np.where(s > 0, self.above(np.maximum(s, 0.0)), self.below(np.minimum(s, 0.0)))


def _identity(s: Floats) -> Floats:
    return s


KERNELS = {
    kernel.name: kernel
    for kernel in (
        ScoreKernel("exponential", math.inf, _identity, _identity),
        ScoreKernel("squared-elu", 2.0, lambda s: 2 * np.log1p(s), lambda s: 2 * s),
        ScoreKernel("linear-elu", 1.0, np.log1p, _identity),
        ScoreKernel("log-elu", 0.0, lambda s: np.log1p(np.log1p(s)), lambda s: -np.log1p(-s)),
    )
}
"""By name, Table 1 of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures"."""


_FAR = 1e13  # scores from which on every kernel is its leading term, to a relative 1e-13


def is_integrable(kernel: ScoreKernel, index: float, power: float = 0.0) -> bool:
    """Whether E g(cZ)|Z|^p is finite for a mirrored Pareto Z of this index and c ≠ 0: q + p < a."""
    return kernel.order + real_number("power", power, 0, math.inf) < _index(index)


def growth_exponent(kernel: ScoreKernel, index: float, power: float = 0.0) -> float:
    """Exponent with which a typical empirical mean of g(cZ)|Z|^p over n draws grows with n.

    Below the threshold 0; above it the largest draw, ~ n^(1/a), dominates: (q + p)/a − 1. For the
    exponential the mean grows faster than every power, and its logarithm like n^(1/a): inf.

    Parameters
    ----------
    kernel : ScoreKernel
    index : float
        Tail index a > 0.
    power : float
        p ≥ 0.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the index is not positive or the power is negative.
    """
    return max((kernel.order + real_number("power", power, 0, math.inf)) / _index(index) - 1, 0.0)


def population_value(kernel: ScoreKernel, law: MirroredPareto, score: float, power: float = 0.0) -> float:
    """E g(cZ)|Z|^p under a mirrored Pareto law by quadrature; inf where it does not exist.

    Parameters
    ----------
    kernel : ScoreKernel
    law : MirroredPareto
    score : float
        c > 0.
    power : float
        p ≥ 0.

    Returns
    -------
    float
        To a relative accuracy of about 1e-9.

    Raises
    ------
    InputError
        If the score is not positive or the power is negative.
    """
    c = real_number("score", score, 0, math.inf, ends="()")
    if not is_integrable(kernel, law.index, power):
        return math.inf

    def integrand(t: float) -> float:
        # t = a ln(x/λ) is exponential for the Pareto variable x
        x = law.scale * math.exp(t / law.index)
        z = np.array([x, 2 * law.scale - x])
        # x^p and g are taken in their logarithms: alone they overflow where e^-t has long made them small
        with np.errstate(divide="ignore"):
            logs = kernel.log(c * z) - t + (power * np.log(np.abs(z)) if power else 0.0)
        return 0.5 * float(np.exp(logs).sum())

    mirror = law.index * math.log(2)  # where the mirrored branch passes zero
    last = law.index * math.log(_FAR * (1 + 1 / (c * law.scale)))
    ends = sorted(end for end in (0.0, mirror, 5.0, 20.0, 0.5 * last, last) if end <= last)
    parts = [
        scipy.integrate.quad(integrand, low, high, epsabs=1e-300, epsrel=1e-11, limit=500)[0]
        for low, high in pairwise(ends)
    ]
    return math.fsum(parts) + _remainder(kernel, law, c, power, last)


def _remainder(kernel: ScoreKernel, law: MirroredPareto, c: float, power: float, last: float) -> float:
    """The part of the right branch beyond `last`, where g is its leading power, or 1 + ln of the score."""
    rate = 1 - (kernel.order + power) / law.index
    scale = math.exp(-rate * last) * (c * law.scale) ** kernel.order * law.scale**power
    if kernel.order:
        return 0.5 * scale / rate
    return 0.5 * scale * ((1 + math.log(c * law.scale) + last / law.index) / rate + 1 / (law.index * rate**2))


def _index(index: float) -> float:
    return real_number("tail index", index, 0, math.inf, ends="()")
