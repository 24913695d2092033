"""Eigensystem of a small symmetric matrix, on the calling thread alone.

LAPACK spreads even a 20 × 20 problem over every core, which costs more than it saves and stalls where
the cores are busy. Below a few dozen rows a plain reduction to tridiagonal form and implicit QL steps,
with every inner loop along contiguous rows, are faster than it.
"""

import numpy as np

from hopfieldphase.kernels.jit import jit

LARGEST_SMALL = 80
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
    diagonal, beside, factors = tridiagonalize(a)
    rows = reflections(a, factors)
    implicit_ql(diagonal, beside, rows)
    order = np.argsort(diagonal)
    return diagonal[order], rows[order]


@jit(reorder=True)
def tridiagonalize(a):
    """Reduce the upper triangle by reflections I − τ v vᵀ; v of step j is left in a[j, j+1:]."""
    n = a.shape[0]
    diagonal = np.empty(n)
    beside = np.zeros(n)
    factors = np.zeros(n)
    w = np.empty(n)
    for j in range(n):
        v = a[j]
        diagonal[j] = v[j]
        if j == n - 1:
            break
        rest = 0.0
        for i in range(j + 2, n):
            rest += v[i] * v[i]
        first = v[j + 1]
        beside[j] = first
        if rest == 0.0:
            continue
        beside[j] = -np.copysign(np.sqrt(first * first + rest), first)
        tau = (beside[j] - first) / beside[j]
        factors[j] = tau
        scale = 1.0 / (first - beside[j])
        for i in range(j + 2, n):
            v[i] *= scale
        v[j + 1] = 1.0
        w[j + 1 :] = 0.0
        for i in range(j + 1, n):
            row = a[i]
            total = row[i] * v[i]
            for k in range(i + 1, n):
                total += row[k] * v[k]
                w[k] += v[i] * row[k]
            w[i] += total
        along = 0.0
        for i in range(j + 1, n):
            w[i] *= tau
            along += w[i] * v[i]
        half = 0.5 * tau * along
        for i in range(j + 1, n):
            w[i] -= half * v[i]
        for i in range(j + 1, n):
            row = a[i]
            for k in range(i, n):
                row[k] -= v[i] * w[k] + w[i] * v[k]
    return diagonal, beside, factors


@jit(reorder=True)
def reflections(a, factors):
    """The transpose of the product of the reflections of `tridiagonalize`."""
    n = a.shape[0]
    rows = np.eye(n)
    for j in range(n - 2, -1, -1):
        if factors[j] == 0.0:
            continue
        v = a[j]
        for i in range(j + 1, n):
            row = rows[i]
            along = 0.0
            for k in range(j + 1, n):
                along += row[k] * v[k]
            along *= factors[j]
            for k in range(j + 1, n):
                row[k] -= along * v[k]
    return rows


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
