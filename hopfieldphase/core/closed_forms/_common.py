"""What the closed forms share: checked inputs, the q-logarithm, and the few SciPy functions in use.

SciPy's submodules load on first attribute access, so that importing the closed forms stays cheap.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # type: ignore[import-untyped]
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.errors import InputError

Floats = NDArray[np.float64]

ROUNDING = float(np.finfo(np.float64).eps)


def index(alpha: float, above: float = 0.0, to: float = math.inf) -> float:
    """A finite Tsallis index in (above, to], or `InputError`."""
    return real_number("alpha", alpha, above, to, ends="()" if to == math.inf else "(]")


def gram_matrix(gram: Any) -> Floats:
    """A finite, symmetric (M, M) matrix, or `InputError`."""
    matrix: Floats = np.asarray(gram, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InputError(f"gram has shape {matrix.shape}: give a square Gram matrix (M, M) of the patterns")
    if not np.all(np.isfinite(matrix)):
        raise InputError("gram holds NaN or inf: give the inner products of finite patterns")
    if np.max(np.abs(matrix - matrix.T)) > 1e-8 * np.max(np.abs(matrix)):
        raise InputError("gram is not symmetric: give the inner products of the patterns with themselves")
    return matrix


def decay(a: float, y: float) -> float:
    """(1 − e^(−a y))/a, and its limit y at a = 0: digits are kept for every small a."""
    return -math.expm1(-a * y) / a if a else y


def root(function: Callable[[float], float], low: float, high: float) -> float:
    """Zero of a function that changes sign between low and high, to rounding (Brent)."""
    return float(scipy.optimize.brentq(function, low, high, xtol=1e-300, rtol=4 * ROUNDING))


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b)."""
    return float(scipy.special.betainc(a, b, x))


def log_gamma(x: Any) -> Any:
    """Logarithm of Γ(x), elementwise."""
    return scipy.special.gammaln(x)


def x_log1p(x: Any, y: Any) -> Any:
    """Elementwise x ln(1 + y), 0 where x = 0."""
    return scipy.special.xlog1py(x, y)


def scaled_bessel(order: float, u: float) -> float:
    """e^(−u) I_order(u)."""
    return float(scipy.special.ive(order, u))
