"""Figure of the dispersion of attention: entropies, supports, gaps, and what one token more changes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style

_LOOKS: dict[str, tuple[str, str, Any]] = {
    "softmax": ("#000000", "o", "-"),
    "yarn-softmax": ("#56B4E9", "v", (0, (6, 1.2))),
    "scalable-softmax": ("#009E73", "^", (0, (3, 1.2))),
    "entmax": ("#0072B2", "s", (0, (5, 1.2, 1, 1.2))),
    "sparsemax": ("#D55E00", "D", (0, (1.4, 1.2))),
    "asentmax": ("#CC79A7", "p", (0, (3, 1, 1, 1, 1, 1))),
    "top-k": ("0.5", "x", (0, (1, 2.5))),
}
_LABELS = {
    "yarn-softmax": "YaRN",
    "scalable-softmax": "scalable softmax",
    "entmax": "{alpha:g}-entmax",
    "asentmax": "ASEntmax, {alpha:g}",
    "top-k": "top-{relevant}",
}

_ROUNDING = 1e-15  # changes of a weight up to this are none
_ZERO = 1e-9  # where they are drawn on a logarithmic axis


def plot_dispersion(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Random scores (entropy, support), two levels of scores (entropy, weight, gap), and one token more.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.dispersion.dispersion_tree`.
    axes : sequence of six matplotlib.axes.Axes, optional
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
        figure = style.new_figure(style.DOUBLE, 4.7)
        drawn = tuple(figure.subplots(2, 3).ravel())
        _draw(tree, drawn)
        style.letter(drawn)
        style.legend_below(drawn[0], 5)
        return drawn


def _draw(tree: xr.DataTree, axes: Sequence[Axes]) -> None:
    data, attrs = tree.to_dataset(), tree.attrs
    n, k = data["length"].values, attrs["relevant"]
    entropy, support, level, mass, gap, added = axes
    for name in data["map"].values.tolist():
        one = data.sel(map=name)
        colour, marker, dashes = _LOOKS[name]
        look: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": dashes, "markersize": 2.5}
        label = _LABELS.get(name, str(name)).format_map(attrs)
        entropy.plot(n, one["entropy"].mean("draw"), label=label, **look)
        support.plot(n, one["support"].mean("draw"), **look)
        level.plot(n, one["level_entropy"], **look)
        mass.plot(n, one["mass"], **look)
        gap.plot(n, one["gap"], **look)
        isolated = one["expected_isolation"].where(np.isfinite(one["expected_isolation"]))
        if (isolated > 0).any():
            gap.plot(n, isolated, color=colour, linewidth=0.6, linestyle=dashes)
        support.plot(n, one["expected_support"], color=style.THEORY, linewidth=0.6, zorder=1)
    entropy.plot(
        n, data["least_entropy"], color=style.THEORY, linewidth=0.9, linestyle="-", label="least, softmax"
    )
    entropy.plot(
        n, data["entropy_bound"], color=style.THEORY, linewidth=0.9, linestyle=":", label="bound, softmax"
    )
    _label(entropy, rf"random scores, $\Delta = {attrs['spread']:g}$", style.label(data["entropy"]))
    _label(support, rf"random scores, $\Delta = {attrs['spread']:g}$", style.label(data["support"]))
    _label(level, rf"{k} relevant, gap {attrs['gap']:g}", style.label(data["level_entropy"]))
    _label(mass, rf"{k} relevant, gap {attrs['gap']:g}", style.label(data["mass"]))
    _label(gap, rf"{k} relevant; thin: isolated", style.label(data["gap"]))
    for ax in axes[:5]:
        ax.set_xscale("log")
        ax.set_xlabel("number of scores $n$")
        ax.margins(x=0.04)
    for ax in (entropy, level):
        ax.set_ylim(0, 1.05)
    support.set_yscale("log")
    mass.set_yscale("log")
    gap.set_yscale("log")
    _append(added, tree["appended"].to_dataset())


def _append(ax: Axes, added: xr.Dataset) -> None:
    for name in added["map"].values.tolist():
        colour, marker, dashes = _LOOKS[name]
        one = added.sel(map=name)
        change = one["change"].where(one["change"] > _ROUNDING, _ZERO)
        ax.plot(
            added["score"], change, color=colour, marker=marker, linestyle=dashes, markersize=2, markevery=15
        )
    top = float(added["context"].max())
    ax.axvline(top, color=style.THEORY, linewidth=0.6, linestyle=":")
    ax.set_yscale("log")
    ax.set_ylim(_ZERO / 10, 3)
    place: dict[str, Any] = {"xytext": (4, 3), "textcoords": "offset points", "fontsize": 7.5}
    ax.annotate("0 to rounding", (float(added["score"][0]), _ZERO), **place)
    ax.set_xlabel(style.label(added["score"]))
    _label(ax, f"one token more, $n = {added.sizes['context']} + 1$", style.label(added["change"]))


def _label(ax: Axes, title: str, name: str) -> None:
    ax.set_title(title, loc="right", fontsize=7.5)
    ax.set_ylabel(name)
