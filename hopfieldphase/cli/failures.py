"""Errors as one line and an exit code: 1 a check failed, 2 bad input, 130 interrupted."""

import re
import sys
import traceback
from difflib import get_close_matches
from typing import Any

import typer

from hopfieldphase.cli.console import write_line
from hopfieldphase.core.errors import HopfieldPhaseError, one_line

CHECK_FAILED = 1
BAD_INPUT = 2
NOT_CONVERGED = 3
INTERRUPTED = 130


class Interrupted(HopfieldPhaseError):
    """A run was cut short, and something is kept: one line that says what."""


def report_failure(error: BaseException, debug: bool) -> int:
    """Write one line about an error to stderr (with `debug` its traceback before); return the exit code."""
    if debug:
        traceback.print_exception(error)
    line, code = _explain(error)
    write_line(sys.stderr, line)
    return code


def _explain(error: BaseException) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return "interrupted; no result was written", INTERRUPTED
    if isinstance(error, Interrupted):
        return str(error), INTERRUPTED
    if isinstance(error, HopfieldPhaseError):
        return f"error: {_one_line(error)}", BAD_INPUT
    if isinstance(error, MemoryError):
        return (
            f"error: not enough memory ({_one_line(error) or 'allocation failed'}): use smaller M or d",
            BAD_INPUT,
        )
    if isinstance(error, OSError):
        where = f"{one_line(str(error.filename))}: " if error.filename else ""
        return f"error: {where}{error.strerror or _one_line(error)}", BAD_INPUT
    if hasattr(error, "format_message"):
        return f"error: {_usage(error)}", BAD_INPUT
    reason = f"{type(error).__name__}: {_one_line(error)}"
    return f"error: unexpected {reason}; --debug shows where, please report it", CHECK_FAILED


def _usage(error: Any) -> str:
    """What is wrong with the command line, with the nearest known name, or where to read on."""
    command = error.ctx.command if getattr(error, "ctx", None) else None
    path = error.ctx.command_path if command else "hopfieldphase"
    unknown = getattr(error, "possibilities", None) is not None or type(error).__name__ == "NoSuchOption"
    if unknown and command is not None:
        known = [option for param in command.params for option in (*param.opts, *param.secondary_opts)]
        nearest = get_close_matches(error.option_name, known, n=1)
        hint = f"the nearest is {nearest[0]}" if nearest else f"see {path} --help"
        return f"{path} has no option {one_line(error.option_name)}; {hint}"
    message = one_line(error.format_message()).rstrip(".")
    if command is not None and message == "Missing command":
        return f"{path} needs a command: {', '.join(command.commands)}"
    # How the number did not parse is of no interest; that it must be one is.
    message = re.sub(r", unable to parse.*", "", message.replace("Input should be", "it must be"))
    return f"{message[:1].lower()}{message[1:]}{'' if message.endswith('?') else ';'} see {path} --help"


def _one_line(error: BaseException) -> str:
    return one_line(str(error))
