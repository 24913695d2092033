"""The look of every figure, its colours, and how figures are made and saved."""

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hopfieldphase.data.files import replacing
from hopfieldphase.plotting.colours import DOWN, UP

__all__ = [
    "DOUBLE",
    "DOWN",
    "SINGLE",
    "THEORY",
    "UP",
    "figure_of",
    "label",
    "legend_below",
    "letter",
    "new_figure",
    "save",
    "style",
    "symbol",
]

SINGLE, DOUBLE = 3.4, 7.0
"""Widths of a figure over one and over both columns of a page, in inches."""

THEORY = "0.35"
"""Grey of lines that follow from theory."""


def style() -> AbstractContextManager[None]:
    """Context in which figures take the shipped style, whatever the user has set."""
    with as_file(files("hopfieldphase.plotting") / "hopfieldphase.mplstyle") as path:
        return mpl.rc_context(mpl.rc_params_from_file(path, use_default_template=False))


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of the given size in inches, to be called within `style`.

    Where pyplot is in use already, as in a notebook, the figure is one of pyplot's and shows as usual;
    otherwise no window system is touched.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    make = Figure if pyplot is None else pyplot.figure
    return make(figsize=(width, height))


def figure_of(axes: Any) -> Figure:
    """The figure that an axes, or the first of several, belongs to."""
    first: Axes = axes if isinstance(axes, Axes) else np.ravel(np.asarray(axes, dtype=object))[0]
    figure = first.get_figure(root=True)
    assert figure is not None, "axes that were removed from their figure"
    return figure


def letter(axes: Iterable[Axes]) -> None:
    """Mark panels with (a), (b), … at their upper left."""
    for mark, ax in zip("abcdefghijklmnopqrstuvwxyz", axes, strict=False):
        ax.set_title(f"({mark})", loc="left")


def legend_below(ax: Axes, columns: int | None = None) -> None:
    """What the labels of one panel explain in all of them, below the figure; in one row unless said."""
    handles, labels = ax.get_legend_handles_labels()
    ncols = columns or len(labels)
    figure_of(ax).legend(handles, labels, loc="outside lower center", ncols=ncols, fontsize=7.5)


def label(variable: xr.DataArray) -> str:
    """Axis label from `long_name` and `units` of the data; the unit "1" is left out."""
    name = str(variable.attrs.get("long_name", variable.name))
    units = variable.attrs.get("units", "1")
    return name if units == "1" else f"{name} ({units})"


def symbol(variable: xr.DataArray) -> str:
    """The part of `long_name` from its first to its last mathematical symbol, or all of it without one."""
    name = str(variable.attrs.get("long_name", variable.name))
    first, last = name.find("$"), name.rfind("$")
    return name[first : last + 1] if first < last else name


def save(figure: Figure, path: str | PathLike[str]) -> list[Path]:
    """Write a figure as PNG (300 dpi) and as SVG beside it; as PDF too if the path ends so.

    Each file is there whole or not at all, and the same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
    path : path-like
        Any ending; that of each format replaces it.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    OutputError
        If the file system refuses.
    """
    target = Path(path)
    formats = {".png": {}, ".svg": {"Date": None}}
    if target.suffix == ".pdf":
        formats[".pdf"] = {"CreationDate": None}
    written = []
    with style():
        for suffix, metadata in formats.items():
            content = BytesIO()
            figure.savefig(content, format=suffix[1:], metadata=metadata)
            written.append(target.with_suffix(suffix))
            with replacing(written[-1]) as partial:
                partial.write_bytes(content.getvalue())
    return written
