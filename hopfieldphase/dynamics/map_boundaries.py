"""Where an attention map changes its analytic piece: supports, caps, and the boundaries between them."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.attention import Attention

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_HALVINGS = 60  # down to neighbouring doubles from any interval of scores of order one


def piece(attention: Attention, scores: Floats) -> Bools:
    """Which weights are positive, and which are at their cap; booleans of shape (..., 2n).

    Within one piece the weights are analytic functions of the scores.
    """
    weights = np.asarray(attention.weights(scores))
    capped = weights >= getattr(attention, "caps", math.inf)
    return np.concatenate([weights > 0, np.broadcast_to(capped, weights.shape)], axis=-1)


def refine_boundaries(attention: Attention, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Both sides of a boundary of pieces between scores of different pieces, found by bisection.

    Parameters
    ----------
    attention : Attention
    low, high : ndarray, shape (m, n)
        Row by row scores of two pieces.

    Returns
    -------
    tuple of ndarray, shape (m, n)
        Scores on the line between them, a rounding error apart, that lie in different pieces.
    """
    first: Any = piece(attention, low)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        same = (piece(attention, middle) == first).all(axis=-1, keepdims=True)
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return low, high
