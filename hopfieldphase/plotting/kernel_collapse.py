"""Figure of retrieval and collapse over tail index and inverse temperature, one column for each kernel."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hopfieldphase.plotting import style

_ROWS = {"retrieved": "retrieved", "collapsed": "on the extreme pattern"}
_GAP = 0.5  # between the tail indices and the Gaussian, in cells
_LINES: dict[str, tuple[str, str, Any, str]] = {
    "onset_queried": ("#E69F00", "o", "-", "half of the queried patterns hold alone"),
    "onset_extreme": ("#D55E00", "s", (0, (4, 1.5)), "the extreme pattern holds alone"),
    "onset_mean": ("#CC79A7", "^", (0, (1.2, 1)), "equal weights turn unstable"),
}


def plot_kernel_collapse(tree: xr.DataTree, axes: Sequence[Sequence[Axes]] | None = None) -> np.ndarray:
    """Fractions retrieved (upper row) and collapsed (lower row) at the end of all updates.

    Lines are medians over patterns and realizations of the onsets of single patterns and of the instability
    of equal weights (`onsets` and `mean_onset` of `dynamics.kernel_collapse`).

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.kernel_collapse.kernel_collapse_tree`.
    axes : nested sequence of matplotlib.axes.Axes, optional
        2 × kernels; without it in a new figure over two columns in the shipped style.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
    """
    if axes is not None:
        drawn = np.array([list(row) for row in axes], dtype=object)
        _draw(tree, drawn)
        return drawn
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.7)
        count = tree.to_dataset().sizes["kernel"]
        drawn = figure.subplots(2, count, sharex=True, sharey=True, squeeze=False)
        mesh = _draw(tree, drawn)
        bar = figure.colorbar(mesh, ax=drawn, pad=0.01, aspect=35)
        bar.set_label("fraction of the queries")
        figure.legend(handles=_handles(), loc="outside lower center", ncols=3)
        return drawn


def _draw(tree: xr.DataTree, axes: np.ndarray) -> Any:
    data, control = tree.to_dataset(), tree["control"].to_dataset()
    b, index = data["b"].values, data["index"].values
    mesh = None
    for column, kernel in zip(axes.T, data["kernel"].values.tolist(), strict=True):
        for ax, name in zip(column, _ROWS, strict=True):
            mesh = _panel(ax, _mean(data, kernel, name), _mean(control, kernel, name), b)
            for line, (colour, marker, dashes, _) in _LINES.items():
                onset = data[line].sel(kernel=kernel).median("realization").values
                shown = np.where((onset >= b[0] / 2) & (onset <= 2 * b[-1]), np.log2(onset), np.nan)
                look: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker}
                rim: dict[str, Any] = {"markeredgecolor": "white", "markeredgewidth": 0.3}
                ax.plot(np.arange(index.size), shown, linewidth=1.2, markersize=2.2, **look, **rim)
            ax.set_ylim(np.log2(b[0]) - 0.5, np.log2(b[-1]) + 0.5)
        column[0].set_title(kernel, fontsize=8)
        _ticks(column[-1], index, b)
    for ax, words in zip(axes[:, 0], _ROWS.values(), strict=True):
        ax.set_ylabel(f"{words}\n{style.symbol(data['b'])}", fontsize=8)
    middle = axes[-1][axes.shape[1] // 2]
    middle.set_xlabel(f"{style.label(data['index'])}; G: Gaussian", fontsize=8, loc="center")
    return mesh


def _mean(data: xr.Dataset, kernel: str, name: str) -> Any:
    return data[name].sel(kernel=kernel, stage="end").mean("realization").transpose("b", ...).values


def _panel(ax: Axes, heavy: Any, light: Any, b: Any) -> Any:
    step = np.log2(b[1] / b[0]) if b.size > 1 else 1.0
    edges = np.append(np.log2(b) - step / 2, np.log2(b[-1]) + step / 2)
    columns = heavy.shape[1]
    places = np.arange(columns + 1) - 0.5
    looks: dict[str, Any] = {"cmap": "viridis", "vmin": 0.0, "vmax": 1.0, "rasterized": True}
    mesh = ax.pcolormesh(places, edges, heavy, **looks)
    ax.pcolormesh([columns - 0.5 + _GAP, columns + 0.5 + _GAP], edges, light[:, None], **looks)
    return mesh


def _ticks(ax: Axes, index: Any, b: Any) -> None:
    shown = np.unique(np.linspace(0, max(index.size - 3, 0), 3).round().astype(int))
    places = [*shown.tolist(), index.size + _GAP]
    ax.set_xticks(places, [*(f"{index[i]:g}" for i in shown), "G"], fontsize=7)
    ax.tick_params(axis="x", which="minor", bottom=False, top=False)
    low, high = np.ceil(np.log10(b[0])), np.floor(np.log10(b[-1]))
    powers = np.arange(low, high + 1)
    ax.set_yticks(powers * np.log2(10.0), [rf"$10^{{{int(power)}}}$" for power in powers], fontsize=7)


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], color=colour, linestyle=dashes, marker=marker, markersize=3, label=label)
        for colour, marker, dashes, label in _LINES.values()
    ]
