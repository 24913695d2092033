"""What every command with a result folder does: find the finished result, or compute it, and report."""

import shlex
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import Interrupted


class Study(Protocol):
    """A resolved spec, as far as its result folder is concerned."""

    @property
    def fingerprint(self) -> str:
        """Digest of every option."""
        ...

    @property
    def default_folder(self) -> Path:
        """Where the result goes unless the user says otherwise."""
        ...


def run_study(
    spec: Study,
    out: Path | None,
    console: Console,
    *,
    announce: Callable[[], object],
    compute: Callable[[Path], dict[str, Any]],
    lines: Callable[[dict[str, Any]], list[str]],
    name_failures: Callable[[dict[str, Any], Console], None],
    force: bool,
    plot: bool,
    as_json: bool,
) -> dict[str, Any]:
    """Show the finished result of a spec, or claim its folder and compute it; return the summary.

    `announce` speaks before the computation, `compute` writes the folder and returns the summary, `lines`
    puts it in words, and `name_failures` says what did not converge.
    """
    from hopfieldphase.runs.folder import check_free, claim_folder, read_summary

    path = out or spec.default_folder

    def finished() -> dict[str, Any] | None:
        return read_summary(path, spec.fingerprint, with_figure=plot)

    with _interrupts(path, finished):
        summary = None if force else finished()
        verb = "wrote" if summary is None else "kept"
        if summary is not None:
            console.say(f"already done: {path} holds this result (--force recomputes)")
        else:
            with claim_folder(path):
                if not force:
                    check_free(path, spec.fingerprint)
                announce()
                summary = compute(path)
        if as_json:
            console.data(summary)
        else:
            console.report("\n".join(lines(summary)))
        name_failures(summary, console)
        if plot:
            console.say(f"figure: {path}/figure.png")
        console.say(f"{verb} {path}; see hopfieldphase info {shlex.quote(str(path))}")
    return summary


@contextmanager
def _interrupts(path: Path, finished: Callable[[], object]) -> Iterator[None]:
    """Take the end of a job by a batch system as Ctrl-C, and say so where either came too late to matter."""
    try:
        with _ended_like_interrupted():
            yield
    except KeyboardInterrupt:
        if finished() is None:
            raise
        raise Interrupted(f"interrupted; the result in {path} is complete") from None


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Let a batch system that ends the job do what Ctrl-C does, so that what was finished is kept."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    old = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)
