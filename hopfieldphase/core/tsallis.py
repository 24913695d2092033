"""The Tsallis family: entropy, q-exponential and q-logarithm, divergence, effective support, escort.

All functions act on the last axis, accept any leading shape, any array namespace and every index
0 < α ≤ ∞, and pass through α = 1 without losing a digit. Definitions follow "On the Statistical Mechanics
of Attention" (arXiv:2610.17347), Appendices C.3, E and F.1.
"""

import math

import numpy as np

from hopfieldphase.core.arrays import Array, Namespace, distribution, float_array
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError

# Infinities are answers here (log 0, a divergence off the support), so NumPy need not warn of them.
_ieee = np.errstate(divide="ignore", over="ignore", under="ignore")


def _expm1_over(xp: Namespace, t: Array, factor: float) -> Array:
    """(exp(factor·t) − 1)/factor, with its limit t at factor = 0."""
    return t if factor == 0 else xp.expm1(factor * t) / factor


@_ieee
def tsallis_entropy(p: Array, alpha: float) -> Array:
    r"""Tsallis entropy :math:`\Psi_\alpha(p) = (1 - \sum_\mu p_\mu^\alpha)/(\alpha - 1)`.

    Evaluated as :math:`\sum_\mu (p_\mu - p_\mu^\alpha)/(\alpha - 1)`, which is the same on the simplex and
    has the Shannon entropy :math:`-\sum p \ln p` as its limit at α = 1. By convention Ψ_∞ = 0.

    Parameters
    ----------
    p : array, shape (..., M)
        Non-negative weights that sum to one over the last axis; zeros are allowed.
    alpha : float
        Tsallis index, 0 < α ≤ ∞: 1 is Shannon's entropy, 2 is Gini's.

    Returns
    -------
    array, shape (...)
        The entropy, 0 at a vertex of the simplex, largest at the uniform weights.

    Raises
    ------
    InputError
        If α is outside (0, ∞], or an entry of `p` is negative or NaN.

    Notes
    -----
    This is the convention of the paper (Definition C.8), Ψ_α = α H_α with the H_α of Peters, Niculae and
    Martins (2019).

    Examples
    --------
    >>> p = np.array([0.5, 0.5, 0.0])
    >>> [round(float(tsallis_entropy(p, alpha)), 6) for alpha in (1, 2)]
    [0.693147, 0.5]
    """
    alpha = tsallis_index(alpha)
    xp, p, dtype = distribution(p, "p")
    if math.isinf(alpha):
        return xp.astype(xp.sum(xp.zeros_like(p), axis=-1), dtype)
    log_p = xp.log(xp.where(p > 0, p, 1.0))
    # The factor in front is the larger of p and p^α, so that no power overflows for small p.
    if alpha >= 1:
        terms = -p * _expm1_over(xp, log_p, alpha - 1)
    else:
        terms = -xp.where(p > 0, xp.exp(alpha * log_p), 0.0) * _expm1_over(xp, log_p, 1 - alpha)
    return xp.astype(xp.sum(terms, axis=-1), dtype)


@_ieee
def tsallis_entropy_gradient(p: Array, alpha: float) -> Array:
    r"""Gradient of the Tsallis entropy, :math:`(1 - \alpha p_\mu^{\alpha-1})/(\alpha - 1)`.

    It belongs to :math:`\sum_\mu (p_\mu - p_\mu^\alpha)/(\alpha - 1)`; that of
    :math:`(1 - \sum p^\alpha)/(\alpha - 1)` differs by a constant, which no direction along the simplex
    sees. The limit at α = 1 is :math:`-1 - \ln p_\mu`; for α = ∞ it is 0, as Ψ_∞ is.

    Parameters
    ----------
    p : array, shape (..., M)
        Non-negative weights; an entry 0 has gradient +∞ for α ≤ 1 and 1/(α − 1) for α > 1.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.

    Returns
    -------
    array, shape (..., M)

    Raises
    ------
    InputError
        If α is outside (0, ∞], or an entry of `p` is negative or NaN.

    Notes
    -----
    Definition C.8 of the paper; stationarity of Ω* reads β z_μ + ∂Ψ/∂p_μ = constant on the support.
    """
    alpha = tsallis_index(alpha)
    xp, p, dtype = distribution(p, "p")
    if math.isinf(alpha):
        return xp.astype(xp.zeros_like(p), dtype)
    # (1 - α p^a)/a with a = α - 1 equals -(1 + α (p^a - 1)/a).
    return xp.astype(-1 - alpha * _expm1_over(xp, xp.log(p), alpha - 1), dtype)


@_ieee
def exp_alpha(u: Array, alpha: float) -> Array:
    r"""The α-exponential :math:`\exp_\alpha(u) = [1 + (1-\alpha) u]_+^{1/(1-\alpha)}`, elementwise.

    Parameters
    ----------
    u : array
        Arguments. Beyond u = 1/(α − 1) the value is +∞ for α > 1; below u = −1/(1 − α) it is 0 for α < 1.
    alpha : float
        Tsallis index, 0 < α ≤ ∞; 1 is the exponential, ∞ the limit (1 up to u = 0, +∞ above).

    Returns
    -------
    array, same shape

    Raises
    ------
    InputError
        If α is outside (0, ∞], or `u` has a NaN.

    Notes
    -----
    Definition C.9 of the paper (Tsallis, 1988); d exp_α/du = exp_α^α. As a q-exponential, the attention
    weights have the index 2 − α instead.
    """
    alpha = tsallis_index(alpha)
    xp, u, dtype = float_array(u, "u")
    if bool(xp.any(xp.isnan(u))):
        raise InputError("u has a NaN: the α-exponential needs real numbers")
    if math.isinf(alpha):
        value = xp.where(u > 0, math.inf, xp.ones_like(u))
    elif alpha == 1:
        value = xp.exp(u)
    else:
        a = 1 - alpha
        positive = a * u > -1
        value = xp.exp(xp.log1p(xp.where(positive, a * u, 0.0)) / a)
        value = xp.where(positive, value, 0.0 if a > 0 else math.inf)
    return xp.astype(value, dtype)


@_ieee
def log_alpha(y: Array, alpha: float) -> Array:
    r"""The α-logarithm :math:`\log_\alpha(y) = (y^{1-\alpha} - 1)/(1-\alpha)`, the inverse of `exp_alpha`.

    Parameters
    ----------
    y : array
        Non-negative arguments; at 0 the value is −1/(1 − α) for α < 1 and −∞ for α ≥ 1.
    alpha : float
        Tsallis index, 0 < α ≤ ∞; 1 is the logarithm, ∞ the limit (−∞ below y = 1, 0 from there on).

    Returns
    -------
    array, same shape

    Raises
    ------
    InputError
        If α is outside (0, ∞], or `y` has a negative or NaN entry.

    Notes
    -----
    Definition C.9 of the paper (Tsallis, 1988).
    """
    alpha = tsallis_index(alpha)
    xp, y, dtype = float_array(y, "y")
    if not bool(xp.all(y >= 0)):
        raise InputError("y has a negative or NaN entry: the α-logarithm is defined for y ≥ 0")
    return xp.astype(_log_alpha_of_exp(xp, xp.log(y), alpha), dtype)


def _log_alpha_of_exp(xp: Namespace, log_y: Array, alpha: float) -> Array:
    if math.isinf(alpha):
        return xp.where(log_y < 0, -math.inf, xp.zeros_like(log_y))
    return _expm1_over(xp, log_y, 1 - alpha)


@_ieee
def tsallis_divergence(p: Array, q: Array, alpha: float) -> Array:
    r"""Tsallis divergence :math:`D_\alpha(p\|q) = -\sum_\mu p_\mu \log_\alpha(q_\mu/p_\mu)`.

    On the simplex this is :math:`(\sum_\mu p_\mu^\alpha q_\mu^{1-\alpha} - 1)/(\alpha - 1)`; it is never
    negative, 0 for p = q, and the Kullback–Leibler divergence at α = 1.

    Parameters
    ----------
    p, q : array, shape (..., M)
        Non-negative weights that sum to one; the shapes broadcast.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.

    Returns
    -------
    array, shape (...)
        +∞ where `q` lacks a pattern of the support of `p` and α ≥ 1.

    Raises
    ------
    InputError
        If α is outside (0, ∞], or an entry of `p` or `q` is negative or NaN.

    Notes
    -----
    Definition E.2 of the paper (Furuichi, Yanagi and Kuriyama, 2004).
    """
    alpha = tsallis_index(alpha)
    xp, p, dtype = distribution(p, "p")
    _, q, q_dtype = distribution(q, "q")
    present = p > 0
    log_ratio = xp.log(q) - xp.log(xp.where(present, p, 1.0))
    terms = xp.where(present, -p * _log_alpha_of_exp(xp, xp.where(present, log_ratio, 0.0), alpha), 0.0)
    return xp.astype(xp.sum(terms, axis=-1), xp.result_type(dtype, q_dtype))


@_ieee
def effective_support(p: Array, order: float = 2.0) -> Array:
    r"""Effective support size :math:`K^{(q)}_{\mathrm{eff}} = (\sum_\mu p_\mu^q)^{1/(1-q)}`.

    Parameters
    ----------
    p : array, shape (..., M)
        Non-negative weights that sum to one over the last axis.
    order : float
        Order q, 0 < q ≤ ∞: 2 is the inverse participation ratio 1/Σp², 1 the exponential of the Shannon
        entropy, ∞ is 1/max p.

    Returns
    -------
    array, shape (...)
        Between 1 (all weight on one pattern) and M (uniform), never increasing with the order.

    Raises
    ------
    InputError
        If the order is outside (0, ∞], or an entry of `p` is negative or NaN.

    Notes
    -----
    Definition F.1 of the paper (Hill, 1973).
    """
    order = tsallis_index(order)
    xp, p, dtype = distribution(p, "p")
    peak = xp.max(p, axis=-1, keepdims=True)
    if math.isinf(order):
        log_size = -xp.log(peak)
    elif abs(order - 1) < 0.25:
        # Σp^q = 1 + Σp (p^{q-1} - 1): no digit is lost in 1/(1 - q).
        log_p = xp.log(xp.where(p > 0, p, 1.0))
        excess = xp.sum(p * _expm1_over(xp, log_p, order - 1), axis=-1, keepdims=True)
        log_size = -excess if order == 1 else xp.log1p((order - 1) * excess) / (1 - order)
    else:
        total = xp.sum((p / peak) ** order, axis=-1, keepdims=True)
        log_size = (order * xp.log(peak) + xp.log(total)) / (1 - order)
    return xp.astype(xp.squeeze(xp.exp(log_size), axis=-1), dtype)


@_ieee
def escort(p: Array, alpha: float) -> Array:
    r"""Escort weights :math:`P_\mu = p_\mu^\alpha / \sum_\nu p_\nu^\alpha`.

    Parameters
    ----------
    p : array, shape (..., M)
        Non-negative weights, at least one of them positive in each row.
    alpha : float
        Tsallis index, 0 < α ≤ ∞; for α = ∞ the largest weights share equally.

    Returns
    -------
    array, shape (..., M)
        Weights of the escort average E^(α)[f] = Σ_μ P_μ f_μ.

    Raises
    ------
    InputError
        If α is outside (0, ∞], or an entry of `p` is negative or NaN.

    Notes
    -----
    Theorem 2.1 and Appendix C.4 of the paper.
    """
    alpha = tsallis_index(alpha)
    xp, p, dtype = distribution(p, "p")
    peak = xp.max(p, axis=-1, keepdims=True)
    # The quotient keeps the largest power at 1, so that no row underflows as a whole.
    powers = xp.astype(p == peak, xp.float64) if math.isinf(alpha) else (p / peak) ** alpha
    return xp.astype(powers / xp.sum(powers, axis=-1, keepdims=True), dtype)
