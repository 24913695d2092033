"""What runs a study from its spec: a command's own flow, or the common one."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import NOT_CONVERGED
from hopfieldphase.cli.study import run_study
from hopfieldphase.core.errors import InputError

SHOWN_FAILURES = 5

LEARN = ("torch", "transformers")
"""Libraries that studies of trained models need."""

RUNNERS = {
    "sweep-beta": "cli.sweep:run_spec",
    "sweep-kappa": "cli.sweep:run_spec",
    "grid": "cli.grid:run_spec",
    "branches": "cli.branches:run_spec",
    "branches-kappa": "cli.load_branches:run_spec",
    "phase-diagram": "cli.diagram:run_spec",
}
"""Studies whose commands have a flow of their own."""


def run(
    spec: Any,
    out: Path | None,
    console: Console,
    *,
    force: bool,
    plot: bool,
    as_json: bool,
    spread: Mapping[str, Any] | None = None,
) -> None:
    """Compute any study into its folder, or show the finished result; exit code 3 where something failed.

    `spread` says which executor computes the sweeps of a grid.
    """
    from hopfieldphase.runs.studies import load

    runner = load(RUNNERS[spec.study]) if spec.study in RUNNERS else _measure
    if spread and spec.study != "grid":
        raise InputError(
            f"--{next(iter(spread))} is for grids of sweeps, but this is a {spec.study} study, which takes "
            "every core by itself: leave it out"
        )
    runner(spec, out, console, force=force, plot=plot, as_json=as_json, **(spread or {}))


def draw(plot: Callable[[Any], Any], data: Any, file: Path) -> None:
    """Draw a figure and save it."""
    from hopfieldphase.plotting.style import figure_of, save

    save(figure_of(plot(data)), file)


def _measure(
    spec: Any,
    out: Path | None,
    console: Console,
    *,
    force: bool,
    plot: bool,
    as_json: bool,
) -> None:
    from hopfieldphase.kernels.compilation import on_first_compilation
    from hopfieldphase.kernels.threads import thread_count
    from hopfieldphase.runs import studies

    thread_count()  # a wrong environment is reported before anything starts
    study = studies.STUDIES[spec.study]
    check_extra(study.measure)
    if not spec.is_resolved:
        from hopfieldphase.runs.sources import with_digest

        spec = with_digest(spec)

    def compute(path: Path) -> dict[str, Any]:
        on_first_compilation(lambda: console.say("compiling kernels, once per version"))
        drawn = partial(draw, studies.load(study.plot)) if plot else None
        with console.progress("steps", 1) as progress:
            return studies.compute(spec, path, draw=drawn, progress=progress)

    lines = studies.load(study.lines)
    finish(spec, out, console, compute=compute, lines=lines, force=force, plot=plot, as_json=as_json)


def finish(
    spec: Any,
    out: Path | None,
    console: Console,
    *,
    compute: Callable[[Path], dict[str, Any]],
    lines: Callable[[dict[str, Any]], list[str]],
    force: bool,
    plot: bool,
    as_json: bool,
) -> None:
    """Compute into the folder or show what is there, and leave with exit code 3 where something failed."""
    summary = run_study(
        spec,
        out,
        console,
        announce=lambda: console.say(spec.headline),
        compute=compute,
        lines=lines,
        name_failures=_name_failures,
        force=force,
        plot=plot,
        as_json=as_json,
    )
    if summary["unconverged"]:
        raise typer.Exit(NOT_CONVERGED)


def check_extra(measure: str) -> None:
    """Raise `InputError` where a study of trained models lacks the libraries of its extra."""
    missing = [name for name in LEARN if find_spec(name) is None] if measure.startswith("learn.") else []
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"{' and '.join(missing)} {verb} not installed: run `pip install 'hopfieldphase[learn]'`"
        )


def _name_failures(summary: dict[str, Any], console: Console) -> None:
    """Warn of what did not converge: the first few of it."""
    failed = summary["unconverged"]
    for text in failed[:SHOWN_FAILURES]:
        console.warn(f"warning: {text}")
    if len(failed) > SHOWN_FAILURES:
        console.warn(f"and {len(failed) - SHOWN_FAILURES} more, all in summary.json under unconverged")
