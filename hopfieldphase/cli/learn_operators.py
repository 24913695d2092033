"""`hopfieldphase learn operators`: Transformers that learn maps between heavy-tailed measures."""

from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

MODELS = "Models"


def _option(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False, rich_help_panel=MODELS)


def operators(
    preset: Annotated[str, _option("NAME", "smoke, small or paper.  [default: small]")] = "small",
    operator: Annotated[str | None, _option("NAME", "sheared-swap (default) or matrix-inverse.")] = None,
    family: Annotated[str | None, _option("NAME", "Marginals: pareto (default) or gaussian.")] = None,
    norm: Annotated[str | None, _option("NAME", "Placement of the norms: post (default) or pre.")] = None,
    kernels: Annotated[
        str | None, _option("LIST", "Of exponential, squared-elu, linear-elu, log-elu.  [default: all]")
    ] = None,
    transforms: Annotated[str | None, _option("LIST", "Of none, symlog.  [default: both]")] = None,
    points: Annotated[int | None, _option("N", "Points of an ensemble.")] = None,
    batch: Annotated[int | None, _option("N", "Trials of a training step.")] = None,
    steps: Annotated[int | None, _option("N", "Training steps of each model.")] = None,
    trials: Annotated[int | None, _option("N", "Trials that are scored.")] = None,
    minutes: Annotated[float | None, _option("N", "Train all models for N minutes, in fewer steps.")] = None,
    seed: Annotated[int | None, _option("N", "Of weights and data.  [default: 0]")] = None,
    device: Annotated[str | None, _option("NAME", "cpu (default) or cuda.")] = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Train Transformers to map ensembles of one law to those of another, and score them.

    One model per attention kernel and data transform. Scores are energy distances to fresh targets over the
    i.i.d. floor, and errors of Hill estimates; a collapse of the outputs is a result. A killed run goes on
    where it was. What does not fit into memory is refused; how long it takes is said before.
    """
    from hopfieldphase.cli.studies import check_extra, run
    from hopfieldphase.core.errors import InputError
    from hopfieldphase.runs.folder import read_summary
    from hopfieldphase.runs.operators_spec import PRESETS, OperatorsSpec
    from hopfieldphase.runs.studies import STUDIES

    if preset not in PRESETS:
        raise InputError(f"preset = {preset}: choose one of {', '.join(PRESETS)}")
    given: dict[str, Any] = {
        "operator": operator, "family": family, "norm": norm, "kernels": kernels, "transforms": transforms,
        "points": points, "batch": batch, "steps": steps, "trials": trials, "minutes": minutes, "seed": seed,
        "device": device,
    }  # fmt: skip
    chosen = {name: value for name, value in given.items() if value is not None}
    spec = OperatorsSpec(**(PRESETS[preset] | chosen))
    check_extra(STUDIES["operators"].measure)
    console = Console(quiet=quiet, color=not no_color)
    path = out or spec.default_folder
    if force or read_summary(path, spec.fingerprint, with_figure=not no_plot) is None:
        from hopfieldphase.learn.operator_study import estimated_seconds

        console.say(f"training takes about {_duration(estimated_seconds(spec))}")
    run(spec, out, console, force=force, plot=not no_plot, as_json=json)


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
