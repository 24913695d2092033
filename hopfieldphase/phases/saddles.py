"""Saddles of index one at fixed β: Newton steps uphill along one direction, and the check of the Hessian."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core import entmax
from hopfieldphase.kernels.relax import FLAT, TIE
from hopfieldphase.kernels.steps import EPSILON
from hopfieldphase.model import HopfieldModel

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

_MAX_STEPS = 200
# Shortest step, relative to the first longest one, before the search gives up.
_SHORTEST = 1e-10


class SaddleStatus(StrEnum):
    """What is known of a point that was sought as a saddle of index one."""

    VERIFIED = "verified"
    """Stationary, one negative eigenvalue of the Hessian, all others positive."""
    FACET = "facet"
    """The same for the Hessians of both sides, where patterns tie with the threshold (α ≥ 2)."""
    ELSEWHERE = "elsewhere"
    """A saddle of index one, but descent from it does not lead to the two minima beside it on the path."""
    HIGHER_INDEX = "higher_index"
    """Stationary, but without exactly one direction of descent."""
    NOT_STATIONARY = "not_stationary"
    """The search ended without a stationary point."""

    @property
    def is_saddle(self) -> bool:
        """Whether it is a saddle of index one."""
        return self in (SaddleStatus.VERIFIED, SaddleStatus.FACET)


@dataclass(frozen=True, eq=False)
class Saddle:
    """A stationary point between two minima.

    Attributes
    ----------
    x : ndarray, shape (d,)
        The state.
    free_energy : float
        Γ_α(x).
    unstable : float
        λ₋/β, the lowest eigenvalue of the Hessian in units of β.
    soft : float
        The second lowest one in units of β; NaN for d = 1.
    direction : ndarray, shape (d,)
        Unit eigenvector of λ₋.
    residual : float
        |x − T(x)| / max(|x|, s·max|ξ|).
    status : SaddleStatus
    """

    x: Vector
    free_energy: float
    unstable: float
    soft: float
    direction: Vector
    residual: float
    status: SaddleStatus


def tied_patterns(
    model: HopfieldModel, x: Vector, beta: float
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Patterns clearly above the threshold, and those that equal it to rounding, each (M,); α ≥ 2.

    For α < 2, where the Hessian is continuous, and α = ∞ the second is empty.
    """
    z = model.overlaps(x)
    p = model.weights(x, beta)
    if model.alpha < 2 or np.isinf(model.alpha):
        return p > 0, np.zeros(len(p), dtype=bool)
    theta = float(entmax.threshold(z, model.alpha, beta))
    size = max(abs(theta), float(np.abs(z[p > 0]).max()))
    gap = z - theta
    closest = TIE if model.alpha == 2 else 64 * EPSILON
    # A weight that rounding has made zero may stand a little above the threshold.
    tied = (gap >= -TIE * size) & (gap <= np.where(p > 0, closest, TIE) * size)
    return (p > 0) & ~tied, tied


def one_sided_hessians(model: HopfieldModel, x: Vector, beta: float) -> tuple[Matrix, Matrix]:
    """Hessians without and with the patterns that tie with the threshold; the same matrix without ties.

    At α = 2 every pattern of the support responds with w = ½, so that both are exact. At α > 2 the response
    of a tied pattern is infinite, and the second matrix is its limit for one tied pattern.
    """
    inside, tied = tied_patterns(model, x, beta)
    if not tied.any():
        hessian = model.hessian(x, beta)
        return hessian, hessian
    p = model.weights(x, beta)
    response = np.where(inside, np.where(inside, p, 1.0) ** (2 - model.alpha) / model.alpha, 0.0)
    largest = response.max()
    entering = 0.5 if model.alpha == 2 else largest / EPSILON
    return (
        _hessian(model, beta, response),
        _hessian(model, beta, np.where(tied, entering, response)),
    )


def find_saddle(model: HopfieldModel, x: Vector, beta: float, along: Vector, longest: float) -> Saddle:
    """Go uphill along one direction and downhill along all others to a stationary point.

    Parameters
    ----------
    model : HopfieldModel
    x : array, shape (d,)
        Where the search starts.
    beta : float
    along : array, shape (d,)
        The direction that is followed uphill: the eigenvector that overlaps most with it, then with its
        predecessor.
    longest : float
        Length of the longest step; it is halved whenever a step does not shrink the residual.
    """
    residual = float(model.gradient_residual(x, beta))
    limit, shortest = longest, longest * _SHORTEST
    floor = 4 * EPSILON * (1 + beta * model.state_scale**2)
    for _ in range(_MAX_STEPS):
        if residual <= floor or limit < shortest:
            break
        values, vectors = np.linalg.eigh(model.hessian(x, beta))
        followed = int(np.argmax(np.abs(along @ vectors)))
        along = vectors[:, followed]
        slopes = vectors.T @ model.gradient(x, beta)
        lengths = -slopes / np.maximum(np.abs(values), FLAT * beta)
        lengths[followed] *= -1
        size = float(np.sqrt(lengths @ lengths))
        trial = x + vectors @ lengths * min(1.0, limit / size)
        found = float(model.gradient_residual(trial, beta))
        if found < residual or size > limit:
            # a capped step may raise the residual: it goes uphill on purpose
            x, residual = trial, found
        if found >= residual:
            limit = min(limit, size) / 2
    return _checked(model, x, beta, residual)


def _checked(model: HopfieldModel, x: Vector, beta: float, residual: float) -> Saddle:
    inner, outer = one_sided_hessians(model, x, beta)
    values, vectors = np.linalg.eigh(inner)
    with_tied = values if outer is inner else np.linalg.eigvalsh(outer)
    floor = 64 * EPSILON * (1 + beta * model.state_scale**2)
    if residual > max(floor, 1e-12):
        status = SaddleStatus.NOT_STATIONARY
    elif not all(_is_index_one(spectrum / beta) for spectrum in (values, with_tied)):
        status = SaddleStatus.HIGHER_INDEX
    else:
        status = SaddleStatus.VERIFIED if outer is inner else SaddleStatus.FACET
    return Saddle(
        x=x,
        free_energy=float(model.free_energy(x, beta)),
        unstable=float(values[0]) / beta,
        soft=float(values[1]) / beta if len(values) > 1 else np.nan,
        direction=vectors[:, 0],
        residual=residual,
        status=status,
    )


def _is_index_one(spectrum: NDArray[np.floating]) -> bool:
    return bool(spectrum[0] < -FLAT and (spectrum[1:] > FLAT).all())


def _hessian(model: HopfieldModel, beta: float, response: Vector) -> Matrix:
    """β I − β² s² Ξᵀ (diag(w) − w wᵀ/Σw) Ξ."""
    total = response.sum()
    centred = model.patterns - (response / total) @ model.patterns
    return beta * np.eye(model.d) - (beta * model.scale) ** 2 * (centred.T * response) @ centred
