"""Every study that a file can ask for, and what computes, words and draws it.

Names of functions are text, so that nothing is imported before a study is run.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import typer

from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import NOT_CONVERGED
from hopfieldphase.cli.study import Study, run_study
from hopfieldphase.core.errors import InputError

SHOWN_FAILURES = 5


class Runner(Protocol):
    """Computes a spec into a folder, or shows the finished result."""

    def __call__(
        self, spec: Any, out: Path | None, console: Console, *, force: bool, plot: bool, as_json: bool
    ) -> None:
        """Run one study."""
        ...


@dataclass(frozen=True)
class Measurement:
    """A study with the common flow; every name is ``"module:function"``, modules below `hopfieldphase`.

    Attributes
    ----------
    spec : str
        The class of its options, with a property `headline`.
    compute : str
        ``compute(spec, path, draw=…, progress=…)`` writes the result folder and returns the summary, in which
        `unconverged` is a list of texts.
    lines : str
        The summary in words, line by line.
    plot : str
        The figure of the data; returns its axes.
    """

    spec: str
    compute: str
    lines: str
    plot: str


@dataclass(frozen=True)
class Command:
    """A study whose command has a flow of its own: the class of its options, and the runner."""

    spec: str
    run: str


def _measurement(room: str, spec: str) -> Measurement:
    """The study whose parts stand in the modules of one name."""
    return Measurement(
        f"runs.{room}_spec:{spec}",
        f"runs.{room}:compute_{room}",
        f"data.{room}:{room}_lines",
        f"plotting.{room}:plot_{room}",
    )


STUDIES: dict[str, Measurement | Command] = {
    "sweep-beta": Command("runs.specs:SweepSpec", "cli.sweep:run_spec"),
    "sweep-kappa": Command("runs.kappa_spec:KappaSpec", "cli.sweep:run_spec"),
    "branches": Command("runs.branch_spec:BranchSpec", "cli.branches:run_spec"),
    "branches-kappa": Command("runs.load_branch_spec:LoadBranchSpec", "cli.load_branches:run_spec"),
    "phase-diagram": Command("runs.diagram_spec:DiagramSpec", "cli.diagram:run_spec"),
    "structure-beta": _measurement("structure", "StructureSpec"),
    "structure-kappa": _measurement("structure", "LoadStructureSpec"),
    "two-keys": _measurement("validation", "TwoKeysSpec"),
    "supports": _measurement("validation", "SupportsSpec"),
    "stability": _measurement("stability", "StabilitySpec"),
    "thermal": _measurement("thermal", "ThermalSpec"),
    "order": _measurement("order", "OrderSpec"),
    "large-d": _measurement("large_d", "LargeDSpec"),
}


def read_spec(path: Path, *, reduced: bool = False) -> Study:
    """The spec of a study file; `InputError` where it names no study, or an unknown one or an unknown key."""
    from hopfieldphase.runs.specs import nearest, read_toml

    options = read_toml(path, reduced=reduced)
    name, known = options.get("study"), tuple(STUDIES)
    if name not in STUDIES:
        what = "no study" if name is None else f"the unknown study {name!r}{nearest(name, known)}"
        raise InputError(f"{path} names {what}: known are {', '.join(known)}")
    return load(STUDIES[name].spec)(**options)


def run(spec: Any, out: Path | None, console: Console, *, force: bool, plot: bool, as_json: bool) -> None:
    """Compute any study into its folder, or show the finished result; exit code 3 where something failed."""
    study = STUDIES[spec.study]
    runner: Runner = load(study.run) if isinstance(study, Command) else partial(_measure, study)
    runner(spec, out, console, force=force, plot=plot, as_json=as_json)


def load(name: str) -> Any:
    """What ``"module:function"`` stands for."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"hopfieldphase.{module}"), attribute)


def draw(plot: Callable[[Any], Any], data: Any, file: Path) -> None:
    """Draw a figure and save it."""
    from hopfieldphase.plotting.style import figure_of, save

    save(figure_of(plot(data)), file)


def _measure(
    study: Measurement,
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

    thread_count()  # a wrong environment is reported before anything starts
    if not spec.is_resolved:
        from hopfieldphase.runs.sources import with_digest

        spec = with_digest(spec)

    def compute(path: Path) -> dict[str, Any]:
        on_first_compilation(lambda: console.say("compiling kernels, once per version"))
        drawn = partial(draw, load(study.plot)) if plot else None
        with console.progress("steps", 1) as progress:
            return load(study.compute)(spec, path, draw=drawn, progress=progress)

    summary = run_study(
        spec,
        out,
        console,
        announce=lambda: console.say(spec.headline),
        compute=compute,
        lines=load(study.lines),
        name_failures=_name_failures,
        force=force,
        plot=plot,
        as_json=as_json,
    )
    if summary["unconverged"]:
        raise typer.Exit(NOT_CONVERGED)


def _name_failures(summary: dict[str, Any], console: Console) -> None:
    failed = summary["unconverged"]
    for text in failed[:SHOWN_FAILURES]:
        console.warn(f"warning: {text}")
    if len(failed) > SHOWN_FAILURES:
        console.warn(f"and {len(failed) - SHOWN_FAILURES} more, all in summary.json under unconverged")
