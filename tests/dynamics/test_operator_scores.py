"""Scores of maps between ensembles: a perfect sampler, a wrong map, a collapsed one."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hopfieldphase.core.ensembles import MatrixInverse, ShearedSwap, draw_instance
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.operator_scores import operator_scores

QUICK = {"n": 400, "trials": 40}


@pytest.mark.parametrize("operator", [ShearedSwap, MatrixInverse])
@pytest.mark.parametrize("family", ["pareto", "gaussian"])
def test_the_true_operator_scores_one(operator, family):
    # inputs moved by the true matrix are an i.i.d. sample of the target: both pools have one law
    generators = (np.random.default_rng(np.random.SeedSequence(0, spawn_key=(0, i))) for i in range(40))

    def exact(inputs):
        return inputs @ draw_instance(operator, family, next(generators)).operator.transport.T

    scores = operator_scores(exact, operator, family, **QUICK)
    interval = scores.ratio()
    assert interval.low < 1 < interval.high
    if family == "pareto":
        # of one law the statistic has mean zero and a spread of about the mean error over √trials
        for coordinate in (0, 1):
            spread = scores.tail_reference[:, coordinate].mean() / math.sqrt(40)
            assert abs(scores.tail_discrepancy(coordinate)) < 2 * spread


def test_the_identity_and_a_collapse_score_badly():
    for predict in (lambda x: x, lambda x: np.tile(x.mean(axis=0), (len(x), 1)) + 1e-3 * x):
        scores = operator_scores(predict, ShearedSwap, **QUICK)
        assert scores.ratio().low > 2
        assert scores.ratio("mean").ratio > 2


def test_swapped_axes_are_seen_in_the_tails():
    # the reference does not depend on the map; a map without tails has far larger tail errors
    scores = operator_scores(lambda x: np.clip(x, -3, 3), ShearedSwap, **QUICK)
    other = operator_scores(lambda x: x, ShearedSwap, **QUICK)
    assert_array_equal(scores.reference, other.reference)
    assert scores.tail_discrepancy(1) > 0.5
    assert scores.distances.shape == (40,)
    assert scores.tail_errors.shape == (40, 2)


def test_a_trial_depends_on_its_number_alone():
    few = operator_scores(lambda x: x, MatrixInverse, n=50, trials=3, fraction=0.2)
    more = operator_scores(lambda x: x, MatrixInverse, n=50, trials=5, fraction=0.2)
    assert_array_equal(more.distances[:3], few.distances)
    assert_allclose(more.tail_errors[:3], few.tail_errors)


@pytest.mark.parametrize(
    ("predict", "options", "words"),
    [
        (lambda x: x[:-1], {}, "a prediction has shape"),
        (lambda x: x + math.nan, {}, "not finite"),
        (lambda x: x, {"family": "cauchy"}, "family = 'cauchy'"),
        (lambda x: x, {"n": 1}, "n = 1"),
        (lambda x: x, {"trials": 1}, "trials = 1"),
        (lambda x: x, {"n": 5, "fraction": 0.1}, "is none"),
        (lambda x: x, {"fraction": 1.0}, "fraction = 1.0"),
        (lambda x: x, {"seed": -1}, "seed = -1"),
    ],
)
def test_bad_input(predict, options, words):
    with pytest.raises(InputError, match=words):
        operator_scores(predict, ShearedSwap, **{"n": 50, "trials": 2} | options)
    scores = operator_scores(lambda x: x, ShearedSwap, n=50, trials=2)
    with pytest.raises(InputError, match="coordinate = 2"):
        scores.tail_discrepancy(2)
