"""Figure of the heads of a checkpoint: what their keys are like, and where they lie among the phases."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

from hopfieldphase.data.heads import At
from hopfieldphase.plotting import style

_COLUMNS = 3
_MOST_TICKS = 12
_LEAST, _WIDEST = 0.7, 1e3  # least logarithm and largest factor of the colours of 1/β₂ to either side


_CAPTION = (
    "head\n"
    r"$\beta_2$: lowest $\beta$ with a second minimum (hatched: none found); dot: $\beta_2 < \sqrt{d}$; "
    "minima: those that the queries reach"
)


def plot_heads(tree: xr.DataTree, axes: Sequence[Sequence[Axes]] | None = None) -> np.ndarray:
    """One row of maps for the keys and the attention of all heads, and one for each α.

    For each α: how far β = 1 lies above where a second minimum begins (blue: below, red: above; a dot where
    β = √d lies above), and how many minima the head's own queries reach at β = 1 and at β = √d. Heads
    without a second minimum are hatched.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.heads.heads_tree`.
    axes : nested sequence of matplotlib.axes.Axes, optional
        One row of three for the keys and one for each α; without it in a new figure over two columns in the
        shipped style.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
    """
    if axes is not None:
        drawn = np.array([list(row) for row in axes], dtype=object)
        _draw(tree, drawn)
        return drawn
    rows = 1 + tree["phases"].sizes["alpha"]
    with style.style():
        figure = style.new_figure(style.DOUBLE, 0.35 + 1.4 * rows)
        drawn = figure.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False)
        _draw(tree, drawn)
        figure.supxlabel(_CAPTION, fontsize="small")
        figure.supylabel("layer", fontsize="small")
        return drawn


def _draw(tree: xr.DataTree, axes: np.ndarray) -> None:
    root, phases = tree.to_dataset(), tree["phases"].to_dataset()
    M = root.sizes["position"]
    steepest = float(np.abs(root["cosine"]).max())
    first = axes[0]
    _map(first[0], root["key_norm"], "mean key norm", Normalize())
    _map(first[1], root["cosine"], "mean cosine of keys", Normalize(-steepest, steepest), "RdBu_r")
    _map(
        first[2], root["attention_ipr"], rf"attention $\langle 1/\Sigma p^2\rangle$, $M = {M}$", LogNorm(1, M)
    )
    ratio = (1 / phases["second_minimum"]).where(np.isfinite(phases["second_minimum"]))
    known = ratio.values[np.isfinite(ratio.values)]
    spread = min(float(np.exp(np.abs(np.log(known)).max(initial=_LEAST))), _WIDEST)
    raw = float(np.sqrt(tree.attrs["head_dimension"]))
    for row, alpha in zip(axes[1:], phases["alpha"].values.tolist(), strict=True):
        name = rf"$\alpha = {alpha:g}$: "
        here = ratio.sel(alpha=alpha)
        _map(row[0], here, name + r"$1/\beta_2$", LogNorm(1 / spread, spread), "RdBu_r")
        layers, heads = np.nonzero(here.transpose("layer", "head").values * raw > 1)
        row[0].plot(heads, layers, ".", color="black", markersize=2, linestyle="none")
        for ax, at, text in ((row[1], At.STATE, r"$\beta = 1$"), (row[2], At.KEY, r"$\beta = \sqrt{d}$")):
            states = phases["states"].sel(alpha=alpha, at=str(at))
            _map(ax, states.where(states > 0), f"{name}minima at {text}", LogNorm(1, M))


def _map(ax: Axes, values: xr.DataArray, title: str, norm: Normalize, colours: str = "viridis") -> None:
    """One heat map with its colour bar; what has no value is hatched grey."""
    ax.set_facecolor("0.9")
    ax.patch.set_hatch("/////")
    ax.patch.set_edgecolor("0.6")
    shown = np.ma.masked_invalid(values.transpose("layer", "head").values.astype(float))
    image = ax.imshow(shown, cmap=colours, norm=norm, aspect="auto", origin="lower", interpolation="nearest")
    bar = style.figure_of(ax).colorbar(image, ax=ax, pad=0.02, fraction=0.08)
    if isinstance(norm, LogNorm):
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 3)))
        bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        bar.ax.yaxis.set_minor_locator(NullLocator())
    bar.ax.tick_params(labelsize="x-small", length=2)
    ax.set_title(title, loc="left", fontsize="small")
    for axis, dim in ((ax.xaxis, "head"), (ax.yaxis, "layer")):
        numbers = values[dim].values.tolist()
        step = -(-len(numbers) // _MOST_TICKS)
        axis.set_ticks(range(0, len(numbers), step), [str(number) for number in numbers[::step]])
        axis.set_minor_locator(NullLocator())
    ax.tick_params(labelsize="x-small", length=2)
