"""The table of critical points: what it finds, and which closed form it holds against each point."""

import math

import numpy as np
import pytest

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.core import closed_forms
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import clustered, equicorrelated, gaussian, spherical, two_keys
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.critical import critical_points, reference_beta, storage_onsets
from hopfieldphase.solvers import relax

EXACT = 1e-12
"""Events of the exact tracer."""
LOCATED = 1e-10
"""Folds, crossings of curves and bisected crossings of energies."""


@pytest.fixture(scope="module")
def planar():
    """Three unit vectors at 0, 50 and 140 degrees."""
    angles = np.deg2rad([0, 50, 140])
    model = HopfieldModel(np.stack([np.cos(angles), np.sin(angles)], axis=1), alpha=2.0, scale=1.0)
    return critical_points(model, at=3.0)


def test_three_planar_vectors(planar):
    """{01} lives on 0.830278–5.598910, {12} on 1.780542–2, {2} from 2, {0} and {1} from 5.598910."""
    assert planar.betas == (0.0, math.inf)
    assert planar.mean.beta == pytest.approx(5.598910, abs=1e-6)
    assert planar.mean.point.kind is PointKind.SPINODAL
    assert planar.branches[planar.low_branch].pieces[0].support == (0, 1, 2)
    assert {onset.pattern: round(onset.beta, 6) for onset in planar.storage} == {
        2: 2.0,
        0: 5.59891,
        1: 5.59891,
    }
    falling = {point.point.state.support: point.beta for point in planar.ends if not point.rising}
    assert falling[(2,)] == pytest.approx(2.0, rel=EXACT)
    for point in planar.ends:
        assert point.closed_form.holds
        assert point.closed_form.value == pytest.approx(point.beta, rel=EXACT)


def test_the_mean_of_three_planar_vectors_has_lost_a_pattern(planar):
    """The formula for all three patterns does not apply where only two carry weight."""
    form = planar.mean.closed_form
    assert not form.holds
    assert form.premises == "the formula does not apply: 2 of 3 patterns carry weight"
    assert form.value == closed_forms.uniform_spinodal(planar.model.gram, 2.0)


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_equidistant_patterns_meet_every_closed_form(alpha):
    M, cosine = 5, 0.2
    model = HopfieldModel(equicorrelated(M, M, cosine), alpha)
    table = critical_points(model)
    distance = model.scale**2 * (1 - cosine)
    assert table.mean.beta == pytest.approx(alpha * M ** (2 - alpha) / distance, rel=LOCATED)
    assert table.mean.point.multiplicity == M - 1
    assert table.mean.closed_form.holds
    folds = [point for point in table.ends if point.point.kind is PointKind.FOLD]
    assert {point.branches for point in folds} == {(i,) for i in range(len(table.branches))} - {
        (table.low_branch,)
    }
    for fold in folds:
        assert not fold.rising
        assert fold.beta == pytest.approx(closed_forms.potts_spinodal(M, alpha) / distance, rel=LOCATED)
        assert fold.closed_form.holds
        assert fold.closed_form.value == pytest.approx(fold.beta, rel=LOCATED)
    crossings = [point for point in table.coexistence if point.interval is None]
    assert len(crossings) == M
    for crossing in crossings:
        assert table.low_branch in crossing.branches
        expected = closed_forms.potts_coexistence(M, alpha) / distance
        assert crossing.beta == pytest.approx(expected, rel=LOCATED)
        assert crossing.closed_form.holds
        assert crossing.closed_form.value == pytest.approx(expected, rel=EXACT)
    # Retrieval states of different patterns have one energy throughout.
    assert len(table.coexistence) - M == M * (M - 1) / 2
    onsets = [onset.beta for onset in table.storage]
    assert onsets == pytest.approx([math.inf if alpha == 1 else 3 / distance] * M, rel=EXACT)
    assert all(onset.traced is None for onset in table.storage)


def test_two_keys_first_order():
    epsilon, alpha = 0.3, 2.5
    table = critical_points(HopfieldModel(two_keys(epsilon), alpha, scale=1.0))
    assert table.mean.beta == pytest.approx(closed_forms.two_keys_instability(epsilon, alpha), rel=LOCATED)
    single = [point for point in table.ends if point.point.kind is PointKind.ENTERS]
    assert single
    for point in single:
        assert point.beta == pytest.approx(closed_forms.two_keys_vertex(epsilon, alpha), rel=LOCATED)
        assert point.closed_form.holds
        assert point.closed_form.value == pytest.approx(point.beta, rel=LOCATED)
    crossings = [point for point in table.coexistence if point.interval is None]
    assert crossings
    for point in crossings:
        assert point.beta == pytest.approx(closed_forms.two_keys_coexistence(epsilon, alpha), rel=LOCATED)
        assert point.closed_form.value == pytest.approx(point.beta, rel=LOCATED)


def test_two_keys_at_alpha_2_meet_in_one_point():
    """Mixture and keys never coexist; all critical points are 2/(1 − ε)."""
    table = critical_points(HopfieldModel(two_keys(0.5), alpha=2.0, scale=1.0))
    points = [table.mean, *table.ends, *(point for point in table.coexistence if point.interval is None)]
    assert len(points) >= 5
    for point in points:
        assert point.beta == pytest.approx(4.0, rel=EXACT)
        assert point.closed_form.holds
        assert point.closed_form.value == pytest.approx(4.0, rel=EXACT)


@pytest.mark.parametrize("patterns", [clustered(24, 16), gaussian(16, 9)], ids=["one norm", "many norms"])
def test_storage_onsets_are_where_the_tracer_sees_a_second_pattern(patterns):
    model = HopfieldModel(patterns, alpha=2.0)
    onsets = storage_onsets(model)
    assert sorted(onset.pattern for onset in onsets) == list(range(model.M))
    betas = [onset.beta for onset in onsets]
    assert betas == sorted(betas)
    stored = [onset for onset in onsets if math.isfinite(onset.beta)]
    assert stored
    for onset in stored:
        assert onset.traced.kind is PointKind.ENTERS
        assert onset.traced.parameter == pytest.approx(onset.beta, rel=EXACT)
        state = model.scale * patterns[onset.pattern]
        assert relax(model, state, 1.001 * onset.beta).support.tolist() == [onset.pattern]
        assert relax(model, state, 0.999 * onset.beta).support.tolist() != [onset.pattern]
    for onset in onsets[len(stored) :]:
        assert onset.traced is None
        beta = 1e6 * max(betas[: len(stored)])
        assert model.weights(model.scale * patterns[onset.pattern], beta)[onset.pattern] < 1


def test_only_as_many_onsets_are_traced_as_wanted():
    model = HopfieldModel(spherical(12, 8), alpha=2.0)
    traced = [onset.traced is not None for onset in storage_onsets(model, 3)]
    assert traced == [True] * 3 + [False] * 9


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 2.5, 3.0])
def test_stable_states_end_where_the_table_says(alpha):
    """There the Hessian is singular or a pattern meets the threshold; just inside, the state is a minimum."""
    model = HopfieldModel(clustered(14, 8, clusters=3, seed=2), alpha)
    table = critical_points(model, top=4)
    assert table.ends
    for point in table.ends:
        state, branch = point.point.state, table.branches[point.branches[0]]
        assert float(model.gradient_residual(state.x, point.beta)) < 1e-9
        if point.point.kind in (PointKind.ENTERS, PointKind.LEAVES):
            overlaps = model.overlaps(state.x)[list(point.point.patterns)]
            assert overlaps == pytest.approx(state.threshold, abs=1e-9 * state.overlap_max)
        else:
            # λ_min of a fold vanishes as the root of the distance: 1e-6 for a point known to 1e-12.
            assert abs(state.hessian_min) < 1e-5
        sense = 1 if point.rising else -1
        beta = point.beta * (1 - sense * 1e-4)
        inside = relax(model, branch.at(beta).x, beta)
        assert inside.status.is_minimum
        assert inside.x == pytest.approx(branch.at(beta).x, abs=1e-8 * model.state_scale)
    for point in table.coexistence:
        first, second = point.point.state, point.point.landing
        assert first.free_energy == pytest.approx(second.free_energy, rel=LOCATED)
        assert np.linalg.norm(first.x - second.x) > 1e-6 * model.state_scale or point.point.degenerate
    for points in (table.ends, table.coexistence):
        betas = [point.beta for point in points]
        assert betas == pytest.approx(sorted(betas), rel=1e-10)


def test_the_branch_of_lowest_beta_is_there_once():
    model = HopfieldModel(equicorrelated(6, 6), alpha=1.0, scale=1.0)
    inside = critical_points(model, at=5.0, betas=[1.0, 9.0])
    beyond = critical_points(model, at=8.0, betas=[1.0, 9.0])
    assert inside.mean.beta == pytest.approx(6.0, rel=LOCATED)
    assert beyond.mean.beta == pytest.approx(6.0, rel=LOCATED)
    # At 5 the uniform state is one of the minima found, at 8 it has to be added.
    assert inside.low_branch < len(inside.branches) == inside.n_states
    assert beyond.low_branch == beyond.n_states == len(beyond.branches) - 1


def test_a_state_that_stays_stable_has_no_instability():
    model = HopfieldModel(equicorrelated(6, 6), alpha=1.0, scale=1.0)
    table = critical_points(model, at=3.5, betas=[2.0, 5.0])
    assert table.mean is None
    assert table.betas == (2.0, 5.0)


def test_top_limits_the_branches_and_all_finds_the_rest():
    model = HopfieldModel(clustered(14, 8, clusters=3, seed=2), alpha=2.0)
    some, every = critical_points(model, top=2), critical_points(model, top=None)
    assert len(some.branches) in (2, 3)
    assert len(every.branches) in (every.n_states, every.n_states + 1)
    assert some.n_states == every.n_states > 3
    assert some.betas == every.betas == (0.0, math.inf)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.5, 2.0, 3.0])
def test_the_default_reference_lies_inside_the_suggested_range(alpha):
    for patterns in (clustered(20, 12), equicorrelated(5, 5), two_keys(0.2)):
        model = HopfieldModel(patterns, alpha)
        suggested = closed_forms.suggest_beta_range(patterns, alpha)
        assert suggested.low < reference_beta(model) < suggested.high
        assert 1.0 < reference_beta(model, (1.0, 2.0)) < 2.0


def test_many_patterns_are_not_followed_to_their_mean():
    """Beyond 500 patterns the range at α = 2 begins where supports are small."""
    model = HopfieldModel(spherical(501, 16), alpha=2.0)
    table = critical_points(model, top=1)
    assert table.betas[0] == pytest.approx(table.at / 64)
    assert math.isfinite(table.betas[1])


@pytest.mark.parametrize(
    ("alpha", "options", "message"),
    [
        (math.inf, {}, "alpha = inf has no critical points"),
        (2.0, {"at": -1.0}, "beta = -1"),
        (2.0, {"at": 5.0, "betas": [10.0, 20.0]}, "lies outside the range"),
        (2.0, {"betas": [10.0]}, "betas has 1 values"),
        (1.0, {"betas": [0.0, 10.0]}, "not positive"),
        (2.0, {"top": 0}, "top = 0"),
    ],
)
def test_bad_input_is_one_line(alpha, options, message):
    model = HopfieldModel(spherical(6, 5), alpha)
    with pytest.raises(InputError, match=message) as error:
        critical_points(model, **options)
    assert "\n" not in str(error.value)


def test_equal_patterns_have_no_critical_points():
    with pytest.raises(InputError, match="all patterns are equal"):
        critical_points(HopfieldModel(np.ones((3, 2)), alpha=2.0))
