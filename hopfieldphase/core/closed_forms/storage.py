"""Exact storage: the state x = s ξ_μ with all weight on one pattern, its onset and its probability."""

import math
from enum import StrEnum
from typing import Any

import numpy as np

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.closed_forms._common import ROUNDING, Floats, gram_matrix, incomplete_beta, index
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.patterns import check_patterns

_PRODUCTS_AT_ONCE = 2**24  # 128 MiB


class OnsetCharacter(StrEnum):
    """What a pattern's state is exactly at its storage onset, where it is stationary."""

    MINIMUM = "minimum"
    NO_MINIMUM = "no minimum"
    MARGINAL = "marginal"


def exact_storage_onset(gram: Any, alpha: float) -> Floats:
    """Inverse temperature from which each pattern is stored exactly.

    (α/(α−1)) / (G_μμ − max_ν G_μν), ν ≠ μ: above it x = s ξ_μ is a strict local minimum with all weight on
    pattern μ, below it the state is not stationary. At it, see `onset_character`.

    Parameters
    ----------
    gram : array-like, shape (M, M)
        Gram matrix; cosines give b = β s², s² Ξ Ξᵀ gives β. Unit norms are not assumed.
    alpha : float
        Tsallis index in (0, inf].

    Returns
    -------
    ndarray, shape (M,)
        `inf` for a pattern that is never stored: one that another pattern repeats or outdoes
        (G_μν ≥ G_μμ to rounding), and every pattern for α ≤ 1. For α = ∞ every other pattern is
        stored at any β > 0: 0. A single pattern (M = 1) is stored at any β and α: 0.

    Raises
    ------
    InputError
        If gram is not a symmetric matrix or alpha lies outside (0, inf].

    Notes
    -----
    Source: the margin of the α-entmax (Peters et al. 2019; Blondel et al. 2020) in the convention
    Ψ_α of arXiv:2610.17347, at the scores z = s² Ξ ξ_μ.
    """
    matrix = gram_matrix(gram)
    own = np.diagonal(matrix)
    others = matrix - np.diag(np.full(len(matrix), math.inf))
    largest = np.max(others, axis=1)
    return onset_of_separation(_resolved(own - largest, own), alpha)


def all_stored_onset(gram: Any, alpha: float) -> float:
    """Inverse temperature from which every pattern is stored exactly: the largest `exact_storage_onset`."""
    return float(np.max(exact_storage_onset(gram, alpha)))


def onset_of_separation(separation: Any, alpha: float) -> Floats:
    """`exact_storage_onset` of patterns whose separations are known, see `pattern_separation`.

    Parameters
    ----------
    separation : array-like
        |ξ_μ|² − max_ν ξ_μ·ξ_ν, any shape; inf for a pattern without competitors.
    alpha : float
        Tsallis index in (0, inf].

    Returns
    -------
    ndarray
        (α/(α−1))/separation in the shape of the input: values of b = β s²; `inf` where never stored.
    """
    alpha = tsallis_index(alpha)
    gap: Floats = np.asarray(separation, dtype=np.float64)
    onset = np.full(gap.shape, math.inf)
    onset[np.isposinf(gap)] = 0.0
    if alpha > 1:
        separated = gap > 0
        onset[separated] = _margin(alpha) / gap[separated]
    return onset


def pattern_separation(patterns: Any) -> Floats:
    """Separation |ξ_μ|² − max_ν ξ_μ·ξ_ν, ν ≠ μ, of each pattern from the others.

    Computed in blocks of rows, so that M = 10^5 needs no M × M matrix.

    Parameters
    ----------
    patterns : array-like, shape (M, d)

    Returns
    -------
    ndarray, shape (M,)
        Exactly 0 for equal patterns, negative where another pattern has the larger overlap with ξ_μ; inf
        for M = 1.

    Notes
    -----
    Source: Δ_μ of Ramsauer et al., "Hopfield networks is all you need" (2020).
    """
    xi: Floats = np.asarray(check_patterns(patterns), dtype=np.float64)
    own = np.sum(xi**2, axis=1)
    largest = np.empty(len(xi))
    block = max(1, _PRODUCTS_AT_ONCE // len(xi))
    for start in range(0, len(xi), block):
        rows = np.arange(start, min(start + block, len(xi)))
        products = xi[rows] @ xi.T
        products[rows - start, rows] = -math.inf
        largest[rows] = products.max(axis=1)
    return _resolved(own - largest, own)


def _resolved(separation: Floats, own: Floats) -> Floats:
    """Separations within rounding of zero set to zero: equal patterns are never told apart."""
    separation[np.abs(separation) <= 8 * ROUNDING * np.abs(own)] = 0.0
    return separation


def _margin(alpha: float) -> float:
    return 1.0 if alpha == math.inf else alpha / (alpha - 1)


def onset_character(alpha: float) -> OnsetCharacter:
    """What the single-pattern state is exactly at its storage onset.

    A minimum for 1 < α < 2 and α > 3, none for 2 < α < 3, marginal (flat in fourth order or along a whole
    edge) at α = 2 and 3.

    Parameters
    ----------
    alpha : float
        Tsallis index in (1, inf).

    Returns
    -------
    OnsetCharacter

    Notes
    -----
    With weight t on the competitor, F − F₀ = t^α/(α−1) + α(α−3)/(2(α−1)) t² + O(t³) at the onset.
    """
    alpha = index(alpha, above=1)
    if alpha in (2, 3):
        return OnsetCharacter.MARGINAL
    return OnsetCharacter.NO_MINIMUM if 2 < alpha < 3 else OnsetCharacter.MINIMUM


def exact_storage_probability(M: int, d: int, b: float, alpha: float) -> float:
    """Probability that one given pattern of M independent uniform unit patterns is stored exactly.

    F_d(1 − α/((α−1) b))^(M−1), with F_d(q) = I_((1+q)/2)((d−1)/2, (d−1)/2) the distribution of the cosine of
    two of them and I the regularised incomplete beta function.

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 1.
    d : int
        Dimension, ≥ 2.
    b : float
        β s² > 0.
    alpha : float
        Tsallis index in (0, inf].

    Returns
    -------
    float
        0 for b < α/(2(α−1)) and for α ≤ 1 (M ≥ 2); 1 for α = ∞ and for M = 1.

    Raises
    ------
    InputError
        If an argument lies outside its domain.
    """
    whole_number("M", M)
    whole_number("d", d, at_least=2)
    b = real_number("b", b, 0, math.inf, ends="()")
    alpha = tsallis_index(alpha)
    if M == 1 or alpha == math.inf:
        return 1.0
    if alpha <= 1:
        return 0.0
    distance = alpha / ((alpha - 1) * b)  # 1 − cosine that suffices
    if distance >= 2:
        return 0.0
    half = (d - 1) / 2
    above = incomplete_beta(half, half, distance / 2)
    below = incomplete_beta(half, half, 1 - distance / 2)
    # Whichever of the two is small carries the digits.
    return math.exp((M - 1) * (math.log1p(-above) if above < 0.5 else math.log(below))) if below > 0 else 0.0
