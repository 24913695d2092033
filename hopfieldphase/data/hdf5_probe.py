"""Open HDF5 files ahead of the readers, in another process: damaged ones make the library crash or never end.

Run as a program it answers every line on stdin, a path in JSON, with one line, once the file has been read.
"""

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

SECONDS = 60.0
"""From then on a file counts as one that HDF5 never comes to an end with."""

READ = 2**26
"""Bytes up to which the numbers of a dataset are read as well."""

_lock = threading.Lock()
_running: dict[int, "subprocess.Popen[str]"] = {}


def survives(path: Path) -> bool:
    """Whether HDF5 comes to an end with a file, be it with an error, and does not crash."""
    with _lock:
        child = _child()
        assert child.stdin is not None
        assert child.stdout is not None
        timer = threading.Timer(SECONDS, child.kill)
        timer.start()
        try:
            child.stdin.write(json.dumps(str(path.absolute())) + "\n")
            child.stdin.flush()
            answered = bool(child.stdout.readline())
        except OSError:
            answered = False
        finally:
            timer.cancel()
        if not answered:
            _end()
        return answered


def _child() -> "subprocess.Popen[str]":
    """The other process, one for each of this package; it ends when this one does."""
    child = _running.get(os.getpid())
    if child is None or child.poll() is not None:
        _running.clear()
        child = subprocess.Popen(
            [sys.executable, "-P", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        _running[os.getpid()] = child
    return child


@atexit.register
def _end() -> None:
    child = _running.pop(os.getpid(), None)
    if child is not None:
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                pipe.close()
        child.wait()


def _read(path: str) -> None:
    """Read what a file holds, as far as readers do it at once."""
    import h5py  # noqa: PLC0415  # in the other process alone

    def visit(_: str, found: "h5py.Group | h5py.Dataset") -> None:
        if isinstance(found, h5py.Dataset):
            for dimension in found.dims:
                len(dimension)
            if found.nbytes <= READ and not (found.external or found.is_virtual):
                found[()]
        for name in found.attrs:
            found.attrs[name]

    with h5py.File(path, "r") as file:
        visit("/", file)
        file.visititems(visit)


def main() -> None:
    """Answer every path on stdin."""
    for line in sys.stdin:
        with contextlib.suppress(Exception):  # what the file is worth the readers tell
            _read(json.loads(line))
        sys.stdout.write("read\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
