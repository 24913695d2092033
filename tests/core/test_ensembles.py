"""Laws on the line and operators on the plane, against quadrature, each other, and simulation."""

import math
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from hopfieldphase.core.ensembles import (
    Gaussian,
    MatrixInverse,
    MirroredPareto,
    ShearedSwap,
    SplicedPareto,
    draw_instance,
    pareto_transport,
    symexp,
    symlog,
)
from hopfieldphase.core.ensembles.operators import LOWEST_INDEX
from hopfieldphase.core.errors import InputError

ROUNDING = 1e-12
QUADRATURE = 1e-8
"""Relative error of adaptive quadrature over heavy tails, in the variable t = a ln(x/λ)."""

LAWS = [
    MirroredPareto(1.2),
    MirroredPareto(2.7, 0.4),
    Gaussian(1.7),
    SplicedPareto(0.6, 0.9),
    SplicedPareto(3.5, 0.5, 1.5, 2.0),
    SplicedPareto(1.5, 0.99),
]
SYMMETRIC = [MirroredPareto(1.2), MirroredPareto(2.7, 0.4), Gaussian(1.7), Gaussian(0.3, -2.0)]

indices = st.floats(0.2, 8.0)
scales = st.floats(0.01, 100.0)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_density_is_the_derivative_of_the_distribution_function(law):
    z = law.quantile(np.array([0.01, 0.2, 0.45, 0.55, 0.8, 0.95, 0.995]))
    step = 1e-5 * np.maximum(np.abs(z), 1)
    # central differences are right to step², and lose eps/step to rounding
    assert_allclose((law.cdf(z + step) - law.cdf(z - step)) / (2 * step), law.density(z), rtol=1e-5)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_quantiles_invert_both_sides(law):
    q = np.array([1e-12, 1e-3, 0.3, 0.5, 0.9, 0.999])
    assert_allclose(law.cdf(law.quantile(q)), q, rtol=1e-10 if law not in SYMMETRIC else ROUNDING, atol=1e-15)
    far = np.array([1e-100, 1e-15, 1e-6])
    assert_allclose(law.survival(law.upper_quantile(far)), far, rtol=1e-10)
    assert_allclose(law.cdf(law.quantile(0.7)) + law.survival(law.quantile(0.7)), 1, rtol=ROUNDING)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_samples_have_the_law(law):
    sample = law.sample(20000, seed=1)
    # fixed seed; a right sampler fails at this level once in a thousand seeds
    assert scipy.stats.kstest(sample, law.cdf).pvalue > 1e-3
    assert_array_equal(sample, law.sample(20000, seed=1))
    assert law.sample((3, 4)).shape == (3, 4)


def test_mirrored_pareto_is_the_folded_pareto():
    law = MirroredPareto(1.7, 2.0)
    z = np.array([-30.0, 0.0, 1.9, 2.0, 2.1, 40.0])
    folded = scipy.stats.pareto(1.7, scale=2.0)
    assert_allclose(law.density(z), 0.5 * folded.pdf(law.folded(z)), rtol=ROUNDING)
    upper = z >= 2.0
    assert_allclose(law.survival(z[upper]), 0.5 * folded.sf(law.folded(z[upper])), rtol=ROUNDING)
    assert_allclose(law.cdf(z[~upper]), 0.5 * folded.sf(law.folded(z[~upper])), rtol=ROUNDING)


@pytest.mark.parametrize(("a", "scale"), [(1.3, 1.0), (2.0, 0.5)])
def test_density_has_a_kink_at_the_centre(a, scale):
    # the one-sided derivatives are ∓a(a+1)/2λ²: what tells the shear on the edge k = −1
    law, step = MirroredPareto(a, scale), 1e-6 * scale
    right, left = ((law.density(scale + s) - law.density(scale)) / s for s in (step, -step))
    assert_allclose([right, -left], -a * (a + 1) / (2 * scale**2), rtol=1e-4)


@given(indices, scales, indices, scales, st.floats(-50, 50))
def test_transport_matches_probabilities(a, scale, b, other, z):
    source, target = MirroredPareto(a, scale), MirroredPareto(b, other)
    moved = pareto_transport(z, source, target)
    for side in ("cdf", "survival"):
        assert_allclose(getattr(target, side)(moved), getattr(source, side)(z), rtol=1e-9)
    assert_allclose(pareto_transport(moved, target, source), z, rtol=1e-9, atol=1e-9 * scale)


def quadrature(law, function):
    """E function(Z) of a mirrored Pareto law: ½∫ e^(−t) [f(x) + f(2λ − x)] dt with x = λ e^(t/a)."""

    def integrand(t):
        x = law.scale * math.exp(t / law.index)
        return 0.5 * math.exp(-t) * (function(x) + function(2 * law.scale - x))

    ends = (0, law.index * math.log(2), 5, 30, 500)
    parts = [
        scipy.integrate.quad(integrand, *pair, epsabs=0, epsrel=1e-11, limit=300)[0]
        for pair in pairwise(ends)
    ]
    return sum(parts)


@pytest.mark.parametrize(
    ("a", "scale", "p"), [(1.5, 1.0, 1.0), (2.5, 2.0, 0.4), (3.0, 0.7, 2.0), (4.5, 1.0, 3.3)]
)
def test_absolute_moments(a, scale, p):
    law = MirroredPareto(a, scale)
    assert_allclose(law.absolute_moment(p), quadrature(law, lambda z: abs(z) ** p), rtol=QUADRATURE)


@given(indices, scales, st.floats(0.01, 10.0))
def test_moments_exist_below_the_index_only(a, scale, p):
    law = MirroredPareto(a, scale)
    assert math.isfinite(law.absolute_moment(p)) == (p < a)
    assert math.isfinite(law.mean_difference()) == (a > 1)
    assert math.isfinite(law.variance()) == (a > 2)
    if a > 1.01:
        assert law.absolute_moment(1) <= scale * a / (a - 1) * (1 + ROUNDING)


@pytest.mark.parametrize("a", [2.3, 5.0])
def test_variance(a):
    law = MirroredPareto(a, 1.4)
    assert_allclose(law.variance(), quadrature(law, lambda z: (z - 1.4) ** 2), rtol=QUADRATURE)
    second = law.absolute_moment(2)
    assert_allclose(law.variance(), second - 1.4**2, rtol=1e-10)


@pytest.mark.parametrize("law", SYMMETRIC, ids=str)
def test_mean_distances(law):
    z = np.array([-7.0, -0.2, law.centre, 1.1, 30.0])
    if isinstance(law, MirroredPareto):
        expected = [quadrature(law, lambda y, z=z: abs(z - y)) for z in z]
        spread = quadrature(law, lambda y: float(law.expected_distance(y)))
        tolerance = 1e-6  # the kink of |z − y| is not among the ends of the quadrature
    else:
        expected = [law.sigma * scipy.stats.foldnorm(abs(z - law.mean) / law.sigma).mean() for z in z]
        spread = 2 * law.sigma / math.sqrt(math.pi)
        tolerance = 1e-10
    assert_allclose(law.expected_distance(z), expected, rtol=tolerance)
    assert_allclose(law.mean_difference(), spread, rtol=1e-7)
    assert_allclose(law.expected_distance(1e9 + law.centre), 1e9, rtol=1e-3)


@pytest.mark.parametrize(("index", "seam"), [(0.6, 0.5), (1.0, 0.9), (1.5, 0.9), (3.5, 0.99)])
def test_splice_joins_two_pareto_laws(index, seam):
    law, reference = SplicedPareto(index, seam), scipy.stats.pareto(1.5)
    below = law.knot * np.array([0.2, 0.7, 1.0]) + np.array([0.8, 0.3, 0.0])
    below = below[below <= law.knot]
    assert_allclose(law.cdf(below), reference.cdf(below), rtol=ROUNDING)
    assert_allclose(law.density(below), reference.pdf(below), rtol=ROUNDING)
    above = law.knot * np.array([1.001, 2.0, 1e5])
    upper = scipy.stats.pareto(index, loc=law.shift, scale=law.knot - law.shift)
    assert_allclose(law.survival(above), (1 - seam) * upper.sf(above), rtol=1e-10)
    assert_allclose(law.cdf(law.knot), seam, rtol=ROUNDING)
    # the translation makes the density continuous at the knot
    assert_allclose(law.density(law.knot * (1 + 1e-12)), law.density(law.knot), rtol=1e-9)
    assert law.density(0.99) == 0
    assert law.survival(0.5) == 1


def test_splice_of_equal_indices_is_one_law():
    law, reference = SplicedPareto(1.5, 0.9), scipy.stats.pareto(1.5)
    z = np.array([1.0, 2.0, law.knot, 100.0])
    assert_allclose(law.survival(z), reference.sf(z), rtol=ROUNDING)
    assert abs(law.shift) < ROUNDING


@pytest.mark.parametrize("law", [SplicedPareto(2.2, 0.9), SplicedPareto(1.8, 0.5, 1.0, 3.0)])
def test_mean_of_a_splice(law):
    body = scipy.integrate.quad(law.survival, law.scale, law.knot, epsrel=1e-12)[0]
    # above the knot P(Z > x) is a power: ∫ = (1 − q₀)(u₀ − b)/(a − 1)
    tail = (1 - law.seam) * (law.knot - law.shift) / (law.index - 1)
    assert_allclose(law.mean(), law.scale + body + tail, rtol=1e-10)
    assert math.isinf(SplicedPareto(1.0, 0.9).mean())


@pytest.mark.parametrize("a", [0.7, 1.5, 3.0])
def test_symlog_makes_tails_exponential_with_the_same_index(a):
    scale = 2.0
    t = np.array([2.0, 5.0, 20.0, 200.0])
    tail = scipy.stats.pareto(a, scale=scale).sf(symexp(t))
    assert_allclose(tail, scale**a * np.expm1(t) ** -a, rtol=1e-10)
    assert_allclose(-np.diff(np.log(tail[2:])) / 180, a, rtol=1e-8)  # rate a up to e^(−20)


@given(st.floats(-1e300, 1e300))
def test_symlog_and_its_inverse(x):
    y = symlog(x)
    assert_allclose(symexp(y), x, rtol=1e-12)
    assert symlog(-x) == -y
    assert abs(y) <= abs(x)


@given(
    st.integers(0, 2**32),
    st.sampled_from([ShearedSwap, MatrixInverse]),
    st.sampled_from(["pareto", "gaussian"]),
)
def test_instances_stay_in_their_family(seed, operator, family):
    instance = draw_instance(operator, family, seed)
    first, second = instance.marginals
    matrix, output = instance.operator.input_matrix, instance.operator.output_matrix
    if operator is ShearedSwap:
        assert_allclose(np.linalg.det(matrix), 1, rtol=ROUNDING)
        exchange = np.array([[0, 1], [1, 0]])
        assert_allclose(instance.operator.transport, matrix @ exchange @ np.linalg.inv(matrix), atol=1e-11)
        assert_allclose(output, matrix[:, ::-1])
    else:
        assert np.linalg.det(matrix) > 0
        assert_allclose(instance.operator.transport, np.linalg.inv(matrix @ matrix), atol=1e-11)
        again = MatrixInverse.from_matrix(matrix)
        assert_allclose(again.input_matrix, matrix, atol=ROUNDING)
    if family == "pareto":
        assert 2 <= first.index <= 3
        assert 1 < LOWEST_INDEX <= second.index <= 2
    else:
        assert 1 < LOWEST_INDEX <= first.sigma <= 2 <= second.sigma <= 3
    assert_allclose(instance.centre, matrix @ [1, 1])


@pytest.mark.parametrize("operator", [ShearedSwap, MatrixInverse])
def test_transport_takes_inputs_to_targets(operator):
    instance = draw_instance(operator, "pareto", 3)
    inputs, targets = instance.inputs(50, 7), instance.targets(50, 7)
    assert_allclose(inputs @ instance.operator.transport.T, targets, rtol=1e-9, atol=1e-9)
    pair = instance.ensembles(50, 7)
    assert_array_equal(pair.inputs, inputs)
    assert not np.array_equal(pair.targets, targets)  # targets are independent of the inputs


def test_parameters_are_uniform():
    generator = np.random.default_rng(0)
    swaps = [ShearedSwap.draw(generator) for _ in range(2000)]
    assert scipy.stats.kstest([s.j for s in swaps], scipy.stats.uniform(-1, 2).cdf).pvalue > 1e-3
    inverses = [MatrixInverse.draw(generator) for _ in range(2000)]
    for name, (low, high) in MatrixInverse.RANGES.items():
        values = [getattr(operator, name) for operator in inverses]
        assert scipy.stats.kstest(values, scipy.stats.uniform(low, high - low).cdf).pvalue > 1e-3, name


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: MirroredPareto(0.0), "tail index = 0.0 is outside"),
        (lambda: MirroredPareto(-1.5), "tail index = -1.5"),
        (lambda: MirroredPareto(1.5, math.inf), "scale = inf"),
        (lambda: MirroredPareto(math.nan), "tail index = nan"),
        (lambda: Gaussian(0.0), "sigma = 0.0"),
        (lambda: SplicedPareto(-0.5, 0.5), "tail index = -0.5"),
        (lambda: SplicedPareto(1.5, 1.0), "seam = 1.0"),
        (lambda: SplicedPareto(1.5, 0.5, 0.0), "reference index = 0.0"),
        (lambda: MirroredPareto(1.5).cdf([0.0, math.nan]), "z holds NaN"),
        (lambda: MirroredPareto(1.5).quantile(1.5), "probability = 1.5"),
        (lambda: MirroredPareto(1.5).sample(-1), "size = -1"),
        (lambda: MirroredPareto(1.5).sample(3, seed=-1), "seed = -1"),
        (lambda: MirroredPareto(1.5).absolute_moment(0), "p = 0"),
        (lambda: Gaussian(1.0).density("wide"), "does not hold real numbers"),
        (lambda: symlog(math.nan), "x holds NaN"),
        (lambda: ShearedSwap(1.1, 0.0), "j = 1.1"),
        (lambda: MatrixInverse(0.0, 0.0, 0.5, 1.0), "first = 0.5"),
        (lambda: MatrixInverse.from_matrix(np.diag([1.0, -1.0])), "det B = -1"),
        (lambda: draw_instance(ShearedSwap, "cauchy"), "family = 'cauchy'"),
        (lambda: draw_instance(ShearedSwap, "pareto").inputs(0), "n = 0"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
