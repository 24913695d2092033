"""Finished parts of a long study, kept in its folder until the result is whole."""

import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from hopfieldphase import __version__
from hopfieldphase.continuation.load import Tell
from hopfieldphase.data.files import replacing
from hopfieldphase.runs.parallel import Progress, run_parts

Part = NDArray[Any]

_KEY = "made_by"


class Checkpoint:
    """A hidden file with the arrays that tasks have given so far, by the number of the task.

    Parameters
    ----------
    folder : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    fingerprint : str
        Of the spec. What another spec, or another version of this package or of NumPy, has left is not used.
    every : float
        Seconds between two writings.
    """

    def __init__(self, folder: Path, fingerprint: str, every: float = 2.0) -> None:
        self._file = folder / f".checkpoint-{fingerprint[:16]}.npz"
        self._key = f"{fingerprint} hopfieldphase {__version__} numpy {np.__version__}"
        self._every, self._written = every, time.monotonic()
        self._parts = self._read()
        self._saved = len(self._parts)

    @property
    def parts(self) -> dict[int, Part]:
        """Arrays of the finished tasks, by number."""
        return dict(self._parts)

    def add(self, parts: dict[int, Part]) -> None:
        """Take finished parts, and write them all when the last writing is old enough."""
        self._parts.update(parts)
        if time.monotonic() - self._written >= self._every:
            self.save()

    def save(self) -> None:
        """Write what is finished; a process that is killed meanwhile leaves the file as it was."""
        if len(self._parts) == self._saved:
            return
        arrays: dict[str, Any] = {str(number): part for number, part in self._parts.items()}
        with replacing(self._file) as partial, partial.open("wb") as stream:
            np.savez(stream, **{_KEY: np.array(self._key)}, **arrays)
        self._written, self._saved = time.monotonic(), len(self._parts)

    def remove(self) -> None:
        """Remove the file: the result is whole."""
        self._file.unlink(missing_ok=True)

    def _read(self) -> dict[int, Part]:
        try:
            with self._file.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
                if str(stored[_KEY]) == self._key:
                    return {int(name): stored[name] for name in stored.files if name != _KEY}
        except (OSError, ValueError, KeyError, RuntimeError, BadZipFile, zlib.error):
            pass  # none, or damaged: everything is computed anew
        return {}


def run_kept(
    task: Callable[[int, Tell], Part],
    count: int,
    threads: int | None,
    progress: Progress | None,
    checkpoint: Checkpoint | None,
) -> list[Part]:
    """Run the tasks that a checkpoint does not have yet; keep those that finish, also when interrupted.

    Parameters
    ----------
    task : callable
        As for `runs.parallel.run_parts`; its result depends on its number alone.
    count, threads, progress
        As for `runs.parallel.run_parts`; parts that were kept count as done.
    checkpoint : Checkpoint, optional

    Returns
    -------
    list of ndarray
        In the order of the tasks.
    """
    kept = {} if checkpoint is None else checkpoint.parts
    missing = [i for i in range(count) if i not in kept]
    fresh: dict[int, Part] = {}

    def one(place: int, tell: Tell) -> None:
        fresh[missing[place]] = task(missing[place], tell)

    def news(done: float, _: int) -> None:
        if checkpoint is not None:
            checkpoint.add(dict(fresh))
        if progress is not None:
            progress(len(kept) + done, count)

    try:
        run_parts(one, len(missing), threads, news)
    finally:
        if checkpoint is not None:
            checkpoint.add(dict(fresh))
            checkpoint.save()
    parts = kept | fresh
    return [parts[i] for i in range(count)]
