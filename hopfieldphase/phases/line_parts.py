"""One state on a line of a phase diagram: its reduced equations, and the conditions under which it exists."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hopfieldphase.continuation.equations import Matrix, Vector
from hopfieldphase.phases.families import Family
from hopfieldphase.phases.stationarity import (
    SAME,
    Chart,
    Stationarity,
    complement,
    equitable_classes,
    levels,
)

# Another value of y, this part of the way to the farther end of its range, at which symmetries must hold too.
_ELSEWHERE = 0.31


class Limit(StrEnum):
    """What can end a piece of a line."""

    LEAVES = "leaves"
    """A weight of the state reaches zero."""
    ENTERS = "enters"
    """A pattern outside the support reaches the threshold."""
    CURVATURE = "curvature"
    """A (further) eigenvalue of the Hessian reaches zero: the state beside the line is no minimum."""
    KINK = "kink"
    """The entering pattern no longer unmakes the minimum: the state goes on with a kink."""
    BETA = "beta"
    """The edge of the range of β."""


@dataclass(frozen=True)
class Condition:
    """A function that stays positive on a piece of a line.

    Attributes
    ----------
    limit : Limit
        What happens where it vanishes.
    state : int
        Which state of the line it belongs to.
    patterns : tuple of int
        The patterns that leave or enter.
    """

    limit: Limit
    state: int = 0
    patterns: tuple[int, ...] = ()


class Part:
    """The reduced equations of one state of a line, and its conditions.

    Parameters
    ----------
    family : Family
    weights : ndarray, shape (M,)
        Weights of the state at the start.
    support : ndarray of bool, shape (M,)
        The patterns that may have weight.
    tau, y : float
        ln(βg) and the parameter at the start.
    span : tuple of float
        The range of y.
    chart : {"weights", "scores"}
    unit : float
        The unit g of the Gram matrix.
    state : int
        Position of this state on the line.
    """

    def __init__(
        self,
        family: Family,
        weights: Vector,
        support: np.ndarray,
        tau: float,
        y: float,
        span: tuple[float, float],
        chart: Chart,
        unit: float,
        state: int = 0,
    ) -> None:
        low, high = span
        far = high if high - y > y - low else low
        gram = family.gram(y)
        inside = support
        # Overlaps tell patterns apart also where their weights are tiny.
        overlaps = gram @ weights
        labels = np.where(inside, levels(overlaps, SAME * float(np.abs(overlaps).max())) + 1, 0)
        labels = equitable_classes([gram, family.gram(y + _ELSEWHERE * (far - y))], labels, inside)
        self.classes = [np.flatnonzero(labels == label) for label in np.unique(labels[inside])]
        self.outside = [np.flatnonzero(labels == label) for label in np.unique(labels[~inside])]
        self.family, self.unit = family, unit
        self.chart: Chart = chart
        self.equations = Stationarity(family, self.classes, chart, unit)
        self.start = self.equations.unknown(weights, gram, tau, y)
        # At α ≤ 1 no pattern ever leaves.
        leaving = self.classes if family.alpha_at(y) > 1.0 or family.alpha is None else []
        self._leaving = slice(0, len(leaving))
        self.conditions = [Condition(Limit.LEAVES, state, tuple(c.tolist())) for c in leaving]
        self.conditions += [Condition(Limit.ENTERS, state, tuple(c.tolist())) for c in self.outside]
        self._representatives = np.array([c[0] for c in self.outside], dtype=np.int64)

    def measure(self, u: Vector, tau: float, y: float) -> Vector:
        """How far every class is from leaving, and every outside class from entering."""
        inside = self.equations.above_zero(u, y)[self._leaving]
        if not self.outside:
            return inside
        return np.append(inside, self.equations.outside_gap(u, tau, y, self._representatives))

    def curvature(self, u: Vector, tau: float, y: float, extra: tuple[int, ...] = ()) -> "Curvature":
        """The Hessian in the weights on the support and on `extra` patterns without weight."""
        weights = self.equations.weights(u, y)
        chosen = np.isin(np.arange(len(weights)), self.equations.inside)
        chosen[list(extra)] = True
        support = np.flatnonzero(chosen)
        p = np.maximum(weights[support], 0.0)
        return Curvature(self.family, support, p, tau, y, self.unit, scaled=self.chart == "scores")


class Curvature:
    """The Hessian of the free energy of the weights on a support: eigenvalues with the signs of those of ∇²Γ.

    With the stiffness D = α p^{α−2}/b, it is D − G/g on Σδ = 0. In the chart of the scores, where D may
    diverge as p → 0, it is 1 − D^{−1/2} G D^{−1/2}/g on Σ D^{−1/2} η = 0, in the unknowns η = D^{1/2} δ.

    Attributes
    ----------
    support : ndarray of int, shape (k,)
    values : ndarray, shape (k − 1,)
        Ascending.
    vectors : ndarray, shape (k, k − 1)
        In these unknowns, of unit length.
    """

    def __init__(
        self,
        family: Family,
        support: np.ndarray,
        weights: Vector,
        tau: float,
        y: float,
        unit: float,
        scaled: bool,
    ) -> None:
        self.support, self._weights = support, weights
        self._family, self._tau, self._y, self._unit = family, tau, y, unit
        alpha = family.alpha_at(y)
        self._scaled = scaled
        if scaled:
            self._shape = np.sqrt(weights ** (2.0 - alpha) * np.exp(tau) / alpha)
            diagonal = np.ones(len(support))
        else:
            self._shape = np.ones(len(support))
            diagonal = alpha * weights ** (alpha - 2.0) * np.exp(-tau)
        gram = family.gram(y)[np.ix_(support, support)] / unit
        self._pull = self._shape[:, None] * gram  # S G
        self._matrix = np.diag(diagonal) - self._pull * self._shape
        tangent = complement(self._shape)
        self.values, vectors = np.linalg.eigh(tangent.T @ self._matrix @ tangent)
        self.vectors: Matrix = tangent @ vectors

    @property
    def lowest(self) -> float:
        """The smallest eigenvalue; inf on a single pattern."""
        return float(self.values[0]) if self.values.size else np.inf

    @property
    def changes(self) -> Matrix:
        """The eigenvectors as changes δ of the weights, (k, k − 1)."""
        return self._shape[:, None] * self.vectors

    def mean_slope(self, modes: np.ndarray) -> tuple[Vector, float, float]:
        """Derivatives of the mean of some eigenvalues in the weights, in τ and in y at fixed weights."""
        alpha, p = self._family.alpha_at(self._y), self._weights
        chosen = self.vectors[:, modes]
        rate = self._family.gram_rate(self._y)[np.ix_(self.support, self.support)] / self._unit
        changes = self.changes[:, modes]
        by_gram = -float(np.mean(np.sum(changes * (rate @ changes), axis=0)))
        if self._scaled:
            w = self._shape
            turned = (w @ self._matrix @ chosen) / (w @ w)
            pulled = self._pull.T @ chosen
            by_shape = -2.0 * np.mean(chosen * (pulled + turned), axis=1)
            by_weight = by_shape * w * (2.0 - alpha) / (2.0 * p)
            by_tau = float(by_shape @ w) / 2.0
            by_alpha = -float(by_shape @ (w * (np.log(p) + 1.0 / alpha))) / 2.0
        else:
            stiffness = np.mean(chosen**2, axis=1) * np.diagonal(self._matrix + self._pull * self._shape)
            by_weight = stiffness * (alpha - 2.0) / p
            by_tau = -float(stiffness.sum())
            by_alpha = float(stiffness @ (1.0 / alpha + np.log(p)))
        return by_weight, by_tau, by_gram + self._family.alpha_rate * by_alpha
