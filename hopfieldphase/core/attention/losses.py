"""Fenchel–Young losses: how far the weights of the scores are from the weights that are wanted."""

import numpy as np

from hopfieldphase.core.arrays import Array, distribution, score_array
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.errors import InputError

_SUM_TOLERANCE = 1e-6  # of the wanted weights, which may come in float32


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def fenchel_young_loss(attention: Attention, scores: Array, target: Array) -> Array:
    r"""Fenchel–Young loss :math:`L(z; y) = \Omega^*(z) + \Omega(y) - z \cdot y \ge 0`.

    It is convex in z and vanishes if and only if y are weights of the scores; its gradient is p(z) − y. For
    the softmax and a one-hot y it is the cross-entropy.

    Parameters
    ----------
    attention : Attention
        A map with a conjugate and a regularizer.
    scores : array, shape (..., n)
        Scores z; −∞ marks an absent pattern.
    target : array, shape (..., n)
        Wanted weights y, non-negative, with the sum of the map's weights; the shapes broadcast.

    Returns
    -------
    array, shape (...)
        ∞ where y has weight on an absent pattern, or no weights of the map can be y.

    Raises
    ------
    InputError
        If the map has no conjugate or no regularizer in closed form, or `target` are no weights.

    Notes
    -----
    Blondel, Martins and Niculae, "Learning with Fenchel–Young losses" (2020), Definition 2. The loss vanishes
    for a one-hot y as soon as its score leads by `Attention.separation_margin`.

    Examples
    --------
    >>> from hopfieldphase.core.attention import Entmax
    >>> float(fenchel_young_loss(Entmax(2), np.array([1.0, 0.5]), np.array([1.0, 0.0])))
    0.0625
    """
    xp, z, top, dtype = score_array(scores)
    z, y = xp.broadcast_arrays(z - top, _target(attention, z, target))
    wanted = y > 0
    product = xp.sum(xp.where(wanted, xp.where(wanted, z, 0.0) * y, 0.0), axis=-1)
    # All three terms are shifted by the largest score, so that large scores cost no digits.
    value = attention.conjugate(z) + attention.regularizer(y) - product
    return xp.astype(xp.clip(value, min=0.0), dtype)


def fenchel_young_gradient(attention: Attention, scores: Array, target: Array) -> Array:
    r"""Gradient :math:`\partial L/\partial z = p(z) - y` of the Fenchel–Young loss.

    Parameters
    ----------
    attention, scores, target
        As for `fenchel_young_loss`.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    InputError
        As `fenchel_young_loss`.
    """
    xp, z, _, dtype = score_array(scores)
    return xp.astype(attention.weights(z) - _target(attention, z, target), dtype)


def _target(attention: Attention, z: Array, target: Array) -> Array:
    """The wanted weights in float64, after the checks that both functions share."""
    if not attention.has_conjugate:
        raise InputError(
            f"{attention.name} attention is not the gradient of a convex function of its scores: "
            "it has no Fenchel-Young loss"
        )
    xp, y, _ = distribution(target, "target")
    if y.shape[-1] != z.shape[-1]:
        raise InputError(
            f"target has {y.shape[-1]} weights for {z.shape[-1]} scores: give one weight for each score"
        )
    excess = xp.sum(y, axis=-1) - xp.sum(attention.weights(z), axis=-1)
    worst = float(xp.max(xp.abs(excess)))
    if not worst <= _SUM_TOLERANCE:
        raise InputError(f"target sums differ from those of the weights by {worst:.3g}: normalize its rows")
    return y
