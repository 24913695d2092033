"""The free energy on a plane, against the sums written out; retrieval paths, against the map and its law."""

import math
from itertools import pairwise

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.landscape import landscape, pattern_plane, retrieval_paths

ROUNDING = 1e-12
"""Of sums of a few dozen terms of order one."""


def softmax_energy(model, x, beta):
    """Γ₁ written out: β/2 |x|² − log Σ exp(β z)."""
    scores = [beta * model.scale * sum(k * c for k, c in zip(key, x, strict=True)) for key in model.patterns]
    return beta / 2 * sum(c * c for c in x) - math.log(sum(map(math.exp, scores)))


def sparsemax_energy(model, x, beta):
    """Γ₂ with the weights of sparsemax(βz/2) by sorting: Ω* = β p·z + 1 − Σ p²."""
    z = beta / 2 * model.scale * model.patterns @ x
    ordered = np.sort(z)[::-1]
    levels = (np.cumsum(ordered) - 1) / np.arange(1, len(z) + 1)
    p = np.maximum(z - levels[np.flatnonzero(ordered > levels)[-1]], 0)
    return beta / 2 * x @ x - 2 * p @ z - 1 + p @ p


@pytest.mark.parametrize(("alpha", "direct"), [(1.0, softmax_energy), (2.0, sparsemax_energy)])
@pytest.mark.parametrize("chosen", [(0, 1), (4, 2, 7)])
def test_the_landscape_is_the_free_energy_at_the_states_of_the_plane(alpha, direct, chosen):
    model = hp.HopfieldModel(hp.patterns.clustered(8, 6, seed=3), alpha)
    plane = pattern_plane(model, chosen)
    found = landscape(model, 9.0, plane, points=7)
    for row, v in enumerate(found.v):
        for column, u in enumerate(found.u):
            x = plane.origin + u * plane.axes[0] + v * plane.axes[1]
            assert found.free_energy[row, column] == pytest.approx(direct(model, x, 9.0), rel=ROUNDING)


@pytest.mark.parametrize("chosen", [(0, 1), (3, 0, 2)])
def test_the_plane_passes_its_patterns_and_has_orthonormal_axes(chosen):
    model = hp.HopfieldModel(3 * hp.patterns.spherical(5, 9, seed=1))
    plane = pattern_plane(model, chosen)
    assert plane.axes @ plane.axes.T == pytest.approx(np.eye(2), abs=ROUNDING)
    points = model.scale * model.patterns[list(chosen)]
    if len(chosen) == 2:
        points = np.vstack([points, np.zeros(9)])
    assert plane.distance(points) == pytest.approx(0, abs=ROUNDING)
    assert plane.states(plane.coordinates(points)) == pytest.approx(points, abs=ROUNDING)
    seen = plane.coordinates(points)
    between = [np.linalg.norm(a - b) for a, b in zip(points, np.roll(points, 1, axis=0), strict=True)]
    assert [np.linalg.norm(a - b) for a, b in zip(seen, np.roll(seen, 1, axis=0), strict=True)] == (
        pytest.approx(between, rel=ROUNDING)
    )
    normal = np.linalg.svd(plane.axes)[2][-1]
    assert plane.distance(points + 0.7 * normal) == pytest.approx(0.7, rel=ROUNDING)
    low, high = landscape(model, 2.0, plane, points=3).u[[0, -1]]
    assert ((low < seen[:, 0]) & (seen[:, 0] < high)).all()


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 2.5])
def test_the_free_energy_never_rises_along_a_path_and_ends_in_a_verified_minimum(alpha):
    model = hp.HopfieldModel(hp.patterns.clustered(12, 8, clusters=3, seed=0), alpha)
    beta = 90.0
    plane = pattern_plane(model, (0, 1, 2))
    grid = np.stack(np.meshgrid(*[np.linspace(-0.5, 0.5, 4)] * 2), axis=-1).reshape(-1, 2)
    found = retrieval_paths(model, beta, plane.states(grid))
    for start, path, which in zip(plane.states(grid), found.paths, found.basin, strict=True):
        assert path[0] == pytest.approx(start)
        for before, after in pairwise(path[:-1]):
            assert after == pytest.approx(model.retrieve(before, beta), abs=ROUNDING)
        energies = model.free_energy(path, beta)
        assert (np.diff(energies) <= ROUNDING * np.abs(energies).max()).all()
        end = found.minima[which]
        assert end.status is hp.Status.CONVERGED
        assert path[-1] == pytest.approx(end.x, abs=1e-6)
        assert model.gradient_residual(end.x, beta) < 1e-11
        assert np.linalg.eigvalsh(model.hessian(end.x, beta))[0] > 0
    energies = [one.free_energy for one in found.minima]
    assert energies == sorted(energies)


def test_two_stored_keys_share_the_plane_along_their_bisector():
    model = hp.HopfieldModel(np.eye(2), scale=1.0)  # alpha = 2: each key is stored above b = 2
    starts = [[0.9, 0.1], [0.4, 0.6], [0.1, 2.0], [1.0, -1.0]]
    found = retrieval_paths(model, 4.0, starts)
    assert [found.minima[i].x.tolist() for i in found.basin] == [[1, 0], [0, 1], [0, 1], [1, 0]]
    symmetric = retrieval_paths(model, 4.0, [[0.5, 0.5]])
    assert symmetric.minima[0].support.size == 1  # the pair state is a saddle: not stopped on


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ((0,), "span no plane: choose two or three"),
        ((0, 0), "different ones"),
        ((0, 1, 2, 3), "two or three"),
        ((), "patterns none"),
        ((0, 9), "pattern 9 is not there: choose from 0 to 3"),
        ((0, -1), "pattern -1"),
        ((0, 3), "lie on one line with the origin"),
    ],
)
def test_patterns_that_span_no_plane_are_refused(chosen, words):
    keys = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [-1.0, 0, 0]])
    with pytest.raises(InputError, match=words):
        pattern_plane(hp.HopfieldModel(keys), chosen)


def test_a_grid_of_one_point_is_refused():
    model = hp.HopfieldModel(np.eye(3))
    with pytest.raises(InputError, match="at least 2"):
        landscape(model, 1.0, pattern_plane(model, (0, 1)), points=1)
