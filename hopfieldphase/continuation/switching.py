"""Where curves cross: the other curves through a singular point, found without second derivatives.

At a point y* where F_x has a kernel of dimension m, the null space of (F_x F_p) has dimension m + 1 and holds
the tangents of all curves through y*. Newton's method in the hyperplane d·(y − y*) = ε, with d in that space
and across the known tangent, ends on another curve.
"""

import numpy as np

from hopfieldphase.continuation.corrector import Node, correct, node_at
from hopfieldphase.continuation.curve import CurvePointKind
from hopfieldphase.continuation.equations import Equations, Vector

# Distance (in scaled units) at which the other curves are met, and how far from the guess they may lie.
DISTANCE = 1e-3
MAX_ASIDE = 4.0
# Arms whose directions agree to this much are one arm.
SAME_DIRECTION = 1e-4
# A tangent whose parameter component is below this fraction is vertical: the parameter turns back.
VERTICAL = 1e-4
# Directions tried at a kernel of several dimensions: projections of axes, and a fixed random set.
MAX_AXES = 64
MIXED_DIRECTIONS = 32


def arms(equations: Equations, node: Node, multiplicity: int) -> list[Node]:
    """First points of the other curves through a singular point, travelling away from it.

    Parameters
    ----------
    node : Node
        The singular point, with the tangent of the known curve.
    multiplicity : int
        Dimension m of the kernel of F_x. For m = 1 both arms of the one other curve are found; for more,
        those that are met from the projections of the coordinate axes and from a fixed set of directions.
    """
    linear = equations.linearize(node.y)
    if linear is None:
        return []
    extended = np.column_stack((linear.jacobian, linear.slope))
    null = np.linalg.svd(extended)[2][-(multiplicity + 1) :]
    across = null - np.outer(null @ node.tangent, node.tangent)
    basis = np.linalg.svd(across)[2][:multiplicity]
    candidates = basis
    if multiplicity > 1:
        rng = np.random.default_rng(0)
        axes = basis.T[np.argsort(-np.linalg.norm(basis, axis=0), kind="stable")[:MAX_AXES]] @ basis
        mixed = rng.standard_normal((MIXED_DIRECTIONS, multiplicity)) @ basis
        candidates = np.concatenate((axes, mixed))
        candidates /= np.linalg.norm(candidates, axis=1, keepdims=True)
    found: list[Node] = []
    directions: list[Vector] = []
    for direction in np.concatenate((candidates, -candidates)):
        landed = _land(equations, node, direction)
        if landed is None:
            continue
        away = _unit(landed.y - node.y)
        if all(float(away @ known) < 1.0 - SAME_DIRECTION for known in directions):
            directions.append(away)
            found.append(landed)
    return found


def crossing_kind(equations: Equations, node: Node, turns_back: bool) -> CurvePointKind:
    """Name a crossing of two curves by whether the parameter turns back on one of them."""
    if turns_back:
        return CurvePointKind.PITCHFORK
    both = arms(equations, node, 1)
    if len(both) != 2:
        return CurvePointKind.BRANCH_POINT
    first, second = (float(arm.y[-1] - node.y[-1]) for arm in both)
    odd, even = abs(first - second) / 2.0, abs(first + second) / 2.0
    return CurvePointKind.PITCHFORK if odd <= max(even, VERTICAL * DISTANCE) else CurvePointKind.TRANSCRITICAL


def _land(equations: Equations, node: Node, direction: Vector) -> Node | None:
    """The point of another curve at the distance `DISTANCE` along a direction."""
    found = correct(equations, node.y + DISTANCE * direction, direction)
    if found is None:
        return None
    away = found[0] - node.y
    aside = away - DISTANCE * direction
    if float(aside @ aside) > (MAX_ASIDE * DISTANCE) ** 2:
        return None
    return node_at(equations, found, away)


def _unit(vector: Vector) -> Vector:
    return vector / np.sqrt(vector @ vector)
