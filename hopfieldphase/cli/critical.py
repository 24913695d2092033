"""`hopfieldphase critical`: the table of critical points of one set of patterns."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.failures import NOT_CONVERGED
from hopfieldphase.cli.study import tell_compilation

if TYPE_CHECKING:
    from hopfieldphase.runs.critical_spec import CriticalSpec

SEARCH = "Search"
SHOWN = 10

WIDTH = 80


def critical(
    alpha: Annotated[
        float,
        typer.Option(
            metavar="A",
            help="Tsallis index, above 0 and finite.  [default: 2]",
            show_default=False,
            rich_help_panel=SEARCH,
        ),
    ] = 2.0,
    at: Annotated[
        float | None,
        typer.Option(
            metavar="BETA",
            help="Where minima are searched.  [default: above the first storage onset]",
            show_default=False,
            rich_help_panel=SEARCH,
        ),
    ] = None,
    betas: Annotated[
        str | None,
        typer.Option(
            metavar="GRID",
            help="Range of beta, from the first to the last value of a grid or list.  [default: all beta at "
            "alpha 2, else a suggested range]",
            show_default=False,
            rich_help_panel=SEARCH,
        ),
    ] = None,
    top: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Follow the first N branches and show N lines of each list, or all.  [default: 10]",
            show_default=False,
            rich_help_panel=SEARCH,
        ),
    ] = str(SHOWN),
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
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write summary.json and spec.toml into this folder.",
            show_default=False,
            rich_help_panel=options.OUTPUT,
        ),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """List the critical points of one set of patterns, each next to its closed form.

    Where each pattern is stored exactly, where the mean state loses stability, where the branches found at
    a reference beta end, and where two of them have equal free energies.
    """
    from hopfieldphase.runs.critical_spec import CriticalSpec
    from hopfieldphase.runs.specs import PatternSpec

    source: dict[str, Any] = {
        "generator": generator, "path": patterns, "M": M, "d": d, "seed": seed, "clusters": clusters,
        "delta": delta, "noise": noise, "cosine": cosine, "epsilon": epsilon,
        "degrees_of_freedom": degrees_of_freedom,
    }  # fmt: skip
    study: dict[str, Any] = {"alpha": alpha, "at": at, "betas": betas, "top": top}
    spec = CriticalSpec(patterns=PatternSpec(**source), **study)
    console = Console(quiet=quiet, color=not no_color)
    summary = _result(spec, out, console, force)
    if json:
        console.data(summary)
    else:
        console.report("\n".join(_lines(summary, None if spec.top == "all" else int(spec.top))))
    if out is not None:
        console.say(f"results are in {out}; see {shlex.quote(str(out / 'summary.json'))}")
    if summary["unconverged"]:
        console.warn(f"warning: {summary['unconverged']} points were not located as precisely as asked")
        raise typer.Exit(NOT_CONVERGED)


def _result(spec: "CriticalSpec", out: Path | None, console: Console, force: bool) -> dict[str, Any]:
    """Find the points, or show those of a finished result."""
    from hopfieldphase.kernels.threads import thread_count

    thread_count()  # a wrong environment is reported before anything starts
    tell_compilation(console)
    from hopfieldphase.runs.critical import find_critical, write_critical
    from hopfieldphase.runs.folder import check_free, claim_folder, read_summary
    from hopfieldphase.runs.sources import with_digest

    spec = with_digest(spec)
    if out is None:
        return find_critical(spec)
    summary = None if force else read_summary(out, spec.fingerprint, with_figure=False)
    if summary is not None:
        console.say(f"already done: {out} holds this result (--force recomputes)")
        return summary
    with claim_folder(out):
        if not force:
            check_free(out, spec.fingerprint)
        return write_critical(spec, out)


def _lines(found: dict[str, Any], shown: int | None) -> list[str]:
    model, branches = found["model"], found["branches"]
    low, high = found["betas"]
    span = "all beta" if low is None and high is None else f"beta {low or 0:.6g} to {high or 'inf':.6g}"
    lines = [
        f"critical points: alpha {model['alpha']:g}, M {model['M']}, d {model['d']}, {span}",
        f"{branches['followed']} branches followed, {branches['minima']} minima found at the reference beta "
        f"{found['at']:.6g}",
        "",
        *_storage(found["storage"], shown),
        "",
    ]
    mean = found["mean_state"]
    if mean is None:
        lines.append("the state of lowest beta stays stable in this range")
    else:
        lines += ["the state of lowest beta loses stability", _HEAD, _end(mean)]
        words = mean["premises"].removeprefix("the formula ")
        lines.append(f"  closed form {mean['closed_form']:.10g} {words}")
    lines += ["", f"ends of stable states: {len(found['ends'])}"]
    lines += _cut([_end(point) for point in found["ends"]], shown, _HEAD)
    crossings = [point for point in found["coexistence"] if point["interval"] is None]
    equal = len(found["coexistence"]) - len(crossings)
    lines += ["", f"equal free energies of two stable states: {len(crossings)}"]
    lines += _cut([_crossing(point) for point in crossings], shown, _CROSSING_HEAD)
    if equal:
        pairs = "one pair" if equal == 1 else f"{equal} pairs"
        lines.append(f"  and {pairs} with equal energies on an interval (one norm, or a symmetry)")
    notes = [
        "",
        "within: relative precision; formula: relative difference of the closed form, or",
        "no where its premises do not hold; {3, 9} is the support of a state, 25 its size",
    ]
    return lines + notes


_HEAD = f"  {'beta':>13}  {'is':<8}{'type':<13}{'branch':>6}{'within':>8}{'formula':>9}  what happens"
_CROSSING_HEAD = f"  {'beta':>13}  {'branches':<10}{'within':>8}{'formula':>9}  states"


def _storage(storage: dict[str, Any], shown: int | None) -> list[str]:
    patterns = storage["patterns"]
    if storage["first"] is None:
        return ["no pattern is ever stored exactly"]
    words = f"exact storage: from beta {storage['first']:.10g}"
    words += "" if storage["all"] is None else f", all {len(patterns)} patterns from {storage['all']:.10g}"
    words += f", {storage['never']} never" if storage["never"] else ""
    character = {
        "minimum": "a minimum", "no minimum": "no minimum", "marginal": "marginally stable"
    }[storage["at_onset"]]  # fmt: skip
    lines = [words, f"  at its onset a pattern is {character}"]
    stored = [entry for entry in patterns if entry["beta"] is not None]
    rows = [f"  {entry['beta']:>13.10g}  {entry['pattern']:<9}{_traced(entry)}".rstrip() for entry in stored]
    exact = any(entry["traced"] for entry in stored)
    head = f"  {'beta':>13}  {'pattern':<9}" + ("traced: what ends it, difference" if exact else "")
    return lines + _cut(rows, shown, head.rstrip())


def _traced(entry: dict[str, Any]) -> str:
    traced = entry["traced"]
    if traced is None:
        return ""
    return f"{_label(traced)}, {abs(traced['beta'] / entry['beta'] - 1):.1e}"


def _end(point: dict[str, Any]) -> str:
    row = (
        f"  {point['beta']:>13.10g}  {point['direction'] or '':<8}{_label(point):<13}"
        f"{point['branches'][0]:>6}{point['precision']:>8.0e}{_formula(point):>9}  "
    )
    return row + _states(point, "->", WIDTH - len(row))


def _crossing(point: dict[str, Any]) -> str:
    pair = ", ".join(map(str, point["branches"]))
    row = f"  {point['beta']:>13.10g}  {pair:<10}{point['precision']:>8.0e}{_formula(point):>9}  "
    return row + _states(point, "=", WIDTH - len(row))


def _states(point: dict[str, Any], joint: str, room: int) -> str:
    """A state and the one it goes to or coexists with, in as many words as there is room for."""
    if point["status"] != "converged":
        return point["status"].replace("_", " ")
    pair = [state for state in (point["state"], point["other_state"]) if state is not None]
    written = (f" {joint} ".join(words(state) for state in pair) for words in (_support, _brief, _size))
    return next((words for words in written if len(words) <= room), "")


def _support(state: dict[str, Any]) -> str:
    return f"{{{', '.join(map(str, state['support']))}}}"


def _brief(state: dict[str, Any]) -> str:
    if len(state["support"]) == 1:
        return _support(state)
    return f"mostly {state['largest']}" if state["weight"] > 1 / 2 else _size(state)


def _size(state: dict[str, Any]) -> str:
    return str(len(state["support"]))


def _formula(point: dict[str, Any]) -> str:
    if point["closed_form"] is None:
        return "-"
    if not point["premises_hold"]:
        return "no"
    return f"{abs(point['closed_form'] / point['beta'] - 1):.0e}"


def _label(point: dict[str, Any]) -> str:
    acting = point["patterns"]
    if not acting:
        return point["type"].replace("_", " ")
    names = ",".join(map(str, acting)) if len(acting) <= 1 else f"{len(acting)} patterns"
    return f"{point['type']} {names}"


def _cut(rows: list[str], shown: int | None, head: str) -> list[str]:
    if not rows:
        return []
    if shown is None or len(rows) <= shown:
        return [head, *rows]
    more = len(rows) - shown
    return [head, *rows[:shown], f"  ... and {more} more: --top all, or --json for every one of these"]
