"""Where an α = 2 state goes when its branch ends: along the direction that opens, then downhill."""

import math

import numpy as np

from hopfieldphase.continuation.branch import State, Vector
from hopfieldphase.continuation.face import RESOLUTION, Face, StoredPatterns
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

BEYOND = (1e-8, 1e-4)
"""Relative distances behind an end at which the landing state is relaxed; the second where the first ties."""


def landing_state(
    model: HopfieldModel, face: Face, t: float, entering: tuple[int, ...], up: bool
) -> State | None:
    """The strict minimum that the state of a face relaxes to just beyond the end of its branch at t = 2/β.

    Parameters
    ----------
    model : HopfieldModel
    face : Face
        The last piece of the branch.
    t : float
        The end.
    entering : tuple of int
        The patterns whose entry ends the branch; none at a spinodal.
    up : bool
        Whether β rises at the end.

    Returns
    -------
    State or None
        Of several directions that open the one that leads to the lowest free energy, then the one that raises
        the lowest index. None where no strict minimum is reached.
    """
    for distance in BEYOND:
        beyond = t / (1 + distance if up else 1 - distance)
        landings = [
            _land(model, face.stored, weights, beyond) for weights in _fall(face, t, entering, beyond)
        ]
        found = [state for state in landings if state is not None]
        if found:
            lowest = min(state.free_energy for state in found) * (1 - RESOLUTION)
            return next(state for state in found if state.free_energy <= lowest)
    return None


def _fall(face: Face, t: float, entering: tuple[int, ...], beyond: float) -> list[Vector]:
    """Weights (M,) from which to relax at t = `beyond`: the far ends of the directions that open at the end.

    Along a direction that has lost stability the free energy falls monotonically up to the boundary of the
    face. An edge that was flat at the end only, and is stable beyond, has its minimum inside.
    """
    p = np.zeros(face.mean_overlaps.size)
    if entering:
        union = Face(face.stored, (*face.patterns, entering[0]))
        if union.top < beyond and (inside := union.weights(beyond)).min() > 0:
            p[union.support] = inside
            return [p]
        senses: tuple[float, ...] = (1.0,)
        raised = union.patterns.index(entering[0])
    else:
        union = face
        senses = (1.0, -1.0)
        sizes = np.abs(face.soft).max(axis=1)
        raised = int(np.argmax(sizes > 0.1 * sizes.max()))
    p[face.support] = face.weights(t)
    direction = np.zeros(p.size)
    direction[union.support] = union.soft @ union.soft[raised]
    return [_to_boundary(p, sense * direction) for sense in senses]


def _to_boundary(p: Vector, direction: Vector) -> Vector:
    """Go from p along a direction until a weight reaches zero, exactly."""
    falling = np.flatnonzero(direction < 0)
    lengths = -p[falling] / direction[falling]
    moved = p + lengths.min() * direction
    moved[falling[lengths <= lengths.min() + RESOLUTION * (1 + lengths.min())]] = 0.0
    return np.maximum(moved, 0.0)


def _land(model: HopfieldModel, stored: StoredPatterns, weights: Vector, t: float) -> State | None:
    """The strict minimum that a state relaxes to; where its gradient drowns in rounding, by exact descent."""
    solution = relax(model, weights @ stored.scaled, 2 / t)
    landed = Face(stored, solution.support.tolist())
    if landed.is_strict_minimum(t):
        return landed.state(2 / t)
    settled = settle(stored, t, weights)
    return None if settled is None else settled.state(2 / t)


def settle(stored: StoredPatterns, t: float, weights: Vector) -> Face | None:
    """Descend on t|p|² − pᵀGp over the simplex, face by face, to a strict minimum.

    On a stable face the step goes to its minimum, on an unstable one along the soft direction, each cut where
    a weight reaches zero; at the minimum of a face the pattern with the largest overlap above θ enters.

    Returns
    -------
    Face or None
        The face of the minimum, None where it is not strict.
    """
    p = np.where(weights > RESOLUTION, weights, 0.0)
    entering: list[int] = []
    for _ in range(100 * p.size):
        face = Face(stored, {*np.flatnonzero(p).tolist(), *entering})
        stable = face.top < t * (1 - RESOLUTION)
        direction = np.zeros(p.size)
        if stable:
            direction[face.support] = face.weights(t)
            direction -= p
        else:
            slope = t * p - stored.scaled @ (p @ stored.scaled)
            soft = face.soft[:, -1]
            sense = float(soft @ slope[face.support])
            direction[face.support] = -soft if sense > 0 else soft
        target = p + direction
        if stable and target[face.support].min() > 0:
            p = target
            slack = -face.energy(t) - stored.scaled @ (p @ stored.scaled)
            slack[face.support] = math.inf
            if face.is_strict_minimum(t):
                return face
            entering = [int(np.argmin(slack))]
            if slack.min() > -RESOLUTION * face.size:
                return None
        else:
            p = _to_boundary(p, direction)
            entering = []
    return None
