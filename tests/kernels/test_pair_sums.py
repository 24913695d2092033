"""Compiled energy distances against NumPy, SciPy and brute force, and the laws that they obey."""

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from hopfieldphase.core import distances as core
from hopfieldphase.core.ensembles import SplicedPareto
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.distances import block_distances, energy_distance
from hopfieldphase.kernels.pair_sums import TILE, sorted_difference

ROUNDING = 1e-13
"""Of the mean distances, whose difference the energy distance is."""

coordinates = st.floats(-1e3, 1e3).map(lambda x: round(x, 6))  # equal and near values occur


def pairs(dimensions):
    """Two samples of up to ten points each."""

    def arrays(d):
        sizes = st.integers(1, 10)
        shape = sizes.map(lambda n: (n, d))
        return st.tuples(*(hnp.arrays(float, shape, elements=coordinates) for _ in range(2)))

    return dimensions.flatmap(arrays)


def brute(x, y, exponent=1.0, unbiased=False):
    """All distances at once, summed exactly."""
    n, m = len(x), len(y)
    cross, first, second = (math.fsum((cdist(a, b) ** exponent).ravel()) for a, b in ((x, y), (x, x), (y, y)))
    one = 1 if unbiased else 0
    return 2 * cross / (n * m) - first / (n * (n - one)) - second / (m * (m - one))


@pytest.mark.parametrize("d", [1, 2, 3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("exponent", [0.5, 1.0, pytest.param(1.7, marks=pytest.mark.slow)])
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize(("n", "m"), [(2, 3), (TILE, 2 * TILE + 1), (TILE - 1, TILE + 1), (700, 300)])
def test_all_pairs_equal_brute_force(d, exponent, unbiased, n, m):
    generator = np.random.default_rng(n)
    x, y = generator.standard_normal((n, d)), 0.1 + generator.standard_t(3, (m, d))
    size = np.mean(cdist(x, y) ** exponent)
    found = energy_distance(x, y, exponent=exponent, unbiased=unbiased)
    assert_allclose(found, brute(x, y, exponent, unbiased), atol=20 * ROUNDING * size)
    plain = core.energy_distance(x, y, exponent=exponent, unbiased=unbiased)
    assert_allclose(found, plain, atol=20 * ROUNDING * size)


@pytest.mark.parametrize("index", [0.6, 1.5, 3.5])
def test_on_the_line_equal_to_scipy(index):
    # heavy tails, unequal sizes, ties: sorted sums of squares keep all digits
    x, y = SplicedPareto(index, 0.9).sample(3000, 1), np.round(SplicedPareto(1.5, 0.9).sample(2000, 2), 1)
    assert_allclose(energy_distance(x, y), scipy.stats.energy_distance(x, y) ** 2, rtol=1e-11)
    within = np.mean(np.abs(np.subtract.outer(x, x)))
    assert_allclose(sorted_difference(np.sort(x)), within, rtol=1e-11)


@given(pairs(st.integers(1, 4)), st.floats(0.2, 1.8))
def test_laws(both, exponent):
    x, y = both
    scale = 1 + np.mean(cdist(x, y) ** exponent)
    tolerance = 1e-11 * scale
    value = energy_distance(x, y, exponent=exponent)
    assert value >= -tolerance
    assert_allclose(energy_distance(y, x, exponent=exponent), value, atol=tolerance)
    assert_allclose(energy_distance(x, x[::-1], exponent=exponent), 0, atol=tolerance)
    # a function of the empirical measures: repeated points change nothing
    repeated = energy_distance(np.repeat(x, 3, axis=0), np.repeat(y, 2, axis=0), exponent=exponent)
    assert_allclose(repeated, value, atol=tolerance)


@given(pairs(st.just(1)))
def test_on_the_line_never_negative_and_symmetric_to_the_last_digit(both):
    x, y = both
    assert energy_distance(x, y) >= 0
    assert energy_distance(x, x[::-1]) == 0
    assert_allclose(energy_distance(x, y), energy_distance(y, x), rtol=1e-13)
    assert_allclose(energy_distance(-x, -y), energy_distance(x, y), rtol=1e-9, atol=1e-15)


@given(pairs(st.integers(1, 3)), st.floats(-100, 100), st.sampled_from([1e-3, 0.5, 3.0, 1e4]))
def test_shift_and_scale(both, shift, factor):
    x, y = both
    size = 1 + np.mean(cdist(x, y)) + abs(shift)
    for exponent in (1.0, 0.6):
        value = energy_distance(x, y, exponent=exponent)
        assert_allclose(energy_distance(x + shift, y + shift, exponent=exponent), value, atol=1e-9 * size)
        scaled = energy_distance(factor * x, factor * y, exponent=exponent)
        assert_allclose(scaled, factor**exponent * value, atol=1e-10 * factor**exponent * size)


def test_rotation_changes_nothing():
    generator = np.random.default_rng(3)
    x, y = generator.standard_normal((50, 3)), 1 + generator.standard_normal((70, 3))
    rotation = np.linalg.qr(generator.standard_normal((3, 3)))[0]
    assert_allclose(energy_distance(x @ rotation, y @ rotation), energy_distance(x, y), rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-200, 1e200])
@pytest.mark.parametrize("d", [1, 2])
def test_extreme_numbers(factor, d):
    generator = np.random.default_rng(4)
    x, y = generator.standard_normal((20, d)), generator.standard_normal((30, d))
    assert_allclose(energy_distance(factor * x, factor * y) / factor, energy_distance(x, y), rtol=1e-11)


def test_threads_do_not_change_a_bit():
    generator = np.random.default_rng(5)
    x, y = generator.standard_normal((1500, 2)), generator.standard_normal((1700, 2))
    assert len({energy_distance(x, y, threads=threads) for threads in (1, 2, 3)}) == 1


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), st.integers(0, 99))
def test_block_identity(blocks, size, d, seed):
    generator = np.random.default_rng(seed)
    x, y = generator.standard_normal((blocks * size, d)), generator.standard_cauchy((blocks * size, d))
    found = block_distances(x, y, blocks)
    tolerance = 1e-11 * (1 + np.mean(cdist(x, y)))
    assert_allclose(found.pooled, energy_distance(x, y), atol=tolerance)
    if blocks == 1:
        assert found.off_block is None
        assert found.blockwise == found.pooled
        return
    # equations (16) and (17), each side from its own pairs
    share = 1 - 1 / blocks
    assert_allclose(found.pooled, found.blockwise / blocks + share * found.off_block, atol=tolerance)
    gap = share * (found.off_block - found.blockwise)
    assert_allclose(found.pooled - found.blockwise, gap, atol=tolerance)


def test_blocks_of_independent_samples_have_a_higher_floor():
    # V-statistics of N/8 points have a floor eight times that of N: training on blocks is another objective
    generator = np.random.default_rng(6)
    found = [
        block_distances(generator.standard_normal(400), generator.standard_normal(400), 8) for _ in range(200)
    ]
    delta = 2 / math.sqrt(math.pi)
    for name, floor in (("pooled", 2 * delta / 400), ("blockwise", 2 * delta / 50), ("off_block", 0.0)):
        values = np.array([getattr(one, name) for one in found])
        assert abs(values.mean() - floor) < 4 * values.std(ddof=1) / math.sqrt(200)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: energy_distance([], [1.0]), "at least 1 point"),
        (lambda: energy_distance([1.0], [2.0], unbiased=True), "at least 2 points"),
        (lambda: energy_distance([[1.0, math.nan]], [[1.0, 2.0]]), "x holds NaN"),
        (lambda: energy_distance([[1.0, 2.0]], [1.0]), "dimensions"),
        (lambda: energy_distance([1.0], [1.0], exponent=0.0), "exponent = 0.0"),
        (lambda: energy_distance([[1.0, 2.0]], [[1.0, 2.0]], threads=0), "threads = 0"),
        (lambda: block_distances([1.0, 2.0], [1.0, 2.0, 3.0], 1), "equal sizes"),
        (lambda: block_distances([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], 2), "2 divides"),
        (lambda: block_distances([1.0, 2.0], [1.0, 2.0], 0), "blocks = 0"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
