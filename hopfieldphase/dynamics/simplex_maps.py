r"""Attention maps on two and three scores: weights, derivatives, supports, and the lines where they change.

Weights of three scores depend on two differences. The plane of scores with sum zero has the coordinates
:math:`u = (z_1 - z_2)/\sqrt 2` and :math:`v = (z_1 + z_2 - 2 z_3)/\sqrt 6`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.attention import Attention, ConstrainedSparsemax, Entmax, TopK, TopP
from hopfieldphase.dynamics.map_boundaries import piece, refine_boundaries

Floats = NDArray[np.float64]

_PLANE = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])


class PairCurve(NamedTuple):
    """A map on the scores (x, 0): weight of the first, and its derivative by x, shape (points,)."""

    weight: Floats
    slope: Floats


class PlaneMap(NamedTuple):
    """A map on the plane of three scores.

    `weights` (v, u, 3) and `sensitivity` (v, u), the Frobenius norm of the Jacobian; `boundary` (points, 2)
    are places (u, v) where the piece of the map changes, `jump` (points,) the largest change of a weight
    across each.
    """

    weights: Floats
    sensitivity: Floats
    boundary: Floats
    jump: Floats


def shown_maps(alpha: float, k: int, p: float, cap: float) -> dict[str, Attention]:
    """The maps of the study by name: two dense or sparse families, two selections, one with caps."""
    return {
        "softmax": Entmax(1.0),
        "entmax": Entmax(alpha),
        "sparsemax": Entmax(2.0),
        "top-k": TopK(k),
        "top-p": TopP(p),
        "constrained-sparsemax": ConstrainedSparsemax(cap),
    }


def plane_scores(u: Floats, v: Floats) -> Floats:
    """Scores (..., 3) of sum zero at places of the plane."""
    return np.stack([u, v], axis=-1) @ _PLANE


def plane_coordinates(scores: Floats) -> Floats:
    """Coordinates (u, v), shape (..., 2), of three scores; what all have in common drops out."""
    return scores @ _PLANE.T


def pair_curve(attention: Attention, differences: Floats) -> PairCurve:
    """A map on two scores, along their difference.

    Parameters
    ----------
    attention : Attention
    differences : ndarray, shape (points,)

    Returns
    -------
    PairCurve
    """
    scores = np.stack([differences, np.zeros_like(differences)], axis=-1)
    first = np.broadcast_to([1.0, 0.0], scores.shape)
    return PairCurve(
        np.asarray(attention.weights(scores))[:, 0],
        np.asarray(attention.jacobian_action(scores, first))[:, 0],
    )


def plane_map(attention: Attention, axis: Floats) -> PlaneMap:
    """A map on three scores, on a square grid of the plane of their differences.

    Parameters
    ----------
    attention : Attention
    axis : ndarray, shape (points,)
        Values of both coordinates, in the units of the scores.

    Returns
    -------
    PlaneMap
        Boundaries are bisected along every edge of the grid that they cross, to rounding.
    """
    u, v = np.meshgrid(axis, axis)
    scores = plane_scores(u, v)
    weights = np.asarray(attention.weights(scores))
    squares = [
        np.sum(np.asarray(attention.jacobian_action(scores, np.broadcast_to(unit, scores.shape))) ** 2, -1)
        for unit in np.eye(3)
    ]
    pieces = piece(attention, scores)
    starts, ends = [], []
    for here, there in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        crossed = (pieces[here] != pieces[there]).any(axis=-1)
        starts.append(scores[here][crossed])
        ends.append(scores[there][crossed])
    low, high = refine_boundaries(attention, np.concatenate(starts), np.concatenate(ends))
    jump = np.abs(np.asarray(attention.weights(high)) - np.asarray(attention.weights(low)))
    return PlaneMap(
        weights, np.sqrt(sum(squares)), plane_coordinates(0.5 * (low + high)), jump.max(axis=-1, initial=0.0)
    )
