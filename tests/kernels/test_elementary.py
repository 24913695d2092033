"""The SIMD elementary functions against NumPy's in extended precision."""

import math

import numpy as np
import pytest

from hopfieldphase.kernels import elementary
from hopfieldphase.kernels.jit import jit

# Largest error seen: 1.6 units in the last place, of expm1.
ULP = 2.0

_rng = np.random.default_rng(0)
_TINY = -(10.0 ** _rng.uniform(-20, 0, 4000))
_BELOW = -700 * _rng.random(4000)


@jit
def _exp(x, out):
    for i in range(x.size):
        out[i] = elementary.exp(x[i])


@jit
def _expm1(x, out):
    for i in range(x.size):
        out[i] = elementary.expm1(x[i])


@jit
def _log(x, out):
    for i in range(x.size):
        out[i] = elementary.log(x[i])


@jit
def _log1p(x, out):
    for i in range(x.size):
        out[i] = elementary.log1p_and_reciprocal(x[i])[0]


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="no extended precision on this machine")
@pytest.mark.parametrize(
    ("loop", "function", "x"),
    [
        (_exp, np.exp, np.concatenate([_TINY, _BELOW])),
        (_expm1, np.expm1, np.concatenate([_TINY, _BELOW, -_TINY, -_BELOW])),
        (_log, np.log, np.concatenate([10.0 ** _rng.uniform(-307, 307, 4000), 1 + _TINY, 1 - _TINY])),
        (_log1p, np.log1p, np.concatenate([_TINY, -_TINY, 10.0 ** _rng.uniform(-20, 300, 4000)])),
    ],
    ids=["exp", "expm1", "log", "log1p"],
)
def test_within_two_ulp(loop, function, x):
    x = x[(x != -1) & (x != 0)]
    right = function(x.astype(np.longdouble))
    out = np.empty_like(x)
    loop(x, out)
    ulp = np.spacing(np.abs(right.astype(float)))
    assert np.max(np.abs(out - right) / ulp) < ULP


def test_ends_of_the_domain():
    assert elementary.exp(0.0) == 1.0
    assert elementary.exp(-math.inf) == 0.0
    assert elementary.exp(-745.0) == math.exp(-745.0) > 0.0
    assert elementary.exp(-710.0) == pytest.approx(math.exp(-710.0), rel=1e-14)
    assert elementary.expm1(-math.inf) == -1.0
    assert elementary.expm1(0.0) == 0.0
    assert elementary.log(1.0) == 0.0
    assert elementary.log1p_and_reciprocal(-1e-300) == (-1e-300, 1.0)
    assert elementary.log1p_and_reciprocal(1.0) == (math.log(2.0), 0.5)
