"""Points of a curve and how they are reached: Hermite prediction, bordered Newton correction."""

import math
from dataclasses import dataclass, replace

import numpy as np

from hopfieldphase.continuation.equations import Equations, Linearization, Vector

# A Newton step below SMALL_STEP leaves an error of its square; a step below CONVERGED is rounding, and so is
# one below STALLED that a new factorization does not shorten. Next to a singular point steps may stay longer
# than that though the residual is below NOISE times the derivatives.
SMALL_STEP = 1e-8
CONVERGED = 1e-13
NOISE = 1e-14
STALLED = 1e-9
MAX_LINEARIZATIONS = 7
MAX_CHORD_STEPS = 4
# Chord steps are worth their price while they gain this factor each.
CHORD_GAIN = 0.1
INVERSE_ITERATIONS = 4

# Two neighbouring points belong to one curve when their tangents and their chord agree to this much.
MAX_TURN_COSINE = math.cos(0.6)
MAX_CHORD_DEFECT = 0.05
# How far points may shift on a stretch along which F_x is singular, or where it begins and ends.
MAX_SHIFT = 1e-3


_NO_VECTOR = np.empty(0)


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One converged point of a curve, in scaled unknowns.

    Attributes
    ----------
    y : ndarray, shape (n + 1,)
        State and parameter.
    tangent : ndarray, shape (n + 1,)
        Unit tangent, in the direction of travel.
    index : int
        Number of eigenvalues of F_x with a negative real part.
    orientation : int
        Sign of the determinant of the bordered matrix (F_x F_p; tangent): changes where two curves cross.
    monitors : ndarray, shape (k,)
        Values of the monitored functions.
    error : float
        Length of the last Newton step.
    singular : bool
        F_x is singular to rounding; the index is then that of the node before.
    soft : ndarray, shape (n,)
        Unit vector near the null space of a symmetric F_x, carried along the curve by inverse iteration;
        empty where F_x is not symmetric, or positive definite.
    soft_sign : int
        Sign of soft·F_x⁻¹·soft.
    suspect : bool
        The soft vector of the node before has another sign here: eigenvalues may have vanished in between
        although the index is the same.
    """

    y: Vector
    tangent: Vector
    index: int
    orientation: int
    monitors: Vector
    error: float
    singular: bool
    soft: Vector
    soft_sign: int
    suspect: bool

    def reversed(self) -> "Node":
        """The same point, travelled in the other direction."""
        return replace(self, tangent=-self.tangent, orientation=-self.orientation)


class Arc:
    """The cubic Hermite curve between two nodes, its derivative, and extrapolation beyond the second."""

    __slots__ = ("_a", "_b", "_tangent", "_y", "length", "start", "stop")

    def __init__(self, a: Node, b: Node) -> None:
        chord = b.y - a.y
        # Arc length of a circle through both points with these tangents; exact to fourth order.
        half = 0.5 * math.acos(min(1.0, max(-1.0, float(a.tangent @ b.tangent))))
        stretch = half / math.sin(half) if half > 1e-6 else 1.0
        self.length = math.sqrt(float(chord @ chord)) * stretch
        mean = chord / self.length if self.length else a.tangent
        self.start, self.stop = a, b
        self._y, self._tangent = a.y, a.tangent
        self._a = 3.0 * mean - 2.0 * a.tangent - b.tangent
        self._b = a.tangent + b.tangent - 2.0 * mean

    def point(self, u: float) -> Vector:
        """Y at the fraction u of the arc."""
        return self._y + self.length * u * (self._tangent + u * (self._a + u * self._b))

    def direction(self, u: float) -> Vector:
        """Unit tangent at the fraction u."""
        slope = self._tangent + u * (2.0 * self._a + 3.0 * u * self._b)
        return slope / math.sqrt(float(slope @ slope))

    def turning_points(self) -> list[float]:
        """Fractions in (0, 1), ascending, at which the parameter of the interpolant turns back."""
        c, b, a = float(self._tangent[-1]), 2.0 * float(self._a[-1]), 3.0 * float(self._b[-1])
        discriminant = b * b - 4.0 * a * c
        if discriminant <= 0.0:
            return []
        q = -0.5 * (b + math.copysign(math.sqrt(discriminant), b))
        roots = [q / a if a else math.inf, c / q if q else math.inf]
        return sorted(u for u in roots if 0.0 < u < 1.0)

    def slowest(self) -> tuple[float, float] | None:
        """Inner fraction at which the interpolated speed of the parameter is extremal, and that speed."""
        c, b, a = float(self._tangent[-1]), 2.0 * float(self._a[-1]), 3.0 * float(self._b[-1])
        u = -b / (2.0 * a) if a else math.inf
        return (u, c + u * (b + u * a)) if 0.0 < u < 1.0 else None

    def fraction_at(self, q: float) -> float:
        """A fraction at which the scaled parameter of the interpolant is q, for q between its ends."""
        low, high = 0.0, 1.0
        rising = float(self.point(1.0)[-1]) > float(self._y[-1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            value = float(self._y[-1]) + self.length * middle * (
                float(self._tangent[-1]) + middle * (float(self._a[-1]) + middle * float(self._b[-1]))
            )
            if (value < q) == rising:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high)


def mirrored(tangent: Vector, chord: Vector) -> Vector:
    """Tangent at the other end of the circle that has this tangent at one end of the chord."""
    return 2.0 * float(chord @ tangent) / float(chord @ chord) * chord - tangent


def belong_together(a: Node, b: Node) -> bool:
    """Whether b can follow a on one smooth curve: small turn, and a chord along both tangents."""
    if float(a.tangent @ b.tangent) < MAX_TURN_COSINE:
        return False
    chord = b.y - a.y
    length = math.sqrt(float(chord @ chord))
    if length <= CONVERGED * (1.0 + math.sqrt(float(a.y @ a.y))):
        return True
    mean = a.tangent + b.tangent
    along = float(chord @ mean) / float(mean @ mean)
    defect = chord - along * mean
    return along > 0.0 and math.sqrt(float(defect @ defect)) <= MAX_CHORD_DEFECT * length


def correct(
    equations: Equations, guess: Vector, normal: Vector | None
) -> tuple[Vector, Linearization, float] | None:
    """Newton's method from a guess to the curve, in the hyperplane through the guess with a given normal.

    A factorization is kept for chord steps as long as these converge fast.

    Parameters
    ----------
    guess : ndarray, shape (n + 1,)
    normal : ndarray, shape (n + 1,), or None
        Unit vector; None keeps the parameter as it is.

    Returns
    -------
    tuple or None
        The point, the linearization there (off by less than `SMALL_STEP`) and the length of the last
        step; None when Newton's method does not converge.
    """
    y = guess
    scale = 1.0 + math.sqrt(float(y @ y))
    small, rounding, stalled = SMALL_STEP * scale, CONVERGED * scale, STALLED * scale
    last = math.inf
    for _ in range(MAX_LINEARIZATIONS):
        linear = equations.linearize(y)
        if linear is None:
            return None
        residual = linear.residual
        noise = float(residual @ residual) <= (NOISE * linear.size * scale) ** 2
        stepper = linear.stepper(normal)
        first = previous = size = math.inf
        for _ in range(1 + MAX_CHORD_STEPS):
            step = stepper(residual)
            size = math.sqrt(float(step @ step))
            if not size < math.inf:
                return None
            if noise and size > max(rounding, CHORD_GAIN * last):
                return y, linear, size
            y = y + step
            if first == math.inf:
                first = size
            if size <= rounding and first <= small:
                return y, linear, size
            if size > CHORD_GAIN * previous or (size <= small < first):
                break
            previous = size
            residual = equations.residual(y)
        if first > 2.0 * last:
            return None
        if first <= stalled and first > CHORD_GAIN * last:
            return y, linear, size
        last = min(first, size)
    return None


def node_at(
    equations: Equations,
    found: tuple[Vector, Linearization, float],
    forward: Vector,
    before: Node | None = None,
) -> Node:
    """The node at a corrected point, its tangent turned along `forward`, seen from the node before."""
    y, linear, size = found
    tangent = linear.tangent()
    sign = 1
    if float(tangent @ forward) < 0.0:
        tangent, sign = -tangent, -1
    index = before.index if linear.singular and before is not None else linear.index()
    soft, soft_sign, suspect = _NO_VECTOR, 1, False
    if index and equations.symmetric and equations.n > 1:
        soft, soft_sign, suspect = _soft(linear, before)
    return Node(
        y=y,
        tangent=tangent,
        index=index,
        orientation=sign * linear.determinant_sign(index),
        monitors=equations.monitors(y),
        error=size,
        singular=linear.singular,
        soft=soft,
        soft_sign=soft_sign,
        suspect=suspect,
    )


def _soft(linear: Linearization, before: Node | None) -> tuple[Vector, int, bool]:
    if before is None or not before.soft.size:
        soft = np.random.default_rng(0).standard_normal(len(linear.residual))
        for _ in range(INVERSE_ITERATIONS):
            soft = linear.solve(soft)
            soft = soft / math.sqrt(float(soft @ soft))
        return soft, _sign(soft, linear.solve(soft)), False
    met = linear.solve(before.soft)
    soft = met / math.sqrt(float(met @ met))
    return soft, _sign(soft, linear.solve(soft)), _sign(before.soft, met) != before.soft_sign


def _sign(a: Vector, b: Vector) -> int:
    return -1 if float(a @ b) < 0.0 else 1


def node_on_arc(equations: Equations, arc: Arc, u: float) -> Node | None:
    """The point of the curve in the hyperplane across the arc at the fraction u."""
    direction = arc.direction(u)
    found = correct(equations, arc.point(u), direction)
    return None if found is None else node_at(equations, found, direction, arc.start)


def node_at_parameter(equations: Equations, arc: Arc, parameter: float) -> Node | None:
    """The point of the curve at one parameter value, from where the arc passes it."""
    q = parameter / equations.parameter_scale
    u = arc.fraction_at(q)
    guess = arc.point(u)
    guess[-1] = q
    found = correct(equations, guess, None)
    return None if found is None else node_at(equations, found, arc.direction(u), arc.start)
