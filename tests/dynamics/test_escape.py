"""Escape times: Kramers' law against exact passage times, simulation against both."""

import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, trapezoid

from hopfieldphase import HopfieldModel, patterns, relax
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.backward import backward_time
from hopfieldphase.dynamics.escape import escape_times, flux_over, kramers_time, passage_planes
from hopfieldphase.dynamics.escape_systems import equidistant, facet_saddle
from hopfieldphase.phases.barriers import barrier
from hopfieldphase.phases.saddles import SaddleStatus

STANDARD_ERRORS = 4.0
# Heun's scheme at β dt = 0.1, and planes that are looked at between steps only.
STEP_BIAS = 0.02
# Grid of the backward equation: first order in the mesh at the planes.
GRID = 0.005


def _two_patterns(alpha, coupling, d=2):
    model = HopfieldModel(patterns.two_keys(-1.0, d=d), alpha, 1.0)
    beta = coupling / 2
    a, b = (relax(model, sign * model.patterns[0], beta).x for sign in (1, -1))
    return barrier(model, a, b, beta)


def _passage_in_one_dimension(way, temperature):
    """(1/T) ∫ e^{Γ/T} ∫ e^{−Γ/T}: the rest of a two-pattern model is a harmonic well of its own."""
    model, beta, start = way.model, way.beta, way.minima[0].x
    axis = start / np.linalg.norm(start)
    u = np.linspace(-4.0, 4.0, 80_001)
    level = (model.free_energy(-u[:, None] * axis, beta) - way.minima[0].free_energy) / temperature
    inside = cumulative_trapezoid(np.exp(-level), u, initial=0.0)
    (normal,), (offset,) = passage_planes([way])
    path = (u >= -np.linalg.norm(start)) & (u <= offset / -(normal @ axis))
    return trapezoid(np.exp(level[path]) * inside[path], u[path]) / temperature


@pytest.mark.parametrize(("alpha", "coupling"), [(0.7, 4.0), (1.0, 4.0), (1.5, 5.0), (2.0, 3.0), (2.0, 8.0)])
def test_kramers_is_the_limit_of_the_exact_time(alpha, coupling):
    way = _two_patterns(alpha, coupling)
    deviations = []
    for height in (6.0, 15.0, 60.0):
        temperature = way.height / height
        exact = _passage_in_one_dimension(way, temperature)
        deviations.append(abs(exact / kramers_time([way], temperature).time - 1))
    # corrections of relative order T/ΔΓ
    assert deviations[0] < 0.2
    assert deviations[2] < 0.01
    assert deviations[2] <= deviations[1] <= deviations[0]


@pytest.mark.parametrize(("alpha", "coupling"), [(1.0, 4.0), (1.5, 5.0), (2.0, 3.0)])
def test_backward_equation_against_the_exact_time(alpha, coupling):
    way = _two_patterns(alpha, coupling)
    for height in (4.0, 9.0):
        temperature = way.height / height
        exact = _passage_in_one_dimension(way, temperature)
        assert backward_time([way], temperature) == pytest.approx(exact, rel=GRID)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "d"), [(1.0, 2), (1.5, 5), (2.0, 2)])
def test_simulation_against_the_exact_time(alpha, d):
    way = _two_patterns(alpha, 4.0, d)
    temperature = way.height / 3.5
    found = escape_times([way], temperature, walkers=2500, seed=11)
    assert found.n_escaped == 2500
    exact = _passage_in_one_dimension(way, temperature)
    assert abs(found.mean - exact) <= STANDARD_ERRORS * found.error + STEP_BIAS * exact


@pytest.mark.slow
def test_escape_times_are_exponential():
    way = _two_patterns(1.5, 4.0)
    times = escape_times([way], way.height / 5, walkers=2000, step=0.2, seed=3).times
    # mean = standard deviation, and ln 2 of it the median
    assert times.std() == pytest.approx(times.mean(), rel=0.1)
    assert np.median(times) == pytest.approx(np.log(2) * times.mean(), rel=0.1)


def test_equivalent_saddles_add_up():
    system = equidistant(3, 1.5, 6.0)
    temperature = system.height / 8
    both = kramers_time(system.ways, temperature)
    one = kramers_time(system.ways[:1], temperature)
    assert both.time == pytest.approx(one.time / 2)
    found = escape_times(system.ways, system.height / 3, walkers=1000, step=0.2)
    share = (found.ways == 0).mean()
    assert abs(share - 0.5) <= STANDARD_ERRORS * 0.5 / np.sqrt(1000)


@pytest.mark.parametrize("alpha", [1.0, 1.5])
def test_three_patterns_approach_kramers(alpha):
    system = equidistant(3, alpha, 7.0)
    ratios = []
    for height in (6.0, 9.0, 20.0):
        temperature = system.height / height
        ratios.append(backward_time(system.ways, temperature) / kramers_time(system.ways, temperature).time)
    assert abs(ratios[0] - 1) < 0.2
    assert abs(ratios[2] - 1) < 0.02
    slope = 1 + np.log(ratios[1] / ratios[0]) / 3
    assert abs(slope - 1) < 0.05


def test_on_a_facet_kramers_needs_both_sides():
    system = facet_saddle(0.4)
    assert system.ways[0].saddle.status is SaddleStatus.FACET
    temperature = system.height / 14
    found = kramers_time(system.ways, temperature)
    # across the facet the Hessian is β on one side, β/3 on the other
    both = (1 + np.sqrt(3)) / 2
    assert found.inner / found.time == pytest.approx(both)
    assert found.outer / found.time == pytest.approx(both / np.sqrt(3))
    exact = backward_time(system.ways, temperature)
    assert exact == pytest.approx(found.time, rel=0.01)
    assert exact / found.inner == pytest.approx(0.732, abs=0.01)
    assert exact / found.outer == pytest.approx(1.268, abs=0.01)


def test_minimum_on_a_facet():
    # A pair of two patterns that a third one is about to enter, and a fourth pattern to escape to.
    stored = np.array([[0.2, 0.6], [-0.2, 0.6], [0.0, -0.6], [1.5, -1.0]])
    model, beta = HopfieldModel(stored, 2.0, 1.0), 1 / (0.6 * 1.2)
    way = barrier(model, np.array([0.0, 0.6]), stored[3], beta)
    assert [list(minimum.support) for minimum in way.minima] == [[0, 1], [3]]
    found = kramers_time([way], way.height / 10)
    assert 1.3 * found.inner < found.time < found.outer / 1.2
    assert backward_time([way], way.height / 10) == pytest.approx(found.time, rel=0.01)


def test_no_closed_form_where_the_facet_is_tilted():
    inner = np.diag([-1.0, 1.0])
    normal = np.array([0.6, 0.8])
    assert np.isnan(flux_over(inner, inner - 0.5 * np.outer(normal, normal)))
    assert np.isnan(flux_over(inner, np.diag([-4.0, 0.5])))  # two facets
    along = flux_over(inner, np.diag([-4.0, 1.0]))
    # |λ| /√|λ| on each side: the integrals 1/√|λ| add up
    assert along == pytest.approx(2 / (1 + 1 / 2))
    assert flux_over(inner, np.diag([-1.0, 0.25])) == pytest.approx((1 + 2) / 2)


def test_off_the_facet_one_hessian_serves():
    way = _two_patterns(2.0, 4.0)
    found = kramers_time([way], way.height / 8)
    assert found.time == found.inner == found.outer


CASES = {"two": (2, 1.0), "three": (3, 1.5)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two", "three", "facet"])
def test_simulated_slope_and_prefactor(name):
    system = facet_saddle(0.4) if name == "facet" else equidistant(*CASES[name], 6.0)
    heights = np.array([5.5, 6.25, 7.0])
    means, kramers = [], []
    for seed, height in enumerate(heights):
        temperature = system.height / height
        found = escape_times(system.ways, temperature, walkers=2000, step=0.2, seed=seed)
        exact = backward_time(system.ways, temperature)
        # the bias of a step twice as long is four times as large, at most
        assert abs(found.mean - exact) <= STANDARD_ERRORS * found.error + 2 * STEP_BIAS * exact
        means.append(found.mean)
        kramers.append(kramers_time(system.ways, temperature).time)
    ratios = np.array(means) / kramers
    assert (np.abs(ratios[heights >= 6] - 1) < 0.2).all()
    # the standard error of the slope is 0.021
    assert abs(np.polyfit(heights, np.log(means), 1)[0] - 1) < 0.05 + 2 * 0.021


def test_escapes_depend_on_the_seed_alone():
    way = _two_patterns(2.0, 4.0)
    one = escape_times([way], way.height / 2, walkers=20, seed=5, threads=1)
    two = escape_times([way], way.height / 2, walkers=20, seed=5, threads=3)
    np.testing.assert_array_equal(one.times, two.times)
    assert len(set(one.times)) == 20


def test_one_dimension():
    model = HopfieldModel(np.array([[1.0], [-1.0]]), 2.0, 1.0)
    line = barrier(model, model.patterns[0], model.patterns[1], 2.0)
    plane = _two_patterns(2.0, 4.0)
    assert kramers_time([line], 0.05).time == pytest.approx(kramers_time([plane], 0.05).time)
    found = escape_times([line], line.height / 3, walkers=1000, step=0.2)
    exact = _passage_in_one_dimension(line, line.height / 3)
    assert abs(found.mean - exact) <= STANDARD_ERRORS * found.error + 2 * STEP_BIAS * exact


def test_walkers_that_are_given_up_count_with_their_time():
    way = _two_patterns(2.0, 4.0)
    temperature = way.height / 3
    full = escape_times([way], temperature, walkers=3000, step=0.2, seed=1)
    cut = escape_times([way], temperature, walkers=3000, step=0.2, seed=1, max_steps=int(full.mean * 2 / 0.2))
    assert 0 < cut.n_escaped < 3000
    assert abs(cut.mean - full.mean) <= STANDARD_ERRORS * cut.error


def test_bad_input():
    way, other = _two_patterns(2.0, 4.0), _two_patterns(2.0, 4.0)
    back = barrier(way.model, way.minima[1].x, way.minima[0].x, way.beta)
    for ways, text in (
        ([], "no way out"),
        ([way, other], "different models"),
        ([way, back], "different minima"),
    ):
        with pytest.raises(InputError, match=text):
            kramers_time(ways, 0.1)
        with pytest.raises(InputError, match=text):
            escape_times(ways, 0.1)
    with pytest.raises(InputError, match="temperature"):
        kramers_time([way], 0.0)
    with pytest.raises(InputError, match="step"):
        escape_times([way], 0.1, step=2.0)
    with pytest.raises(InputError, match="d = 3"):
        backward_time([_two_patterns(2.0, 4.0, 3)], 0.1)
    with pytest.raises(InputError, match="count = 4"):
        equidistant(4, 1.0, 6.0)
    with pytest.raises(InputError, match="mean"):
        facet_saddle(0.7)
