"""Scores scaled with the number of patterns, around any attention map.

Where the scores of n patterns stay in a bounded range, softmax weights spread out as n grows. The scalings
sharpen them again: YaRN, scalable softmax and the adaptive scaling of ASEntmax. `FixedTemperature` does not
depend on n and is the temperature T of any map.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hopfieldphase.core.arrays import Array, DType, Namespace, pattern_array, score_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.checks import real_number
from hopfieldphase.core.errors import InputError


@dataclass(frozen=True)
class Scaling(ABC):
    """The factor c(n) that multiplies the scores of n patterns."""

    @abstractmethod
    def factor(self, n: int) -> float:
        """Factor c(n) ≥ 0 for n ≥ 1 patterns, dimensionless."""


@dataclass(frozen=True)
class FixedTemperature(Scaling):
    """c = 1/T for every n.

    Parameters
    ----------
    temperature : float
        T, 0 < T < ∞.
    """

    temperature: float = 1.0

    def __post_init__(self) -> None:
        value = real_number("temperature", self.temperature, 0, math.inf, ends="()")
        object.__setattr__(self, "temperature", value)

    def factor(self, n: int) -> float:
        """1/T."""
        return 1 / self.temperature


@dataclass(frozen=True)
class Yarn(Scaling):
    r"""c = (0.1 ln s + 1)² with the extension s = max(1, n/L) of a context of L patterns.

    Queries and keys are multiplied by :math:`\sqrt{1/t} = 0.1 \ln s + 1` each, hence the scores by its
    square.

    Parameters
    ----------
    trained_length : float
        Number L of patterns up to which scores are left as they are, L ≥ 1.

    Notes
    -----
    Peng, Quesnelle, Fan and Shippole, "YaRN" (2024), equations 21 and 22.
    """

    trained_length: float

    def __post_init__(self) -> None:
        value = real_number("trained_length", self.trained_length, 1, math.inf, ends="[)")
        object.__setattr__(self, "trained_length", value)

    def factor(self, n: int) -> float:
        """(0.1 ln max(1, n/L) + 1)²."""
        return (0.1 * math.log(max(1.0, n / self.trained_length)) + 1) ** 2


@dataclass(frozen=True)
class Logarithmic(Scaling):
    """c = s log n: the scaling of scalable softmax, under which a lead of 1/s competes with n patterns.

    Parameters
    ----------
    slope : float
        s, 0 < s < ∞.

    Notes
    -----
    Nakanishi, "Scalable-Softmax Is Superior for Attention" (2025). A single pattern has c = 0.
    """

    slope: float = 1.0

    def __post_init__(self) -> None:
        value = real_number("slope", self.slope, 0, math.inf, ends="()")
        object.__setattr__(self, "slope", value)

    def factor(self, n: int) -> float:
        """Slope times log n."""
        return self.slope * math.log(n)


@dataclass(frozen=True)
class PowerOfLogarithm(Scaling):
    """c = δ + β (log n)^γ: the adaptive scaling of ASEntmax.

    Parameters
    ----------
    delta, beta : float
        Constant part and amplitude, δ ≥ 0, β ≥ 0, not both zero.
    gamma : float
        Exponent γ ≥ 0.

    Notes
    -----
    Vasylenko, Pitorro, Martins and Treviso, "Long-Context Generalization with Sparse Attention" (2026).
    """

    delta: float = 1.0
    beta: float = 1.0
    gamma: float = 1.0

    def __post_init__(self) -> None:
        for name in ("delta", "beta", "gamma"):
            object.__setattr__(self, name, real_number(name, getattr(self, name), 0, math.inf, ends="[)"))
        if self.delta == self.beta == 0:
            raise InputError("delta = beta = 0 scales every score to zero: give one of them above zero")

    def factor(self, n: int) -> float:
        """δ + β (log n)^γ."""
        return self.delta + self.beta * math.log(n) ** self.gamma


@dataclass(frozen=True)
class LengthScaled(Attention):
    """An attention map at scores multiplied by c(n), where n counts the patterns present in the row.

    Absent patterns (score −∞) do not count, so that padding changes nothing. Ties, support and kinks are
    those of the inner map at the scaled scores c z; thresholds and conjugates are given in the units of the
    scores: τ(cz)/c, and Ω*(cz)/c, whose gradient the weights are.

    Parameters
    ----------
    inner : Attention
        Any map.
    scaling : Scaling
        The factor c(n).

    Examples
    --------
    >>> from hopfieldphase.core.attention.positive import Exponential
    >>> LengthScaled(Exponential(), Logarithmic()).weights(np.array([1.0, 0.0, 0.0, 0.0])).round(4)
    array([0.5714, 0.1429, 0.1429, 0.1429])
    """

    inner: Attention
    scaling: Scaling
    name: ClassVar[str] = "length-scaled"

    def __post_init__(self) -> None:
        # What the map can do is what its inner map can.
        object.__setattr__(self, "has_conjugate", self.inner.has_conjugate)
        object.__setattr__(self, "has_threshold", self.inner.has_threshold)

    def weights(self, scores: Array) -> Array:
        """Weights of the inner map at c z; errors as those of the inner map."""
        xp, scaled, _, dtype = self._scaled(scores)
        return xp.astype(self.inner.weights(scaled), dtype)

    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """J v = c J(cz) v with the inner J; errors as those of the inner map."""
        xp, scaled, factor, dtype = self._scaled(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        return xp.astype(factor * self.inner.jacobian_action(scaled, v), xp.result_type(dtype, v_dtype))

    def support(self, scores: Array) -> Array:
        """Support of the inner map at c z."""
        return self.inner.support(self._scaled(scores)[1])

    def threshold(self, scores: Array) -> Array:
        """τ(cz)/c; `InputError` where the inner map has none, or c = 0."""
        return self._unscaled(scores, self.inner.threshold)

    def conjugate(self, scores: Array) -> Array:
        """Ω*(cz)/c; `InputError` where the inner map has none, or c = 0."""
        return self._unscaled(scores, self.inner.conjugate)

    def regularizer(self, p: Array) -> Array:
        """Ω(p)/c of the inner map; `InputError` unless c is the same for every number of patterns."""
        return self.inner.regularizer(p) / self._constant("regularizer")

    def separation_margin(self, top: int = 1) -> float:
        """Margin of the inner map over c; `InputError` unless c is the same for every number of patterns."""
        return self.inner.separation_margin(top) / self._constant("separation margin")

    def _constant(self, what: str) -> float:
        if isinstance(self.scaling, FixedTemperature):
            return self._factor(1)
        raise InputError(
            f"{type(self.scaling).__name__} changes with the number of patterns, unknown to a {what}: "
            "use FixedTemperature with the factor of that number"
        )

    def _scaled(self, scores: Array) -> tuple[Namespace, Array, Array, DType]:
        """Namespace, c z in float64, c (…, 1), and the dtype of the scores."""
        xp, z, _, dtype = score_array(scores)
        present = z > -math.inf
        counts = xp.sum(xp.astype(present, xp.int64), axis=-1, keepdims=True)
        factor = xp.zeros_like(z[..., :1])
        for n in sorted({int(counts[index]) for index in np.ndindex(*counts.shape)}):
            factor = xp.where(counts == n, self._factor(n), factor)
        return xp, xp.where(present, factor * xp.where(present, z, 0.0), z), factor, dtype

    def _factor(self, n: int) -> float:
        factor = float(self.scaling.factor(n))
        if not 0 <= factor < math.inf:
            raise InputError(f"scaling gives the factor {factor} for n = {n}: give one with 0 <= c(n) < inf")
        return factor

    def _unscaled(self, scores: Array, function: Callable[[Array], Array]) -> Array:
        xp, scaled, factor, dtype = self._scaled(scores)
        values = function(scaled)
        if not bool(xp.all(factor > 0)):
            raise InputError(
                f"{type(self.scaling).__name__} scales a row to zero, where the {self.inner.name} map has no "
                "scale: give rows of more patterns"
            )
        return xp.astype(values / factor[..., 0], dtype)
