"""Remark C.4: the image of descent in the space of sources against the gradient flow of Γ."""

import numpy as np
import pytest

from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.deformed import DeformedEnsemble
from hopfieldphase.dynamics.deformed_flows import dual_flows

FLOW = 1e-6  # integrated with 1e-8 relative to the state at every step


def test_the_two_flows_of_a_gaussian_are_known():
    # W = J²/(2β): the image is φ(0) e^{−t/β}, the gradient flow of Γ = βφ²/2 is φ(0) e^{−βt}.
    beta, t = 2.0, np.linspace(0, 2, 9)
    flows = dual_flows(DeformedEnsemble(lambda x: x**2 / 2, (-8, 8), beta), 1.0, t)
    np.testing.assert_allclose(flows.image[:, 0], np.exp(-t / beta) / beta, atol=FLOW)
    np.testing.assert_allclose(flows.gradient_flow[:, 0], np.exp(-beta * t) / beta, atol=FLOW)
    assert flows.residual < FLOW


@pytest.mark.slow
def test_the_image_of_the_descent_is_no_gradient_flow_and_ends_elsewhere():
    def wells(x):
        return (x**2 - 1) ** 2 / 2 + 0.4 * x

    ensemble = DeformedEnsemble(wells, (-3, 3), 1.3)
    flows = dual_flows(ensemble, 2.0, np.linspace(0, 6, 13))
    assert flows.residual < FLOW
    assert flows.separation > 0.6
    # Descent of W ends at φ = 0, the flow of Γ at J = 0, where φ is the mean without source.
    assert abs(flows.image[-1, 0]) < 0.02
    assert flows.gradient_flow[-1, 0] == pytest.approx(ensemble.response(0.0).value, abs=0.02)
    assert ensemble.response(0.0).value == pytest.approx(-0.4261, abs=1e-4)


@pytest.mark.slow
def test_on_a_rectangle_the_two_flows_take_different_paths():
    def saddle(x):
        return x[:, 0] ** 2 / 2 + x[:, 1] ** 4 / 4 + x[:, 0] * x[:, 1] / 2 + 0.3 * x[:, 1]

    flows = dual_flows(DeformedEnsemble(saddle, ((-3, 3), (-2, 2)), 1.3), [2.0, 1.0], np.linspace(0, 3, 31))
    assert flows.residual < FLOW
    # No point of one path comes near the middle of the other.
    distance = np.linalg.norm(flows.image[10] - flows.gradient_flow, axis=1).min()
    assert distance > 0.05


def test_times_start_at_zero():
    with pytest.raises(InputError, match="do not ascend from 0"):
        dual_flows(DeformedEnsemble(lambda x: x**2, (-3, 3), 1.0), 1.0, [0.5, 1.0])
