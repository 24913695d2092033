"""`hopfieldphase phase-diagram`: maps and lines over β and a second parameter."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.study import draw, run_study, warn_of
from hopfieldphase.core.errors import InputError

if TYPE_CHECKING:
    from hopfieldphase.runs.diagram_spec import DiagramSpec

AXES, QUERIES = "Axes", "Queries"


def _option(group: str, metavar: str, text: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel=group)


def phase_diagram(
    y: Annotated[str, _option(AXES, "AXIS", "Second axis: kappa, alpha, noise-strength or epsilon.")],
    x: Annotated[str, _option(AXES, "AXIS", "First axis: beta.  [default: beta]")] = "beta",
    betas: Annotated[
        str | None,
        _option(
            AXES,
            "GRID",
            "Cell centres in beta: start:stop:step, start:stop:xfactor, or a comma list.  [default: a range "
            "suggested from the patterns]",
        ),
    ] = None,
    y_values: Annotated[
        str | None,
        _option(
            AXES,
            "GRID",
            "Cell centres on the second axis.  [default: kappa 0.1:0.28:0.01, alpha 0.5:2.875:0.125, "
            "noise-strength 0.01:0.2:0.01, epsilon 0.03:0.87:0.04]",
        ),
    ] = None,
    alpha: Annotated[
        float | None, _option(AXES, "A", "Tsallis index, above 0 and finite.  [default: 2]")
    ] = None,
    realizations: Annotated[
        int, _option(AXES, "R", "Pattern sets over which the maps are averaged.  [default: 1]")
    ] = 1,
    queries: Annotated[int, _option(QUERIES, "N", "Noisy queries in each cell.  [default: 16]")] = 16,
    query_noise: Annotated[
        float, _option(QUERIES, "X", "Norm of their noise relative to the pattern.  [default: 0.3]")
    ] = 0.3,
    patterns: options.PatternFile = None,
    generator: Annotated[
        str | None,
        _option(
            options.PATTERNS,
            "NAME",
            "Or from a generator that has the second axis as an option; for alpha any.  [default: epsilon "
            "two_keys; alpha equicorrelated, M 10, d 16; noise-strength clustered, M 40, d 24; kappa "
            "clustered, d 16]",
        ),
    ] = None,
    M: Annotated[int | None, _option(options.PATTERNS, "M", "Number of patterns.", "--M")] = None,
    d: Annotated[int | None, _option(options.PATTERNS, "D", "Their dimension.", "--d")] = None,
    seed: options.Seed = None,
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
    """Map what is stable in beta and a second parameter, and follow the lines between the phases.

    Every cell has the largest overlap, the IPR, the number of stable states found, the retrieval of noisy
    queries and the hysteresis. Spinodal, coexistence and exact-retrieval lines are followed as curves of
    equations, with closed forms beside them; in kappa they are steps, one for each number of patterns.
    """
    from hopfieldphase.runs.diagram_spec import diagram_spec

    if x != "beta":
        raise InputError(f"x = {x!r} is unknown: the first axis is beta")
    source: dict[str, Any] = {
        "generator": generator, "path": patterns, "M": M, "d": d, "seed": seed, "clusters": clusters,
        "delta": delta, "noise": noise, "cosine": cosine, "epsilon": epsilon,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    spec = diagram_spec(
        y, source, alpha, betas=betas, y_values=y_values, realizations=realizations, queries=queries,
        query_noise=query_noise,
    )  # fmt: skip
    console = Console(quiet=quiet, color=not no_color)
    run_spec(spec, out, console, force=force, plot=not no_plot, as_json=json)


def run_spec(
    spec: "DiagramSpec", out: Path | None, console: Console, *, force: bool, plot: bool, as_json: bool
) -> None:
    """Compute a diagram, or show the finished one; leave with exit code 3 if some cell or line failed."""
    from hopfieldphase.data.diagram import diagram_lines
    from hopfieldphase.runs.diagram import compute_diagram, resolve_diagram

    spec = resolve_diagram(spec)

    def compute(path: Path) -> dict[str, Any]:
        drawn = partial(draw, "plotting.diagram:plot_diagram") if plot else None
        with console.progress("rows and lines", len(spec.y_values)) as progress:
            return compute_diagram(spec, path, draw=drawn, progress=progress)

    run_study(
        spec, out, console, headline=_headline(spec), compute=compute, lines=diagram_lines,
        name_failures=_name_failures, failures=("failed_cells", "line_failures"), force=force, plot=plot,
        as_json=as_json,
    )  # fmt: skip


def _headline(spec: "DiagramSpec") -> str:
    from hopfieldphase.runs.ranges import format_grid, format_number

    source = spec.patterns
    facts = [] if spec.y == "alpha" else [f"alpha {format_number(spec.alpha)}"]
    facts += [str(source.path or source.generator)]
    sizes = ("d",) if spec.y == "kappa" else ("M", "d")
    facts += [f"{name} {getattr(source, name)}" for name in sizes if getattr(source, name) is not None]
    facts += [f"beta {format_grid(spec.betas or ())}", f"{spec.y} {format_grid(spec.y_values)}"]
    return f"phase diagram: {', '.join(facts)}"


def _name_failures(summary: dict[str, Any], console: Console) -> None:
    failed, parameter = summary["failed_cells"], summary["parameter"]

    def told(cell: dict[str, Any]) -> str:
        place = f"realization {cell['realization']}, {parameter} {cell[parameter]:g}, beta {cell['beta']:g}"
        return f"  {place}: {cell['status'].replace('_', ' ')}"

    warn_of(
        failed, console, told, f"{len(failed)} of {summary['cells']} cells failed (hatched in the figure)"
    )
    warn_of(summary["line_failures"], console, "warning: not followed: {}".format)
