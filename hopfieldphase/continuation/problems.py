"""The equations that stationary states obey along β, in the unknowns in which they are smooth.

α ≤ 1.5: F = x − T(x) in the span of the patterns, smooth (α ≤ 1) or with a Lipschitz Jacobian, whatever
pattern enters or leaves. Above, ∇²Γ changes the faster there the larger α is, and jumps from α = 2 on: the
curve is followed on one support at a time, by F for α < 2 and for α ≥ 2 by the equations of the weights,
which are smooth up to the point where one of them vanishes.

Both are gradients: F_x = ∇²Γ/β, or the Hessian of the free energy of the weights on the tangent space of the
simplex. Both have the index of ∇²Γ.
"""

import math
from collections.abc import Iterable

import numpy as np

from hopfieldphase.continuation.branch import State
from hopfieldphase.continuation.equations import Matrix, Vector
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import arclength as kernel
from hopfieldphase.model import HopfieldModel


class MotionProblem:
    """F(y, β) = x − T(x) with x = Q y and Q an orthonormal basis of the span of the patterns.

    y has min(M, d) components; across the span ∇²Γ/β = 1 exactly.

    Parameters
    ----------
    model : HopfieldModel
        0 < α < 2; any α > 1 on a single pattern.
    support : iterable of int, optional
        Leave all other patterns out (α > 1): their overlaps must then stay below the threshold θ. On the
        support the power law of the weights is continued as an odd function through zero.

    Notes
    -----
    For α > 1 the overlaps above the threshold, z − θ, are monitored. With all patterns their zeros are the
    points at which one enters or leaves. On a support they are barriers: z − θ inside and θ − z outside stay
    positive. Source: Eq. (3.5) and Proposition 3.2 of "On the Statistical Mechanics of Attention"
    (arXiv:2610.17347).
    """

    symmetric = True

    def __init__(self, model: HopfieldModel, support: Iterable[int] | None = None) -> None:
        self._patterns = np.ascontiguousarray(model.patterns, dtype=np.float64)
        self._inside = np.arange(model.M) if support is None else np.array(sorted(map(int, support)))
        if not (model.alpha < 2.0 or (len(self._inside) == 1 and model.alpha < math.inf)):
            raise InputError(
                f"alpha = {model.alpha:g}: x - T(x) is continuously differentiable only for alpha < 2; "
                "use FaceProblem on a fixed support"
            )
        chosen = self._patterns[self._inside]
        self._basis: Matrix | None = None
        if len(chosen) < model.d:
            self._basis, triangle = np.linalg.qr(chosen.T)
            chosen = triangle.T
        self._chosen = np.ascontiguousarray(chosen)
        self._scale = model.scale
        self._alpha = model.alpha
        self._signs = np.full(model.M, -1.0)
        self._signs[self._inside] = 1.0
        self.state_scale = model.state_scale
        self.support = None if support is None else tuple(self._inside.tolist())
        self.barrier = support is not None
        self.monitors = self._excess if model.alpha > 1.0 else None

    def unknown(self, state: State) -> Vector:
        """Y of a state in the span of the patterns."""
        return state.x if self._basis is None else state.x @ self._basis

    def opening(self, y: Vector, beta: float, patterns: Iterable[int]) -> tuple[Vector, float]:
        """Gradient in (y, β) of the sum of the monitors of some patterns, to the side of y where p = 0."""
        p = kernel.retrieval_weights(self._chosen, self._scale, self._alpha, y, beta)
        w = np.where(p > 0.0, p, 1.0) ** (2.0 - self._alpha) / self._alpha * (p > 0.0)
        center = w @ self._chosen / w.sum()
        slope = -1.0 / ((self._alpha - 1.0) * beta**2 * w.sum())
        rows = self._patterns if self._basis is None else self._patterns @ self._basis
        signs = self._signs[list(patterns)]
        return self._scale * (signs @ (rows[list(patterns)] - center)), slope * float(signs.sum())

    def F(self, y: Vector, beta: float) -> Vector:
        """X − T(x)."""
        return kernel.motion(self._chosen, self._scale, self._alpha, self.barrier, y, beta)

    def jet(self, y: Vector, beta: float) -> tuple[Vector, Matrix, Vector]:
        """F, F_x and F_β."""
        return kernel.motion_jet(self._chosen, self._scale, self._alpha, self.barrier, y, beta)

    def F_x(self, y: Vector, beta: float) -> Matrix:
        """∇²Γ/β."""
        return self.jet(y, beta)[1]

    def F_p(self, y: Vector, beta: float) -> Vector:
        """−s Ξᵀ J z."""
        return self.jet(y, beta)[2]

    def state(self, y: Vector, beta: float) -> State:
        """The state and its observables."""
        weights = np.zeros(len(self._patterns))
        weights[self._inside] = kernel.retrieval_weights(self._chosen, self._scale, self._alpha, y, beta)
        x = y if self._basis is None else self._basis @ y
        return observe(self._patterns, self._scale, self._alpha, x, beta, weights)

    def _excess(self, y: Vector, beta: float) -> Vector:
        excess = kernel.excess_overlaps(self._chosen, self._scale, self._alpha, self.barrier, y, beta)
        if not self.barrier:
            return excess
        z = self._scale * (self._patterns @ (y if self._basis is None else self._basis @ y))
        # θ from the pattern with the largest overlap, whose excess has no cancellation to fear
        top = self._inside[np.argmax(excess)]
        return self._signs * (z - (z[top] - excess.max()))


class FaceProblem:
    """Stationary weights on a fixed support of k ≥ 2 patterns, for 2 ≤ α < ∞.

    With p = 1/k + Z u, Z (k, k − 1) an orthonormal basis of Σδ = 0, and c = α/(α − 1),

        F(u, β) = Zᵀ (c p^{α−1}/β − G p),    F_u = Zᵀ (α diag(p^{α−2})/β − G) Z,    F_β = −c Zᵀ p^{α−1}/β²,

    the gradient of the free energy F(p) = −Ψ_α(p) − ½ β pᵀGp of the weights over β. Powers are continued
    as odd functions, so that the equations are smooth through p = 0.

    Parameters
    ----------
    model : HopfieldModel
        2 ≤ α < ∞.
    support : iterable of int
        The patterns with positive weight.

    Notes
    -----
    Monitored, as a barrier: p on the support and θ − z outside, in the order of the patterns.
    """

    symmetric = True
    barrier = True
    state_scale = 1.0

    def __init__(self, model: HopfieldModel, support: Iterable[int]) -> None:
        if not 2.0 <= model.alpha < math.inf:
            raise InputError(
                f"alpha = {model.alpha:g}: weights on a fixed support are followed for 2 <= alpha < inf; "
                "use MotionProblem below"
            )
        self.support = tuple(sorted(map(int, support)))
        self._patterns = np.ascontiguousarray(model.patterns, dtype=np.float64)
        self._scale = model.scale
        self._alpha = model.alpha
        chosen = self._patterns[list(self.support)]
        self._inside = np.array(self.support)
        self._columns = model.scale**2 * (self._patterns @ chosen.T)
        self._gram = self._columns[self._inside]
        self._tangent = _tangent_basis(len(self.support))
        self._reduced = self._tangent.T @ self._gram @ self._tangent

    def unknown(self, state: State) -> Vector:
        """The unknown of a state on the support."""
        return state.weights[self._inside] @ self._tangent

    def weights(self, u: Vector) -> Vector:
        """Weights on the support."""
        return 1.0 / len(self.support) + self._tangent @ u

    def F(self, u: Vector, beta: float) -> Vector:
        """Gradient of F(p)/β on the tangent space of the simplex."""
        p = self.weights(u)
        return (self._force(p, beta) - self._gram @ p) @ self._tangent

    def F_x(self, u: Vector, beta: float) -> Matrix:
        """Its Jacobian."""
        stiffness = self._stiffness(self.weights(u), beta)
        return self._tangent.T @ (stiffness[:, None] * self._tangent) - self._reduced

    def F_p(self, u: Vector, beta: float) -> Vector:
        """Its derivative in β."""
        return self._force(self.weights(u), beta) @ self._tangent / -beta

    def monitors(self, u: Vector, beta: float) -> Vector:
        """P on the support and θ − z outside, (M,)."""
        p = self.weights(u)
        z = self._columns @ p
        threshold = np.mean(z[self._inside] - self._force(p, beta))
        values = threshold - z
        values[self._inside] = p
        return values

    def opening(self, u: Vector, beta: float, patterns: Iterable[int]) -> tuple[Vector, float]:
        """Gradient in (u, β) of the sum of the monitors of some patterns."""
        p = self.weights(u)
        couplings = self._columns @ self._tangent
        couplings[self._inside] -= self._stiffness(p, beta)[:, None] * self._tangent
        gradient = couplings[self._inside].mean(axis=0) - couplings
        gradient[self._inside] = self._tangent
        slopes = np.full(len(couplings), np.mean(self._force(p, beta)) / beta)
        slopes[self._inside] = 0.0
        chosen = list(patterns)
        return gradient[chosen].sum(axis=0), float(slopes[chosen].sum())

    def state(self, u: Vector, beta: float) -> State:
        """The state and its observables."""
        weights = np.zeros(len(self._patterns))
        weights[self._inside] = np.maximum(self.weights(u), 0.0)
        x = self._scale * (weights @ self._patterns)
        return observe(self._patterns, self._scale, self._alpha, x, beta, weights)

    def _force(self, p: Vector, beta: float) -> Vector:
        alpha = self._alpha
        return alpha / ((alpha - 1.0) * beta) * np.sign(p) * np.abs(p) ** (alpha - 1.0)

    def _stiffness(self, p: Vector, beta: float) -> Vector:
        return self._alpha / beta * np.abs(p) ** (self._alpha - 2.0)


def observe(patterns: Matrix, scale: float, alpha: float, x: Vector, beta: float, weights: Vector) -> State:
    """The record of a stationary state with known weights."""
    free_energy, threshold, overlap_max, hessian_min = kernel.observables(
        patterns, scale, alpha, x, beta, weights
    )
    return State(
        parameter=beta,
        beta=beta,
        x=x,
        weights=weights,
        support=tuple(np.flatnonzero(weights).tolist()),
        free_energy=free_energy,
        overlap_max=overlap_max,
        threshold=threshold,
        hessian_min=hessian_min,
    )


def state_at(model: HopfieldModel, x: Vector, beta: float) -> State:
    """The record of a stationary state x (d,) of a model."""
    patterns = np.ascontiguousarray(model.patterns, dtype=np.float64)
    weights = kernel.retrieval_weights(patterns, model.scale, model.alpha, x, beta)
    return observe(patterns, model.scale, model.alpha, x, beta, weights)


def _tangent_basis(k: int) -> Matrix:
    """Orthonormal basis (k, k − 1) of the vectors with zero sum: a Householder reflection of the axes."""
    mirror = np.full(k, 1.0 / math.sqrt(k))
    mirror[0] -= 1.0
    return np.eye(k)[:, 1:] - np.outer(mirror, mirror[1:]) * (2.0 / (mirror @ mirror))
