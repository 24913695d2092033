"""The model against its own equations, by independent numerics."""

import math

import numpy as np
import pytest

from hopfieldphase.core import entmax
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel

ALPHAS = [0.6, 1.0, 1.5, 1.8, 2.0, 3.0]

# Fourth-order central differences of step h: error ~ h^4 f^(5), rounding ~ eps/h.
STEP = 1e-3
DIFFERENCE = 1e-6


def fourth_order(function, x, direction):
    """Directional derivative by the five-point rule."""
    f = [function(x + k * STEP * direction) for k in (-2, -1, 1, 2)]
    return (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * STEP)


@pytest.fixture
def patterns():
    rng = np.random.default_rng(7)
    rows = rng.normal(size=(9, 5))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_gradient_and_hessian_are_derivatives_of_the_free_energy(patterns, alpha):
    model = HopfieldModel(patterns, alpha=alpha)
    rng = np.random.default_rng(3)
    beta = 9.0
    checked = 0
    for _ in range(6):
        x, u = rng.normal(size=5) * 0.4, rng.normal(size=5)
        u /= np.linalg.norm(u)
        z = model.overlaps(x)
        if alpha > 1:
            theta = entmax.threshold(z, alpha, beta)
            if np.abs(z - theta).min() < 20 * STEP:  # a kink inside the stencil
                continue
        checked += 1
        slope = fourth_order(lambda y: model.free_energy(y, beta), x, u)
        assert slope == pytest.approx(model.gradient(x, beta) @ u, abs=DIFFERENCE * beta)
        bend = fourth_order(lambda y: model.gradient(y, beta), x, u)
        np.testing.assert_allclose(bend, model.hessian(x, beta) @ u, atol=20 * DIFFERENCE * beta)
    assert checked >= 2


@pytest.mark.parametrize("alpha", [*ALPHAS, math.inf])
def test_leading_axes_broadcast(patterns, alpha):
    model = HopfieldModel(patterns, alpha=alpha, scale=0.7)
    x = np.random.default_rng(0).normal(size=(2, 3, 5))
    for name in ("free_energy", "weights", "gradient", "hessian", "retrieve", "score_jacobian"):
        batch = getattr(model, name)(x, 6.0)
        single = getattr(model, name)(x[1, 2], 6.0)
        np.testing.assert_allclose(batch[1, 2], single, rtol=1e-13, atol=1e-13, err_msg=name)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_score_jacobian_has_the_spectrum_of_the_hessian(patterns, alpha):
    model = HopfieldModel(patterns, alpha=alpha)
    x = 0.3 * model.patterns[2] + 0.1 * model.patterns[4]
    beta = 5.0
    eigenvalues = np.linalg.eigvals(model.score_jacobian(x, beta))
    assert np.abs(eigenvalues.imag).max() <= 1e-12
    radius = np.abs(eigenvalues).max()
    smallest = np.linalg.eigvalsh(model.hessian(x, beta))[0] / beta
    assert radius == pytest.approx(1 - smallest, abs=1e-11)


@pytest.mark.parametrize("alpha", [*ALPHAS, math.inf])
def test_update_never_raises_the_free_energy(patterns, alpha):
    model = HopfieldModel(patterns, alpha=alpha)
    x = np.random.default_rng(5).normal(size=(40, 5))
    energy = model.free_energy(x, 30.0)
    for _ in range(10):
        x = model.retrieve(x, 30.0)
        lower = model.free_energy(x, 30.0)
        assert (lower <= energy + 1e-12 * (1 + np.abs(energy))).all()
        energy = lower


def test_energy_with_the_half_falls_along_one_update():
    model = HopfieldModel(np.eye(2), alpha=1.0, scale=1.0)
    x = np.array([0.6, 0.1])
    updated = model.retrieve(x, 8.0)
    np.testing.assert_allclose(updated, [0.98201379, 0.01798621], atol=1e-8)
    assert model.free_energy(x, 8.0) / 8 == pytest.approx(-0.41726874, abs=1e-8)
    assert model.free_energy(updated, 8.0) / 8 == pytest.approx(-0.49973240, abs=1e-8)


def test_duality_residual_vanishes_at_a_fixed_point_only(patterns):
    model = HopfieldModel(patterns, alpha=1.5)
    x = model.patterns.mean(axis=0)
    assert abs(model.duality_residual(x, 4.0)) > 1e-4
    for _ in range(2000):
        x = model.retrieve(x, 4.0)
    assert abs(model.duality_residual(x, 4.0)) < 1e-12


def test_float32_is_kept(patterns):
    model = HopfieldModel(patterns.astype(np.float32), alpha=1.5)
    x = np.ones(5, dtype=np.float32)
    for name in ("weights", "gradient", "hessian", "retrieve"):
        assert getattr(model, name)(x, 3.0).dtype == np.float32, name


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"patterns": [[1.0, math.nan]]}, "NaN"),
        ({"patterns": [[1.0, 0.0], [0.0, 0.0]]}, "zero"),
        ({"patterns": [1.0, 2.0]}, "M, d"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"scale": -1.0}, "scale"),
    ],
)
def test_bad_input_names_the_argument(arguments, word):
    with pytest.raises(InputError, match=word):
        HopfieldModel(**({"patterns": np.eye(2)} | arguments))


def test_wrong_state_and_beta_are_refused():
    model = HopfieldModel(np.eye(3))
    with pytest.raises(InputError, match="d = 3"):
        model.overlaps(np.ones(2))
    with pytest.raises(InputError, match="beta"):
        model.free_energy(np.ones(3), -1.0)
