"""Fluctuations round a state: the exact effective action Γ[φ] in low dimension, and its loop expansion.

Γ[φ] = sup_J {J·φ − W[J]} with W[J] = log ∫ exp(−βH(x) + J·x) dx, and for large β

    Γ[φ] = βH(φ) − d/2 log 2π + ½ log det βH''(φ) + Γ₂(φ)/β + O(β⁻²).

Source: Propositions D.2 and D.3 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347); the
two-loop term is the sum of the one-particle irreducible vacuum diagrams (Zinn-Justin, Quantum Field Theory
and Critical Phenomena).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.simplex import Matrix, Vector

Energy: TypeAlias = Callable[[Any], Any]
Cumulants: TypeAlias = Callable[[Vector], tuple[float, Vector, Matrix]]

LARGEST_DIMENSION = 2
"""Up to this dimension W is integrated on a grid."""

# The grid reaches so many standard deviations of the narrowest direction's Gaussian to each side …
_REACH = 12.0
# … and is so fine; for analytic integrands the trapezoidal rule is then exact to rounding.
_POINTS_PER_DEVIATION = 10
_STEPS = 200
# Γ is off by half of what is left of this gain.
_GAIN = 1e-22


@dataclass(frozen=True, eq=False)
class EffectiveAction:
    """The exact effective action at a field φ.

    Attributes
    ----------
    value : float
        Γ[φ].
    source : array, shape (d,)
        The maximizing J = ∇Γ[φ].
    hessian : array, shape (d, d)
        ∇²Γ[φ], the inverse of the covariance of x in the source J.
    """

    value: float
    source: Vector
    hessian: Matrix


@dataclass(frozen=True)
class QuarticWell:
    """H(x) = x²/2 + c x³ + q x⁴ in one dimension, with c² < 4q/3: a convex well without symmetry.

    Parameters
    ----------
    cubic, quartic : float
        c and q.
    """

    cubic: float
    quartic: float

    def __post_init__(self) -> None:
        if not 3 * self.cubic**2 < 4 * self.quartic < math.inf:
            raise InputError(
                f"cubic = {self.cubic:g}, quartic = {self.quartic:g}: the well is convex for 3 cubic^2 < "
                "4 quartic only; use a smaller cubic or a larger quartic term"
            )

    def __call__(self, points: Any) -> Any:
        """Energies, shape (n,), of points, shape (n, 1)."""
        x = points[:, 0]
        return x**2 / 2 + self.cubic * x**3 + self.quartic * x**4

    def derivatives(self, x: float) -> tuple[float, float, float, float, float]:
        """H and its first four derivatives at x."""
        c, q = self.cubic, self.quartic
        return (
            x**2 / 2 + c * x**3 + q * x**4,
            x + 3 * c * x**2 + 4 * q * x**3,
            1 + 6 * c * x + 12 * q * x**2,
            6 * c + 24 * q * x,
            24 * q,
        )

    def state(self, tilt: float) -> float:
        """The minimizer of H(x) − tilt x."""
        reach = 1 + abs(tilt)
        while self.derivatives(reach)[1] < tilt or self.derivatives(-reach)[1] > tilt:
            reach *= 2
        return cast(float, brentq(lambda x: self.derivatives(x)[1] - tilt, -reach, reach, xtol=1e-300))


def grid_cumulants(energy: Energy, beta: float, center: Any, width: Any) -> Cumulants:
    r"""W[J], its gradient ⟨x⟩ and its Hessian Cov(x) as a function of J, by the trapezoidal rule, d ≤ 2.

    Parameters
    ----------
    energy : callable
        H, taking points of shape (n, d) to energies of shape (n,); analytic.
    beta : float
        Inverse temperature, 0 < β < ∞.
    center, width : array, shape (d,)
        The grid covers center ± width; the integrand must be negligible at its faces.

    Raises
    ------
    InputError
        If d > 2, β is outside its domain; and by the returned function if the faces carry weight.
    """
    beta = inverse_temperature(beta)
    center, width = np.atleast_1d(np.asarray(center, dtype=np.float64)), np.atleast_1d(width)
    d = center.size
    if d > LARGEST_DIMENSION:
        raise InputError(
            f"d = {d}: the effective action is computed on a grid for d <= {LARGEST_DIMENSION}; "
            "use one_loop and two_loop beyond"
        )
    count = int(2 * _REACH * _POINTS_PER_DEVIATION) + 1
    axes = [c + w * np.linspace(-1, 1, count) for c, w in zip(center, width, strict=True)]
    points = np.stack([item.ravel() for item in np.meshgrid(*axes, indexing="ij")], axis=1)
    face = np.any((points == points.min(axis=0)) | (points == points.max(axis=0)), axis=1)
    exponents = -beta * np.asarray(energy(points), dtype=np.float64)
    log_volume = float(np.sum(np.log(2 * width / (count - 1))))

    def cumulants(J: Vector) -> tuple[float, Vector, Matrix]:
        logs = exponents + (points - center) @ J
        peak = float(np.max(logs))
        weights = np.exp(logs - peak)
        if float(np.max(weights[face])) > 1e-14:
            raise InputError("the integrand reaches the faces of its grid: give a larger width")
        total = float(np.sum(weights))
        mean = weights @ points / total
        deviations = points - mean
        covariance = (weights[:, None] * deviations).T @ deviations / total
        return peak + math.log(total) + log_volume + float(center @ J), mean, covariance

    return cumulants


def effective_action(cumulants: Cumulants, phi: Any, source: Any = None) -> EffectiveAction:
    r"""Legendre transform :math:`\Gamma[\varphi] = \sup_J \{J \cdot \varphi - W[J]\}` by Newton's method.

    Parameters
    ----------
    cumulants : callable
        J to (W, ∇W, ∇²W): of `grid_cumulants`, or of any other ensemble.
    phi : array, shape (d,)
        The field, inside the convex hull of the states.
    source : array, shape (d,), optional
        Where the search starts, by default J = 0.

    Raises
    ------
    InputError
        If no source gives this field.
    """
    phi = np.atleast_1d(np.asarray(phi, dtype=np.float64))
    J = np.zeros_like(phi) if source is None else np.atleast_1d(np.asarray(source, dtype=np.float64))
    W, mean, covariance = cumulants(J)
    for _ in range(_STEPS):
        step = np.linalg.solve(covariance, phi - mean)
        gain = float(step @ (phi - mean))
        if gain <= _GAIN:
            hessian = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
            return EffectiveAction(float(J @ phi) - W, J, hessian)
        length = 1.0
        while True:
            # The concave objective must rise, unless its rise is below rounding.
            trial = J + length * step
            W_new, mean_new, covariance_new = cumulants(trial)
            rise = float((trial - J) @ phi) - (W_new - W)
            if rise >= 0.1 * length * gain or length * gain < 1e-9:
                break
            length /= 2
        J, W, mean, covariance = trial, W_new, mean_new, covariance_new
    raise InputError(f"no source gives the field {phi}: choose it inside the hull of the states")


def field_action(energy: Energy, beta: float, phi: Any, gradient: Any, hessian: Any) -> EffectiveAction:
    """Γ[φ] of an energy H that is convex round φ, exact to rounding, d ≤ 2.

    Parameters
    ----------
    energy : callable
        H, taking points of shape (n, d) to energies of shape (n,).
    beta : float
        Inverse temperature, large enough that exp(−βH) is confined within 12 Gaussian deviations.
    phi : array, shape (d,)
        The field.
    gradient, hessian : array, shape (d,) and (d, d)
        ∇H(φ), from which the search for J starts (J = β∇H at the lowest order), and ∇²H(φ) > 0.
    """
    hessian = np.atleast_2d(hessian)
    deviations = np.sqrt(np.diag(np.linalg.inv(inverse_temperature(beta) * hessian)))
    cumulants = grid_cumulants(energy, beta, phi, _REACH * deviations)
    return effective_action(cumulants, phi, beta * np.atleast_1d(gradient))


def one_loop(beta: float, energy: float, hessian: Any) -> float:
    r"""Tree and one-loop terms :math:`\beta H - \frac d2 \log 2\pi + \frac12 \log\det(\beta \nabla^2 H)`.

    The first line of Eq. (D.1). `energy` and `hessian` are H(φ) and ∇²H(φ), shape (d, d), positive definite.
    """
    hessian = np.atleast_2d(np.asarray(hessian, dtype=np.float64))
    sign, log_det = np.linalg.slogdet(inverse_temperature(beta) * hessian)
    if sign <= 0:
        raise InputError("the Hessian is not positive definite: the loop expansion needs a minimum")
    return float(beta * energy - hessian.shape[0] / 2 * math.log(2 * math.pi) + log_det / 2)


def two_loop(hessian: Any, third: Any, fourth: Any) -> float:
    r"""The coefficient Γ₂ of 1/β: the double bubble and the sunset diagram.

    :math:`\frac18 H_{ijkl} G_{ij} G_{kl} - \frac1{12} H_{ijk} H_{lmn} G_{il} G_{jm} G_{kn}`, G = (∇²H)⁻¹.

    Parameters
    ----------
    hessian, third, fourth : array, shape (d, d), (d, d, d), (d, d, d, d)
        Derivatives of H at φ; scalars for d = 1.
    """
    hessian = np.atleast_2d(np.asarray(hessian, dtype=np.float64))
    d = hessian.shape[0]
    third, fourth = np.reshape(third, (d,) * 3), np.reshape(fourth, (d,) * 4)
    G = np.linalg.inv(hessian)
    bubble = np.einsum("ijkl,ij,kl", fourth, G, G)
    sunset = np.einsum("ijk,lmn,il,jm,kn", third, third, G, G, G)
    return float(bubble / 8 - sunset / 12)


def reducible_two_loop(hessian: Any, third: Any) -> float:
    r"""What a saddle point expansion at the fixed source J = β∇H(φ) has besides Γ₂: the dumbbell diagram.

    :math:`-\frac18 H_{ijk} H_{lmn} G_{ij} G_{lm} G_{kn}`. The exact J of Γ[φ] removes it: Γ is one-particle
    irreducible.
    """
    hessian = np.atleast_2d(np.asarray(hessian, dtype=np.float64))
    third = np.reshape(third, (hessian.shape[0],) * 3)
    G = np.linalg.inv(hessian)
    return float(-np.einsum("ijk,lmn,ij,lm,kn", third, third, G, G, G) / 8)


def fitted_order(betas: ArrayLike, remainders: ArrayLike) -> float:
    """The exponent a of remainders ~ β^{−a}, by least squares of their logarithms."""
    slope, _ = np.polyfit(np.log(np.asarray(betas)), np.log(np.abs(np.asarray(remainders))), 1)
    return -float(slope)


@dataclass(frozen=True, eq=False)
class LoopExpansion:
    """The effective action of a well at one field, exact and to each order of the loop expansion, over β.

    Attributes
    ----------
    betas : array, shape (n,)
    exact, tree, one_loop, two_loop : array, shape (n,)
        Γ[φ], and its expansion up to and with that order.
    fixed_source : array, shape (n,)
        J·φ − W[J] = −log ∫ exp(−βH(x) + J·(x − φ)) dx at J = β∇H(φ). Less `tree` it is what the Laplace
        approximation of W leaves, with the opposite sign.
    coefficient, reducible : float
        The two-loop coefficient Γ₂, and what the fixed source adds to it.
    """

    betas: Vector
    exact: Vector
    tree: Vector
    one_loop: Vector
    two_loop: Vector
    fixed_source: Vector
    coefficient: float
    reducible: float


def loop_expansion(well: QuarticWell, phi: float, betas: ArrayLike) -> LoopExpansion:
    """Expand the effective action of a one-dimensional well and compare with its exact value.

    Parameters
    ----------
    well : QuarticWell
    phi : float
        The field.
    betas : array, shape (n,)
        Inverse temperatures, large enough that the well is confined within 12 Gaussian deviations.

    Raises
    ------
    InputError
        Where β is too small for the integrals.

    Notes
    -----
    Propositions D.2 and D.3 of the paper.
    """
    energy, gradient, hessian, third, fourth = well.derivatives(phi)
    coefficient = two_loop(hessian, third, fourth)
    betas = np.atleast_1d(np.asarray(betas, dtype=np.float64))
    exact = [field_action(well, beta, [phi], gradient, hessian).value for beta in betas]
    fixed = []
    for beta in betas:
        cumulants = grid_cumulants(well, beta, [phi], _REACH / math.sqrt(beta * hessian))
        fixed.append(beta * gradient * phi - cumulants(np.array([beta * gradient]))[0])
    first = np.array([one_loop(beta, energy, hessian) for beta in betas])
    return LoopExpansion(
        betas=betas,
        exact=np.array(exact),
        tree=betas * energy,
        one_loop=first,
        two_loop=first + coefficient / betas,
        fixed_source=np.array(fixed),
        coefficient=coefficient,
        reducible=reducible_two_loop(hessian, third),
    )
