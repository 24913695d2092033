"""Runs that are killed at random moments end with the same files as one that nobody disturbed.

`HOPFIELDPHASE_KILLS` says how many kills each executor goes through (`make soak`: 25).
"""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from hopfieldphase.runs.folder import DATA, RUN, read_holder
from hopfieldphase.runs.grid import compute_grid
from hopfieldphase.runs.grid_spec import GridSpec

pytestmark = pytest.mark.slow

KILLS = int(os.environ.get("HOPFIELDPHASE_KILLS", "5"))
PATIENCE = 300  # seconds, on a busy machine with an empty cache of kernels
TASKS = 48

SPEC = GridSpec(
    base={"betas": "20:400:2", "patterns": {"M": 60, "d": 32}}, grid={"alpha": [1.0, 1.5]}, realizations=24
)
WAYS = {
    "serial": ("--executor", "serial"),
    "processes": ("--executor", "processes", "--workers", "2"),
    "dask": ("--executor", "dask", "--workers", "2"),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The store of an undisturbed run in this process."""
    path = tmp_path_factory.mktemp("whole")
    compute_grid(SPEC, path)
    return content(path)


def content(path: Path) -> dict[str, bytes]:
    """Every file of the store; the revision of a checkout in which somebody works may change meanwhile."""
    files = {
        str(file.relative_to(path)): file.read_bytes() for file in (path / DATA).rglob("*") if file.is_file()
    }
    metadata = json.loads(files.pop(f"{DATA}/zarr.json"))
    del metadata["attributes"]["git_revision"]
    return files | {"metadata": json.dumps(metadata).encode()}


def ready() -> None:
    """A runner in the background ignores Ctrl-C, and its children would inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(folder: Path, *options: str, before: Callable[[], None] = ready) -> subprocess.Popen[str]:
    """The command in a session of its own, so that it can be killed with all that it has started."""
    (folder / "study.toml").write_text(SPEC.to_toml())
    command = [sys.executable, "-m", "hopfieldphase", "run", "study.toml", "--out", "run", "--no-plot"]
    return subprocess.Popen(
        [*command, *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, preexec_fn=before,  # noqa: PLW1509
    )  # fmt: skip


def done(folder: Path) -> int:
    """Number of finished batches, each of one sweep."""
    return len(list((folder / "run" / RUN / "done").glob("*.json")))


def holds(process: subprocess.Popen[str], folder: Path) -> bool:
    """Whether the run has begun: before that, Python itself may be interrupted in the middle of its start."""
    holder = read_holder(folder / "run")
    return holder is not None and holder.pid == process.pid


def wait(process: subprocess.Popen[str], condition: Callable[[], bool]) -> bool:
    """Wait for a moment of a run; False where it ends before."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if process.poll() is not None:
            return False
        assert time.monotonic() < deadline, "the run does not get on"
        time.sleep(0.005)
    return True


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors, errors
    return process.returncode, errors


def finished(process: subprocess.Popen[str], folder: Path) -> dict[str, bytes]:
    """The store of a run that nobody disturbs any more."""
    code, errors = finish(process)
    assert code == 0, errors
    return content(folder / "run")


@contextmanager
def no_orphans(process: subprocess.Popen[str]) -> Iterator[list[psutil.Process]]:
    """What a run has started ends with it, also where it is killed."""
    family = psutil.Process(process.pid).children(recursive=True)
    yield family
    _, alive = psutil.wait_procs(family, timeout=30)
    assert not alive


def check_goodbye(code: int, errors: str, folder: Path) -> None:
    """What an interrupted command says is true, also where Python itself was ending when it came."""
    complete = (folder / "run" / "provenance.json").exists()
    line = errors.splitlines()[-1]
    if line.startswith("wrote run;"):
        assert code in (-signal.SIGINT, -signal.SIGTERM)
        assert complete
        return
    assert code == 130
    assert line.startswith("interrupted; ")
    assert complete == line.endswith("is complete")


@pytest.mark.parametrize("way", WAYS)
def test_killed_again_and_again(way, whole, tmp_path):
    chance = random.Random(way)
    folder, kills = tmp_path / "0", 0
    folder.mkdir()
    while kills < KILLS:
        process = start(folder, *WAYS[way])
        # At any moment: while it plans, in the middle of a batch, close to the end.
        goal = min(done(folder) + chance.choice((0, 1, 1, 2, 4, 8)), TASKS)
        begun = wait(process, lambda process=process, folder=folder: holds(process, folder))
        if not begun or not wait(process, lambda goal=goal, folder=folder: done(folder) >= goal):
            assert finished(process, folder) == whole
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            continue
        time.sleep(chance.random() * (1.0 if goal == 0 else 0.05))
        kind = (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL, signal.SIGINT)[kills % 4]
        kills += 1
        with no_orphans(process):
            process.send_signal(kind)
            code, errors = finish(process)
        if kind != signal.SIGKILL and code != 0:
            check_goodbye(code, errors, folder)
    assert finished(start(folder, *WAYS[way]), folder) == whole
    assert not (folder / "run" / RUN).exists()
    record = json.loads((folder / "run" / "provenance.json").read_text())
    assert sum(session["sweeps"] for session in record["sessions"]) == TASKS


@pytest.mark.parametrize("way", ["processes", "dask"])
def test_workers_that_are_killed_lose_nothing(way, whole, tmp_path):
    chance = random.Random(way)
    process = start(tmp_path, *WAYS[way])
    for goal in sorted(chance.sample(range(1, TASKS - 8), max(KILLS // 3, 1))):
        if not wait(process, lambda goal=goal: done(tmp_path) >= goal):
            break
        workers = [
            child
            for child in psutil.Process(process.pid).children(recursive=True)
            if "spawn_main" in " ".join(child.cmdline())
        ]
        assert workers
        chance.choice(workers).kill()
    assert finished(process, tmp_path) == whole


def test_a_second_run_is_refused_and_info_follows_the_first(whole, tmp_path):
    process = start(tmp_path, *WAYS["processes"])
    assert wait(process, lambda: done(tmp_path) >= 2)
    code, errors = finish(start(tmp_path, *WAYS["serial"]))
    assert (code, errors.count("\n")) == (2, 1)
    assert f"being written by process {process.pid} on" in errors
    assert informed(tmp_path)["state"] in ("running", "finished")
    with no_orphans(process):
        process.kill()
        finish(process)
    found = informed(tmp_path)
    assert found["state"] in ("interrupted", "finished")
    assert found["tasks"] == TASKS
    assert finished(start(tmp_path, *WAYS["serial"]), tmp_path) == whole


def informed(folder: Path) -> dict[str, object]:
    words = [sys.executable, "-m", "hopfieldphase", "info", "run", "--json"]
    answer = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    found = json.loads(answer.stdout)
    return found if "state" in found else {"state": "finished", "tasks": found["summary"]["tasks"]}


def test_a_disk_that_is_full(whole, tmp_path):
    """No file may grow beyond a limit, which the system reports as it reports a full disk."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))

    (tmp_path / "study.toml").write_text(SPEC.to_toml())
    process = start(tmp_path, *WAYS["serial"])
    assert wait(process, lambda: done(tmp_path) >= 3)
    process.kill()
    finish(process)
    before = done(tmp_path)
    code, errors = finish(start(tmp_path, *WAYS["processes"], before=limit))
    assert code == 2
    assert "cannot write" in errors.splitlines()[-1]
    assert done(tmp_path) >= before
    assert finished(start(tmp_path, *WAYS["serial"]), tmp_path) == whole


def test_a_scheduler_that_goes_away(whole, tmp_path):
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--port", "0"]
    scheduler = subprocess.Popen([*dask, "--scheduler-file", str(file)], **quiet)
    worker = None
    try:
        assert wait(scheduler, file.exists)
        address = json.loads(file.read_text())["address"]
        words = [
            sys.executable,
            "-m",
            "distributed.cli.dask_worker",
            address,
            "--nthreads",
            "1",
            "--no-dashboard",
        ]
        worker = subprocess.Popen([*words, "--death-timeout", "5"], **quiet)
        process = start(tmp_path, "--scheduler", address)
        assert wait(process, lambda: done(tmp_path) >= 3)
        scheduler.kill()
        code, errors = finish(process)
        assert code == 2
        assert f"the Dask scheduler {address} is gone: what was finished is kept" in errors.splitlines()[-1]
        code, errors = finish(start(tmp_path, "--scheduler", address))
        assert code == 2
        assert "no Dask scheduler answers" in errors.splitlines()[-1]
        assert finished(start(tmp_path, *WAYS["serial"]), tmp_path) == whole
    finally:
        for started in (scheduler, worker):
            if started is not None:
                started.kill()
                started.wait()
