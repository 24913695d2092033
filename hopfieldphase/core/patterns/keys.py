"""Small key systems with a prescribed Gram matrix, for which critical points are known in closed form."""

import math

import numpy as np

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.blocks import check_size
from hopfieldphase.core.patterns.rows import Patterns, unit_rows
from hopfieldphase.core.patterns.streams import FEATURES, ROTATION, stream


def equicorrelated(M: int, d: int, cosine: float = 0.0) -> Patterns:
    """Unit patterns with the same cosine between any two: ξ_μ·ξ_ν = cosine for μ ≠ ν.

    Row μ is row μ of the Cholesky factor of the Gram matrix, in closed form; for one cosine the first
    rows do not depend on M. Deterministic.

    Parameters
    ----------
    M, d : int
        Number and dimension of the patterns; d ≥ M, or d ≥ M − 1 at cosine = −1/(M−1), the simplex.
    cosine : float, default 0.0
        In [−1/(M−1), 1): nothing below is a Gram matrix, 1 would be M equal patterns.

    Returns
    -------
    ndarray, shape (M, d), unit rows

    Raises
    ------
    InputError
        If the cosine lies outside its domain or d is too small.
    """
    check_size(whole_number("M", M), whole_number("d", d))
    lowest = -1.0 / (M - 1) if M > 1 else -1.0
    # -1/(M-1) itself is rarely a float: accept what rounds to it.
    cosine = real_number("cosine", cosine, lowest * (1 + 4 * np.finfo(float).eps), 1, ends="[)")
    simplex = M > 1 and abs(cosine - lowest) <= 4 * np.finfo(float).eps * abs(lowest)
    if d < M - simplex:
        raise InputError(
            f"d = {d} is too small for M = {M} patterns of cosine {cosine:.12g}: give d >= {M - simplex}"
        )
    patterns = np.zeros((M, d))
    for column in range(M - simplex):
        above = 1 + (column - 1) * cosine
        here = 1 + column * cosine
        patterns[column, column] = math.sqrt((1 - cosine) * here / above)
        patterns[column + 1 :, column] = cosine * math.sqrt((1 - cosine) / (above * here))
    return patterns


def two_keys(epsilon: float, d: int = 16, seed: int = 0, realization: int = 0) -> Patterns:
    """Two unit keys of cosine ε in a random plane: k₁ = Q e₁, k₂ = Q (ε e₁ + √(1−ε²) e₂).

    Parameters
    ----------
    epsilon : float
        Cosine ε of the two keys, in [−1, 1].
    d : int, default 16
        Dimension ≥ 2.
    seed, realization : int
        Of the random orthogonal Q, both ≥ 0.

    Returns
    -------
    ndarray, shape (2, d), unit rows

    Notes
    -----
    Source: Appendix G.4, two-key systems (d = 16, ε = 0, 0.05, …, 0.85, five rotations).
    """
    epsilon = real_number("epsilon", epsilon, -1, 1)
    check_size(2, whole_number("d", d, at_least=2))
    keys = np.array([[1.0, 0.0], [epsilon, math.sqrt((1 - epsilon) * (1 + epsilon))]])
    return unit_rows(keys @ _orthonormal_frame(2, d, stream(seed, realization, ROTATION)))


def circulant(k: int, d: int = 20, seed: int = 0, realization: int = 0) -> Patterns:
    """Unit keys with a random circulant Gram matrix (equal row sums), in a random orientation.

    k̃_μ = (b, a_ℓ cos(2πℓμ/k), a_ℓ sin(2πℓμ/k), ℓ = 1…m), m = ⌊(k−1)/2⌋, b ~ U(1.5, 3),
    a_ℓ ~ U(0.15, 0.8), scaled to unit norm and rotated.

    Parameters
    ----------
    k : int
        Number of keys, ≥ 3.
    d : int, default 20
        Dimension ≥ 1 + 2m.
    seed, realization : int
        Both ≥ 0; realization r depends on (seed, r) alone.

    Returns
    -------
    ndarray, shape (k, d), unit rows

    Notes
    -----
    Source: Appendix G.4, general k-support systems (k = 3, 4, 5, 6, 8, ten each, d = 20). For even k the
    mode ℓ = k/2 is absent, so that the Gram matrix has rank k − 1.
    """
    modes = (whole_number("k", k, at_least=3) - 1) // 2
    check_size(k, whole_number("d", d, at_least=1 + 2 * modes))
    features = stream(seed, realization, FEATURES)
    constant = features.uniform(1.5, 3.0)
    amplitudes = features.uniform(0.15, 0.80, modes)
    # Reduced to one turn in integers, so that symmetric keys get equal cosines.
    turns = np.outer(np.arange(k), np.arange(1, modes + 1)) % k / k
    keys = np.empty((k, 1 + 2 * modes))
    keys[:, 0] = constant
    keys[:, 1::2] = amplitudes * np.cos(2 * np.pi * turns)
    keys[:, 2::2] = amplitudes * np.sin(2 * np.pi * turns)
    frame = _orthonormal_frame(1 + 2 * modes, d, stream(seed, realization, ROTATION))
    return unit_rows(keys @ frame)


def _orthonormal_frame(rank: int, d: int, generator: np.random.Generator) -> Patterns:
    """`rank` orthonormal rows in R^d, uniformly distributed (Haar)."""
    q, r = np.linalg.qr(generator.standard_normal((d, rank)))
    frame: Patterns = (q * np.sign(np.diagonal(r))).T
    return frame
