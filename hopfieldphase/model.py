"""The modern Hopfield model: stored patterns, a Tsallis index and an overlap scale."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from array_api_compat import array_namespace

from hopfieldphase.core import entmax, tsallis
from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import check_patterns


@dataclass(frozen=True, eq=False)
class HopfieldModel:
    """Modern Hopfield model with Tsallis-regularised retrieval.

    The free energy of a query state x is

        Γ_α(x) = β/2 |x|² − Ω*_α(β z),    z = s Ξ x,

    and its stationary points obey the equation of motion x = T(x) = s Ξᵀ p(x) with the weights
    p = ∇Ω*_α(β z), which is attention over the stored patterns.

    Parameters
    ----------
    patterns : array, shape (M, d)
        Stored patterns Ξ, one per row; float32 or float64 of any array library. Rows of unit norm are
        the convention of the paper, not a requirement.
    alpha : float, default 2
        Tsallis index in (0, inf]: 1 is softmax, 2 sparsemax, inf hardmax.
    scale : float, optional
        Overlap scale s > 0, by default 1/√d. With unit-norm patterns only β s² times the pattern
        cosines matters.

    Raises
    ------
    InputError
        If the patterns are not a finite (M, d) array without zero rows, or alpha or scale lies
        outside its domain.

    Notes
    -----
    Every method takes x of shape (d,) or (..., d), broadcasts over the leading axes and computes in
    the array library of its input. Source: Theorem 3.1, Eq. (3.5) and Propositions 3.2, 3.3 of "On the
    Statistical Mechanics of Attention" (arXiv:2610.17347).
    """

    patterns: Any
    alpha: float = 2.0
    scale: float = field(default=None)  # pyright: ignore[reportAssignmentType]  # None means 1/sqrt(d)

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", check_patterns(self.patterns))
        object.__setattr__(self, "alpha", tsallis_index(self.alpha))
        scale = 1 / math.sqrt(self.d) if self.scale is None else float(self.scale)
        if not 0 < scale < math.inf:
            raise InputError(
                f"scale = {self.scale} is outside its domain (0, inf): "
                "give a positive overlap scale, or None for 1/sqrt(d)"
            )
        object.__setattr__(self, "scale", scale)

    @property
    def M(self) -> int:
        """Number of stored patterns."""
        return self.patterns.shape[0]

    @property
    def d(self) -> int:
        """Dimension of the state space."""
        return self.patterns.shape[1]

    @cached_property
    def gram(self) -> Any:
        """Gram matrix G = s² Ξ Ξᵀ, shape (M, M)."""
        return self.scale**2 * (self.patterns @ self.patterns.T)

    @cached_property
    def pattern_norms(self) -> Any:
        """Norms |ξ_μ| of the patterns, shape (M,)."""
        xp = array_namespace(self.patterns)
        return xp.sqrt(xp.sum(self.patterns**2, axis=-1))

    @cached_property
    def state_scale(self) -> float:
        """The largest single-pattern state norm s·max|ξ|: the length unit of residuals."""
        xp = array_namespace(self.patterns)
        return self.scale * float(xp.max(self.pattern_norms))

    def overlaps(self, x: Any) -> Any:
        """Overlaps (query-key scores) z = s Ξ x.

        Parameters
        ----------
        x : array, shape (..., d)

        Returns
        -------
        array, shape (..., M)
        """
        return self.scale * (self._state(x) @ self.patterns.T)

    def weights(self, x: Any, beta: float) -> Any:
        """Retrieval weights p(x) = ∇Ω*_α(βz), shape (..., M) (Proposition 3.3, Lemma F.1)."""
        return entmax.weights(self.overlaps(x), self.alpha, beta)

    def free_energy(self, x: Any, beta: float) -> Any:
        """Free energy Γ_α(x) = β/2 |x|² − Ω*_α(βz), shape (...), Eq. (3.5)."""
        xp = array_namespace(x)
        conjugate = entmax.conjugate(self.overlaps(x), self.alpha, beta)
        return inverse_temperature(beta) / 2 * xp.sum(x**2, axis=-1) - conjugate

    def retrieve(self, x: Any, beta: float) -> Any:
        """One retrieval update T(x) = s Ξᵀ p(x), shape (..., d); the free energy never rises along it."""
        return self.scale * (self.weights(x, beta) @ self.patterns)

    def gradient(self, x: Any, beta: float) -> Any:
        """Gradient ∇Γ = β (x − T(x)), shape (..., d) (Proposition 3.2)."""
        return inverse_temperature(beta) * (x - self.retrieve(x, beta))

    def hessian(self, x: Any, beta: float) -> Any:
        """Hessian ∇²Γ = β I − β² s² Ξᵀ J Ξ with J = ∂p/∂(βz), shape (..., d, d).

        Valid where no overlap equals the threshold; there it is continuous for α < 2 and jumps for
        α ≥ 2.
        """
        xp = array_namespace(x)
        beta = inverse_temperature(beta)
        p = self.weights(x, beta)
        columns = self.scale * self.patterns.T  # (d, M): one direction per row
        response = entmax.jacobian_action(p[..., None, :], columns, self.alpha)
        identity = xp.eye(self.d, dtype=p.dtype)
        hessian = beta * identity - beta**2 * self.scale * (response @ self.patterns)
        return (hessian + xp.matrix_transpose(hessian)) / 2

    def score_jacobian(self, x: Any, beta: float) -> Any:
        """Jacobian β G J of the update in score space z ↦ s Ξ T, shape (..., M, M) (App. E.3).

        Its spectrum is real and its spectral radius is 1 − λ_min(∇²Γ)/β.
        """
        jacobian = entmax.jacobian(self.weights(x, beta), self.alpha)
        return inverse_temperature(beta) * (self.gram @ jacobian)

    def gradient_residual(self, x: Any, beta: float) -> Any:
        """Distance from stationarity, |x − T(x)| / max(|x|, s·max|ξ|), shape (...)."""
        xp = array_namespace(x)
        distance = xp.sqrt(xp.sum((x - self.retrieve(x, beta)) ** 2, axis=-1))
        norm = xp.sqrt(xp.sum(x**2, axis=-1))
        return distance / xp.clip(norm, min=self.state_scale)

    def duality_residual(self, x: Any, beta: float) -> Any:
        """Γ(x) − F(p(x)) relative to max(1, |Γ|), shape (...); zero at every stationary point.

        F(p) = −Ψ_α(p) − ½ β pᵀ G p is the free energy of the weights.
        """
        xp = array_namespace(x)
        beta = inverse_temperature(beta)
        p = self.weights(x, beta)
        retrieved = self.scale * (p @ self.patterns)
        dual = -tsallis.tsallis_entropy(p, self.alpha) - beta / 2 * xp.sum(retrieved**2, axis=-1)
        energy = self.free_energy(x, beta)
        return (energy - dual) / xp.clip(xp.abs(energy), min=1.0)

    def _state(self, x: Any) -> Any:
        if getattr(x, "ndim", 0) < 1 or x.shape[-1] != self.d:
            raise InputError(
                f"the state has shape {getattr(x, 'shape', type(x).__name__)}: "
                f"its last axis must have length d = {self.d}, give an array of shape (..., {self.d})"
            )
        return x
