r"""Reliability and support of trained Transformers as one tree, its summary, and that in words.

`/selective` and `/uniform` have the observables over (alpha, seed, M) at β = 1, `/selective_beta` and
`/uniform_beta` those of the same models over (alpha, seed, beta); every observable is the mean over the
examples, and its standard error stands beside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.data import schema
from hopfieldphase.data.measurement import labelled, measurement

TITLE = "capacity and reliability of trained Transformers"
TASKS = ("selective", "uniform")

_BOTH = {
    "relative_error": r"error / zero-output baseline $E_{\mathrm{rel}}$",
    "ipr": r"effective support $1/\Sigma p^2$",
    "ipr_ratio": r"effective support / $|R|$",
    "support_size": r"support size $|\mathrm{supp}(p)|$",
    "relevant_weight": r"attention on the relevant memories",
}
OBSERVABLES = {"selective": {"value_correct": r"value top-1 accuracy"} | _BOTH, "uniform": _BOTH}


def capacity_tree(
    over_loads: Mapping[str, Mapping[str, NDArray[np.float64]]],
    over_betas: Mapping[str, Mapping[str, NDArray[np.float64]]],
    losses: Mapping[str, NDArray[np.float64]],
    seeds: Sequence[int],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    over_loads, over_betas : mapping
        By task and observable, arrays (alpha, seed, grid point, example).
    losses : mapping
        By task, training losses (alpha, seed, step).
    seeds : sequence of int
    options : mapping
        The options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    shared = {
        "alpha": labelled("alpha", options["alphas"], r"Tsallis index $\alpha$"),
        "seed": labelled("seed", seeds, "seed"),
    }
    M = labelled("M", options["loads"], "memories $M$")
    beta = labelled("beta", options["betas"], schema.COORDINATES["beta"].long_name)
    steps = labelled("step", np.arange(options["steps"]), "training step")
    groups: dict[str, xr.Dataset] = {}
    for task in TASKS:
        groups[f"/{task}"] = _means(task, over_loads[task], "M").assign_coords(shared | {"M": M})
        groups[f"/{task}_beta"] = _means(task, over_betas[task], "beta").assign_coords(
            shared | {"beta": beta}
        )
        loss = labelled(("alpha", "seed", "step"), losses[task], "training loss")
        groups[f"/{task}"] = groups[f"/{task}"].assign(loss=loss).assign_coords(step=steps)
    return measurement("capacity", TITLE, groups, options)


def _means(task: str, found: Mapping[str, NDArray[np.float64]], grid: str) -> xr.Dataset:
    dims = ("alpha", "seed", grid)
    variables = {}
    for name, text in OBSERVABLES[task].items():
        values = found[name]
        spread = values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])
        variables[name] = labelled(dims, values.mean(axis=-1), text)
        variables[f"{name}_error"] = labelled(dims, spread, f"standard error of: {text}")
    return xr.Dataset(variables)


def capacity_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What training and measuring found, as plain JSON values, means over the seeds.

    Returns
    -------
    dict
        `steps`, `realizations`, `alphas`, `loads`, `betas`, `beta_load`; for each task, at β = 1 and the
        largest load, `accuracy` (selective alone), `relative_error`, `ipr` and `support` in the order of
        `alphas`; `best`, the index with the highest accuracy (selective) or the least error (uniform) there;
        and `unconverged`, always empty.
    """
    alphas = [float(alpha) for alpha in tree.attrs["alphas"]]
    summary: dict[str, Any] = {name: tree.attrs[name] for name in ("steps", "realizations", "beta_load")}
    summary |= {name: [float(x) for x in tree.attrs[name]] for name in ("alphas", "loads", "betas")}
    for task in TASKS:
        last = tree[task].to_dataset().isel(M=-1).mean("seed")
        names = {"relative_error": "relative_error", "ipr": "ipr", "support_size": "support"}
        names = ({"value_correct": "accuracy"} if task == "selective" else {}) | names
        found = {text: [float(x) for x in last[name].values] for name, text in names.items()}
        pick = np.argmax(found["accuracy"]) if task == "selective" else np.argmin(found["relative_error"])
        summary[task] = found | {"best": alphas[int(pick)]}
    return summary | {"unconverged": []}


def capacity_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [
        f"{summary['steps']} training steps, {summary['realizations']} seed(s); "
        f"at beta = 1 with M = {summary['loads'][-1]:g} memories:"
    ]
    for task, what in (("selective", "one memory"), ("uniform", "the mean of a cluster")):
        found = summary[task]
        lines += ["", f"{task}: asked for {what}"]
        head = "accuracy  " if task == "selective" else ""
        lines.append(f"  alpha  {head}error/zero output   1/sum p^2    support")
        for i, alpha in enumerate(summary["alphas"]):
            accuracy = f"{found['accuracy'][i]:8.3f}  " if task == "selective" else ""
            lines.append(
                f"  {alpha:5g}  {accuracy}{found['relative_error'][i]:17.4f}"
                f"  {found['ipr'][i]:10.2f} {found['support'][i]:10.1f}"
            )
        best = "highest accuracy" if task == "selective" else "least error"
        lines.append(f"  {best}: alpha = {found['best']:g}")
    return lines
