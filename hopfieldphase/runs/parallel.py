"""Tasks over threads, with news of each finished one in the thread that asked for them."""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from hopfieldphase.continuation.load import Tell
from hopfieldphase.kernels.threads import run_chunks

Progress = Callable[..., object]
"""Called with the number of finished tasks and that of all, in the thread that asked for them.

Where there is more to say, like the loss of a training, it comes as a third argument, a short text.
"""

Result = TypeVar("Result")

_NEWS_AFTER = 0.5  # seconds: more often than that, parts of a task are not passed on


def run_tasks(
    task: Callable[[int], Result], count: int, threads: int | None, progress: Progress | None
) -> list[Result]:
    """Run all tasks over threads while the calling thread waits, so that Ctrl-C reaches it at once.

    Parameters
    ----------
    task : callable
        Gets the number of the task; should spend its time in compiled code that releases the GIL.
    count : int
        Number of tasks.
    threads : int, optional
        See `kernels.threads.thread_count`.
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    list
        The results in the order of the tasks. The first error is raised, and no further task begins then.
    """
    return run_parts(lambda i, _: task(i), count, threads, progress)


def run_parts(
    task: Callable[[int, Tell], Result],
    count: int,
    threads: int | None,
    progress: Progress | None,
) -> list[Result]:
    """`run_tasks` for long tasks, which tell how far they are.

    Each is called as ``task(i, tell)``, and calls ``tell(part)`` with the part of its work that is done, from
    0 to 1; `progress` gets the sum of these parts in the place of a number of tasks.
    """
    results: dict[int, Result] = {}
    news: SimpleQueue[BaseException | tuple[int, float]] = SimpleQueue()
    stopped = threading.Event()

    def chunk(first: int, stop: int) -> None:
        for i in range(first, stop):
            if stopped.is_set():
                return
            results[i] = task(i, lambda part, i=i: news.put((i, part)))
            news.put((i, 2.0))

    def work() -> None:
        try:
            run_chunks(chunk, count, threads)
        except BaseException as error:  # raised in the calling thread
            news.put(error)

    threading.Thread(target=work, name="hopfieldphase-tasks", daemon=True).start()
    try:
        done, parts, last = 0, dict[int, float](), time.monotonic()
        while done < count:
            item = news.get()
            if isinstance(item, BaseException):
                raise item
            i, part = item
            finished = part > 1
            done += finished
            parts[i] = 0.0 if finished else max(part, parts.get(i, 0.0))
            now = time.monotonic()
            if progress is not None and (finished or now - last > _NEWS_AFTER):
                last = now
                progress(done + sum(parts.values()), count)
    finally:
        stopped.set()
    return [results[i] for i in range(count)]
