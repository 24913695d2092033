"""Figure of the heads of a checkpoint: what their keys are like, and where they lie among the phases."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.image import AxesImage
from matplotlib.ticker import LogFormatterSciNotation, LogLocator, MaxNLocator, NullFormatter, NullLocator

from hopfieldphase.data.heads import At
from hopfieldphase.plotting import style

_COLUMNS = 3
_MOST_TICKS = 12
_WIDE = 30.0  # colour bars over a smaller factor have ticks at 2 and 5 too
_WIDEST = 100.0  # the colours of a ratio reach over four decades at most


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
        figure.supxlabel("head", fontsize="medium")
        figure.supylabel("layer", fontsize="medium")
        return drawn


def _draw(tree: xr.DataTree, axes: np.ndarray) -> None:
    root, phases = tree.to_dataset(), tree["phases"].to_dataset()
    M = root.sizes["position"]
    first = axes[0]
    _map(first[0], root["key_norm"], "mean key norm", Normalize())
    _map(first[1], root["cosine"], "mean cosine of keys", Normalize(-1, 1), "RdBu_r")
    _map(
        first[2], root["attention_ipr"], rf"attention $\langle 1/\Sigma p^2\rangle$, $M = {M}$", LogNorm(1, M)
    )
    for row, alpha in zip(axes[1:], phases["alpha"].values.tolist(), strict=True):
        part = phases.sel(alpha=alpha)
        name = rf"$\alpha = {alpha:g}$: "
        _ratio(row[0], part, name + r"$1/\beta_2$", float(np.sqrt(tree.attrs["head_dimension"])))
        for ax, at, text in ((row[1], At.STATE, r"$\beta = 1$"), (row[2], At.KEY, r"$\beta = \sqrt{d}$")):
            states = part["states"].sel(at=str(at))
            _map(ax, states.where(states > 0), f"{name}minima at {text}", LogNorm(1, M))
    for ax in axes.ravel():
        for axis, dim in ((ax.xaxis, "head"), (ax.yaxis, "layer")):
            axis.set_major_locator(MaxNLocator(_MOST_TICKS, integer=True))
            n = root.sizes[dim]
            if n <= _MOST_TICKS:
                axis.set_ticks(range(n), [str(value) for value in root[dim].values])
        ax.tick_params(labelsize="x-small", length=2)


def _ratio(ax: Axes, part: xr.Dataset, title: str, raw: float) -> None:
    ratio = (1 / part["second_minimum"]).where(np.isfinite(part["second_minimum"]))
    known = ratio.values[np.isfinite(ratio.values)]
    spread = float(np.clip(np.exp(np.abs(np.log(known)).max()), 2, _WIDEST)) if known.size else 2.0
    _map(ax, ratio, title, LogNorm(1 / spread, spread), "RdBu_r")
    layers, heads = np.nonzero(ratio.values * raw > 1)
    ax.plot(heads, layers, ".", color="black", markersize=2, linestyle="none")


def _map(ax: Axes, values: xr.DataArray, title: str, norm: Normalize, colours: str = "viridis") -> AxesImage:
    """One heat map with its colour bar; what has no value is hatched grey."""
    ax.set_facecolor("0.9")
    ax.patch.set_hatch("/////")
    ax.patch.set_edgecolor("0.6")
    shown = np.ma.masked_invalid(values.transpose("layer", "head").values.astype(float))
    image = ax.imshow(shown, cmap=colours, norm=norm, aspect="auto", origin="lower", interpolation="nearest")
    bar = style.figure_of(ax).colorbar(image, ax=ax, pad=0.02, fraction=0.08)
    lowest, highest = image.get_clim()
    if isinstance(norm, LogNorm):
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if highest <= _WIDE * lowest else (1,)))
        bar.ax.yaxis.set_major_formatter(LogFormatterSciNotation(labelOnlyBase=False))
        bar.ax.yaxis.set_minor_locator(NullLocator())
        bar.ax.yaxis.set_minor_formatter(NullFormatter())
    bar.ax.tick_params(labelsize="x-small", length=2)
    ax.set_title(title, loc="left", fontsize="small")
    return image
