"""Attention as kernel regression: compact kernels whose bandwidth adapts to the keys."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.spatial.distance import cdist

from hopfieldphase.core.attention import Entmax
from hopfieldphase.kernels.attention import weights

Floats = NDArray[np.float64]


class CircleData(NamedTuple):
    """Noisy values at random angles: `angle`, `value`, and the law of the angles as a density per radian."""

    angle: Floats
    value: Floats
    density: Callable[[Floats], Floats]


def regression_map(r: float) -> Entmax:
    """The map whose kernel has the power r: α = 1 + 1/r, softmax for r = ∞."""
    return Entmax(1 + 1 / r)


def attention_weights(queries: Floats, keys: Floats, r: float, temperature: float) -> Floats:
    """Weights of α-entmax attention at scores q·k/γ, shape (queries, keys), for queries and keys (…, d)."""
    return np.asarray(weights(regression_map(r), queries @ keys.T / temperature))


def attention_bandwidth(queries: Floats, keys: Floats, r: float, temperature: float) -> Floats:
    r"""Distance from each query at which the weight of a key vanishes, shape (queries,).

    Parameters
    ----------
    queries, keys : ndarray, shape (…, d)
        Of unit norm.
    r : float
        Power of the kernel, 1 ≤ r ≤ ∞.
    temperature : float
        γ > 0.

    Returns
    -------
    ndarray, shape (queries,)
        :math:`h = \sqrt{2 - 2 r \gamma \tau}` with the threshold τ of the gate ((α−1) z − τ)₊^r; the
        threshold of `Attention.threshold`, in units of the scores, is rτ. For r = ∞ the standard deviation
        √γ of the Gaussian.

    Notes
    -----
    Santos et al. (2026), Proposition 1.
    """
    if math.isinf(r):
        return np.full(len(queries), math.sqrt(temperature))
    theta = np.asarray(regression_map(r).threshold(queries @ keys.T / temperature))
    return np.sqrt(2 - 2 * temperature * theta)


def kernel_weights(queries: Floats, keys: Floats, r: float, bandwidth: Floats) -> Floats:
    """Weights of Nadaraya–Watson regression, [1 − u²/h²]₊^r normalized, shape (queries, keys).

    Parameters
    ----------
    queries, keys : ndarray, shape (…, d)
    r : float
        1 is the Epanechnikov kernel, 2 the biweight, 3 the triweight, ∞ the Gaussian exp(−u²/2h²).
    bandwidth : ndarray, shape (queries,)
        h of each query; at least one key must be nearer.

    Returns
    -------
    ndarray, shape (queries, keys)
        From Euclidean distances u, without any scores.
    """
    square = cdist(queries, keys, "sqeuclidean") / bandwidth[:, None] ** 2
    if math.isinf(r):
        nearest = square.min(axis=1, keepdims=True)
        kernel = np.exp(-0.5 * (square - nearest))
    else:
        kernel = np.maximum(1 - square, 0.0) ** r
    return kernel / kernel.sum(axis=1, keepdims=True)


def identity_error(queries: Floats, keys: Floats, r: float, temperature: float) -> float:
    """Largest difference between a weight of attention and that of kernel regression."""
    bandwidth = attention_bandwidth(queries, keys, r, temperature)
    attended = attention_weights(queries, keys, r, temperature)
    return float(np.abs(attended - kernel_weights(queries, keys, r, bandwidth)).max())


def expected_bandwidth(r: float, temperature: float, density: Floats) -> Floats:
    r"""Bandwidth on a line of many keys, :math:`h^{2r+1} = (2r\gamma)^r/(\rho\,B(\frac12, r+1))`.

    Parameters
    ----------
    r : float
        1 ≤ r < ∞.
    temperature : float
        γ > 0.
    density : ndarray
        Keys per unit length, ρ, at the queries.

    Returns
    -------
    ndarray
        Leading order where ρ hardly changes and the line hardly bends within h: from the normalization
        ρ ∫ ((h² − u²)/(2rγ))^r du = 1.
    """
    return ((2 * r * temperature) ** r / (density * special.beta(0.5, r + 1))) ** (1 / (2 * r + 1))


def unit_rows(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Directions in d dimensions, uniform on the sphere, shape (n, d)."""
    rows = rng.standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def on_circle(angle: Floats) -> Floats:
    """Unit vectors (…, 2) at the given angles."""
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def circle_function(angle: Floats) -> Floats:
    """What is to be learnt: cos 2φ + ½ tanh(10 sin φ), smooth with two walls."""
    return np.cos(2 * angle) + 0.5 * np.tanh(10 * np.sin(angle))


def circle_data(n: int, concentration: float, noise: float, rng: np.random.Generator) -> CircleData:
    """Noisy values of `circle_function` at von Mises angles, crowded around 0.

    Parameters
    ----------
    n : int
        How many.
    concentration : float
        κ ≥ 0 of the law ∝ exp(κ cos φ).
    noise : float
        Standard deviation of the values.
    rng : numpy.random.Generator

    Returns
    -------
    CircleData
        `density` is n times the law.
    """
    angle = np.sort(rng.vonmises(0.0, concentration, n))
    value = circle_function(angle) + noise * rng.standard_normal(n)

    def density(phi: Floats) -> Floats:
        law = np.exp(concentration * (np.cos(phi) - 1)) / (2 * np.pi * special.i0e(concentration))
        return n * law

    return CircleData(angle, value, density)
