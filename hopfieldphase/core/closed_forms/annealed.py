"""Softmax retrieval of random unit patterns at finite dimension: the annealed mean field.

One pattern is retrieved with weight p, the M − 1 others act through their mean: with x along the pattern
and u = bm,

    m = p + (1−p) A(u),  A(u) = I_{d/2}(u)/I_{d/2−1}(u),  p = 1/(1+S),
    S = (M−1) e^{−u} Γ(d/2) (2/u)^{d/2−1} I_{d/2−1}(u).

Solutions are the curve b = u/f(u), f the right-hand side: p and A depend on u alone.
"""

import math
from typing import NamedTuple

import numpy as np

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.closed_forms._common import log_gamma, root, scaled_bessel
from hopfieldphase.core.errors import InputError

# Steps of ln S while the fold is bracketed: a fraction of the width of p = 1/(1+S).
_STEP = 0.1
_SMALLEST_U = 1e-6
_LARGEST_U = 1e9  # up to here SciPy's Bessel functions have digits


class _Field(NamedTuple):
    """At one u: ln S, the response A of the others, f(u) and f(u) − u f′(u) (the sign of db/du)."""

    log_others: float
    response: float
    overlap: float
    slope: float


def annealed_fold(M: int, d: int) -> float:
    """Value of b at which the annealed retrieval state of M random unit patterns vanishes.

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 2; a whole number of any size, such as round(exp(κ d)).
    d : int
        Dimension, ≥ 2.

    Returns
    -------
    float
        b = β s² of the fold; `nan` where retrieval sets in smoothly (few patterns or a low dimension).

    Raises
    ------
    InputError
        If an argument lies outside its domain or the load is so large that b exceeds 1e9.

    Notes
    -----
    An approximation: at d = 16, M = 121 it gives 8.6184, where the retrieval states of 400 simulated
    pattern sets, followed downward, vanish at 8.87 ± 0.02 (standard deviation 0.32). For d → ∞ it becomes
    `rem_threshold`.
    """
    u = _fold(M, d)
    return math.nan if math.isnan(u) else u / _field(u, M, d).overlap


def annealed_overlap(b: float, M: int, d: int) -> float:
    """Overlap m = x·ξ/s of the annealed retrieval state of M random unit patterns.

    Parameters
    ----------
    b : float
        β s² in (0, 1e9].
    M, d : int
        Number of patterns and dimension, both ≥ 2.

    Returns
    -------
    float
        In (0, 1]; `nan` below the fold, where there is no retrieval state. Where retrieval sets in smoothly
        (`annealed_fold` is `nan`), the only state.

    Raises
    ------
    InputError
        If an argument lies outside its domain.
    """
    b = real_number("b", b, 0, _LARGEST_U, ends="(]")
    low = _fold(M, d)
    if math.isnan(low):
        low = min(_SMALLEST_U, b / M / 2)
    elif b < low / _field(low, M, d).overlap:
        return math.nan

    def mismatch(u: float) -> float:
        return b * _field(u, M, d).overlap - u

    if mismatch(low) <= 0:  # b is the fold, to rounding
        return low / b
    return root(mismatch, low, b) / b if mismatch(b) < 0 else 1.0


def _fold(M: int, d: int) -> float:
    """The u of the retrieval fold: the last zero of db/du, or nan where b(u) is monotone."""
    whole_number("M", M, at_least=2)
    whole_number("d", d, at_least=2)
    if M == 2:
        return math.nan  # S = 1 at u = 0 already: there is no entropy to win against
    high = 1.0
    while _field(high, M, d).log_others > 0:
        high *= 2
    u = root(lambda u: _field(u, M, d).log_others, min(_SMALLEST_U, high), high)
    here = _field(u, M, d)
    upward = here.slope < 0
    while u > _SMALLEST_U:
        step = _STEP / (u * (1 - here.response))
        following = u * math.exp(min(step, _STEP) if upward else -min(step, _STEP))
        there = _field(following, M, d)
        if (there.slope < 0) != upward:
            return root(lambda u: _field(u, M, d).slope, *sorted((u, following)))
        u, here = following, there
    return math.nan


def _field(u: float, M: int, d: int) -> _Field:
    log_mean, response = _others(u, d)
    log_others = math.log(M - 1) - u + log_mean
    # Written for either sign of ln S: no overflow, and 1 − p keeps its digits.
    small = math.exp(-abs(log_others)) / (1 + math.exp(-abs(log_others)))
    p, rest = (1 - small, small) if log_others <= 0 else (small, 1 - small)
    overlap = p + rest * response
    curvature = 1 - response**2 - (d - 1) * response / u
    derivative = p * rest * (1 - response) ** 2 + rest * curvature
    return _Field(log_others, response, overlap, overlap - u * derivative)


def _others(u: float, d: int) -> tuple[float, float]:
    """Over the unit sphere: ln ⟨e^(u cos)⟩ and its derivative A(u), the mean of cos under that tilt."""
    if u > _LARGEST_U:
        raise InputError(
            f"the load log(M)/d is too large at d = {d}: retrieval needs b > {_LARGEST_U:.0e}, "
            "give fewer patterns or a larger d"
        )
    order = d / 2 - 1
    bessel = scaled_bessel(order, u)
    if bessel > 1e-280:
        log_mean = math.log(bessel) + u + float(log_gamma(d / 2)) - order * math.log(u / 2)
        return log_mean, scaled_bessel(order + 1, u) / bessel
    # u far below the order: sum the power series, all of whose terms are positive.
    x = u * u / 4
    count = int((math.hypot(order, u) - order) / 2 + 12 * math.sqrt(u) + 40)
    n = np.arange(count)
    logs = n * math.log(x) - log_gamma(n + 1) - log_gamma(order + 1 + n) + float(log_gamma(order + 1))
    top = float(logs.max())
    terms = np.exp(logs - top)
    total = float(terms.sum())
    return top + math.log(total), u / 2 * float(np.sum(terms / (order + 1 + n))) / total
