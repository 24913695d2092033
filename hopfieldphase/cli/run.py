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
    executor: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Where the sweeps of a grid are computed: serial, processes or dask.  [default: serial]",
            show_default=False,
            rich_help_panel=options.WORKERS,
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many processes, or Dask workers on this machine.  [default: one per core]",
            show_default=False,
            rich_help_panel=options.WORKERS,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A Dask scheduler that is running, like tcp://10.0.0.1:8786.",
            show_default=False,
            rich_help_panel=options.WORKERS,
        ),
    ] = None,
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
    of a file gets its default. The sweeps of a grid (study = "grid") can be spread over processes or
    machines; what is finished is kept, whatever ends the run, and the same command computes the rest.
    """
    from hopfieldphase.cli.studies import run as run_spec
    from hopfieldphase.runs.studies import read_spec

    console = Console(quiet=quiet, color=not no_color)
    spec = read_spec(file, reduced=reduced)
    given = {"executor": executor, "workers": workers, "scheduler": scheduler}
    given = {name: value for name, value in given.items() if value is not None}
    run_spec(spec, out, console, force=force, plot=not no_plot, as_json=json, spread=given)
