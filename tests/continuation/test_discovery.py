"""Starts, relaxation, de-duplication and ranking of the minima at one β."""

import numpy as np
import pytest

from hopfieldphase.continuation.discovery import discover, start_states, verified_minimum
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered, equicorrelated


@pytest.fixture(scope="module")
def model():
    return HopfieldModel(clustered(24, 16, clusters=3, seed=1), alpha=2.0)


def test_starts_cover_every_kind(model):
    names = [name for name, _ in start_states(model, 60.0, beta_low=5.0, states=[np.zeros(16)])]
    kinds = {name.split(":")[0] for name in names}
    assert kinds == {"pattern", "pair", "cluster", "mixture", "low-beta", "state"}
    assert names[:24] == [f"pattern:{mu}" for mu in range(24)]
    assert sum(name.startswith("cluster") for name in names) == 23


def test_the_top_cluster_is_the_mean_of_all_patterns(model):
    starts = dict(start_states(model, 60.0, beta_low=5.0))
    np.testing.assert_allclose(starts["cluster:22"], model.patterns.mean(axis=0) / 4, atol=1e-14)


def test_clusters_are_recovered():
    """Unit noise: in-cluster cosine 0.96, so three tree nodes are the three cluster means."""
    patterns = clustered(30, 40, clusters=3, noise="unit", seed=3)
    starts = dict(start_states(HopfieldModel(patterns), 50.0, beta_low=5.0))
    nodes = np.array([x for name, x in starts.items() if name.startswith("cluster")])
    for c in range(3):
        centre = patterns[c::3].mean(axis=0) / np.sqrt(40)
        assert np.linalg.norm(nodes - centre, axis=1).min() < 1e-12


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 200.0), (1.5, 60.0), (2.0, 60.0), (3.0, 40.0)])
def test_states_are_distinct_ranked_minima(model, alpha, beta):
    found = discover(HopfieldModel(model.patterns, alpha=alpha), beta, beta_low=5.0)
    assert len(found.states) == len(found.origins) > 1
    for state in found.states:
        x = state.x
        current = HopfieldModel(model.patterns, alpha=alpha)
        assert current.gradient_residual(x, beta) < 1e-11
        assert np.linalg.eigvalsh(current.hessian(x, beta))[0] > 0
        assert state.free_energy == pytest.approx(float(current.free_energy(x, beta)), rel=1e-12)
    overlaps = np.array([state.overlap_max for state in found.states])
    assert (np.diff(overlaps) <= 1e-9 * overlaps[0]).all()
    distances = [np.linalg.norm(a.x - b.x) for i, a in enumerate(found.states) for b in found.states[:i]]
    assert min(distances) > 1e-6 * model.state_scale


def test_ties_in_overlap_are_ordered_by_energy_then_start():
    """Single-pattern states of unit vectors tie in z_max and Γ: the order is that of the patterns."""
    found = discover(HopfieldModel(equicorrelated(6, 6), alpha=2.0, scale=1.0), 8.0)
    assert [state.support for state in found.states] == [(mu,) for mu in range(6)]
    assert found.origins == tuple(f"pattern:{mu}" for mu in range(6))
    rows = np.eye(4)
    rows[3] *= 1.5
    found = discover(HopfieldModel(rows, alpha=2.0, scale=1.0), 8.0)
    assert [state.support for state in found.states] == [(3,), (0,), (1,), (2,)]


def test_user_states_are_used():
    """Patterns 0 and 1 alone at α = 2 end in the pair; a start there is named after the user's state."""
    model = HopfieldModel(equicorrelated(2, 2), alpha=2.0, scale=1.0)
    assert discover(model, 1.0, states=[np.array([0.3, 0.4])]).n_starts == (discover(model, 1.0).n_starts + 1)


def test_same_seed_same_discovery(model):
    first, second = (discover(model, 60.0, beta_low=5.0, seed=7) for _ in range(2))
    assert first.origins == second.origins
    for a, b in zip(first.states, second.states, strict=True):
        np.testing.assert_array_equal(a.x, b.x)


def test_bad_input(model):
    with pytest.raises(InputError, match="beta_low = 70"):
        discover(model, 60.0, beta_low=70.0)
    with pytest.raises(InputError, match="no strict minimum"):
        # every state is stationary at K = 2
        verified_minimum(HopfieldModel(equicorrelated(3, 3), alpha=2.0, scale=1.0), np.full(3, 1 / 3), 2.0)
