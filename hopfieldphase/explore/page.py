"""One self-contained page from a view: everything inside, nothing asked of any host."""

import json
import math
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from bokeh.document import Document
from bokeh.embed import file_html
from bokeh.models import CustomJS
from bokeh.palettes import Viridis256
from bokeh.resources import INLINE, Resources
from jinja2 import Environment

import hopfieldphase
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.files import replacing
from hopfieldphase.data.store import Labelled
from hopfieldphase.explore import figures as drawn
from hopfieldphase.explore.frames import OTHER, PHASE_COLOURS, SIGNS, coloured, frame
from hopfieldphase.explore.reading import view_of
from hopfieldphase.explore.sizes import single, thinned, without_weights
from hopfieldphase.explore.view import Axis, Kind, View
from hopfieldphase.plotting.colours import BRANCHES, DOWN, UP

LARGEST = 5_000_000
"""Bytes that a page may have."""

FEWEST = 8
"""Values of the parameter below which curves are not thinned out."""

_PRECISION = {
    "f8": "Numbers are stored in double precision.",
    "f4": "Numbers are rounded to single precision (7 digits), for the size of the page.",
}


def explorer(
    data: Labelled, path: str | os.PathLike[str] = "explorer.html", *, at: Mapping[str, Any] | None = None
) -> Path:
    """Write a page that shows the data of a study, for any browser, without a server or a network.

    Map, branch diagram, free energies and weights of the chosen state are linked; a slider stands for every
    dimension.

    Parameters
    ----------
    data : xarray.Dataset or xarray.DataTree
        Sweeps (over any further dimensions), branches in β or in the memory load, or a phase diagram.
    path : path-like
        Of the page; its folder exists. A file there is replaced.
    at : mapping, optional
        Where the page opens: values of dimensions by name, like ``{"realization": 2, "beta": 290}``; the
        nearest one is taken.

    Returns
    -------
    Path
        `path`.

    Raises
    ------
    InputError
        For data of another study, and for unknown dimensions.
    OutputError
        If the file system refuses.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> ds = hp.sweep_beta(hp.HopfieldModel(hp.patterns.two_keys(0.1, 8)), "4:40:4")
    >>> hp.explorer(ds, getfixture("tmp_path") / "loop.html").name
    'loop.html'
    """
    target = Path(path)
    write_page(view_of(data), target, at or {}, "")
    return target


def write_page(view: View, path: Path, at: Mapping[str, Any], source: str) -> View:
    """Write the page of a view and return what it shows: less where all would be too large."""
    text, shown = page(view, at, source)
    with replacing(path) as partial:
        partial.write_text(text, encoding="utf-8")
    return shown


def page(view: View, at: Mapping[str, Any], source: str) -> tuple[str, View]:
    """The page of a view as text, and what it shows: the view, or less of it where it would be too large.

    Parameters
    ----------
    view : View
    at : mapping
        See `explorer`.
    source : str
        The file or folder that the view is of, for the command on the page; "" if there is none.
    """
    wanted = {name: str(value) for name, value in at.items()}
    view = replace(view, position=view.at(wanted))
    text = _html(view, source)
    for smaller in (single, without_weights):
        if len(text.encode()) > LARGEST:
            view = smaller(view)
            text = _html(view, source)
    while len(text.encode()) > LARGEST:
        if view.grid.size <= FEWEST:
            raise InputError(
                f"{view.nodes['phase'].size} states do not fit on a page of {LARGEST / 1e6:g} MB: "
                "select some with .sel(...) and pass them to hopfieldphase.explorer"
            )
        view = thinned(view)
        text = _html(view, source)
    return text, view


def _html(view: View, source: str) -> str:
    branches = view.curves.name == "branch"
    with_map = branches or bool(view.vertical)
    plots = drawn.figures(view, with_map=with_map)
    sources = drawn.data_sources(view)
    document = Document()
    for plot in plots.values():
        document.add_root(plot)
    code = (files("hopfieldphase.explore") / "explorer.js").read_text(encoding="utf-8")
    meta = json.dumps(_meta(view, source, branches=branches))
    arguments: dict[str, Any] = {"weights": None, **sources, "anchor": plots["diagram"], "meta": meta}
    document.js_on_event("document_ready", CustomJS(args=arguments, code=code))
    style = (files("hopfieldphase.explore") / "page.css").read_text(encoding="utf-8")
    template = (files("hopfieldphase.explore") / "page.html").read_text(encoding="utf-8")
    variables = {
        "library": Resources(mode="inline", components=["bokeh"]).js_raw,
        "version": hopfieldphase.__version__,
        "facts": view.facts,
        "notes": view.notes,
        "style": style,
        "plots": [frame(view, name, branches=branches) for name in plots],
        "source": source,
        "precision": _PRECISION[view.nodes["overlap_max"].dtype.str[1:]],
    }
    compiled = Environment(autoescape=False).from_string("{% from macros import embed %}" + template)
    return file_html(document, INLINE, title=view.title, template=compiled, template_variables=variables)


def _meta(view: View, source: str, *, branches: bool) -> dict[str, Any]:
    """All that the script has to know beside the numbers."""
    count = len(view.curves.values)
    shown = coloured(view) if branches else list(range(count))
    colours = [OTHER] * count
    for curve, colour in zip(shown, BRANCHES if branches else (UP, DOWN), strict=False):
        colours[curve] = colour
    names = [axis.name for axis in view.outer]
    symbols = {"beta": "β", "kappa": "κ"}
    return {
        "outer": [_axis(axis) for axis in view.outer],
        "curves": _axis(view.curves),
        "parameter": view.parameter,
        "parameter_label": view.parameter_label,
        "symbol": symbols.get(view.parameter, view.parameter),
        "grid": view.grid.tolist(),
        "geometric": drawn.is_geometric(view.grid),
        "starts": view.starts.tolist(),
        "labels": view.labels,
        "quantities": list(view.labels),
        "phases": view.phases,
        "statuses": view.statuses,
        "position": view.position,
        "vertical": names.index(view.vertical) if view.vertical else -1,
        "rows": len(view.outer[-1].values) if view.rules else 1,
        "branches": branches,
        "colours": colours,
        "signs": [[curve, sign] for curve, sign in zip(shown, SIGNS, strict=False)],
        "strokes": [stroke for stroke, _, _ in drawn.STROKES],
        "kinds": [kind.name.lower() for kind in Kind],
        "levels": {name: list(map(_finite, values.tolist())) for name, values in view.levels.items()},
        "cells": {
            name: {"label": cells.label, "limits": cells.limits, "differences": cells.differences}
            for name, cells in view.cells.items()
        },
        "palettes": {"sequential": Viridis256, "diverging": drawn.DIVERGING, "phases": PHASE_COLOURS},
        "command": f"hopfieldphase explore {shlex.quote(source or 'RESULT')}",
    }


def _axis(axis: Axis) -> dict[str, Any]:
    values = [value if _finite(value) is not None else str(value) for value in axis.values]
    return {"name": axis.name, "label": axis.label, "values": values, "texts": axis.words}


def _finite(value: Any) -> Any:
    """A value that JSON knows; None for numbers that are not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
