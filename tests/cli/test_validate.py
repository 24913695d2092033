"""`hopfieldphase validate`: the table, one check alone, and the exit code."""

import json

import pytest

import hopfieldphase
from hopfieldphase.core import closed_forms
from hopfieldphase.phases import validate
from hopfieldphase.phases.validation import one_pattern, random_patterns, storage
from hopfieldphase.phases.validation.record import Case, check

QUICK = (*random_patterns.CHECKS[2:], *one_pattern.CHECKS, storage.storage_sampled)
"""A few checks of some milliseconds, the sampled one among them."""


@pytest.fixture
def quick(monkeypatch):
    """Only the quick checks."""
    monkeypatch.setattr(validate, "checks", lambda: QUICK)


@pytest.fixture
def broken(monkeypatch):
    """Two quick checks, the second of which fails."""

    @check("broken-check", "a quantity", "numerics", "a source", 1e-12, published=2e-13)
    def failing():
        yield Case("the good case", 0.0)
        yield Case("the bad case", 0.5)

    monkeypatch.setattr(validate, "checks", lambda: (random_patterns.CHECKS[2], failing))


def test_the_table_of_all_checks(run, quick):
    done = run("validate")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["quantity", "cases", "worst", "error", "tolerance", "verdict", "published"]
    assert [line.split()[0] for line in lines[1:]] == [entry.name for entry in QUICK]
    assert all(" passed" in line for line in lines[1:])
    assert lines[1].split()[:2] == ["rem-cumulant", "12"]
    assert lines[-1].split()[2:6] == ["1.22", "s.e.", "4", "s.e."]
    assert max(map(len, lines)) <= 80
    assert done.out.isascii()
    assert done.error_lines[0] == "checking closed forms against independent numerics"
    assert done.error_lines[-1] == "all 6 checks passed; see hopfieldphase validate rem-cumulant"


def test_a_failing_check_is_named_and_leaves_with_1(run, broken):
    done = run("validate")
    assert done.code == 1
    assert done.out.splitlines()[-1].split() == [
        "broken-check",
        "2",
        "5.0e-01",
        "1e-12",
        "FAILED",
        "2.00e-13",
    ]
    assert done.error_lines[-2:] == ["1 of 2 checks failed:", "  broken-check: 5.0e-01 at the bad case"]
    quiet = run("validate", "--quiet")
    assert (quiet.code, quiet.out) == (1, "")
    assert quiet.error_lines == done.error_lines[-2:]


def test_a_wrong_closed_form_leaves_with_1(run, quick, monkeypatch):
    right = closed_forms.rem_cumulant
    monkeypatch.setattr(closed_forms, "rem_cumulant", lambda x: right(x) * (1 + 1e-9))
    done = run("validate", "rem-cumulant")
    assert done.code == 1
    assert done.out.splitlines()[0] == "rem-cumulant: FAILED"


def test_one_check_alone_shows_its_worst_case(run):
    done = run("validate", "rem-cumulant")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "rem-cumulant: passed"
    facts = {line[2:15].strip(): line[15:] for line in lines[1:]}
    assert list(facts) == [
        "quantity", "numerics", "source", "cases", "worst error", "worst case", "tolerance"
    ]  # fmt: skip
    assert facts["source"] == "Lucibello and Mezard (2024)"
    assert facts["cases"] == "12"
    assert facts["tolerance"] == "1e-12"


def test_json_has_every_field(run, broken):
    done = run("validate", "--json", "--quiet")
    assert done.code == 1
    found = json.loads(done.out)
    assert found["version"] == hopfieldphase.__version__
    assert found["passed"] is False
    first, second = found["checks"]
    assert first["passed"] is True
    assert second == {
        "name": "broken-check", "quantity": "a quantity", "numerics": "numerics", "source": "a source",
        "cases": 2, "worst_error": 0.5, "tolerance": 1e-12, "passed": False, "worst_case": "the bad case",
        "measure": "relative error", "published": 2e-13,
    }  # fmt: skip


def test_quiet_says_nothing_when_all_is_well(run, quick):
    assert run("validate", "--quiet") == type(run("--version"))(0, "", "")


def test_an_unknown_check_is_one_line(run):
    done = run("validate", "potts-spinodle", "--quiet")
    assert (done.code, done.out) == (2, "")
    (line,) = done.error_lines
    assert line.startswith("error: there is no check 'potts-spinodle': the nearest is potts-spinodal; ")


def test_help_is_plain_text_of_80_columns(run):
    done = run("validate", "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.isascii()
    assert max(map(len, done.out.splitlines())) <= 80
