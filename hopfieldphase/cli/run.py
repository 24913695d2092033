"""`hopfieldphase run FILE`: the study that a file describes."""

from pathlib import Path
from typing import Annotated

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console


def run(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A study file, like sweeps/figure-2.toml or any spec.toml."),
    ],
    reduced: options.Reduced = False,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Run the study that a TOML file describes.

    The spec.toml of every result folder is such a file, and computes the same result again. What is left out
    of a file gets its default.
    """
    from hopfieldphase.cli.studies import run as run_spec
    from hopfieldphase.runs.studies import read_spec

    console = Console(quiet=quiet, color=not no_color)
    run_spec(read_spec(file, reduced=reduced), out, console, force=force, plot=not no_plot, as_json=json)
