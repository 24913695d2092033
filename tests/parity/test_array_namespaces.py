"""Every array namespace gives NumPy's values, its own arrays, and the dtype it was given."""

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest

from hopfieldphase.core import entmax, tsallis

torch = pytest.importorskip("torch")

ALPHAS = [0.3, 1 - 1e-9, 1, 1.25, 1.5, 1.9, 2, 2.5, 7, math.inf]
# Exponentials, logarithms and sums differ between libraries by units in the last place, and condition
# numbers here are below a hundred; a float32 result is a float64 one rounded once.
TOLERANCE = {"float64": 2e-14, "float32": 2.5e-7}


class Backend:
    """How to move arrays to a library and back."""

    def __init__(self, library: Any, to_numpy: Any) -> None:
        self.library, self.to_numpy = library, to_numpy

    def array(self, values: np.ndarray) -> Any:
        return self.library.asarray(values)

    def owns(self, value: Any) -> bool:
        return isinstance(value, type(self.library.asarray(0.0)))


BACKENDS = {
    "numpy": Backend(np, np.asarray),
    "array-api-strict": Backend(array_api_strict, np.from_dlpack),
    "torch": Backend(torch, lambda value: value.numpy()),
}


@pytest.fixture(params=BACKENDS)
def backend(request):
    return BACKENDS[request.param]


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


def scores(dtype):
    z = np.random.default_rng(0).normal(size=(2, 3, 8))
    z[0, 0, 2] = -math.inf
    z[0, 1] = 0.5  # all tied
    z[0, 2, :3] = 4.0  # tied at the top
    z[1, 0] *= 100  # one pattern with all weight
    z[1, 1] *= 1e-3
    z[1, 2] -= 1e4
    return z.astype(dtype)


def check(backend, dtype, function, *arrays, scale=1.0):
    expected = np.asarray(function(*arrays))
    value = function(*(backend.array(array) for array in arrays))
    assert backend.owns(value)
    value = backend.to_numpy(value)
    assert value.dtype == expected.dtype == np.dtype(dtype)
    np.testing.assert_allclose(
        value, expected, rtol=TOLERANCE[dtype], atol=scale * TOLERANCE[dtype], strict=True
    )


@pytest.mark.parametrize("alpha", ALPHAS)
class TestEntmax:
    def test_weights(self, backend, dtype, alpha):
        check(backend, dtype, lambda z: entmax.weights(z, alpha, 2.0), scores(dtype))
        check(backend, dtype, lambda z: entmax.entmax(z, alpha), scores(dtype))

    def test_threshold(self, backend, dtype, alpha):
        check(backend, dtype, lambda z: entmax.threshold(z, alpha, 2.0), scores(dtype))

    def test_conjugate(self, backend, dtype, alpha):
        check(backend, dtype, lambda z: entmax.conjugate(z, alpha, 2.0), scores(dtype))

    def test_jacobian(self, backend, dtype, alpha):
        p = entmax.weights(scores(dtype), alpha, 2.0)
        scale = max(1.0, float(np.abs(entmax.jacobian(p, alpha)).max()))
        check(backend, dtype, lambda p: entmax.jacobian(p, alpha), p, scale=scale)
        v = np.random.default_rng(1).normal(size=8).astype(dtype)
        check(backend, dtype, lambda p, v: entmax.jacobian_action(p, v, alpha), p, v, scale=scale)

    def test_support_is_the_same(self, backend, alpha):
        """Exact zeros are exact everywhere; the tied row sits nowhere near the edge."""
        z = scores("float64")
        p = backend.to_numpy(entmax.weights(backend.array(z), alpha, 2.0))
        np.testing.assert_array_equal(p > 0, entmax.weights(z, alpha, 2.0) > 0)


@pytest.mark.parametrize("alpha", ALPHAS)
class TestTsallis:
    def weights(self, dtype):
        p = entmax.weights(scores(dtype), 1.5, 2.0)
        assert np.any(p == 0)
        return p

    def test_entropy_and_its_gradient(self, backend, dtype, alpha):
        check(backend, dtype, lambda p: tsallis.tsallis_entropy(p, alpha), self.weights(dtype))
        check(backend, dtype, lambda p: tsallis.tsallis_entropy_gradient(p, alpha), self.weights(dtype))

    def test_exponential_and_logarithm(self, backend, dtype, alpha):
        check(backend, dtype, lambda y: tsallis.log_alpha(y, alpha), self.weights(dtype))
        u = np.linspace(-6, 0.15, 50).astype(dtype)
        check(backend, dtype, lambda u: tsallis.exp_alpha(u, alpha), u)

    def test_divergence(self, backend, dtype, alpha):
        q = np.random.default_rng(2).dirichlet(np.ones(8)).astype(dtype)
        check(backend, dtype, lambda p, q: tsallis.tsallis_divergence(p, q, alpha), self.weights(dtype), q)

    def test_effective_support_and_escort(self, backend, dtype, alpha):
        check(backend, dtype, lambda p: tsallis.effective_support(p, alpha), self.weights(dtype))
        check(backend, dtype, lambda p: tsallis.escort(p, alpha), self.weights(dtype))


def test_empty_batch(backend):
    for alpha in ALPHAS:
        assert tuple(entmax.weights(backend.array(np.zeros((0, 4))), alpha).shape) == (0, 4)


def test_integers_become_float64(backend):
    p = entmax.entmax(backend.array(np.array([0, 0, 1])), 1.5)
    assert backend.to_numpy(p).dtype == np.float64
