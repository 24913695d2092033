"""The four panels of a phase structure: loop, support sizes, branches and their free energies."""

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hopfieldphase.data.structure import structure_parts
from hopfieldphase.plotting import style
from hopfieldphase.plotting.branches import branch_colours, draw_branches
from hopfieldphase.plotting.load_branches import draw_load_branches, load_branch_colours
from hopfieldphase.plotting.sweep import draw_sweep, plot_sweep

# So that lines on top of each other, and a grey print, show every branch.
_LINES: Sequence[Any] = ((0, (5, 1)), (1, (5, 2)), (0, (3, 1, 1, 1)), (2, (3, 2)), (0, (1, 1)))

Panels = tuple[Axes, Axes, Axes, Axes]


def plot_structure(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> Panels:
    """Figures 2 to 5 of the paper: (a) z_max up and down, (b) support sizes, (c) branches, (d) their Γ.

    Panels (a) and (b) are means over all realizations with bands of one standard deviation, (c) and (d) show
    the branches of one of them, followed from the dotted reference: thick where the state of the reference
    still is a minimum, thin where a warm start has gone on from where it landed, as the paper's scans do.

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
    loop, branches, continued = structure_parts(tree)
    sweep = loop.to_dataset() if isinstance(loop, xr.DataTree) else loop
    in_load = "kappa" in sweep.dims
    draw = draw_load_branches if in_load else draw_branches
    colours = load_branch_colours(branches) if in_load else branch_colours(branches)
    if axes is not None:
        a, b, c, d = axes
        plot_sweep(sweep, (a, b))
        draw(branches, c, d)
        _draw_continued(continued, colours, c, d)
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
        handles += _draw_continued(continued, colours, c, d)
        lower.legend(handles=handles, title=caption, loc="outside lower center", ncols=4)
        style.letter((a, b, c, d))
        return a, b, c, d


def _draw_continued(
    continued: xr.Dataset, colours: Mapping[int, str], overlap: Axes, energy: Axes
) -> list[Artist]:
    """What warm starts find beyond the ends of the branches; the legend entry, if any jumped."""
    parameter = "kappa" if "kappa" in continued.dims else "beta"
    for ax, name in ((overlap, "overlap_max"), (energy, "free_energy")):
        for branch, colour in colours.items():
            ax.plot(
                continued[parameter], continued[name].sel(branch=branch), color=colour, linewidth=0.7,
                linestyle=_LINES[branch % len(_LINES)], zorder=1.5, label="_",
            )  # fmt: skip
        ax.relim()
        ax.autoscale_view(scalex=False)
    if not continued["jumped"].any():
        return []
    return [
        Line2D([], [], color="0.2", linewidth=0.7, linestyle=_LINES[0], label="after a jump (warm start)")
    ]
