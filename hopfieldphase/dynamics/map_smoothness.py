"""How smooth attention maps are where a weight appears, reaches its cap, or is exchanged for another."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from hopfieldphase.core.attention import (
    Attention,
    CappedEntmax,
    ConstrainedSoftmax,
    ConstrainedSparsemax,
    Entmax,
    LinearElu,
    Normmax,
    TopK,
    TopP,
)
from hopfieldphase.dynamics.map_boundaries import piece, refine_boundaries

Floats = NDArray[np.float64]

BASE = np.array([0.6, 0.1, -0.3])
"""Scores that stay; a fourth one is moved past them."""

HIGHEST_ORDER = 4
"""Orders of continuity are told apart up to this one."""

_STEPS = 2.0 ** -np.arange(6, 16)
_SEEN = 1e-12  # differences above this are no rounding
_OFFSET = 1.3  # the boundary lies between points of the stencil, not in its middle
_BESIDE = 1e-9  # from the boundary, where one-sided derivatives are taken
_SCAN = 801


class Crossing(NamedTuple):
    """A boundary on the path of the fourth score.

    `position` of the score; `kind`: "support", "cap", or "gate" for the origin of a gate without boundaries;
    `order` r of continuity, as in [t]₊^r; `jump`, the largest change of a weight, and `kink`, of a derivative
    by the moved score, across it.
    """

    position: float
    kind: str
    order: float
    jump: float
    kink: float


def compared_maps(alpha: float, k: int, p: float, cap: float) -> dict[str, Attention]:
    """The maps of the study by name."""
    return {
        "softmax": Entmax(1.0),
        "linear-elu": LinearElu(),
        "entmax-4/3": Entmax(4 / 3),
        "entmax": Entmax(alpha),
        "sparsemax": Entmax(2.0),
        "normmax": Normmax(2.0),
        "constrained-softmax": ConstrainedSoftmax(cap),
        "constrained-sparsemax": ConstrainedSparsemax(cap),
        "capped-entmax": CappedEntmax(k, alpha),
        "top-k": TopK(k),
        "top-p": TopP(p),
    }


def path(position: Floats) -> Floats:
    """Scores (..., 4): `BASE`, and a fourth at each position."""
    return np.concatenate([np.broadcast_to(BASE, (*position.shape, 3)), position[..., None]], axis=-1)


def expected_exponent(alpha: float) -> float:
    """Exponent of the weight of an entering pattern in its distance to the boundary: max(1, 1/(α−1)).

    Up to α = 2 the threshold stays behind and the gate alone decides. For α > 2 its infinite slope would, but
    the threshold follows: the weight grows linearly.
    """
    return max(1.0, 1 / (alpha - 1))


def continuity_class(order: float, tolerance: float = 0.1) -> int:
    """Largest t for which [x]₊^r of this order r is t times continuously differentiable; −1 for a jump."""
    return math.ceil(order - tolerance) - 1


def entering_weight(alpha: float, distance: Floats) -> Floats:
    """Weight of α-entmax at a score so far above the threshold of `BASE`, shape of `distance`.

    Parameters
    ----------
    alpha : float
        Tsallis index, 1 < α < ∞.
    distance : ndarray
        Of the fourth score to the boundary, > 0.

    Returns
    -------
    ndarray
    """
    attention = Entmax(alpha)
    base = BASE - float(attention.threshold(BASE))  # a boundary at zero, so that small distances are exact
    base = base - float(attention.threshold(base))
    scores = np.concatenate([np.broadcast_to(base, (*distance.shape, 3)), distance[..., None]], axis=-1)
    return np.asarray(attention.weights(scores))[..., 3]


def entry_exponent(alpha: float, distance: float = 1e-8) -> float:
    """Local exponent d ln p/d ln t of `entering_weight` between t = `distance` and four times it.

    From t = p^(α−1)/(α−1) + p/S, with S = Σ p^(2−α) of the others, it tends to `expected_exponent`, but in
    steps of t^|1/(α−1) − 1|, which doubles do not resolve within about 0.2 of α = 2.
    """
    near, far = entering_weight(alpha, np.array([distance, 4 * distance]))
    return math.log(far / near) / math.log(4)


def continuity_order(attention: Attention, position: float) -> float:
    r"""Order r of the singularity of the weights, as of [t]₊^r, where the fourth score has one place.

    Parameters
    ----------
    attention : Attention
    position : float
        Of the boundary.

    Returns
    -------
    float
        Exponent in ε of the differences of order `HIGHEST_ORDER` across the boundary; a smooth map, and one
        whose differences are lost in rounding, has that order.
    """
    m = HIGHEST_ORDER
    signs = (-1.0) ** np.arange(m + 1) * special.comb(m, np.arange(m + 1))
    points = position + _STEPS[:, None] * (np.arange(m + 1) - _OFFSET)
    differences = np.abs(np.einsum("i,sin->sn", signs, np.asarray(attention.weights(path(points))))).max(1)
    last = np.count_nonzero(differences > _SEEN) - 1
    if last < 2:
        return float(m)
    return float(np.log2(differences[last - 2] / differences[last]) / 2)


def crossings(attention: Attention, low: float, high: float) -> list[Crossing]:
    """All boundaries of a map as the fourth score rises from `low` to `high`.

    Parameters
    ----------
    attention : Attention
    low, high : float

    Returns
    -------
    list of Crossing
        By position, which is bisected to rounding. Where every weight stays positive and free, the only
        entry is the origin, where the gates of positive kernels change.
    """
    positions = np.linspace(low, high, _SCAN)
    pieces = piece(attention, path(positions))
    changed = np.flatnonzero((pieces[1:] != pieces[:-1]).any(axis=-1))
    found = [] if len(changed) else [_crossing(attention, "gate", 0.0, 0.0)]
    for i in changed:
        sides = refine_boundaries(attention, path(positions[i : i + 1]), path(positions[i + 1 : i + 2]))
        before, after = (np.asarray(attention.weights(side))[0] for side in sides)
        support = bool((pieces[i, :4] != pieces[i + 1, :4]).any())
        found.append(
            _crossing(
                attention,
                "support" if support else "cap",
                float(sides[1][0, 3]),
                float(np.abs(after - before).max()),
            )
        )
    return found


def _crossing(attention: Attention, kind: str, position: float, jump: float) -> Crossing:
    beside = path(position + _BESIDE * np.array([-1.0, 1.0]))
    raised = np.broadcast_to([0.0, 0.0, 0.0, 1.0], beside.shape)
    left, right = np.asarray(attention.jacobian_action(beside, raised))
    kink = float(np.abs(right - left).max())
    return Crossing(position, kind, continuity_order(attention, position), jump, kink)
