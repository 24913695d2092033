"""Figure of the escape times: ln τ against ΔΓ/T, and the ratio to the law of Eyring and Kramers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hopfieldphase.plotting import style

_LOOKS = (("#0072B2", "o"), ("#009E73", "s"), ("#CC79A7", "D"), ("#E69F00", "v"), ("#56B4E9", "P"))
_FACET = ("#D55E00", "^")
_SIDES: dict[str, tuple[Any, str]] = {
    "inner": ("--", r"one side of the facet, $H = \beta$"),
    "outer": (":", r"other side, $H = \beta/3$"),
}
_TOLERANCE = 0.2


def plot_escape(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Simulated mean escape times with the law of Kramers, and the ratio of the two.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.escape.escape_tree`.
    axes : sequence of two matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure over two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        times, ratios = axes
        _times(tree, times)
        _ratios(tree, ratios)
        times.legend(handles=_handles(tree), title=_caption(tree), loc="best")
        return times, ratios
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.4)
        times, ratios = figure.subplots(1, 2)
        _times(tree, times)
        _ratios(tree, ratios)
        times.set_title("(a)", loc="left")
        ratios.set_title("(b) error bars: one standard error", loc="left")
        figure.legend(handles=_handles(tree), title=_caption(tree), loc="outside lower center", ncols=3)
        return times, ratios


def _times(tree: xr.DataTree, ax: Axes) -> None:
    data = tree["times"].to_dataset()
    x = data["height"].values
    for k, (colour, marker) in _looks(data):
        row = data.isel(system=k)
        ax.plot(x, row["kramers"].values, color=colour, linewidth=1.0)
        if row["facet"]:
            for name, (line, _) in _SIDES.items():
                ax.plot(x, row[name].values, color=colour, linewidth=0.9, linestyle=line)
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.1, "zorder": 4}
        ax.plot(x, row["measured"].values, marker, color=colour, markersize=5.5, **hollow)
    ax.set_yscale("log")
    _finish(data, ax, r"mean escape time $\beta\tau$")


def _ratios(tree: xr.DataTree, ax: Axes) -> None:
    data = tree["times"].to_dataset()
    x = data["height"].values
    ax.axhspan(1 - _TOLERANCE, 1 + _TOLERANCE, color="0.92", zorder=0)
    ax.axhline(1, color=style.THEORY, linewidth=0.8, zorder=1)
    spread = 0.04 * float(np.ptp(x)) / max(1, len(x) - 1)
    for k, (colour, marker) in _looks(data):
        row = data.isel(system=k)
        at = x + (k - (data.sizes["system"] - 1) / 2) * spread
        ax.plot(
            x, (row["exact"] / row["kramers"]).values, color=colour, linewidth=0.8, linestyle="-.", zorder=2
        )
        if row["facet"]:
            for name, (line, _) in _SIDES.items():
                ax.plot(
                    x,
                    (row[name] / row["kramers"]).values,
                    color=colour,
                    linewidth=0.9,
                    linestyle=line,
                    zorder=2,
                )
        bars: dict[str, Any] = {
            "yerr": (row["error"] / row["kramers"]).values,
            "capsize": 2,
            "elinewidth": 0.8,
        }
        ax.errorbar(
            at, (row["measured"] / row["kramers"]).values, fmt=marker, color=colour, markeredgecolor="white",
            markersize=5, zorder=4, **bars,
        )  # fmt: skip
    _finish(data, ax, r"escape time over Kramers' law")


def _finish(data: xr.Dataset, ax: Axes, label: str) -> None:
    x = data["height"].values
    margin = 0.06 * float(np.ptp(x))
    ax.set_xlim(x[0] - margin, x[-1] + margin)
    ax.set_xlabel(style.label(data["height"]))
    ax.set_ylabel(label)


def _handles(tree: xr.DataTree) -> list[Line2D]:
    data = tree["times"].to_dataset()
    handles = []
    for k, (colour, marker) in _looks(data):
        row = data.isel(system=k)
        ways = int(row["ways"])
        where = "saddle on a facet" if row["facet"] else f"{ways} saddle{'s' if ways > 1 else ''}"
        handles.append(
            Line2D(
                [],
                [],
                color=colour,
                marker=marker,
                markersize=5,
                linewidth=1.0,
                label=rf"$\alpha = {float(row['alpha']):g}$, {where}",
            )
        )
    facets = [colour for k, (colour, _) in _looks(data) if data["facet"][k]]
    for line, text in _SIDES.values():
        handles += [
            Line2D([], [], color=colour, linewidth=0.9, linestyle=line, label=text) for colour in facets
        ]
    handles.append(
        Line2D([], [], color=style.THEORY, linewidth=0.8, linestyle="-.", label="backward equation")
    )
    return handles


def _looks(data: xr.Dataset) -> list[tuple[int, tuple[str, str]]]:
    plain = iter(_LOOKS * data.sizes["system"])
    return [(k, _FACET if facet else next(plain)) for k, facet in enumerate(data["facet"].values)]


def _caption(tree: xr.DataTree) -> str:
    return (
        rf"points: {tree.attrs['walkers']} simulated escapes each, $\beta\,dt = {tree.attrs['step']:g}$; "
        "solid: Kramers' law, over both sides of a facet"
    )
