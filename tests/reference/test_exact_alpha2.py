"""Every stable α = 2 state of small systems: weights, Γ, both ends of its piece, what ends it (40 digits)."""

import math

import numpy as np
import pytest

from hopfieldphase.continuation.active_set import trace
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.enumeration import enumerate_minima

# Supports of at most six patterns: events are zeros of sums of five poles, good to a few rounding errors.
RELATIVE = 1e-12


@pytest.fixture(scope="module", params=range(4))
def case(request, reference_values):
    return reference_values["exact_alpha2"][request.param]


@pytest.fixture(scope="module")
def model(case):
    a, b, c = case["pattern_parameters"]
    m, i = np.arange(1, case["M"] + 1)[:, None], np.arange(1, case["d"] + 1)[None, :]
    rows = np.sin(a * m * i + b * m + c * i**2 + 1)
    return HopfieldModel(rows / np.linalg.norm(rows, axis=1, keepdims=True), alpha=2.0)


def test_pieces(case, model):
    for expected in case["stable_states"]:
        branch = trace(model, expected["support"], case["beta"])
        (piece,) = [piece for piece in branch.pieces if piece.contains(case["beta"])]
        state = branch.at(case["beta"])
        assert piece.support == state.support == tuple(expected["support"])
        np.testing.assert_allclose(state.weights[expected["support"]], expected["weights"], atol=1e-12)
        assert state.free_energy == pytest.approx(expected["free_energy"], rel=RELATIVE)
        assert piece.lower == pytest.approx(expected["beta_min"], rel=RELATIVE)
        assert piece.lower_event.label == expected["beta_min_event"]
        assert piece.upper_event.label == expected["beta_max_event"]
        if expected["beta_max"] is None:
            assert math.isinf(piece.upper)
        else:
            assert piece.upper == pytest.approx(expected["beta_max"], rel=RELATIVE)


def test_enumeration_finds_exactly_these(case, model):
    found = enumerate_minima(model, case["beta"])
    searched = {state.support for state in found.minima if len(state.support) <= case["max_support_searched"]}
    assert searched == {tuple(state["support"]) for state in case["stable_states"]}
    lowest = min(state["free_energy"] for state in case["stable_states"])
    assert found.equilibrium_energy == pytest.approx(lowest, rel=RELATIVE)
    assert found.certifies(found.minima[0])
    assert found.certifies(found.minima[-1]) == (
        found.minima[-1].free_energy <= found.equilibrium_energy + 1e-12
    )


def test_every_case_is_tested(reference_values):
    assert len(reference_values["exact_alpha2"]) == 4
