"""The joint Gibbs measure of query and weights, α = 1: a Gaussian mixture over the single patterns.

Source: Propositions D.4 and D.6 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import nquad
from scipy.special import log_ndtr

from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.simplex import Matrix, Vector
from hopfieldphase.model import HopfieldModel

LARGEST_DIMENSION = 2
"""Up to this dimension boundary terms are integrated numerically."""


@dataclass(frozen=True, eq=False)
class JointGibbs:
    """First and second moments of exp(−βH(x, p) + J·x), H = ½|x|² − s(Ξx)·p, x ∈ R^d, p one of the vertices.

    Attributes
    ----------
    log_partition : float
        W(J) = log Z(J), ∫dx and Σ_p.
    weights : array, shape (M,)
        ⟨p⟩, the weights of the mixture.
    centers : array, shape (M, d)
        s ξ_μ + J/β, the means of x at fixed pattern; the covariance of x there is 1/β times the identity.
    beta : float
        Inverse temperature.
    """

    log_partition: float
    weights: Vector
    centers: Matrix
    beta: float

    @property
    def mean(self) -> Vector:
        """⟨x⟩ = s Ξᵀ⟨p⟩ + J/β, shape (d,)."""
        return self.weights @ self.centers

    @property
    def covariance(self) -> Matrix:
        """Covariance of x, shape (d, d): thermal 1/β plus the spread of the centers. It is ∇²W(J)."""
        deviations = self.centers - self.mean
        spread = (self.weights[:, None] * deviations).T @ deviations
        return np.eye(self.centers.shape[1]) / self.beta + spread


def joint_gibbs(model: HopfieldModel, beta: float, source: Any = None) -> JointGibbs:
    r"""Exact moments of the joint Gibbs measure over queries and single patterns.

    With :math:`m_\mu = s\xi_\mu + J/\beta` the measure is the mixture of Gaussians of mean m_μ and variance
    1/β with weights :math:`\propto e^{\beta |m_\mu|^2/2}`, and
    :math:`W(J) = \frac d2 \log\frac{2\pi}\beta + \log \sum_\mu e^{\beta |m_\mu|^2/2}`.

    Parameters
    ----------
    model : HopfieldModel
        Patterns and scale; α does not enter.
    beta : float
        Inverse temperature, 0 < β < ∞.
    source : array, shape (d,), optional
        J, by default zero.

    Returns
    -------
    JointGibbs

    Raises
    ------
    InputError
        If β lies outside its domain or the source is not a finite vector of d numbers.

    Notes
    -----
    Eqs. (D.4), (D.5) on R^d, where the boundary term vanishes. Without source and with patterns of one norm,
    all weights are 1/M at every β: the measure spreads over its M wells.
    """
    beta = inverse_temperature(beta)
    patterns = np.asarray(model.patterns, dtype=np.float64)
    J = np.zeros(model.d) if source is None else np.asarray(source, dtype=np.float64)
    if J.shape != (model.d,) or not bool(np.all(np.isfinite(J))):
        raise InputError(f"source has shape {J.shape}: give {model.d} finite numbers, one per dimension")
    centers = model.scale * patterns + J / beta
    logs = beta / 2 * np.sum(centers**2, axis=1)
    peak = float(np.max(logs))
    total = peak + math.log(float(np.sum(np.exp(logs - peak))))
    return JointGibbs(
        log_partition=total + model.d / 2 * math.log(2 * math.pi / beta),
        weights=np.exp(logs - total),
        centers=centers,
        beta=beta,
    )


def box_correction(center: Any, beta: float, low: Any, high: Any, alpha: float = 1.0) -> Vector:
    r"""The boundary term B = E^(α)[x|p] − m of the query in a box at fixed weights, shape (d,).

    At α = 1, where x is Gaussian of mean m and variance 1/β,
    :math:`B_i = \frac{1}{\sqrt\beta} \frac{\varphi(a_i) - \varphi(b_i)}{\Phi(b_i) - \Phi(a_i)}`,
    :math:`a_i = \sqrt\beta (\mathrm{low}_i - m_i)`, :math:`b_i = \sqrt\beta (\mathrm{high}_i - m_i)`.

    Parameters
    ----------
    center : array, shape (d,)
        m = s Ξᵀp + J/β, anywhere.
    beta : float
        Inverse temperature, 0 < β < ∞.
    low, high : float or array, shape (d,)
        Faces of the box; infinite ones are allowed at α = 1.
    alpha : float
        Tsallis index, 0 < α < ∞; other than 1 for d ≤ 2 and finite boxes, by adaptive quadrature (1e-10).

    Raises
    ------
    InputError
        If α or β lies outside its domain, a lower face is not below its upper one, d > 2 at α ≠ 1, or the
        escort density diverges in the box, α > 1, or vanishes on all of it, α < 1.

    Notes
    -----
    Proposition D.4. At α = 1 evaluated without cancellation, also far outside the box.
    """
    beta = inverse_temperature(beta)
    m, low, high = np.broadcast_arrays(*(np.asarray(item, dtype=np.float64) for item in (center, low, high)))
    if not bool(np.all(low < high)):
        raise InputError("the box is empty: every entry of low must be smaller than that of high")
    m, low, high = np.atleast_1d(m, low, high)
    if alpha != 1:
        return _deformed_correction(m, beta, low, high, tsallis_index(alpha))
    root = math.sqrt(beta)
    a, b = root * (low - m), root * (high - m)
    # In a narrow box Φ(b) − Φ(a) cancels; there few nodes are exact.
    narrow = (b - a < 2) & (np.abs(b**2 - a**2) < 4)
    middle, half = np.where(narrow, (a + b) / 2, 0.0), np.where(narrow, (b - a) / 2, 0.0)
    t, w = np.polynomial.legendre.leggauss(24)
    y = middle[:, None] + half[:, None] * t
    density = w * np.exp((middle[:, None] ** 2 - y**2) / 2)
    inside = np.sum(density * y, axis=1) / np.sum(density, axis=1)
    # Mirrored so that the nearer face is below the tail: then Φ(b) − Φ(a) is a difference of small numbers.
    flip = a + b > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    log_mass = log_ndtr(b) + np.log1p(-np.exp(log_ndtr(a) - log_ndtr(b)))
    ratio = (np.exp(-(a**2) / 2 - log_mass) - np.exp(-(b**2) / 2 - log_mass)) / math.sqrt(2 * math.pi)
    return np.where(narrow, inside, np.where(flip, -ratio, ratio)) / root


def _deformed_correction(m: Vector, beta: float, low: Vector, high: Vector, alpha: float) -> Vector:
    """The ratio of the integrals of y exp_α^α and exp_α^α of −β/2 (|y|² − |m|²) over the box."""
    if m.size > LARGEST_DIMENSION or math.isinf(alpha):
        raise InputError(
            f"alpha = {alpha:g} with d = {m.size}: the boundary term is computed for finite alpha and "
            f"d <= {LARGEST_DIMENSION}, and for alpha = 1 in every d"
        )
    box = np.stack([low - m, high - m], axis=1)
    nearest = np.clip(0.0, box[:, 0], box[:, 1])
    peak = 1 + (alpha - 1) * beta / 2 * float(nearest @ nearest - m @ m)
    if not (peak > 0 and bool(np.all(np.isfinite(box)))):
        raise InputError(
            f"the escort density at alpha = {alpha:g}, beta = {beta:.12g} cannot be normalised in this box: "
            "use a finite box and a smaller beta"
        )

    def density(*y: float) -> float:
        bracket = 1 + (alpha - 1) * beta / 2 * (sum(item * item for item in y) - float(m @ m))
        return (max(bracket, 0.0) / peak) ** (alpha / (1 - alpha))

    options = {"epsabs": 0.0, "epsrel": 1e-10, "limit": 200}
    total = nquad(density, box.tolist(), opts=options)[0]
    moments = [
        nquad(lambda *y, i=i: y[i] * density(*y), box.tolist(), opts=options | {"epsabs": 1e-11 * total})[0]
        for i in range(m.size)
    ]
    return np.asarray(moments) / total
