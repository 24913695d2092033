"""Figures of a phase diagram: regions with their lines, and the maps of what is found in every cell."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt

from hopfieldphase.data import schema
from hopfieldphase.data.diagram import SIDES, stored_lines
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.plotting import style

Array = NDArray[np.float64]

REGIONS = ("mixture", "hysteresis", "retrieval")
"""Both sweeps hold one state on several patterns; two different states; one state on a single pattern."""

HELD = 1e-6
"""Difference of z_max, relative to saturation, above which both sweeps hold different states."""

_FEW = 100.0  # a logarithmic axis over less than this factor also labels 2 and 5
_SINGLE = 1.0 + 1e-3  # IPR of a state on one pattern
_REGION_COLOURS: tuple[Any, ...] = tuple(
    tuple(0.75 + 0.25 * part for part in to_rgb(name)) for name in ("#56B4E9", "#F0E442", "#009E73")
)
_PANELS = ("overlap_max", "ipr", "n_states", "retrieval", "hysteresis")
_TITLES = {
    "overlap_max": r"$z_{\max}$",
    "ipr": "IPR",
    "n_states": "stable states found",
    "retrieval": "retrieval success",
    "hysteresis": r"$z_{\max}$ down $-$ up",
}
_LABELS = {
    "up": "spinodal, sweep up",
    "down": "spinodal, sweep down",
    "storage": "exact retrieval",
    "coexistence": "coexistence",
    "continuous": "continuous transition",
    "closed": "closed form",
}
_STYLES: dict[str, dict[str, Any]] = {
    "coexistence": {"color": "black", "linewidth": 1.6, "linestyle": "-"},
    "up": {"color": style.UP, "linewidth": 1.1, "linestyle": (0, (5, 1.6))},
    "down": {"color": style.DOWN, "linewidth": 1.1, "linestyle": (0, (3, 1.2))},
    "storage": {"color": "#009E73", "linewidth": 1.1, "linestyle": (0, (7, 1.2, 1, 1.2, 1, 1.2))},
    "continuous": {"color": "0.1", "linewidth": 1.3, "linestyle": "-."},
    "closed": {"color": "0.55", "linewidth": 2.2, "linestyle": ":"},
}


def plot_diagram(tree: xr.DataTree) -> list[Axes]:
    """Regions and lines in the first panel, the five maps in the others.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.diagram.diagram_tree`. Maps are means over the realizations, lines those of the
        first one.

    Returns
    -------
    list of matplotlib.axes.Axes
        The regions, then z_max, IPR, number of states, retrieval and hysteresis.
    """
    with style.style():
        figure = style.new_figure(style.DOUBLE, 5.2)
        panels = figure.subplots(2, 3, sharex=True, sharey=True)
        axes = list(panels.ravel())
        handles = _draw_regions(tree, axes[0])
        axes[0].set_title("(a) regions and lines", loc="left")
        for letter, ax, name in zip("bcdef", axes[1:], _PANELS, strict=True):
            plot_map(tree, name, ax)
            ax.set_title(f"({letter}) {_TITLES[name]}", loc="left")
        for ax in axes:
            ax.label_outer()
        figure.legend(handles=handles, title=_caption(tree), loc="outside lower center", ncols=4)
        return axes


def plot_regions(tree: xr.DataTree, ax: Axes | None = None) -> Axes:
    """Regions by what both sweeps hold, with every line.

    Parameters
    ----------
    tree : xarray.DataTree
    ax : matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure of one column in the shipped style.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if ax is None:
        with style.style():
            figure = style.new_figure(style.SINGLE, 3.4)
            ax = figure.subplots()
            handles = _draw_regions(tree, ax)
            figure.legend(handles=handles, title=_caption(tree), loc="outside lower center", ncols=2)
            return ax
    ax.legend(handles=_draw_regions(tree, ax), title=_caption(tree), loc="best")
    return ax


def plot_map(tree: xr.DataTree, name: str, ax: Axes) -> Axes:
    """One map with thin lines on it, its colour bar, and failed cells hatched.

    Parameters
    ----------
    tree : xarray.DataTree
    name : str
        "overlap_max", "ipr", "n_states", "retrieval" or "hysteresis".
    ax : matplotlib.axes.Axes

    Returns
    -------
    matplotlib.axes.Axes
    """
    values, limits, colours, logarithmic = _shown(tree, name)
    x, y = _edges(tree)
    mesh = ax.pcolormesh(x, y, np.ma.masked_invalid(values), cmap=colours, rasterized=True)
    mesh.set_clim(*limits)
    figure = ax.get_figure(root=True)
    if figure is not None:
        bar: Any = figure.colorbar(mesh, ax=ax, pad=0.02, aspect=25)
        if logarithmic:
            bar.locator = MaxNLocator(nbins=6, integer=True)
            bar.formatter = FuncFormatter(lambda power, _: f"{2**power:.3g}")
            bar.update_ticks()
    _hatch_failed(tree, ax)
    _draw_lines(tree, ax, thin="0.25" if name == "hysteresis" else "white")
    _finish(tree, ax)
    return ax


def _shown(tree: xr.DataTree, name: str) -> tuple[Array, tuple[float, float], str, bool]:
    """Values of a map, its fixed limits, its colours, and whether it shows powers of two."""
    root = tree.to_dataset()
    table = root[name].where(root["n_states"] >= 0)
    values = table.mean(schema.REALIZATION).values.astype(float)
    saturation = float(root["saturation"].max())
    if name == "hysteresis":
        return values, (-saturation, saturation), "RdBu_r", False
    if name == "overlap_max":
        return values, (0.0, saturation), "viridis", False
    if name == "retrieval":
        return values, (0.0, 1.0), "viridis", False
    largest = float(np.nanmax(np.append(values, 2.0)))
    return np.log2(np.maximum(values, 1.0)), (0.0, float(np.ceil(np.log2(largest)))), "viridis", True


def _edges(tree: xr.DataTree) -> tuple[Array, Array]:
    """Edges of the cells around their centres, between which centres of a geometric grid are geometric."""
    root = tree.to_dataset()
    x, y = root["beta"].values, root[str(tree.attrs["parameter"])].values
    if _is_geometric(x):
        return np.exp(_around(np.log(x))), _around(y)
    return _around(x), _around(y)


def _around(centres: Array) -> Array:
    inner = (centres[1:] + centres[:-1]) / 2
    first, last = 2 * centres[0] - inner[0], 2 * centres[-1] - inner[-1]
    return np.concatenate(([first], inner, [last]))


def _is_geometric(values: Array) -> bool:
    ratios = values[1:] / values[:-1]
    return len(values) > 2 and float(np.ptp(ratios)) < 1e-6 * float(ratios.mean())


def _draw_regions(tree: xr.DataTree, ax: Axes) -> list[Artist]:
    """Fill the regions, write their names, draw all lines; legend entries."""
    root = tree.to_dataset().isel({schema.REALIZATION: 0})
    differ = np.abs(root["hysteresis"].values) > HELD * root["saturation"].values[:, None]
    kinds = np.where(differ, 1, np.where(root["ipr"].values < _SINGLE, 2, 0)).astype(float)
    kinds[root["n_states"].values < 0] = np.nan
    x, y = _edges(tree)
    ax.pcolormesh(
        x, y, np.ma.masked_invalid(kinds), cmap=ListedColormap(_REGION_COLOURS), vmin=-0.5, vmax=2.5,
        rasterized=True,
    )  # fmt: skip
    _hatch_failed(tree, ax)
    entries = _draw_lines(tree, ax)
    _finish(tree, ax)
    handles: list[Artist] = [
        Patch(facecolor=colour, edgecolor="0.6", linewidth=0.5, label=name)
        for kind, (name, colour) in enumerate(zip(REGIONS, _REGION_COLOURS, strict=True))
        if (kinds == kind).any()
    ]
    for kind, name in enumerate(REGIONS):
        place = _middle(kinds == kind)
        if place is not None:
            centre = (root["beta"].values[place[1]], root[str(tree.attrs["parameter"])].values[place[0]])
            halo = [withStroke(linewidth=2.0, foreground="white")]
            ax.annotate(
                name, centre, ha="center", va="center", fontsize=8, style="italic", zorder=4,
                path_effects=halo, annotation_clip=True,
            )  # fmt: skip
    return [*handles, *entries]


def _middle(mask: NDArray[np.bool_]) -> tuple[int, int] | None:
    """The cell of a region that lies deepest inside it; None for one too small for its name."""
    if mask.sum() < 0.04 * mask.size:
        return None
    depth: Any = distance_transform_edt(np.pad(mask, 1))
    depth = depth[1:-1, 1:-1]
    row, column = np.unravel_index(int(np.argmax(depth)), depth.shape)
    return int(row), int(column)


def _hatch_failed(tree: xr.DataTree, ax: Axes) -> None:
    """Failed cells in hatched grey: those that have failed in every realization."""
    failed = (tree.to_dataset()["n_states"].values < 0).all(axis=0)
    if not failed.any():
        return
    x, y = _edges(tree)
    shown = np.ma.masked_where(~failed, np.zeros(failed.shape))
    ax.pcolor(x, y, shown, hatch="////", cmap=ListedColormap(["0.85"]), edgecolor="0.5", linewidth=0)


def _draw_lines(tree: xr.DataTree, ax: Axes, thin: str | None = None) -> list[Artist]:
    """Closed forms behind, followed lines before them, or thin lines of one colour without closed forms.

    Returns one legend entry for each kind that occurs.
    """
    drawn: dict[str, dict[str, Any]] = {}

    def draw(beta: Array, y: Array, name: str, order: float, steps: bool = False) -> None:
        if not np.isfinite(beta).any():
            return
        look = _STYLES[name] | ({"linewidth": 0.7, "color": thin} if thin else {})
        if steps:
            _step(ax, beta, y, look | {"zorder": order})
        else:
            ax.plot(beta, y, **look, zorder=order)
        drawn[name] = _STYLES[name]

    closed = tree["closed_forms"].to_dataset()
    if not thin and "closed_beta" in closed:
        for beta in closed["closed_beta"].values:
            draw(beta, closed["closed_y"].values, "closed", 2.0)
    for line in stored_lines(tree):
        name = _look_of(line)
        if name in SIDES:
            soft = line["continuous"]
            draw(np.where(soft, np.nan, line["beta"]), line["y"], name, 3.0, line["step"])
            draw(np.where(soft, line["beta"], np.nan), line["y"], "continuous", 3.2)
        else:
            draw(line["beta"], line["y"], name, 2.6 if name == "coexistence" else 2.8, line["step"])
    return [Line2D([], [], label=_LABELS[name], **drawn[name]) for name in _LABELS if name in drawn]


def _look_of(line: dict[str, Any]) -> str:
    if line["kind"] is LineKind.COEXISTENCE:
        return "coexistence"
    return "storage" if line["kind"] is LineKind.STORAGE else line["side"]


def _step(ax: Axes, beta: Array, y: Array, look: dict[str, Any]) -> None:
    """A function of whole numbers of patterns: constant in β halfway to the next value of y."""
    edges = _around(y) if len(y) > 1 else y
    heights = np.repeat(edges, 2)[1:-1] if len(y) > 1 else y
    ax.plot(np.repeat(beta, 2) if len(y) > 1 else beta, heights, **look)


def _finish(tree: xr.DataTree, ax: Axes) -> None:
    root = tree.to_dataset()
    x, y = _edges(tree)
    if _is_geometric(root["beta"].values):
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter(NullFormatter())
        if x[-1] < _FEW * x[0]:
            ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.set_xlim(x[0], x[-1])
    ax.set_ylim(y[0], y[-1])
    ax.set_xlabel(style.label(root["beta"]))
    ax.set_ylabel(style.label(root[str(tree.attrs["parameter"])]))


def _caption(tree: xr.DataTree) -> str:
    """What the figure shows: source, sizes, cells."""
    attrs, root = tree.attrs, tree.to_dataset()
    parameter = str(attrs["parameter"])
    parts: Sequence[str] = [
        str(attrs.get("generator") or "patterns from a file").replace("_", " "),
        *(f"${name} = {attrs[name]}$" for name in ("M", "d") if attrs.get(name) and parameter != "kappa"),
        *([rf"$\alpha = {attrs['alpha']:g}$"] if parameter != "alpha" and "alpha" in attrs else []),
        f"{root.sizes['beta']} × {root.sizes[parameter]} cells",
        *([f"{root.sizes[schema.REALIZATION]} realizations"] if root.sizes[schema.REALIZATION] > 1 else []),
    ]
    return ", ".join(parts)
