"""Models of any attention map, and the fixed points of their updates."""

import copy
import pickle

import numpy as np
import pytest
import scipy.linalg

import hopfieldphase as hp
from hopfieldphase.core.attention import (
    CappedEntmax,
    ConstrainedSoftmax,
    Entmax,
    Exponential,
    LengthScaled,
    LinearElu,
    Logarithmic,
    LogElu,
    Normmax,
    Permutahedron,
    PositiveKernel,
    SparsemaxK,
    SquaredElu,
    TopK,
    TopP,
    WaterFilling,
)
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import AttentionModel, HopfieldModel
from hopfieldphase.solvers.fixed_points import find_fixed_point

M, D = 12, 6

ROUNDING = 1e-12
"""Two ways to the same numbers, of order one."""
DIFFERENCE = 1e-7
"""Central differences with a step of 1e-5, of functions with third derivatives of order 1e2."""
TOLERANCE = 2e-12
"""The default bound on residuals."""

DECREASING = PositiveKernel(lambda z: np.exp(-z), lambda z: -np.exp(-z))

WITHOUT_ENERGY = (LinearElu(), SquaredElu(), LogElu(), TopP(0.9), DECREASING)
WITH_ENERGY = (
    Exponential(),
    Entmax(1.5),
    TopK(4),
    CappedEntmax(k=4, alpha=1.5),
    SparsemaxK(4),
    Normmax(2.0),
    ConstrainedSoftmax(0.3),
    WaterFilling(2.0, 0.5),
    Permutahedron(np.linspace(0.3, 0.0, M)),
    LengthScaled(Exponential(), Logarithmic()),
)
ANY = (*WITHOUT_ENERGY, *WITH_ENERGY)


def name_of(attention):
    return attention.name


def model_of(attention, seed=3, M=M, d=D):
    return HopfieldModel(hp.patterns.gaussian(M, d, seed=seed), attention=attention)


def state_of(model, seed=0):
    return 0.3 * np.random.default_rng(seed).standard_normal(model.d)


def difference_jacobian(function, x, step=1e-5):
    """Jacobian by central differences."""
    steps = step * np.eye(x.size)
    return np.array([(function(x + h) - function(x - h)) / (2 * step) for h in steps]).T


@pytest.mark.parametrize("attention", ANY, ids=name_of)
def test_jacobian_and_slope_are_derivatives_of_the_update(attention):
    model = model_of(attention)
    x, beta = state_of(model), 2.0
    jacobian = difference_jacobian(lambda y: model.retrieve(y, beta), x)
    np.testing.assert_allclose(model.map_jacobian(x, beta), jacobian, atol=DIFFERENCE)
    slope = (model.retrieve(x, beta + 1e-5) - model.retrieve(x, beta - 1e-5)) / 2e-5
    np.testing.assert_allclose(model.beta_derivative(x, beta), slope, atol=DIFFERENCE)


@pytest.mark.parametrize("attention", WITH_ENERGY, ids=name_of)
def test_with_a_conjugate_the_update_descends_a_free_energy(attention):
    model = model_of(attention)
    x, beta = state_of(model), 2.0
    slope = difference_jacobian(lambda y: np.atleast_1d(model.free_energy(y, beta)), x)[0]
    np.testing.assert_allclose(model.gradient(x, beta), slope, atol=DIFFERENCE)
    curvature = difference_jacobian(lambda y: model.gradient(y, beta), x)
    np.testing.assert_allclose(model.hessian(x, beta), curvature, atol=10 * DIFFERENCE)
    values = model.eigenvalues(x, beta)
    assert np.abs(values.imag).max() < ROUNDING
    assert values.real.min() > -ROUNDING
    energies = []
    for _ in range(50):
        energies.append(float(model.free_energy(x, beta)))
        x = model.retrieve(x, beta)
    assert np.diff(energies).max() < ROUNDING


@pytest.mark.parametrize("attention", WITHOUT_ENERGY, ids=name_of)
@pytest.mark.parametrize("name", ["free_energy", "gradient", "hessian"])
def test_without_a_conjugate_there_is_no_free_energy(attention, name):
    model = model_of(attention)
    with pytest.raises(InputError, match=f"{attention.name} attention has no free energy"):
        getattr(model, name)(state_of(model), 2.0)


def test_the_exponential_kernel_is_the_softmax_of_the_tsallis_family():
    patterns = hp.patterns.gaussian(M, D, seed=1)
    family, model = HopfieldModel(patterns, alpha=1.0), HopfieldModel(patterns, attention=Exponential())
    x = np.random.default_rng(0).standard_normal((3, 2, D))
    for name in ("weights", "retrieve", "free_energy", "gradient", "hessian", "gradient_residual"):
        mine, theirs = getattr(model, name)(x, 3.0), getattr(family, name)(x, 3.0)
        np.testing.assert_allclose(mine, theirs, rtol=ROUNDING, atol=ROUNDING)
    radius = 1 - np.linalg.eigvalsh(family.hessian(x, 3.0))[..., 0] / 3.0
    np.testing.assert_allclose(model.spectral_radius(x, 3.0), radius, rtol=ROUNDING)


def test_entmax_keeps_the_convention_of_the_field():
    patterns = hp.patterns.gaussian(M, D, seed=1)
    family, model = HopfieldModel(patterns, alpha=2.0), HopfieldModel(patterns, attention=Entmax(2.0))
    x = state_of(model)
    np.testing.assert_allclose(model.weights(x, 1.5), family.weights(x, 3.0), atol=ROUNDING)


def test_the_constructor_gives_the_right_model():
    patterns = hp.patterns.gaussian(M, D)
    assert type(HopfieldModel(patterns)) is HopfieldModel
    assert type(HopfieldModel(patterns, 1.5, 0.5, attention=None)) is HopfieldModel
    model = HopfieldModel(patterns, scale=0.5, attention=LogElu())
    assert type(model) is AttentionModel
    assert (model.M, model.d, model.scale, model.has_free_energy) == (M, D, 0.5, False)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert again.attention == model.attention
        np.testing.assert_array_equal(again.patterns, model.patterns)
    assert pickle.loads(pickle.dumps(HopfieldModel(patterns, 1.5))).alpha == 1.5


def test_a_model_of_two_maps_or_of_none_is_refused():
    patterns = np.eye(3)
    with pytest.raises(InputError, match=r"alpha = 2.0 and attention = log-elu are both given"):
        HopfieldModel(patterns, alpha=2.0, attention=LogElu())
    with pytest.raises(InputError, match="no attention map: give one"):
        AttentionModel(patterns, "log-elu")
    with pytest.raises(InputError, match="outside its domain"):
        HopfieldModel(patterns, scale=-1.0, attention=LogElu())
    with pytest.raises(InputError, match="zero"):
        HopfieldModel(np.zeros((2, 2)), attention=LogElu())


def test_what_holds_for_the_tsallis_family_alone_says_so():
    model = model_of(LogElu())
    with pytest.raises(InputError, match="log-elu attention has no Tsallis index"):
        hp.relax(model, state_of(model), 2.0)
    with pytest.raises(InputError, match="map_branches"):
        hp.branches(model, 2.0, (1.0, 3.0))


@pytest.mark.parametrize("attention", ANY, ids=name_of)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_a_fixed_point_is_where_the_updates_end(attention, seed):
    model = model_of(attention, seed=seed)
    x0, beta = state_of(model, seed), 1.5
    found = find_fixed_point(model, x0, beta)
    assert found.status is Status.CONVERGED
    assert found.period == 1
    assert found.residual == pytest.approx(float(model.gradient_residual(found.x, beta)), abs=1e-14)
    assert found.residual <= TOLERANCE
    x = x0
    for _ in range(3000):  # the last eigenvalue of the slowest is 0.99
        x = model.retrieve(x, beta)
    np.testing.assert_allclose(found.x, x, atol=1e-9)
    jacobian = difference_jacobian(lambda y: model.retrieve(y, beta), found.x)
    radius = np.abs(scipy.linalg.eigvals(jacobian)).max()
    assert found.spectral_radius == pytest.approx(radius, abs=1e-5)
    assert found.spectral_radius < 1
    if model.has_free_energy:
        assert found.free_energy == float(model.free_energy(found.x, beta))
    else:
        assert np.isnan(found.free_energy)


def test_the_spectral_radius_is_the_rate_of_the_updates():
    model = model_of(SquaredElu())
    found = find_fixed_point(model, state_of(model), 4.0)
    assert found.spectral_radius > 0.3
    x = found.x + 1e-5 * state_of(model, seed=1)
    distances = []
    for _ in range(12):
        distances.append(np.linalg.norm(x - found.x))
        x = model.retrieve(x, 4.0)
    assert distances[-1] / distances[-2] == pytest.approx(found.spectral_radius, rel=1e-3)


def test_a_decreasing_kernel_settles_on_a_cycle_of_two():
    # On two orthonormal patterns the difference of the weights obeys u' = -tanh(beta u / 2).
    model = HopfieldModel(np.eye(2), scale=1.0, attention=DECREASING)
    settled = find_fixed_point(model, [0.8, 0.1], 1.9)
    assert settled.status is Status.CONVERGED
    assert "attracting fixed point" in settled.sentence
    found = find_fixed_point(model, [0.8, 0.1], 3.0)
    assert (found.status, found.period) == (Status.LIMIT_CYCLE, 2)
    assert "repeat a cycle" in found.sentence
    u = abs(found.x[0] - found.x[1])
    assert u == pytest.approx(np.tanh(1.5 * u), abs=1e-8)
    assert np.isnan(found.eigenvalues).all()
    assert found.residual > 0.1


@pytest.mark.parametrize("attention", [Exponential(), SquaredElu()], ids=name_of)
def test_a_fixed_point_that_repels_is_left(attention):
    model = HopfieldModel(np.eye(2), scale=1.0, attention=attention)
    beta = 6.0  # the symmetric state repels: beta g'(beta/2) / (2 g(beta/2)) = 3 and 1.5
    assert model.spectral_radius(np.array([0.5, 0.5]), beta) > 1
    found = find_fixed_point(model, [0.5, 0.5], beta)
    assert found.status is Status.CONVERGED
    assert abs(found.x[0] - found.x[1]) > 0.1


def test_a_narrow_escape_takes_no_thousands_of_updates():
    # The symmetric state repels with 1 + 1e-4.
    model = HopfieldModel(np.eye(2), scale=1.0, attention=Exponential())
    found = find_fixed_point(model, [0.5 + 1e-6, 0.5 - 1e-6], 2.0 * (1 + 1e-4))
    assert found.status is Status.CONVERGED
    assert found.x[0] - found.x[1] > 0.01
    assert found.n_steps < 2000


def test_at_the_margin_nothing_is_claimed():
    model = HopfieldModel(np.eye(2), scale=1.0, attention=Exponential())
    found = find_fixed_point(model, [0.5, 0.5], 2.0, max_steps=500)
    assert found.status is not Status.CONVERGED


def test_float32_patterns_are_searched_in_float64():
    patterns = hp.patterns.gaussian(M, D, seed=2)
    single = HopfieldModel(patterns.astype(np.float32), attention=LogElu())
    assert find_fixed_point(single, state_of(single), 2.0).residual <= TOLERANCE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beta": 0.0}, "beta"),
        ({"x0": np.zeros(3)}, "shape"),
        ({"x0": np.full(D, np.nan)}, "not finite"),
        ({"tol": 1.0}, r"tol = 1.0 is outside"),
        ({"max_steps": 0}, "max_steps = 0"),
        ({"model": HopfieldModel(np.eye(D))}, "HopfieldModel has no attention map of its own"),
    ],
)
def test_bad_input_is_named(options, message):
    given = {"model": model_of(LogElu()), "x0": np.zeros(D), "beta": 1.0} | options
    with pytest.raises(InputError, match=message):
        find_fixed_point(given.pop("model"), given.pop("x0"), given.pop("beta"), **given)
