"""What every command with a result folder does: find the finished result, or compute it, and report."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import typer

from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import NOT_CONVERGED
from hopfieldphase.cli.interrupts import interrupts

SHOWN_FAILURES = 5


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


def warn_of(
    failed: Sequence[Any],
    console: Console,
    told: Callable[[Any], str] = "warning: {}".format,
    headline: str | None = None,
) -> None:
    """Warn of what failed, after a headline if there is one: the first few by a line each."""
    if failed and headline is not None:
        console.warn(f"warning: {headline}:")
    for one in failed[:SHOWN_FAILURES]:
        console.warn(told(one))
    if len(failed) > SHOWN_FAILURES:
        console.warn(f"  and {len(failed) - SHOWN_FAILURES} more, all in summary.json")


def _warn(summary: dict[str, Any], console: Console) -> None:
    warn_of(summary["unconverged"], console)


def run_study(
    spec: Study,
    out: Path | None,
    console: Console,
    *,
    headline: str,
    compute: Callable[[Path], dict[str, Any]],
    lines: Callable[[dict[str, Any]], list[str]],
    force: bool,
    plot: bool,
    as_json: bool,
    name_failures: Callable[[dict[str, Any], Console], None] = _warn,
    failures: Sequence[str] = ("unconverged",),
) -> None:
    """Show the finished result of a spec, or claim its folder and compute it.

    `headline` is told before the computation, `compute` writes the folder and returns the summary, `lines`
    puts it in words, and `name_failures` says what is wrong. With anything in the entries `failures` of the
    summary the command leaves with exit code 3.
    """
    from hopfieldphase.kernels.threads import thread_count
    from hopfieldphase.runs.folder import check_free, claim_folder, read_summary

    thread_count()  # a wrong environment is reported before anything starts
    path = out or spec.default_folder

    def finished() -> dict[str, Any] | None:
        return read_summary(path, spec.fingerprint, with_figure=plot)

    with interrupts(path, finished):
        summary = None if force else finished()
        verb = "wrote" if summary is None else "kept"
        if summary is not None:
            console.say(f"already done: {path} holds this result (--force recomputes)")
        else:
            with claim_folder(path):
                if not force:
                    check_free(path, spec.fingerprint)
                console.say(headline)
                tell_compilation(console)
                summary = compute(path)
        if as_json:
            console.data(summary)
        else:
            console.report("\n".join(lines(summary)))
        name_failures(summary, console)
        if plot:
            console.say(f"figure: {path}/figure.png")
        console.say(f"{verb} {path}; see hopfieldphase info {shlex.quote(str(path))}")
    if any(summary[name] for name in failures):
        raise typer.Exit(NOT_CONVERGED)


def tell_compilation(console: Console) -> None:
    """Say so when kernels are compiled, which takes its time."""
    from hopfieldphase.kernels.compilation import on_first_compilation

    on_first_compilation(lambda: console.say("compiling kernels, once per version"))


def draw(plot: str, data: Any, file: Path) -> None:
    """Draw a figure with ``"module:function"`` below `hopfieldphase`, and save it."""
    from hopfieldphase.plotting.style import figure_of, save
    from hopfieldphase.runs.studies import load

    save(figure_of(load(plot)(data)), file)
