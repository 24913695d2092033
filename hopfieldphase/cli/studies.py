"""What runs a study from its spec: a command's own flow, or the common one."""

from collections.abc import Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hopfieldphase.cli.console import Console
from hopfieldphase.cli.study import draw, run_study
from hopfieldphase.core.errors import InputError

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


def _measure(
    spec: Any,
    out: Path | None,
    console: Console,
    *,
    force: bool,
    plot: bool,
    as_json: bool,
) -> None:
    from hopfieldphase.runs import studies

    study = studies.STUDIES[spec.study]
    check_extra(study.measure)
    if not spec.is_resolved:
        from hopfieldphase.runs.sources import with_digest

        spec = with_digest(spec)

    def compute(path: Path) -> dict[str, Any]:
        drawn = partial(draw, study.plot) if plot else None
        with console.progress("steps", 1) as progress:
            return studies.compute(spec, path, draw=drawn, progress=progress)

    run_study(
        spec, out, console, headline=spec.headline, compute=compute, lines=studies.load(study.lines),
        force=force, plot=plot, as_json=as_json,
    )  # fmt: skip


def check_extra(measure: str) -> None:
    """Raise `InputError` where a study of trained models lacks the libraries of its extra."""
    missing = [name for name in LEARN if find_spec(name) is None] if measure.startswith("learn.") else []
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise InputError(
            f"{' and '.join(missing)} {verb} not installed: run `pip install 'hopfieldphase[learn]'`"
        )
