"""A result folder whose small files are damaged is shown as far as it goes, or refused with one line."""

import json
from pathlib import Path

import pytest

DAMAGE = ["", "{", "[]", "{}", "null", '{"study": []}', '{"study": "grid"}', "[" * 10**5, "\x00", '"text"']


@pytest.fixture
def result(run, small):
    assert run("sweep", "beta", *small, "--no-plot", "--out", "result").code == 0
    return Path("result")


@pytest.mark.parametrize("words", [("info",), ("info", "--cite"), ("info", "--json")])
@pytest.mark.parametrize("name", ["summary.json", "provenance.json"])
def test_damaged_files_of_a_result(run, result, name, words):
    content = (result / name).read_text()
    marker = json.loads(content) if name == "provenance.json" else {}
    kept = {key: marker[key] for key in ("fingerprint", "package_version", "files") if key in marker}
    for damage in [*DAMAGE, json.dumps(kept), json.dumps(kept | {"created": 3, "host": [], "sessions": 5})]:
        (result / name).write_text(damage)
        done = run(*words, "result")
        assert done.code in (0, 2), (damage[:40], done.err)
        assert len(done.error_lines) == (1 if done.code else 0)
        assert bool(done.out) == (done.code == 0)
    (result / name).write_text(content)
    assert run(*words, "result").code == 0


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_notes_of_an_unfinished_run(run, damage):
    """Notes that a killed run left: whatever stands in them, the command tells, or refuses in one line."""
    folder = Path("begun/.run")
    (folder / "done").mkdir(parents=True)
    for name in ("run.json", "sessions.jsonl", "done/0.json"):
        (folder / name).write_text(damage)
    done = run("info", "begun")
    assert done.code in (0, 2)
    assert len(done.error_lines) == (1 if done.code else 0)
    assert "unexpected" not in done.err
