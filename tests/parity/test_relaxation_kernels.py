"""The compiled steps of a relaxation against the NumPy model, by value, for every α and edge case."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core import entmax
from hopfieldphase.kernels import curvature, steps, tridiagonal
from hopfieldphase.kernels.relax import FIXED_POINT, GRADIENT_DESCENT, NEWTON, converge
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import kernel_problem

ALPHAS = [0.3, 0.9, 1.0, 1.0 + 1e-9, 1.2, 1.5, 1.9, 2.0, 2.4, 4.0, math.inf]
# Sums of at most 30 terms of order one, in a different order.
ROUNDING = 1e-12


def random_model(rng, alpha):
    M, d = rng.integers(1, 30), rng.integers(1, 9)
    patterns = rng.normal(size=(M, d))
    if rng.random() < 0.3:
        patterns[rng.integers(M)] = patterns[0]
    return HopfieldModel(patterns, alpha=alpha)


def evaluated(model, x, beta):
    problem = kernel_problem(model)
    work = steps.workspace(model.M, model.d)
    work.x[:] = x
    energy, theta, _ = steps.evaluate(problem, beta, work.x, work.z, work.p, work.image)
    return problem, work, energy, theta


@pytest.mark.parametrize("alpha", ALPHAS)
def test_evaluation_equals_the_model(alpha):
    rng = np.random.default_rng(11)
    for _ in range(60):
        model = random_model(rng, alpha)
        x, beta = rng.normal(size=model.d), 10 ** rng.uniform(-3, 3)
        _, work, energy, theta = evaluated(model, x, beta)
        size = 1 + abs(energy) + beta
        assert energy == pytest.approx(model.free_energy(x, beta), abs=ROUNDING * size)
        np.testing.assert_allclose(work.z, model.overlaps(x), atol=ROUNDING)
        np.testing.assert_allclose(work.p, model.weights(x, beta), atol=ROUNDING * (1 + beta))
        np.testing.assert_allclose(work.image, model.retrieve(x, beta), atol=ROUNDING * (1 + beta))
        np.testing.assert_allclose(
            theta, entmax.threshold(model.overlaps(x), alpha, beta), rtol=ROUNDING, atol=ROUNDING
        )


@pytest.mark.parametrize("alpha", ALPHAS)
def test_curvature_equals_the_hessian(alpha):
    rng = np.random.default_rng(12)
    for _ in range(60):
        model = random_model(rng, alpha)
        x, beta = rng.normal(size=model.d), 10 ** rng.uniform(-1, 1.5)
        problem, work, _, _ = evaluated(model, x, beta)
        ratio = steps.curvature_at(problem, beta, work.p, work)
        assert ratio == 1.0
        m = work.curvature.counts[1]
        rows = work.curvature.rows[:m]
        hessian = model.hessian(x, beta) / beta
        size = np.abs(hessian).max()
        np.testing.assert_allclose(np.eye(model.d) - rows.T @ rows, hessian, atol=1e-9 * size)
        spectrum, vectors = np.linalg.eigh(hessian)
        softest = 1 - work.curvature.at[1]
        assert softest == pytest.approx(spectrum[0], abs=1e-9 * size)
        if m and spectrum[0] < 1 - 1e-6 and (model.d == 1 or spectrum[1] - spectrum[0] > 1e-6 * size):
            direction = np.empty(model.d)
            curvature.soft_direction(work.curvature, direction)
            assert abs(direction @ vectors[:, 0]) == pytest.approx(1, abs=1e-6)
        step = np.empty(model.d)
        solved = curvature.solve_curvature(work.curvature, 1.0, x, step)
        assert solved == (spectrum[0] > 0) or abs(spectrum[0]) < 1e-9 * size
        if solved and spectrum[0] > 1e-6:
            np.testing.assert_allclose(hessian @ step, x, atol=1e-7 * size)


@given(
    st.integers(0, 10_000),
    st.sampled_from([0.7, 1.0, 1.5, 2.0, 3.0, math.inf]),
    st.sampled_from([GRADIENT_DESCENT, FIXED_POINT, NEWTON]),
)
@settings(max_examples=60, deadline=None)
def test_free_energy_falls_along_every_accepted_step(seed, alpha, method):
    rng = np.random.default_rng(seed)
    model = random_model(rng, alpha)
    x, beta = rng.normal(size=model.d), 10 ** rng.uniform(-1, 2)
    problem, work, energy, _ = evaluated(model, x, beta)
    for _ in range(12):
        converge(problem, beta, method, 1e-14, 1, work)
        lower = model.free_energy(work.x, beta)
        # 16 units in the last place of the terms that make up Γ
        assert lower <= energy + 16 * np.finfo(float).eps * (1 + abs(lower) + beta * work.x @ work.x)
        energy = lower


def test_reduction_of_awkward_matrices():
    rng = np.random.default_rng(1)
    for kind in range(400):
        n, r = rng.integers(1, 70), rng.integers(1, 80)
        rows = rng.normal(size=(r, n)) * 10 ** rng.uniform(-3, 3)
        if kind % 5 == 1:
            rows[:] = rows[0]
        elif kind % 5 == 2:
            rows = np.eye(n) * rows[0, 0]
        elif kind % 5 == 3:
            rows = np.diag(rng.integers(1, 3, size=n).astype(float))
        elif kind % 5 == 4:
            rows[1:] *= 1e-9
        gram = rows.T @ rows
        spectrum = np.linalg.eigvalsh(gram)
        a, heights, diagonal, off = gram.copy(), np.empty(n), np.empty(n), np.empty(n)
        tridiagonal.reduce(a, heights, diagonal, off)
        top = tridiagonal.largest_eigenvalue(diagonal, off)
        assert top == pytest.approx(spectrum[-1], rel=1e-13)
        y = np.empty(n)
        tridiagonal.top_vector(diagonal, off, top, y)
        tridiagonal.from_reduced(a, heights, y)
        assert y @ gram @ y == pytest.approx(spectrum[-1], rel=1e-12)
        right = rng.normal(size=n)
        y = right.copy()
        tridiagonal.to_reduced(a, heights, y)
        assert tridiagonal.solve_tridiagonal(diagonal, off, 1.5 * top, 1.0, 0.0, y)
        tridiagonal.from_reduced(a, heights, y)
        np.testing.assert_allclose(
            (1.5 * top * np.eye(n) - gram) @ y, right, atol=1e-11 * np.abs(right).max()
        )
