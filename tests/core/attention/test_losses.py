"""Fenchel–Young losses: sign, zeros, gradient, margins measured and in closed form."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hopfieldphase.core.attention import (
    CappedEntmax,
    Entmax,
    Separable,
    SparsemaxK,
    TopK,
    TopP,
    fenchel_young_gradient,
    fenchel_young_loss,
)
from hopfieldphase.core.errors import InputError

ROUNDING = 1e-13

MAPS = [
    Entmax(0.6), Entmax(1), Entmax(1.5), Entmax(2), Entmax(3), Entmax(math.inf), Separable.quadratic(),
    Separable.tsallis(1.25), TopK(3), TopK(2, Entmax(1.5)), SparsemaxK(3), CappedEntmax(2, 1.5),
]  # fmt: skip


@pytest.mark.parametrize("attention", MAPS)
def test_zero_at_its_weights_and_positive_elsewhere(attention):
    rng = np.random.default_rng(0)
    z = rng.normal(size=(200, 6))
    p = attention.weights(z)
    np.testing.assert_allclose(fenchel_young_loss(attention, z, p), 0, atol=ROUNDING)
    y = attention.weights(rng.normal(size=(200, 6)))
    loss = fenchel_young_loss(attention, z, y)
    assert np.all(loss >= 0)
    far = np.abs(p - y).max(axis=-1) > 1e-3
    assert np.all(loss[far] > 1e-9)


@pytest.mark.parametrize("attention", MAPS)
def test_gradient(attention):
    rng, h = np.random.default_rng(1), 1e-6
    for _ in range(10):
        z, y = rng.normal(size=5), attention.weights(rng.normal(size=5))
        measured = [
            (fenchel_young_loss(attention, z + h * e, y) - fenchel_young_loss(attention, z - h * e, y))
            / (2 * h)
            for e in np.eye(5)
        ]
        np.testing.assert_allclose(fenchel_young_gradient(attention, z, y), measured, atol=1e-6)


@given(z=st.lists(st.floats(-50, 50), min_size=2, max_size=8))
def test_cross_entropy_and_half_the_square(z):
    z, y = np.array(z), np.zeros(len(z))
    y[0] = 1
    cross_entropy = np.log(np.sum(np.exp(z - z.max()))) + z.max() - z[0]
    assert fenchel_young_loss(Entmax(1), z, y) == pytest.approx(cross_entropy, rel=1e-12, abs=1e-14)
    # The sparsemax loss of Martins and Astudillo (2016), equation (27).
    p = Entmax(2).weights(z)
    support = p > 0
    tau = (z[support].sum() - 1) / support.sum()
    sparsemax_loss = -z[0] + np.sum(z[support] ** 2 - tau**2) / 2 + 0.5
    assert fenchel_young_loss(Entmax(2), z, y) == pytest.approx(sparsemax_loss, rel=1e-11, abs=1e-11)
    assert fenchel_young_loss(Separable.quadratic(), z, y) == pytest.approx(
        sparsemax_loss, rel=1e-11, abs=1e-11
    )


def measured_margin(attention, others):
    """Smallest gap from which the loss of the top score vanishes, by bisection to the last bit but three."""

    def vanishes(gap):
        z = np.full(others + 1, -gap)
        z[0] = 0
        y = np.zeros_like(z)
        y[0] = 1
        return attention.weights(z)[0] == 1 and fenchel_young_loss(attention, z, y) == 0

    low, high = 0.0, 64.0
    assert vanishes(high)
    while high - low > 8e-16 * high and high > 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if vanishes(middle) else (middle, high)
    return high


@pytest.mark.slow
@pytest.mark.parametrize("others", [1, 2, 50])
@pytest.mark.parametrize("alpha", [1.1, 1.25, 1.5, 2.0, 3.0, 10.0])
def test_separation_margin(alpha, others):
    for attention in (Entmax(alpha), Separable.tsallis(alpha), CappedEntmax(2, alpha)):
        margin = attention.separation_margin()
        assert margin == pytest.approx(1 / (alpha - 1), rel=1e-15 if isinstance(attention, Entmax) else 1e-12)
        # For α < 2 a weight at a distance d inside the margin is d^{1/(α−1)}: too small to be seen by one.
        seen = 2e-16 ** (alpha - 1) if alpha < 2 else 0.0
        measured = measured_margin(attention, others)
        assert margin * (1 - 3 * seen - 1e-14) <= measured <= margin * (1 + 1e-14)


def test_margin_of_another_function():
    attention = Separable(
        g=lambda t: 2 * np.sinh(t / 2) ** 2, slope=np.sinh, inverse_slope=np.arcsinh, curvature=np.cosh
    )
    assert measured_margin(attention, 3) == pytest.approx(math.sinh(1), rel=1e-14)
    assert attention.separation_margin() == pytest.approx(math.sinh(1), rel=1e-15)


def test_no_margin():
    z, y = np.array([0.0, -700.0]), np.array([1.0, 0.0])
    assert fenchel_young_loss(Entmax(1), z, y) >= 0
    assert Entmax(1).weights(z)[1] > 0
    assert Entmax(1).separation_margin() == math.inf


def test_large_scores_cost_no_digits():
    z, y = np.array([0.0, 0.5, -0.25]), np.array([0.0, 1.0, 0.0])
    for attention in MAPS:
        # 2^40 shifts the scores without rounding them.
        assert fenchel_young_loss(attention, z + 2.0**40, y) == fenchel_young_loss(attention, z, y)


def test_what_no_weights_can_reach():
    assert fenchel_young_loss(Entmax(2), np.array([0.0, -math.inf]), np.array([0.5, 0.5])) == math.inf
    assert fenchel_young_loss(Entmax(2), np.array([0.0, -math.inf]), np.array([1.0, 0.0])) == 0
    assert fenchel_young_loss(SparsemaxK(2), np.zeros(3), np.full(3, 1 / 3)) == math.inf


def test_types_and_shapes():
    z = np.random.default_rng(0).normal(size=(2, 1, 4)).astype(np.float32)
    y = np.eye(4, dtype=np.float32)[:3]
    loss = fenchel_young_loss(Entmax(1.5), z, y)
    assert loss.shape == (2, 3)
    assert loss.dtype == np.float32
    assert fenchel_young_gradient(Entmax(1.5), z, y).shape == (2, 3, 4)
    assert fenchel_young_loss(Entmax(2), [1, 0.5], [1, 0]) == 0.0625


@pytest.mark.parametrize(
    ("attention", "scores", "target", "complaint"),
    [
        (TopP(0.5), [0.0, 1.0], [0.0, 1.0], "top-p attention is not the gradient of a convex function"),
        (Entmax(2), [0.0, 1.0], [0.5, 0.6], "target sums differ from those of the weights by 0.1"),
        (Entmax(2), [0.0, 1.0], [-0.5, 1.5], "target has a negative, infinite or NaN entry"),
        (Entmax(2), [0.0, 1.0], [0.0, 0.0], "target has a row of zeros"),
        (Entmax(2), [0.0, 1.0], [0.0, 0.0, 1.0], "target has 3 weights for 2 scores"),
        (Entmax(2), [0.0, math.nan], [0.0, 1.0], "scores have a NaN"),
    ],
)
def test_refused(attention, scores, target, complaint):
    for function in (fenchel_young_loss, fenchel_young_gradient):
        with pytest.raises(InputError, match=complaint):
            function(attention, scores, target)
