"""Products of many states with all patterns, without BLAS, see `kernels.dense`."""

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.kernels.jit import jit

Floats = NDArray[np.float64]


def row_products(a: Floats, b: Floats) -> Floats:
    """A Bᵀ, all scalar products of rows.

    Parameters
    ----------
    a : ndarray, shape (n, k)
    b : ndarray, shape (m, k)

    Returns
    -------
    ndarray, shape (n, m)
    """
    out = np.empty((len(a), len(b)))
    _row_products(np.ascontiguousarray(a), np.ascontiguousarray(b), out)
    return out


@jit(reorder=True)
def _row_products(a, b, out):
    for n in range(a.shape[0]):
        left = a[n]
        for m in range(b.shape[0]):
            right = b[m]
            total = 0.0
            for k in range(left.size):
                total += left[k] * right[k]
            out[n, m] = total
