r"""Attention as kernel regression: one tree, its summary, and that in words.

The root has fits, bandwidths and numbers of keys used over (kernel, angle), errors over (kernel,
temperature) and (kernel, dimension), and the distance of the weights to those of softmax over (power);
`/keys` has the angles and values that are fitted.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement

TITLE = "attention as kernel regression"

KERNELS = {"epanechnikov": 1.0, "biweight": 2.0, "triweight": 3.0, "gaussian": math.inf}
"""Power r of each kernel; its attention map has α = 1 + 1/r."""


_ROUNDING = 32 * np.finfo(float).eps
"""Of scores q·k/γ times the temperature γ, through the gates."""


def regression_tree(
    data: Any,
    angle: Any,
    truth: Any,
    found: Mapping[str, Any],
    powers: Any,
    distance: Any,
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    data : CircleData
        The keys.
    angle, truth : ndarray, shape (queries,)
        Of the queries.
    found : mapping
        Arrays whose first axis is the kernel: `fit`, `keys_used`, `bandwidth`, `expected_bandwidth` over the
        queries, `rms` over the temperatures, `identity` over the dimensions, and `identity_circle`.
    powers, distance : sequence of float
        Powers r, and the largest difference of a weight to softmax.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    both = ("kernel", "angle")
    root = xr.Dataset(
        {
            "fit": labelled(both, found["fit"], "fit"),
            "truth": labelled("angle", truth, "function"),
            "keys_used": labelled(both, found["keys_used"], "keys of positive weight"),
            "bandwidth": labelled(both, found["bandwidth"], "bandwidth $h$"),
            "expected_bandwidth": labelled(
                both, found["expected_bandwidth"], r"bandwidth of the density, $h(\rho)$"
            ),
            "rms": labelled(("kernel", "temperature"), found["rms"], "root mean square error of the fit"),
            "identity": labelled(
                ("kernel", "dimension"), found["identity"], "largest difference of a weight"
            ),
            "identity_circle": labelled(
                "kernel", found["identity_circle"], "largest difference of a weight on the circle"
            ),
            "distance": labelled("power", distance, "largest difference of a weight to softmax"),
        },
        coords={
            "kernel": labelled("kernel", list(KERNELS), "kernel"),
            "alpha": labelled("kernel", [1 + 1 / r for r in KERNELS.values()], r"$\alpha = 1 + 1/r$"),
            "angle": labelled("angle", angle, r"angle $\varphi$", "rad"),
            "temperature": labelled("temperature", options["temperatures"], r"temperature $\gamma$"),
            "dimension": labelled("dimension", list(options["dimensions"]), "dimension $d$"),
            "power": labelled("power", powers, "power $r$"),
        },
    )
    keys = xr.Dataset(
        {
            "key_angle": labelled("key", data.angle, r"angle of the key $\varphi$", "rad"),
            "key_value": labelled("key", data.value, "value $v$"),
        }
    )
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    return measurement("regression", TITLE, {"/": root, "/keys": keys}, listed)


def regression_summary(tree: xr.DataTree) -> dict[str, Any]:
    """How exact the identity is and what the bandwidths do, as plain JSON values.

    Returns
    -------
    dict
        `keys`, `queries`, `temperature`, and `kernels`, one entry each: `name`, `alpha`, `identity`, the
        largest difference of any weight to kernel regression in any dimension; `bandwidth`, its least and
        largest value; `expected_ratio`, the median of bandwidth over that of the density; `keys_used`, least
        and largest; `rms` of the fit at the temperature, `best_rms` and where, `best_temperature`.
        `limit_exponent`: of the distance to softmax in r, over the upper half of the powers; None where there
        is no distance.
        `unconverged` names kernels whose weights differ by more than 1e-12, or than rounding at small γ.
    """
    data = tree.to_dataset()
    kernels = []
    for name in data["kernel"].values.tolist():
        one = data.sel(kernel=name)
        rms = one["rms"].values
        kernels.append(
            {
                "name": name,
                "alpha": float(one["alpha"]),
                "identity": max(float(one["identity"].max()), float(one["identity_circle"])),
                "bandwidth": [float(one["bandwidth"].min()), float(one["bandwidth"].max())],
                "expected_ratio": float((one["bandwidth"] / one["expected_bandwidth"]).median()),
                "keys_used": [int(one["keys_used"].min()), int(one["keys_used"].max())],
                "rms": float(np.sqrt(((one["fit"] - one["truth"]) ** 2).mean())),
                "best_rms": float(rms.min()),
                "best_temperature": float(data["temperature"][int(rms.argmin())]),
            }
        )
    powers, distance = data["power"].values, data["distance"].values
    upper = slice(len(powers) // 2, None)
    exponent = None
    if distance[upper].min() > _ROUNDING:  # else one key holds all weight, or all share it
        exponent = float(np.polyfit(np.log(powers[upper]), np.log(distance[upper]), 1)[0])
    return {
        "keys": tree["keys"].sizes["key"],
        "queries": data.sizes["angle"],
        "temperature": tree.attrs["temperature"],
        "dimensions": data["dimension"].values.tolist(),
        "kernels": kernels,
        "limit_exponent": exponent,
        "unconverged": [
            f"{one['name']}: attention and kernel regression differ by {one['identity']:.1e}"
            for one in kernels
            if one["identity"] > max(1e-12, _ROUNDING / tree.attrs["temperature"])
        ],
    }


def regression_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    sizes = ", ".join(map(str, summary["dimensions"]))
    lines = [
        f"{summary['keys']} keys on a circle, {summary['queries']} queries, temperature "
        f"{summary['temperature']:g}",
        "identity: largest difference of a weight to that of kernel regression, on the",
        f"circle and for random directions in d = {sizes}",
        "",
        "kernel        alpha  identity  bandwidth h             keys used  error at best",
    ]
    for one in summary["kernels"]:
        low, high = one["bandwidth"]
        least, most = one["keys_used"]
        widths, used = f"{low:.4g} to {high:.4g}", f"{least} to {most}"
        lines.append(
            f"{one['name']:<13}{one['alpha']:6.4f}{one['identity']:10.1e}  {widths:<19}{used:>14}"
            f"{one['rms']:7.4f} {one['best_rms']:7.4f}"
        )
    exponent = summary["limit_exponent"]
    if exponent is not None:
        lines += ["", f"weights approach softmax like r^{exponent:.3f}"]
    return lines
