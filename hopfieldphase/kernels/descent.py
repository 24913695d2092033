"""Compiled fixed-step gradient descent with its whole path."""

import numpy as np

from hopfieldphase.kernels.dense import add_weighted_rows, rows_times
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.rows import weights_row

LIMIT, STATIONARY, ESCAPED = 0, 1, 2
"""How a path ends: at the iteration limit, where x = T(x) to the floor, or beyond the radius."""


@jit
def descend(problem, beta, step, x0, target, near, floor, radius, states, overlap_max):
    """Iterate x ← x − ηβ (x − T(x)) from x0, filling `states` (n, d) and `overlap_max` (n).

    It stops where |x| > radius, or |x − T(x)| ≤ floor unless this happens within `near` of the target: an
    unstable path that passes its fixed point goes on. Returns the number of states and how the path ended.
    """
    M, d = problem.patterns.shape
    z, p, image = np.empty(M), np.empty(M), np.empty(d)
    x = x0.copy()
    last = states.shape[0] - 1
    for t in range(last + 1):
        rows_times(problem.patterns, x, problem.scale, z)
        states[t] = x
        overlap_max[t] = z.max()
        norm = 0.0
        distance = 0.0
        for i in range(d):
            norm += x[i] * x[i]
            distance += (x[i] - target[i]) ** 2
        if norm > radius * radius:
            return t + 1, ESCAPED
        weights_row(z, problem.alpha, beta, p)
        image[:] = 0.0
        add_weighted_rows(problem.patterns, p, problem.scale, image)
        residual = 0.0
        for i in range(d):
            residual += (x[i] - image[i]) ** 2
        if residual <= floor * floor and distance >= near * near:
            return t + 1, STATIONARY
        for i in range(d):
            x[i] -= step * beta * (x[i] - image[i])
    return last + 1, LIMIT
