"""The claims of the paper: their verdicts are those of the report, and other numbers give other verdicts."""

import math
import shlex
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command

from hopfieldphase.cli.app import app
from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.validate import find_check
from hopfieldphase.runs.reproduction import (
    appendix_f,
    appendix_g4,
    conclusion,
    figures,
    memory_load,
    memory_load_dense,
    proofs,
    report,
    section_3,
    section_4,
    temperature,
    temperature_dense,
)
from hopfieldphase.runs.reproduction.record import Claim, Finding, Verdict, claim

ROOT = Path(__file__).parents[2]
COMMITTED = {result.name: result for result in report.read_report(ROOT / "docs" / "reproduction.json")}
ALL = {entry.name: entry for entry in report.claims()}

# Claims that need no study of a figure, or that of Figure 2 only: a second or two together.
_PARTS = (section_3, section_4, proofs, temperature, appendix_f)
_SLOWER = {"memory-load-definition", "ipr-below-support", "softmax-jumps"}
QUICK = {entry.name for part in _PARTS for entry in part.CLAIMS} - _SLOWER


def _cases():
    return [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in ALL]


def test_names_are_unique_and_those_of_the_committed_results():
    names = [entry.name for entry in report.claims()]
    assert len(set(names)) == len(names)
    assert list(COMMITTED) == names


@pytest.mark.parametrize("name", _cases())
def test_the_committed_verdict_is_measured(name):
    result = report.measured(ALL[name])
    committed = COMMITTED[name]
    assert result.verdict == committed.verdict, result.sentence
    assert (result.section, result.statement, result.command) == (
        committed.section, committed.statement, committed.command,
    )  # fmt: skip
    assert set(result.numbers) == set(committed.numbers)
    assert "nan" not in result.sentence.split()
    assert result.sentence.count("$") % 2 == 0
    assert result.statement.count("$") % 2 == 0


@pytest.mark.parametrize("name", list(ALL))
def test_the_command_of_a_claim_exists(name):
    program, *words = shlex.split(ALL[name].command)
    if program == "python":  # a claim shown by its function
        assert words[0] == "-c"
        compile(words[1], name, "exec")
        return
    assert program == "hopfieldphase"
    if words[0] == "reproduce":
        assert words[1:] == [name]
        return
    group = get_command(app)
    while words and hasattr(group, "commands"):
        group = group.commands[words.pop(0)]
    context = group.make_context(name, words)  # parses, and runs nothing
    if group.name == "run":
        assert (ROOT / context.params["file"]).is_file()
    if group.name == "validate":
        assert find_check(context.params["name"]).name == context.params["name"]


# What the numbers of the paper's statement would be, or would not be: the verdict must follow them.


@pytest.fixture
def changed_sweep(monkeypatch):
    """Replace variables of the sweep behind one figure."""

    def change(number, **variables):
        right = figures.sweep_of(number)
        altered = right.assign({name: value(right[name]) for name, value in variables.items()})
        other = figures.sweep_of
        monkeypatch.setattr(figures, "sweep_of", lambda n: altered if n == number else other(n))

    return change


def test_overlaps_that_miss_one_over_d_do_not_saturate(changed_sweep):
    changed_sweep(2, overlap_max=lambda z: z * (1 - 1e-6))
    assert temperature.saturation().verdict is Verdict.FAILS


def test_equal_sweeps_have_no_hysteresis(changed_sweep):
    def up(values):
        return values.sel(direction=["up", "up"]).assign_coords(direction=values["direction"])

    changed_sweep(2, overlap_max=up, free_energy=up)
    assert temperature.hysteresis_window().verdict is Verdict.HOLDS
    assert temperature.hysteresis().verdict is Verdict.FAILS


def test_a_count_of_one_everywhere_holds(changed_sweep):
    changed_sweep(2, threshold_count=lambda count: count * 0 + 1)
    assert temperature.threshold_count_high().verdict is Verdict.HOLDS
    assert temperature.threshold_count_low().verdict is Verdict.FAILS


def test_a_growing_support_is_no_shrinking_one(changed_sweep):
    changed_sweep(2, support_size=lambda size: size * 0 + size.values[..., ::-1])
    assert temperature.supports_shrink().verdict is Verdict.FAILS


def test_falling_overlaps_do_not_grow(changed_sweep):
    changed_sweep(2, overlap_max=lambda z: -z)
    assert temperature.stepwise_growth().verdict is Verdict.FAILS


@pytest.mark.slow
def test_softmax_without_hysteresis_beyond_the_range_would_hold(monkeypatch):
    monkeypatch.setattr(figures, "softmax_loop", lambda: figures.sweep_of(3))
    assert temperature_dense.no_hysteresis().verdict is Verdict.HOLDS
    assert temperature_dense.no_spinodal().verdict is Verdict.HOLDS
    assert conclusion.softmax_smooth().verdict is Verdict.HOLDS


@pytest.mark.slow
def test_softmax_with_hysteresis_in_the_range_would_fail(monkeypatch):
    loop = figures.softmax_loop()
    monkeypatch.setattr(figures, "sweep_of", lambda number: loop)
    assert temperature_dense.no_hysteresis().verdict is Verdict.FAILS
    assert temperature_dense.no_spinodal().verdict is Verdict.FAILS


@pytest.mark.slow
def test_memory_load_with_the_numbers_of_the_text_would_hold(changed_sweep):
    changed_sweep(4, ipr=lambda ipr: ipr * 0 + 1.0, overlap_max=lambda z: z * 0 + 1 / z["kappa"])
    assert memory_load.ipr_stays().verdict is Verdict.HOLDS
    assert memory_load.overlap_decreases().verdict is Verdict.HOLDS


@pytest.mark.slow
def test_softmax_load_claims_follow_their_numbers(changed_sweep):
    changed_sweep(
        5,
        ipr=lambda ipr: ipr * 0 + ipr["kappa"],
        overlap_max=lambda z: z * 0 + 1 / z["kappa"],
        support_size=lambda size: size - 1,
    )
    assert memory_load_dense.ipr_grows().verdict is Verdict.FAILS
    assert memory_load_dense.overlap_decreases().verdict is Verdict.HOLDS
    assert memory_load_dense.support_full().verdict is Verdict.FAILS


def test_a_wrong_energy_of_proposition_4_1_is_seen(monkeypatch):
    right = section_4.closed_forms.proposition_4_1_energy
    monkeypatch.setattr(
        section_4.closed_forms, "proposition_4_1_energy", lambda *given: right(*given) * (1 + 1e-6)
    )
    assert section_4.coexistence_condition().verdict is Verdict.FAILS


def test_a_wrong_softest_mode_is_seen(monkeypatch):
    right = section_4._softest
    monkeypatch.setattr(section_4, "_softest", lambda *given: right(*given) * (1 + 1e-6))
    assert section_4.spinodal_formula().verdict is Verdict.FAILS


def test_wrong_maps_are_seen(monkeypatch):
    right = section_3.weights
    monkeypatch.setattr(section_3, "weights", lambda z, alpha, beta=1.0: right(z, alpha, 1.001 * beta))
    for wrong in (section_3.maps_sparsemax, section_3.maps_softmax, section_3.maps_convention):
        assert wrong().verdict is Verdict.FAILS
    assert section_3.overlap_derivative().verdict is Verdict.FAILS


def test_errors_above_those_of_the_appendix_are_seen(monkeypatch):
    values = appendix_g4.CriticalValues("a system", 0.1, 2.0, 2.0 + 1e-9, 2.0 + 1e-9, 2.0 + 1e-5)
    monkeypatch.setattr(appendix_g4, "_two_keys", lambda scale=1.0: (values,) * 90)
    monkeypatch.setattr(appendix_g4, "_supports", lambda scale=1.0: (values,) * 50)
    for wrong in (appendix_g4.coexistence, appendix_g4.two_keys_spinodal, appendix_g4.supports_spinodal):
        assert wrong().verdict is Verdict.FAILS


def test_a_descent_that_leaves_saddles_would_hold(monkeypatch):
    _, verified = appendix_f._sweeps()
    monkeypatch.setattr(appendix_f, "_sweeps", lambda: (verified, verified))
    assert appendix_f.descent_finds_minima().verdict is Verdict.HOLDS


def test_the_share_of_backward_steps():
    assert figures.backward(np.array([1.0, 2.0, 4.0])) == 0
    assert figures.backward(np.array([4.0, 1.0, 2.0])) == pytest.approx(1 / 4)


# The report itself.


@claim("a-claim", "Section 9, Figure 1", r"A statement on $\beta$.", "hopfieldphase info x")
def _a_claim() -> Finding:
    return Finding(Verdict.SCANNED, "It was 1/3.", {"third": 1 / 3, "large": np.float64(2e20)})


def test_numbers_keep_six_digits_and_survive_json(tmp_path):
    results = (report.measured(_a_claim),)
    assert results[0].numbers == {"third": 0.333333, "large": 2e20}
    report.write_report(results, tmp_path / "claims.json")
    assert report.read_report(tmp_path / "claims.json") == results
    assert report.counted(results)[Verdict.SCANNED] == 1
    assert sum(report.counted(results).values()) == 1


def test_the_page_has_every_claim_under_its_part_once():
    page = report.to_markdown(list(COMMITTED.values()))
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert len(set(headings)) == len(headings)
    for name, result in COMMITTED.items():
        assert page.count(f"    `{name}`\n") == 1
        assert result.sentence in page
    assert page.startswith(f"{len(COMMITTED)} claims:")


def test_claims_run_by_name_with_progress(monkeypatch):
    seen = []
    results = report.run_claims(["no-truncation", "maps-sparsemax"], lambda *done: seen.append(done))
    assert [result.name for result in results] == ["no-truncation", "maps-sparsemax"]
    assert seen == [(1, 2), (2, 2)]


def test_an_unknown_claim_is_named_with_the_nearest():
    with pytest.raises(InputError, match=r"no claim 'figure-2a-saturate'; the nearest is 'figure-2a-satur"):
        report.run_claims(["figure-2a-saturate"])


def test_a_name_with_blanks_is_refused():
    with pytest.raises(AssertionError, match="no lower-case word"):
        claim("two words", "", "", "")


def test_every_number_is_finite_or_the_claim_says_so():
    for result in COMMITTED.values():
        assert isinstance(ALL[result.name], Claim)
        assert all(math.isfinite(value) for value in result.numbers.values()), result.name
