"""Free energy, gradient, Hessian spectrum and support at the reference points (40-digit values)."""

import numpy as np
import pytest

from hopfieldphase.core import entmax
from hopfieldphase.model import HopfieldModel

# The reference values are doubles; M and d are below ten, so rounding stays below 1e-11 relative.
RELATIVE = 1e-11


def reference_patterns(M, d, parameters):
    """xi[m][i] = sin(a m i + b m + c i² + 1), m = 1..M, i = 1..d, rows of unit norm."""
    a, b, c = parameters
    m, i = np.arange(1, M + 1)[:, None], np.arange(1, d + 1)[None, :]
    rows = np.sin(a * m * i + b * m + c * i**2 + 1)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("n", range(8))
def test_reference_point(reference_values, n):
    point = reference_values["model_points"][n]
    patterns = reference_patterns(point["M"], point["d"], point["pattern_parameters"])
    model = HopfieldModel(patterns, alpha=float(point["alpha"]))
    x, beta = np.array(point["x"]), point["beta"]
    assert model.free_energy(x, beta) == pytest.approx(point["free_energy"], rel=RELATIVE)
    np.testing.assert_allclose(model.weights(x, beta), point["weights"], atol=1e-12)
    np.testing.assert_allclose(model.gradient(x, beta), point["gradient"], rtol=RELATIVE, atol=1e-12)
    spectrum = np.linalg.eigvalsh(model.hessian(x, beta))
    size = np.abs(spectrum).max()
    np.testing.assert_allclose(spectrum, point["hessian_eigenvalues"], atol=RELATIVE * size)
    if point["theta"] is not None:
        theta = entmax.threshold(model.overlaps(x), model.alpha, beta)
        assert theta == pytest.approx(point["theta"], rel=1e-12)
    assert np.count_nonzero(model.weights(x, beta)) == point["support_size"]


def test_every_reference_point_is_tested(reference_values):
    assert len(reference_values["model_points"]) == 8
