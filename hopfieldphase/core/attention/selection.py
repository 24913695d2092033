"""Attention to selected patterns: those of the k largest scores, or the fewest that hold a softmax mass.

Ties at the cut are broken by position: of equal scores the first ones along the axis are taken. The weights,
sorted, do not depend on the order of the patterns; which of the tied patterns holds them does, and no rule
could be blind to it.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from hopfieldphase.core.arrays import Array, distribution, score_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.separable import Separable
from hopfieldphase.core.attention.tsallis import Entmax
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError

_MASS_ROUNDING = 1e-12  # far above the rounding of running sums, far below any share that is meant
_SOFTMAX = Entmax(1.0)


class _Selection(Attention):
    """An inner map of the scores that a rule selects, all others absent."""

    @property
    @abstractmethod
    def inner(self) -> Attention:
        """The map of the selected scores."""

    @abstractmethod
    def selected(self, scores: Array) -> Array:
        """Which patterns the rule selects, booleans of shape (..., n)."""

    def weights(self, scores: Array) -> Array:
        """Weights p(z), shape (..., n)."""
        return self.inner.weights(self._masked(scores))

    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """Product J(z) v with the selection as it is, shape (..., n): that of the inner map."""
        return self.inner.jacobian_action(self._masked(scores), direction)

    def _masked(self, scores: Array) -> Array:
        xp, z, _, dtype = score_array(scores)
        return xp.astype(xp.where(self.selected(scores), z, -math.inf), dtype)


class _Largest(_Selection):
    r"""The k largest scores: :math:`\arg\max z \cdot p - \Omega(p)` over weights with at most k non-zeros.

    Moving weight from a lower score to a higher one that has none raises z·p and leaves a symmetric Ω as it
    is, so that no support is better than the k largest scores. The maximum is convex in z, as a maximum of
    functions linear in z, and the weights are its gradient wherever the k-th score is not tied with one left
    out.
    """

    has_conjugate: ClassVar[bool] = True

    k: int

    def selected(self, scores: Array) -> Array:
        """Which patterns are the k of largest score, the first of tied ones, booleans of shape (..., n)."""
        xp, z, _, _ = score_array(scores)
        n = z.shape[-1]
        if self.k > n:
            raise InputError(f"k = {self.k} is above the number of scores, {n}: give 1 <= k <= {n}")
        cut = xp.sort(z, axis=-1)[..., n - self.k : n - self.k + 1]
        above = z > cut
        free = self.k - xp.sum(xp.astype(above, xp.int64), axis=-1, keepdims=True)
        tied = z == cut
        return above | (tied & (xp.cumulative_sum(xp.astype(tied, xp.int64), axis=-1) <= free))

    def conjugate(self, scores: Array) -> Array:
        r""":math:`\max z \cdot p - \Omega(p)` over weights with at most k non-zeros, shape (...)."""
        return self.inner.conjugate(self._masked(scores))

    def regularizer(self, p: Array) -> Array:
        """Ω(p) of the inner map, shape (...); +∞ where p has more than k non-zeros."""
        xp, p, dtype = distribution(p, "p")
        count = xp.sum(xp.astype(p > 0, xp.int64), axis=-1)
        return xp.astype(xp.where(count > self.k, math.inf, self.inner.regularizer(p)), dtype)

    def separation_margin(self, top: int = 1) -> float:
        """That of the inner map, but 0 for `top` ≥ k, when no other score is selected."""
        return 0.0 if whole_number("top", top) >= self.k else self.inner.separation_margin(top)


@dataclass(frozen=True)
class TopK(_Largest):
    """The k largest scores, weighted by an inner map, by default the softmax; all others have no weight.

    With the softmax these are the maximizers of z·p plus Shannon's entropy over weights with at most k
    non-zeros.

    Parameters
    ----------
    k : int
        How many scores, 1 ≤ k ≤ n. Absent patterns (−∞) are selected last, and have no weight.
    inner : Entmax or Separable
        The map of the selected scores.

    Raises
    ------
    InputError
        If k is outside its domain, or `inner` is another map; in the methods, if a row of scores holds NaN,
        +∞ or nothing but −∞.

    Notes
    -----
    Of equal scores at the cut the first ones are taken. Zhao et al., "Explicit Sparse Transformer" (2019).

    Examples
    --------
    >>> import numpy as np
    >>> TopK(2).weights(np.array([1.0, 3.0, 2.0, 2.0])).round(4)
    array([0.    , 0.7311, 0.2689, 0.    ])
    """

    name: ClassVar[str] = "top-k"

    k: int
    inner: Entmax | Separable = _SOFTMAX  # pyright: ignore[reportIncompatibleMethodOverride]

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k))
        if not isinstance(self.inner, Entmax | Separable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InputError(
                f"inner = {self.inner!r} is no regularized map: give Entmax(alpha) or a Separable one, for "
                "which the k largest scores are the best k"
            )


@dataclass(frozen=True)
class CappedEntmax(_Largest):
    r"""α-entmax with at most k non-zeros: :math:`\arg\max z \cdot p + H_\alpha(p)` under that constraint.

    Where α-entmax itself has at most k non-zeros, both are the same.

    Parameters
    ----------
    k : int
        Largest number of non-zero weights, 1 ≤ k ≤ n.
    alpha : float
        Tsallis index, 0 < α ≤ ∞; for α = ∞ the weight is shared by the first k of the tied scores.

    Raises
    ------
    InputError
        If k or α is outside its domain; in the methods, if a row of scores holds NaN, +∞ or nothing but −∞.

    Notes
    -----
    Of equal scores at the cut the first ones are taken. Kyrillidis et al., "Sparse projections onto the
    simplex" (2013), Theorem 1, for α = 2; the proof needs no more than the symmetry of H_α.

    Examples
    --------
    >>> import numpy as np
    >>> CappedEntmax(k=2, alpha=1.5).weights(np.array([0.1, 0.4, 0.3, 0.3])).round(4)
    array([0.    , 0.5353, 0.4647, 0.    ])
    """

    name: ClassVar[str] = "capped-entmax"

    k: int
    alpha: float = 1.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k))
        object.__setattr__(self, "alpha", tsallis_index(self.alpha))

    @property
    def inner(self) -> Entmax:
        """α-entmax."""
        return Entmax(self.alpha)


@dataclass(frozen=True)
class SparsemaxK(_Largest):
    """The weights with at most k non-zeros that are nearest to the scores: sparsemax of the k largest.

    Parameters
    ----------
    k : int
        Largest number of non-zero weights, 1 ≤ k ≤ n.

    Raises
    ------
    InputError
        If k is outside its domain; in the methods, if a row of scores holds NaN, +∞ or nothing but −∞.

    Notes
    -----
    Of equal scores at the cut the first ones are taken. Correia et al., "Efficient marginalization of
    discrete and structured latent variables via sparsity" (2020); Kyrillidis et al., "Sparse projections
    onto the simplex" (2013), Theorem 1.

    Examples
    --------
    >>> import numpy as np
    >>> SparsemaxK(2).weights(np.array([0.1, 0.4, 0.3, 0.3])).round(4)
    array([0.  , 0.55, 0.45, 0.  ])
    """

    name: ClassVar[str] = "sparsemax-k"

    k: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", whole_number("k", self.k))

    @property
    def inner(self) -> Entmax:
        """Sparsemax."""
        return Entmax(2.0)


@dataclass(frozen=True)
class TopP(_Selection):
    """The fewest largest scores that hold a share p of the softmax mass, weighted by their softmax (nucleus).

    The weights jump where the number of selected patterns changes: they are no gradient of a convex function.

    Parameters
    ----------
    p : float
        Share of the mass, 0 < p ≤ 1; for p = 1 the map is the softmax. A sum that reaches p within 1e−12
        counts, so that rounding does not decide.

    Raises
    ------
    InputError
        If p is outside its domain; in the methods, if a row of scores holds NaN, +∞ or nothing but −∞.

    Notes
    -----
    Of equal scores at the cut the first ones are taken. Holtzman et al., "The curious case of neural text
    degeneration" (2020).

    Examples
    --------
    >>> import numpy as np
    >>> TopP(0.5).weights(np.log([0.3, 0.4, 0.2, 0.1])).round(4)
    array([0.4286, 0.5714, 0.    , 0.    ])
    """

    name: ClassVar[str] = "top-p"

    p: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "p", real_number("p", self.p, 0, 1, ends="(]"))

    @property
    def inner(self) -> Entmax:
        """Softmax."""
        return _SOFTMAX

    def selected(self, scores: Array) -> Array:
        """Which patterns are the fewest that hold the share p, the first of tied ones, shape (..., n)."""
        xp, z, _, _ = score_array(scores)
        present = z > -math.inf
        if self.p == 1:
            return present
        order = xp.argsort(z, axis=-1, descending=True, stable=True)
        ordered = xp.take_along_axis(z, order, axis=-1)
        weight = _SOFTMAX.weights(ordered)
        before = xp.cumulative_sum(weight, axis=-1) - weight
        # Position 0 is always needed; later ones as long as those before fall short of p.
        needed = (before < self.p - _MASS_ROUNDING) | (xp.arange(z.shape[-1], device=z.device) == 0)
        ranks = xp.argsort(order, axis=-1)
        return xp.take_along_axis(needed, ranks, axis=-1) & present
