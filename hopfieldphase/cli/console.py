"""Where words go: data to stdout, everything else to stderr, and no escape codes where none belong."""

import io
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

_PLAIN = str.maketrans(
    {
        "α": "alpha", "β": "beta", "γ": "gamma", "Γ": "Gamma", "δ": "delta", "Δ": "Delta", "θ": "theta",
        "κ": "kappa", "λ": "lambda", "ξ": "xi", "Ξ": "Xi", "Ω": "Omega", "Ψ": "Psi", "∞": "inf",
        "±": "+/-", "−": "-", "–": "-", "…": "...", "·": "*", "×": "x", "≤": "<=", "≥": ">=", "√": "sqrt",
        "²": "^2",
    }
)  # fmt: skip


class Console:
    """The words of one command.

    Parameters
    ----------
    quiet : bool
        Say nothing but results that were asked for, warnings and errors.
    color : bool
        Whether escape codes are allowed on a terminal.
    """

    def __init__(self, *, quiet: bool = False, color: bool = True) -> None:
        self._quiet = quiet
        self._live = color and shows_codes(sys.stderr)

    def say(self, text: str) -> None:
        """Tell the user something, on stderr."""
        if not self._quiet:
            write_line(sys.stderr, text)

    def warn(self, text: str) -> None:
        """Tell the user that something is wrong, on stderr, quiet or not."""
        write_line(sys.stderr, text)

    def report(self, text: str) -> None:
        """Give the result in words, on stdout; left out when quiet."""
        if not self._quiet:
            write_line(sys.stdout, text)

    def data(self, value: Any) -> None:
        """Give the result as JSON, on stdout."""
        write_line(sys.stdout, to_json(value))

    @contextmanager
    def progress(self, what: str, total: int) -> Iterator[Callable[..., None]]:
        """Show how far a command is: a bar on a terminal, a line per tenth of the way in a log."""
        if self._quiet:
            yield lambda done, total, note="": None
        elif self._live:
            with _bar(what, total) as update:
                yield update
        else:
            yield _lines(what)


def shows_codes(stream: TextIO) -> bool:
    """Whether escape codes may be written: on a terminal that knows them, unless the user said no."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    return wanted and stream.isatty()


def write_line(stream: TextIO, text: str) -> None:
    """Write one line; a reader that has left is no error, and gets nothing more."""
    if not _knows_symbols(stream):
        text = text.translate(_PLAIN)
    try:
        stream.write(text + "\n")
        stream.flush()
    except BrokenPipeError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Send the rest of a stream nowhere, also what Python flushes at its exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def prepare_streams() -> None:
    """Show what the encoding of a stream does not know as escapes; write nowhere where a stream is closed."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, io.StringIO())
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def to_json(value: Any) -> str:
    """JSON in ASCII; what JSON does not know, an infinite number, is written as text."""
    return json.dumps(_jsonable(value), indent=2, allow_nan=False)


def _jsonable(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return value


def _knows_symbols(stream: TextIO) -> bool:
    """Whether Greek letters arrive: in the C locale Python writes UTF-8, which the terminal may not know."""
    settings = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next((setting for setting in settings if setting), "C")
    return locale not in ("C", "POSIX") and (stream.encoding or "").lower().replace("-", "") == "utf8"


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[..., None]]:
    from rich.console import Console as Terminal
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    count = "{task.completed:.0f} of {task.total:.0f} " + what
    text = (TextColumn("{task.percentage:3.0f} %"), TextColumn(count), TextColumn("{task.fields[note]}"))
    times = (TimeElapsedColumn(), TimeRemainingColumn())
    columns = (BarColumn(bar_width=30), *text, *times) if _knows_symbols(sys.stderr) else (*text, *times)
    with Progress(*columns, console=Terminal(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(what, total=total, note="")
        yield lambda done, total, note="": bar.update(task, completed=done, total=total, note=note)


def _lines(what: str) -> Callable[..., None]:
    start, shown = time.monotonic(), 0

    def update(done: float, total: int, note: str = "") -> None:
        nonlocal shown
        tenths = int(10 * done / total)
        if tenths > shown:
            shown = tenths
            seconds = time.monotonic() - start
            left = seconds * (total - done) / done
            extra = f", about {left:.0f} s left" if left >= 1 else ""
            extra += f", {note}" if note else ""
            count = f"{done:.0f}" if done == int(done) else f"{done:.2f}"
            write_line(sys.stderr, f"{10 * tenths:3d} %  {count} of {total} {what}, {seconds:.1f} s{extra}")

    return update
