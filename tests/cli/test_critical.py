"""`hopfieldphase critical`: the table in words and numbers, the folder, wrong input."""

import json
from pathlib import Path

import numpy as np
import pytest

from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import two_keys
from hopfieldphase.runs import critical as runs
from hopfieldphase.runs.critical_spec import CriticalSpec

POTTS = ("--generator", "equicorrelated", "--M", "4", "--d", "4", "--alpha", "1.5")
KEYS = ("--generator", "two_keys", "--epsilon", "0.5", "--d", "4")
RANDOM = ("--M", "14", "--d", "8", "--clusters", "3", "--seed", "2")


def section(text: str, start: str) -> list[str]:
    """The lines from one that begins with `start` to the next empty one."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(start))
    last = next((i for i in range(first, len(lines)) if not lines[i]), len(lines))
    return lines[first:last]


def test_the_table_of_equidistant_patterns(run):
    done = run("critical", *POTTS)
    assert done.code == 0
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert done.out.isascii()
    assert lines[0].startswith("critical points: alpha 1.5, M 4, d 4, beta ")
    storage = section(done.out, "exact storage")
    assert storage[0] == "exact storage: from beta 12, all 4 patterns from 12"
    assert storage[1] == "  at its onset a pattern is a minimum"
    assert [line.split() for line in storage[2:]] == [
        ["beta", "pattern"],
        *[["12", str(mu)] for mu in range(4)],
    ]
    mean = section(done.out, "the state of lowest beta")
    assert mean[2].split()[:4] == ["12", "rising", "branch", "point"]
    assert mean[3] == "  closed form 12 applies: all patterns"
    ends = section(done.out, "ends of stable states: 5")
    spinodal = closed_forms.potts_spinodal(4, 1.5) * 4
    folds = [line.split() for line in ends if " fold " in line]
    assert len(folds) == 4
    for fold in folds:
        assert float(fold[0]) == pytest.approx(spinodal, rel=1e-9)
        assert float(fold[5]) < 1e-11  # the closed form agrees
    crossings = section(done.out, "equal free energies of two stable states: 4")
    coexistence = closed_forms.potts_coexistence(4, 1.5) * 4
    assert float(crossings[2].split()[0]) == pytest.approx(coexistence, rel=1e-9)
    assert crossings[-1].startswith("  and 6 pairs with equal energies on an interval")


def test_json_has_everything(run):
    done = run("critical", *KEYS, "--json", "--quiet")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert found["model"] == {"alpha": 2.0, "M": 2, "d": 4, "scale": 0.5}
    assert found["betas"] == [None, None]
    assert found["storage"]["all"] == pytest.approx(16.0, rel=1e-12)
    assert found["storage"]["at_onset"] == "marginal"
    assert [entry["traced"]["type"] for entry in found["storage"]["patterns"]] == ["enters", "enters"]
    for point in (found["mean_state"], *found["ends"]):
        assert point["beta"] == pytest.approx(16.0, rel=1e-12)
        assert point["closed_form"] == pytest.approx(16.0, rel=1e-12)
        assert point["premises_hold"] is True
        assert point["status"] == "converged"
        assert point["precision"] == 1e-12
    assert {point["direction"] for point in found["ends"]} == {"rising", "falling"}
    assert found["mean_state"]["state"]["support"] == [0, 1]
    assert found["mean_state"]["other_state"]["support"] in ([0], [1])
    assert found["unconverged"] == 0


def test_long_lists_are_cut_and_say_how_to_see_all(run):
    short = run("critical", *RANDOM, "--top", "2")
    rows = section(short.out, "exact storage")
    assert rows[-1] == "  ... and 12 more: --top all, or --json for every one of these"
    assert len(rows) == 3 + 2 + 1
    every = run("critical", *RANDOM, "--top", "all")
    assert "more:" not in every.out
    assert len(section(every.out, "exact storage")) == 3 + 14
    assert max(map(len, (short.out + every.out).splitlines())) <= 80
    # The JSON of the short one has every onset too.
    found = json.loads(run("critical", *RANDOM, "--top", "2", "--json").out)
    assert len(found["storage"]["patterns"]) == 14
    assert sum(entry["traced"] is not None for entry in found["storage"]["patterns"]) == 2


def test_softmax_stores_nothing_exactly(run):
    done = run("critical", *RANDOM, "--alpha", "1", "--top", "3")
    assert done.code == 0
    assert "no pattern is ever stored exactly" in done.out
    assert " fold " in done.out
    assert "mostly " in done.out


def test_a_folder_is_written_and_not_computed_again(run, monkeypatch):
    first = run("critical", *POTTS, "--out", "x")
    assert first.code == 0
    assert {path.name for path in Path("x").iterdir()} == {"spec.toml", "summary.json", "provenance.json"}
    assert first.error_lines[-1] == "results are in x; see x/summary.json"
    spec = CriticalSpec.from_toml("x/spec.toml")
    assert spec == CriticalSpec(
        alpha=1.5, patterns={"generator": "equicorrelated", "M": 4, "d": 4, "cosine": 0.0}
    )
    assert json.loads(Path("x/summary.json").read_text()) == runs.find_critical(spec)
    monkeypatch.setattr(runs, "find_critical", lambda *_: pytest.fail("computed again"))
    again = run("critical", *POTTS, "--out", "x")
    assert (again.code, again.out) == (0, first.out)
    assert again.error_lines[0] == "already done: x holds this result (--force recomputes)"
    other = run("critical", *POTTS, "--top", "3", "--out", "x")
    assert (other.code, other.out) == (2, "")
    assert "x holds the result of another spec" in other.error_lines[-1]


def test_nothing_is_written_without_out(run):
    assert run("critical", *KEYS).code == 0
    assert list(Path().iterdir()) == []


def test_patterns_from_a_file(run):
    np.save("keys.npy", two_keys(0.5, d=4))
    from_file = json.loads(run("critical", "--patterns", "keys.npy", "--out", "x", "--json").out)
    generated = json.loads(run("critical", *KEYS, "--json").out)
    assert from_file == generated
    assert "sha256" in Path("x/spec.toml").read_text()


def test_the_range_and_the_reference_are_taken(run):
    found = json.loads(run("critical", *RANDOM, "--at", "30", "--betas", "20:60:5", "--json").out)
    assert (found["at"], found["betas"]) == (30.0, [20.0, 60.0])
    assert all(20 <= point["beta"] <= 60 for point in found["ends"])


def test_points_that_were_not_located_leave_with_3(run, monkeypatch):
    right = runs.critical_summary
    monkeypatch.setattr(runs, "critical_summary", lambda table: right(table) | {"unconverged": 2})
    done = run("critical", *KEYS, "--quiet")
    assert (done.code, done.out) == (3, "")
    assert done.error_lines == ["warning: 2 points were not located as precisely as asked"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--alpha", "inf"), "alpha = inf has no critical points"),
        (("--alpha", "0"), "alpha = 0.0 is outside its domain"),
        (("--at", "-1"), "at = -1.0 is outside its domain (0, inf)"),
        (("--at", "5", "--betas", "10:20:1"), "at = 5 lies outside the range [10, 20] of betas"),
        (("--betas", "3"), "betas has one value, 3"),
        (("--betas", "20:10:1"), "is reversed"),
        (("--top", "0"), "top = 0 is not a number of branches"),
        (("--top", "1.5"), "top = 1.5 is not a number of branches"),
        (("--top", "some"), "top = some is not a number of branches"),
        (("--generator", "two_keys"), "two_keys patterns need epsilon"),
        (("--M", "1"), "all patterns are equal"),
        (("--patterns", "missing.npy"), "pattern file missing.npy does not exist"),
        (("--patterns", "equal.npy"), "all patterns are equal"),
        (("--generator", "two_keys", "--epsilon", "1"), "all patterns are equal"),
        (("--out", "equal.npy"), "cannot write to equal.npy: File exists"),
    ],
)
def test_wrong_input_is_one_line(run, words, complaint):
    np.save("equal.npy", np.ones((3, 2)))
    done = run("critical", *words)
    assert (done.code, done.out) == (2, "")
    (line,) = [line for line in done.error_lines if "compiling" not in line]
    assert line.startswith("error: ")
    assert complaint in line
    assert [path.name for path in Path().iterdir()] == ["equal.npy"]


def test_help_is_plain_text_of_80_columns(run):
    done = run("critical", "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.isascii()
    assert max(map(len, done.out.splitlines())) <= 80
