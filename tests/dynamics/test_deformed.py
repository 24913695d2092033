"""Deformed ensembles: closed forms, Theorem 2.1, its conjugate, the domain of W."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import roots_legendre

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.tsallis import exp_alpha, log_alpha
from hopfieldphase.dynamics.deformed import DeformedEnsemble

QUADRATURE = 1e-10  # cubature asks for 1e-11 of the mass of each integrand
THEOREM = 1e-8  # two integrations with other nodes, ten or more terms
SLOPE = 1e-6  # central differences with steps of 1e-4

INDICES = (0.7, 1.0, 1.5, 2.0, 2.5)


def rippled(x):
    return x**2 / 2 + 0.3 * np.cos(2 * x)


def plane(x):
    return x[:, 0] ** 2 / 2 + x[:, 1] ** 2 / 2 + 0.3 * np.cos(2 * x[:, 0] + x[:, 1])


def interval(alpha, beta=1.3):
    return DeformedEnsemble(rippled, (-3, 3), beta, alpha)


def rectangle(alpha):
    return DeformedEnsemble(plane, ((-3, 3), (-2, 2)), 1.3, alpha)


# Closed forms -----------------------------------------------------------------------------------------------

FREE = (lambda x: 0 * x, (-1.5, 1.5), 1.0)


@pytest.mark.parametrize(
    ("ensemble", "source", "partition"),
    [
        (DeformedEnsemble(*FREE, 1.0), 0.8, 2 * math.sinh(1.2) / 0.8),
        (DeformedEnsemble(*FREE, 2.0), 0.4, math.log(1.6 / 0.4) / 0.4),
        (DeformedEnsemble(lambda x: x**2, (-2, 2), 0.25, 2.0), 0.0, 4 * math.atan(1)),
        # exp_{1/2}(u) = [1 + u/2]_+²: support |x| < 1, integral 16/15.
        (DeformedEnsemble(lambda x: x**2, (-3, 3), 2.0, 0.5), 0.0, 16 / 15),
        (DeformedEnsemble(lambda x: 0 * x[:, 0], ((-1, 1), (0, 2)), 1.0), [1.0, 0.0], 4 * math.sinh(1)),
    ],
)  # fmt: skip
def test_partition_functions_in_closed_form_within_their_error(ensemble, source, partition):
    z = ensemble.partition(source)
    assert z.value == pytest.approx(partition, abs=QUADRATURE)
    assert abs(z.value - partition) <= z.error + 1e-14
    w = ensemble.log_partition(source)
    assert w.value == pytest.approx(float(log_alpha(partition, ensemble.alpha)), abs=QUADRATURE)


def test_a_narrow_gibbs_peak_and_two_of_them_are_seen():
    beta = 1e5
    gauss = DeformedEnsemble(lambda x: x**2 / 2, (-3, 3), beta)
    assert gauss.log_partition(0.0).value == pytest.approx(math.log(2 * math.pi / beta) / 2, abs=1e-9)
    wells = DeformedEnsemble(lambda x: (x**2 - 1) ** 2, (-3, 3), beta)
    laplace = math.log(2 * math.sqrt(2 * math.pi / (8 * beta)))
    assert wells.log_partition(0.0).value == pytest.approx(laplace, abs=3 / beta)
    with pytest.raises(InputError, match="narrower than its integrals resolve"):
        DeformedEnsemble(lambda x: x**2, (-3, 3), 1e12).partition(0.0)


# Theorem 2.1 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", INDICES)
@pytest.mark.parametrize("source", [0.0, 0.2, -0.9])
def test_theorem_2_1_on_an_interval(alpha, source):
    ensemble = interval(alpha)
    w, form = ensemble.log_partition(source), ensemble.escort_form(source)
    assert form.value == pytest.approx(-w.value, abs=w.error + form.error)
    assert form.value == pytest.approx(-w.value, abs=THEOREM)
    # The same right-hand side by QUADPACK, without the class.
    z = quad(
        lambda x: float(exp_alpha(-1.3 * rippled(x) + source * x, alpha)), -3, 3, epsabs=1e-12, limit=400
    )[0]

    def p(x):
        return float(exp_alpha(-1.3 * rippled(x) + source * x, alpha)) / z

    def integral(f):
        return quad(f, -3, 3, epsabs=1e-12, limit=400)[0]

    norm = integral(lambda x: p(x) ** alpha)
    entropy = integral(lambda x: -p(x) * math.log(p(x))) if alpha == 1 else (1 - norm) / (alpha - 1)
    tilted = integral(lambda x: p(x) ** alpha * (1.3 * rippled(x) - source * x)) / norm
    assert tilted - entropy / (z ** (alpha - 1) * norm) == pytest.approx(-w.value, abs=THEOREM)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 2.0, 2.5, pytest.param(0.7, marks=pytest.mark.slow)])
def test_theorem_2_1_on_a_rectangle(alpha):
    ensemble, source = rectangle(alpha), np.array([0.2, -0.1])
    w, form = ensemble.log_partition(source), ensemble.escort_form(source)
    assert form.value == pytest.approx(-w.value, abs=THEOREM)
    # Gauss–Legendre with 120 nodes a side; the edge of the support slows it down for α < 1.
    nodes, weights = roots_legendre(120)
    x = np.stack(np.meshgrid(3 * nodes, 2 * nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    total = 6 * np.outer(weights, weights).ravel() @ exp_alpha(-1.3 * plane(x) + x @ source, alpha)
    assert w.value == pytest.approx(float(log_alpha(total, alpha)), abs=1e-6 if alpha < 1 else 1e-9)


def test_the_maximiser_obeys_the_unnormalised_moment_and_not_the_escort_average():
    ensemble = interval(2.0)
    assert ensemble.response(0.2).value == pytest.approx(0.041857, abs=5e-7)
    assert ensemble.escort(lambda x: x, 0.2).value == pytest.approx(0.202827, abs=5e-7)
    moment = ensemble.escort(lambda x: x, 0.2, normalised=False)
    assert moment.value == pytest.approx(ensemble.response(0.2).value, abs=QUADRATURE)


@pytest.mark.parametrize("alpha", INDICES)
def test_the_value_of_2_4_holds_at_j_zero_or_alpha_one_only(alpha):
    ensemble, source = interval(alpha), 0.2
    average = ensemble.escort(lambda x: x, source).value
    printed = ensemble.escort_form(source).value + source * average
    at_average = ensemble.free_energy(average)
    if alpha == 1:
        assert at_average.value == pytest.approx(printed, abs=QUADRATURE)
        assert at_average.source == pytest.approx(source, abs=1e-8)
    else:
        assert at_average.value - printed > 1e-3
        assert abs(at_average.source - source) > 0.05
    rest = ensemble.free_energy(ensemble.response(0.0).value)
    assert rest.value == pytest.approx(ensemble.escort_form(0.0).value, abs=QUADRATURE)


# Response, conjugate, duality -------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.4, *INDICES, 1 + 1e-9])
def test_response_and_susceptibility_are_derivatives_of_w(alpha):
    ensemble, source, step = interval(alpha), 0.3, 1e-4
    w = [ensemble.log_partition(source + k * step).value for k in (-1, 1)]
    r = [ensemble.response(source + k * step).value for k in (-1, 1)]
    assert ensemble.response(source).value == pytest.approx((w[1] - w[0]) / (2 * step), abs=SLOPE)
    assert ensemble.susceptibility(source).value == pytest.approx((r[1] - r[0]) / (2 * step), abs=SLOPE)


@pytest.mark.parametrize("alpha", [1.0, 2.5])
def test_derivatives_on_a_rectangle(alpha):
    ensemble, source, step = rectangle(alpha), np.array([0.2, -0.1]), 1e-4
    gradient, hessian = ensemble.derivatives(source)
    for axis, e in enumerate(np.eye(2)):
        w = [ensemble.log_partition(source + k * step * e).value for k in (-1, 1)]
        r = [ensemble.response(source + k * step * e).value for k in (-1, 1)]
        assert gradient[axis] == pytest.approx((w[1] - w[0]) / (2 * step), abs=SLOPE)
        np.testing.assert_allclose(hessian[axis], (r[1] - r[0]) / (2 * step), atol=SLOPE)
    np.testing.assert_allclose(ensemble.susceptibility(source).value, hessian, atol=QUADRATURE)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.3, *INDICES, 4.0])
def test_w_is_convex_on_its_domain(alpha):
    ensemble = DeformedEnsemble(lambda x: np.cos(3 * x) - 0.5 * x, (-1, 2.5), 0.3, alpha)
    low, high = np.clip(ensemble.source_interval(), -3, 3)
    sources = low + (high - low) * np.array([0.02, 0.2, 0.5, 0.8, 0.98])
    assert all(ensemble.susceptibility(float(j)).value > 0 for j in sources)


@pytest.mark.parametrize("alpha", INDICES)
@pytest.mark.parametrize("source", [-0.9, 0.2])
def test_the_conjugate_finds_the_source_back_and_its_slope_is_the_source(alpha, source):
    ensemble = interval(alpha)
    phi = ensemble.response(source).value
    energy = ensemble.free_energy(phi)
    assert energy.source == pytest.approx(source, abs=1e-8)
    assert energy.value == pytest.approx(source * phi - ensemble.log_partition(source).value, abs=QUADRATURE)
    step = 1e-4 * abs(phi)
    slope = (ensemble.free_energy(phi + step).value - ensemble.free_energy(phi - step).value) / (2 * step)
    assert slope == pytest.approx(source, abs=1e-5)


def test_the_conjugate_on_a_rectangle_and_near_the_edge_of_an_interval():
    phi = rectangle(1.5).response([0.3, 0.2]).value
    np.testing.assert_allclose(rectangle(1.5).free_energy(phi).source, [0.3, 0.2], atol=1e-8)
    # W ≈ 3J − ln J + const near the edge: 1/(3 − φ) is the source, up to β H'(3).
    assert interval(1.0).free_energy(2.9999).source == pytest.approx(
        1e4 + 1.3 * (3 - 0.6 * math.sin(6)), rel=1e-4
    )


@pytest.mark.parametrize("alpha", INDICES)
def test_the_duality_gap_vanishes_at_the_response_and_only_there(alpha):
    ensemble = interval(alpha)
    phi = ensemble.response(0.2).value
    at, off = ensemble.duality_gap(0.2, phi), ensemble.duality_gap(0.5, phi)
    assert abs(at.value) <= at.error
    assert off.value > 1e-5
    assert off.value > 10 * off.error


def test_a_reflected_domain_reflects_everything():
    mirrored = DeformedEnsemble(lambda x: rippled(-x) + 0.1 * x, (-2, 3), 1.3, 1.5)
    original = DeformedEnsemble(lambda x: rippled(x) - 0.1 * x, (-3, 2), 1.3, 1.5)
    assert mirrored.log_partition(0.4).value == pytest.approx(
        original.log_partition(-0.4).value, abs=QUADRATURE
    )
    assert mirrored.response(0.4).value == pytest.approx(-original.response(-0.4).value, abs=QUADRATURE)


# Where dom W ends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.5, 2.0, 2.5])
def test_the_domain_of_w_for_a_parabola(alpha):
    beta = 2.0
    ensemble = DeformedEnsemble(lambda x: x**2 / 2, (-3, 3), beta, alpha)
    edge = math.sqrt(2 * beta / (alpha - 1))
    assert ensemble.source_interval() == pytest.approx((-edge, edge), rel=1e-9)
    assert math.isfinite(ensemble.log_partition(edge * (1 - 1e-6)).value)
    with pytest.raises(InputError, match="lies outside the domain of W, Z is infinite"):
        ensemble.log_partition(edge * (1 + 1e-6))


def test_the_domain_of_w_need_not_hold_zero():
    ensemble = DeformedEnsemble(lambda x: 0 * x - 2.0, (1.0, 3.0), 1.0, 2.0)
    assert ensemble.source_interval() == pytest.approx((-math.inf, -1.0))
    with pytest.raises(InputError, match="Z is infinite"):
        ensemble.partition(0.0)
    phi = ensemble.response(-1.5).value
    assert ensemble.free_energy(phi).source == pytest.approx(-1.5, abs=1e-8)


def test_alpha_below_one_has_the_whole_line_but_z_may_vanish():
    ensemble = DeformedEnsemble(lambda x: 0 * x + 10.0, (-3, 3), 1.3, 0.7)
    assert ensemble.source_interval() == (-math.inf, math.inf)
    with pytest.raises(InputError, match="Z is zero"):
        ensemble.partition(0.0)
    assert ensemble.partition(5.0).value > 0


@pytest.mark.slow
def test_w_is_linear_for_the_scale_invariant_density():
    # 1 + (1 − α)(−βH + Jx) = −Jx: p is 1/x and 1/Z linear in J, so that W is not strictly convex.
    ensemble = DeformedEnsemble(lambda x: 0 * x - 1.0, (1.0, 2.0), 1.0, 2.0)
    for source in (-0.5, -2.0):
        expected = 1 - abs(source) / math.log(2)
        assert ensemble.log_partition(source).value == pytest.approx(expected, abs=QUADRATURE)
        assert abs(ensemble.susceptibility(source).value) < 1e-20


@pytest.mark.slow
def test_the_slope_of_w_stays_finite_at_a_corner_for_large_alpha_only():
    # At a corner of a rectangle ∫ (ε + a·x)^{−α/(α−1)} converges for α > 2: W is not essentially smooth.
    def slope(alpha, distance):
        ensemble = DeformedEnsemble(lambda x: 0.1 * (x[:, 0] + x[:, 1]), ((-1, 1), (-1, 1)), 1.0, alpha)
        edge = ensemble.source_interval([1.0, 1.0])[1]
        return ensemble.response([edge * (1 - distance)] * 2).value[0]

    assert slope(1.5, 1e-4) > 5 * slope(1.5, 1e-3)
    assert slope(4.0, 1e-4) < 1.06 * slope(4.0, 1e-3)
    with pytest.raises(InputError, match="phi = "):
        DeformedEnsemble(lambda x: 0.1 * (x[:, 0] + x[:, 1]), ((-1, 1), (-1, 1)), 1.0, 4.0).free_energy(
            [0.5, 0.5]
        )


# Bad input --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: DeformedEnsemble(rippled, (3, -3), 1.0), "no interval or rectangle"),
        (lambda: DeformedEnsemble(rippled, (0, math.inf), 1.0), "no interval or rectangle"),
        (lambda: DeformedEnsemble(rippled, (-1, 1), -1.0), "beta = -1.0"),
        (lambda: DeformedEnsemble(rippled, (-1, 1), 1.0, math.inf), "alpha = inf"),
        (lambda: DeformedEnsemble(rippled, (-1, 1), 1.0, 0.0), "alpha = 0"),
        (lambda: DeformedEnsemble(lambda x: 1.0, (-1, 1), 1.0).partition(), "hamiltonian gives shape"),
        (lambda: DeformedEnsemble(lambda x: x * math.nan, (-1, 1), 1.0).partition(), "NaN or inf"),
        (lambda: interval(1.0).partition([1.0, 2.0]), "J = \\[1.0, 2.0\\]"),
        (lambda: interval(1.0).partition(400.0), "ask for log_partition"),
        (lambda: rectangle(1.0).partition(0.0), "J = 0.0"),
        (lambda: interval(1.0).free_energy(3.0), "phi = 3.0 is no average"),
        (lambda: interval(0.7).free_energy(4.0), "give a phi that response"),
        (lambda: interval(2.0).source_interval(0.0), "direction is zero"),
        (lambda: interval(1.0).escort(lambda x: 1.0), "observable gives shape"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises(InputError, match=message) as error:
        call()
    assert "\n" not in str(error.value)
