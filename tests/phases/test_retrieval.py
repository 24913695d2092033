"""Simulated retrieval: folds against a second method and the annealed theory, storage against its law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hopfieldphase as hp
from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.core.closed_forms import (
    annealed_fold,
    exact_storage_onset,
    exact_storage_probability,
    potts_spinodal,
    potts_vertex,
)
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import equicorrelated, spherical
from hopfieldphase.phases.retrieval import (
    margin_onset,
    relaxation_onset,
    retrieval_fold,
    storage_quantile,
    storage_trial,
)

# Folds by arclength.
LOCATED = 1e-10
# The descent below stops at steps of 1e-6 and, near a square-root end, at states 1e-2 away from it.
DESCENT = 1e-4
# A mean of instances with standard error σ: 4 σ are exceeded once in 16,000 seeds.
SIGMAS = 4
# Half the width of the bisection of `relaxation_onset`.
BISECTED = 1e-4


def fold_by_descent(patterns):
    """Relax downward in b from the last state; the step is halved where the state jumps."""
    model = hp.HopfieldModel(patterns, 1.0, scale=1.0)
    b, step = 20.0, 0.2
    x = hp.relax(model, patterns[0], b).x
    while step > 1e-6:
        below = hp.relax(model, x, b - step)
        assert below.status.is_minimum
        if np.linalg.norm(below.x - x) > 0.02 + 1.5 * step:
            step /= 2
        else:
            b, x = b - step, below.x
    return b


@pytest.mark.parametrize("realization", range(6))
def test_a_fold_is_where_a_descent_loses_the_state(realization):
    patterns = spherical(60, 12, 5, realization)
    found = retrieval_fold(patterns)
    assert found.exists
    assert found.b == pytest.approx(fold_by_descent(patterns), rel=DESCENT)
    assert found.overlap > found.overlap_beyond


def test_folds_of_equidistant_patterns_are_those_of_the_potts_model():
    for M, cosine in ((3, 0.0), (10, 0.3), (40, -0.02)):
        found = retrieval_fold(equicorrelated(M, M, cosine), 1)
        assert found.b * (1 - cosine) == pytest.approx(potts_spinodal(M, 1.0), rel=LOCATED)


def test_simulated_folds_lie_just_above_the_annealed_one():
    # Expected: 8.87 +- 0.02 over 400 sets with standard deviation 0.32, annealed 8.6184.
    folds = [retrieval_fold(spherical(121, 16, 11, i)).b for i in range(120)]
    kept = np.array([fold for fold in folds if math.isfinite(fold)])
    assert kept.size >= 115
    error = kept.std(ddof=1) / math.sqrt(kept.size)
    assert abs(kept.mean() - 8.87) < SIGMAS * math.hypot(error, 0.02)
    assert kept.mean() - annealed_fold(121, 16) > 2 * error
    assert 0.2 < kept.std(ddof=1) < 0.5


def test_a_state_that_goes_over_smoothly_has_no_fold():
    found = retrieval_fold(equicorrelated(2, 2))  # continuous: mean-field Ising
    assert (found.end, found.exists, found.is_smooth, found.folds) == (PointKind.PITCHFORK, False, True, 0)
    assert math.isnan(found.b)
    # Here a close neighbour takes part more and more, down to the only state at low b: no jump on the way.
    patterns = spherical(10, 16, 0, 15)
    model = hp.HopfieldModel(patterns, 1.0, scale=1.0)
    x = patterns[0]
    for b in np.arange(20.0, 1.0, -0.02):
        below = hp.relax(model, x, b).x
        assert np.linalg.norm(below - x) < 0.06
        x = below
    found = retrieval_fold(patterns)
    assert (found.end, found.is_smooth) == (PointKind.RANGE, True)


def test_a_repeated_pattern_is_never_retrieved():
    with pytest.raises(InputError, match="another pattern repeats it"):
        retrieval_fold(np.vstack([np.eye(4), np.eye(4)[0]]))


def test_a_fold_depends_on_the_cosines_alone():
    patterns = spherical(30, 8, 2)
    turn, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))
    order = np.random.default_rng(1).permutation(30)
    same = retrieval_fold((patterns @ turn)[order], int(np.flatnonzero(order == 0)[0]))
    assert same.b == pytest.approx(retrieval_fold(patterns).b, rel=LOCATED)


def test_rows_must_have_unit_norm():
    for function in (retrieval_fold, lambda rows: storage_trial(rows, 5.0, 2.0)):
        with pytest.raises(InputError, match="rows of unit norm"):
            function(2 * np.eye(3))
    with pytest.raises(InputError, match="give an index below 3"):
        retrieval_fold(np.eye(3), 3)


# Exact storage


@pytest.mark.parametrize("alpha", [1.2, 1.5, 2.0, 2.5, 4.0])
def test_margin_and_relaxation_agree(alpha):
    for realization in range(8):
        patterns = spherical(40, 9, 7, realization)
        onset = margin_onset(patterns, alpha)
        gram = patterns @ patterns.T
        assert onset == pytest.approx(exact_storage_onset(gram, alpha)[0], rel=1e-12)
        assert relaxation_onset(patterns, alpha) == pytest.approx(onset, rel=BISECTED)
        for factor, stored in ((0.999, False), (1.001, True)):
            trial = storage_trial(patterns, factor * onset, alpha)
            assert (trial.by_margin, trial.by_relaxation) == (stored, stored)


def test_equidistant_patterns_are_stored_from_the_vertex_on():
    for alpha in (1.5, 2.0, 3.0):
        onset = relaxation_onset(equicorrelated(6, 6, 0.25), alpha, 2) * 0.75
        assert onset == pytest.approx(potts_vertex(alpha), rel=BISECTED)


def test_a_repeated_pattern_is_never_stored():
    repeated = np.vstack([np.eye(4), np.eye(4)[0]])
    assert relaxation_onset(repeated, 2.0) == margin_onset(repeated, 2.0) == math.inf


@pytest.mark.parametrize(
    ("alpha", "d", "M", "b", "expected"), [(1.5, 10, 50, 6.0, 0.0517283), (2.0, 16, 200, 8.0, 0.949028)]
)
def test_the_measured_probability_is_that_of_the_closed_form(alpha, d, M, b, expected):
    assert exact_storage_probability(M, d, b, alpha) == pytest.approx(expected, abs=5e-7)
    trials = 800
    found = [storage_trial(spherical(M, d, 3, i), b, alpha) for i in range(trials)]
    assert all(trial.by_margin == trial.by_relaxation for trial in found)
    error = math.sqrt(trials * expected * (1 - expected))
    assert abs(sum(trial.by_relaxation for trial in found) - trials * expected) < SIGMAS * error


@given(
    probability=st.floats(1e-6, 1 - 1e-6),
    M=st.integers(2, 10**6),
    d=st.integers(3, 200),
    alpha=st.floats(1.01, 6.0),
)
def test_the_quantile_inverts_the_probability(probability, M, d, alpha):
    b = storage_quantile(probability, M, d, alpha)
    # Rounding of b alone; the probability changes by no more than its steepest slope times that.
    shifted = [exact_storage_probability(M, d, b * factor, alpha) for factor in (1 - 1e-9, 1 + 1e-9)]
    assert shifted[0] <= probability * (1 + 1e-9)
    assert shifted[1] >= probability * (1 - 1e-9)


def test_storage_needs_an_entmax():
    for alpha in (1.0, 0.5, math.inf):
        with pytest.raises(InputError, match="alpha"):
            storage_trial(np.eye(3), 4.0, alpha)
    with pytest.raises(InputError, match="probability"):
        storage_quantile(1.0, 10, 5, 2.0)
