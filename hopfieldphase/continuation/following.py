"""Branches of stationary states along β for any finite α, followed by pseudo-arclength through everything.

Folds, branch points and support changes are located on the way, on stable and unstable arms alike. Up to
α = 1.5 one curve crosses support changes smoothly; above, each support is a curve of its own, and they are
joined where a weight or an overlap reaches its threshold.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from hopfieldphase.continuation.arc_pieces import Space, assemble, legs_of
from hopfieldphase.continuation.arclength import continue_curve, leave_barrier
from hopfieldphase.continuation.branch import Branch, Vector
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.problems import FaceProblem, MotionProblem, state_at
from hopfieldphase.continuation.stepping import Steps
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel

SMOOTH_INDEX = 1.5
"""Up to this α support changes leave the Jacobian Lipschitz continuous."""

MAX_SUPPORT_CHANGES = 2_000
"""Cap on the support changes of one walk in one direction."""

MAX_TRIALS = 16
"""Cap on the single patterns tried where many change at once."""

GOES_ON = 3
"""β goes on in its direction with the same index."""

NEAR = 1e-4
"""How far the start may lie from the curve, relative to the state scale."""


def follow_arclength(
    model: HopfieldModel,
    x: Vector,
    beta: float,
    lower: float,
    upper: float,
    *,
    requested: Iterable[float] = (),
    steps: Steps | None = None,
) -> Branch:
    """Follow the branch through a stationary state both ways in β, around folds, to the ends of the range.

    Parameters
    ----------
    model : HopfieldModel
        0 < α < ∞. At α = 2 the exact tracer is faster and crosses flat edges, where this method stops.
    x : array, shape (d,)
        A stationary state at `beta`, stable or not, to about 1e-6.
    beta : float
        Where to start.
    lower, upper : float
        Range of β, 0 < lower ≤ beta ≤ upper < ∞.
    requested : iterable of float
        Values of β that must be among the stored points of the curves.
    steps : Steps, optional
        Step lengths and their cap.

    Returns
    -------
    Branch
        Its pieces carry the index, the number of negative eigenvalues of ∇²Γ; special points are exact to
        about 1e-12. Where a stable piece ends, the point carries the state that is reached beyond.

    Raises
    ------
    InputError
        If α = ∞, the range does not fit, or x is not close to a stationary state.

    Notes
    -----
    Source: Eq. (3.5) and Propositions 3.2, 3.3 of "On the Statistical Mechanics of Attention"
    (arXiv:2610.17347); Keller, in Applications of Bifurcation Theory (1977) 359.
    """
    beta = inverse_temperature(beta)
    if math.isinf(model.alpha):
        raise InputError(
            "alpha = inf: the weights jump with x, there is no smooth curve to follow; use a finite alpha"
        )
    if not 0 < lower <= beta <= upper < math.inf or lower == upper:
        raise InputError(
            f"beta = {beta:.12g} and the range [{lower:.12g}, {upper:.12g}] do not fit: "
            "choose 0 < lower <= beta <= upper < inf with lower < upper"
        )
    state = state_at(model, np.asarray(x, dtype=np.float64), beta)
    smooth = model.alpha <= SMOOTH_INDEX
    space = MotionProblem(model) if smooth else _space_on(model, state.support)
    trip = _Trip(model, beta, lower, upper, (beta, *requested), steps)
    middle = continue_curve(
        space, space.unknown(state), beta, p_min=lower, p_max=upper, requested=trip.requested, steps=steps
    )
    if not _passes(space, middle, space.unknown(state), beta, NEAR):
        raise InputError(
            f"x is not close to a stationary state at beta = {beta:.12g}: relax it there first "
            "(hopfieldphase.relax), or polish an unstable state with Newton's method"
        )
    ahead, closed = trip.beyond(space, middle, last=True)
    back = [] if closed else trip.beyond(space, middle, last=False)[0]
    legs = [leg for far, curve in reversed(back) for leg in legs_of(far, curve, reverse=True)]
    legs += [leg for far, curve in [(space, middle), *ahead] for leg in legs_of(far, curve)]
    return assemble(model, beta, legs, closed=closed)


@dataclass(frozen=True)
class _Trip:
    """What stays the same from support to support."""

    model: HopfieldModel
    beta: float
    lower: float
    upper: float
    requested: tuple[float, ...]
    steps: Steps | None

    def beyond(self, home: Space, middle: Curve, last: bool) -> tuple[list[tuple[Space, Curve]], bool]:
        """The curves that follow on one end of the first one, and whether they lead back to it."""
        start = middle.state[int(np.argmax(middle.parameter == self.beta))]
        found: list[tuple[Space, Curve]] = []
        crossed: set[tuple[object, object, str]] = set()
        space: Space = home
        curve: Curve | None = middle
        while len(found) < MAX_SUPPORT_CHANGES:
            end, beside = (curve.ends[1], -2) if last or found else (curve.ends[0], 1)
            if end.kind is not CurvePointKind.BARRIER:
                break
            before = space.support
            space, curve = self._cross(space, end, end.parameter > curve.parameter[beside])
            crossing = before, space.support, f"{end.parameter:.9g}"
            if curve is None or crossing in crossed:
                break  # a tie rule may lead round in a circle that never meets the start
            crossed.add(crossing)
            if space.support == home.support and _passes(space, curve, start, self.beta, NEAR):
                return found, True
            found.append((space, curve))
        return found, False

    def _cross(self, space: Space, end: CurvePoint, rising: bool) -> tuple[Space, Curve | None]:
        """The curve on the support that follows where patterns enter or leave.

        Where several do so at once, the support on which β goes on in its direction with the same index,
        or else in its direction, or else the first that exists.
        """
        best: tuple[Space, Curve | None] = space, None
        score = -1
        for changing in _choices(space, end.monitors):
            beyond, curve = self._leave(space, end, changing)
            if curve is None:
                continue
            onward = (curve.parameter[1] > curve.parameter[0]) == rising
            quality = 2 * onward + (onward and curve.nodes[1].index == end.index_before)
            if quality > score:
                best, score = (beyond, curve), quality
            if score == GOES_ON:
                break
        return best

    def _leave(self, space: Space, end: CurvePoint, changing: tuple[int, ...]) -> tuple[Space, Curve | None]:
        inside = set(space.support or ())
        state = space.state(end.state, end.parameter)
        weights = state.weights.copy()
        weights[[mu for mu in end.monitors if mu in inside]] = 0.0
        beyond = _space_on(self.model, tuple(sorted(inside ^ set(changing))))
        unknown = beyond.unknown(replace(state, weights=weights))
        return beyond, leave_barrier(
            beyond,
            unknown,
            end.parameter,
            changing,
            beyond.opening(unknown, end.parameter, changing),
            p_min=self.lower,
            p_max=self.upper,
            requested=self.requested,
            steps=self.steps,
        )


def _choices(space: Space, patterns: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Which of the patterns at their thresholds may change sides: all, those inside, those outside, one."""
    inside = tuple(mu for mu in patterns if mu in (space.support or ()))
    outside = tuple(mu for mu in patterns if mu not in inside)
    ones = [(mu,) for mu in patterns[:MAX_TRIALS]]
    return [choice for choice in dict.fromkeys([patterns, inside, outside, *ones]) if choice]


def _passes(space: Space, curve: Curve, state: Vector, beta: float, tolerance: float) -> bool:
    """Whether a curve passes a state at β inside its domain."""
    rows = np.flatnonzero(curve.parameter == beta)
    if not rows.size:
        return False
    distances = np.abs(curve.state[rows] - state).max(axis=1)
    monitors = curve.nodes[int(rows[np.argmin(distances)])].monitors
    inside = not space.barrier or bool(monitors.min() >= -tolerance * np.abs(monitors).max())
    return inside and bool(distances.min() <= tolerance * curve.equations.state_scale)


def _space_on(model: HopfieldModel, support: tuple[int, ...]) -> Space:
    if model.alpha < 2.0 or len(support) == 1:
        return MotionProblem(model, support)
    return FaceProblem(model, support)
