"""Figure of the order of the transition: critical couplings of equidistant patterns against α."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from numpy.typing import NDArray

from hopfieldphase.plotting import style

Array = NDArray[np.float64]

_STYLES: dict[str, dict[str, Any]] = {
    "coexistence": {"color": "black", "linewidth": 1.5, "linestyle": "-"},
    "continuous": {"color": "0.1", "linewidth": 1.3, "linestyle": "-."},
    "instability": {"color": style.UP, "linewidth": 1.1, "linestyle": (0, (5, 1.6))},
    "spinodal": {"color": style.DOWN, "linewidth": 1.1, "linestyle": (0, (3, 1.2))},
    "vertex": {"color": "#009E73", "linewidth": 1.2, "linestyle": (0, (7, 1.2, 1, 1.2, 1, 1.2))},
    "edge": {"color": "0.55", "linewidth": 0.5, "linestyle": "-"},
}
_LABELS = {
    "coexistence": "equal free energies",
    "continuous": "continuous transition",
    "instability": r"$K_{\mathrm{inst}}$: state on all ends",
    "spinodal": r"$K_{\mathrm{spin}}$: state on one ends",
    "vertex": r"$K_{\mathrm{vertex}}$: stored exactly above",
    "edge": "ends of uniform states on $k$",
}
_MEASURED: dict[str, Any] = {
    "marker": "o", "markersize": 2.6, "markerfacecolor": "white", "markeredgecolor": "black",
    "markeredgewidth": 0.6,
}  # fmt: skip
_FIRST_ORDER, _ALL, _ONE = "#FBF6B4", "#D5EDFA", "#C4E8DC"


def plot_order(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """One panel for each number of patterns: closed forms, first-order windows, measured points.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.order`.
    axes : sequence of matplotlib.axes.Axes, optional
        One for each number of patterns; without them in a new figure in the shipped style.

    Returns
    -------
    list of matplotlib.axes.Axes
    """
    sizes = tree["lines"].to_dataset()["M"].values.tolist()
    if axes is not None:
        drawn = list(axes)
        _draw(tree, sizes, drawn)
        return drawn
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.6)
        drawn = list(figure.subplots(1, len(sizes), squeeze=False)[0])
        handles = _draw(tree, sizes, drawn)
        figure.legend(handles=handles, title=_caption(), loc="outside lower center", ncols=4)
        return drawn


def _draw(tree: xr.DataTree, sizes: Sequence[int], axes: Sequence[Axes]) -> list[Artist]:
    lines, checks = tree["lines"].to_dataset(), tree["checks"].to_dataset()
    for letter, M, ax in zip("abcdefghijklmnopqrstuvwxyz", sizes, axes, strict=False):
        _panel(lines.sel(M=M), ax, M)
        one = checks.isel(check=np.flatnonzero(checks["M"].values == M))
        found = np.where(one["measured"] > 0, one["measured"], np.nan)
        ax.plot(one["alpha"], found, linestyle="none", zorder=4, **_MEASURED)
        ax.set_title(f"({letter}) " + ("two keys" if M == 2 else f"{M} equidistant patterns"), loc="left")
        if ax is axes[0]:
            ax.set_ylabel(r"coupling $K = \beta s^2 (1 - c)$")
    handles: list[Artist] = [Line2D([], [], label=_LABELS[name], **look) for name, look in _STYLES.items()]
    handles.append(Line2D([], [], linestyle="none", label="measured", **_MEASURED))
    fills = (
        (_FIRST_ORDER, "several states: first order"),
        (_ALL, "all equally only"),
        (_ONE, "one exactly only"),
    )
    return handles + [
        Patch(facecolor=colour, edgecolor="0.6", linewidth=0.5, label=text) for colour, text in fills
    ]


def _panel(one: xr.Dataset, ax: Axes, M: int) -> None:
    alpha = one["alpha"].values
    lower, upper, exchange = (one[name].values[:, :M] for name in ("lower", "upper", "exchange"))
    low, high = (one[f"first_order_{side}"].values[:, :M] for side in ("lower", "upper"))
    instability, vertex = one["instability"].values, one["vertex"].values
    bottom = 0.6 * float(np.nanmin(instability[alpha > 0.3], initial=np.inf))
    top = 2.4 * float(np.nanmax(instability))
    # Mixture of all alone: up to where another state appears, or else to where it ends itself.
    ends = np.fmin(instability, np.fmin(low[:, 0], low[:, M - 1]))
    ax.fill_between(alpha, bottom, np.maximum(ends, bottom), color=_ALL, linewidth=0)
    others = np.fmax(np.where(alpha < 2, instability, upper[:, 1]), vertex)
    ax.fill_between(alpha, np.minimum(others, top), top, color=_ONE, linewidth=0)
    for k in range(M):
        ax.fill_between(alpha, low[:, k], high[:, k], color=_FIRST_ORDER, linewidth=0)
        for edge in (lower[:, k], upper[:, k]):
            ax.plot(alpha, np.where(np.isfinite(edge) & (edge > 0), edge, np.nan), **_STYLES["edge"])
        ax.plot(alpha, exchange[:, k], **dict(_STYLES["coexistence"], linewidth=1.5 if M < 5 else 0.8))
    ax.plot(alpha, one["spinodal"], **_STYLES["spinodal"])
    ax.plot(alpha, one["coexistence"], **_STYLES["coexistence"])
    # Two patterns, and the last two of several above α = 3, part continuously.
    parting = np.where(
        alpha < 2, instability if M == 2 else np.nan, np.where(alpha >= 3, upper[:, 1], np.nan)
    )
    ax.plot(alpha, parting, **_STYLES["continuous"])
    jumps = np.isfinite(low[:, 1]) if M == 2 else np.full(alpha.shape, True)
    ax.plot(alpha, np.where(jumps, instability, np.nan), **_STYLES["instability"])
    ax.plot(alpha, np.where(np.isfinite(vertex), vertex, np.nan), **_STYLES["vertex"])
    ax.set_yscale("log")
    ax.set_ylim(bottom, top)
    ax.set_xlim(0, alpha[-1])
    ax.yaxis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 3.0, 5.0) if top < 10 * bottom else (1.0, 2.0, 5.0))
    )
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel(style.label(one["alpha"]))
    names = (
        (0.28, 0.1, "mixture of both" if M == 2 else f"all {M}"),
        (0.7, 0.85, "one exactly"),
        (0.13, 0.94, "one mostly"),
    )
    for x, y, name in names:
        ax.text(x, y, name, transform=ax.transAxes, ha="center", va="center", fontsize=7.5, color="0.2")


def _caption() -> str:
    return (
        r"Uniform states on $k$ patterns: below $\alpha = 2$ equilibrium passes from all to one at once, "
        "above it loses them one by one."
    )
