"""The figures of a page and the data behind them, as Bokeh models without a server."""

from typing import Any

import numpy as np
from bokeh.models import (
    ColorBar,
    ColumnDataSource,
    CustomJS,
    FixedTicker,
    HoverTool,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.palettes import Viridis256
from bokeh.plotting import figure as new_figure
from numpy.typing import NDArray

from hopfieldphase.explore.view import STRONGEST, Kind, View
from hopfieldphase.plotting.colours import DOWN, UP

DIVERGING = tuple(
    "#" + "".join(f"{round(255 - share * (255 - int(colour[i : i + 2], 16))):02x}" for i in (1, 3, 5))
    for colour, shares in ((UP, np.linspace(1, 0, 64)), (DOWN, np.linspace(0, 1, 64)))
    for share in shares
)
"""From the colour of the sweep up over white to that of the sweep down."""

CHOSEN, INK, GREY = "#F0E442", "#1a1a1a", "#8a8a8a"

MARKERS = {
    Kind.SPINODAL: ("circle", "spinodal, fold: the state is lost", True),
    Kind.COEXISTENCE: ("diamond", "coexistence: equal free energies", True),
    Kind.SYMMETRIC: ("square", "pitchfork, branch point", False),
    Kind.CHANGE: ("dash", "change of support", True),
    Kind.ONSET: ("triangle", "onset of exact storage", True),
}
"""Marker, words, and whether it is filled, of each kind of special point."""

LINES: dict[str, tuple[str, str, float]] = {
    "closed": ("#7a7a7a", "dotted", 2.5),
    "coexistence": ("#000000", "solid", 2.2),
    "spinodal up": (UP, "dashed", 1.8),
    "spinodal down": (DOWN, "dashed", 1.8),
    "storage onset": ("#009E73", "dotdash", 1.8),
}
"""Colour, dash and width of each kind of line on the map."""

STROKES = (
    ("unknown", "dotted", 1.4), ("equilibrium", "solid", 2.6), ("metastable", "solid", 1.2),
    ("unstable", "dashed", 1.2), ("jump", "dotted", 1.0),
)  # fmt: skip
"""Dash and width of the lines of each phase, and of jumps."""

_TOOLS = "pan,wheel_zoom,box_zoom,reset,save"
_HEIGHT = 340


def data_sources(view: View) -> dict[str, ColumnDataSource]:
    """All numbers of the page, each once."""
    sources = {
        "nodes": ColumnDataSource(dict(view.nodes), name="nodes"),
        "marks": ColumnDataSource({k: _column(v) for k, v in view.marks.items()}, name="marks"),
        "rules": ColumnDataSource({k: _column(v) for k, v in view.rules.items()}, name="rules"),
        "table": ColumnDataSource(
            {name: np.ascontiguousarray(cells.values).reshape(-1) for name, cells in view.cells.items()},
            name="table",
        ),
    }
    if view.weights is not None:
        patterns, values = view.weights
        small = patterns.astype(np.int16) if patterns.max(initial=0) < 2**15 else patterns
        sources["weights"] = ColumnDataSource(
            {"pattern": small.reshape(-1), "weight": values.reshape(-1)}, name="weights"
        )
    return sources


def figures(view: View, *, with_map: bool) -> dict[str, Any]:
    """The figures by name: map, diagram, energy, weights."""
    geometric = is_geometric(view.grid)
    low, high = float(view.grid[0]), float(view.grid[-1])
    if low == high:
        low, high = low - 1, high + 1
    shared = Range1d(start=low, end=high, name="x-range")
    found: dict[str, Any] = {}
    if with_map:
        found["map"] = _map(view, geometric)
    for name in ("diagram", "energy"):
        found[name] = _diagram(view, name, shared, geometric)
    if view.weights is not None:
        found["weights"] = _weights()
    return found


def is_geometric(values: NDArray[np.float64]) -> bool:
    """Whether a grid has constant ratios over a factor that is worth a logarithmic axis."""
    if values.size < 3 or values[0] <= 0 or values[-1] < 4 * values[0]:
        return False
    ratios = values[1:] / values[:-1]
    return bool(np.ptp(ratios) < 1e-3 * (ratios.mean() - 1))


def _column(values: NDArray[Any]) -> Any:
    return values.tolist() if values.dtype == object else values


def _empty(*names: str, name: str) -> ColumnDataSource:
    return ColumnDataSource({column: [] for column in names}, name=name)


def new_plot(name: str, geometric: bool, *, height: int = _HEIGHT, **options: Any) -> Any:
    """An empty figure in the look of all pages, with a logarithmic first axis for geometric grids."""
    if geometric:
        options["x_axis_type"] = "log"
    plot = new_figure(
        name=name, height=height, sizing_mode="stretch_width", tools=_TOOLS, toolbar_location="above",
        active_drag=None, active_scroll=None, min_border=8, output_backend="canvas", **options,
    )  # fmt: skip
    plot.toolbar.logo = None
    plot.toolbar.autohide = False
    plot.background_fill_color = plot.border_fill_color = "#ffffff"
    plot.axis.axis_label_text_font_style = "normal"
    plot.axis.axis_label_text_font_size = "14px"
    plot.axis.major_label_text_font_size = "13px"
    plot.axis.axis_label_text_color = plot.axis.major_label_text_color = INK
    plot.axis.minor_tick_line_color = None
    plot.grid.grid_line_color = "#e6e6e6"
    ticker: Any = plot.xaxis[0].ticker
    ticker.desired_num_ticks = 5
    return plot


def _plot(name: str, geometric: bool, **options: Any) -> Any:
    plot = new_plot(name, geometric, **options)
    tapped = "window.hopfieldphase && window.hopfieldphase.tapped(name, cb_obj.x, cb_obj.y);"
    plot.js_on_event("tap", CustomJS(args={"name": name}, code=tapped))
    return plot


def _map(view: View, geometric: bool) -> Any:
    plot = _plot("map", geometric, x_range=Range1d(name="map-x"), y_range=Range1d(name="map-y"))
    plot.xaxis.axis_label = view.parameter_label
    plot.grid.visible = False
    plot.yaxis.name = "map-axis"
    mapper = LinearColorMapper(palette=list(Viridis256), nan_color="#d0d0d0", name="mapper")
    source = _empty("left", "right", "bottom", "top", "value", "words", name="cells")
    fill = {"field": "value", "transform": mapper}
    # Cells get an outline of their own colour: no hairlines of the background between them.
    drawn = plot.quad(
        "left", "right", "top", "bottom", source=source, fill_color=fill, line_color=fill, line_width=0.5,
        hover_line_color="#000000", hover_fill_color=fill,
    )  # fmt: skip
    if view.vertical:
        bar = ColorBar(
            color_mapper=mapper, width=12, padding=6, major_label_text_font_size="12px", name="bar"
        )
        bar.formatter = NumeralTickFormatter(format="0.[000]a", name="bar-format")
        plot.add_layout(bar, "right")
    for kind, (colour, dash, width) in LINES.items():
        rows = [line for line in view.lines if line["kind"] == kind]
        if rows:
            lines = ColumnDataSource(
                {"xs": [r["x"] for r in rows], "ys": [r["y"] for r in rows]}, name=f"lines {kind}"
            )
            plot.multi_line(
                "xs", "ys", source=lines, line_color="#ffffff", line_width=width + 2.5, line_alpha=0.8
            )
            plot.multi_line("xs", "ys", source=lines, line_color=colour, line_dash=dash, line_width=width)
    place = _empty("x", "y", name="map-chosen")
    plot.scatter(
        "x", "y", source=place, marker="circle", size=15, fill_color=None, line_color="#000000", line_width=5
    )
    plot.scatter(
        "x", "y", source=place, marker="circle", size=15, fill_color=None, line_color=CHOSEN, line_width=2.5
    )
    plot.add_tools(
        HoverTool(renderers=[drawn], tooltips="@words{safe}", limit=1, point_policy="follow_mouse")
    )
    return plot


def _diagram(view: View, name: str, shared: Range1d, geometric: bool) -> Any:
    plot = _plot(name, geometric, x_range=shared, y_range=Range1d(name=f"{name}-y"))
    plot.xaxis.axis_label = view.parameter_label
    plot.yaxis.name = f"{name}-axis"
    plot.vspan(
        "x", source=_empty("x", name=f"{name}-rules"), line_color=GREY, line_dash="dashed", line_width=1
    )
    plot.hspan(
        "y", source=_empty("y", name=f"{name}-level"), line_color=GREY, line_dash="dotted", line_width=1.4
    )
    chosen = _empty("xs", "ys", name=f"{name}-curve")
    plot.multi_line(
        "xs", "ys", source=chosen, line_color=CHOSEN, line_width=9, line_alpha=0.75, line_cap="round"
    )
    for stroke, dash, width in STROKES:
        source = _empty("xs", "ys", "colour", name=f"{name}-{stroke}")
        plot.multi_line("xs", "ys", source=source, line_color="colour", line_dash=dash, line_width=width)
    signs = _empty("x", "y", "colour", "marker", name=f"{name}-signs")
    plot.scatter(
        "x",
        "y",
        source=signs,
        marker="marker",
        size=9,
        fill_color="colour",
        line_color="#ffffff",
        line_width=0.8,
    )
    states = plot.scatter(
        "x", "y", source=_empty("x", "y", "words", name=f"{name}-states"), size=8, fill_alpha=0, line_alpha=0,
        hover_line_alpha=1, hover_line_color="#000000", hover_fill_alpha=0,
    )  # fmt: skip
    points = []
    for kind, (marker, _, filled) in MARKERS.items():
        turned = np.pi / 2 if kind is Kind.CHANGE else 0
        points.append(
            plot.scatter(
                "x", "y", source=_empty("x", "y", "words", "colour", name=f"{name}-marks-{int(kind)}"),
                marker=marker, angle=turned, size=10 if kind is Kind.COEXISTENCE else 8, line_width=1.2,
                fill_color="colour" if filled else "#ffffff",
                line_color="colour" if not filled or kind is Kind.CHANGE else "#ffffff",
            )
        )  # fmt: skip
    place = _empty("x", "y", name=f"{name}-chosen")
    plot.scatter(
        "x", "y", source=place, marker="circle", size=17, fill_color=None, line_color="#000000", line_width=5
    )
    plot.scatter(
        "x", "y", source=place, marker="circle", size=17, fill_color=None, line_color=CHOSEN, line_width=2.5
    )
    plot.add_tools(
        HoverTool(renderers=points, tooltips="@words{safe}", limit=1, attachment="left"),
        HoverTool(renderers=[states], tooltips="@words{safe}", limit=1, attachment="right"),
    )
    return plot


def _weights() -> Any:
    plot = _plot(
        "weights",
        geometric=False,
        x_range=Range1d(start=-0.6, end=STRONGEST - 0.4),
        y_range=Range1d(start=0, end=1, name="weights-y"),
    )
    plot.xaxis.axis_label = "pattern μ, the largest weight first"
    plot.yaxis.axis_label = "weight p_μ"
    plot.xgrid.visible = False
    plot.xaxis.ticker = FixedTicker(ticks=list(range(STRONGEST)))
    plot.xaxis.name = "weights-axis"
    bars = plot.vbar(
        "x",
        width=0.75,
        top="p",
        source=_empty("x", "p", "words", name="bars"),
        fill_color=UP,
        line_color="#ffffff",
    )
    plot.add_tools(HoverTool(renderers=[bars], tooltips="@words{safe}", limit=1))
    return plot
