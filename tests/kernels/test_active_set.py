"""The first zero of a sum of poles, and the spectrum of a face, against brute force."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hopfieldphase.kernels.active_set import first_zero, tangent_spectrum

coefficients = st.floats(-2.0, 2.0)
poles = st.lists(st.tuples(coefficients, st.floats(0.0, 1.0)), min_size=0, max_size=6)


def evaluate(constant, linear, residues, levels, t):
    t = np.asarray(t)[..., None]
    return constant + linear * t[..., 0] + (residues / (t - levels)).sum(axis=-1)


@given(constant=coefficients, linear=coefficients, terms=poles, start=st.floats(1.2, 5.0), down=st.booleans())
def test_no_zero_is_passed(constant, linear, terms, start, down):
    """Up to the value returned, f > 0 on a fine grid; there it is zero, or it is the end."""
    residues, levels = np.array(terms).reshape(-1, 2).T
    value = float(evaluate(constant, linear, residues, levels, start))
    assume(abs(value) > 1e-6)
    sign = math.copysign(1.0, value)
    stop = 1.05 if down else 9.0
    args = (sign * constant, sign * linear, sign * residues, levels.copy(), start)
    zero = first_zero(*args, down, stop, False)
    assert min(stop, start) <= zero <= max(stop, start)
    grid = np.linspace(start, zero, 2001)
    scale = abs(constant) + abs(linear) * 9 + np.abs(residues).sum() / 0.05
    assert (sign * evaluate(constant, linear, residues, levels, grid) > -1e-12 * scale).all()
    if zero != stop:
        assert abs(evaluate(constant, linear, residues, levels, zero)) < 1e-12 * scale


def double_zero(at, level):
    """(t − at)² / (t − level) as constant, linear term and residue."""
    return level - 2 * at, 1.0, (at - level) ** 2


@pytest.mark.parametrize("down", [True, False])
def test_contact_without_crossing_is_passed(down):
    constant, linear, residue = double_zero(2.0, 0.5)
    start, stop = (3.0, 1.0) if down else (1.0, 3.0)
    zero = first_zero(constant, linear, np.array([residue]), np.array([0.5]), start, down, stop, False)
    assert zero == stop


@pytest.mark.parametrize("gap", [1e-3, 1e-5])
def test_a_narrow_pair_of_zeros_is_met(gap):
    """(t − 2)² − gap²: f is positive at every coarse grid point."""
    constant, linear, residue = double_zero(2.0, 0.5)
    # −gap²/(t − ½) shifts the double zero into a pair at 2 ± gap
    zero = first_zero(constant, linear, np.array([residue - gap**2]), np.array([0.5]), 3.0, True, 1.0, False)
    # the slope there is of order gap, so the location has lost that many digits
    assert zero == pytest.approx(2.0 + gap, abs=1e-14 / gap)


def test_a_fresh_zero_is_left_behind():
    """f = 1 − 1/t vanishes at t = 1 and rises upward: the next zero is not there."""
    one = np.array([-1.0]), np.array([0.0])
    assert first_zero(1.0, 0.0, *one, 1.0, False, 50.0, True) == 50.0
    assert first_zero(1.0, 0.0, *one, 3.0, True, 0.1, False) == pytest.approx(1.0, rel=1e-15)


def test_no_zero_up_to_infinity():
    assert (
        first_zero(0.5, 0.0, np.array([-0.1, 0.2]), np.array([0.3, 0.1]), 1.0, False, np.inf, False) == np.inf
    )
    crossing = first_zero(0.5, -0.1, np.array([-0.1, 0.2]), np.array([0.3, 0.1]), 1.0, False, np.inf, False)
    assert evaluate(0.5, -0.1, np.array([-0.1, 0.2]), np.array([0.3, 0.1]), crossing) == pytest.approx(
        0.0, abs=1e-14
    )


@pytest.mark.parametrize("k", [1, 2, 3, 8])
def test_tangent_spectrum(k):
    """Eigenpairs of P G P, orthonormal and orthogonal to the uniform vector."""
    rows = np.random.default_rng(k).normal(size=(9, 4))
    gram = rows @ rows.T
    inside = np.sort(np.random.default_rng(1).choice(9, k, replace=False))
    columns = np.ascontiguousarray(gram[:, inside])
    levels, vectors, means, size = tangent_spectrum(columns, inside)
    projector = np.eye(k) - 1 / k
    block = projector @ gram[np.ix_(inside, inside)] @ projector
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(k - 1), atol=1e-13)
    np.testing.assert_allclose(vectors.sum(axis=0), 0.0, atol=1e-13)
    np.testing.assert_allclose(block @ vectors, vectors * levels, atol=1e-12)
    np.testing.assert_allclose(means, columns.mean(axis=1), atol=1e-14)
    assert size == gram.diagonal()[inside].max()
