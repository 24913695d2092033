r"""Retrieval and collapse of attention kernels as one tree, its summary, and that in words.

The root has every observable over (kernel, index, b, stage, realization), where `stage` is one update or the
end of all updates; `/control` has the same for Gaussian patterns, without the index.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.ensembles.integrability import KERNELS
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.kernel_collapse import MAPS, OUTCOMES, Measured, condensed_share

TITLE = "retrieval of heavy-tailed patterns by attention kernels"

STAGES = ("update", "end")

_LABELS = {
    "retrieved": "fraction retrieved",
    "collapsed": "fraction collapsed onto the extreme pattern",
    "other": "fraction on another pattern",
    "leads": "fraction with the largest weight on the queried pattern",
    "cosine": "mean cosine of the state and the queried pattern",
    "ipr": r"mean inverse participation ratio $1/\sum p^2$",
}


def kernel_collapse_tree(
    heavy: Sequence[Sequence[Measured]], light: Sequence[Measured], options: Mapping[str, Any]
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    heavy : sequence of sequences of Measured
        Under the mirrored Pareto laws: tail indices × realizations.
    light : sequence of Measured
        Under the Gaussian.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    coords = {
        "kernel": labelled("kernel", list(MAPS), "attention map"),
        "b": labelled("b", options["b"], r"inverse temperature $b = \beta s^2\,\mathrm{med}\,|\xi|^2$"),
    }
    root = _dataset(heavy, coords, ("index",))
    root = root.assign_coords(index=labelled("index", options["indices"], "tail index $a$"))
    orders = [KERNELS[name].order if name in KERNELS else math.inf for name in MAPS]
    expected = [[condensed_share(a, q) for a in options["indices"]] for q in orders]
    root["condensed"] = labelled(
        ("kernel", "index"), expected, r"expected $\sum p^2$ of a generic update, $\max(0, 1 - a/q)$"
    )
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    groups = {"/": root, "/control": _dataset(light, coords, ())}
    return measurement("kernel-collapse", TITLE, groups, listed)


def _dataset(found: Sequence[Any], coords: Mapping[str, xr.Variable], outer: tuple[str, ...]) -> xr.Dataset:
    """All observables, with the dimensions `outer` and realization of the sequences."""

    def variable(name: str, dims: tuple[str, ...], label: str) -> xr.Variable:
        values = np.array([_values(one, name) for one in found])
        order = [*dims[: dims.index("kernel") + 1], *outer, *dims[1:], "realization"]
        return labelled((*outer, "realization", *dims), values, label).transpose(*order)

    outcomes = variable("outcomes", ("kernel", "stage", "outcome", "b"), "all")
    place = outcomes.dims.index("outcome")
    variables = {
        name: labelled(
            tuple(str(dim) for dim in outcomes.dims if dim != "outcome"),
            np.take(outcomes.values, i, axis=place),
            _LABELS[name],
        )
        for i, name in enumerate(OUTCOMES)
    }
    variables |= {
        "unsettled": variable("unsettled", ("kernel", "b"), "fraction without a fixed point that attracts"),
        "alone": variable("alone", ("kernel", "b"), "fraction of patterns that hold alone"),
        "onset_extreme": variable("onset_extreme", ("kernel",), "onset $b$ of the extreme pattern"),
        "onset_queried": variable("onset_queried", ("kernel",), "median onset $b$ of the queried patterns"),
        "onset_mean": variable("onset_mean", ("kernel",), "instability $b$ of the state of equal weights"),
        "share": variable("share", ("kernel",), r"mean $\sum p^2$ of one update from a Gaussian query"),
    }
    for name, what in (("hard_retrieved", "retrieved"), ("hard_collapsed", "collapsed")):
        values = np.array([_values(one, name) for one in found])
        variables[name] = labelled((*outer, "realization"), values, rf"fraction {what} as $b \to \infty$")
    stage = labelled("stage", list(STAGES), "after one update, or at the end of all")
    return xr.Dataset(variables, coords={**coords, "stage": stage})


def _values(found: Any, name: str) -> Any:
    return getattr(found, name) if isinstance(found, Measured) else [_values(one, name) for one in found]


def kernel_collapse_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What each kernel does at each tail index, as plain JSON values.

    Returns
    -------
    dict
        `M`, `d`, `realizations`, `b` (least and largest), `indices`; `kernels`, one for each map:
        `retrieved`, the mean fraction at the end of all updates at the largest b, `collapsed`, its largest
        value over b, `collapsed_hot`, that at the largest b, `ipr`, the smallest mean over b, and `share`
        with the expected `condensed`; each a list over the tail indices. Each kernel also has `control`, the
        first four under the Gaussian, `error`, the largest standard error of a fraction, and `alone`, the
        largest difference between the retrieved fraction and the fraction of patterns that hold alone.
        `hard`: `retrieved` and `collapsed` for b → ∞ with softmax and entmax. `unsettled`, the largest
        fraction of a cell. `unconverged`, always empty: what comes to no fixed point is counted.
    """
    data, control = tree.to_dataset(), tree["control"].to_dataset()
    kernels = []
    for kernel in data["kernel"].values.tolist():
        one, light = data.sel(kernel=kernel), control.sel(kernel=kernel)
        end = one.sel(stage="end")
        kernels.append(
            {"kernel": kernel}
            | _extremes(end)
            | {
                "share": one["share"].mean("realization").values.tolist(),
                "condensed": one["condensed"].values.tolist(),
                "control": _extremes(light.sel(stage="end")),
                "error": max(_error(end["retrieved"]), _error(end["collapsed"])),
                "alone": float(abs((end["retrieved"] - end["alone"]).mean("realization")).max()),
            }
        )
    return {
        "M": tree.attrs["M"],
        "d": tree.attrs["d"],
        "realizations": data.sizes["realization"],
        "b": [float(data["b"][0]), float(data["b"][-1])],
        "indices": data["index"].values.tolist(),
        "kernels": kernels,
        "hard": {
            name: data[f"hard_{name}"].mean("realization").values.tolist()
            for name in ("retrieved", "collapsed")
        },
        "unsettled": float(data["unsettled"].mean("realization").max()),
        "unconverged": [],
    }


def _extremes(end: xr.Dataset) -> dict[str, Any]:
    mean = end[["retrieved", "collapsed", "ipr"]].mean("realization")
    return {
        "retrieved": mean["retrieved"].isel(b=-1).values.tolist(),
        "collapsed": mean["collapsed"].max("b").values.tolist(),
        "collapsed_hot": mean["collapsed"].isel(b=-1).values.tolist(),
        "ipr": mean["ipr"].min("b").values.tolist(),
    }


def _error(values: xr.DataArray) -> float:
    count = values.sizes["realization"]
    return float((values.std("realization", ddof=1) / math.sqrt(count)).max())


def kernel_collapse_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    places = np.unique(np.linspace(0, len(summary["indices"]) - 1, 6).round().astype(int)).tolist()
    low, high = summary["b"]
    head = f"{'tail index':<13}" + "".join(f"{summary['indices'][i]:>8g}" for i in places) + "   Gauss"

    def table(title: str, name: str, limit: str = "") -> list[str]:
        rows = [
            f"{one['kernel']:<13}"
            + "".join(_cell(one[name][i]) for i in places)
            + _cell(one["control"][name])
            for one in summary["kernels"]
        ]
        if limit:
            rows.append(f"{'b = inf':<13}" + "".join(_cell(summary["hard"][limit][i]) for i in places))
        return ["", title, head, *rows]

    shares = [
        f"{one['kernel']:<13}"
        + "".join(f" {one['share'][i]:.2f}/{one['condensed'][i]:.2f}"[-10:] for i in places)
        for one in summary["kernels"]
    ]
    wide = f"{'tail index':<13}" + "".join(f"{summary['indices'][i]:>10g}" for i in places)
    errors = max(one["error"] for one in summary["kernels"])
    return [
        f"M = {summary['M']}, d = {summary['d']}, b from {low:g} to {high:g} in units of the median norm;",
        f"means of {summary['realizations']} realizations, standard errors up to {errors:.2f}",
        *table(
            f"retrieved at b = {high:g} (more than half of the weight at the end)", "retrieved", "retrieved"
        ),
        *table("collapsed onto the extreme pattern, largest over b", "collapsed"),
        *table(f"collapsed at b = {high:g}", "collapsed_hot", "collapsed"),
        *table("smallest mean inverse participation ratio over b", "ipr"),
        "",
        "sum of p^2 of one update from a Gaussian query / expected max(0, 1 - a/q)",
        wide,
        *shares,
        "",
        f"without an attracting fixed point: at most {summary['unsettled']:.2g} of a cell",
    ]


def _cell(value: float) -> str:
    return f"{value:>8.2f}" if value < 10 else f"{value:>8.0f}"
