"""`hopfieldphase thermal`: the table, the folder, wrong input."""

import json
from pathlib import Path

WORDS = ("thermal", "--M", "6", "--d", "16", "--betas", "1:1000:x3")


def test_table_and_folder(run):
    done = run(*WORDS, "--out", "here")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("query pattern:0: best pattern 0, overlap 0.25, gap to the next ")
    assert any(line.startswith("escort over the simplex") for line in lines)
    assert {"data.zarr", "figure.png", "summary.json", "spec.toml"} <= {
        p.name for p in Path("here").iterdir()
    }
    assert "thermal attention: alpha 2, clustered, M 6, d 16, query pattern:0" in done.err
    again = run("run", "here/spec.toml", "--out", "here")
    assert "already done" in again.err
    assert again.out == done.out


def test_json(run):
    done = run(*WORDS, "--alpha", "1", "--json", "--quiet", "--no-plot")
    assert (done.code, done.err) == (0, "")
    found = json.loads(done.out)
    assert [entry["name"] for entry in found["ensembles"]] == ["softmax", "Gibbs over the simplex"]


def test_wrong_input_is_one_line(run):
    for words, complaint in (
        (("--alpha", "inf"), "alpha = inf"),
        (("--query", "pattern:6"), "there are 6 patterns"),
        (("--query", "here"), "query = 'here'"),
    ):
        done = run(*WORDS, *words)
        assert done.code == 2
        assert len(done.error_lines) == 1
        assert complaint in done.err
