"""`hopfieldphase attention simplex|dispersion|regression|smoothness`: what attention maps do."""

from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

MAPS, STUDY = "Maps", "Study"

app = typer.Typer(
    help="Show what attention maps do: supports, dispersion, regression, smoothness.",
    cls=options.Group,
    rich_markup_mode=None,
)


def _option(group: str, metavar: str, text: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel=group)


Alpha = Annotated[
    float | None, _option(MAPS, "A", "Tsallis index of entmax, from 1.01 to 2.  [default: 1.5]")
]
Share = Annotated[
    float | None, _option(MAPS, "P", "Share of the softmax mass of top-p.  [default: 0.8]", "--p")
]
Seed = Annotated[int | None, _option(STUDY, "N", "Seed of everything random.  [default: 0]")]


@app.command("simplex", cls=options.Command, short_help="Scan maps on two and three scores.")
def simplex(
    alpha: Alpha = None,
    k: Annotated[int | None, _option(MAPS, "K", "Support of top-k, 1 or 2.  [default: 2]", "--k")] = None,
    p: Share = None,
    caps: Annotated[
        float | None, _option(MAPS, "U", "Largest weight of constrained sparsemax, from 0.5.  [default: 0.6]")
    ] = None,
    reach: Annotated[
        float | None, _option(STUDY, "X", "Largest coordinate of the plane of scores.  [default: 2.5]")
    ] = None,
    points: Annotated[int | None, _option(STUDY, "N", "Points along its sides.  [default: 241]")] = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Scan softmax, entmax, sparsemax, top-k, top-p and a capped map over differences of scores.

    Writes weights, derivatives, support sizes and Jacobians on two and three scores, with the boundaries
    between supports, bisected to rounding, and the jumps of the weights across them.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.simplex_maps_spec import SimplexMapsSpec

    spec = SimplexMapsSpec(**_given(alpha=alpha, k=k, p=p, caps=caps, reach=reach, points=points))
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


@app.command("dispersion", cls=options.Command, short_help="Follow entropy and support in long contexts.")
def dispersion(
    alpha: Alpha = None,
    slope: Annotated[float | None, _option(MAPS, "S", "Slope of scalable softmax.  [default: 1]")] = None,
    trained_length: Annotated[
        int | None, _option(MAPS, "L", "Length that YaRN extends.  [default: 64]", "--trained-length")
    ] = None,
    spread: Annotated[float | None, _option(STUDY, "X", "Spread of random scores.  [default: 5.7]")] = None,
    relevant: Annotated[
        int | None,
        _option(STUDY, "K", "Relevant scores above all others; also the k of top-k.  [default: 4]"),
    ] = None,
    gap: Annotated[float | None, _option(STUDY, "X", "Their gap to the others.  [default: 1]")] = None,
    mass: Annotated[float | None, _option(STUDY, "M", "Weight they are to hold.  [default: 0.9]")] = None,
    lengths: Annotated[
        str | None, _option(STUDY, "GRID", "Numbers of scores.  [default: 2,5,10,20,...,1000000]")
    ] = None,
    draws: Annotated[
        int | None, _option(STUDY, "N", "Random contexts of each length.  [default: 10]")
    ] = None,
    context: Annotated[
        int | None, _option(STUDY, "N", "Scores to which one more is appended.  [default: 64]")
    ] = None,
    seed: Seed = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Measure how attention spreads as the context grows, against bounds and closed forms.

    Random scores of bounded spread; a few relevant scores above all others, with the gap that holds a weight
    and the gap that isolates them; and what one more token changes.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.dispersion_spec import DispersionSpec

    spec = DispersionSpec(
        **_given(
            alpha=alpha, slope=slope, trained_length=trained_length, spread=spread, relevant=relevant,
            gap=gap, mass=mass, lengths=lengths, draws=draws, context=context, seed=seed,
        )
    )  # fmt: skip
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


@app.command("regression", cls=options.Command, short_help="Compare attention with kernel regression.")
def regression(
    temperature: Annotated[
        float | None, _option(STUDY, "G", "Temperature of the fits shown.  [default: 0.01]")
    ] = None,
    temperatures: Annotated[
        str | None, _option(STUDY, "GRID", "Over which errors are measured.  [default: 0.0001:0.3:x1.2]")
    ] = None,
    keys: Annotated[int | None, _option(STUDY, "N", "Keys on the circle.  [default: 300]")] = None,
    queries: Annotated[int | None, _option(STUDY, "N", "Queries.  [default: 361]")] = None,
    concentration: Annotated[
        float | None, _option(STUDY, "X", "Of the keys around angle 0.  [default: 1.5]")
    ] = None,
    noise: Annotated[float | None, _option(STUDY, "X", "Of the values.  [default: 0.25]")] = None,
    dimensions: Annotated[
        str | None, _option(STUDY, "LIST", "Where the identity is measured as well.  [default: 2,16,64]")
    ] = None,
    seed: Seed = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Fit noisy values on a circle by attention, and compare it with Nadaraya-Watson regression.

    On unit queries and keys attention of alpha = 1 + 1/r is regression with the kernel (1 - u^2/h^2)^r, whose
    bandwidth h follows the density of the keys. Writes fits, bandwidths, and how exact the identity is.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.regression_spec import RegressionSpec

    spec = RegressionSpec(
        **_given(
            temperature=temperature, temperatures=temperatures, keys=keys, queries=queries,
            concentration=concentration, noise=noise, dimensions=dimensions, seed=seed,
        )
    )  # fmt: skip
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


@app.command("smoothness", cls=options.Command, short_help="Measure kinks and jumps of attention maps.")
def smoothness(
    alphas: Annotated[
        str | None, _option(MAPS, "GRID", "Indices whose exponents are fitted.  [default: 1.1,...,4]")
    ] = None,
    alpha: Alpha = None,
    k: Annotated[
        int | None, _option(MAPS, "K", "Support of top-k and capped entmax, up to 3.  [default: 2]", "--k")
    ] = None,
    p: Share = None,
    caps: Annotated[
        float | None, _option(MAPS, "U", "Largest weight of the constrained maps.  [default: 0.65]")
    ] = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Measure how smooth attention maps are where their pieces meet.

    Fits the exponent with which a weight enters the support for each alpha, and the order of continuity of
    eleven maps where the support changes, a weight reaches its cap, or patterns are exchanged.
    """
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.smoothness_spec import SmoothnessSpec

    spec = SmoothnessSpec(**_given(alphas=alphas, alpha=alpha, k=k, p=p, caps=caps))
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


def _given(**values: Any) -> dict[str, Any]:
    """The options that are given; the spec has the defaults of the others."""
    return {name: value for name, value in values.items() if value is not None}
