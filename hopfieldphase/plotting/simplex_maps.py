"""Figure of attention maps on two and three scores: weights, derivatives, and regions of support size."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from scipy import ndimage

from hopfieldphase.data.simplex_maps import JUMPS
from hopfieldphase.plotting import style

_LOOKS: dict[str, tuple[str, Any]] = {
    "softmax": ("#000000", "-"),
    "entmax": ("#0072B2", (0, (5, 1.2))),
    "sparsemax": ("#D55E00", (0, (4, 1.2, 1, 1.2))),
    "top-k": ("#009E73", (0, (1.2, 1.2))),
    "top-p": ("#CC79A7", (0, (8, 1.5))),
    "constrained-sparsemax": ("#E69F00", (0, (3, 1, 1, 1, 1, 1))),
}
_NAMES = {
    "entmax": "{alpha:g}-entmax",
    "top-k": "top-{k}",
    "top-p": "top-$p$, $p = {p:g}$",
    "constrained-sparsemax": "sparsemax, $p_i \\leq {caps:g}$",
}
_TINTS = ListedColormap(["#b8d8ee", "#e8f0f4", "#fdf3dc"])
_SMALLEST = 0.004  # share of the square from which a region is labelled


def plot_simplex_maps(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Weight and derivative on two scores, then one plane of three scores for each map.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.simplex_maps.simplex_maps_tree`.
    axes : sequence of eight matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure over two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        drawn = tuple(axes)
        _draw(tree, drawn)
        return drawn
    with style.style():
        figure = style.new_figure(style.DOUBLE, 4.3)
        found = figure.subplot_mosaic([list("aACE"), list("bBDF")], width_ratios=[1.25, 1, 1, 1])
        drawn = tuple(found[key] for key in "abACEBDF")
        _draw(tree, drawn)
        style.letter(drawn[:2])
        figure.supxlabel(
            "planes of three scores: numbers of positive weights; thin black lines: continuous changes, "
            "thick red: the weights jump",
            fontsize=7.5,
        )
        return drawn


def _draw(tree: xr.DataTree, axes: Sequence[Axes]) -> None:
    pair = tree["pair"].to_dataset()
    names = pair["map"].values.tolist()
    for ax, variable in zip(axes[:2], ("weight", "slope"), strict=True):
        for name in names:
            colour, dashes = _LOOKS[name]
            label = _NAMES.get(name, str(name)).format_map(tree.attrs)
            values = pair[variable].sel(map=name)
            ax.plot(pair["difference"], values, color=colour, linestyle=dashes, label=label)
        ax.set_xlabel(style.label(pair["difference"]))
        ax.set_ylabel(style.label(pair[variable]))
    axes[0].set_ylim(-0.03, 1.03)
    low, high = axes[1].get_ylim()
    axes[1].set_ylim(low, high + 0.95 * (high - low))
    axes[1].legend(loc="upper center", fontsize=6.5, ncols=1, handlelength=2.6, labelspacing=0.2)
    for ax, name in zip(axes[2:], names, strict=True):
        _plane(ax, tree, name)
        ax.set_title(_NAMES.get(name, str(name)).format_map(tree.attrs), fontsize=8)


def _plane(ax: Axes, tree: xr.DataTree, name: str) -> None:
    plane, boundary = (tree[part].to_dataset().sel(map=name) for part in ("plane", "boundary"))
    u, v, support = plane["u"].values, plane["v"].values, plane["support"].values
    ax.pcolormesh(u, v, support, cmap=_TINTS, vmin=1, vmax=3, rasterized=True)
    sizes = boundary["jump"].values  # NaN beyond the last point
    for chosen, colour, size in ((sizes <= JUMPS, "black", 0.7), (sizes > JUMPS, "#D55E00", 1.6)):
        ax.plot(
            boundary["place_u"].values[chosen],
            boundary["place_v"].values[chosen],
            linestyle="none",
            marker="o",
            markersize=size,
            markeredgewidth=0,
            color=colour,
        )
    # a region is one choice of positive weights; its number stands where it is widest
    chosen = (plane["weight"].values > 0) @ np.array([1, 2, 4])
    for code in np.unique(chosen):
        region = np.pad(chosen == code, 1)
        if region.sum() < _SMALLEST * chosen.size:
            continue
        depth: Any = ndimage.distance_transform_edt(region)
        i, k = np.unravel_index(int(depth[1:-1, 1:-1].argmax()), chosen.shape)
        ax.text(u[k], v[i], str(support[i, k]), ha="center", va="center", fontsize=7)
    ax.set_aspect("equal")
    ax.set_xlabel(style.label(plane["u"]), fontsize=7.5)
    ax.set_ylabel(style.label(plane["v"]), fontsize=7.5)
    ax.tick_params(labelsize=7)
