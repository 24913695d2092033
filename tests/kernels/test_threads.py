"""Chunks over threads: every item once, errors and interrupts passed on, nested and forked calls safe."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.threads import run_chunks, thread_count

# Longer than any wait here on a busy machine; reached only when something hangs.
PATIENCE = 60


class _Record:
    """Counts how often each item was given out, and on which threads."""

    def __init__(self, n_items):
        self.counts = np.zeros(n_items, dtype=int)
        self.chunks = []
        self.threads = set()

    def __call__(self, start, stop):
        assert start < stop
        self.counts[start:stop] += 1
        self.chunks.append((start, stop))
        self.threads.add(threading.get_ident())


@pytest.mark.parametrize("threads", [1, 2, 3, 17])
@pytest.mark.parametrize("n_items", [1, 2, 5, 100, 1001])
def test_every_item_exactly_once(n_items, threads):
    record = _Record(n_items)
    run_chunks(record, n_items, threads)
    np.testing.assert_array_equal(record.counts, 1)


def test_empty_batch_calls_nothing():
    run_chunks(pytest.fail, 0, 2)


def test_threads_work_at_the_same_time():
    # Both must be inside a chunk for the barrier to open.
    barrier = threading.Barrier(2, timeout=PATIENCE)
    run_chunks(lambda start, stop: barrier.wait() if start < 4 else None, 8, 2)
    assert not barrier.broken


def test_short_batches_stay_in_the_calling_thread():
    record = _Record(19)
    run_chunks(record, 19, 4, least=10)
    assert record.chunks == [(0, 19)]
    assert record.threads == {threading.get_ident()}
    record = _Record(200)
    run_chunks(record, 200, 4, least=10)
    assert min(stop - start for start, stop in record.chunks) >= 10


def test_nested_calls_run_serially():
    inner = []

    def outer(start, stop):
        record = _Record(5)
        run_chunks(record, 5, 4)
        inner.append(record.chunks)

    run_chunks(outer, 6, 3)
    assert inner == [[(0, 5)]] * 6
    # And a later call from this thread is not nested any more.
    record = _Record(8)
    run_chunks(record, 8, 2)
    assert len(record.chunks) > 1


def test_many_callers_share_the_pool():
    def one(_):
        record = _Record(300)
        run_chunks(record, 300, 3)
        return record.counts

    with ThreadPoolExecutor(8) as pool:
        for counts in pool.map(one, range(100)):
            np.testing.assert_array_equal(counts, 1)


@pytest.mark.parametrize("where", ["calling thread", "pool"])
def test_first_error_is_raised_and_stops_the_rest(where):
    main = threading.get_ident()
    barrier = threading.Barrier(2, timeout=PATIENCE)
    done = []

    def chunk(start, stop):
        if start < 2:
            barrier.wait()
            if (threading.get_ident() == main) == (where == "calling thread"):
                raise ArithmeticError(where)
            time.sleep(0.05)
        done.append(start)

    with pytest.raises(ArithmeticError, match=where):
        run_chunks(chunk, 8, 2)
    assert len(done) < 8
    record = _Record(8)
    run_chunks(record, 8, 2)
    np.testing.assert_array_equal(record.counts, 1)


@pytest.fixture
def interruptible():
    """Ctrl-C raises, also where the runner itself was started in the background and ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupt_stops_the_batch_and_leaves_the_pool_usable():
    main = threading.get_ident()
    started = []

    def chunk(start, stop):
        started.append(start)
        if threading.get_ident() == main:
            signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        run_chunks(chunk, 1000, 2)
    n = len(started)
    assert n < 8
    time.sleep(0.05)
    assert len(started) == n  # nothing runs on behind the caller's back
    record = _Record(100)
    run_chunks(record, 100, 2)
    np.testing.assert_array_equal(record.counts, 1)


@pytest.mark.usefixtures("interruptible")
def test_interrupt_while_waiting_for_a_helper():
    main = threading.get_ident()
    helper_in = threading.Event()
    release = threading.Event()

    def chunk(start, stop):
        if threading.get_ident() == main:
            assert helper_in.wait(PATIENCE)
        else:
            helper_in.set()
            threading.Timer(0.05, lambda: signal.raise_signal(signal.SIGINT)).start()
            threading.Timer(0.3, release.set).start()
            assert release.wait(PATIENCE)

    with pytest.raises(KeyboardInterrupt):
        run_chunks(chunk, 2, 2)
    assert release.is_set()  # the running chunk was waited for


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_forked_child_gets_a_pool_of_its_own():
    program = """
import os, warnings
from hopfieldphase.kernels.threads import run_chunks
warnings.simplefilter("ignore")  # Python 3.12 warns of forks in processes with threads
seen = []
run_chunks(lambda i, j: seen.extend(range(i, j)), 100, 4)
child = os.fork()
if child == 0:
    mine = []
    run_chunks(lambda i, j: mine.extend(range(i, j)), 100, 4)
    os._exit(0 if sorted(mine) == list(range(100)) else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sorted(seen) == list(range(100)))
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert result.stdout.split() == ["0", "True"]


def test_waiting_threads_do_not_hold_up_the_exit():
    program = "from hopfieldphase.kernels.threads import run_chunks; run_chunks(lambda i, j: None, 9, 9)"
    subprocess.run([sys.executable, "-c", program], timeout=PATIENCE, check=True)


def test_number_of_threads(monkeypatch):
    monkeypatch.delenv("HOPFIELDPHASE_THREADS", raising=False)
    assert 1 <= thread_count() <= (os.cpu_count() or 1)
    assert thread_count(10_000) == 10_000
    assert thread_count(np.int64(3)) == 3
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", " 7 ")
    assert thread_count() == 7
    assert thread_count(2) == 2
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", "")
    assert thread_count() >= 1


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True, np.nan, [1]])
def test_what_is_not_a_number_of_threads(threads):
    with pytest.raises(InputError, match=r"threads = .*give an integer of at least 1"):
        run_chunks(lambda start, stop: None, 3, threads)


@pytest.mark.parametrize("text", ["0", "-2", "two", "1.5", "0x2"])
def test_variable_that_is_not_a_number_of_threads(monkeypatch, text):
    monkeypatch.setenv("HOPFIELDPHASE_THREADS", text)
    with pytest.raises(InputError, match=r"HOPFIELDPHASE_THREADS = .*give an integer"):
        run_chunks(lambda start, stop: None, 3)
