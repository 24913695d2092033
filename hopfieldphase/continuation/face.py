"""The α = 2 state on a fixed support as an explicit function of β.

With t = 2/β and a support S of k patterns, a stationary state minimises t|p|² − pᵀGp over the face of S.
In the eigenbasis u_a of P G_SS P on the tangent space (P = I − 11ᵀ/k) with eigenvalues λ_a and pulls
r_a = u_aᵀ G_SS 1/k,

    p(t) = 1/k + Σ_a u_a r_a / (t − λ_a),      θ(t) = 1ᵀG_SS1/k² − t/k + Σ_a r_a² / (t − λ_a),
    Γ = −θ/t − 1,                              λ_min(∇²Γ)/β = 1 − λ_max/t,

so that a pull of zero takes its pole out of the state while it stays in the stability. The state is a strict
minimum while p > 0 on S, z < θ outside S and t > λ_max.

Source: the free energy of Theorem 3.1 and Eq. (3.5) at α = 2 in its dual form over weights, with Proposition
4.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import State, Vector
from hopfieldphase.kernels.active_set import tangent_spectrum
from hopfieldphase.kernels.kinks import NO_PULL, NOTHING
from hopfieldphase.model import HopfieldModel

RESOLUTION = 1e-12
"""Relative precision of located events; what differs by less happens at one value."""

LARGEST_GRAM = 2048
"""Up to this many patterns the whole Gram matrix is used, above it the rows of patterns met on the way."""

# Weights and relative slacks below this are ties.
_TIED = 1e-13


class StoredPatterns:
    """The patterns as the tracer reads them: s Ξ, and rows of the Gram matrix, of many patterns on demand."""

    def __init__(self, model: HopfieldModel) -> None:
        self.scaled: Vector = model.scale * np.ascontiguousarray(model.patterns, dtype=np.float64)
        if model.M <= LARGEST_GRAM:
            gram = np.asarray(model.gram)
            self._rows: Vector = gram if gram.dtype == np.float64 else self.scaled @ self.scaled.T
            self._places = np.arange(model.M)
        else:
            self._rows = np.empty((0, model.M))
            self._places = np.full(model.M, -1)

    def columns(self, support: NDArray[np.int64]) -> Vector:
        """G_{·S}, shape (M, k)."""
        rows, places = self.rows(support)
        return np.ascontiguousarray(rows[places[support]].T)

    def rows(self, support: NDArray[np.int64]) -> tuple[Vector, NDArray[np.int64]]:
        """Rows of G that include those of the support, and where each pattern's row stands (−1: missing)."""
        missing = support[self._places[support] < 0]
        if missing.size:
            self._places[missing] = len(self._rows) + np.arange(missing.size)
            self._rows = np.concatenate([self._rows, self.scaled[missing] @ self.scaled.T])
        return self._rows, self._places


class Face:
    """The stationary state on one support as an explicit function of t = 2/β.

    Parameters
    ----------
    stored : StoredPatterns
    patterns : iterable of int
        The support.

    Attributes
    ----------
    patterns : tuple of int
        The support, ascending; `support` is the same as an array.
    top : float
        λ_max(P G_SS P), the value of t at which the state loses stability; 0 for a single pattern or copies.
    soft : ndarray, shape (k, n)
        The tangent eigenvectors of `top`.
    """

    def __init__(self, stored: StoredPatterns, patterns: Iterable[int]) -> None:
        self.patterns = tuple(sorted(map(int, patterns)))
        self.stored = stored
        self.support = np.array(self.patterns)
        columns = stored.columns(self.support)
        levels, vectors, self.mean_overlaps, self.size = tangent_spectrum(columns, self.support)
        means: Vector = self.mean_overlaps[self.support]
        self.mean_square = float(means.sum()) / means.size
        pulls = means @ vectors
        top = float(levels[-1]) if levels.size else 0.0
        self.top = top if top > NOTHING * self.size else 0.0
        self.soft: Vector = vectors[:, levels >= self.top * (1 - 1e-10)]
        acting = np.abs(pulls) > NO_PULL * self.size
        self.vectors: Vector = vectors if acting.all() else np.ascontiguousarray(vectors[:, acting])
        self.pulls: Vector = pulls[acting]
        self.levels: Vector = levels[acting]

    def weights(self, t: float) -> Vector:
        """Weights p on the support."""
        return 1 / self.support.size + self.vectors @ (self.pulls / (t - self.levels))

    def energy(self, t: float) -> float:
        """Minimum over the face of t|p|² − pᵀGp = −θ = t (Γ + 1)."""
        return t / self.support.size - self.mean_square - float(np.sum(self.pulls**2 / (t - self.levels)))

    def is_strict_minimum(self, t: float) -> bool:
        """Whether p > 0, z < θ outside and t > λ_max, each beyond rounding."""
        if not t > self.top * (1 + RESOLUTION):
            return False
        p = self.weights(t)
        slack = -self.energy(t) - self.stored.scaled @ (p @ self.stored.scaled[self.support])
        slack[self.support] = math.inf
        return bool(p.min() > _TIED and slack.min() > _TIED * self.size)

    def tied_outside(self, t: float) -> tuple[int, ...]:
        """Outside patterns whose overlap equals the threshold to the resolution of events."""
        slack = -self.energy(t) - self.stored.scaled @ (self.weights(t) @ self.stored.scaled[self.support])
        slack[self.support] = math.inf
        return tuple(np.flatnonzero(slack <= 4 * RESOLUTION * self.size).tolist())

    def state(self, beta: float) -> State:
        """The state and its observables at β = 2/t."""
        t = 2 / beta
        weights = np.zeros(self.mean_overlaps.size)
        on_support = self.weights(t)
        weights[self.support] = on_support
        x = on_support @ self.stored.scaled[self.support]
        energy = self.energy(t)
        return State(
            parameter=beta,
            beta=beta,
            x=x,
            weights=weights,
            support=self.patterns,
            free_energy=energy / t - 1,
            overlap_max=float(np.abs(self.stored.scaled @ x).max()),
            threshold=-energy,
            hessian_min=1 - self.top / t,
        )
