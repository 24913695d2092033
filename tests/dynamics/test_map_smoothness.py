"""Smoothness of attention maps across boundaries, against the gates and the Jacobians."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hopfieldphase.core.attention import ConstrainedSparsemax, Entmax, LinearElu, TopK, TopP
from hopfieldphase.dynamics.map_smoothness import (
    BASE,
    continuity_class,
    crossings,
    entering_weight,
    entry_exponent,
    expected_exponent,
    path,
)

FITTED = 0.01  # differences of steps down to 2⁻¹⁵ have corrections of that order


@pytest.mark.parametrize("alpha", [1.1, 1.2, 1.25, 4 / 3, 1.4, 1.5, 1.6])
def test_weights_enter_with_the_exponent_of_the_gate(alpha):
    # the threshold follows with a relative p/t = t^(r−1) ≤ 10^(−5.3) at r = 1.67
    assert_allclose(entry_exponent(alpha), 1 / (alpha - 1), rtol=5e-6)


@pytest.mark.parametrize("alpha", [2.0, 2.5, 3.0, 5.0])
def test_from_two_on_weights_enter_linearly(alpha):
    # 1/p' = 1/S + p^(α−2): at α = 2.5 and t = 1e-8 a part in 10⁴ · (1 − 2/3) · S is left
    assert abs(entry_exponent(alpha) - 1) < 5e-4
    assert expected_exponent(alpha) == 1


@pytest.mark.parametrize("alpha", [1.3, 1.5, 2.0, 3.0])
def test_entering_weights_against_their_implicit_equation(alpha):
    # to leading order t = p^(α−1)/(α−1) + p/S, S = Σ p^(2−α) of the others
    t = np.array([1e-7, 1e-6])
    p = entering_weight(alpha, t)
    others = np.asarray(Entmax(alpha).weights(BASE))
    slope = (others[others > 0] ** (2 - alpha)).sum()
    assert_allclose(p ** (alpha - 1) / (alpha - 1) + p / slope, t, rtol=2e-5)


@pytest.mark.parametrize(("t", "below"), [(1, 1.7), (2, 1.45), (3, 1.3)])
def test_classes_are_strict(t, below):
    # C^t only for α < (t+1)/t: at equality the t-th derivative has a finite jump
    assert continuity_class(entry_exponent((t + 1) / t)) == t - 1
    assert continuity_class(entry_exponent(below)) == t


def test_orders_of_continuity_of_entmax():
    for alpha, order in ((2.0, 1), (1.5, 2), (4 / 3, 3)):
        found = crossings(Entmax(alpha), -6, 6)
        assert found[0].position == pytest.approx(float(Entmax(alpha).threshold(BASE)), abs=1e-12)
        # a single pattern is left where it leads by the separation margin
        assert found[-1].position == pytest.approx(BASE.max() + 1 / (alpha - 1), abs=1e-12)
        for one in found:
            assert one.order == pytest.approx(order, abs=FITTED)
            assert one.jump < 1e-12
            assert (one.kink > 0.05) == (alpha == 2)


def test_smooth_maps_have_no_boundary():
    (softmax,) = crossings(Entmax(1.0), -6, 6)
    assert (softmax.kind, softmax.jump) == ("gate", 0)
    assert softmax.order == pytest.approx(4, abs=FITTED)
    (kernel,) = crossings(LinearElu(), -6, 6)
    # 1 + elu has a continuous first derivative at zero
    assert kernel.order == pytest.approx(2, abs=0.02)


def test_caps_are_kinks():
    cap = 0.65
    found = crossings(ConstrainedSparsemax(cap), -6, 6)
    reached = [one for one in found if one.kind == "cap"]
    assert reached
    for one in found:
        assert one.order == pytest.approx(1, abs=FITTED)
        assert one.jump < 1e-12
        assert one.kink > 0.05


def test_selections_jump():
    (one,) = crossings(TopK(2), -6, 6)
    assert one.position == pytest.approx(sorted(BASE)[1], abs=1e-12)
    assert one.order == pytest.approx(0, abs=FITTED)
    # the weight of the second changes hands: 1/(1 + e^(lead of the first))
    assert_allclose(one.jump, 1 / (1 + math.exp(0.6 - 0.1)), rtol=1e-12)
    for jump in crossings(TopP(0.8), -6, 6):
        assert jump.order == pytest.approx(0, abs=FITTED)
        assert jump.jump > 0.05


def test_one_gate_at_a_time():
    # sparsemax at the support boundary of the fourth: kink (m−1)/m of the moved weight itself, m in support
    first = crossings(Entmax(2.0), -6, 6)[0]
    beside = np.asarray(Entmax(2.0).weights(path(np.array([first.position + 1e-6]))))[0]
    m = np.count_nonzero(beside)
    assert_allclose(first.kink, (m - 1) / m, rtol=1e-9)
