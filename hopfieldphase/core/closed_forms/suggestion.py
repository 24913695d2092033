"""A range of inverse temperatures in which something happens, from the patterns alone."""

import math
from typing import Any, NamedTuple

import numpy as np

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.closed_forms._common import Floats, root
from hopfieldphase.core.closed_forms.storage import onset_of_separation, pattern_separation
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import check_patterns

# For α ≤ 1 no pattern is ever stored exactly; this weight on the pattern itself counts as retrieved. For
# equidistant patterns and softmax it is reached beyond the retrieval spinodal for every M up to 1e13.
_RETRIEVED_WEIGHT = 0.99
_MARGIN_BELOW, _MARGIN_ABOVE = 0.5, 1.25


class BetaRange(NamedTuple):
    """A suggested range [low, high] of β, and the two critical values that it encloses."""

    low: float
    high: float
    instability: float
    storage: float


def suggest_beta_range(patterns: Any, alpha: float, scale: float | None = None) -> BetaRange:
    """Range of β that reaches from the mean of the patterns to the retrieval of the hardest one.

    `instability` is where the uniform (mean) state loses stability, α M^(2−α)/(s² λ_max(P Ξ Ξᵀ P));
    `storage` is where the hardest distinct pattern that can be retrieved is: for α > 1 its exact storage
    onset (α/(α−1))/(s² Δ), Δ = |ξ_μ|² − max_ν ξ_μ·ξ_ν > 0 the smallest such separation; for α ≤ 1, where no
    pattern is ever stored exactly, the β at which this pattern, itself being the query, keeps 99 % of the
    weight. The range reaches from half the smaller to 1.25 times the larger of the two.

    Parameters
    ----------
    patterns : array-like, shape (M, d)
        Any norms: inner products are used as they are. Equal patterns count once.
    alpha : float
        Tsallis index in (0, inf).
    scale : float, optional
        Overlap scale s > 0, by default 1/√d.

    Returns
    -------
    BetaRange
        Values of β. Where high/low is large, space the sweep geometrically.

    Raises
    ------
    InputError
        If the patterns are unsound, all equal or equal to rounding (nothing happens at any β), or
        alpha = inf (the states do not depend on β).

    Notes
    -----
    The instability is exact where the mean state is uniform (`is_uniform_stationary`), else a scale. The
    closed forms are `uniform_spinodal` and `exact_storage_onset`.
    """
    alpha = tsallis_index(alpha)
    if alpha == math.inf:
        raise InputError("alpha = inf has no scale of beta, its states do not depend on it: give the betas")
    # −0.0 and 0.0 are one number.
    xi: Floats = np.unique(np.asarray(check_patterns(patterns), dtype=np.float64) + 0.0, axis=0)
    M, d = xi.shape
    if M == 1:
        raise InputError("all patterns are equal: nothing changes with beta, give the betas")
    s2 = 1 / d if scale is None else real_number("scale", scale, 0, math.inf, ends="()") ** 2
    instability = alpha * M ** (2 - alpha) / (s2 * _largest_variance(xi))
    storage = _hardest_onset(xi, alpha) / s2
    low, high = sorted((instability, storage))
    return BetaRange(_MARGIN_BELOW * low, _MARGIN_ABOVE * high, instability, storage)


def _largest_variance(xi: Floats) -> float:
    """λ_max(P Ξ Ξᵀ P), from the smaller of the two Gram matrices of the centred patterns."""
    centred = xi - xi.mean(axis=0)
    gram = centred @ centred.T if xi.shape[0] < xi.shape[1] else centred.T @ centred
    return float(np.linalg.eigvalsh(gram)[-1])


def _hardest_onset(xi: Floats, alpha: float) -> float:
    separation = pattern_separation(xi)
    if not np.any(separation > 0):
        raise InputError("no pattern is separated from the others beyond rounding: give the betas")
    hardest = int(np.argmin(np.where(separation > 0, separation, math.inf)))
    onset = float(onset_of_separation(separation[hardest], alpha))
    return onset if alpha > 1 else _retrieval_onset(xi, hardest, alpha)


def _retrieval_onset(xi: Floats, pattern: int, alpha: float) -> float:
    """The b at which a pattern, itself being the query, keeps 99 % of the weight, α ≤ 1.

    With that weight w fixed the others follow without a search for θ:
    p_ν = [w^(α−1) + ((1−α)/α) b Δ_ν]^(−1/(1−α)), and w e^(−bΔ_ν) for α = 1.
    """
    gaps = np.delete(xi @ xi[pattern], pattern)
    gaps = float(xi[pattern] @ xi[pattern]) - gaps
    a = 1 - alpha

    def excess(b: float) -> float:
        grown = a * b * gaps / alpha * _RETRIEVED_WEIGHT**a
        with np.errstate(under="ignore"):
            others = np.exp(-b * gaps) if a == 0 else np.exp(-np.log1p(grown) / a)
        return _RETRIEVED_WEIGHT * (1 + float(np.sum(others))) - 1

    high = 1 / float(gaps.min())
    while excess(high) > 0:
        high *= 2
    return root(excess, 0.0, high)
