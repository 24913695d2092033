r"""Labelled sweeps in the memory load: the sweep as the root of a tree, its events as the group `/events`."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.continuation.kappa import KappaSweep
from hopfieldphase.data import build, schema
from hopfieldphase.data.schema import Quantity

GROUP = "events"
EVENT = "event"
KINDS = ("enters", "leaves")

COUNT = Quantity("i8", r"number of stored patterns $M$")
JUMP_COUNT = Quantity("i8", r"number of patterns $M$ at the last jump since the previous value (0: none)")

COLUMNS: Mapping[str, Quantity] = {
    "realization": schema.COORDINATES["realization"],
    "direction": schema.COORDINATES["direction"],
    "M": Quantity("i8", r"number of patterns $M$ that meets the new state first"),
    "kappa": Quantity("f8", r"memory load $\log(M)/d$ of the new state"),
    "pattern": Quantity("i8", "pattern that enters or leaves"),
    "kind": Quantity("U6", "what the pattern does"),
    "jumped": Quantity("b1", "the state jumps"),
    "free_energy_before": Quantity("f8", r"free energy $\Gamma$ before"),
    "free_energy_after": Quantity("f8", r"free energy $\Gamma$ after"),
    "overlap_max_before": Quantity("f8", r"maximal overlap $z_{\max}$ before"),
    "overlap_max_after": Quantity("f8", r"maximal overlap $z_{\max}$ after"),
    "distance": Quantity("f8", r"distance moved $|\Delta x| / \max(|x|, s \max_\mu |\xi^\mu|)$"),
}
"""What is told of each event; dimension (event)."""


def kappa_tree(sweeps: KappaSweep | Sequence[KappaSweep], options: Mapping[str, Any]) -> xr.DataTree:
    r"""One labelled tree from the sweeps in the memory load of all realizations.

    Parameters
    ----------
    sweeps : KappaSweep or sequence of KappaSweep
        One per realization, all on the same axis. A single one (not in a sequence) gives a tree without
        `realization`.
    options : mapping
        Every resolved option of the study, with the dimension `d`; see `build.sweep_dataset`.

    Returns
    -------
    xarray.DataTree
        The root is the dataset of `build.sweep_dataset`, with M(κ) as the coordinate `M` and with `jump_M`,
        the M of the last jump on the way to each value. The group `/events` holds all events (`COLUMNS`), by
        realization, up before down, along each sweep. Some of its variables have names of coordinates of the
        root, so take it as ``tree["events"].to_dataset(inherit=False)``.

    Raises
    ------
    InputError
        As `build.sweep_dataset`.
    """
    rows = [sweeps] if isinstance(sweeps, KappaSweep) else list(sweeps)
    single = isinstance(sweeps, KappaSweep)
    root = build.sweep_dataset(sweeps.sweep if single else [row.sweep for row in rows], options)
    jumps = np.array([last_jumps(row) for row in rows])
    dims = root["jumped"].dims
    root["jump_M"] = xr.Variable(dims, jumps[0] if single else jumps, JUMP_COUNT.attrs)
    root = root.assign_coords(M=xr.Variable(("kappa",), rows[0].M, COUNT.attrs))
    return xr.DataTree.from_dict({"/": root, f"/{GROUP}": _events(rows, int(options["d"]), single)})


def events_summary(tree: xr.DataTree) -> dict[str, list[dict[str, Any]]]:
    """The events of every realization as plain JSON values.

    Returns
    -------
    dict
        Under "up" and "down" one entry per realization: the number of `events`, and the `jumps` among them in
        the order of the sweep, each with `M`, `kappa`, `pattern`, and Γ and z_max before and after.
    """
    events = tree.children[GROUP].to_dataset(inherit=False)
    shown = [name for name in COLUMNS if name not in ("realization", "direction", "kind", "jumped")]
    count = tree.sizes.get(schema.REALIZATION, 1)
    single = schema.REALIZATION not in events
    number = np.zeros(events.sizes[EVENT], dtype=int) if single else events[schema.REALIZATION].values
    found: dict[str, list[dict[str, Any]]] = {}
    for way in schema.DIRECTIONS:
        found[way] = []
        for realization in range(count):
            own = events.isel(event=(events["direction"].values == way) & (number == realization))
            jumps = own.isel(event=own["jumped"].values)
            columns = {name: jumps[name].values.tolist() for name in shown}
            rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
            found[way].append({"events": own.sizes[EVENT], "jumps": rows})
    return found


def last_jumps(swept: KappaSweep) -> np.ndarray[Any, Any]:
    """M of the last jump on the way from the previous value to each, shape (2, n); 0 where there is none."""
    table = np.zeros((2, swept.M.size), dtype=np.int64)
    up, down = (events.M[events.jumped] for events in swept.events)
    # A jump shows at the first value that is reached with it; of several, the last is kept.
    table[0, np.searchsorted(swept.M, up, "left")] = up
    table[1, np.searchsorted(swept.M, down, "right") - 1] = down
    return table


def _events(rows: Sequence[KappaSweep], d: int, single: bool) -> xr.Dataset:
    """The events of all sweeps, one below the other."""
    parts: dict[str, list[np.ndarray[Any, Any]]] = {name: [] for name in COLUMNS}
    for realization, swept in enumerate(rows):
        for direction, kind, events in zip(schema.DIRECTIONS, KINDS, swept.events, strict=True):
            same = {"realization": realization, "direction": direction, "kind": kind}
            for name, quantity in COLUMNS.items():
                if name == "kappa":
                    column = np.log(events.M) / d
                elif name in same:
                    column = np.full(events.M.size, same[name], dtype=quantity.dtype)
                else:
                    column = getattr(events, name)
                parts[name].append(column)
    if single:
        del parts["realization"]
    return xr.Dataset(
        {
            name: xr.Variable(
                (EVENT,), np.concatenate(columns).astype(COLUMNS[name].dtype), COLUMNS[name].attrs
            )
            for name, columns in parts.items()
        }
    )
