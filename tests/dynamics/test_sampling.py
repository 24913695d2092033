"""Samples of exp(−Γ/T) against exact mixtures, quadrature and importance sampling."""

import numpy as np
import pytest

from hopfieldphase import HopfieldModel, patterns
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.sampling import ACCEPTANCE, effective_size, sample

STANDARD_ERRORS = 4.0
# The step size settles at its mean over a noisy search.
ADAPTED = 0.05


def _assert_mean(values, expected):
    """Means of (chains, draws, n) within four standard errors, from at least 10⁴ independent samples."""
    size = effective_size(values)
    assert size.min() >= 1e4
    errors = values.std(axis=(0, 1)) / np.sqrt(size)
    assert (np.abs(values.mean(axis=(0, 1)) - expected) <= STANDARD_ERRORS * errors).all()


def _mixture(model, beta):
    """Mean and covariance of Σ exp(β s²|ξ|²/2) N(s ξ, I/β)."""
    centres = model.scale * model.patterns
    log_weights = beta / 2 * (centres**2).sum(axis=1)
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    mean = weights @ centres
    return mean, np.eye(model.d) / beta + (centres - mean).T @ ((centres - mean) * weights[:, None])


@pytest.mark.parametrize("unequal", [False, True])
def test_softmax_at_temperature_one_is_a_mixture_of_gaussians(unequal):
    stored = patterns.spherical(6, 3, seed=1)
    stored = stored * np.linspace(0.5, 1.2, 6)[:, None] if unequal else stored
    model, beta = HopfieldModel(stored, 1.0, 1.0), 4.0
    thermal = sample(model, beta, draws=40_000, seed=2)
    mean, covariance = _mixture(model, beta)
    assert (thermal.r_hat < 1.01).all()
    _assert_mean(thermal.states, mean)
    centred = thermal.states - mean
    products = centred[..., :, None] * centred[..., None, :]
    _assert_mean(products.reshape(*centred.shape[:2], 9), covariance.ravel())
    np.testing.assert_allclose(
        thermal.covariance, products.mean(axis=(0, 1)), atol=10 * thermal.mean_error.max() ** 2
    )


@pytest.mark.parametrize(
    ("alpha", "temperature"), [(0.7, 1.0), (1.0, 0.5), (1.5, 0.5), (2.0, 0.4), (3.0, 1.0)]
)
def test_any_alpha_and_temperature_against_quadrature(alpha, temperature):
    model, beta = HopfieldModel(np.array([[1.0, 0.0], [-0.3, 0.8], [0.2, -0.9]]), alpha, 1.0), 3.0
    line = np.linspace(-5, 5, 501)
    x, y = np.meshgrid(line, line)
    level = model.free_energy(np.stack([x, y], axis=-1), beta) / temperature
    density = np.exp(level.min() - level)
    density /= density.sum()
    expected = [(moment * density).sum() for moment in (x, y, x * x, x * y, y * y)]
    states = sample(model, beta, temperature, draws=40_000, seed=4).states
    x, y = states[..., 0], states[..., 1]
    _assert_mean(np.stack([x, y, x * x, x * y, y * y], axis=-1), expected)


def test_sparse_attention_in_high_dimension_against_importance_sampling():
    # softmax's mixture at T = 1 is drawn exactly, and reweighted to another alpha
    model = HopfieldModel(patterns.spherical(20, 12, seed=3), 1.5, 1.0)
    beta = 2.0
    soft = HopfieldModel(model.patterns, 1.0, 1.0)
    rng = np.random.default_rng(0)
    drawn = rng.choice(model.patterns, 200_000) + rng.standard_normal((200_000, 12)) / np.sqrt(beta)
    log_ratio = soft.free_energy(drawn, beta) - model.free_energy(drawn, beta)
    ratio = np.exp(log_ratio - log_ratio.max())
    ratio /= ratio.sum()
    independent = ratio @ drawn
    error = np.sqrt((ratio**2) @ (drawn - independent) ** 2)
    assert 1 / (ratio**2).sum() > 1e4  # the reweighting keeps enough samples
    thermal = sample(model, beta, draws=20_000, seed=1)
    assert thermal.ess.min() >= 1e4
    both = np.hypot(error, thermal.mean_error)
    assert (np.abs(thermal.mean - independent) <= STANDARD_ERRORS * both).all()


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_step_size_is_adapted(alpha):
    model = HopfieldModel(patterns.clustered(40, 32, seed=0), alpha)
    thermal = sample(model, 100.0, 0.5, draws=2000)
    np.testing.assert_allclose(thermal.acceptance, ACCEPTANCE, atol=ADAPTED)


def test_low_temperature_is_a_gaussian_around_the_minimum():
    # Exactly so for a stored pattern at α = 2 whose facets lie far away: covariance T/β.
    model, beta, temperature = HopfieldModel(patterns.two_keys(-1.0, d=3), 2.0, 1.0), 8.0, 1e-3
    thermal = sample(model, beta, temperature, draws=20_000, start=model.patterns[0])
    _assert_mean(thermal.states, model.patterns[0])
    centred = thermal.states - model.patterns[0]
    _assert_mean(centred**2, temperature / beta)


def test_samples_depend_on_the_seed_alone():
    model = HopfieldModel(patterns.clustered(20, 16, seed=0), 1.5)
    one = sample(model, 60.0, draws=50, burn_in=20, chains=5, seed=3, threads=1)
    two = sample(model, 60.0, draws=50, burn_in=20, chains=5, seed=3, threads=3)
    other = sample(model, 60.0, draws=50, burn_in=20, chains=5, seed=4)
    np.testing.assert_array_equal(one.states, two.states)
    np.testing.assert_array_equal(one.free_energy, two.free_energy)
    assert not np.isclose(one.states, other.states).any()
    np.testing.assert_allclose(one.free_energy, model.free_energy(one.states, 60.0), atol=1e-12)
    assert len({chain.tobytes() for chain in one.states}) == 5


def test_chains_in_two_wells_are_seen():
    model = HopfieldModel(patterns.two_keys(-1.0, d=2), 2.0, 1.0)
    stuck = sample(model, 8.0, 0.02, draws=500, chains=8)
    assert stuck.r_hat.max() > 1.5


def test_bad_input():
    model = HopfieldModel(patterns.two_keys(0.0, d=2), 2.0, 1.0)
    for options, text in (
        ({"beta": 0.0}, "beta"),
        ({"temperature": 0.0}, "temperature = 0.0"),
        ({"draws": 3}, "draws = 3"),
        ({"thin": 0}, "thin = 0"),
        ({"chains": 0}, "chains = 0"),
        ({"burn_in": -1}, "burn_in = -1"),
        ({"seed": -1}, "seed = -1"),
        ({"start": np.zeros(3)}, r"shape \(3,\)"),
    ):
        with pytest.raises(InputError, match=text):
            sample(model, **{"beta": 2.0, **options})
