"""`hopfieldphase learn heads`: the heads of a trained model among the phases that their keys make."""

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

if TYPE_CHECKING:
    from hopfieldphase.runs.heads_spec import HeadsSpec

HEADS = "Heads"


def _option(metavar: str | None, text: str, *names: str) -> Any:
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel=HEADS)


def heads(
    model: Annotated[
        str, typer.Argument(metavar="MODEL_DIR", help="Folder of a checkpoint.", show_default=False)
    ],
    text: Annotated[str, _option("FILE", "Plain text in UTF-8 that the model reads.")],
    alphas: Annotated[str, _option("GRID", "Tsallis indices.  [default: 1,1.5,2]")] = "1,1.5,2",
    layers: Annotated[str, _option("LIST", "Numbers of layers, like 0,5.  [default: all]")] = "all",
    heads: Annotated[str, _option("LIST", "Numbers of heads, like 0,3.  [default: all]")] = "all",
    centred: Annotated[
        bool, _option(None, "Take the mean key out, which no attention weight notices.", "--centred")
    ] = False,
    top: Annotated[str, _option("K", "Branches to follow in each head, or all.  [default: 5]")] = "5",
    out: options.Out = None,
    force: options.Force = False,
    no_plot: options.NoPlot = False,
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Find where each attention head of a checkpoint lies among the phases of its own keys.

    MODEL_DIR holds a model of the BERT family: config.json, weights in safetensors format, a tokenizer. It
    reads the text; the keys of each head are stored patterns, and its queries relax among them. Nothing is
    fetched from anywhere. Writes the statistics of the keys, the critical points for each alpha, the minima
    reached, and keys and queries as pattern files in heads/.
    """
    from hopfieldphase.runs.heads_spec import HeadsSpec

    study: dict[str, Any] = {
        "alphas": alphas, "layers": layers, "heads": heads, "centred": centred, "top": top
    }  # fmt: skip
    spec = HeadsSpec(model=model, text=text, **study)
    run_spec(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)


def run_spec(
    spec: "HeadsSpec", out: Path | None, console: Console, *, force: bool, plot: bool, as_json: bool
) -> None:
    """Study the heads, or show the finished result; leave with exit code 3 where a query reached nothing."""
    from hopfieldphase.cli.failures import NOT_CONVERGED
    from hopfieldphase.cli.study import run_study
    from hopfieldphase.data.heads import heads_lines

    _need_extra()
    summary = run_study(
        spec,
        out,
        console,
        announce=lambda: console.say(spec.headline),
        compute=lambda path: _compute(spec, path, console, plot),
        lines=heads_lines,
        name_failures=_name_failures,
        force=force,
        plot=plot,
        as_json=as_json,
    )
    if summary["unconverged"]:
        raise typer.Exit(NOT_CONVERGED)


def _need_extra() -> None:
    from hopfieldphase.core.errors import InputError

    missing = [name for name in ("torch", "transformers") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed: "
            "run `pip install 'hopfieldphase[learn]'`"
        )


def _compute(spec: "HeadsSpec", path: Path, console: Console, plot: bool) -> dict[str, Any]:
    from hopfieldphase.kernels.compilation import on_first_compilation
    from hopfieldphase.learn.head_study import compute_heads

    on_first_compilation(lambda: console.say("compiling kernels, once per version"))
    with console.progress("heads", 1) as progress:
        return compute_heads(spec, path, draw=_draw if plot else None, progress=progress)


def _draw(tree: Any, file: Path) -> None:
    from hopfieldphase.cli.studies import draw
    from hopfieldphase.plotting.heads import plot_heads

    draw(plot_heads, tree, file)


def _name_failures(summary: dict[str, Any], console: Console) -> None:
    from hopfieldphase.cli.studies import SHOWN_FAILURES

    failed = summary["unconverged"]
    for text in failed[:SHOWN_FAILURES]:
        console.warn(f"warning: {text}")
    if len(failed) > SHOWN_FAILURES:
        console.warn(f"and {len(failed) - SHOWN_FAILURES} more, all in summary.json under unconverged")
