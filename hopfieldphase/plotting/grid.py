"""Figure of a grid of sweeps: where its hysteresis windows lie, and how large the loops are."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from hopfieldphase.plotting import style

_LINES = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", (0, (4, 1.5))),
    ("#009E73", "^", (0, (1.2, 1))),
    ("#CC79A7", "D", (0, (5, 1, 1, 1))),
    ("#000000", "v", (0, (2, 2))),
)
"""Colour, marker and dashes of each value of the second axis; more values than these are thinned out."""


def plot_grid(data: xr.Dataset | xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Edges of the hysteresis window (left) and area of the loop (right) along the longest axis of a grid.

    Lines stand for values of the next axis, their mean and standard deviation are taken over realizations
    and over all further axes; of the edges, over those sweeps that have a loop.

    Parameters
    ----------
    data : xarray.Dataset or xarray.DataTree
        As made by `runs.grid.grid`, with a loop for every sweep.
    axes : two matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    dataset = data.to_dataset() if isinstance(data, xr.DataTree) else data
    if axes is not None:
        first, second = axes
        _draw(dataset, first, second)
        return first, second
    with style.style():
        figure = style.new_figure(style.DOUBLE, 2.9)
        first, second = figure.subplots(1, 2)
        _draw(dataset, first, second)
        handles, labels = first.get_legend_handles_labels()
        note = _note(dataset)
        if handles or note:
            figure.legend(handles, labels, title=note, loc="outside lower center", ncols=len(_LINES))
        return first, second


def _draw(data: xr.Dataset, first: Axes, second: Axes) -> None:
    along, beside, _ = _axes(data)
    grid = data["loop_area"].dims[:-1]
    parameter = str(data["jumped"].dims[-1])
    places = _places(data[along].values)
    chosen = [None] if beside is None else _thinned(data.sizes[beside])
    for value, (colour, marker, dashes) in zip(chosen, _LINES, strict=False):
        part = data if beside is None or value is None else data.isel({beside: value})
        label = None if beside is None else f"{style.symbol(part[beside])} = {_text(part[beside].item())}"
        line = {
            "color": colour,
            "marker": marker,
            "linestyle": dashes if along in grid else "none",
            "markersize": 3.5,
        }
        ends = [_spread(part[name], along) for name in ("lower_edge", "upper_edge")]
        for (mean, deviation), filled in zip(ends, ("white", colour), strict=True):
            first.errorbar(
                places, mean, deviation, capsize=1.5, elinewidth=0.7, markerfacecolor=filled,
                label=label if filled == colour else None, **line,
            )  # fmt: skip
        first.fill_between(places, ends[0][0], ends[1][0], color=colour, alpha=0.12, linewidth=0)
        mean, deviation = _spread(part["loop_area"], along)
        second.errorbar(places, mean, deviation, capsize=1.5, elinewidth=0.7, **line)
    symbol = {"beta": r"$\beta$", "kappa": r"$\kappa$"}[parameter]
    first.set_ylabel(f"edges of the hysteresis window in {symbol}")
    second.set_ylabel(data["loop_area"].attrs["long_name"])
    for ax, title in ((first, "(a) open: lower, filled: upper edge"), (second, "(b) loop area")):
        ax.set_xlabel(data[along].attrs["long_name"])
        ax.set_title(title, loc="left")
        margin = 0.04 * (np.ptp(places) or 1.0)
        ax.set_xlim(places.min() - margin, places.max() + margin)
        if data[along].dtype.kind == "i":
            ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        if not np.array_equal(places, data[along].values):
            ax.xaxis.set_minor_locator(NullLocator())
            ax.set_xticks(places, [_text(value) for value in data[along].values.tolist()])


def _axes(data: xr.Dataset) -> tuple[str, str | None, tuple[str, ...]]:
    """The axis that is drawn along, that of the lines, and those that are averaged over."""
    names = [str(name) for name in data["loop_area"].dims]
    grid, realization = names[:-1], names[-1]
    if not grid:
        return realization, None, ()
    order = sorted(grid, key=lambda name: (data[name].dtype.kind not in "if", -data.sizes[name]))
    return order[0], order[1] if len(order) > 1 else None, tuple(order[2:])


def _note(data: xr.Dataset) -> str | None:
    """Over what the means are taken, where it is more than realizations."""
    *_, rest = _axes(data)
    return f"mean over {', '.join(rest)} and realizations" if rest else None


def _spread(values: xr.DataArray, along: str) -> tuple[Any, Any]:
    """Mean and standard deviation over all other dimensions, of the sweeps that have a value."""
    table = values.transpose(along, ...).values.reshape(values.sizes[along], -1)
    known = np.isfinite(table)
    count = known.sum(axis=1)
    some = np.where(count > 0, count, 1)
    mean = np.where(known, table, 0).sum(axis=1) / some
    deviation = np.sqrt((np.where(known, table - mean[:, None], 0) ** 2).sum(axis=1) / some)
    return np.where(count > 0, mean, np.nan), np.where(count > 0, deviation, np.nan)


def _places(values: np.ndarray) -> np.ndarray:
    """Numbers as they are; words, and what is not finite, one after the other."""
    if values.dtype.kind in "if" and np.isfinite(values).all():
        return values.astype(float)
    return np.arange(values.size, dtype=float)


def _thinned(count: int) -> list[int]:
    return np.unique(np.linspace(0, count - 1, min(count, len(_LINES))).round().astype(int)).tolist()


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
