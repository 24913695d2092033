"""The folder of one result: one writer at a time, and whole or not there at all.

Everything is first written to a hidden folder inside and then moved into place; `provenance.json`
comes last and marks the result as complete. A process that is killed leaves at most hidden files,
which the next one clears away.
"""

import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hopfieldphase import __version__
from hopfieldphase.core.errors import HopfieldPhaseError
from hopfieldphase.data.files import OutputError

MARKER = "provenance.json"
"""Written last: a folder with this file holds a complete result."""

DATA, FIGURE, SPEC, SUMMARY = "data.zarr", "figure.png", "spec.toml", "summary.json"

RESULT_NAMES = (DATA, FIGURE, "figure.svg", SPEC, SUMMARY, MARKER)
"""Every name that a result may hold."""

RUN = ".run"
"""What a run that fills its store bit by bit has finished (`runs.ledger`); gone once the result is whole."""

_LOCK, _HOLDER, _JOURNAL, _STAGING = ".lock", ".holder.json", ".writing", ".partial-"


@dataclass(frozen=True)
class Finished:
    """What the marker of a complete result says about it."""

    fingerprint: str
    version: str
    files: tuple[str, ...]


def read_marker(path: Path) -> Finished | None:
    """Return what a complete result says about itself, or None where there is no complete result."""
    try:
        content = json.loads((path / MARKER).read_text(encoding="utf-8"))
        return Finished(content["fingerprint"], content["package_version"], tuple(content["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_summary(path: Path, fingerprint: str, *, with_figure: bool) -> dict[str, Any] | None:
    """Return the summary of a complete result of this spec and this version, or None."""
    finished = read_marker(path)
    if finished is None or (finished.fingerprint, finished.version) != (fingerprint, __version__):
        return None
    if with_figure and FIGURE not in finished.files:
        return None
    try:
        return json.loads((path / SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def check_free(path: Path, fingerprint: str) -> None:
    """Raise `OutputError` where a folder holds what a result with this fingerprint must not replace.

    An older result of the same spec may be replaced, and what a killed process left behind.
    """
    finished = read_marker(path)
    if finished is None and (path / RUN).exists():
        if _begun(path) not in (None, fingerprint):
            raise OutputError(
                f"{path} holds an unfinished run of another spec: choose another folder with --out, "
                "or replace it with --force"
            )
        return
    if finished is not None and finished.fingerprint != fingerprint:
        raise OutputError(
            f"{path} holds the result of another spec: choose another folder with --out, "
            "or replace it with --force"
        )
    if finished is None and not (path / _JOURNAL).exists():
        foreign = [name for name in RESULT_NAMES if (path / name).exists()]
        if foreign:
            raise OutputError(
                f"{path} has a {foreign[0]} that is not part of a complete result: choose another folder "
                "with --out, or replace it with --force"
            )


def _begun(path: Path) -> str | None:
    """Fingerprint of the spec whose run is under way in a folder; None where that cannot be told."""
    try:
        return json.loads((path / RUN / "run.json").read_text(encoding="utf-8"))["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True)
class Holder:
    """The process that writes, or wrote last, into a folder; `alive` is None where that cannot be told."""

    pid: int
    host: str
    alive: bool | None


def read_holder(path: Path) -> Holder | None:
    """Who holds a folder, or died holding it; None where nobody does."""
    try:
        content = json.loads((path / _HOLDER).read_text(encoding="utf-8"))
        pid, host = int(content["pid"]), str(content["host"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Holder(pid, host, _is_alive(pid) if host == socket.gethostname() else None)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of somebody else
        return True
    return True


@contextmanager
def claim_folder(path: Path) -> Iterator[None]:
    """Hold an output folder against every other process, for as long as the block runs.

    It is created with its parents where missing, and removed again if nothing was put into it.

    Raises
    ------
    OutputError
        If the folder cannot be written, or another process holds it; the message names its process
        number and host. The lock of a process that died counts for nothing.
    """
    with _reported(path):
        missing = [part for part in (path, *path.parents) if not part.exists()]
    try:
        with _reported(path):
            path.mkdir(parents=True, exist_ok=True)
        with _locked(path):
            for leftover in path.glob(_STAGING + "*"):
                shutil.rmtree(leftover, ignore_errors=True)
            yield
    finally:
        for part in missing:
            with suppress(OSError):  # not empty: something was put into it
                part.rmdir()


@contextmanager
def writing(path: Path, marker: dict[str, Any], in_place: tuple[str, ...] = ()) -> Iterator[Path]:
    """Give a hidden folder to write a result into; put it in place at the end, or remove it.

    Parameters
    ----------
    path : Path
        A folder that this process holds (`claim_folder`); an earlier result in it is replaced.
    marker : dict
        Content of `provenance.json`; has `fingerprint` and `package_version`, and gets `files`.
    in_place : tuple of str
        Names of the result that stand in the folder already, and stay.

    Raises
    ------
    OutputError
        If the file system refuses; nothing of the new result is left then, and the old one stays.
    """
    with _reported(path):
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=path))
        try:
            yield staging
            _put_in_place(staging, path, marker, in_place)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _put_in_place(staging: Path, path: Path, marker: dict[str, Any], in_place: tuple[str, ...]) -> None:
    moved = [name for name in RESULT_NAMES if (staging / name).exists()] + [MARKER]
    names = [*in_place, *moved]
    text = json.dumps(marker | {"files": names}, indent=2)
    (staging / MARKER).write_text(text + "\n", encoding="utf-8")
    journal = path / _JOURNAL
    journal.touch()
    for name in reversed(RESULT_NAMES):  # the marker first: from here on there is no complete result
        if name not in in_place:
            _remove(path / name)
    for name in moved:
        (staging / name).replace(path / name)
    journal.unlink()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Turn an error of the file system into one line that names the folder."""
    try:
        yield
    except OSError as error:
        cause = error.__cause__ if isinstance(error, HopfieldPhaseError) else error
        if not isinstance(cause, OSError):
            raise
        reason = cause.strerror or str(cause)
        raise OutputError(f"cannot write to {path}: {reason}; choose another folder with --out") from cause


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock, holder = FileLock(path / _LOCK, timeout=0), path / _HOLDER
    with _reported(path):
        try:
            lock.acquire()
        except Timeout:
            raise OutputError(
                f"{path} is being written by {_name(holder)}: wait for it to finish, "
                "or choose another folder with --out"
            ) from None
    try:
        me = {"pid": os.getpid(), "host": socket.gethostname()}
        with _reported(path):
            holder.write_text(json.dumps(me), encoding="utf-8")
        yield
    finally:
        for file in (holder, path / _LOCK):
            with suppress(OSError):
                file.unlink()
        lock.release()


def _name(holder: Path) -> str:
    try:
        content = json.loads(holder.read_text(encoding="utf-8"))
        return f"process {content['pid']} on {content['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
