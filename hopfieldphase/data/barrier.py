r"""Barriers as one tree, their summary, and that in words.

`/paths` has the energies along the path between the uniform and the retrieval state at coexistence, over
(M, image), with the found and the closed barrier. `/pairs` has the barriers between two orthogonal patterns
over (curve, coupling); NaN where they are not stored. A curve without a third pattern has a NaN cosine.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.phases.barriers import Barrier

TITLE = "free-energy barriers between minima"

_HEIGHT = r"barrier $\Delta\Gamma$"
_CLOSED = r"closed form of the barrier $\Delta\Gamma$"
_KNOWN = ("verified", "facet")


@dataclass(frozen=True, eq=False)
class PairBarriers:
    """Barriers at every coupling for one α, alone (`third` None) or beside a third pattern."""

    alpha: float
    third: float | None
    heights: Sequence[float]
    exact: Sequence[float]
    statuses: Sequence[str]
    saddles: Sequence[int]


def barrier_tree(
    paths: Sequence[tuple[int, Barrier, float]],
    couplings: Sequence[float],
    pairs: Sequence[PairBarriers],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    paths : sequence of (int, Barrier, float)
        Number of patterns, path, and closed form of its barrier; all paths have equally many states.
    couplings : sequence of float
    pairs : sequence of PairBarriers
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    found = [path for _, path, _ in paths]
    dims, curve = ("M", "image"), ("curve", "coupling")
    groups = {
        "/": xr.Dataset(),
        "/paths": xr.Dataset(
            {
                "arclength": labelled(
                    dims, [path.arclength / path.arclength[-1] for path in found], "part of the path"
                ),
                "energy": labelled(
                    dims,
                    [path.energies - path.energies[0] for path in found],
                    r"free energy along the path $\Gamma - \Gamma_{\mathrm{start}}$",
                ),
                "height": labelled("M", [path.height for path in found], _HEIGHT),
                "closed_form": labelled("M", [exact for _, _, exact in paths], _CLOSED),
                "coupling": labelled("M", [path.beta for path in found], "coupling $K$"),
                "saddle": labelled(
                    "M",
                    [int(np.argmin(((path.path - path.saddle.x) ** 2).sum(axis=1))) for path in found],
                    "image of the saddle",
                ),
                "status": labelled("M", [str(path.status) for path in found], "knowledge of the saddle"),
            },
            coords={"M": labelled("M", [M for M, _, _ in paths], "number of patterns $M$")},
        ),
        "/pairs": xr.Dataset(
            {
                "height": labelled(curve, [pair.heights for pair in pairs], _HEIGHT),
                "closed_form": labelled(curve, [pair.exact for pair in pairs], _CLOSED),
                "status": labelled(curve, [pair.statuses for pair in pairs], "knowledge of the saddles"),
                "saddles": labelled(curve, [pair.saddles for pair in pairs], "saddles on the path"),
                "alpha": labelled("curve", [pair.alpha for pair in pairs], r"Tsallis index $\alpha$"),
                "third": labelled(
                    "curve",
                    [math.nan if pair.third is None else pair.third for pair in pairs],
                    "cosine of a third pattern to both",
                ),
            },
            coords={"coupling": labelled("coupling", couplings, "coupling $K = b\\,(1 - C_{12})$")},
        ),
    }  # fmt: skip
    return measurement("barrier", TITLE, groups, options)


def barrier_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What was found, as plain JSON values.

    Returns
    -------
    dict
        `coexistence`, for each M the `coupling`, the `height`, its `closed_form` and the `deviation`;
        `pairs`, for each curve `alpha`, `third` (None without), the number of `points`, the largest number
        of `saddles` on a path, and the largest `deviation` from the closed form; `unconverged`, saddles that
        were not verified.
    """
    paths, pairs = tree["paths"].to_dataset(), tree["pairs"].to_dataset()
    coexistence = [
        {
            "M": int(row["M"]),
            "coupling": float(row["coupling"]),
            "height": float(row["height"]),
            "closed_form": float(row["closed_form"]),
            "deviation": abs(float(row["height"] - row["closed_form"])),
        }
        for row in (paths.isel(M=k) for k in range(paths.sizes["M"]))
    ]
    curves, failed = [], []
    for k in range(pairs.sizes["curve"]):
        row = pairs.isel(curve=k)
        third = float(row["third"])
        there = np.isfinite(row["height"].values)
        deviations = np.abs(row["height"].values - row["closed_form"].values)[there]
        curves.append(
            {
                "alpha": float(row["alpha"]),
                "third": None if math.isnan(third) else third,
                "points": int(there.sum()),
                "saddles": int(row["saddles"].max()),
                "deviation": float(deviations.max(initial=0.0)),
            }
        )
        failed += [
            f"alpha {float(row['alpha']):g}, coupling {float(row['coupling'][n]):g}: {status}"
            for n, status in enumerate(row["status"].values)
            if there[n] and status not in _KNOWN
        ]
    failed += [
        f"M {int(M)}: {status}"
        for M, status in zip(paths["M"].values, paths["status"].values, strict=True)
        if status not in _KNOWN
    ]
    return {"coexistence": coexistence, "pairs": curves, "unconverged": failed}


def barrier_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = ["softmax at coexistence of the uniform and the retrieval state:"]
    lines += [
        f"  M {row['M']:<6} K {row['coupling']:<13.10g} barrier {row['height']:<15.10g} closed form "
        f"{row['closed_form']:.10g}"
        for row in summary["coexistence"]
    ]
    worst = max(row["deviation"] for row in summary["coexistence"])
    lines += [f"  largest deviation {worst:.1e}", "two orthogonal stored patterns:"]
    for curve in summary["pairs"]:
        beside = "" if curve["third"] is None else f" beside a third at cosine {curve['third']:g}"
        lines.append(
            f"  alpha {curve['alpha']:g}{beside}: {curve['points']} couplings, up to {curve['saddles']} "
            f"saddle{'s' if curve['saddles'] > 1 else ''},"
        )
        lines.append(f"    largest deviation from the closed form {curve['deviation']:.1e}")
    return lines
