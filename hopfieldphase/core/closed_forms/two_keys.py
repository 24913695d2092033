"""Two keys alone: the mixture, the vertices and the order of the transition between them, for every α."""

import math
from enum import StrEnum

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.closed_forms._common import decay, index


class Transition(StrEnum):
    """How the mixture of two keys gives way to a single one as b grows."""

    CONTINUOUS = "continuous"
    FIRST_ORDER = "first order"
    DEGENERATE = "degenerate"


def two_keys_transition(alpha: float) -> Transition:
    """Order of the transition from x = s(k₁+k₂)/2 to x = s k₁ of two keys without further patterns.

    Continuous at b_mix for α < 2 and α > 3, first order for 2 < α < 3; at α = 2 and 3 the two critical
    points coincide and the energy is flat there (α = 2: along the whole segment; α = 3: in F, K = 3/2).

    Parameters
    ----------
    alpha : float
        Tsallis index in (0, inf).

    Notes
    -----
    For three or more patterns this does not carry over: three to two is first order for 3 < α ≲ 5.9.
    """
    alpha = index(alpha)
    if alpha in (2, 3):
        return Transition.DEGENERATE
    return Transition.FIRST_ORDER if 2 < alpha < 3 else Transition.CONTINUOUS


def two_keys_instability(cosine: float, alpha: float) -> float:
    """Value of b at which the equal mixture of two unit keys loses stability: b_mix = α 2^(2−α)/(1−ε).

    Parameters
    ----------
    cosine : float
        Cosine ε of the keys, in [−1, 1).
    alpha : float
        Tsallis index in (0, inf).
    """
    alpha = index(alpha)
    return alpha * 2 ** (2 - alpha) / _distance(cosine)


def two_keys_vertex(cosine: float, alpha: float) -> float:
    """Value of b from which one of two unit keys is stored exactly: b_vertex = α/((α−1)(1−ε)).

    Parameters
    ----------
    cosine : float
        Cosine ε of the keys, in [−1, 1).
    alpha : float
        Tsallis index in (0, inf); for α ≤ 1 never: `inf`.
    """
    alpha = index(alpha)
    distance = _distance(cosine)
    return alpha / ((alpha - 1) * distance) if alpha > 1 else math.inf


def two_keys_coexistence(cosine: float, alpha: float) -> float:
    """Value of b at which the mixture and a single one of two unit keys have equal free energy.

    4(1 − 2^(1−α))/((α−1)(1−ε)) for 2 ≤ α ≤ 3; at α = 2 this is the 2/(1−ε) of Proposition 4.1.

    Parameters
    ----------
    cosine : float
        Cosine ε of the keys, in [−1, 1).
    alpha : float
        Tsallis index in (0, inf).

    Returns
    -------
    float
        `nan` where the transition is continuous: the two states are never minima together. For α = 2 they
        are not either: the whole segment between them is flat at this point.

    Notes
    -----
    Source: Proposition 4.1 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347) for α = 2;
    other α by equating F(1, 0) and F(½, ½).
    """
    alpha = index(alpha)
    distance = _distance(cosine)
    if two_keys_transition(alpha) is Transition.CONTINUOUS:
        return math.nan
    return 4 * decay(alpha - 1, math.log(2)) / distance


def _distance(cosine: float) -> float:
    return 1 - real_number("cosine", cosine, -1, 1, ends="[)")
