"""Every command and every example of the README and of the documentation is executed."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    *sorted(
        page for page in DOCS.rglob("*.md") if page.relative_to(DOCS).parts[0] not in ("_build", "generated")
    ),
]
SETS_UP_A_COPY = "make demo"
READS_RESULTS = (
    "# in the folder of the commands above\n"  # first line of an example that needs what they wrote
)
RUNS_THIS_TEST = "make test"  # .ci/run calls it; from here it would never end
NOT_PART_OF_A_COPY = {".git", ".venv", ".hypothesis", "build", "dist", "runs"}  # of the top folder


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of one language, in the order of the page."""
    return re.findall(
        rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def commands(page: Path) -> list[str]:
    return [line for block in blocks(page, "bash") for line in block.splitlines() if line and line[0] != "#"]


EXAMPLES = [
    pytest.param(code, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, code in enumerate(blocks(page, "python"))
    if not code.startswith(READS_RESULTS)
]
# The first commands that a newcomer gives; those of the other pages take their time.
WITH_COMMANDS = [
    pytest.param(page, id=page.stem, marks=pytest.mark.slow)
    for page in PAGES
    if set(commands(page)) - {RUNS_THIS_TEST}
]


def test_the_readme_has_commands_and_an_example():
    assert {SETS_UP_A_COPY, RUNS_THIS_TEST} <= set(commands(ROOT / "README.md"))
    assert blocks(ROOT / "README.md", "python")


def test_every_fenced_block_is_of_a_language_that_is_executed():
    for page in PAGES:
        opened = re.findall(r"^```(\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert set(opened) <= {"bash", "python", "text", "{toctree}", "{important}", "{eval-rst}"}, page


def test_make_test_is_a_stage_of_the_ci():
    assert re.search(
        r'^stage "make test" make test$', (ROOT / ".ci/run").read_text(encoding="utf-8"), re.MULTILINE
    )


@pytest.mark.parametrize("code", EXAMPLES)
def test_python_example(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "MPLBACKEND": "Agg"}
    return subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_commands_of_a_page_run_one_after_the_other(page, tmp_path):
    for command in commands(page):
        if command not in (SETS_UP_A_COPY, RUNS_THIS_TEST):
            result = run(command, tmp_path)
            assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
            assert result.stdout, command
    for code in blocks(page, "python"):
        if code.startswith(READS_RESULTS):
            (tmp_path / "example.py").write_text(code, encoding="utf-8")
            result = run("python example.py", tmp_path)
            assert result.returncode == 0, f"{code}\n{result.stderr}"


def left_out(folder: str, names: list[str]) -> set[str]:
    """What a fresh clone would not have."""
    generated = {name for name in names if name in ("__pycache__", "_build") or name.endswith("_cache")}
    return generated | (NOT_PART_OF_A_COPY & set(names) if Path(folder) == ROOT else set())


@pytest.mark.slow
def test_make_demo_in_a_fresh_copy(tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=left_out)
    result = run(SETS_UP_A_COPY, copy)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    (folder,) = (copy / "runs").iterdir()
    assert {path.name for path in folder.iterdir()} >= {
        "data.zarr",
        "figure.png",
        "summary.json",
        "spec.toml",
    }
