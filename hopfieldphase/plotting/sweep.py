"""Figures of an up and a down sweep: the hysteresis loop and the size of the retrieved set."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter
from matplotlib.transforms import ScaledTranslation
from numpy.typing import NDArray

from hopfieldphase.data import schema
from hopfieldphase.data.summary import dataset_hysteresis
from hopfieldphase.data.wording import attention_text
from hopfieldphase.phases.hysteresis import Hysteresis, window
from hopfieldphase.plotting import style

Array = NDArray[np.float64]

_COLOURS = {"up": style.UP, "down": style.DOWN}
_MARKERS = {"up": "^", "down": "v"}
_SIZES: Mapping[str, Any] = {"support_size": "-", "ipr": (0, (5, 1.5)), "threshold_count": (0, (1, 1.2))}
_MARKED = 6


def plot_sweep(dataset: xr.Dataset, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Hysteresis loop and support sizes in two panels (Figures 2(a, b) to 5(a, b) of the paper).

    Parameters
    ----------
    dataset : xarray.Dataset
        A sweep, as made by `data.build.sweep_dataset`.
    axes : two matplotlib.axes.Axes, optional
        Where to draw; without it, side by side in a new figure in the shipped style, over one legend.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        return plot_overlap(dataset, axes[0]), plot_support(dataset, axes[1])
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.0)
        left, right = figure.subplots(1, 2)
        handles, caption = draw_sweep(dataset, left, right)
        style.letter((left, right))
        _legend_below(figure, handles, caption, ncols=len(handles))
        return left, right


def draw_sweep(dataset: xr.Dataset, left: Axes, right: Axes) -> tuple[list[Artist], str]:
    """Both panels without the legend of the left one: its entries and its title are returned."""
    handles = _draw_overlap(dataset, left)
    right.legend(handles=_draw_support(dataset, right), loc="best")
    return handles, _caption(dataset, lines=1)


def plot_overlap(dataset: xr.Dataset, ax: Axes | None = None) -> Axes:
    """Maximal overlap along both sweeps, with directions, spread, hysteresis window, jumps and saturation.

    Over several realizations the lines are means, the bands one standard deviation to each side, and every
    jump of every realization is a tick at the lower edge. A single realization has its jumps drawn as dotted
    verticals.

    Parameters
    ----------
    dataset : xarray.Dataset
        A sweep.
    ax : matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure of one column in the shipped style.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if ax is None:
        with style.style():
            figure = style.new_figure(style.SINGLE, 3.1)
            ax = figure.subplots()
            _legend_below(figure, _draw_overlap(dataset, ax), _caption(dataset, lines=2), ncols=2)
            return ax
    ax.legend(handles=_draw_overlap(dataset, ax), title=_caption(dataset, lines=4), loc="best")
    return ax


def plot_support(dataset: xr.Dataset, ax: Axes | None = None) -> Axes:
    r"""How many patterns a state retrieves along both sweeps: exact support, IPR and K_Δ.

    The axis is logarithmic above 1 and linear below, so that K_Δ = 0 is seen. Lines are means over the
    realizations, bands one standard deviation to each side.

    Parameters
    ----------
    dataset : xarray.Dataset
        A sweep.
    ax : matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure of one column in the shipped style.

    Returns
    -------
    matplotlib.axes.Axes
    """
    if ax is None:
        with style.style():
            figure = style.new_figure(style.SINGLE, 3.1)
            ax = figure.subplots()
            _legend_below(figure, _draw_support(dataset, ax), _caption(dataset, lines=2), ncols=2)
            return ax
    ax.legend(handles=_draw_support(dataset, ax), title=_caption(dataset, lines=4), loc="best")
    return ax


def _draw_overlap(dataset: xr.Dataset, ax: Axes) -> list[Artist]:
    """The loop in the given axes; the artists that its legend explains."""
    overlap, loops = dataset["overlap_max"], dataset_hysteresis(dataset)
    stored = ax.axhline(
        float(dataset["saturation"].mean()),
        color=style.THEORY,
        linestyle=":",
        linewidth=1.0,
        label=style.symbol(dataset["saturation"]),
    )
    shades = _draw_window(dataset, loops, ax)
    means = {way: _statistics(overlap.sel(direction=way)) for way in schema.DIRECTIONS}
    values = means["up"][0]
    ax.fill_between(values, means["up"][1], means["down"][1], color="0.5", alpha=0.15, linewidth=0)
    sweeps = [_draw(ax, *means[way], way, "-", label=way) for way in schema.DIRECTIONS]
    for way in schema.DIRECTIONS:
        _draw_arrows(ax, values, means[way][1], way)
    jumps = _draw_jumps(loops, ax)
    # Room for the arrows above and below.
    ax.margins(y=0.08)
    _finish(ax, dataset, style.label(overlap))
    return [*sweeps, stored, *shades, *jumps]


def _draw_support(dataset: xr.Dataset, ax: Axes) -> list[Artist]:
    """The three sizes in the given axes; legend entries for line styles and for markers."""
    _draw_window(dataset, dataset_hysteresis(dataset), ax)
    largest = 1.0
    for name, line in _SIZES.items():
        for way in schema.DIRECTIONS:
            values, mean, spread = _statistics(dataset[name].sel(direction=way))
            _draw(ax, values, mean, spread, way, line, label=f"{name} {way}")
            largest = max(largest, float(mean.max()))
    ax.set_yscale("symlog", linthresh=1, linscale=0.4)
    ax.set_ylim(0, 2 * largest)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    _finish(ax, dataset, "support size")
    lines = [
        Line2D([], [], color="0.2", linestyle=line, label=style.symbol(dataset[name]))
        for name, line in _SIZES.items()
    ]
    markers = [
        Line2D([], [], color=_COLOURS[way], marker=_MARKERS[way], linestyle="none", label=way)
        for way in schema.DIRECTIONS
    ]
    return [*lines, *markers]


def _statistics(variable: xr.DataArray) -> tuple[Array, Array, Array | None]:
    """Parameter values, mean over realizations, and standard deviation where there are several."""
    name = next(str(dim) for dim in variable.dims if dim in schema.PARAMETERS)
    values = variable[name].values
    if variable.sizes.get(schema.REALIZATION, 1) == 1:
        return values, variable.values.reshape(-1).astype(float), None
    return values, variable.mean(schema.REALIZATION).values, variable.std(schema.REALIZATION).values


def _draw(
    ax: Axes, values: Array, mean: Array, spread: Array | None, way: str, line: Any, label: str
) -> Line2D:
    """One line with its band; up and down differ in marker as well as in colour."""
    colour = _COLOURS[way]
    if spread is not None:
        ax.fill_between(values, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    # The markers of the two directions alternate, so that lines on top of each other show both.
    places = (np.arange(_MARKED) + (0.25 if way == "up" else 0.75)) / _MARKED
    (drawn,) = ax.plot(
        values,
        mean,
        color=colour,
        linestyle=line,
        marker=_MARKERS[way],
        markevery=np.unique((places * (values.size - 1)).round().astype(int)).tolist(),
        label=label,
    )
    return drawn


def _draw_arrows(ax: Axes, values: Array, mean: Array, way: str) -> None:
    """Arrows beside the path in the direction of the sweep, in each third where the path is smoothest."""
    length = max(1, values.size // 14)
    inches = ax.get_figure(root=True).dpi_scale_trans  # pyright: ignore[reportOptionalMemberAccess]
    beside = ax.transData + ScaledTranslation(0, (-5 if way == "up" else 5) / 72, inches)
    style_of_arrow = {
        "arrowstyle": "-|>,head_length=0.35,head_width=0.15",
        "color": _COLOURS[way],
        "linewidth": 0.8,
        "shrinkA": 0,
        "shrinkB": 0,
    }
    for third in np.array_split(np.arange(values.size - length), 3):
        inner = third[third.size // 4 : third.size - third.size // 4]
        if inner.size:
            roughness = [np.abs(np.diff(mean[i : i + length + 1])).max() for i in inner]
            first = inner[np.argmin(roughness)]
            ends = [(values[i], mean[i]) for i in (first, first + length)]
            tail, head = ends if way == "up" else ends[::-1]
            ax.annotate(
                "", xy=head, xytext=tail, xycoords=beside, textcoords=beside, arrowprops=style_of_arrow
            )


def _draw_window(dataset: xr.Dataset, loops: Sequence[Hysteresis], ax: Axes) -> list[Patch]:
    """Grey bands where up and down differ, in any and (darker) in all realizations; their legend entries."""
    found = window(dataset[schema.parameter_of(dataset)].values, loops)
    kinds = [(found.any, "0.92", "hysteresis")]
    if len(loops) > 1:
        kinds = [
            (found.any, "0.955", "hysteresis in any realization"),
            (found.all, "0.88", "in all realizations"),
        ]
    handles = []
    for intervals, grey, text in kinds:
        for interval in intervals:
            ax.axvspan(interval.lower, interval.upper, color=grey, linewidth=0, zorder=0)
        if intervals:
            handles.append(Patch(facecolor=grey, edgecolor="0.6", linewidth=0.5, label=text))
    return handles


def _draw_jumps(loops: Sequence[Hysteresis], ax: Axes) -> list[Artist]:
    """Jumps of each sweep: full height for one realization, ticks at the lower edge for several."""
    one, found = len(loops) == 1, False
    for way in schema.DIRECTIONS:
        jumps = [jump for loop in loops for jump in (loop.jumps_up if way == "up" else loop.jumps_down)]
        found |= bool(jumps)
        ax.vlines(
            [(jump.before + jump.after) / 2 for jump in jumps],
            0,
            1 if one else 0.05,
            transform=ax.get_xaxis_transform(),
            colors=_COLOURS[way],
            linestyles=":" if one else "-",
            linewidths=0.7,
            label=f"jumps {way}",
        )
    line, marker = (":", "") if one else ("none", "|")
    entry = Line2D([], [], color="0.2", linewidth=0.7, linestyle=line, marker=marker, label="jumps")
    return [entry] if found else []


def _legend_below(figure: Figure, handles: Sequence[Artist], caption: str, ncols: int) -> None:
    figure.legend(handles=list(handles), title=caption, loc="outside lower center", ncols=ncols)


def _finish(ax: Axes, dataset: xr.Dataset, ylabel: str) -> None:
    axis = dataset[schema.parameter_of(dataset)]
    if _is_geometric(axis.values):
        ax.set_xscale("log")
    ax.margins(x=0)
    ax.set_xlabel(style.label(axis))
    ax.set_ylabel(ylabel)


def _is_geometric(values: Array) -> bool:
    """Whether the grid has constant ratios, and so was meant for a logarithmic axis."""
    if values.size < 3:
        return False
    ratios = values[1:] / values[:-1]
    return bool(np.ptp(ratios) < 1e-3 * (ratios.mean() - 1))


def _caption(dataset: xr.Dataset, lines: int) -> str:
    """What the figure shows, on 1, 2 or 4 lines: sizes, grid, realizations and what the band is."""
    attrs, axis = dataset.attrs, dataset[schema.parameter_of(dataset)]
    sizes = [f"${name} = {attrs[name]}$" for name in ("M", "d") if attrs.get(name) is not None]
    alpha = attrs.get("alpha")
    if attrs.get("attention") is not None:
        sizes.append(attention_text(attrs["attention"]))
    if alpha is not None:
        sizes.append(r"$\alpha = \infty$" if np.isinf(alpha) else rf"$\alpha = {alpha:g}$")
    if attrs.get("beta") is not None:
        sizes.append(rf"$\beta = {attrs['beta']:g}$")
    number = dataset.sizes.get(schema.REALIZATION, 1)
    parts = [
        *sizes,
        f"{style.symbol(axis)} = {float(axis[0]):g} to {float(axis[-1]):g}",
        f"{axis.size} values",
        *(["one realization"] if number == 1 else [f"{number} realizations", r"band: $\pm$ 1 s.d."]),
    ]
    rows = [", ".join(part) for part in np.array_split(np.array(parts), lines) if part.size]
    return "\n".join(rows)
