"""Deformed Gibbs ensembles on a bounded domain: partition function, escort averages, free energy.

exp and log of the Gibbs ensemble become exp_α and log_α; everything is an integral over an interval or a
rectangle, done by adaptive cubature with an error estimate. Source: Section 2.2 and Appendix C.4 of "On the
Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.tsallis import exp_alpha, log_alpha
from hopfieldphase.dynamics.deformed_domain import Array, Domain, Observable

# Absolute error asked for, with every integrand scaled to mass one; that of the curvature, and of the
# curvature that only steers Newton steps.
_TOLERANCE, _CURVATURE, _ROUGH = 1e-11, 1e-9, 1e-6
# A maximiser is sharp to this part of the largest |x|, or to the loose one where rounding allows no more.
_SHARP, _LOOSE = 1e-11, 1e-8
_NEWTON_STEPS = 60
_LARGEST_EXPONENT = 700.0


@dataclass(frozen=True)
class Estimate:
    """A number, or an array of them, with the error estimate of its quadrature."""

    value: Any
    error: Any


@dataclass(frozen=True)
class FreeEnergy:
    """The conjugate Γ_α[φ] = J*·φ − W_α[J*] and where it was found.

    `source` is the maximiser J*, `residual` the largest component of |∇W_α(J*) − φ|, `error` the estimated
    error of `value`.
    """

    value: float
    error: float
    source: Any
    residual: float


@dataclass(frozen=True, eq=False)
class DeformedEnsemble:
    """Ensemble p_J(x) = exp_α(−β H(x) + J·x)/Z_α[J] on an interval or a rectangle.

    Z_α[J] = ∫ exp_α(−β H(x) + J·x) dx,    W_α[J] = log_α Z_α[J],    Γ_α[φ] = sup_J (J·φ − W_α[J]).

    Parameters
    ----------
    hamiltonian : callable
        H, vectorised and finite: takes x of shape (n,) on an interval, (n, 2) on a rectangle, and returns
        (n,).
    bounds : (float, float) or pair of such
        The interval, or the two sides of the rectangle.
    beta : float
        Inverse temperature β > 0.
    alpha : float, default 1
        Deformation α in (0, inf); 1 is the Gibbs ensemble.

    Raises
    ------
    InputError
        If an argument lies outside its domain.

    Notes
    -----
    Sources J and fields φ are floats on an interval and have shape (2,) on a rectangle. W_α is convex on its
    domain for every α > 0: its Hessian is α Z^(α−1) ∫ g gᵀ with g = p^(α−1/2) x − p^(1/2) ∇W_α. That domain
    is all of J-space for α = 1. For α > 1, exp_α is infinite where 1 + (1−α)u ≤ 0, and J must keep
    1/(α−1) + β H(x) − J·x positive on the whole domain of x (`source_interval`). For α < 1, exp_α is zero
    there, and J must leave some x. A density of one peak too narrow for the quadrature is refused; of several
    peaks, one narrower than 1/2000 of an interval (1/130 of a side) may be missed.
    """

    hamiltonian: Callable[[Any], Any]
    bounds: Any
    beta: float
    alpha: float = 1.0
    _domain: Domain = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", inverse_temperature(self.beta))
        object.__setattr__(self, "alpha", tsallis_index(self.alpha))
        if math.isinf(self.alpha):
            raise InputError("alpha = inf has no deformed partition function: give a finite alpha > 0")
        object.__setattr__(self, "_domain", Domain(self.bounds))

    @cached_property
    def _grid_energy(self) -> Array:
        return self._energy(self._domain.grid)

    def _energy(self, points: Array) -> Array:
        return self._domain.values(self.hamiltonian, points, "hamiltonian")

    @cached_property
    def _farthest(self) -> float:
        """A source so strong that H no longer matters: no maximiser is looked for beyond it."""
        return (
            1e6 * (1 + self.beta * float(np.ptp(self._grid_energy))) / float(np.max(np.abs(self._domain.box)))
        )

    def _exponent(self, points: Array, source: Array) -> Array:
        return -self.beta * self._energy(points) + points @ source

    def _prepared(self, source: Array) -> tuple[float, Array]:
        """Shift of the exponent (α = 1) and peaks of the density, or `InputError` off the domain of W_α."""
        u = -self.beta * self._grid_energy + self._domain.grid @ source
        peaks = self._domain.peaks(u)
        top = float(u.max())
        if self.alpha == 1:
            return top, peaks
        if self.alpha > 1:  # the pole is where u is largest: find it between the grid points
            best, lowest = self._domain.lowest_near(
                lambda x: -float(self._exponent(x[None, :], source)[0]), peaks[0]
            )
            peaks[0], top = best, -lowest
        if not 1 + (1 - self.alpha) * top > 0:
            why, where = ("infinite", "everywhere") if self.alpha > 1 else ("zero", "somewhere")
            raise InputError(
                f"J = {self._domain.plain(source)} lies outside the domain of W, Z is {why}: keep "
                f"1 + (1 - alpha)(-beta H + J.x) > 0 {where} (alpha = {self.alpha:g}, beta = {self.beta:g}; "
                "see source_interval)"
            )
        return 0.0, peaks

    def _weights(self, source: Array, shift: float) -> Callable[[Array], Array]:
        """The unnormalised density exp_α(u − shift) as a function of points."""

        def weights(points: Array) -> Array:
            values = np.asarray(exp_alpha(self._exponent(points, source) - shift, self.alpha))
            if not np.all(np.isfinite(values)):
                raise InputError(
                    f"Z is infinite at J = {self._domain.plain(source)}, where exp_alpha has a pole: "
                    "give a smaller J (see source_interval)"
                )
            return values

        return weights

    def _total(self, source: Array) -> tuple[Callable[[Array], Array], Array, float, float, float]:
        """Unnormalised density, peaks, shift, and its integral with error."""
        shift, peaks = self._prepared(source)
        weights = self._weights(source, shift)
        total, error = self._domain.integrate(lambda x: weights(x)[:, None], peaks, _TOLERANCE)
        if self.alpha <= 1 and total[0] < self._domain.resolved * weights(peaks[:1])[0]:
            raise InputError(
                f"the density at J = {self._domain.plain(source)}, beta = {self.beta:g} is narrower than its "
                "integrals resolve: give a smaller |J| or beta, or a smaller domain"
            )
        return weights, peaks, shift, float(total[0]), float(error[0])

    # Ensemble -------------------------------------------------------------------------------------------

    def partition(self, source: Any = 0.0) -> Estimate:
        """Deformed partition function Z_α[J] > 0."""
        _, _, shift, total, error = self._total(self._domain.vector("J", source))
        if shift > _LARGEST_EXPONENT:
            raise InputError(f"Z is about exp({shift:.6g}), beyond floating point: ask for log_partition")
        return Estimate(total * math.exp(shift), error * math.exp(shift))

    def log_partition(self, source: Any = 0.0) -> Estimate:
        """Deformed log-partition function W_α[J] = log_α Z_α[J]."""
        _, _, shift, total, error = self._total(self._domain.vector("J", source))
        return self._log(shift, total, error)

    def _log(self, shift: float, total: float, error: float) -> Estimate:
        return Estimate(shift + float(log_alpha(total, self.alpha)), error * total**-self.alpha)

    def density(self, x: ArrayLike, source: Any = 0.0) -> Array:
        """Density p_J(x) at points of shape (n,) on an interval, (n, 2) on a rectangle."""
        points = np.asarray(x, dtype=np.float64).reshape(-1, self._domain.dim)
        weights, _, _, total, _ = self._total(self._domain.vector("J", source))
        return weights(points) / total

    def escort(self, observable: Observable, source: Any = 0.0, *, normalised: bool = True) -> Estimate:
        """Escort average of f at source J.

        Parameters
        ----------
        observable : callable
            f, vectorised as the Hamiltonian is.
        source : float or array, shape (2,)
            J in the domain of W_α.
        normalised : bool, default True
            E^(α)[f] = ∫ p^α f dx / ∫ p^α dx; otherwise the unnormalised moment ∫ p^α f dx.

        Returns
        -------
        Estimate
        """
        weights, peaks, _, total, error = self._total(self._domain.vector("J", source))

        def integrand(points: Array) -> Array:
            power = (weights(points) / total) ** self.alpha
            return np.stack([power * self._domain.values(observable, points, "observable"), power], axis=1)

        (moment, norm), errors = self._domain.integrate(integrand, peaks, _TOLERANCE)
        scale = self.alpha * error / total
        if not normalised:
            return Estimate(float(moment), float(errors[0] + scale * abs(moment)))
        value = moment / norm
        return Estimate(float(value), float((errors[0] + abs(value) * errors[1]) / norm))

    def response(self, source: Any = 0.0) -> Estimate:
        """Gradient of W_α: the unnormalised escort moment φ = ∫ p^α x dx (Eq. (D.9)); E[x] at α = 1."""
        weights, peaks, _, total, error = self._total(self._domain.vector("J", source))
        moment, errors = self._moment(weights, peaks, total)
        return Estimate(
            self._domain.plain(moment),
            self._domain.plain(errors + self.alpha * error / total * np.abs(moment)),
        )

    def _moment(self, weights: Callable[[Array], Array], peaks: Array, total: float) -> tuple[Array, Array]:
        return self._domain.integrate(
            lambda x: ((weights(x) / total) ** self.alpha)[:, None] * x, peaks, _TOLERANCE
        )

    def susceptibility(self, source: Any = 0.0) -> Estimate:
        """Hessian of W_α, positive semidefinite: a float on an interval, else of shape (2, 2)."""
        weights, peaks, _, total, _ = self._total(self._domain.vector("J", source))
        moment, _ = self._moment(weights, peaks, total)
        value, error = self._curvature(weights, peaks, total, moment, _CURVATURE)
        return Estimate(self._domain.plain(value), self._domain.plain(error))

    def derivatives(self, source: Any = 0.0) -> tuple[Array, Array]:
        """Gradient (dim,) and Hessian (dim, dim) of W_α from one pass, as flows need them at every step."""
        weights, peaks, _, total, _ = self._total(self._domain.vector("J", source))
        moment, _ = self._moment(weights, peaks, total)
        return moment, self._curvature(weights, peaks, total, moment, _CURVATURE)[0]

    def _curvature(
        self,
        weights: Callable[[Array], Array],
        peaks: Array,
        total: float,
        moment: Array,
        tol: float,
    ) -> tuple[Array, Array]:
        def integrand(points: Array) -> Array:
            p = (weights(points) / total)[:, None]
            held = p > 0
            power = np.where(held, p, 1.0) ** (self.alpha - 0.5)
            g = np.where(held, power * points - np.sqrt(p) * moment, 0.0)
            return (g[:, :, None] * g[:, None, :]).reshape(len(points), -1)

        # Z^(α−1) with the shift left out: it is there for α = 1 only.
        values, errors = self._domain.integrate(integrand, peaks, tol)
        factor, shape = self.alpha * total ** (self.alpha - 1), (len(moment), len(moment))
        return factor * values.reshape(shape), factor * errors.reshape(shape)

    def entropy(self, source: Any = 0.0) -> Estimate:
        """Tsallis entropy Ψ_α[p_J] = (1 − ∫ p^α dx)/(α − 1), at α = 1 −∫ p ln p dx."""
        weights, peaks, _, total, error = self._total(self._domain.vector("J", source))

        def integrand(points: Array) -> Array:
            p = weights(points) / total
            held = np.where(p > 0, p, 1.0)
            return (-np.where(p > 0, p**self.alpha, 0.0) * log_alpha(held, self.alpha))[:, None]

        value, own = self._domain.integrate(integrand, peaks, _TOLERANCE)
        # A relative error ε of Z moves Ψ by at most ε (1 + α|Ψ|).
        return Estimate(float(value[0]), float(own[0] + error / total * (1 + self.alpha * abs(value[0]))))

    def escort_form(self, source: Any = 0.0) -> Estimate:
        """Right-hand side of Theorem 2.1, β E^(α)[H] − Ψ_α/(Z^(α−1) ∫p^α) − J·E^(α)[x]; it equals −W_α[J].

        Computed from the density p_J, its entropy and its escort averages alone.
        """
        vector = self._domain.vector("J", source)
        tilted = self.escort(
            lambda x: self.beta * np.asarray(self.hamiltonian(x)) - x.reshape(-1, len(vector)) @ vector,
            source,
        )
        norm = self.escort(lambda x: np.ones(len(x)), source, normalised=False)
        entropy = self.entropy(source)
        _, _, _, total, error = self._total(vector)
        scale = total ** (self.alpha - 1) * norm.value
        relative = norm.error / norm.value + abs(self.alpha - 1) * error / total
        value = tilted.value - entropy.value / scale
        return Estimate(value, tilted.error + (entropy.error + abs(entropy.value) * relative) / scale)

    # Conjugate ------------------------------------------------------------------------------------------

    def free_energy(self, phi: Any) -> FreeEnergy:
        """Γ_α[φ] = sup_J (J·φ − W_α[J]), by Newton's method on the convex W_α.

        At the maximiser φ = ∇W_α(J*) = ∫ p^α x dx: E[x] for α = 1, the unnormalised moment otherwise.

        Parameters
        ----------
        phi : float or array, shape (2,)
            A value that ∇W_α takes on its domain; for α = 1 any point inside the domain of x.

        Raises
        ------
        InputError
            If no J with ∇W_α(J) = φ was found: φ is not a response of this ensemble.
        """
        wanted = self._domain.vector("phi", phi)
        if self.alpha == 1 and not np.all(
            (wanted > self._domain.box[:, 0]) & (wanted < self._domain.box[:, 1])
        ):
            raise InputError(
                f"phi = {phi} is no average over the domain {self.bounds}: give a point inside it"
            )
        source = self._first_source()
        state = self._objective(source, wanted)
        scale, before = np.max(np.abs(self._domain.box)), math.inf
        for _ in range(_NEWTON_STEPS):
            value, residual, curvature, error = state
            size = float(np.max(np.abs(residual)))
            step: Array = np.linalg.solve(curvature, residual).astype(np.float64)
            gain = float(residual @ step)
            # Gain/2 is what is left of the maximum: the value is final when it drowns in the quadrature.
            done = size <= _SHARP * scale or before / 2 <= size <= _LOOSE * scale
            if done and gain <= 2 * error:
                return FreeEnergy(value, error + gain / 2, self._domain.plain(source), size)
            before = size
            source, state = self._line_search(source, step, value, gain, error, wanted)
        raise InputError(
            f"phi = {phi} is not reached by the gradient of W: it came as near as "
            f"{self._domain.plain(wanted - state[1])} at J = {self._domain.plain(source)}; "
            "give a phi that response(J) takes"
        )

    def _first_source(self) -> Array:
        """J = 0, or without it a J of the domain of W_α near the middle of those along an axis."""
        zero = np.zeros(self._domain.dim)
        try:
            self._prepared(zero)
        except InputError:
            for axis in np.eye(self._domain.dim):
                low, high = self.source_interval(self._domain.plain(axis))
                if low < high:
                    middle = (
                        (low + high) / 2 if math.isfinite(low + high) else max(low + 1, min(high - 1, 0.0))
                    )
                    return middle * axis
            raise
        return zero

    def _objective(self, source: Array, wanted: Array) -> tuple[float, Array, Array, float]:
        """J·φ − W, its gradient, the Hessian of W, and the error of the first."""
        weights, peaks, shift, total, error = self._total(source)
        moment, _ = self._moment(weights, peaks, total)
        curvature, _ = self._curvature(weights, peaks, total, moment, _ROUGH)
        log = self._log(shift, total, error)
        value = float(source @ wanted) - log.value
        return value, wanted - moment, curvature, log.error + 1e-15 * (1 + abs(value))

    def _line_search(
        self, source: Array, step: Array, value: float, gain: float, error: float, wanted: Array
    ) -> tuple[Array, tuple[float, Array, Array, float]]:
        """The largest of step, step/2, step/4, … that stays in the domain and raises the objective."""
        for halvings in range(60):
            trial = source + step / 2**halvings
            if np.max(np.abs(trial)) > self._farthest:
                continue
            try:
                state = self._objective(trial, wanted)
            except InputError:
                continue
            if state[0] >= value + 1e-4 * gain / 2**halvings - error:
                return trial, state
        raise InputError(
            f"phi = {self._domain.plain(wanted)}: the supremum of J phi - W lies at the edge of what can be "
            f"integrated, near J = {self._domain.plain(source)}; give a phi that response(J) takes"
        )

    def duality_gap(self, source: Any, phi: Any) -> Estimate:
        """W_α[J] + Γ_α[φ] − J·φ ≥ 0; zero exactly when φ = ∇W_α(J), that is J ∈ ∂Γ_α(φ) (Proposition 2.1)."""
        log, energy = self.log_partition(source), self.free_energy(phi)
        product = float(self._domain.vector("J", source) @ self._domain.vector("phi", phi))
        return Estimate(log.value + energy.value - product, log.error + energy.error)

    def source_interval(self, direction: Any = 1.0) -> tuple[float, float]:
        """The t for which W_α[t v] is finite, α > 1: the open interval (low, high), empty if low ≥ high.

        t must keep A(x) − t v·x > 0 for all x, A = 1/(α−1) + β H: high = min A/(v·x) over v·x > 0, low the
        largest of A/(v·x) over v·x < 0. For α ≤ 1 (−inf, inf); for α < 1 some of it may have Z = 0.

        Parameters
        ----------
        direction : float or array, shape (2,)
            v ≠ 0.
        """
        v = self._domain.vector("direction", direction)
        if not np.any(v):
            raise InputError("direction is zero: give a direction in the space of sources")
        if self.alpha <= 1:
            return -math.inf, math.inf
        along = self._domain.grid @ v
        offset = 1 / (self.alpha - 1) + self.beta * self._grid_energy
        if np.any((along == 0) & (offset <= 0)):
            return math.inf, -math.inf
        return -self._least_ratio(-along, offset, -v), self._least_ratio(along, offset, v)

    def _least_ratio(self, along: Array, offset: Array, v: Array) -> float:
        """The minimum of A(x)/(v·x) over v·x > 0: best grid point, then the cells around it."""
        ratio = np.full(along.shape, math.inf)
        np.divide(offset, along, out=ratio, where=along > 0)
        best = int(np.argmin(ratio))
        if math.isinf(ratio[best]):
            return math.inf

        def value(x: Array) -> float:
            positive = float(x @ v)
            energy = float(self._energy(x[None, :])[0])
            return (
                (1 / (self.alpha - 1) + self.beta * energy) / positive if positive > 0 else float(ratio[best])
            )

        return self._domain.lowest_near(value, self._domain.grid[best])[1]
