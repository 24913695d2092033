r"""One store for the sweeps of a grid: what each of them measures, and what all of them show together.

The dimensions are those of the grid, `realization`, `direction` and the swept parameter. Where a sweep is not
computed yet floating point numbers are NaN and integers -1, also `status`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.continuation.sweep import Sweep
from hopfieldphase.core.status import Status
from hopfieldphase.data import schema
from hopfieldphase.data.events import COUNT, JUMP_COUNT
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.data.schema import Quantity
from hopfieldphase.phases.hysteresis import hysteresis

STUDY = "grid"

LISTED = 1000
"""Cells that the summary tells one by one; of more, the data tell."""

SHOWN = 24
"""Rows of the table in words."""

NOT_COMPUTED = -1

AXES: Mapping[str, str] = {
    "alpha": r"Tsallis index $\alpha$",
    "beta": r"inverse temperature $\beta$",
    "M": r"number of patterns $M$",
    "d": r"dimension $d$",
    "seed": "seed of the patterns",
    "clusters": "number of clusters",
    "delta": r"noise within clusters $\delta$",
    "cosine": r"cosine of two patterns",
    "epsilon": r"asymmetry $\varepsilon$",
    "degrees_of_freedom": r"degrees of freedom $\nu$",
    "k": "largest support $k$",
    "p": "probability kept $p$",
    "gamma": r"norm index $\gamma$",
    "budget": "budget",
    "caps": "capacity of one pattern",
    "tol": "tolerance",
}

LOOP: Mapping[str, Quantity] = {
    "lower_edge": Quantity("f8", "lower edge of the hysteresis window"),
    "upper_edge": Quantity("f8", "upper edge of the hysteresis window"),
    "loop_area": Quantity("f8", r"area between the sweeps $\int |\Delta z_{\max}|$"),
    "unconverged": Quantity("i8", "points that did not converge"),
}
"""Derived from each sweep; NaN edges where it has no hysteresis."""

STATUS_FLAGS: Mapping[str, object] = {
    "flag_values": [NOT_COMPUTED, *(int(member) for member in Status)],
    "flag_meanings": " ".join(["not_computed", *(member.name.lower() for member in Status)]),
}


@dataclass(frozen=True)
class Column:
    """One variable of the store: type and label, and its dimensions beyond those of the grid."""

    quantity: Quantity
    dims: tuple[str, ...]
    shape: tuple[int, ...]

    @property
    def attrs(self) -> dict[str, object]:
        """Label, unit, and what the integers of a status mean."""
        flags = STATUS_FLAGS if self.quantity == schema.OBSERVABLES["status"] else {}
        return {**self.quantity.attrs, **flags}

    @property
    def fill(self) -> float | int | bool:
        """What stands where nothing is computed."""
        return {"f": math.nan, "i": NOT_COMPUTED, "b": False}[self.quantity.dtype[0]]


def columns(
    parameter: str, points: int, *, attention: bool, energy: bool, components: int | None
) -> dict[str, Column]:
    """Every variable of a store.

    Parameters
    ----------
    parameter : str
        "beta" or "kappa".
    points : int
        Number of its values.
    attention, energy : bool
        Whether the weights are those of another attention map, and whether it (or one of several) has a free
        energy.
    components : int, optional
        Dimension of the states, where they are kept.
    """
    point = ((schema.DIRECTION, parameter), (2, points))
    measured = {**schema.OBSERVABLES, **(schema.STABILITY if attention else {})}
    found = {
        name: Column(quantity, *point)
        for name, quantity in measured.items()
        if energy or name not in schema.ENERGY
    }
    if parameter == "kappa":
        found["jump_M"] = Column(JUMP_COUNT, *point)
    if components is not None:
        found["state"] = Column(schema.STATE, (*point[0], schema.COMPONENT), (*point[1], components))
    symbol = {"beta": r"$\beta$", "kappa": r"$\kappa$"}[parameter]
    for name, quantity in {**schema.PATTERNS, **LOOP}.items():
        named = (
            replace(quantity, long_name=f"{quantity.long_name}, {symbol}") if "_edge" in name else quantity
        )
        found[name] = Column(named, (), ())
    return found


def row(sweep: Sweep, names: Sequence[str], jump_M: Any = None) -> dict[str, Any]:
    """What one sweep puts into each variable; NaN where its map has no free energy."""
    energy = np.zeros(sweep.overlap_max.shape) if sweep.free_energy is None else sweep.free_energy
    loop = hysteresis(sweep.values, energy, sweep.overlap_max, sweep.jumped)
    lower, upper = loop.edges or (math.nan, math.nan)
    special = {
        "jump_M": jump_M,
        "pattern_norm_min": sweep.pattern_norms[0],
        "pattern_norm_max": sweep.pattern_norms[1],
        "lower_edge": lower,
        "upper_edge": upper,
        "loop_area": loop.area,
        "unconverged": int((~np.isin(sweep.status, [Status.CONVERGED, Status.BOUNDARY])).sum()),
    }
    table = {name: special[name] if name in special else getattr(sweep, name) for name in names}
    return {name: math.nan if value is None else value for name, value in table.items()}


def frame(
    parameter: str,
    values: Sequence[float],
    axes: Mapping[str, Sequence[Any]],
    realizations: int,
    options: Mapping[str, Any],
    *,
    counts: "np.ndarray[Any, Any] | None" = None,
    components: int | None = None,
) -> xr.Dataset:
    """Coordinates and attributes of a store, without its variables.

    Parameters
    ----------
    parameter, values
        The swept parameter on its grid.
    axes : mapping
        Values of every axis of the grid, by name, in the order of the dimensions.
    realizations : int
    options : mapping
        Every option of the study; they become attributes.
    counts : ndarray of int, optional
        M on the grid of κ, shape (n,) or, where the dimension d is an axis, (d, n).
    components : int, optional
        Dimension of the states, where they are kept.
    """
    coordinates: dict[str, Any] = {
        name: labelled(name, list(entries), AXES.get(name, f"option {name}"))
        for name, entries in axes.items()
    }
    inner = {schema.REALIZATION: range(realizations), schema.DIRECTION: schema.DIRECTIONS, parameter: values}
    if components is not None:
        inner[schema.COMPONENT] = range(components)
    for name, entries in inner.items():
        quantity = schema.COORDINATES[name]
        coordinates[name] = xr.Variable((name,), np.array(entries, dtype=quantity.dtype), quantity.attrs)
    if counts is not None:
        dims = (parameter,) if counts.ndim == 1 else ("d", parameter)
        coordinates["M"] = xr.Variable(dims, counts, COUNT.attrs)
    title = f"grid of sweeps in {parameter}, up and down"
    tree = measurement(STUDY, title, {"/": xr.Dataset(coords=coordinates)}, options)
    return tree.to_dataset()


def grid_summary(data: xr.Dataset | xr.DataTree) -> dict[str, Any]:
    """What the sweeps of a grid show, as plain JSON values.

    Returns
    -------
    dict
        `parameter`, `axes` (name: values), `realizations`, `tasks`, `points`, `computed` (number of sweeps
        that are there), `hysteresis` (how many sweeps have a loop), `cells` (for every combination, up to
        `LISTED`: its values, how many sweeps have a loop, mean and standard deviation of its edges and of its
        area) and `unconverged` (in words).
    """
    dataset = data.to_dataset() if isinstance(data, xr.DataTree) else data
    parameter = str(dataset["jumped"].dims[-1])
    axes = {str(name): dataset[name].values.tolist() for name in dataset["loop_area"].dims[:-1]}
    realizations = dataset.sizes[schema.REALIZATION]
    tables = {name: dataset[name].values.reshape(-1, realizations) for name in LOOP}
    failed, areas = tables["unconverged"], tables["loop_area"]
    cells = list(product(*axes.values()))
    listed = [_cell(dict(zip(axes, cells[i], strict=True)), tables, i) for i in range(len(cells))][:LISTED]
    words = [
        f"{_named(axes, cells[i])}realization {k}: {failed[i, k]} points did not converge"
        for i, k in np.argwhere(failed > 0).tolist()
    ]
    return {
        "study": STUDY,
        "parameter": parameter,
        "axes": {name: [_plain(value) for value in values] for name, values in axes.items()},
        "realizations": realizations,
        "tasks": areas.size,
        "points": areas.size * 2 * dataset.sizes[parameter],
        "computed": int(np.isfinite(areas).sum()),
        "hysteresis": int(np.isfinite(tables["lower_edge"]).sum()),
        "cells": listed if len(cells) <= LISTED else [],
        "unconverged": words,
    }


def grid_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, at most 80 columns wide."""
    names, parameter = list(summary["axes"]), summary["parameter"]
    lines = [
        f"{summary['tasks']} sweeps in {parameter}, {summary['points']} points; "
        f"{summary['hysteresis']} sweeps with hysteresis"
    ]
    lines += [f"  {name}: {_values(values)}" for name, values in summary["axes"].items()]
    cells = summary["cells"][:SHOWN]
    if cells:
        widths = [max(len(name), *(len(_text(cell["at"][name])) for cell in cells)) for name in names]
        head = "  ".join(name.rjust(width) for name, width in zip(names, widths, strict=True))
        lines += ["", f"  {head}  loops  {'lower edge':>16}  {'upper edge':>16}      area".rstrip()]
        for cell in cells:
            row_ = "  ".join(
                _text(cell["at"][name]).rjust(width) for name, width in zip(names, widths, strict=True)
            )
            area = "" if cell["area"] is None else f"{cell['area']['mean']:.4g}"
            share = f"{cell['loops']}/{summary['realizations']}"
            lines.append(
                f"  {row_}  {share:>5}  {_spread_text(cell['lower_edge']):>16}  "
                f"{_spread_text(cell['upper_edge']):>16}  {area:>8}"
            )
    total = math.prod(len(values) for values in summary["axes"].values())
    if total > len(cells):
        lines.append(f"  ... {total - len(cells)} more cells, all in data.zarr")
    return lines


def _cell(at: dict[str, Any], tables: Mapping[str, Any], i: int) -> dict[str, Any]:
    """What the realizations of one combination have in common."""
    edges = {name: tables[name][i] for name in ("lower_edge", "upper_edge", "loop_area")}
    spreads = {name: _spread(values[np.isfinite(values)]) for name, values in edges.items()}
    return {
        "at": {name: _plain(value) for name, value in at.items()},
        "loops": int(np.isfinite(edges["lower_edge"]).sum()),
        "lower_edge": spreads["lower_edge"],
        "upper_edge": spreads["upper_edge"],
        "area": spreads["loop_area"],
    }


def _spread(values: "np.ndarray[Any, Any]") -> dict[str, float] | None:
    return {"mean": float(values.mean()), "std": float(values.std())} if values.size else None


def _spread_text(spread: Mapping[str, float] | None) -> str:
    return "none" if spread is None else f"{spread['mean']:.4g} ± {spread['std']:.2g}"


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: what is not finite as text."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(values: Sequence[Any]) -> str:
    if len(values) <= 8:
        return ", ".join(map(_text, values))
    return f"{len(values)} values, {_text(values[0])} to {_text(values[-1])}"


def _named(axes: Mapping[str, Any], cell: Sequence[Any]) -> str:
    return "".join(f"{name} {_text(value)}, " for name, value in zip(axes, cell, strict=True))
