"""Which attention integrals exist under polynomial tails."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hopfieldphase.core.attention.positive import Exponential, LinearElu, LogElu, SquaredElu
from hopfieldphase.core.ensembles import KERNELS, MirroredPareto, growth_exponent
from hopfieldphase.core.ensembles.integrability import is_integrable, population_value
from hopfieldphase.core.errors import InputError

QUADRATURE = 1e-8

MAPS = {
    "exponential": Exponential(),
    "squared-elu": SquaredElu(),
    "linear-elu": LinearElu(),
    "log-elu": LogElu(),
}


@pytest.mark.parametrize("name", list(KERNELS))
def test_kernels_give_the_weights_of_the_attention_maps(name):
    scores = np.array([-700.0, -3.0, -1e-9, 0.0, 1e-9, 0.4, 2.0, 60.0])
    logs = KERNELS[name].log(scores)
    assert_allclose(np.exp(logs - np.logaddexp.reduce(logs)), MAPS[name].weights(scores), rtol=1e-12)


@pytest.mark.parametrize("name", list(KERNELS))
def test_kernels_are_smooth_at_zero_with_value_one(name):
    kernel, step = KERNELS[name], 1e-6
    assert kernel.log(0.0) == 0
    right, left = kernel.log(step) / step, -kernel.log(-step) / step
    assert_allclose(right, left, rtol=1e-5)


@pytest.mark.parametrize("name", ["squared-elu", "linear-elu"])
def test_orders_are_those_of_the_growth(name):
    s = np.array([1e8, 1e10])
    assert_allclose(np.diff(KERNELS[name].log(s)) / np.diff(np.log(s)), KERNELS[name].order, rtol=1e-6)


@given(st.floats(0.1, 6), st.sampled_from([0.0, 1.0]), st.sampled_from(list(KERNELS)))
def test_integrals_exist_when_the_order_is_below_the_index(a, power, name):
    kernel = KERNELS[name]
    finite = kernel.order + power < a
    assert is_integrable(kernel, a, power) == finite
    if name == "exponential":
        assert math.isinf(growth_exponent(kernel, a, power))
    else:
        assert_allclose(growth_exponent(kernel, a, power), max((kernel.order + power) / a - 1, 0))


@pytest.mark.parametrize(
    ("name", "a", "power"),
    [("squared-elu", 2.6, 0), ("linear-elu", 2.4, 1), ("log-elu", 1.5, 0), ("log-elu", 1.7, 1)],
)
def test_population_values(name, a, power):
    # the other way: over z itself, on either side of the centre, with the tail in powers
    law, kernel, c = MirroredPareto(a, 0.8), KERNELS[name], 0.7

    def integrand(z):
        return float(np.exp(kernel.log(c * z)) * abs(z) ** power * law.density(z))

    ends = [-1e9, *(-(10.0 ** np.arange(8, -2, -1))), 0, 0.8, 1, *(10.0 ** np.arange(1, 10))]
    value = sum(
        scipy.integrate.quad(integrand, *pair, epsabs=0, epsrel=1e-11, limit=200)[0]
        for pair in pairwise(ends)
    )
    # beyond 1e9 a share of about (1e9)^(q + p − a) is left
    left = 20 * 1e9 ** (kernel.order + power - a) * (30 if name == "log-elu" else 1)
    assert_allclose(value, population_value(kernel, law, c, power), rtol=1e-7 + left)


@pytest.mark.parametrize(("a", "c"), [(2.001, 1.0), (2.3, 1e-4), (7.0, 30.0), (80.0, 0.5)])
def test_population_value_of_the_squared_kernel(a, c):
    # the right half is E(1 + cX)² of a Pareto X, however slowly it converges; the left half is bounded
    law = MirroredPareto(a, 1.5)
    first, second = 1.5 * a / (a - 1), 1.5**2 * a / (a - 2)
    kernel = KERNELS["squared-elu"]

    def left(t):
        return math.exp(-t + float(kernel.log(c * (3 - 1.5 * math.exp(t / a)))))

    turn = a * math.log(2)
    ends = sorted((0, turn / 2, turn, 2 * turn, 1, 10, 60, 700))
    rest = sum(scipy.integrate.quad(left, *pair, epsabs=1e-15)[0] for pair in pairwise(ends))
    expected = 0.5 * (1 + 2 * c * first + c**2 * second + rest)
    assert_allclose(population_value(kernel, law, c), expected, rtol=1e-9)


@pytest.mark.parametrize(("a", "power"), [(1.02, 1), (0.3, 0)])
def test_population_value_of_the_logarithm_near_its_threshold(a, power):
    # E (1 + ln(1 + cX)) X^p of a Pareto X of scale 1 by parts in t = a ln x, on a far longer range
    k = 1 - power / a

    def right(t):
        x = math.exp(min(t / a, 700))
        return math.exp(-k * t) * (1 + (math.log1p(x) if t < 600 * a else t / a))

    far = 60 / k
    ends = [0, *np.geomspace(1, far, 30)]
    whole = sum(scipy.integrate.quad(right, *pair, epsabs=0)[0] for pair in pairwise(ends))

    def left(t):
        z = 2 - math.exp(min(t / a, 700))
        return math.exp(-t + float(KERNELS["log-elu"].log(z))) * abs(z) ** power

    ends = sorted((0, a * math.log(2), 1, 5, 20, 40))
    whole += sum(scipy.integrate.quad(left, *pair, epsabs=1e-15)[0] for pair in pairwise(ends))
    assert_allclose(
        population_value(KERNELS["log-elu"], MirroredPareto(a), 1.0, power), 0.5 * whole, rtol=1e-7
    )


def test_softmax_denominators_diverge_for_every_score():
    # Proposition 1: of E e^{cZ} the part up to r grows like e^{cr} r^{-a-1}, for every c ≠ 0
    law = MirroredPareto(2.5)
    for c in (0.05, 0.2, 3.0):
        assert math.isinf(population_value(KERNELS["exponential"], law, c))

        def scaled(x, end, c=c):  # in units of the largest term
            return math.exp(c * (x - end)) * float(law.density(x))

        ends = np.array([200.0, 2000.0]) / c
        logs = [
            c * end + math.log(scipy.integrate.quad(scaled, end - 100 / c, end, args=(end,), epsabs=0)[0])
            for end in ends
        ]
        # the next term of the expansion is (a + 1)/(c r) of the first: here 0.2 %
        assert_allclose(logs[1], c * ends[1] + np.log(law.density(ends[1]) / c), atol=0.003)
        assert logs[1] > logs[0] + 1500


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: growth_exponent(KERNELS["log-elu"], 0.0), "tail index = 0.0"),
        (lambda: growth_exponent(KERNELS["log-elu"], 1.5, -1.0), "power = -1"),
        (lambda: is_integrable(KERNELS["log-elu"], -2.0), "tail index = -2"),
        (lambda: population_value(KERNELS["log-elu"], MirroredPareto(1.5), 0.0), "score = 0.0"),
        (lambda: KERNELS["log-elu"].log(math.nan), "scores holds NaN"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
