"""What the figures of trained Transformers share: the looks of the maps, and lines with error bars."""

import math
from typing import Any

import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style

_LOOKS: tuple[tuple[str, str, Any], ...] = (
    ("#000000", "o", "-"),
    ("#0072B2", "s", (0, (5, 1.2))),
    ("#D55E00", "^", (0, (3, 1.2, 1, 1.2))),
    ("#009E73", "D", (0, (1.4, 1.2))),
    ("#CC79A7", "v", (0, (6, 1.2))),
)
_DECADE = 10

COLUMNS = {
    "selective": (("value_correct", "linear"), ("ipr", "log")),
    "uniform": (("relative_error", "log"), ("ipr_ratio", "log")),
}
"""The two observables that Appendix G shows of each task, with their scales."""


def colour_of(place: int) -> str:
    """Colour of the map that stands at this place."""
    return _LOOKS[place % len(_LOOKS)][0]


def draw_lines(data: xr.Dataset, name: str, grid: str, ax: Axes) -> None:
    """One observable of every map over M or β, with one standard error.

    The error is that over the seeds where there are several, else over the examples.
    """
    for place, label in enumerate(data["map"].values):
        colour, marker, dashes = _LOOKS[place % len(_LOOKS)]
        here = data.sel(map=label)
        count = here.sizes["seed"]
        spread = (
            here[name].std("seed", ddof=1) / math.sqrt(count)
            if count > 1
            else here[f"{name}_error"].isel(seed=0)
        )
        ax.errorbar(
            here[grid].values, here[name].mean("seed").values, spread.values, color=colour, marker=marker,
            linestyle=dashes, markersize=2.5, linewidth=1.0, elinewidth=0.7, label=str(label),
        )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set_xlabel(style.label(data[grid]))
    ax.set_ylabel(style.label(data[name]), fontsize=7.5)


def set_scale(ax: Axes, data: xr.Dataset, name: str, scale: str) -> None:
    """The scale of an observable; a logarithmic one only where it spans more than a decade."""
    mean = data[name].mean("seed")
    ax.set_yscale("linear" if float(mean.max()) < _DECADE * float(mean.min()) else scale)


def draw_reference(ax: Axes, name: str) -> None:
    """The line at 1 of what is given in units of a reference."""
    if name in ("relative_error", "ipr_ratio"):
        ax.axhline(1, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
