"""Update stability: fixed-step descent near a minimum, predicted mode by mode and measured.

Near a minimum x* with ∇²Γ u_i = λ_i u_i the update x ← x − η∇Γ multiplies the component δ_i = u_i·(x − x*) by
1 − ηλ_i, so that it converges for η < η_crit = 2/λ_max. A start x* + A u_soft excites the other modes by the
cubic terms of Γ at order A², far above what rounding leaves in them unless A is tiny; both are followed.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import descent as kernel
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax
from hopfieldphase.solvers.options import kernel_problem

Array = NDArray[np.float64]

SAME_RATE = 1e-9
"""Eigenvalues this close, relative to the largest, count as equal; |1 − ηλ| this close to 1 as marginal."""

_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # what one step adds, in units of s·max|ξ|
_LONGEST_MEMORY = 1e6  # steps over which roundings are taken to add up, at most
_NEWTON_STEPS = 2
_PROBE = 1e-4  # displacement of a measured rate, in units of the length over which Γ stays quadratic
_PROBE_STEPS = 8


class Outcome(StrEnum):
    """How fixed-step descent ends."""

    CONVERGES = "converges"
    PERSISTS = "persists"
    DIVERGES = "diverges"
    ELSEWHERE = "settles elsewhere"


class Forecast(StrEnum):
    """What the linear theory says of a step size."""

    STABLE = "stable"
    MARGINAL = "marginal"
    UNSTABLE = "unstable"


@dataclass(frozen=True, eq=False)
class FixedPoint:
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


@dataclass(frozen=True, eq=False)
class Descent:
    """One path of fixed-step descent from x* + A u_soft, and what perturbation theory says of it.

    Attributes
    ----------
    step : float
        Step size η.
    forecast : Forecast
        From the largest |1 − ηλ_i|.
    outcome : Outcome
        What happened. `DIVERGES` is certain: beyond |x| = ηβL/(ηβ − 2), L = s·max|ξ|, every iterate is longer
        than the one before. `PERSISTS` means that the iteration limit came first.
    distance : ndarray, shape (n,)
        |x(t) − x*| for t = 0, 1, …
    overlap_max : ndarray, shape (n,)
        max_μ z_μ(x(t)).
    unstable_distance : ndarray, shape (n,)
        The part of the distance in the modes with |1 − ηλ_i| > 1.
    distance_predicted : ndarray, shape (n,)
        The distance to second order in A (`predicted_components`); NaN once it exceeds s·max|ξ|, and
        everywhere without `support_kept`.
    support_kept : bool
        Whether x* ± A u_soft have the support of x*. Where they do not, Γ has a kink of some order between
        them, perturbation theory does not apply, and what it predicts is left out.
    onset, onset_predicted, onset_linear : int or None
        First iteration at which the unstable modes outweigh all others: measured, to second order in A, and
        to first order from the measured components of the start (E.6). None where none grows or it comes
        after the iteration limit.
    floor, floor_predicted : float or None
        Distance at the onset, measured and predicted: how near to x* the path has come.
    seed, seed_linear : float
        What grows in the unstable modes, extrapolated back to t = 0: put there by the cubic terms of Γ at
        order A², and what the start itself has in them (rounding, where u_soft is not among them). Where only
        rounding seeds them, that of every later step adds to it, and growth sets in somewhat earlier.
    """

    step: float
    forecast: Forecast
    outcome: Outcome
    distance: Array
    overlap_max: Array
    unstable_distance: Array
    distance_predicted: Array
    support_kept: bool
    onset: int | None
    onset_predicted: int | None
    onset_linear: int | None
    floor: float | None
    floor_predicted: float | None
    seed: float
    seed_linear: float


def find_fixed_point(model: HopfieldModel, x0: Any, beta: float) -> FixedPoint:
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
    FixedPoint

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
    return FixedPoint(model, beta, x, eigenvalues, modes, soft / np.linalg.norm(soft), lowest.shape[1])


def descend(point: FixedPoint, step: float, *, amplitude: float = 1e-2, iterations: int = 500) -> Descent:
    """Iterate x ← x − η∇Γ from x* + A u_soft, and compare with perturbation theory.

    Parameters
    ----------
    point : FixedPoint
    step : float
        Step size η > 0, fixed.
    amplitude : float
        A > 0, the distance of the start from x*.
    iterations : int
        Limit on the number of steps.

    Returns
    -------
    Descent

    Raises
    ------
    InputError
        If an argument lies outside its domain.

    Notes
    -----
    Source: Appendix E and Section G.1 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    step = real_number("step", step, 0, np.inf, ends="()")
    amplitude = real_number("amplitude", amplitude, 0, np.inf, ends="()")
    count = whole_number("iterations", iterations) + 1
    model, beta = point.model, point.beta
    states, overlap_max = np.empty((count, model.d)), np.empty(count)
    forecast = point.forecast(step)
    floor = _ROUNDING * model.state_scale
    near = np.sqrt(floor * model.state_scale)
    if forecast is Forecast.STABLE:
        floor *= min(1 / (1 - float(np.abs(point.rates(step)).max())), _LONGEST_MEMORY)
        near = 0.0
    n, ending = kernel.descend(
        kernel_problem(model), beta, step, point.x + amplitude * point.soft, point.x, near, floor,
        escape_radius(point, step), states, overlap_max,
    )  # fmt: skip
    components = (states[:n] - point.x) @ point.modes
    unstable = point.unstable_modes(step)
    predicted = predicted_components(point, step, components[0], amplitude, iterations)
    linear = predicted_components(point, step, components[0], amplitude, iterations, order=1)
    onset, least = _onset(components, unstable)
    kept = _keeps_support(point, amplitude)
    onset_predicted, least_predicted = _onset(predicted, unstable) if kept else (None, None)
    onset_linear, _ = _onset(linear, unstable) if kept else (None, None)
    seed = amplitude**2 * second_order_seed(point, step)[unstable]
    distance = np.linalg.norm(components, axis=1)
    return Descent(
        step=step,
        forecast=forecast,
        outcome=_outcome(point, ending, float(distance[-1]), floor),
        distance=distance,
        overlap_max=overlap_max[:n].copy(),
        unstable_distance=np.linalg.norm(components[:, unstable], axis=1),
        distance_predicted=_while_small(
            np.linalg.norm(predicted[:n], axis=1), model.state_scale if kept else 0.0
        ),
        support_kept=kept,
        onset=onset,
        onset_predicted=onset_predicted,
        onset_linear=onset_linear,
        floor=least,
        floor_predicted=least_predicted,
        seed=float(np.linalg.norm(seed)),
        seed_linear=float(np.linalg.norm(components[0, unstable])),
    )


def predicted_components(
    point: FixedPoint, step: float, start: Any, amplitude: float, iterations: int, *, order: int = 2
) -> Array:
    """Components δ_i(t) of x(t) − x* along the modes, in powers of the amplitude.

    To first order δ_i(t) = r_i^t δ_i(0) with r_i = 1 − ηλ_i, Eq. (E.6). To second order the soft mode, of
    rate r, feeds every other through c_i = u_i·∇³Γ(u_soft, u_soft):

        δ_i(t) = r_i^t δ_i(0) − (η/2) A² c_i (r_i^t − r^{2t}) / (r_i − r²).

    Parameters
    ----------
    point : FixedPoint
    step : float
        Step size η.
    start : array, shape (d,)
        Components δ_i(0) of the start, rounding included.
    amplitude : float
        A.
    iterations : int
        Last t.
    order : {1, 2}

    Returns
    -------
    ndarray, shape (iterations + 1, d)
        Infinite where the powers overflow.
    """
    rates = point.rates(step)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        powers = _powers(rates, iterations)
        components = powers * np.asarray(start)
        if order > 1:
            soft = rates[:1] ** 2
            gap = rates - soft
            apart = np.abs(gap) > SAME_RATE
            response = (powers - _powers(soft, iterations)) / np.where(apart, gap, 1.0)
            # Σ_s r_i^{t−1−s} r^{2s}, which is t r_i^{t−1} where both rates meet.
            response[1:, ~apart] = np.arange(1, iterations + 1)[:, None] * powers[:-1, ~apart]
            components -= step / 2 * amplitude**2 * cubic_coupling(point) * response
    return np.where(np.isnan(components), np.inf, components)


def cubic_coupling(point: FixedPoint) -> Array:
    """c_i = u_i·∇³Γ(u_soft, u_soft) at x*, shape (d,).

    With a = β s Ξ u_soft, the response weights w = p^{2−α}/α on the support and ā = Σ w a / Σ w,
    ∇³Γ(u_soft, u_soft) = −β s Ξᵀ (v − w Σv/Σw) with v = (2 − α) w² (a − ā)²/p: the derivative of J a along a.
    """
    model, beta, alpha = point.model, point.beta, point.model.alpha
    p = np.asarray(model.weights(point.x, beta), dtype=np.float64)
    support = p > 0
    if np.isinf(alpha) or support.sum() == 1:
        return np.zeros(model.d)
    p, patterns = p[support], np.asarray(model.patterns, dtype=np.float64)[support]
    w = p ** (2 - alpha) / alpha
    share = w / w.sum()
    a = beta * model.scale * (patterns @ point.soft)
    bend = (2 - alpha) * w**2 * (a - share @ a) ** 2 / p
    return -beta * model.scale * ((bend - share * bend.sum()) @ patterns) @ point.modes


def second_order_seed(point: FixedPoint, step: float) -> Array:
    """(η/2) c_i/(r² − r_i), shape (d,): A² times this is what the soft mode leaves in mode i, at t = 0."""
    gap = (1 - step * float(point.eigenvalues[0])) ** 2 - point.rates(step)
    return step / 2 * cubic_coupling(point) / np.where(np.abs(gap) > SAME_RATE, gap, np.inf)


def measured_rates(point: FixedPoint, step: float) -> Array:
    """Contraction factor of every mode, measured on the full update, shape (d,).

    x* ± a u_i are iterated with a = 10⁻⁴ `point.length`; half of their difference, in which even orders of a
    cancel, is projected on u_i. The result is the geometric mean per step, with the sign of the first one,
    over up to eight steps while the projection stays within (10⁻³ a, 10 a).
    """
    a = _PROBE * point.length
    x = point.x + a * np.stack([point.modes.T, -point.modes.T])
    rates = np.empty(point.model.d)
    going = np.ones(point.model.d, dtype=bool)
    for k in range(1, _PROBE_STEPS + 1):
        x = x - step * point.model.gradient(x, point.beta)
        component = np.einsum("ij,ji->i", (x[0] - x[1]) / 2, point.modes)
        if k == 1:
            rates[:] = component / a
        else:
            going &= (np.abs(component) > 1e-3 * a) & (np.abs(component) < 10 * a)
            rates[going] = np.sign(rates[going]) * (np.abs(component[going]) / a) ** (1 / k)
    return rates


def escape_radius(point: FixedPoint, step: float) -> float:
    """Norm from which on every iterate is longer than the last: ηβL/(ηβ − 2), infinite for ηβ ≤ 2.

    T(x) is an average of the s ξ_μ, so |T| ≤ L = s·max|ξ| and |x'| ≥ (ηβ − 1)|x| − ηβL.
    """
    drive = step * point.beta
    return drive * point.model.state_scale / (drive - 2) if drive > 2 else np.inf


def _powers(rates: Array, last: int) -> Array:
    """r^t for t = 0 … last, shape (last + 1, …)."""
    factors = np.broadcast_to(rates, (last + 1, rates.size)).copy()
    factors[0] = 1.0
    return np.multiply.accumulate(factors, axis=0)


def _keeps_support(point: FixedPoint, amplitude: float) -> bool:
    away = np.array([[-amplitude], [0.0], [amplitude]]) * point.soft
    support = np.asarray(point.model.weights(point.x + away, point.beta)) > 0
    return bool((support == support[1]).all())


def _onset(components: Array, unstable: NDArray[np.bool_]) -> tuple[int | None, float | None]:
    """First t at which the unstable components outweigh the others, and the distance there."""
    if not unstable.any():
        return None, None
    with np.errstate(over="ignore"):
        growing = np.linalg.norm(components[:, unstable], axis=1)
        others = np.linalg.norm(components[:, ~unstable], axis=1)
    ahead = np.flatnonzero(growing > others)
    if ahead.size == 0:
        return None, None
    return int(ahead[0]), float(np.hypot(growing[ahead[0]], others[ahead[0]]))


def _outcome(point: FixedPoint, ending: int, distance: float, floor: float) -> Outcome:
    if ending == kernel.ESCAPED:
        return Outcome.DIVERGES
    if ending == kernel.LIMIT:
        return Outcome.PERSISTS
    # |x − T(x)| = |∇²Γ (x − x*)|/β near x*.
    near = 4 * floor * point.beta / float(point.eigenvalues[0])
    return Outcome.CONVERGES if distance <= near else Outcome.ELSEWHERE


def _while_small(values: Array, limit: float) -> Array:
    """The values up to the first one above the limit, then NaN."""
    above = np.flatnonzero(~(values <= limit))
    values[above[0] if above.size else values.size :] = np.nan
    return values
