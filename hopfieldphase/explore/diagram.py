"""The view of a phase diagram: its maps and lines, and behind every row the two sweeps of its states."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import schema
from hopfieldphase.data.diagram import MAPS, stored_lines
from hopfieldphase.explore.labels import label, plain
from hopfieldphase.explore.states import AGREEMENT, MOST_STATES, Weights, path_weights
from hopfieldphase.explore.sweeps import EXCESS, PHASES, QUANTITIES, STATUSES, differences, facts, sweep_nodes
from hopfieldphase.explore.view import Array, Axis, Cells, Kind, Table, View
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.runs.diagram import diagram_models
from hopfieldphase.runs.diagram_spec import DiagramSpec
from hopfieldphase.runs.spec_base import TomlSpec

_CLOSED = "closed form"
_KINDS = {LineKind.COEXISTENCE: Kind.COEXISTENCE, LineKind.STORAGE: Kind.ONSET}


def diagram_view(tree: xr.DataTree, spec: TomlSpec | None) -> View:
    """The view of a phase diagram.

    The diagram stores maps, not states: the sweeps up and down of every row are done again.

    Raises
    ------
    InputError
        If it is not known how the patterns were made.
    """
    if not isinstance(spec, DiagramSpec):
        raise InputError("the phase diagram does not say what its patterns were made from: compute it again")
    root = tree.to_dataset()
    y = str(tree.attrs["parameter"])
    betas, ys = root["beta"].values, root[y].values
    places = [(r, float(value)) for r in range(root.sizes[schema.REALIZATION]) for value in ys.tolist()]
    wanted = len(places) * 2 * betas.size <= MOST_STATES
    tables, jumped, status, weights = _sweeps(spec, places, betas, weights=wanted)
    nodes, marks = sweep_nodes(betas, tables, jumped, status)
    notes = [] if wanted else [f"no weights are shown: of more than {MOST_STATES} states they would not fit"]
    gap = np.abs((tables["overlap_max"][:, 1] - tables["overlap_max"][:, 0]) - _places(root["hysteresis"]))
    scale = float(root["saturation"].max())
    if np.nanmax(gap, initial=0.0) > AGREEMENT * scale:
        notes.append("the sweeps behind the map were done again and differ from those that it was made from")
    failed = int((root["n_states"].values < 0).sum())
    notes += [f"{failed} of {root['n_states'].size} cells failed"] if failed else []
    saturation = root["saturation"].values.reshape(-1)
    widest = int(np.nanargmax(np.nan_to_num(np.abs(_places(root["hysteresis"])), nan=-1.0)))
    place, cell = divmod(widest, betas.size)
    return View(
        title=str(tree.attrs["title"]),
        facts=facts({name: value for name, value in tree.attrs.items() if not _varies(name, y)}),
        outer=(
            Axis(schema.REALIZATION, label(root[schema.REALIZATION].attrs, schema.REALIZATION),
                 tuple(range(root.sizes[schema.REALIZATION]))),
            Axis(y, label(root[y].attrs, y), tuple(ys.tolist())),
        ),
        curves=Axis(schema.DIRECTION, "direction of the sweep", schema.DIRECTIONS),
        parameter="beta",
        parameter_label=label(root["beta"].attrs, "beta"),
        grid=betas,
        starts=np.arange(0, nodes["phase"].size + 1, betas.size, dtype=np.int32),
        nodes=nodes,
        labels={name: plain(schema.OBSERVABLES[name].long_name) for name in tables}
        | {"excess": EXCESS},
        phases=PHASES,
        statuses=STATUSES,
        position=(*divmod(place, ys.size), 1, cell),
        weights=weights,
        marks=marks,
        rules=_rules(tree, ys, betas),
        cells=_maps(root, tables["overlap_max"], saturation),
        lines=_lines(tree),
        levels={"overlap_max": saturation},
        vertical=y,
        notes=tuple(notes),
    )  # fmt: skip


def _sweeps(
    spec: DiagramSpec, places: list[tuple[int, float]], betas: Array, *, weights: bool
) -> tuple[Table, NDArray[Any], NDArray[Any], Weights | None]:
    """Quantities (places, 2, n), jumps, statuses and weights of the sweeps of all rows."""
    models = {realization: diagram_models(spec, realization) for realization in {r for r, _ in places}}
    found, kept = [], []
    for realization, y in places:
        model = models[realization](y)
        swept = sweep(model, betas, keep_states=weights)
        found.append(swept)
        if weights:
            kept.append(path_weights(model, np.asarray(swept.state), betas))
    names = [name for name in QUANTITIES if getattr(found[0], name) is not None]
    tables = {name: np.array([getattr(swept, name) for swept in found]) for name in names}
    jumped, status = (np.array([getattr(swept, name) for swept in found]) for name in ("jumped", "status"))
    joined: Any = tuple(np.concatenate(parts) for parts in zip(*kept, strict=True)) if weights else None
    return tables, jumped, status, joined


def _maps(root: xr.Dataset, overlap: Array, saturation: Array) -> dict[str, Cells]:
    """Stored maps under names of their own: the sweeps have quantities of the same name."""
    highest = float(saturation.max())
    limits = {"overlap_max": (0.0, highest), "retrieval": (0.0, 1.0)}
    cells = {}
    for name in MAPS:
        if name in ("status", "hysteresis"):
            continue
        values = np.where(_places(root["n_states"]) < 0, np.nan, _places(root[name]))
        high = float(np.nanmax(values, initial=1.0))
        cells[f"map_{name}"] = Cells(_words(root, name), values, limits.get(name, (0.0, high)))
    return cells | differences(overlap)


def _words(root: xr.Dataset, name: str) -> str:
    of_lowest = ", state of lowest Γ" if name in ("overlap_max", "ipr") else ""
    return label(root[name].attrs, name) + of_lowest


def _lines(tree: xr.DataTree) -> list[dict[str, Any]]:
    """Followed lines and closed forms; of step functions the values at each row."""
    closed = tree["closed_forms"].to_dataset()
    found = []
    if "closed_beta" in closed:
        names = closed["form_name"].values.tolist()
        for name, beta in zip(names, closed["closed_beta"].values, strict=True):
            found.append(
                {"kind": "closed", "text": f"{_CLOSED}: {name}", "x": beta, "y": closed["closed_y"].values}
            )
    for line in stored_lines(tree):
        kind = str(line["kind"]) if line["kind"] in _KINDS else f"spinodal {line['side']}"
        x, y = _steps(line["beta"], line["y"]) if line["step"] else (line["beta"], line["y"])
        found.append({"kind": kind, "text": _line_words(line), "x": x, "y": y})
    return found


def _steps(beta: Array, y: Array) -> tuple[Array, Array]:
    """A function of whole numbers of patterns: constant in β halfway to the next value of y."""
    if y.size < 2:
        return beta, y
    inner = (y[1:] + y[:-1]) / 2
    edges = np.concatenate(([2 * y[0] - inner[0]], inner, [2 * y[-1] - inner[-1]]))
    return np.repeat(beta, 2), np.repeat(edges, 2)[1:-1]


def _line_words(line: dict[str, Any]) -> str:
    if line["kind"] is LineKind.COEXISTENCE:
        return "coexistence"
    return "onset of exact storage" if line["kind"] is LineKind.STORAGE else f"spinodal, sweep {line['side']}"


def _rules(tree: xr.DataTree, ys: Array, betas: Array) -> Table:
    """Where each row crosses the lines of realization 0."""
    rows: list[tuple[int, int, float, str]] = []
    for line in stored_lines(tree):
        kind = _KINDS.get(line["kind"], Kind.SPINODAL)
        for place, y in enumerate(ys.tolist()):
            for beta in _crossings(line["beta"], line["y"], y):
                if betas[0] <= beta <= betas[-1]:
                    rows.append((place, int(kind), beta, f"{_line_words(line)} at β = {beta:.8g}"))
    names = (("place", np.int32), ("kind", np.uint8), ("parameter", float), ("text", object))
    return {name: np.array([row[k] for row in rows], dtype=kind) for k, (name, kind) in enumerate(names)}


def _crossings(beta: Array, y: Array, level: float) -> list[float]:
    """β at which a line through points passes a value of y."""
    exact = beta[(y == level) & np.isfinite(beta)].tolist()
    above = y - level
    rows = np.flatnonzero(above[:-1] * above[1:] < 0)
    between = [
        float(beta[i] + (beta[i + 1] - beta[i]) * above[i] / (above[i] - above[i + 1])) for i in rows.tolist()
    ]
    return sorted({*exact, *(value for value in between if np.isfinite(value))})


def _places(table: xr.DataArray) -> Any:
    """A map over (realization, y, beta) by place."""
    return table.values.reshape(-1, table.shape[-1])


def _varies(name: Any, y: str) -> bool:
    return name == y or (y == "kappa" and name == "M")
