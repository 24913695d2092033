"""A result folder whose small files are damaged is shown as far as it goes, or refused with one line."""

import json
from pathlib import Path

import pytest

DAMAGE = ["", "{", "[]", "{}", "null", '{"study": []}', '{"study": "grid"}', "[" * 10**5, "\x00", '"text"']


@pytest.fixture
def result(run, small):
    assert run("sweep", "beta", *small, "--no-plot", "--out", "result").code == 0
    return Path("result")


@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        pytest.param(("info", "--cite"), marks=pytest.mark.slow),
        pytest.param(("info", "--json"), marks=pytest.mark.slow),
    ],
)
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


@pytest.mark.parametrize("study", ["sweep", "grid"])
def test_links_in_a_result_folder_lead_nowhere(run, small, study):
    """What a folder links to stays as it is, also where the folder is replaced."""
    options = (
        ("sweep", "beta", *small, "--no-plot") if study == "sweep" else ("run", "study.toml", "--no-plot")
    )
    Path("study.toml").write_text(
        'study = "grid"\nrealizations = 1\n[base]\nstudy = "sweep-beta"\nbetas = "20:60:20"\n'
        "[base.patterns]\nM = 6\nd = 4\n[grid]\nalpha = [2.0]\n"
    )
    outside = Path("outside")
    assert run(*options, "--out", "outside/result").code == 0
    before = {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()}
    Path("result").mkdir()
    for file in Path("outside/result").iterdir():
        (Path("result") / file.name).symlink_to(file.resolve())
    assert run(*options, "--out", "result", "--force").code == 0
    assert {file: file.read_bytes() for file in outside.rglob("*") if file.is_file()} == before
    assert not any(file.is_symlink() for file in Path("result").rglob("*"))
