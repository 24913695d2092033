"""Propositions E.1 to E.3: both sides measured, where they hold, where they are sharp and where they end."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import equicorrelated, spherical, two_keys
from hopfieldphase.dynamics.stability_bounds import (
    check_degenerate_stability,
    check_score_bound,
    check_spectral_stability,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

ROUNDING = 1e-12
EPSILON = 0.4
FLAT_BETA = 2 / (1 - EPSILON)  # two keys at unit scale, α = 2: the edge between them is flat


# --- E.1: stability modulo degeneracy ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def flat():
    """Two keys in five dimensions with a flat edge; the mixture on it."""
    model = HopfieldModel(two_keys(EPSILON, d=5), alpha=2.0, scale=1.0)
    return model, model.patterns.mean(axis=0)


def test_descent_ends_in_the_kernel_of_a_flat_edge(flat):
    model, x = flat
    displacement = 0.05 * np.random.default_rng(0).normal(size=5)
    found = check_degenerate_stability(model, x, FLAT_BETA, displacement)
    # Only the edge is flat: the three directions off the plane of the keys have curvature β.
    assert found.kernel_dimension == 1
    assert found.step_bound == pytest.approx(2 / FLAT_BETA, rel=ROUNDING)
    assert found.complement_end < ROUNDING < found.complement_start
    # v is the part of the displacement along the edge, which no step moves.
    edge = (model.patterns[0] - model.patterns[1]) / np.linalg.norm(model.patterns[0] - model.patterns[1])
    assert found.shift == pytest.approx(abs(displacement @ edge), rel=1e-9)
    assert found.energy_spread < ROUNDING


def test_the_bound_on_the_complement_is_sharp(flat):
    model, x = flat
    displacement = 1e-3 * np.random.default_rng(0).normal(size=5)
    below, above = (
        check_degenerate_stability(model, x, FLAT_BETA, displacement, factor=factor, iterations=40)
        for factor in (0.95, 1.05)
    )
    assert below.complement_end == pytest.approx(below.complement_start * below.rate**40, rel=1e-6)
    assert above.complement_end == pytest.approx(above.complement_start * above.rate**40, rel=1e-6)
    assert below.rate == pytest.approx(0.9)
    assert above.rate == pytest.approx(1.1)


def test_a_whole_plane_can_be_flat():
    # Three equidistant keys at α = 2 and their common critical point K = 2: the triangle is flat.
    model = HopfieldModel(equicorrelated(3, 4, 0.25), alpha=2.0, scale=1.0)
    beta = 2 / (1 - 0.25)
    displacement = 0.02 * np.random.default_rng(1).normal(size=4)
    found = check_degenerate_stability(model, model.patterns.mean(axis=0), beta, displacement)
    assert found.kernel_dimension == 2
    assert found.complement_end < ROUNDING
    assert found.energy_spread < ROUNDING
    assert found.shift > 1e-3


def test_zero_curvature_alone_is_no_degeneracy():
    # Softmax, two keys at the continuous transition: the kernel is there, but Γ rises along it as a quartic.
    model = HopfieldModel(two_keys(EPSILON, d=5), alpha=1.0, scale=1.0)
    beta, x = 2 / (1 - EPSILON), model.patterns.mean(axis=0)
    edge = (model.patterns[0] - model.patterns[1]) / np.linalg.norm(model.patterns[0] - model.patterns[1])
    short, long = (check_degenerate_stability(model, x, beta, 0.3 * edge, iterations=n) for n in (1, 100_000))
    assert short.kernel_dimension == long.kernel_dimension == 1
    assert short.energy_spread > 1e-4
    # So the path creeps back to x* itself, like t^{-1/2}.
    assert long.shift < 0.05 * short.shift


def test_projection_adds_no_flat_direction():
    # M < d: directions that no overlap sees have curvature β, and contract like all others.
    model = HopfieldModel(spherical(3, 6, seed=0), alpha=2.0)
    beta = 1.0
    x = model.scale * (np.full(3, 1 / 3) @ model.patterns)
    x = relax(model, x, beta).x
    displacement = 0.01 * np.random.default_rng(2).normal(size=6)
    with_kernel = check_score_bound(model, displacement)
    assert with_kernel.kernel_dimension == 3
    found = check_degenerate_stability(model, x, beta, displacement)
    assert found.kernel_dimension == 0
    assert found.shift == 0
    assert found.complement_end < ROUNDING


def test_what_is_no_minimum_is_refused(flat):
    model, x = flat
    with pytest.raises(InputError, match="relative residual"):
        check_degenerate_stability(model, x + 0.1, FLAT_BETA, np.zeros(5))
    with pytest.raises(InputError, match="without negative curvature"):
        check_degenerate_stability(model, x, 1.5 * FLAT_BETA, np.zeros(5))
    with pytest.raises(InputError, match=r"^factor"):
        check_degenerate_stability(model, x, FLAT_BETA, np.zeros(5), factor=0)


# --- E.2: states and scores -------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 10_000), st.booleans())
def test_scores_bound_projected_states(M, d, seed, duplicate):
    rng = np.random.default_rng(seed)
    patterns = rng.normal(size=(M, d))
    if duplicate:
        patterns[-1] = patterns[0]
    model = HopfieldModel(patterns)
    found = check_score_bound(model, rng.normal(size=(20, d)))
    rank = np.linalg.matrix_rank(patterns)
    assert found.kernel_dimension == d - rank
    # Nearly dependent rows lose digits in σ_min.
    accuracy = 1e-13 * found.sigma_max / found.sigma_min
    assert found.constant == pytest.approx(math.sqrt(d) / found.sigma_min)
    assert found.largest <= 1 + accuracy
    assert found.growth <= 1 + accuracy
    assert found.equality == pytest.approx(1, abs=accuracy)
    assert found.hidden < 1e-13


def test_along_a_path_scores_and_projected_states_converge_together():
    model = HopfieldModel(spherical(4, 9, seed=3), alpha=1.5)
    beta, x = 6.0, np.random.default_rng(0).normal(size=9)
    target = relax(model, x, beta).x
    path = [x]
    for _ in range(200):
        path.append(path[-1] - 0.1 / beta * model.gradient(path[-1], beta))
    moved = np.array(path) - target
    found = check_score_bound(model, moved[:150])
    assert found.largest <= 1 + 1e-9
    assert found.growth <= 1 + 1e-9
    # What the scores do not see converges by itself, at the rate 1 − ηβ.
    hidden = moved @ np.linalg.svd(model.patterns)[2][4:].T
    sizes = np.linalg.norm(hidden[:100], axis=1)
    np.testing.assert_allclose(sizes[1:] / sizes[:-1], 0.9, rtol=1e-9)


# --- E.3: the spectral radius -----------------------------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from([0.3, 0.7, 1.0, 1.2, 1.5, 1.9, 2.0, 2.5, 3.0]),
    st.integers(1, 9),
    st.integers(1, 9),
    st.floats(0.1, 30),
    st.integers(0, 10_000),
)
def test_the_spectral_radius_is_one_minus_the_curvature(alpha, M, d, beta, seed):
    rng = np.random.default_rng(seed)
    model = HopfieldModel(rng.normal(size=(M, d)), alpha=alpha)
    x = rng.normal(size=d)
    p = model.weights(x, beta)
    # For α > 2 the response diverges as a weight vanishes.
    assume(alpha <= 2 or p[p > 0].min() > 1e-3)
    found = check_spectral_stability(model, x, beta)
    # βGJ is not symmetric: its eigenvalues keep half of the digits where they meet.
    scale = 1 + found.spectral_radius
    assert found.deviation < 1e-7 * scale
    assert found.largest_imaginary < 1e-6 * scale
    if abs(found.hessian_min) > 1e-6 * scale:
        assert (found.spectral_radius < 1) == (found.hessian_min > 0)


def test_both_sides_change_at_an_instability():
    # Equidistant patterns, α = 1: the uniform state is stable below K = M.
    M, cosine = 4, 0.2
    model = HopfieldModel(equicorrelated(M, 6, cosine), alpha=1.0, scale=1.0)
    x = model.patterns.mean(axis=0)
    for K, radius in ((0.9 * M, 0.9), (M, 1.0), (1.1 * M, 1.1)):
        found = check_spectral_stability(model, x, K / (1 - cosine))
        assert found.spectral_radius == pytest.approx(radius, abs=ROUNDING)
        assert found.hessian_min == pytest.approx(1 - radius, abs=ROUNDING)
