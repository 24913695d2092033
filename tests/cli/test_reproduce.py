"""`hopfieldphase reproduce`: the table of verdicts, one claim in detail, JSON."""

import json

import pytest

from hopfieldphase.cli.reproduce import plain
from hopfieldphase.runs.reproduction import appendix_f, report, section_3

QUICK = (*section_3.CLAIMS[3:6], appendix_f.no_truncation, appendix_f.sparse_at_least_one)


@pytest.fixture
def quick(monkeypatch):
    """Only some claims of a few milliseconds."""
    monkeypatch.setattr(report, "claims", lambda: QUICK)


def test_the_table_has_a_line_for_each_claim_and_a_count(run, quick):
    done = run("reproduce")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["claim", "section", "verdict"]
    assert [line.split()[0] for line in lines[1:6]] == [entry.name for entry in QUICK]
    assert lines[6:] == [
        "", "   4 holds", "   0 holds in the scanned range only", "   1 needs a reading of the text",
        "   0 does not hold",
    ]  # fmt: skip
    assert max(map(len, lines)) <= 80
    assert done.error_lines[0] == "measuring the claims of the paper"


def test_the_longest_names_fit(run, monkeypatch):
    longest = sorted(report.claims(), key=lambda entry: len(entry.name) + len(entry.section))[-3:]
    results = tuple(
        report.Result(entry.name, entry.section, "", "", verdict, "", {})
        for entry in longest
        for verdict in report.Verdict
    )
    monkeypatch.setattr(report, "run_claims", lambda names, progress: results)
    lines = run("reproduce").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert all("  " in line.removesuffix(" ") for line in lines[1 : 1 + len(results)])


def test_a_named_claim_shows_what_was_measured(run):
    done = run("reproduce", "no-truncation", "sparse-at-least-one", "--quiet", "--json")
    found = json.loads(done.out)["claims"]
    assert [entry["verdict"] for entry in found] == ["holds", "needs a reading of the text"]
    done = run("reproduce", "no-truncation")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "no-truncation: holds"
    assert [line[2:12].strip() for line in lines[1:] if line[2:12].strip()] == [
        "where", "claim", "measured", "command", "numbers",
    ]  # fmt: skip
    assert max(map(len, lines)) <= 80
    assert "$" not in done.out
    assert "\\" not in done.out
    assert f"least = {found[0]['numbers']['least']:g}" in done.out


def test_the_results_file_is_the_json(run, quick, tmp_path):
    done = run("reproduce", "--json", "--out", "claims.json")
    assert done.code == 0
    written = json.loads((tmp_path / "claims.json").read_text(encoding="utf-8"))
    assert written == json.loads(done.out)
    assert [entry["name"] for entry in written["claims"]] == [entry.name for entry in QUICK]
    assert done.error_lines[-1] == "wrote claims.json"


def test_an_unknown_claim_is_one_line(run):
    done = run("reproduce", "figure-2a-satuation", "--quiet")
    assert (done.code, done.out) == (2, "")
    (line,) = done.error_lines
    assert line.startswith(
        "error: there is no claim 'figure-2a-satuation'; the nearest is 'figure-2a-saturation'"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (r"for $\beta = 2/(1-\varepsilon)$ it holds", "for beta = 2/(1-varepsilon) it holds"),
        (r"$\lambda_{\min}/\beta$ is 0", "lambda_min/beta is 0"),
        (r"$1/\sqrt d$ and $\frac\beta2$", "1/sqrt(d) and beta/2"),
        (r"$0 \le k$, `name`", "0 <= k, name"),
    ],
)
def test_formulas_in_plain_text(text, words):
    assert plain(text) == words
