"""One Householder reduction K = Q T Qᵀ serves the largest eigenvalue, its vector and every solve.

LAPACK would start threads, which at these sizes cost more than the work.
"""

import numpy as np

from hopfieldphase.kernels.jit import jit

LAGUERRE_STEPS = 60
INVERSE_ITERATIONS = 4


@jit(reorder=True)
def reduce(a, heights, diagonal, off):
    """Reduce the symmetric `a` (lower half, overwritten by reflectors) to tridiagonal form.

    Rows are eliminated from the last one upward, so that every inner loop runs along a row.
    `diagonal` receives T_ii, `off` T_{i,i−1}, and I − v vᵀ/heights[i] with v = a[i, :i] is reflector i.
    """
    n = a.shape[0]
    e = np.zeros(n)
    for i in range(n - 1, 0, -1):
        v = a[i]
        diagonal[i] = v[i]
        head = v[i - 1]
        rest = 0.0
        for k in range(i - 1):
            rest += v[k] * v[k]
        off[i] = head
        heights[i] = 0.0
        if rest <= 1e-300:
            continue
        norm2 = rest + head * head
        norm = np.sqrt(norm2)
        h = norm2 + abs(head) * norm
        v[i - 1] = head + norm if head > 0.0 else head - norm
        off[i] = -norm if head > 0.0 else norm
        heights[i] = h
        e[:i] = 0.0
        for j in range(i):
            row = a[j]
            f = v[j]
            g = row[j] * f
            for k in range(j):
                e[k] += row[k] * f
                g += row[k] * v[k]
            e[j] += g
        f = 0.0
        for j in range(i):
            e[j] /= h
            f += e[j] * v[j]
        shift = f / (h + h)
        for j in range(i):
            e[j] -= shift * v[j]
        for j in range(i):
            row = a[j]
            f = v[j]
            g = e[j]
            for k in range(j + 1):
                row[k] -= f * e[k] + g * v[k]
    diagonal[0] = a[0, 0]
    off[0] = 0.0


@jit(reorder=True)
def _reflect(a, heights, i, y):
    """Apply reflector i to y."""
    if heights[i] > 0.0:
        v = a[i]
        s = 0.0
        for k in range(i):
            s += v[k] * y[k]
        s /= heights[i]
        for k in range(i):
            y[k] -= s * v[k]


@jit
def to_reduced(a, heights, y):
    """Y ← Qᵀ y."""
    for i in range(heights.size - 1, 0, -1):
        _reflect(a, heights, i, y)


@jit
def from_reduced(a, heights, y):
    """Y ← Q y."""
    for i in range(1, heights.size):
        _reflect(a, heights, i, y)


@jit
def solve_tridiagonal(diagonal, off, shift, ratio, floor, y):
    """Solve (shift·I − ratio·T) u = y in place of y without pivoting; False where a pivot is ≤ floor.

    Pivots at or below zero are lifted to a positive `floor`, which an inverse iteration on a singular
    matrix wants.
    """
    n = diagonal.size
    pivots = np.empty(n)
    pivot = shift - ratio * diagonal[0]
    definite = True
    for i in range(n):
        if i > 0:
            e = -ratio * off[i]
            factor = e / pivots[i - 1]
            pivot = shift - ratio * diagonal[i] - factor * e
            y[i] -= factor * y[i - 1]
        if not pivot > floor:
            definite = False
            pivot = max(floor, 1e-300)
        pivots[i] = pivot
    y[n - 1] /= pivots[n - 1]
    for i in range(n - 2, -1, -1):
        y[i] = (y[i] + ratio * off[i + 1] * y[i + 1]) / pivots[i]
    return definite


@jit
def largest_eigenvalue(diagonal, off):
    """Largest eigenvalue of T ⪰ 0 by Laguerre's iteration.

    Started above all roots of a polynomial with real roots only, it falls monotonically and
    cubically to the largest one.
    """
    n = diagonal.size
    bound = 0.0
    for i in range(n):
        radius = abs(off[i]) + (abs(off[i + 1]) if i + 1 < n else 0.0)
        bound = max(bound, diagonal[i] + radius)
    top = bound * (1.0 + 1e-14)
    for _ in range(LAGUERRE_STEPS):
        # pivots q of top − T, with the first and minus the second derivative of log det
        first = 0.0
        second = 0.0
        q, dq, ddq = 1.0, 0.0, 0.0
        for i in range(n):
            r = off[i] * off[i] / q
            slope = r * dq / q
            bend = r * ddq / q - 2.0 * slope * dq / q
            q, dq, ddq = top - diagonal[i] - r, 1.0 + slope, bend
            if not q > 0.0:
                # the last step met the root to rounding
                return top
            ratio = dq / q
            first += ratio
            second += ratio * ratio - ddq / q
        step = n / (first + np.sqrt(max((n - 1) * (n * second - first * first), 0.0)))
        if step <= 1e-16 * bound:
            return top
        top -= step
    return top


@jit
def top_vector(diagonal, off, top, y):
    """Fill y with the unit eigenvector of T at its largest eigenvalue, by inverse iteration."""
    n = diagonal.size
    for i in range(n):
        y[i] = 1.0 + 0.5 * np.sin(1.0 + 3.0 * i)
    shift = top * (1.0 + 4e-16)
    for _ in range(INVERSE_ITERATIONS):
        solve_tridiagonal(diagonal, off, shift, 1.0, 1e-17 * (top + 1e-300), y)
        largest = 0.0
        for i in range(n):
            largest = max(largest, abs(y[i]))
        norm = 0.0
        for i in range(n):
            y[i] /= largest
            norm += y[i] * y[i]
        for i in range(n):
            y[i] /= np.sqrt(norm)
