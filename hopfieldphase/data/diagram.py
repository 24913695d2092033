r"""Phase diagrams as labelled trees: maps at the root, lines, special points and closed forms in groups.

The maps lie over (realization, y, beta), where y is named by the parameter (`epsilon`, `noise_strength`,
`alpha` or `kappa`); coordinates are cell centres. `/lines` holds all lines one after the other over `point`,
`count` says how many belong to each (contiguous ragged arrays of the CF conventions). A failed cell is NaN in
every map, −1 in `n_states`, and `status` says why.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

import hopfieldphase
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, schema
from hopfieldphase.data.provenance import git_revision
from hopfieldphase.data.schema import Quantity
from hopfieldphase.phases.diagram import ClosedLine, DiagramLine, DiagramLines
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.phases.maps import Row

TITLE = "phase diagram"

PARAMETERS: Mapping[str, Quantity] = {
    "epsilon": Quantity("f8", r"cosine of the patterns $\epsilon$"),
    "noise_strength": Quantity("f8", r"noise strength $\delta$"),
    "alpha": Quantity("f8", r"Tsallis index $\alpha$"),
    "kappa": schema.COORDINATES["kappa"],
}
"""The second axis, by the name of its coordinate."""

MAPS: Mapping[str, Quantity] = {
    "overlap_max": schema.OBSERVABLES["overlap_max"],
    "ipr": schema.OBSERVABLES["ipr"],
    "n_states": Quantity("i8", "number of coexisting stable states found"),
    "retrieval": Quantity("f8", "fraction of noisy queries retrieved"),
    "hysteresis": Quantity("f8", r"hysteresis $z_{\max}^{\mathrm{down}} - z_{\max}^{\mathrm{up}}$"),
    "status": Quantity("i1", "how the worse of both sweeps ended"),
}

KINDS = tuple(LineKind)
SIDES = ("", "up", "down")

_POINT_NAMES = ("range", "cusp", "turn", "kink", "leaves", "enters", "curvature", "beta", "smallest_step",
                "step_limit", "closed")  # fmt: skip


def diagram_tree(
    parameter: str,
    ys: Sequence[float],
    betas: Sequence[float],
    rows: Sequence[Sequence[Row]],
    found: DiagramLines,
    closed: Sequence[ClosedLine],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree from the rows of all realizations and the lines.

    Parameters
    ----------
    parameter : str
        Name of y, a key of `PARAMETERS`.
    ys, betas : sequence of float
        Cell centres, ascending.
    rows : sequence of sequences of Row
        For each realization one row for each y.
    found : DiagramLines
        Lines of realization 0.
    closed : sequence of ClosedLine
        Closed forms that apply to realization 0.
    options : mapping
        Every resolved option; becomes the attributes.

    Returns
    -------
    xarray.DataTree
        Groups `/lines`, `/special_points`, `/closed_forms`.
    """
    cells = (schema.REALIZATION, parameter, "beta")
    maps: dict[str, Any] = {
        name: (cells, _table([[getattr(row, name) for row in one] for one in rows], quantity), quantity.attrs)
        for name, quantity in MAPS.items()
    }
    maps["status"][2].update(schema.STATUS_FLAGS)
    saturation = schema.PATTERNS["saturation"]
    maps["saturation"] = (
        cells[:2],
        np.array([[row.saturation for row in one] for one in rows]),
        saturation.attrs,
    )
    coordinates = {
        schema.REALIZATION: (range(len(rows)), schema.COORDINATES[schema.REALIZATION]),
        parameter: (ys, PARAMETERS[parameter]),
        "beta": (betas, schema.COORDINATES["beta"]),
    }
    attrs: dict[str, Any] = {
        "title": f"{TITLE} in beta and {parameter}",
        "schema_version": schema.SCHEMA_VERSION,
        "package_version": hopfieldphase.__version__,
        "git_revision": git_revision(),
        "parameter": parameter,
        "cells": "coordinates are cell centres",
        "line_failures": list(found.failures),
        **{name: value for name, value in options.items() if name not in ("parameter", "title")},
    }
    attributes.encode(attrs)
    root = xr.Dataset(
        maps,
        coords={
            name: ((name,), np.array(values, dtype=quantity.dtype), quantity.attrs)
            for name, (values, quantity) in coordinates.items()
        },
        attrs=attrs,
    )
    return xr.DataTree.from_dict(
        {
            "/": root,
            "/lines": _lines(found.lines, parameter),
            "/special_points": _special_points(found.lines, parameter),
            "/closed_forms": _closed_forms(closed, parameter),
        }
    )


def _table(values: list[list[Any]], quantity: Quantity) -> np.ndarray[Any, Any]:
    return np.array(values, dtype=quantity.dtype)


def _flags(names: Sequence[str]) -> dict[str, Any]:
    meanings = " ".join(str(name).replace(" ", "_") or "none" for name in names)
    return {"flag_values": list(range(len(names))), "flag_meanings": meanings}


def _lines(lines: Sequence[DiagramLine], parameter: str) -> xr.Dataset:
    def joined(name: str, dtype: str) -> np.ndarray[Any, Any]:
        return np.concatenate([getattr(line, name) for line in lines] or [np.empty(0)]).astype(dtype)

    kind = np.array([KINDS.index(line.kind) for line in lines], dtype="i1")
    side = np.array([SIDES.index(line.side) for line in lines], dtype="i1")
    return xr.Dataset(
        {
            "kind": (("line",), kind, {"long_name": "kind of line", **_flags(KINDS)}),
            "side": (("line",), side, {"long_name": "sweep that loses its state", **_flags(SIDES)}),
            "step": (
                ("line",),
                np.array([line.step for line in lines], dtype=bool),
                {"long_name": "a step function of whole numbers of patterns"},
            ),
            "count": (
                ("line",),
                np.array([len(line.y) for line in lines], dtype="i8"),
                {"long_name": "number of points of the line", "sample_dimension": "point"},
            ),
            "point_beta": (("point",), joined("beta", "f8"), schema.COORDINATES["beta"].attrs),
            "point_y": (("point",), joined("y", "f8"), PARAMETERS[parameter].attrs),
            "continuous": (
                ("point",), joined("continuous", "b1"), {"long_name": "the transition is continuous here"},
            ),
        }
    )  # fmt: skip


def _special_points(lines: Sequence[DiagramLine], parameter: str) -> xr.Dataset:
    points = [(n, point) for n, line in enumerate(lines) for point in line.special_points]
    kind = np.array([_POINT_NAMES.index(point.name) for _, point in points], dtype="i1")
    return xr.Dataset(
        {
            "line_number": (
                ("special_point",),
                np.array([n for n, _ in points], dtype="i8"),
                {"long_name": "position of the line in /lines"},
            ),
            "what": (("special_point",), kind, {"long_name": "what happens here", **_flags(_POINT_NAMES)}),
            "special_beta": (
                ("special_point",),
                np.array([point.beta for _, point in points], dtype="f8"),
                schema.COORDINATES["beta"].attrs,
            ),
            "special_y": (
                ("special_point",),
                np.array([point.y for _, point in points], dtype="f8"),
                PARAMETERS[parameter].attrs,
            ),
        }
    )


def _closed_forms(closed: Sequence[ClosedLine], parameter: str) -> xr.Dataset:
    if not closed:
        return xr.Dataset()
    return xr.Dataset(
        {
            "closed_beta": (
                ("form", "form_point"),
                np.array([line.beta for line in closed]),
                schema.COORDINATES["beta"].attrs,
            ),
            "closed_y": (("form_point",), closed[0].y, PARAMETERS[parameter].attrs),
            "form_name": (("form",), np.array([line.name for line in closed]), {"long_name": "closed form"}),
        }
    )


def holds_diagram(tree: xr.Dataset | xr.DataTree) -> bool:
    """Whether a tree says that it is a phase diagram."""
    return str(tree.attrs.get("title", "")).startswith(TITLE)


def check(tree: xr.DataTree) -> None:
    """Raise `InputError` unless the tree is a complete phase diagram of this schema, or of an older one."""
    version = tree.attrs.get("schema_version")
    if isinstance(version, bool) or not isinstance(version, int) or not 1 <= version <= schema.SCHEMA_VERSION:
        raise InputError(
            f"schema version {version} of the phase diagram is unknown: update hopfieldphase, "
            "or compute the diagram again"
        )
    parameter = tree.attrs.get("parameter")
    root = tree.to_dataset()
    if parameter not in PARAMETERS or parameter not in root.dims or "beta" not in root.dims:
        raise InputError("the phase diagram does not name its second axis: the dataset is incomplete")
    cells = (schema.REALIZATION, parameter, "beta")
    for name, quantity in MAPS.items():
        if name not in root or root[name].dims != cells or root[name].dtype.kind != quantity.dtype[0]:
            raise InputError(f"the map {name} is missing or of another form: the dataset is incomplete")
    for name in ("lines", "special_points", "closed_forms"):
        if name not in tree.children:
            raise InputError(f"the group /{name} is missing: the dataset is incomplete")
    lines = tree["lines"].to_dataset()
    needed = ("kind", "side", "step", "count", "point_beta", "point_y", "continuous")
    if any(name not in lines for name in needed) or int(lines["count"].sum()) != lines.sizes["point"]:
        raise InputError("the group /lines is incomplete: compute the diagram again")


def stored_lines(tree: xr.DataTree) -> list[dict[str, Any]]:
    """The lines of a tree one by one: `kind`, `side`, `step`, and the arrays `beta`, `y`, `continuous`."""
    lines = tree["lines"].to_dataset()
    stops = np.cumsum(lines["count"].values)
    found = []
    for n, (stop, size) in enumerate(zip(stops, lines["count"].values, strict=True)):
        part = slice(int(stop - size), int(stop))
        found.append(
            {
                "kind": KINDS[int(lines["kind"][n])],
                "side": SIDES[int(lines["side"][n])],
                "step": bool(lines["step"][n]),
                "beta": lines["point_beta"].values[part],
                "y": lines["point_y"].values[part],
                "continuous": lines["continuous"].values[part],
            }
        )
    return found


def diagram_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What a phase diagram shows, as plain JSON values; None where there is nothing to report.

    Returns
    -------
    dict
        `parameter`, `grid` (centres of the first and last cells), `cells`, `failed_cells` (each with its
        place and status), `lines` (kind, side, ends in β and y, points), `line_failures`, `closed_forms`, and
        `maps` (smallest and largest value of each).
    """
    root, parameter = tree.to_dataset(), str(tree.attrs["parameter"])
    status = root["status"].values
    meanings = str(root["status"].attrs["flag_meanings"]).split()
    failed = np.argwhere(np.isnan(root["overlap_max"].values))
    ys, betas = root[parameter].values, root["beta"].values
    lines = [
        {
            "kind": str(line["kind"]),
            "side": line["side"] or None,
            "points": len(line["y"]),
            "beta": [float(line["beta"].min()), float(line["beta"].max())],
            parameter: [float(line["y"].min()), float(line["y"].max())],
            "continuous": bool(line["continuous"].any()),
        }
        for line in stored_lines(tree)
    ]
    closed = tree["closed_forms"].to_dataset()
    return {
        "parameter": parameter,
        "grid": {
            "beta": [float(betas[0]), float(betas[-1]), int(betas.size)],
            parameter: [float(ys[0]), float(ys[-1]), int(ys.size)],
        },
        "realizations": int(root.sizes[schema.REALIZATION]),
        "cells": int(status.size),
        "failed_cells": [
            {
                "realization": int(r),
                parameter: float(ys[i]),
                "beta": float(betas[j]),
                "status": meanings[int(status[r, i, j])],
            }
            for r, i, j in failed
        ],
        "lines": lines,
        "line_failures": list(tree.attrs.get("line_failures", [])),
        "closed_forms": closed["form_name"].values.tolist() if "form_name" in closed else [],
        "maps": {name: _range(root[name].values) for name in MAPS if name != "status"},
    }


def _range(values: np.ndarray[Any, Any]) -> list[float] | None:
    good = values[np.isfinite(values) & (values != -1)]
    return [float(good.min()), float(good.max())] if good.size else None


def diagram_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, a line each."""
    parameter = summary["parameter"]
    grid = summary["grid"]
    text = ["phase diagram"]
    for name in ("beta", parameter):
        low, high, count = grid[name]
        text.append(f"  {name.replace('_', ' ')}: {count} cells centred from {low:g} to {high:g}")
    good = summary["cells"] - len(summary["failed_cells"])
    text.append(f"{good} of {summary['cells']} cells hold verified states")
    states = summary["maps"]["n_states"]
    if states is not None:
        text.append(f"coexisting stable states found: {states[0]:g} to {states[1]:g}")
    for line in summary["lines"]:
        name = line["kind"] + (f" of the {line['side']} sweep's state" if line["side"] else "")
        where = f"beta {line['beta'][0]:.6g} to {line['beta'][1]:.6g}"
        text.append(f"  {name}: {line['points']} points, {where}")
    if summary["closed_forms"]:
        text.append("closed forms beside them: " + ", ".join(summary["closed_forms"]))
    return text
