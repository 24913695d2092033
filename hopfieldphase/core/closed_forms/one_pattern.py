"""The classical Hopfield model with one pattern: d spins in the field of their own overlap."""

import math
from typing import Any

import numpy as np

from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.closed_forms._common import Floats, log_gamma, root, x_log1p
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError

HOPFIELD_CRITICAL_BETA = 1.0
"""Inverse temperature β_c = 1 at which the overlap leaves zero, for every d."""


def hopfield_one_pattern_overlap(beta: float, d: int) -> float:
    """Stable overlap q* ≥ 0 of the one-pattern Hopfield model: q* = √d tanh(β q*/√d).

    Parameters
    ----------
    beta : float
        Inverse temperature > 0.
    d : int
        Number of spins, ≥ 1.

    Returns
    -------
    float
        0 for β ≤ 1; above, the positive solution (−q* is the other), to full relative precision also
        where it is small.

    Notes
    -----
    Source: Eq. (B.6) and Proposition B.2 of arXiv:2610.17347.
    """
    beta = inverse_temperature(beta)
    whole_number("d", d)
    if beta <= HOPFIELD_CRITICAL_BETA:
        return 0.0
    y = root(lambda y: _excess_beta(y) - (beta - 1), 0.0, beta)
    return math.sqrt(d) * math.tanh(y)


def _excess_beta(y: float) -> float:
    """Value of β − 1 = y/tanh(y) − 1 at which βq*/√d = y; by its series where the difference cancels."""
    if y > 0.3:
        return y / math.tanh(y) - 1
    x = y * y
    series = (
        1 / 3, -1 / 45, 2 / 945, -1 / 4725, 2 / 93555, -1382 / 638512875, 4 / 18243225, -3617 / 162820783125,
    )  # fmt: skip
    return x * sum(c * x**n for n, c in enumerate(series))


def hopfield_one_pattern_energy(z: Any, beta: float, d: int) -> Floats:
    """Free energy at finite d: Γ(z) = −z²/2 − (1/β) ln C(d, (d + √d z)/2).

    Parameters
    ----------
    z : array-like
        Overlap in [−√d, √d], any shape; the binomial coefficient is continued between the spin states.
    beta : float
        Inverse temperature > 0.
    d : int
        Number of spins, ≥ 1.

    Returns
    -------
    ndarray
        In the shape of z.

    Raises
    ------
    InputError
        If an argument lies outside its domain.

    Notes
    -----
    Source: Proposition B.1 of arXiv:2610.17347 (Friedli and Velenik 2017).
    """
    beta = inverse_temperature(beta)
    overlap = _overlap(z, d)
    up = (d + math.sqrt(d) * overlap) / 2
    binomial = log_gamma(d + 1) - log_gamma(up + 1) - log_gamma(d - up + 1)
    return -(overlap**2) / 2 - binomial / beta


def hopfield_one_pattern_limit(q: Any, beta: float, d: int) -> Floats:
    """Large-d form of β Γ up to d ln 2: Γ_∞(q) = −β q²/2 − s(q).

    s(q) = −((d + q√d)/2) ln(1 + q/√d) − ((d − q√d)/2) ln(1 − q/√d).

    Parameters
    ----------
    q : array-like
        Overlap in [−√d, √d], any shape.
    beta : float
        Inverse temperature > 0.
    d : int
        Number of spins, ≥ 1.

    Returns
    -------
    ndarray
        In the shape of q.

    Notes
    -----
    Source: Eqs. (B.4), (B.5) of arXiv:2610.17347.
    """
    beta = inverse_temperature(beta)
    m = _overlap(q, d) / math.sqrt(d)
    entropy = -d / 2 * (x_log1p(1 + m, m) + x_log1p(1 - m, -m))
    return -beta * d * m**2 / 2 - entropy


def _overlap(z: Any, d: int) -> Floats:
    whole_number("d", d)
    overlap: Floats = np.asarray(z, dtype=np.float64)
    # The largest overlap √d carries the rounding of its square root.
    if not np.all(np.abs(overlap) <= math.sqrt(d) * (1 + 1e-12)):
        raise InputError(
            f"the overlap is outside its domain [-{math.sqrt(d):.6g}, {math.sqrt(d):.6g}] for d = {d}"
        )
    return np.clip(overlap, -math.sqrt(d), math.sqrt(d))
