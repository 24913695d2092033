"""Labelled datasets from plain sweeps: the one place where xarray objects are made."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

import hopfieldphase
from hopfieldphase.continuation.sweep import Sweep
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, schema
from hopfieldphase.data.provenance import git_revision


def sweep_dataset(sweeps: Sweep | Sequence[Sweep], options: Mapping[str, Any]) -> xr.Dataset:
    r"""One labelled dataset from the sweeps of all realizations.

    Parameters
    ----------
    sweeps : Sweep or sequence of Sweep
        One per realization, all on the same parameter axis. A single `Sweep` (not in a sequence) gives a
        dataset without the dimension `realization`.
    options : mapping
        Every resolved option of the study (α, M, d, solver, tolerance, seed, …); each becomes an attribute
        and must be a value that `attributes.encode` knows.

    Returns
    -------
    xarray.Dataset
        Dimensions (realization, direction, beta or kappa); variables, labels and units as in `schema`, those
        that the first sweep has, and `state` over `component` where every sweep kept its states. Attributes:
        schema version, package version, git revision, start states and the options.

    Raises
    ------
    InputError
        Without a sweep, for sweeps on different axes, and for options that no file can hold or whose name is
        taken.
    """
    rows = [sweeps] if isinstance(sweeps, Sweep) else list(sweeps)
    if not rows:
        raise InputError("no sweep was given: a dataset needs at least one realization")
    first = rows[0]
    for index, sweep in enumerate(rows):
        if sweep.parameter != first.parameter or not np.array_equal(sweep.values, first.values):
            raise InputError(
                f"the sweep of realization {index} is on other values of {first.parameter} than that of "
                "realization 0: sweep all realizations on one grid"
            )
    outer = () if isinstance(sweeps, Sweep) else (schema.REALIZATION,)
    point = (*outer, schema.DIRECTION, first.parameter)

    def variable(dims: tuple[str, ...], quantity: schema.Quantity, tables: list[Any]) -> xr.Variable:
        values = np.array(tables if outer else tables[0], dtype=quantity.dtype)
        return xr.Variable(dims, values, quantity.attrs)

    variables = {
        name: variable(point, quantity, [getattr(sweep, name) for sweep in rows])
        for name, quantity in {**schema.OBSERVABLES, **schema.STABILITY}.items()
        if getattr(first, name) is not None
    }
    variables["status"].attrs.update(schema.STATUS_FLAGS)
    known = {
        "saturation": [sweep.saturation for sweep in rows],
        "pattern_norm_min": [sweep.pattern_norms[0] for sweep in rows],
        "pattern_norm_max": [sweep.pattern_norms[1] for sweep in rows],
        "duplicates": [sweep.duplicates for sweep in rows],
    }
    variables |= {name: variable(outer, quantity, known[name]) for name, quantity in schema.PATTERNS.items()}
    coordinates: dict[str, Any] = {schema.DIRECTION: schema.DIRECTIONS, first.parameter: first.values}
    if outer:
        coordinates[schema.REALIZATION] = range(len(rows))
    if all(sweep.state is not None for sweep in rows):
        state = variable((*point, schema.COMPONENT), schema.STATE, [sweep.state for sweep in rows])
        variables["state"] = state
        coordinates[schema.COMPONENT] = range(state.shape[-1])
    labelled = {
        name: xr.Variable((name,), np.array(values, dtype=quantity.dtype), quantity.attrs)
        for name, values in coordinates.items()
        for quantity in (schema.COORDINATES[name],)
    }
    return xr.Dataset(variables, coords=labelled, attrs=_attrs(rows, options))


def _attrs(rows: Sequence[Sweep], options: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of the dataset: what it is, what made it, from which starts, with which options."""
    attrs: dict[str, Any] = {
        "title": f"sweep in {rows[0].parameter}, up and down",
        "schema_version": schema.SCHEMA_VERSION,
        "package_version": hopfieldphase.__version__,
        "git_revision": git_revision(),
    }
    taken = attrs.keys() & options.keys()
    if taken:
        raise InputError(f"the option {min(taken)} has the name of an attribute of every dataset: rename it")
    starts = {name: _common([getattr(sweep, name) for sweep in rows]) for name in ("start_up", "start_down")}
    attrs |= {**options, **starts}
    # Said now, not when a long run wants to be written.
    attributes.encode(attrs)
    return attrs


def _common(values: list[str]) -> str | list[str]:
    """The value that all realizations share, else one per realization."""
    return values[0] if len(set(values)) == 1 else values
