"""Figure of trained Transformers at other temperatures."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style
from hopfieldphase.plotting.trained import COLUMNS, colour_of, draw_lines, draw_reference, set_scale


def plot_temperature(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Reliability and support of each task over β, a row for each protocol.

    Where the phases of the keys are known, the frozen row marks, for each map, the middle half of the
    coexistence points of its heads.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.temperature.temperature_tree`.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw, for each protocol two for each task; without it, a new figure in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes

    Notes
    -----
    Figures 14 (frozen) and 15 (matched) of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    Bars are one standard error: over the seeds where there are several, else over the examples.
    """
    if axes is not None:
        drawn = tuple(axes)
        _draw(tree, drawn)
        return drawn
    with style.style():
        rows = len(tree.attrs["protocols"])
        figure = style.new_figure(style.DOUBLE, 0.5 + 1.9 * rows)
        drawn = tuple(figure.subplots(rows, 2 * len(tree.children), squeeze=False).ravel())
        _draw(tree, drawn)
        style.letter(drawn)
        style.legend_below(drawn[0])
        return drawn


def _draw(tree: xr.DataTree, axes: tuple[Axes, ...]) -> None:
    places = iter(axes)
    for protocol in tree.attrs["protocols"]:
        for task in tree.attrs["tasks"]:
            data = tree[task].to_dataset()
            for name, scale in COLUMNS[task]:
                ax = next(places)
                draw_lines(data.sel(protocol=protocol), name, "beta", ax)
                set_scale(ax, data.sel(protocol=protocol), name, scale)
                draw_reference(ax, name)
                ax.set_title(f"{task}, {protocol}", loc="right", fontsize=7.5)
                if protocol == "frozen" and "coexistence" in data:
                    _mark_coexistence(data, ax)
                    if ax is axes[0]:
                        note = "bars: where minima\nof the keys coexist"
                        ax.text(0.97, 0.8, note, transform=ax.transAxes, ha="right", va="top", fontsize=6.5)


def _mark_coexistence(data: xr.Dataset, ax: Axes) -> None:
    """Bars at the upper edge: where the keys of each map have coexisting minima."""
    for place, label in enumerate(data["map"].values):
        here = data.sel(map=label)
        points = (here["coexistence"] / here["factor"]).values.ravel()
        points = points[np.isfinite(points)]
        if points.size:
            low, middle, high = np.quantile(points, (0.25, 0.5, 0.75))
            y = 0.95 - 0.035 * place
            look = {"color": colour_of(place), "transform": ax.get_xaxis_transform(), "zorder": 1}
            ax.plot([low, high], [y, y], linewidth=1.6, alpha=0.6, **look)
            ax.plot([middle], [y], marker="|", markersize=4, **look)
