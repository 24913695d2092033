"""The equations of a curve F(x, p) = 0 as plain functions, and their linear algebra at one point.

The engine works in scaled unknowns y = (x/X, p/P), in which a length means the same along the state and
along the parameter. X and P are powers of two, so that scaling never rounds.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import get_lapack_funcs

from hopfieldphase.core.errors import InputError

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)
# Pivots and eigenvalues below this part of the derivatives are zero to the accuracy of a corrected point.
NEUTRAL = 1e-8
# Above this response a singular F_x is that of a fold.
FOLD_RESPONSE = 1e5
# F_p couples to a direction when more than this part of it points there.
COUPLED = 1e-6

_sytrf, _sytrs, _getrf, _getrs = get_lapack_funcs(("sytrf", "sytrs", "getrf", "getrs"), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Problem:
    """A system F(x, p) = 0 of n equations for n unknowns x and one parameter p.

    Parameters
    ----------
    F : callable
        F(x, p), shape (n,), for x of shape (n,) and a float p.
    F_x : callable
        The Jacobian ∂F/∂x, shape (n, n), dense.
    F_p : callable
        The derivative ∂F/∂p, shape (n,).
    jet : callable, optional
        (F, F_x, F_p) at (x, p) in one call, where they share work.
    symmetric : bool
        F_x is symmetric, F the gradient of an energy: the index then comes from the inertia of a
        factorization, without eigenvalues.
    monitors : callable, optional
        Functions (x, p) → (k,) whose sign changes along the curve are located as special points.
    barrier : bool
        F is this problem only where every monitor is ≥ 0: the curve ends where the first one vanishes.
    state_scale : float, optional
        Typical |x|, the length unit of the state; by default |x0|, or 1 where x0 = 0.

    Notes
    -----
    Where F cannot be evaluated it may return NaN: the step is then shortened. Any object with the
    attributes `F`, `F_x` and `F_p` serves as a problem; the others are optional.
    """

    F: Callable[[Vector, float], Vector]
    F_x: Callable[[Vector, float], Matrix]
    F_p: Callable[[Vector, float], Vector]
    jet: Callable[[Vector, float], tuple[Vector, Matrix, Vector]] | None = None
    symmetric: bool = False
    monitors: Callable[[Vector, float], Vector] | None = None
    barrier: bool = False
    state_scale: float | None = None


class Linearization:
    """F, its Jacobian and a factorization at one point, in scaled unknowns.

    Where a symmetric F_x is singular to rounding along directions that F_p does not couple to (a crossing of
    curves, a symmetry that is almost continuous), nothing is moved along them and they count as non-negative.

    Attributes
    ----------
    residual : ndarray, shape (n,)
        F.
    jacobian : ndarray, shape (n, n)
        X F_x.
    slope : ndarray, shape (n,)
        P F_p.
    response : ndarray, shape (n,)
        (X F_x)⁻¹ P F_p: minus the velocity dx/dp of the curve.
    size : float
        Magnitude of the derivatives; not finite where one of them is not.
    singular : bool
        The smallest pivot is at the rounding level of `size`.
    """

    __slots__ = (
        "_factor", "_pivots", "_regular", "_symmetric", "jacobian", "residual", "response", "singular",
        "size", "slope",
    )  # fmt: skip

    def __init__(self, residual: Vector, jacobian: Matrix, slope: Vector, symmetric: bool) -> None:
        self.residual = residual
        self.slope = slope
        self.jacobian = jacobian
        self._symmetric = symmetric
        self._regular: tuple[Vector, Matrix] | None = None
        if symmetric:
            self._factor, self._pivots, failed = _sytrf(jacobian, lower=1, lwork=32 * len(residual))
        else:
            self._factor, self._pivots, failed = _getrf(jacobian)
        pivots = np.abs(np.diagonal(self._factor))
        self.size = float(pivots.max()) + float(np.abs(slope).max())
        if failed > 0:  # an exact zero pivot: any tiny value gives the null vector
            self._factor[failed - 1, failed - 1] = EPSILON * max(self.size, EPSILON)
        if symmetric:
            pivots = pivots[self._pivots > 0]  # the others belong to regular 2 × 2 blocks
        self.singular = bool(pivots.size) and float(pivots.min()) <= NEUTRAL * self.size
        self.response = self.solve(slope)
        if self.singular and symmetric and float(self.response @ self.response) < FOLD_RESPONSE**2:
            self._deflate()

    def _deflate(self) -> None:
        values, vectors = np.linalg.eigh(self.jacobian)
        coupled = np.abs(self.slope @ vectors) > COUPLED * math.sqrt(float(self.slope @ self.slope))
        kept = coupled | (np.abs(values) > NEUTRAL * self.size)
        values[values == 0.0] = EPSILON * self.size
        self._regular = values[kept], vectors[:, kept]
        self.response = self.solve(self.slope)

    def solve(self, right: Vector) -> Vector:
        """Solve X F_x a = right."""
        if self._regular is not None:
            values, vectors = self._regular
            return vectors @ (right @ vectors / values)
        if self._symmetric:
            return _sytrs(self._factor, self._pivots, right, lower=1)[0]
        return _getrs(self._factor, self._pivots, right)[0]

    def stepper(self, normal: Vector | None) -> Callable[[Vector], Vector]:
        """Newton steps δ for any residual: X F_x δx + P F_p δp = −residual and normal·δ = 0.

        Without a normal, δp = 0.
        """
        response = self.response
        across = None if normal is None else normal[:-1]
        speed = 1.0 if normal is None else float(normal[-1]) - float(normal[:-1] @ response)

        def step(residual: Vector) -> Vector:
            a = self.solve(residual)
            step = np.zeros(len(a) + 1)
            if across is not None:
                step[-1] = dp = float(across @ a) / speed
                a = a + dp * response
            np.negative(a, out=step[:-1])
            return step

        return step

    def tangent(self) -> Vector:
        """Unit vector along the curve, rising in the parameter."""
        size = math.sqrt(1.0 + self.response @ self.response)
        tangent = np.empty(len(self.response) + 1)
        tangent[:-1] = self.response / -size
        tangent[-1] = 1.0 / size
        return tangent

    def index(self) -> int:
        """Number of eigenvalues of F_x with a negative real part."""
        if self._regular is not None:
            return int(np.count_nonzero(self._regular[0] < 0.0))
        if self._symmetric:
            # A 2 × 2 pivot block (two negative entries in the list) has one eigenvalue of each sign.
            blocks = self._pivots < 0
            return int(np.count_nonzero((np.diagonal(self._factor) < 0) & ~blocks)) + int(blocks.sum()) // 2
        return int(np.count_nonzero(np.linalg.eigvals(self.jacobian).real < 0))

    def determinant_sign(self, index: int) -> int:
        """Sign of det F_x, given the index."""
        if self._symmetric:
            return -1 if index % 2 else 1
        swaps = np.count_nonzero(self._pivots != np.arange(len(self._pivots)))
        return -1 if (swaps + np.count_nonzero(np.diagonal(self._factor) < 0)) % 2 else 1

    def spectrum(self) -> NDArray[np.complex128]:
        """Eigenvalues of X F_x by rising real part."""
        solver = np.linalg.eigvalsh if self._symmetric else np.linalg.eigvals
        return np.sort_complex(solver(self.jacobian).astype(np.complex128))


class Equations:
    """A problem in scaled unknowns, with its optional parts filled in.

    Parameters
    ----------
    problem : Problem or any object with F, F_x, F_p
    x0 : ndarray, shape (n,)
        Start state: fixes n and, unless the problem names one, the length unit of the state.
    p0 : float
        Start value of the parameter.
    parameter_scale : float
        Length unit of the parameter, rounded to a power of two.

    Raises
    ------
    InputError
        When a function is missing or returns another shape.
    """

    def __init__(self, problem: Any, x0: Vector, p0: float, parameter_scale: float) -> None:
        missing = [name for name in ("F", "F_x", "F_p") if not callable(getattr(problem, name, None))]
        if missing:
            raise InputError(
                f"the problem has no function {', '.join(missing)}: give an object with the attributes "
                "F(x, p), F_x(x, p) and F_p(x, p), for example Problem(F, F_x, F_p)"
            )
        self.n = len(x0)
        self._F, self._F_x, self._F_p = problem.F, problem.F_x, problem.F_p
        self._jet = getattr(problem, "jet", None) or self._each
        self._monitors = getattr(problem, "monitors", None)
        self.barrier: bool = getattr(problem, "barrier", False)
        self.symmetric: bool = self.n == 1 or bool(getattr(problem, "symmetric", False))
        self.state_scale = _power_of_two(
            getattr(problem, "state_scale", None) or math.sqrt(float(x0 @ x0)) or 1.0
        )
        self.parameter_scale = _power_of_two(parameter_scale)
        for name, shape in (("F", (self.n,)), ("F_x", (self.n, self.n)), ("F_p", (self.n,))):
            found = np.shape(getattr(problem, name)(x0, p0))
            if found != shape:
                raise InputError(f"{name}(x, p) has shape {found} for x of length {self.n}: return {shape}")

    def scaled(self, x: Vector, p: float) -> Vector:
        """Y of a state and a parameter value."""
        return np.append(x / self.state_scale, p / self.parameter_scale)

    def state(self, y: Vector) -> Vector:
        """X of a point."""
        return y[:-1] * self.state_scale

    def parameter(self, y: Vector) -> float:
        """P of a point."""
        return float(y[-1]) * self.parameter_scale

    def _each(self, x: Vector, p: float) -> tuple[Vector, Matrix, Vector]:
        return self._F(x, p), self._F_x(x, p), self._F_p(x, p)

    def residual(self, y: Vector) -> Vector:
        """F at a point."""
        return np.asarray(self._F(self.state(y), self.parameter(y)), dtype=np.float64)

    def linearize(self, y: Vector) -> Linearization | None:
        """F and its derivatives at a point; None where they are not finite."""
        residual, jacobian, slope = self._jet(self.state(y), self.parameter(y))
        residual = np.asarray(residual, dtype=np.float64)
        jacobian = np.asarray(jacobian, dtype=np.float64)
        if self.state_scale != 1.0:
            jacobian = jacobian * self.state_scale
        slope = np.asarray(slope, dtype=np.float64) * self.parameter_scale
        linear = Linearization(residual, jacobian, slope, self.symmetric)
        with np.errstate(over="ignore"):  # far off the curve
            finite = math.isfinite(linear.size + float(residual @ residual))
        return linear if finite else None

    def jacobian(self, y: Vector) -> Matrix:
        """X F_x at a point."""
        return np.asarray(self._F_x(self.state(y), self.parameter(y)), dtype=np.float64) * self.state_scale

    def monitors(self, y: Vector) -> Vector:
        """Values of the monitored functions at a point; empty without any."""
        if self._monitors is None:
            return np.empty(0)
        return np.asarray(self._monitors(self.state(y), self.parameter(y)), dtype=np.float64)


def _power_of_two(value: float) -> float:
    return 2.0 ** round(math.log2(value))
