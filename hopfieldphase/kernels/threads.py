"""Contiguous chunks of a batch over plain threads: the one place where work is spread over cores."""

import os
import threading
from collections.abc import Callable
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
        return _positive(text, _VARIABLE)
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
    further chunk is started, the running ones finish, and the first error is raised.

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
    workers = min(thread_count(threads), max(n_items // least, 1))
    if workers == 1 or getattr(_local, "inside", False):
        if n_items:
            function(0, n_items)
        return
    n_chunks = min(workers * _CHUNKS_PER_THREAD, n_items // least)
    batch = _Batch(function, n_items, n_chunks)
    _pool.help(batch, workers - 1)
    batch.work()
    batch.finish()


class _Batch:
    """One call of `run_chunks`: hands out chunks, counts the running ones, keeps the first error."""

    def __init__(self, function: Callable[[int, int], object], n_items: int, n_chunks: int) -> None:
        self._function = function
        self._bounds = [n_items * i // n_chunks for i in range(n_chunks + 1)]
        self._next = 0
        self._running = 0
        self._error: BaseException | None = None
        self._changed = threading.Condition(threading.Lock())

    def work(self) -> None:
        """Take chunks until none is left."""
        outer = getattr(_local, "inside", False)
        _local.inside = True
        try:
            while True:
                with self._changed:
                    i = self._next
                    if i >= len(self._bounds) - 1:
                        return
                    self._next = i + 1
                    self._running += 1
                error = None
                try:
                    self._function(self._bounds[i], self._bounds[i + 1])
                except BaseException as caught:  # carried to the calling thread, raised by finish()
                    error = caught
                with self._changed:
                    self._running -= 1
                    if error is not None:
                        self._next = len(self._bounds)
                        self._error = self._error or error
                    if not self._running:
                        self._changed.notify_all()
        finally:
            _local.inside = outer

    def finish(self) -> None:
        """Wait for the chunks that other threads still run; raise the first error."""
        with self._changed:
            try:
                while self._running:
                    self._changed.wait()
            finally:
                self._next = len(self._bounds)
            if self._error is not None:
                raise self._error


class _Pool:
    """Threads that wait for batches; they are daemons, so that they never hold up the exit."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[_Batch] = SimpleQueue()
        self._size = 0
        self._lock = threading.Lock()

    def help(self, batch: _Batch, n_helpers: int) -> None:
        if self._size < n_helpers:
            with self._lock:
                while self._size < n_helpers:
                    threading.Thread(target=self._serve, name="hopfieldphase", daemon=True).start()
                    self._size += 1
        for _ in range(n_helpers):
            self._queue.put(batch)

    def _serve(self) -> None:
        while True:
            self._queue.get().work()


def _positive(value: object, name: str) -> int:
    try:
        number = int(value) if isinstance(value, str) else index(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = 0
    if isinstance(value, bool) or number < 1:
        raise InputError(f"{name} = {value!r} is not a number of threads: give an integer of at least 1")
    return number


def _forget_pool() -> None:
    """In a forked child none of the threads exists."""
    global _pool
    _pool = _Pool()
    _local.inside = False


_local = threading.local()
_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
