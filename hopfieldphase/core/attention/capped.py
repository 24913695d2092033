r"""Attention under caps: a budget R spread over the patterns, none of which takes more than its cap u.

Each map maximizes a concave function over the capped simplex
:math:`\{p : 0 \le p_i \le u_i,\ \sum_i p_i = R\}`: quadratic (`WaterFilling` and its two cases of one fixed
number, `CappedSimplex` and `ConstrainedSparsemax`), entropic (`ConstrainedSoftmax`) or linear
(`GreedyFilling`).
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from hopfieldphase.core.arrays import (
    Array,
    DType,
    Namespace,
    distribution,
    float_array,
    pattern_array,
    score_array,
)
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.filling import fill, pour, spread
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.errors import InputError

_EPSILON = 2.220446049250313e-16
_EXCESS = 1e-6  # of the budget: weights above their caps by the rounding of float32 are at them

# A cap of +∞ and a score of −∞ mean what IEEE arithmetic makes of them.
_ieee = np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")


@dataclass(frozen=True, eq=False)
class _Capped(Attention):
    """A budget and caps, checked, and what the maps over one capped simplex share."""

    budget: float = 1.0
    caps: Array = math.inf
    has_conjugate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "budget", real_number("budget", self.budget, 0, math.inf, ends="()"))
        xp, caps, _ = float_array(self.caps, "caps")
        if not bool(xp.all(caps >= 0)):
            raise InputError("caps have a negative or NaN entry: give caps >= 0, with inf for none")
        object.__setattr__(self, "caps", caps)

    def _room(self, scores: Array) -> tuple[Namespace, Array, Array, Array, DType]:
        """Namespace, scores, the caps that count (…, n), the budget (…, 1) and the dtype of results.

        The caps are those of the patterns that are present, and at most the budget, which no weight exceeds.

        Raises
        ------
        InputError
            If the scores are not those of an attention map, the caps do not fit them, or cannot hold the
            budget.
        """
        xp, z, _, dtype = score_array(scores)
        caps = xp.asarray(self.caps, dtype=xp.float64, device=z.device)
        if caps.ndim > z.ndim or any(
            size not in (1, full) for size, full in zip(caps.shape[::-1], z.shape[::-1], strict=False)
        ):
            raise InputError(
                f"caps have shape {tuple(caps.shape)}, scores {tuple(z.shape)}: give one, or one per score"
            )
        caps = xp.where(z > -math.inf, xp.clip(caps, max=self.budget), 0.0)
        held = xp.sum(caps, axis=-1, keepdims=True)
        lacking = held < self.budget * (1 - z.shape[-1] * _EPSILON)
        if bool(xp.any(lacking)):
            least = float(xp.min(held))
            raise InputError(
                f"caps of the present patterns sum to {least:.12g} in a row, which cannot hold the budget "
                f"{self.budget:.12g}: raise the caps or lower the budget"
            )
        return xp, z, caps, xp.clip(held, max=self.budget), dtype

    def _under_caps(self, p: Array) -> tuple[Namespace, Array, Array, DType]:
        """Namespace, weights, 0 where they keep to the caps and +∞ where they do not, and their dtype."""
        xp, p, dtype = distribution(p, "p")
        caps = xp.asarray(self.caps, dtype=xp.float64, device=p.device)
        excess = xp.any(p > caps + _EXCESS * self.budget, axis=-1)
        return xp, p, xp.where(excess, math.inf, 0.0), dtype

    def _lasts(self, top: int) -> float:
        """Share of the budget that each of the `top` patterns takes where their caps hold it, else +∞."""
        k = whole_number("top", top)
        if self.caps.ndim:
            raise InputError(f"{self.name} attention has a separation margin only if all caps are one number")
        return self.budget / k if k * float(self.caps) >= self.budget else math.inf


@dataclass(frozen=True, eq=False)
class WaterFilling(_Capped):
    r"""Euclidean projection of the scores onto a capped simplex: the continuous quadratic knapsack.

    .. math:: p = \arg\min_p \tfrac12 |p - z|^2 \quad\text{s.t. } \sum_i p_i = R,\ 0 \le p_i \le u_i,

    that is :math:`p_i = \min(u_i, [z_i - \tau]_+)`. Tied scores under equal caps get equal weights.

    Parameters
    ----------
    budget : float
        Total weight R of a row, 0 < R < ∞.
    caps : float or array, broadcast to the scores
        Largest weight u ≥ 0 of each pattern; +∞ for none, 0 makes a pattern absent. Together the caps of the
        present patterns of a row hold the budget.

    Raises
    ------
    InputError
        If the budget is not positive, or a cap is negative or NaN.

    Notes
    -----
    Helgason, Kennington and Lall (1980); Pardalos and Kovoor (1990); named constrained sparsemax at R = 1 by
    Malaviya, Ferreira and Martins (2018). Here the 2n breakpoints z and z − u of the piecewise linear total
    are sorted and bisected; `hopfieldphase.kernels.attention_capped` gives the same values without sorting.

    Where all weights are at 0 or at their caps, the weights have a range of thresholds: τ is its largest.

    Examples
    --------
    >>> WaterFilling(budget=2.0, caps=1.0).weights(np.array([3.0, 0.5, 0.25, -1.0]))
    array([1.   , 0.625, 0.375, 0.   ])
    """

    name: ClassVar[str] = "water-filling"
    has_threshold: ClassVar[bool] = True

    @_ieee
    def weights(self, scores: Array) -> Array:
        """Weights p_i = min(u_i, [z_i − τ]₊), which sum to R.

        Raises
        ------
        InputError
            If a row has NaN or +∞ or nothing but −∞, or caps that do not fit or cannot hold the budget.
        """
        xp, z, caps, budget, dtype = self._room(scores)
        return xp.astype(fill(xp, z, caps, budget)[0], dtype)

    @_ieee
    def threshold(self, scores: Array) -> Array:
        """Threshold τ: patterns of z > τ (and u > 0) have weight. Errors as `weights`."""
        xp, z, caps, budget, dtype = self._room(scores)
        return xp.astype(fill(xp, z, caps, budget)[1][..., 0], dtype)

    @_ieee
    def conjugate(self, scores: Array) -> Array:
        """Ω*(z) = max_p z·p − |p|²/2 over the capped simplex. Errors as `weights`."""
        xp, z, caps, budget, dtype = self._room(scores)
        p, _ = fill(xp, z, caps, budget)
        held = xp.where(p > 0, z, 0.0)
        return xp.astype(xp.sum(p * (held - p / 2), axis=-1), dtype)

    def regularizer(self, p: Array) -> Array:
        """Ω(p) = |p|²/2, and +∞ above the caps."""
        xp, p, barrier, dtype = self._under_caps(p)
        return xp.astype(xp.sum(p * p, axis=-1) / 2 + barrier, dtype)

    def separation_margin(self, top: int = 1) -> float:
        """R/k for k = `top` equal scores that can hold the budget, else ∞; only for caps that are equal."""
        return self._lasts(top)

    @_ieee
    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """J v: on the patterns with 0 < p < u, v less its mean over them; 0 elsewhere.

        Errors as `weights`.
        """
        xp, z, caps, budget, dtype = self._room(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        p, _ = fill(xp, z, caps, budget)
        free = (p > 0) & (p < caps)
        count = xp.sum(xp.astype(free, xp.float64), axis=-1, keepdims=True)
        mean = xp.sum(xp.where(free, v, 0.0), axis=-1, keepdims=True) / xp.clip(count, min=1.0)
        return xp.astype(xp.where(free, v - mean, 0.0), xp.result_type(dtype, v_dtype))


@dataclass(frozen=True, eq=False)
class CappedSimplex(WaterFilling):
    """Projection onto {0 ≤ p_i ≤ 1, Σp = k}, the hull of the k-subsets: a smooth top-k mask.

    `WaterFilling` with all caps 1; for k = 1 it is sparsemax.

    Parameters
    ----------
    budget : float
        Number k of patterns, any real 0 < k ≤ n.
    """

    caps: Array = field(default=1.0, init=False)
    name: ClassVar[str] = "capped-simplex"


@dataclass(frozen=True, eq=False)
class ConstrainedSparsemax(WaterFilling):
    """Sparsemax with an upper bound on each weight: `WaterFilling` with budget 1.

    Parameters
    ----------
    caps : float or array, broadcast to the scores
        Largest weight of each pattern, e.g. what is left of its fertility.

    Notes
    -----
    Malaviya, Ferreira and Martins, "Sparse and Constrained Attention for Neural Machine Translation" (2018).
    """

    budget: float = field(default=1.0, init=False)
    name: ClassVar[str] = "constrained-sparsemax"


@dataclass(frozen=True, eq=False)
class ConstrainedSoftmax(_Capped):
    r"""Softmax with an upper bound on each weight.

    .. math:: p = \arg\max_p z \cdot p - \sum_i p_i \ln p_i
              \quad\text{s.t. } \sum_i p_i = 1,\ 0 \le p_i \le u_i,

    that is :math:`p_i = \min(u_i, e^{z_i - \tau})`. No weight vanishes where u > 0. Patterns tied at a
    cap are all at it.

    Parameters
    ----------
    caps : float or array, broadcast to the scores
        Largest weight u ≥ 0 of each pattern; +∞ for none.

    Raises
    ------
    InputError
        If a cap is negative or NaN.

    Notes
    -----
    Martins and Kreutzer, "Learning What's Easy" (2017). The capped patterns are the first ones in the order
    of z − ln u; how many they are is found by bisection.

    Examples
    --------
    >>> ConstrainedSoftmax(caps=0.5).weights(np.array([9.0, 0.0, 0.0]))
    array([0.5 , 0.25, 0.25])
    """

    budget: float = field(default=1.0, init=False)
    name: ClassVar[str] = "constrained-softmax"
    has_threshold: ClassVar[bool] = True

    @_ieee
    def weights(self, scores: Array) -> Array:
        """Weights p_i = min(u_i, e^{z_i − τ}), which sum to one.

        Raises
        ------
        InputError
            If a row has NaN or +∞ or nothing but −∞, or caps that do not fit or sum to less than one.
        """
        xp, z, caps, budget, dtype = self._room(scores)
        return xp.astype(spread(xp, z, caps, budget), dtype)

    @_ieee
    def conjugate(self, scores: Array) -> Array:
        """Ω*(z) = max_p z·p − Σ p ln p over the capped simplex. Errors as `weights`."""
        xp, z, caps, budget, dtype = self._room(scores)
        p = spread(xp, z, caps, budget)
        positive = p > 0
        value = xp.where(positive, z, 0.0) - xp.log(xp.where(positive, p, 1.0))
        return xp.astype(xp.sum(p * value, axis=-1), dtype)

    def threshold(self, scores: Array) -> Array:
        """−∞: no weight vanishes. Errors as `weights`."""
        xp, z, _, _, dtype = self._room(scores)
        return xp.full(z.shape[:-1], -math.inf, dtype=dtype, device=z.device)

    def regularizer(self, p: Array) -> Array:
        """Ω(p) = Σ p ln p, and +∞ above the caps."""
        xp, p, barrier, dtype = self._under_caps(p)
        return xp.astype(xp.sum(p * xp.log(xp.where(p > 0, p, 1.0)), axis=-1) + barrier, dtype)

    def separation_margin(self, top: int = 1) -> float:
        """∞: no weight vanishes."""
        whole_number("top", top)
        return math.inf

    @_ieee
    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """J v: p (v − Σpv/Σp), with both sums over the patterns below their caps; 0 at them.

        Errors as `weights`.
        """
        xp, z, caps, budget, dtype = self._room(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        p = spread(xp, z, caps, budget)
        free = xp.where(p < caps, p, 0.0)
        total = xp.sum(free, axis=-1, keepdims=True)
        mean = xp.sum(free * v, axis=-1, keepdims=True) / xp.where(total > 0, total, 1.0)
        return xp.astype(free * (v - mean), xp.result_type(dtype, v_dtype))


@dataclass(frozen=True, eq=False)
class GreedyFilling(_Capped):
    r"""Linear maximizer over a capped simplex: the best scores are filled to their caps in turn.

    .. math:: p \in \arg\max_p z \cdot p \quad\text{s.t. } \sum_i p_i = R,\ 0 \le p_i \le u_i.

    With all caps 1 and R = k this is the hard top-k mask. Scores tied where the budget ends share what is
    left of it as equally as their caps allow, the maximizer of least norm and the limit of
    `WaterFilling(R, u)` at scores z/T for T → 0. The derivative is zero, and the conjugate, the sum of the R
    largest scores at caps 1, has no gradient at such ties.

    Parameters
    ----------
    budget, caps
        As for `WaterFilling`.

    Raises
    ------
    InputError
        As `WaterFilling`.

    Examples
    --------
    >>> GreedyFilling(budget=2.0, caps=1.0).weights(np.array([3.0, 1.0, 1.0, -1.0]))
    array([1. , 0.5, 0.5, 0. ])
    """

    name: ClassVar[str] = "greedy-filling"
    has_threshold: ClassVar[bool] = True

    @_ieee
    def weights(self, scores: Array) -> Array:
        """Weights: u above the last score that the budget reaches, 0 below it. Errors as `WaterFilling`."""
        xp, z, caps, budget, dtype = self._room(scores)
        return xp.astype(pour(xp, z, caps, budget)[0], dtype)

    @_ieee
    def threshold(self, scores: Array) -> Array:
        """Largest score that the budget does not reach, −∞ if there is none. Errors as `weights`."""
        xp, z, caps, budget, dtype = self._room(scores)
        edge = pour(xp, z, caps, budget)[1]
        return xp.astype(xp.max(xp.where(z < edge, z, -math.inf), axis=-1), dtype)

    @_ieee
    def conjugate(self, scores: Array) -> Array:
        """Ω*(z) = max_p z·p over the capped simplex, its support function. Errors as `weights`."""
        xp, z, caps, budget, dtype = self._room(scores)
        p = pour(xp, z, caps, budget)[0]
        return xp.astype(xp.sum(p * xp.where(p > 0, z, 0.0), axis=-1), dtype)

    def regularizer(self, p: Array) -> Array:
        """Ω(p) = 0, and +∞ above the caps."""
        xp, _, barrier, dtype = self._under_caps(p)
        return xp.astype(barrier, dtype)

    def separation_margin(self, top: int = 1) -> float:
        """Zero for k = `top` equal scores that can hold the budget, else ∞; only for caps that are equal."""
        return 0.0 if self._lasts(top) < math.inf else math.inf

    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """J v = 0: the weights are constant where they are continuous. Errors as `weights`."""
        xp, z, _, _, dtype = self._room(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        shape = xp.broadcast_arrays(z, v)[0].shape
        return xp.zeros(shape, dtype=xp.result_type(dtype, v_dtype), device=z.device)
