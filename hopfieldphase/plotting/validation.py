"""Figures 16 and 17 of the paper: critical points of systems of keys, by formula and by numerics."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import NullFormatter, NullLocator

from hopfieldphase.data.validation import errors
from hopfieldphase.plotting import style

_LOOKS = {
    "coexistence": ("#0072B2", "D", r"coexistence: $\Delta\Gamma = 0$"),
    "spinodal": ("#009E73", "s", r"spinodal: $\lambda_{\min}(\nabla^2\Gamma) = 0$"),
    "differences": ("#D55E00", "o", "spinodal: second difference"),
}
# Where errors of zero are shown, below one unit in the last place.
_FLOOR = 5e-17


def plot_validation(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Critical β by formula and numerics, and the relative errors.

    Two keys are shown against their cosine, larger systems against the value of the formula. Errors of
    exactly zero stand at the lower edge.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `runs.validation.validation`.
    axes : two matplotlib.axes.Axes, optional
        Where to draw; without it, side by side in a new figure in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        left, right = axes
        _draw(tree, left, right)
        return left, right
    with style.style():
        figure = style.new_figure(style.DOUBLE, 2.9)
        left, right = figure.subplots(1, 2)
        _draw(tree, left, right)
        style.letter((left, right))
        return left, right


def _draw(tree: xr.DataTree, left: Axes, right: Axes) -> None:
    table = tree.to_dataset()
    keys = tree.attrs["study"] == "two-keys"
    control, formula = table["control"].values, table["formula"].values
    order = np.argsort(control if keys else formula, kind="stable")
    along = (control if keys else formula)[order]
    left.plot(along, formula[order], color=style.THEORY, label=style.symbol(table["formula"]))
    shown = "coexistence" if keys else "differences"
    colour, marker, text = _LOOKS[shown]
    left.plot(
        along, table[shown].values[order], marker, color=colour, fillstyle="none", markersize=4, label=text
    )
    for name, error in errors(tree).items():
        colour, marker, text = _LOOKS[name]
        size = np.maximum(error.values[order], _FLOOR)
        right.plot(along, size, marker, color=colour, fillstyle="none", markersize=3.5, label=text, alpha=0.8)
    right.set_yscale("log")
    right.set_ylim(_FLOOR / 2, 1e-3)
    eps = float(np.finfo(float).eps)
    right.axhline(eps, color=style.THEORY, linewidth=0.6, linestyle=":", label="double precision")
    below = style.label(table["control"]) if keys else r"formula $\beta = 2/\lambda_{\max}(PGP)$"
    for ax in (left, right):
        ax.set_xlabel(below)
        ax.margins(x=0.03)
    if not keys:
        for axis in (left.xaxis, left.yaxis, right.xaxis):
            axis.set_minor_formatter(NullFormatter())
        right.yaxis.set_minor_locator(NullLocator())
    left.set_ylabel(r"critical inverse temperature $\beta$")
    right.set_ylabel("relative error of the formula")
    left.legend(loc="upper left", title=_caption(tree))
    # Between what differences leave and rounding.
    right.legend(loc="center", bbox_to_anchor=(0.5, 0.41), fontsize=7)


def _caption(tree: xr.DataTree) -> str:
    attrs = tree.attrs
    return rf"$\alpha = 2$, $d = {attrs['d']}$, $s = {attrs['scale']:.3g}$, {tree.sizes['system']} systems"
