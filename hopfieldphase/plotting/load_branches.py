"""Figures of branches in the memory load: steps between patterns that act, jumps at the ends."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from hopfieldphase.data import branch_schema
from hopfieldphase.data.branch_summary import support_text
from hopfieldphase.plotting import style

Array = NDArray[np.float64]

_OTHER = "0.65"
# Colour and marker of each branch: no light colour; circles and diamonds are those of points.
_LOOKS = (
    ("#0072B2", "v"), ("#D55E00", "<"), ("#009E73", ">"), ("#CC79A7", "*"), ("#E69F00", "P"),
    ("#56B4E9", "X"), ("#000000", "p"),
)  # fmt: skip
_MARKS_PER_BRANCH = 4
_MOST_SWAPS = 12


def plot_load_branches(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Maximal overlap and free energy of branches against κ, in two panels.

    Above α = 1 states are constant between patterns that act on them: lines are steps, drawn at the exact
    κ = log(M)/d. At α ≤ 1 they connect the values on the grid. A full circle is an end where the state
    jumps, an open one the state where it lands, a diamond in the panel of Γ a swap of the order of two
    energies. The first branches have a colour and a marker of their own, all others are grey.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `to_datatree` of a set of branches in the memory load.
    axes : two matplotlib.axes.Axes, optional
        Where to draw; without it, side by side in a new figure in the shipped style, over one legend.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        left, right = axes
        for name, ax in (("overlap_max", left), ("free_energy", right)):
            ax.legend(handles=_draw(tree, name, ax), title=_caption(tree), loc="best")
        return left, right
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.4)
        left, right = figure.subplots(1, 2)
        handles, caption = draw_load_branches(tree, left, right)
        style.letter((left, right))
        figure.legend(handles=handles, title=caption, loc="outside lower center", ncols=4)
        return left, right


def draw_load_branches(tree: xr.DataTree, left: Axes, right: Axes) -> tuple[list[Artist], str]:
    """Both panels without a legend: its entries and its title are returned."""
    _draw(tree, "overlap_max", left)
    return _draw(tree, "free_energy", right), _caption(tree)


def load_branch_colours(tree: xr.DataTree) -> dict[int, str]:
    """The colour of every branch that has one of its own."""
    total = tree.children["branches"].sizes["branch"]
    return {branch: colour for branch, (colour, _) in zip(range(total), _LOOKS, strict=False)}


def _draw(tree: xr.DataTree, name: str, ax: Axes) -> list[Artist]:
    """One quantity into the given axes; the artists that its legend explains."""
    curves = branch_schema.group(tree, "curves")
    window = float(curves["kappa"][0]), float(curves["kappa"][-1])
    ax.axvline(tree.attrs["reference"], color=style.THEORY, linestyle=":", linewidth=0.6, zorder=0)
    above: dict[str, Any] = {"ha": "center", "va": "bottom", "fontsize": 7.5}
    ax.text(tree.attrs["reference"], 1.01, r"$\kappa_0$", transform=ax.get_xaxis_transform(), **above)
    table = branch_schema.columns(tree, "branches")
    total = len(table["branch"])
    for branch in reversed(range(total)):
        kappa, values = _curve(tree, branch, name)
        if branch >= len(_LOOKS):
            ax.plot(kappa, values, color=_OTHER, linewidth=0.4, zorder=1, label=f"branch {branch}")
            continue
        colour, marker = _LOOKS[branch]
        ax.plot(kappa, values, color=colour, linewidth=1.0, zorder=2, label=f"branch {branch}")
        marked = _marked(kappa, window, branch)
        ax.plot(
            marked, np.interp(marked, kappa, values), marker, color=colour, markersize=4,
            markeredgewidth=0.4, markeredgecolor="white", zorder=3, label="_",
        )  # fmt: skip
    handles: list[Artist] = [
        Line2D([], [], color=colour, marker=marker, label=f"{branch}: {_support(table, branch)}")
        for branch, (colour, marker) in zip(range(total), _LOOKS, strict=False)
    ]
    if total > len(_LOOKS):
        handles.append(Line2D([], [], color=_OTHER, linewidth=0.6, label=f"{total - len(_LOOKS)} others"))
    handles += _draw_jumps(tree, name, ax)
    handles += _draw_swaps(tree, ax, mark=name == "free_energy")
    ax.set_xlim(*window)
    ax.margins(y=0.06)
    ax.set_xlabel(style.label(curves["kappa"]))
    ax.set_ylabel(style.label(curves[name]))
    return handles


def _curve(tree: xr.DataTree, branch: int, name: str) -> tuple[Array, Array]:
    """The points through which a branch is drawn."""
    if tree.attrs["alpha"] > 1:
        pieces = branch_schema.columns(tree, "pieces")
        own = pieces["branch"] == branch
        ends = np.column_stack([pieces["kappa_min"][own], pieces["kappa_max"][own]])
        # Both joints of a step are at the load of the pattern that enters.
        ends[:-1, 1] = ends[1:, 0]
        return ends.ravel(), np.repeat(pieces[name][own], 2)
    curves = branch_schema.columns(tree, "curves")
    alive = ~np.isnan(curves[name][branch])
    points = branch_schema.columns(tree, "special_points")
    # Jumps lie between the values of the grid.
    ends = np.flatnonzero((points["branch"] == branch) & points["jump"])
    kappa = np.concatenate([curves["kappa"][alive], points["kappa"][ends]])
    values = np.concatenate([curves[name][branch][alive], points[name][ends]])
    order = np.argsort(kappa, kind="stable")
    return kappa[order], values[order]


def _marked(kappa: Array, window: tuple[float, float], place: int) -> Array:
    """Loads at which a line carries the marker of its branch: others for every branch."""
    low, high = window
    shares = (np.arange(_MARKS_PER_BRANCH) + (place + 0.5) / len(_LOOKS)) / _MARKS_PER_BRANCH
    wanted = low + shares * (high - low)
    return wanted[(wanted >= kappa.min()) & (wanted <= kappa.max())]


def _draw_jumps(tree: xr.DataTree, name: str, ax: Axes) -> list[Artist]:
    """Ends at which the state jumps, and for coloured branches where it lands."""
    points = branch_schema.columns(tree, "special_points")
    jumps = np.flatnonzero(points["jump"])
    for row in jumps.tolist():
        branch, kappa = int(points["branch"][row]), float(points["kappa"][row])
        value, landing = float(points[name][row]), float(points[f"landing_{name}"][row])
        if branch >= len(_LOOKS):
            ax.plot(kappa, value, "o", color=_OTHER, markersize=2, zorder=1, label="_")
            continue
        colour = _LOOKS[branch][0]
        ax.vlines(kappa, value, landing, colors=colour, linewidths=0.6, linestyles=":", label="_")
        ax.plot(kappa, value, "o", color=colour, markersize=4, zorder=4, label="_")
        ax.plot(kappa, landing, "o", color=colour, markersize=4, fillstyle="none", zorder=4, label="_")
    if not jumps.size:
        return []
    look: dict[str, Any] = {"color": "0.2", "marker": "o", "markersize": 4, "linestyle": "none"}
    return [
        Line2D([], [], label="jump from", **look),
        Line2D([], [], label="jump to", fillstyle="none", **look),
    ]


def _draw_swaps(tree: xr.DataTree, ax: Axes, *, mark: bool) -> list[Artist]:
    """Where two of the coloured branches swap; nothing where these are too many to be told apart."""
    swaps = branch_schema.group(tree, "coexistence")
    shown = (swaps["branches"].values < len(_LOOKS)).all(axis=1)
    if not mark or not 0 < shown.sum() <= _MOST_SWAPS:
        return []
    energy = swaps["free_energy"].values[shown].mean(axis=1)
    ax.plot(
        swaps["kappa"].values[shown], energy, "D", color="0.1", markersize=3.5, zorder=4, label="_",
        fillstyle="none",
    )  # fmt: skip
    return [
        Line2D([], [], color="0.1", marker="D", markersize=3.5, linestyle="none", fillstyle="none",
               label="swap of two energies")
    ]  # fmt: skip


def _support(table: dict[str, Any], branch: int) -> str:
    return support_text(table["support"][branch], table["leading"][branch], table["leading_weight"][branch])


def _caption(tree: xr.DataTree) -> str:
    attrs = tree.attrs
    model = rf"$\alpha = {_number(attrs['alpha'])}$, $\beta = {attrs['beta']:g}$, $d = {attrs['d']}$"
    return rf"{model}; branches named by support at $\kappa_0 = {attrs['reference']:g}$ ($M = {attrs['M']}$)"


def _number(alpha: float) -> str:
    return r"\infty" if np.isinf(alpha) else f"{alpha:g}"
