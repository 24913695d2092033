r"""Reliability of trained Transformers against memory load as one tree, its summary, and that in words.

`/selective` and `/uniform` have the observables over (map, seed, M) at β = 1; every observable is the mean
over the examples, and its standard error stands beside it. `loss` is the mean training loss of each of
`LOSS_POINTS` stretches of the training.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.data.trained import (
    ASKED,
    OBSERVABLES,
    RELIABILITY,
    compared,
    means,
    over_seeds,
    plain,
    shared_coordinates,
    with_error,
)

TITLE = "capacity and reliability of trained Transformers"

LOSS_POINTS = 50
"""Stretches of a training over which its loss is averaged."""

TRAINED_LOAD = 64
"""The largest memory load of the training."""

BEST = {"selective": "sparsemax", "uniform": "softmax"}
"""The most reliable of the three maps, as Appendix G.2 has it."""


def capacity_tree(
    observables: Mapping[str, Mapping[str, NDArray[np.float64]]],
    losses: Mapping[str, NDArray[np.float64]],
    alphas: tuple[float, ...],
    seeds: range,
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    observables : mapping
        By task and observable, arrays (map, seed, M, example).
    losses : mapping
        By task, training losses (map, seed, step).
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
    coordinates["M"] = labelled("M", options["loads"], "memories $M$")
    groups = {}
    for task, found in observables.items():
        variables = means(found, OBSERVABLES[task], ("map", "seed", "M"))
        step, loss = averaged_losses(losses[task])
        variables["loss"] = labelled(("map", "seed", "step"), loss, "training loss")
        coordinates["step"] = labelled("step", step, "training step")
        groups[f"/{task}"] = xr.Dataset(variables, coordinates)
    return measurement("capacity", TITLE, groups, options)


def averaged_losses(losses: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Middle steps of at most `LOSS_POINTS` stretches of a training, and the mean losses of each."""
    steps = losses.shape[-1]
    parts = np.array_split(np.arange(steps), min(LOSS_POINTS, steps))
    loss = np.stack([losses[..., part].mean(axis=-1) for part in parts], axis=-1)
    return np.array([part.mean() for part in parts]), loss


def capacity_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What training and measuring found, as plain JSON values.

    Returns
    -------
    dict
        `steps`, `realizations`, `maps`, `loads`; for each task by map, means over the seeds at the largest
        load with their standard error (`reliability`, `reliability_error`, None for one seed), `ipr`,
        `support` and `kept`, the reliability at the largest load over that at the largest trained one (None
        over zero);
        `orderings`, at every load the paired comparison of the map that Appendix G.2 finds best with each
        other one, and `trade_off`, of the smallest load with the largest; and `unconverged`, always empty.
    """
    summary: dict[str, Any] = {name: tree.attrs[name] for name in ("steps", "realizations")}
    summary["maps"] = [str(name) for name in tree.attrs["maps"]]
    summary["loads"] = [int(M) for M in tree.attrs["loads"]]
    for task in tree.attrs["tasks"]:
        data = tree[task].to_dataset()
        name, sign = RELIABILITY[task]
        mean, error = over_seeds(data[name])
        last = data.isel(M=-1).mean("seed")
        summary[task] = {
            "reliability": plain(mean[:, -1]),
            "reliability_error": plain(error[:, -1]),
            "ipr": plain(last["ipr"].values),
            "support": plain(last["support_size"].values),
            "kept": [a / b if b else None for a, b in zip(*mean[:, [-1, _trained(data)]].T, strict=True)],
            "orderings": _orderings(data, name, sign, BEST[task]),
            "trade_off": [
                {"map": str(at)} | compared(sign * (here.isel(M=0) - here.isel(M=-1)).values)
                for at in data["map"].values
                for here in (data[name].sel(map=at),)
            ],
        }
    return summary | {"unconverged": []}


def capacity_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [
        f"{summary['steps']} training steps, {summary['realizations']} seed(s); "
        f"at beta = 1 with M = {summary['loads'][-1]} memories:"
    ]
    for task, asked in ASKED.items():
        if task not in summary:
            continue
        found = summary[task]
        what = "accuracy" if task == "selective" else "error/zero output"
        lines += ["", f"{task}: asked for {asked}"]
        lines.append(
            f"  {'map':17} {what:>17} {'1/sum p^2':>10} {'support':>8}  at {summary['loads'][-1]}/64"
        )
        for i, name in enumerate(summary["maps"]):
            value = with_error(found["reliability"][i], found["reliability_error"][i])
            lines.append(
                f"  {name:17} {value:>17} {found['ipr'][i]:10.2f} {found['support'][i]:8.1f}"
                f"  {with_error(found['kept'][i], None)}"
            )
        for order in found["orderings"]:
            counts = order["verdicts"]
            lines.append(
                f"  {order['better']} more reliable than {order['worse']}: holds at {counts.count('holds')}, "
                f"opposite at {counts.count('opposite')} of {len(counts)} loads"
            )
    return lines


def _trained(data: xr.Dataset) -> int:
    """Place of the largest load that was trained on (or of the first, where all are larger)."""
    return max(int((data["M"].values <= TRAINED_LOAD).sum()) - 1, 0)


def _orderings(data: xr.Dataset, name: str, sign: int, best: str) -> list[dict[str, Any]]:
    """The best map of the paper against each other one, at every load."""
    names = [str(at) for at in data["map"].values]
    if best not in names:
        return []
    rows = []
    for other in names:
        if other == best:
            continue
        differences = sign * (data[name].sel(map=best) - data[name].sel(map=other))
        found = [compared(differences.isel(M=k).values) for k in range(data.sizes["M"])]
        keys = ("difference", "error", "verdict")
        columns = {f"{key}s": [at[key] for at in found] for key in keys}
        rows.append({"better": best, "worse": other} | columns)
    return rows
