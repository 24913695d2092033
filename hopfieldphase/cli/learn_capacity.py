"""`hopfieldphase learn capacity`: Transformers trained to retrieve, at growing loads and temperatures."""

from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

MODELS = "Models"


def _option(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False, rich_help_panel=MODELS)


def capacity(
    preset: Annotated[str, _option("NAME", "quick or paper; other options come after.")] = "quick",
    alphas: Annotated[str | None, _option("GRID", "Tsallis indices.  [default: 1,1.5,2]")] = None,
    loads: Annotated[str | None, _option("GRID", "Numbers of memories M to measure at.")] = None,
    betas: Annotated[str | None, _option("GRID", "Inverse temperatures to measure at.")] = None,
    steps: Annotated[int | None, _option("N", "Training steps of each model.")] = None,
    examples: Annotated[int | None, _option("N", "Examples of each measurement.")] = None,
    realizations: Annotated[int | None, _option("N", "Seeds.  [default: 1]")] = None,
    seed: Annotated[int | None, _option("N", "First seed.  [default: 0]")] = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Train Transformers to retrieve from memories, and measure how reliability ends as the load grows.

    One model per index alpha, seed and task (one memory, or the mean of a cluster) is trained at beta = 1
    with 8 to 64 memories, and measured with up to 4096, and over beta. A killed run goes on where it was.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.core.errors import InputError
    from hopfieldphase.runs.capacity_spec import PRESETS, CapacitySpec

    if preset not in PRESETS:
        raise InputError(f"preset = {preset}: choose one of {', '.join(PRESETS)}")
    given = {
        "alphas": alphas, "loads": loads, "betas": betas, "steps": steps, "examples": examples,
        "realizations": realizations, "seed": seed,
    }  # fmt: skip
    chosen = {name: value for name, value in given.items() if value is not None}
    spec = CapacitySpec(**(PRESETS[preset] | chosen))
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)
