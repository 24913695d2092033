"""Attention on unit queries and keys is kernel regression; its bandwidth follows the density of the keys."""

import math
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from hopfieldphase.core.attention import Entmax
from hopfieldphase.dynamics.regression import (
    attention_bandwidth,
    attention_weights,
    circle_data,
    expected_bandwidth,
    identity_error,
    kernel_weights,
    on_circle,
    unit_rows,
)

IDENTITY = 1e-12


@pytest.mark.parametrize("r", [1, 2, 3, 1.5, math.inf])
@pytest.mark.parametrize("temperature", [0.01, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("d", [2, 8, 64])
def test_attention_is_kernel_regression(r, temperature, d):
    rng = np.random.default_rng(d)
    queries, keys = unit_rows(40, d, rng), unit_rows(300, d, rng)
    assert identity_error(queries, keys, r, temperature) < IDENTITY
    values = rng.standard_normal((300, 5))
    h = attention_bandwidth(queries, keys, r, temperature)
    assert_allclose(
        attention_weights(queries, keys, r, temperature) @ values,
        kernel_weights(queries, keys, r, h) @ values,
        atol=10 * IDENTITY,
    )


def test_another_bandwidth_is_another_map():
    rng = np.random.default_rng(0)
    queries, keys = unit_rows(5, 3, rng), unit_rows(200, 3, rng)
    h = 1.01 * attention_bandwidth(queries, keys, 2, 0.1)
    assert np.abs(kernel_weights(queries, keys, 2, h) - attention_weights(queries, keys, 2, 0.1)).max() > 1e-5


def test_bandwidth_in_the_printed_symbols():
    # [(α−1) z − τ]₊^r sums to one at the post's τ; h² = 2 − 2rγτ
    rng = np.random.default_rng(2)
    queries, keys, r, gamma = unit_rows(6, 4, rng), unit_rows(50, 4, rng), 2, 0.3
    z = queries @ keys.T / gamma
    p = np.asarray(Entmax(1.5).weights(z))
    best = z.argmax(axis=1)
    tau = z.max(axis=1) / r - p[np.arange(6), best] ** (1 / r)
    assert_allclose(np.maximum(z / r - tau[:, None], 0) ** r, p, atol=1e-13)
    assert_allclose(
        attention_bandwidth(queries, keys, r, gamma), np.sqrt(2 - 2 * r * gamma * tau), rtol=1e-12
    )


def test_weights_vanish_beyond_the_bandwidth():
    rng = np.random.default_rng(3)
    queries, keys = unit_rows(20, 6, rng), unit_rows(100, 6, rng)
    h = attention_bandwidth(queries, keys, 1, 0.2)
    distance = np.linalg.norm(queries[:, None] - keys, axis=-1)
    assert ((attention_weights(queries, keys, 1, 0.2) > 0) == (distance < h[:, None])).all()


def test_the_gaussian_limit():
    rng = np.random.default_rng(4)
    queries, keys = unit_rows(30, 3, rng), unit_rows(200, 3, rng)
    gaussian = attention_weights(queries, keys, math.inf, 0.05)
    far = [np.abs(attention_weights(queries, keys, r, 0.05) - gaussian).max() for r in (256, 512, 1024)]
    assert_allclose(np.log2(np.divide(far[:-1], far[1:])), 1, atol=0.02)  # 1/r, with corrections 1/r²
    square = ((queries[:, None] - keys) ** 2).sum(axis=-1)
    kernel = np.exp(-square / (2 * 0.05))
    assert_allclose(gaussian, kernel / kernel.sum(axis=1, keepdims=True), atol=IDENTITY)


@pytest.mark.parametrize("r", [1, 2, 3])
def test_bandwidth_of_a_dense_line(r):
    # equidistant keys on the circle: chords bend by h²/24, sums differ from integrals by the spacing
    n, gamma = 20_000, 1e-4
    keys = on_circle(2 * np.pi * np.arange(n) / n)
    found = attention_bandwidth(keys[:3], keys, r, gamma)
    expected = expected_bandwidth(r, gamma, np.full(3, n / (2 * np.pi)))
    assert_allclose(found, expected, rtol=1e-3)
    mass = quad(lambda u: ((expected[0] ** 2 - u**2) / (2 * r * gamma)) ** r, -expected[0], expected[0])[0]
    assert_allclose(mass * n / (2 * np.pi), 1, rtol=1e-9)


def test_the_density_of_the_circle():
    rng = np.random.default_rng(5)
    data = circle_data(50_000, 2.0, 0.1, rng)
    total = quad(lambda phi: float(data.density(np.array(phi))), -np.pi, np.pi)[0]
    assert_allclose(total, 50_000, rtol=1e-9)
    counts, edges = np.histogram(data.angle, bins=8, range=(-np.pi, np.pi))
    expected = [
        quad(lambda phi: float(data.density(np.array(phi))), low, high)[0] for low, high in pairwise(edges)
    ]
    assert (np.abs(counts - expected) < 5 * np.sqrt(expected)).all()  # Poisson
