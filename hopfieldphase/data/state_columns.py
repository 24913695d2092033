"""Columns of the trees of branches: observables of states, lists and vectors as rows, and their dataset."""

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.continuation.branch import State, Vector
from hopfieldphase.data.branch_schema import NOTHING, Layout

Columns = dict[str, Any]


def observed(states: Sequence[State | None]) -> dict[str, list[Any]]:
    """The observables of states; NaN, and support size 0, where there is none."""
    return {
        "free_energy": [math.nan if state is None else state.free_energy for state in states],
        "overlap_max": [math.nan if state is None else state.overlap_max for state in states],
        "ipr": [math.nan if state is None else 1 / float(state.weights @ state.weights) for state in states],
        "support_size": [0 if state is None else len(state.support) for state in states],
        "hessian_min": [math.nan if state is None else state.hessian_min for state in states],
    }


def lists(rows: Sequence[tuple[int, ...]]) -> np.ndarray:
    """Lists of patterns as rows of one length, at least one, that end in `NOTHING`."""
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    table = np.full((len(rows), max(1, lengths.max(initial=0))), NOTHING, dtype=np.int64)
    table[np.arange(table.shape[1]) < lengths[:, None]] = list(chain.from_iterable(rows))
    return table


def vectors(states: Sequence[State | None], d: int) -> np.ndarray:
    """The states as rows; NaN where there is none."""
    return np.array([np.full(d, math.nan) if state is None else state.x for state in states]).reshape(-1, d)


def filled(rows: Sequence[Vector]) -> np.ndarray:
    """Vectors of different lengths as rows that end in NaN."""
    table = np.full((len(rows), max(row.size for row in rows)), math.nan)
    for filled_row, row in zip(table, rows, strict=True):
        filled_row[: row.size] = row
    return table


def columns_dataset(
    columns: Mapping[str, Any], layout: Layout, flags: Mapping[str, Mapping[str, Any]], comment: str
) -> xr.Dataset:
    """The columns that a layout names, in its types; those named as their dimension are coordinates."""
    variables = {
        name: xr.Variable(
            dims,
            np.asarray(columns[name]).astype(quantity.dtype),
            {**quantity.attrs, **flags.get(name, {})},
        )
        for name, (dims, quantity) in layout.items()
    }
    coordinates = {name: variable for name, variable in variables.items() if variable.dims == (name,)}
    data = {name: variable for name, variable in variables.items() if name not in coordinates}
    return xr.Dataset(data, coords=coordinates, attrs={"comment": comment})
