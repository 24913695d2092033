"""Compiled equation of motion along a branch: F = x − T(x), its Jacobian ∇²Γ/β and its derivative in β.

With the response weights w = p^{2−α}/α on the support, W = Σw, and averages ⟨a⟩ = Σ w a / W,

    F = x − s Ξᵀ p,   F_x = I − β s² Σ_μ w_μ (ξ_μ − ⟨ξ⟩)(ξ_μ − ⟨ξ⟩)ᵀ,   F_β = −s Σ_μ w_μ (z_μ − ⟨z⟩) ξ_μ.

α < 2 keeps w bounded.
"""

import numpy as np

from hopfieldphase.kernels.curvature import curvature_arrays, update_curvature
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.rows import conjugate_row, weights_row

MAX_SIGNED_STEPS = 60


@jit
def _weights(z, alpha, beta, signed, p):
    """Fill p with the weights of the scores z and return θ.

    With `signed` the power law p = sign(z − θ) |(α − 1)β(z − θ)/α|^{1/(α−1)} holds below θ as well (α > 1):
    the smooth continuation of a fixed support beyond the point at which a weight vanishes.
    """
    theta = weights_row(z, alpha, beta, p)
    if not signed or z.min() >= theta:
        return theta
    scale = (alpha - 1.0) * beta / alpha
    power = 1.0 / (alpha - 1.0)
    for _ in range(MAX_SIGNED_STEPS):
        excess = -1.0
        slope = 0.0
        for mu in range(z.size):
            r = scale * (z[mu] - theta)
            p[mu] = np.sign(r) * abs(r) ** power
            excess += p[mu]
            slope += power * scale * abs(r) ** (power - 1.0)
        step = excess / slope
        theta += step
        if abs(step) <= 1e-16 * abs(theta):
            break
    return theta


@jit
def motion(patterns, scale, alpha, signed, x, beta):
    """F = x − T(x)."""
    p = np.empty(patterns.shape[0])
    _weights(scale * np.dot(patterns, x), alpha, beta, signed, p)
    return x - scale * np.dot(p, patterns)


@jit
def motion_jet(patterns, scale, alpha, signed, x, beta):
    """F, F_x and F_β, for α < 2 or a single pattern."""
    M, d = patterns.shape
    z = scale * np.dot(patterns, x)
    p = np.empty(M)
    _weights(z, alpha, beta, signed, p)
    w = np.zeros(M)
    total = 0.0
    mean = 0.0
    k = 0
    for mu in range(M):
        if p[mu] != 0.0:
            w[mu] = p[mu] if alpha == 1.0 else abs(p[mu]) ** (2.0 - alpha) / alpha
            total += w[mu]
            mean += w[mu] * z[mu]
            k += 1
    mean /= total
    center = np.dot(w, patterns) / total
    rows = np.empty((k, d))
    speed = np.empty(M)
    j = 0
    for mu in range(M):
        speed[mu] = -scale * w[mu] * (z[mu] - mean)
        if p[mu] != 0.0:
            factor = scale * np.sqrt(beta * w[mu])
            for i in range(d):
                rows[j, i] = factor * (patterns[mu, i] - center[i])
            j += 1
    jacobian = -np.dot(rows.T, rows)
    for i in range(d):
        jacobian[i, i] += 1.0
    return x - scale * np.dot(p, patterns), jacobian, np.dot(speed, patterns)


@jit
def excess_overlaps(patterns, scale, alpha, signed, x, beta):
    """Overlaps above the threshold, z − θ, shape (M,): positive on the support."""
    z = scale * np.dot(patterns, x)
    theta = _weights(z, alpha, beta, signed, np.empty(z.size))
    return z - theta


@jit
def retrieval_weights(patterns, scale, alpha, x, beta):
    """Weights p at a state, shape (M,)."""
    p = np.empty(patterns.shape[0])
    weights_row(scale * np.dot(patterns, x), alpha, beta, p)
    return p


@jit
def observables(patterns, scale, alpha, x, beta, p):
    """Γ, θ, max|z| and λ_min(∇²Γ)/β of a stationary state with the weights p.

    θ is the mean over the support of z − α p^{α−1}/((α − 1)β), NaN where there is none (α = 1).
    """
    M, d = patterns.shape
    z = scale * np.dot(patterns, x)
    free_energy = 0.5 * beta * np.dot(x, x) - conjugate_row(z, p, alpha, beta)
    threshold = np.nan
    if alpha != 1.0:
        total = 0.0
        count = 0
        for mu in range(M):
            if p[mu] > 0.0:
                total += z[mu] - alpha / ((alpha - 1.0) * beta) * p[mu] ** (alpha - 1.0)
                count += 1
        threshold = total / count
    curvature = curvature_arrays(M, d)
    ratio = update_curvature(patterns, scale, alpha, beta, p, curvature)
    return free_energy, threshold, np.abs(z).max(), 1.0 - ratio * curvature.at[1]
