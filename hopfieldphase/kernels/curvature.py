"""Compiled curvature of the free energy: ∇²Γ/β = I − BᵀB with one row of B per responding pattern but one.

With w the response weights (w = p^{2−α}/α on the support) and r the pattern with the largest w,

    s²β Ξᵀ J Ξ = BᵀB,   B = (I − (1 − √(w_r/W)) v vᵀ) diag(√(βw)) s (ξ_j − ξ_r),   v_j = √(w_j / Σ_{i≠r} w_i),

over j ≠ r, W = Σ w. Differences to the pattern r keep every digit when w_r diverges (α > 2), and the smaller
of B Bᵀ and BᵀB carries the spectrum, so that a state on k patterns costs k × k, not d × d.
"""

import numpy as np

from hopfieldphase.kernels.jit import jit

# Responses below this fraction of the largest one cannot be seen in double precision.
NEGLIGIBLE_RESPONSE = 1e-19
# Keeps p^{2-alpha} finite when a weight underflows at alpha > 2.
LARGEST_RESPONSE = 1e140
# Below this size compiled loops beat LAPACK, which starts threads.
LARGEST_OWN_EIGENPROBLEM = 160


@jit
def responding_patterns(p, alpha, chosen, response):
    """Fill `chosen` with the indices of the responding patterns and `response` with w; return how many."""
    if np.isinf(alpha):
        return 0
    k = 0
    largest = 0.0
    for mu in range(p.size):
        if p[mu] > 0.0:
            if alpha == 1.0:
                w = p[mu]
            elif alpha == 2.0:
                w = 0.5
            else:
                w = min(p[mu] ** (2.0 - alpha) / alpha, LARGEST_RESPONSE)
            largest = max(largest, w)
            chosen[k] = mu
            response[k] = w
            k += 1
    kept = 0
    for j in range(k):
        if response[j] > NEGLIGIBLE_RESPONSE * largest:
            chosen[kept] = chosen[j]
            response[kept] = response[j]
            kept += 1
    return kept


@jit
def response_rows(patterns, scale, beta, chosen, response, k, rows):
    """Fill the first k − 1 rows of `rows` with B; return their number."""
    if k < 2:
        return 0
    d = patterns.shape[1]
    r = 0
    for j in range(k):
        if response[j] > response[r]:
            r = j
    rest = 0.0
    for j in range(k):
        if j != r:
            rest += response[j]
    shrink = 1.0 - np.sqrt(response[r] / (response[r] + rest))
    reference = chosen[r]
    along = np.zeros(d)
    m = 0
    for j in range(k):
        if j == r:
            continue
        factor = np.sqrt(beta * response[j]) * scale
        v = np.sqrt(response[j] / rest)
        mu = chosen[j]
        for i in range(d):
            b = factor * (patterns[mu, i] - patterns[reference, i])
            rows[m, i] = b
            along[i] += v * b
        m += 1
    m = 0
    for j in range(k):
        if j == r:
            continue
        v = shrink * np.sqrt(response[j] / rest)
        for i in range(d):
            rows[m, i] -= v * along[i]
        m += 1
    return m


@jit
def gram_of_rows(rows, m):
    """The smaller of B Bᵀ (m, m) and BᵀB (d, d)."""
    b = rows[:m]
    if m <= rows.shape[1]:
        return np.dot(b, b.T)
    return np.dot(b.T, b)


@jit(reorder=True)
def _tridiagonalise(a, diagonal, off):
    """Householder reduction of the symmetric `a` (lower half, overwritten): diagonal, squared off-diagonal.

    Rows are eliminated from the last one upward, so that every inner loop runs along a row.
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
        norm2 = rest + head * head
        off[i] = norm2
        if rest <= 1e-300:
            continue
        norm = np.sqrt(norm2)
        h = norm2 + abs(head) * norm
        v[i - 1] = head + norm if head > 0.0 else head - norm
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


@jit
def _largest_eigenvalue(a):
    """Largest eigenvalue of the symmetric `a` (overwritten): Householder, then Laguerre from above.

    Laguerre's iteration started above all roots of a polynomial with real roots only falls
    monotonically and cubically to the largest one. Small matrices stay clear of LAPACK, whose
    threads cost more than the work.
    """
    n = a.shape[0]
    if n == 1:
        return a[0, 0]
    if n > LARGEST_OWN_EIGENPROBLEM:
        return np.linalg.eigvalsh(a)[-1]
    diagonal = np.empty(n)
    off = np.zeros(n)
    _tridiagonalise(a, diagonal, off)
    bound = 0.0
    for i in range(n):
        radius = np.sqrt(off[i]) + (np.sqrt(off[i + 1]) if i + 1 < n else 0.0)
        bound = max(bound, diagonal[i] + radius)
    top = bound * (1.0 + 1e-14)
    for _ in range(60):
        # pivots q of top − T with first and second derivative of log det
        first = 0.0
        second = 0.0
        q, dq, ddq = 1.0, 0.0, 0.0
        above = True
        for i in range(n):
            r = off[i] / q
            slope = r * dq / q
            bend = r * ddq / q - 2.0 * slope * dq / q
            q, dq, ddq = top - diagonal[i] - r, 1.0 + slope, bend
            if not q > 0.0:
                above = False
                break
            ratio = dq / q
            first += ratio
            second += ratio * ratio - ddq / q
        if not above:
            # the last step met the root to rounding
            break
        root = np.sqrt(max((n - 1) * (n * second - first * first), 0.0))
        step = n / (first + root)
        if step <= 1e-16 * bound:
            break
        top -= step
    return top


@jit
def softest_curvature(rows, m):
    """λ_min(∇²Γ)/β = 1 − λ_max(BᵀB)."""
    if m == 0:
        return 1.0
    return 1.0 - _largest_eigenvalue(gram_of_rows(rows, m))


@jit
def soft_direction(rows, m, direction):
    """Fill `direction` (unit length) with the eigenvector of λ_min; its largest component is positive."""
    _, vectors = np.linalg.eigh(gram_of_rows(rows, m))
    top = np.ascontiguousarray(vectors[:, -1])
    soft = np.dot(rows[:m].T, top) if m <= rows.shape[1] else top
    largest = 0
    norm = 0.0
    for i in range(soft.size):
        norm += soft[i] * soft[i]
        if abs(soft[i]) > abs(soft[largest]) * (1.0 + 1e-9):
            largest = i
    sign = 1.0 if soft[largest] > 0.0 else -1.0
    for i in range(soft.size):
        direction[i] = sign * soft[i] / np.sqrt(norm)


@jit(reorder=True)
def cholesky_solve(a, y):
    """Solve a·u = y in place of y for a symmetric positive definite `a` (overwritten); False if it is not."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for q in range(j):
                s -= a[i, q] * a[j, q]
            if i == j:
                if not s > 1e-14:
                    return False
                a[i, i] = np.sqrt(s)
            else:
                a[i, j] = s / a[j, j]
    for i in range(n):
        s = y[i]
        for q in range(i):
            s -= a[i, q] * y[q]
        y[i] = s / a[i, i]
    for i in range(n - 1, -1, -1):
        y[i] /= a[i, i]
        for q in range(i):
            y[q] -= a[i, q] * y[i]
    return True


@jit
def solve_curvature(rows, m, g, step):
    """Fill `step` with (I − BᵀB)⁻¹ g; False (step untouched) unless the curvature is positive definite."""
    d = rows.shape[1]
    if m == 0:
        step[:] = g
        return True
    a = gram_of_rows(rows, m)
    n = a.shape[0]
    for i in range(n):
        for j in range(n):
            a[i, j] = -a[i, j]
        a[i, i] += 1.0
    if m > d:
        y = g.copy()
        if not cholesky_solve(a, y):
            return False
        step[:] = y
        return True
    b = rows[:m]
    y = np.dot(b, g)
    if not cholesky_solve(a, y):
        return False
    step[:] = g
    for j in range(m):
        for i in range(d):
            step[i] += y[j] * b[j, i]
    return True
