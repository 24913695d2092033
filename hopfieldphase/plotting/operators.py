"""Figure of trained maps between measures: distances over the floor, tail errors, training curves."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator, StrMethodFormatter

from hopfieldphase.data.operators import Outcome
from hopfieldphase.plotting import style

_LOOKS: dict[str, tuple[str, Any]] = {
    "exponential": ("#D55E00", "-"),
    "squared-elu": ("#0072B2", (0, (5, 1.2))),
    "linear-elu": ("#009E73", (0, (3, 1.2, 1, 1.2))),
    "log-elu": ("#CC79A7", (0, (1.4, 1.2))),
}
_PAIRS: tuple[tuple[str, str, float], ...] = (("#0072B2", "o", -0.14), ("#D55E00", "D", 0.14))
_COLUMNS = 3
_WINDOWS = 60  # of the running median of a training curve
_SMALL = 1e-3  # tail discrepancies below it are drawn to scale, larger ones by their logarithm


def plot_operators(tree: xr.DataTree, axes: Sequence[Sequence[Axes]] | None = None) -> np.ndarray:
    """One row for each data transform: scores over the i.i.d. floor, tail errors, training curves.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.operators.operators_tree`.
    axes : nested sequence of matplotlib.axes.Axes, optional
        Transforms × 3; without it in a new figure over two columns in the shipped style.

    Returns
    -------
    ndarray of matplotlib.axes.Axes

    Notes
    -----
    Figures 2, 3, 13, 14 and 15 of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures". Bars
    are 95 % bootstrap intervals over the trials; running medians of the losses are drawn over the losses.
    """
    rows = tree.to_dataset().sizes["transform"]
    if axes is not None:
        drawn = np.array([list(row) for row in axes], dtype=object)
        _draw(tree, drawn)
        return drawn
    with style.style():
        figure = style.new_figure(style.DOUBLE, 0.5 + 1.75 * rows)
        drawn = figure.subplots(rows, _COLUMNS, sharex="col", squeeze=False, width_ratios=(1, 1, 1.25))
        _draw(tree, drawn)
        style.letter(drawn.flat)
        return drawn


def _draw(tree: xr.DataTree, axes: np.ndarray) -> None:
    data, losses = tree.to_dataset(), tree["training"].to_dataset()["loss"]
    floor = float(tree["trials"].to_dataset()["reference"].mean())
    for row, transform in zip(axes, data["transform"].values.tolist(), strict=True):
        here = data.sel(transform=transform)
        _scores(row[0], here)
        _tails(row[1], here)
        _curves(row[2], losses.sel(transform=transform), floor)
        row[0].set_title("no transform" if transform == "none" else transform, loc="right", fontsize=7.5)
    axes[-1, 0].set_xlabel(style.label(data["ratio"]))
    axes[-1, 1].set_xlabel(style.label(data["hill_discrepancy"]))
    axes[-1, 2].set_xlabel(style.label(losses["step"]))
    axes[0, 0].legend(loc="upper right", fontsize=6.5, borderaxespad=0.2)
    axes[0, 1].legend(loc="upper right", fontsize=6.5, borderaxespad=0.2)
    axes[0, 2].legend(loc="upper right", fontsize=6.5, borderaxespad=0.2)


def _scores(ax: Axes, data: xr.Dataset) -> None:
    """Ratio of the distances to the reference, median and mean, of every kernel; a collapse in words."""
    for summary, (colour, marker, shift) in zip(data["summary"].values.tolist(), _PAIRS, strict=True):
        at = data.sel(summary=summary)
        middle = at["ratio"].values
        middle = np.where(at["outcome"] == Outcome.SPREAD, middle, np.nan)
        ends = np.abs(np.array([at["ratio_low"].values, at["ratio_high"].values]) - middle)
        ax.errorbar(
            middle, np.arange(len(middle)) + shift, xerr=ends, color=colour, marker=marker, linestyle="none",
            markersize=3, elinewidth=0.8, capsize=1.5, label=summary,
        )  # fmt: skip
    ax.axvline(1, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    _rows(ax, data, data["kernel"].values.tolist())
    for place, outcome in enumerate(data["outcome"].values.tolist()):
        if outcome != Outcome.SPREAD:
            text = "ensemble collapse" if outcome == Outcome.COLLAPSED else "not finite"
            ax.text(0.03, place, text, transform=ax.get_yaxis_transform(), fontsize=6.5, va="center")


def _tails(ax: Axes, data: xr.Dataset) -> None:
    """Discrepancy of the Hill errors on both latent axes, of every kernel."""
    names = ("axis 0 (lighter)", "axis 1 (heavier)")
    for axis, (colour, marker, shift) in zip(data["axis"].values.tolist(), _PAIRS, strict=True):
        values = data["hill_discrepancy"].sel(axis=axis).values
        ax.plot(
            values, np.arange(len(values)) + shift, color=colour, marker=marker, linestyle="none",
            markersize=3, label=names[axis],
        )  # fmt: skip
    ax.axvline(0, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
    ax.set_xscale("symlog", linthresh=_SMALL)
    ax.xaxis.set_minor_locator(NullLocator())
    _rows(ax, data, [""] * data.sizes["kernel"])


def _rows(ax: Axes, data: xr.Dataset, names: Sequence[str]) -> None:
    """One row for each kernel, with what is to be said of its outputs."""
    ax.set_yticks(range(len(names)), names, fontsize=7)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.set_ylim(len(names) - 0.5, -1.1)
    ax.margins(x=0.08)


def _curves(ax: Axes, losses: xr.DataArray, floor: float) -> None:
    """Losses of the steps, faint, and their running medians; dotted the mean of the reference."""
    step = losses["step"].values + 1
    width = 2 * (len(step) // (2 * _WINDOWS)) + 1
    for kernel in losses["kernel"].values.tolist():
        colour, dashes = _LOOKS[kernel]
        values = losses.sel(kernel=kernel).values
        ax.plot(step, values, color=colour, linewidth=0.3, alpha=0.15)
        finite = np.where(np.isfinite(values), values, np.inf)
        windows = np.lib.stride_tricks.sliding_window_view(finite, width)
        middle = step[width // 2 : width // 2 + len(windows)]
        median = np.median(windows, axis=1)
        ax.plot(middle, median, color=colour, linestyle=dashes, linewidth=1.1, label=kernel)
    ax.axhline(floor, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_ylabel(style.label(losses))
