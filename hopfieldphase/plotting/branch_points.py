"""Special points in figures of branches: which marker each has, where it stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from hopfieldphase.data import branch_schema as schema

OTHER = "0.65"
"""Grey of branches without a colour of their own."""

COEXISTING = "0.1"

_SMOOTH = ("free_energy", "excess")

MOST_CROSSINGS = 6
"""Among more crossings than these only those of the Maxwell line are drawn."""


@dataclass(frozen=True)
class Symbol:
    """How special points of one sort are drawn."""

    marker: str
    size: float
    words: str
    filled: bool = True
    small: float = 0.6
    """Part of the size for points that matter less: of grey branches, or off the Maxwell line."""


ENDS = Symbol("o", 4.5, "loss of stability (spinodal, fold)")
ONSET = Symbol("^", 5.0, "exact storage onset")
COEXISTENCE = Symbol("D", 4.5, "coexistence", small=0.7)
SYMMETRIC = Symbol("s", 4.5, "pitchfork, branch point", filled=False)
CHANGE = Symbol("|", 4.0, "support change")


@dataclass(frozen=True)
class _Place:
    """One marker to be drawn; `located` is False where the point was not found as asked."""

    beta: float
    value: float
    colour: str
    located: bool
    small: bool


class SpecialPoints:
    """The special points of a tree of branches.

    Parameters
    ----------
    tree : xarray.DataTree
    arcs : mapping
        The columns of `/arcs`, as they are drawn.
    colours : mapping
        Colour of each branch that has one of its own.
    """

    def __init__(self, tree: xr.DataTree, arcs: Mapping[str, Any], colours: Mapping[int, str]) -> None:
        self._arcs = arcs
        self._colours = colours
        self._points = schema.columns(tree, "special_points")
        self._pieces = schema.columns(tree, "pieces")
        line = schema.columns(tree, "equilibrium")["beta_max"]
        self._transitions = line[np.isfinite(line)]
        self._nodes = self._nodes_of_points()

    def draw(self, ax: Axes, name: str) -> list[Artist]:
        """Draw them on the lines of one quantity; legend entries of the sorts that occur."""
        places: dict[Symbol, list[_Place]] = {}
        for row, node in self._nodes.items():
            symbol = self._symbol(row)
            colour = self._colours.get(int(self._points["branch"][row]), OTHER)
            # Of the energies all derivatives that the eye sees are continuous there.
            if symbol is None or (symbol is CHANGE and (colour == OTHER or name in _SMOOTH)):
                continue
            beta, value = float(self._arcs["beta"][node]), float(self._arcs[name][node])
            place = _Place(beta, value, colour, self._located(row), small=colour == OTHER)
            places.setdefault(symbol, []).append(place)
        crossings = self._crossings(name)
        for beta, values, row in crossings:
            small = not np.isclose(self._transitions, beta, rtol=1e-9, atol=0).any()
            if small and len(crossings) > MOST_CROSSINGS:
                continue
            ax.vlines(beta, *sorted(values), colors=COEXISTING, linewidths=0.5, zorder=1, label="tie line")
            places.setdefault(COEXISTENCE, []).extend(
                _Place(beta, value, COEXISTING, self._located(row), small) for value in values
            )
        for symbol, found in places.items():
            for small in (True, False):
                _scatter(ax, symbol, [place for place in found if place.small == small], small)
        return [_legend_entry(symbol) for symbol in places]

    def _symbol(self, row: int) -> Symbol | None:
        """How a special point of a branch is drawn; ends of the range are no points."""
        kind = self._points["kind"][row]
        if kind in ("range", "unbounded", "closed", "coexistence"):
            return None
        if self._points["storage_onset"][row]:
            return ONSET
        if kind in ("pitchfork", "branch_point"):
            return SYMMETRIC
        if kind in ("enters", "leaves") and self._points["goes_on"][row]:
            return CHANGE
        return ENDS

    def _located(self, row: int) -> bool:
        return self._points["status"][row] in ("converged", "boundary")

    def _nodes_of_points(self) -> dict[int, int]:
        """The row of `/arcs` at each special point that is inside the window."""
        found: dict[int, int] = {}
        beta = self._arcs["beta"]
        pieces, first = np.unique(self._arcs["piece"], return_index=True)
        last = np.append(first[1:], beta.size) - 1
        for piece, ends in zip(pieces.tolist(), zip(first.tolist(), last.tolist(), strict=True), strict=True):
            low, high = sorted(ends, key=lambda node: beta[node])
            for side, node in (("min", low), ("max", high)):
                row = int(self._pieces[f"beta_{side}_point"][piece])
                if beta[node] == self._points["beta"][row]:
                    found[row] = node
        return found

    def _crossings(self, name: str) -> list[tuple[float, list[float], int]]:
        """Coexistence points of coloured branches, with the value on both."""
        found: list[tuple[float, list[float], int]] = []
        points = self._points
        for row in np.flatnonzero(points["kind"] == "coexistence").tolist():
            pair = (int(points["branch"][row]), int(points["landing_branch"][row]))
            if all(branch in self._colours for branch in pair):
                beta = float(points["beta"][row])
                overlaps = (float(points["overlap_max"][row]), float(points["landing_overlap_max"][row]))
                values = [self._value(i, beta, z, name) for i, z in zip(pair, overlaps, strict=True)]
                if np.isfinite(values).all():
                    found.append((beta, values, row))
        return found

    def _value(self, branch: int, beta: float, overlap: float, name: str) -> float:
        """A quantity on the line of the stable arm of a branch that has a given maximal overlap at β."""
        arcs = self._arcs
        best = (np.inf, np.nan)
        for piece in np.flatnonzero(self._pieces["branch"] == branch).tolist():
            rows = np.flatnonzero((arcs["piece"] == piece) & (arcs["phase"] != "unstable"))
            rows = rows[np.argsort(arcs["beta"][rows], kind="stable")]
            if rows.size and arcs["beta"][rows[0]] <= beta <= arcs["beta"][rows[-1]]:
                seen, value = (
                    float(np.interp(beta, arcs["beta"][rows], arcs[key][rows]))
                    for key in ("overlap_max", name)
                )
                best = min(best, (abs(seen - overlap), value))
        return best[1]


def _scatter(ax: Axes, symbol: Symbol, places: Sequence[_Place], small: bool) -> None:
    if not places:
        return
    size = symbol.size * (symbol.small if small else 1.0)
    colours = [place.colour for place in places]
    drawn = ax.scatter(
        [place.beta for place in places],
        [place.value for place in places],
        s=size**2,
        c=colours,
        marker=symbol.marker,
        linewidths=0.5 if symbol is CHANGE else 0.8,
        zorder=4 if small else 5,
        label=symbol.words,
    )
    if symbol is not CHANGE:  # a tick has no face
        drawn.set_edgecolor(colours)
        faces = [place.colour if symbol.filled and place.located else "white" for place in places]
        drawn.set_facecolor(faces)


def _legend_entry(symbol: Symbol) -> Line2D:
    return Line2D(
        [],
        [],
        linestyle="none",
        marker=symbol.marker,
        markersize=symbol.size,
        color="0.2",
        markerfacecolor="0.2" if symbol.filled else "white",
        label=symbol.words,
    )
