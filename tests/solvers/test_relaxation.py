"""Relaxation: every solver, saddles, ties, statuses."""

import math

import numpy as np
import pytest

from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.kernels import relax as kernel
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered, equicorrelated, spherical
from hopfieldphase.solvers import SOLVERS, relax, relax_many

# Residual 1.8e-12 plus one Newton step: the state is known to rounding over the softest curvature.
SAME_MINIMUM = 1e-10


@pytest.fixture(scope="module")
def keys():
    return clustered(40, 16, seed=3)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.3, 1.5, 2.0, 3.0])
def test_all_solvers_find_the_same_minimum_from_inside_its_basin(keys, alpha):
    model = HopfieldModel(keys, alpha=alpha)
    rng = np.random.default_rng(0)
    for beta in (15.0, 60.0):
        minimum = relax(model, model.scale * keys[5], beta)
        assert minimum.status is Status.CONVERGED
        kick = rng.normal(size=16)
        start = minimum.x + 1e-3 * np.linalg.norm(minimum.x) * kick / np.linalg.norm(kick)
        for solver in SOLVERS:
            found = relax(model, start, beta, solver=solver)
            assert found.status is Status.CONVERGED, solver
            distance = np.linalg.norm(found.x - minimum.x) / np.linalg.norm(minimum.x)
            assert distance < SAME_MINIMUM, solver


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 2.5])
def test_a_converged_state_is_a_minimum_by_the_model_itself(keys, solver, alpha):
    model = HopfieldModel(keys, alpha=alpha)
    starts = np.random.default_rng(1).normal(size=(6, 16)) * model.scale
    for found in relax_many(model, starts, 40.0, solver=solver):
        assert found.status is Status.CONVERGED
        assert model.gradient_residual(found.x, 40.0) < 1e-11
        smallest = np.linalg.eigvalsh(model.hessian(found.x, 40.0))[0] / 40.0
        assert smallest > 0
        assert found.hessian_min == pytest.approx(smallest, abs=1e-9)
        assert found.free_energy == pytest.approx(model.free_energy(found.x, 40.0), abs=1e-12)
        assert abs(model.duality_residual(found.x, 40.0)) < 1e-11
        np.testing.assert_allclose(found.weights, model.weights(found.x, 40.0), atol=1e-13)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_symmetric_saddle_is_left_the_same_way_every_time(solver):
    # Two keys past the pair's spinodal b = 2/(1 − ε): the symmetric state is stationary, not a minimum.
    epsilon = 0.3
    keys = np.array([[1.0, 0.0], [epsilon, math.sqrt(1 - epsilon**2)]])
    model = HopfieldModel(keys, alpha=2.0, scale=1.0)
    pair = keys.mean(axis=0)
    beta = 1.2 * 2 / (1 - epsilon)
    literal = relax(model, pair, beta, solver=solver, polish=False)
    assert literal.status is Status.SADDLE_NOT_ESCAPED
    assert literal.hessian_min == pytest.approx(1 - beta * (1 - epsilon) / 2, abs=1e-12)
    ends = [relax(model, pair, beta, solver=solver) for _ in range(2)]
    assert ends[0].status is Status.CONVERGED
    assert len(ends[0].support) == 1
    assert ends[0].free_energy < literal.free_energy
    np.testing.assert_array_equal(ends[0].x, ends[1].x)


def test_softmax_saddle_just_past_its_instability_is_left():
    # K_inst = M for orthonormal patterns: 1e-6 beyond it plain iteration would need millions of steps.
    model = HopfieldModel(np.eye(5), alpha=1.0, scale=1.0)
    found = relax(model, np.full(5, 0.2), 5.0 * (1 + 1e-6))
    assert found.status is Status.CONVERGED
    assert found.weights.max() > 0.5


def test_antipodal_patterns_converge_at_the_origin():
    model = HopfieldModel(np.array([[1.0, 0.0], [-1.0, 0.0]]), alpha=1.0, scale=1.0)
    found = relax(model, np.array([0.2, 0.1]), 0.5)
    assert found.status is Status.CONVERGED
    assert np.linalg.norm(found.x) < 1e-11


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_start_at_the_minimum_stays(keys, solver):
    model = HopfieldModel(keys, alpha=2.0)
    minimum = relax(model, model.scale * keys[0], 100.0)
    again = relax(model, minimum.x, 100.0, solver=solver)
    assert again.status is Status.CONVERGED
    assert again.n_steps <= 1
    np.testing.assert_allclose(again.x, minimum.x, rtol=0, atol=1e-15)


def test_a_tie_at_the_threshold_is_reported_with_both_curvatures():
    # Orthonormal keys at the storage onset b = 2: the other key meets the threshold exactly.
    model = HopfieldModel(np.eye(3), alpha=2.0, scale=1.0)
    found = relax(model, np.array([1.0, 0.0, 0.0]), 2.0)
    assert found.status is Status.BOUNDARY
    assert found.hessian_min == 1.0
    assert found.hessian_min_tied == pytest.approx(0.0, abs=1e-12)


def test_flat_direction_is_not_called_a_minimum():
    # Two keys at b = 2/(1 − ε): the whole segment between them is flat (Proposition 4.1).
    model = HopfieldModel(np.array([[1.0, 0.0], [0.6, 0.8]]), alpha=2.0, scale=1.0)
    found = relax(model, model.patterns.mean(axis=0), 5.0)
    assert found.status in (Status.SADDLE_NOT_ESCAPED, Status.BOUNDARY)
    assert found.hessian_min_tied == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 3.0, math.inf])
def test_one_pattern_and_duplicates(alpha):
    single = HopfieldModel(np.array([[3.0, 4.0]]), alpha=alpha)
    found = relax(single, np.array([-1.0, 1.0]), 2.0)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.x, single.scale * np.array([3.0, 4.0]), rtol=1e-14)
    twice = HopfieldModel(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), alpha=alpha, scale=1.0)
    assert relax(twice, np.array([1.0, 0.1]), 50.0).status is Status.CONVERGED


def test_paper_descent_alone_stops_at_its_tolerance(keys):
    model = HopfieldModel(keys, alpha=2.0)
    found = relax(model, model.scale * keys[0], 60.0, solver="gradient-descent", polish=False)
    assert found.residual <= 1e-7
    minimum = relax(model, model.scale * keys[0], 60.0)
    np.testing.assert_allclose(found.x, minimum.x, atol=1e-5 * model.scale)


def test_step_limit_is_a_status(keys):
    model = HopfieldModel(keys, alpha=1.0)
    found = relax(model, model.scale * keys[0], 80.0, solver="gradient-descent", max_steps=2, polish=False)
    assert found.status is Status.ITERATION_LIMIT
    assert found.n_steps == 2


def test_threads_do_not_change_a_bit(keys):
    model = HopfieldModel(keys, alpha=1.5)
    starts = model.scale * keys
    one = relax_many(model, starts, 50.0, threads=1)
    four = relax_many(model, starts, 50.0, threads=4)
    for a, b in zip(one, four, strict=True):
        np.testing.assert_array_equal(a.x, b.x)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.5, 2.0, 4.0, math.inf])
@pytest.mark.parametrize("beta", [1e-6, 1.0, 1e4, 1e9])
def test_extreme_temperatures_end_in_a_minimum(alpha, beta):
    model = HopfieldModel(spherical(20, 8, seed=1), alpha=alpha)
    found = relax(model, model.scale * model.patterns[3], beta)
    assert found.status is Status.CONVERGED
    assert found.residual < 1e-11


def test_equidistant_vertex_onset_follows_the_closed_form():
    model = HopfieldModel(equicorrelated(6, 6, 0.25), alpha=1.5, scale=1.0)
    onset = 3.0 / (1 - 0.25)  # (alpha/(alpha − 1))/(1 − c)
    above = relax(model, model.patterns[0], onset * 1.001)
    below = relax(model, model.patterns[0], onset * 0.999)
    assert len(above.support) == 1
    assert len(below.support) > 1


def test_float32_patterns_give_float32_states(keys):
    model = HopfieldModel(keys.astype(np.float32), alpha=2.0)
    found = relax(model, model.patterns[0], 60.0)
    assert found.x.dtype == np.float32
    with pytest.raises(InputError, match="float32"):
        relax(model, model.patterns[0], 60.0, tol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"x0": np.full(16, np.nan)}, "finite"),
        ({"x0": np.ones(3)}, "shape"),
        ({"beta": 0.0}, "beta"),
        ({"solver": "newtn"}, "newtn"),
        ({"tol": 1e-30}, "tol"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_bad_input_is_one_clear_line(keys, arguments, word):
    model = HopfieldModel(keys)
    with pytest.raises(InputError, match=word) as error:
        relax(model, **({"x0": np.ones(16), "beta": 1.0} | arguments))
    assert "\n" not in str(error.value)


def test_a_sweep_that_stalls_beside_a_saddle_leaves_it():
    # Energy differences drown at a residual of 1e-8 here, where the curvature is already negative.
    model = HopfieldModel(equicorrelated(10, 16, 0.2), alpha=2.1)
    result = sweep(model, np.linspace(5.0, 150.0, 400))
    assert (result.status == Status.CONVERGED).all()


def test_read_only_patterns_need_no_other_kernel(keys):
    start = keys[3] / 4
    expected = relax(HopfieldModel(keys), start, 60.0)
    known = len(kernel.relax.signatures)
    frozen = keys.copy()
    frozen.flags.writeable = False
    found = relax(HopfieldModel(frozen), start, 60.0)
    assert found.free_energy == expected.free_energy
    assert len(kernel.relax.signatures) == known
