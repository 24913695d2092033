"""The signed logarithm: polynomial tails become exponential ones of the same index."""

from typing import Any

import numpy as np

from hopfieldphase.core.ensembles.laws import Floats, points


def symlog(x: Any) -> Floats:
    """σ(x) = sign(x) log(1 + |x|), elementwise.

    Of a Pareto variable with index a and scale λ the tail is P(σ(X) > t) = λ^a (e^t − 1)^(−a) =
    λ^a e^(−at) (1 + O(e^(−t))): exponential, with rate a.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", equations (8), (21), (22).

    Examples
    --------
    >>> symlog([-1.0, 0.0, 1e6]).round(6).tolist()
    [-0.693147, 0.0, 13.815512]
    """
    x = points(x, "x")
    return np.copysign(np.log1p(np.abs(x)), x)


def symexp(y: Any) -> Floats:
    """σ⁻¹(y) = sign(y) (e^|y| − 1), elementwise: the inverse of `symlog`."""
    y = points(y, "y")
    return np.copysign(np.expm1(np.abs(y)), y)
