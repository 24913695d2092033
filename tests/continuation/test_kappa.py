"""Sweeps in the memory load: against sweeps through every single M, closed forms, and their own reversal."""

import numpy as np
import pytest

from hopfieldphase.continuation.kappa import kappa_sweep, most_patterns, pattern_counts
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered, gaussian, heavy_tailed, spherical
from hopfieldphase.solvers import relax

UP, DOWN = 0, 1
# Two relaxations to one minimum differ by the tolerance 1.8e-12 over the smallest curvature, here above 1e-3.
SAME_STATE = 1e-9
SAME_AFTER_RETURN = 1e-6


def loads(counts, d):
    return np.log(counts) / d


def one_by_one(patterns, alpha, beta, counts, x):
    """States and jumps of the sweep that relaxes at every single M, through the public solver alone."""
    states, jumps, before, back = [], [], None, None
    for M in counts:
        model = HopfieldModel(patterns[:M], alpha)
        solution = relax(model, x, beta)
        if before is not None:
            unit = max(np.linalg.norm(x), model.state_scale)
            returned = np.linalg.norm(relax(back, solution.x, beta).x - x) <= SAME_AFTER_RETURN * unit
            if np.linalg.norm(solution.x - x) > SAME_AFTER_RETURN * unit and not returned:
                jumps.append(int(M))
        x, before, back = solution.x, solution, model
        states.append(solution.x)
    return np.array(states), jumps


@pytest.mark.parametrize("alpha", [0.8, 1.0, 1.5, 2.0, 2.5, np.inf])
@pytest.mark.parametrize(
    ("generate", "d", "beta"),
    [(clustered, 12, 60.0), (spherical, 10, 90.0), (heavy_tailed, 12, 100.0), (gaussian, 8, 60.0)],
)
def test_equals_the_sweep_through_every_single_pattern(generate, d, beta, alpha):
    N = 90
    patterns = generate(N, d, seed=4)
    counts = np.arange(4, N + 1)
    found = kappa_sweep(HopfieldModel(patterns, alpha), loads(counts, d), beta, keep_states=True)
    np.testing.assert_array_equal(found.M, counts)
    starts = {UP: patterns[:4].mean(axis=0), DOWN: patterns[0]}
    for way, order in ((UP, slice(None)), (DOWN, slice(None, None, -1))):
        states, jumps = one_by_one(patterns, alpha, beta, counts[order], starts[way] / d**0.5)
        np.testing.assert_allclose(found.sweep.state[way], states[order], atol=SAME_STATE)
        events = found.events[way]
        assert events.M[events.jumped].tolist() == jumps
        np.testing.assert_array_equal(found.sweep.jumped[way], np.isin(counts, jumps))


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 3.0])
def test_grid_points_are_what_the_model_says_of_them(alpha):
    d, beta = 16, 60.0
    patterns = clustered(700, d, seed=3)
    found = kappa_sweep(HopfieldModel(patterns, alpha), np.linspace(0.15, 0.4, 7), beta, keep_states=True)
    np.testing.assert_array_equal(found.M, np.rint(np.exp(np.linspace(0.15, 0.4, 7) * d)))
    assert (found.sweep.status == Status.CONVERGED).all()
    for way in (UP, DOWN):
        for n, M in enumerate(found.M):
            model, x = HopfieldModel(patterns[:M], alpha), found.sweep.state[way, n]
            p, z = model.weights(x, beta), model.overlaps(x)
            assert model.gradient_residual(x, beta) < 1e-11
            assert found.sweep.free_energy[way, n] == pytest.approx(model.free_energy(x, beta), abs=1e-12)
            assert found.sweep.overlap_max[way, n] == pytest.approx(np.abs(z).max(), rel=1e-13)
            assert found.sweep.threshold_count[way, n] == np.count_nonzero(z > 0.01)
            assert found.sweep.support_size[way, n] == np.count_nonzero(p > (1e-10 if alpha == 1 else 0))
            assert found.sweep.ipr[way, n] == pytest.approx(1 / np.sum(p**2), rel=1e-9)
            smallest = np.linalg.eigvalsh(model.hessian(x, beta))[0] / beta
            assert found.sweep.hessian_min[way, n] == pytest.approx(smallest, abs=1e-8)
            assert smallest > 0


def test_events_do_not_depend_on_the_grid():
    d, beta = 20, 90.0
    model = HopfieldModel(clustered(1100, d, seed=1), 2.0)
    fine = np.arange(0.1, 0.345, 0.001)
    coarse = fine[::61]
    one, other = kappa_sweep(model, fine, beta), kappa_sweep(model, coarse, beta)
    for few, many in zip(other.events, one.events, strict=True):
        inside = (other.M[0] <= many.M) & (other.M[-1] >= many.M)
        assert inside.all()
        for name in vars(few):
            np.testing.assert_array_equal(getattr(few, name), getattr(many, name))
    assert sum(events.jumped.sum() for events in one.events) >= 4
    for name in ("overlap_max", "free_energy", "ipr", "threshold_count", "status"):
        np.testing.assert_array_equal(getattr(one.sweep, name)[:, ::61], getattr(other.sweep, name))
    # duplicated M on the fine grid: nothing happens between them
    assert (np.diff(one.M) == 0).any()
    assert not one.sweep.jumped[UP, 1:][np.diff(one.M) == 0].any()
    assert not one.sweep.jumped[DOWN, :-1][np.diff(one.M) == 0].any()


@pytest.mark.parametrize("alpha", [1.0, 0.8])
def test_coarse_steps_meet_the_jumps_of_single_ones(alpha):
    d, N, beta = 16, 400, 160.0
    model = HopfieldModel(spherical(N, d, seed=1), alpha)
    fine = kappa_sweep(model, loads(np.arange(4, N + 1), d), beta)
    coarse = kappa_sweep(model, loads(np.array([4, N]), d), beta)
    assert sum(events.M.size for events in fine.events) >= 2
    for many, few in zip(fine.events, coarse.events, strict=True):
        np.testing.assert_array_equal(few.M, many.M)
        np.testing.assert_allclose(few.free_energy_after, many.free_energy_after, atol=1e-10)
        assert many.jumped.all()


@pytest.mark.parametrize("beta", [60.0, 75.0, 90.0])
def test_first_pattern_to_destabilise_a_single_one(beta):
    # A single pattern is a minimum as long as b (1 − C) > α/(α − 1), 2 at α = 2, for all cosines C to it.
    d, N = 10, 600
    patterns = spherical(N, d, seed=7)
    cosines = patterns[1:] @ patterns[0]
    first = 1 + int(np.argmax(beta / d * (1 - cosines) < 2))
    found = kappa_sweep(HopfieldModel(patterns, 2.0), loads([first, N], d), beta, start_up="pattern:0")
    events = found.events[UP]
    assert (events.M[0], events.pattern[0]) == (first + 1, first)
    assert events.overlap_max_before[0] == pytest.approx(1 / d)
    assert events.free_energy_before[0] == pytest.approx(-beta / d / 2)
    assert events.free_energy_after[0] < events.free_energy_before[0]


@pytest.mark.parametrize("alpha", [1.5, 2.0])
def test_going_back_meets_the_same_events_up_to_the_first_jump(alpha):
    d, beta = 20, 90.0
    kappas = np.linspace(0.1, 0.34, 9)
    found = kappa_sweep(HopfieldModel(clustered(900, d, seed=1), alpha), kappas, beta, start_down="continue")
    up, down = found.events
    first = np.flatnonzero(np.append(down.jumped, True))[0]
    same = np.flatnonzero(np.append(up.jumped[::-1], True))[0]
    n = min(first, same)
    assert n >= 5
    np.testing.assert_array_equal(down.pattern[:n], up.pattern[::-1][:n])
    np.testing.assert_allclose(down.free_energy_after[:n], up.free_energy_before[::-1][:n], atol=1e-12)
    np.testing.assert_allclose(down.overlap_max_before[:n], up.overlap_max_after[::-1][:n], atol=SAME_STATE)


def test_events_describe_the_states_around_them():
    d, beta, N = 16, 70.0, 300
    patterns = clustered(N, d, seed=5)
    counts = np.arange(5, N + 1)
    found = kappa_sweep(HopfieldModel(patterns, 2.0), loads(counts, d), beta, keep_states=True)
    unit = 1 / d**0.5
    for way, back in ((UP, -1), (DOWN, 1)):
        events, states = found.events[way], found.sweep.state[way]
        assert events.M.size > 5
        changed = np.flatnonzero(np.linalg.norm(np.diff(states, axis=0), axis=1) > 1e-8 * unit)
        np.testing.assert_array_equal(np.sort(events.M), counts[changed + (way == UP)])
        assert (events.pattern == (events.M - 1 if way == UP else events.M)).all()
        for i, M in enumerate(events.M):
            n = M - counts[0]
            x, before = states[n], states[n + back]
            length = max(np.linalg.norm(before), unit)
            assert events.distance[i] == pytest.approx(np.linalg.norm(x - before) / length, rel=1e-6)
            assert events.free_energy_after[i] == found.sweep.free_energy[way, n]
            assert events.free_energy_before[i] == found.sweep.free_energy[way, n + back]
            assert events.overlap_max_after[i] == found.sweep.overlap_max[way, n]
            assert events.overlap_max_before[i] == found.sweep.overlap_max[way, n + back]


def test_among_many_patterns_only_those_near_the_threshold_are_needed():
    d, beta = 24, 110.0
    counts = np.array([20, 400, 6000])
    patterns = clustered(6000, d, seed=2)
    found = kappa_sweep(HopfieldModel(patterns, 2.0), loads(counts, d), beta, keep_states=True)
    for way in (UP, DOWN):
        for n, M in enumerate(found.M):
            again = relax(HopfieldModel(patterns[:M], 2.0), found.sweep.state[way, n], beta)
            assert again.status is Status.CONVERGED
            assert again.n_steps == 0
            assert again.free_energy == pytest.approx(found.sweep.free_energy[way, n], abs=1e-13)
            assert again.support.size == found.sweep.support_size[way, n]


@pytest.mark.parametrize("alpha", [1.5, 2.0, np.inf])
def test_a_pattern_that_comes_twice_shares_its_weight(alpha):
    patterns = np.concatenate([np.eye(6)[:4], np.eye(6)[:1]])
    model = HopfieldModel(patterns, alpha, scale=1.0)
    found = kappa_sweep(model, loads(np.arange(2, 6), 6), 9.0, start_up="pattern:0", keep_states=True)
    assert found.sweep.duplicates == 1
    events = found.events[UP]
    # α = ∞: the state stays, so that nothing is to be reported but a larger support
    if alpha == np.inf:
        assert events.M.size == 0
    else:
        assert events.pattern.tolist() == [4]
        assert not events.jumped.any()
    assert found.sweep.support_size[UP].tolist() == [1, 1, 1, 2]
    assert found.sweep.ipr[UP].tolist() == [1, 1, 1, 2]


def test_a_tie_with_the_threshold_is_judged_as_the_solver_does():
    # θ = 1 − 2/β = 0 is the overlap of every other axis.
    model = HopfieldModel(np.eye(3), 2.0, scale=1.0)
    found = kappa_sweep(model, loads([1.5, 2, 3], 3), 2.0, start_up="pattern:0", start_down="pattern:0")
    assert found.M.tolist() == [2, 2, 3]
    for n, M in enumerate(found.M):
        alone = relax(HopfieldModel(np.eye(3)[:M], 2.0, scale=1.0), np.eye(3)[0], 2.0)
        assert found.sweep.status[UP, n] == alone.status
        assert found.sweep.hessian_min[UP, n] == min(alone.hessian_min, alone.hessian_min_tied)


@pytest.mark.parametrize("solver", ["fixed-point", "gradient-descent"])
def test_solvers_agree(solver):
    # without jumps, after which they may choose different minima
    model = HopfieldModel(clustered(80, 12, seed=4), 1.5)
    options = {"start_up": "pattern:0", "start_down": "continue"}
    kappas = loads([5, 20, 80], 12)
    one, other = (kappa_sweep(model, kappas, 50.0, solver=name, **options) for name in ("newton", solver))
    assert one.events[UP].M.size > 10
    assert not one.events[UP].jumped.any()
    for a, b in zip(one.events, other.events, strict=True):
        np.testing.assert_array_equal(a.M, b.M)
        np.testing.assert_allclose(a.free_energy_after, b.free_energy_after, atol=1e-10)
    np.testing.assert_allclose(one.sweep.free_energy, other.sweep.free_energy, atol=1e-10)


def test_results_do_not_depend_on_threads():
    model = HopfieldModel(clustered(500, 16, seed=1), 1.5)
    kappas = np.linspace(0.15, 0.38, 5)
    one, other = (kappa_sweep(model, kappas, 60.0, keep_states=True, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.sweep.state, other.sweep.state)
    for a, b in zip(one.events, other.events, strict=True):
        for name in vars(a):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


def test_starts():
    patterns = clustered(120, 12, seed=0)
    model, kappas = HopfieldModel(patterns, 2.0), loads([10, 40, 120], 12)
    found = kappa_sweep(model, kappas, 90.0, start_up="best", start_down=patterns[3], keep_states=True)
    energies = [relax(HopfieldModel(patterns[:10]), row / 12**0.5, 90.0).free_energy for row in patterns[:10]]
    assert found.sweep.free_energy[UP, 0] == pytest.approx(min(energies), abs=1e-12)
    assert (found.sweep.start_up, found.sweep.start_down) == ("best", "a given state")
    back = kappa_sweep(model, kappas, 90.0, start_up="continue", start_down="pattern:3", keep_states=True)
    np.testing.assert_array_equal(back.sweep.state[UP, 0], back.sweep.state[DOWN, 0])


@pytest.mark.parametrize(
    ("kappas", "word"),
    [
        ([], "at least one"),
        ([0.2, 0.1], "ascending"),
        ([0.1, np.nan], "positive"),
        ([-0.1, 0.1], "positive"),
        ([0.1, 2.0], "the memory of this machine holds"),
        ([0.1, 1e300], "the memory of this machine holds"),
        ([0.1, 0.5], "there are 50"),
    ],
)
def test_loads_are_checked(kappas, word):
    with pytest.raises(InputError, match=word) as error:
        kappa_sweep(HopfieldModel(spherical(50, 16)), kappas, 50.0)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"beta": 0.0}, "beta = 0"),
        ({"beta": np.nan}, "beta = nan"),
        ({"start_up": "pattern:10"}, "10 patterns"),
        ({"start_up": "middle"}, "unknown"),
        ({"start_up": "continue", "start_down": "continue"}, "both"),
        ({"start_down": np.zeros(3)}, "shape"),
        ({"tol": 1e-20}, "tol"),
        ({"solver": "bfgs"}, "solver"),
    ],
)
def test_options_are_checked(options, word):
    with pytest.raises(InputError, match=word):
        kappa_sweep(HopfieldModel(spherical(50, 16)), loads([10, 50], 16), **({"beta": 50.0} | options))


def test_the_largest_load_is_what_memory_holds():
    d = 48
    most = most_patterns(d)
    # the patterns and two sweeps with two arrays of that size each
    assert 4e9 < 5 * 8 * d * most < 1e14
    _, counts = pattern_counts([np.log(most) / d * (1 - 1e-12)], d)
    assert counts[0] == pytest.approx(most, rel=1e-9)
    with pytest.raises(InputError, match=f"holds {most}"):
        pattern_counts([np.log(most) / d * (1 + 1e-9)], d)


@pytest.mark.slow
def test_a_million_patterns_end_at_minima():
    """Sums over so many patterns round Γ by more than the differences that a Newton step is judged by."""
    model = HopfieldModel(clustered(1_000_000, 64), alpha=1.0)
    swept = kappa_sweep(model, loads(np.array([995_000, 1_000_000]), 64), 180.0).sweep
    assert (swept.status == Status.CONVERGED).all()
    assert swept.residual.max() < 1e-10
