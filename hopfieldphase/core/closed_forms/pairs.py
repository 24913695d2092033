"""Pair states, the barrier between two stored patterns, and the α = 2 energy identity."""

import math
from typing import Any

import numpy as np

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.closed_forms._common import ROUNDING, Floats, decay, gram_matrix, index
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError


def pair_interval(gram: Any, i: int, j: int) -> tuple[float, float] | None:
    """Interval of b in which the equal-weight pair {i, j} is a strict local minimum, α = 2.

    2/D < b < 2/(g − G_ij) with D = min_k (g + G_ij − G_ik − G_jk) over k ∉ {i, j} and g = G_ii = G_jj.

    Parameters
    ----------
    gram : array-like, shape (M, M)
        Gram matrix; cosines (g = 1) give b = β s², s² Ξ Ξᵀ gives β.
    i, j : int
        Two different patterns of equal norm.

    Returns
    -------
    tuple of float, or None
        (lower, upper); None where the pair is a minimum at no temperature (D ≤ 0 or D ≤ g − G_ij). Lower is 0
        for M = 2; upper is `inf` for two equal patterns.

    Raises
    ------
    InputError
        If gram is not a symmetric matrix, i and j are not two of its patterns, or their norms differ (then
        the equal-weight pair is not stationary).

    Notes
    -----
    Source: existence and Proposition 4.2 (arXiv:2610.17347) for the support {i, j}.
    """
    matrix = gram_matrix(gram)
    M = matrix.shape[0]
    if i == j or not (0 <= i < M and 0 <= j < M):
        raise InputError(f"i = {i}, j = {j} is not a pair: give two different pattern indices below {M}")
    resolution = 8 * ROUNDING * float(np.max(np.abs(matrix)))
    if abs(matrix[i, i] - matrix[j, j]) > 1e-9 * np.max(np.abs(matrix)):
        raise InputError(
            f"patterns {i} and {j} have different norms: their equal-weight pair is not stationary, "
            "scale the patterns to one norm"
        )
    own = (matrix[i, i] + matrix[j, j]) / 2
    others = np.delete(matrix[i] + matrix[j], [i, j])
    clearance = float(own + matrix[i, j] - others.max()) if M > 2 else math.inf
    distance = float(own - matrix[i, j])
    if distance <= resolution:
        distance = 0.0
    if clearance <= resolution or clearance <= distance:
        return None
    return 2 / clearance, (2 / distance if distance > 0 else math.inf)


def pair_barrier(coupling: float, alpha: float) -> float:
    """Free-energy barrier between two exactly stored patterns along the edge that joins them.

    F(½, ½) − F(1, 0) = K/4 − (1 − 2^(1−α))/(α−1), K = b (1 − C₁₂).

    Parameters
    ----------
    coupling : float
        K ≥ max(α/(α−1), α 2^(2−α)): both ends are stored, and the middle is the maximum between them.
    alpha : float
        Tsallis index in (1, inf).

    Returns
    -------
    float
        Exact for two patterns; an upper bound where other patterns offer a lower way round.

    Raises
    ------
    InputError
        If an argument lies outside its domain.
    """
    alpha = index(alpha, above=1)
    lowest = max(alpha / (alpha - 1), alpha * 2 ** (2 - alpha))
    coupling = real_number("coupling", coupling, lowest, math.inf, ends="[)")
    return coupling / 4 - decay(alpha - 1, math.log(2))


def proposition_4_1_energy(scores: Any, theta: Any, gram: Any, beta: float) -> Floats:
    """Free energy of an α = 2 stationary state from its scores above the threshold.

    Γ = (β/2)² Σ_μν [z_μ − θ]₊ [z_ν − θ]₊ K_μν − 1, with K = I − (β/2) G.

    Parameters
    ----------
    scores : array-like, shape (..., M)
        Overlaps z = s Ξ x of stationary states x = T(x).
    theta : array-like, shape (...)
        Their sparsemax thresholds.
    gram : array-like, shape (M, M)
        G = s² Ξ Ξᵀ.
    beta : float
        Inverse temperature > 0.

    Returns
    -------
    ndarray, shape (...)

    Notes
    -----
    Two branches coexist where these energies agree: Proposition 4.1 of "On the Statistical Mechanics of
    Attention" (arXiv:2610.17347). At a state that is not stationary the value is not its free energy.
    """
    beta = inverse_temperature(beta)
    z: Floats = np.asarray(scores, dtype=np.float64)
    above = np.maximum(z - np.asarray(theta, dtype=np.float64)[..., None], 0.0)
    quadratic = np.sum(above**2, axis=-1) - beta / 2 * np.sum(above * (above @ gram_matrix(gram)), axis=-1)
    return (beta / 2) ** 2 * quadratic - 1


def proposition_4_1_residual(scores: Any, theta: Any, gram: Any, beta: float, free_energy: Any) -> Floats:
    """Γ minus the energy that Proposition 4.1 gives to a state: zero, to rounding, at every α = 2 minimum.

    Parameters
    ----------
    scores, theta, gram, beta
        As for `proposition_4_1_energy`.
    free_energy : array-like, shape (...)
        Γ of the states.

    Returns
    -------
    ndarray, shape (...)
    """
    return np.asarray(free_energy, dtype=np.float64) - proposition_4_1_energy(scores, theta, gram, beta)
