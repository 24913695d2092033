"""Propositions 4 to 6 on identifiability as computations."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from hopfieldphase.core.ensembles import (
    Gaussian,
    Instance,
    MatrixInverse,
    MirroredPareto,
    ShearedSwap,
    draw_instance,
    gaussian_twins,
    matrix_from_tail_axis,
    matrix_from_tail_form,
    shear_from_centre,
    shear_from_covariance,
)
from hopfieldphase.core.errors import InputError

ROUNDING = 1e-11

unit = st.floats(-1, 1)


def covariance(instance, matrix):
    """T diag(variances) Tᵀ."""
    return matrix @ np.diag([law.variance() for law in instance.marginals]) @ matrix.T


@given(unit, st.floats(-0.99, 1), st.floats(0.1, 5))
def test_the_centre_tells_the_shear(j, k, location):
    centre = ShearedSwap(j, k).input_matrix @ [location, location]
    assert_allclose(shear_from_centre(centre, location), (j, k), atol=1e-10)


@given(unit, st.floats(1.001, 2), st.floats(2, 3))
def test_on_the_edge_the_covariance_tells_the_shear(j, lower, upper):
    instance = Instance(ShearedSwap(j, -1.0), (Gaussian(lower), Gaussian(upper)))
    matrix = instance.operator.input_matrix
    assert_allclose(instance.centre, [1, 0], atol=1e-15)  # whatever j is
    # the two variances are roots of one quadratic: where they meet, half of the digits are left
    assert_allclose(shear_from_covariance(covariance(instance, matrix)), j, atol=1e-7)


@given(st.integers(0, 2**32), st.sampled_from([-1, 1]))
def test_the_axis_of_the_heavier_tail_tells_the_matrix(seed, sign):
    instance = draw_instance(MatrixInverse, "pareto", seed)
    matrix = instance.operator.input_matrix
    assert_allclose(matrix_from_tail_axis(sign * matrix[:, 1], instance.centre), matrix, atol=ROUNDING)


@given(st.integers(0, 2**32))
def test_the_form_of_equal_tails_tells_the_matrix(seed):
    matrix = MatrixInverse.draw(seed).input_matrix
    # the rank-one matrix is a difference of larger ones
    assert_allclose(matrix_from_tail_form(matrix @ matrix.T, matrix.sum(axis=1)), matrix, atol=1e-6)


def directional_tail(u, matrix, indices, r):
    """P(|⟨u, X − c⟩| > r) of X = B Z with independent mirrored Pareto Z, by quadrature over one of them."""
    heavy, light = abs(float(u @ matrix[:, 1])), abs(float(u @ matrix[:, 0]))

    def survival(t):  # P(heavy (Z − λ) > t), λ = 1
        return float(MirroredPareto(indices[1]).survival(1 + t / heavy))

    def integrand(s):  # over the exponential variable s of the other coordinate
        v = light * math.expm1(s / indices[0])
        return math.exp(-s) * (survival(r - v) + survival(r + v))

    turn = indices[0] * math.log1p(r / light)  # where the other coordinate alone reaches r
    near = 10.0 ** np.arange(-5, 1)
    ends = (0, 3, *(turn - near[::-1]), turn, *(turn + near), 60)
    return sum(
        scipy.integrate.quad(integrand, *pair, epsabs=1e-18, epsrel=1e-8, limit=500)[0]
        for pair in pairwise(ends)
    )


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.0])
def test_directional_tails(angle):
    # F(u) = |⟨u, b⟩|^a of the heavier coordinate alone; |u|² of the form B Bᵀ where both indices are 2
    matrix, u = MatrixInverse(0.4, -0.2, 0.9, 1.3).input_matrix, np.array([math.cos(angle), math.sin(angle)])
    r = 1e5
    unequal = r**1.2 * directional_tail(u, matrix, (2.8, 1.2), r)
    # corrections fall like 1/r and r^-(2.8 - 1.2), and grow where u is nearly orthogonal to b
    assert_allclose(unequal, abs(u @ matrix[:, 1]) ** 1.2, rtol=1e-4)
    equal = r**2 * directional_tail(u, matrix, (2.0, 2.0), r)
    assert_allclose(equal, u @ matrix @ matrix.T @ u, rtol=1e-3)


@given(
    st.floats(0.8, 1.0), st.floats(1.1, 1.4), st.floats(1.3, 1.7), st.floats(2.3, 2.7),
    st.floats(-0.02, 0.02).filter(lambda h: abs(h) > 1e-4),
)  # fmt: skip
def test_gaussian_twins_share_their_input_and_not_their_output(b1, b2, lower, upper, h):
    twins = gaussian_twins((b1, b2), (lower, upper), h)
    first, second = (instance.operator.input_matrix for instance in (twins.first, twins.second))
    assert_allclose(twins.second.centre, twins.first.centre, rtol=ROUNDING)
    assert_allclose(
        covariance(twins.second, second), covariance(twins.first, first), rtol=ROUNDING, atol=ROUNDING
    )
    means = [instance.operator.output_matrix @ [1, 1] for instance in (twins.first, twins.second)]
    assert_allclose((means[1] - means[0])[0], twins.output_gap, rtol=1e-8)
    assert_allclose(twins.output_gap, h * (b2 - b1) / (b1 * b2), rtol=1e-8)
    assert twins.output_gap != 0


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: shear_from_centre([1.0, 0.0]), "c_y = 0"),
        (lambda: shear_from_centre([1.0, 2.0, 3.0]), "two finite numbers"),
        (lambda: shear_from_covariance([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: shear_from_covariance([[1.0, math.nan], [0.0, 1.0]]), "holds NaN"),
        (lambda: matrix_from_tail_axis([1.0, 1.0], [2.0, 2.0]), "parallel"),
        (lambda: matrix_from_tail_form(np.eye(2), [5.0, 0.0]), "not of rank one"),
        (lambda: gaussian_twins((1.0, 1.0)), "b_1 != b_2"),
        (lambda: gaussian_twins(perturbation=0.0), "h != 0"),
        (lambda: gaussian_twins(sigmas=(2.5, 2.6)), "sigma_1 = 2.5"),
        (lambda: gaussian_twins(perturbation=0.5), "outside its domain"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
