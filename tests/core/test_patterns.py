"""Generators: Gram matrices, nesting, independence of realizations; the check of user data."""

import dataclasses
import pickle
import re

import array_api_strict
import numpy as np
import pytest

from hopfieldphase.core import patterns as pt
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.nested import BLOCK

ROUNDING = 1e-14  # cosines of unit vectors of dimension below 100
NESTED = {
    "clustered": pt.clustered,
    "gaussian": pt.gaussian,
    "heavy_tailed": pt.heavy_tailed,
    "spherical": pt.spherical,
}


def one_line(error):
    message = str(error.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", NESTED)
def test_first_rows_never_depend_on_m(name):
    generate = NESTED[name]
    longest = generate(2 * BLOCK + 7, 5, seed=3)
    assert longest.shape == (2 * BLOCK + 7, 5)
    assert longest.dtype == np.float64
    for M in (1, 2, BLOCK - 1, BLOCK, BLOCK + 1):
        np.testing.assert_array_equal(generate(M, 5, seed=3), longest[:M])


@pytest.mark.parametrize("name", NESTED)
def test_a_realization_depends_on_seed_and_number_alone(name):
    generate = NESTED[name]
    draws = {
        (seed, realization): generate(4, 6, seed=seed, realization=realization)
        for seed in (0, 1)
        for realization in (0, 1)
    }
    for key, rows in draws.items():
        np.testing.assert_array_equal(rows, generate(4, 6, seed=key[0], realization=key[1]))
    flat = np.array([rows.ravel() for rows in draws.values()])
    assert len(np.unique(flat.round(12), axis=0)) == len(draws)


def test_blocks_of_one_realization_are_independent():
    rows = pt.spherical(2 * BLOCK, 8, seed=0)
    assert not np.any(np.all(np.isclose(rows[:BLOCK], rows[BLOCK:]), axis=1))


@pytest.mark.parametrize("name", ["clustered", "heavy_tailed", "spherical"])
@pytest.mark.parametrize("d", [1, 2, 48])
def test_unit_rows(name, d):
    norms = np.linalg.norm(NESTED[name](50, d), axis=1)
    np.testing.assert_allclose(norms, 1, rtol=0, atol=ROUNDING)


def test_stored_realizations_stay_what_they_were():
    # A change here means that every published seed gives other patterns.
    np.testing.assert_allclose(
        pt.clustered(3, 4)[:, 0],
        [-0.49228397, 0.20901602, -0.60260581],
        rtol=0,
        atol=1e-8,
    )
    np.testing.assert_allclose(pt.two_keys(0.3, 4)[:, 0], [-0.24359931, 0.56896706], rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("noise", "d", "expected"), [("gaussian", 64, 0.273), ("gaussian", 48, 0.333), ("unit", 64, 0.96)]
)
def test_the_two_readings_of_the_clustered_formula(noise, d, expected):
    """Mean in-cluster cosine (1−δ)/(1−δ+δd) for raw Gaussian noise, 1−δ for unit noise."""
    clusters, M = 4, 400
    means = []
    for realization in range(5):
        xi = pt.clustered(M, d, clusters=clusters, seed=1, realization=realization, noise=noise)
        cluster = np.arange(M) % clusters
        pairs = (cluster[:, None] == cluster) & ~np.eye(M, dtype=bool)
        means.append((xi @ xi.T)[pairs].mean())
    # The cosine of one cluster varies with δ|ζ|² ~ d ± √(2d) and with the overlap of centre and noise.
    assert np.mean(means) == pytest.approx(expected, abs=0.012 if noise == "gaussian" else 0.001)


def test_clusters_take_turns_and_delta_has_its_ends():
    centres = pt.clustered(8, 16, clusters=3, delta=0)
    for mu in range(8):
        np.testing.assert_array_equal(centres[mu], centres[mu % 3])
    assert pt.duplicate_rows(centres) == [(0, 3, 6), (1, 4, 7), (2, 5)]
    pure_noise = pt.clustered(8, 16, clusters=3, delta=1)
    np.testing.assert_allclose(pure_noise, pt.spherical(8, 16), rtol=0, atol=ROUNDING)


def test_spherical_patterns_are_isotropic():
    M, d = 20_000, 6
    xi = pt.spherical(M, d, seed=5)
    # Entries have variance 1/d; the standard error of a second moment is below √(2/M)/d.
    error = np.sqrt(2 / M) / d
    np.testing.assert_allclose(xi.T @ xi / M, np.eye(d) / d, rtol=0, atol=5 * error)


def test_gaussian_rows_are_left_as_drawn():
    M, d = 5000, 10
    xi = pt.gaussian(M, d, seed=2)
    square_norms = np.sum(xi**2, axis=1)
    assert square_norms.mean() == pytest.approx(1, abs=5 * np.sqrt(2 / d / M))
    assert square_norms.std() == pytest.approx(np.sqrt(2 / d), rel=0.1)
    np.testing.assert_allclose(pt.unit_rows(xi), pt.spherical(M, d, seed=2), rtol=0, atol=ROUNDING)


def test_heavy_tails_concentrate_a_pattern_on_few_components():
    participation = [
        1 / np.mean(np.sum(pt.heavy_tailed(400, 50, nu) ** 4, axis=1)) for nu in (0.1, 1.0, 3.0, 1e6)
    ]
    assert participation == sorted(participation)
    assert participation[0] < 2
    # Gaussian limit: Σξ⁴ of a uniform unit vector is 3/(d+2).
    assert participation[-1] == pytest.approx(52 / 3, rel=0.05)


@pytest.mark.parametrize(
    ("M", "d", "cosine"),
    [(1, 1, 0.3), (2, 1, -1.0), (3, 2, -0.5), (7, 6, -1 / 6), (7, 9, -0.1), (40, 40, 0.9), (5, 8, 0)],
)
def test_equicorrelated_gram_matrix(M, d, cosine):
    xi = pt.equicorrelated(M, d, cosine)
    expected = np.full((M, M), cosine)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(xi @ xi.T, expected, rtol=0, atol=ROUNDING)
    np.testing.assert_array_equal(pt.equicorrelated(M, d + 3, cosine)[:, :d], xi)


@pytest.mark.parametrize("M", range(2, 60))
def test_every_simplex_fits_in_m_minus_one_dimensions(M):
    xi = pt.equicorrelated(M, M - 1, -1 / (M - 1))
    np.testing.assert_allclose(xi.sum(axis=0), 0, rtol=0, atol=1e-13)


@pytest.mark.parametrize("epsilon", [-1, 0, 0.85, 1])
def test_two_keys_have_their_cosine_in_any_rotation(epsilon):
    for rotation in range(5):
        keys = pt.two_keys(epsilon, 16, seed=4, realization=rotation)
        np.testing.assert_allclose(keys @ keys.T, [[1, epsilon], [epsilon, 1]], rtol=0, atol=ROUNDING)
    assert not np.allclose(keys, pt.two_keys(epsilon, 16, seed=4, realization=0))


@pytest.mark.parametrize("k", [3, 4, 5, 6, 8])
def test_circulant_keys(k):
    for realization in range(10):
        keys = pt.circulant(k, realization=realization)
        assert keys.shape == (k, 20)
        gram = keys @ keys.T
        for mu in range(k):
            np.testing.assert_allclose(np.roll(gram[0], mu), gram[mu], rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(np.diag(gram), 1, rtol=0, atol=ROUNDING)
        b2 = gram.sum() / k**2  # the constant mode b²/(b²+Σa²) lies within the ranges drawn from
        modes = (k - 1) // 2
        assert 1.5**2 / (1.5**2 + 0.8**2 * modes) < b2 < 3**2 / (3**2 + 0.15**2 * modes)
        assert np.linalg.matrix_rank(gram, tol=1e-10) == 1 + 2 * modes


def test_random_frames_are_uniform_on_the_sphere():
    firsts = np.array([pt.two_keys(0, 3, realization=r)[0] for r in range(600)])
    # Mean 0 and second moment 1/3, each within five standard errors: √(1/3/600), √(4/45/600).
    np.testing.assert_allclose(firsts.mean(axis=0), 0, atol=5 * np.sqrt(1 / 3 / 600))
    np.testing.assert_allclose((firsts**2).mean(axis=0), 1 / 3, atol=5 * np.sqrt(4 / 45 / 600))


def test_a_sequence_is_nested_replaceable_and_picklable():
    s = pt.sequence("clustered", d=7, seed=5, delta=0.2, clusters=3)
    np.testing.assert_array_equal(s.take(30)[:11], s.take(11))
    np.testing.assert_array_equal(s.take(11), pt.clustered(11, 7, clusters=3, delta=0.2, seed=5))
    other = dataclasses.replace(s, realization=4)
    np.testing.assert_array_equal(
        other.take(11), pt.clustered(11, 7, clusters=3, delta=0.2, seed=5, realization=4)
    )
    assert pickle.loads(pickle.dumps(s)) == s
    assert len({s, other}) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: pt.clustered(0, 4), ["M = 0", ">= 1"]),
        (lambda: pt.clustered(4, 0), ["d = 0", ">= 1"]),
        (lambda: pt.clustered(4.5, 3), ["M = 4.5", "whole number"]),
        (lambda: pt.clustered(4, True), ["d = True", "whole number"]),
        (lambda: pt.clustered(4, 3, clusters=0), ["clusters = 0"]),
        (lambda: pt.clustered(4, 3, delta=1.5), ["delta = 1.5", "[0, 1]"]),
        (lambda: pt.clustered(4, 3, delta=np.nan), ["delta = nan", "[0, 1]"]),
        (lambda: pt.clustered(4, 3, delta="x"), ["delta = 'x'", "[0, 1]"]),
        (lambda: pt.clustered(4, 3, noise="raw"), ["noise = 'raw'", "'gaussian'", "'unit'"]),
        (lambda: pt.clustered(4, 3, seed=-1), ["seed = -1", ">= 0"]),
        (lambda: pt.spherical(4, 3, realization=-1), ["realization = -1", ">= 0"]),
        (lambda: pt.spherical("a", 3), ["M = 'a'"]),
        (lambda: pt.gaussian(4, 3, seed=1.5), ["seed = 1.5"]),
        (lambda: pt.heavy_tailed(4, 3, 0), ["degrees_of_freedom = 0", "[0.1,"]),
        (lambda: pt.equicorrelated(5, 8, 1), ["cosine = 1", "[-0.25, 1)"]),
        (lambda: pt.equicorrelated(5, 8, -0.2501), ["cosine = -0.2501", "[-0.25, 1)"]),
        (lambda: pt.equicorrelated(5, 4, 0.1), ["d = 4", "M = 5", "d >= 5"]),
        (lambda: pt.equicorrelated(5, 3, -0.25), ["d = 3", "d >= 4"]),
        (lambda: pt.two_keys(1.1), ["epsilon = 1.1", "[-1, 1]"]),
        (lambda: pt.two_keys(0.1, 1), ["d = 1", ">= 2"]),
        (lambda: pt.circulant(2), ["k = 2", ">= 3"]),
        (lambda: pt.circulant(8, 6), ["d = 6", ">= 7"]),
        (lambda: pt.sequence("lattice", 4), ["'lattice'", "clustered, gaussian, heavy_tailed, spherical"]),
        (lambda: pt.sequence("clustered", 4, deltas=1), ["'deltas'", "clusters, delta, noise"]),
        (lambda: pt.sequence("spherical", 4, delta=1), ["'delta'", "none"]),
        (lambda: pt.sequence("clustered", 4, delta=-1), ["delta = -1"]),
        (lambda: pt.sequence("clustered", 0), ["d = 0"]),
        (lambda: pt.sequence("clustered", 4).take(0), ["M = 0"]),
        (lambda: pt.unit_rows([[1.0, 0], [0, 0]]), ["row 1", "zeros"]),
    ],
)
def test_every_argument_is_checked(call, words):
    with pytest.raises(InputError) as error:
        call()
    message = one_line(error)
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("patterns", "words"),
    [
        (np.zeros(5), ["(5,)", "two-dimensional"]),
        (np.ones((2, 3, 4)), ["(2, 3, 4)"]),
        (3.0, ["()"]),
        (np.ones((0, 4)), ["(0, 4)", "at least one pattern"]),
        (np.ones((4, 0)), ["(4, 0)"]),
        ([[1.0, 2.0], [0.0, 0.0], [np.nan, 1.0]], ["row 2", "NaN or inf"]),
        ([[1.0, 2.0], [0.0, 0.0], [0.0, 1.0]], ["row 1", "1 of 3", "zeros"]),
        (np.diag([1.0, np.inf, 2, np.nan]), ["rows 1, 3", "NaN or inf"]),
        (np.zeros((9, 2)), ["rows 0, 1, 2, 3, 4, …", "9 of 9"]),
        ([[1e200, 1.0]], ["row 0", "range of floats"]),
        ([[1e-200, 0.0]], ["row 0", "range of floats"]),
        (np.float32([[1e-30, 0.0]]), ["row 0", "range of floats"]),
        ([[1.0, 2.0], [3.0]], ["equal length"]),
        ([["a", "b"]], ["dtype"]),
        ([[1 + 2j, 1]], ["complex128", "real"]),
        ([[True, False]], ["bool", "real"]),
        ([[None, 1.0]], ["object", "real"]),
        (np.ma.masked_invalid([[1.0, np.nan]]), ["masked"]),
        (array_api_strict.asarray([[1.0, 2.0], [0.0, 0.0]]), ["row 1", "zeros"]),
        (array_api_strict.asarray([[True, False]]), ["bool", "real"]),
    ],
)
def test_unsound_patterns_are_refused_by_row(patterns, words):
    with pytest.raises(InputError) as error:
        pt.check_patterns(patterns)
    message = one_line(error)
    for word in words:
        assert re.search(re.escape(word), message), message


def test_sound_patterns_pass_unchanged():
    for dtype in (np.float32, np.float64):
        rows = np.array([[1, 2], [3, 4]], dtype=dtype)
        assert pt.check_patterns(rows) is rows
        strict = array_api_strict.asarray(rows)
        assert pt.check_patterns(strict) is strict
    assert pt.check_patterns([[1, 2], [3, 4]]).dtype == np.float64
    assert pt.check_patterns(np.array([[0, 255]], dtype=np.uint8)).dtype == np.float64
    assert pt.check_patterns(np.array([[0.5]], dtype=np.float16)).dtype == np.float64
    integers = pt.check_patterns(array_api_strict.asarray([[1, 2]]))
    assert integers.dtype == array_api_strict.float64
    assert pt.check_patterns(np.ma.array([[1.0, 2.0]])).shape == (1, 2)


def test_equal_rows_and_norms_are_reported():
    rows = np.array([[0.0, 1], [3, 4], [-0.0, 1], [1, 0], [3, 4], [0, 1]])
    assert pt.duplicate_rows(rows) == [(0, 2, 5), (1, 4)]
    assert pt.duplicate_rows(pt.spherical(50, 3)) == []
    assert pt.norm_range(rows) == (1, 5)
