"""Retrieval of heavy-tailed patterns: fixed points, onsets, limits against closed forms and brute force."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hopfieldphase.core.attention.positive import Exponential
from hopfieldphase.core.ensembles import KERNELS, Gaussian, MirroredPareto
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics import kernel_collapse
from hopfieldphase.dynamics.kernel_collapse import (
    MAPS,
    OUTCOMES,
    KeySet,
    condensed_share,
    draw_keys,
    follow,
    hard_limit,
    mean_onset,
    onsets,
    update,
)
from hopfieldphase.kernels.products import row_products
from hopfieldphase.model import AttentionModel

BS = 2.0 ** np.arange(-2, 9, 2)


def orthogonal(M: int, norm: float = 1.0) -> KeySet:
    """Patterns without mutual overlap."""
    return KeySet(norm * np.eye(M), np.arange(1, M))


def test_products_of_rows():
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((7, 5)), rng.standard_normal((3, 5))
    # sums of five products in another order
    assert_allclose(row_products(a, b), a @ b.T, rtol=1e-13, atol=1e-14)
    assert_allclose(row_products(a[:, ::-1], b), a[:, ::-1] @ b.T, rtol=1e-13, atol=1e-14)


def test_patterns_are_centred_and_of_unit_median_norm():
    keys = draw_keys(MirroredPareto(1.5), 60, 9, 20, 4)
    raw = MirroredPareto(1.5).sample((60, 9), 4) - 1
    norms = np.linalg.norm(raw, axis=1)
    assert_allclose(keys.patterns, raw / np.median(norms), rtol=1e-14)
    assert keys.extreme == np.argmax(norms)
    assert keys.extreme not in keys.queried
    assert len(keys.queried) == 20
    # one uniform number for each coordinate, whatever the law: the signs are the same
    light = draw_keys(Gaussian(1.0), 60, 9, 20, 4)
    assert np.array_equal(np.sign(light.patterns), np.sign(keys.patterns))


@pytest.mark.slow
@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("index", [0.7, 2.5])
def test_the_ends_of_two_thousand_updates(name, index):
    keys = draw_keys(MirroredPareto(index), 40, 8, 6, 1)
    model = AttentionModel(keys.patterns, MAPS[name], 1.0)
    ends = follow(MAPS[name], keys, BS)
    assert ends.settled.all()
    for i, b in enumerate(BS.tolist()):
        x = keys.queries
        for _ in range(2000):
            x = model.retrieve(x, b)
        # updates stop at 1e-8 of the norm, which slow ones multiply by 1/(1 − ρ), seldom above 100
        assert_allclose(ends.weights[i], model.weights(x, b), atol=2e-6)
        assert (model.spectral_radius(x, b) < 1).all()


def test_what_still_moves_is_left_to_the_search(monkeypatch):
    # far too few updates for a slow kernel: Newton's method ends what they have begun
    keys = draw_keys(MirroredPareto(3.0), 40, 8, 6, 1)
    b = np.array([4.0])
    expected = follow(MAPS["linear-elu"], keys, b)
    monkeypatch.setattr(kernel_collapse, "UPDATES", 12)
    found = follow(MAPS["linear-elu"], keys, b)
    assert found.settled.any()
    assert_allclose(found.weights[found.settled], expected.weights[found.settled], atol=2e-6)


def test_outcomes_by_brute_force():
    keys = draw_keys(MirroredPareto(1.2), 30, 6, 10, 2)
    ends = update(MAPS["squared-elu"], keys, BS)
    found = dict(zip(OUTCOMES, ends.outcomes(keys), strict=True))
    for i, b in enumerate(BS.tolist()):
        expected = {name: [] for name in OUTCOMES}
        for mu in keys.queried.tolist():
            z = b * keys.patterns @ keys.patterns[mu]
            g = np.where(z > 0, 1 + np.maximum(z, 0), np.exp(np.minimum(z, 0))) ** 2
            p = g / g.sum()
            x = keys.patterns.T @ p
            top = int(p.argmax())
            expected["retrieved"].append(p[mu] > 0.5)
            expected["collapsed"].append(p[keys.extreme] > 0.5)
            expected["other"].append(p[top] > 0.5 and top not in (mu, keys.extreme))
            expected["leads"].append(top == mu)
            lengths = np.linalg.norm(x) * np.linalg.norm(keys.patterns[mu])
            expected["cosine"].append(x @ keys.patterns[mu] / lengths)
            expected["ipr"].append(1 / (p**2).sum())
        for name, values in expected.items():
            assert_allclose(found[name][i], np.mean(values), rtol=1e-12, err_msg=name)


def test_the_largest_weight_after_one_update_is_the_same_for_all_kernels():
    # all of them grow with the score; sparse maps too, except for ties at the top
    keys = draw_keys(MirroredPareto(1.0), 50, 10, 30, 3)
    own = np.diag(keys.gram)[keys.queried]
    expected = np.mean(own >= keys.gram[keys.queried].max(axis=1))
    place = OUTCOMES.index("leads")
    for name, attention in MAPS.items():
        leads = update(attention, keys, BS).outcomes(keys)[place]
        assert_allclose(leads, expected, err_msg=name)


def test_softmax_of_orthogonal_patterns_loses_them_at_the_spinodal_of_potts():
    # theory of equidistant patterns: M = 100, K_spin = 7.458675454
    keys = orthogonal(100)
    few = KeySet(keys.patterns, np.arange(1, 4))
    ends = follow(Exponential(), few, 7.458675454 * np.array([0.99, 1.01]))
    assert ends.outcomes(few)[0].tolist() == [0.0, 1.0]
    # without the pull of the other patterns, a share (1 − p)/(M − 1) each
    assert_allclose(onsets(Exponential(), few, few.queried), 7.458675454, rtol=0.02)


@pytest.mark.parametrize("norm", [1.0, 30.0])
def test_onsets_of_a_pattern_orthogonal_to_the_others(norm):
    M = 8
    keys, which = orthogonal(M, norm), np.array([0, 3])
    p = np.linspace(0.5, 1, 100_001)[1:-1]
    expected = {
        "exponential": np.min(np.log(p * (M - 1) / (1 - p)) / p),
        "squared-elu": 2 * (math.sqrt(M - 1) - 1),
        "linear-elu": 2 * (M - 2),
        "log-elu": 2 * math.expm1(M - 2),
        "sparsemax": (M - 2) / (M - 1),
    }
    for name, value in expected.items():
        # the step of the search: (1.25)^(1/16) = 1.014
        assert_allclose(onsets(MAPS[name], keys, which), value / norm**2, rtol=0.02, err_msg=name)
    assert np.isinf(onsets(MAPS["log-elu"], orthogonal(40), which)).all()


def test_onset_of_entmax_by_bisection():
    # p = (s/2 − τ)² for the own score s and τ² for the others': p = 1/2, where s/p is least
    M = 8
    tau = -math.sqrt(0.5 / (M - 1))
    score = 2 * (math.sqrt(0.5) + tau)
    assert_allclose(onsets(MAPS["entmax-1.5"], orthogonal(M), np.array([2])), 2 * score, rtol=0.02)


def test_low_temperatures_of_softmax_and_entmax_are_the_climb():
    for index in (0.8, 2.0):
        keys = draw_keys(MirroredPareto(index), 60, 12, 40, 5)
        expected = hard_limit(keys)
        for name in ("exponential", "entmax-1.5", "sparsemax"):
            retrieved, collapsed = follow(MAPS[name], keys, np.array([1e7])).outcomes(keys)[:2, 0]
            assert_allclose((retrieved, collapsed), expected, err_msg=name)
    # one by one: the next pattern is the one of largest score
    ends = []
    for start in keys.queried.tolist():
        at = start
        while (new := int(np.argmax(keys.patterns @ keys.patterns[at]))) != at:
            assert keys.gram[new, new] > keys.gram[at, at]
            at = new
        ends.append((at == start, at == keys.extreme))
    assert_allclose(hard_limit(keys), np.mean(ends, axis=0))


@pytest.mark.parametrize("name", MAPS)
def test_equal_weights_turn_unstable(name):
    rng = np.random.default_rng(6)
    half = rng.standard_normal((20, 5))
    patterns = np.concatenate((half, -half))  # the mean vanishes: x = 0 is a fixed point
    keys = KeySet(patterns, np.arange(3))
    model = AttentionModel(patterns, MAPS[name], 1.0)
    critical = mean_onset(MAPS[name], keys)
    # the Jacobian at x = 0 is proportional to b
    assert_allclose(model.spectral_radius(np.zeros(5), critical), 1.0, rtol=1e-10)


def test_condensation_of_one_update():
    rng = np.random.default_rng(8)
    for index in (0.6, 1.2):
        shares = []
        for _ in range(12):
            keys = draw_keys(MirroredPareto(index), 4000, 32, 1, rng)
            scores = 2.0**20 * rng.standard_normal((20, 32)) @ keys.patterns.T
            shares.append([(map_.weights(scores) ** 2).sum(axis=1).mean() for map_ in MAPS.values()])
        # all queries of a set meet the same large patterns, so that sets are what is independent
        mean, error = np.mean(shares, axis=0), np.std(shares, axis=0, ddof=1) / math.sqrt(12)
        for name, share, e in zip(MAPS, mean, error, strict=True):
            order = KERNELS[name].order if name in KERNELS else math.inf
            # corrections of finite M; for a > q shares fall with a power of M
            bias = 0.02 if index < order else 0.06
            assert abs(share - condensed_share(index, order)) < 4 * e + bias, (index, name, share, e)


def test_expected_shares():
    assert condensed_share(0.5, 2) == 0.75
    assert condensed_share(3.0, 2) == condensed_share(1.0, 1) == condensed_share(0.1, 0) == 0
    assert condensed_share(3.0, math.inf) == 1
    # gamma = 1/2: by the points of a Poisson process of density x^(−3/2)/2 on the line
    rng = np.random.default_rng(1)
    points = rng.exponential(size=(4000, 3000)).cumsum(axis=1) ** -2.0
    shares = ((points / points.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    assert abs(shares.mean() - condensed_share(1.0, 2)) < 4 * shares.std() / math.sqrt(4000) + 1e-3


def test_light_tails_are_like_a_gaussian():
    # coordinates of index 60 are nearly Laplace: one typical norm, no pattern far above it
    heavy, light = (draw_keys(law, 60, 48, 30, 7) for law in (MirroredPareto(60.0), Gaussian(1.0)))
    b = np.array([1.0, 64.0])
    for keys in (heavy, light):
        exponential = follow(MAPS["exponential"], keys, b).outcomes(keys)
        assert exponential[0].tolist() == [0.0, 1.0]
        for name in ("linear-elu", "log-elu"):
            assert (follow(MAPS[name], keys, b).outcomes(keys)[:3] == 0).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: draw_keys(Gaussian(1.0), 10, 3, 10), "queries = 10"),
        (lambda: draw_keys(Gaussian(1.0), 1, 3, 1), "M = 1"),
        (lambda: draw_keys(Gaussian(1.0), 10, 0, 1), "d = 0"),
        (lambda: condensed_share(0.0, 1.0), "tail index"),
        (lambda: condensed_share(1.0, -1.0), "order"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(InputError, match=words):
        call()
