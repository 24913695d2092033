"""The command as a process of its own: signals, pipes, limits, imports."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow  # each starts processes anew

COMMAND = (sys.executable, "-m", "hopfieldphase")
SMALL: Sequence[str] = ("--M", "10", "--d", "8", "--realizations", "2", "--betas", "20:60:20")


def environment(**changes: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LC_ALL", "LC_CTYPE", "LANG", "NO_COLOR")
    }
    return kept | {"LANG": "C.UTF-8"} | changes


def execute(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"env": environment()} | options
    return subprocess.run(
        [*COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=120, **options
    )


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the finished result x."""
    folder = tmp_path_factory.mktemp("result")
    done = execute(folder, "sweep", "beta", *SMALL, "--out", "x", "--no-plot")
    assert done.returncode == 0, done.stderr
    return folder


def test_nothing_heavy_is_imported_before_a_command_needs_it():
    code = (
        "import sys, json, hopfieldphase.cli;"
        "heavy = ('numpy', 'numba', 'xarray', 'scipy', 'matplotlib', 'pydantic', 'zarr', 'rich.progress');"
        "print(json.dumps([name for name in heavy if name in sys.modules]))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(answer.stdout) == []


def test_exit_codes_reach_the_shell(tmp_path):
    good, bad = execute(tmp_path, "--version"), execute(tmp_path, "sweep", "beta", "--alpha", "0")
    assert (good.returncode, good.stderr) == (0, "")
    assert (bad.returncode, bad.stdout, len(bad.stderr.splitlines())) == (2, "", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        (("info", "x"), {0}),
        (("sweep", "beta", *SMALL, "--out", "x", "--no-plot"), {0}),
        (("--help",), {0, 1}),  # written by typer, which leaves with 1
    ],
)
def test_a_reader_that_leaves_is_no_error(result, words, codes):
    """`| head -1`: the pipe is closed before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=result,
            stdout=closed,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
            text=True,
        )
    assert done.returncode in codes
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr
    assert "Exception" not in done.stderr


def test_closed_streams_are_no_error(result):
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m hopfieldphase info x >&- 2>&-"],
        cwd=result,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0


def test_head_gets_its_line(result):
    line = f"{sys.executable} -m hopfieldphase info x 2>&1 | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", line], cwd=result, capture_output=True, text=True, env=environment(), check=True
    )
    assert done.stdout.splitlines() == ["x: sweep in beta, up and down", "0"]


@pytest.mark.parametrize(
    "changes",
    [{"LANG": "C"}, {"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
    ids=["LANG=C", "LC_ALL=C", "ASCII"],
)
def test_the_C_locale_works(result, changes):
    done = execute(result, "info", "x", env=environment(**changes))
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.isascii()
    bad = execute(result, "sweep", "beta", "--patterns", "schlüssel.npy", env=environment(**changes))
    assert bad.returncode == 2
    assert len(bad.stderr.splitlines()) == 1


def test_a_full_output_device_is_one_line(result):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "info", "x"],
            cwd=result,
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(),
            check=False,
            text=True,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["error: No space left on device"]


def test_a_disk_that_fills_up_is_one_line_and_leaves_nothing(tmp_path):
    """The figure does not fit: a limit on the size of a file acts like a full disk."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))

    done = execute(tmp_path, "sweep", "beta", *SMALL, "--out", "a/x", preexec_fn=limit)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        "error: cannot write to a/x: File too large; choose another folder with --out"
    )
    # Finished realizations are kept, hidden; of the result there is nothing.
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and not path.name.startswith(".")]


def interrupted(tmp_path, seconds):
    """Exit code, stdout and stderr of a sweep that meets Ctrl-C so long after its first line."""
    process = subprocess.Popen(
        [*COMMAND, "sweep", "beta", "--alpha", "1", "--realizations", "100000", "--out", "a/x"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
        # a runner in the background ignores Ctrl-C, and its children would inherit that
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("sweep beta:")
        assert (tmp_path / "a/x").is_dir()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, out, err


def test_control_c_leaves_with_130_and_nothing_half_written(tmp_path):
    code, out, err = interrupted(tmp_path, 0)
    assert code == 130
    assert out == ""
    assert err.splitlines()[-1] == "interrupted; no result was written"
    assert "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", np.random.default_rng(7).uniform(0, 1, 16).round(3).tolist())
def test_control_c_is_taken_while_modules_and_kernels_are_loaded(tmp_path, seconds):
    code, _, err = interrupted(tmp_path, seconds)
    assert code == 130
    assert err.splitlines()[-1].startswith("interrupted; ")
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_two_commands_on_one_folder(tmp_path):
    """The second is refused with the process number of the first, which goes on undisturbed."""
    first = subprocess.Popen(
        [*COMMAND, "sweep", "beta", "--alpha", "1", "--realizations", "100000", "--out", "x"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(),
    )  # fmt: skip
    try:
        assert first.stderr is not None
        first.stderr.readline()
        second = execute(tmp_path, "sweep", "beta", *SMALL, "--out", "x")
        assert second.returncode == 2
        (line,) = second.stderr.splitlines()
        assert f"x is being written by process {first.pid} on " in line
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    # Killed, it holds nothing any more.
    assert execute(tmp_path, "sweep", "beta", *SMALL, "--out", "x", "--no-plot").returncode == 0
    assert {path.name for path in (tmp_path / "x").iterdir()} == {
        "data.zarr", "spec.toml", "summary.json", "provenance.json"
    }  # fmt: skip
