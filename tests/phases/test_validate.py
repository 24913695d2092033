"""The self-check: every check passes, and a wrong formula or a missing value makes it fail."""

import math
from dataclasses import FrozenInstanceError
from functools import cache

import numpy as np
import pytest

from hopfieldphase.core import closed_forms
from hopfieldphase.core.closed_forms import OnsetCharacter, Transition
from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.validate import checks, find_check, validate
from hopfieldphase.phases.validation import appendix_g4
from hopfieldphase.phases.validation.numerics import first_zero, vanishing_point
from hopfieldphase.phases.validation.record import Case, agreement, check, relative_error

WRONG = 1 + 1e-9
"""The factor by which a formula is made wrong: every check must be finer than that."""

NAMES = [entry.name for entry in checks()]

# Each closed form with a check that must notice when it is wrong. The finite-difference estimator of the
# appendix and the sampled probability are the only checks that are not sharp enough for that.
NOTICED_BY = {
    "HOPFIELD_CRITICAL_BETA": "hopfield-overlap",
    "all_stored_onset": "storage-onset",
    "annealed_fold": "annealed-fold",
    "annealed_overlap": "annealed-overlap",
    "dispersion_bounds": "dispersion-bounds",
    "exact_storage_onset": "storage-onset",
    "exact_storage_probability": "storage-probability",
    "hopfield_one_pattern_energy": "hopfield-energy",
    "hopfield_one_pattern_limit": "hopfield-limit",
    "hopfield_one_pattern_overlap": "hopfield-overlap",
    "is_uniform_stationary": "uniform-stationary",
    "isolation_gap": "isolation-gap",
    "onset_character": "onset-character",
    "onset_of_separation": "storage-onset",
    "pair_barrier": "pair-barrier",
    "pair_interval": "pair-interval",
    "pattern_separation": "storage-onset",
    "potts_barrier": "potts-barrier",
    "potts_coexistence": "potts-coexistence",
    "potts_coupling": "two-keys-magnetisation",
    "potts_free_energy": "potts-ray",
    "potts_instability": "potts-instability",
    "potts_spinodal": "potts-spinodal",
    "potts_vertex": "potts-vertex",
    "potts_window": "potts-window",
    "proposition_4_1_energy": "proposition-4-1",
    "proposition_4_1_residual": "proposition-4-1",
    "rem_capacity": "rem-capacity",
    "rem_cumulant": "rem-cumulant",
    "rem_threshold": "rem-capacity",
    "suggest_beta_range": "suggested-range",
    "two_keys_coexistence": "two-keys-coexistence",
    "two_keys_instability": "two-keys-instability",
    "two_keys_transition": "two-keys-transition",
    "two_keys_vertex": "two-keys-vertex",
    "uniform_existence": "uniform-existence",
    "uniform_spinodal": "uniform-spinodal",
}
TYPES = {"BetaRange", "DispersionBounds", "OnsetCharacter", "Transition"}


def spoiled(value):
    """A result of a closed form, a hair away from what it is."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, Transition):
        return Transition.DEGENERATE if value is Transition.CONTINUOUS else Transition.CONTINUOUS
    if isinstance(value, OnsetCharacter):
        return OnsetCharacter.MARGINAL if value is OnsetCharacter.MINIMUM else OnsetCharacter.MINIMUM
    if isinstance(value, tuple):
        scaled = [spoiled(part) for part in value]
        return type(value)(*scaled) if hasattr(value, "_fields") else tuple(scaled)
    if isinstance(value, int | float | np.ndarray):
        # A residual is zero: a factor would not show.
        return value * WRONG + (1e-9 if np.max(np.abs(value)) < 1e-9 else 0.0)
    return value


@pytest.fixture(scope="module")
def outcome():
    """The result of a check, run once."""
    return cache(lambda name: find_check(name)())


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_check_passes(outcome, name):
    result = outcome(name)
    assert result.passed, result
    assert result.cases > 0
    assert result.worst_error <= result.tolerance
    assert result.name == name


def test_names_are_unique_and_fit_the_table():
    assert len(set(NAMES)) == len(NAMES)
    assert max(map(len, NAMES)) < 25
    assert (
        max(len(line) for entry in checks() for line in (entry.quantity, entry.numerics, entry.source)) <= 65
    )


def test_every_closed_form_is_checked():
    assert set(NOTICED_BY) == set(closed_forms.__all__) - TYPES
    assert set(NOTICED_BY.values()) <= set(NAMES)


@pytest.mark.parametrize(("form", "name"), NOTICED_BY.items())
def test_a_wrong_formula_is_noticed(monkeypatch, form, name):
    right = getattr(closed_forms, form)
    wrong = right * WRONG if isinstance(right, float) else lambda *a, **k: spoiled(right(*a, **k))
    monkeypatch.setattr(closed_forms, form, wrong)
    sharp = find_check(name)
    # No case may stop with an error; one that exceeds the tolerance is enough to fail.
    assert any(case.error > sharp.tolerance for case in sharp.cases())


def test_the_verdict_flips(monkeypatch, outcome):
    before = outcome("isolation-gap")
    right = closed_forms.isolation_gap
    monkeypatch.setattr(closed_forms, "isolation_gap", lambda *a, **k: right(*a, **k) * WRONG)
    after = find_check("isolation-gap")()
    assert (before.passed, after.passed) == (True, False)
    assert after.worst_error == pytest.approx(1e-9, rel=1e-3)
    assert after.cases == before.cases


def test_the_sampled_probability_notices_five_percent(monkeypatch):
    right = closed_forms.exact_storage_probability
    monkeypatch.setattr(closed_forms, "exact_storage_probability", lambda *a: 0.95 * right(*a))
    assert not find_check("storage-sampled")().passed


def test_appendix_g4_is_there_in_full(outcome):
    """90 and 50 systems, the tolerances promised for them, and the errors that the paper reports."""
    found = {entry.name: outcome(entry.name) for entry in appendix_g4.CHECKS}
    assert [result.cases for result in found.values()] == [90, 90, 90, 50, 50]
    assert found["g4-two-keys-coexistence"].worst_error <= 1e-13
    assert found["g4-two-keys-spinodal"].worst_error <= 1e-12
    assert found["g4-supports-spinodal"].worst_error <= 1e-12
    published = [found[name].published for name in found if found[name].published]
    assert published == [5.73e-15, 1.72e-6, 1.92e-6]
    # Errors of the size that the paper reports: this is its estimator, and no better one.
    for name in ("g4-two-keys-differences", "g4-supports-differences"):
        assert 0.1 <= found[name].worst_error / found[name].published <= 10


def sample(*cases, stop=None):
    @check("sample", "a sample", "none", "nowhere", 1e-3)
    def made():
        for case in cases:
            yield Case(*case)
        if stop is not None:
            raise stop

    return made


def test_the_worst_case_is_named():
    result = sample(("a", 1e-5), ("b", 2e-4), ("c", 0.0))()
    assert (result.cases, result.worst_error, result.worst_case, result.passed) == (3, 2e-4, "b", True)
    with pytest.raises(FrozenInstanceError):
        result.passed = False


def test_a_value_that_is_no_number_fails():
    for bad in (math.nan, math.inf):
        result = sample(("a", 0.0), ("b", bad), ("c", 0.0))()
        assert (result.passed, result.worst_case, result.worst_error) == (False, "b", math.inf)


def test_a_check_without_cases_fails():
    result = sample()()
    assert not result.passed
    assert result.worst_case == "no case was found"


def test_a_check_that_stops_has_failed_and_says_why():
    result = sample(("a", 0.0), stop=InputError("beta = -1 is outside"))()
    assert (result.passed, result.cases) == (False, 1)
    assert result.worst_case == "stopped by InputError: beta = -1 is outside"


def test_errors_of_values_that_do_not_exist():
    assert relative_error(math.inf, math.inf) == relative_error(math.nan, math.nan) == 0
    for pair in ((1.0, math.inf), (math.inf, 1.0), (math.nan, 1.0), (math.inf, -math.inf), (1.0, 0.0)):
        assert relative_error(*pair) == math.inf
    assert relative_error(1.1, 1.0, size=10.0) == pytest.approx(0.01)
    assert (agreement(None, None), agreement(True, False)) == (0.0, math.inf)


def test_one_check_alone_and_its_progress():
    seen = []
    (result,) = validate("rem-cumulant", progress=lambda done, total: seen.append((done, total)))
    assert result.name == "rem-cumulant"
    assert seen == [(1, 1)]


def test_an_unknown_check_names_the_nearest():
    with pytest.raises(InputError, match="no check 'potts-spinodle': the nearest is potts-spinodal"):
        validate("potts-spinodle")
    with pytest.raises(InputError, match="the first is g4-two-keys-coexistence"):
        validate("~")


def test_first_zero_and_vanishing_point_of_known_functions():
    assert first_zero(lambda beta: 1 - beta / math.pi) == pytest.approx(math.pi, rel=1e-15)
    assert math.isnan(first_zero(lambda beta: 1.0))
    # Two scores, α = 2: p = (1 ± β gap/2)/2.
    found = vanishing_point([[1.0, 0.5], [0.0, 0.0]], 2.0, [[False, True], [False, True]])
    assert found[0] == pytest.approx(4.0, rel=1e-15)
    assert found[1] == math.inf
