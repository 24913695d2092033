"""The modern Hopfield model: stored patterns, an attention map over them, and an overlap scale."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, Self, overload

import numpy as np
from array_api_compat import array_namespace

from hopfieldphase.core import entmax, tsallis
from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import check_patterns
from hopfieldphase.core.patterns.blocks import StoredRows
from hopfieldphase.core.patterns.rows import row_norms

if TYPE_CHECKING:  # the package of all maps brings SciPy
    from hopfieldphase.core.attention.contract import Attention


class RetrievalModel(ABC):
    """Stored patterns Ξ, an overlap scale s, and the update T(x) = s Ξᵀ p with weights p of any kind."""

    patterns: Any
    scale: float

    def _check_stored(self) -> None:
        """Check patterns and scale, and put the default in the place of a scale of None."""
        object.__setattr__(self, "patterns", check_patterns(self.patterns))
        given: float | None = self.scale
        scale = 1 / math.sqrt(self.d) if given is None else float(given)
        if not 0 < scale < math.inf:
            raise InputError(
                f"scale = {self.scale} is outside its domain (0, inf): "
                "give a positive overlap scale, or None for 1/sqrt(d)"
            )
        object.__setattr__(self, "scale", scale)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(M={self.M}, d={self.d}, {self._weights_text()}, scale={self.scale:.6g})"
        )

    @abstractmethod
    def _weights_text(self) -> str:
        """Which weights, in the words of the parameter that chooses them."""

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
        if isinstance(self.patterns, np.ndarray | StoredRows):
            return row_norms(self.patterns)
        xp = array_namespace(self.patterns)
        return xp.sqrt(xp.sum(self.patterns**2, axis=-1))

    @cached_property
    def state_scale(self) -> float:
        """The largest single-pattern state norm s·max|ξ|: the length unit of residuals."""
        xp = array_namespace(self.pattern_norms)
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

    @abstractmethod
    def weights(self, x: Any, beta: float) -> Any:
        """Retrieval weights p at β times the overlaps, shape (..., M)."""

    def retrieve(self, x: Any, beta: float) -> Any:
        """One retrieval update T(x) = s Ξᵀ p(x), shape (..., d).

        Where the weights come from a free energy, it never rises along the updates.
        """
        return self.scale * (self.weights(x, beta) @ self.patterns)

    def gradient_residual(self, x: Any, beta: float) -> Any:
        """Distance from stationarity, |x − T(x)| / max(|x|, s·max|ξ|), shape (...)."""
        xp = array_namespace(x)
        distance = xp.sqrt(xp.sum((x - self.retrieve(x, beta)) ** 2, axis=-1))
        norm = xp.sqrt(xp.sum(x**2, axis=-1))
        return distance / xp.clip(norm, min=self.state_scale)

    def _state(self, x: Any) -> Any:
        if getattr(x, "ndim", 0) < 1 or x.shape[-1] != self.d:
            raise InputError(
                f"the state has shape {getattr(x, 'shape', type(x).__name__)}: "
                f"its last axis must have length d = {self.d}, give an array of shape (..., {self.d})"
            )
        return x


@dataclass(frozen=True, eq=False, init=False, repr=False)
class HopfieldModel(RetrievalModel):
    """Modern Hopfield model with Tsallis-regularised retrieval.

    The free energy of a query state x is

        Γ_α(x) = β/2 |x|² − Ω*_α(β z),    z = s Ξ x,

    and its stationary points obey the equation of motion x = T(x) = s Ξᵀ p(x) with the weights
    p = ∇Ω*_α(β z), which is attention over the stored patterns.

    Parameters
    ----------
    patterns : array, shape (M, d)
        Stored patterns Ξ, one per row; float32 or float64 of any array library. Rows of unit norm are
        the convention of the paper, not a requirement. Memory-mapped files and Zarr arrays stay on disk.
    alpha : float, default 2
        Tsallis index in (0, inf]: 1 is softmax, 2 sparsemax, inf hardmax.
    scale : float, optional
        Overlap scale s > 0, by default 1/√d. With unit-norm patterns only β s² times the pattern
        cosines matters.
    attention : Attention, optional
        Any other attention map, in the place of alpha: the call then returns an `AttentionModel`.

    Raises
    ------
    InputError
        If the patterns are not a finite (M, d) array without zero rows, alpha or scale lies outside its
        domain, or both alpha and attention are given.

    Notes
    -----
    Every method takes x of shape (d,) or (..., d), broadcasts over the leading axes and computes in
    the array library of its input. Source: Theorem 3.1, Eq. (3.5) and Propositions 3.2, 3.3 of "On the
    Statistical Mechanics of Attention" (arXiv:2610.17347).
    """

    patterns: Any
    alpha: float
    scale: float

    @overload
    def __new__(
        cls, patterns: Any, *, scale: float | None = None, attention: "Attention"
    ) -> "AttentionModel": ...
    @overload
    def __new__(
        cls, patterns: Any = None, alpha: float = 2.0, scale: float | None = None, attention: None = None
    ) -> Self: ...
    def __new__(
        cls,
        patterns: Any = None,
        alpha: float | None = None,
        scale: float | None = None,
        attention: "Attention | None" = None,
    ) -> "Self | AttentionModel":
        """Make a model of the Tsallis family, or an `AttentionModel` where an attention map is given."""
        if attention is None:
            return super().__new__(cls)
        if alpha is not None:
            raise InputError(
                f"alpha = {alpha} and attention = {attention.name} are both given: choose one of them"
            )
        return AttentionModel(patterns, attention, scale)  # pyright: ignore[reportArgumentType]

    def __init__(
        self,
        patterns: Any,
        alpha: float = 2.0,
        scale: float | None = None,
        attention: "Attention | None" = None,  # one that is given never comes here
    ) -> None:
        object.__setattr__(self, "patterns", patterns)
        object.__setattr__(self, "scale", scale)
        self._check_stored()
        object.__setattr__(self, "alpha", tsallis_index(alpha))

    def _weights_text(self) -> str:
        return f"alpha={self.alpha:.6g}"

    def weights(self, x: Any, beta: float) -> Any:
        """Retrieval weights p(x) = ∇Ω*_α(βz), shape (..., M) (Proposition 3.3, Lemma F.1)."""
        return entmax.weights(self.overlaps(x), self.alpha, beta)

    def free_energy(self, x: Any, beta: float) -> Any:
        """Free energy Γ_α(x) = β/2 |x|² − Ω*_α(βz), shape (...), Eq. (3.5)."""
        xp = array_namespace(x)
        conjugate = entmax.conjugate(self.overlaps(x), self.alpha, beta)
        return inverse_temperature(beta) / 2 * xp.sum(x**2, axis=-1) - conjugate

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


@dataclass(frozen=True, eq=False, repr=False)
class AttentionModel(RetrievalModel):
    """Retrieval with any attention map p over the stored patterns: x ↦ T(x) = s Ξᵀ p(β z), z = s Ξ x.

    Where the map has a conjugate Ω*, the weights are its gradient: the fixed points of T are the stationary
    points of Γ(x) = β/2 |x|² − Ω*(β z), which no update raises. Without a conjugate there is no free energy:
    the Jacobian of T is not symmetric, or T jumps. What is left are the fixed points of T, which attract
    where the spectral radius of its Jacobian is below one.

    Parameters
    ----------
    patterns : array, shape (M, d)
        Stored patterns, as in `HopfieldModel`.
    attention : Attention
        The map from scores β z to weights. `Entmax` keeps the convention of the field, in which β is α times
        that of `HopfieldModel`.
    scale : float, optional
        Overlap scale s > 0, by default 1/√d.

    Raises
    ------
    InputError
        If the patterns are not a finite (M, d) array without zero rows, `attention` is not an attention map,
        or the scale lies outside its domain; in the methods, for what the map refuses, and where a free
        energy is asked for that does not exist.

    Notes
    -----
    ``HopfieldModel(patterns, attention=...)`` makes one of these. Every method takes x of shape (d,) or
    (..., d), broadcasts over the leading axes and computes in the array library of its input.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.core.attention.selection import TopK
    >>> model = hp.HopfieldModel(hp.patterns.clustered(100, 64), attention=TopK(8))
    >>> round(float(model.spectral_radius(model.patterns[0] / 8, beta=300.0)), 6)
    0.61306
    """

    patterns: Any
    attention: "Attention"
    scale: float = field(default=None)  # pyright: ignore[reportAssignmentType]  # None means 1/sqrt(d)

    def __post_init__(self) -> None:
        if not all(callable(getattr(self.attention, name, None)) for name in ("weights", "jacobian_action")):
            raise InputError(
                f"attention = {self.attention!r} is no attention map: give one such as TopK(8) or LogElu()"
            )
        self._check_stored()

    @property
    def alpha(self) -> NoReturn:
        """There is none.

        Raises
        ------
        InputError
            Always: what asks for it holds for the Tsallis family alone.
        """
        raise InputError(
            f"{self.attention.name} attention has no Tsallis index: this needs a model with alpha; for any "
            "attention use find_fixed_point, sweep_beta and map_branches"
        )

    @property
    def has_free_energy(self) -> bool:
        """Whether T descends a free energy: the attention map has a conjugate."""
        return self.attention.has_conjugate

    def _weights_text(self) -> str:
        return f"attention={self.attention!r}"

    def weights(self, x: Any, beta: float) -> Any:
        """Retrieval weights p(βz), shape (..., M)."""
        return self.attention.weights(inverse_temperature(beta) * self.overlaps(x))

    def map_jacobian(self, x: Any, beta: float) -> Any:
        """Jacobian of the update, DT = β s² Ξᵀ J Ξ with J = ∂p/∂(βz), shape (..., d, d).

        Where the weights have a kink, that of the pieces with the support as it is.
        """
        xp = array_namespace(x)
        beta = inverse_temperature(beta)
        scores = (beta * self.overlaps(x))[..., None, :]
        response = self.attention.jacobian_action(scores, self.scale * self.patterns.T)
        return beta * self.scale * xp.matrix_transpose(response @ self.patterns)

    def beta_derivative(self, x: Any, beta: float) -> Any:
        """Derivative of the update by β at a fixed state, ∂T/∂β = s Ξᵀ J z, shape (..., d)."""
        z = self.overlaps(x)
        response = self.attention.jacobian_action(inverse_temperature(beta) * z, z)
        return self.scale * (response @ self.patterns)

    def eigenvalues(self, x: Any, beta: float) -> Any:
        """Eigenvalues of the Jacobian of T by falling modulus, complex, shape (..., d); a NumPy array."""
        jacobian = np.asarray(self.map_jacobian(x, beta), dtype=np.float64)
        return sorted_eigenvalues(jacobian)

    def spectral_radius(self, x: Any, beta: float) -> Any:
        """Largest modulus of an eigenvalue of DT, shape (...): below 1 a fixed point attracts."""
        return np.abs(self.eigenvalues(x, beta)[..., 0])

    def free_energy(self, x: Any, beta: float) -> Any:
        """Free energy Γ(x) = β/2 |x|² − Ω*(βz), shape (...); `InputError` where the map has no conjugate."""
        self._need_free_energy()
        xp = array_namespace(x)
        beta = inverse_temperature(beta)
        return beta / 2 * xp.sum(x**2, axis=-1) - self.attention.conjugate(beta * self.overlaps(x))

    def gradient(self, x: Any, beta: float) -> Any:
        """Gradient ∇Γ = β (x − T(x)), shape (..., d); `InputError` where the map has no conjugate."""
        self._need_free_energy()
        return inverse_temperature(beta) * (x - self.retrieve(x, beta))

    def hessian(self, x: Any, beta: float) -> Any:
        """Hessian ∇²Γ = β (I − DT), shape (..., d, d); `InputError` where the map has no conjugate.

        It is that of the pieces with the support as it is.
        """
        self._need_free_energy()
        xp = array_namespace(x)
        jacobian = self.map_jacobian(x, beta)
        symmetric = (jacobian + xp.matrix_transpose(jacobian)) / 2
        return inverse_temperature(beta) * (xp.eye(self.d, dtype=symmetric.dtype) - symmetric)

    def _need_free_energy(self) -> None:
        if not self.has_free_energy:
            raise InputError(
                f"{self.attention.name} attention has no free energy: its weights are not the gradient of a "
                "function of the scores; ask for fixed points and their spectral_radius"
            )


def sorted_eigenvalues(jacobian: Any) -> Any:
    """Eigenvalues of NumPy matrices (..., d, d) by falling modulus; of a conjugate pair Im > 0 first."""
    values = np.linalg.eigvals(jacobian).astype(np.complex128)
    # The moduli of a conjugate pair agree to rounding only.
    order = np.lexsort((-values.imag, -np.abs(values).round(12)), axis=-1)
    return np.take_along_axis(values, order, axis=-1)
