"""Files that are there whole or not at all."""

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from hopfieldphase.core.errors import HopfieldPhaseError


class OutputError(HopfieldPhaseError, OSError):
    """A file or folder cannot be written: one line that says which and why."""


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a free name beside `path` to write a file or folder to, which takes its place at the end.

    The content reaches the disk before the name does, so that a process killed or a machine stopped at any
    moment leaves the old content or the new one under `path`, never a part. (A folder is replaced in two
    steps: killed between them, nothing is there and the old one stands beside it as `.NAME.old-…`.) If the
    block raises, what it wrote is removed and `path` stays as it was.

    Raises
    ------
    OutputError
        If the file system refuses: full, read-only, no such folder.
    """
    partial = path.with_name(f".{path.name}.partial-{uuid.uuid4().hex[:12]}")
    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, f"{path.parent} is not a folder")
        yield partial
        for part in [partial, *partial.rglob("*")]:
            _flush(part)
        _rename(partial, path)
        _flush(path.parent)
    except OSError as error:
        if isinstance(error, HopfieldPhaseError):
            raise
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        _remove(partial)


def _rename(partial: Path, path: Path) -> None:
    """Move the new content to its place; a folder already there is moved aside first and then removed."""
    if not path.is_dir() or path.is_symlink():
        if path.is_symlink() and partial.is_dir():  # no folder can take the place of a link
            path.unlink()
        partial.replace(path)
        return
    aside = partial.with_name(partial.name.replace(".partial-", ".old-"))
    path.rename(aside)
    try:
        partial.rename(path)
    except OSError:
        aside.rename(path)
        raise
    _remove(aside)


def _flush(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()
