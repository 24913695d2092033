r"""Positive attention kernels: weights in proportion to a positive function g of the score.

:math:`p_i = g(z_i)/\sum_j g(z_j)`. The four kernels of one suite, all of them C¹ with g(0) = 1, differ in how
g grows: exponentially (`Exponential`, softmax), as z² (`SquaredElu`), z (`LinearElu`) or log z (`LogElu`).
Under heavy-tailed scores the slower ones keep averages finite where the exponential does not. Any other
positive function makes a `PositiveKernel`.

The Jacobian :math:`J_{ij} = p_i (\delta_{ij} - p_j)\, g'(z_j)/g(z_j)` is symmetric only where g'/g is
constant, for exponentials. No other of these maps is the gradient of a function: no other has a conjugate.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hopfieldphase.core.arrays import Array, Namespace, distribution, pattern_array, score_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.errors import InputError

_ieee = np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")


@dataclass(frozen=True)
class _Kernel(Attention):
    """Weights and Jacobian of any g, from g up to a factor per row and from (log g)'.

    There are no ties to break and no zeros: every present pattern has weight, down to underflow.
    """

    has_threshold: ClassVar[bool] = True

    @abstractmethod
    def relative(self, xp: Namespace, z: Array, top: Array) -> Array:
        """g(z)/c with any c > 0 that depends on the largest score of the row (…, 1) alone."""

    @abstractmethod
    def growth(self, xp: Namespace, z: Array) -> Array:
        """Logarithmic derivative g'(z)/g(z)."""

    @_ieee
    def weights(self, scores: Array) -> Array:
        """Weights g(z)/Σg(z), which sum to one.

        Raises
        ------
        InputError
            If a row has NaN or +∞, or nothing but −∞.
        """
        xp, z, top, dtype = score_array(scores)
        return xp.astype(self._normalized(xp, z, top)[0], dtype)

    @_ieee
    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """J v = p (l v − p·(l v)) with l = g'/g at the scores. Errors as `weights`."""
        xp, z, top, dtype = score_array(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        p, z = self._normalized(xp, z, top)
        change = self.growth(xp, z) * v
        action = p * (change - xp.sum(p * change, axis=-1, keepdims=True))
        return xp.astype(action, xp.result_type(dtype, v_dtype))

    def threshold(self, scores: Array) -> Array:
        """−∞: no weight vanishes. Errors as `weights`."""
        xp, z, _, dtype = score_array(scores)
        return xp.full(z.shape[:-1], -math.inf, dtype=dtype, device=z.device)

    def separation_margin(self, top: int = 1) -> float:
        """∞: no weight vanishes."""
        whole_number("top", top)
        return math.inf

    def _normalized(self, xp: Namespace, z: Array, top: Array) -> tuple[Array, Array]:
        """Weights, and the scores with the largest one in the place of absent ones."""
        present = z > -math.inf
        z = xp.where(present, z, top)
        g = xp.where(present, self.relative(xp, z, top), 0.0)
        return g / xp.sum(g, axis=-1, keepdims=True), z


@dataclass(frozen=True)
class Exponential(_Kernel):
    """g(z) = e^z: softmax, the one kernel with a conjugate, Ω*(z) = log Σ e^z."""

    name: ClassVar[str] = "exponential"
    has_conjugate: ClassVar[bool] = True

    def relative(self, xp: Namespace, z: Array, top: Array) -> Array:
        """e^{z − max z}."""
        return xp.exp(z - top)

    def growth(self, xp: Namespace, z: Array) -> Array:
        """One."""
        return xp.ones_like(z)

    @_ieee
    def conjugate(self, scores: Array) -> Array:
        """Ω*(z) = log Σ e^z. Errors as `weights`."""
        xp, z, top, dtype = score_array(scores)
        total = xp.sum(xp.exp(z - top), axis=-1)
        return xp.astype(top[..., 0] + xp.log(total), dtype)

    def regularizer(self, p: Array) -> Array:
        """Ω(p) = Σ p ln p."""
        xp, p, dtype = distribution(p, "p")
        return xp.astype(xp.sum(p * xp.log(xp.where(p > 0, p, 1.0)), axis=-1), dtype)


@dataclass(frozen=True)
class LinearElu(_Kernel):
    """g(z) = 1 + z for z > 0 and e^z for z ≤ 0: linear growth.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", Table 1.
    """

    name: ClassVar[str] = "linear-elu"

    def relative(self, xp: Namespace, z: Array, top: Array) -> Array:
        """g(z)/g(max z), without over- or underflow of g."""
        below = xp.exp(xp.clip(z, max=0.0) - xp.clip(top, max=0.0))
        return (below + xp.clip(z, min=0.0)) / (1 + xp.clip(top, min=0.0))

    def growth(self, xp: Namespace, z: Array) -> Array:
        """1/(1 + z) for z > 0, else 1."""
        return 1 / (1 + xp.clip(z, min=0.0))


@dataclass(frozen=True)
class SquaredElu(LinearElu):
    """g(z) = (1 + z)² for z > 0 and e^{2z} for z ≤ 0: quadratic growth; the square of `LinearElu`.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", Table 1.
    """

    name: ClassVar[str] = "squared-elu"

    def relative(self, xp: Namespace, z: Array, top: Array) -> Array:
        """g(z)/g(max z), without over- or underflow of g."""
        return super().relative(xp, z, top) ** 2

    def growth(self, xp: Namespace, z: Array) -> Array:
        """2/(1 + z) for z > 0, else 2."""
        return 2 * super().growth(xp, z)


@dataclass(frozen=True)
class LogElu(_Kernel):
    """g(z) = 1 + log(1 + z) for z > 0 and 1/(1 − z) for z ≤ 0: logarithmic growth, algebraic decay.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", Table 1.
    """

    name: ClassVar[str] = "log-elu"

    def relative(self, xp: Namespace, z: Array, top: Array) -> Array:
        """g(z) (1 − min(0, max z)), which is at least one at the largest score."""
        rising = 1 + xp.log1p(xp.clip(z, min=0.0))
        return xp.where(z > 0, rising, (1 - xp.clip(top, max=0.0)) / (1 - xp.clip(z, max=0.0)))

    def growth(self, xp: Namespace, z: Array) -> Array:
        """1/((1 + z) (1 + log(1 + z))) for z > 0, else 1/(1 − z)."""
        above = xp.clip(z, min=0.0)
        return 1 / ((1 + above) * (1 + xp.log1p(above)) - xp.clip(z, max=0.0))


@dataclass(frozen=True)
class PositiveKernel(_Kernel):
    """Attention of any positive function g of the score.

    Parameters
    ----------
    function : callable
        g, from an array to an array of the same library and shape (float64); positive and finite at every
        score it is asked for, with a finite sum over a row.
    derivative : callable
        g', likewise; finite.

    Examples
    --------
    >>> kernel = PositiveKernel(lambda z: 1 + z**2, lambda z: 2 * z)
    >>> kernel.weights(np.array([0.0, 1.0, -1.0, -np.inf]))
    array([0.2, 0.4, 0.4, 0. ])
    """

    function: Callable[[Array], Array]
    derivative: Callable[[Array], Array]
    name: ClassVar[str] = "positive-kernel"

    def __post_init__(self) -> None:
        for name in ("function", "derivative"):
            if not callable(getattr(self, name)):
                raise InputError(
                    f"{name} = {getattr(self, name)!r} is not callable: give a function of the score"
                )

    def relative(self, xp: Namespace, z: Array, top: Array) -> Array:
        """g(z) over its largest value in the row.

        Raises
        ------
        InputError
            If g is not positive and finite at a score, or gives another shape.
        """
        g = self._values(xp, z, self.function, "function")
        if not bool(xp.all(g > 0)):
            raise InputError(
                f"kernel is not positive: g = {float(xp.min(g)):.6g} at a score: give g(z) > 0 at every score"
            )
        return g / xp.max(g, axis=-1, keepdims=True)

    def growth(self, xp: Namespace, z: Array) -> Array:
        """g'(z)/g(z)."""
        slope = self._values(xp, z, self.derivative, "derivative")
        return slope / self._values(xp, z, self.function, "function")

    def _values(self, xp: Namespace, z: Array, function: Callable[[Array], Array], name: str) -> Array:
        values = xp.asarray(function(z), dtype=z.dtype)
        if values.shape != z.shape:
            raise InputError(
                f"kernel {name} gives shape {tuple(values.shape)} for scores {tuple(z.shape)}: "
                "give a function of one score that works on arrays"
            )
        if not bool(xp.all(xp.abs(values) < math.inf)):
            raise InputError(f"kernel {name} is NaN or infinite at a score: give one that is finite")
        return values
