"""How far attention spreads: the gap that isolates top scores, and the dispersion of softmax."""

import math
from typing import NamedTuple

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.domain import inverse_temperature, tsallis_index


class DispersionBounds(NamedTuple):
    """Bounds on softmax weights from the spread of the scores; entropies are in nats."""

    weight_min: float
    weight_max: float
    entropy_min: float
    entropy_max: float


def isolation_gap(k: int, alpha: float, beta: float = 1.0) -> float:
    """Score gap that gives all weight to k equal top scores: Δ = α k^(1−α)/(β(α−1)), whatever the rest.

    Parameters
    ----------
    k : int
        Number of equal top scores, ≥ 1.
    alpha : float
        Tsallis index in (0, inf]. `inf` is the answer for α ≤ 1, 0 for α = ∞.
    beta : float, default 1.0
        Inverse temperature > 0. β = α is the field's entmax_α: k^(1−α)/(α−1), which is 1 for α = 1.5, k = 4.

    Returns
    -------
    float
        The other scores get weight zero when they lie at least this far below.

    Raises
    ------
    InputError
        If an argument lies outside its domain.
    """
    whole_number("k", k)
    alpha = tsallis_index(alpha)
    beta = inverse_temperature(beta)
    if alpha <= 1:
        return math.inf
    return 0.0 if alpha == math.inf else alpha * k ** (1 - alpha) / (beta * (alpha - 1))


def dispersion_bounds(spread: float, n: int, beta: float = 1.0) -> DispersionBounds:
    """What softmax can do at most with n scores of a given spread Δ = max z − min z.

    e^(−βΔ)/n ≤ p_i ≤ min(1, e^(βΔ)/n) and max(0, ln n − βΔ) ≤ H ≤ ln n.

    Parameters
    ----------
    spread : float
        Δ in [0, inf).
    n : int
        Number of scores, ≥ 1.
    beta : float, default 1.0
        Inverse temperature > 0 (1/β is the temperature ϑ of the source).

    Returns
    -------
    DispersionBounds

    Raises
    ------
    InputError
        If an argument lies outside its domain.

    Notes
    -----
    Softmax only; for any weights H ≤ ln of the support size. Source: Veličković et al. (2025), Lemma 2.1.
    """
    spread = real_number("spread", spread, 0, math.inf, ends="[)")
    whole_number("n", n)
    reach = inverse_temperature(beta) * spread
    size = math.log(n)
    return DispersionBounds(
        weight_min=math.exp(-reach - size),
        weight_max=math.exp(min(0.0, reach - size)),
        entropy_min=max(0.0, size - reach),
        entropy_max=size,
    )
