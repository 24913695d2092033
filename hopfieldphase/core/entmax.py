"""The α-entmax family for every index 0 < α ≤ ∞: weights, threshold, conjugate, Jacobian.

Scores z hold the M patterns along their last axis; entries −∞ are absent patterns. The weights maximize
β z·p + Ψ_α(p) over the simplex, in the convention of "On the Statistical Mechanics of Attention"
(arXiv:2610.17347): `weights(z, alpha, beta)` is the α-entmax of β z/α of Peters, Niculae and Martins (2019).
"""

import math
import sys

import numpy as np

from hopfieldphase.core import entmax_roots as roots
from hopfieldphase.core.arrays import Array, Namespace, distribution, pattern_array, score_array
from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.tsallis import tsallis_entropy

# Scores of any magnitude: differences and weights may overflow or underflow, and mean what IEEE says.
_ieee = np.errstate(divide="ignore", over="ignore", under="ignore")


@_ieee
def weights(scores: Array, alpha: float, beta: float = 1.0) -> Array:
    r"""Attention weights :math:`p = \arg\max_{p \in \Delta} \beta z \cdot p + \Psi_\alpha(p)`.

    For α > 1, :math:`p_\mu = (\frac{\alpha-1}{\alpha} \beta [z_\mu - \theta]_+)^{1/(\alpha-1)}`, exactly zero
    off the support; for 0 < α < 1,
    :math:`p_\mu = (\frac{1-\alpha}{\alpha} \beta (\theta - z_\mu))^{-1/(1-\alpha)}` with θ > max z; for α = 1
    the softmax of β z; for α = ∞ the hardmax, in which tied patterns share equally.

    Parameters
    ----------
    scores : array, shape (..., M)
        Overlaps z, dimensionless, of any magnitude; −∞ marks an absent pattern.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.
    beta : float
        Inverse temperature, 0 < β < ∞.

    Returns
    -------
    array, shape (..., M)
        Non-negative weights that sum to one, float32 for float32 scores and float64 otherwise.

    Raises
    ------
    InputError
        If α or β is outside its domain, or a row holds NaN or +∞, or nothing but −∞.

    Notes
    -----
    Lemma F.1 of the paper. Exact for α = 1, 3/2, 2, ∞; otherwise Newton's method in a proven bracket.

    Examples
    --------
    >>> z = np.array([0.0, 0.5, 1.0])
    >>> weights(z, alpha=2, beta=2)
    array([0.  , 0.25, 0.75])
    >>> weights(z, alpha=1, beta=2).round(4)
    array([0.09  , 0.2447, 0.6652])
    """
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    xp, z, top, dtype = score_array(scores)
    return xp.astype(_solve(xp, z, top, alpha, beta)[0], dtype)


@_ieee
def threshold(scores: Array, alpha: float, beta: float = 1.0) -> Array:
    r"""Threshold θ of the weights, from :math:`\sum_\mu p_\mu = 1`.

    For α > 1 the support is the set z_μ > θ; where a single pattern holds all weight,
    :math:`\theta = \max z - \frac{\alpha}{(\alpha-1)\beta}`. For α < 1, θ lies above max z.

    Parameters
    ----------
    scores : array, shape (..., M)
        Overlaps z; −∞ marks an absent pattern.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.
    beta : float
        Inverse temperature, 0 < β < ∞.

    Returns
    -------
    array, shape (...)
        θ in the units of the scores; NaN for α = 1 and α = ∞, which have no threshold. It goes to −∞ as
        α falls to 1 and to +∞ as α rises to 1.

    Raises
    ------
    InputError
        As `weights`.

    Notes
    -----
    Lemma F.1 of the paper.
    """
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    xp, z, top, dtype = score_array(scores)
    return xp.astype(xp.squeeze(_solve(xp, z, top, alpha, beta)[1], axis=-1), dtype)


@_ieee
def conjugate(scores: Array, alpha: float, beta: float = 1.0) -> Array:
    r"""Conjugate :math:`\Omega^*_\alpha(\beta z) = \max_{p \in \Delta} \beta z \cdot p + \Psi_\alpha(p)`.

    For α = 1 this is log Σ exp(β z), for α = ∞ it is β max z; its gradient with respect to β z is `weights`.

    Parameters
    ----------
    scores : array, shape (..., M)
        Overlaps z; −∞ marks an absent pattern.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.
    beta : float
        Inverse temperature, 0 < β < ∞.

    Returns
    -------
    array, shape (...)
        The maximum, dimensionless.

    Raises
    ------
    InputError
        As `weights`.

    Notes
    -----
    The free energy is Γ_α(x) = β|x|²/2 − Ω*_α(β z) (Definition 3.2 and Proposition 3.2 of the paper).
    """
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    xp, z, top, dtype = score_array(scores)
    p, _ = _solve(xp, z, top, alpha, beta)
    # Only patterns with weight count: an absent one would give 0·∞.
    below = xp.sum(xp.where(p > 0, xp.where(p > 0, z, top) - top, 0.0) * p, axis=-1)
    value = beta * xp.squeeze(top, axis=-1) + beta * below + tsallis_entropy(p, alpha)
    return xp.astype(value, dtype)


@_ieee
def jacobian(p: Array, alpha: float) -> Array:
    r"""Jacobian :math:`J = \partial p/\partial(\beta z) = \mathrm{diag}(w) - w w^{T}/\sum_\mu w_\mu`.

    :math:`w_\mu = p_\mu^{2-\alpha}/\alpha` on the support and 0 off it; J = 0 where one pattern holds all
    weight, and for α = ∞.

    Parameters
    ----------
    p : array, shape (..., M)
        Weights, as `weights` returns them (zeros off the support).
    alpha : float
        Tsallis index, 0 < α ≤ ∞.

    Returns
    -------
    array, shape (..., M, M)
        Symmetric, positive semidefinite, with rows that sum to zero.

    Raises
    ------
    InputError
        If α is outside (0, ∞], or an entry of `p` is negative or NaN.

    Notes
    -----
    The score-space Jacobian of Appendix E of the paper. It exists where no pattern off the support has
    z_ν = θ; there it is continuous for α < 2 and jumps for α ≥ 2. For α > 2 the w_μ diverge as p_μ → 0 while
    J stays finite: no formula here subtracts two of them.
    """
    alpha = tsallis_index(alpha)
    xp, p, dtype = distribution(p, "p")
    size = p.shape[-1]
    if math.isinf(alpha):
        return xp.astype(xp.zeros_like(p)[..., None] * xp.zeros(size, device=p.device), dtype)
    w, share, _ = _curvature_weights(xp, p, alpha)
    # -w_i w_j/Σw as the smaller weight times the larger share of the total: no intermediate overflows.
    w_rows, w_columns = xp.broadcast_arrays(w[..., :, None], w[..., None, :])
    share_rows, share_columns = xp.broadcast_arrays(share[..., :, None], share[..., None, :])
    off = -xp.minimum(w_rows, w_columns) * xp.maximum(share_rows, share_columns)
    off = xp.where(xp.eye(size, dtype=xp.bool, device=p.device), 0.0, off)
    diagonal = -xp.sum(off, axis=-1)
    return xp.astype(off + diagonal[..., None] * xp.eye(size, dtype=p.dtype, device=p.device), dtype)


@_ieee
def jacobian_action(p: Array, v: Array, alpha: float) -> Array:
    r"""Product J v of the Jacobian at the weights `p` with a vector, without forming J.

    Parameters
    ----------
    p : array, shape (..., M)
        Weights, as `weights` returns them.
    v : array, shape (..., M)
        Vectors in score space; the leading shapes broadcast.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.

    Returns
    -------
    array, shape (..., M)
        :math:`(Jv)_\mu = w_\mu (v_\mu - \sum_\nu w_\nu v_\nu/\sum_\nu w_\nu)`, summing to zero.

    Raises
    ------
    InputError
        As `jacobian`; also if `v` holds no patterns.

    Notes
    -----
    See `jacobian`. Differences are taken against the pattern of largest w, whose own entry follows from
    the sum: for α > 2 this keeps the digits that w_μ → ∞ would take.
    """
    alpha = tsallis_index(alpha)
    xp, p, dtype = distribution(p, "p")
    _, v, v_dtype = pattern_array(v, "v")
    dtype = xp.result_type(dtype, v_dtype)
    p, v = xp.broadcast_arrays(p, v)
    if math.isinf(alpha):
        return xp.astype(xp.zeros_like(p), dtype)
    w, share, reference = _curvature_weights(xp, p, alpha)
    v = v - xp.take_along_axis(v, reference, axis=-1)
    mean = xp.sum(share * v, axis=-1, keepdims=True)
    is_reference = xp.arange(p.shape[-1], dtype=reference.dtype, device=p.device) == reference
    others = xp.where(is_reference, 0.0, w * (v - mean))
    return xp.astype(xp.where(is_reference, -xp.sum(others, axis=-1, keepdims=True), others), dtype)


def entmax(scores: Array, alpha: float) -> Array:
    r"""The field's α-entmax, :math:`\arg\max_{p \in \Delta} z \cdot p + \Psi_\alpha(p)/\alpha`.

    Equal to ``weights(scores, alpha, beta=alpha)``: softmax for α = 1, sparsemax for α = 2, hardmax for
    α = ∞.

    Parameters
    ----------
    scores : array, shape (..., M)
        Scores; −∞ marks an absent pattern.
    alpha : float
        Tsallis index, 0 < α ≤ ∞.

    Returns
    -------
    array, shape (..., M)

    Raises
    ------
    InputError
        As `weights`.

    Notes
    -----
    Peters, Niculae and Martins, "Sparse Sequence-to-Sequence Models" (2019).

    Examples
    --------
    >>> entmax(np.array([0.0, 0.0, 1.0]), alpha=1.5).round(4)
    array([0.1299, 0.1299, 0.7403])
    """
    alpha = tsallis_index(alpha)
    return weights(scores, alpha, beta=1.0 if math.isinf(alpha) else alpha)


def _solve(xp: Namespace, z: Array, top: Array, alpha: float, beta: float) -> tuple[Array, Array]:
    """Weights (..., M) and threshold (..., 1) of scores that `score_array` has checked."""
    if math.isinf(alpha):
        return roots.hardmax(xp, top - z), xp.full_like(top, math.nan)
    gaps = min(beta / alpha, sys.float_info.max) * (top - z)
    if alpha == 1:
        return roots.softmax(xp, gaps), xp.full_like(top, math.nan)
    a = alpha - 1
    unit = alpha / (a * beta)  # distance of a score from θ at weight one
    if alpha == 1.5:
        p, root_of_peak = roots.entmax_3_2(xp, gaps)
        return p, top - unit * root_of_peak
    if alpha == 2:
        p, peak = roots.sparsemax(xp, gaps)
        return p, top - unit * peak
    if alpha < 2:
        p, log_peak = roots.below_two(xp, gaps, alpha)
        return p, top - unit * xp.exp(a * log_peak)
    p, edge, lowest = roots.above_two(xp, z, alpha, beta)
    return p, edge - unit * lowest**a


def _curvature_weights(xp: Namespace, p: Array, alpha: float) -> tuple[Array, Array, Array]:
    """Return w (..., M), its share w/Σw (..., M) and the index (..., 1) of the largest w."""
    support = p > 0
    order = xp.where(support, p, math.inf if alpha > 2 else -math.inf)
    pick = xp.argmin if alpha > 2 else xp.argmax
    reference = pick(order, axis=-1, keepdims=True)
    safe = xp.where(support, p, 1.0)
    w = xp.clip(safe ** (2 - alpha) / alpha, max=xp.finfo(p.dtype).max)
    relative = (safe / xp.take_along_axis(safe, reference, axis=-1)) ** (2 - alpha)
    relative = xp.where(support, relative, 0.0)
    return xp.where(support, w, 0.0), relative / xp.sum(relative, axis=-1, keepdims=True), reference
