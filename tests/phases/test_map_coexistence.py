"""Equal free energies of fixed points of attention maps."""

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.continuation.map_branches import map_branches
from hopfieldphase.core.attention import Exponential, LogElu, SparsemaxK
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.coexistence import all_coexistence
from hopfieldphase.phases.map_coexistence import map_coexistence

LOCATED = 1e-9
"""Crossings of free energies of order 10, with slopes that differ by 1e-3 at least."""

PATTERNS = hp.patterns.clustered(30, 16, seed=1)
GRID = np.arange(40.0, 401.0, 4.0)


def test_softmax_coexists_where_its_free_energy_says():
    family = hp.branches(HopfieldModel(PATTERNS, 1.0), 150.0, GRID)
    expected = sorted((p.parameter, p.state.free_energy) for _, _, p in all_coexistence(family))
    found = map_coexistence(map_branches(HopfieldModel(PATTERNS, attention=Exponential()), 150.0, GRID))
    assert len(expected) == 5
    np.testing.assert_allclose([(p.beta, p.free_energy) for p in found], expected, rtol=LOCATED)
    assert any(p.is_transition for p in found)


@pytest.mark.slow
def test_both_states_are_fixed_points_of_equal_energy():
    model = HopfieldModel(PATTERNS, attention=SparsemaxK(3))
    found = map_coexistence(map_branches(model, 100.0, np.arange(20.0, 200.0, 5.0), top=5))
    for point in found:
        energies = model.free_energy(point.states, point.beta)
        assert abs(energies[0] - energies[1]) < LOCATED
        assert np.max(model.gradient_residual(point.states, point.beta)) < LOCATED
        assert np.max(model.spectral_radius(point.states, point.beta)) < 1


def test_without_a_free_energy_there_is_none():
    found = map_branches(HopfieldModel(np.eye(4), attention=LogElu()), 20.0, (5.0, 50.0))
    with pytest.raises(InputError, match="log-elu attention has no free energy"):
        map_coexistence(found)


def test_functions_of_the_family_refuse_curves_of_maps():
    found = map_branches(HopfieldModel(np.eye(4), attention=LogElu()), 20.0, (5.0, 50.0))
    with pytest.raises(InputError, match="no branch of the Tsallis family"):
        hp.coexistence(found[0], found[0])
    with pytest.raises(InputError, match="no branch of the Tsallis family"):
        hp.equilibrium(found)
    with pytest.raises(InputError, match="no branch of the Tsallis family"):
        hp.spinodals(found[0])
