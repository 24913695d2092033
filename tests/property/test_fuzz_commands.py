"""Any command line ends soon with a result or one line, and leaves a whole result or nothing."""

import json
import os
import signal
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hopfieldphase.cli import main
from hopfieldphase.runs.folder import MARKER, SUMMARY

SECONDS = 60
"""No command here takes a tenth of this on an idle core."""

TINY = ["--M", "6", "--d", "4", "--betas", "20:60:20", "--no-plot"]
COMMANDS = {
    ("sweep", "beta"): [*TINY, "--realizations", "1"],
    ("sweep", "kappa"): ["--M", "6", "--d", "4", "--beta", "30", "--realizations", "1", "--no-plot"],
    ("branches", "beta"): [*TINY],
    ("critical",): ["--M", "6", "--d", "4", "--no-plot"],
    ("info",): [],
    ("run",): [],
    ("attention", "compare"): [],
    ("explore",): [],
}
OPTIONS = [
    "--alpha", "--betas", "--beta", "--M", "--d", "--seed", "--realizations", "--clusters", "--delta",
    "--noise", "--generator", "--epsilon", "--patterns", "--start-up", "--start-down", "--solver", "--tol",
    "--attention", "--top", "--at", "--json", "--quiet", "--force", "--no-polish", "--reduced", "--help",
    "--device", "--out", "--executor", "--workers", "--kappas", "--cosine", "--degrees-of-freedom",
    "--version", "--", "-", "--é",
]  # fmt: skip
WORDS = [
    "", "0", "1", "2", "-1", "1e9", "1e-300", "1e309", "nan", "inf", "-inf", "9" * 30, "all", "mean",
    "best", "continue", "pattern:0", "pattern:7", "20:60:20", "60:20:1", "1:2", "1,2", "1,1", "é",
    "\x1b[31m", "a\nb", "clustered", "gaussian", "two_keys", "digits", "sparsemax", "topk", "softmax",
    "newton", "gradient-descent", "keys.npy", "keys.npz", "keys.csv", "keys.npz:keys", "folder",
    "study.toml", "none.toml", "bad.toml", ".", "/dev/null", "/proc/x", "x" * 300, "result",
    "result/data.zarr", "result/summary.json", "serial", "cpu",
]  # fmt: skip
# Values that ask for more work than a test has time for belong to other options.
LARGE = {"1e9", "9" * 30}
LONG = ["--M", "--d", "--realizations", "--betas", "--kappas", "--workers", "--clusters"]


@st.composite
def command_lines(draw):
    """A command with some options, known or not, at any value."""
    name = draw(st.sampled_from(list(COMMANDS)))
    words = [*name, *COMMANDS[name]]
    for _ in range(draw(st.integers(0, 3))):
        option = draw(st.one_of(st.sampled_from(OPTIONS), st.sampled_from(WORDS)))
        words.append(option)
        if draw(st.integers(0, 5)):
            value = draw(st.one_of(st.sampled_from(WORDS), st.text(max_size=5)))
            words.append("3" if option in LONG and value in LARGE else value)
    return words


@contextmanager
def limited(seconds):
    """Stop what hangs."""

    def stop(*_):
        raise TimeoutError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with some files that commands can take."""
    path = tmp_path_factory.mktemp("commands")
    np.save(path / "keys.npy", np.eye(4))
    np.savez(path / "keys.npz", keys=np.eye(4))
    (path / "keys.csv").write_text("1,0\n0,1\n")
    (path / "bad.toml").write_text("study = [")
    text = 'study = "sweep-beta"\nbetas = "20:60:20"\nrealizations = 1\n[patterns]\nM = 6\nd = 4\n'
    (path / "study.toml").write_text(text)
    (path / "folder").mkdir()
    here = Path.cwd()
    os.chdir(path)
    with pytest.raises(SystemExit):
        main(["sweep", "beta", *TINY, "--realizations", "1", "--out", "result"])
    os.chdir(here)
    return path


def results(path):
    """Folders that hold anything of a result."""
    names = {"data.zarr", MARKER, SUMMARY, ".run"}
    return {entry.parent for entry in path.rglob("*") if entry.name in names}


def check(words, path, capfd):
    capfd.readouterr()
    # The files of the folder stay; what a command may replace, its own results, it replaces as a whole.
    inputs = {file: file.read_bytes() for file in path.glob("*.*") if file.is_file()}
    with limited(SECONDS), pytest.raises(SystemExit) as stop:
        main(words)
    out, err = capfd.readouterr()
    code = stop.value.code or 0
    assert code in (0, 2, 3), (words, out, err)
    assert "Traceback" not in err, words
    lines = err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    assert len(errors) == (1 if code == 2 else 0), (words, err)
    assert all(line.isprintable() and len(line) < 1500 for line in errors), (words, err)
    if code == 2:
        assert out == ""
    if "--json" in words and code == 0 and out.startswith("{"):
        json.loads(out)
    assert {file: file.read_bytes() for file in inputs} == inputs
    assert not list(path.rglob("*.partial-*"))
    for found in results(path):
        assert (found / MARKER).exists(), (words, sorted(found.iterdir()))


@pytest.fixture
def place(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("LANG", "C.UTF-8")
    return folder


IN_FOLDER = [HealthCheck.function_scoped_fixture]


@given(words=command_lines())
@settings(max_examples=20, suppress_health_check=IN_FOLDER)
def test_some_command_lines(place, capfd, words):
    check(words, place, capfd)


@pytest.mark.slow
@given(words=command_lines())
@settings(max_examples=200, suppress_health_check=IN_FOLDER)
def test_many_command_lines(place, capfd, words):
    check(words, place, capfd)
