"""Barriers against closed forms, and saddles that connect what they should."""

import numpy as np
import pytest

from hopfieldphase import HopfieldModel, closed_forms, patterns, relax
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.escape_systems import facet_saddle
from hopfieldphase.phases.barriers import barrier
from hopfieldphase.phases.saddles import SaddleStatus, find_saddle, one_sided_hessians, tied_patterns

# Free energies are of order one and right to some rounding errors; saddles are stationary to second order.
ENERGY = 1e-13


SQUARE = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])


def _triangle(cosine):
    """Two orthogonal unit patterns and a third one with one cosine to both."""
    return np.linalg.cholesky(np.array([[1, 0, cosine], [0, 1, cosine], [cosine, cosine, 1]]))


@pytest.fixture(scope="module")
def on_facet():
    """A pair whose saddle lies where a third pattern enters (α = 2), with its barrier."""
    mean = 0.4
    half = np.sqrt(1 - mean**2)
    model = HopfieldModel(np.array([[half, mean], [-half, mean], [0, -mean]]), 2.0, 1.0)
    beta = 1 / (2 * mean**2)
    return barrier(model, model.patterns[0], model.patterns[1], beta)


@pytest.mark.parametrize("M", [3, 10, 100])
@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.5])
def test_potts_coexistence(M, alpha):
    coupling = closed_forms.potts_coexistence(M, alpha)
    model = HopfieldModel(patterns.equicorrelated(M, M, cosine=0.0), alpha, 1.0)
    retrieval = relax(model, model.patterns[0], coupling).x
    found = barrier(model, model.patterns.mean(axis=0), retrieval, coupling)
    expected = closed_forms.potts_barrier(M, alpha)
    assert found.status is SaddleStatus.VERIFIED
    assert found.height == pytest.approx(expected, abs=ENERGY)
    assert found.height_back == pytest.approx(expected, abs=ENERGY)


@pytest.mark.parametrize(("M", "height"), [(3, 0.00112925), (10, 0.0713807), (100, 0.488659)])
def test_softmax_values(M, height):
    coupling = closed_forms.potts_coexistence(M, 1.0)
    model = HopfieldModel(patterns.equicorrelated(M, M, cosine=0.0), 1.0, 1.0)
    retrieval = relax(model, model.patterns[0], coupling).x
    found = barrier(model, model.patterns.mean(axis=0), retrieval, coupling)
    assert found.height == pytest.approx(height, rel=5e-6)  # the values have six digits


@pytest.mark.parametrize(("alpha", "height"), [(2.0, 1.0), (1.5, 0.914213562373095), (3.0, 1.125)])
def test_two_stored_patterns(alpha, height):
    model = HopfieldModel(patterns.two_keys(0.0, d=5), alpha, 1.0)
    found = barrier(model, model.patterns[0], model.patterns[1], 6.0)
    assert found.height == pytest.approx(closed_forms.pair_barrier(6.0, alpha), abs=ENERGY)
    assert found.height == pytest.approx(height, abs=ENERGY)
    np.testing.assert_allclose(model.weights(found.saddle.x, 6.0), 0.5, atol=1e-12)
    assert len(found.saddles) == 1


def test_a_third_pattern_makes_the_barrier_lower():
    model = HopfieldModel(_triangle(0.66), 2.0, 1.0)
    found = barrier(model, model.patterns[0], model.patterns[1], 6.0)
    # over the two edges to the third pattern, K = 6 (1 − 0.66)
    assert found.height == pytest.approx(6 * 0.34 / 4 - 0.5, abs=ENERGY)
    assert [list(minimum.support) for minimum in found.minima] == [[0], [2], [1]]
    assert len(found.saddles) == 2


def test_path_is_one_polygon_through_all_minima_and_saddles():
    model = HopfieldModel(_triangle(0.66), 2.0, 1.0)
    found = barrier(model, model.patterns[0], model.patterns[1], 6.0)
    np.testing.assert_array_equal(found.path[0], found.minima[0].x)
    np.testing.assert_array_equal(found.path[-1], found.minima[-1].x)
    for state in (*(m.x for m in found.minima), *(s.x for s in found.saddles)):
        assert np.linalg.norm(found.path - state, axis=1).min() < 1e-12
    assert (np.diff(found.arclength) > 0).all()
    np.testing.assert_allclose(found.energies, model.free_energy(found.path, 6.0))
    assert found.energies.max() == pytest.approx(found.saddle.free_energy, abs=ENERGY)


def test_height_does_not_depend_on_images_or_direction():
    coupling = closed_forms.potts_coexistence(10, 1.0)
    model = HopfieldModel(patterns.equicorrelated(10, 10, cosine=0.2), 1.0, 1.0)
    beta = coupling / 0.8
    uniform, retrieval = model.patterns.mean(axis=0), relax(model, model.patterns[0], beta).x
    heights = [barrier(model, uniform, retrieval, beta, images=n).height for n in (5, 20, 83)]
    heights.append(barrier(model, retrieval, uniform, beta).height_back)
    np.testing.assert_allclose(heights, heights[0], atol=ENERGY)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 700.0), (2.0, 200.0), (2.0, 290.0), (3.0, 250.0)])
def test_saddles_of_clustered_patterns_connect_their_minima(alpha, beta):
    model = HopfieldModel(patterns.clustered(100, 64, seed=0), alpha)
    minima = []
    for pattern in model.patterns:
        there = relax(model, pattern / 8, beta).x
        if all(np.linalg.norm(there - other) > 1e-6 for other in minima):
            minima.append(there)
    for i, j in ((0, 1), (0, 2), (2, 3)):
        found = barrier(model, minima[i], minima[j], beta)
        assert found.status is SaddleStatus.VERIFIED
        assert found.height > 0
        assert found.height_back > 0
        for saddle, left, right in zip(found.saddles, found.minima, found.minima[1:], strict=False):
            values = np.linalg.eigvalsh(model.hessian(saddle.x, beta)) / beta
            assert values[0] < 0 < values[1]
            assert model.gradient_residual(saddle.x, beta) < 1e-11
            aside = 1e-4 * np.linalg.norm(left.x - right.x) * saddle.direction
            ends = [relax(model, saddle.x + sign * aside, beta, solver="fixed-point").x for sign in (1, -1)]
            closest = min(
                np.linalg.norm(ends[0] - left.x) + np.linalg.norm(ends[1] - right.x),
                np.linalg.norm(ends[1] - left.x) + np.linalg.norm(ends[0] - right.x),
            )
            assert closest < 1e-6


def test_another_way_round_by_via():
    # Four patterns at the corners of a square: straight over the middle is a maximum, not a saddle.
    model = HopfieldModel(SQUARE, 2.0, 1.0)
    beta = 6.0
    straight = barrier(model, model.patterns[0], model.patterns[2], beta)
    bent = barrier(model, model.patterns[0], model.patterns[2], beta, via=[model.patterns[1]])
    assert straight.status is SaddleStatus.VERIFIED
    assert straight.height == pytest.approx(bent.height, abs=ENERGY)
    assert [list(minimum.support) for minimum in bent.minima] == [[0], [1], [2]]


def test_saddle_on_a_facet_is_checked_on_both_sides(on_facet):
    saddle, model, beta = on_facet.saddle, on_facet.model, on_facet.beta
    assert saddle.status is SaddleStatus.FACET
    inside, tied = tied_patterns(model, saddle.x, beta)
    assert list(inside) == [True, True, False]
    assert list(tied) == [False, False, True]
    inner, outer = (np.linalg.eigvalsh(h) / beta for h in one_sided_hessians(model, saddle.x, beta))
    # descent: 1 − b(1 − m²), the same on both sides; across the facet 1 and 1/3
    np.testing.assert_allclose(inner, [1 - 0.84 / 0.32, 1.0], atol=1e-12)
    np.testing.assert_allclose(outer, [1 - 0.84 / 0.32, 1 / 3], atol=1e-12)


def test_one_sided_hessians_are_those_beside_the_facet(on_facet):
    saddle, model, beta = on_facet.saddle, on_facet.model, on_facet.beta
    inner, outer = one_sided_hessians(model, saddle.x, beta)
    across = np.array([0.0, 1e-7])
    np.testing.assert_allclose(inner, model.hessian(saddle.x + across, beta), atol=1e-9)
    np.testing.assert_allclose(outer, model.hessian(saddle.x - across, beta), atol=1e-9)


def test_a_maximum_is_no_saddle():
    model = HopfieldModel(SQUARE, 1.0, 1.0)
    top = find_saddle(model, np.zeros(2), 8.0, np.array([1.0, 0.0]), 0.1)
    assert top.residual < 1e-15
    assert top.soft < 0
    assert top.status is SaddleStatus.HIGHER_INDEX


def test_bad_input():
    model = HopfieldModel(_triangle(0.66), 2.0, 1.0)
    a, b = model.patterns[:2]
    with pytest.raises(InputError, match="same minimum"):
        barrier(model, a, a, 6.0)
    with pytest.raises(InputError, match=r"end is no minimum.*relaxes to a state"):
        barrier(model, a, 0.9 * b, 6.0)
    with pytest.raises(InputError, match="kinks"):
        barrier(HopfieldModel(model.patterns, np.inf, 1.0), a, b, 6.0)
    with pytest.raises(InputError, match="images = 4"):
        barrier(model, a, b, 6.0, images=4)
    with pytest.raises(InputError, match="beta"):
        barrier(model, a, b, -1.0)


@pytest.mark.parametrize("mean", np.linspace(0.2, 0.55, 36))
def test_a_facet_is_seen_whatever_rounding_does_to_the_tied_weight(mean):
    saddle = facet_saddle(float(mean)).ways[0].saddle
    assert saddle.status is SaddleStatus.FACET
