r"""Attention integrals against the sample size as one tree, its summary, and that in words.

The root has the logarithms of the means, `log_mean` over (kernel, power, size, draw), the `growth` that is
expected of them and their population values; `/control` those of softmax under the Gaussian.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.ensembles.integrability import KERNELS, growth_exponent, population_value
from hopfieldphase.core.ensembles.pareto import MirroredPareto
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.integrability import POWERS

TITLE = "attention integrals under heavy tails"

PARTS = {0: "denominator", 1: "numerator"}


def integrability_tree(heavy: Any, light: Any, options: Mapping[str, Any]) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    heavy : ndarray, shape (kernels, powers, sizes, draws)
        Logarithms of the means under the mirrored Pareto law.
    light : ndarray, shape (sizes, draws)
        Logarithms of the denominators of softmax under the Gaussian.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    law, score = MirroredPareto(options["index"]), options["score"]
    kernels = list(KERNELS.values())
    growth = [[growth_exponent(kernel, law.index, power) for power in POWERS] for kernel in kernels]
    exact = [[population_value(kernel, law, score, power) for power in POWERS] for kernel in kernels]
    size = labelled("size", options["sizes"], "points of the sample $n$")
    root = xr.Dataset(
        {
            "log_mean": labelled(
                ("kernel", "power", "size", "draw"),
                heavy,
                r"logarithm of the mean, $\ln\,\langle g(cz)\,|z|^p\rangle_n$",
            ),
            "growth": labelled(("kernel", "power"), growth, "growth exponent of a typical mean"),
            "population": labelled(
                ("kernel", "power"), exact, r"population value $\mathrm{E}\,g(cZ)\,|Z|^p$"
            ),
        },
        coords={
            "kernel": labelled("kernel", list(KERNELS), "attention kernel"),
            "power": labelled("power", list(POWERS), "power $p$"),
            "size": size,
        },
    )
    exponent = score + 0.5 * (score * options["sigma"]) ** 2
    control = xr.Dataset(
        {
            "log_mean": labelled(
                ("size", "draw"), light, r"logarithm of the mean, $\ln\,\langle e^{cz}\rangle_n$"
            ),
            "log_population": labelled(
                (), exponent, r"logarithm of the population value, $\ln \mathrm{E}\,e^{cZ}$"
            ),
        },
        coords={"size": size},
    )
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    return measurement("integrability", TITLE, {"/": root, "/control": control}, listed)


def integrability_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What grows and what settles, as plain JSON values.

    Returns
    -------
    dict
        `index`, `score`, `draws`, `size` (the largest), and `integrals`, one for each kernel and power:
        `finite` (whether the population value exists), `population` (None where it does not), `typical`, the
        logarithm of the median mean at the largest size, `growth` (the expected exponent) and `measured`,
        fitted to the medians over the upper half of the sizes. For the exponential both are exponents of the
        logarithm of the mean, 1/a, not of the mean itself. `control`: `typical` and `log_population` of
        softmax under the Gaussian. `unconverged`, always empty.
    """
    data, control = tree.to_dataset(), tree["control"].to_dataset()
    sizes = data["size"].values
    integrals = []
    for kernel in data["kernel"].values.tolist():
        for power in data["power"].values.tolist():
            one = data.sel(kernel=kernel, power=power)
            typical, growth = one["log_mean"].median("draw").values, float(one["growth"])
            exact = float(one["population"])
            exponential = math.isinf(growth)
            with np.errstate(divide="ignore", invalid="ignore"):  # a mean below one has no such exponent
                measured = _slope(sizes, np.log(typical) if exponential else typical)
            integrals.append(
                {
                    "kernel": kernel,
                    "power": power,
                    "finite": math.isfinite(exact),
                    "population": exact if math.isfinite(exact) else None,
                    "typical": float(typical[-1]),
                    "growth": 1 / tree.attrs["index"] if exponential else growth,
                    "measured": measured if math.isfinite(measured) else None,
                }
            )
    return {
        "index": tree.attrs["index"],
        "score": tree.attrs["score"],
        "draws": data.sizes["draw"],
        "size": int(sizes[-1]),
        "integrals": integrals,
        "control": {
            "typical": float(control["log_mean"].median("draw")[-1]),
            "log_population": float(control["log_population"]),
        },
        "unconverged": [],
    }


def integrability_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [
        f"tail index {summary['index']:g}, score {summary['score']:g} z; medians of {summary['draws']} "
        "samples",
        f"up to n = {summary['size']}; a mean grows like n^e, with the exponential like exp(n^e)",
        "",
        "kernel       integral      population  ln of median  e expected  measured",
    ]
    for one in summary["integrals"]:
        exact = f"{one['population']:.5g}" if one["finite"] else "infinite"
        measured = "-" if one["measured"] is None else f"{one['measured']:.3f}"
        lines.append(
            f"{one['kernel']:<12} {PARTS[one['power']]:<12} {exact:>11} {one['typical']:>13.5g} "
            f"{one['growth']:>11.3f} {measured:>9}"
        )
    control = summary["control"]
    lines += [
        "",
        f"softmax, Gaussian control: ln of median {control['typical']:.5g}, "
        f"population {control['log_population']:.5g}",
    ]
    return lines


def _slope(sizes: Any, values: Any) -> float:
    """Least squares over the upper half of the sizes."""
    upper = slice(len(sizes) // 2, None)
    if not np.isfinite(values[upper]).all():
        return math.nan
    return float(np.polyfit(np.log(sizes[upper]), values[upper], 1)[0])
