"""Scalings with the number of patterns: factors, closed forms, units of what they return, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.attention.capped import CappedSimplex, GreedyFilling
from hopfieldphase.core.attention.normmax import Normmax
from hopfieldphase.core.attention.permutahedron import Permutahedron
from hopfieldphase.core.attention.positive import Exponential, LogElu
from hopfieldphase.core.attention.scaling import (
    FixedTemperature,
    LengthScaled,
    Logarithmic,
    PowerOfLogarithm,
    Scaling,
    Yarn,
)
from hopfieldphase.core.entmax import entmax
from hopfieldphase.core.errors import InputError

ROUNDING = 1e-14  # a few dozen terms of order one
DIFFERENCE = 1e-8  # central differences with a step of 1e-6

SCALINGS = [FixedTemperature(0.3), Yarn(4), Logarithmic(0.7), PowerOfLogarithm(0.5, 0.4, 1.5)]
EVERY_SCALING = pytest.mark.parametrize("scaling", SCALINGS, ids=lambda scaling: type(scaling).__name__)
INNER = [Exponential(), Normmax(2.0), CappedSimplex(2), GreedyFilling(2.0, 1.0)]


@pytest.mark.parametrize(
    ("scaling", "n", "factor"),
    [
        (FixedTemperature(0.25), 7, 4.0),
        (Yarn(2048), 2048, 1.0),
        (Yarn(2048), 100, 1.0),
        (Yarn(2048), 32768, (1 + 0.1 * math.log(16)) ** 2),
        (Logarithmic(0.43), 1000, 0.43 * math.log(1000)),
        (Logarithmic(), 1, 0.0),
        (PowerOfLogarithm(1.0, 2.0, 0.5), 1, 1.0),
        (PowerOfLogarithm(1.0, 2.0, 0.5), 100, 1 + 2 * math.sqrt(math.log(100))),
        (PowerOfLogarithm(0.5, 2.0, 0.0), 1, 2.5),
    ],
)
def test_factors(scaling, n, factor):
    assert scaling.factor(n) == pytest.approx(factor, rel=1e-15)


@settings(max_examples=50)
@given(st.lists(st.floats(-4, 4), min_size=2, max_size=30), st.floats(0.1, 2))
def test_scalable_softmax_is_a_power_of_n(z, slope):
    """Nakanishi's form: p = n^{s z}/Σ n^{s z}."""
    powers = float(len(z)) ** (slope * np.array(z))
    p = LengthScaled(Exponential(), Logarithmic(slope)).weights(np.array(z))
    np.testing.assert_allclose(p, powers / powers.sum(), rtol=1e-12)


def test_adaptively_scaled_normmax_is_normmax_of_scaled_scores():
    z = np.random.default_rng(0).normal(size=(3, 50))
    factor = 1.2 + 0.3 * math.log(50) ** 0.8
    np.testing.assert_allclose(
        LengthScaled(Normmax(2.0), PowerOfLogarithm(1.2, 0.3, 0.8)).weights(z),
        Normmax(2.0).weights(factor * z), rtol=0, atol=ROUNDING,
    )  # fmt: skip
    np.testing.assert_allclose(
        LengthScaled(CappedSimplex(1), PowerOfLogarithm(1.2, 0.3, 0.8)).weights(z),
        entmax(factor * z, 2), rtol=0, atol=ROUNDING,
    )  # fmt: skip


def test_scaled_softmax_does_not_disperse():
    """One score leads by 1 among n: softmax forgets it; at s = 2 its weight is n/(n + (n−1)/n) → 1."""
    for n in (10, 1000, 100_000):
        z = np.zeros(n)
        z[3] = 1
        assert Exponential().weights(z)[3] < 3 / n
        scaled = LengthScaled(Exponential(), Logarithmic(2.0)).weights(z)[3]
        np.testing.assert_allclose(scaled, n**2 / (n**2 + n - 1), rtol=1e-12)


@EVERY_SCALING
@pytest.mark.parametrize("inner", INNER, ids=lambda inner: inner.name)
class TestUnits:
    z, v = np.random.default_rng(5).normal(size=(2, 2, 6)) * 0.5

    def test_jacobian_action(self, scaling, inner):
        attention = LengthScaled(inner, scaling)
        step = 1e-6 * self.v
        slope = (attention.weights(self.z + step) - attention.weights(self.z - step)) / 2e-6
        np.testing.assert_allclose(
            attention.jacobian_action(self.z, self.v), slope, rtol=0, atol=20 * DIFFERENCE
        )

    def test_weights_are_the_gradient_of_the_conjugate(self, scaling, inner):
        attention = LengthScaled(inner, scaling)
        step = 1e-6
        rise = attention.conjugate(self.z + step * self.v) - attention.conjugate(self.z - step * self.v)
        expected = np.sum(attention.weights(self.z) * self.v, axis=-1)
        np.testing.assert_allclose(rise / (2 * step), expected, rtol=0, atol=20 * DIFFERENCE)

    def test_threshold_is_a_score(self, scaling, inner):
        attention = LengthScaled(inner, scaling)
        # A threshold that is a score may be off by the rounding of its scaling and back.
        excess = self.z - attention.threshold(self.z)[..., None]
        support = attention.support(self.z)
        assert np.min(excess[support]) > ROUNDING > np.max(excess[~support], initial=-1.0)


def test_a_map_without_threshold_stays_without():
    attention = LengthScaled(Permutahedron([0.7, 0.3]), Logarithmic())
    assert not attention.has_threshold
    with pytest.raises(InputError, match="no threshold"):
        attention.threshold(np.zeros(2))


def test_temperature_scales_regularizer_and_margin():
    attention = LengthScaled(Normmax(2.0), FixedTemperature(0.25))
    assert attention.separation_margin(2) == Normmax(2.0).separation_margin(2) / 4
    z = np.random.default_rng(0).normal(size=(20, 6))
    p = attention.weights(z)
    value = attention.conjugate(z) + attention.regularizer(p)
    np.testing.assert_allclose(value, np.sum(p * z, axis=-1), rtol=0, atol=ROUNDING)
    for function in (lambda m: m.regularizer(p), lambda m: m.separation_margin()):
        with pytest.raises(InputError, match="changes with the number of patterns"):
            function(LengthScaled(Normmax(2.0), Logarithmic()))


@EVERY_SCALING
def test_absent_patterns_do_not_count(scaling):
    """Rows of a causal mask are scaled with the patterns that they see."""
    z = np.random.default_rng(0).normal(size=(5, 5))
    masked = np.where(np.tri(5, dtype=bool), z, -math.inf)
    attention = LengthScaled(Exponential(), scaling)
    p = attention.weights(masked)
    for n in range(1, 6):
        np.testing.assert_allclose(p[n - 1, :n], attention.weights(z[n - 1, :n]), rtol=1e-15)
        np.testing.assert_array_equal(p[n - 1, n:], 0)


def test_a_map_without_conjugate_stays_without():
    attention = LengthScaled(LogElu(), Logarithmic())
    assert not attention.has_conjugate
    with pytest.raises(InputError, match="not the gradient"):
        attention.conjugate(np.zeros(3))


def test_a_single_pattern_scaled_to_zero():
    attention = LengthScaled(Exponential(), Logarithmic())
    np.testing.assert_array_equal(attention.weights(np.array([[5.0], [-2.0]])), 1)
    with pytest.raises(InputError, match="scales a row to zero"):
        attention.conjugate(np.array([5.0]))


class Negative(Scaling):
    def factor(self, n):
        return -1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FixedTemperature(0.0), "temperature = 0"),
        (lambda: FixedTemperature(math.nan), "temperature = nan"),
        (lambda: Yarn(0), "trained_length = 0"),
        (lambda: Logarithmic(-1), "slope = -1"),
        (lambda: PowerOfLogarithm(-1.0), "delta = -1"),
        (lambda: PowerOfLogarithm(1.0, math.inf), "beta = inf"),
        (lambda: PowerOfLogarithm(gamma=-0.5), "gamma = -0.5"),
        (lambda: PowerOfLogarithm(0.0, 0.0), "scales every score to zero"),
        (lambda: LengthScaled(Exponential(), Negative()).weights(np.zeros(2)), "factor -1.0 for n = 2"),
        (lambda: LengthScaled(Exponential(), Logarithmic()).weights([math.nan]), "NaN"),
    ],
)
def test_bad_input(make, words):
    with pytest.raises(InputError, match=words) as error:
        make()
    assert "\n" not in str(error.value)
