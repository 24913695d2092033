"""The classical Hopfield model: energy, descent, frustration, one pattern in a source."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from hopfieldphase.core.closed_forms import (
    hopfield_one_pattern_energy,
    hopfield_one_pattern_limit,
    hopfield_one_pattern_overlap,
)
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.classical import (
    hebbian_couplings,
    is_frustrated,
    noisy_query,
    satisfying_state,
    spin_energy,
    spin_landscape,
    spin_overlaps,
    unsatisfied_bonds,
    zero_temperature,
)
from hopfieldphase.dynamics.classical_source import (
    one_pattern_conjugate,
    one_pattern_gibbs,
    overlap_levels,
    selected_overlap,
)

ROUNDING = 1e-12  # sums of at most a few thousand terms of order one
SIGMAS = 4.5  # of a binomial count: one false alarm in 1e5 runs, and the seed is fixed

TRIANGLE = np.array([[0, 1, -1], [1, 0, 1], [-1, 1, 0]])


def memories(M, d, seed=0):
    return np.random.default_rng(seed).choice([-1, 1], size=(M, d))


def all_states(d):
    return np.array(list(itertools.product([1, -1], repeat=d)))


# Energy and descent -----------------------------------------------------------------------------------------


def test_energy_is_the_double_sum_and_minus_half_the_squared_overlaps():
    xi, x = memories(4, 12), memories(1, 12, seed=1)[0]
    d = xi.shape[1]
    double = sum(
        xi[m, i] * xi[m, j] * x[i] * x[j] for m in range(4) for i in range(d) for j in range(d) if i != j
    )
    energy = spin_energy(x, hebbian_couplings(xi) / d)
    assert energy == pytest.approx(-double / (2 * d), abs=ROUNDING)
    assert energy == pytest.approx((4 - np.sum(spin_overlaps(x, xi) ** 2)) / 2, abs=ROUNDING)


@settings(max_examples=40, deadline=None)
@given(M=st.integers(1, 8), d=st.integers(2, 40), seed=st.integers(0, 10**6))
def test_every_flip_lowers_the_energy_and_the_end_is_a_local_minimum(M, d, seed):
    xi = memories(M, d, seed)
    couplings = hebbian_couplings(xi)
    run = zero_temperature(memories(1, d, seed + 1)[0], couplings, seed)
    assert np.all(np.diff(run.energies) < 0)
    assert np.all(run.state * (couplings @ run.state) >= 0)
    assert run.energies[-1] == spin_energy(run.state, couplings)
    z = run.overlaps(xi)
    np.testing.assert_allclose(z[0], spin_overlaps(run.start, xi), atol=ROUNDING)
    np.testing.assert_allclose(z[-1], spin_overlaps(run.state, xi), atol=ROUNDING)
    np.testing.assert_allclose((M - np.sum(z**2, axis=1)) / 2, run.energies / d, atol=ROUNDING)


def test_one_pattern_is_retrieved_from_any_query_and_its_overlap_rises_at_every_flip():
    xi = memories(1, 101)  # odd d: no query has overlap 0
    for seed in range(20):
        query = memories(1, 101, seed + 1)[0]
        run = zero_temperature(query, hebbian_couplings(xi), seed)
        assert np.all(np.diff(np.abs(run.overlaps(xi)[:, 0])) > 0)
        np.testing.assert_array_equal(run.state, np.sign(query @ xi[0]) * xi[0])


def test_with_several_memories_the_overlap_may_fall_while_the_energy_does():
    falls = 0
    for seed in range(60):
        xi = memories(8, 100, seed)
        run = zero_temperature(noisy_query(xi[0], 25, seed), hebbian_couplings(xi), seed)
        falls += int(np.sum(np.diff(run.overlaps(xi)[:, 0]) < 0))
    assert falls > 0


def test_a_spin_without_field_keeps_its_value():
    couplings = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    for free in (-1, 1):
        run = zero_temperature([1, -1, free], couplings, 3)
        assert run.state[2] == free
        assert len(run.flips) == 1


def test_a_stored_bit_is_unstable_with_the_exact_binomial_probability():
    # Field times spin is d − 1 plus a sum of (M − 1)(d − 1) independent signs.
    M, d, draws = 30, 50, 3000
    unstable = 0
    for seed in range(draws):
        xi = memories(M, d, seed)
        unstable += int(xi[0, 0] * (hebbian_couplings(xi)[0] @ xi[0]) < 0)
    terms = (M - 1) * (d - 1)
    probability = binom.cdf((terms - (d - 1) - 1) // 2, terms, 0.5)
    assert 0.05 < probability < 0.3
    assert abs(unstable - draws * probability) < SIGMAS * math.sqrt(draws * probability * (1 - probability))


def test_noisy_query_flips_exactly_that_many_spins():
    xi = memories(1, 100)[0]
    assert np.sum(noisy_query(xi, 17, seed=4) != xi) == 17


# Frustration ------------------------------------------------------------------------------------------------


def test_the_triangle_of_figure_6_leaves_one_bond_unsatisfied_in_three_ground_states():
    landscape = spin_landscape(TRIANGLE)
    assert is_frustrated(TRIANGLE)
    assert landscape.ground_energy == -1
    assert landscape.ground_states.shape == (3, 3)
    np.testing.assert_array_equal(landscape.unsatisfied, 1)
    assert landscape.fewest_unsatisfied == 1
    assert spin_energy([1, -1, 1], TRIANGLE) == 3
    assert unsatisfied_bonds([1, -1, 1], TRIANGLE) == 3


@pytest.mark.parametrize(
    ("negative", "frustrated"), [(0, False), (1, True), (2, False), (3, True), (4, False)]
)
def test_a_square_is_frustrated_when_an_odd_number_of_its_bonds_is_negative(negative, frustrated):
    couplings = np.zeros((4, 4), dtype=int)
    for k in range(4):
        couplings[k, (k + 1) % 4] = couplings[(k + 1) % 4, k] = -1 if k < negative else 1
    assert is_frustrated(couplings) is frustrated


@settings(max_examples=60, deadline=None)
@given(d=st.integers(1, 9), seed=st.integers(0, 10**6), density=st.floats(0, 1))
def test_parity_of_cycles_agrees_with_all_states(d, seed, density):
    random = np.random.default_rng(seed)
    upper = np.triu(random.choice([-1.5, 0.5], size=(d, d)) * (random.random((d, d)) < density), 1)
    couplings = upper + upper.T
    state = satisfying_state(couplings)
    fewest = min(int(unsatisfied_bonds(x, couplings)) for x in all_states(d))
    assert spin_landscape(couplings).fewest_unsatisfied == fewest
    assert (state is None) == (fewest > 0)
    if state is not None:
        assert unsatisfied_bonds(state, couplings) == 0


def test_one_and_two_memories_are_never_frustrated_and_three_are():
    # Two memories: spins on which they agree couple to each other alone, and so do the others.
    for seed in range(20):
        for M, expected in ((1, False), (2, False), (3, True)):
            xi = memories(M, 15, seed)
            assert is_frustrated(hebbian_couplings(xi)) is expected
            if M == 2:
                minima = spin_landscape(hebbian_couplings(xi)).minima
                stored = {tuple(row * row[0]) for row in xi}
                assert {tuple(row) for row in minima} <= stored


def test_the_mixture_of_three_memories_is_a_minimum_that_is_no_memory():
    xi = np.array([[1, 1, 1, 1] * 3, [1, 1, -1, -1] * 3, [1, -1, 1, -1] * 3])
    landscape = spin_landscape(hebbian_couplings(xi))
    mixture = np.sign(xi.sum(axis=0))
    assert any(np.array_equal(mixture, row) for row in landscape.minima)
    assert not any(np.array_equal(mixture, row) for row in xi)


# One pattern in a source ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("beta", "h"), [(0.7, 0.0), (1.5, 0.03), (2.0, -0.4)])
def test_averages_over_the_overlaps_are_those_over_all_states(beta, h):
    d = 10
    xi = memories(1, d)[0]
    x = all_states(d)
    z = x @ xi / math.sqrt(d)
    weight = np.exp(beta * z**2 / 2 + h * (x @ xi))
    exact = one_pattern_gibbs(beta, d, h)
    assert exact.log_partition == pytest.approx(math.log(weight.sum()), abs=ROUNDING)
    assert exact.overlap == pytest.approx(weight @ z / weight.sum(), abs=ROUNDING)
    assert exact.variance == pytest.approx(weight @ z**2 / weight.sum() - exact.overlap**2, abs=ROUNDING)


def test_the_landscape_of_proposition_b1_is_minus_the_logarithm_of_the_probability_of_z():
    d, beta = 10, 1.5
    z = overlap_levels(d)
    x = all_states(d)
    probability = np.array(
        [np.exp(beta * q**2 / 2) * np.sum(np.isclose(x.sum(1) / math.sqrt(d), q)) for q in z]
    )
    landscape = hopfield_one_pattern_energy(z, beta, d)
    np.testing.assert_allclose(-np.log(probability) / beta, landscape, atol=ROUNDING)


def test_the_conjugate_is_convex_where_the_landscape_is_not():
    d, beta, step = 50, 1.5, 0.5
    fields = np.arange(-6.5, 6.6, step)
    conjugate = np.array([one_pattern_conjugate(q, beta, d) for q in fields])
    assert np.all(np.diff(conjugate, 2) > 0)
    curvature = np.diff(hopfield_one_pattern_limit(np.array([-1e-3, 0, 1e-3]), beta, d), 2) / 1e-6
    assert curvature[0] == pytest.approx(1 - beta, abs=1e-5)


@pytest.mark.parametrize("phi", [-2.0, 0.3, 3.0])
def test_the_slope_of_the_conjugate_is_the_source(phi):
    d, beta, step = 20, 1.5, 1e-4
    slope = (one_pattern_conjugate(phi + step, beta, d) - one_pattern_conjugate(phi - step, beta, d)) / (
        2 * step
    )
    assert one_pattern_gibbs(beta, d, slope / math.sqrt(d)).overlap == pytest.approx(phi, abs=1e-5)


@pytest.mark.parametrize("beta", [0.7, 1.5, 3.0])
def test_the_source_selects_the_positive_state_and_leaves_it_in_the_limit(beta):
    d = 50
    for h in (0.5, 0.05, 1e-6):
        q = selected_overlap(beta, d, h)
        assert q == pytest.approx(math.sqrt(d) * math.tanh(beta * q / math.sqrt(d) + h), abs=1e-12)
        grid = np.linspace(-1, 1, 4001) * math.sqrt(d)
        tilted = hopfield_one_pattern_limit(grid, beta, d) - h * math.sqrt(d) * grid
        assert abs(grid[np.argmin(tilted)] - q) < 2 * (grid[1] - grid[0])
    limit = selected_overlap(beta, d, 0.0)
    assert limit == hopfield_one_pattern_overlap(beta, d)
    assert selected_overlap(beta, d, 1e-9) == pytest.approx(limit, abs=1e-6)


def test_a_finite_system_selects_no_state_and_the_limits_do_not_commute():
    beta = 1.5
    small = [one_pattern_gibbs(beta, 100, h).overlap / 10 for h in (1e-4, 1e-5, 1e-6)]
    assert small[2] < 1e-3 * selected_overlap(beta, 1)
    assert small[0] / small[1] == pytest.approx(10, rel=1e-3)
    # Large d at fixed h: the selected state, with a correction of order 1/d.
    h = 0.05
    errors = [
        abs(one_pattern_gibbs(beta, d, h).overlap / math.sqrt(d) - selected_overlap(beta, 1, h))
        for d in (400, 800)
    ]
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)


# Bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hebbian_couplings([[1, 0, -1]]), "entries other than -1, \\+1"),
        (lambda: hebbian_couplings([1, -1]), "give 2 axes of ±1"),
        (lambda: zero_temperature([1, 1], TRIANGLE), "x has 2 spins, the couplings 3"),
        (lambda: is_frustrated([[0, 1], [2, 0]]), "not symmetric"),
        (lambda: is_frustrated([[1, 1], [1, 0]]), "zero diagonal"),
        (lambda: is_frustrated([[0, math.nan], [math.nan, 0]]), "no finite numbers"),
        (lambda: spin_landscape(np.zeros((21, 21))), "listed up to d = 20"),
        (lambda: noisy_query([1, -1], 3), "outside \\[0, 2\\]"),
        (lambda: noisy_query([1, -1], 0.5), "flipped = 0.5 is not a whole number"),
        (lambda: selected_overlap(1.5, 10, -0.1), "source = -0.1"),
        (lambda: one_pattern_conjugate(4.0, 1.5, 10), "phi = 4.0"),
        (lambda: one_pattern_gibbs(-1.0, 10), "beta = -1.0"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
