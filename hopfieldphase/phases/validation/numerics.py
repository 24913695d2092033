"""Critical points from the definitions alone: Γ, its Hessian and the weights, no closed form.

Roots are bracketed upward from small β and closed to rounding; thresholds at which a weight vanishes, and
weights are exactly zero beyond them, are bisected to the last bit.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import Branch, Piece, PointKind
from hopfieldphase.kernels.maps import weights
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.stretches import Stretch, stable_stretches
from hopfieldphase.solvers import relax

Floats = NDArray[np.float64]

HIGHEST = 1e9
"""Values of β beyond which nothing is expected to happen any more."""

# Upward search for a sign change, and bisections that reach the last bit of a double.
_GROWTH, _HALVINGS = 1.5, 80


def first_zero(function: Callable[[float], float], start: float = 1e-2) -> float:
    """The zero in the first interval of a geometric grid in which a function changes sign, or nan."""
    low, at_low = start, function(start)
    while low < HIGHEST:
        high = low * _GROWTH
        at_high = function(high)
        if at_low == 0:
            return low
        if at_low * at_high < 0:
            return float(scipy.optimize.brentq(function, low, high, xtol=1e-300, rtol=8.9e-16))
        low, at_low = high, at_high
    return math.nan


def softness(model: HopfieldModel, x: Any, beta: float) -> float:
    """λ_min(∇²Γ)/β."""
    return float(np.linalg.eigvalsh(model.hessian(x, beta))[0]) / beta


def spinodal_of(model: HopfieldModel, x: Any, start: float = 1e-2) -> float:
    """Value of β at which a state x that is stationary at all β loses stability: λ_min(∇²Γ(x)) = 0."""
    return first_zero(lambda beta: softness(model, x, beta), start)


def energy_crossing(model: HopfieldModel, x: Any, y: Any) -> float:
    """Value of β at which Γ(x) = Γ(y)."""
    return first_zero(lambda beta: float(model.free_energy(x, beta) - model.free_energy(y, beta)))


def finite_difference_spinodal(model: HopfieldModel, x: Any, u: Any, h: float) -> float:
    """Value of β at which the second difference of Γ along the unit vector u vanishes."""

    def curvature(beta: float) -> float:
        ahead, behind, here = (model.free_energy(state, beta) for state in (x + h * u, x - h * u, x))
        return float(ahead + behind - 2 * here) / h**2

    return first_zero(curvature, 0.5)


def vanishing_point(scores: Any, alpha: float, absent: Any) -> Floats:
    """For each row of scores the β from which on the weights of the patterns marked absent are exactly zero.

    Parameters
    ----------
    scores : array, shape (n, M)
    alpha : float
        Above 1.
    absent : array of bool, shape (n, M)

    Returns
    -------
    ndarray, shape (n,)
        inf where they are not zero at the highest β either.
    """
    rows, marked = np.atleast_2d(np.asarray(scores, dtype=np.float64)), np.atleast_2d(absent)

    def vanished(beta: Floats) -> NDArray[np.bool_]:
        # only differences of scores matter
        centred = rows - rows.max(axis=1, keepdims=True)
        return ~np.any((weights(beta[:, None] * centred, alpha) > 0) & marked, axis=1)

    low, high = np.full(len(rows), 1e-6), np.full(len(rows), HIGHEST)
    never = ~vanished(high)
    for halving in range(2 * _HALVINGS):
        middle = np.sqrt(low * high) if halving < _HALVINGS else (low + high) / 2
        beyond = vanished(middle)
        high, low = np.where(beyond, middle, high), np.where(beyond, low, middle)
    return np.where(never, math.inf, high)


def stable_interval(branch: Branch, beta: float) -> tuple[float, float]:
    """Ends of the interval around β on which a branch is stable, over all support changes on the way."""
    return ends_of(next(part for part in stable_stretches(branch) if part.lower <= beta <= part.upper))


def ends_of(part: Piece | Stretch) -> tuple[float, float]:
    """Both ends of a part of a branch; 0 or inf at the edges of the range in which it was followed."""
    open_ends = (PointKind.RANGE, PointKind.UNBOUNDED)
    return (
        0.0 if part.lower_event.kind in open_ends else part.lower,
        math.inf if part.upper_event.kind in open_ends else part.upper,
    )


def minimum_near(model: HopfieldModel, x: Any, betas: Floats) -> float:
    """The middle one of the given β at which x itself is a strict minimum, or nan."""
    held = [
        float(beta)
        for beta in betas
        if (found := relax(model, x, float(beta))).status.is_minimum
        and float(np.linalg.norm(found.x - x)) <= 1e-9 * model.state_scale
    ]
    return held[len(held) // 2] if held else math.nan


def rotated(patterns: Any, seed: int = 0) -> Floats:
    """The same patterns in a random orientation of their own space, so that no axis is special."""
    d = np.shape(patterns)[1]
    frame, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))
    return np.asarray(patterns) @ frame
