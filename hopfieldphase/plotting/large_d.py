"""Random patterns beside their theory: folds against load, storage against b, critical β against d."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from hopfieldphase.data.large_d import large_d_summary
from hopfieldphase.plotting import style

_SOFTMAX = "#D55E00"
_ALPHAS = (("#0072B2", "o", "-"), ("#009E73", "s", (0, (5, 1.5))))
"""Colour, marker and line of each α of exact storage."""
_SETTINGS = ("o", "s", "^", "v", "D", "P")


def plot_large_d(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """Folds of softmax retrieval, probability of exact storage, and critical β against the dimension.

    Points are simulated pattern sets: single ones pale, bars one standard deviation of the sets in the first
    panel, one binomial standard error in the second, quartiles in the third. Lines are theory.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.large_d`.
    axes : three matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        first, second, third = axes
        _draw(tree, first, second, third)
        return first, second, third
    with style.style():
        figure = style.new_figure(style.DOUBLE, 4.1)
        first, second, third = figure.subplots(1, 3)
        _draw(tree, first, second, third)
        figure.legend(handles=[], title=_caption(tree), loc="outside lower center")
        return first, second, third


def _draw(tree: xr.DataTree, first: Axes, second: Axes, third: Axes) -> None:
    summary = large_d_summary(tree)
    _draw_folds(tree, summary["folds"], first)
    _draw_storage(tree, second)
    _draw_scaling(tree, summary["scaling"], third)
    titles = ("(a) softmax retrieval folds", "(b) exact storage", r"(c) critical $\beta = b\,d$")
    for ax, title in zip((first, second, third), titles, strict=True):
        ax.set_title(title, loc="left")


def _draw_folds(tree: xr.DataTree, summary: dict[str, Any], ax: Axes) -> None:
    d = summary["d"]
    lines, sets = tree["fold_lines"].to_dataset(), tree["folds"].to_dataset()
    load = np.log(lines["M_line"].values) / d
    ax.plot(load, lines["annealed"], color="black", label="annealed mean field")
    rem = r"$\kappa_c(b/d)$, $d \to \infty$"
    ax.plot(load, lines["rem"], color=style.THEORY, linestyle="--", label=rem)
    # Sideways by their order in the table, so that the same data gives the same picture.
    spread = 0.004 * np.sin(12.9898 * np.arange(sets.sizes["instance"]))
    ax.plot(
        np.log(sets["M"].values) / d + spread, sets["fold"].values, linestyle="none", marker=".",
        markersize=2, color=_SOFTMAX, alpha=0.25, markeredgewidth=0, rasterized=True,
    )  # fmt: skip
    loads = [one for one in summary["loads"] if one["standard_deviation"] is not None]
    ax.errorbar(
        [np.log(one["M"]) / d for one in loads],
        [one["mean"] for one in loads],
        [one["standard_deviation"] for one in loads],
        color=_SOFTMAX, marker="o", linestyle="none", capsize=2, markeredgecolor="black", markeredgewidth=0.4,
        label=r"simulated, mean $\pm$ 1 s.d.",
    )  # fmt: skip
    reference = summary["reference"]
    if reference["standard_deviation"] is not None:
        ax.annotate(
            f"$M = {reference['M']}$, {reference['folded']} sets:\n"
            f"${reference['mean']:.2f} \\pm {reference['standard_error']:.2f}$",
            (np.log(reference["M"]) / d, reference["mean"]),
            xytext=(0.05, 0.97), textcoords="axes fraction", va="top", fontsize=7.5,
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "0.4", "shrinkB": 4},
        )  # fmt: skip
    ax.margins(x=0.05)
    ax.set_xlabel(rf"memory load $\log(M)/d$ at $d = {d}$")
    ax.set_ylabel(r"fold, $b = \beta s^2$")
    _legend(ax)


def _draw_storage(tree: xr.DataTree, ax: Axes) -> None:
    data, trials = tree["storage"].to_dataset(), int(tree.attrs["trials"])
    alphas = np.unique(data["alpha"].values).tolist()
    sizes = list(dict.fromkeys(zip(data["M"].values.tolist(), data["d"].values.tolist(), strict=True)))
    for i in range(data.sizes["setting"]):
        one = data.isel(setting=i)
        alpha, size = float(one["alpha"]), (int(one["M"]), int(one["d"]))
        colour, _, line = _ALPHAS[alphas.index(alpha)]
        ax.plot(one["line_b"], one["line_probability"], color=colour, linestyle=line, linewidth=0.9)
        share = one["by_relaxation"].values / trials
        ax.errorbar(
            one["b"], share, np.sqrt(share * (1 - share) / trials), color=colour, linestyle="none",
            marker=_SETTINGS[sizes.index(size) % len(_SETTINGS)], markersize=3.5, capsize=1.5, elinewidth=0.7,
            markerfacecolor="white",
        )  # fmt: skip
    for alpha, (colour, _, line) in zip(alphas, _ALPHAS, strict=False):
        ax.plot([], [], color=colour, linestyle=line, label=rf"$\alpha = {alpha:g}$, closed form")
    for (M, d), marker in zip(sizes, _SETTINGS, strict=False):
        ax.plot(
            [], [], color="0.2", marker=marker, markersize=3.5, markerfacecolor="white", linestyle="none",
            label=f"$M = {M}$, $d = {d}$",
        )  # fmt: skip
    ax.set_xlabel(r"$b = \beta s^2$")
    ax.set_ylabel(f"stored exactly, of {trials} sets")
    ax.set_ylim(-0.04, 1.04)
    _legend(ax)


def _draw_scaling(tree: xr.DataTree, summary: dict[str, Any], ax: Axes) -> None:
    data, lines = tree["scaling"].to_dataset(), tree["scaling_lines"].to_dataset()
    d, exponents = lines["d_line"].values, summary["exponents"]
    ax.plot(
        d,
        lines["annealed"] * d,
        color=_SOFTMAX,
        linestyle="-.",
        label="softmax, annealed" + _far(exponents["softmax"]),
    )
    ax.plot(
        d,
        lines["rem"] * d,
        color=style.THEORY,
        linestyle=(0, (6, 2)),
        linewidth=0.8,
        label=r"$\lambda_c(\kappa)\,d^2$",
    )
    ax.plot(
        d, lines["fixed_M"] * d, color=_SOFTMAX, linestyle=":", linewidth=1.0,
        label=f"softmax at fixed $M = {tree.attrs['M']}$",
    )  # fmt: skip
    _quartiles(ax, data["softmax"], _SOFTMAX, "D")
    for alpha, (colour, marker, line) in zip(data["alpha"].values.tolist(), _ALPHAS, strict=False):
        far = _far(exponents[f"alpha {alpha:g}"])
        median = lines["median"].sel(alpha=alpha) * d
        ax.plot(d, median, color=colour, linestyle=line, label=rf"$\alpha = {alpha:g}$, median" + far)
        _quartiles(ax, data["stored"].sel(alpha=alpha), colour, marker)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.margins(x=0.05)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("dimension $d$")
    ax.set_ylabel(rf"critical $\beta$ at $\log(M)/d = {summary['kappa']:g}$")
    _legend(ax)


def _far(part: dict[str, Any]) -> str:
    """The exponent that a theory line has at its far end."""
    return "" if part["far"] is None else rf" ($\sim d^{{{part['far']:.2f}}}$)"


def _quartiles(ax: Axes, critical: xr.DataArray, colour: str, marker: str) -> None:
    """Median and quartiles of β over the pattern sets of each dimension."""
    critical = critical[np.isfinite(critical.values).any(axis=1)]
    d = critical["dimension"].values
    low, middle, high = np.nanquantile(critical.values, (0.25, 0.5, 0.75), axis=1) * d
    ax.errorbar(
        d, middle, (middle - low, high - middle), color=colour, marker=marker, markersize=3.5,
        linestyle="none", capsize=1.5, elinewidth=0.7, markeredgecolor="black", markeredgewidth=0.4,
    )  # fmt: skip


def _caption(tree: xr.DataTree) -> str:
    """What panel (c) says depends on what is held fixed."""
    sizes = tree["scaling"].to_dataset()["M"].values
    return (
        rf"(c) Fixed load $\log(M)/d = {tree.attrs['kappa']:g}$, $M$ from {sizes[0]} to {sizes[-1]}: softmax "
        r"needs $\beta \sim d^2$, exact storage $\beta \sim d$."
        "\n"
        r"At a fixed number of patterns softmax, too, needs $\beta \sim d$ only."
    )


def _legend(ax: Axes) -> None:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=7)
