"""The stability statements of Appendix E as checks that return what they measured.

Each function takes a case, computes both sides of its statement independently, and leaves the judgement to
the caller. Source: Propositions E.1 to E.4 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.tsallis import tsallis_divergence
from hopfieldphase.kernels import descent as kernel
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import kernel_problem, start_state

Array = NDArray[np.float64]

ZERO_CURVATURE = 1e-9
"""Eigenvalues of ∇²Γ below this, relative to the largest, count as zero."""

_STATIONARY = 1e-10  # relative residual of a point that counts as stationary
_SINGULAR = 1e-10  # singular values below this, relative to the largest, count as zero
_RESOLVED = 1e-9  # smallest divergence that is compared: its terms cancel to a few ε
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


@dataclass(frozen=True)
class DivergenceBounds:
    """Constants of c₁|z − z*|² ≤ D_α(p‖p*) ≤ c₂|p − p*|² for |p_μ/p*_μ − 1| ≤ spread (Proposition E.4).

    Attributes
    ----------
    spread : float
        Size of the neighbourhood, below 1.
    lower : float
        c₁ = lower_weights/‖G_S‖², G_S the columns of the Gram matrix on the support of p*, z = G p.
    lower_weights, upper : float
        D_α ≥ lower_weights |p − p*|² and D_α ≤ upper |p − p*|²: (α/2) τ^{α−2}/p*_μ at the ends of the range
        1 − spread ≤ τ ≤ 1 + spread and at the largest and the smallest weight.
    """

    spread: float
    lower: float
    lower_weights: float
    upper: float


@dataclass(frozen=True, eq=False)
class DivergenceCheck:
    """Tsallis divergences from p* and their bounds, for some weights.

    Attributes
    ----------
    divergence : ndarray, shape (n,)
        D_α(p‖p*); infinite for α ≥ 1 where p has weight outside the support of p*.
    weight_distance, score_distance : ndarray, shape (n,)
        |p − p*| and |G(p − p*)|.
    bounds : DivergenceBounds or None
        For the rows with |p_μ/p*_μ − 1| ≤ spread; None where there is no such row.
    inside : ndarray of bool, shape (n,)
        Those rows, as far as their divergence is resolved.
    lower_slack, upper_slack : float
        Smallest D/(c₁|δz|²) and smallest c₂|δp|²/D over them: at least 1. NaN where there is no row.
    """

    divergence: Array
    weight_distance: Array
    score_distance: Array
    bounds: DivergenceBounds | None
    inside: NDArray[np.bool_]
    lower_slack: float
    upper_slack: float


@dataclass(frozen=True, eq=False)
class HiddenChange:
    """Weights p ≠ p* with the same scores G p = G p* (Remark E.4).

    Attributes
    ----------
    weights : ndarray, shape (M,)
    divergence : float
        D_α(p‖p*) > 0.
    score_change : float
        |G(p − p*)|/(‖G‖ |p − p*|), zero to rounding.
    """

    weights: Array
    divergence: float
    score_change: float


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


def divergence_bounds(model: HopfieldModel, target: Any, spread: float) -> DivergenceBounds:
    """Explicit constants of Proposition E.4 on a stated neighbourhood of p*.

    With f(τ) = (τ^α − 1 − α(τ − 1))/(α − 1), D_α(p‖p*) = Σ p*_μ f(p_μ/p*_μ) and f'' = α τ^{α−2}, so that
    Taylor's theorem bounds every term. Weights outside the support of p* are zero.

    Parameters
    ----------
    model : HopfieldModel
    target : array, shape (M,)
        p*, interior or on a face of the simplex.
    spread : float
        In (0, 1).

    Returns
    -------
    DivergenceBounds

    Raises
    ------
    InputError
        If α is infinite, or an argument lies outside its domain.
    """
    alpha = model.alpha
    if np.isinf(alpha):
        raise InputError("alpha = inf has no smooth divergence: give a finite alpha")
    spread = real_number("spread", spread, 0, 1, ends="()")
    p = np.asarray(target, dtype=np.float64)
    support = p > 0
    powers = np.array([1 - spread, 1 + spread]) ** (alpha - 2)
    lower = alpha / 2 * float(powers.min() / p[support].max())
    upper = alpha / 2 * float(powers.max() / p[support].min())
    norm = float(np.linalg.norm(np.asarray(model.gram)[:, support], 2))
    return DivergenceBounds(spread=spread, lower=lower / norm**2, lower_weights=lower, upper=upper)


def check_divergence(
    model: HopfieldModel, weights: Any, target: Any, *, spread: float = 0.5
) -> DivergenceCheck:
    """Divergences of some weights from p* with the bounds on them.

    Parameters
    ----------
    model : HopfieldModel
    weights : array, shape (n, M)
        p, for example along a path.
    target : array, shape (M,)
        p*.
    spread : float
        Neighbourhood |p_μ/p*_μ − 1| ≤ spread within which the bounds are compared, in (0, 1).

    Returns
    -------
    DivergenceCheck

    Raises
    ------
    InputError
        As `divergence_bounds`.
    """
    p, target = np.atleast_2d(np.asarray(weights, dtype=np.float64)), np.asarray(target, dtype=np.float64)
    bounds = divergence_bounds(model, target, spread)
    divergence = np.asarray(tsallis_divergence(p, target, model.alpha))
    change = p - target
    moved = np.linalg.norm(change, axis=1)
    answer = np.linalg.norm(change @ np.asarray(model.gram), axis=1)
    near = (np.abs(change) <= spread * target).all(axis=1)
    inside = near & (divergence > _RESOLVED)
    chosen = divergence[inside]
    slack = (np.nan, np.nan)
    if chosen.size:
        with np.errstate(divide="ignore"):
            slack = (
                float((chosen / (bounds.lower * answer[inside] ** 2)).min()),
                float((bounds.upper * moved[inside] ** 2 / chosen).min()),
            )
    return DivergenceCheck(
        divergence=divergence,
        weight_distance=moved,
        score_distance=answer,
        bounds=bounds if near.any() else None,
        inside=inside,
        lower_slack=slack[0],
        upper_slack=slack[1],
    )


def hidden_change(model: HopfieldModel, target: Any, *, spread: float = 0.5) -> HiddenChange:
    """Other weights with the scores of p*: where the Gram matrix is singular, z does not determine p.

    No path of the update shows this: there p = ∇Ω*(βz), which for α ≤ 2 is Lipschitz,
    |p − p*| ≤ (β/α)|z − z*|, so that p converges with z whatever G is. It concerns weights that are moved
    independently of the scores.

    Parameters
    ----------
    model : HopfieldModel
    target : array, shape (M,)
        p*; the change is confined to its support.
    spread : float
        Largest |p_μ/p*_μ − 1|, in (0, 1).

    Returns
    -------
    HiddenChange

    Raises
    ------
    InputError
        If on the support no change of zero sum leaves the scores alone.
    """
    spread = real_number("spread", spread, 0, 1, ends="()")
    target = np.asarray(target, dtype=np.float64)
    support = np.flatnonzero(target > 0)
    gram = np.asarray(model.gram, dtype=np.float64)
    size = float(np.linalg.norm(gram, 2))
    rows = np.vstack([gram[:, support] / size, np.full(support.size, support.size**-0.5)])
    _, sigma, right = np.linalg.svd(rows)
    if sigma[-1] > _SINGULAR:
        raise InputError(
            "the Gram matrix is invertible on the support of the weights, so that scores determine them: "
            "give patterns with duplicates, or more than d + 1 of them"
        )
    change = np.zeros_like(target)
    change[support] = right[-1]
    change *= spread / np.abs(change[support] / target[support]).max()
    p = target + change
    return HiddenChange(
        weights=p,
        divergence=float(tsallis_divergence(p, target, model.alpha)),
        score_change=float(np.linalg.norm(gram @ change) / (size * np.linalg.norm(change))),
    )
