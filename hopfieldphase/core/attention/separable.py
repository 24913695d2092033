"""Attention regularized by any separable convex function: the general map of which entmax is one family."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

import numpy as np

from hopfieldphase.core.arrays import Array, distribution, pattern_array, score_array
from hopfieldphase.core.attention import separable_functions as functions
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.separable_roots import solve
from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError

Function: TypeAlias = Callable[[Array], Array]

# g may have an infinite slope or curvature at 0, and weights may underflow: they mean what IEEE says.
_ieee = np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")

_LARGEST_ALPHA = 100


@dataclass(frozen=True, repr=False)
class Separable(Attention):
    r"""The map :math:`p(z) = \arg\max_{p \in \Delta} z \cdot p - \sum_\mu g(p_\mu)` of a strictly convex g.

    With the threshold τ at which the weights sum to one,

    .. math:: p_\mu = (g')^{-1}(\max(z_\mu - \tau, g'(0^+))),
        \qquad \max z - g'(1) \le \tau \le \max z - g'(1/n).

    A weight can vanish if and only if g′(0⁺) is finite (`is_sparse`).

    Parameters
    ----------
    g : callable
        Convex function on [0, 1] with g(0) = 0. This and the other three map arrays to arrays of the same
        shape, element by element, of the array library that the scores will have.
    slope : callable
        Its derivative g′, up to a constant (which no weight depends on); −∞ at 0 where the map is dense.
    inverse_slope : callable
        The inverse of `slope`, from [slope(0), slope(1)] to [0, 1].
    curvature : callable
        Its second derivative g″, positive on (0, 1].

    Raises
    ------
    InputError
        If g′ does not increase on a grid, the functions contradict each other there, or g(0) is not 0; in
        the methods, if a row of scores holds NaN, +∞ or nothing but −∞.

    Notes
    -----
    Blondel, Martins and Niculae, "Learning with Fenchel–Young losses" (2020), Propositions 6 and 9. The
    digits are those of the functions: where g″(0) = 0, weights near zero are as good as slope(t) − slope(0)
    is at small t, best with slope(0) = 0. Permuted scores have permuted weights, ties included.

    Examples
    --------
    A map between softmax and sparsemax, which is dense since t log t has an infinite slope at 0:

    >>> from scipy.special import wrightomega
    >>> mixed = Separable(
    ...     g=lambda t: np.where(t > 0, t * np.log(np.where(t > 0, t, 1)), 0) + t**2 / 2,
    ...     slope=lambda t: np.log(t) + t,
    ...     inverse_slope=wrightomega,
    ...     curvature=lambda t: 1 / t + 1,
    ... )
    >>> mixed.weights(np.array([0.0, 0.0, 1.0])).round(4)
    array([0.2448, 0.2448, 0.5103])
    >>> mixed.is_sparse
    False
    """

    name: ClassVar[str] = "separable"
    has_conjugate: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = True

    g: Function
    slope: Function
    inverse_slope: Function
    curvature: Function

    @_ieee
    def __post_init__(self) -> None:
        functions.check(self.g, self.slope, self.inverse_slope, self.curvature)

    @classmethod
    def shannon(cls) -> Self:
        """Softmax: g(t) = t ln t."""
        return cls.tsallis(1.0)

    @classmethod
    def quadratic(cls) -> Self:
        """Sparsemax: g(t) = t²/2, the Euclidean projection onto the simplex."""
        return cls(functions.half_square, functions.identity, functions.identity, functions.one)

    @classmethod
    def tsallis(cls, alpha: float) -> Self:
        r"""α-entmax: :math:`g(t) = (t^\alpha - t)/(\alpha(\alpha-1))`, 0 < α ≤ 100."""
        alpha = tsallis_index(alpha)
        if alpha > _LARGEST_ALPHA:
            raise InputError(
                f"alpha = {alpha:g} is above {_LARGEST_ALPHA}: t^alpha underflows, so that g is not convex "
                f"in floats; use Entmax({alpha:g})"
            )
        return cls(*functions.tsallis_functions(alpha))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(g={functions.described(self.g)})"

    @property
    def is_sparse(self) -> bool:
        """Whether weights can be exactly zero: g′(0⁺) > −∞."""
        return functions.at(self.slope, 0.0) > -math.inf

    @_ieee
    def weights(self, scores: Array) -> Array:
        """Weights p(z), shape (..., n)."""
        xp, z, top, dtype = score_array(scores)
        return xp.astype(solve(xp, z, top, self.slope, self.inverse_slope, self.curvature)[0], dtype)

    @_ieee
    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        r"""Product J(z) v with :math:`J = \mathrm{diag}(s) - s s^T/\sum s`, :math:`s = 1/g''(p)`."""
        xp, z, top, dtype = score_array(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        p = solve(xp, z, top, self.slope, self.inverse_slope, self.curvature)[0]
        p, v = xp.broadcast_arrays(p, v)
        support = p > 0
        curvature = xp.where(support, self.curvature(xp.where(support, p, 1.0)), math.inf)
        # Where g'' is small at small p, s is large though J is not: as in `entmax.jacobian_action`,
        # differences are taken against the pattern of largest s, whose own entry follows from the sum.
        reference = xp.argmin(curvature, axis=-1, keepdims=True)
        smallest = xp.take_along_axis(curvature, reference, axis=-1)
        share = xp.where(curvature > smallest, smallest / curvature, xp.astype(support, p.dtype))
        share = xp.where(support, share, 0.0) / xp.sum(share, axis=-1, keepdims=True)
        v = v - xp.take_along_axis(v, reference, axis=-1)
        mean = xp.sum(share * v, axis=-1, keepdims=True)
        is_reference = xp.arange(p.shape[-1], dtype=reference.dtype, device=p.device) == reference
        others = xp.where(support & ~is_reference, (v - mean) / curvature, 0.0)
        result = xp.where(is_reference, -xp.sum(others, axis=-1, keepdims=True), others)
        return xp.astype(result, xp.result_type(dtype, v_dtype))

    @_ieee
    def threshold(self, scores: Array) -> Array:
        """Score τ + g′(0⁺) above which weights are positive, shape (...); −∞ where no weight vanishes."""
        xp, z, top, dtype = score_array(scores)
        value = solve(xp, z, top, self.slope, self.inverse_slope, self.curvature)[1]
        return xp.astype(xp.squeeze(value, axis=-1), dtype)

    @_ieee
    def conjugate(self, scores: Array) -> Array:
        r""":math:`\Omega^*(z) = \max_{p \in \Delta} z \cdot p - \sum_\mu g(p_\mu)`, shape (...)."""
        xp, z, top, dtype = score_array(scores)
        p = solve(xp, z, top, self.slope, self.inverse_slope, self.curvature)[0]
        below = xp.where(p > 0, z - top, 0.0)
        value = xp.sum(xp.where(p > 0, below * p - self.g(p), 0.0), axis=-1)
        return xp.astype(xp.squeeze(top, axis=-1) + value, dtype)

    @_ieee
    def regularizer(self, p: Array) -> Array:
        r""":math:`\Omega(p) = \sum_\mu g(p_\mu)`, shape (...)."""
        xp, p, dtype = distribution(p, "p")
        return xp.astype(xp.sum(self.g(p), axis=-1), dtype)

    def separation_margin(self, top: int = 1) -> float:
        """g′(1/k) − g′(0⁺) for k = `top` equal scores; ∞ unless the map is sparse."""
        k = whole_number("top", top)
        return functions.at(self.slope, 1 / k) - functions.at(self.slope, 0.0)
