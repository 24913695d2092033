"""Tasks over threads, with news of each finished one in the thread that asked for them."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

from hopfieldphase.kernels.threads import run_chunks

Progress = Callable[..., object]
"""Called with the number of finished tasks and that of all, in the thread that asked for them.

Where there is more to say, like the loss of a training, it comes as a third argument, a short text.
"""

Result = TypeVar("Result")


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
    results: dict[int, Result] = {}
    news: SimpleQueue[BaseException | None] = SimpleQueue()
    stopped = threading.Event()

    def chunk(first: int, stop: int) -> None:
        for i in range(first, stop):
            if stopped.is_set():
                return
            results[i] = task(i)
            news.put(None)

    def work() -> None:
        try:
            run_chunks(chunk, count, threads)
        except BaseException as error:  # raised in the calling thread
            news.put(error)

    threading.Thread(target=work, name="hopfieldphase-tasks", daemon=True).start()
    try:
        for done in range(1, count + 1):
            error = news.get()
            if error is not None:
                raise error
            if progress is not None:
                progress(done, count)
    finally:
        stopped.set()
    return [results[i] for i in range(count)]
