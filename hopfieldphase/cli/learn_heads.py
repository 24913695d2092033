"""`hopfieldphase learn heads`: the heads of a trained model among the phases that their keys make."""

from typing import Annotated, Any

import typer

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console

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
    from hopfieldphase.cli.studies import run
    from hopfieldphase.runs.heads_spec import HeadsSpec

    study: dict[str, Any] = {
        "alphas": alphas, "layers": layers, "heads": heads, "centred": centred, "top": top
    }  # fmt: skip
    spec = HeadsSpec(model=model, text=text, **study)
    run(spec, out, Console(quiet=quiet, color=not no_color), force=force, plot=not no_plot, as_json=json)
