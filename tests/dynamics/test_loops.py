"""The loop expansion: exact cases, measured orders and coefficients in one and two dimensions, bad input."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.loops import (
    field_action,
    fitted_order,
    grid_cumulants,
    one_loop,
    reducible_two_loop,
    two_loop,
)

BETAS = (100.0, 200.0, 400.0, 800.0, 1600.0)
ORDER = 0.1
"""What a fitted exponent may be off over these β: the next order is 1/β."""


class Well:
    """H(x) = |x|²/2 + c₁ x₁³ + c₂ x₁² x₂ + (x₁⁴ + x₂⁴)/4 + x₁²x₂²/3, the second coordinate where d = 2."""

    def __init__(self, d, c1=0.1, c2=0.2):
        self.d, self.c1, self.c2 = d, c1, c2

    def __call__(self, points):
        x, y = points[:, 0], points[:, 1] if self.d == 2 else 0.0
        quartic = (x**4 + y**4) / 4 + x**2 * y**2 / 3
        return (x**2 + y**2) / 2 + self.c1 * x**3 + self.c2 * x**2 * y + quartic

    def derivatives(self, phi):
        """Gradient, Hessian, third and fourth derivatives."""
        x, y = phi[0], phi[1] if self.d == 2 else 0.0
        c1, c2 = self.c1, self.c2
        gradient = np.array([x + 3 * c1 * x**2 + 2 * c2 * x * y + x**3 + 2 * x * y**2 / 3,
                             y + c2 * x**2 + y**3 + 2 * x**2 * y / 3])  # fmt: skip
        mixed = 2 * c2 * x + 4 * x * y / 3
        hessian = np.array([[1 + 6 * c1 * x + 2 * c2 * y + 3 * x**2 + 2 * y**2 / 3, mixed],
                            [mixed, 1 + 3 * y**2 + 2 * x**2 / 3]])  # fmt: skip
        third, fourth = np.zeros((2,) * 3), np.zeros((2,) * 4)
        by_count = {0: 6 * c1 + 6 * x, 1: 2 * c2 + 4 * y / 3, 2: 4 * x / 3, 3: 6 * y}
        for index in np.ndindex(2, 2, 2):
            third[index] = by_count[sum(index)]
        for index in np.ndindex(2, 2, 2, 2):
            fourth[index] = {0: 6.0, 2: 4 / 3, 4: 6.0}.get(sum(index), 0.0)
        d = slice(0, self.d)
        return gradient[d], hessian[d, d], third[d, d, d], fourth[d, d, d, d]


CASES = [(Well(1), np.array([0.4])), (Well(2), np.array([0.3, -0.2]))]


@pytest.fixture(scope="module", params=CASES, ids=["d1", "d2"])
def measured(request):
    well, phi = request.param
    gradient, hessian, third, fourth = well.derivatives(phi)
    energy = float(well(phi[None])[0])
    actions = [field_action(well, beta, phi, gradient, hessian) for beta in BETAS]
    remainders = [
        action.value - one_loop(beta, energy, hessian) for action, beta in zip(actions, BETAS, strict=True)
    ]
    return well, phi, (energy, gradient, hessian, third, fourth), actions, np.array(remainders)


def test_remainder_of_one_loop_is_of_first_order(measured):
    assert abs(fitted_order(BETAS, measured[-1]) - 1) < ORDER


def test_two_loop_coefficient_and_its_remainder(measured):
    _, _, (_, _, hessian, third, fourth), _, remainders = measured
    coefficient = two_loop(hessian, third, fourth)
    scaled = remainders * np.array(BETAS)
    # Linear extrapolation in 1/β of the last two values: errors of second order.
    assert_allclose(2 * scaled[-1] - scaled[-2], coefficient, rtol=1e-4)
    assert abs(fitted_order(BETAS, remainders - coefficient / np.array(BETAS)) - 2) < ORDER


def test_a_fixed_source_adds_the_reducible_diagram(measured):
    # −log ∫ exp(−βH(x) + β∇H(φ)·(x − φ)) dx, what the proof of Proposition D.2 expands.
    well, phi, (energy, gradient, hessian, third, fourth), _, _ = measured
    scaled = []
    for beta in BETAS[-2:]:
        width = 12 * np.sqrt(np.diag(np.linalg.inv(beta * hessian)))
        log_value = grid_cumulants(well, beta, phi, width)(beta * gradient)[0]
        scaled.append(beta * (beta * float(gradient @ phi) - log_value - one_loop(beta, energy, hessian)))
    expected = two_loop(hessian, third, fourth) + reducible_two_loop(hessian, third)
    assert_allclose(2 * scaled[1] - scaled[0], expected, rtol=1e-4)


def test_source_tends_to_the_gradient(measured):
    _, _, (_, gradient, hessian, _, _), actions, _ = measured
    errors = [
        np.abs(action.source / beta - gradient).max() for action, beta in zip(actions, BETAS, strict=True)
    ]
    assert abs(fitted_order(BETAS, errors) - 1) < ORDER
    assert_allclose(actions[-1].hessian / BETAS[-1], hessian, rtol=1e-2)


@pytest.mark.parametrize("d", [1, 2])
def test_gaussian_has_one_loop_only(d):
    phi, beta = np.full(d, 0.7), 5.0
    found = field_action(lambda x: np.sum(x**2, axis=1) / 2, beta, phi, phi, np.eye(d))
    assert_allclose(found.value, one_loop(beta, d * 0.7**2 / 2, np.eye(d)), rtol=1e-12)
    assert_allclose(found.source, beta * phi, rtol=1e-10)
    assert_allclose(found.hessian, beta * np.eye(d), rtol=1e-10, atol=1e-10)


def test_laplace_approximation():
    # Proposition D.3 at J = 0: W/β = −min H − (d/2β) log β + O(1/β).
    for well, _ in CASES:
        d = well.d
        logs = [
            grid_cumulants(well, beta, np.zeros(d), np.full(d, 12 / math.sqrt(beta)))(np.zeros(d))[0]
            for beta in BETAS
        ]
        slope = np.diff(logs) / np.diff(np.log(BETAS))
        assert_allclose(slope[-1], -d / 2, atol=1e-2)
        rest = np.array(logs) - d / 2 * np.log(2 * math.pi / np.array(BETAS))
        assert abs(fitted_order(BETAS, rest) - 1) < ORDER


def test_bad_input():
    with pytest.raises(InputError, match="positive definite"):
        one_loop(1.0, 0.0, [[-1.0]])
    with pytest.raises(InputError, match="d = 3"):
        grid_cumulants(lambda x: x[:, 0], 1.0, np.zeros(3), np.ones(3))
    with pytest.raises(InputError, match="faces"):
        grid_cumulants(lambda x: x[:, 0] ** 2, 1.0, [0.0], [1.0])(np.zeros(1))
