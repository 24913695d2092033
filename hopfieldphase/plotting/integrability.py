"""Figure of the attention integrals under heavy tails: which settle and which grow with the sample."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.data.integrability import PARTS
from hopfieldphase.plotting import style

_LOOKS: dict[str, tuple[str, str, Any]] = {
    "exponential": ("#D55E00", "o", "-"),
    "squared-elu": ("#CC79A7", "s", (0, (5, 1.2))),
    "linear-elu": ("#0072B2", "^", (0, (4, 1.2, 1, 1.2))),
    "log-elu": ("#009E73", "D", (0, (1.5, 1.2))),
}
_CONTROL: tuple[str, str, Any] = ("0.3", "v", (0, (3, 1.5)))


def plot_integrability(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Softmax denominators in their logarithm, then denominators and numerators of the slower kernels.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.integrability.integrability_tree`.
    axes : sequence of three matplotlib.axes.Axes, optional
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
        figure = style.new_figure(style.DOUBLE, 2.9)
        drawn = tuple(figure.subplots(1, 3))
        _draw(tree, drawn)
        style.letter(drawn)
        caption = (
            rf"mirrored Pareto, $a = {tree.attrs['index']:g}$, $c = {tree.attrs['score']:g}$: medians of "
            f"{tree.sizes['draw']} samples, bands from the 16th to the 84th percentile; grey: "
            "expected growth, and values of the population"
        )
        figure.supxlabel(caption, fontsize=7.5)
        return drawn


def _draw(tree: xr.DataTree, axes: Sequence[Axes]) -> None:
    data, control = tree.to_dataset(), tree["control"].to_dataset()
    sizes = data["size"].values
    first = axes[0]
    heavy = data["log_mean"].sel(kernel="exponential", power=0)
    _band(first, sizes, heavy.values, _LOOKS["exponential"], "mirrored Pareto")
    label = rf"Gaussian, $\sigma = {tree.attrs['sigma']:g}$"
    _band(first, sizes, control["log_mean"].values, _CONTROL, label)
    last = float(np.median(heavy.values[-1]))
    _guide(first, sizes, last * (sizes / sizes[-1]) ** (1 / tree.attrs["index"]), r"$\propto n^{1/a}$")
    first.axhline(float(control["log_population"]), color=style.THEORY, linestyle=":", linewidth=0.8)
    first.set_ylabel(r"softmax: $\ln$ of the denominator $D_n$")
    for ax, power in zip(axes[1:], data["power"].values.tolist(), strict=True):
        for name in data["kernel"].values.tolist():
            one = data.sel(kernel=name, power=power)
            growth, exact = float(one["growth"]), float(one["population"])
            if np.isinf(growth):
                continue
            values = np.exp(one["log_mean"].values)
            _band(ax, sizes, values, _LOOKS[name], name)
            if np.isfinite(exact):
                ax.axhline(exact, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
            elif growth > 0:
                guide = np.median(values[-1]) * (sizes / sizes[-1]) ** growth
                _guide(ax, sizes, guide, "$\\propto n$" if growth == 1 else rf"$\propto n^{{{growth:.2g}}}$")
        ax.set_ylabel(f"{PARTS[power]} ${'DN'[power]}_n$")
    for ax in axes:
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel(style.label(data["size"]))
        ax.margins(x=0.04)
        low, high = ax.get_ylim()
        ax.set_ylim(low, high * (high / low) ** 0.35)
        ax.legend(loc="upper left")


def _band(ax: Axes, sizes: Any, values: Any, look: tuple[str, str, Any], label: str) -> None:
    colour, marker, dashes = look
    low, middle, high = np.percentile(values, (16, 50, 84), axis=1)
    ax.fill_between(sizes, low, high, color=colour, alpha=0.18, linewidth=0)
    ax.plot(sizes, middle, color=colour, marker=marker, linestyle=dashes, markersize=3, label=label)


def _guide(ax: Axes, sizes: Any, values: Any, text: str) -> None:
    ax.plot(sizes, values, color=style.THEORY, linestyle="-", linewidth=0.6, zorder=1)
    k = len(sizes) - 2
    place: dict[str, Any] = {"xytext": (2, -9), "textcoords": "offset points", "color": style.THEORY}
    ax.annotate(text, (sizes[k], values[k]), fontsize=7.5, **place)
