"""Stability of states, scores and updates (Appendix E) as checks that return what they measured.

Each function takes a case, computes both sides of its statement independently, and leaves the judgement to
the caller. Source: Propositions E.1 to E.3 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import descent as kernel
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import kernel_problem, start_state

Array = NDArray[np.float64]

ZERO_CURVATURE = 1e-9
"""Eigenvalues of ∇²Γ below this, relative to the largest, count as zero."""

_STATIONARY = 1e-10  # relative residual of a point that counts as stationary
_SINGULAR = 1e-10  # singular values below this, relative to the largest, count as zero
_ALONG = 11  # points at which Γ is compared along the kernel


@dataclass(frozen=True)
class DegenerateStability:
    """Descent near a degenerate minimum (Proposition E.1).

    Attributes
    ----------
    kernel_dimension : int
        Of K, the kernel of ∇²Γ(x*).
    step_bound : float
        2/λ_max on the complement of K, Eq. (E.5).
    rate : float
        Largest |1 − ηλ_i| on the complement.
    complement_start, complement_end : float
        |x − x*| in the complement of K, at the start and at the end of the descent.
    shift : float
        |v|, the part of the end in K.
    energy_spread : float
        Largest |Γ(x* + τv) − Γ(x*)|, 0 ≤ τ ≤ 1, relative to max(1, |Γ(x*)|): the premise that Γ is constant
        along K. Zero curvature alone does not give it.
    """

    kernel_dimension: int
    step_bound: float
    rate: float
    complement_start: float
    complement_end: float
    shift: float
    energy_spread: float


@dataclass(frozen=True)
class ScoreBound:
    """Distances of states against distances of scores (Proposition E.2).

    Attributes
    ----------
    sigma_min, sigma_max : float
        Smallest non-zero and largest singular value of the patterns Ξ.
    constant : float
        1/(s σ_min), which is √d/σ_min at the default scale, Eq. (E.9).
    kernel_dimension : int
        Of D = ker Ξ, the directions that no score sees.
    largest : float
        Largest |Πδx|/(constant |δz|) of the displacements, Π the projection off D: at most 1.
    equality : float
        The same for the singular direction of σ_min: 1.
    growth : float
        Largest |δz|/(s σ_max |Πδx|): at most 1. With `largest`: z converges exactly where Πx does.
    hidden : float
        Largest |δz|/(s σ_max |δx|) within D: 0.
    """

    sigma_min: float
    sigma_max: float
    constant: float
    kernel_dimension: int
    largest: float
    equality: float
    growth: float
    hidden: float


@dataclass(frozen=True)
class SpectralStability:
    """Stability of the update in score space against the curvature of Γ (Proposition E.3).

    Attributes
    ----------
    spectral_radius : float
        Of βGJ, the Jacobian of z ↦ s Ξ T, from its M eigenvalues.
    hessian_min : float
        λ_min(∇²Γ)/β, from the d eigenvalues of the Hessian.
    deviation : float
        |spectral_radius − (1 − hessian_min)|: zero for every α > 0 where no score equals the threshold. A
        radius below 1 and positive curvature are then the same condition.
    largest_imaginary : float
        Largest imaginary part among the eigenvalues of βGJ, which are real in exact arithmetic.
    """

    spectral_radius: float
    hessian_min: float
    deviation: float
    largest_imaginary: float


def check_degenerate_stability(
    model: HopfieldModel,
    x: Any,
    beta: float,
    displacement: Any,
    *,
    factor: float = 0.5,
    iterations: int = 1000,
) -> DegenerateStability:
    """Descend from x* + displacement with η = factor · 2/λ_max on the complement of the kernel of ∇²Γ(x*).

    Parameters
    ----------
    model : HopfieldModel
    x : array, shape (d,)
        Stationary point x* with ∇²Γ ≥ 0. Directions orthogonal to all patterns are no part of the kernel:
        their curvature is β.
    beta : float
        Inverse temperature, β > 0.
    displacement : array, shape (d,)
    factor : float
        Below 1 the complement must contract, above it must grow.
    iterations : int
        Number of steps.

    Returns
    -------
    DegenerateStability

    Raises
    ------
    InputError
        If x* is not stationary or has a negative curvature, or an argument lies outside its domain.
    """
    beta = inverse_temperature(beta)
    factor = real_number("factor", factor, 0, np.inf, ends="()")
    count = whole_number("iterations", iterations) + 1
    x, shift = start_state(model, x), start_state(model, displacement)
    residual = float(model.gradient_residual(x, beta))
    eigenvalues, modes = np.linalg.eigh(model.hessian(x, beta))
    zero = ZERO_CURVATURE * eigenvalues[-1]
    if residual > _STATIONARY or eigenvalues[0] < -zero:
        raise InputError(
            f"x has the relative residual {residual:.2g} and the lowest curvature {eigenvalues[0]:.2g}: "
            "give a stationary point without negative curvature"
        )
    flat = eigenvalues <= zero
    bound = 2 / float(eigenvalues[-1])
    states = np.empty((count, model.d))
    n, _ = kernel.descend(
        kernel_problem(model),
        beta,
        factor * bound,
        x + shift,
        x,
        np.inf,
        0.0,
        np.inf,
        states,
        np.empty(count),
    )
    start, end = ((states[[0, n - 1]] - x) @ modes).copy()
    along = x + np.linspace(0, 1, _ALONG)[:, None] * (modes[:, flat] @ end[flat])
    energies = model.free_energy(along, beta)
    return DegenerateStability(
        kernel_dimension=int(flat.sum()),
        step_bound=bound,
        rate=float(np.abs(1 - factor * bound * eigenvalues[~flat]).max()),
        complement_start=float(np.linalg.norm(start[~flat])),
        complement_end=float(np.linalg.norm(end[~flat])),
        shift=float(np.linalg.norm(end[flat])),
        energy_spread=float(np.ptp(energies) / max(1.0, abs(energies[0]))),
    )


def check_score_bound(model: HopfieldModel, displacements: Any) -> ScoreBound:
    """Compare |Πδx| with |δz| for given displacements.

    Parameters
    ----------
    model : HopfieldModel
    displacements : array, shape (n, d)
        δx, for example x(t) − x* along a path.

    Returns
    -------
    ScoreBound

    Raises
    ------
    InputError
        If the displacements have another shape.
    """
    moved = np.atleast_2d(np.asarray(displacements, dtype=np.float64))
    scores = model.overlaps(moved)
    _, sigma, right = np.linalg.svd(np.asarray(model.patterns, dtype=np.float64), full_matrices=True)
    rank = int((sigma > _SINGULAR * sigma[0]).sum())
    low, high = float(sigma[rank - 1]), float(sigma[0])
    seen, unseen = right[:rank], right[rank:]
    projected = np.linalg.norm(moved @ seen.T, axis=1)
    answer = np.linalg.norm(scores, axis=1)
    visible = projected > _SINGULAR * np.linalg.norm(moved, axis=1)
    constant = 1 / (model.scale * low)
    ratio = projected[visible] / answer[visible]
    hidden = np.linalg.norm(model.overlaps(unseen), axis=1) if rank < model.d else np.zeros(1)
    return ScoreBound(
        sigma_min=low,
        sigma_max=high,
        constant=constant,
        kernel_dimension=model.d - rank,
        largest=float(ratio.max(initial=0.0) / constant),
        equality=1 / (constant * float(np.linalg.norm(model.overlaps(seen[-1])))),
        growth=float((1 / ratio).max(initial=0.0) / (model.scale * high)),
        hidden=float(hidden.max() / (model.scale * high)),
    )


def check_spectral_stability(model: HopfieldModel, x: Any, beta: float) -> SpectralStability:
    """Compare the spectral radius of βGJ with the lowest curvature of Γ at a state.

    Parameters
    ----------
    model : HopfieldModel
    x : array, shape (d,)
        Any state at which no score equals the threshold; stationary or not.
    beta : float
        Inverse temperature, β > 0.

    Returns
    -------
    SpectralStability

    Raises
    ------
    InputError
        If an argument lies outside its domain.
    """
    x = start_state(model, x)
    spectrum = np.linalg.eigvals(model.score_jacobian(x, beta))
    radius = float(np.abs(spectrum).max())
    lowest = float(np.linalg.eigvalsh(model.hessian(x, beta))[0]) / inverse_temperature(beta)
    return SpectralStability(
        spectral_radius=radius,
        hessian_min=lowest,
        deviation=abs(radius - (1 - lowest)),
        largest_imaginary=float(np.abs(spectrum.imag).max()),
    )
