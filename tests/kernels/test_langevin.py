"""Compiled Langevin dynamics against plain NumPy with the same random numbers, and against exact laws."""

import numpy as np
import pytest

from hopfieldphase import HopfieldModel, patterns
from hopfieldphase.kernels.langevin import first_passage, metropolis_chain
from hopfieldphase.solvers.options import kernel_problem

ROUNDING = 1e-11  # the kernels sum in another order than NumPy


def _generator(seed=5):
    return np.random.Generator(np.random.PCG64(seed))


@pytest.fixture(params=[0.7, 1.0, 1.5, 2.0, 2.5])
def model(request):
    return HopfieldModel(patterns.spherical(6, 3, seed=1), request.param, 1.0)


def _plain_chain(model, beta, temperature, x, h, draws):
    rng = _generator()
    states, chances = [], []
    for _ in range(draws):
        forward = x - h * model.gradient(x, beta) / temperature
        trial = forward + np.sqrt(2 * h) * np.array([rng.standard_normal() for _ in x])
        back = trial - h * model.gradient(trial, beta) / temperature
        log_ratio = (model.free_energy(x, beta) - model.free_energy(trial, beta)) / temperature
        log_ratio += (((trial - forward) ** 2).sum() - ((x - back) ** 2).sum()) / (4 * h)
        chances.append(np.exp(min(0.0, log_ratio)))
        if rng.random() < chances[-1]:
            x = trial
        states.append(x)
    return np.array(states), np.mean(chances)


def test_chain_is_the_plain_algorithm(model):
    beta, temperature, h = 4.0, 0.7, 0.05
    x = np.array([0.3, -0.2, 0.5])
    states, energies = np.empty((60, 3)), np.empty(60)
    step, acceptance = metropolis_chain(
        _generator(), kernel_problem(model), beta, temperature, x.copy(), h, 0.574, 0, 1, states, energies
    )
    expected, chance = _plain_chain(model, beta, temperature, x, h, 60)
    np.testing.assert_allclose(states, expected, atol=ROUNDING)
    np.testing.assert_allclose(energies, model.free_energy(states, beta), atol=ROUNDING)
    assert step == pytest.approx(h)
    assert acceptance == pytest.approx(chance)


def test_thinning_keeps_every_nth_state(model):
    problem, x = kernel_problem(model), np.zeros(3)
    every, third = np.empty((30, 3)), np.empty((10, 3))
    metropolis_chain(_generator(), problem, 4.0, 1.0, x.copy(), 0.05, 0.574, 7, 1, every, np.empty(30))
    metropolis_chain(_generator(), problem, 4.0, 1.0, x.copy(), 0.05, 0.574, 7, 3, third, np.empty(10))
    np.testing.assert_array_equal(third, every[2::3])


def test_no_bit_depends_on_where_arrays_lie(model):
    problem, kept, found = kernel_problem(model), [], set()
    rng = np.random.default_rng(0)
    for _ in range(100):
        kept.append(np.empty(int(rng.integers(1, 50))))  # so that the heap looks different every time
        states, energies = np.empty((60, 3)), np.empty(60)
        metropolis_chain(_generator(), problem, 4.0, 1.0, np.zeros(3), 0.05, 0.574, 5, 1, states, energies)
        found.add(states.tobytes() + energies.tobytes())
    assert len(found) == 1


def test_passage_is_the_plain_scheme(model):
    beta, temperature, step = 4.0, 0.3, 0.03
    normals, offsets = np.array([[1.0, 0.0, 0.0], [-0.6, 0.8, 0.0]]), np.array([0.55, 0.5])
    start = np.array([-0.2, -0.1, 0.1])
    steps, way = first_passage(
        _generator(), kernel_problem(model), beta, temperature, start.copy(), step, normals, offsets, 10_000
    )
    rng, x, n = _generator(), start, 0
    while True:
        n += 1
        noise = np.sqrt(2 * temperature * step) * np.array([rng.standard_normal() for _ in x])
        drift = -model.gradient(x, beta)
        end = -model.gradient(x + drift * step + noise, beta)
        x = x + (drift + end) / 2 * step + noise
        if (normals @ x > offsets).any():
            break
    assert (steps, way) == (n, int(np.argmax(normals @ x > offsets)))
    assert 1 < steps < 10_000


def test_no_passage_within_the_limit(model):
    found = first_passage(
        _generator(), kernel_problem(model), 4.0, 0.1, np.zeros(3), 0.01, np.eye(3), np.full(3, 1e3), 50
    )
    assert found == (50, -1)
