"""The view of sweeps up and down, over realizations and any further dimension."""

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.core.status import Status
from hopfieldphase.data import schema
from hopfieldphase.data.wording import attention_text
from hopfieldphase.explore.labels import label
from hopfieldphase.explore.states import sweep_weights
from hopfieldphase.explore.view import Array, Axis, Cells, Kind, Link, Phase, Table, View, equal_energies
from hopfieldphase.phases.hysteresis import sweeps_differ
from hopfieldphase.runs.spec_base import TomlSpec

QUANTITIES = (
    "overlap_max", "free_energy", "ipr", "support_size", "threshold_count", "hessian_min", "spectral_radius",
)  # fmt: skip

PHASES = (
    "stability not verified", "stable, the lower Γ of both sweeps", "stable, the higher Γ of both sweeps",
    "unstable", "not computed",
)  # fmt: skip

STATUSES = (*(member.name.lower().replace("_", " ") for member in Status), "not computed")
"""The integers of a status in words; the last one stands for those below 0."""

EXCESS = "free energy Γ above the lower sweep"

EQUAL = 1e-10
"""Relative difference up to which two free energies are one."""


def sweep_view(dataset: xr.Dataset, spec: TomlSpec | None) -> View:
    """The view of a dataset over direction, β or κ, and any further dimensions.

    Parameters
    ----------
    dataset : xarray.Dataset
        With the variables of a sweep (`data.schema.OBSERVABLES`) over (…, direction, parameter).
    spec : TomlSpec or None
        What the sweep was made from: the weights of its states follow from it.
    """
    parameter = "beta" if "beta" in dataset["overlap_max"].dims else "kappa"
    names = [str(dim) for dim in dataset["overlap_max"].dims if dim not in (schema.DIRECTION, parameter)]
    dataset = dataset.transpose(*names, schema.DIRECTION, parameter, ...)
    outer = tuple(_axis(dataset, name) for name in names)
    t = dataset[parameter].values.astype(float)
    shown = {name: label(dataset[name].attrs, name) for name in QUANTITIES if name in dataset}
    tables = {name: _table(dataset[name]) for name in shown}
    jumped = _table(dataset["jumped"]).astype(bool)
    status = _table(dataset["status"])
    nodes, marks = sweep_nodes(t, tables, jumped, status)
    shown |= {"excess": EXCESS} if "excess" in nodes else {}
    found = sweep_weights(dataset, spec)
    absent = int((nodes["phase"] == Phase.ABSENT).sum())
    notes = (
        [f"{absent} of {nodes['phase'].size} states are not there: not computed yet, or failed"]
        if absent
        else []
    )
    notes += [found] if isinstance(found, str) else []
    one = dataset["overlap_max"].isel({parameter: 0, schema.DIRECTION: 0})
    saturation = dataset["saturation"].broadcast_like(one).transpose(*names)
    count = len(t)
    return View(
        title=str(dataset.attrs.get("title", f"sweep in {parameter}")),
        facts=facts(dataset.attrs),
        outer=outer,
        curves=Axis(schema.DIRECTION, "direction of the sweep", schema.DIRECTIONS),
        parameter=parameter,
        parameter_label=label(dataset[parameter].attrs, parameter),
        grid=t,
        starts=np.arange(0, nodes["phase"].size + 1, count, dtype=np.int32),
        nodes=nodes,
        labels=shown,
        phases=PHASES,
        statuses=STATUSES,
        position=_widest(tables["overlap_max"], outer),
        weights=None if isinstance(found, str) else found,
        marks=marks,
        cells=differences(tables["overlap_max"]),
        levels={"overlap_max": saturation.values.astype(float).reshape(-1)},
        vertical=_vertical(outer),
        notes=tuple(notes),
    )


def sweep_nodes(
    t: Array, tables: Table, jumped: NDArray[np.bool_], status: NDArray[np.integer]
) -> tuple[Table, Table]:
    """Nodes and special points of sweeps from tables (places, 2, n)."""
    shape = status.shape
    overlap = tables["overlap_max"]
    nodes: Table = {name: table.reshape(-1) for name, table in tables.items()}
    energy = tables.get("free_energy")
    if energy is not None:
        lowest = np.fmin(energy[:, 0], energy[:, 1])[:, None]
        excess = energy - lowest
        nodes["excess"] = excess.reshape(-1)
        higher = excess > EQUAL * np.maximum(1.0, np.abs(lowest))
    else:
        higher = np.zeros(shape, dtype=bool)
    phase = np.where(
        status == Status.CONVERGED, np.where(higher, Phase.METASTABLE, Phase.EQUILIBRIUM), Phase.UNKNOWN
    )
    for name, unstable in (("hessian_min", lambda v: v < 0), ("spectral_radius", lambda v: v > 1)):
        if name in tables:
            phase = np.where((status != Status.CONVERGED) & unstable(tables[name]), Phase.UNSTABLE, phase)
    phase = np.where(np.isfinite(overlap), phase, Phase.ABSENT)
    link = np.full(shape, Link.LINE)
    link[:, 0, :-1][jumped[:, 0, 1:]] = Link.JUMP
    link[:, 1, :-1][jumped[:, 1, :-1]] = Link.JUMP
    link[..., -1] = Link.NONE
    nodes |= {
        "parameter": np.broadcast_to(t, shape).reshape(-1).astype(float),
        "phase": phase.astype(np.uint8).reshape(-1),
        "link": link.astype(np.uint8).reshape(-1),
        "status": np.where(status < 0, len(Status), status).astype(np.uint8).reshape(-1),
    }
    quantities = [name for name in nodes if name not in ("parameter", "phase", "link", "status")]
    return nodes, _marks(t, nodes, quantities, tables, link)


def facts(attrs: Any) -> tuple[str, ...]:
    """The model in words."""
    names = {"alpha": "α", "beta": "β", "M": "M", "d": "d"}
    found = [attention_text(attrs["attention"])] if attrs.get("attention") else []
    found += [f"{sign} = {attrs[name]:g}" for name, sign in names.items() if _is_number(attrs.get(name))]
    source = attrs.get("generator")
    found += [f"{str(source).replace('_', ' ')} patterns"] if source else []
    return tuple(found)


def differences(overlap: Array) -> dict[str, Cells]:
    """How far the sweep down is above the sweep up, for the map."""
    gap = overlap[:, 1] - overlap[:, 0]
    limit = float(np.nanmax(np.abs(gap), initial=0.0)) or 1.0
    return {"hysteresis": Cells("z_max of the sweep down − up", gap, (-limit, limit), differences=True)}


def _marks(t: Array, nodes: Table, quantities: list[str], tables: Table, link: Array) -> Table:
    """Ends of states where a sweep jumps, and equal free energies of both sweeps."""
    rows: list[dict[str, Any]] = []
    count = len(t)
    for place, curve, i in np.argwhere(link == Link.JUMP).tolist():
        # The state that is lost is the one before the jump, as the sweep goes.
        before = i if curve == 0 else i + 1
        node = (2 * place + curve) * count + before
        rows.append(
            {
                "place": place, "curve": curve, "kind": Kind.SPINODAL, "parameter": t[before],
                "text": f"state lost (spinodal) between {t[i]:.8g} and {t[i + 1]:.8g}",
                **{name: nodes[name][node] for name in quantities},
            }
        )  # fmt: skip
    if "free_energy" in tables:
        differ, _ = sweeps_differ(tables["free_energy"], tables["overlap_max"])
        for place, energies in enumerate(tables["free_energy"]):
            for i, part in equal_energies(energies[0], energies[1], differ[place]):
                if Link.JUMP in link[place, :, i]:
                    continue
                for curve in (0, 1):
                    node = (2 * place + curve) * count + i
                    here = {
                        n: nodes[n][node] + part * (nodes[n][node + 1] - nodes[n][node]) for n in quantities
                    }
                    rows.append(
                        {
                            "place": place, "curve": curve, "kind": Kind.COEXISTENCE,
                            "parameter": t[i] + part * (t[i + 1] - t[i]),
                            "text": "coexistence: equal Γ of both sweeps, interpolated between grid points",
                            **here,
                        }
                    )  # fmt: skip
    return mark_table(rows, quantities)


def mark_table(rows: list[dict[str, Any]], quantities: list[str]) -> Table:
    """Special points as columns."""
    types: dict[str, Any] = {
        "place": np.int32,
        "curve": np.int32,
        "kind": np.uint8,
        "parameter": float,
        "text": object,
    }
    types |= dict.fromkeys(quantities, float)
    return {name: np.array([row[name] for row in rows], dtype=kind) for name, kind in types.items()}


def _axis(dataset: xr.Dataset, name: str) -> Axis:
    if name not in dataset.coords:
        return Axis(name, name.replace("_", " "), tuple(range(dataset.sizes[name])))
    return Axis(name, label(dataset[name].attrs, name), tuple(dataset[name].values.tolist()))


def _vertical(outer: tuple[Axis, ...]) -> str:
    """The dimension that the map has beside the parameter: realizations only where there is no other."""
    several = [axis.name for axis in outer if len(axis.values) > 1]
    return next((name for name in several if name != schema.REALIZATION), several[0] if several else "")


def _table(variable: xr.DataArray) -> Any:
    """Values over (places, 2, n)."""
    return variable.values.reshape(-1, *variable.shape[-2:])


def _widest(overlap: Array, outer: tuple[Axis, ...]) -> tuple[int, ...]:
    """Where the sweeps differ most, in the first place that is there: the page opens in the loop."""
    gaps = np.nan_to_num(np.abs(overlap[:, 1] - overlap[:, 0]), nan=-1.0)
    place = int(np.argmax(gaps.max(axis=-1) >= 0))
    sizes = [len(axis.values) for axis in outer]
    indices = tuple(map(int, np.unravel_index(place, sizes))) if sizes else ()
    return (*indices, 1, int(np.argmax(gaps[place])))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
