"""Ctrl-C and the end of a job by a batch system reach the command, as `KeyboardInterrupt`, at any moment.

Python loses an interrupt that meets a callback of its own, an extension module one that meets its loading:
the run would go on as if there had been none. One between two steps of the compiler's library crashes it, and
after one in the middle of a write Zarr complains of what it did not do.
"""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from hopfieldphase.cli.failures import Interrupted

_AGAIN = 0.05
"""Seconds after which an interrupt comes again that could not be taken, or was lost."""

_CLOSED = {"importlib", "_frozen_importlib", "_frozen_importlib_external", "llvmlite", "zarr"}
"""Packages that an interrupt must not meet: it waits until none of them is at work."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Put off interrupts while an import, the compiler or Zarr is at work; repeat those that Python drops."""
    tell = sys.unraisablehook

    def hook(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt) and _can_repeat():
            _repeat()
        else:
            tell(dropped)

    # A shell lets what runs in its background ignore Ctrl-C.
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    sys.unraisablehook = hook
    try:
        with _interrupted_by(*() if ignored else (signal.SIGINT,)):
            yield
    finally:
        sys.unraisablehook = tell


@contextmanager
def interrupts(path: Path, finished: Callable[[], object]) -> Iterator[None]:
    """Take the end of a job by a batch system as Ctrl-C, and say so where either came too late to matter."""
    try:
        with _interrupted_by(signal.SIGTERM):
            yield
    except KeyboardInterrupt:
        if finished() is None:
            raise
        raise Interrupted(f"interrupted; the result in {path} is complete") from None


@contextmanager
def _interrupted_by(*signals: signal.Signals) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if _can_repeat():
        signals = (*signals, signal.SIGALRM)
    old = {number: signal.signal(number, _interrupt) for number in signals}
    try:
        yield
    finally:
        if _can_repeat() and old[signal.SIGALRM] is not _interrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)  # nobody would take it any more
        for number, handler in old.items():
            signal.signal(number, handler)


def _interrupt(_: int, frame: FrameType | None) -> None:
    if _can_repeat() and _closed(frame):
        _repeat()
        return
    raise KeyboardInterrupt


def _closed(frame: FrameType | None) -> bool:
    """Whether such a package is at work below a frame, as far up as `hopfieldphase.cli.main`."""
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name == "hopfieldphase.cli":
            return False
        if name.partition(".")[0] in _CLOSED:
            return True
        frame = frame.f_back
    return False


def _can_repeat() -> bool:
    return hasattr(signal, "setitimer")  # not on Windows


def _repeat() -> None:
    signal.setitimer(signal.ITIMER_REAL, _AGAIN)
