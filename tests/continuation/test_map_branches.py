"""Curves of fixed points: normal forms of maps, retrieval with attention maps, and sweeps of them."""

from itertools import combinations

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st

import hopfieldphase as hp
from hopfieldphase.continuation.map_branches import follow_map, map_branches, map_problem
from hopfieldphase.continuation.map_curve import MapPointKind as Kind
from hopfieldphase.continuation.map_curve import MapProblem, continue_map, unit_circle_tests
from hopfieldphase.continuation.map_sweep import sweep_map
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.attention import (
    Entmax,
    Exponential,
    LogElu,
    Normmax,
    PositiveKernel,
    SquaredElu,
    TopK,
    TopP,
)
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel

FOLD = 1e-9
"""What is promised for folds of both engines."""
LOCATED = 1e-10
"""Flips and Neimark–Sacker points are simple zeros of smooth functions."""
CORNER = 1e-6
"""Corners are met to the smallest step, 1e-9 of the range of beta."""
ROUNDING = 1e-12
"""Two ways to the same numbers, of order one."""

DECREASING = PositiveKernel(lambda z: np.exp(-z), lambda z: -np.exp(-z))
BUMP = PositiveKernel(
    lambda z: np.exp(-((z - 1) ** 2) / 2) + 1e-3, lambda z: -(z - 1) * np.exp(-((z - 1) ** 2) / 2)
)
"""Prefers scores near 1, so that overlaps grow and shrink in turn."""

DELAYED_LOGISTIC = MapProblem(
    T=lambda x, p: np.array([p * x[0] * (1 - x[1]), x[0]]),
    T_x=lambda x, p: np.array([[p * (1 - x[1]), -p * x[0]], [1.0, 0.0]]),
    T_p=lambda x, p: np.array([x[0] * (1 - x[1]), 0.0]),
)


def scalar(T, T_x, T_p):
    """A map with one unknown from functions of floats."""
    return MapProblem(
        lambda x, p: np.array([T(x[0], p)]),
        lambda x, p: np.array([[T_x(x[0], p)]]),
        lambda x, p: np.array([T_p(x[0], p)]),
    )


LOGISTIC = scalar(lambda x, p: p * x * (1 - x), lambda x, p: p * (1 - 2 * x), lambda x, p: x * (1 - x))
SADDLE_NODE = scalar(lambda x, p: x + p - x**2, lambda x, p: 1 - 2 * x, lambda x, p: 1.0)
PITCHFORK = scalar(lambda x, p: (1 + p) * x - x**3, lambda x, p: 1 + p - 3 * x**2, lambda x, p: x)


def kinds(curve):
    return [point.kind for point in curve.special_points]


def test_a_neimark_sacker_point_is_where_theory_has_it():
    curve = continue_map(DELAYED_LOGISTIC, [1 / 3, 1 / 3], 1.5, p_min=1.2, p_max=2.5)
    assert kinds(curve) == [Kind.RANGE, Kind.NEIMARK_SACKER, Kind.RANGE]
    point = curve.special_points[1]
    assert point.parameter == pytest.approx(2.0, abs=LOCATED)
    assert point.rotation == pytest.approx(1 / 6, abs=LOCATED)
    np.testing.assert_allclose(point.state, [0.5, 0.5], atol=LOCATED)
    assert (point.unstable_before, point.unstable_after) == (0, 2)
    np.testing.assert_allclose(curve.at(1.7), [[1 - 1 / 1.7] * 2], atol=ROUNDING)
    assert len(curve.attracting_at(1.99)) == 1
    assert len(curve.attracting_at(2.01)) == 0


def test_a_flip_is_where_theory_has_it():
    curve = continue_map(LOGISTIC, [0.5], 2.0, p_min=1.5, p_max=3.5)
    assert kinds(curve) == [Kind.RANGE, Kind.FLIP, Kind.RANGE]
    point = curve.special_points[1]
    assert point.parameter == pytest.approx(3.0, abs=LOCATED)
    assert point.eigenvalue == pytest.approx(-1.0, abs=LOCATED)
    assert (point.unstable_before, point.unstable_after, point.rotation) == (0, 1, 0.5)


def test_a_transcritical_point_is_where_theory_has_it():
    curve = continue_map(LOGISTIC, [0.0], 0.5, p_min=0.2, p_max=2.0)
    assert kinds(curve)[1] in (Kind.TRANSCRITICAL, Kind.PITCHFORK)
    assert curve.special_points[1].parameter == pytest.approx(1.0, abs=LOCATED)


def test_a_fold_and_a_pitchfork_are_where_theory_has_them():
    fold = continue_map(SADDLE_NODE, [1.0], 1.0, p_min=-1.0, p_max=1.2)
    assert Kind.FOLD in kinds(fold)
    point = fold.special_points[kinds(fold).index(Kind.FOLD)]
    assert point.parameter == pytest.approx(0.0, abs=ROUNDING)
    assert {point.unstable_before, point.unstable_after} == {0, 1}
    cross = continue_map(PITCHFORK, [0.0], -0.5, p_min=-1.0, p_max=1.0)
    assert kinds(cross) == [Kind.RANGE, Kind.PITCHFORK, Kind.RANGE]
    assert cross.special_points[1].parameter == pytest.approx(0.0, abs=LOCATED)


def test_a_neutral_saddle_is_no_special_point():
    # Real eigenvalues p and 1/2, with product 1 at p = 2.
    linear = MapProblem(
        T=lambda x, p: np.array([p * x[0], x[1] / 2]),
        T_x=lambda x, p: np.diag([p, 0.5]),
        T_p=lambda x, p: np.array([x[0], 0.0]),
        state_scale=1.0,
    )
    curve = continue_map(linear, [0.0, 0.0], 1.7, p_min=1.5, p_max=2.5)
    assert kinds(curve) == [Kind.RANGE, Kind.RANGE]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 6), size=st.floats(0.2, 2.0))
def test_the_test_functions_are_determinants(seed, n, size):
    """Against the determinants themselves, the bialternate square written out by its entries."""
    jacobian = size * np.random.default_rng(seed).standard_normal((n, n))
    pairs = list(combinations(range(n), 2))
    square = np.array(
        [
            [jacobian[i, k] * jacobian[j, m] - jacobian[i, m] * jacobian[j, k] for k, m in pairs]
            for i, j in pairs
        ]
    )
    expected = [np.linalg.det(np.eye(n) + jacobian), np.linalg.det(np.eye(len(pairs)) - square)]
    expected = [value / (1 + abs(value)) for value in expected]
    np.testing.assert_allclose(unit_circle_tests(jacobian), expected, atol=1e-8)


def test_softmax_has_the_branches_of_its_free_energy():
    patterns = hp.patterns.clustered(30, 16, seed=1)
    betas = (40.0, 400.0)
    family = hp.branches(HopfieldModel(patterns, 1.0), 150.0, betas)
    found = map_branches(HopfieldModel(patterns, attention=Exponential()), 150.0, betas)
    assert (len(found), found.n_states) == (len(family), family.n_states)
    expected = sorted(p.parameter for b in family for p in b.special_points if str(p.kind) == "fold")
    folds = sorted(p.parameter for b in found for p in b.special_points if p.kind is Kind.FOLD)
    assert len(expected) == 5
    np.testing.assert_allclose(folds, expected, atol=FOLD)
    for theirs in family:
        # Among the arms of one branch the order may differ; all its states are on ours.
        for beta in (90.0, 200.0, 390.0):
            if theirs.lower <= beta <= theirs.upper:
                states = np.concatenate(
                    [b.at(beta) for b in found if b.parameter.min() <= beta <= b.parameter.max()]
                )
                for arm in theirs.arms(beta):
                    assert np.linalg.norm(states - arm.x, axis=1).min() < FOLD


def test_the_engine_for_maps_without_energy_agrees_with_that_for_gradients():
    """The same kernel as a function, for which nothing symmetric is assumed."""
    patterns = hp.patterns.clustered(30, 16, seed=1)
    general = PositiveKernel(np.exp, np.exp)
    betas = (60.0, 250.0)
    models = [HopfieldModel(patterns, attention=attention) for attention in (Exponential(), general)]
    folds = [
        sorted(
            p.parameter
            for b in map_branches(model, 150.0, betas)
            for p in b.special_points
            if p.kind is Kind.FOLD
        )
        for model in models
    ]
    assert len(folds[0]) == 5
    np.testing.assert_allclose(folds[1], folds[0], atol=FOLD)


def test_a_decreasing_kernel_flips_at_a_known_beta():
    # The symmetric state of two orthonormal patterns has the eigenvalue beta g'/(2 g) = -beta/2.
    model = HopfieldModel(np.eye(2), scale=1.0, attention=DECREASING)
    curve = follow_map(model, [0.5, 0.5], 1.0, (0.5, 4.0))
    assert kinds(curve) == [Kind.RANGE, Kind.FLIP, Kind.RANGE]
    assert curve.special_points[1].parameter == pytest.approx(2.0, abs=LOCATED)
    assert curve.spectral_radius[-1] == pytest.approx(2.0, abs=ROUNDING)


def test_retrieval_can_turn_to_an_invariant_curve():
    model = HopfieldModel(hp.patterns.spherical(6, 3, seed=9), scale=1.0, attention=BUMP)
    (curve,) = map_branches(model, 2.0, (1.0, 6.6))
    (point,) = [point for point in curve.special_points if point.kind is Kind.NEIMARK_SACKER]
    assert (point.unstable_before, point.unstable_after) == (0, 2)
    values = scipy.linalg.eigvals(model.map_jacobian(point.state, point.parameter))
    pair = values[values.imag > 0]
    assert np.abs(pair) == pytest.approx(1.0, abs=LOCATED)
    for shift, attracts in ((-0.02, True), (0.02, False)):
        beta = point.parameter + shift
        x = curve.at(beta)[0] + np.array([1e-3, 0.0, 0.0])
        for _ in range(5000):
            x = model.retrieve(x, beta)
        moves = np.linalg.norm(model.retrieve(x, beta) - x)
        assert moves < 1e-12 if attracts else 1e-3 < moves < 0.3


def test_a_fold_lies_where_the_sweep_jumps():
    model = HopfieldModel(2 * hp.patterns.gaussian(12, 6, seed=4), scale=1.0, attention=SquaredElu())
    betas = np.linspace(0.3, 3.0, 109)
    down = sweep_map(model, betas)
    (jump,) = np.flatnonzero(down.jumped[1])
    found = map_branches(model, 3.0, (0.3, 3.0))
    folds = [p.parameter for b in found for p in b.special_points if p.kind is Kind.FOLD]
    assert any(betas[jump] <= fold <= betas[jump + 1] for fold in folds)


def test_a_map_that_jumps_ends_its_branches():
    model = HopfieldModel(hp.patterns.clustered(20, 8), attention=TopP(0.7))
    for curve in map_branches(model, 60.0, (20.0, 200.0), top=2):
        assert Kind.JUMP in {end.kind for end in curve.ends}
        for end in curve.ends:
            before = model.attention.support(end.parameter * model.overlaps(end.state))
            if end.kind is Kind.JUMP:
                z = end.parameter * model.overlaps(end.state)
                mass = np.sort(Exponential().weights(z))[::-1].cumsum()
                assert np.abs(mass - 0.7).min() < 1e-6
            assert before.any()


def test_corners_are_where_the_exact_branches_have_their_events():
    # At alpha = 2 in the convention of the field beta is half that of the paper.
    patterns = hp.patterns.clustered(30, 16, seed=1)
    model, family = HopfieldModel(patterns, attention=Entmax(2.0)), HopfieldModel(patterns, alpha=2.0)
    jumps = 0
    for k in range(3):
        exact = hp.follow(family, family.patterns[k] / 4, 400.0)
        curve = follow_map(model, family.patterns[k] / 4, 200.0, (10.0, 250.0))
        corners = np.array([point.parameter for point in curve.special_points if point.kind is Kind.CORNER])
        for point in exact.special_points:
            if point.is_jump and 20.0 < point.parameter < 500.0:
                jumps += 1
                assert np.abs(2 * corners - point.parameter).min() < CORNER
    assert jumps >= 3


def test_sweeps_jump_where_corners_end_the_stability():
    model = HopfieldModel(hp.patterns.clustered(12, 8, clusters=2, seed=2), attention=Normmax(2.0))
    betas = np.arange(20.0, 80.0)
    down = sweep_map(model, betas, keep_states=True)
    assert down.state is not None
    places = np.flatnonzero(down.jumped[1])
    assert places.size == 4
    kinds = set()
    for place in places:
        low, high = betas[place], betas[place + 1]
        curve = follow_map(model, down.state[1, place + 1], high, (low, high))
        assert curve.parameter.min() > low
        turn = min(curve.special_points, key=lambda point: point.parameter)
        assert {turn.unstable_before, turn.unstable_after} == {0, 1}
        kinds.add(turn.kind)
        for x, beta in zip(curve.state, curve.parameter, strict=True):
            assert model.gradient_residual(x, beta) < FOLD
    assert kinds == {Kind.CORNER}


def test_every_point_of_a_branch_is_a_fixed_point():
    model = HopfieldModel(2 * hp.patterns.gaussian(12, 6, seed=4), scale=1.0, attention=SquaredElu())
    betas = np.linspace(0.2, 6.0, 30)
    for curve in map_branches(model, 3.0, betas):
        for x, beta, leading in zip(curve.state, curve.parameter, curve.eigenvalues[:, 0], strict=True):
            assert model.gradient_residual(x, beta) < ROUNDING
            assert model.spectral_radius(x, beta) == pytest.approx(abs(leading), abs=ROUNDING)
        inside = betas[(betas > curve.parameter.min()) & (betas < curve.parameter.max())]
        assert np.isin(inside, curve.parameter).all()


def test_beyond_the_domain_the_problem_is_not_a_number():
    problem = map_problem(HopfieldModel(np.eye(3), attention=LogElu()))
    x = np.ones(3)
    assert np.isnan(problem.T(x, -1.0)).all()
    assert np.isnan(problem.T_x(x, 0.0)).any()
    assert np.isnan(problem.T_p(x, 0.0)).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": 500.0}, "lies outside the range"),
        ({"betas": (5.0,)}, "betas has 1 values"),
        ({"betas": (-5.0, 50.0)}, "not positive"),
        ({"top": 0}, "top = 0"),
        ({"model": HopfieldModel(np.eye(4))}, "no attention map of its own"),
        ({"model": HopfieldModel(np.eye(2), scale=1.0, attention=DECREASING), "at": 30.0}, "none of"),
    ],
)
def test_bad_input_is_named(options, message):
    given = {
        "model": HopfieldModel(np.eye(4), attention=LogElu()),
        "at": 20.0,
        "betas": (5.0, 50.0),
    } | options
    with pytest.raises(InputError, match=message):
        map_branches(given.pop("model"), given.pop("at"), given.pop("betas"), **given)


def test_to_follow_a_cycle_is_refused():
    model = HopfieldModel(np.eye(2), scale=1.0, attention=DECREASING)
    with pytest.raises(
        InputError, match=r"no attracting fixed point at beta = 3 \(the updates repeat a cycle"
    ):
        follow_map(model, [0.8, 0.1], 3.0, (2.5, 4.0))


def test_the_sweep_of_softmax_is_that_of_its_free_energy():
    patterns = hp.patterns.clustered(40, 16, seed=1)
    betas = np.arange(40.0, 260.0, 4.0)
    theirs = sweep(HopfieldModel(patterns, 1.0), betas)
    mine = sweep_map(HopfieldModel(patterns, attention=Exponential()), betas)
    for name in ("overlap_max", "ipr", "free_energy", "hessian_min"):
        np.testing.assert_allclose(getattr(mine, name), getattr(theirs, name), rtol=1e-9, atol=1e-9)
    for name in ("jumped", "status", "threshold_count"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    assert theirs.jumped.any()
    np.testing.assert_allclose(mine.spectral_radius, 1 - mine.hessian_min, atol=ROUNDING)


def test_the_sweep_of_entmax_is_that_of_the_tsallis_family_at_another_beta():
    patterns = hp.patterns.clustered(40, 16, seed=1)
    betas = np.arange(20.0, 130.0, 2.0)
    theirs = sweep(HopfieldModel(patterns, 2.0), 2 * betas)
    mine = sweep_map(HopfieldModel(patterns, attention=Entmax(2.0)), betas)
    assert (mine.status == Status.CONVERGED).all()
    np.testing.assert_allclose(mine.overlap_max, theirs.overlap_max, atol=1e-9)
    np.testing.assert_array_equal(mine.jumped, theirs.jumped)
    assert theirs.jumped.any()


@pytest.mark.parametrize("attention", [LogElu(), SquaredElu(), TopK(5), TopP(0.8)], ids=lambda a: a.name)
def test_every_point_of_a_sweep_is_a_verified_fixed_point(attention):
    model = HopfieldModel(hp.patterns.clustered(40, 16, seed=1), attention=attention)
    betas = np.arange(40.0, 260.0, 20.0)
    found = sweep_map(model, betas, keep_states=True)
    assert (found.status == Status.CONVERGED).all()
    assert found.state is not None
    for row in range(2):
        for x, beta, radius, real, imag in zip(
            found.state[row], betas, found.spectral_radius[row], found.eigenvalue_real[row],
            found.eigenvalue_imag[row], strict=True,
        ):  # fmt: skip
            assert np.linalg.norm(model.retrieve(x, beta) - x) <= 2e-12 * model.state_scale
            steps = 1e-6 * np.eye(x.size)
            jacobian = np.array(
                [(model.retrieve(x + h, beta) - model.retrieve(x - h, beta)) / 2e-6 for h in steps]
            ).T
            assert np.abs(scipy.linalg.eigvals(jacobian)).max() == pytest.approx(radius, abs=1e-6)
            assert radius == pytest.approx(np.hypot(real, imag), abs=ROUNDING)
            assert radius < 1
    has_energy = found.free_energy is not None
    assert has_energy == (found.hessian_min is not None) == model.has_free_energy


def test_sweeps_start_where_they_are_told():
    model = HopfieldModel(hp.patterns.clustered(20, 8), attention=TopK(3))
    betas = np.array([20.0, 40.0, 60.0])
    best = sweep_map(model, betas, start_up="best", start_down="continue", keep_states=True)
    assert (best.start_up, best.start_down) == ("best", "continue")
    np.testing.assert_allclose(best.state[0, -1], best.state[1, -1], atol=ROUNDING)
    from_mean = sweep_map(model, betas, start_down=model.patterns[3] / 3)
    assert from_mean.start_down == "a given state"
    assert best.free_energy[0, 0] <= from_mean.free_energy[0, 0] + ROUNDING
    with pytest.raises(InputError, match="'best' compares free energies"):
        sweep_map(HopfieldModel(np.eye(3), attention=LogElu()), betas, start_up="best")
    with pytest.raises(InputError, match="pattern:9"):
        sweep_map(HopfieldModel(np.eye(3), attention=LogElu()), betas, start_up="pattern:9")


def test_a_cycle_is_a_status_and_no_jump():
    model = HopfieldModel(np.eye(2), scale=1.0, attention=DECREASING)
    found = sweep_map(model, [1.0, 1.5, 3.0, 4.0], start_up=[0.6, 0.4])
    assert found.status[0].tolist() == [Status.CONVERGED] * 2 + [Status.LIMIT_CYCLE] * 2
    assert np.isnan(found.spectral_radius[0, 2:]).all()
    assert found.jumped[0].tolist() == [False, False, True, False]
