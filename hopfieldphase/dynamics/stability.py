"""Update stability: fixed-step descent near a minimum, predicted mode by mode and measured.

Near a minimum x* with ∇²Γ u_i = λ_i u_i the update x ← x − η∇Γ multiplies the component δ_i = u_i·(x − x*) by
1 − ηλ_i, so that it converges for η < η_crit = 2/λ_max. A start x* + A u_soft excites the other modes by the
cubic terms of Γ at order A², far above what rounding leaves in them unless A is tiny; both are followed.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.dynamics.minimum import Forecast, Minimum
from hopfieldphase.dynamics.modes import predicted_components, second_order_seed
from hopfieldphase.kernels import descent as kernel
from hopfieldphase.solvers.options import kernel_problem

Array = NDArray[np.float64]

_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # what one step adds, in units of s·max|ξ|
_LONGEST_MEMORY = 1e6  # steps over which roundings are taken to add up, at most


class Outcome(StrEnum):
    """How fixed-step descent ends."""

    CONVERGES = "converges"
    PERSISTS = "persists"
    DIVERGES = "diverges"
    ELSEWHERE = "settles elsewhere"


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


def descend(minimum: Minimum, step: float, *, amplitude: float = 1e-2, iterations: int = 500) -> Descent:
    """Iterate x ← x − η∇Γ from x* + A u_soft, and compare with perturbation theory.

    Parameters
    ----------
    minimum : Minimum
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
    model, beta = minimum.model, minimum.beta
    states, overlap_max = np.empty((count, model.d)), np.empty(count)
    forecast = minimum.forecast(step)
    floor = _ROUNDING * model.state_scale
    near = np.sqrt(floor * model.state_scale)
    if forecast is Forecast.STABLE:
        floor *= min(1 / (1 - float(np.abs(minimum.rates(step)).max())), _LONGEST_MEMORY)
        near = 0.0
    n, ending = kernel.descend(
        kernel_problem(model), beta, step, minimum.x + amplitude * minimum.soft, minimum.x, near, floor,
        escape_radius(minimum, step), states, overlap_max,
    )  # fmt: skip
    components = (states[:n] - minimum.x) @ minimum.modes
    unstable = minimum.unstable_modes(step)
    predicted = predicted_components(minimum, step, components[0], amplitude, iterations)
    linear = predicted_components(minimum, step, components[0], amplitude, iterations, order=1)
    onset, least = _onset(components, unstable)
    kept = _keeps_support(minimum, amplitude)
    onset_predicted, least_predicted = _onset(predicted, unstable) if kept else (None, None)
    onset_linear, _ = _onset(linear, unstable) if kept else (None, None)
    seed = amplitude**2 * second_order_seed(minimum, step)[unstable]
    distance = np.linalg.norm(components, axis=1)
    return Descent(
        step=step,
        forecast=forecast,
        outcome=_outcome(minimum, ending, float(distance[-1]), floor),
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


def escape_radius(minimum: Minimum, step: float) -> float:
    """Norm from which on every iterate is longer than the last: ηβL/(ηβ − 2), infinite for ηβ ≤ 2.

    T(x) is an average of the s ξ_μ, so |T| ≤ L = s·max|ξ| and |x'| ≥ (ηβ − 1)|x| − ηβL.
    """
    drive = step * minimum.beta
    return drive * minimum.model.state_scale / (drive - 2) if drive > 2 else np.inf


def _keeps_support(minimum: Minimum, amplitude: float) -> bool:
    away = np.array([[-amplitude], [0.0], [amplitude]]) * minimum.soft
    support = np.asarray(minimum.model.weights(minimum.x + away, minimum.beta)) > 0
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


def _outcome(minimum: Minimum, ending: int, distance: float, floor: float) -> Outcome:
    if ending == kernel.ESCAPED:
        return Outcome.DIVERGES
    if ending == kernel.LIMIT:
        return Outcome.PERSISTS
    # |x − T(x)| = |∇²Γ (x − x*)|/β near x*.
    near = 4 * floor * minimum.beta / float(minimum.eigenvalues[0])
    return Outcome.CONVERGES if distance <= near else Outcome.ELSEWHERE


def _while_small(values: Array, limit: float) -> Array:
    """The values up to the first one above the limit, then NaN."""
    above = np.flatnonzero(~(values <= limit))
    values[above[0] if above.size else values.size :] = np.nan
    return values
