r"""The extended systems whose curves are the lines of a phase diagram: unknowns U(y) with β among them.

    fold            F(u) = 0,  F_u v = 0,  (v·v − 1)/2 = 0        (Moore and Spence 1980)
    instability     F(u) = 0,  λ = 0, the mean of the eigenvalues of one cluster of the Hessian
    entry           F(u) = 0,  θ = z_j: pattern j enters and unmakes the minimum; on one pattern, storage
    coexistence     F(u_a) = 0,  F(u_b) = 0,  Γ_a − Γ_b = 0

F are the reduced equations of `stationarity`; in them a pitchfork is a regular point, so that the system of
an instability is regular where that of Moore and Spence is not. The last unknown is τ = ln(βg).
"""

import math
from enum import StrEnum

import numpy as np

from hopfieldphase.continuation.equations import Matrix, Vector
from hopfieldphase.phases.families import Family
from hopfieldphase.phases.line_parts import Condition, Limit, Part
from hopfieldphase.phases.stationarity import Chart

ZERO = 1e-6
"""Eigenvalues below this part of the largest one vanish together at the start of an instability."""

NOISE = 1e-12
"""Conditions that are not more negative than this hold."""

EVEN = 0.1
"""Weights within this factor are resolved as they are, and may be followed across α = 2."""

_ILL_CONDITIONED = 1e10
_HUGE = 1e50


class LineKind(StrEnum):
    """What happens on a line of a phase diagram."""

    FOLD = "fold"
    """A minimum merges with a saddle."""
    INSTABILITY = "instability"
    """A minimum loses stability by symmetry, or along a flat direction."""
    ENTRY = "entry"
    """A pattern enters the support and unmakes the minimum (α ≥ 2)."""
    STORAGE = "storage onset"
    """A pattern is stored exactly from here on."""
    COEXISTENCE = "coexistence"
    """Two minima have equal free energy."""


class LineProblem:
    """What the extended systems share: scaling, the range of β, conditions as barriers.

    Attributes
    ----------
    kind : LineKind
    parts : tuple of Part
        The states on the line.
    conditions : list of Condition
        What must stay positive along it; where one vanishes the curve ends.
    start : ndarray
        U at the start.
    """

    kind: LineKind
    symmetric = False
    barrier = True

    def __init__(
        self,
        parts: tuple[Part, ...],
        betas: tuple[float, float],
        tail: list[Condition],
        start: Vector,
        y: float,
    ) -> None:
        self.parts = parts
        unit = parts[0].unit
        self._limits = (math.log(betas[0] * unit), math.log(betas[1] * unit))
        self.conditions = [condition for part in parts for condition in part.conditions] + tail
        self.conditions += [Condition(Limit.BETA), Condition(Limit.BETA)]
        self.start = start
        self._kept = np.arange(len(self.conditions))
        self._left = np.eye(len(start))
        jacobian = self.jet(start, y)[1]
        # With F_x near the identity the index of the engine counts the folds of the line alone.
        if np.isfinite(jacobian).all() and np.linalg.cond(jacobian) < _ILL_CONDITIONED:
            self._left = np.asarray(np.linalg.inv(jacobian), dtype=np.float64)

    @property
    def state_scale(self) -> float:
        """Length unit of the unknowns."""
        return max(1.0, float(np.linalg.norm(self.start)) / 4.0)

    def beta(self, U: Vector) -> float:
        """Inverse temperature of a point."""
        return math.exp(U[-1]) / self.parts[0].unit

    def unknowns(self, U: Vector) -> tuple[Vector, ...]:
        """The unknowns of each state."""
        found, at = [], 0
        for part in self.parts:
            found.append(U[at : at + part.equations.n])
            at += part.equations.n
        return tuple(found)

    def weights(self, U: Vector, y: float) -> tuple[Vector, ...]:
        """The weights (M,) of each state."""
        return tuple(
            part.equations.weights(u, y) for part, u in zip(self.parts, self.unknowns(U), strict=True)
        )

    def defect(self, U: Vector, y: float) -> float:
        """Largest violation of the full equations of any state: rounding where the symmetry holds."""
        return max(
            part.equations.unsymmetric_residual(u, float(U[-1]), y)
            for part, u in zip(self.parts, self.unknowns(U), strict=True)
        )

    def forget(self, dropped: list[int]) -> None:
        """Drop conditions that vanish identically."""
        self._kept = np.array([n for n in self._kept if n not in dropped])

    def kept(self, n: int) -> Condition:
        """The condition of the n-th monitored function."""
        return self.conditions[self._kept[n]]

    def position(self, condition: int) -> int:
        """Place of a condition among the monitored functions."""
        return int(np.flatnonzero(self._kept == condition)[0])

    def F(self, U: Vector, y: float) -> Vector:
        """Residual."""
        return self.jet(U, y)[0]

    def F_x(self, U: Vector, y: float) -> Matrix:
        """Derivative in the unknowns."""
        return self.jet(U, y)[1]

    def F_p(self, U: Vector, y: float) -> Vector:
        """Derivative in y."""
        return self.jet(U, y)[2]

    def jet(self, U: Vector, y: float) -> tuple[Vector, Matrix, Vector]:
        """All three; NaN outside the family and far off every line, where powers of the weights overflow."""
        family = self.parts[0].family
        if not family.domain[0] <= y <= family.domain[1]:
            nothing = np.full(len(U), np.nan)
            return nothing, np.full((len(U), len(U)), np.nan), nothing
        with np.errstate(all="ignore"):
            residual, jacobian, slope = self._system(U, y)
            if not max(float(np.abs(residual).max()), float(np.abs(jacobian).max())) < _HUGE:
                residual = np.full_like(residual, np.nan)
            return self._left @ residual, self._left @ jacobian, self._left @ slope

    def monitors(self, U: Vector, y: float) -> Vector:
        """Values of the conditions, raised above the rounding of zero."""
        return self.measure(U, y)[self._kept] + NOISE

    def measure(self, U: Vector, y: float) -> Vector:
        """Values of all conditions, also of those that vanish identically."""
        tau = float(U[-1])
        rows = [part.measure(u, tau, y) for part, u in zip(self.parts, self.unknowns(U), strict=True)]
        edges = [tau - self._limits[0], self._limits[1] - tau]
        return np.concatenate([*rows, self._tail(U, y), edges])

    def _tail(self, U: Vector, y: float) -> Vector:
        raise NotImplementedError

    def _system(self, U: Vector, y: float) -> tuple[Vector, Matrix, Vector]:
        raise NotImplementedError


class FoldProblem(LineProblem):
    """The fold of a minimum, regular through cusps."""

    kind = LineKind.FOLD

    def __init__(self, part: Part, tau: float, y: float, betas: tuple[float, float]) -> None:
        jacobian = part.equations.jet(part.start, tau, y).jacobian
        soft = np.linalg.svd(jacobian)[2][-1]
        start = np.concatenate((part.start, soft, [tau]))
        super().__init__((part,), betas, [Condition(Limit.CURVATURE)], start, y)

    def _system(self, U: Vector, y: float) -> tuple[Vector, Matrix, Vector]:
        equations = self.parts[0].equations
        n = equations.n
        u, v, tau = U[:n], U[n : 2 * n], float(U[-1])
        jet = equations.jet(u, tau, y)
        by_u, by_tau, by_y = equations.twice(u, v, tau, y)
        jacobian = np.zeros((2 * n + 1, 2 * n + 1))
        jacobian[:n, :n] = jacobian[n : 2 * n, n : 2 * n] = jet.jacobian
        jacobian[n : 2 * n, :n] = by_u
        jacobian[:n, -1], jacobian[n : 2 * n, -1] = jet.by_tau, by_tau
        jacobian[-1, n : 2 * n] = v
        residual = np.concatenate((jet.residual, jet.jacobian @ v, [(v @ v - 1.0) / 2.0]))
        return residual, jacobian, np.concatenate((jet.by_y, by_y, [0.0]))

    def quadratic(self, U: Vector, y: float) -> float:
        """ψ·F_uu v v with the left null vector ψ: the quadratic coefficient of the fold, zero at a cusp."""
        equations = self.parts[0].equations
        n = equations.n
        u, v, tau = U[:n], U[n : 2 * n], float(U[-1])
        left = np.linalg.svd(equations.jet(u, tau, y).jacobian)[0][:, -1]
        # ψ keeps its sign along the line: its product with v, transported by the weights, is positive.
        signed = left * math.copysign(1.0, float(left[:-1] @ v[:-1]))
        return float(signed @ equations.twice(u, v, tau, y)[0] @ v)

    def _tail(self, U: Vector, y: float) -> Vector:
        values = self.parts[0].curvature(U[: self.parts[0].equations.n], float(U[-1]), y).values
        return values[1:2] if values.size > 1 else np.ones(1)


class InstabilityProblem(LineProblem):
    """One cluster of eigenvalues of the Hessian vanishes on a state that symmetry keeps.

    Parameters
    ----------
    reference : ndarray, shape (k, m), optional
        The eigenvectors of the cluster; by default those whose eigenvalues vanish at the start.
    """

    kind = LineKind.INSTABILITY

    def __init__(
        self,
        part: Part,
        tau: float,
        y: float,
        betas: tuple[float, float],
        reference: Matrix | None = None,
    ) -> None:
        self._reference = np.empty((0, 0))
        if reference is None:
            found = part.curvature(part.start, tau, y)
            vanishing = np.abs(found.values) <= ZERO * max(1.0, float(np.abs(found.values).max()))
            vanishing[np.argmin(np.abs(found.values))] = True
            reference = found.vectors[:, vanishing]
        self._reference = reference
        start = np.append(part.start, tau)
        super().__init__((part,), betas, [Condition(Limit.CURVATURE)], start, y)

    def cluster(self, vectors: Matrix) -> np.ndarray:
        """Which eigenvectors belong to the cluster: those that overlap most with its reference."""
        shares = np.sum((self._reference.T @ vectors) ** 2, axis=0)
        chosen = np.zeros(vectors.shape[1], dtype=bool)
        chosen[np.argsort(-shares, kind="stable")[: self._reference.shape[1]]] = True
        return chosen

    def _system(self, U: Vector, y: float) -> tuple[Vector, Matrix, Vector]:
        part = self.parts[0]
        equations = part.equations
        n = equations.n
        u, tau = U[:n], float(U[-1])
        jet = equations.jet(u, tau, y)
        found = part.curvature(u, tau, y)
        modes = self.cluster(found.vectors)
        by_weight, by_tau, by_y = found.mean_slope(modes)
        order = np.argsort(equations.inside)
        by_class = np.bincount(equations.place[order], by_weight, minlength=n - 1)
        f = equations.chart_at(u, y)
        jacobian = np.zeros((n + 1, n + 1))
        jacobian[:n, :n], jacobian[:n, -1] = jet.jacobian, jet.by_tau
        jacobian[-1, : n - 1], jacobian[-1, -1] = by_class * f.dp, by_tau
        by_y += equations.family.alpha_rate * float(by_class @ f.p_alpha)
        residual = np.append(jet.residual, found.values[modes].mean())
        return residual, jacobian, np.append(jet.by_y, by_y)

    def _tail(self, U: Vector, y: float) -> Vector:
        found = self.parts[0].curvature(U[:-1], float(U[-1]), y)
        others = found.values[~self.cluster(found.vectors)]
        return others[:1] if others.size else np.ones(1)


class EntryProblem(LineProblem):
    """A pattern outside the support reaches the threshold.

    Parameters
    ----------
    entering : tuple of int
        The patterns that do, all of one class.
    kind : LineKind
        An entry ends where the state goes on with a kink instead of losing stability.
    """

    def __init__(
        self,
        part: Part,
        entering: tuple[int, ...],
        tau: float,
        y: float,
        betas: tuple[float, float],
        kind: LineKind,
    ) -> None:
        self.kind = kind
        self.entering = next(tuple(c.tolist()) for c in part.outside if entering[0] in c)
        tail = [Condition(Limit.KINK), Condition(Limit.CURVATURE)] if kind is LineKind.ENTRY else []
        super().__init__((part,), betas, tail, np.append(part.start, tau), y)
        self.forget([n for n, c in enumerate(self.conditions) if c.patterns == self.entering])

    def _system(self, U: Vector, y: float) -> tuple[Vector, Matrix, Vector]:
        equations = self.parts[0].equations
        n = equations.n
        u, tau = U[:n], float(U[-1])
        jet = equations.jet(u, tau, y)
        gap, by_u, by_tau, by_y = equations.outside_gap_jet(u, tau, y, self.entering[0])
        jacobian = np.zeros((n + 1, n + 1))
        jacobian[:n, :n], jacobian[:n, -1] = jet.jacobian, jet.by_tau
        jacobian[-1, :n], jacobian[-1, -1] = by_u, by_tau
        return np.append(jet.residual, gap), jacobian, np.append(jet.by_y, by_y)

    def _tail(self, U: Vector, y: float) -> Vector:
        if self.kind is LineKind.STORAGE:
            return np.empty(0)
        part, u, tau = self.parts[0], U[:-1], float(U[-1])
        joined = part.curvature(u, tau, y, self.entering).lowest
        return np.array([-joined, min(part.curvature(u, tau, y).lowest, 1.0)])


class CoexistenceProblem(LineProblem):
    """Two minima of equal free energy."""

    kind = LineKind.COEXISTENCE

    def __init__(self, a: Part, b: Part, tau: float, y: float, betas: tuple[float, float]) -> None:
        tail = [Condition(Limit.CURVATURE, 0), Condition(Limit.CURVATURE, 1)]
        super().__init__((a, b), betas, tail, np.concatenate((a.start, b.start, [tau])), y)

    def _system(self, U: Vector, y: float) -> tuple[Vector, Matrix, Vector]:
        (a, b), tau = (part.equations for part in self.parts), float(U[-1])
        u_a, u_b = self.unknowns(U)
        n, size = a.n, a.n + b.n
        first, second = a.jet(u_a, tau, y), b.jet(u_b, tau, y)
        gamma, other = a.energy(u_a, tau, y), b.energy(u_b, tau, y)
        jacobian = np.zeros((size + 1, size + 1))
        jacobian[:n, :n], jacobian[n:size, n:size] = first.jacobian, second.jacobian
        jacobian[:size, -1] = np.append(first.by_tau, second.by_tau)
        jacobian[-1] = np.concatenate((gamma[1], -other[1], [gamma[2] - other[2]]))
        residual = np.concatenate((first.residual, second.residual, [gamma[0] - other[0]]))
        slope = np.concatenate((first.by_y, second.by_y, [gamma[3] - other[3]]))
        return residual, jacobian, slope

    def _tail(self, U: Vector, y: float) -> Vector:
        tau = float(U[-1])
        lowest = [
            part.curvature(u, tau, y).lowest for part, u in zip(self.parts, self.unknowns(U), strict=True)
        ]
        return np.minimum(lowest, 1.0)


def chart_of(kind: LineKind, alpha: float, weights: tuple[Vector, ...]) -> Chart:
    """The chart in which a line is smooth and small weights keep their digits."""
    if alpha >= 2.0 or kind in (LineKind.ENTRY, LineKind.STORAGE):
        return "weights"
    uniform = all(p[p > 0].min() > EVEN * p.max() for p in weights)
    return "weights" if kind is LineKind.INSTABILITY and uniform else "scores"


def unit_of(family: Family, y: float) -> float:
    """The unit g: the largest diagonal entry of G."""
    return float(np.diagonal(family.gram(y)).max())
