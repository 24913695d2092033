"""`hopfieldphase branches …`: every branch of minima, where it ends, and which one wins."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.study import draw, run_study, warn_of

if TYPE_CHECKING:
    from hopfieldphase.runs.branch_spec import BranchSpec

BRANCHES = "Branches"

app = typer.Typer(
    help="Find the minima at one parameter value and follow each through a range.",
    cls=options.Group,
    rich_markup_mode=None,
)


def _option(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False, rich_help_panel=BRANCHES)


@app.command("beta", cls=options.Command, short_help="Follow minima in the inverse temperature.")
def beta(
    alpha: Annotated[
        float | None,
        _option(
            "A",
            "Tsallis index, above 0 and finite; 2 is followed exactly. With --attention, that of the map.  "
            "[default: 2]",
        ),
    ] = None,
    attention: options.Attention = None,
    k: options.TopCount = None,
    p: options.TopMass = None,
    gamma: options.Gamma = None,
    budget: options.Budget = None,
    caps: options.Caps = None,
    at: Annotated[
        float | None,
        _option(
            "BETA",
            "Reference at which the minima are searched.  [default: 290 (alpha 2) and 140 (alpha 1) for the "
            "default patterns, else the middle of the range]",
        ),
    ] = None,
    betas: Annotated[
        str | None,
        _option(
            "GRID",
            "Range that is followed and grid of the curves: start:stop:step, start:stop:xfactor, or a comma "
            "list.  [default: alpha 2: from 0 to inf; else 20:400:2; for measured patterns a suggested one]",
        ),
    ] = None,
    top: Annotated[
        str | None,
        _option("N", "Follow the N minima of largest overlap, or all.  [default: all; with --attention 10]"),
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
    """Find the minima at a reference beta and follow the branch of each.

    At alpha = 2 exactly, from event to event; at other alpha through folds and along unstable arms. Writes
    the branches with their special points, a figure, and a summary that names what ends each branch and
    where free energies are equal. With an attention map these are the fixed points of its update, with all
    ways in which they lose stability.
    """
    from hopfieldphase.cli.studies import run as run_any
    from hopfieldphase.runs.branch_spec import BranchSpec
    from hopfieldphase.runs.map_branches_spec import MapBranchesSpec
    from hopfieldphase.runs.specs import PatternSpec

    source: dict[str, Any] = {
        "generator": generator, "path": patterns, "M": M, "d": d, "seed": seed, "clusters": clusters,
        "delta": delta, "noise": noise, "cosine": cosine, "epsilon": epsilon,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    study: dict[str, Any] = options.attention_source(
        attention, alpha, k=k, p=p, gamma=gamma, budget=budget, caps=caps
    )
    study |= {"at": at, "betas": betas, "realization": realization}
    if top is not None:
        study["top"] = top
    console = Console(quiet=quiet, color=not no_color)
    if attention is not None:
        map_spec = MapBranchesSpec(patterns=PatternSpec(**source), **study)
        run_any(map_spec, out, console, force=force, plot=not no_plot, as_json=json)
        return
    spec = BranchSpec(patterns=PatternSpec(**source), **study)
    run_spec(spec, out, console, force=force, plot=not no_plot, as_json=json, chosen=at is None)


def run_spec(
    spec: "BranchSpec",
    out: Path | None,
    console: Console,
    *,
    force: bool,
    plot: bool,
    as_json: bool,
    chosen: bool = False,
) -> None:
    """Follow the branches, or show the finished result; leave with exit code 3 if one was not followed."""
    from hopfieldphase.data.branch_summary import branches_lines

    if not spec.is_resolved:
        from hopfieldphase.runs.branches import resolve

        spec = resolve(spec)

    headline = _headline(spec)
    if chosen:
        headline += f"\nno --at given: {spec.reference_origin}"
    run_study(
        spec, out, console, headline=headline, compute=lambda path: _compute(spec, path, plot),
        lines=branches_lines, name_failures=_name_failures, force=force, plot=plot, as_json=as_json,
    )  # fmt: skip


def _compute(spec: "BranchSpec", path: Path, plot: bool) -> dict[str, Any]:
    from hopfieldphase.runs.branches import compute_branches

    return compute_branches(
        spec, path, draw=partial(draw, "plotting.branches:plot_branches") if plot else None
    )


def _headline(spec: "BranchSpec") -> str:
    from hopfieldphase.runs.ranges import format_grid, format_number

    source = spec.patterns
    facts = [f"alpha {format_number(spec.alpha)}", str(source.path or source.generator)]
    facts += [f"{name} {getattr(source, name)}" for name in ("M", "d") if getattr(source, name) is not None]
    facts += [f"at beta {spec.at:.12g}"]
    facts += ["all beta" if spec.betas is None else f"beta {format_grid(spec.betas)}"]
    return f"branches beta: {', '.join(facts)}"


def _name_failures(summary: dict[str, Any], console: Console) -> None:
    def told(point: dict[str, Any]) -> str:
        where = "" if point["beta"] is None else f", {point['type']} at beta {point['beta']:.12g}"
        return f"  branch {point['branch']}{where}: {point['status'].replace('_', ' ')}"

    failed = summary["unconverged"]
    warn_of(failed, console, told, f"{len(failed)} special points were not located as asked")
    if failed:
        console.warn("try another reference with --at, or a smaller range with --betas")
