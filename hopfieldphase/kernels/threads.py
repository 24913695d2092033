"""Contiguous chunks of a batch over plain threads: the one place where work is spread over cores."""

import os
import threading
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from operator import index
from queue import SimpleQueue

from hopfieldphase.core.errors import InputError

_VARIABLE = "HOPFIELDPHASE_THREADS"
_CHUNKS_PER_THREAD = 4  # so that one slow chunk, or a busy core, does not keep the others waiting


def thread_count(threads: int | None = None) -> int:
    """Return how many threads a batch may use.

    Parameters
    ----------
    threads : int, optional
        At least 1; more than there are cores is allowed. None reads the environment variable
        HOPFIELDPHASE_THREADS, and without it takes every core that this process may run on.

    Raises
    ------
    InputError
        If the number (or the variable) is not a positive integer.
    """
    if threads is not None:
        return _positive(threads, "threads")
    text = os.environ.get(_VARIABLE, "").strip()
    if text:
        return _positive(int(text) if text.isdecimal() else text, _VARIABLE)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_chunks(
    function: Callable[[int, int], object],
    n_items: int,
    threads: int | None = None,
    *,
    least: int = 1,
) -> None:
    """Call ``function(start, stop)`` on contiguous chunks that together cover ``range(n_items)``.

    The calling thread works too; the others come from a pool that lives as long as the process.
    A call from inside a chunk runs serially, so that nested batches neither wait for each other
    nor crowd the cores. A forked child starts with an empty pool. After an error, or Ctrl-C, no
    further chunk is started, the running ones finish, and the error is raised; a second Ctrl-C
    does not wait for them.

    Parameters
    ----------
    function : callable
        Gets ``start < stop``; should spend its time in compiled code that releases the GIL.
    n_items : int
        Length of the batch; 0 calls nothing.
    threads : int, optional
        See `thread_count`.
    least : int
        Smallest number of items worth a chunk of its own: short batches stay in the calling thread.

    Raises
    ------
    InputError
        If `threads`, or the environment variable, is not a positive integer.
    """
    n_chunks = max(n_items // least, 1)
    n_threads = min(thread_count(threads), n_chunks)
    if n_threads == 1 or getattr(_local, "inside", False):
        if n_items:
            function(0, n_items)
        return
    batch = _Batch(function, n_items, min(n_threads * _CHUNKS_PER_THREAD, n_chunks))
    _pool.help(batch, n_threads - 1)
    try:
        batch.work()
    finally:
        batch.close()
    if batch.error is not None:
        raise batch.error


class _Batch:
    """One call of `run_chunks`: its chunks, how many threads help, and the first error of theirs."""

    def __init__(self, function: Callable[[int, int], object], n_items: int, n_chunks: int) -> None:
        bounds = [n_items * i // n_chunks for i in range(n_chunks + 1)]
        self.error: BaseException | None = None
        self._function = function
        self._chunks = deque(pairwise(bounds))
        self._helpers = 0
        self._changed = threading.Condition()

    def work(self) -> None:
        """Take chunks until none is left."""
        _local.inside = True
        try:
            while True:
                try:
                    start, stop = self._chunks.popleft()
                except IndexError:
                    return
                self._function(start, stop)
        finally:
            _local.inside = False

    def help(self) -> None:
        """Work in a thread of the pool, and leave an error to the calling thread."""
        with self._changed:
            self._helpers += 1
        try:
            self.work()
        except BaseException as error:  # whatever it is, it belongs to the caller of run_chunks
            self._chunks.clear()
            self.error = self.error or error
        finally:
            with self._changed:
                self._helpers -= 1
                self._changed.notify_all()

    def close(self) -> None:
        """Start no further chunk, and wait for those that run."""
        self._chunks.clear()
        with self._changed:
            while self._helpers:
                self._changed.wait()


class _Pool:
    """Threads that wait for batches; they are daemons, so that they never hold up the exit."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Batch] = SimpleQueue()
        self._lock = threading.Lock()
        self._size = 0

    def help(self, batch: _Batch, n_threads: int) -> None:
        """Ask for so many threads; those that come late find nothing left to do."""
        with self._lock:
            for _ in range(self._size, n_threads):
                threading.Thread(target=self._serve, name="hopfieldphase", daemon=True).start()
                self._size += 1
        for _ in range(n_threads):
            self._queue.put(batch)

    def _serve(self) -> None:
        while True:
            self._queue.get().help()


def _positive(value: object, name: str) -> int:
    try:
        number = index(value)  # pyright: ignore[reportArgumentType]
    except TypeError:
        number = 0
    if isinstance(value, bool) or number < 1:
        raise InputError(f"{name} = {value!r} is not a number of threads: give an integer of at least 1")
    return number


def _forget_pool() -> None:
    """Start anew in a forked child, where none of the threads exists."""
    global _pool  # noqa: PLW0603
    _pool = _Pool()
    _local.inside = False


_local = threading.local()
_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
