"""What perturbation theory says of fixed-step descent near a minimum, mode by mode, and rates as measured.

To first order a component δ_i is multiplied by 1 − ηλ_i in every step; to second order the cubic terms of Γ
let the mode along which the descent starts feed all others.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.dynamics.minimum import SAME_RATE, Minimum

Array = NDArray[np.float64]

_PROBE = 1e-4  # displacement of a measured rate, in units of the length over which Γ stays quadratic
_PROBE_STEPS = 8


def predicted_components(
    minimum: Minimum, step: float, start: Any, amplitude: float, iterations: int, *, order: int = 2
) -> Array:
    """Components δ_i(t) of x(t) − x* along the modes, in powers of the amplitude.

    To first order δ_i(t) = r_i^t δ_i(0) with r_i = 1 − ηλ_i, Eq. (E.6). To second order the soft mode, of
    rate r, feeds every other through c_i = u_i·∇³Γ(u_soft, u_soft):

        δ_i(t) = r_i^t δ_i(0) − (η/2) A² c_i (r_i^t − r^{2t}) / (r_i − r²).

    Parameters
    ----------
    minimum : Minimum
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
    rates = minimum.rates(step)
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
            components -= step / 2 * amplitude**2 * cubic_coupling(minimum) * response
    return np.where(np.isnan(components), np.inf, components)


def cubic_coupling(minimum: Minimum) -> Array:
    """c_i = u_i·∇³Γ(u_soft, u_soft) at x*, shape (d,).

    With a = β s Ξ u_soft, the response weights w = p^{2−α}/α on the support and ā = Σ w a / Σ w,
    ∇³Γ(u_soft, u_soft) = −β s Ξᵀ (v − w Σv/Σw) with v = (2 − α) w² (a − ā)²/p: the derivative of J a along a.
    """
    model, beta, alpha = minimum.model, minimum.beta, minimum.model.alpha
    p = np.asarray(model.weights(minimum.x, beta), dtype=np.float64)
    support = p > 0
    if np.isinf(alpha) or support.sum() == 1:
        return np.zeros(model.d)
    p, patterns = p[support], np.asarray(model.patterns, dtype=np.float64)[support]
    w = p ** (2 - alpha) / alpha
    share = w / w.sum()
    a = beta * model.scale * (patterns @ minimum.soft)
    bend = (2 - alpha) * w**2 * (a - share @ a) ** 2 / p
    return -beta * model.scale * ((bend - share * bend.sum()) @ patterns) @ minimum.modes


def second_order_seed(minimum: Minimum, step: float) -> Array:
    """(η/2) c_i/(r² − r_i), shape (d,): A² times this is what the soft mode leaves in mode i, at t = 0."""
    gap = (1 - step * float(minimum.eigenvalues[0])) ** 2 - minimum.rates(step)
    return step / 2 * cubic_coupling(minimum) / np.where(np.abs(gap) > SAME_RATE, gap, np.inf)


def measured_rates(minimum: Minimum, step: float) -> Array:
    """Contraction factor of every mode, measured on the full update, shape (d,).

    x* ± a u_i are iterated with a = 10⁻⁴ `minimum.length`; half of their difference, in which even orders of
    a cancel, is projected on u_i. The result is the geometric mean per step, with the sign of the first one,
    over up to eight steps while the projection stays within (10⁻³ a, 10 a).
    """
    a = _PROBE * minimum.length
    x = minimum.x + a * np.stack([minimum.modes.T, -minimum.modes.T])
    rates = np.empty(minimum.model.d)
    going = np.ones(minimum.model.d, dtype=bool)
    for k in range(1, _PROBE_STEPS + 1):
        x = x - step * minimum.model.gradient(x, minimum.beta)
        component = np.einsum("ij,ji->i", (x[0] - x[1]) / 2, minimum.modes)
        if k == 1:
            rates[:] = component / a
        else:
            going &= (np.abs(component) > 1e-3 * a) & (np.abs(component) < 10 * a)
            rates[going] = np.sign(rates[going]) * (np.abs(component[going]) / a) ** (1 / k)
    return rates


def _powers(rates: Array, last: int) -> Array:
    """r^t for t = 0 … last, shape (last + 1, …)."""
    factors = np.broadcast_to(rates, (last + 1, rates.size)).copy()
    factors[0] = 1.0
    return np.multiply.accumulate(factors, axis=0)
