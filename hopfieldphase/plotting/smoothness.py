"""Figure of the smoothness of attention maps: how weights enter, with which exponent, and where they jump."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from hopfieldphase.plotting import style

_DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.2)),
    (0, (4, 1.2, 1, 1.2)),
    (0, (1.4, 1.2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (8, 1.5)),
    (0, (1, 2.5)),
)
_COLOURS = ("#000000", "#0072B2", "#D55E00", "#E69F00", "#CC79A7", "#009E73", "#56B4E9")
_SHOWN = {
    "softmax": "softmax",
    "entmax": "{alpha:g}-entmax",
    "sparsemax": "sparsemax",
    "constrained-softmax": "softmax, $p_i \\leq {caps:g}$",
    "constrained-sparsemax": "sparsemax, $p_i \\leq {caps:g}$",
    "top-k": "top-{k}",
    "top-p": "top-$p$, $p = {p:g}$",
}
_CURVES = 5  # entering weights drawn
_CLASSES = ((2.0, 1.0, "$C^0$"), (1.5, 2.0, "$C^1$"), (4 / 3, 3.0, "$C^2$"))
_STEEPEST = 3.1  # exponent of a weight that is drawn


def plot_smoothness(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Entering weights, fitted exponents against α, and the weight of a moved score.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.smoothness.smoothness_tree`.
    axes : sequence of three matplotlib.axes.Axes, optional
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
        figure = style.new_figure(style.DOUBLE, 2.7)
        drawn = tuple(figure.subplots(1, 3))
        _draw(tree, drawn)
        style.letter(drawn)
        return drawn


def _draw(tree: xr.DataTree, axes: Sequence[Axes]) -> None:
    data, moved = tree.to_dataset(), tree["path"].to_dataset()
    entering, exponents, path = axes
    alphas = data["alpha_entered"].values
    shown = np.flatnonzero(data["expected_exponent"].values <= _STEEPEST)
    chosen = shown[np.unique(np.linspace(0, len(shown) - 1, min(_CURVES, len(shown))).round().astype(int))]
    for i, colour, dashes in zip(chosen, _COLOURS, _DASHES, strict=False):
        entering.loglog(
            data["distance"],
            data["entering"][i],
            color=colour,
            linestyle=dashes,
            label=rf"$\alpha = {alphas[i]:.4g}$",
        )
    entering.set_ylim(1e-24, 10)
    entering.set_xlabel(style.label(data["distance"]))
    entering.set_ylabel(style.label(data["entering"]))
    entering.legend(loc="lower right")
    fine = np.linspace(1.05, max(alphas.max(), 2.5), 400)
    exponents.plot(
        fine, 1 / (fine - 1), color=style.THEORY, linewidth=0.8, linestyle=":", label=r"$1/(\alpha-1)$"
    )
    exponents.plot(fine, np.maximum(1, 1 / (fine - 1)), color=style.THEORY, linewidth=0.8, label="expected")
    exponents.plot(
        alphas,
        data["exponent"],
        linestyle="none",
        marker="o",
        markersize=3.5,
        color="#0072B2",
        label="fitted",
    )
    for alpha, order, text in _CLASSES:
        exponents.axhline(order, color="0.8", linewidth=0.5, zorder=0)
        exponents.annotate(
            text, (fine[-1], order), xytext=(-3, 2), textcoords="offset points", ha="right", fontsize=7.5
        )
        exponents.plot([alpha], [order], marker="|", color=style.THEORY, markersize=7)
    exponents.set_yscale("log")
    exponents.set_yticks([0.5, 1, 2, 3, 5, 10], ["0.5", "1", "2", "3", "5", "10"])
    exponents.set_ylim(0.28, 25)
    exponents.margins(x=0.04)
    exponents.set_xlabel(style.label(data["alpha_entered"]))
    exponents.set_ylabel(style.label(data["exponent"]))
    exponents.legend(loc="upper right")
    for (name, text), colour, dashes in zip(_SHOWN.items(), _COLOURS, _DASHES, strict=True):
        weight = moved["weight"].sel(map=name, token=4)
        # lines are not drawn across a jump
        steps = np.abs(np.diff(weight.values, append=weight.values[-1])) > 0.05
        path.plot(
            moved["score"],
            np.where(steps, np.nan, weight),
            color=colour,
            linestyle=dashes,
            label=text.format_map(tree.attrs),
        )
    path.set_xlim(-2.5, 3.5)
    path.set_ylim(-0.02, 1.75)
    path.set_yticks([0, 0.5, 1])
    path.set_xlabel(style.label(moved["score"]))
    path.set_ylabel("its weight $p_4$")
    path.legend(loc="upper left", fontsize=6.5, ncols=1, labelspacing=0.2, handlelength=2.6)
