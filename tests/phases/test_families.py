"""Families of models: the same patterns as the generators, and exact derivatives."""

import numpy as np
import pytest

from hopfieldphase.core import patterns
from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.families import (
    alpha_family,
    circulant_family,
    equicorrelated_family,
    noise_family,
    two_keys_family,
)

# Central differences with a step of 1e-5 leave an error of its square times the third derivative.
STEP, DIFFERENCE = 1e-5, 1e-6

FAMILIES = [
    pytest.param(two_keys_family(2.0), 0.3, id="two-keys"),
    pytest.param(equicorrelated_family(5, 7, 2.0), 0.2, id="equicorrelated"),
    pytest.param(circulant_family(6, 2.0, {1: 0.4, 2: 0.5}, 2, 2.0), 0.3, id="circulant"),
    pytest.param(noise_family(9, 8, 2.0), 0.1, id="noise"),
    pytest.param(noise_family(9, 8, 2.0, noise="unit"), 0.1, id="unit-noise"),
    pytest.param(alpha_family(patterns.spherical(5, 6)), 1.5, id="alpha"),
]


@pytest.mark.parametrize(("family", "y"), FAMILIES)
def test_rates_are_the_derivatives(family, y):
    patterns_rate = (family.patterns(y + STEP) - family.patterns(y - STEP)) / (2 * STEP)
    gram_rate = (family.gram(y + STEP) - family.gram(y - STEP)) / (2 * STEP)
    np.testing.assert_allclose(family.rate(y), patterns_rate, rtol=0, atol=DIFFERENCE)
    np.testing.assert_allclose(family.gram_rate(y), gram_rate, rtol=0, atol=DIFFERENCE)


@pytest.mark.parametrize(("family", "y"), FAMILIES)
def test_the_gram_matrix_is_that_of_the_model(family, y):
    np.testing.assert_allclose(family.gram(y), family.model(y).gram, rtol=0, atol=1e-15)


def test_patterns_are_those_of_the_generators():
    for epsilon in (-0.9, 0.0, 0.4):
        np.testing.assert_allclose(
            two_keys_family(2.0, seed=3, realization=1).patterns(epsilon),
            patterns.two_keys(epsilon, seed=3, realization=1),
            rtol=0,
            atol=1e-15,
        )
        if epsilon > -0.25:
            np.testing.assert_allclose(
                equicorrelated_family(5, 6, 2.0).patterns(epsilon),
                patterns.equicorrelated(5, 6, epsilon),
                rtol=0,
                atol=1e-15,
            )
    for noise in ("gaussian", "unit"):
        np.testing.assert_allclose(
            noise_family(11, 7, 2.0, clusters=3, seed=2, realization=4, noise=noise).patterns(0.07),
            patterns.clustered(11, 7, 3, 0.07, 2, 4, noise),
            rtol=0,
            atol=1e-14,
        )


def test_circulant_gram_matrices_are_circulant():
    gram = circulant_family(5, 2.0, {1: 0.3, 2: 0.6}, 1, 2.0).gram(0.5)
    np.testing.assert_allclose(np.diagonal(gram), 1, rtol=0, atol=1e-15)
    np.testing.assert_allclose(gram, np.roll(gram, (1, 1), axis=(0, 1)), rtol=0, atol=1e-15)


def test_what_no_family_can_be():
    with pytest.raises(InputError, match="alpha = inf has no lines"):
        two_keys_family(float("inf"))
    with pytest.raises(InputError, match="epsilon = 1 is outside the domain"):
        two_keys_family(2.0).model(1.0)
    with pytest.raises(InputError, match="d = 3 is too small"):
        equicorrelated_family(5, 3, 2.0)
