"""Fixed-step descent near a minimum: rates, thresholds and onsets against closed forms and other methods."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import clustered, two_keys
from hopfieldphase.dynamics.minimum import Forecast, Minimum, find_minimum
from hopfieldphase.dynamics.modes import cubic_coupling, measured_rates, predicted_components
from hopfieldphase.dynamics.stability import Outcome, descend, escape_radius
from hopfieldphase.kernels import descent as kernel
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import kernel_problem

# Rounding of a few hundred operations on numbers of order one.
ROUNDING = 1e-12
# A probe of 10⁻⁴ of the quadratic length leaves its square, times constants of order one.
RATE_ACCURACY = 1e-7
ALPHAS = [0.6, 1.0, 1.3, 1.5, 1.8]


def point_of(alpha: float, beta: float = 40.0, seed: int = 1) -> Minimum:
    model = HopfieldModel(clustered(20, 16, seed=seed), alpha=alpha)
    return find_minimum(model, model.scale * model.patterns[0], beta)


@pytest.fixture(scope="module")
def stored() -> Minimum:
    """A stored pattern of the default data at α = 2, β = 300."""
    model = HopfieldModel(clustered(100, 64, clusters=4, delta=0.04, seed=0), alpha=2.0)
    return find_minimum(model, model.scale * model.patterns[0], 300.0)


@pytest.fixture(scope="module")
def mixture() -> Minimum:
    """The minimum of the default data at α = 1, β = 300."""
    model = HopfieldModel(clustered(100, 64, clusters=4, delta=0.04, seed=0), alpha=1.0)
    return find_minimum(model, model.scale * model.patterns[0], 300.0)


@pytest.mark.parametrize("alpha", [*ALPHAS, 2.0, 2.5, math.inf])
def test_the_compiled_path_is_that_of_the_model(alpha):
    rng = np.random.default_rng(3)
    model = HopfieldModel(rng.normal(size=(9, 5)), alpha=alpha)
    beta, step = 2.0, 0.3
    x = rng.normal(size=5)
    states, overlap_max = np.empty((6, 5)), np.empty(6)
    n, ending = kernel.descend(kernel_problem(model), beta, step, x, x, 0.0, 0.0, np.inf, states, overlap_max)
    assert (n, ending) == (6, kernel.LIMIT)
    for t in range(6):
        np.testing.assert_allclose(states[t], x, atol=ROUNDING)
        assert overlap_max[t] == pytest.approx(model.overlaps(x).max(), abs=ROUNDING)
        x = x - step * model.gradient(x, beta)


def test_a_stored_pattern_has_the_closed_form(stored):
    beta, d, s = 300.0, 64, 1 / 8
    np.testing.assert_array_equal(stored.eigenvalues, np.full(d, beta))
    assert stored.critical_step == 2 / beta
    assert stored.soft_dimension == d
    np.testing.assert_allclose(stored.soft, stored.model.patterns[0], atol=ROUNDING)
    amplitude = 1e-2
    for factor in (0.3, 0.9, 1.0, 1.02):
        path = descend(stored, factor * 2 / beta, amplitude=amplitude, iterations=20)
        signed = amplitude * (1 - 2 * factor) ** np.arange(path.distance.size)
        np.testing.assert_allclose(path.distance, np.abs(signed), rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(path.overlap_max, s * (s + signed), atol=ROUNDING)


def test_a_stored_pattern_has_three_outcomes(stored):
    critical = stored.critical_step
    below, at, above = (descend(stored, f * critical, iterations=2000) for f in (0.99, 1.0, 1.01))
    assert (below.forecast, below.outcome) == (Forecast.STABLE, Outcome.CONVERGES)
    assert (at.forecast, at.outcome) == (Forecast.MARGINAL, Outcome.PERSISTS)
    assert (above.forecast, above.outcome) == (Forecast.UNSTABLE, Outcome.DIVERGES)
    # Persistent oscillation: the distance stays, the overlap alternates.
    np.testing.assert_allclose(at.distance, 1e-2, rtol=1e-9)
    assert np.ptp(at.overlap_max[::2]) < 1e-9
    assert np.abs(np.diff(at.overlap_max)).min() > 1e-3
    # Every mode grows from the first step on.
    assert above.onset == above.onset_predicted == above.onset_linear == 0


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("factor", [0.3, 0.7, 1.0, 1.05])
def test_measured_rates_are_those_of_the_hessian(alpha, factor):
    point = point_of(alpha)
    step = factor * point.critical_step
    np.testing.assert_allclose(measured_rates(point, step), point.rates(step), atol=RATE_ACCURACY)


def test_measured_rates_see_a_wrong_eigenvalue():
    point = point_of(1.0)
    step = 0.7 * point.critical_step
    wrong = point.rates(step)
    wrong[0] += 1e-5
    assert np.abs(measured_rates(point, step) - wrong).max() > 0.9e-5


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([*ALPHAS, 2.0]),
    st.integers(0, 10),
    st.floats(0.1, 0.97),
    st.floats(1.03, 1.4),
)
def test_the_bound_is_sharp(alpha, seed, below, above):
    model = HopfieldModel(clustered(12, 8, seed=seed), alpha=alpha)
    try:
        point = find_minimum(model, model.scale * model.patterns[0], 30.0)
    except InputError:
        return
    amplitude = 1e-5 * point.length
    slowest = np.abs(point.rates(below * point.critical_step)).max()
    enough = min(100 + int(50 / (1 - slowest)), 100_000)
    stable = descend(point, below * point.critical_step, amplitude=amplitude, iterations=enough)
    unstable = descend(point, above * point.critical_step, amplitude=amplitude, iterations=2000)
    assert (stable.forecast, stable.outcome) == (Forecast.STABLE, Outcome.CONVERGES)
    assert unstable.forecast is Forecast.UNSTABLE
    assert unstable.outcome is not Outcome.CONVERGES
    assert unstable.distance[-1] > amplitude


@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.5, 1.8])
@pytest.mark.parametrize("order", [1, 2])
def test_perturbation_theory_has_its_order(alpha, order):
    point = point_of(alpha)
    step, beta = 0.7 * point.critical_step, point.beta
    errors = []
    for amplitude in (2e-3, 1e-3):
        x = point.x + amplitude * point.soft
        components = []
        for _ in range(8):
            components.append((x - point.x) @ point.modes)
            x = x - step * point.model.gradient(x, beta)
        theory = predicted_components(point, step, components[0], amplitude, 7, order=order)
        errors.append(np.abs(np.array(components) - theory).max())
    # The first neglected power of A; a tenth allows for the power after it.
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order + 1, abs=0.1)


def test_resonant_modes_have_a_finite_response():
    point = point_of(1.0)
    lowest, other = point.eigenvalues[0], point.eigenvalues[3]
    resonant = (2 * lowest - other) / lowest**2  # 1 − ηλ = (1 − ηλ_min)²
    exact, beside = (
        predicted_components(point, step, np.zeros(16), 1e-2, 12)[:, 3]
        for step in (resonant, resonant * (1 + 1e-6))
    )
    assert np.abs(exact).max() > 0
    np.testing.assert_allclose(exact, beside, rtol=1e-3, atol=1e-3 * np.abs(exact).max())


@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.5, 1.8, 2.0, 2.5])
def test_the_coupling_is_the_second_difference_of_the_gradient(alpha):
    model = HopfieldModel(clustered(20, 16, seed=1), alpha=alpha)
    beta = 20.0
    point = find_minimum(model, model.scale * model.patterns.mean(axis=0), beta)
    assert (model.weights(point.x, beta) > 0).sum() > 1
    h = 1e-4 * point.length
    states = point.x + h * np.array([[-1.0], [0.0], [1.0]]) * point.soft
    support = model.weights(states, beta) > 0
    assert (support == support[1]).all()
    below, here, above = model.gradient(states, beta)
    differences = (above + below - 2 * here) @ point.modes / h**2
    # Rounding of the gradient, εβ|x|/h², and the next order in h.
    noise = 1e-6 * (np.abs(differences).max() + beta / point.length)
    np.testing.assert_allclose(cubic_coupling(point), differences, atol=noise)


def test_modes_off_the_span_of_the_support_are_not_fed():
    # α = 1.5: directions that no pattern of the support has, of curvature β, couple to nothing.
    model = HopfieldModel(clustered(100, 64, clusters=4, delta=0.04, seed=1), alpha=1.5)
    point = find_minimum(model, model.scale * model.patterns[0], 300.0)
    free = np.abs(point.eigenvalues / 300.0 - 1) < 1e-9
    size = (model.weights(point.x, 300.0) > 0).sum()
    assert free.sum() == 64 - (size - 1)
    coupling = np.abs(cubic_coupling(point))
    assert coupling[free].max() < 1e-12 * coupling.max()


@pytest.mark.parametrize("factor", [1.02, 1.1])
def test_the_onset_is_predicted_to_second_order(mixture, factor):
    path = descend(mixture, factor * mixture.critical_step, amplitude=1e-2)
    assert path.outcome is Outcome.DIVERGES
    assert path.onset is not None
    assert path.onset > 0
    assert path.onset == path.onset_predicted
    assert path.floor == pytest.approx(path.floor_predicted, rel=0.05)
    # The cubic terms of Γ seed the growth, eleven orders of magnitude above what the start has.
    assert path.seed > 1e11 * path.seed_linear
    theory = path.distance_predicted
    small = theory < 1e-2
    np.testing.assert_allclose(path.distance[small], theory[small], rtol=0.2)


def test_nothing_is_predicted_across_a_change_of_the_support():
    model = HopfieldModel(clustered(100, 64, clusters=4, delta=0.04, seed=1), alpha=1.5)
    point = find_minimum(model, model.scale * model.patterns[0], 300.0)
    step = 1.1 * point.critical_step
    far, near = (descend(point, step, amplitude=amplitude) for amplitude in (1e-2, 1e-5))
    assert not far.support_kept
    assert far.onset_predicted is far.onset_linear is far.floor_predicted is None
    assert np.isnan(far.distance_predicted).all()
    assert near.support_kept
    assert near.onset is not None
    assert near.onset == pytest.approx(near.onset_predicted, abs=1)


def test_rounding_seeds_the_growth_for_tiny_amplitudes(mixture):
    path = descend(mixture, 1.1 * mixture.critical_step, amplitude=1e-11, iterations=2000)
    assert path.seed < 0.01 * path.seed_linear
    assert path.seed_linear < 1e-15
    # A path that passes its unstable fixed point within rounding is not taken as converged.
    assert path.outcome is Outcome.DIVERGES
    assert path.distance.min() < 1e-15


def test_modes_that_are_not_fed_grow_from_rounding():
    # The unstable modes of this state lie off the span of its support: not even a larger A feeds them.
    model = HopfieldModel(clustered(100, 64, clusters=4, delta=0.04, seed=2), alpha=1.5)
    point = find_minimum(model, model.scale * model.patterns[0], 300.0)
    path = descend(point, 1.02 * point.critical_step, amplitude=1e-4)
    assert path.seed < path.seed_linear < 1e-15
    assert path.onset is not None
    assert path.onset_linear is not None
    # Roundings of later steps add up to about ten times that of the start: ln 10 of 28 in the exponent.
    assert 0.8 * path.onset_linear < path.onset <= path.onset_linear + 1


def test_the_distance_decays_before_it_grows(mixture):
    path = descend(mixture, 1.02 * mixture.critical_step)
    assert path.distance[path.onset] < 0.01 * path.distance[0] < 0.01 * path.distance[-1]
    assert path.unstable_distance[0] < 1e-15
    assert path.unstable_distance[-1] == pytest.approx(path.distance[-1], rel=0.5)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([0.6, 1.0, 1.5, 2.0, 3.0]), st.floats(1.01, 3), st.integers(0, 1000))
def test_beyond_the_radius_every_step_leads_farther(alpha, factor, seed):
    rng = np.random.default_rng(seed)
    model = HopfieldModel(clustered(12, 8, seed=0), alpha=2.0)
    point = find_minimum(model, model.scale * model.patterns[0], 60.0)
    model = HopfieldModel(model.patterns, alpha=alpha)
    step = factor * point.critical_step
    x = rng.normal(size=8)
    x *= escape_radius(point, step) * (1 + rng.exponential()) / np.linalg.norm(x)
    assert np.linalg.norm(x - step * model.gradient(x, 60.0)) > np.linalg.norm(x)


def test_small_step_sizes_have_no_escape(stored):
    assert escape_radius(stored, 2 / 300.0) == math.inf
    assert escape_radius(stored, 2.1 / 300.0) == pytest.approx(2.1 * 0.125 / 0.1)


def test_a_far_start_can_settle_elsewhere():
    # Two keys, 2 < α < 3: mixture and single keys are both stable between b_vertex and b_mix.
    model = HopfieldModel(two_keys(0.3, d=4), alpha=2.5, scale=1.0)
    point = find_minimum(model, model.patterns.mean(axis=0), 2.45)
    assert model.weights(point.x, 2.45) == pytest.approx([0.5, 0.5])
    near, far = (
        descend(point, 0.5 * point.critical_step, amplitude=amplitude, iterations=5000)
        for amplitude in (1e-3, 0.5)
    )
    assert near.outcome is Outcome.CONVERGES
    assert far.outcome is Outcome.ELSEWHERE
    assert far.distance[-1] == pytest.approx(np.linalg.norm(model.patterns[0] - point.x))


def test_the_soft_direction_turns_with_the_patterns(stored):
    turn, _ = np.linalg.qr(np.random.default_rng(5).normal(size=(64, 64)))
    model = HopfieldModel(stored.model.patterns @ turn, alpha=2.0)
    turned = find_minimum(model, model.scale * model.patterns[0], 300.0)
    np.testing.assert_allclose(turned.soft, stored.soft @ turn, atol=ROUNDING)


def test_the_sign_of_the_soft_direction_is_fixed(mixture):
    assert mixture.soft_dimension == 1
    assert mixture.soft @ mixture.x > 0
    np.testing.assert_allclose(np.abs(mixture.soft), np.abs(mixture.modes[:, 0]), atol=ROUNDING)
    assert mixture.model.gradient_residual(mixture.x, 300.0) < 1e-15


def test_hardmax_is_a_single_pattern():
    model = HopfieldModel(clustered(20, 16, seed=1), alpha=math.inf)
    point = find_minimum(model, model.scale * model.patterns[0], 40.0)
    assert point.critical_step == 2 / 40.0
    assert descend(point, 0.9 * point.critical_step, amplitude=1e-3).outcome is Outcome.CONVERGES


def test_a_start_without_a_minimum_is_refused():
    # At b = 2/(1 − ε) the whole edge between two keys is flat.
    model = HopfieldModel(two_keys(0.5, d=4), alpha=2.0, scale=1.0)
    with pytest.raises(InputError, match="no verified minimum"):
        find_minimum(model, model.patterns.mean(axis=0), 4.0)


@pytest.mark.parametrize(
    ("step", "options", "name"),
    [
        (0.0, {}, "step"),
        (math.inf, {}, "step"),
        (0.1, {"amplitude": 0.0}, "amplitude"),
        (0.1, {"amplitude": math.nan}, "amplitude"),
        (0.1, {"iterations": 0}, "iterations"),
        (0.1, {"iterations": 2.5}, "iterations"),
    ],
)
def test_bad_options_are_named(stored, step, options, name):
    with pytest.raises(InputError, match=f"^{name} = "):
        descend(stored, step, **options)
