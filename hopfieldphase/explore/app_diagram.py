"""The diagrams of the app: both sweeps over the exact branches."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, Range1d

from hopfieldphase.explore.figures import GREY, INK, MARKERS, STROKES, is_geometric, new_plot
from hopfieldphase.explore.frames import coloured
from hopfieldphase.explore.view import Kind, Link, Phase, View
from hopfieldphase.plotting.colours import BRANCHES, DOWN, UP

SIGNS = 14
"""Places of a sweep at which its marker stands, about."""


def diagram(name: str, geometric: bool) -> Any:
    """An empty diagram over β, with a logarithmic axis for geometric grids."""
    plot = new_plot(name, geometric, height=330, x_range=Range1d(), y_range=Range1d())
    plot.vspan(
        "x", source=new_source(f"{name}-beta", "x"), line_color=GREY, line_dash="dashed", line_width=1.2
    )
    for stroke, dash, width in STROKES:
        source = new_source(f"{name}-branch-{stroke}", "xs", "ys", "colour")
        plot.multi_line(
            "xs", "ys", source=source, line_color="colour", line_dash=dash, line_width=width, line_alpha=0.9
        )
    points = []
    for kind, (marker, _, filled) in MARKERS.items():
        points.append(
            plot.scatter(
                "x",
                "y",
                source=new_source(f"{name}-marks-{int(kind)}", "x", "y", "words", "colour"),
                marker=marker,
                angle=np.pi / 2 if kind is Kind.CHANGE else 0,
                size=8,
                line_width=1.2,
                fill_color="colour" if filled else "#ffffff",
                line_color="colour" if not filled or kind is Kind.CHANGE else "#ffffff",
            )
        )
    states = []
    for curve, (colour, marker) in enumerate(((UP, "triangle"), (DOWN, "inverted_triangle"))):
        lines, jumps = (new_source(f"{name}-{part}-{curve}", "xs", "ys") for part in ("sweep", "jumps"))
        dash = "solid" if curve == 0 else [8, 3]
        plot.multi_line("xs", "ys", source=lines, line_color=colour, line_width=2.4, line_dash=dash)
        plot.multi_line("xs", "ys", source=jumps, line_color=colour, line_width=1.2, line_dash="dotted")
        plot.scatter(
            "x",
            "y",
            source=new_source(f"{name}-signs-{curve}", "x", "y"),
            marker=marker,
            size=9,
            fill_color=colour,
            line_color="#ffffff",
            line_width=0.8,
        )
        states.append(
            plot.scatter(
                "x",
                "y",
                source=new_source(f"{name}-states-{curve}", "x", "y", "words"),
                size=8,
                fill_alpha=0,
                line_alpha=0,
                hover_line_alpha=1,
                hover_line_color=INK,
                hover_fill_alpha=0,
            )
        )
    plot.add_tools(
        HoverTool(renderers=points, tooltips="@words{safe}", limit=1, attachment="left"),
        HoverTool(renderers=states, tooltips="@words{safe}", limit=1, attachment="right"),
    )
    return plot


def set_range(plot: Any, view: View) -> None:
    """Show the whole range of a sweep."""
    low, high = float(view.grid[0]), float(view.grid[-1])
    plot.x_range.update(start=low, end=high, reset_start=low, reset_end=high)
    plot.xaxis.axis_label = view.parameter_label
    if is_geometric(view.grid):
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
        ticks = [digit * 10.0**power for power in decades for digit in (1, 2, 5)]
        plot.xaxis.ticker = FixedTicker(ticks=ticks, minor_ticks=[])


def set_heights(plot: Any, quantity: str, views: Sequence[View]) -> None:
    """Show all values; free energies only as far as stable states reach, as unstable ones have far higher."""
    values = [
        view.nodes[quantity][(view.nodes["phase"] != Phase.UNSTABLE) | (quantity != "excess")]
        for view in views
        if quantity in view.nodes
    ]
    found = np.concatenate(values).astype(float)
    found = found[np.isfinite(found)]
    low, high = (found.min(), found.max()) if found.size else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.06 * abs(low) or 1.0
    low, high = float(low - room), float(high + room)
    plot.y_range.update(start=low, end=high, reset_start=low, reset_end=high)


def fill_sweep(plot: Any, view: View, quantity: str) -> None:
    """Show a quantity of a sweep."""
    name, label = plot.name, view.labels[quantity]
    plot.yaxis.axis_label = label
    for curve, direction in enumerate(("up", "down")):
        part = slice(view.starts[curve], view.starts[curve + 1])
        t, y = view.nodes["parameter"][part], view.nodes[quantity][part].astype(float)
        link, phase, status = (view.nodes[key][part] for key in ("link", "phase", "status"))
        jump = link[:-1] == Link.JUMP
        runs = np.split(np.arange(t.size), np.flatnonzero(jump) + 1)
        fill(plot, f"{name}-sweep-{curve}", xs=[t[run] for run in runs], ys=[y[run] for run in runs])
        ends = np.flatnonzero(jump)
        fill(plot, f"{name}-jumps-{curve}", xs=[t[i : i + 2] for i in ends], ys=[y[i : i + 2] for i in ends])
        shown = np.arange(curve * t.size // (2 * SIGNS), t.size, max(1, t.size // SIGNS))
        fill(plot, f"{name}-signs-{curve}", x=t[shown], y=y[shown])
        words = [
            f"sweep {direction}<br>β = {a:.6g}<br>{escape(label)}: {b:.8g}<br>"
            f"{escape(view.phases[p])}; {view.statuses[s]}"
            for a, b, p, s in zip(t, y, phase, status, strict=True)
        ]
        fill(plot, f"{name}-states-{curve}", x=t, y=y, words=words)


def fill_branches(plot: Any, view: View | None, quantity: str) -> None:
    """Show a quantity of exact branches; None takes them away."""
    name = plot.name
    if view is None or quantity not in view.labels:
        for stroke, _, _ in STROKES:
            fill(plot, f"{name}-branch-{stroke}", xs=[], ys=[], colour=[])
        for kind in MARKERS:
            fill(plot, f"{name}-marks-{int(kind)}", x=[], y=[], words=[], colour=[])
        return
    colours = branch_colours(view)
    for stroke, columns in branch_lines(view, quantity, colours).items():
        fill(plot, f"{name}-branch-{stroke}", **columns)
    marks, label = view.marks, escape(view.labels[quantity])
    for kind in MARKERS:
        rows = np.flatnonzero((marks["kind"] == kind) & np.isfinite(marks[quantity]))
        words = [
            f"branch {escape(view.curves.words[marks['curve'][i]])}: {escape(marks['text'][i])}<br>"
            f"β = {marks['parameter'][i]:.8g}<br>{label}: {marks[quantity][i]:.8g}"
            for i in rows
        ]
        colour = ["#000000" if kind is Kind.COEXISTENCE else colours[marks["curve"][i]] for i in rows]
        fill(
            plot,
            f"{name}-marks-{int(kind)}",
            x=marks["parameter"][rows],
            y=marks[quantity][rows],
            words=words,
            colour=colour,
        )


def branch_colours(view: View) -> list[str]:
    """A colour for each branch; the leading ones have their own."""
    colours = ["#8a8a8a"] * len(view.curves.values)
    # Those of the sweeps, which are drawn over the branches, come last.
    for curve, colour in zip(coloured(view), (*BRANCHES[2:], *BRANCHES[:2]), strict=False):
        colours[curve] = colour
    return colours


def branch_lines(view: View, quantity: str, colours: list[str]) -> dict[str, dict[str, list[Any]]]:
    """The lines of all branches by stroke; each line goes on to the point at which its phase changes."""
    found: dict[str, dict[str, list[Any]]] = {
        stroke: {"xs": [], "ys": [], "colour": []} for stroke, _, _ in STROKES
    }
    for curve, colour in enumerate(colours):
        part = slice(view.starts[curve], view.starts[curve + 1])
        t, y = view.nodes["parameter"][part], view.nodes[quantity][part]
        phase, link = view.nodes["phase"][part], view.nodes["link"][part]
        # A point of change is there once for each phase.
        ends = (phase[1:] != phase[:-1]) | (link[:-1] == Link.NONE)
        for run in np.split(np.arange(t.size), np.flatnonzero(ends) + 1):
            if run.size and phase[run[0]] != Phase.ABSENT:
                last = int(run[-1])
                on = last + 1 < t.size and link[last] == Link.LINE and t[last + 1] != t[last]
                joined = slice(run[0], last + 1 + on)
                columns = found[STROKES[int(phase[run[0]])][0]]
                columns["xs"].append(t[joined])
                columns["ys"].append(y[joined].astype(float))
                columns["colour"].append(colour)
    return found


def mark_beta(plot: Any, beta: float) -> None:
    """Show at which β the landscape is taken."""
    fill(plot, f"{plot.name}-beta", x=[beta])


def new_source(name: str, *columns: str) -> ColumnDataSource:
    """An empty table of a figure."""
    return ColumnDataSource({column: [] for column in columns}, name=name)


def fill(plot: Any, name: str, **columns: Any) -> None:
    """Put columns into a table of a figure."""
    plot.select_one({"name": name}).data = columns
