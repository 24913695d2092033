"""Figures of branches: order parameter and free energy, stable and unstable arms, special points."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from hopfieldphase.data import branch_schema as schema
from hopfieldphase.data.branch_summary import support_text
from hopfieldphase.plotting import style
from hopfieldphase.plotting.branch_points import OTHER, SpecialPoints
from hopfieldphase.plotting.colours import BRANCHES

Array = NDArray[np.float64]

_LINES: dict[str, tuple[Any, float]] = {
    "equilibrium": ("-", 1.6),
    "metastable": ("-", 0.8),
    "unstable": ((0, (4, 2)), 0.8),
}
# Colour and marker of each branch: no light colour, no marker of a special point.
_LOOKS = tuple(zip(BRANCHES, ("v", "<", ">", "*", "P", "X", "p"), strict=True))
_MARKS_PER_BRANCH = 4
_NAMED_TOGETHER = 4
# Part of the height of a panel that a name needs, and above the highest and below the lowest line.
_ROOM = 0.05
_MARGIN = 0.11
# Unstable arms reach far above the minima: they are cut at this multiple of the highest one.
_EXCESS_SHOWN = 2.5


def plot_branches(tree: xr.DataTree, axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """Maximal overlap, free energy, and free energy above equilibrium against β, in three panels.

    The branch of lowest Γ is drawn thick, other minima thin, unstable states dashed; every line ends exactly
    at its special point. Up to seven branches have a colour and a marker of their own, those of the Maxwell
    line first; all others are grey.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `to_datatree` of a set of branches.
    axes : three matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure in the shipped style, over one legend.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    if axes is not None:
        first, second, third = axes
        return (
            plot_branch(tree, "overlap_max", first),
            plot_branch(tree, "free_energy", second),
            plot_branch(tree, "excess", third),
        )
    with style.style():
        figure = style.new_figure(style.DOUBLE, 4.2)
        panels = figure.subplot_mosaic([["a", "b"], ["a", "c"]], sharex=True, width_ratios=[1.15, 1])
        drawing = _Drawing(tree)
        handles = drawing.draw("overlap_max", panels["a"])
        drawing.name(panels["a"])
        drawing.draw("free_energy", panels["b"])
        drawing.draw("excess", panels["c"])
        style.letter(panels.values())
        panels["b"].set_xlabel("")
        panels["b"].tick_params(labelbottom=False)
        panels["c"].set_ylabel(style.symbol(drawing.table["excess"]))
        figure.align_ylabels([panels["b"], panels["c"]])
        _legend_below(figure, handles, drawing.caption())
        return panels["a"], panels["b"], panels["c"]


def draw_branches(tree: xr.DataTree, left: Axes, right: Axes) -> tuple[list[Artist], str]:
    """Maximal overlap and free energy in two panels without a legend: its entries and title are returned."""
    drawing = _Drawing(tree)
    handles = drawing.draw("overlap_max", left)
    drawing.name(left)
    drawing.draw("free_energy", right)
    return handles, drawing.caption()


def branch_colours(tree: xr.DataTree) -> dict[int, str]:
    """The colour of every branch that has one of its own."""
    return _Drawing(tree).colours


def plot_branch(tree: xr.DataTree, name: str = "overlap_max", ax: Axes | None = None) -> Axes:
    """One quantity along all branches; see `plot_branches`.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `to_datatree` of a set of branches.
    name : {"overlap_max", "free_energy", "excess", "ipr", "support_size", "hessian_min"}
        A variable of `/arcs`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; without it, a new figure of one column in the shipped style.

    Returns
    -------
    matplotlib.axes.Axes
    """
    drawing = _Drawing(tree)
    if ax is not None:
        ax.legend(handles=drawing.draw(name, ax), title=drawing.caption(), loc="best")
        return ax
    with style.style():
        figure = style.new_figure(style.SINGLE, 4.0)
        ax = figure.subplots()
        handles = drawing.draw(name, ax)
        _legend_below(figure, handles, drawing.caption(), ncols=2)
        return ax


@dataclass(frozen=True)
class _Arm:
    """Consecutive points of one branch in one phase: rows of `/arcs`, ascending in β from their first end."""

    branch: int
    phase: str
    rows: NDArray[np.int64]


class _Drawing:
    """What all panels of one tree share: arms, looks of the branches, special points."""

    def __init__(self, tree: xr.DataTree) -> None:
        self.table = schema.group(tree, "arcs")
        self._attrs = tree.attrs
        self._arcs = schema.columns(tree, "arcs")
        # Equal energies are drawn as equal, without the noise of rounding.
        self._arcs["excess"] = np.where(self._arcs["phase"] == "equilibrium", 0.0, self._arcs["excess"])
        self._branches = schema.columns(tree, "branches")
        self._line = schema.columns(tree, "equilibrium")
        grid = schema.columns(tree, "curves")["beta"]
        self._window = (float(grid[0]), float(grid[-1]))
        self._arms = self._joined(schema.columns(tree, "pieces")["branch"][self._arcs["piece"]])
        self._looks = dict(zip(self._chosen(), _LOOKS, strict=False))
        self.colours = {branch: colour for branch, (colour, _) in self._looks.items()}
        self._points = SpecialPoints(tree, self._arcs, self.colours)

    def caption(self) -> str:
        """What the figure shows: the model, the number of branches, how they are named."""
        attrs, total = self._attrs, len(self._branches["branch"])
        count = "one branch" if total == 1 else f"{total} branches"
        model = rf"$\alpha = {attrs['alpha']:g}$, $M = {attrs['M']}$, $d = {attrs['d']}$"
        return rf"{model}; {count}, named by support at $\beta_0 = {attrs['reference']:g}$"

    def draw(self, name: str, ax: Axes) -> list[Artist]:
        """One quantity into the given axes; the artists that its legend explains."""
        reference, values = self._attrs["reference"], self._arcs[name]
        ax.axvline(reference, color=style.THEORY, linestyle=":", linewidth=0.6, zorder=0, label="reference")
        above = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "fontsize": 7.5}
        ax.text(reference, 1.01, r"$\beta_0$", **above)
        self._draw_others(ax, values)
        for arm in sorted(self._arms, key=lambda arm: arm.phase == "equilibrium"):
            if arm.branch in self._looks:
                self._draw_arm(ax, arm, values)
        marks = self._points.draw(ax, name)
        ax.set_xlim(*self._window)
        ax.margins(y=0.06)
        ax.autoscale_view(scalex=False)
        if name == "excess":
            self._cut_excess(ax)
        ax.set_xlabel(style.label(self.table["beta"]))
        ax.set_ylabel(style.label(self.table[name]))
        return [*self._branch_handles(), *self._phase_handles(), *marks]

    def name(self, ax: Axes) -> None:
        """Supports beside their lines where these pass the reference, in a panel of the maximal overlap.

        Branches on one line share a label; large supports and lines close to others on both sides have none.
        """
        ax.margins(y=_MARGIN)
        low, high = ax.get_ylim()
        groups: dict[float, list[int]] = {}
        for branch in self._looks:
            height = float(self._branches["overlap_max"][branch])
            same = next((known for known in groups if np.isclose(height, known, rtol=1e-9, atol=0)), height)
            groups.setdefault(same, []).append(branch)
        heights = sorted(groups)
        for k, height in enumerate(heights):
            above = heights[k + 1] - height if k + 1 < len(heights) else np.inf
            below = height - heights[k - 1] if k else np.inf
            group = groups[height]
            large = any(len(self._branches["support"][branch]) > _NAMED_TOGETHER for branch in group)
            if large or max(above, below) < _ROOM * (high - low):
                continue
            names = [self._support(branch) for branch in group[:_NAMED_TOGETHER]]
            text = ax.annotate(
                ", ".join([*names, "…"] if len(group) > len(names) else names),
                (self._attrs["reference"], height),
                xytext=(-4, 3 if above >= below else -3),
                textcoords="offset points",
                ha="right",
                va="bottom" if above >= below else "top",
                fontsize=7.5,
                color=self._looks[group[0]][0] if len(group) == 1 else "0.2",
                zorder=6,
            )
            text.set_path_effects([withStroke(linewidth=2, foreground="white")])

    def _joined(self, owner: NDArray[np.int64]) -> list[_Arm]:
        """The rows of `/arcs` cut where branch or phase change."""
        phases = self._arcs["phase"]
        cuts = np.flatnonzero((np.diff(owner) != 0) | (phases[1:] != phases[:-1])) + 1
        arms = []
        for start, stop in pairwise([0, *cuts.tolist(), phases.size]):
            rows = np.arange(start, stop)
            if self._arcs["beta"][rows[-1]] < self._arcs["beta"][rows[0]]:
                # Dashes of arms that lie on each other must too.
                rows = rows[::-1]
            arms.append(_Arm(int(owner[start]), str(phases[start]), rows))
        return arms

    def _chosen(self) -> list[int]:
        """The branches with a look of their own: those of the Maxwell line, then by rank."""
        total = len(self._branches["branch"])
        lowest = self._line["branch"].tolist()
        # Of many branches of equal energy one stands for all.
        ranked = [i for i in range(total) if total <= len(_LOOKS) or self._branches["equal_to"][i] == i]
        return sorted(list(dict.fromkeys([*lowest, *ranked]))[: len(_LOOKS)])

    def _draw_others(self, ax: Axes, values: Array) -> None:
        """The branches without a look of their own."""
        for stable, line in ((True, "-"), (False, _LINES["unstable"][0])):
            lines = [
                np.column_stack([self._arcs["beta"][arm.rows], values[arm.rows]])
                for arm in self._arms
                if arm.branch not in self._looks and (arm.phase != "unstable") == stable
            ]
            if lines:
                drawn = LineCollection(lines, colors=OTHER, linewidths=0.4, linestyles=line, zorder=1)
                ax.add_collection(drawn, autolim=True)

    def _draw_arm(self, ax: Axes, arm: _Arm, values: Array) -> None:
        """One line, and above all lines the markers that tell it from others on top of it."""
        colour, marker = self._looks[arm.branch]
        line, width = _LINES[arm.phase]
        beta, drawn = self._arcs["beta"][arm.rows], values[arm.rows]
        look: dict[str, Any] = {
            "color": colour,
            "marker": marker,
            "markersize": 4,
            "markeredgewidth": 0.4,
            "markeredgecolor": "white",
        }
        ax.plot(
            beta,
            drawn,
            linestyle=line,
            linewidth=width,
            markevery=self._marked(arm.branch, beta),
            label=f"{arm.phase} {arm.branch}",
            zorder=3 if arm.phase == "equilibrium" else 2,
            **look,
        )
        marked = self._marked(arm.branch, beta)
        ax.plot(beta[marked], drawn[marked], linestyle="none", label="_", zorder=3.5, **look)

    def _cut_excess(self, ax: Axes) -> None:
        """Let the minima, not the unstable arms, decide how far the panel of the excess reaches up."""
        stable = self._arcs["excess"][self._arcs["phase"] != "unstable"]
        highest = float(np.nanmax(stable, initial=0.0))
        low, high = ax.get_ylim()
        if 0 < highest < high / _EXCESS_SHOWN:
            ax.set_ylim(low * _EXCESS_SHOWN * highest / high, _EXCESS_SHOWN * highest)

    def _marked(self, branch: int, beta: Array) -> list[int]:
        """Where an arm carries the marker of its branch: at other values of β for every branch."""
        low, high = self._window
        place = list(self._looks).index(branch)
        shares = (np.arange(_MARKS_PER_BRANCH) + (place + 0.5) / len(self._looks)) / _MARKS_PER_BRANCH
        wanted = low + shares * (high - low)
        wanted = wanted[(wanted >= beta.min()) & (wanted <= beta.max())]
        return sorted({int(np.abs(beta - value).argmin()) for value in wanted})

    def _support(self, branch: int) -> str:
        table = self._branches
        return support_text(
            table["support"][branch], table["leading"][branch], table["leading_weight"][branch]
        )

    def _branch_handles(self) -> list[Artist]:
        """Legend entries of the branches: colour, marker, and the support at the reference."""
        handles: list[Artist] = [
            Line2D([], [], color=colour, marker=marker, label=f"{branch}: {self._support(branch)}")
            for branch, (colour, marker) in self._looks.items()
        ]
        others = len(self._branches["branch"]) - len(self._looks)
        if others:
            handles.append(Line2D([], [], color=OTHER, linewidth=0.6, label=f"{others} others"))
        return handles

    def _phase_handles(self) -> list[Artist]:
        """Legend entries of the line styles that occur."""
        lowest = float(np.min(self._branches["free_energy"]))
        complete = self._attrs["lowest_energy"] >= lowest - 1e-10 * max(1.0, abs(lowest))
        words = {
            "equilibrium": "equilibrium" if complete else "lowest of these branches",
            "metastable": "metastable" if complete else "minimum",
            "unstable": "unstable",
        }
        drawn = {arm.phase for arm in self._arms}
        return [
            Line2D([], [], color="0.2", linestyle=line, linewidth=width, label=words[phase])
            for phase, (line, width) in _LINES.items()
            if phase in drawn
        ]


def _legend_below(figure: Figure, handles: Sequence[Artist], caption: str, ncols: int = 4) -> None:
    figure.legend(handles=list(handles), title=caption, loc="outside lower center", ncols=ncols)
