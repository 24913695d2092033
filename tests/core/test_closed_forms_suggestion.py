"""The suggested range of β encloses what the closed forms locate, whatever the norms of the patterns."""

import math

import numpy as np
import pytest

from hopfieldphase.core import closed_forms as cf
from hopfieldphase.core import patterns as pt
from hopfieldphase.core.errors import InputError


@pytest.mark.parametrize("alpha", [1.5, 2, 3])
@pytest.mark.parametrize("M", [2, 10])
def test_equidistant_patterns_give_their_closed_forms(alpha, M):
    suggested = cf.suggest_beta_range(np.eye(M), alpha, scale=1)
    assert suggested.instability == pytest.approx(cf.potts_instability(M, alpha), rel=1e-12)
    assert suggested.storage == pytest.approx(cf.potts_vertex(alpha), rel=1e-12)
    assert suggested.low == pytest.approx(min(suggested[2:]) / 2, rel=1e-15)
    assert suggested.high == pytest.approx(max(suggested[2:]) * 1.25, rel=1e-15)


@pytest.mark.parametrize("M", [3, 10, 100, 1000])
def test_softmax_range_encloses_the_first_order_window(M):
    suggested = cf.suggest_beta_range(np.eye(M), 1, scale=1)
    assert suggested.storage == pytest.approx(math.log(99 * (M - 1)), rel=1e-12)  # weight 0.99
    assert suggested.low < cf.potts_spinodal(M, 1) < suggested.storage
    assert suggested.high > cf.potts_coexistence(M, 1)
    assert suggested.high > cf.potts_instability(M, 1)


@pytest.mark.parametrize("alpha", [0.5, 0.9, 1])
def test_below_alpha_1_the_hardest_pattern_keeps_its_weight(alpha):
    xi = pt.gaussian(9, 30, seed=3)
    b = cf.suggest_beta_range(xi, alpha, scale=1).storage
    separation = cf.pattern_separation(xi)
    hardest = np.argmin(np.where(separation > 0, separation, np.inf))
    y = b * (xi @ xi[hardest])
    if alpha == 1:
        p = np.exp(y - y.max())
    else:
        # p_hardest = 0.99 fixes θ; the others follow from p = ((1−α)/α (θ − y))^(−1/(1−α)).
        theta = y[hardest] + alpha / (1 - alpha) * 0.99 ** (alpha - 1)
        p = ((1 - alpha) / alpha * (theta - y)) ** (-1 / (1 - alpha))
        assert p.sum() == pytest.approx(1, rel=1e-10)
    assert p[hardest] / p.sum() == pytest.approx(0.99, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.7, 1, 1.5, 2])
def test_units_of_the_patterns(alpha):
    xi = pt.clustered(40, 16, seed=2)
    here = cf.suggest_beta_range(xi, alpha)
    np.testing.assert_allclose(cf.suggest_beta_range(10 * xi, alpha), np.array(here) / 100, rtol=1e-9)
    np.testing.assert_allclose(cf.suggest_beta_range(xi, alpha, scale=1), np.array(here) / 16, rtol=1e-9)
    repeated = np.vstack([xi, xi[::-1], xi[:3]])
    np.testing.assert_allclose(cf.suggest_beta_range(repeated, alpha), here, rtol=1e-9)


@pytest.mark.parametrize("realization", range(3))
def test_the_papers_data(realization):
    xi = pt.clustered(100, 64, realization=realization)
    sparse = cf.suggest_beta_range(xi, 2)
    assert sparse.storage == pytest.approx(64 * cf.all_stored_onset(xi @ xi.T, 2), rel=1e-10)
    assert sparse.instability == pytest.approx(64 * cf.uniform_spinodal(xi @ xi.T, 2), rel=1e-10)
    assert 280 < sparse.storage < 400  # the overlaps saturate there in the paper's Figure 2
    dense = cf.suggest_beta_range(xi, 1)
    # Retrieval states vanish below β of about 505…625, the up sweep jumps at 660…820.
    assert dense.low < 505
    assert dense.high > 820


def test_un_normalised_data_with_patterns_that_are_never_stored():
    xi = np.array([[1.0, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 3], [0.5, 0.5, 3]])
    separation = cf.pattern_separation(xi)
    assert list(separation) == [-1, 2, 0.5, 0, 0.5]
    suggested = cf.suggest_beta_range(xi, 2, scale=1)
    assert suggested.storage == pytest.approx(2 / 0.5, rel=1e-12)


def test_digits_get_a_finite_range():
    datasets = pytest.importorskip("sklearn.datasets")
    xi = datasets.load_digits().data
    for alpha in (1, 2):
        low, high, instability, storage = cf.suggest_beta_range(xi, alpha)
        assert 0 < low < instability < storage < high < 1000
    # Pixels are integers: no separation lies below 1, and the hardest positive one here is 4.
    assert storage == pytest.approx(64 * 2 / 4, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: cf.suggest_beta_range(np.ones((4, 3)), 2), "equal"),
        (lambda: cf.suggest_beta_range([[1.0, 0]], 2), "equal"),
        (lambda: cf.suggest_beta_range([[1.0, 0], [1 + 1e-16, 1e-17]], 2), "separated"),
        (lambda: cf.suggest_beta_range(np.eye(3), math.inf), "alpha = inf"),
        (lambda: cf.suggest_beta_range(np.eye(3), 0), "alpha = 0"),
        (lambda: cf.suggest_beta_range(np.eye(3), 2, scale=0), "scale = 0"),
        (lambda: cf.suggest_beta_range([[0.0, 0], [1, 1]], 2), "row 0"),
    ],
)
def test_what_has_no_range(call, word):
    with pytest.raises(InputError) as error:
        call()
    assert word in str(error.value)
    assert "\n" not in str(error.value)
