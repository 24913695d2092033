"""Figure of trained Transformers: reliability and support against memory load."""

from collections.abc import Sequence

import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style
from hopfieldphase.plotting.trained import COLUMNS, draw_lines, draw_reference, set_scale


def plot_capacity(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Accuracy and support (selective task), error and relative support (uniform task), over the load.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.capacity.capacity_tree`.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw, two for each task in the tree; without it, a new figure in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes

    Notes
    -----
    Figures 12 and 13 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347). Bars are one standard
    error: over the seeds where there are several, else over the examples.
    """
    if axes is not None:
        drawn = tuple(axes)
        _draw(tree, drawn)
        return drawn
    with style.style():
        rows = len(tree.children)
        figure = style.new_figure(style.DOUBLE, 0.5 + 2.1 * rows)
        drawn = tuple(figure.subplots(rows, 2, squeeze=False).ravel())
        _draw(tree, drawn)
        style.letter(drawn)
        style.legend_below(drawn[0])
        return drawn


def _draw(tree: xr.DataTree, axes: tuple[Axes, ...]) -> None:
    for row, task in enumerate(tree.attrs["tasks"]):
        data = tree[task].to_dataset()
        for column, (name, scale) in enumerate(COLUMNS[task]):
            ax = axes[2 * row + column]
            draw_lines(data, name, "M", ax)
            set_scale(ax, data, name, scale)
            draw_reference(ax, name)
            ax.set_title(f"{task} task", loc="right", fontsize=7.5)
