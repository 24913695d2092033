"""Figure of trained Transformers: reliability and support against memory load and inverse temperature."""

from collections.abc import Sequence
from typing import Any

import numpy as np
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
_NAMES = {1.0: "softmax", 1.5: "1.5-entmax", 2.0: "sparsemax"}
_COLUMNS = (
    ("selective", "value_correct", "linear"),
    ("selective", "ipr", "log"),
    ("uniform", "relative_error", "log"),
    ("uniform", "ipr_ratio", "log"),
)


def plot_capacity(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Accuracy, support, error and relative support, over the load (above) and over β (below).

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.capacity.capacity_tree`.
    axes : sequence of eight matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure over two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes

    Notes
    -----
    Figures 12 to 14 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347). Bars are one standard
    error: over the seeds where there are several, else over the examples.
    """
    if axes is not None:
        drawn = tuple(axes)
        _draw(tree, drawn)
        return drawn
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.9)
        drawn = tuple(figure.subplots(2, 4).ravel())
        _draw(tree, drawn)
        for letter, ax in zip("abcdefgh", drawn, strict=True):
            ax.set_title(f"({letter})", loc="left")
        handles, labels = drawn[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=7.5)
        return drawn


def _draw(tree: xr.DataTree, axes: Sequence[Axes]) -> None:
    for row, grid in enumerate(("M", "beta")):
        for column, (task, name, scale) in enumerate(_COLUMNS):
            ax = axes[len(_COLUMNS) * row + column]
            data = tree[task if grid == "M" else f"{task}_beta"].to_dataset()
            _lines(data, name, grid, ax)
            ax.set_yscale(scale)
            if name in ("relative_error", "ipr_ratio"):
                ax.axhline(1, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
            if grid == "M" and name == "ipr":
                ax.plot(data["M"], data["M"], color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
            ax.set_xlabel(style.label(data[grid]))
            ax.set_ylabel(style.label(data[name]), fontsize=7.5)
            ax.set_title(task, loc="right", fontsize=7.5)


def _lines(data: xr.Dataset, name: str, grid: str, ax: Axes) -> None:
    looks = zip(data["alpha"].values, _LOOKS, strict=False)
    for alpha, (colour, marker, dashes) in looks:
        here = data.sel(alpha=alpha)
        mean = here[name].mean("seed").values
        several = here.sizes["seed"] > 1
        spread = (
            here[name].std("seed", ddof=1).values / np.sqrt(here.sizes["seed"])
            if several
            else here[f"{name}_error"].values[0]
        )
        ax.errorbar(
            here[grid].values, mean, spread, color=colour, marker=marker, linestyle=dashes, markersize=2.5,
            linewidth=1.0, elinewidth=0.7, label=_NAMES.get(float(alpha), rf"$\alpha$ = {alpha:g}"),
        )  # fmt: skip
    ax.set_xscale("log", base=2)
