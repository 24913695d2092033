r"""Trained Transformers at other temperatures as one tree, its summary, and that in words.

`/selective` and `/uniform` have the observables over (protocol, map, seed, beta), means over the examples
with their standard errors; of the models trained at β = 1 also the critical points of their keys over (map,
seed, example, head).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.stats
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.data import schema
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.data.trained import (
    ASKED,
    OBSERVABLES,
    RELIABILITY,
    means,
    over_seeds,
    plain,
    shared_coordinates,
    with_error,
)

TITLE = "trained Transformers at other temperatures"

RESAMPLES = 2000
"""Bootstrap samples of a rank correlation."""

_KEYS = {
    "second_minimum": r"second minimum of the keys begins, $\beta$",
    "coexistence": r"coexistence of minima of the keys, $\beta_{\mathrm{coexist}}$",
    "instability": r"state of low $\beta$ loses stability, $\beta$",
}


def temperature_tree(
    observables: Mapping[str, Mapping[str, Mapping[str, NDArray[np.float64]]]],
    keys: Mapping[str, Sequence[Any]] | None,
    alphas: tuple[float, ...],
    seeds: range,
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    observables : mapping
        By task, protocol and observable, arrays (map, seed, beta, example).
    keys : mapping, optional
        By task the `learn.trained_keys.TrainedKeys` of every map and seed, in this order.
    alphas : tuple of float
        Tsallis index of each map.
    seeds : range
    options : mapping
        The options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    coordinates = shared_coordinates(options["maps"], alphas, seeds)
    coordinates["beta"] = labelled("beta", options["betas"], schema.COORDINATES["beta"].long_name)
    coordinates["protocol"] = labelled("protocol", list(options["protocols"]), "how models are trained")
    dims = ("protocol", "map", "seed", "beta")
    groups = {}
    for task, by_protocol in observables.items():
        stacked = {
            name: np.stack([by_protocol[protocol][name] for protocol in options["protocols"]])
            for name in OBSERVABLES[task]
        }
        variables = means(stacked, OBSERVABLES[task], dims)
        if keys is not None:
            variables |= _key_variables(keys[task], (len(alphas), len(seeds)))
        groups[f"/{task}"] = xr.Dataset(variables, coordinates)
    return measurement("temperature", TITLE, groups, options)


def _key_variables(found: Sequence[Any], shape: tuple[int, int]) -> dict[str, xr.Variable]:
    variables = {}
    for name, text in _KEYS.items():
        values = np.array([getattr(at, name) for at in found])
        variables[name] = labelled(
            ("map", "seed", "example", "head"), values.reshape(*shape, *values.shape[1:]), text
        )
    factor = np.array([at.factor for at in found]).reshape(*shape, -1)
    variables["factor"] = labelled(("map", "seed", "head"), factor, "learned factor of the scores $c_h(M)$")
    return variables


def temperature_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What training and measuring found, as plain JSON values.

    Returns
    -------
    dict
        `steps`, `realizations`, `load`, `maps`, `betas`; for each task and protocol, in the order of `maps`
        and `betas`, means over the seeds of the reliability with standard errors (None for one seed) and of
        1/Σp²; for each task, where the phases of the keys are known, `keys` (see `key_statistics`); and
        `unconverged`, always empty.
    """
    summary: dict[str, Any] = {name: tree.attrs[name] for name in ("steps", "realizations", "load")}
    summary["maps"] = [str(name) for name in tree.attrs["maps"]]
    summary["betas"] = [float(beta) for beta in tree.attrs["betas"]]
    for task in tree.attrs["tasks"]:
        data = tree[task].to_dataset()
        summary[task] = {}
        for protocol in data["protocol"].values:
            here = data.sel(protocol=protocol)
            mean, error = over_seeds(here[RELIABILITY[task][0]])
            summary[task][str(protocol)] = {
                "reliability": plain(mean),
                "reliability_error": plain(error),
                "ipr": plain(here["ipr"].mean("seed").values),
            }
        if "coexistence" in data:
            summary[task]["keys"] = key_statistics(data, task)
    return summary | {"unconverged": []}


def key_statistics(data: xr.Dataset, task: str) -> dict[str, Any]:
    """Where the frozen models work among the phases of their keys, and whether that tells what they lose.

    With the learned factor c a head works at βc. The loss at β is the fall of the accuracy from β = 1
    (selective), or the logarithm of the growth of the error (uniform). It is compared with the mean over
    heads and examples of ln(βc/β_coexist), and with that of its absolute value, over all models and β ≠ 1.

    Returns
    -------
    dict
        By map: `coexistence`, the median (None where most heads have none); `trained_inside`, the share of
        the heads that at β = 1 lie between the first second minimum and the instability of the state of low
        β. `rank_correlation` of the loss with the `signed` and the `absolute` distance: Spearman's `value`
        with the ends `low` and `high` of its 95 % bootstrap interval, in which whole models are drawn again;
        None where it is not defined.
    """
    ratio = data["beta"] * data["factor"] / data["coexistence"]
    signed: xr.DataArray = xr.apply_ufunc(np.log, ratio.where(np.isfinite(data["coexistence"])))
    inside = (data["factor"] >= data["second_minimum"]) & (data["factor"] < data["instability"])
    frozen = data[RELIABILITY[task][0]].sel(protocol="frozen")
    trained = frozen.sel(beta=1.0)
    loss: xr.DataArray = trained - frozen if task == "selective" else xr.apply_ufunc(np.log, frozen / trained)
    others = data["beta"].values != 1
    distances: list[xr.DataArray] = [signed, xr.apply_ufunc(np.abs, signed)]
    rows = [loss.isel(beta=others).stack(model=("map", "seed")).transpose("model", "beta").values]
    for distance in distances:
        mean = distance.mean(("example", "head")).isel(beta=others).stack(model=("map", "seed"))
        rows.append(mean.transpose("model", "beta").values)
    return {
        "coexistence": plain(data["coexistence"].median(("seed", "example", "head")).values),
        "trained_inside": plain(inside.mean(("seed", "example", "head")).values),
        "rank_correlation": {
            "signed": _rank_correlation(rows[1], rows[0]),
            "absolute": _rank_correlation(rows[2], rows[0]),
        },
    }


def _rank_correlation(x: NDArray[np.float64], y: NDArray[np.float64]) -> dict[str, float] | None:
    """Spearman's correlation over (model, β), with a percentile bootstrap over the models."""

    def spearman(chosen: NDArray[np.int64]) -> float:
        a, b = x[chosen].ravel(), y[chosen].ravel()
        known = np.isfinite(a) & np.isfinite(b)
        if known.sum() < 3 or np.ptp(a[known]) == 0 or np.ptp(b[known]) == 0:
            return np.nan
        ranks = [scipy.stats.rankdata(values[known]) for values in (a, b)]
        return float(np.corrcoef(*ranks)[0, 1])

    value = spearman(np.arange(len(x)))
    rng = np.random.default_rng(0)
    drawn = np.array([spearman(rng.integers(len(x), size=len(x))) for _ in range(RESAMPLES)])
    drawn = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or not drawn.size:
        return None
    low, high = np.quantile(drawn, (0.025, 0.975))
    return {"value": value, "low": float(low), "high": float(high)}


def temperature_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    betas = summary["betas"]
    lines = [
        f"{summary['steps']} training steps, {summary['realizations']} seed(s), "
        f"M = {summary['load']}; beta from {betas[0]:g} to {betas[-1]:g}:"
    ]
    for task, asked in ASKED.items():
        if task not in summary:
            continue
        what = "accuracy" if task == "selective" else "error/zero output"
        for protocol in (name for name in ("frozen", "matched") if name in summary[task]):
            found = summary[task][protocol]
            how = "trained at beta = 1" if protocol == "frozen" else "trained at each beta"
            lines += ["", f"{task}: asked for {asked}; {how}"]
            lines.append(f"  {'map':16} {what + ' at lowest':>27} {'at 1':>15} {'at highest beta':>16}")
            for i, name in enumerate(summary["maps"]):
                cells = [
                    with_error(found["reliability"][i][k], found["reliability_error"][i][k])
                    for k in (0, betas.index(1.0) if 1.0 in betas else 0, -1)
                ]
                lines.append(f"  {name:16} {cells[0]:>27} {cells[1]:>15} {cells[2]:>16}")
        if "keys" in summary[task]:
            lines += _key_lines(summary["maps"], summary[task]["keys"])
    return lines


def _key_lines(maps: Sequence[str], keys: Mapping[str, Any]) -> list[str]:
    lines = []
    for name, beta, share in zip(maps, keys["coexistence"], keys["trained_inside"], strict=True):
        lines.append(
            f"  {name}: minima of the keys coexist from beta = {with_error(beta, None, 2)}; "
            f"{100 * share:.0f} % of heads work there"
        )
    for kind, found in keys["rank_correlation"].items():
        if found is not None:
            lines.append(
                f"  rank correlation of the loss with the {kind} distance: {found['value']:+.2f} "
                f"[{found['low']:+.2f}, {found['high']:+.2f}]"
            )
    return lines
