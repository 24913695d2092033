"""Dense products of the size of one state, without BLAS.

BLAS would start threads from about a hundred patterns on, which costs more than the work, stalls on a busy
machine and makes the last bit depend on the number of cores.
"""

from hopfieldphase.kernels.jit import jit


@jit(reorder=True)
def inner(a, b):
    """A · b."""
    s = 0.0
    for i in range(a.size):
        s += a[i] * b[i]
    return s


@jit(reorder=True)
def rows_times(rows, x, factor, out):
    """Fill `out` with factor · rows x."""
    for mu in range(rows.shape[0]):
        row = rows[mu]
        s = 0.0
        for i in range(x.size):
            s += row[i] * x[i]
        out[mu] = factor * s


@jit(reorder=True)
def add_weighted_rows(rows, weights, factor, out):
    """Add factor · rowsᵀ weights to `out`; rows of weight zero are not read."""
    for mu in range(rows.shape[0]):
        w = factor * weights[mu]
        if w != 0.0:
            row = rows[mu]
            for i in range(out.size):
                out[i] += w * row[i]


@jit(reorder=True)
def small_gram(b, gram):
    """Fill the lower half of `gram` with B Bᵀ (m, m)."""
    for i in range(b.shape[0]):
        left = b[i]
        for j in range(i + 1):
            right = b[j]
            s = 0.0
            for k in range(left.size):
                s += left[k] * right[k]
            gram[i, j] = s


@jit(reorder=True)
def wide_gram(b, gram):
    """Fill the lower half of `gram` with BᵀB (d, d), four rows of B at a time."""
    m, d = b.shape
    gram[:] = 0.0
    whole = m - m % 4
    for r in range(0, whole, 4):
        b0, b1, b2, b3 = b[r], b[r + 1], b[r + 2], b[r + 3]
        for i in range(d):
            f0, f1, f2, f3 = b0[i], b1[i], b2[i], b3[i]
            row = gram[i]
            for j in range(i + 1):
                row[j] += f0 * b0[j] + f1 * b1[j] + f2 * b2[j] + f3 * b3[j]
    for r in range(whole, m):
        last = b[r]
        for i in range(d):
            f = last[i]
            row = gram[i]
            for j in range(i + 1):
                row[j] += f * last[j]
