"""Figure of the loop expansion: what is left of Γ after each order, and the coefficient of 1/β."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style

_LEFT = (
    ("tree", r"tree $\beta H$", "#0072B2", "o", "-"),
    ("one_loop", "one loop", "#009E73", "s", (0, (5, 1.2))),
    ("two_loop", "two loops", "#D55E00", "^", (0, (4, 1.2, 1, 1.2))),
)


def plot_loops(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Errors of the expansion against β, and the coefficient of 1/β against that of the diagrams.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.loops.loops_tree`.
    axes : two matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure over two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes

    Notes
    -----
    Proposition D.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    if axes is not None:
        left, right = axes
        _errors(tree, left)
        _coefficients(tree, right)
        return left, right
    with style.style():
        figure = style.new_figure(style.DOUBLE, 2.7)
        left, right = figure.subplots(1, 2)
        _errors(tree, left)
        _coefficients(tree, right)
        style.letter((left, right))
        return left, right


def _errors(tree: xr.DataTree, ax: Axes) -> None:
    data = tree.to_dataset()
    beta = data["beta"].values
    for name, label, colour, marker, dashes in _LEFT:
        rest = np.abs((data["exact"] - data[name]).values)
        ax.plot(beta, rest, color=colour, linestyle=dashes, marker=marker, markersize=3, label=label)
        if name != "tree":
            order = 1 if name == "one_loop" else 2
            guide = rest[-1] * (beta[-1] / beta) ** order * 1.6
            ax.plot(beta, guide, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
            k = beta.size // 2
            place: dict[str, Any] = {"xytext": (3, 3), "textcoords": "offset points", "color": style.THEORY}
            ax.annotate(rf"$\propto \beta^{{-{order}}}$", (beta[k], guide[k]), **place)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xlabel(style.label(data["beta"]))
    ax.set_ylabel(r"what is left of $\Gamma[\varphi]$")
    ax.legend(title="after", loc="lower left")


def _coefficients(tree: xr.DataTree, ax: Axes) -> None:
    data, diagrams = tree.to_dataset(), tree["coefficients"].to_dataset()
    beta = data["beta"].values
    exact = float(diagrams["two_loop"])
    fixed = exact + float(diagrams["reducible"])
    for name, label, colour, marker, value in (
        ("exact", r"$\Gamma[\varphi]$", "#D55E00", "^", exact),
        ("fixed_source", r"$J\varphi - W[J]$ at $J = \beta H'(\varphi)$", "#0072B2", "v", fixed),
    ):
        scaled = beta * (data[name] - data["one_loop"]).values
        dashes = "-" if name == "exact" else (0, (5, 1.2))
        ax.plot(beta, scaled, color=colour, linestyle=dashes, marker=marker, markersize=3, label=label)
        ax.axhline(value, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
    ax.set_xscale("log")
    ax.set_xlabel(style.label(data["beta"]))
    ax.set_ylabel(r"$\beta\,\times$ what one loop leaves")
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.3 * (high - low))
    ax.legend(title="dotted: diagrams", loc="upper left")
