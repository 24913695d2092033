"""Figure of the update stability: distance and maximal overlap along descents, and the rates of all modes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hopfieldphase.dynamics.stability import Outcome
from hopfieldphase.plotting import style

LOWEST = 1e-17
"""Where the logarithmic axis of the distance ends; an exact zero is drawn there."""

_SWING = 1.8  # shown overlaps reach this many first deviations from that of the fixed point
_MARKED = 0.17  # distance of the markers along a line, in diagonals of the axes
# Colour, marker and line of each step size; more than these repeat with other lines.
_LOOKS = (
    ("#0072B2", "o", "-"),
    ("#56B4E9", "s", (0, (5, 1.2))),
    ("#009E73", "D", (0, (4, 1.2, 1, 1.2))),
    ("#E69F00", "^", (0, (2, 1))),
    ("#D55E00", "v", (0, (7, 1.2, 1, 1.2, 1, 1.2))),
    ("#CC79A7", "P", (0, (1, 1))),
    ("#000000", "X", (0, (8, 2))),
)


def plot_stability(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """Distance to the fixed point, maximal overlap, and measured against predicted rates.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.stability.stability_tree`.
    axes : sequence of three matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure over two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes

    Notes
    -----
    Figures 10 and 11 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    if axes is not None:
        distance, overlap, rates = axes
        distance.legend(handles=_distance(tree, distance), title=_caption(tree), loc="best")
        _overlap(tree, overlap)
        _rates(tree, rates)
        return distance, overlap, rates
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.1)
        distance, overlap, rates = figure.subplots(1, 3, width_ratios=(1.15, 1.15, 1))
        handles = _distance(tree, distance)
        _overlap(tree, overlap)
        _rates(tree, rates)
        distance.set_title("(a)", loc="left")
        overlap.set_title("(b) even and odd $t$ as two lines", loc="left")
        rates.set_title("(c)", loc="left")
        figure.legend(handles=handles, title=_caption(tree), loc="outside lower center", ncols=4)
        return distance, overlap, rates


def _distance(tree: xr.DataTree, ax: Axes) -> list[Artist]:
    """Distances with their predictions and onsets; the artists that a legend explains."""
    data = tree.to_dataset()
    onsets = False
    for k, look in _looks(data):
        path = data.isel(factor=k)
        n = int(path["n_steps"]) + 1
        _line(ax, np.arange(n), np.maximum(path["distance"].values[:n], LOWEST), look)
        predicted = path["distance_predicted"].values[:n]
        ax.plot(np.maximum(predicted, LOWEST), color="0.15", linewidth=0.6, linestyle=":", zorder=4)
        if path["onset_predicted"] > 0:
            onsets = True
            at = (float(path["onset_predicted"]), float(path["floor_predicted"]))
            ax.plot(*at, "*", color="white", markeredgecolor="black", markersize=8, zorder=6)
    ax.set_yscale("log")
    ax.set_ylim(LOWEST, 10 * float(np.nanmax(data["distance"])))
    _finish(data, ax, "distance")
    handles = [
        *_handles(data),
        Line2D([], [], color="0.15", linewidth=0.6, linestyle=":", label="second order in $A$"),
    ]
    if onsets:
        star: dict[str, Any] = {"color": "white", "markeredgecolor": "black", "markersize": 8}
        handles.append(Line2D([], [], marker="*", linestyle="none", label="predicted onset", **star))
    return handles


def _overlap(tree: xr.DataTree, ax: Axes) -> None:
    data = tree.to_dataset()
    fixed = float(data["fixed_overlap_max"])
    swing = _SWING * float(np.abs(data["overlap_max"].values[:, :2] - fixed).max())
    for k, look in _looks(data):
        path = data.isel(factor=k)
        values = path["overlap_max"].values[: int(path["n_steps"]) + 1]
        outside = np.flatnonzero(np.abs(values - fixed) > swing)
        if outside.size:  # from here on the motion is no longer near the fixed point
            values = values[: outside[0] + 2]
        # Growing modes alternate in sign: even and odd iterations are two smooth lines.
        for first in range(2):
            _line(ax, np.arange(first, values.size, 2), values[first::2], look)
    ax.axhline(fixed, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
    ax.set_ylim(fixed - swing, fixed + swing)
    _finish(data, ax, "overlap_max")


def _rates(tree: xr.DataTree, ax: Axes) -> None:
    data, modes = tree.to_dataset(), tree["modes"].to_dataset()
    predicted, measured = np.abs(modes["rate_predicted"].values), np.abs(modes["rate_measured"].values)
    top = 1.05 * max(1.0, predicted.max(), measured.max())
    ax.plot([0, top], [0, top], color=style.THEORY, linewidth=0.8, zorder=1)
    ax.axvline(1, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
    for k, (colour, marker, _) in _looks(data):
        look: dict[str, Any] = {"markerfacecolor": "none", "markeredgecolor": colour, "markersize": 3.5}
        ax.plot(predicted[k], measured[k], marker, zorder=3, **look)
    ax.set(xlim=(-0.03 * top, top), ylim=(-0.03 * top, top))
    worst = float(np.abs(modes["rate_measured"] - modes["rate_predicted"]).max())
    note = f"all {measured.shape[1]} modes,\nlargest deviation\n{worst:.1e}"
    ax.text(0.05, 0.95, note, transform=ax.transAxes, va="top", fontsize=7.5)
    ax.set_xlabel(r"predicted $|1 - \eta\lambda_i|$")
    ax.set_ylabel("measured rate of mode $i$")


def _line(ax: Axes, t: Any, values: Any, look: tuple[str, str, Any]) -> None:
    colour, marker, line = look
    marks: dict[str, Any] = {"markersize": 3.2, "markeredgecolor": "white", "markeredgewidth": 0.3}
    ax.plot(t, values, color=colour, linestyle=line, linewidth=1.1, marker=marker, markevery=_MARKED, **marks)


def _finish(data: xr.Dataset, ax: Axes, name: str) -> None:
    """Labels, and an end of the axis where the last path that ends has ended."""
    steps = data["n_steps"].values
    ended = steps[data["outcome"].values != list(Outcome).index(Outcome.PERSISTS)]
    ax.set_xscale("symlog", linthresh=1, linscale=0.5)
    ax.set_xlim(0, max(10, 1.2 * float((ended if ended.size else steps).max())))
    ax.set_xlabel(style.label(data["iteration"]))
    ax.set_ylabel(style.symbol(data[name]) if name == "distance" else style.label(data[name]))


def _handles(data: xr.Dataset) -> list[Artist]:
    return [
        Line2D(
            [], [], color=colour, marker=marker, linestyle=line, linewidth=1.1, markersize=3.2,
            label=rf"$\eta = {float(data['factor'][k]):g}\,\eta_{{\mathrm{{crit}}}}$",
        )
        for k, (colour, marker, line) in _looks(data)
    ]  # fmt: skip


def _looks(data: xr.Dataset) -> list[tuple[int, tuple[str, str, Any]]]:
    count, total = data.sizes["factor"], len(_LOOKS)
    looks = [_LOOKS[k % total] for k in range(count)]
    # Beyond the table the line of the next entry keeps every pair different.
    return [
        (k, (colour, marker, line if k < total else _LOOKS[(k + k // total) % total][2]))
        for k, (colour, marker, line) in enumerate(looks)
    ]


def _caption(tree: xr.DataTree) -> str:
    data, attrs = tree.to_dataset(), tree.attrs
    beta, critical = attrs["beta"], float(data["critical_step"])
    return (
        rf"$\alpha = {attrs['alpha']:g}$, $M = {int(data['n_patterns'])}$, "
        rf"$d = {tree['modes'].sizes['mode']}$, "
        rf"$\beta = {beta:g}$, $\eta_{{\mathrm{{crit}}}} = {critical:.5g} = {critical * beta:.5g}/\beta$, "
        rf"start at $x^* + {attrs['amplitude']:g}\,u_{{\mathrm{{soft}}}}$"
    )
