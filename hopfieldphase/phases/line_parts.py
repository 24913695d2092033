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
    equitable_classes,
    levels,
    simplex_tangent,
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
        The patterns that may have weight (chart "weights"); all, in the chart of the scores.
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
        inside = np.ones(len(gram), dtype=bool) if chart == "scores" else support
        known = gram @ weights if chart == "scores" else weights
        labels = np.where(inside, levels(known, SAME * float(np.abs(known).max())) + 1, 0)
        labels = equitable_classes([gram, family.gram(y + _ELSEWHERE * (far - y))], labels, inside)
        self.classes = [np.flatnonzero(labels == label) for label in np.unique(labels[inside])]
        self.outside = [np.flatnonzero(labels == label) for label in np.unique(labels[~inside])]
        self.family, self.chart, self.unit = family, chart, unit
        self.equations = Stationarity(family, self.classes, chart, unit)
        self.start = self.equations.unknown(weights, gram, tau, y)
        self.conditions: list[Condition] = []
        if chart == "weights":
            self.conditions = [Condition(Limit.LEAVES, state, tuple(c.tolist())) for c in self.classes]
            self.conditions += [Condition(Limit.ENTERS, state, tuple(c.tolist())) for c in self.outside]
        self._representatives = np.array([c[0] for c in self.outside], dtype=np.int64)

    def measure(self, u: Vector, tau: float, y: float) -> Vector:
        """The weights of the classes, and the distance of every outside class from the threshold."""
        if self.chart == "scores":
            return np.empty(0)
        if not self.outside:
            return u[:-1]
        return np.append(u[:-1], self.equations.outside_gap(u, tau, y, self._representatives))

    def curvature(self, u: Vector, tau: float, y: float, extra: tuple[int, ...] = ()) -> "Curvature":
        """The Hessian in the weights on the support and on `extra` patterns without weight."""
        weights = self.equations.weights(u, y)
        chosen = (
            weights > 0 if self.chart == "scores" else np.isin(np.arange(len(weights)), self.equations.inside)
        )
        chosen[list(extra)] = True
        support = np.flatnonzero(chosen)
        return Curvature(self.family, support, np.maximum(weights[support], 0.0), tau, y, self.unit)


class Curvature:
    """Z ᵀ (α diag(p^{α−2})/b − G/g) Z on the tangent space of the simplex: eigenvalues λ and eigenvectors.

    Attributes
    ----------
    support : ndarray of int, shape (k,)
    values : ndarray, shape (k − 1,)
        Ascending.
    vectors : ndarray, shape (k, k − 1)
        As changes of the weights, of unit length.
    """

    def __init__(
        self, family: Family, support: np.ndarray, weights: Vector, tau: float, y: float, unit: float
    ) -> None:
        self.support, self._weights = support, weights
        self._family, self._tau, self._y, self._unit = family, tau, y, unit
        alpha = family.alpha_at(y)
        tangent = simplex_tangent(len(support))
        with np.errstate(divide="ignore"):
            stiffness = np.minimum(alpha * weights ** (alpha - 2.0) * np.exp(-tau), 1e100)
        hessian = np.diag(stiffness) - family.gram(y)[np.ix_(support, support)] / unit
        self.values, vectors = np.linalg.eigh(tangent.T @ hessian @ tangent)
        self.vectors: Matrix = tangent @ vectors

    @property
    def lowest(self) -> float:
        """The smallest eigenvalue; inf on a single pattern."""
        return float(self.values[0]) if self.values.size else np.inf

    def mean_slope(self, modes: np.ndarray) -> tuple[Vector, float, float]:
        """Derivatives of the mean of some eigenvalues in the weights, in τ and in y at fixed weights."""
        alpha, p, b = self._family.alpha_at(self._y), self._weights, np.exp(self._tau)
        share = np.mean(self.vectors[:, modes] ** 2, axis=1)
        stiffness = alpha * p ** (alpha - 2.0) / b
        by_weight = share * stiffness * (alpha - 2.0) / p
        by_alpha = share @ (stiffness * (1.0 / alpha + np.log(p)))
        rate = self._family.gram_rate(self._y)[np.ix_(self.support, self.support)] / self._unit
        turned = self.vectors[:, modes]
        by_y = self._family.alpha_rate * by_alpha - float(np.mean(np.sum(turned * (rate @ turned), axis=0)))
        return by_weight, -float(share @ stiffness), by_y
