r"""Escape times as one tree, its summary, and that in words.

`/times` has everything over (system, height), where `height` is ΔΓ/T; times are in units of 1/β. `inner` and
`outer` are the law of Kramers with the Hessians of one side of a facet, without and with the tied patterns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.escape import Escapes, Kramers
from hopfieldphase.dynamics.escape_systems import EscapeSystem

TITLE = "escape times from metastable minima"

_TIMES = {
    "measured": r"simulated mean escape time $\beta\tau$",
    "error": r"standard error of $\beta\tau$",
    "kramers": r"law of Eyring and Kramers, $\beta\tau$",
    "inner": r"the same without the tied patterns, $\beta\tau$",
    "outer": r"the same with the tied patterns, $\beta\tau$",
    "exact": r"backward equation on a grid, $\beta\tau$",
}


@dataclass(frozen=True)
class EscapePoint:
    """One system at one temperature: simulated, predicted, and solved."""

    escapes: Escapes
    kramers: Kramers
    exact: float


def escape_tree(
    systems: Sequence[EscapeSystem],
    heights: Sequence[float],
    points: Sequence[Sequence[EscapePoint]],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    systems : sequence of EscapeSystem
    heights : sequence of float
        Values of ΔΓ/T.
    points : sequence of sequences of EscapePoint
        By system and height.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    betas = np.array([system.ways[0].beta for system in systems])
    dims = ("system", "height")
    table = {
        "measured": [[p.escapes.mean for p in row] for row in points],
        "error": [[p.escapes.error for p in row] for row in points],
        "kramers": [[p.kramers.time for p in row] for row in points],
        "inner": [[p.kramers.inner for p in row] for row in points],
        "outer": [[p.kramers.outer for p in row] for row in points],
        "exact": [[p.exact for p in row] for row in points],
    }
    first = [system.ways[0] for system in systems]
    times = xr.Dataset(
        {name: labelled(dims, np.array(table[name]) * betas[:, None], text) for name, text in _TIMES.items()}
        | {
            "escaped": labelled(dims, [[p.escapes.n_escaped for p in row] for row in points], "escapes"),
            "temperature": labelled(
                dims, [[p.escapes.temperature for p in row] for row in points], "temperature $T$"
            ),
            "alpha": labelled("system", [way.model.alpha for way in first], r"Tsallis index $\alpha$"),
            "beta": labelled("system", betas, r"inverse temperature $\beta$"),
            "barrier": labelled("system", [way.height for way in first], r"barrier $\Delta\Gamma$"),
            "unstable": labelled(
                "system", [way.saddle.unstable for way in first], r"$\lambda_-/\beta$ at the saddle"
            ),
            "ways": labelled("system", [len(system.ways) for system in systems], "equivalent saddles"),
            "facet": labelled(
                "system", [str(way.saddle.status) == "facet" for way in first], "saddle on a facet"
            ),
        },
        coords={
            "system": labelled("system", [system.name for system in systems], "system"),
            "height": labelled("height", heights, r"barrier over temperature $\Delta\Gamma/T$"),
        },
    )
    return measurement("escape", TITLE, {"/": xr.Dataset(), "/times": times}, options)


def escape_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What the escapes show, as plain JSON values.

    Returns
    -------
    dict
        `walkers`, `step`, and `systems`: each with `name`, `alpha`, `beta`, `barrier`, `ways`, `facet`, the
        `slope` of ln τ against ΔΓ/T with its `slope_error`, `slope_exact` of the backward equation, and
        `points` with `height`, `measured`, `error`, `kramers`, `inner`, `outer` and `exact` (units 1/β).
        `unconverged` names walkers that were given up.
    """
    data = tree["times"].to_dataset()
    systems, failed = [], []
    for k in range(data.sizes["system"]):
        row = data.isel(system=k)
        heights, measured = row["height"].values, row["measured"].values
        slope, error = _slope(heights, np.log(measured), row["error"].values / measured)
        systems.append(
            {
                "name": str(row["system"].item()),
                "alpha": float(row["alpha"]),
                "beta": float(row["beta"]),
                "barrier": float(row["barrier"]),
                "ways": int(row["ways"]),
                "facet": bool(row["facet"]),
                "slope": slope,
                "slope_error": error,
                "slope_exact": _slope(heights, np.log(row["exact"].values), row["error"].values / measured)[
                    0
                ],
                "points": [
                    {"height": float(row["height"][n])} | {name: float(row[name][n]) for name in _TIMES}
                    for n in range(row.sizes["height"])
                ],
            }
        )
        lost = int(tree.attrs["walkers"] * heights.size - row["escaped"].sum())
        if lost:
            failed.append(f"{lost} walkers of {systems[-1]['name']} did not escape: give smaller heights")
    return {
        "walkers": tree.attrs["walkers"],
        "step": tree.attrs["step"],
        "systems": systems,
        "unconverged": failed,
    }


def escape_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [f"{summary['walkers']} escapes at each temperature, time step {summary['step']:g}/beta", ""]
    for system in summary["systems"]:
        saddles = "one saddle" if system["ways"] == 1 else f"{system['ways']} equivalent saddles"
        where = " on a facet of the support" if system["facet"] else ""
        lines += [
            f"{system['name']}: barrier {system['barrier']:.6g}, {saddles}{where}",
            f"  slope of ln(tau) against dGamma/T {system['slope']:.3f} +- {system['slope_error']:.3f}; "
            f"backward equation {system['slope_exact']:.3f}",
            "  dGamma/T  beta tau    measured / Kramers     exact / Kramers",
        ]
        for point in system["points"]:
            kramers = point["kramers"]
            lines.append(
                f"  {point['height']:<8g}  {point['measured']:<10.5g}  {point['measured'] / kramers:.3f} +- "
                f"{point['error'] / kramers:.3f}         {point['exact'] / kramers:.3f}"
            )
        if system["facet"]:
            last = system["points"][-1]
            lines += [
                "  measured / Kramers with the Hessian of one side of the facet, last row:",
                f"  without the tied pattern {last['measured'] / last['inner']:.3f}, with it "
                f"{last['measured'] / last['outer']:.3f}",
            ]
        lines.append("")
    return lines[:-1]


def _slope(x: Any, y: Any, error: Any) -> tuple[float, float]:
    """Weighted least squares: slope and its standard error."""
    weights = 1 / np.asarray(error) ** 2
    centred = x - np.average(x, weights=weights)
    spread = float((weights * centred**2).sum())
    return float((weights * centred * y).sum()) / spread, spread**-0.5
