"""Figure of the barriers: energy along paths at coexistence, and barriers between stored patterns."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style

_LOOKS: tuple[tuple[str, str, Any], ...] = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", (0, (5, 1.2))),
    ("#009E73", "D", (0, (4, 1.2, 1, 1.2))),
    ("#CC79A7", "^", (0, (2, 1))),
    ("#E69F00", "v", (0, (7, 1.2, 1, 1.2, 1, 1.2))),
    ("#56B4E9", "P", (0, (1, 1))),
)


def plot_barrier(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Energies along the paths in units of the closed barrier, and barriers of pairs against the coupling.

    Points are found by the string method, marks in the first panel are the saddles; closed forms are the grey
    line of the first panel and the lines of the second.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.barrier.barrier_tree`.
    axes : sequence of two matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure over two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        paths, pairs = axes
        _paths(tree["paths"].to_dataset(), paths)
        _pairs(tree["pairs"].to_dataset(), pairs)
        return paths, pairs
    with style.style():
        figure = style.new_figure(style.DOUBLE, 2.9)
        paths, pairs = figure.subplots(1, 2)
        _paths(tree["paths"].to_dataset(), paths)
        _pairs(tree["pairs"].to_dataset(), pairs)
        paths.set_title(r"(a) coexistence, $\alpha = 1$", loc="left")
        pairs.set_title("(b) two stored patterns", loc="left")
        return paths, pairs


def _paths(data: xr.Dataset, ax: Axes) -> None:
    ax.axhline(1, color=style.THEORY, linewidth=0.8, linestyle=":", label="closed form")
    for k in range(data.sizes["M"]):
        row = data.isel(M=k)
        colour, marker, line = _LOOKS[k % len(_LOOKS)]
        closed = float(row["closed_form"])
        x, y = row["arclength"].values, row["energy"].values / closed
        top = int(row["saddle"])
        ax.plot(x, y, color=colour, linestyle=line)
        label = rf"$M = {int(row['M'])}$: $\Delta\Gamma = {closed:.5g}$"
        ax.plot(x[top], y[top], marker, color=colour, zorder=4)
        ax.plot([], [], color=colour, linestyle=line, marker=marker, label=label)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1.6)
    ax.set_xlabel("part of the path, uniform to retrieval")
    ax.set_ylabel(r"$(\Gamma - \Gamma_{\mathrm{start}})/\Delta\Gamma$")
    ax.legend(loc="upper center", ncols=2, columnspacing=1.0)


def _pairs(data: xr.Dataset, ax: Axes) -> None:
    x = data["coupling"].values
    for k in range(data.sizes["curve"]):
        row = data.isel(curve=k)
        colour, marker, line = _LOOKS[k % len(_LOOKS)]
        third = float(row["third"])
        beside = "" if np.isnan(third) else f", third at {third:g}"
        label = rf"$\alpha = {float(row['alpha']):g}${beside}"
        ax.plot(x, row["closed_form"].values, color=colour, linestyle=line, linewidth=0.9)
        hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.9, "linewidth": 0.9}
        ax.plot(x, row["height"].values, marker, color=colour, markersize=3.2, markerfacecolor="white")
        ax.plot([], [], color=colour, linestyle=line, marker=marker, markersize=3.2, label=label, **hollow)
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(0, None)
    ax.set_xlabel(style.label(data["coupling"]))
    ax.set_ylabel(style.label(data["height"]))
    ax.legend(loc="upper left")
