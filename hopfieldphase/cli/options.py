"""Options that several commands share, and the help page that groups them."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

SWEEP, ATTENTION, PATTERNS, OUTPUT = "Sweep", "Attention", "Patterns", "Output"
WORKERS = "Workers"


def _option(group: str, metavar: str | None, text: str, *names: str) -> Any:
    # Defaults stand in the text: most are those of the pattern source, which the option does not know.
    return typer.Option(*names, metavar=metavar, help=text, show_default=False, rich_help_panel=group)


Alpha = Annotated[
    float,
    _option(SWEEP, "A", "Tsallis index, above 0: 1 softmax, 2 sparsemax, inf hardmax.  [default: 2]"),
]
FamilyAlpha = Annotated[
    float | None,
    _option(
        SWEEP,
        "A",
        "Tsallis index, above 0: 1 softmax, 2 sparsemax, inf hardmax. With --attention, that of the map.  "
        "[default: 2]",
    ),
]
Attention = Annotated[
    str | None,
    _option(
        ATTENTION,
        "NAME",
        "Another attention map: entmax, exponential, linear-elu, squared-elu, log-elu, top-k, top-p, "
        "capped-entmax, sparsemax-k, normmax, water-filling, capped-simplex, constrained-sparsemax, "
        "constrained-softmax or greedy-filling.",
    ),
]
TopCount = Annotated[
    int | None, _option(ATTENTION, "K", "Largest support (top-k, capped-entmax, sparsemax-k).", "--k")
]
TopMass = Annotated[float | None, _option(ATTENTION, "P", "Share of the softmax mass (top-p).", "--p")]
Gamma = Annotated[float | None, _option(ATTENTION, "G", "Order of the norm (normmax).  [default: 2]")]
Budget = Annotated[
    float | None,
    _option(ATTENTION, "R", "Sum of the weights (water-filling, capped-simplex, greedy-filling)."),
]
Caps = Annotated[
    float | None, _option(ATTENTION, "U", "Largest weight of a pattern (constrained and filling maps).")
]

Realizations = Annotated[int | None, _option(SWEEP, "R", "Number of pattern sets.  [default: 10]")]
StartUp = Annotated[
    str, _option(SWEEP, "START", "Start of the sweep up: mean, pattern:k, best or continue.  [default: mean]")
]
StartDown = Annotated[
    str, _option(SWEEP, "START", "Start of the sweep down, likewise.  [default: pattern:0]")
]
Solver = Annotated[
    str, _option(SWEEP, "NAME", "auto, newton, fixed-point or gradient-descent.  [default: auto]")
]
Tol = Annotated[
    float | None, _option(SWEEP, "TOL", "Bound on the relative residual of a state.  [default: 1.8e-12]")
]
Device = Annotated[str, _option(SWEEP, "NAME", "Where to compute: cpu or cuda (a GPU).  [default: cpu]")]

PatternFile = Annotated[
    str | None,
    _option(PATTERNS, "FILE", "Patterns from a .npy, .npz, .csv, .nc or .zarr file.", "--patterns"),
]
Generator = Annotated[
    str | None,
    _option(
        PATTERNS,
        "NAME",
        "Or from a generator: clustered, spherical, gaussian, heavy_tailed, equicorrelated, two_keys, "
        "circulant, or the measured digits.  [default: clustered]",
    ),
]
PatternCount = Annotated[int | None, _option(PATTERNS, "M", "Number of patterns.  [default: 100]", "--M")]
Dimension = Annotated[int | None, _option(PATTERNS, "D", "Their dimension.  [default: 64]", "--d")]
Seed = Annotated[
    int | None, _option(PATTERNS, "N", "Realization k depends on (seed, k) alone.  [default: 0]")
]
Clusters = Annotated[int | None, _option(PATTERNS, "C", "Number of clusters (clustered).  [default: 4]")]
Delta = Annotated[
    float | None, _option(PATTERNS, "X", "Noise strength in [0, 1] (clustered).  [default: 0.04]")
]
Noise = Annotated[
    str | None, _option(PATTERNS, "KIND", "gaussian or unit noise (clustered).  [default: gaussian]")
]
Cosine = Annotated[float | None, _option(PATTERNS, "X", "Common cosine (equicorrelated).  [default: 0]")]
Epsilon = Annotated[float | None, _option(PATTERNS, "X", "Cosine of the keys (two_keys).")]
Tail = Annotated[
    float | None,
    _option(PATTERNS, "X", "Tail exponent (heavy_tailed).  [default: 2]", "--degrees-of-freedom"),
]

Reduced = Annotated[
    bool,
    typer.Option("--reduced", help="Take the quick setting of the file.", rich_help_panel=OUTPUT),
]
Out = Annotated[Path | None, _option(OUTPUT, "DIR", "Folder of the result.  [default: runs/STUDY-HASH]")]
Force = Annotated[
    bool, _option(OUTPUT, None, "Recompute, and replace another result in the folder.", "--force")
]
NoPlot = Annotated[bool, _option(OUTPUT, None, "Draw no figure.", "--no-plot")]
States = Annotated[bool, _option(OUTPUT, None, "Keep the states in the dataset.", "--states")]
Json = Annotated[bool, _option(OUTPUT, None, "Print the summary as JSON on stdout.", "--json")]
Quiet = Annotated[bool, _option(OUTPUT, None, "Print errors only, and what --json asks for.", "--quiet")]
NoColor = Annotated[
    bool, _option(OUTPUT, None, "No escape codes (as with NO_COLOR or TERM=dumb).", "--no-color")
]
Debug = Annotated[bool, _option(OUTPUT, None, "Show the traceback of an error.", "--debug")]


class Command(TyperCommand):
    """A command whose help page lists its options by group, in plain text."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section per group, in the order in which the groups first occur."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                title = "Arguments" if param.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(param, "rich_help_panel", None) or title, []).append(record)
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Group(TyperGroup):
    """A group of commands that lists families of commands before single ones."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the help page."""
        return sorted(
            super().list_commands(ctx), key=lambda name: not isinstance(self.commands[name], TyperGroup)
        )


def attention_source(name: str | None, alpha: float | None, **parameters: Any) -> dict[str, Any]:
    """The options alpha and attention of a spec: with an attention map, alpha is its parameter.

    Raises
    ------
    InputError
        If parameters of attention maps are given without one, or do not fit the map.
    """
    from hopfieldphase.core.errors import InputError
    from hopfieldphase.runs.specs import AttentionSpec

    given = {key: value for key, value in parameters.items() if value is not None}
    if name is not None:
        return {"attention": AttentionSpec(name=name, alpha=alpha, **given)}
    if given:
        raise InputError(f"{min(given)} is given without an attention map: add --attention NAME")
    return {} if alpha is None else {"alpha": alpha}
