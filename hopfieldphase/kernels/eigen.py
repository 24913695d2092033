"""Eigensystem of a small symmetric matrix, on the calling thread alone.

LAPACK spreads even a 20 × 20 problem over every core, which costs more than it saves and stalls where
the cores are busy. Up to some hundred rows a plain reduction to tridiagonal form and implicit QL steps,
with every inner loop along contiguous rows, are as fast or faster.
"""

import numpy as np

from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.tridiagonal import from_reduced, reduce
from hopfieldphase.kernels.vectors import assign

LARGEST_SMALL = 160
"""Matrices of more rows go to LAPACK."""

EPS = 2.220446049250313e-16
MAX_QL_STEPS = 60


@jit(reorder=True)
def eigensystem(a):
    """Return the ascending eigenvalues of a symmetric matrix, and its eigenvectors as rows.

    Parameters
    ----------
    a : ndarray, shape (n, n)
        Symmetric; overwritten.

    Returns
    -------
    values : ndarray, shape (n,)
    rows : ndarray, shape (n, n)
        Row i belongs to value i; orthonormal to rounding.

    Notes
    -----
    Golub and Van Loan, Matrix Computations, 4th ed., Algorithms 8.3.1 and 8.3.3.
    """
    n = a.shape[0]
    if n > LARGEST_SMALL:
        values, vectors = np.linalg.eigh(a)
        return values, np.ascontiguousarray(vectors.T)
    heights, diagonal, off = np.empty((3, n))
    reduce(a, heights, diagonal, off)
    rows = np.eye(n)
    for i in range(n):
        from_reduced(a, heights, rows[i])
    beside = np.zeros(n)
    assign(beside[: n - 1], off[1:])
    implicit_ql(diagonal, beside, rows)
    order = np.argsort(diagonal)
    return diagonal[order], rows[order]


@jit(reorder=True)
def implicit_ql(diagonal, beside, rows):
    """Diagonalize a tridiagonal matrix in place, carrying its rotations over to `rows`."""
    n = diagonal.size
    for low in range(n):
        for _ in range(MAX_QL_STEPS):
            high = low
            while high < n - 1:
                if abs(beside[high]) <= EPS * (abs(diagonal[high]) + abs(diagonal[high + 1])):
                    break
                high += 1
            if high == low:
                break
            # Wilkinson's shift
            g = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low])
            r = np.hypot(g, 1.0)
            g = diagonal[high] - diagonal[low] + beside[low] / (g + np.copysign(r, g))
            s, c, p = 1.0, 1.0, 0.0
            split = False
            for i in range(high - 1, low - 1, -1):
                f = s * beside[i]
                b = c * beside[i]
                r = np.hypot(f, g)
                beside[i + 1] = r
                if r == 0.0:
                    diagonal[i + 1] -= p
                    beside[high] = 0.0
                    split = True
                    break
                s = f / r
                c = g / r
                g = diagonal[i + 1] - p
                r = (diagonal[i] - g) * s + 2.0 * c * b
                p = s * r
                diagonal[i + 1] = g + p
                g = c * r - b
                upper = rows[i + 1]
                lower = rows[i]
                for k in range(n):
                    f = upper[k]
                    upper[k] = s * lower[k] + c * f
                    lower[k] = c * lower[k] - s * f
            if split:
                continue
            diagonal[low] -= p
            beside[low] = g
            beside[high] = 0.0
