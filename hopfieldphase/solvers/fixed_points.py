"""Find the fixed point of the update that a state runs into, for any attention map.

The updates x ← T(x) decide where a state goes; Newton's method on x − T(x) = 0 only ends what they have
begun. Its result counts where it contracts from the first step on, from a state nearby, to a fixed point that
attracts.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.kernels.attention import weights as compiled_weights
from hopfieldphase.model import AttentionModel, sorted_eigenvalues
from hopfieldphase.solvers.options import start_state

__all__ = [
    "FixedPoint",
    "Settled",
    "find_fixed_point",
    "fixed_point_sentence",
    "numpy_model",
    "residual_tolerance",
    "settle",
]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

MAX_STEPS = 10_000

# All lengths below are in units of the state scale s·max|ξ|, or of |x| where that is larger.
# Newton's method may begin with a step of this length, in units of s·median|ξ| (or |x|): the longest of
# heavy-tailed patterns says nothing about how close basins lie. Each further step must be shorter by SHRINK,
# and one that is not shorter by FAST asks for a new Jacobian.
REACH = 0.1
SHRINK = 0.5
FAST = 0.1
MAX_NEWTON = 30
ROUNDING = 1e-15
# An attracting fixed point has a spectral radius below this: nearer to 1 rounding decides.
ATTRACTS = 1.0 - 1e-9
# Updates between two tries of Newton's method: this many at first, then twice as many each time.
FIRST_UPDATES = 4
# Updates that have come this close to a fixed point that repels are stuck on it, and pushed off by KICK.
STUCK = 1e-7
KICK = 1e-3
MAX_KICKS = 4
TIED = 1e-9
# A deviation that would grow by less than SLOW per update, where Newton's method has shown the map to be
# smooth, is made LEAP times as large at once.
SLOW = 1.1
LEAP = 10.0
# A state that comes back this close while single updates are longer than MOVES repeats a cycle.
RECURS = 1e-9
MOVES = 1e-5


_SENTENCES = {
    Status.CONVERGED: "an attracting fixed point: x = T(x), with a spectral radius below 1",
    Status.SADDLE_NOT_ESCAPED: "a fixed point that does not attract, or is at the margin of it",
}


def fixed_point_sentence(status: Status) -> str:
    """What a status means for updates of any map, with or without a free energy."""
    return _SENTENCES.get(status, status.sentence)


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Where the updates of a state end, with the evidence for it.

    Attributes
    ----------
    x : ndarray, shape (d,)
        The state.
    beta : float
        Inverse temperature β.
    residual : float
        |x − T(x)| / max(|x|, s·max|ξ|).
    eigenvalues : ndarray of complex, shape (d,)
        Those of the Jacobian DT by falling modulus; NaN where no fixed point was found.
    status : Status
        `CONVERGED` is a fixed point with a spectral radius below 1, and nothing else is;
        `SADDLE_NOT_ESCAPED` one that does not attract, or at the margin; `LIMIT_CYCLE` a state of a cycle.
    period : int
        1 for a fixed point, the number of states of a cycle, 0 where neither was found.
    n_steps : int
        Updates and Newton steps.
    weights, overlaps : ndarray, shape (M,)
        Retrieval weights p and overlaps z = s Ξ x.
    free_energy : float
        Γ(x); NaN where the map has none.
    """

    x: Vector
    beta: float
    residual: float
    eigenvalues: NDArray[np.complex128]
    status: Status
    period: int
    n_steps: int
    weights: Vector
    overlaps: Vector
    free_energy: float

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        return fixed_point_sentence(self.status)

    @property
    def spectral_radius(self) -> float:
        """Largest modulus of an eigenvalue of DT, the factor of a small deviation per update."""
        return float(abs(self.eigenvalues[0]))

    @property
    def support(self) -> NDArray[np.intp]:
        """Indices of the patterns with positive weight."""
        return np.flatnonzero(self.weights)


@dataclass(frozen=True, eq=False)
class Settled:
    """A `FixedPoint` without its observables, and what the next one near it can use.

    Attributes
    ----------
    x, residual, eigenvalues, status, period, n_steps
        As in `FixedPoint`.
    inverse : ndarray, shape (d, d), or None
        (I − DT)⁻¹ at the fixed point.
    """

    x: Vector
    residual: float
    eigenvalues: NDArray[np.complex128]
    status: Status
    period: int
    n_steps: int
    inverse: Matrix | None


def find_fixed_point(
    model: AttentionModel, x0: Any, beta: float, *, tol: float | None = None, max_steps: int | None = None
) -> FixedPoint:
    """Find the fixed point x = T(x) that a start state runs into under the updates x ← T(x).

    Parameters
    ----------
    model : AttentionModel
        The stored patterns, the attention map and the overlap scale.
    x0 : array, shape (d,)
        Start state.
    beta : float
        Inverse temperature, β > 0.
    tol : float, optional
        Bound on |x − T(x)| / max(|x|, s·max|ξ|), by default 1.8e-12.
    max_steps : int, optional
        Limit on updates and Newton steps, by default 10 000.

    Returns
    -------
    FixedPoint
        Its status says whether the state is a verified attracting fixed point, or what it is instead.

    Raises
    ------
    InputError
        If the start state, β or an option lies outside its domain.

    Notes
    -----
    A fixed point that repels is left along its leading eigenvector, to the side of the larger overlap, or of
    the pattern that comes first.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.core.attention.positive import SquaredElu
    >>> model = hp.HopfieldModel(hp.patterns.clustered(100, 64), attention=SquaredElu())
    >>> find_fixed_point(model, model.patterns[0] / 8, beta=300.0).status.name
    'CONVERGED'
    """
    beta = inverse_temperature(beta)
    plain = numpy_model(model)
    start = start_state(plain, x0)
    found = settle(plain, start, beta, residual_tolerance(tol), MAX_STEPS if max_steps is None else max_steps)
    return FixedPoint(
        x=found.x,
        beta=beta,
        residual=found.residual,
        eigenvalues=found.eigenvalues,
        status=found.status,
        period=found.period,
        n_steps=found.n_steps,
        weights=plain.weights(found.x, beta),
        overlaps=plain.overlaps(found.x),
        free_energy=float(plain.free_energy(found.x, beta)) if plain.has_free_energy else math.nan,
    )


class _CompiledModel(AttentionModel):
    """A model with float64 NumPy patterns, whose weights come from compiled routines where there are any."""

    def weights(self, x: Any, beta: float) -> Any:
        """Retrieval weights p(βz), shape (..., M)."""
        return compiled_weights(self.attention, inverse_temperature(beta) * self.overlaps(x), threads=1)


def numpy_model(model: AttentionModel) -> AttentionModel:
    """The model with float64 NumPy patterns and compiled weights, in which all searches work.

    Raises
    ------
    InputError
        For a model of the Tsallis family, for which there is more: `relax`.
    """
    if not isinstance(model, AttentionModel):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"a {type(model).__name__} has no attention map of its own: use relax, or give attention= to it"
        )
    patterns = np.ascontiguousarray(model.patterns, dtype=np.float64)
    return _CompiledModel(patterns, model.attention, model.scale)


def residual_tolerance(tol: float | None) -> float:
    """The bound on the relative residual, by default ε^{3/4}.

    Raises
    ------
    InputError
        Outside [4ε, 1).
    """
    epsilon = float(np.finfo(np.float64).eps)
    if tol is None:
        return epsilon**0.75
    if not 4 * epsilon <= tol < 1:
        raise InputError(f"tol = {tol} is outside [{4 * epsilon:.2g}, 1): give a tolerance in this range")
    return float(tol)


def settle(
    model: AttentionModel,
    x: Vector,
    beta: float,
    tolerance: float,
    max_steps: int,
    inverse: Matrix | None = None,
) -> Settled:
    """`find_fixed_point` on checked input, from a state near the last one where its inverse is given.

    Parameters
    ----------
    model : AttentionModel
        With NumPy patterns.
    x : ndarray, shape (d,)
    beta, tolerance, max_steps
        See `find_fixed_point`.
    inverse : ndarray, shape (d, d), optional
        An approximate (I − DT)⁻¹.
    """
    if max_steps < 1:
        raise InputError(f"max_steps = {max_steps} must be at least 1")
    steps = kicks = 0
    updates = FIRST_UPDATES
    while True:
        found = polish(model, x, beta, tolerance, inverse)
        inverse = None
        if found is not None:
            point, residual, n = found
            steps += n
            jacobian = model.map_jacobian(point, beta)
            eigenvalues = sorted_eigenvalues(jacobian)
            attracts = abs(eigenvalues[0]) < ATTRACTS
            stuck = float(np.linalg.norm(point - x)) <= STUCK * _length(model, x)
            if attracts or (stuck and kicks == MAX_KICKS):
                status = Status.CONVERGED if attracts else Status.SADDLE_NOT_ESCAPED
                return Settled(point, residual, eigenvalues, status, 1, steps, _inverse(jacobian))
            if stuck:
                x, kicks, updates = _pushed(model, point, jacobian), kicks + 1, FIRST_UPDATES
            elif abs(eigenvalues[0]) < SLOW and eigenvalues[0].imag == 0:
                x = _leapt(model, x, point, jacobian)
        x, n, period = _update(model, x, beta, min(updates, max_steps - steps))
        steps += n
        updates *= 2
        if period or steps >= max_steps:
            status = Status.LIMIT_CYCLE if period else Status.ITERATION_LIMIT
            nothing = np.full(model.d, complex(math.nan, math.nan))
            residual = float(model.gradient_residual(x, beta))
            return Settled(x, residual, nothing, status, period, steps, None)


def polish(
    model: AttentionModel, x: Vector, beta: float, tolerance: float, inverse: Matrix | None
) -> tuple[Vector, float, int] | None:
    """Newton's method on x − T(x) = 0 with a Jacobian that is kept while it serves.

    Returns
    -------
    tuple or None
        The fixed point to rounding, its relative residual, and the number of steps; None where the steps do
        not shrink from the first one on.
    """
    typical = model.scale * float(np.median(model.pattern_norms))
    reach = REACH * max(float(np.linalg.norm(x)), typical) / _length(model, x)
    last, fresh = reach / SHRINK, False
    for n in range(MAX_NEWTON):
        length = _length(model, x)
        difference = model.retrieve(x, beta) - x
        residual = float(np.linalg.norm(difference)) / length
        if not residual < math.inf:
            return None
        if inverse is None:
            inverse, fresh = _inverse(model.map_jacobian(x, beta)), True
            if inverse is None:
                return None
        step = inverse @ difference
        size = float(np.linalg.norm(step)) / length
        if size <= ROUNDING or (residual <= tolerance and size > SHRINK * last):
            return x, residual, n
        if size > SHRINK * last:
            if fresh:
                return None
            inverse = None
            continue
        x = x + step
        if size > FAST * last:
            inverse = None
        last, fresh = size, False
    return None


def _update(model: AttentionModel, x: Vector, beta: float, count: int) -> tuple[Vector, int, int]:
    """Some updates x ← T(x): the state, how many were made, and the period of a cycle, 0 without one.

    The state is compared with an earlier one that is renewed after 1, 2, 4, … updates (R. P. Brent, 1980).
    """
    length = _length(model, x)
    mark, age, renewal = x, 0, 1
    for n in range(1, count + 1):
        new = model.retrieve(x, beta)
        moved = float(np.linalg.norm(new - x))
        x = new
        age += 1
        if moved > MOVES * length and float(np.linalg.norm(x - mark)) <= RECURS * length:
            return x, n, age
        if age == renewal:
            mark, age, renewal = x, 0, 2 * renewal
    return x, count, 0


def _pushed(model: AttentionModel, x: Vector, jacobian: Matrix) -> Vector:
    """A state beside a fixed point that repels, along its leading eigenvector, to the side of larger overlap.

    Where both are the same, by symmetry, to that on which the pattern of largest overlap comes first.
    """
    step = KICK * model.state_scale * _leading(jacobian)
    sides = (x + step, x - step)
    overlaps = [model.overlaps(side) for side in sides]
    first, second = (float(z.max()) for z in overlaps)
    if abs(first - second) > TIED * model.state_scale**2:
        return sides[0 if first > second else 1]
    return sides[0 if overlaps[0].argmax() <= overlaps[1].argmax() else 1]


def _leapt(model: AttentionModel, x: Vector, point: Vector, jacobian: Matrix) -> Vector:
    """The state with its deviation from a fixed point along the leading eigenvector made larger."""
    right, left = _leading(jacobian), _leading(jacobian.T)
    amplitude = float(left @ (x - point)) / float(left @ right)
    leap = (LEAP - 1.0) * amplitude
    return x + leap * right if abs(leap) <= REACH * _length(model, x) else x


def _leading(jacobian: Matrix) -> Vector:
    """Real part of the eigenvector of largest modulus of the eigenvalue, of unit length."""
    values, vectors = np.linalg.eig(jacobian)
    vector = np.real(vectors[:, int(np.argmax(np.abs(values)))])
    return vector / float(np.linalg.norm(vector))


def _inverse(jacobian: Matrix) -> Matrix | None:
    try:
        return np.asarray(np.linalg.inv(np.eye(len(jacobian)) - jacobian), dtype=np.float64)
    except np.linalg.LinAlgError:
        return None


def _length(model: AttentionModel, x: Vector) -> float:
    return max(float(np.linalg.norm(x)), model.state_scale)
