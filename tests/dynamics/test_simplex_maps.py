"""Attention maps on two and three scores: boundaries against closed forms, jumps, derivatives."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hopfieldphase.core.attention import ConstrainedSparsemax, Entmax, TopK, TopP
from hopfieldphase.dynamics.map_boundaries import piece, refine_boundaries
from hopfieldphase.dynamics.simplex_maps import (
    pair_curve,
    plane_coordinates,
    plane_map,
    plane_scores,
    shown_maps,
)

AXIS = np.linspace(-2.5, 2.5, 61)
BISECTED = 1e-12


def sorted_scores(boundary):
    return -np.sort(-plane_scores(boundary[:, 0], boundary[:, 1]), axis=1)


def entmax_lines(alpha, points):
    """Places where the third weight vanishes, then where the second does, for z₁ ≥ z₂ ≥ z₃.

    (α−1)(z₁ − z₃) = q^(α−1) with the weights q, 1 − q; and z₁ − z₂ = 1/(α−1) with any lower z₃.
    """
    q = np.linspace(0.5, 1.0, points)
    first, second = q ** (alpha - 1) / (alpha - 1), (1 - q) ** (alpha - 1) / (alpha - 1)
    third = plane_coordinates(np.stack([first, second, np.zeros(points)], axis=-1))
    depth = np.linspace(1.0, 11.0, points) / (alpha - 1)
    single = np.stack([np.zeros(points), np.full(points, -1 / (alpha - 1)), -depth], axis=-1)
    return third, plane_coordinates(single)


def test_coordinates_of_the_plane():
    z = np.random.default_rng(0).normal(size=(20, 3))
    u, v = plane_coordinates(z).T
    assert_allclose(plane_scores(u, v), z - z.mean(axis=1, keepdims=True), atol=1e-14)


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_boundaries_of_entmax_satisfy_their_equations(alpha):
    found = plane_map(Entmax(alpha), 2 * AXIS)
    first, second, third = sorted_scores(found.boundary).T
    # a single weight: lead of 1/(α−1); else the third at the threshold of the other two
    single = first - second > 1 / (alpha - 1) - 1e-9
    assert_allclose((first - second)[single], 1 / (alpha - 1), atol=BISECTED)
    q = ((alpha - 1) * (first - third)[~single]) ** (1 / (alpha - 1))
    rest = ((alpha - 1) * (second - third)[~single]) ** (1 / (alpha - 1))
    assert single.any()
    assert (~single).any()
    assert_allclose(q + rest, 1, atol=1e-11)
    assert found.jump.max() < BISECTED


@pytest.mark.parametrize("alpha", [1.25, 1.5, 2.0])
def test_lines_in_closed_form_lie_between_supports(alpha):
    third, single = entmax_lines(alpha, 30)
    for line, sizes in ((third[1:-1], {2, 3}), (single[1:], {1, 2})):
        normal = 1e-6 * np.array([[1, 0], [-1, 0], [0, 1], [0, -1]])
        around = line[:, None] + normal
        z = plane_scores(around[..., 0], around[..., 1])
        counts = np.count_nonzero(np.asarray(Entmax(alpha).weights(z)), axis=-1)
        assert all(set(row) == sizes for row in counts.tolist())


def test_the_jump_of_top_k():
    found = plane_map(TopK(2), AXIS)
    first, second, third = sorted_scores(found.boundary).T
    assert_allclose(second, third, atol=BISECTED)
    assert_allclose(found.jump, [1 / (1 + math.exp(lead)) for lead in first - second], rtol=1e-9)
    assert found.jump.max() <= 0.5


def test_the_boundaries_of_top_p():
    share = 0.8
    found = plane_map(TopP(share), AXIS)
    p = np.asarray(Entmax(1.0).weights(sorted_scores(found.boundary)))
    # the mass of the first one or two reaches the share (within the map's own tolerance), or a tie is broken
    reached = np.abs(np.cumsum(p, axis=1)[:, :2] - share).min(axis=1) < 2e-12
    tied = np.abs(np.diff(p, axis=1)).min(axis=1) < BISECTED
    assert (reached | tied).all()
    assert reached.sum() > 100
    assert found.jump.min() > 0.05


def test_capped_maps_are_continuous():
    found = plane_map(ConstrainedSparsemax(0.6), AXIS)
    assert found.weights.max() <= 0.6
    assert found.jump.max() < BISECTED
    assert set(np.unique(np.count_nonzero(found.weights, axis=-1))) == {2, 3}


def test_softmax_has_no_boundary():
    found = plane_map(Entmax(1.0), AXIS)
    assert found.boundary.shape == (0, 2)
    p = found.weights
    jacobian = p[..., None] * np.eye(3) - p[..., None] * p[..., None, :]
    assert_allclose(found.sensitivity, np.linalg.norm(jacobian, axis=(-2, -1)), rtol=1e-12)


def test_pairs_in_closed_form():
    x = np.linspace(-3, 3, 25)
    assert_allclose(pair_curve(Entmax(1.0), x).weight, 1 / (1 + np.exp(-x)), rtol=1e-13)
    assert_allclose(pair_curve(Entmax(2.0), x).weight, np.clip((1 + x) / 2, 0, 1), atol=1e-15)
    # 1.5-entmax: p = a², (a, b) on the unit circle with a − b = x/2
    half = np.clip(x / 2, -1, 1)
    expected = ((half + np.sqrt(2 - half**2)) / 2) ** 2
    assert_allclose(pair_curve(Entmax(1.5), x).weight, expected, atol=1e-14)


@pytest.mark.parametrize("name", ["softmax", "entmax", "sparsemax", "top-k", "constrained-sparsemax"])
def test_slopes_are_derivatives(name):
    attention = shown_maps(1.5, 2, 0.8, 0.6)[name]
    x, step = np.array([-2.3, -0.61, -0.13, 0.07, 0.55, 1.7]), 1e-6
    up, down = (pair_curve(attention, x + sign * step).weight for sign in (1, -1))
    assert_allclose(pair_curve(attention, x).slope, (up - down) / (2 * step), atol=1e-8)


def test_bisection_ends_at_neighbouring_doubles():
    low, high = np.array([[0.0, 0.0]]), np.array([[0.0, 3.0]])
    below, above = refine_boundaries(Entmax(2.0), low, high)
    assert math.isclose(float(above[0, 1]), 1.0, rel_tol=1e-14)
    assert abs(above[0, 1] - below[0, 1]) <= 2 * np.spacing(1.0)
    assert (piece(Entmax(2.0), below) != piece(Entmax(2.0), above)).any()
