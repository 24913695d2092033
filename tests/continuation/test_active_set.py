"""The exact tracer at α = 2 against closed forms, independent bisection, sweeps, and its own reverse."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from hopfieldphase.continuation import face as face_module
from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.discovery import discover
from hopfieldphase.continuation.face import Face, StoredPatterns
from hopfieldphase.continuation.landing import settle
from hopfieldphase.core.closed_forms import pair_interval, uniform_spinodal
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered, equicorrelated
from hopfieldphase.phases.enumeration import enumerate_minima
from hopfieldphase.solvers import relax

# Events are zeros of sums of a few poles, resolved to rounding and compared at the promised precision.
EVENT = 1e-12
# States follow from them; near a pole they lose the digits that t − λ_max loses.
STATE = 1e-9


def planar(*degrees):
    angles = np.deg2rad(degrees)
    return HopfieldModel(np.stack([np.cos(angles), np.sin(angles)], axis=1), alpha=2.0, scale=1.0)


def random_model(seed, M=8, d=4, unit=True):
    rows = np.random.default_rng(seed).normal(size=(M, d))
    if unit:
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return HopfieldModel(rows, alpha=2.0, scale=1.0)


def traced(model, beta):
    """One branch for each minimum found at β."""
    return [trace(model, state.support, beta) for state in discover(model, beta).states]


def stationary(gram, support, t):
    """Weights and θ on a fixed support from the linear equations (tI − G) p = −θ 1, Σp = 1."""
    k = len(support)
    bordered = np.ones((k + 1, k + 1))
    bordered[:k, :k] = t * np.eye(k) - gram[np.ix_(support, support)]
    bordered[k, k] = 0.0
    solution = np.linalg.solve(bordered, np.append(np.zeros(k), 1.0))
    return solution[:k], solution[k]


def slack(gram, support, j, t):
    weights, theta = stationary(gram, support, t)
    return theta - gram[j, support] @ weights


def independent_event(model, piece, event):
    """The value of β of an event, by bisection on the equations of the piece's support alone."""
    gram, support = np.asarray(model.gram), list(piece.support)
    t = 2 / event.parameter
    (pattern,) = event.patterns
    if event.kind is PointKind.LEAVES:
        i = support.index(pattern)
        root = brentq(lambda u: stationary(gram, support, u)[0][i], t * 0.999, t * 1.001, xtol=1e-15 * t)
    else:
        root = brentq(lambda u: slack(gram, support, pattern, u), t * 0.999, t * 1.001, xtol=1e-15 * t)
    return 2 / root


# --- Three planar vectors ----------------------------------------------------------------------------------


def test_three_planar_vectors():
    model = planar(0, 50, 140)
    low = trace(model, (0, 1), 3.0)
    assert [piece.support for piece in low.pieces] == [(0, 1, 2), (0, 1)]
    assert low.lower == 0.0
    assert low.ends[0].kind is PointKind.UNBOUNDED
    assert low.pieces[0].upper == pytest.approx(0.830278, abs=1e-6)
    assert low.upper == pytest.approx(5.598910, abs=1e-6)
    assert low.special_points[1].label == "leaves:2"
    assert low.pieces[1].lower_event.label == "enters:2"
    assert low.ends[1].kind is PointKind.SPINODAL
    pair = trace(model, (1, 2), 1.9)
    assert (pair.lower, pair.upper) == (pytest.approx(1.780542, abs=1e-5), pytest.approx(2.0, rel=EVENT))
    assert [end.label for end in pair.ends] == ["enters:0", "spinodal"]
    for single, partner, onset in ((2, 1, 2.0), (0, 1, 5.598910), (1, 0, 5.598910)):
        branch = trace(model, (single,), 10.0)
        assert branch.lower == pytest.approx(onset, abs=1e-6)
        assert branch.ends[0].label == f"enters:{partner}"
        assert branch.ends[0].is_jump
        assert math.isinf(branch.upper)


def test_three_planar_vectors_against_bisection():
    model = planar(0, 50, 140)
    low, pair = trace(model, (0, 1), 3.0), trace(model, (1, 2), 1.9)
    leaves = independent_event(model, low.pieces[0], low.special_points[1])
    assert low.special_points[1].parameter == pytest.approx(leaves, rel=EVENT)
    enters = independent_event(model, pair.pieces[0], pair.ends[0])
    assert pair.lower == pytest.approx(enters, rel=EVENT)
    c = math.cos(math.radians(50))
    assert low.upper == pytest.approx(2 / (1 - c), rel=EVENT)


def test_losing_a_single_pattern_is_a_jump_with_continuous_energy():
    model = planar(0, 50, 140)
    end = trace(model, (2,), 3.0).ends[0]
    assert not end.goes_on
    assert end.landing is not None
    assert end.landing.support == (1, 2)
    assert end.landing.free_energy == pytest.approx(end.state.free_energy, abs=1e-7)
    assert np.linalg.norm(end.landing.x - end.state.x) > 0.1


# --- Random systems ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_events_against_bisection(seed):
    """Leaves and enters to 1e-12 where an independent bisection is that well conditioned itself."""
    model = random_model(seed, unit=seed % 3 > 0)
    compared = 0
    for branch in traced(model, 2.0):
        for piece in branch.pieces:
            for event in (piece.lower_event, piece.upper_event):
                well_apart = 2 / event.parameter > 1.05 * piece.face.top if event.parameter else False
                single = len(event.patterns) == 1 and math.isfinite(event.parameter)
                if event.kind in (PointKind.LEAVES, PointKind.ENTERS) and single and well_apart:
                    assert event.parameter == pytest.approx(independent_event(model, piece, event), rel=EVENT)
                    compared += 1
    assert compared > 5


@pytest.mark.parametrize("seed", range(10))
def test_states_are_strict_minima_everywhere(seed):
    model = random_model(seed, unit=seed % 2 == 0)
    for branch in traced(model, 3.0):
        for piece in branch.pieces:
            top = min(piece.upper, 20 * max(piece.lower, 1.0))
            for share in (0.02, 0.5, 0.98):
                beta = piece.lower + share * (top - piece.lower)
                state = branch.at(beta)
                assert model.gradient_residual(state.x, beta) < STATE
                np.testing.assert_allclose(state.weights, model.weights(state.x, beta), atol=STATE)
                assert state.free_energy == pytest.approx(model.free_energy(state.x, beta), abs=STATE)
                softest = np.linalg.eigvalsh(model.hessian(state.x, beta))[0] / beta
                assert state.hessian_min == pytest.approx(softest, abs=STATE)
                assert softest > 0
                assert state.overlap_max == pytest.approx(np.abs(model.overlaps(state.x)).max(), abs=STATE)


@pytest.mark.parametrize("seed", range(10))
def test_pieces_join(seed):
    model = random_model(seed)
    for branch in traced(model, 1.5):
        for below, above in zip(branch.pieces, branch.pieces[1:], strict=False):
            assert below.upper == above.lower
            assert below.lower < below.upper
            joint = below.upper
            np.testing.assert_allclose(below.at(joint).x, above.at(joint).x, atol=STATE)
            assert len(set(below.support) ^ set(above.support)) == 1
            assert below.upper_event.goes_on
        assert branch.special_points[0] is branch.pieces[0].lower_event
        assert branch.special_points[-1] is branch.pieces[-1].upper_event
        assert len(branch.special_points) == len(branch.pieces) + 1


@pytest.mark.parametrize("seed", range(10))
def test_reversed_branch_is_the_same(seed):
    model = random_model(seed, M=10, d=5, unit=seed % 2 == 0)
    for branch in traced(model, 2.5):
        for piece in (branch.pieces[0], branch.pieces[-1]):
            again = trace(model, piece.support, min((piece.lower + piece.upper) / 2, piece.lower + 5.0))
            assert [p.support for p in again.pieces] == [p.support for p in branch.pieces]
            for p, q in zip(again.pieces, branch.pieces, strict=True):
                assert p.lower == pytest.approx(q.lower, rel=EVENT)
                assert p.upper == pytest.approx(q.upper, rel=EVENT)
            assert [p.label for p in again.special_points] == [p.label for p in branch.special_points]


@pytest.mark.parametrize("seed", range(6))
def test_nothing_stable_is_left_beyond_an_end(seed):
    """Just beyond an end no strict minimum lies near the end state; the landing state lies below."""
    model = random_model(seed, M=7, d=4)
    for branch in traced(model, 2.0):
        for end, sign in zip(branch.ends, (-1, 1), strict=True):
            if not end.is_jump:
                continue
            beyond = enumerate_minima(model, end.parameter * (1 + sign * 1e-7))
            distances = [np.linalg.norm(state.x - end.state.x) for state in beyond.minima]
            assert min(distances) > 1e-3
            assert end.landing.support in [state.support for state in beyond.minima]
            assert end.landing.free_energy <= end.state.free_energy + 1e-6


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), M=st.integers(3, 10), d=st.integers(2, 6), log_beta=st.floats(-0.5, 3.0))
def test_no_nested_supports_coexist(seed, M, d, log_beta):
    """Bishop and Cannings (1978): supports of coexisting strict minima form an antichain at α = 2."""
    model = random_model(seed, M, d)
    beta = math.exp(log_beta)
    minima = enumerate_minima(model, beta).minima
    supports = [set(state.support) for state in minima]
    assert not any(a < b for a in supports for b in supports)
    for state in minima:
        branch = trace(model, state.support, beta)
        assert branch.lower <= beta <= branch.upper
        assert branch.at(beta).support == state.support


@pytest.mark.parametrize("seed", range(20))
def test_pair_interval_is_the_closed_form(seed):
    model = random_model(seed, M=6, d=6)
    found = 0
    for i in range(model.M):
        for j in range(i):
            interval = pair_interval(np.asarray(model.gram), j, i)
            if interval is None:
                continue
            lower, upper = interval
            branch = trace(model, (j, i), min((lower + upper) / 2, 2 * lower + 1.0))
            (piece,) = [piece for piece in branch.pieces if piece.support == (j, i)]
            assert piece.lower == pytest.approx(lower, rel=1e-11)
            assert piece.upper == pytest.approx(upper, rel=EVENT)
            found += 1
    assert found > 0


def test_spinodal_is_where_the_formula_says():
    """λ_max(P G P) = 2/β holds on every support at α = 2, uniform or not."""
    for seed in range(10):
        model = random_model(seed)
        for branch in traced(model, 3.0):
            end = branch.ends[1]
            if end.kind is PointKind.SPINODAL:
                support = list(end.state.support)
                gram = np.asarray(model.gram)[np.ix_(support, support)]
                assert end.parameter == pytest.approx(uniform_spinodal(gram, 2.0), rel=EVENT)
                assert end.state.hessian_min == pytest.approx(0.0, abs=1e-15)


# --- The same branch by other means ------------------------------------------------------------------------


def test_agrees_with_a_warm_started_sweep():
    """Plain NumPy: x ← T(x) from the last state, then one linear solve on its support."""
    model = HopfieldModel(clustered(100, 64, seed=0), alpha=2.0)
    gram = np.asarray(model.gram)
    start = relax(model, model.patterns.mean(axis=0) / 8, 60.0)
    branch = trace(model, start.support.tolist(), 60.0, 20.0, 400.0)
    x = start.x
    for beta in np.arange(60.0, branch.upper, 4.0):
        for _ in range(4000):
            image = model.retrieve(x, beta)
            moved, x = np.linalg.norm(image - x), image
            if moved < 1e-13:
                break
        support = np.flatnonzero(model.weights(x, beta))
        weights, theta = stationary(gram, support, 2 / beta)
        exact = branch.at(beta)
        assert exact.support == tuple(support)
        np.testing.assert_allclose(exact.weights[support], weights, atol=STATE)
        assert exact.threshold == pytest.approx(theta, rel=STATE)
        np.testing.assert_allclose(exact.x, x, atol=STATE)


def test_the_paper_data_has_many_branches_at_290():
    for realization in range(10):
        model = HopfieldModel(clustered(100, 64, realization=realization), alpha=2.0)
        found = discover(model, 290.0, beta_low=20.0)
        assert len(found.states) >= 5
        assert found.n_undecided == 0


# --- Ranges, degeneracies, bad input -----------------------------------------------------------------------


def test_range_ends_are_hit_exactly():
    model = random_model(1)
    branch = trace(model, discover(model, 2.0).states[0].support, 2.0, 1.9, 2.1)
    assert (branch.lower, branch.upper) == (1.9, 2.1)
    assert branch.at(1.9).beta == 1.9
    for end in branch.ends:
        assert end.kind is PointKind.RANGE
        assert not end.is_jump
        assert end.landing is None


def test_the_state_of_low_beta_reaches_zero_on_all_patterns():
    model = random_model(5, M=7, d=3)
    branch = trace(model, range(7), 1e-3)
    assert branch.ends[0].kind is PointKind.UNBOUNDED
    assert branch.lower == 0.0
    np.testing.assert_allclose(branch.at(1e-9).weights, 1 / 7, atol=1e-8)
    with pytest.raises(InputError, match=r"beta = 0\.0 is outside its domain"):
        branch.at(0.0)


@pytest.mark.parametrize("M", [2, 3, 10])
def test_equidistant_patterns_are_degenerate(M):
    """K = b (1 − c) = 2: every state is stationary there."""
    model = HopfieldModel(equicorrelated(M, M, cosine=0.2), alpha=2.0, scale=1.0)
    uniform = trace(model, range(M), 1.0)
    assert uniform.upper * 0.8 == pytest.approx(2.0, rel=EVENT)
    end = uniform.ends[1]
    assert end.kind is PointKind.SPINODAL
    assert end.multiplicity == M - 1
    assert end.degenerate == (M > 2)
    assert end.landing.support == (0,)
    vertex = trace(model, (M - 1,), 4.0)
    onset = vertex.ends[0]
    assert onset.parameter * 0.8 == pytest.approx(2.0, rel=EVENT)
    assert onset.patterns == tuple(range(M - 1))
    assert onset.degenerate == (M > 2)
    assert onset.landing is not None


def test_duplicates_share_their_weight_up_to_infinity():
    rows = random_model(3).patterns.copy()
    rows[5] = rows[2]
    model = HopfieldModel(rows, alpha=2.0, scale=1.0)
    branch = trace(model, (2, 5), 200.0)
    assert branch.ends[1].kind is PointKind.UNBOUNDED
    for beta in (1e-3, 1.0, 50.0, 1e4):
        weights = branch.at(beta).weights
        assert weights[2] == pytest.approx(weights[5], abs=1e-12)
    with pytest.raises(InputError, match="no branch of strict minima"):
        trace(model, (2,), 200.0)


def test_patterns_that_leave_together_are_one_event():
    """A mirror image: 1 and 2 are equivalent, and leave the state of 0 at the same β."""
    model = planar(0, 60, -60)
    branch = trace(model, (0, 1, 2), 0.1)
    joints = [point for point in branch.special_points if point.goes_on]
    assert all(len(point.patterns) in (1, 2) for point in joints)
    rows = np.array([[2.0, 0.0], [0.8, 0.6], [0.8, -0.6]])
    heavy = trace(HopfieldModel(rows, alpha=2.0, scale=1.0), (0,), 10.0)
    (joint,) = [point for point in heavy.special_points if point.goes_on]
    assert joint.patterns == (1, 2)
    assert joint.multiplicity == 2
    assert heavy.pieces[0].support == (0, 1, 2)
    # p₁ = p₂ → 0 at t = |ξ₀|² − ξ₀·ξ₁ = 4 − 1.6
    assert joint.parameter == pytest.approx(2 / 2.4, rel=EVENT)


def test_unequal_norms_turn_the_pair_spinodal_into_a_kink():
    rows = np.array([[1.0, 0.0], [0.6, 0.9]])
    model = HopfieldModel(rows, alpha=2.0, scale=1.0)
    branch = trace(model, (0, 1), 0.5)
    assert branch.pieces[-1].support == (1,)
    assert branch.special_points[1].label == "leaves:0"
    # |ξ₁|² − ξ₀·ξ₁ = 1.17 − 0.6
    assert branch.special_points[1].parameter == pytest.approx(2 / 0.57, rel=EVENT)


@pytest.mark.parametrize("seed", range(3))
def test_without_the_whole_gram_matrix(seed, monkeypatch):
    """Many patterns: rows of G are computed for the support alone, and for a pattern when it enters."""
    model = random_model(seed, M=10, d=4)
    expected = traced(model, 2.0)
    monkeypatch.setattr(face_module, "LARGEST_GRAM", 3)
    for branch in expected:
        again = trace(model, branch.at(2.0).support, 2.0)
        assert [piece.support for piece in again.pieces] == [piece.support for piece in branch.pieces]
        for p, q in zip(again.special_points, branch.special_points, strict=True):
            assert p.label == q.label
            assert p.parameter == pytest.approx(q.parameter, rel=EVENT)
            if p.state is not None:
                np.testing.assert_allclose(p.state.x, q.state.x, atol=STATE)


@pytest.mark.parametrize("seed", range(3))
def test_joint_states_are_those_of_both_pieces(seed):
    model = random_model(seed, M=9, d=5, unit=seed > 0)
    for branch in traced(model, 1.5):
        for below, above in zip(branch.pieces, branch.pieces[1:], strict=False):
            joint = below.upper_event.state
            for piece in (below, above):
                state = piece.at(below.upper)
                np.testing.assert_allclose(joint.x, state.x, atol=STATE)
                np.testing.assert_allclose(joint.weights, state.weights, atol=STATE)
                assert joint.free_energy == pytest.approx(state.free_energy, rel=EVENT)
                assert joint.threshold == pytest.approx(state.threshold, rel=STATE)
                assert joint.overlap_max == pytest.approx(state.overlap_max, rel=STATE)
            smaller = min(below, above, key=lambda piece: len(piece.support))
            assert joint.support == smaller.support
            assert joint.hessian_min == pytest.approx(smaller.at(below.upper).hessian_min, abs=STATE)


def test_cap_on_events_is_reported():
    model = random_model(5, M=9, d=3)
    branch = trace(model, range(9), 1e-3, max_events=1)
    assert branch.ends[1].kind is PointKind.LIMIT
    assert not branch.status.is_minimum


def test_exact_descent_ends_at_a_strict_minimum():
    for seed in range(8):
        model = random_model(seed, M=9, d=4)
        t = 0.5
        face = settle(StoredPatterns(model), t, np.full(9, 1 / 9))
        assert face is not None
        supports = {state.support for state in enumerate_minima(model, 2 / t).minima}
        assert face.patterns in supports


def test_face_energy_is_the_slope_of_its_legendre_form():
    """D(t (Γ + 1))/dt = |p|², by a difference quotient of fourth order."""
    model = random_model(2)
    face = Face(StoredPatterns(model), (0, 3, 5))
    t = face.top + 1.0
    h = 1e-3
    quotient = (
        8 * (face.energy(t + h) - face.energy(t - h)) - face.energy(t + 2 * h) + face.energy(t - 2 * h)
    ) / (12 * h)
    assert quotient == pytest.approx(float(np.sum(face.weights(t) ** 2)), abs=1e-10)


def test_bad_input():
    model = random_model(0)
    with pytest.raises(InputError, match="needs alpha = 2"):
        trace(HopfieldModel(model.patterns, alpha=1.5), (0,), 1.0)
    with pytest.raises(InputError, match="outside the range"):
        trace(model, (0,), 1.0, 2.0, 3.0)
    with pytest.raises(InputError, match="no branch of strict minima"):
        trace(model, (0,), 0.01)
    branch = trace(model, range(8), 1e-3, 1e-4, 1e-2)
    with pytest.raises(InputError, match=r"beta = 1\.0 is not on this branch"):
        branch.at(1.0)
