"""The command tree; each family of commands has a file of its own."""

import sys
from typing import Annotated

import typer

from hopfieldphase import __version__
from hopfieldphase.cli import (
    app_command,
    attention,
    bench,
    branches,
    critical,
    diagram,
    doctor,
    explore,
    figures,
    info,
    learn,
    load_branches,
    reproduce,
    run,
    stability,
    sweep,
    thermal,
    validate,
    warmup,
)
from hopfieldphase.cli.console import write_line
from hopfieldphase.cli.options import Command, Group

app = typer.Typer(
    help="Statistical mechanics of modern Hopfield models and attention: phase diagrams one can trust.",
    epilog="Data goes to stdout, everything else to stderr. Exit codes: 0 done, 1 a check failed, 2 bad "
    "input, 3 done but some points did not converge, 130 interrupted.",
    cls=Group,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        write_line(sys.stdout, f"hopfieldphase {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Options of the program itself."""


app.add_typer(sweep.app, name="sweep")
branches.app.command("kappa", cls=Command, short_help="Follow minima in the memory load.")(
    load_branches.kappa
)
app.add_typer(branches.app, name="branches")
app.add_typer(attention.app, name="attention")
app.command("critical", cls=Command, short_help="List the critical points of one set of patterns.")(
    critical.critical
)
app.command("validate", cls=Command, short_help="Check every closed form against independent numerics.")(
    validate.validate
)
app.command("info", cls=Command, short_help="Show what a result folder or a file holds.")(info.info)
app.command("explore", cls=Command, short_help="Write a page that shows a result in the browser.")(
    explore.explore
)
app.command("app", cls=Command, short_help="Solve sweeps and landscapes live in the browser.")(
    app_command.app_command
)
app.command("bench", cls=Command, short_help="Time the main jobs on this machine.")(bench.bench)
app.command("phase-diagram", cls=Command, short_help="Map phases in two parameters, with their lines.")(
    diagram.phase_diagram
)
app.command("run", cls=Command, short_help="Run the study that a file describes.")(run.run)
app.command("figures", cls=Command, short_help="Regenerate the figures of the paper.")(figures.figures)
app.command("stability", cls=Command, short_help="Descend near a minimum with a fixed step.")(
    stability.stability
)
app.command("thermal", cls=Command, short_help="Compare thermal averages with attention.")(thermal.thermal)
app.command("reproduce", cls=Command, short_help="Measure the claims of the paper.")(reproduce.reproduce)
app.command("doctor", cls=Command, short_help="Show what this installation has and lacks.")(doctor.doctor)
app.command("warmup", cls=Command, short_help="Compile the kernels of the usual commands, once.")(
    warmup.warmup
)
app.add_typer(learn.app, name="learn")
