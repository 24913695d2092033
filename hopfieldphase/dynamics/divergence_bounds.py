"""Tsallis divergences of weights against their distances and those of the scores, with explicit constants.

Source: Proposition E.4 and Remark E.4 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.tsallis import tsallis_divergence
from hopfieldphase.model import HopfieldModel

Array = NDArray[np.float64]

_SINGULAR = 1e-10  # singular values below this, relative to the largest, count as zero
_RESOLVED = 1e-9  # smallest divergence that is compared: its terms cancel to a few ε


@dataclass(frozen=True)
class DivergenceBounds:
    """Constants of c₁|z − z*|² ≤ D_α(p‖p*) ≤ c₂|p − p*|² for |p_μ/p*_μ − 1| ≤ spread (Proposition E.4).

    Attributes
    ----------
    spread : float
        Size of the neighbourhood, below 1.
    lower : float
        c₁ = lower_weights/‖G_S‖², G_S the columns of the Gram matrix on the support of p*, z = G p.
    lower_weights, upper : float
        D_α ≥ lower_weights |p − p*|² and D_α ≤ upper |p − p*|²: (α/2) τ^{α−2}/p*_μ at the ends of the range
        1 − spread ≤ τ ≤ 1 + spread and at the largest and the smallest weight.
    """

    spread: float
    lower: float
    lower_weights: float
    upper: float


@dataclass(frozen=True, eq=False)
class DivergenceCheck:
    """Tsallis divergences from p* and their bounds, for some weights.

    Attributes
    ----------
    divergence : ndarray, shape (n,)
        D_α(p‖p*); infinite for α ≥ 1 where p has weight outside the support of p*.
    weight_distance, score_distance : ndarray, shape (n,)
        |p − p*| and |G(p − p*)|.
    bounds : DivergenceBounds or None
        For the rows with |p_μ/p*_μ − 1| ≤ spread; None where there is no such row.
    inside : ndarray of bool, shape (n,)
        Those rows, as far as their divergence is resolved.
    lower_slack, upper_slack : float
        Smallest D/(c₁|δz|²) and smallest c₂|δp|²/D over them: at least 1. NaN where there is no row.
    """

    divergence: Array
    weight_distance: Array
    score_distance: Array
    bounds: DivergenceBounds | None
    inside: NDArray[np.bool_]
    lower_slack: float
    upper_slack: float


@dataclass(frozen=True, eq=False)
class HiddenChange:
    """Weights p ≠ p* with the same scores G p = G p* (Remark E.4).

    Attributes
    ----------
    weights : ndarray, shape (M,)
    divergence : float
        D_α(p‖p*) > 0.
    score_change : float
        |G(p − p*)|/(‖G‖ |p − p*|), zero to rounding.
    """

    weights: Array
    divergence: float
    score_change: float


def divergence_bounds(model: HopfieldModel, target: Any, spread: float) -> DivergenceBounds:
    """Explicit constants of Proposition E.4 on a stated neighbourhood of p*.

    With f(τ) = (τ^α − 1 − α(τ − 1))/(α − 1), D_α(p‖p*) = Σ p*_μ f(p_μ/p*_μ) and f'' = α τ^{α−2}, so that
    Taylor's theorem bounds every term. Weights outside the support of p* are zero.

    Parameters
    ----------
    model : HopfieldModel
    target : array, shape (M,)
        p*, interior or on a face of the simplex.
    spread : float
        In (0, 1).

    Returns
    -------
    DivergenceBounds

    Raises
    ------
    InputError
        If α is infinite, or an argument lies outside its domain.
    """
    alpha = model.alpha
    if np.isinf(alpha):
        raise InputError("alpha = inf has no smooth divergence: give a finite alpha")
    spread = real_number("spread", spread, 0, 1, ends="()")
    p = np.asarray(target, dtype=np.float64)
    support = p > 0
    powers = np.array([1 - spread, 1 + spread]) ** (alpha - 2)
    lower = alpha / 2 * float(powers.min() / p[support].max())
    upper = alpha / 2 * float(powers.max() / p[support].min())
    norm = float(np.linalg.norm(np.asarray(model.gram)[:, support], 2))
    return DivergenceBounds(spread=spread, lower=lower / norm**2, lower_weights=lower, upper=upper)


def check_divergence(
    model: HopfieldModel, weights: Any, target: Any, *, spread: float = 0.5
) -> DivergenceCheck:
    """Divergences of some weights from p* with the bounds on them.

    Parameters
    ----------
    model : HopfieldModel
    weights : array, shape (n, M)
        p, for example along a path.
    target : array, shape (M,)
        p*.
    spread : float
        Neighbourhood |p_μ/p*_μ − 1| ≤ spread within which the bounds are compared, in (0, 1).

    Returns
    -------
    DivergenceCheck

    Raises
    ------
    InputError
        As `divergence_bounds`.
    """
    p, target = np.atleast_2d(np.asarray(weights, dtype=np.float64)), np.asarray(target, dtype=np.float64)
    bounds = divergence_bounds(model, target, spread)
    divergence = np.asarray(tsallis_divergence(p, target, model.alpha))
    change = p - target
    moved = np.linalg.norm(change, axis=1)
    answer = np.linalg.norm(change @ np.asarray(model.gram), axis=1)
    near = (np.abs(change) <= spread * target).all(axis=1)
    inside = near & (divergence > _RESOLVED)
    chosen = divergence[inside]
    slack = (np.nan, np.nan)
    if chosen.size:
        with np.errstate(divide="ignore"):
            slack = (
                float((chosen / (bounds.lower * answer[inside] ** 2)).min()),
                float((bounds.upper * moved[inside] ** 2 / chosen).min()),
            )
    return DivergenceCheck(
        divergence=divergence,
        weight_distance=moved,
        score_distance=answer,
        bounds=bounds if near.any() else None,
        inside=inside,
        lower_slack=slack[0],
        upper_slack=slack[1],
    )


def hidden_change(model: HopfieldModel, target: Any, *, spread: float = 0.5) -> HiddenChange:
    """Other weights with the scores of p*: where the Gram matrix is singular, z does not determine p.

    No path of the update shows this: there p = ∇Ω*(βz), which for α ≤ 2 is Lipschitz,
    |p − p*| ≤ (β/α)|z − z*|, so that p converges with z whatever G is. It concerns weights that are moved
    independently of the scores.

    Parameters
    ----------
    model : HopfieldModel
    target : array, shape (M,)
        p*; the change is confined to its support.
    spread : float
        Largest |p_μ/p*_μ − 1|, in (0, 1).

    Returns
    -------
    HiddenChange

    Raises
    ------
    InputError
        If on the support no change of zero sum leaves the scores alone.
    """
    spread = real_number("spread", spread, 0, 1, ends="()")
    target = np.asarray(target, dtype=np.float64)
    support = np.flatnonzero(target > 0)
    gram = np.asarray(model.gram, dtype=np.float64)
    size = float(np.linalg.norm(gram, 2))
    rows = np.vstack([gram[:, support] / size, np.full(support.size, support.size**-0.5)])
    _, sigma, right = np.linalg.svd(rows)
    if sigma[-1] > _SINGULAR:
        raise InputError(
            "the Gram matrix is invertible on the support of the weights, so that scores determine them: "
            "give patterns with duplicates, or more than d + 1 of them"
        )
    change = np.zeros_like(target)
    change[support] = right[-1]
    change *= spread / np.abs(change[support] / target[support]).max()
    p = target + change
    return HiddenChange(
        weights=p,
        divergence=float(tsallis_divergence(p, target, model.alpha)),
        score_change=float(np.linalg.norm(gram @ change) / (size * np.linalg.norm(change))),
    )
