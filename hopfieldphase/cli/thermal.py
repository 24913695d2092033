"""`hopfieldphase thermal`: attention weights averaged at a temperature, against deterministic ones."""

from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

ATTENTION = "Attention"


def _option(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False, rich_help_panel=ATTENTION)


def thermal(
    alpha: Annotated[
        float, _option("A", "Tsallis index, above 0 and finite: 1 Gibbs, else escort averages.  [default: 2]")
    ] = 2.0,
    query: Annotated[
        str, _option("QUERY", "The query x: mean or pattern:k.  [default: pattern:0]")
    ] = "pattern:0",
    betas: Annotated[
        str | None,
        _option(
            "GRID",
            "start:stop:step, start:stop:xfactor, or a comma list.  [default: 1:1000000:x1.15]",
        ),
    ] = None,
    patterns: options.PatternFile = None,
    generator: options.Generator = None,
    M: options.PatternCount = None,
    d: options.Dimension = None,
    seed: options.Seed = None,
    realization: Annotated[
        int,
        typer.Option(
            metavar="K",
            help="Which pattern set of the seed.  [default: 0]",
            show_default=False,
            rich_help_panel=options.PATTERNS,
        ),
    ] = 0,
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
    """Compare thermal with deterministic attention of one query, against beta.

    The weights are averaged over the whole simplex or over single patterns, with the Gibbs measure and, for
    alpha other than 1, the escort measure of index alpha. All averages are exact. Writes the weights with
    their limits at zero temperature, and how the normalisation of the escort average grows.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.specs import PatternSpec
    from hopfieldphase.runs.thermal_spec import DEFAULT_BETAS, ThermalSpec

    source: dict[str, Any] = {
        "generator": generator, "path": patterns, "M": M, "d": d, "seed": seed, "clusters": clusters,
        "delta": delta, "noise": noise, "cosine": cosine, "epsilon": epsilon,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    study: dict[str, Any] = {
        "alpha": alpha, "query": query, "betas": betas or DEFAULT_BETAS, "realization": realization
    }  # fmt: skip
    spec = ThermalSpec(patterns=PatternSpec(**source), **study)
    console = Console(quiet=quiet, color=not no_color)
    run(spec, out, console, force=force, plot=not no_plot, as_json=json)
