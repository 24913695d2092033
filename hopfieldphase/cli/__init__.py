"""The command line: thin, nothing heavy is imported before a command needs it."""

import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from hopfieldphase.cli.app import app
from hopfieldphase.cli.console import prepare_streams, silence
from hopfieldphase.cli.failures import INTERRUPTED, report_failure
from hopfieldphase.cli.interrupts import interruptible


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and leave Python with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        By default those of the process. None at all shows the help.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    prepare_streams()
    try:
        with interruptible():
            command = typer.main.get_command(app)
            code = command.main(words or ["--help"], prog_name="hopfieldphase", standalone_mode=False)
            if code == INTERRUPTED:  # this is how typer passes Ctrl-C on
                raise KeyboardInterrupt
    except (Exception, KeyboardInterrupt) as error:
        code = report_failure(error, debug="--debug" in words)
        # Until the next exec, an interrupt that met one makes Python end by the signal, not by its exit code.
        exec("")
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # said already, or the reader has left
            silence(stream)
    sys.exit(code)
