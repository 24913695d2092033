"""The joint Gibbs measure: derivatives of W, sampling-free moments by quadrature, boxes, bad input."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import truncnorm

from hopfieldphase.core import patterns
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.joint import box_correction, joint_gibbs
from hopfieldphase.dynamics.loops import effective_action
from hopfieldphase.model import HopfieldModel

EXACT = 1e-12
QUADRATURE = 1e-9

MODEL = HopfieldModel(patterns.spherical(7, 5, seed=1))
SOURCE = np.array([0.4, -1.0, 0.2, 0.0, 2.0])


def test_moments_are_derivatives_of_the_log_partition():
    beta, h = 3.0, 1e-4
    found = joint_gibbs(MODEL, beta, SOURCE)
    for i, e in enumerate(np.eye(5)):
        up, down = (joint_gibbs(MODEL, beta, SOURCE + sign * h * e) for sign in (1, -1))
        assert_allclose((up.log_partition - down.log_partition) / (2 * h), found.mean[i], rtol=1e-7)
        assert_allclose((up.mean - down.mean) / (2 * h), found.covariance[i], rtol=1e-6, atol=1e-8)


def test_mean_is_retrieval_by_the_average_weights():
    # Eq. (D.5) on R^d.
    found = joint_gibbs(MODEL, 3.0, SOURCE)
    assert_allclose(found.mean, MODEL.scale * MODEL.patterns.T @ found.weights + SOURCE / 3.0, rtol=EXACT)


def test_against_quadrature_over_the_query():
    model = HopfieldModel(np.array([[1.0], [-0.4], [0.3]]), scale=1.0)
    beta, J = 2.0, 0.3
    total, first, second = (
        quad(
            lambda x, n=n: x**n * np.sum(np.exp(-beta * x**2 / 2 + J * x + beta * x * model.patterns)),
            -12, 12, epsabs=0, epsrel=1e-12,
        )[0]
        for n in range(3)
    )  # fmt: skip
    found = joint_gibbs(model, beta, [J])
    assert_allclose(math.exp(found.log_partition), total, rtol=1e-10)
    assert_allclose(found.mean, first / total, rtol=1e-10)
    assert_allclose(found.covariance[0, 0], second / total - (first / total) ** 2, rtol=1e-9)


def test_without_source_equal_norms_weigh_equally():
    for beta in (0.1, 1e4):
        assert_allclose(joint_gibbs(MODEL, beta).weights, 1 / 7, rtol=1e-10)


@pytest.mark.parametrize("phi", [0.0, 0.3, 0.9])
def test_effective_action_tends_to_the_convex_envelope(phi):
    # Two patterns ±1: φ²/2 − max z̄ = φ²/2 − |φ|; its convex envelope on [−1, 1] is −1/2.
    model = HopfieldModel(np.array([[1.0], [-1.0]]), scale=1.0)
    beta = 2000.0

    def cumulants(J):
        found = joint_gibbs(model, beta, J)
        return found.log_partition, found.mean, found.covariance

    value = effective_action(cumulants, [phi]).value / beta
    assert abs(value + 0.5) < 3 * math.log(beta) / beta
    assert phi == 0.9 or abs(value - (phi**2 / 2 - phi)) > 0.2


@pytest.mark.parametrize(
    ("m", "beta", "low", "high"),
    [
        (0.3, 2, -1, 1),
        (5, 4, -1, 1),
        (-9, 30, -1, 1),
        (0, 1, -np.inf, 1),
        (0.1, 100, -1, 1),
    ],
)
def test_boundary_term_of_a_gaussian(m, beta, low, high):
    root = math.sqrt(beta)
    exact = truncnorm.mean(root * (low - m), root * (high - m)) / root
    assert_allclose(box_correction([m], beta, low, high), exact, rtol=1e-9)


def test_boundary_term_of_a_wide_gaussian():
    # ⟨y⟩ = c − βc h²/3 + O(β²) for a box of half width h with its centre at c from the mean.
    beta = 1e-9
    exact = -1e-3 + beta * 1e-3 / 3
    assert_allclose(box_correction([1e-3], beta, -1.0, 1.0), exact, rtol=0, atol=1e-15)


def test_boundary_term_fades_with_the_box():
    # Remark D.3: like exp(−β(L − m)²/2) for a Gaussian.
    sizes = np.array([2.0, 3.0, 4.0, 6.0])
    terms = [abs(box_correction([0.5], 4.0, -L, L)[0]) for L in sizes]
    assert terms[-1] < 1e-20
    # −log|B| = β(L − m)²/2 + ½ log(2πβ) up to what the other face leaves.
    assert_allclose(-np.log(terms), 2 * (sizes - 0.5) ** 2 + np.log(8 * math.pi) / 2, rtol=1e-3)


@pytest.mark.parametrize("alpha", [0.5, 1.5, 2.0])
def test_boundary_term_of_a_deformed_ensemble(alpha):
    m, beta, low, high = 0.2, 1.5, -1.0, 1.6

    def density(x):
        bracket = 1 + (alpha - 1) * (beta * x**2 / 2 - beta * m * x)
        return max(bracket, 0.0) ** (alpha / (1 - alpha))

    total, first = (quad(lambda x, n=n: x**n * density(x), low, high, epsrel=1e-11)[0] for n in (0, 1))
    found = box_correction([m], beta, low, high, alpha)
    assert_allclose(found, first / total - m, rtol=QUADRATURE)


def test_boundary_term_in_two_dimensions():
    m = np.array([0.2, -0.1])
    near_one = box_correction(m, 1.5, -1.0, [1.0, 2.0], 1 + 1e-7)
    assert_allclose(near_one, box_correction(m, 1.5, -1.0, [1.0, 2.0]), rtol=1e-5)


def test_bad_input():
    with pytest.raises(InputError, match="give 5 finite numbers"):
        joint_gibbs(MODEL, 1.0, np.ones(4))
    with pytest.raises(InputError, match="the box is empty"):
        box_correction([0.0], 1.0, 1.0, 1.0)
    with pytest.raises(InputError, match="d = 3"):
        box_correction(np.zeros(3), 1.0, -1.0, 1.0, 2.0)
    with pytest.raises(InputError, match="cannot be normalised"):
        box_correction([3.0], 4.0, -9.0, 9.0, 2.0)
