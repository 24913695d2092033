"""Softmax weights over very many patterns: one pass per evaluation gives what all patterns at once give."""

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.continuation import sweep as sweeping
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.patterns import blocks
from hopfieldphase.solvers import relax, relaxation, screening
from hopfieldphase.solvers.softmax import Landscape

# Both end at a residual of 1.8e-12, times a condition.
SAME_STATE = 1e-9


@pytest.fixture
def chunked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "SCREENED_FROM", 1)
    monkeypatch.setattr(blocks, "BLOCK_SIZE", 300 * 8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_one_pass_is_the_model(chunked: None, dtype: type) -> None:
    model = hp.HopfieldModel(hp.patterns.clustered(1500, 8, seed=1).astype(dtype), alpha=1.0)
    exact = hp.HopfieldModel(model.patterns.astype(float), alpha=1.0)
    for beta in (0.1, 60.0, 1e5):  # the maximum is found late: weights summed before are scaled down
        x = model.patterns[-1].astype(float) / 3
        point = Landscape(model, beta).at(x, curved=True)
        assert point.energy == pytest.approx(float(exact.free_energy(x, beta)), rel=1e-12)
        np.testing.assert_allclose(point.image, exact.retrieve(x, beta), atol=1e-14)
        np.testing.assert_allclose(point.hessian, exact.hessian(x, beta) / beta, atol=1e-12 * (1 + beta))
        assert point.ipr == pytest.approx(1 / np.sum(exact.weights(x, beta) ** 2))


@pytest.mark.parametrize("solver", ["auto", "fixed-point", "gradient-descent"])
def test_relax_and_sweep_equal_those_of_all_patterns_at_once(
    chunked: None, monkeypatch: pytest.MonkeyPatch, solver: str
) -> None:
    model = hp.HopfieldModel(hp.patterns.clustered(900, 8, seed=2), alpha=1.0)
    betas = np.geomspace(10, 300, 9)
    ours = sweep(model, betas, solver=solver, keep_states=True)
    one = relax(model, model.patterns[0], 90.0, solver=solver)
    monkeypatch.setattr(sweeping, "is_chunked", lambda model: False)
    monkeypatch.setattr(relaxation, "is_chunked", lambda model: False)
    theirs = sweep(model, betas, solver=solver, keep_states=True)
    other = relax(model, model.patterns[0], 90.0, solver=solver)
    for name in ("status", "jumped", "support_size", "threshold_count"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), err_msg=name)
    for name in ("state", "overlap_max", "ipr", "free_energy", "hessian_min"):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), rtol=SAME_STATE, atol=SAME_STATE, err_msg=name
        )
    for name in ("x", "weights", "overlaps", "free_energy", "hessian_min"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=SAME_STATE, abs=SAME_STATE)


def test_a_saddle_is_left(chunked: None) -> None:
    keys = np.concatenate([np.eye(2), np.eye(2)])[:, ::-1]
    model = hp.HopfieldModel(keys, alpha=1.0, scale=1.0)
    middle = np.full(2, 0.5)
    found = relax(model, middle, 8.0)
    assert found.status.is_minimum
    assert abs(found.x[0] - found.x[1]) > 0.1
    assert not relax(model, middle, 8.0, polish=False).status.is_minimum


def test_results_do_not_depend_on_the_number_of_threads(
    chunked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = hp.HopfieldModel(hp.patterns.clustered(2000, 8, seed=3), alpha=1.0)
    found = []
    for threads in ("1", "3"):
        monkeypatch.setenv("HOPFIELDPHASE_THREADS", threads)
        found.append(relax(model, model.patterns[0], 50.0).x)
    np.testing.assert_array_equal(*found)
