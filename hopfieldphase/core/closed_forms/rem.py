"""Softmax retrieval of exponentially many random patterns in large dimension: the random-energy picture."""

from typing import Any

import numpy as np

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.closed_forms._common import Floats, root
from hopfieldphase.core.errors import InputError


def rem_cumulant(inverse_temperature: Any) -> Floats:
    """Large-d log-moment of an overlap with a random unit pattern, g(λ) = lim (1/d) ln⟨exp(λ d cos)⟩.

    g(λ) = ½ ln(1−φ²) + λφ with φ = (√(1+4λ²) − 1)/(2λ).

    Parameters
    ----------
    inverse_temperature : array-like
        λ = b/d = β s²/d ≥ 0, any shape.

    Returns
    -------
    ndarray
        In the shape of the input. Identity: λ − g(√(λ²+λ)) = ½ ln(1+λ).
    """
    half, _ = _halves(inverse_temperature)
    return half - np.log1p(half) / 2


def rem_capacity(inverse_temperature: Any) -> Floats:
    """Largest load κ = log(M)/d at which softmax retrieves one of M random unit patterns, d → ∞.

    κ_c(λ) = λ − g(λ), g of `rem_cumulant`.

    Parameters
    ----------
    inverse_temperature : array-like
        λ = b/d = β s²/d ≥ 0, any shape.

    Returns
    -------
    ndarray
        In the shape of the input, growing with λ without bound.

    Raises
    ------
    InputError
        If λ is negative or not finite.

    Notes
    -----
    Source: C. Lucibello and M. Mézard, "Exponential capacity of dense associative memories", Phys. Rev.
    Lett. 132, 077301 (2024), spherical patterns. Corrections at finite d are large (at κ = 0.3 the
    threshold in b lies 9 % higher still at d = 200): use `annealed_fold` there.
    """
    half, rest = _halves(inverse_temperature)
    return rest + np.log1p(half) / 2


def rem_threshold(load: float) -> float:
    """Inverse temperature λ = b/d from which softmax retrieves at load κ: the inverse of `rem_capacity`.

    Parameters
    ----------
    load : float
        κ = log(M)/d in [0, 300].
    """
    load = real_number("load", load, 0, 300)
    if load == 0:
        return 0.0
    high = 1.0
    while rem_capacity(high) < load:
        high *= 2
    return root(lambda inverse_temperature: float(rem_capacity(inverse_temperature)) - load, 0.0, high)


def _halves(inverse_temperature: Any) -> tuple[Floats, Floats]:
    """λφ = (√(1+4λ²) − 1)/2 and λ − λφ, both without a difference of nearly equal numbers."""
    lam: Floats = np.asarray(inverse_temperature, dtype=np.float64)
    if not np.all((lam >= 0) & np.isfinite(lam)):
        raise InputError(
            "the inverse temperature b/d is outside its domain [0, inf): give finite values >= 0"
        )
    norm = np.hypot(1, 2 * lam)
    half = 2 * lam * (lam / (1 + norm))
    return half, (lam + half) / (2 * lam + norm)
