r"""Stationary weights of a family of models, reduced by symmetry, with all derivatives that lines need.

On a set of patterns the weights obey, with a = α − 1, ℓ = (p^a − 1)/a (ln p at α = 1) and b = βg,

    α ℓ_μ / b − (G p)_μ / g + ν = 0,    Σ p = 1,

where g is a fixed unit of G. Patterns that a symmetry exchanges share one unknown: the classes are the
coarsest partition that refines the weights and is equitable (equal sums of G over every class), at two values
of y, so that it holds for the whole family. Within the classes a pitchfork is a regular point of the branch.

Two charts. "weights": the unknown is p itself, smooth for every α while p > 0, and through p = 0 for α ≥ 2.
"scores": it is ℓ, an affine function of the overlap, in which p = (1 + aℓ)^{1/a} is smooth for α ≤ 1 and has
a continuous derivative at p = 0 for α < 2.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.equations import Matrix, Vector
from hopfieldphase.phases.families import Family

Chart = Literal["weights", "scores"]

SAME = 1e-6
"""Relative difference of weights or overlaps below which patterns may be exchanged by a symmetry."""

EQUITABLE = 1e-10
"""Relative difference of sums of G below which they are equal."""

_SERIES = np.arange(18.0)


@dataclass(frozen=True, eq=False, slots=True)
class Charted:
    """Weights and q-logarithms as functions of the unknown: value, two derivatives, and those in α."""

    p: Vector
    dp: Vector
    ddp: Vector
    p_alpha: Vector
    dp_alpha: Vector
    log: Vector
    dlog: Vector
    ddlog: Vector
    log_alpha: Vector
    dlog_alpha: Vector


def charted(u: Vector, alpha: float, chart: Chart, in_alpha: bool = False) -> Charted:
    """Evaluate a chart at its unknowns, elementwise; the derivatives in α are zero without `in_alpha`."""
    a = alpha - 1.0
    zero, one = np.zeros_like(u), np.ones_like(u)
    if chart == "weights":
        # Powers continue as odd functions through zero, where only α ≥ 2 gets to.
        size = np.where(np.real(u) < 0, -u, u)
        sign = np.where(np.real(u) < 0, -1.0, 1.0)
        safe = np.where(size == 0, 1.0, size)
        ln = np.log(safe)
        t = a * ln
        log = ln * _ratio(t) if abs(a) < 0.5 else (sign * np.where(size == 0, 0.0, safe**a) - 1.0) / a
        dlog = size ** (a - 1.0)
        ddlog = sign * (a - 1.0) * safe ** (a - 2.0)
        if not in_alpha:
            return Charted(u, one, zero, zero, zero, log, dlog, ddlog, zero, zero)
        return Charted(u, one, zero, zero, zero, log, dlog, ddlog, ln**2 * _phi(t), dlog * ln)
    s = a * u
    # Continued as an even function through p = 0, for 1 < α < 2: p'' then has no jump.
    below = np.real(1.0 + s) < 0
    ln = np.where(below, 0.0, u) * _log_ratio(np.where(below, 0.0, s))
    if below.any():
        ln = np.where(below, np.log(np.where(below, -(1.0 + s), 1.0)) / a if a > 0 else np.nan, ln)
    sign = np.where(below, -1.0, 1.0)
    p = np.exp(ln)
    dp = sign * np.exp((1.0 - a) * ln)
    ddp = (1.0 - a) * np.exp((1.0 - 2.0 * a) * ln)
    if not in_alpha:
        return Charted(p, dp, ddp, zero, zero, u, one, zero, zero, zero)
    ln_alpha = u**2 * _chi(s)
    dp_alpha = dp * (-ln + (1.0 - a) * ln_alpha)
    return Charted(p, dp, ddp, p * ln_alpha, dp_alpha, u, one, zero, zero, zero)


def _ratio(t: Any) -> Any:
    """(e^t − 1)/t."""
    return np.where(np.abs(t) < 1e-8, 1.0 + t / 2.0, np.expm1(t) / np.where(t == 0, 1.0, t))


def _log_ratio(s: Any) -> Any:
    """ln(1 + s)/s."""
    return np.where(np.abs(s) < 1e-8, 1.0 - s / 2.0, np.log1p(s) / np.where(s == 0, 1.0, s))


def _phi(t: Any) -> Any:
    """(t e^t − e^t + 1)/t²; Σ tⁿ (n + 1)/(n + 2)! near zero."""
    factors = np.cumprod(1.0 / (_SERIES + 1.0)) / (_SERIES + 2.0) * (_SERIES + 1.0)
    small = np.abs(t) < 0.5
    near = np.where(small, t, 0.0)[..., None] ** _SERIES @ factors
    far = np.where(small, 1.0, t)
    return np.where(small, near, (far * np.exp(far) - np.expm1(far)) / far**2)


def _chi(s: Any) -> Any:
    """(s/(1 + s) − ln|1 + s|)/s²; −Σ (−s)ⁿ (n + 1)/(n + 2) near zero."""
    small = np.abs(s) < 0.1
    near = -((np.where(small, -s, 0.0)[..., None] ** _SERIES) @ ((_SERIES + 1.0) / (_SERIES + 2.0)))
    far = np.where(small, 1.0, s)
    log = np.log(np.where(np.real(1.0 + far) < 0, -(1.0 + far), 1.0 + far))
    return np.where(small, near, (far / (1.0 + far) - log) / far**2)


@dataclass(frozen=True, eq=False, slots=True)
class Jet:
    """The reduced equations at one point (u, τ, y) with their first derivatives; n = classes + 1."""

    residual: Vector
    jacobian: Matrix
    by_tau: Vector
    by_y: Vector


class Stationarity:
    """The reduced equations of stationary weights on given classes of patterns.

    Parameters
    ----------
    family : Family
    classes : list of arrays of int
        Patterns that share one weight; patterns in none have weight zero.
    chart : {"weights", "scores"}
    unit : float
        The unit g of the Gram matrix.

    Notes
    -----
    Unknowns are (one per class, ν); τ = ln(βg).
    """

    def __init__(self, family: Family, classes: list[NDArray[np.int64]], chart: Chart, unit: float) -> None:
        self.family = family
        self.classes = classes
        self.chart: Chart = chart
        self.unit = unit
        self.counts = np.array([len(members) for members in classes], dtype=np.float64)
        self.inside = np.concatenate(classes)
        self.place = np.repeat(np.arange(len(classes)), self.counts.astype(int))
        self._starts = np.concatenate(([0], np.cumsum(self.counts)[:-1])).astype(int)
        self.n = len(classes) + 1

    def gram(self, matrix: Matrix) -> Matrix:
        """A Gram matrix between classes: mean over the rows, sum over the columns, in units of g."""
        sums = self.rows(matrix, self.inside)
        return np.add.reduceat(sums, self._starts, axis=0) / self.counts[:, None]

    def rows(self, matrix: Matrix, patterns: Any) -> Matrix:
        """Sums of the rows of some patterns over each class, (patterns, classes), in units of g."""
        return np.add.reduceat(matrix[np.ix_(patterns, self.inside)], self._starts, axis=1) / self.unit

    def chart_at(self, u: Vector, y: float) -> Charted:
        """Weights of the classes and their derivatives."""
        family = self.family
        return charted(u[:-1], family.alpha_at(y), self.chart, in_alpha=family.alpha is None)

    def jet(self, u: Vector, tau: float, y: float) -> Jet:
        """Residual and first derivatives in u, τ and y."""
        alpha, rate, b = self.family.alpha_at(y), self.family.alpha_rate, np.exp(tau)
        f = self.chart_at(u, y)
        gram = self.gram(self.family.gram(y))
        gram_rate = self.gram(self.family.gram_rate(y))
        c, m = self.n - 1, self.counts
        zero = 0.0 * (u[0] + tau)
        residual = np.append(alpha * f.log / b - gram @ f.p + u[-1], m @ f.p - 1.0)
        jacobian = np.zeros((c + 1, c + 1), dtype=residual.dtype)
        jacobian[:c, :c] = np.diag(alpha * f.dlog / b) - gram * f.dp
        jacobian[:c, c] = 1.0
        jacobian[c, :c] = m * f.dp
        by_tau = np.append(-alpha * f.log / b, zero)
        by_y = np.append(
            rate * ((f.log + alpha * f.log_alpha) / b - gram @ f.p_alpha) - gram_rate @ f.p,
            rate * (m @ f.p_alpha),
        )
        return Jet(residual, jacobian, by_tau, by_y)

    def twice(self, u: Vector, v: Vector, tau: float, y: float) -> tuple[Matrix, Vector, Vector]:
        """Derivatives of F_u v in u, τ and y at fixed v."""
        alpha, rate, b = self.family.alpha_at(y), self.family.alpha_rate, np.exp(tau)
        f = self.chart_at(u, y)
        gram = self.gram(self.family.gram(y))
        gram_rate = self.gram(self.family.gram_rate(y))
        c, m, w = self.n - 1, self.counts, v[:-1]
        by_u = np.zeros((c + 1, c + 1), dtype=(u + v).dtype)
        by_u[:c, :c] = np.diag(alpha * f.ddlog * w / b) - gram * (f.ddp * w)
        by_u[c, :c] = m * f.ddp * w
        by_tau = np.append(-alpha * f.dlog * w / b, 0.0)
        by_y = np.append(
            rate * ((f.dlog + alpha * f.dlog_alpha) * w / b - gram @ (f.dp_alpha * w))
            - gram_rate @ (f.dp * w),
            rate * (m @ (f.dp_alpha * w)),
        )
        return by_u, by_tau, by_y

    def energy(self, u: Vector, tau: float, y: float) -> tuple[float, Vector, float, float]:
        """F(p) = Σ p ℓ − (b/2) pᵀGp/g, the free energy, and its derivatives in u, τ and y."""
        rate, b = self.family.alpha_rate, np.exp(tau)
        f = self.chart_at(u, y)
        m = self.counts
        gram = self.gram(self.family.gram(y))
        gram_rate = self.gram(self.family.gram_rate(y))
        z = gram @ f.p
        value = m @ (f.p * f.log) - b / 2 * ((m * f.p) @ z)
        by_u = np.append(m * (f.dp * f.log + f.p * f.dlog - b * z * f.dp), 0.0)
        by_tau = -b / 2 * ((m * f.p) @ z)
        by_alpha = m @ (f.p_alpha * f.log + f.p * f.log_alpha - b * z * f.p_alpha)
        return value, by_u, by_tau, rate * by_alpha - b / 2 * ((m * f.p) @ (gram_rate @ f.p))

    def outside_gap(self, u: Vector, tau: float, y: float, patterns: Any) -> Vector:
        """(θ − z)/g of patterns outside the support, α > 1: how far they are from entering."""
        alpha = self.family.alpha_at(y)
        z = self.rows(self.family.gram(y), patterns) @ self.chart_at(u, y).p
        return u[-1] - alpha / ((alpha - 1.0) * np.exp(tau)) - z

    def outside_gap_jet(
        self, u: Vector, tau: float, y: float, pattern: int
    ) -> tuple[float, Vector, float, float]:
        """The same for one pattern, with derivatives in u, τ and y."""
        alpha, rate, b = self.family.alpha_at(y), self.family.alpha_rate, np.exp(tau)
        f = self.chart_at(u, y)
        row = self.rows(self.family.gram(y), [pattern])[0]
        row_rate = self.rows(self.family.gram_rate(y), [pattern])[0]
        level = alpha / ((alpha - 1.0) * b)
        by_y = rate / ((alpha - 1.0) ** 2 * b) - row_rate @ f.p - rate * (row @ f.p_alpha)
        return u[-1] - level - row @ f.p, np.append(-row * f.dp, 1.0), level, by_y

    def unknown(self, weights: Vector, gram: Matrix, tau: float, y: float) -> Vector:
        """The unknowns of a state with known weights (M,)."""
        alpha = self.family.alpha_at(y)
        z = gram[self.inside] @ weights / self.unit
        p = weights[self.inside]
        top = int(np.argmax(p))
        log_top = charted(p[top : top + 1], alpha, "weights").log[0]
        nu = z[top] - alpha * log_top * np.exp(-tau)
        u = (z - nu) * np.exp(tau) / alpha if self.chart == "scores" else p
        return np.append(np.bincount(self.place, u) / self.counts, nu)

    def above_zero(self, u: Vector, y: float) -> Vector:
        """A smooth measure of each class that vanishes with its weight: p, or 1 + aℓ."""
        return u[:-1] if self.chart == "weights" else 1.0 + (self.family.alpha_at(y) - 1.0) * u[:-1]

    def weights(self, u: Vector, y: float) -> Vector:
        """Weights of all M patterns."""
        everything = np.zeros(len(self.family.patterns(y)))
        everything[self.inside] = self.chart_at(u, y).p[self.place]
        return everything

    def unsymmetric_residual(self, u: Vector, tau: float, y: float) -> float:
        """Largest violation of stationarity by any single pattern: zero where the classes are equitable."""
        alpha = self.family.alpha_at(y)
        f = self.chart_at(u, y)
        z = self.family.gram(y)[np.ix_(self.inside, self.inside)] @ f.p[self.place] / self.unit
        defect = (alpha * f.log * np.exp(-tau))[self.place] - z + u[-1]
        return float(np.abs(defect).max())


def equitable_classes(
    grams: list[Matrix], labels: NDArray[np.int64], inside: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Coarsest partition of all patterns that refines the labels and is equitable for every Gram matrix.

    Two patterns stay together when the sums of their rows over every class of `inside` patterns agree.
    """
    scales = [float(np.abs(gram).max()) for gram in grams]
    count = 0
    while (found := len(np.unique(labels))) > count:
        count = found
        codes = [labels]
        for gram, scale in zip(grams, scales, strict=True):
            for label in np.unique(labels[inside]):
                members = inside & (labels == label)
                sums = gram[:, members].sum(axis=1)
                codes.append(levels(sums, EQUITABLE * scale * np.count_nonzero(members)))
        labels = np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].reshape(-1)
    return labels


def levels(values: Vector, tolerance: float) -> NDArray[np.int64]:
    """Ordinal of each value among the distinct values, those closer than the tolerance being one."""
    order = np.argsort(values, kind="stable")
    steps = np.concatenate(([0], np.cumsum(np.diff(values[order]) > tolerance)))
    found = np.empty(len(values), dtype=np.int64)
    found[order] = steps
    return found


def complement(direction: Vector) -> Matrix:
    """Orthonormal basis (k, k − 1) of the vectors that are orthogonal to a direction (k,)."""
    mirror = direction / np.sqrt(direction @ direction)
    mirror[0] += np.copysign(1.0, mirror[0])
    return np.eye(len(mirror))[:, 1:] - np.outer(mirror, mirror[1:]) * (2.0 / (mirror @ mirror))
