"""A verified minimum and its modes, ∇²Γ u_i = λ_i u_i, as fixed-step descent sees them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

Array = NDArray[np.float64]

SAME_RATE = 1e-9
"""Eigenvalues this close, relative to the largest, count as equal; |1 − ηλ| this close to 1 as marginal."""

_NEWTON_STEPS = 2


class Forecast(StrEnum):
    """What the linear theory says of a step size."""

    STABLE = "stable"
    MARGINAL = "marginal"
    UNSTABLE = "unstable"


@dataclass(frozen=True, eq=False)
class Minimum:
    """A verified minimum with its Hessian modes.

    Attributes
    ----------
    model : HopfieldModel
    beta : float
        Inverse temperature β.
    x : ndarray, shape (d,)
        The minimum x*, stationary to rounding.
    eigenvalues : ndarray, shape (d,)
        Of ∇²Γ(x*), ascending.
    modes : ndarray, shape (d, d)
        Eigenvectors u_i as columns.
    soft : ndarray, shape (d,)
        u_soft: the unit vector of the lowest eigenspace nearest to x*. Where that space has more than one
        dimension (all of ℝᵈ for a single pattern, ∇²Γ = βI) this makes the choice unique.
    soft_dimension : int
        Dimension of the lowest eigenspace.
    """

    model: HopfieldModel
    beta: float
    x: Array
    eigenvalues: Array
    modes: Array
    soft: Array
    soft_dimension: int

    @property
    def critical_step(self) -> float:
        """η_crit = 2/λ_max(∇²Γ(x*)), Eq. (E.5)."""
        return 2 / float(self.eigenvalues[-1])

    @property
    def length(self) -> float:
        """Distance over which Γ is close to quadratic: the smaller of s·max|ξ| and 1/(β s·max|ξ|)."""
        return min(self.model.state_scale, 1 / (self.beta * self.model.state_scale))

    def rates(self, step: float) -> Array:
        """1 − ηλ_i of every mode, shape (d,), Eq. (E.6)."""
        return 1 - step * self.eigenvalues

    def forecast(self, step: float) -> Forecast:
        """What the largest |1 − ηλ_i| means."""
        excess = float(np.abs(self.rates(step)).max()) - 1
        if abs(excess) <= SAME_RATE:
            return Forecast.MARGINAL
        return Forecast.UNSTABLE if excess > 0 else Forecast.STABLE

    def unstable_modes(self, step: float) -> NDArray[np.bool_]:
        """Which modes grow: |1 − ηλ_i| > 1, shape (d,)."""
        return np.abs(self.rates(step)) > 1 + SAME_RATE


def find_minimum(model: HopfieldModel, x0: Any, beta: float) -> Minimum:
    """Relax a start to a verified minimum and take its modes.

    Parameters
    ----------
    model : HopfieldModel
    x0 : array, shape (d,)
        Start state.
    beta : float
        Inverse temperature, β > 0.

    Returns
    -------
    Minimum

    Raises
    ------
    InputError
        If the relaxation does not end at a verified minimum, or an argument lies outside its domain.
    """
    beta = inverse_temperature(beta)
    found = relax(model, x0, beta)
    if not found.status.is_minimum:
        raise InputError(
            f"at beta = {beta:.12g} this start leads to no verified minimum ({found.status.sentence}): "
            "choose another start or beta"
        )
    x = np.asarray(found.x, dtype=np.float64)
    for _ in range(_NEWTON_STEPS):
        better = x - np.linalg.solve(model.hessian(x, beta), model.gradient(x, beta))
        if model.gradient_residual(better, beta) >= model.gradient_residual(x, beta):
            break
        x = better
    eigenvalues, modes = np.linalg.eigh(model.hessian(x, beta))
    lowest = modes[:, eigenvalues - eigenvalues[0] <= SAME_RATE * eigenvalues[-1]]
    along = lowest.T @ x
    size = float(np.linalg.norm(along))
    soft = lowest[:, 0] if size <= SAME_RATE * model.state_scale else lowest @ (along / size)
    return Minimum(model, beta, x, eigenvalues, modes, soft / np.linalg.norm(soft), lowest.shape[1])
