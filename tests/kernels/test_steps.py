"""Arrays that relaxations work in."""

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.kernels.steps import apart

REPEATS = 200


def test_scores_and_weights_are_never_close_neighbours():
    for M in (1, 6, 100):
        z, p = apart(M)
        assert z.shape == p.shape == (M,)
        assert abs(p.ctypes.data - (z.ctypes.data + z.nbytes)) >= 64 * z.itemsize


@pytest.mark.parametrize(("alpha", "M"), [(1.0, 6), (1.0, 8), (1.5, 6), (2.0, 8)])
def test_a_state_has_the_same_bits_wherever_its_arrays_lie(alpha, M):
    model = hp.HopfieldModel(hp.patterns.spherical(M, 8, seed=3), alpha=alpha)
    sizes = np.random.default_rng(0).integers(1, 3000, REPEATS)
    kept, found = [], set()
    for size in sizes:
        kept.append(np.empty(size))  # moves what is allocated next
        state = hp.relax(model, model.patterns[0], beta=30.0)
        found.add((state.x.tobytes(), state.free_energy))
    assert len(found) == 1
