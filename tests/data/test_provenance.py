"""Provenance is plain JSON, and the revision is that of this package's own checkout or none."""

import datetime as dt
import json
import platform
import subprocess
from importlib.metadata import version

import pytest

import hopfieldphase
from hopfieldphase.data import provenance as module
from hopfieldphase.data.provenance import git_revision, provenance


@pytest.fixture(autouse=True)
def _fresh():
    git_revision.cache_clear()
    yield
    git_revision.cache_clear()


def test_the_record_is_json_and_says_when_where_and_with_what():
    before = dt.datetime.now(dt.UTC).replace(microsecond=0)
    record = provenance(1.23456)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert before <= dt.datetime.fromisoformat(record["created"]) <= dt.datetime.now(dt.UTC)
    assert record["host"] == platform.node()
    assert record["python"] == platform.python_version()
    assert record["package_version"] == hopfieldphase.__version__
    assert record["packages"]["numpy"] == version("numpy")
    assert record["wall_time_seconds"] == 1.235
    assert record["cpus"] >= 1


def test_a_package_that_is_not_installed_has_no_version(monkeypatch):
    monkeypatch.setattr(module, "_PACKAGES", ("numpy", "no-such-package-here"))
    assert provenance(0)["packages"] == {"numpy": version("numpy"), "no-such-package-here": None}


def commit_in(folder):
    git = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    (folder / "file").write_text("1")
    subprocess.run([*git, "add", "file"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    return subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


def test_the_revision_is_the_commit_and_says_when_files_differ_from_it(tmp_path, monkeypatch):
    commit = commit_in(tmp_path)
    monkeypatch.setattr(module, "_PACKAGE_DIR", tmp_path / "hopfieldphase")
    assert git_revision() == commit
    git_revision.cache_clear()
    (tmp_path / "file").write_text("2")
    assert git_revision() == f"{commit}-dirty"


def test_an_installed_package_does_not_report_the_repository_around_it(tmp_path, monkeypatch):
    commit_in(tmp_path)
    monkeypatch.setattr(module, "_PACKAGE_DIR", tmp_path / "venv" / "site-packages" / "hopfieldphase")
    assert git_revision() is None


def test_without_git_there_is_no_revision(tmp_path, monkeypatch):
    commit_in(tmp_path)
    monkeypatch.setattr(module, "_PACKAGE_DIR", tmp_path / "hopfieldphase")
    monkeypatch.setenv("PATH", "")
    assert git_revision() is None
