"""Figure of attention as kernel regression: fits, bandwidths, errors, and the Gaussian limit."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style

_LOOKS: dict[str, tuple[str, str, Any]] = {
    "epanechnikov": ("#D55E00", "o", (0, (1.4, 1.2))),
    "biweight": ("#0072B2", "s", (0, (5, 1.2))),
    "triweight": ("#009E73", "^", (0, (5, 1.2, 1, 1.2))),
    "gaussian": ("#000000", "D", "-"),
}
_LABELS = {
    "epanechnikov": "Epanechnikov, sparsemax",
    "biweight": "biweight, 1.5-entmax",
    "triweight": "triweight, 4/3-entmax",
    "gaussian": "Gaussian, softmax",
}


def plot_regression(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Keys with the fits, the bandwidth along the circle, the error against temperature, and r → ∞.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.regression.regression_tree`.
    axes : sequence of four matplotlib.axes.Axes, optional
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
        figure = style.new_figure(style.DOUBLE, 4.6)
        drawn = tuple(figure.subplots(2, 2).ravel())
        _draw(tree, drawn)
        style.letter(drawn)
        style.legend_below(drawn[0], 3)
        return drawn


def _draw(tree: xr.DataTree, axes: Sequence[Axes]) -> None:
    data, keys = tree.to_dataset(), tree["keys"].to_dataset()
    fits, widths, errors, limit = axes
    angle, gamma = data["angle"].values, tree.attrs["temperature"]
    fits.plot(
        keys["key_angle"],
        keys["key_value"],
        linestyle="none",
        marker=".",
        markersize=2,
        color="0.6",
        label="keys",
    )
    fits.plot(angle, data["truth"], color=style.THEORY, linewidth=0.8, linestyle=":", label="function")
    for name in data["kernel"].values.tolist():
        one = data.sel(kernel=name)
        colour, marker, dashes = _LOOKS[name]
        order = 2.0 if name == "gaussian" else 2.1  # dashes stay visible where fits agree
        fits.plot(angle, one["fit"], color=colour, linestyle=dashes, label=_LABELS[name], zorder=order)
        widths.plot(angle, one["bandwidth"], color=colour, linestyle=dashes)
        widths.plot(angle, one["expected_bandwidth"], color=style.THEORY, linewidth=0.6)
        look: dict[str, Any] = {"marker": marker, "markersize": 2.5, "markevery": 4}
        errors.plot(data["temperature"], one["rms"], color=colour, linestyle=dashes, **look)
    for ax in (fits, widths):
        ax.set_xlabel(style.label(data["angle"]))
        ax.set_xticks([-np.pi, 0, np.pi], [r"$-\pi$", "0", r"$\pi$"])
    fits.set_ylabel(style.label(keys["key_value"]))
    widths.set_ylabel(style.label(data["bandwidth"]))
    widths.set_ylim(0, None)
    widths.set_title("thin: from the density of keys", loc="right", fontsize=7.5)
    errors.axvline(gamma, color=style.THEORY, linewidth=0.6, linestyle=":")
    errors.set_xscale("log")
    errors.set_xlabel(style.label(data["temperature"]))
    errors.set_ylabel(style.label(data["rms"]))
    power, distance = data["power"].values, data["distance"].values
    limit.loglog(power, distance, color="black", marker="o", linestyle="none", markersize=3)
    limit.loglog(power, distance[-1] * power[-1] / power, color=style.THEORY, linewidth=0.8)
    limit.annotate(
        r"$\propto 1/r$",
        (power[5], distance[-1] * power[-1] / power[5]),
        xytext=(6, 4),
        textcoords="offset points",
    )
    limit.margins(x=0.04)
    limit.set_xlabel(style.label(data["power"]))
    limit.set_ylabel("largest difference to softmax")
    for ax in (fits, limit):
        ax.set_title(rf"$\gamma = {gamma:g}$", loc="right", fontsize=7.5)
