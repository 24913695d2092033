"""What the project's own files say about each other."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import hopfieldphase as hp

ROOT = Path(__file__).resolve().parents[1]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_version_is_the_same_everywhere():
    assert version("hopfieldphase") == hp.__version__
    assert yaml.safe_load(read("CITATION.cff"))["version"] == hp.__version__
    assert re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)[1] == hp.__version__


@pytest.mark.parametrize(("repository", "package"), [("ruff-pre-commit", "ruff"), ("mirrors-mypy", "mypy")])
def test_pre_commit_uses_the_pinned_version(repository, package):
    hooks = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    revision = next(hook["rev"] for hook in hooks if hook["repo"].endswith(repository))
    pinned = re.search(rf"^{package}==(\S+)", read("constraints.txt"), re.MULTILINE)[1]
    assert revision == f"v{pinned}"


def test_every_constraint_is_one_exact_version():
    lines = [line for line in read("constraints.txt").splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    names = [re.sub(r"[-_.]+", "-", line.split("==")[0]).lower() for line in lines]
    assert len(names) == len(set(names))
    assert "torch==2.13.0" in lines


def test_the_citation_is_dated_as_the_changelog_is():
    """Version and date of a release stand in both; a version without a date is not released yet."""
    heading = re.search(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", read("CHANGELOG.md"), re.MULTILINE)
    citation = yaml.safe_load(read("CITATION.cff"))
    assert (citation["version"], str(citation.get("date-released", "unreleased"))) == heading.groups()


def test_the_oldest_dependencies_are_the_lower_bounds():
    needs = tomllib.loads(read("pyproject.toml"))["project"]["dependencies"]
    pins = [line for line in read("tests/oldest.txt").splitlines() if not line.startswith("#")]
    bounds = {name: Version(bound) for name, bound in (need.split(">=") for need in needs)}
    assert {name: Version(pin) for name, pin in (line.split("==") for line in pins)} == bounds


def test_no_module_is_longer_than_a_reader_holds():
    longest = 500
    for path in (ROOT / "hopfieldphase").rglob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= longest, path
