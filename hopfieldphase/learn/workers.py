"""Many trainings at once: one process and one PyTorch thread each, so that bits do not depend on how many."""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

import torch

from hopfieldphase.kernels.threads import thread_count
from hopfieldphase.runs.parallel import Progress

Result = TypeVar("Result")
News = Callable[[int, float], object]
"""Called with the steps done of one training and its loss."""

_LOOK_EVERY = 0.2  # seconds between two looks at what the processes have done
_FEW_STEPS = 4000  # take no longer than a process needs to start
_REPORTED_STEPS = 50  # between two messages of a process


def run_trainings(
    work: Callable[[Any, News], Result], jobs: Sequence[Any], steps: int, progress: Progress | None
) -> list[Result]:
    """Call ``work(job, news)`` for every job, over processes where that is worth it.

    Parameters
    ----------
    work : callable
        A function of a module (processes import it); what it gets and returns is sent between processes.
    jobs : sequence
    steps : int
        Training steps of one job.
    progress : callable, optional
        Called as ``progress(steps done, all steps, text with the loss)``.

    Returns
    -------
    list
        The results in the order of the jobs. The first error, or Ctrl-C, ends all.
    """
    count = min(thread_count(), len(jobs))
    if count == 1 or steps * len(jobs) <= _FEW_STEPS:
        with _one_thread():
            return one_by_one(work, jobs, steps, progress)
    context = multiprocessing.get_context("spawn")
    messages = context.SimpleQueue()
    done = [0] * len(jobs)
    others = set(multiprocessing.active_children())
    pool = ProcessPoolExecutor(count, context, _begin, (messages,))
    try:
        running = [pool.submit(_work, work, number, job) for number, job in enumerate(jobs)]
        waiting = set(running)
        while waiting:
            ended, waiting = wait(waiting, _LOOK_EVERY, FIRST_EXCEPTION)
            loss = None
            while not messages.empty():
                number, done[number], loss = messages.get()
            if progress is not None and loss is not None:
                progress(sum(done), steps * len(jobs), f"loss {loss:.3g}")
            for future in ended:
                future.result()  # raises what the process did
        return [future.result() for future in running]
    except BaseException:
        for process in set(multiprocessing.active_children()) - others:
            process.kill()  # what each has saved is kept
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def one_by_one(
    work: Callable[[Any, News], Result], jobs: Sequence[Any], steps: int, progress: Progress | None
) -> list[Result]:
    """As `run_trainings`, in this process and with the threads that it has."""
    results = []
    for number, job in enumerate(jobs):

        def news(done: int, loss: float, before: int = number * steps) -> None:
            if progress is not None:
                progress(before + done, steps * len(jobs), f"loss {loss:.3g}")

        results.append(work(job, news))
    return results


@contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


_messages: Any = None  # of the process that runs this


def _begin(messages: Any) -> None:
    global _messages  # noqa: PLW0603  # one per process, set when it begins
    _messages = messages
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    torch.set_num_threads(1)


def _work(work: Callable[[Any, News], Result], number: int, job: Any) -> Result:
    def news(done: int, loss: float) -> None:
        if done % _REPORTED_STEPS == 0:
            _messages.put((number, done, loss))

    return work(job, news)
