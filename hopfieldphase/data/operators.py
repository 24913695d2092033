r"""Trained maps between measures as one tree, its summary, and that in words.

The root has what each model reached, over (transform, kernel); `/trials` the distances and tail errors of
every trial with those of the reference, `/training` the losses over (transform, kernel, step).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.core.bootstrap import bootstrap_ratio
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.operator_scores import OperatorScores
from hopfieldphase.kernels.distances import energy_distance

TITLE = "maps between heavy-tailed measures learned by Transformers"
SUMMARIES = ("median", "mean")
AXES = (0, 1)

DEGENERATE = 0.05
"""Spread of the output ensemble over that of the input below which a model counts as collapsed.

Right outputs have a median ratio near 1 for both operators.
"""

_PAPER = (3_163_906, 16384, 64)  # parameters, points and batch for which Table 4 has times and memory


class Outcome(IntEnum):
    """What the output ensembles of a trained model are like."""

    SPREAD = 0
    COLLAPSED = 1
    NOT_FINITE = 2


@dataclass(frozen=True)
class TrainedOperator:
    """What training and scoring of one model gave.

    Attributes
    ----------
    losses : ndarray, shape (steps,)
    skipped : int
        Steps whose loss or gradient was not finite.
    seconds_per_step, peak_memory : float
        Memory in bytes.
    scores : OperatorScores
        NaN distances where a prediction was not finite.
    spread : ndarray, shape (trials,)
        Median distance of the output points from their median, over that of the input points.
    """

    losses: NDArray[np.float64]
    skipped: int
    seconds_per_step: float
    peak_memory: float
    scores: OperatorScores
    spread: NDArray[np.float64]

    @property
    def outcome(self) -> Outcome:
        """Collapsed where the median spread over the trials is below `DEGENERATE`."""
        if not np.isfinite(self.scores.distances).all():
            return Outcome.NOT_FINITE
        return Outcome.COLLAPSED if float(np.median(self.spread)) < DEGENERATE else Outcome.SPREAD


def operators_tree(
    models: Sequence[Sequence[TrainedOperator]], parameters: int, options: Mapping[str, Any]
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    models : sequence of sequences of TrainedOperator
        Transforms × kernels, in the order of the options.
    parameters : int
        Of each model.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    grid = ("transform", "kernel")
    coords = {
        "transform": labelled("transform", list(options["transforms"]), "data transform"),
        "kernel": labelled("kernel", list(options["kernels"]), "attention kernel $g$"),
    }

    def over(name: str, label: str, dims: tuple[str, ...] = (), units: str = "1") -> xr.Variable:
        values = [[_get(model, name) for model in row] for row in models]
        return labelled((*grid, *dims), np.array(values), label, units)

    axis = {"axis": labelled("axis", list(AXES), "latent axis")}
    first = models[0][0].scores
    trials = xr.Dataset(
        {
            "distance": over("scores.distances", "energy distance", ("trial",)),
            "spread": over("spread", "spread of the output over that of the input", ("trial",)),
            "hill_error": over("scores.tail_errors", "error of the Hill estimate", ("trial", "axis")),
            "reference": labelled("trial", first.reference, "energy distance of two target ensembles"),
            "hill_reference": labelled(
                ("trial", "axis"), first.tail_reference, "error of the Hill estimate between targets"
            ),
        },
        coords | axis | {"trial": labelled("trial", np.arange(len(first.reference)), "trial")},
    )
    losses = over("losses", "training loss", ("step",))
    steps = labelled("step", np.arange(losses.shape[-1]), "training step")
    root = xr.Dataset(
        {
            "outcome": over("outcome", "output ensembles").copy(),
            "skipped": over("skipped", "steps that were not finite"),
            "seconds_per_step": over("seconds_per_step", "time of a training step", units="s"),
            "peak_memory": over("peak_memory", "peak memory", units="B"),
        }
        | _ratios(trials, grid)
        | {"hill_discrepancy": _discrepancies(trials, grid)},
        coords | axis | {"summary": labelled("summary", list(SUMMARIES), "summary over the trials")},
    )
    root["outcome"].attrs |= {
        "flag_values": [int(outcome) for outcome in Outcome],
        "flag_meanings": " ".join(outcome.name.lower() for outcome in Outcome),
    }
    groups = {
        "/": root, "/trials": trials, "/training": xr.Dataset({"loss": losses}, coords | {"step": steps})
    }  # fmt: skip
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    return measurement("operators", TITLE, groups, listed | {"parameters": parameters})


def _get(model: TrainedOperator, name: str) -> Any:
    value: Any = model
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _ratios(trials: xr.Dataset, grid: tuple[str, str]) -> dict[str, xr.Variable]:
    """Ratios to the reference with the ends of their intervals; NaN where outputs are not finite."""
    shape = tuple(trials.sizes[name] for name in grid)
    table = np.full((3, *shape, len(SUMMARIES)), math.nan)
    for place in np.ndindex(shape):
        distances = trials["distance"].values[place]
        if np.isfinite(distances).all():
            for k, summary in enumerate(SUMMARIES):
                found = bootstrap_ratio(distances, trials["reference"].values, summary)
                table[(slice(None), *place, k)] = found.ratio, found.low, found.high
    labels = {
        "ratio": "energy distance / i.i.d. floor",
        "ratio_low": "lower end of the 95 % interval of the ratio",
        "ratio_high": "upper end of the 95 % interval of the ratio",
    }
    dims = (*grid, "summary")
    return {name: labelled(dims, table[k], text) for k, (name, text) in enumerate(labels.items())}


def _discrepancies(trials: xr.Dataset, grid: tuple[str, str]) -> xr.Variable:
    """E(e, ê) of equation (41) for both latent axes; NaN where a Hill estimate is not finite."""
    shape = tuple(trials.sizes[name] for name in grid)
    table = np.full((*shape, len(AXES)), math.nan)
    for place in np.ndindex(*shape, len(AXES)):
        errors = trials["hill_error"].values[(*place[:2], slice(None), place[2])]
        if np.isfinite(errors).all():
            reference = trials["hill_reference"].values[:, place[2]]
            table[place] = energy_distance(errors, reference, unbiased=True)
    return labelled((*grid, "axis"), table, r"discrepancy of Hill errors $E(e, \hat e)$")


def operators_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What the models reached, as plain JSON values.

    Returns
    -------
    dict
        `operator`, `family`, `norm`, `points`, `batch`, `steps`, `parameters`, `trials`; `models`, a list
        with, for each, `kernel`, `transform`, `outcome` (spread, collapsed or not_finite), `median` and
        `mean` (the ratio to the i.i.d. floor and the ends of its interval), `hill` (both axes), `spread`
        (median over the trials), `skipped`, `loss` (median over the last tenth of the steps),
        `seconds_per_step` and `peak_gib`; numbers that do not exist are None. And `unconverged`, always
        empty: a collapse is a result.
    """
    root, trials = tree.to_dataset(), tree["trials"].to_dataset()
    losses = tree["training"].to_dataset()["loss"]
    names = ("operator", "family", "norm", "points", "batch", "trials", "parameters")
    summary: dict[str, Any] = {name: tree.attrs[name] for name in names}
    summary["steps"] = int(losses.sizes["step"])
    models = []
    for transform in root["transform"].values.tolist():
        for kernel in root["kernel"].values.tolist():
            at = {"transform": transform, "kernel": kernel}
            here, loss = root.sel(at), np.asarray(losses.sel(at))
            loss = np.where(np.isfinite(loss), loss, np.inf)
            models.append(
                at
                | {"outcome": Outcome(int(here["outcome"])).name.lower()}
                | {
                    name: [
                        _plain(here[part].sel(summary=name)) for part in ("ratio", "ratio_low", "ratio_high")
                    ]
                    for name in SUMMARIES
                }
                | {
                    "hill": [_plain(value) for value in here["hill_discrepancy"]],
                    "spread": _plain(trials["spread"].sel(at).median()),
                    "skipped": int(here["skipped"]),
                    "loss": _plain(np.median(loss[-max(len(loss) // 10, 1) :])),
                    "seconds_per_step": _plain(here["seconds_per_step"]),
                    "peak_gib": _plain(here["peak_memory"] / 2**30),
                }
            )
    return summary | {"models": models, "unconverged": []}


def _plain(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None


def operators_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [
        f"{summary['operator']}, {summary['family']} marginals, {summary['norm']}-norm, "
        f"{summary['parameters']} parameters",
        f"N = {summary['points']}, {summary['batch']} trials a step, {summary['steps']} steps, "
        f"{summary['trials']} trials scored",
        "",
        "energy distance / i.i.d. floor with 95 % interval, E of the Hill errors",
        "transform kernel        median                mean    axis 0    axis 1   s/step",
    ]
    for model in summary["models"]:
        median, mean = model["median"], model["mean"]
        if model["outcome"] == "spread":
            score = f"{median[0]:6.3g} [{median[1]:.3g}, {median[2]:.3g}]".ljust(22) + f"{mean[0]:6.3g}"
        else:
            score = "collapse" if model["outcome"] == "collapsed" else "outputs not finite"
        hill = " ".join("      none" if value is None else f"{value:9.1e}" for value in model["hill"])
        cost = model["seconds_per_step"]
        lines.append(
            f"{model['transform']:9s} {model['kernel']:12s} {score:28s} {hill} "
            f"{'none' if cost is None else format(cost, '.3g'):>7s}"
        )
    skipped = sum(model["skipped"] for model in summary["models"])
    if skipped:
        lines.append(f"{skipped} steps had no finite gradient and changed nothing")
    peaks = [model["peak_gib"] for model in summary["models"] if model["peak_gib"] is not None]
    if peaks:
        lines.append(f"peak memory {max(peaks):.3g} GiB")
    if tuple(summary[name] for name in ("parameters", "points", "batch")) == _PAPER:
        lines.append("the paper, on an H200: 1.87 s a step and 69.4 GiB (exponential),")
        lines.append("2.51 s and 78.8 GiB (the others)")
    return lines
