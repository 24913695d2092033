"""The compiled Jacobian action against the plain one."""

import math

import numpy as np
import pytest

from hopfieldphase.core import entmax as core
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.jacobian import entmax_jacobian_action, jacobian_action

ALPHAS = (0.4, 1.0, 1.2, 1.5, 1.9, 2.0, 2.5, 3.0, 6.0, math.inf)
# Sums in another order: a few roundings of all entries of a row, whose sum is the entry of the largest w.
ROUNDING = {"float32": 2 * 2.0**-23, "float64": 8 * 2.0**-52}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("M", [60, 150, 1000])
def test_values_are_those_of_the_core(alpha, dtype, scale, M):
    rng = np.random.default_rng(0)
    z = (scale * rng.standard_normal((7, 3, M))).astype(dtype)
    p, v = core.weights(z, alpha), rng.standard_normal(z.shape).astype(dtype)
    found, expected = jacobian_action(p, v, alpha), core.jacobian_action(p, v, alpha)
    assert found.dtype == np.dtype(dtype)
    assert (np.abs(found - expected) <= ROUNDING[dtype] * np.abs(expected).sum(-1, keepdims=True)).all()
    assert not found[p == 0].any()


@pytest.mark.parametrize("alpha", ALPHAS)
def test_by_the_scores_of_entmax_it_is_alpha_times_that(alpha):
    rng = np.random.default_rng(0)
    p = core.entmax(rng.standard_normal((5, 200)), alpha)
    v = rng.standard_normal(p.shape)
    expected = (0.0 if math.isinf(alpha) else alpha) * core.jacobian_action(p, v, alpha)
    np.testing.assert_allclose(entmax_jacobian_action(p, v, alpha), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("where", [3, 70, 500, 999])
@pytest.mark.parametrize("value", [-1e-30, math.nan, math.inf])
def test_a_wrong_weight_is_found_wherever_it_is(where, value):
    p = np.zeros((3, 1000))
    p[:, [5, 400]] = 0.5
    p[1, where] = value
    with pytest.raises(InputError, match=r"negative|NaN|finite"):
        jacobian_action(p, np.ones_like(p), 1.5)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 1.7, 2.0, 3.0])
def test_a_single_pattern_does_not_respond(alpha):
    p = np.array([0.0, 1.0, 0.0])
    assert not jacobian_action(p, np.array([3.0, 0.1, -7.0]), alpha).any()


def test_shapes_types_and_threads():
    rng = np.random.default_rng(1)
    p, v = core.weights(rng.standard_normal((400, 90)), 1.5), rng.standard_normal(90)
    expected = core.jacobian_action(p, v, 1.5)
    for threads in (1, 2, 5):
        found = jacobian_action(p, v, 1.5, threads=threads)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    out = np.empty_like(p)
    assert jacobian_action(p[:, ::-1], np.ones_like(p), 1.5, out=out) is out
    assert np.abs(out).max() < 1e-15
    assert jacobian_action(p.astype("float32"), v, 1.5).dtype == np.float64


@pytest.mark.parametrize(
    ("p", "words"),
    [([0.5, -0.1], "negative"), ([0.0, 0.0], "row of zeros"), ([0.5, math.nan], "NaN")],
)
@pytest.mark.parametrize("alpha", [1.0, 1.4, 3.0])
def test_what_is_no_distribution_is_named(p, words, alpha):
    with pytest.raises(InputError, match=words):
        jacobian_action(np.array(p), np.ones(2), alpha)


def test_out_must_fit():
    p = np.array([0.5, 0.5])
    for out, words in ((np.empty(3), "float64"), (np.empty(2, "float32"), "float32"), (p, "shares memory")):
        with pytest.raises(InputError, match=f"out is .*{words}"):
            jacobian_action(p, np.ones(2), 2.0, out=out)
