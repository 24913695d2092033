"""Figure of the tail-sensitivity testbed: three statistics in noise units against the tail index."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MultipleLocator, NullLocator, SymmetricalLogLocator

from hopfieldphase.data.tail_sensitivity import LABELS
from hopfieldphase.plotting import style

_LOOKS: tuple[tuple[str, str, Any], ...] = (
    ("#0072B2", "o", "-"),
    ("#D55E00", "s", (0, (5, 1.2))),
    ("#009E73", "^", (0, (1.5, 1.2))),
    ("#CC79A7", "D", (0, (4, 1.2, 1, 1.2))),
    ("#E69F00", "v", (0, (7, 1.2, 1, 1.2, 1, 1.2))),
)
_LINEAR = 1.0  # noise units up to which the axis is linear


def plot_tail_sensitivity(tree: xr.DataTree, axes: Sequence[Sequence[Axes]] | None = None) -> np.ndarray:
    """One row of panels for each statistic, one column for each sample size, one line for each seam.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.tail_sensitivity.tail_sensitivity_tree`.
    axes : nested sequence of matplotlib.axes.Axes, optional
        Statistics × sizes; without it in a new figure over two columns in the shipped style.

    Returns
    -------
    ndarray of matplotlib.axes.Axes

    Notes
    -----
    Figure 1 of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".
    """
    data = tree.to_dataset()
    if axes is not None:
        drawn = np.array([list(row) for row in axes], dtype=object)
        _draw(data, drawn)
        return drawn
    with style.style():
        figure = style.new_figure(style.DOUBLE, 4.9)
        shape = (data.sizes["statistic"], data.sizes["size"])
        drawn = figure.subplots(*shape, sharex=True, sharey="row", squeeze=False)
        _draw(data, drawn)
        figure.legend(handles=_handles(data, tree), loc="outside lower center", ncols=4)
        return drawn


def _draw(data: xr.Dataset, axes: np.ndarray) -> None:
    for row, name in zip(axes, data["statistic"].values.tolist(), strict=True):
        one = data.sel(statistic=name)
        # below zero only as far as finite means reach: without one, a standard error has no meaning
        settled = (one["noise"] - one["published_error"]).where(one["has_mean"])
        limits = min(1.15 * float(settled.min()), -0.4), 2.5 * max(float(one["noise"].max()), 1.0)
        for ax, size in zip(row, data["size"].values.tolist(), strict=True):
            _panel(one.sel(size=size), ax)
            ax.set_ylim(limits)
        row[0].set_ylabel(f"{LABELS[name]}\nnoise units $z$")
    for ax, size in zip(axes[0], data["size"].values.tolist(), strict=True):
        ax.set_title(f"$N = {size}$", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel(style.label(data["index"]))


def _panel(data: xr.Dataset, ax: Axes) -> None:
    a, hollow = data["index"].values, ~data["has_mean"].values
    ax.axhline(0, color=style.THEORY, linewidth=0.5, zorder=1)
    for (colour, marker, dashes), seam in zip(_LOOKS, data["seam"].values, strict=False):
        one = data.sel(seam=seam)
        z, error, published = (one[k].values for k in ("noise", "noise_error", "published_error"))
        ax.fill_between(a, z - published, z + published, color=colour, alpha=0.18, linewidth=0)
        ax.errorbar(a, z, error, color=colour, linestyle=dashes, linewidth=0.9, elinewidth=0.8, zorder=3)
        for part, face in ((~hollow, colour), (hollow, "white")):
            dots: dict[str, Any] = {"markerfacecolor": face, "markeredgewidth": 0.7, "markersize": 3}
            ax.plot(a[part], z[part], marker, color=colour, zorder=4, **dots)
    reference = float(a[np.flatnonzero(data["noise_error"].isel(seam=0).values == 0)[0]])
    ax.axvline(reference, color=style.THEORY, linewidth=0.6, linestyle=":", zorder=1)
    ax.set_yscale("symlog", linthresh=_LINEAR, linscale=0.8)
    ax.yaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=_LINEAR))
    ax.yaxis.set_major_formatter(FuncFormatter(_power))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_locator(MultipleLocator(1))
    ax.margins(x=0.06)


def _power(value: float, _: object) -> str:
    """Plain numbers up to ten, powers of ten above."""
    if abs(value) <= 10:
        return f"${value:g}$"
    return f"${'-' if value < 0 else ''}10^{{{round(np.log10(abs(value)))}}}$"


def _handles(data: xr.Dataset, tree: xr.DataTree) -> list[Artist]:
    lines: list[Artist] = [
        Line2D([], [], color=colour, marker=marker, markersize=3, linestyle=dashes, linewidth=0.9,
               label=f"seam at $q_0 = {seam:g}$")
        for (colour, marker, dashes), seam in zip(_LOOKS, data["seam"].values, strict=False)
    ]  # fmt: skip
    hollow: dict[str, Any] = {"markerfacecolor": "white", "linestyle": "none", "markersize": 3}
    draws = sorted(set(data["published_draws"].values.tolist()), reverse=True)
    return [
        *lines,
        Line2D([], [], color=style.THEORY, linewidth=0.8, linestyle=":",
               label=f"reference index {tree.attrs['reference']:g}"),
        Line2D([], [], color="0.4", marker="|", linestyle="none",
               label=f"bars: one standard error, {tree['draws'].sizes['draw']} draws"),
        Patch(color="0.4", alpha=0.25, linewidth=0,
              label=f"band: the same with {'/'.join(map(str, draws))} draws"),
        Line2D([], [], color="0.4", marker="o", label=r"open: no finite mean ($a_* \leq 1$)", **hollow),
    ]  # fmt: skip
