"""Branches of the Hopfield model by arclength, against closed forms, the exact tracer and sweeps."""

import json
from itertools import pairwise, takewhile
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq

from hopfieldphase import patterns
from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.arclength import continue_curve, switch_curve
from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.curve import CurvePointKind
from hopfieldphase.continuation.following import follow_arclength
from hopfieldphase.continuation.problems import FaceProblem, MotionProblem, state_at
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import relax

TABLE = 1e-9
"""What is promised for the critical points of equidistant patterns."""
ROUNDING = 1e-12
"""States and energies that Newton's method has converged to, through a few more operations."""
PRINTED = 1e-9
"""Digits of the table of critical points."""

# Equidistant patterns: α, M, K_spin, K_coex, K_inst, K_vertex.
EQUIDISTANT = [
    (1.0, 3, 2.745643577, 2.772588722, 3.0, None),
    (1.0, 100, 7.458675454, 9.284017656, 100.0, None),
    (1.25, 10, 3.596820081, 3.876389724, 7.029266565, 5.0),
    (1.5, 3, 2.449489743, 2.465853273, 2.598076211, 3.0),
    (1.5, 10, 2.846049894, 3.038987707, 4.743416490, 3.0),
    (1.5, 100, 2.984962311, 3.636363636, 15.0, 3.0),
    (1.75, 10, 2.325780082, 2.436065360, 3.111988968, 7 / 3),
]


def rotated(M, alpha):
    """Orthonormal patterns in a random frame, so that no axis is special; unit scale."""
    q, _ = np.linalg.qr(np.random.default_rng(3).standard_normal((M, M)))
    return HopfieldModel(q, alpha=alpha, scale=1.0)


def events(branch, *kinds):
    return [point for point in branch.special_points if point.kind in kinds]


def retrieval_branch(model, upper):
    start = relax(model, model.patterns[0] * model.scale, upper)
    return follow_arclength(model, start.x, upper, 1.0, upper)


@pytest.mark.parametrize(("alpha", "M", "spinodal", "coexistence", "instability", "vertex"), EQUIDISTANT)
def test_critical_points_of_equidistant_patterns(alpha, M, spinodal, coexistence, instability, vertex):
    model = rotated(M, alpha)
    upper = 1.1 * max(coexistence, vertex or 0.0)
    retrieval = retrieval_branch(model, upper)
    assert retrieval.status == 0
    fold = events(retrieval, PointKind.FOLD)[0]
    assert fold.parameter == pytest.approx(spinodal, abs=TABLE)
    assert sorted(p.index for p in retrieval.pieces if p.lower_event.kind is PointKind.FOLD) == [0, 1]
    if vertex is not None:
        onset = events(retrieval, PointKind.ENTERS, PointKind.LEAVES)
        whole = [point for point in onset if point.multiplicity == M - 1]
        assert [point.parameter for point in whole] == pytest.approx([vertex], abs=TABLE)

    uniform = follow_arclength(model, model.patterns.mean(axis=0), 1.5, 1.0, 1.1 * instability)
    crossing = uniform.special_points[1:-1]
    assert [(point.kind, point.multiplicity) for point in crossing] == [(PointKind.BRANCH_POINT, M - 1)]
    assert crossing[0].parameter == pytest.approx(instability, abs=TABLE)
    assert [piece.index for piece in uniform.pieces] == [0, M - 1]

    def excess(beta):
        return retrieval.at(beta).free_energy - uniform.at(beta).free_energy

    start, stop = fold.parameter * (1 + 1e-9), min(upper, instability)
    assert excess(start) > 0 > excess(stop)
    assert brentq(excess, start, stop, xtol=1e-13, rtol=1e-14) == pytest.approx(coexistence, abs=TABLE)


def test_the_followed_branch_meets_the_uniform_state_as_one_event():
    """On through the fold, the unstable arm crosses the uniform state at K = M with its multiplicity."""
    for M in (3, 4, 10):
        branch = retrieval_branch(rotated(M, 1.0), M + 2.0)
        (event,) = events(branch, PointKind.BRANCH_POINT)
        assert (event.parameter, event.multiplicity) == (pytest.approx(M, abs=TABLE), M - 1)


def test_reference_values_of_orthonormal_softmax():
    file = Path(__file__).parents[1] / "reference" / "values.json"
    for case in json.loads(file.read_text(encoding="utf-8"))["orthonormal_softmax"]:
        M, instability = case["M"], case["beta_spinodal_uniform"]
        if M > 10:
            continue  # M = 100 is part of the table above
        model = rotated(M, 1.0)
        retrieval = retrieval_branch(model, 1.2 * instability)
        uniform = follow_arclength(model, model.patterns.mean(axis=0), 1.5, 1.0, 1.2 * instability)

        def excess(beta, retrieval=retrieval, uniform=uniform):
            return retrieval.at(beta).free_energy - uniform.at(beta).free_energy

        found = brentq(excess, retrieval.lower * (1 + 1e-9), instability, xtol=1e-13, rtol=1e-14)
        assert found == pytest.approx(case["beta_coexist"], rel=ROUNDING * 100)


def test_two_softmax_keys_have_the_curie_weiss_pitchfork():
    problem = MotionProblem(rotated(2, 1.0))
    model = rotated(2, 1.0)
    curve = continue_curve(problem, model.patterns.mean(axis=0), 1.0, p_min=1.0, p_max=4.0)
    event = curve.special_points[1]
    assert event.kind is CurvePointKind.PITCHFORK
    assert event.parameter == pytest.approx(2.0, abs=TABLE)
    arms = switch_curve(curve, event, p_min=1.0, p_max=4.0, requested=[2.1, 3.0])
    assert len(arms) == 2
    for coupling in (2.1, 3.0, 4.0):
        exact = brentq(lambda m, k=coupling: m - np.tanh(k * m / 2), 0.1, 1.0, xtol=1e-15, rtol=1e-15)
        found = [model.patterns @ arm.at(coupling)[0] for arm in arms]
        assert sorted(p[0] - p[1] for p in found) == pytest.approx([-exact, exact], abs=1e-12)
    for arm in arms:
        assert np.all(arm.index[1:] == 0)


@pytest.mark.parametrize("alpha", [0.7, 1.0, 1.3, 1.5])
def test_two_keys_turn_continuously_below_alpha_2(alpha):
    """The mixed state loses stability at b_mix to arms that are stable from there on (supercritical)."""
    cosine = 0.3
    model = HopfieldModel(patterns.two_keys(cosine, d=5), alpha=alpha, scale=1.0)
    mix = alpha * 2 ** (2 - alpha) / (1 - cosine)
    problem = MotionProblem(model)
    start = problem.unknown(state_at(model, model.patterns.mean(axis=0), 1.0))
    curve = continue_curve(problem, start, 1.0, p_min=1.0, p_max=2 * mix)
    event = curve.special_points[1]
    assert event.kind is CurvePointKind.PITCHFORK
    assert event.parameter == pytest.approx(mix, abs=TABLE)
    for arm in switch_curve(curve, event, p_min=1.0, p_max=2 * mix):
        assert arm.parameter.min() == pytest.approx(mix, abs=TABLE)
        assert np.all(arm.index[1:] == 0)
        if alpha > 1:
            onset = alpha / ((alpha - 1) * (1 - cosine))
            entered = [point.parameter for point in arm.special_points[1:-1]]
            assert entered == (pytest.approx([onset], abs=TABLE) if onset < 2 * mix else [])


@pytest.mark.parametrize(("alpha", "first_order"), [(1.75, False), (2.25, True), (2.75, True), (3.5, False)])
def test_order_of_the_two_key_transition_changes_at_alpha_2_and_3(alpha, first_order):
    """The branch from one key to the other runs through the mixed state at b_mix.

    In between it is unstable and reaches beyond b_vertex for 2 < α < 3, where both ends are stable together
    and have equal energies at 4(1 − 2^{1−α})/((α−1)(1−ε)); elsewhere it is stable.
    """
    cosine = 0.3
    model = HopfieldModel(patterns.two_keys(cosine, d=5), alpha=alpha, scale=1.0)
    mix = alpha * 2 ** (2 - alpha) / (1 - cosine)
    vertex = alpha / ((alpha - 1) * (1 - cosine))
    branch = follow_arclength(model, model.patterns[0], 1.2 * max(mix, vertex), 0.5, 1.3 * max(mix, vertex))
    assert [piece.support for piece in branch.pieces] in (
        [(1,), (0, 1), (0, 1), (0,)],
        [(0,), (0, 1), (0, 1), (1,)],
    )
    (crossing,) = events(branch, PointKind.PITCHFORK)
    assert crossing.parameter == pytest.approx(mix, abs=TABLE)
    onsets = [point.parameter for point in events(branch, PointKind.ENTERS, PointKind.LEAVES)]
    assert onsets == pytest.approx([vertex, vertex], abs=TABLE)
    assert (mix > vertex) == first_order
    assert [piece.index for piece in branch.pieces] == ([0, 1, 1, 0] if first_order else [0, 0, 0, 0])
    if first_order:
        mixed = follow_arclength(model, model.patterns.mean(axis=0), 0.9 * mix, 0.8 * mix, 1.3 * mix)

        def excess(beta):
            return branch.at(beta).free_energy - mixed.at(beta).free_energy

        coexistence = 4 * (1 - 2 ** (1 - alpha)) / ((alpha - 1) * (1 - cosine))
        assert brentq(excess, vertex, mix, xtol=1e-13) == pytest.approx(coexistence, abs=TABLE)


@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.25, 1.5, 1.75, 1.95, 2.0, 2.5, 3.5])
def test_every_piece_is_stationary_with_the_index_of_its_hessian(alpha):
    model = HopfieldModel(patterns.clustered(14, 8, clusters=3, seed=2), alpha=alpha)
    beta = 400.0 if alpha < 1 else 120.0
    start = relax(model, model.patterns[3] * model.scale, beta)
    branch = follow_arclength(model, start.x, beta, 0.2 * beta, 1.5 * beta)
    assert branch.status == 0 or alpha == 2.0
    checked = 0
    for piece in branch.pieces:
        if piece.upper - piece.lower < 1e-6 * piece.upper:
            continue  # too short for its values to differ from those of its ends
        checked += 1
        for fraction in (0.03, 0.5, 0.98):
            value = piece.lower + fraction * (piece.upper - piece.lower)
            state = piece.at(value)
            assert state.support == piece.support
            assert float(model.gradient_residual(state.x, value)) <= ROUNDING
            assert abs(float(model.duality_residual(state.x, value))) <= ROUNDING
            assert float(model.free_energy(state.x, value)) == pytest.approx(state.free_energy, rel=ROUNDING)
            spectrum = np.linalg.eigvalsh(model.hessian(state.x, value)) / value
            assert state.hessian_min == pytest.approx(spectrum[0], abs=1e-9 * max(1.0, abs(spectrum[0])))
            assert np.count_nonzero(spectrum < 0) == piece.index
    assert checked >= 1


@pytest.mark.parametrize("alpha", [1.0, 1.25, 1.75, 2.5])
def test_pieces_join_and_states_are_continuous(alpha):
    model = HopfieldModel(patterns.clustered(14, 8, clusters=3, seed=2), alpha=alpha)
    start = relax(model, model.patterns[3] * model.scale, 120.0)
    branch = follow_arclength(model, start.x, 120.0, 24.0, 180.0)
    inner = branch.special_points[1:-1]
    for point, (before, after) in zip(inner, pairwise(branch.pieces), strict=True):
        joint = point.parameter
        assert joint in (before.lower, before.upper)
        assert joint in (after.lower, after.upper)
        distance = np.abs(before.at(joint).x - after.at(joint).x).max()
        assert distance <= 1e-9 * model.state_scale
        assert point.bracket[0] <= joint <= point.bracket[1]


def name(point):
    """The kind of a point and what acts there, seen from either side."""
    support_change = point.kind in (PointKind.ENTERS, PointKind.LEAVES)
    return "support" if support_change else str(point.kind), point.patterns, point.multiplicity


@pytest.mark.parametrize("alpha", [1.0, 1.5, 1.75, 2.5])
def test_following_from_another_point_gives_the_same_branch(alpha):
    model = HopfieldModel(patterns.clustered(14, 8, clusters=3, seed=2), alpha=alpha)
    start = relax(model, model.patterns[3] * model.scale, 120.0)
    branch = follow_arclength(model, start.x, 120.0, 24.0, 180.0)
    for piece in (branch.pieces[0], branch.pieces[len(branch.pieces) // 2]):
        value = 0.4 * piece.lower + 0.6 * piece.upper
        again = follow_arclength(model, piece.at(value).x, value, 24.0, 180.0)
        ours, theirs = branch.special_points, again.special_points
        if ours[0].state is not None and theirs[0].state is not None:
            flipped = np.abs(ours[0].state.x - theirs[0].state.x).max() > 1e-6 * model.state_scale
            theirs = theirs[::-1] if flipped else theirs
        assert [point.parameter for point in theirs] == pytest.approx(
            [point.parameter for point in ours], rel=1e-11
        )
        assert [name(point) for point in theirs] == [name(point) for point in ours]


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.5])
def test_agrees_with_the_warm_started_sweep_down_to_the_fold(alpha):
    model = HopfieldModel(patterns.clustered(14, 8, clusters=3, seed=2), alpha=alpha)
    betas = np.linspace(30.0, 160.0, 66)
    swept = sweep(model, betas, keep_states=True)
    assert swept.state is not None
    branch = follow_arclength(model, swept.state[1, -1], betas[-1], betas[0], betas[-1], requested=betas)
    at_start = branch.pieces if branch.pieces[0].index == 0 else branch.pieces[::-1]
    stable = list(takewhile(lambda piece: piece.index == 0, at_start))
    on_branch = betas > min(piece.lower for piece in stable)
    # the sweep stays on the branch as long as the branch is stable, and leaves it at the next grid point
    jumps = np.flatnonzero(swept.jumped[1])
    assert not np.any(on_branch[jumps])
    assert on_branch.sum() > 5
    for n in np.flatnonzero(on_branch):
        state = next(piece for piece in stable if piece.contains(betas[n])).at(float(betas[n]))
        assert np.abs(state.x - swept.state[1, n]).max() <= 1e-9 * model.state_scale
        assert state.free_energy == pytest.approx(swept.free_energy[1, n], rel=1e-11)


def test_agrees_with_the_exact_tracer_at_alpha_2():
    model = HopfieldModel(patterns.clustered(30, 16, seed=1), alpha=2.0)
    beta = 50.0
    start = relax(model, model.patterns.mean(axis=0) * model.scale, beta)
    exact = trace(model, start.support.tolist(), beta, 20.0, 90.0)
    ours = follow_arclength(model, start.x, beta, 20.0, 90.0)
    assert len(exact.pieces) > 3
    for piece in exact.pieces:
        same = next(other for other in ours.pieces if other.support == piece.support and other.index == 0)
        assert (same.lower, same.upper) == pytest.approx((piece.lower, piece.upper), rel=1e-11)
        for fraction in (0.1, 0.9):
            value = piece.lower + fraction * (piece.upper - piece.lower)
            a, b = piece.at(value), same.at(value)
            assert np.abs(a.x - b.x).max() <= 1e-11 * model.state_scale
            assert a.free_energy == pytest.approx(b.free_energy, rel=1e-12)
            assert a.hessian_min == pytest.approx(b.hessian_min, abs=1e-11)


def test_loss_of_stability_carries_the_state_beyond():
    model = rotated(10, 1.0)
    fold = events(retrieval_branch(model, 8.0), PointKind.FOLD)[0]
    assert fold.landing is not None
    assert fold.landing.beta < fold.parameter
    assert fold.landing.weights == pytest.approx(np.full(10, 0.1), abs=1e-9)
    assert fold.state is not None
    assert fold.landing.free_energy < fold.state.free_energy


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.25, 1.5, 1.75])
def test_derivatives_of_the_equation_of_motion(alpha):
    rng = np.random.default_rng(4)
    model = HopfieldModel(rng.standard_normal((6, 9)), alpha=alpha, scale=0.7)
    support = None if alpha <= 1 else (0, 1, 2, 4)
    problem = MotionProblem(model, support)
    state = state_at(model, model.patterns[:3].mean(axis=0), 0.3)
    check_derivatives(problem, problem.unknown(state), 0.3)


@pytest.mark.parametrize("alpha", [2.0, 2.5, 3.0, 4.2])
def test_derivatives_of_the_equations_of_the_weights(alpha):
    rng = np.random.default_rng(5)
    model = HopfieldModel(rng.standard_normal((6, 9)), alpha=alpha, scale=0.7)
    problem = FaceProblem(model, (0, 2, 3, 5))
    check_derivatives(problem, np.array([0.05, 0.1, -0.12]), 0.8)


def check_derivatives(problem, x, p):
    """Against central differences of sixth order."""
    weights = np.array([-1, 9, -45, 45, -9, 1]) / 60
    offsets = np.array([-3, -2, -1, 1, 2, 3])
    h = 1e-3
    size = max(np.abs(problem.F_x(x, p)).max(), np.abs(problem.F_p(x, p)).max())
    for i in range(len(x)):
        axis = np.eye(len(x))[i]
        slope = sum(w * problem.F(x + h * o * axis, p) for w, o in zip(weights, offsets, strict=True)) / h
        assert np.abs(problem.F_x(x, p)[:, i] - slope).max() <= 1e-9 * size
    slope = sum(w * problem.F(x, p * (1 + h * o)) for w, o in zip(weights, offsets, strict=True)) / (h * p)
    assert np.abs(problem.F_p(x, p) - slope).max() <= 1e-9 * size


def test_continued_weights_are_odd_about_the_threshold():
    """On a fixed support the curve goes on smoothly where a weight turns negative."""
    model = HopfieldModel(np.eye(3), alpha=1.8, scale=1.0)
    problem = MotionProblem(model, (0, 1, 2))
    beta = 2.5
    x = np.array([0.9, 0.3, -0.2])
    p = x - problem.F(x, beta)
    assert p.sum() == pytest.approx(1.0, abs=1e-14)
    assert p[2] < 0
    excess = np.sign(p) * np.abs(p) ** 0.8 * 1.8 / (0.8 * beta)
    assert np.ptp(x - excess) <= 1e-14


@pytest.mark.parametrize(
    ("alpha", "options", "message"),
    [
        (np.inf, {}, "alpha = inf"),
        (1.0, {"lower": 60.0}, "do not fit"),
        (1.0, {"upper": np.inf}, "do not fit"),
        (1.0, {"lower": 0.0}, "do not fit"),
        (1.0, {"beta": -1.0}, "beta = -1"),
        (1.5, {"x": np.full(8, 0.3)}, "not close to a stationary state|no solution"),
        (2.5, {"x": np.full(8, 0.3)}, "not close to a stationary state|no solution"),
        (1.5, {"requested": [1e6]}, "leave the range"),
    ],
)
def test_bad_input_is_named(alpha, options, message):
    model = HopfieldModel(patterns.clustered(14, 8, clusters=3, seed=2), alpha=alpha)
    arguments = {"x": model.patterns[3] * model.scale, "beta": 50.0, "lower": 10.0, "upper": 100.0} | options
    with pytest.raises(InputError, match=message):
        follow_arclength(model, **arguments)


def test_problems_name_the_alpha_they_are_for():
    model = HopfieldModel(np.eye(3), alpha=2.5)
    with pytest.raises(InputError, match="use FaceProblem"):
        MotionProblem(model)
    with pytest.raises(InputError, match="use MotionProblem"):
        FaceProblem(HopfieldModel(np.eye(3), alpha=1.5), (0, 1))
