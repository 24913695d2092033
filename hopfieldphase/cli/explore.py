"""`hopfieldphase explore RESULT`: one page for the browser that shows a result."""

import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.core.errors import InputError


def explore(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="A result folder, or a .zarr or .nc dataset.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The page.  [default: explorer.html]",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = Path("explorer.html"),
    at: Annotated[
        list[str] | None,
        typer.Option(
            "--at",
            metavar="NAME=VALUE",
            help="Where the page opens, like realization=2 or beta=290; may be given several times.",
            show_default=False,
        ),
    ] = None,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Write one page that shows a result in any browser: no server, no network, under 5 MB.

    Phase map, branch diagram, free energies and weights of the chosen state are linked, with a slider for
    every dimension. Shown are sweeps, grids, branches and phase diagrams.
    """
    if find_spec("bokeh") is None:
        raise InputError("bokeh is not installed: run `pip install 'hopfieldphase[explore]'`")
    from hopfieldphase.explore.page import write_page
    from hopfieldphase.explore.reading import read, view_of

    console = Console(quiet=quiet, color=not no_color)
    wanted = _position(at or [])
    _check_target(out)
    view = write_page(view_of(*read(result)), out, wanted, str(result))
    for note in view.notes:
        console.warn(f"note: {note}")
    size = out.stat().st_size / 1e6
    console.report(f"{view.title}: {', '.join(view.facts)}" if view.facts else view.title)
    console.say(f"wrote {out} ({size:.1f} MB); open it in a browser, like `xdg-open {shlex.quote(str(out))}`")


def _position(words: list[str]) -> dict[str, str]:
    found = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not (name and sign and value):
            raise InputError(f"--at {word} has no value: write NAME=VALUE, like beta=290")
        found[name] = value
    return found


def _check_target(out: Path) -> None:
    """Said before anything is read: reading a large result takes its time."""
    if out.is_dir():
        raise InputError(f"{out} is a folder: give the name of a file with -o, like explorer.html")
    if not out.parent.is_dir():
        raise InputError(f"{out.parent} is not a folder: create it, or choose another one with -o")
