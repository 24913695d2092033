"""Compiled closed form of the α = 2 state on one support, and the zeros of what is made of it.

On a fixed support everything is a sum of simple poles in t = 2/β,

    f(t) = c₀ + c₁ t + Σ_a n_a / (t − λ_a),    t > λ_a,

also the difference of the free energies of two branches. A zero is approached from one side only, with
steps to the zero of a minorant that agrees with f in value and slope: each pole is replaced by the nearest
one where it can lower f, and by its tangent where it can raise it. No zero is ever passed, also not a
pair between two evaluations; where f touches zero without crossing, to rounding, nothing happens.
"""

import numpy as np

from hopfieldphase.kernels.eigen import eigensystem
from hopfieldphase.kernels.jit import jit

EPS = 2.220446049250313e-16
MAX_ROOT_STEPS = 2000


@jit(reorder=True)
def first_zero(constant, linear, residues, levels, t, down, stop, fresh):
    """Return the first zero of f on the way from t to `stop`, or `stop` where there is none before.

    Parameters
    ----------
    constant, linear : float
        c₀ and c₁.
    residues, levels : ndarray, shape (m,)
        n_a and λ_a < t.
    t : float
        The starting point; f(t) ≥ 0 up to rounding.
    down : bool
        Travel towards smaller t (stop ≥ max λ_a is required), or towards larger t.
    stop : float
        Where to end; inf is allowed for upward travel.
    fresh : bool
        f(t) = 0 is known to hold exactly and f rises from there.

    Returns
    -------
    float
        The zero to rounding; NaN if the iteration did not end.
    """
    m = residues.size
    sign = -1.0 if down else 1.0
    highest = -np.inf
    for a in range(m):
        highest = max(highest, levels[a])
    here = t
    for step in range(MAX_ROOT_STEPS):
        value = constant + linear * here
        size = abs(constant) + abs(linear * here)
        positive = 0.0
        rising = 0.0  # slope of f along the travel, split by sign
        falling = 0.0
        for a in range(m):
            distance = here - levels[a]
            term = residues[a] / distance
            value += term
            size += abs(term)
            if term > 0.0:
                positive += term
            slope = -sign * term / distance
            if slope > 0.0:
                rising += slope
            else:
                falling -= slope
        noise = 4.0 * EPS * size
        if fresh and step == 0:
            value = 0.0
        drift = sign * linear
        slope = drift + rising - falling
        if value <= noise and slope <= 0.0:
            bend = 0.0
            for a in range(m):
                bend += 2.0 * residues[a] / (here - levels[a]) ** 3
            if not (bend > 0.0 and value - 0.5 * slope * slope / bend > -noise):
                h = 0.0 if slope == 0.0 else max(-value / slope, 0.0)
                return max(here - h, stop) if down else min(here + h, stop)
            # f touches zero and rises again: no event
            here += sign * (2.0 * np.sqrt(2.0 * noise / bend) - slope / bend)
            if (here <= stop) if down else (here >= stop):
                return stop
            continue
        value = max(value, 0.0)
        edge = here - highest
        if down:
            # (value + h a)(edge − h) − h·falling·edge = 0
            a_ = drift + rising
            if falling == 0.0 and a_ >= 0.0:
                return stop
            if falling == 0.0:
                h = -value / a_
            else:
                b = value + (falling - a_) * edge
                root = np.sqrt(max(b * b + 4.0 * a_ * value * edge, 0.0))
                h = 2.0 * value * edge / (b + root) if b > 0.0 else (root - b) / (2.0 * a_)
        else:
            # (value + h a)(edge + h) + h·rising·edge = 0
            a_ = drift - falling
            if a_ >= 0.0 or (linear >= 0.0 and value > positive + noise):
                return stop
            if rising == 0.0:
                h = -value / a_
            else:
                b = value + (a_ + rising) * edge
                root = np.sqrt(max(b * b - 4.0 * a_ * value * edge, 0.0))
                h = (b + root) / (-2.0 * a_) if b > 0.0 else 2.0 * value * edge / (root - b)
        moved = here + sign * h
        if (moved <= stop) if down else (moved >= stop):
            return stop
        if h <= EPS * here and slope < 0.0:
            return moved
        here = moved if h > EPS * here else here * (1.0 + sign * EPS)
    return np.nan


@jit(reorder=True)
def tangent_spectrum(columns, inside):
    """Eigensystem of P G_SS P on the tangent space of a face, P = I − 11ᵀ/k.

    Parameters
    ----------
    columns : ndarray, shape (M, k)
        G_{·S}.
    inside : ndarray of int, shape (k,)
        The support S.

    Returns
    -------
    levels, vectors : ndarray, shapes (k − 1,) and (k, k − 1)
        Ascending eigenvalues, and eigenvectors that sum to zero.
    mean_overlaps : ndarray, shape (M,)
        G_{·S} 1/k.
    size : float
        The largest diagonal entry of G_SS.
    """
    M, k = columns.shape
    size = 0.0
    for i in range(k):
        size = max(size, columns[inside[i], i])
    mean_overlaps = np.empty(M)
    for mu in range(M):
        total = 0.0
        for i in range(k):
            total += columns[mu, i]
        mean_overlaps[mu] = total / k
    if k == 1:
        return np.empty(0), np.empty((1, 0)), mean_overlaps, size
    # The reflection H = I − c v vᵀ takes 1/√k to the first axis; its other columns span the tangent space.
    v = np.full(k, 1.0 / np.sqrt(k))
    v[0] -= 1.0
    c = 2.0 / np.dot(v, v)
    image = np.empty(k)
    for i in range(k):
        total = 0.0
        for j in range(k):
            total += columns[inside[i], j] * v[j]
        image[i] = c * total
    half = 0.5 * c * np.dot(image, v)
    for i in range(k):
        image[i] -= half * v[i]
    tangent = np.empty((k - 1, k - 1))
    for i in range(1, k):
        for j in range(1, k):
            tangent[i - 1, j - 1] = columns[inside[i], j] - v[i] * image[j] - image[i] * v[j]
    levels, rotations = eigensystem(tangent)
    vectors = np.empty((k, k - 1))
    for a in range(k - 1):
        along = 0.0
        for i in range(1, k):
            along += v[i] * rotations[a, i - 1]
        along *= c
        vectors[0, a] = -along * v[0]
        for i in range(1, k):
            vectors[i, a] = rotations[a, i - 1] - along * v[i]
    return levels, vectors, mean_overlaps, size
