"""The α-entmax family as attention maps, in the convention of the field: α = 1 is softmax, 2 sparsemax."""

import math
from dataclasses import dataclass
from typing import ClassVar

from hopfieldphase.core import entmax
from hopfieldphase.core.arrays import Array, score_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.tsallis import tsallis_entropy


@dataclass(frozen=True)
class Entmax(Attention):
    r"""The α-entmax map :math:`p(z) = \arg\max_{p \in \Delta} z \cdot p + H_\alpha(p)`.

    :math:`H_\alpha(p) = \sum_\mu (p_\mu - p_\mu^\alpha)/(\alpha(\alpha-1))` is the Tsallis entropy of the
    entmax literature. In the convention of arXiv:2610.17347, which `HopfieldModel` keeps with ``alpha=``,
    these are the weights at β = α: :math:`H_\alpha = \Psi_\alpha/\alpha`.

    Parameters
    ----------
    alpha : float
        Tsallis index, 0 < α ≤ ∞: 1 is softmax, 2 sparsemax, ∞ hardmax, in which tied scores share equally.

    Raises
    ------
    InputError
        If α is outside its domain; in the methods, if a row of scores holds NaN, +∞ or nothing but −∞.

    Notes
    -----
    Peters, Niculae and Martins, "Sparse Sequence-to-Sequence Models" (2019). Permuted scores have permuted
    weights, ties included.

    Examples
    --------
    >>> import numpy as np
    >>> Entmax(1.5).weights(np.array([0.0, 0.0, 1.0])).round(4)
    array([0.1299, 0.1299, 0.7403])
    >>> Entmax(1.5).separation_margin(top=4)
    1.0
    """

    name: ClassVar[str] = "entmax"
    has_conjugate: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = True

    alpha: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", tsallis_index(self.alpha))

    def weights(self, scores: Array) -> Array:
        """Weights p(z), shape (..., n)."""
        return entmax.entmax(scores, self.alpha)

    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        r"""Product J(z) v with :math:`J = \mathrm{diag}(s) - s s^T/\sum s`, :math:`s = p^{2-\alpha}`."""
        # `entmax.jacobian_action` differentiates by αz.
        factor = 1.0 if math.isinf(self.alpha) else self.alpha
        return factor * entmax.jacobian_action(self.weights(scores), direction, self.alpha)

    def threshold(self, scores: Array) -> Array:
        """Score above which weights are positive, shape (...).

        −∞ for α ≤ 1, where no weight vanishes; for α = ∞ the largest score below the top, −∞ if all are tied.
        """
        if 1 < self.alpha < math.inf:
            return entmax.threshold(scores, self.alpha, self.alpha)
        xp, z, top, dtype = score_array(scores)
        left_out = z < top if math.isinf(self.alpha) else xp.zeros_like(z, dtype=xp.bool)
        return xp.astype(xp.max(xp.where(left_out, z, -math.inf), axis=-1), dtype)

    def conjugate(self, scores: Array) -> Array:
        r""":math:`\Omega^*(z) = \max_{p \in \Delta} z \cdot p + H_\alpha(p)`, shape (...)."""
        if math.isinf(self.alpha):
            return entmax.conjugate(scores, self.alpha)
        return entmax.conjugate(scores, self.alpha, self.alpha) / self.alpha

    def regularizer(self, p: Array) -> Array:
        r""":math:`\Omega(p) = -H_\alpha(p)`, shape (...)."""
        return -tsallis_entropy(p, self.alpha) / (1.0 if math.isinf(self.alpha) else self.alpha)

    def separation_margin(self, top: int = 1) -> float:
        r""":math:`k^{1-\alpha}/(\alpha-1)` for k = `top` equal scores; ∞ for α ≤ 1, 0 for α = ∞."""
        k = whole_number("top", top)
        if self.alpha <= 1:
            return math.inf
        return 0.0 if math.isinf(self.alpha) else k ** (1 - self.alpha) / (self.alpha - 1)
