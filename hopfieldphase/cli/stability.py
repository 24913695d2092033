"""`hopfieldphase stability`: which step sizes of gradient descent are stable near a minimum."""

from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

DESCENT = "Descent"


def _option(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False, rich_help_panel=DESCENT)


def stability(
    alpha: Annotated[
        float | None,
        _option("A", "Tsallis index, above 0: 1 softmax, 2 sparsemax, inf hardmax.  [default: 2]"),
    ] = None,
    beta: Annotated[float | None, _option("BETA", "Inverse temperature.  [default: 300]")] = None,
    start: Annotated[
        str | None,
        _option("START", "What is relaxed to the minimum x*: mean or pattern:k.  [default: pattern:0]"),
    ] = None,
    steps: Annotated[
        str | None,
        _option(
            "GRID",
            "Step sizes in units of the critical one, 2/lambda_max: a comma list or a range.  "
            "[default: 0.5,0.9,1,1.02,1.1]",
        ),
    ] = None,
    amplitude: Annotated[
        float | None,
        _option("X", "Distance of the start from x*, along the soft direction.  [default: 0.01]"),
    ] = None,
    iterations: Annotated[int | None, _option("N", "Limit on the iterations.  [default: 500]")] = None,
    patterns: options.PatternFile = None,
    generator: options.Generator = None,
    M: options.PatternCount = None,
    d: options.Dimension = None,
    seed: options.Seed = None,
    realization: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Which pattern set of the seed.  [default: 0]",
            show_default=False,
            rich_help_panel=options.PATTERNS,
        ),
    ] = None,
    clusters: options.Clusters = None,
    delta: options.Delta = None,
    noise: options.Noise = None,
    cosine: options.Cosine = None,
    epsilon: options.Epsilon = None,
    degrees_of_freedom: options.Tail = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Descend with fixed step sizes from near a minimum x*, and compare with the modes of its Hessian.

    A mode of curvature lambda shrinks by |1 - eta lambda| per step, so that step sizes below 2/lambda_max
    are stable. Writes the paths, the measured rate of every mode, and for unstable step sizes the iteration
    at which growth sets in, measured and predicted.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.specs import PatternSpec
    from hopfieldphase.runs.stability_spec import StabilitySpec

    source: dict[str, Any] = {
        "generator": generator, "path": patterns, "M": M, "d": d, "seed": seed, "clusters": clusters,
        "delta": delta, "noise": noise, "cosine": cosine, "epsilon": epsilon,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    study: dict[str, Any] = {
        "alpha": alpha, "beta": beta, "start": start, "steps": steps, "amplitude": amplitude,
        "iterations": iterations, "realization": realization,
    }  # fmt: skip
    given = {name: value for name, value in study.items() if value is not None}
    spec = StabilitySpec(patterns=PatternSpec(**source), **given)
    console = Console(quiet=quiet, color=not no_color)
    run(spec, out, console, force=force, plot=not no_plot, as_json=json)
