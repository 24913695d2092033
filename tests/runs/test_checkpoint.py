"""Finished parts of a long study: kept when interrupted, used again, never mixed up."""

import threading

import numpy as np
import pytest

from hopfieldphase.runs import checkpoint as module
from hopfieldphase.runs.checkpoint import Checkpoint, run_kept

COUNT = 12


class Interrupted(Exception):
    """Stands for Ctrl-C."""


def task(i, _tell=None):
    return np.array([i, i**2], dtype=float)


def interrupted_run(folder, after, fingerprint="a" * 64):
    """Run until so many parts are finished, in one thread; further ones begin after the interruption."""
    gate = threading.Event()

    def gated(i, tell):
        if i >= after:
            gate.wait()
        return task(i)

    def stop(done, total):
        assert total == COUNT
        if done >= after:
            raise Interrupted

    try:
        with pytest.raises(Interrupted):
            run_kept(gated, COUNT, 1, stop, Checkpoint(folder, fingerprint))
    finally:
        gate.set()


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    interrupted_run(tmp_path, 5)
    kept = Checkpoint(tmp_path, "a" * 64)
    assert list(kept.parts) == [0, 1, 2, 3, 4]
    ran, news = [], []

    def counted(i, tell):
        ran.append(i)
        return task(i)

    parts = run_kept(counted, COUNT, 2, lambda done, total: news.append((done, total)), kept)
    assert sorted(ran) == list(range(5, COUNT))
    assert all(np.array_equal(part, task(i)) for i, part in enumerate(parts))
    assert news == [(done, COUNT) for done in range(6, COUNT + 1)]
    kept.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_whole_run_is_read_back_without_running(tmp_path):
    run_kept(task, COUNT, 2, None, Checkpoint(tmp_path, "b" * 64))

    def forbidden(i, tell):
        raise AssertionError(f"task {i} was run again")

    parts = run_kept(forbidden, COUNT, 2, None, Checkpoint(tmp_path, "b" * 64))
    assert all(np.array_equal(part, task(i)) for i, part in enumerate(parts))


def test_nothing_is_kept_without_a_checkpoint(tmp_path):
    assert len(run_kept(task, COUNT, 1, None, None)) == COUNT
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["spec", "version", "damage"])
def test_what_does_not_fit_is_computed_anew(tmp_path, monkeypatch, change):
    interrupted_run(tmp_path, 5)
    (file,) = tmp_path.iterdir()
    fingerprint = "a" * 64
    if change == "spec":
        fingerprint = "a" * 63 + "b"  # a name of its own would not be enough: the digest is in the file
    elif change == "version":
        monkeypatch.setattr(module, "__version__", "0.0.0")
    else:
        file.write_bytes(file.read_bytes()[:40])
    assert Checkpoint(tmp_path, fingerprint).parts == {}


def test_a_failed_writing_leaves_the_old_content(tmp_path, monkeypatch):
    interrupted_run(tmp_path, 5)
    before = Checkpoint(tmp_path, "a" * 64)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    before.add({7: task(7)})
    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space left"):
        before.save()
    monkeypatch.undo()
    assert list(Checkpoint(tmp_path, "a" * 64).parts) == [0, 1, 2, 3, 4]
    before.save()  # there is room again
    assert list(Checkpoint(tmp_path, "a" * 64).parts) == [0, 1, 2, 3, 4, 7]
    assert len(list(tmp_path.iterdir())) == 1
