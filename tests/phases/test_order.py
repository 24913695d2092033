"""Order of the transition against α: closed forms, measurements, regions found by relaxing random starts."""

import math

import numpy as np
import pytest

import hopfieldphase as hp
from hopfieldphase.core.closed_forms import Transition, two_keys_coexistence, two_keys_transition
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import equicorrelated
from hopfieldphase.phases.order import OrderCheck, check_order, order_lines, size_exchange

# Branch ends by arclength, and windows bisected to 1e-11 with ties resolved to 1e-10 by the relaxation.
MEASURED = 1e-9
ROUNDING = 1e-13


def test_reference_values():
    lines = order_lines(10, np.array([1.0, 1.25, 1.5, 1.75]))
    np.testing.assert_allclose(lines.spinodal[1:], [3.596820081, 2.846049894, 2.325780082], rtol=2e-10)
    np.testing.assert_allclose(lines.coexistence[1:], [3.876389724, 3.038987707, 2.436065360], rtol=2e-10)
    np.testing.assert_allclose(lines.instability[1:], [7.029266565, 4.743416490, 3.111988968], rtol=2e-10)
    assert lines.vertex.tolist() == [math.inf, 5.0, pytest.approx(3.0), pytest.approx(7 / 3)]


@pytest.mark.parametrize("M", [2, 3, 6])
@pytest.mark.parametrize("alpha", [0.4, 1.0, 1.5, 1.8, 2.3, 2.7, 3.4])
def test_measured_couplings_are_those_of_the_closed_forms(M, alpha):
    found = check_order(M, alpha)
    names = {check.name for check in found}
    expected = {"instability", "vertex"} | ({"spinodal", "coexistence"} if M > 2 else set())
    assert names == expected if alpha < 2 else f"upper end, {M} of {M}" in names
    for check in found:
        assert check.deviation < MEASURED, check


def test_a_wrong_value_is_told():
    assert OrderCheck(3, 1.0, "spinodal", 2.75, 2.745643577).deviation > 1e-3
    assert OrderCheck(3, 1.0, "spinodal", math.nan, 2.7).deviation == math.inf
    assert OrderCheck(3, 1.0, "vertex", 3.0, math.inf).deviation == math.inf
    assert OrderCheck(3, 2.5, "lower end", 0.1, 0.0).deviation == math.inf
    assert OrderCheck(3, 1.0, "vertex", math.inf, math.inf).deviation == 0.0
    assert OrderCheck(2, 3.5, "exchange", math.nan, math.nan).deviation == 0.0


def test_two_patterns_are_the_two_keys():
    alphas = np.array([0.5, 1.0, 1.7, 2.0, 2.2, 2.6, 2.9, 3.0, 3.3, 5.0])
    lines = order_lines(2, alphas)
    low, _ = lines.first_order
    for i, alpha in enumerate(alphas.tolist()):
        first_order = two_keys_transition(alpha) is Transition.FIRST_ORDER
        assert bool(np.isfinite(low[i]).any()) == first_order
        if first_order:
            assert lines.exchange[i, 1] == pytest.approx(two_keys_coexistence(0.0, alpha), rel=ROUNDING)
        else:
            assert np.isnan(lines.exchange[i]).all()


def test_three_to_two_is_first_order_up_to_5_9():
    lines = order_lines(3, np.array([3.0, 4.0, 5.8, 5.85, 5.95, 7.0]))
    low, _ = lines.first_order
    assert np.isfinite(low[:, 2]).tolist() == [True, True, True, True, False, False]
    assert np.isnan(low[:, 1]).all()  # two to one is continuous from α = 3 on


def test_windows_and_exchanges_are_in_order():
    lines = order_lines(8, np.linspace(2.05, 4.0, 40))
    low, high = lines.first_order
    inside = np.isfinite(lines.exchange)
    assert (np.isfinite(low) == inside).all()
    assert (low[inside] < lines.exchange[inside]).all()
    assert (lines.exchange[inside] < high[inside]).all()
    exchange = np.array([[size_exchange(k, alpha) for k in range(2, 9)] for alpha in lines.alpha])
    assert (np.diff(exchange, axis=1) < 0).all()  # the more patterns, the lower K


def test_equilibrium_loses_all_at_once_below_two_and_one_by_one_above():
    couplings = np.linspace(0.05, 8.0, 4000)
    u = 1 / np.arange(1, 8)
    for alpha, sizes in ((1.3, {1, 7}), (1.9, {1, 7}), (2.1, set(range(1, 8))), (3.5, set(range(1, 8)))):
        energy = u ** (alpha - 1) / (alpha - 1) - couplings[:, None] * u / 2
        assert {int(k) + 1 for k in energy.argmin(axis=1)} == sizes


@pytest.mark.parametrize("M", [2, 3, 7])
@pytest.mark.parametrize("alpha", [0.6, 1.4, 1.9, 2.4, 2.8, 3.6])
def test_regions_hold_for_random_starts(M, alpha):
    """Below the first-order windows only the mixture of all is stable, above all lines only one pattern."""
    lines = order_lines(M, np.array([alpha]))
    low, high = lines.first_order
    mixture = 0.98 * min(float(lines.instability[0]), float(np.nanmin(low, initial=math.inf)))
    single = 1.02 * max(
        float(lines.instability[0]), float(np.nanmax(high, initial=0)), float(lines.vertex[0])
    )
    if alpha > 2:
        single = max(single, 1.02 * float(lines.upper[0, 1]))
    model = hp.HopfieldModel(equicorrelated(M, M), alpha, scale=1.0)
    draws = np.random.default_rng(0)
    for _ in range(20):
        x = draws.dirichlet(np.full(M, 10 ** draws.uniform(-1.5, 1))) @ model.patterns
        state = hp.relax(model, x, mixture)
        assert state.status.is_minimum
        assert np.ptp(state.weights) < 1e-6
        if math.isfinite(single):
            state = hp.relax(model, x, single)
            assert state.status.is_minimum
            assert state.weights.max() == pytest.approx(1.0, abs=1e-9)


def test_bad_input():
    with pytest.raises(InputError, match="M = 1"):
        order_lines(1, np.array([1.0]))
    with pytest.raises(InputError, match="alpha"):
        order_lines(3, np.array([0.0]))
    with pytest.raises(InputError, match="alpha"):
        size_exchange(2, 2.0)
    with pytest.raises(InputError, match="k = 1"):
        size_exchange(1, 2.5)
