"""Dask computes the batches: workers on this machine, or those of a scheduler that is running somewhere."""

import asyncio
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from dask import config
from distributed import Client, LocalCluster, WorkerPlugin, as_completed, get_worker
from distributed.client import FutureCancelledError
from distributed.comm.core import CommClosedError
from distributed.scheduler import KilledWorker

from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.threads import thread_count
from hopfieldphase.runs.executors import Job, News, WorkersLost, one_thread

CONNECT_SECONDS = 10
"""How long a scheduler may take to answer, and to have a worker."""

LOST_WORKERS = 10
"""How many workers may die over one batch before it counts as what kills them."""


class JobPlugin(WorkerPlugin):
    """The job, with its patterns: the scheduler sends it once to every worker, also to those that come later.

    Parameters
    ----------
    job : Job
    name : str
        Of its own for every run.
    """

    def __init__(self, job: Job, name: str) -> None:
        self.job, self.name = job, name

    def setup(self, worker: Any) -> None:
        """Compute in one thread."""
        one_thread()


class DaskWorkers:
    """Workers of Dask, with one compute thread each.

    Parameters
    ----------
    workers : int, optional
        How many on this machine; by default as many as this process has cores.
    scheduler : str, optional
        Address of a scheduler that has workers of its own; they must see the folder of the result.
    """

    def __init__(self, workers: int | None = None, scheduler: str | None = None) -> None:
        self._workers = thread_count(workers)
        self._scheduler = scheduler

    @property
    def facts(self) -> dict[str, Any]:
        """See `executors.Executor`."""
        if self._scheduler is None:
            return {"executor": "dask", "workers": self._workers}
        return {"executor": "dask", "scheduler": self._scheduler}

    def run(self, job: Job, batches: Sequence[int], news: News) -> None:
        """See `executors.Executor`."""
        if not batches:
            return
        name = f"hopfieldphase-{uuid4().hex}"
        with self._client() as client:
            try:
                for future in as_completed(_hand_out(client, job, name, batches)):
                    news(future.result())
                client.unregister_worker_plugin(name)
            except KilledWorker:
                raise WorkersLost(
                    f"a batch has taken {LOST_WORKERS} workers with it (is there memory for it?): "
                    "what was finished is kept"
                ) from None
            except (FutureCancelledError, asyncio.CancelledError, CommClosedError) as error:
                raise WorkersLost(
                    f"the Dask scheduler {self._scheduler or 'of this run'} is gone: what was finished is "
                    "kept, the same command computes the rest"
                ) from error

    @contextmanager
    def _client(self) -> Iterator[Client]:
        local: Any = {
            "n_workers": self._workers, "threads_per_worker": 1, "processes": True, "dashboard_address": None,
            "silence_logs": logging.CRITICAL,
        }  # fmt: skip
        with _quiet(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self._scheduler is None:
                with LocalCluster(**local) as cluster, Client(cluster) as client:
                    yield client
                return
            try:
                client = Client(self._scheduler, timeout=CONNECT_SECONDS)
            except (OSError, ValueError) as error:
                reason = " ".join(str(error).split())[:100]
                raise InputError(
                    f"no Dask scheduler answers at {self._scheduler} ({reason}): start one with "
                    "`dask scheduler`, and give the address that it prints"
                ) from error
            with client:
                try:
                    client.wait_for_workers(1, timeout=CONNECT_SECONDS)
                except TimeoutError:
                    raise InputError(
                        f"the Dask scheduler at {self._scheduler} has no workers: start some with "
                        f"`dask worker {self._scheduler} --nthreads 1`"
                    ) from None
                yield client


def _hand_out(client: Client, job: Job, name: str, batches: Sequence[int]) -> list[Any]:
    """Send the job to every worker, and the numbers of all batches to the scheduler."""
    keys = [f"{name}-{batch}" for batch in batches]
    try:
        client.register_plugin(JobPlugin(job, name))
        return client.map(_work, batches, plugin=name, pure=False, key=keys)
    except OSError as error:  # of the connection, while one that comes back later is of a batch
        raise CommClosedError(str(error)) from error


def _work(batch: int, plugin: str) -> int:
    found: Any = get_worker().plugins[plugin]
    return found.job.run(batch)


@contextmanager
def _quiet() -> Iterator[None]:
    """No news of lost connections on the terminal: what matters is raised."""
    names = ("distributed", "distributed.client", "distributed.worker", "distributed.nanny", "tornado")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    settings = {
        "distributed.scheduler.allowed-failures": LOST_WORKERS,
        "distributed.comm.timeouts.connect": CONNECT_SECONDS,
        "distributed.worker.daemon": True,
    }
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with config.set(settings):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
