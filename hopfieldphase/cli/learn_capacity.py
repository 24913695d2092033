"""`hopfieldphase learn capacity` and `learn temperature`: Transformers that are trained to retrieve."""

from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

MODELS = "Models"


def _option(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False, rich_help_panel=MODELS)


Preset = Annotated[str, _option("NAME", "quick or paper; other options come after.  [default: quick]")]
Maps = Annotated[str | None, _option("NAMES", "Attention maps, like softmax,entmax-1.5,asentmax.")]
Tasks = Annotated[str | None, _option("NAMES", "selective, uniform or both.  [default: both]")]
Steps = Annotated[int | None, _option("N", "Training steps of each model.")]
Examples = Annotated[int | None, _option("N", "Examples of each measurement.")]
Realizations = Annotated[int | None, _option("N", "Training seeds.")]
Seed = Annotated[int | None, _option("N", "First seed.  [default: 0]")]


def capacity(
    preset: Preset = "quick",
    tasks: Tasks = None,
    maps: Maps = None,
    loads: Annotated[str | None, _option("GRID", "Numbers of memories M to measure at.")] = None,
    steps: Steps = None,
    examples: Examples = None,
    realizations: Realizations = None,
    seed: Seed = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Train Transformers to retrieve from memories, and measure how reliability ends as the load grows.

    One model per task (one memory, or the mean of a cluster), map and seed is trained at beta = 1 with 8 to
    64 memories, and measured with up to 4096. A killed run goes on where it was.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.capacity_spec import PRESETS, CapacitySpec

    given = {
        "tasks": tasks, "maps": maps, "loads": loads, "steps": steps, "examples": examples,
        "realizations": realizations, "seed": seed,
    }  # fmt: skip
    spec = CapacitySpec(**_chosen(PRESETS, preset, given))
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


def temperature(
    preset: Preset = "quick",
    protocols: Annotated[str | None, _option("NAMES", "frozen, matched or both.  [default: both]")] = None,
    tasks: Tasks = None,
    maps: Maps = None,
    betas: Annotated[str | None, _option("GRID", "Inverse temperatures.")] = None,
    load: Annotated[int | None, _option("M", "Memories when measured.  [default: 128]")] = None,
    steps: Steps = None,
    examples: Examples = None,
    realizations: Realizations = None,
    seed: Seed = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Measure trained Transformers over the inverse temperature, and find the phases of their keys.

    Frozen models are trained at beta = 1 and used at every beta, matched ones are trained at the beta of
    use. For the frozen ones the free energy of their own keys says where they work: below, in or above the
    region of coexisting minima. A killed run goes on where it was.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.temperature_spec import PRESETS, TemperatureSpec

    given = {
        "protocols": protocols, "tasks": tasks, "maps": maps, "betas": betas, "load": load, "steps": steps,
        "examples": examples, "realizations": realizations, "seed": seed,
    }  # fmt: skip
    spec = TemperatureSpec(**_chosen(PRESETS, preset, given))
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


def _chosen(presets: dict[str, dict[str, Any]], preset: str, given: dict[str, Any]) -> dict[str, Any]:
    from hopfieldphase.core.errors import InputError

    if preset not in presets:
        raise InputError(f"preset = {preset}: choose one of {', '.join(presets)}")
    return presets[preset] | {name: value for name, value in given.items() if value is not None}
