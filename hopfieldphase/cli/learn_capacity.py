"""`hopfieldphase learn capacity`: Transformers trained to retrieve, at growing loads and temperatures."""

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

if TYPE_CHECKING:
    from hopfieldphase.runs.capacity_spec import CapacitySpec

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
    run_spec(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


def run_spec(
    spec: "CapacitySpec", out: Path | None, console: Console, *, force: bool, plot: bool, as_json: bool
) -> None:
    """Train and measure, or show the finished result."""
    from hopfieldphase.cli.study import run_study
    from hopfieldphase.core.errors import InputError
    from hopfieldphase.data.capacity import capacity_lines

    if find_spec("torch") is None:
        raise InputError("torch is not installed: run `pip install 'hopfieldphase[learn]'`")
    run_study(
        spec,
        out,
        console,
        announce=lambda: console.say(spec.headline),
        compute=lambda path: _compute(spec, path, console, plot),
        lines=capacity_lines,
        name_failures=lambda *_: None,
        force=force,
        plot=plot,
        as_json=as_json,
    )


def _compute(spec: "CapacitySpec", path: Path, console: Console, plot: bool) -> dict[str, Any]:
    from hopfieldphase.cli.studies import draw
    from hopfieldphase.kernels.compilation import on_first_compilation
    from hopfieldphase.learn.capacity_study import compute_capacity
    from hopfieldphase.plotting.capacity import plot_capacity

    on_first_compilation(lambda: console.say("compiling kernels, once per version"))
    with console.progress("training steps", 1) as progress:
        drawn = partial(draw, plot_capacity) if plot else None
        return compute_capacity(spec, path, draw=drawn, progress=progress)
