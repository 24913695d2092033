"""`hopfieldphase app`: sweeps, branches and landscapes solved live, in the browser."""

from importlib.util import find_spec
from typing import Annotated

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.core.errors import InputError


def app_command(
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Where it listens; 0 takes a free one.")
    ] = 5006,
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open the browser.")] = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Solve sweeps, exact branches and landscapes live while patterns, alpha and beta are changed.

    A page for the browser, served on this machine alone (127.0.0.1) until Ctrl-C. What it shows can be saved
    as a study file for `hopfieldphase run`.
    """
    if find_spec("panel") is None:
        raise InputError("panel is not installed: run `pip install 'hopfieldphase[app]'`")
    console = Console(quiet=quiet, color=not no_color)
    from hopfieldphase.explore.app import ADDRESS, server

    running = server(port)
    address = f"http://{ADDRESS}:{running.port}/"
    console.say(f"the app is at {address}; Ctrl-C ends it")
    running.start()
    if not no_open:
        running.io_loop.add_callback(running.show, "/")
    running.io_loop.start()
    running.stop()
