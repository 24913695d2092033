"""Normmax: attention regularized by a norm of the weights."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hopfieldphase.core import entmax
from hopfieldphase.core.arrays import Array, Namespace, distribution, pattern_array, score_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.checks import real_number, whole_number

_ieee = np.errstate(divide="ignore", over="ignore", under="ignore")


@dataclass(frozen=True)
class Normmax(Attention):
    r"""The γ-normmax, regularized by the norm :math:`\|p\|_\gamma = (\sum_i p_i^\gamma)^{1/\gamma}`.

    .. math:: p = \arg\max_{p \in \Delta} z \cdot p + 1 - \|p\|_\gamma,
              \qquad p_i \propto [z_i - \tau]_+^{1/(\gamma-1)},
              \qquad \sum_i [z_i - \tau]_+^{\gamma/(\gamma-1)} = 1.

    Sparse for every γ; one pattern holds all weight where its score leads by 1 or more. γ → 1 is the hardmax,
    and γ = ∞ spreads the weight evenly over the support of sparsemax. Tied scores get equal weights; for
    γ = ∞ those tied at τ itself, where the maximizer is not unique, get none.

    Parameters
    ----------
    gamma : float
        Order of the norm, 1 < γ ≤ ∞.

    Raises
    ------
    InputError
        If γ is outside its domain.

    Notes
    -----
    Blondel, Martins and Niculae, "Learning with Fenchel-Young Losses" (2020), norm entropies; Santos,
    Niculae, McNamee and Martins, "Sparse and Structured Hopfield Networks" (2024).

    The equation for τ is that of the α-entmax with α = 2 − 1/γ, and the weights are the powers 1/γ of those
    of that entmax, normalized. So the roots are found there, to rounding. For γ > 2 a weight has infinite
    slope where it vanishes, as that of α-entmax has for α > 2.

    Examples
    --------
    >>> Normmax(2.0).weights(np.array([0.5, 0.0, -2.0])).round(4)
    array([0.689, 0.311, 0.   ])
    """

    gamma: float = 2.0
    name: ClassVar[str] = "normmax"
    has_conjugate: ClassVar[bool] = True
    has_threshold: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", real_number("gamma", self.gamma, 1, math.inf, ends="(]"))

    @property
    def entmax_index(self) -> float:
        """Tsallis index α = 2 − 1/γ of the entmax with the same support and threshold."""
        return 2 - 1 / self.gamma

    @property
    def entmax_beta(self) -> float:
        """Inverse temperature α/(α−1) at which the gate of that entmax is [z − τ]₊^{1/(α−1)}."""
        return self.entmax_index / (1 - 1 / self.gamma)

    @_ieee
    def weights(self, scores: Array) -> Array:
        """Weights p; errors as `hopfieldphase.core.entmax.weights`."""
        xp, z, _, dtype = score_array(scores)
        q = self._powers(xp, z)[1]
        return xp.astype(q / xp.sum(q, axis=-1, keepdims=True), dtype)

    def threshold(self, scores: Array) -> Array:
        """Threshold τ, with max z − 1 ≤ τ < max z; errors as `weights`."""
        return entmax.threshold(scores, self.entmax_index, self.entmax_beta)

    def conjugate(self, scores: Array) -> Array:
        """Ω*(z) = max_p z·p + 1 − ‖p‖_γ = τ + 1; errors as `weights`."""
        xp, z, _, dtype = score_array(scores)
        return xp.astype(self.threshold(z) + 1, dtype)

    @_ieee
    def regularizer(self, p: Array) -> Array:
        """Ω(p) = ‖p‖_γ − 1."""
        xp, p, dtype = distribution(p, "p")
        peak = xp.max(p, axis=-1, keepdims=True)
        if math.isinf(self.gamma):
            return xp.astype(peak[..., 0] - 1, dtype)
        norm = peak[..., 0] * xp.sum((p / peak) ** self.gamma, axis=-1) ** (1 / self.gamma)
        return xp.astype(norm - 1, dtype)

    def separation_margin(self, top: int = 1) -> float:
        """k^{1/γ − 1} for k = `top` equal scores."""
        return whole_number("top", top) ** (1 / self.gamma - 1)

    @_ieee
    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        r"""J v = a − p Σa with :math:`a_i = \frac{p_i}{\gamma-1} \frac{v_i - p \cdot v}{z_i - \tau}`.

        Errors as `weights`.
        """
        xp, z, _, dtype = score_array(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        entmax_p, q = self._powers(xp, z)
        p = q / xp.sum(q, axis=-1, keepdims=True)
        height = entmax_p ** (1 - 1 / self.gamma)  # z − τ
        change = (v - xp.sum(p * v, axis=-1, keepdims=True)) / (self.gamma - 1)
        a = xp.where(height > 0, p / xp.where(height > 0, height, 1.0) * change, 0.0)
        return xp.astype(a - p * xp.sum(a, axis=-1, keepdims=True), xp.result_type(dtype, v_dtype))

    def _powers(self, xp: Namespace, z: Array) -> tuple[Array, Array]:
        """Weights of the entmax with the same threshold, and [z − τ]₊^{1/(γ−1)}."""
        p = entmax.weights(z, self.entmax_index, self.entmax_beta)
        return p, xp.where(p > 0, p ** (1 / self.gamma), 0.0)
