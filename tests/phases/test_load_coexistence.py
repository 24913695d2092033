"""Swaps of free energies in the memory load: against energies at every single M."""

import numpy as np
import pytest

from hopfieldphase.continuation.branches import follow
from hopfieldphase.continuation.load_branches import load_branches
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import sequence
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered
from hopfieldphase.phases.load_coexistence import all_swaps, coexistence_kappa

D = 12


def branches(alpha, name="clustered", beta=60.0):
    counts = np.unique(np.linspace(6, 150, 7).astype(int))
    return load_branches(sequence(name, D, seed=4), np.log(40) / D, np.log(counts) / D, beta, alpha)


def swaps_of_every_m(a, b):
    """M, and the last M before it, at which the sign of the difference of the energies changes."""
    first, last = (round(np.exp(D * kappa)) for kappa in (max(a.lower, b.lower), min(a.upper, b.upper)))
    known, swaps = None, []
    for M in range(first, last + 1):
        one, other = (branch.at(np.log(M) / D).free_energy for branch in (a, b))
        if abs(one - other) > 1e-10 * max(1, abs(one)):
            if known and known[1] != (one < other):
                swaps.append((M, known[0]))
            known = (M, one < other)
    return swaps


@pytest.mark.parametrize(
    ("alpha", "name", "beta"),
    [
        (1.0, "clustered", 150.0),
        (1.5, "clustered", 60.0),
        (1.5, "spherical", 80.0),
        (2.0, "clustered", 60.0),
        (2.0, "spherical", 90.0),
    ],
)
def test_equals_comparison_at_every_m(alpha, name, beta):
    found = branches(alpha, name, beta)[:8]
    every = {(i, j): [] for j in range(len(found)) for i in range(j)}
    for i, j, swap in all_swaps(found):
        every[i, j].append(swap)
    assert sum(map(len, every.values())) > 0
    for (i, j), swaps in every.items():
        expected = swaps_of_every_m(found[i], found[j])
        if alpha > 1:
            assert [(swap.M, swap.M_before) for swap in swaps] == expected
        else:
            assert {(swap.M, swap.M_before) for swap in swaps} <= set(expected)
            assert len(swaps) % 2 == len(expected) % 2
        for swap in swaps:
            assert swap.kappa == np.log(swap.M) / D
            for k, branch in enumerate((found[i], found[j])):
                here, before = (branch.at(np.log(M) / D) for M in (swap.M, swap.M_before))
                assert swap.free_energy[k] == pytest.approx(here.free_energy, abs=1e-10)
                assert swap.free_energy_before[k] == pytest.approx(before.free_energy, abs=1e-10)
                assert swap.overlap_max[k] == pytest.approx(here.overlap_max, abs=1e-9)
        if swaps:
            mirrored = coexistence_kappa(found[j], found[i])
            assert [swap.M for swap in mirrored] == [swap.M for swap in swaps]
            assert mirrored[0].free_energy == swaps[0].free_energy[::-1]


def test_single_patterns_of_equal_energy_never_swap():
    single = [branch for branch in branches(2.0, "spherical", 300.0) if len(branch.pieces[0].support) == 1]
    assert len(single) > 5
    assert all_swaps(single) == ()


def test_bad_input():
    model = HopfieldModel(clustered(10, D), 2.0)
    other = follow(model, model.patterns[0], 90.0)
    (branch, *_) = branches(2.0)
    with pytest.raises(InputError, match="the branches have no common kappa"):
        coexistence_kappa(branch, follow(model, model.patterns[0], 90.0, betas=(80.0, 100.0)))
    with pytest.raises(InputError, match="the branch is one in beta: give branches in kappa"):
        coexistence_kappa(other, other)
