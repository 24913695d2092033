"""Zeros of λ_min along branches next to the closed form, and when that form applies."""

import numpy as np
import pytest

from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.branches import follow
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import circulant, equicorrelated
from hopfieldphase.phases.spinodals import spinodals


@pytest.mark.parametrize("k", [3, 4, 5, 6, 8])
def test_circulant_uniform_state(k):
    """Proposition 4.2 on k-support systems."""
    model = HopfieldModel(circulant(k, seed=k), alpha=2.0, scale=1.0)
    (found,) = spinodals(trace(model, range(k), 0.1))
    assert found.point.parameter == pytest.approx(found.formula, rel=1e-12)
    assert found.uniform
    assert found.premises_hold
    gram = np.asarray(model.gram)
    weights = found.point.state.weights
    hessian = np.eye(k) - found.point.parameter / 2 * (np.eye(k) - 1 / k) @ gram
    np.testing.assert_allclose(weights, 1 / k, atol=1e-12)
    assert np.abs(np.linalg.eigvals(hessian)).min() < 1e-12


def test_the_formula_holds_without_uniform_weights_at_alpha_2():
    """A mirror image of 0°, 60°, −60°: weights (½, ¼, ¼) when the mirror symmetry breaks."""
    angles = np.deg2rad([0, 60, -60])
    model = HopfieldModel(np.stack([np.cos(angles), np.sin(angles)], axis=1), alpha=2.0, scale=1.0)
    (found,) = spinodals(trace(model, range(3), 0.1))
    assert found.point.kind is PointKind.SPINODAL
    # λ of (0, 1, −1)/√2 is 1 − cos 120°
    assert found.point.parameter == pytest.approx(2 / 1.5, rel=1e-12)
    assert found.formula == pytest.approx(2 / 1.5, rel=1e-12)
    np.testing.assert_allclose(found.point.state.weights, [0.5, 0.25, 0.25], atol=1e-12)
    assert not found.uniform
    assert found.premises_hold
    assert found.premises == "the formula applies: fixed support, alpha = 2"
    assert found.point.landing.support in ((0, 1), (0, 2), (1,), (2,))


@pytest.mark.parametrize(("alpha", "M", "k_spin", "k_inst"), [
    (1.0, 3, 2.745643577, 3.0), (1.25, 10, 3.596820081, 7.029266565), (1.5, 10, 2.846049894, 4.743416490),
])  # fmt: skip
def test_equidistant_patterns(alpha, M, k_spin, k_inst):
    """The table of K_spin and K_inst: one fold without the premises, one instability with them."""
    model = HopfieldModel(equicorrelated(M, M), alpha=alpha, scale=1.0)
    (uniform,) = spinodals(follow(model, model.patterns.mean(axis=0), 2.0, [1.5, 12.0]))
    assert uniform.point.parameter == pytest.approx(k_inst, rel=1e-9)
    assert uniform.formula == pytest.approx(k_inst, rel=1e-9)
    assert uniform.point.multiplicity == M - 1
    assert uniform.premises_hold
    folds = [
        found
        for found in spinodals(follow(model, model.patterns[0], 8.0, [1.5, 12.0]))
        if found.point.kind is PointKind.FOLD
    ]
    assert len(folds) == 1
    assert folds[0].point.parameter == pytest.approx(k_spin, rel=1e-9)
    assert not folds[0].uniform
    assert not folds[0].premises_hold
    assert "not uniform" in folds[0].premises


def test_a_branch_without_spinodal():
    model = HopfieldModel(equicorrelated(4, 4), alpha=2.0, scale=1.0)
    assert spinodals(trace(model, (0,), 5.0)) == ()
