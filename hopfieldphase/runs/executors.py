"""Where the batches of a grid are computed: in this process, in several, or by Dask; the values are the same.

An executor gives each batch to some worker, which computes it in one thread, writes its region of the store
and its marker. Nothing but numbers of batches comes back.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Protocol

from threadpoolctl import threadpool_limits

from hopfieldphase.core.errors import HopfieldPhaseError, InputError
from hopfieldphase.kernels.threads import thread_count
from hopfieldphase.runs.parallel import run_tasks

EXECUTORS = ("serial", "processes", "dask")

PATIENCE = 3
"""How many times in a row all workers may be lost without a finished batch."""


class WorkersLost(HopfieldPhaseError):
    """Workers, or what directs them, are gone for good; what was finished is kept."""


class Job(Protocol):
    """What computes and writes one batch."""

    def run(self, batch: int) -> int:
        """Return the number of the batch when it is finished."""
        ...


News = Callable[[int], None]
"""Called with the number of each finished batch, in the thread that asked for them."""


class Executor(Protocol):
    """What gives batches to workers."""

    @property
    def facts(self) -> dict[str, Any]:
        """What provenance says of it."""
        ...

    def run(self, job: Job, batches: Sequence[int], news: News) -> None:
        """Compute all batches.

        Raises
        ------
        WorkersLost
            If no worker is left.
        Exception
            Whatever a batch raised; no further one begins then.
        """
        ...


class Serial:
    """One batch after the other in this process."""

    @property
    def facts(self) -> dict[str, Any]:
        """See `Executor`."""
        return {"executor": "serial", "workers": 1}

    def run(self, job: Job, batches: Sequence[int], news: News) -> None:
        """See `Executor`."""
        waiting = iter(batches)

        def work(i: int) -> None:
            job.run(batches[i])

        with threadpool_limits(limits=1):  # as in every worker: the order of a sum is that of one thread
            run_tasks(work, len(batches), 1, lambda *_: news(next(waiting)))


class Processes:
    """Worker processes on this machine, with one compute thread each; one that dies is replaced.

    Parameters
    ----------
    workers : int, optional
        By default as many as this process has cores.
    """

    def __init__(self, workers: int | None = None) -> None:
        self._workers = thread_count(workers)

    @property
    def facts(self) -> dict[str, Any]:
        """See `Executor`."""
        return {"executor": "processes", "workers": self._workers}

    def run(self, job: Job, batches: Sequence[int], news: News) -> None:
        """See `Executor`."""
        waiting = dict.fromkeys(batches)
        vain = 0
        while waiting:
            before = len(waiting)
            try:
                self._pass(job, list(waiting), lambda batch: (waiting.pop(batch), news(batch)))
            except BrokenProcessPool:
                vain = vain + 1 if len(waiting) == before else 0
                if vain == PATIENCE:
                    raise WorkersLost(
                        f"the workers die {PATIENCE} times in a row without finishing anything (is there "
                        "memory for all of them?): what was finished is kept; try fewer --workers"
                    ) from None

    def _pass(self, job: Job, batches: Sequence[int], news: Callable[[int], object]) -> None:
        """Give all batches to one set of workers, until they are finished or a worker dies."""
        others = set(multiprocessing.active_children())
        pool = ProcessPoolExecutor(
            min(self._workers, len(batches)),
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin,
            initargs=(job,),
        )
        try:
            with _without_interrupts():
                futures = [pool.submit(_work, batch) for batch in batches]
            for future in as_completed(futures):
                news(future.result())
            pool.shutdown()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()  # at any moment: a region is there as a whole or does not count
            raise


_job: list[Job] = []


def _begin(job: Job) -> None:
    """Get ready to work, and to end with the process that asked for it."""
    one_thread()
    _job[:] = [job]
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _work(batch: int) -> int:
    return _job[0].run(batch)


def one_thread() -> None:
    """Compute in one thread from now on, in this process: the workers share the cores."""
    os.environ["HOPFIELDPHASE_THREADS"] = "1"
    threadpool_limits(limits=1)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start workers that Ctrl-C at the terminal does not reach: this process ends them."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


def make_executor(
    name: str | None = None, workers: int | None = None, scheduler: str | None = None
) -> Executor:
    """The executor of a name.

    Parameters
    ----------
    name : {"serial", "processes", "dask"}, optional
        By default what the others ask for: Dask for a scheduler, processes for workers, else serial.
    workers : int, optional
        How many, for processes and for Dask on this machine.
    scheduler : str, optional
        Address of a Dask scheduler that is running, with workers of its own.

    Raises
    ------
    InputError
        For another name, for options that it does not take, and where Dask is not installed.
    """
    name = name or ("dask" if scheduler is not None else "serial" if workers is None else "processes")
    if workers is not None and workers < 1:
        raise InputError(f"workers = {workers} is not a number of workers: give at least 1")
    if name not in EXECUTORS:
        raise InputError(f"executor = {name} is unknown: use {', '.join(EXECUTORS)}")
    if name == "serial" and workers not in (None, 1):
        raise InputError(f"workers = {workers}, but the serial executor has one: use processes or dask")
    if scheduler is not None and name != "dask":
        raise InputError(f"a scheduler is given, but the executor is {name}: use dask")
    if scheduler is not None and workers is not None:
        raise InputError(f"workers = {workers}, but the scheduler at {scheduler} has its own: leave it out")
    if name == "serial":
        return Serial()
    if name == "processes":
        return Processes(workers)
    if find_spec("distributed") is None:
        raise InputError("dask is not installed: run `pip install 'hopfieldphase[cluster]'`")
    from hopfieldphase.runs.dask_workers import DaskWorkers  # noqa: PLC0415  # an extra

    return DaskWorkers(workers, scheduler)
