"""Compiled walk of the exact α = 2 tracer: from kink to kink along a branch of strict minima.

On a support of k patterns the Gram matrix is reduced to tridiagonal form starting from the uniform vector,

    Qᵀ G_SS Q = [[T, √k ρ e], [√k ρ eᵀ, k g]],    Q e_k = 1/√k,    g = 1ᵀG1/k²,    e = e_{k−1},

which leaves T, the tridiagonal form of P G_SS P on the tangent space, with the pull P G 1/k = ρ Q e.
At t = 2/β the stationary state is then, with y = (t − T)⁻¹ ρ e and a = (t − T)⁻¹ y,

    p = 1/k + Q y,    dp/dt = −Q a,    −θ = t/k − g − ρ yᵀe.

Every weight and every slack θ − z is followed to its first zero by steps that cannot pass one: with
D = t − λ_max, ν the norm of the linear functional and s the slope along the travel,

    f(t ∓ h) ≥ f + h s − h² ν |a| / (D ∓ h).
"""

import numpy as np

from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.tridiagonal import from_reduced, largest_eigenvalue, reduce, solve_tridiagonal
from hopfieldphase.kernels.vectors import assign

EPS = 2.220446049250313e-16
RESOLUTION = 1e-12
# A pull below this multiple of the size of G is the rounding of zero.
NO_PULL = 16.0 * EPS
# Of the size of G: eigenvalues and values of t below it are rounding errors of zero.
NOTHING = 1e-13
MAX_STEPS = 2000

# How a walk ends.
REACHED = 0
"""The end of the range, without an event."""
SPINODAL = 1
"""λ_max = t."""
JUMP = 2
"""An entering pattern unmakes the minimum."""
TOGETHER = 3
"""Several patterns act at once, or one where another has just acted, or one whose row is missing."""
FULL = 4
"""The output is full: go on from the last kink."""
LOST = 5
"""The next event was not located."""


@jit(reorder=True)
def reduce_face(rows, row_of, inside, k):
    """Tridiagonal form of G_SS with the uniform vector as last axis, and the reflection that takes it there.

    Returns the reflectors, their heights, diagonal, off-diagonal, and (v, c) of the reflection I − c v vᵀ.
    """
    v = np.full(k, 1.0 / np.sqrt(k))
    v[k - 1] -= 1.0
    square = np.dot(v, v)
    c = 2.0 / square if square > 0.0 else 0.0
    a = np.empty((k, k))
    image = np.empty(k)
    for i in range(k):
        row = rows[row_of[inside[i]]]
        total = 0.0
        for j in range(k):
            a[i, j] = row[inside[j]]
            total += a[i, j] * v[j]
        image[i] = c * total
    half = 0.5 * c * np.dot(image, v)
    for i in range(k):
        image[i] -= half * v[i]
    for i in range(k):
        for j in range(k):
            a[i, j] -= v[i] * image[j] + image[i] * v[j]
    heights, diagonal, off = np.zeros((3, k))
    reduce(a, heights, diagonal, off)
    return a, heights, diagonal, off, v, c


@jit(reorder=True)
def back_to_patterns(a, heights, v, c, y, out):
    """Fill `out` with Q y."""
    assign(out, y)
    from_reduced(a, heights, out)
    along = c * np.dot(v, out)
    for i in range(out.size):
        out[i] -= along * v[i]


@jit
def safe_step(value, slope, bend, distance, down):
    """The h up to which f + h s − h² K/(D ∓ h) stays positive; inf where it always does."""
    if down:
        a = slope + bend
        b = slope * distance - value
    else:
        a = bend - slope
        b = slope * distance + value
        if a <= 0.0:
            return np.inf
    if a == 0.0:
        return value * distance / -b if b < 0.0 else np.inf
    root = np.sqrt(max(b * b + 4.0 * a * value * distance, 0.0))
    if b > 0.0:
        return (b + root) / (2.0 * a)
    if root == b:
        return np.inf
    return 2.0 * value * distance / (root - b)


@jit(reorder=True)
def observe_face(rows, row_of, inside, k, p, dp, overlaps, drift):
    """Fill the overlaps G p and their derivatives G dp/dt."""
    overlaps[:] = 0.0
    drift[:] = 0.0
    for i in range(k):
        row = rows[row_of[inside[i]]]
        w = p[i]
        dw = dp[i]
        for mu in range(row.size):
            overlaps[mu] += w * row[mu]
            drift[mu] += dw * row[mu]


@jit(reorder=True)
def slack_norms(rows, row_of, inside, k, norms):
    """Fill ν_j = |P (G_S 1/k − G_Sj)|."""
    M = norms.size
    sums = np.zeros(M)
    norms[:] = 0.0
    for i in range(k):
        row = rows[row_of[inside[i]]]
        mean = 0.0
        for j in range(k):
            mean += row[inside[j]]
        mean /= k
        for mu in range(M):
            gap = mean - row[mu]
            sums[mu] += gap
            norms[mu] += gap * gap
    for mu in range(M):
        norms[mu] = np.sqrt(max(norms[mu] - sums[mu] * sums[mu] / k, 0.0))


@jit
def second_derivative(rows, row_of, inside, k, mu, position, face, coupled, t, y, p, dp):
    """f″ of the weight at a position of the support, or of the slack of an outside pattern (position < 0)."""
    a, heights, diagonal, off, v, c = face
    curve = y.copy()
    solve_tridiagonal(diagonal[coupled : k - 1], off[coupled : k - 1], t, 1.0, 0.0, curve[coupled : k - 1])
    image = np.empty(k)
    back_to_patterns(a, heights, v, c, curve, image)
    if position >= 0:
        return 2.0 * image[position]
    total = 0.0
    for i in range(k):
        total -= 2.0 * (p[i] * dp[i] + image[i] * rows[row_of[inside[i]], mu])
    return total


@jit
def next_kink(rows, row_of, inside, k, is_inside, t, down, stop, fresh, acting, p):
    """Follow one support from t to its first event.

    Fills `acting` with the patterns that leave or enter there, and p with the weights at that point. Returns
    (code, t, λ_max, −θ, max |z|) with code TOGETHER for an event of any number of patterns.
    """
    M = is_inside.size
    face = reduce_face(rows, row_of, inside, k)
    a, heights, diagonal, off, v, c = face
    mean_square = diagonal[k - 1] / k
    pull = 0.0
    coupled = k - 1
    top = 0.0
    size = 0.0
    for i in range(k):
        size = max(size, rows[row_of[inside[i]], inside[i]])
    floor = NOTHING * size
    if k > 1:
        # the pull reaches no further than the first vanishing off-diagonal: beyond stand the symmetric modes
        while coupled > 0 and abs(off[coupled]) > NO_PULL * size:
            coupled -= 1
        pull = off[k - 1] / np.sqrt(k) if coupled < k - 1 else 0.0
        top = largest_eigenvalue(diagonal[: k - 1], off[: k - 1])
        if top <= floor:
            top = 0.0
    acting[:] = False
    if not t > top * (1.0 + RESOLUTION):
        return JUMP, t, top, 0.0, 0.0
    norms = np.empty(M)
    slack_norms(rows, row_of, inside, k, norms)
    weight_norm = np.sqrt(1.0 - 1.0 / k)
    sign = -1.0 if down else 1.0
    y = np.zeros(k)
    dp = np.empty(k)
    overlaps = np.empty(M)
    drift = np.empty(M)
    bound = max(stop, top) if down else stop
    block = slice(coupled, k - 1)
    for step in range(MAX_STEPS):
        distance = t - top
        if down and top > 0.0 and top >= stop and distance <= RESOLUTION * t + k * NO_PULL * size:
            return SPINODAL, top, top, 0.0, 0.0
        y[:] = 0.0
        p[:k] = 0.0
        dp[:] = 0.0
        energy = t / k - mean_square
        length = 0.0
        bend = 0.0
        if coupled < k - 1:
            y[k - 2] = pull
            solve_tridiagonal(diagonal[block], off[block], t, 1.0, 0.0, y[block])
            energy -= pull * y[k - 2]
            length = np.sqrt(np.dot(y, y))
            back_to_patterns(a, heights, v, c, y, p[:k])
            solve_tridiagonal(diagonal[block], off[block], t, 1.0, 0.0, y[block])
            bend = np.sqrt(np.dot(y, y))
            back_to_patterns(a, heights, v, c, y, dp)
        square = 0.0
        for i in range(k):
            p[i] += 1.0 / k
            dp[i] = -dp[i]
            square += p[i] * p[i]
        if t == stop or (down and stop < t <= floor) or (not down and k == M and length < 1.0 / k):
            # the end of the range; or t is zero to rounding; or no weight of all patterns can reach zero
            return REACHED, stop, top, energy, 0.0
        observe_face(rows, row_of, inside, k, p, dp, overlaps, drift)
        shortest = np.inf
        struck = -1
        correction = 0.0
        position = -1
        for mu in range(M):
            if is_inside[mu]:
                position += 1
                value = p[position]
                slope = sign * dp[position]
                curvature = weight_norm * bend
                noise = 4.0 * EPS * (1.0 / k + length)
            else:
                value = -energy - overlaps[mu]
                slope = -sign * (square + drift[mu])
                curvature = norms[mu] * bend
                noise = 4.0 * EPS * (t / k + size + abs(pull) * length)
            if fresh[mu] and step == 0:
                value = 0.0
            acting[mu] = slope < 0.0 and value <= -slope * RESOLUTION * t
            if value <= noise and slope <= 0.0:
                forced = 0.0
                margin = 4.0 * noise
                if slope * slope < 8.0 * margin * curvature / distance:
                    at = position if is_inside[mu] else -1
                    second = second_derivative(rows, row_of, inside, k, mu, at, face, coupled, t, y, p, dp)
                    if second > 0.0 and value - 0.5 * slope * slope / second > -margin:
                        # f touches zero and rises again: no event
                        forced = 2.0 * np.sqrt(2.0 * margin / second) - slope / second
                if forced == 0.0:
                    acting[mu] = True
                    struck = mu
                    correction = value / slope if abs(value) <= -slope * RESOLUTION * t else 0.0
                else:
                    acting[mu] = False
                    shortest = min(shortest, forced)
                continue
            shortest = min(shortest, safe_step(max(value, 0.0), slope, curvature, distance, down))
        if struck >= 0:
            if np.sum(acting) == 1:
                t -= sign * min(correction, 0.0) if step == 0 else sign * correction
            return TOGETHER, t, top, energy, np.abs(overlaps).max()
        moved = t + sign * shortest
        if shortest <= 2.0 * EPS * t:
            if np.any(acting):
                return TOGETHER, t, top, energy, np.abs(overlaps).max()
            moved = t * (1.0 + 2.0 * sign * EPS)
        t = max(moved, bound) if down else min(moved, bound)
        if np.isinf(t):
            return REACHED, stop, top, energy, 0.0
    return LOST, t, top, 0.0, 0.0


@jit
def walk(scaled, rows, row_of, support, t, down, stop, fresh, acting, patterns, table, weights, states):
    """Follow a branch from kink to kink until something else than a plain kink happens.

    Parameters
    ----------
    scaled : ndarray, shape (M, d)
        s Ξ.
    rows : ndarray, shape (n, M)
        Rows of the Gram matrix.
    row_of : ndarray of int, shape (M,)
        Where the row of a pattern stands, −1 where it is missing.
    support : ndarray of int, shape (k,)
        Ascending.
    t, down, stop
        Starting point, direction and end.
    fresh : ndarray of bool, shape (M,)
        Patterns whose weight or slack is exactly zero at t and about to rise; overwritten.
    acting : ndarray of bool, shape (M,)
        Filled with the patterns that act at the last event.
    patterns : ndarray of int, shape (n_max,)
        Per kink, the pattern that leaves or enters.
    table : ndarray, shape (n_max, 4)
        Per kink, t, λ_max on the support before it, −θ and max |z|.
    weights, states : ndarray, shapes (n_max, M) and (n_max, d)
        Zeros on entry; per kink, p and x.

    Returns
    -------
    code, n : int
        How the walk ended, and the number of kinks before that.
    t, top : float
        Where it ended, and λ_max there.
    """
    M = row_of.size
    inside = np.empty(M, dtype=np.int64)
    k = support.size
    assign(inside[:k], support)
    is_inside = np.zeros(M, dtype=np.bool_)
    for mu in support:
        is_inside[mu] = True
    p = np.empty(M)
    n = 0
    while True:
        code, here, top, energy, largest = next_kink(
            rows, row_of, inside, k, is_inside, t, down, stop, fresh, acting, p
        )
        if code == JUMP and n > 0:
            # the pattern that has just entered unmakes the minimum
            n -= 1
            acting[:] = False
            acting[patterns[n]] = True
            return JUMP, n, table[n, 0], table[n, 1]
        again = n > 0 and abs(here - table[n - 1, 0]) <= RESOLUTION * here
        at_once = n == 0 and abs(here - t) <= RESOLUTION * t
        if code != TOGETHER or np.sum(acting) > 1 or again or at_once:
            return code, n, here, top
        mu = np.argmax(acting)
        if not is_inside[mu] and row_of[mu] < 0:
            return TOGETHER, n, here, top
        if n == patterns.size:
            return FULL, n, here, top
        patterns[n] = mu
        table[n, 0], table[n, 1], table[n, 2], table[n, 3] = here, top, energy, largest
        for i in range(k):
            nu = inside[i]
            if nu != mu:
                weights[n, nu] = p[i]
                for j in range(scaled.shape[1]):
                    states[n, j] += p[i] * scaled[nu, j]
        n += 1
        fresh[:] = False
        fresh[mu] = True
        t = here
        position = 0
        while position < k and inside[position] < mu:
            position += 1
        if is_inside[mu]:
            for i in range(position, k - 1):
                inside[i] = inside[i + 1]
            k -= 1
        else:
            for i in range(k, position, -1):
                inside[i] = inside[i - 1]
            inside[position] = mu
            k += 1
        is_inside[mu] = not is_inside[mu]
