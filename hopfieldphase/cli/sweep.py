"""`hopfieldphase sweep …`: minima followed up and down in a control parameter."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import Interrupted
from hopfieldphase.cli.study import draw, run_study, warn_of

if TYPE_CHECKING:
    from hopfieldphase.runs.kappa_spec import KappaSpec
    from hopfieldphase.runs.specs import SweepSpec


app = typer.Typer(
    help="Follow minima up and down in a control parameter.", cls=options.Group, rich_markup_mode=None
)


@app.command("beta", cls=options.Command, short_help="Sweep the inverse temperature.")
def beta(
    alpha: options.FamilyAlpha = None,
    attention: options.Attention = None,
    k: options.TopCount = None,
    p: options.TopMass = None,
    gamma: options.Gamma = None,
    budget: options.Budget = None,
    caps: options.Caps = None,
    betas: Annotated[
        str | None,
        typer.Option(
            metavar="GRID",
            help="Inverse temperatures: start:stop:step (stop included when hit), start:stop:xfactor, or a "
            "comma list.  [default: 20:400:2; for measured patterns a suggested range]",
            show_default=False,
            rich_help_panel=options.SWEEP,
        ),
    ] = None,
    realizations: options.Realizations = None,
    start_up: options.StartUp = "mean",
    start_down: options.StartDown = "pattern:0",
    solver: options.Solver = "auto",
    tol: options.Tol = None,
    device: options.Device = "cpu",
    patterns: options.PatternFile = None,
    generator: options.Generator = None,
    M: options.PatternCount = None,
    d: options.Dimension = None,
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
    states: options.States = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Sweep the inverse temperature up and down and look for hysteresis.

    Writes a labelled dataset, a figure, a summary in words and numbers, and all options. The defaults are
    the data and the grid of Figure 2(a, b) of "On the Statistical Mechanics of Attention".
    """
    from hopfieldphase.runs.specs import PatternSpec, SweepSpec

    source: dict[str, Any] = {
        "generator": generator, "path": patterns, "M": M, "d": d, "seed": seed, "clusters": clusters,
        "delta": delta, "noise": noise, "cosine": cosine, "epsilon": epsilon,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    study: dict[str, Any] = {
        **options.attention_source(attention, alpha, k=k, p=p, gamma=gamma, budget=budget, caps=caps),
        "betas": betas, "realizations": realizations, "start_up": start_up,
        "start_down": start_down, "solver": solver, "tol": tol, "keep_states": states, "device": device,
    }  # fmt: skip
    spec = SweepSpec(patterns=PatternSpec(**source), **study)
    run_spec(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


@app.command("kappa", cls=options.Command, short_help="Sweep the memory load.")
def kappa(
    alpha: options.Alpha = 2.0,
    beta: Annotated[
        float,
        typer.Option(
            metavar="B",
            help="Inverse temperature, above 0.  [default: 180]",
            show_default=False,
            rich_help_panel=options.SWEEP,
        ),
    ] = 180.0,
    kappas: Annotated[
        str | None,
        typer.Option(
            metavar="GRID",
            help="Memory loads log(M)/d: start:stop:step (stop included when hit), start:stop:xfactor, or a "
            "comma list.  [default: 0.06:0.19:0.005]",
            show_default=False,
            rich_help_panel=options.SWEEP,
        ),
    ] = None,
    realizations: options.Realizations = None,
    start_up: options.StartUp = "mean",
    start_down: options.StartDown = "pattern:0",
    solver: options.Solver = "auto",
    tol: options.Tol = None,
    device: options.Device = "cpu",
    generator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Endless sequence of patterns: clustered, spherical, gaussian or heavy_tailed.  "
            "[default: clustered]",
            show_default=False,
            rich_help_panel=options.PATTERNS,
        ),
    ] = None,
    d: Annotated[
        int | None,
        typer.Option(
            "--d",
            metavar="D",
            help="Their dimension; M = exp(kappa d) of them are stored.  [default: 48]",
            show_default=False,
            rich_help_panel=options.PATTERNS,
        ),
    ] = None,
    seed: options.Seed = None,
    clusters: options.Clusters = None,
    delta: options.Delta = None,
    noise: options.Noise = None,
    degrees_of_freedom: options.Tail = None,
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    states: options.States = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Sweep the memory load up and down, pattern by pattern, and look for hysteresis.

    Writes a labelled dataset with every event, a figure, a summary in words and numbers, and all options. The
    defaults are the data and the grid of Figure 4(a, b) of "On the Statistical Mechanics of Attention".
    """
    from hopfieldphase.runs.kappa_spec import KappaSpec, SequenceSpec

    source: dict[str, Any] = {
        "generator": generator, "d": d, "seed": seed, "clusters": clusters, "delta": delta, "noise": noise,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    study: dict[str, Any] = {
        "alpha": alpha, "beta": beta, "realizations": realizations, "start_up": start_up,
        "start_down": start_down, "solver": solver, "tol": tol, "keep_states": states, "device": device,
    }  # fmt: skip
    if kappas is not None:
        study["kappas"] = kappas
    spec = KappaSpec(patterns=SequenceSpec(**source), **study)
    run_spec(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


def run_spec(
    spec: "SweepSpec | KappaSpec",
    out: Path | None,
    console: Console,
    *,
    force: bool,
    plot: bool,
    as_json: bool,
) -> None:
    """Compute a sweep, or show the finished one; leave with exit code 3 if some point did not converge."""
    from hopfieldphase.data.summary import summary_lines
    from hopfieldphase.runs.specs import SweepSpec

    if spec.device != "cpu":
        from hopfieldphase.kernels.device import backend_of

        backend_of(spec.device)
    if isinstance(spec, SweepSpec) and spec.patterns.is_data:
        from hopfieldphase.runs.sources import resolve

        spec = resolve(spec)

    run_study(
        spec, out, console, headline=_headline(spec),
        compute=lambda path: _compute(spec, path, console, plot), lines=summary_lines,
        name_failures=_name_failures, force=force, plot=plot, as_json=as_json,
    )  # fmt: skip


def _compute(spec: "SweepSpec | KappaSpec", path: Path, console: Console, plot: bool) -> dict[str, Any]:
    from hopfieldphase.runs.sweep_results import compute_result, kept_units, progress_units, warm_up

    warm_up(spec)
    unit, total = progress_units(spec)
    try:
        with console.progress(unit, total) as progress:
            drawn = partial(draw, "plotting.sweep:plot_sweep") if plot else None
            return compute_result(spec, path, draw=drawn, progress=progress)
    except KeyboardInterrupt:
        kept = kept_units(spec, path)
        if not kept:
            raise
        raise Interrupted(
            f"interrupted; {kept} of {total} {unit} are kept in {path}: the same command computes the rest"
        ) from None


def _headline(spec: "SweepSpec | KappaSpec") -> str:
    from hopfieldphase.runs.ranges import format_grid, format_number

    source = spec.patterns
    facts = [map_text(spec)]
    fixed = getattr(spec, "beta", None)
    if fixed is not None:
        facts += [f"beta {format_number(fixed)}"]
    facts += [str(source.path or source.generator)]
    facts += [f"{name} {getattr(source, name)}" for name in ("M", "d") if getattr(source, name) is not None]
    facts += [f"{spec.parameter} {format_grid(spec.grid)}"]
    if source.is_random:
        facts += [f"{spec.realizations} realizations"]
    return f"sweep {spec.parameter}: {', '.join(facts)}"


def map_text(spec: Any) -> str:
    """Which weights a spec asks for, in words."""
    from hopfieldphase.data.wording import attention_text
    from hopfieldphase.runs.ranges import format_number

    attention = getattr(spec, "attention", None)
    if attention is None:
        return f"alpha {format_number(spec.alpha)}"
    return attention_text(attention.model_dump(exclude_none=True))


def _name_failures(summary: dict[str, Any], console: Console) -> None:
    name, failed = summary["parameter"], summary["unconverged"]

    def told(point: dict[str, Any]) -> str:
        good = "none before it" if point["last_good"] is None else f"last good {name} {point['last_good']:g}"
        residual = "" if point["residual"] is None else f", residual {point['residual']:.1e}"
        return (
            f"  realization {point['realization']}, {point['direction']}, {name} {point[name]:g}: "
            f"{point['status'].replace('_', ' ')}{residual}, {good}"
        )

    warn_of(failed, console, told, f"{len(failed)} of {summary['points']} points did not converge")
    if failed:
        console.warn("try --solver newton, a larger --tol, or a finer grid around them")
