"""The four panels of a phase structure: loop, support sizes, branches and their free energies."""

from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.data.structure import structure_parts
from hopfieldphase.plotting import style
from hopfieldphase.plotting.branches import draw_branches
from hopfieldphase.plotting.load_branches import draw_load_branches
from hopfieldphase.plotting.sweep import draw_sweep, plot_sweep

Panels = tuple[Axes, Axes, Axes, Axes]


def plot_structure(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> Panels:
    """Figures 2 to 5 of the paper: (a) z_max up and down, (b) support sizes, (c) branches, (d) their Γ.

    Panels (a) and (b) are means over all realizations with bands of one standard deviation, (c) and (d) show
    the branches of one of them, followed from the dotted reference.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `runs.structure.structure`.
    axes : four matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    swept, branches = structure_parts(tree)
    sweep = swept.to_dataset()
    draw = draw_load_branches if "kappa" in sweep.dims else draw_branches
    if axes is not None:
        a, b, c, d = axes
        plot_sweep(sweep, (a, b))
        draw(branches, c, d)
        return a, b, c, d
    with style.style():
        figure = style.new_figure(style.DOUBLE, 6.4)
        parts: Any = figure.subfigures(2, 1, height_ratios=[1, 1.06])
        upper, lower = parts
        a, b = upper.subplots(1, 2)
        c, d = lower.subplots(1, 2)
        handles, caption = draw_sweep(sweep, a, b)
        upper.legend(handles=handles, title=caption, loc="outside lower center", ncols=len(handles))
        handles, caption = draw(branches, c, d)
        lower.legend(handles=handles, title=caption, loc="outside lower center", ncols=4)
        for letter, ax in zip("abcd", (a, b, c, d), strict=True):
            ax.set_title(f"({letter})", loc="left")
        return a, b, c, d
