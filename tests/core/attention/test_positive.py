"""Positive kernels: formulas, smoothness at zero, tails, derivatives, and the one conjugate among them."""

import math

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.attention.positive import Exponential, LinearElu, LogElu, PositiveKernel, SquaredElu
from hopfieldphase.core.errors import InputError

ROUNDING = 4e-15  # a few roundings of elementary functions and of sums of up to 30 terms
DIFFERENCE = 1e-8  # central differences with a step of 1e-6

# Table 1 of the heavy-tailed measures paper, in the variable s and for complex s next to the real axis.
FORMULAS = {
    Exponential(): (np.exp, np.exp),
    SquaredElu(): (lambda s: (s + 1) ** 2, lambda s: np.exp(2 * s)),
    LinearElu(): (lambda s: s + 1, np.exp),
    LogElu(): (lambda s: np.log(1 + s) + 1, lambda s: 1 / (1 - s)),
}
KERNELS = pytest.mark.parametrize("kernel", FORMULAS, ids=lambda kernel: kernel.name)

finite = st.integers(-6, 6).map(float) | st.floats(-30, 30)
rows = st.lists(finite, min_size=1, max_size=30).map(np.array)


def g(kernel, s):
    above, below = FORMULAS[kernel]
    positive = np.real(s) > 0
    return np.where(positive, above(np.where(positive, s, 0)), below(np.where(positive, 0, s)))


@KERNELS
@settings(max_examples=60)
@given(z=rows)
def test_weights_of_the_formula(kernel, z):
    expected = g(kernel, z) / np.sum(g(kernel, z))
    np.testing.assert_allclose(kernel.weights(z), expected, rtol=ROUNDING)


@KERNELS
@settings(max_examples=60)
@given(z=rows, seed=st.integers(0, 99))
def test_jacobian_action_by_the_complex_step(kernel, z, seed):
    """Im p(z + ihv)/h at h = 1e-200 has no truncation and no cancellation."""
    v = np.random.default_rng(seed).normal(size=z.size)
    values = g(kernel, z + 1e-200j * v)
    expected = np.imag(values / np.sum(values)) * 1e200
    action = kernel.jacobian_action(z, v)
    np.testing.assert_allclose(action, expected, rtol=0, atol=1e-14 * max(1.0, np.max(np.abs(v))))
    assert abs(np.sum(action)) < 1e-13


@KERNELS
def test_one_at_zero_and_smooth_there(kernel):
    """The weight ratio of two scores is g(s)/g(0) = g(s); its slopes from both sides agree at zero."""

    def ratio(s):
        p = kernel.weights(np.stack([s, np.zeros_like(s)], axis=-1))
        return p[..., 0] / p[..., 1]

    assert ratio(np.zeros(1)) == 1
    step = 1e-7
    slope = np.array([(1 - ratio(np.array([-step]))[0]) / step, (ratio(np.array([step]))[0] - 1) / step])
    expected = {"squared-elu": 2.0}.get(kernel.name, 1.0)
    # Curvatures of up to four, times the step.
    np.testing.assert_allclose(slope, expected, atol=1e-6)
    s = np.linspace(-3, 3, 25)
    np.testing.assert_allclose(ratio(s), g(kernel, s), rtol=ROUNDING)


@KERNELS
def test_no_score_is_too_large_or_too_small(kernel):
    largest = np.finfo(float).max
    for z in ([largest, 0.0, -largest], [-largest, -largest], [1e200, 5e199], [-1e4, -1e4 - 1]):
        p = kernel.weights(np.array(z))
        assert np.all(np.isfinite(p))
        np.testing.assert_allclose(np.sum(p), 1, rtol=ROUNDING)


def test_tails():
    """Weights grow as e^z, z², z and log z, and decay as e^z, e^{2z}, e^z and 1/|z|."""
    up, down = np.array([1e8, 1e4]), np.array([-100.0, -200.0])

    def ratio(kernel, z):
        p = kernel.weights(z)
        return p[0] / p[1]

    # Relative corrections 1/z and 1/log z.
    np.testing.assert_allclose(ratio(SquaredElu(), up), 1e8, rtol=3e-4)
    np.testing.assert_allclose(ratio(LinearElu(), up), 1e4, rtol=2e-4)
    np.testing.assert_allclose(
        ratio(LogElu(), up), (1 + 8 * math.log(10)) / (1 + 4 * math.log(10)), rtol=1e-4
    )
    np.testing.assert_allclose(ratio(LogElu(), down), 201 / 101, rtol=ROUNDING)
    # 1e-13: exponentials of numbers of a hundred.
    np.testing.assert_allclose(ratio(SquaredElu(), down), math.exp(200), rtol=1e-13)
    np.testing.assert_allclose(ratio(LinearElu(), down), math.exp(100), rtol=1e-13)


@settings(max_examples=30)
@given(rows)
def test_exponential_is_softmax_with_a_conjugate(z):
    np.testing.assert_allclose(Exponential().weights(z), scipy.special.softmax(z), rtol=1e-13)
    np.testing.assert_allclose(Exponential().conjugate(z), scipy.special.logsumexp(z), rtol=1e-14, atol=1e-14)


@KERNELS
def test_only_the_exponential_has_a_symmetric_jacobian(kernel):
    z = np.array([1.0, 0.2, -0.7])
    jacobian = np.stack([kernel.jacobian_action(z, v) for v in np.eye(3)], axis=-1)
    symmetric = np.max(np.abs(jacobian - jacobian.T)) < 1e-15
    assert symmetric == kernel.has_conjugate == isinstance(kernel, Exponential)
    if not symmetric:
        with pytest.raises(InputError, match="not the gradient"):
            kernel.conjugate(z)


def test_entropy_is_the_regularizer_of_the_exponential():
    z = np.random.default_rng(0).normal(size=(20, 6))
    p = Exponential().weights(z)
    value = Exponential().conjugate(z) + Exponential().regularizer(p)
    np.testing.assert_allclose(value, np.sum(p * z, axis=-1), rtol=0, atol=ROUNDING)


@KERNELS
def test_no_weight_vanishes(kernel):
    assert kernel.threshold(np.zeros(3)) == -math.inf
    assert kernel.separation_margin(2) == math.inf


@KERNELS
def test_absent_patterns(kernel):
    z = np.array([0.5, -math.inf, -0.3])
    p = kernel.weights(z)
    assert p[1] == 0
    np.testing.assert_array_equal(p[[0, 2]], kernel.weights(z[[0, 2]]))
    action = kernel.jacobian_action(z, np.array([1.0, 2.0, 3.0]))
    np.testing.assert_array_equal(action[[0, 2]], kernel.jacobian_action(z[[0, 2]], np.array([1.0, 3.0])))
    assert action[1] == 0


class TestPositiveKernel:
    def test_agrees_with_the_kernel_it_spells_out(self):
        def function(s):
            return np.where(s > 0, 1 + np.log1p(np.clip(s, 0, None)), 1 / (1 - np.clip(s, None, 0)))

        def derivative(s):
            return np.where(s > 0, 1 / (1 + np.clip(s, 0, None)), 1 / (1 - np.clip(s, None, 0)) ** 2)

        mine, theirs = PositiveKernel(function, derivative), LogElu()
        z, v = np.random.default_rng(0).normal(size=(2, 4, 9)) * 3
        z[0, 2] = -math.inf
        np.testing.assert_allclose(mine.weights(z), theirs.weights(z), rtol=ROUNDING)
        np.testing.assert_allclose(
            mine.jacobian_action(z, v), theirs.jacobian_action(z, v), rtol=0, atol=ROUNDING
        )

    def test_kernel_of_one_value(self):
        kernel = PositiveKernel(np.ones_like, np.zeros_like)
        np.testing.assert_array_equal(kernel.weights(np.arange(4.0)), 0.25)
        np.testing.assert_array_equal(kernel.jacobian_action(np.arange(4.0), np.arange(4.0)), 0)

    @pytest.mark.parametrize(
        ("function", "derivative", "words"),
        [
            (lambda s: s, np.ones_like, "not positive: g = -1"),
            (np.abs, np.sign, "not positive: g = 0"),
            (lambda s: s / 0.0 + s, np.ones_like, "NaN or infinite"),
            (np.exp, lambda s: np.full_like(s, np.nan), "derivative is NaN"),
            (np.sum, np.ones_like, "gives shape \\(\\)"),
            (3.0, np.ones_like, "not callable"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
    def test_bad_kernels(self, function, derivative, words):
        z = np.array([-1.0, 0.0, 2.0])
        with pytest.raises(InputError, match=words) as error:
            PositiveKernel(function, derivative).jacobian_action(z, z)
        assert "\n" not in str(error.value)


@KERNELS
@pytest.mark.parametrize("z", [[math.nan, 0.0], [math.inf, 0.0], [-math.inf], []])
def test_bad_scores(kernel, z):
    with pytest.raises(InputError, match="scores"):
        kernel.weights(z)
