"""Exhaustive supports at α = 2: against the discovery, a dense scan, and the domain."""

import numpy as np
import pytest

from hopfieldphase.continuation.discovery import discover
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.enumeration import enumerate_minima


def random_model(seed, M, d):
    rows = np.random.default_rng(seed).normal(size=(M, d))
    return HopfieldModel(rows / np.linalg.norm(rows, axis=1, keepdims=True), alpha=2.0, scale=1.0)


@pytest.mark.parametrize("seed", range(6))
def test_discovery_finds_all_of_them(seed):
    model = random_model(seed, 12, 6)
    for beta in (0.5, 2.0, 5.0):
        listed = {state.support for state in enumerate_minima(model, beta).minima}
        assert {state.support for state in discover(model, beta).states} == listed


def test_equilibrium_energy_is_the_minimum_over_the_simplex():
    """Three patterns: a triangular grid of weights of spacing 1/400, good to the square of it."""
    model = random_model(4, 3, 2)
    grid = np.array([(i, j, 400 - i - j) for i in range(401) for j in range(401 - i)]) / 400
    gram = np.asarray(model.gram)
    for beta in (0.5, 1.5, 4.0, 9.0):
        energies = (grid**2).sum(axis=1) - 1 - beta / 2 * np.einsum("ni,ij,nj->n", grid, gram, grid)
        found = enumerate_minima(model, beta)
        assert found.equilibrium_energy <= energies.min() + 1e-12
        assert found.equilibrium_energy == pytest.approx(energies.min(), abs=beta / 400**2)
        assert found.certifies(found.minima[0])


def test_every_support_is_convex_at_low_beta():
    found = enumerate_minima(random_model(1, 10, 10), 0.05)
    assert found.n_supports == 2**10 - 1
    assert [state.support for state in found.minima] == [tuple(range(10))]


def test_bad_input():
    with pytest.raises(InputError, match=r"alpha = 1\.5"):
        enumerate_minima(HopfieldModel(np.eye(3), alpha=1.5), 1.0)
    with pytest.raises(InputError, match="M = 17"):
        enumerate_minima(random_model(0, 17, 4), 1.0)
