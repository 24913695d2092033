"""Functions g of `Separable`: the Tsallis family, the quadratic, and the checks of those that users give."""

from collections.abc import Callable
from functools import cache, partial
from typing import TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.errors import InputError

Function: TypeAlias = Callable[[Array], Array]
Floats: TypeAlias = NDArray[np.float64]

# Where a user's functions are compared with each other; the ends are left out, which may be singular.
_GRID = np.concatenate([np.geomspace(1e-8, 1e-2, 25), np.linspace(0.02, 0.98, 49)])
_INVERSE_TOLERANCE = 1e-7  # of t; inverses found by iteration pass
_DERIVATIVE_TOLERANCE = 1e-4  # relative, of central differences with a step of 1e-4: error 1e-8
_STEP = 1e-4
_RESOLVED = 0.02  # from here on a strictly convex g must show it in floats
_EPSILON = 2.220446049250313e-16
_SMALLEST = 1e-300


def half_square(t: Array) -> Array:
    """t²/2."""
    return t * t / 2


def identity(t: Array) -> Array:
    """Return t itself."""
    return t


def one(t: Array) -> Array:
    """Return 1 everywhere."""
    return t * 0 + 1


def tsallis(t: Array, *, alpha: float) -> Array:
    """(t^α − t)/(α(α − 1)), which is t ln t at α = 1."""
    xp = array_api_compat.array_namespace(t)
    positive = t > 0
    log_t = xp.log(xp.where(positive, t, 1.0))
    a = alpha - 1
    if a >= 0:
        return t * _power_minus_one(log_t, a) / alpha
    # The larger of t and t^α in front, so that no power overflows.
    return xp.where(positive, xp.exp(alpha * log_t), 0.0) * _power_minus_one(log_t, -a) / alpha


@cache
def tsallis_functions(alpha: float) -> tuple[Function, Function, Function, Function]:
    """Return g, g′ up to a constant, its inverse, and g″; the same objects for the same index.

    With a = α − 1 the slope is t^a/a for α > 2, which keeps the digits of small t, and (t^a − 1)/a below,
    which keeps those of α near 1.
    """
    a = alpha - 1
    slope, inverse = (_power, _root) if alpha > 2 else (_q_logarithm, _q_exponential)
    return (
        partial(tsallis, alpha=alpha),
        partial(slope, a=a),
        partial(inverse, a=a),
        partial(tsallis_curvature, alpha=alpha),
    )


def described(function: Function) -> str:
    """Name of a function, with the arguments that are bound to it."""
    if isinstance(function, partial):
        bound = ", ".join(f"{name}={value!r}" for name, value in function.keywords.items())
        return f"{function.func.__name__}({bound})"
    return getattr(function, "__name__", repr(function))


def tsallis_curvature(t: Array, *, alpha: float) -> Array:
    """t^{α−2}."""
    return t ** (alpha - 2)


def _power(t: Array, *, a: float) -> Array:
    return t**a / a


def _root(u: Array, *, a: float) -> Array:
    return (a * u) ** (1 / a)


def _q_logarithm(t: Array, *, a: float) -> Array:
    xp = array_api_compat.array_namespace(t)
    return _power_minus_one(xp.log(t), a)


def _q_exponential(u: Array, *, a: float) -> Array:
    xp = array_api_compat.array_namespace(u)
    return xp.exp(xp.log1p(a * u) / a) if a else xp.exp(u)


def _power_minus_one(log_t: Array, a: float) -> Array:
    """(t^a − 1)/a, ln t at a = 0."""
    xp = array_api_compat.array_namespace(log_t)
    return xp.expm1(a * log_t) / a if a else log_t


def at(function: Function, t: float) -> float:
    """Value of a function of arrays at one number of [0, 1]."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return float(function(np.array([t]))[0])


def check(g: Function, slope: Function, inverse_slope: Function, curvature: Function) -> None:
    """Raise `InputError` unless g is strictly convex and the four functions belong together."""
    t = _GRID
    named = {"g": g, "slope": slope, "inverse_slope": inverse_slope, "curvature": curvature}
    for name, function in named.items():
        if not callable(function):
            raise InputError(
                f"{name} = {function!r} is not a function: give one of an array, element by element"
            )
    values, slopes, curvatures = (_evaluated(name, named[name], t) for name in ("g", "slope", "curvature"))
    if not abs(at(g, 0.0)) <= 0:
        raise InputError(f"g(0) = {at(g, 0.0):.6g}: subtract it, so that absent patterns cost nothing")
    edge, end = at(slope, 0.0), at(slope, 1.0)
    steps = np.diff(np.concatenate([[edge], slopes, [end]]))
    # Near zero the slope may rise by less than its rounding, or underflow.
    flat = ~np.where(np.concatenate([[0.0], t]) < _RESOLVED, steps >= 0, steps > 0)
    if np.any(flat):
        place = [0.0, *t][int(np.argmax(flat))]
        raise InputError(f"slope does not increase at t = {place:.3g}: g must be strictly convex on [0, 1]")
    h = _STEP * t
    rounding = 8 * _EPSILON * np.maximum(np.abs(slopes), _SMALLEST)
    with np.errstate(divide="ignore", over="ignore"):
        back = _evaluated("inverse_slope", inverse_slope, slopes)
        _agree(
            back, t, _INVERSE_TOLERANCE * t + rounding / np.abs(curvatures), "inverse_slope(slope(t))", "t"
        )
    rise = (_evaluated("slope", slope, t + h) - _evaluated("slope", slope, t - h)) / (2 * h)
    tolerance = _DERIVATIVE_TOLERANCE * np.abs(rise) + rounding / h
    _agree(curvatures, rise, tolerance, "curvature(t)", "the derivative of slope")
    # The constant that slope may lack is taken from the last point.
    rise = (_evaluated("g", g, t + h) - _evaluated("g", g, t - h)) / (2 * h)
    shifted = slopes + (rise[-1] - slopes[-1])
    tolerance = _DERIVATIVE_TOLERANCE * (np.abs(rise) + np.abs(shifted) + np.abs(slopes[-1])) + rounding
    _agree(shifted, rise, tolerance + 8 * _EPSILON * np.abs(values) / h, "slope(t)", "the derivative of g")


def _evaluated(name: str, function: Function, t: Floats) -> Floats:
    values = np.asarray(function(t), dtype=float)
    if values.shape != t.shape:
        raise InputError(
            f"{name} gave shape {values.shape} for shape {t.shape}: it must act element by element"
        )
    if not np.all(np.isfinite(values)):
        place = t[int(np.argmin(np.isfinite(values)))]
        raise InputError(f"{name} is not finite at {place:.3g}: g must be smooth and convex inside (0, 1)")
    return values


def _agree(left: Floats, right: Floats, tolerance: Floats, name: str, other: str) -> None:
    wrong = ~(np.abs(left - right) <= tolerance)
    if np.any(wrong):
        i = int(np.argmax(wrong))
        raise InputError(
            f"{name} is {left[i]:.6g} at t = {_GRID[i]:.3g}, but {other} is {right[i]:.6g}: "
            "give g, g', the inverse of g' and g'' of one function"
        )
