"""What a sweep shows together with what it could not: the content of its summary file."""

from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.status import Status
from hopfieldphase.data.events import GROUP, events_summary
from hopfieldphase.data.schema import parameter_of
from hopfieldphase.data.summary import sweep_summary


def sweep_report(data: xr.Dataset | xr.DataTree) -> dict[str, Any]:
    """What a sweep shows, as plain JSON values: `sweep_summary`, and what comes with some sweeps.

    Points that did not converge stand under `unconverged`, the events of a sweep in the memory load under
    `events` (`data.events.events_summary`).
    """
    dataset = data.to_dataset() if isinstance(data, xr.DataTree) else data
    found = sweep_summary(dataset) | {"unconverged": unconverged_points(dataset)}
    if isinstance(data, xr.DataTree) and GROUP in data.children:
        found["events"] = events_summary(data)
    return found


def unconverged_points(dataset: xr.Dataset) -> list[dict[str, Any]]:
    """Name every point of a sweep that did not converge, in the order in which the sweeps met them.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `sweep_beta`.

    Returns
    -------
    list of dict
        `realization`, `direction`, the parameter under its name, `status` (name of the `Status`), `residual`,
        and `last_good`, the last parameter value before it at which the same sweep converged (or None).
    """
    if "realization" not in dataset.dims:
        dataset = dataset.expand_dims("realization")
    parameter = parameter_of(dataset)
    dataset = dataset.transpose("realization", "direction", parameter, ...)
    status, residual, values = (dataset[name].values for name in ("status", "residual", parameter))
    failed = ~np.isin(status, [Status.CONVERGED, Status.BOUNDARY])
    points = []
    for realization, row in np.argwhere(failed.any(axis=-1)):
        last_good = None
        order = range(values.size) if row == 0 else range(values.size - 1, -1, -1)
        for i in order:
            if failed[realization, row, i]:
                points.append(
                    {
                        "realization": int(realization),
                        "direction": str(dataset["direction"].values[row]),
                        parameter: float(values[i]),
                        "status": Status(status[realization, row, i]).name.lower(),
                        "residual": _finite(residual[realization, row, i]),
                        "last_good": last_good,
                    }
                )
            else:
                last_good = float(values[i])
    return points


def _finite(value: float) -> float | None:
    """JSON has no NaN."""
    return float(value) if np.isfinite(value) else None
