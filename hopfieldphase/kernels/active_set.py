"""Compiled loops of the exact α = 2 tracer: the first zero ahead of a sum of simple poles.

On a fixed support everything is a sum of simple poles in t = 2/β,

    f(t) = c₀ + c₁ t + Σ_a n_a / (t − λ_a),    t > λ_a,

and the next event is the first zero of any of M such functions in the direction of travel. A zero is
approached from one side only, with steps to the zero of a minorant that agrees with f in value and slope:
each pole is replaced by the nearest one where it can lower f, and by its tangent where it can raise it.
No zero is ever passed, double zeros and pairs between two evaluations included.
"""

import numpy as np

from hopfieldphase.kernels.jit import jit

EPS = 2.220446049250313e-16
MAX_ROOT_STEPS = 2000
# Events closer than this, relative to t, act together.
TIE = 1e-12


@jit(reorder=True)
def first_zero(constant, linear, residues, distances, t, down, limit, fresh):
    """Return the displacement τ of the first zero of f ahead of t, or `limit` where there is none before.

    Parameters
    ----------
    constant, linear : float
        c₀ and c₁ (c₁ ≤ 0).
    residues, distances : ndarray, shape (m,)
        n_a, and t − λ_a > 0 at the starting point.
    t : float
        The starting point; f(t) ≥ 0 up to rounding.
    down : bool
        Travel towards smaller t (a limit of at most min(distances) is required), or towards larger t.
    limit : float
        How far to look; inf is allowed for upward travel.
    fresh : bool
        f(t) = 0 is known to hold exactly and f rises from there.

    Returns
    -------
    float
        τ in [0, limit], to rounding; NaN if the iteration did not end.
    """
    m = residues.size
    sign = -1.0 if down else 1.0
    nearest = np.inf
    for a in range(m):
        nearest = min(nearest, distances[a])
    tau = 0.0
    for step in range(MAX_ROOT_STEPS):
        here = t + sign * tau
        value = constant + linear * here
        size = abs(constant) + abs(linear * here)
        rising = 0.0  # slope of f along the travel, split by sign
        falling = 0.0
        positive = 0.0
        for a in range(m):
            distance = distances[a] + sign * tau
            term = residues[a] / distance
            value += term
            size += abs(term)
            slope = term / distance
            if slope > 0.0:
                positive += term
            slope *= -sign
            if slope > 0.0:
                rising += slope
            else:
                falling -= slope
        noise = 4.0 * EPS * size
        if fresh and step == 0:
            value = 0.0
        edge = nearest + sign * tau
        drift = sign * linear
        slope = drift + rising - falling
        if value <= noise and slope <= 0.0:
            if slope < 0.0:
                tau = max(tau - value / slope, 0.0)
            return min(tau, limit)
        value = max(value, 0.0)
        if down:
            # (value + h a)(edge − h) − h·falling·edge = 0
            a_ = drift + rising
            if m == 0 or falling == 0.0:
                h = np.inf if a_ >= 0.0 else -value / a_
            else:
                b = value + (falling - a_) * edge
                root = np.sqrt(max(b * b + 4.0 * a_ * value * edge, 0.0))
                h = 2.0 * value * edge / (b + root) if b > 0.0 else (root - b) / (2.0 * a_)
        else:
            # (value + h a)(edge + h) + h·rising·edge = 0
            a_ = drift - falling
            if linear == 0.0 and value > positive + noise:
                return limit
            if a_ >= 0.0:
                h = np.inf
            elif m == 0 or rising == 0.0:
                h = -value / a_
            else:
                b = value + (a_ + rising) * edge
                root = np.sqrt(max(b * b - 4.0 * a_ * value * edge, 0.0))
                h = (b + root) / (-2.0 * a_) if b > 0.0 else 2.0 * value * edge / (root - b)
        moved = tau + h
        if moved >= limit:
            return limit
        if h <= EPS * here and slope < 0.0:
            return moved
        tau = max(moved, tau + 0.5 * EPS * here)
    return np.nan


@jit
def first_event(
    inside, vectors, mean_overlaps, couplings, mean_square, pulls, levels, t, down, limit, fresh, found
):
    """Find the first pattern that leaves or enters the support when t moves on.

    Parameters
    ----------
    inside : ndarray of int, shape (k,)
        The support.
    vectors : ndarray, shape (k, m)
        Tangent eigenvectors of P G_SS P, those with a pull.
    mean_overlaps : ndarray, shape (M,)
        G 1/k, the overlaps of the uniform mixture.
    couplings : ndarray, shape (M, m)
        G_{·S} times `vectors`.
    mean_square : float
        1ᵀ G_SS 1/k².
    pulls, levels : ndarray, shape (m,)
        r_a and λ_a.
    t, down, limit
        As in `first_zero`.
    fresh : ndarray of bool, shape (M,)
        Patterns whose weight or slack is exactly zero at t and about to rise.
    found : ndarray, shape (M,)
        Filled with the displacement at which each pattern acts, inf where that comes after the first event.

    Returns
    -------
    float
        The displacement of the first event, or `limit`; NaN if one could not be located.
    """
    k, m = vectors.shape
    distances = t - levels
    residues = np.empty(m)
    outside = np.ones(found.size, dtype=np.bool_)
    first = limit
    found[:] = np.inf
    for i in range(k + found.size):
        mu = inside[i] if i < k else i - k
        if i < k:
            outside[mu] = False
            constant = 1.0 / k
            linear = 0.0
            for a in range(m):
                residues[a] = vectors[i, a] * pulls[a]
        elif outside[mu]:
            constant = mean_square - mean_overlaps[mu]
            linear = -1.0 / k
            for a in range(m):
                residues[a] = pulls[a] * (pulls[a] - couplings[mu, a])
        else:
            continue
        horizon = min(limit, first + TIE * t)
        tau = first_zero(constant, linear, residues, distances, t, down, horizon, fresh[mu])
        if np.isnan(tau):
            return tau
        if tau < horizon:
            found[mu] = tau
            first = min(first, tau)
    for mu in range(found.size):
        if found[mu] > first + TIE * t:
            found[mu] = np.inf
    return first
