"""`hopfieldphase branches kappa`: branches of minima while patterns join and leave."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.branches import BRANCHES
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.study import draw, run_study, warn_of

if TYPE_CHECKING:
    from hopfieldphase.runs.load_branch_spec import LoadBranchSpec


def _option(metavar: str, text: str, *names: str, group: str = BRANCHES) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel=group)


def kappa(
    alpha: Annotated[
        float,
        _option("A", "Tsallis index, above 0; above 1 branches are exact to the pattern.  [default: 2]"),
    ] = 2.0,
    beta: Annotated[float, _option("B", "Inverse temperature, above 0.  [default: 180]")] = 180.0,
    at: Annotated[
        float | None,
        _option(
            "KAPPA",
            "Reference at which the minima are searched.  [default: 0.12 (alpha 2) and 0.08 (alpha 1) in the "
            "default range, else the middle of the range]",
        ),
    ] = None,
    kappas: Annotated[
        str | None,
        _option(
            "GRID",
            "Range that is followed and grid of the curves: start:stop:step, start:stop:xfactor, or a comma "
            "list of memory loads log(M)/d.  [default: 0.06:0.19:0.005]",
        ),
    ] = None,
    top: Annotated[str, _option("N", "Follow the N minima of largest overlap, or all.  [default: 5]")] = "5",
    generator: Annotated[
        str | None,
        _option(
            "NAME",
            "Endless sequence of patterns: clustered, spherical, gaussian or heavy_tailed.  "
            "[default: clustered]",
            group=options.PATTERNS,
        ),
    ] = None,
    d: Annotated[
        int | None,
        _option(
            "D",
            "Their dimension; M = exp(kappa d) of them are stored.  [default: 48]",
            "--d",
            group=options.PATTERNS,
        ),
    ] = None,
    seed: options.Seed = None,
    realization: Annotated[
        int, _option("K", "Which sequence of the seed.  [default: 0]", group=options.PATTERNS)
    ] = 0,
    clusters: options.Clusters = None,
    delta: options.Delta = None,
    noise: options.Noise = None,
    degrees_of_freedom: options.Tail = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Find the minima at a reference kappa and follow each while patterns join and leave.

    Above alpha = 1 exactly, to the single pattern that changes the state or makes it jump; at other alpha in
    smooth steps. Writes the branches with their special points, a figure, and a summary that names what ends
    each branch and where two free energies swap their order.
    """
    from hopfieldphase.runs.kappa_spec import SequenceSpec
    from hopfieldphase.runs.load_branch_spec import LoadBranchSpec

    source: dict[str, Any] = {
        "generator": generator, "d": d, "seed": seed, "clusters": clusters, "delta": delta, "noise": noise,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    study: dict[str, Any] = {"alpha": alpha, "beta": beta, "at": at, "top": top, "realization": realization}
    if kappas is not None:
        study["kappas"] = kappas
    spec = LoadBranchSpec(patterns=SequenceSpec(**source), **study)
    console = Console(quiet=quiet, color=not no_color)
    run_spec(spec, out, console, force=force, plot=not no_plot, as_json=json, chosen=at is None)


def run_spec(
    spec: "LoadBranchSpec",
    out: Path | None,
    console: Console,
    *,
    force: bool,
    plot: bool,
    as_json: bool,
    chosen: bool = False,
) -> None:
    """Follow the branches, or show the finished result; leave with exit code 3 if a state is no minimum."""
    from hopfieldphase.data.load_branch_summary import load_branches_lines

    headline = _headline(spec)
    if chosen:
        headline += f"\nno --at given: kappa {spec.at:.12g}"
    run_study(
        spec, out, console, headline=headline, compute=lambda path: _compute(spec, path, plot),
        lines=load_branches_lines, name_failures=_name_failures, force=force, plot=plot, as_json=as_json,
    )  # fmt: skip


def _compute(spec: "LoadBranchSpec", path: Path, plot: bool) -> dict[str, Any]:
    from hopfieldphase.runs.load_branches import compute_load_branches

    return compute_load_branches(
        spec, path, draw=partial(draw, "plotting.load_branches:plot_load_branches") if plot else None
    )


def _headline(spec: "LoadBranchSpec") -> str:
    from hopfieldphase.runs.ranges import format_grid, format_number

    facts = [
        f"alpha {format_number(spec.alpha)}",
        f"beta {format_number(spec.beta)}",
        f"{spec.patterns.generator}, d {spec.patterns.d}",
        f"at kappa {spec.at:.12g}",
        f"kappa {format_grid(spec.kappas)}",
    ]
    return f"branches kappa: {', '.join(facts)}"


def _name_failures(summary: dict[str, Any], console: Console) -> None:
    def told(point: dict[str, Any]) -> str:
        where = "" if point["M"] is None else f", {point['type']} at M = {point['M']}"
        return f"  branch {point['branch']}{where}: {point['status'].replace('_', ' ')}"

    failed = summary["unconverged"]
    warn_of(failed, console, told, f"{len(failed)} states are no verified minima")
    if failed:
        console.warn("try another --beta, or a smaller range with --kappas")
