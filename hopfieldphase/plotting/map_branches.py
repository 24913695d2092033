"""Figure of the branches of fixed points: maximal overlap and spectral radius along them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hopfieldphase.data.map_branches import KINDS
from hopfieldphase.data.wording import attention_text
from hopfieldphase.plotting import style

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
_OTHER = "0.65"
# Repelling arms may lie on top of each other, where dashes fill their gaps: they are thinner as well.
_REPELS: dict[str, Any] = {"linestyle": (0, (4, 1.5)), "linewidth": 0.7}
_MARKERS = {
    "fold": ("o", "fold"),
    "pitchfork": ("s", "pitchfork"),
    "transcritical": ("D", "transcritical"),
    "branch_point": ("P", "branch point"),
    "flip": ("^", "flip"),
    "neimark_sacker": ("*", "Neimark–Sacker"),
    "corner": ("|", "corner of the map"),
    "jump": ("x", "jump of the map"),
}


def plot_map_branches(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Maximal overlap and spectral radius along the branches, with their special points.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.map_branches.map_branches_tree`.
    axes : two matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure over two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        left, right = axes
        left.legend(handles=_draw(tree, left, "overlap_max"), loc="best")
        _draw(tree, right, "spectral_radius")
        return left, right
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.0)
        left, right = figure.subplots(1, 2)
        handles = _draw(tree, left, "overlap_max")
        _draw(tree, right, "spectral_radius")
        style.letter((left, right))
        attrs = tree.attrs
        caption = f"{attention_text(attrs['attention'])}, $M = {attrs['M']}$, $d = {attrs['d']}$"
        figure.legend(handles=handles, title=caption, loc="outside lower center", ncols=len(handles))
        return left, right


def _draw(tree: xr.DataTree, ax: Axes, name: str) -> list[Artist]:
    """Lines of one quantity, solid where they attract, and special points; their legend entries."""
    points, special = tree["points"].to_dataset(), tree["special_points"].to_dataset()
    kinds = np.array(KINDS)[special["kind"].values]
    repels = False
    for i in range(tree["branches"].sizes["branch"]):
        colour = _COLOURS[i] if i < len(_COLOURS) else _OTHER
        mine = points["branch"].values == i
        beta, values = points["beta"].values[mine], points[name].values[mine]
        outside = points["unstable"].values[mine] > 0
        ax.plot(beta, np.where(outside, np.nan, values), color=colour)
        # Repelling is a line as far as the neighbours of points that repel.
        near = outside.copy()
        near[1:] |= outside[:-1]
        near[:-1] |= outside[1:]
        ax.plot(beta, np.where(near, values, np.nan), color=colour, **_REPELS)
        repels |= bool(outside.any())
        for row in np.flatnonzero((special["branch"].values == i) & np.isin(kinds, list(_MARKERS))):
            place = int(special["point"][row])
            marker, _ = _MARKERS[str(kinds[row])]
            height = float(points[name][place])
            ax.plot(float(special["beta"][row]), height, marker=marker, color=colour, linestyle="none")
    if name == "spectral_radius":
        ax.axhline(1.0, color=style.THEORY, linestyle=":", linewidth=0.8)
    ax.set_xlabel(style.label(points["beta"]))
    ax.set_ylabel(style.label(points[name]))
    ax.margins(x=0.01)
    entries = [Line2D([], [], color="0.2", label="attracts")]
    if repels:
        entries.append(Line2D([], [], color="0.2", label="repels", **_REPELS))
    entries += [
        Line2D([], [], color="0.2", marker=marker, linestyle="none", label=words)
        for kind, (marker, words) in _MARKERS.items()
        if kind in kinds
    ]
    return [*entries]
