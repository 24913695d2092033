"""The landscape of the app: Γ on a plane, and retrieval paths in the colour of the minimum they reach."""

from typing import Any

import numpy as np
from bokeh.models import ColorBar, DataRange1d, HoverTool, LinearColorMapper
from bokeh.palettes import Viridis256
from bokeh.plotting.contour import contour_data

from hopfieldphase.explore.app_diagram import fill, new_source
from hopfieldphase.explore.app_model import Scene, Solved, minima_words
from hopfieldphase.explore.figures import INK, new_plot
from hopfieldphase.plotting.colours import DOWN, UP

LEVELS = 16
"""Lines of equal Γ."""

SEEN = 0.45
"""Part of the plane on which the colours tell values apart; on the walls above they stay the last one."""


def landscape_figure() -> Any:
    """The empty landscape."""
    plot = new_plot(
        "landscape",
        geometric=False,
        height=640,
        match_aspect=True,
        x_range=DataRange1d(range_padding=0, only_visible=True),
        y_range=DataRange1d(range_padding=0),
    )
    plot.update(sizing_mode="scale_width", aspect_ratio=0.86)  # the frame about square, at any width
    plot.xaxis.axis_label = "u, along the first two patterns"
    plot.yaxis.axis_label = "v, across"
    plot.grid.visible = False
    mapper = LinearColorMapper(palette=list(Viridis256), name="landscape-mapper")
    image = plot.image(
        "image",
        "x",
        "y",
        "w",
        "h",
        source=new_source("landscape-image", "image", "x", "y", "w", "h"),
        color_mapper=mapper,
        alpha=0.8,
    )
    zero = np.zeros((2, 2))
    contours = plot.contour(*np.meshgrid([0.0, 1.0], [0.0, 1.0]), zero, levels=[1.0], line_color="#ffffff")
    contours.line_renderer.glyph.line_alpha = 0.55
    lines = new_source("landscape-paths", "xs", "ys", "colour", "width")
    plot.multi_line("xs", "ys", source=lines, line_color="#ffffff", line_width=4, line_alpha=0.8)
    plot.multi_line("xs", "ys", source=lines, line_color="colour", line_width="width")
    steps = new_source("landscape-steps", "x", "y", "colour")
    plot.scatter("x", "y", source=steps, size=3.5, color="colour")
    plot.scatter(
        "x",
        "y",
        source=new_source("landscape-starts", "x", "y"),
        size=5,
        fill_color="#ffffff",
        line_color=INK,
    )
    patterns = new_source("landscape-patterns", "x", "y", "text")
    shown = [
        plot.scatter(
            "x",
            "y",
            source=patterns,
            marker="square",
            size=11,
            fill_color="#ffffff",
            line_color=INK,
            line_width=1.5,
        )
    ]
    plot.text(
        "x",
        "y",
        "text",
        source=patterns,
        x_offset=9,
        y_offset=-7,
        text_font_size="14px",
        text_color=INK,
        background_fill_color="#ffffff",
        background_fill_alpha=0.75,
    )
    minima = plot.scatter(
        "x",
        "y",
        source=new_source("landscape-minima", "x", "y", "colour", "words"),
        marker="circle",
        size=15,
        fill_color="colour",
        line_color="#ffffff",
        line_width=2,
    )
    plot.scatter(
        "x",
        "y",
        source=new_source("landscape-states", "x", "y", "marker", "colour"),
        marker="marker",
        size=9,
        fill_color="colour",
        line_color="#000000",
    )
    bar = ColorBar(
        color_mapper=mapper,
        height=10,
        padding=4,
        title="Γ above the lowest value shown",
        title_text_font_style="normal",
        major_label_text_font_size="12px",
    )
    plot.add_layout(bar, "below")
    plot.add_tools(
        HoverTool(renderers=[image], tooltips="Γ − lowest: @image{0.[0000]}"),
        HoverTool(renderers=[minima], tooltips="@words{safe}", limit=1, attachment="left"),
        HoverTool(renderers=shown, tooltips="@text", limit=1, attachment="right"),
    )
    plot.tags = [contours]
    return plot


def minimum_colours(count: int) -> list[str]:
    """A colour for each minimum, in the order of Γ; the later ones are grey."""
    own = ("#000000", "#D55E00", "#0072B2", "#CC79A7", "#E69F00", "#56B4E9", "#009E73")
    return [*own, *["#8a8a8a"] * count][:count]


def fill_landscape(plot: Any, solved: Solved, scene: Scene, own: int) -> None:
    """Show a landscape with its paths; the first `own` paths are those that were asked for by a click."""
    land, plane, paths = scene.land, scene.plane, scene.paths
    lowest = float(min(land.free_energy.min(), *(one.free_energy for one in paths.minima)))
    height = land.free_energy - lowest
    top = float(np.quantile(height, SEEN))
    mapper = plot.select_one({"name": "landscape-mapper"})
    mapper.update(low=0.0, high=top)
    step = land.u[1] - land.u[0]
    side = float(land.u[-1] - land.u[0] + step)
    fill(
        plot,
        "landscape-image",
        image=[height],
        x=[land.u[0] - step / 2],
        y=[land.v[0] - step / 2],
        w=[side],
        h=[side],
    )
    contours = plot.tags[0]
    levels = top * (np.arange(1, LEVELS + 1) / LEVELS) ** 2  # equal distances around a minimum
    contours.set_data(contour_data(land.u, land.v, height, levels, want_fill=False))
    colours = minimum_colours(len(paths.minima))
    seen = [plane.coordinates(path) for path in paths.paths]
    last = [colours[which] for which in paths.basin]
    fill(
        plot,
        "landscape-paths",
        xs=[path[:, 0] for path in seen],
        ys=[path[:, 1] for path in seen],
        colour=last,
        width=[3.0 if i < own else 1.6 for i in range(len(seen))],
    )
    steps = np.concatenate(seen)
    repeated = [colour for path, colour in zip(seen, last, strict=True) for _ in path]
    fill(plot, "landscape-steps", x=steps[:, 0], y=steps[:, 1], colour=repeated)
    starts = np.array([path[0] for path in seen[:own]]).reshape(-1, 2)
    fill(plot, "landscape-starts", x=starts[:, 0], y=starts[:, 1])
    stored = solved.model.scale * solved.model.patterns[list(plane.patterns)]
    points = plane.coordinates(np.vstack([stored, np.zeros(solved.model.d)]))
    names = [*(f"ξ{index}" for index in plane.patterns), "x = 0"]
    fill(plot, "landscape-patterns", x=points[:, 0], y=points[:, 1], text=names)
    ends = plane.coordinates(np.array([one.x for one in paths.minima]))
    words = minima_words(solved, scene)
    fill(plot, "landscape-minima", x=ends[:, 0], y=ends[:, 1], colour=colours, words=words)
    states = plane.coordinates(scene.states)
    fill(
        plot,
        "landscape-states",
        x=states[:, 0],
        y=states[:, 1],
        marker=["triangle", "inverted_triangle"],
        colour=[UP, DOWN],
    )
