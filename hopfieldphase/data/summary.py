"""What a sweep shows, as one dictionary of plain values."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.status import Status
from hopfieldphase.data import schema
from hopfieldphase.data.wording import summary_lines
from hopfieldphase.phases import hysteresis as loops

__all__ = ["dataset_hysteresis", "summary_lines", "sweep_summary"]


def dataset_hysteresis(dataset: xr.Dataset, tolerance: float = loops.TOLERANCE) -> list[loops.Hysteresis]:
    """Hysteresis loop of every realization of a sweep, in their order.

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `build.sweep_dataset`, with or without the dimension `realization`.
    tolerance : float
        See `phases.hysteresis.sweeps_differ`.
    """
    values = dataset[schema.parameter_of(dataset)].values
    overlaps, jumped = (_by_realization(dataset, name) for name in ("overlap_max", "jumped"))
    # Without a free energy the overlaps alone tell the sweeps apart.
    energies = (
        _by_realization(dataset, "free_energy") if "free_energy" in dataset else np.zeros(overlaps.shape)
    )
    rows = zip(energies, overlaps, jumped, strict=True)
    return [loops.hysteresis(values, *row, tolerance=tolerance) for row in rows]


def sweep_summary(dataset: xr.Dataset, tolerance: float = loops.TOLERANCE) -> dict[str, Any]:
    r"""All that a sweep shows, as plain JSON values (never NaN; None where there is nothing to report).

    Parameters
    ----------
    dataset : xarray.Dataset
        As made by `build.sweep_dataset`.
    tolerance : float
        Relative difference from which on the up and the down sweep differ
        (see `phases.hysteresis.sweeps_differ`).

    Returns
    -------
    dict
        `parameter`, `grid`, `model`, `realizations`, `hysteresis` (intervals [lower, upper] of any, of all
        and of each realization, outer edges and loop area as mean and standard deviation, and how many
        windows reach an end of the grid), `jumps` (bracketing values and change of z_max, up and down, of
        each realization), `saturation` (z_max at the last value against s² max|ξ|²), `worst_residual`,
        `points`, `verified_minima` (of a map without a free energy: attracting fixed points), `statuses`,
        `patterns` (range of norms, largest number of duplicates), and, of an attention map, `stability`
        (whether there is a free energy, the largest spectral radius, points with a complex leading pair).
    """
    parameter = schema.parameter_of(dataset)
    values = dataset[parameter].values
    found = dataset_hysteresis(dataset, tolerance)
    window = loops.window(values, found)
    edges = [loop.edges for loop in found if loop.edges]
    statuses = dataset["status"].values
    counts = {status: int((statuses == status).sum()) for status in Status}
    stability = {"stability": _stability(dataset, parameter)} if "spectral_radius" in dataset else {}
    return stability | {
        "parameter": parameter,
        "grid": {"first": float(values[0]), "last": float(values[-1]), "points": int(values.size)},
        "model": {
            name: _plain(dataset.attrs.get(name))
            for name in (
                "attention" if "attention" in dataset.attrs else "alpha",
                "beta" if parameter == "kappa" else "M",
                "d",
                "start_up",
                "start_down",
            )
        },
        "realizations": len(found),
        "hysteresis": {
            "tolerance": tolerance,
            "realizations": window.count,
            "any": _pairs(window.any),
            "all": _pairs(window.all),
            "lower_edge": _spread(lower for lower, _ in edges),
            "upper_edge": _spread(upper for _, upper in edges),
            "area": _spread(loop.area for loop in found),
            "reach_first": sum(bool(lower == values[0]) for lower, _ in edges),
            "reach_last": sum(bool(upper == values[-1]) for _, upper in edges),
            "intervals": [_pairs(loop.intervals) for loop in found],
        },
        "jumps": {
            "up": [[_jump(jump) for jump in loop.jumps_up] for loop in found],
            "down": [[_jump(jump) for jump in loop.jumps_down] for loop in found],
        },
        "saturation": _saturation(dataset),
        "worst_residual": _worst_residual(dataset, parameter),
        "points": int(statuses.size),
        "verified_minima": sum(count for status, count in counts.items() if status.is_minimum),
        "statuses": {status.name.lower(): count for status, count in counts.items() if count},
        "patterns": {
            "norm_min": float(dataset["pattern_norm_min"].min()),
            "norm_max": float(dataset["pattern_norm_max"].max()),
            "duplicates": int(dataset["duplicates"].max()),
        },
    }


def _saturation(dataset: xr.Dataset) -> dict[str, Any]:
    """z_max at the last value, up and down, against the overlap of a stored pattern with itself."""
    last = _by_realization(dataset, "overlap_max")[..., -1]
    stored = np.atleast_1d(dataset["saturation"].values)
    return {
        "up": _spread(last[:, loops.UP]),
        "down": _spread(last[:, loops.DOWN]),
        "stored": _spread(stored),
        "relative_gap": _number(np.max(np.abs(last - stored[:, None]) / stored[:, None])),
    }


def _stability(dataset: xr.Dataset, parameter: str) -> dict[str, Any]:
    """The largest spectral radius of the fixed points, and how many have a complex leading pair."""
    radius = dataset["spectral_radius"].values
    largest = float(np.nanmax(radius)) if np.isfinite(radius).any() else np.nan
    where = np.unravel_index(np.nanargmax(radius), radius.shape) if np.isfinite(largest) else None
    return {
        "free_energy": "free_energy" in dataset,
        "spectral_radius": _number(largest),
        parameter: None if where is None else float(dataset[parameter].values[where[-1]]),
        "complex": int((np.nan_to_num(dataset["eigenvalue_imag"].values) != 0).sum()),
    }


def _worst_residual(dataset: xr.Dataset, parameter: str) -> dict[str, Any]:
    """The largest residual and the point that has it; a residual that is not a number is the largest."""
    residuals = _by_realization(dataset, "residual")
    worst = np.where(np.isnan(residuals), np.inf, residuals).argmax()
    realization, direction, point = (int(i) for i in np.unravel_index(worst, residuals.shape))
    return {
        "value": _number(residuals[realization, direction, point]),
        "realization": realization,
        "direction": schema.DIRECTIONS[direction],
        parameter: float(dataset[parameter].values[point]),
    }


def _by_realization(dataset: xr.Dataset, name: str) -> np.ndarray[Any, Any]:
    """Values over (realization, direction, parameter), also where the dataset holds a single one."""
    values = dataset[name].values
    return values if schema.REALIZATION in dataset.dims else values[None]


def _pairs(intervals: Iterable[loops.Interval]) -> list[list[float]]:
    return [[interval.lower, interval.upper] for interval in intervals]


def _jump(jump: loops.Jump) -> dict[str, float | None]:
    return {"before": jump.before, "after": jump.after, "size": _number(jump.size)}


def _spread(values: Iterable[Any]) -> dict[str, float | None] | None:
    """Mean and standard deviation over realizations; None without values."""
    array = np.array(list(values), dtype=float)
    return {"mean": _number(array.mean()), "std": _number(array.std())} if array.size else None


def _number(value: Any) -> float | None:
    """A float that JSON can hold, else None."""
    return float(value) if np.isfinite(value) else None


def _plain(value: Any) -> Any:
    """An option as JSON can hold it: what is not finite as text."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value
