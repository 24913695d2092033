"""Figure of thermal attention: the weight of the best pattern, the spread of all, the growth of C."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes

from hopfieldphase.data.thermal import Ensemble
from hopfieldphase.plotting import style

_LOOKS: dict[Ensemble, tuple[str, str, Any]] = {
    Ensemble.DETERMINISTIC: ("#000000", "o", "-"),
    Ensemble.SOFTMAX: ("#0072B2", "s", (0, (5, 1.2))),
    Ensemble.ESCORT_VERTICES: ("#009E73", "D", (0, (4, 1.2, 1, 1.2))),
    Ensemble.GIBBS: ("#E69F00", "^", (0, (2, 1))),
    Ensemble.ESCORT: ("#D55E00", "v", (0, (7, 1.2, 1, 1.2, 1, 1.2))),
}
_MARKS = 8


def plot_thermal(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, ...]:
    """Weight of the best pattern and inverse participation ratio against β; for α > 1 the growth of C.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `data.thermal.thermal_tree`.
    axes : sequence of matplotlib.axes.Axes, optional
        Where to draw, two for α ≤ 1 and three for α > 1; without it, a new figure over two columns in the
        shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes

    Notes
    -----
    Propositions D.7 and D.8 and Lemma D.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    Zero-temperature limits other than one single pattern are dotted.
    """
    data = tree.to_dataset()
    panels = 3 if "growth" in data else 2
    if axes is not None:
        handles = _draw(tree, axes[:panels])
        axes[0].legend(handles=handles, title=_caption(tree), loc="best")
        return tuple(axes[:panels])
    with style.style():
        figure = style.new_figure(style.DOUBLE, 3.0)
        new = list(figure.subplots(1, panels))
        handles = _draw(tree, new)
        style.letter(new)
        columns = 3 if len(handles) > 3 else len(handles)
        figure.legend(handles=handles, title=_caption(tree), loc="outside lower center", ncols=columns)
        return tuple(new)


def _draw(tree: xr.DataTree, axes: Sequence[Axes]) -> list[Artist]:
    data, cold = tree.to_dataset(), tree["zero_temperature"].to_dataset()
    weight, ipr, *rest = axes
    handles: list[Artist] = _curves(data, "top_weight", weight)
    weight.set_ylim(-0.03, 1.06)
    weight.axhline(1 / data.sizes["pattern"], color=style.THEORY, linestyle=":", linewidth=0.7, zorder=1)
    _curves(data, "ipr", ipr)
    ipr.set_yscale("log")
    best = int(np.argmax(data["score"].values))
    for name in data["ensemble"].values:
        limit = cold["limit"].sel(ensemble=name)
        if float(limit[best]) < 1:
            colour = _LOOKS[Ensemble(str(name))][0]
            for ax, value in ((weight, float(limit[best])), (ipr, 1 / float((limit**2).sum()))):
                ax.axhline(value, color=colour, linestyle=":", linewidth=0.8, zorder=1)
    for ax in rest:
        _growth(data, float(cold["growth"]), ax)
    return handles


def _curves(data: xr.Dataset, variable: str, ax: Axes) -> list[Any]:
    betas = data["beta"].values
    lines: list[Any] = []
    for k, name in enumerate(data["ensemble"].values):
        colour, marker, dashes = _LOOKS[Ensemble(str(name))]
        every = max(1, betas.size // _MARKS)
        marks: dict[str, Any] = {"marker": marker, "markersize": 3, "markevery": (k * every // 5, every)}
        label = _label(str(name), data.attrs["alpha"])
        lines += ax.plot(
            betas, data[variable].sel(ensemble=name), color=colour, linestyle=dashes, label=label, **marks
        )
    _finish(data, variable, ax)
    return lines


def _growth(data: xr.Dataset, limit: float, ax: Axes) -> None:
    colour, marker, dashes = _LOOKS[Ensemble.ESCORT]
    betas = data["beta"].values
    marks: dict[str, Any] = {"marker": marker, "markersize": 3, "markevery": max(1, betas.size // _MARKS)}
    ax.plot(betas, data["growth"], color=colour, linestyle=dashes, **marks)
    ax.axhline(limit, color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
    ax.text(0.96, 0.95, rf"$\beta \to \infty$: {limit:.3g}", transform=ax.transAxes, ha="right", va="top")
    ax.ticklabel_format(axis="y", style="plain", useOffset=False)
    _finish(data, "growth", ax)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.12 * (high - low))  # room for the text


def _finish(data: xr.Dataset, variable: str, ax: Axes) -> None:
    ax.set_xscale("log")
    ax.set_xlim(float(data["beta"][0]), float(data["beta"][-1]))
    ax.set_xlabel(style.label(data["beta"]))
    ax.set_ylabel(style.symbol(data[variable]) if variable == "ipr" else style.label(data[variable]))


def _label(name: str, alpha: float) -> str:
    if name == Ensemble.DETERMINISTIC:
        return rf"attention, $\alpha = {alpha:g}$"
    if name in (Ensemble.ESCORT, Ensemble.ESCORT_VERTICES):
        return rf"{name}, $\alpha = {alpha:g}$"
    return name


def _caption(tree: xr.DataTree) -> str:
    data = tree.to_dataset()
    return rf"$M = {data.sizes['pattern']}$, $\alpha = {tree.attrs['alpha']:g}$, query {tree.attrs['query']}"
