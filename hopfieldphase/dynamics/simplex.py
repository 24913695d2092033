"""Averages over the simplex by one line integral, exact to rounding for any number of patterns.

With independent exponential variables the uniform measure on the simplex becomes a product, and an integral
over M − 1 weights an integral along one line of a product of M simple poles:

    ∫ e^{y·p} dp       = (1/2πi) ∫ e^ζ ∏ 1/(ζ − y_μ) dζ                        (a divided difference of exp),
    ∫ (w·p)₊^k dp      = Γ(k+1)/Γ(M+k) (1/2πi) ∫ s^{−k−1} ∏ 1/(1 − s w_μ) ds,
    ∫ (w·p)^{−k} dp    = Γ(k−M+1)/Γ(k) (1/2πi) ∫ ζ^{M−1−k} ∏ 1/(w_μ − ζ) dζ     (k > M − 1),
    ∫ p_μ (w·p)^{−k} dp = 1/(Γ(k) Γ(M+1−k)) ∫₀^∞ t^{M−k} 1/(t + w_μ) ∏ 1/(t + w_ν) dt   (k < M + 1),

dp = dp₁ … dp_{M−1}, of volume 1/(M − 1)!. The lines pass the real saddle point of their integrand, so that
nothing cancels, and on them the trapezoidal rule converges geometrically. The last form is a Dirichlet
average of Carlson (Special Functions of Applied Mathematics, 1977).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, gammaln

from hopfieldphase.core.errors import InputError

Vector: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

# Logarithm of the size below which the tails of an integrand are left out.
_TAIL = 60.0
# The rule doubles its points until two results agree so far: its error is squared by each doubling.
_AGREEMENT = 1e-9
_FIRST, _LAST = 32, 2**16
# Saddle points below this belong to powers much higher than M.
_HIGH_POWER = 0.05
# Points of a line times patterns that are held at once.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class SimplexIntegral:
    """An integral over the simplex, and the mean weights under its integrand.

    Attributes
    ----------
    log_value : float
        Logarithm of the integral, with dp₁ … dp_{M−1}.
    mean : array, shape (M,)
        ⟨p_μ⟩, which sums to one.
    """

    log_value: float
    mean: Vector


def exponential_integral(y: Vector) -> SimplexIntegral:
    r"""Integral :math:`\int e^{y \cdot p} dp` over the simplex with its first moments.

    Parameters
    ----------
    y : array, shape (M,)
        Finite numbers, in any order, with any ties.

    Notes
    -----
    The value is the divided difference exp[y_1, …, y_M] (Hermite–Genocchi), a moment the one in which a node
    is repeated. Relative errors stay near 1e-14.
    """
    line = _parabola(y)
    total, first = _line_integral(line.integrand, 0.0, line.reach, y.size)
    mean = first / np.sum(first)
    return SimplexIntegral(line.log_peak + math.log(2 * line.saddle * total / math.pi), mean)


def exponential_covariance(y: Vector) -> Matrix:
    r"""Covariance of the weights under :math:`e^{y \cdot p} dp` over the simplex, shape (M, M).

    A second moment is a divided difference with two nodes repeated, or one of them twice.
    """
    line = _parabola(y)

    def integrand(u: Vector) -> tuple[Any, Any]:
        value, poles = line.integrand(u)
        pairs = poles[:, :, None] * poles[:, None, :]
        return value, np.concatenate([poles, pairs.reshape(u.size, -1)], axis=1)

    total, moments = _line_integral(integrand, 0.0, line.reach, y.size * (y.size + 1))
    mean, second = moments[: y.size] / total, moments[y.size :].reshape(y.size, y.size) / total
    second[np.diag_indices(y.size)] *= 2  # the derivative of a pole of second order
    return second - np.outer(mean, mean)


@dataclass(frozen=True, eq=False)
class _Line:
    """A line through a saddle point: the integrand on it, how far it matters, its logarithm at the saddle."""

    integrand: Callable[[Vector], tuple[Any, Any]]
    reach: float
    saddle: float
    log_peak: float


def _parabola(y: Vector) -> _Line:
    """The line of e^ζ ∏ 1/(ζ − y): ζ = max y + saddle (1 + iu)², a parabola round the poles."""
    top = float(np.max(y))
    gaps = top - y
    # The saddle lies between the number of ties at the top and M.
    saddle = _root(lambda sigma: 1.0 - float(np.sum(1 / (gaps + sigma))), 0.5, 2.0 * y.size)
    distances = gaps + saddle

    def log_size(u: float) -> float:
        step = saddle * (2j * u - u**2)
        return float(np.real(step - np.sum(_log1p(step / distances))))

    def integrand(u: Vector) -> tuple[Any, Any]:
        step = saddle * (2j * u - u**2)
        value = (1 + 1j * u) * np.exp(step - np.sum(_log1p(step[:, None] / distances), axis=1))
        return value, 1 / (distances + step[:, None])

    log_peak = top + saddle - math.fsum(np.log(distances))
    return _Line(integrand, _reach(log_size, math.sqrt(1 / saddle)), saddle, log_peak)


def rising_power_integral(gaps: Vector, k: float) -> SimplexIntegral:
    r"""Integral :math:`\int [1 - g \cdot p]_+^k dp` over the simplex, k > 0, with its first moments.

    Parameters
    ----------
    gaps : array, shape (M,)
        g_μ ≥ 0, at least one of them 0. Where g·p > 1 the integrand is zero.
    k : float
        Positive exponent.
    """
    M = gaps.size
    slopes = 1 - gaps  # w; with s = 1 − σ the poles are 1/(g + σ w)
    derivative = _algebraic_slope(gaps, slopes, k + 1)
    saddle = _root(derivative, 1 / (k + M + 2), M / (k + 1 + M))
    log_line, mean = _vertical(gaps, slopes, k + 1, saddle, np.ones_like)
    return SimplexIntegral(log_line - math.fsum(np.log(k + np.arange(1, M))), mean)


def falling_power_integral(gaps: Vector, k: float) -> SimplexIntegral:
    r"""Integral :math:`\int (1 + g \cdot p)^{-k} dp` over the simplex, k > 0, with its first moments.

    Parameters
    ----------
    gaps : array, shape (M,)
        g_μ ≥ 0, at least one of them 0.
    k : float
        Positive exponent.
    """
    M = gaps.size
    if k < M + 0.5:
        return _dirichlet_average(np.log1p(gaps), k)
    order = k - M + 1
    ones = np.ones(M)
    saddle = _root(_algebraic_slope(gaps, ones, order), 1 / (order + 2), M / (order + M))
    log_line, mean = _vertical(gaps, ones, order, saddle, lambda sigma: 1 - sigma)
    return SimplexIntegral(log_line - math.fsum(np.log(k - np.arange(1, M))), mean)


def singular_power_integral(gaps: Vector, k: float) -> SimplexIntegral:
    r"""Integral :math:`\int (g \cdot p)^{-k} dp` over the simplex, k > 0, with its first moments.

    Parameters
    ----------
    gaps : array, shape (M,)
        g_μ ≥ 0, more than k of them positive: otherwise the integral diverges.
    k : float
        Positive exponent.
    """
    with np.errstate(divide="ignore"):
        return _dirichlet_average(np.log(gaps), k)


def _algebraic_slope(gaps: Vector, slopes: Vector, order: float) -> Callable[[float], float]:
    """Derivative of the logarithm of (1 − σ)^{−order} ∏ 1/(g + σ w)."""
    return lambda sigma: order / (1 - sigma) - float(np.sum(slopes / (gaps + sigma * slopes)))


def _vertical(
    gaps: Vector, slopes: Vector, order: float, saddle: float, factor: Callable[[Any], Any]
) -> tuple[float, Vector]:
    """Logarithm of (1/2πi) ∫ (1 − σ)^{−order} ∏ 1/(g + σ w) dσ, and the mean of factor/(g_μ + σ w_μ)."""
    width = min(saddle, 1 - saddle)
    distances = gaps + saddle * slopes

    # A line between the poles and σ = 1: straight, or where the power is so high that it oscillates there, a
    # parabola round the poles, as for its limit, the exponential; both with u = sinh v.
    bend = 1.0 if saddle < _HIGH_POWER else 0.0

    def logs(v: Any) -> tuple[Any, Any]:
        u = np.sinh(v)
        step = width * (1j * (1 + bend) * u - bend * u**2)
        relative = step[:, None] * slopes / distances
        return -order * _log1p(-step / (1 - saddle)) - np.sum(_log1p(relative), axis=1), step

    def log_size(v: float) -> float:
        return float(np.real(logs(np.array([v]))[0])[0]) + (1 + bend) * math.log(math.cosh(v))

    def integrand(v: Vector) -> tuple[Any, Any]:
        log_value, step = logs(v)
        poles = factor(saddle + step)[:, None] / (distances + step[:, None] * slopes)
        speed = width * (1 + bend + 2j * bend * np.sinh(v)) * np.cosh(v)
        return speed * np.exp(log_value), poles

    total, first = _line_integral(integrand, 0.0, _reach(log_size, 0.1), gaps.size)
    log_value = -order * math.log1p(-saddle) - math.fsum(np.log(distances))
    return log_value + math.log(total / math.pi), first / np.sum(first)


def _dirichlet_average(log_w: Vector, k: float) -> SimplexIntegral:
    """∫ (w·p)^{−k} dp as the sum of its first moments, each a positive integral over v = log t."""
    M, lowest = log_w.size, float(np.min(log_w))

    def log_integrand(v: Vector) -> tuple[Vector, Matrix]:
        # t^{M+1−k}/(t + min w) ∏ 1/(t + w), with dt = t dv, and (t + min w)/(t + w_μ) for moments.
        steps = np.logaddexp(v[:, None], log_w)
        first = np.logaddexp(v, lowest)
        return (M + 1 - k) * v - first - np.sum(steps, axis=1), np.exp(first[:, None] - steps)

    def slope(v: float) -> float:
        return M + 1 - k - float(expit(v - lowest) + np.sum(expit(v - log_w)))

    finite = log_w[np.isfinite(log_w)]
    low, high, stride = float(np.min(finite)), float(np.max(finite)), 1.0
    while slope(low) <= 0:
        low, stride = low - stride, 2 * stride
    while slope(high) >= 0:
        high, stride = high + stride, 2 * stride
    centre = _root(slope, low, high)
    peak = float(log_integrand(np.array([centre]))[0][0])

    # Tails fall exponentially in v, which v = centre + sinh u reaches in few steps however slowly.
    def log_size(u: float) -> float:
        return float(log_integrand(np.array([centre + math.sinh(u)]))[0][0]) - peak

    left, right = _reach(lambda u: log_size(-u), 1.0), _reach(log_size, 1.0)

    def integrand(u: Vector) -> tuple[Vector, Matrix]:
        logs, moments = log_integrand(centre + np.sinh(u))
        return np.cosh(u) * np.exp(logs - peak), moments

    _, first = _line_integral(integrand, -left, right, M)
    total = float(np.sum(first))
    return SimplexIntegral(peak + math.log(total) - gammaln(k) - gammaln(M + 1 - k), first / total)


def _line_integral(
    integrand: Callable[[Vector], tuple[Any, Any]], start: float, stop: float, width: int
) -> tuple[float, Vector]:
    """Real parts of the integrals of value and of value × features, `width` of them, from start to stop.

    By the trapezoidal rule with twice as many points each time. From start = 0 it is half of the integral
    over the whole line, on whose other half the integrand is the complex conjugate.
    """

    def rule(points: Vector, weights: Vector) -> tuple[float, Vector]:
        total, moments = 0.0, np.zeros(width)
        for block in np.array_split(np.arange(points.size), -(-points.size * width // _BLOCK)):
            value, features = integrand(points[block])
            value = value * weights[block]
            total += float(np.sum(np.real(value)))
            moments += np.real(value @ features)
        return total, moments

    intervals = _FIRST
    step = (stop - start) / intervals
    along = np.arange(intervals + 1, dtype=np.float64)
    ends = np.ones(intervals + 1)
    ends[[0, -1]] = 0.5
    total, moments = rule(start + step * along, step * ends)
    while intervals < _LAST:
        middles = start + step * (np.arange(intervals, dtype=np.float64) + 0.5)
        more, more_moments = rule(middles, np.full(intervals, step))
        total, last_total = (total + more) / 2, total
        moments, last = (moments + more_moments) / 2, moments
        intervals, step = 2 * intervals, step / 2
        settled = abs(total - last_total) <= _AGREEMENT * abs(total)
        if settled and bool(np.all(np.abs(moments - last) <= _AGREEMENT * np.abs(moments))):
            return total, moments
    raise InputError(
        f"an integral over the simplex did not settle with {intervals} points: the scores span too many "
        "scales, use a smaller beta"
    )


def _reach(log_size: Callable[[float], float], first: float) -> float:
    """A distance from the peak beyond which the integrand is negligible."""
    reach = first
    while log_size(reach) > -_TAIL:
        reach *= 1.25
    return reach


def _log1p(z: Any) -> Any:
    """log(1 + z) of complex z, to relative precision near z = 0, where NumPy's loses it."""
    x, y = np.real(z), np.imag(z)
    return np.log1p(x * (2 + x) + y * y) / 2 + 1j * np.arctan2(y, 1 + x)


def _root(slope: Callable[[float], float], low: float, high: float) -> float:
    """The root of a monotone function; an end where rounding hides its sign."""
    if low == high or slope(low) * slope(high) > 0:
        return low if abs(slope(low)) < abs(slope(high)) else high
    return cast(float, brentq(slope, low, high, xtol=1e-300))
