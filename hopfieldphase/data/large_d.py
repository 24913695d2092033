r"""Folds, storage probabilities and critical β of random patterns, simulated and in theory, as one tree.

`/folds` has one entry for each pattern set (over `instance`, all loads one after the other), `/fold_lines`
the theory over `M_line`. `/storage` has the Monte Carlo counts over (setting, point) and the closed form on a
finer grid. `/scaling` has the critical b of each set over (dimension, set), `/scaling_lines` the theory over
`d_line`. A fold that does not exist is NaN.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.phases.retrieval import RetrievalFold

Floats = NDArray[np.float64]

STUDY = "large-d"

MIXTURE = 0.5
"""Overlap of the state below a fold from which on retrieval has gone on as a mixture."""

LEAST_CHANCE = 1e-6
"""Probability of a count or one farther out below which it contradicts the closed form."""


_ENDS = (PointKind.FOLD, PointKind.RANGE, PointKind.PITCHFORK)


@dataclass(frozen=True, eq=False)
class FoldTable:
    """Number of patterns and fold of every set, and the theory over numbers of patterns."""

    M: Sequence[int]
    found: Sequence[RetrievalFold]
    line_M: Sequence[int]
    annealed: Sequence[float]
    rem: Sequence[float]


@dataclass(frozen=True, eq=False)
class StorageTable:
    """Counts of stored patterns at each b (settings, points); the closed form there and on finer grids."""

    settings: Sequence[tuple[int, int, float]]
    trials: int
    b: Floats
    probability: Floats
    by_margin: NDArray[np.int64]
    by_relaxation: NDArray[np.int64]
    disagreements: NDArray[np.int64]
    line_b: Floats
    line_probability: Floats


@dataclass(frozen=True, eq=False)
class ScalingTable:
    """Critical b of every set (dimensions, instances[, alphas]), and the theory over dimensions."""

    alphas: Sequence[float]
    dimensions: Sequence[int]
    M: Sequence[int]
    softmax: Floats
    relaxed: Floats
    margins: Floats
    line_d: NDArray[np.int64]
    annealed: Floats
    rem: Floats
    fixed_M: Floats
    median: Floats


@dataclass(frozen=True, eq=False)
class LargeD:
    """The three parts of the study."""

    folds: FoldTable
    storage: StorageTable
    scaling: ScalingTable


def large_d_tree(result: LargeD, options: Mapping[str, Any]) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    result : LargeD
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    folds, storage, scaling = result.folds, result.storage, result.scaling
    b = r"$b = \beta s^2$"
    groups = {
        "/folds": xr.Dataset(
            {
                "M": labelled("instance", folds.M, "number of patterns $M$"),
                "fold": labelled("instance", [fold.b for fold in folds.found], f"fold of retrieval, {b}"),
                "end": labelled("instance", [str(fold.end) for fold in folds.found], "end of the branch"),
                "overlap": labelled(
                    "instance", [fold.overlap for fold in folds.found], r"overlap at the fold $x\cdot\xi/s$"
                ),
                "overlap_beyond": labelled(
                    "instance", [fold.overlap_beyond for fold in folds.found], "overlap just below the fold"
                ),
                "curve_folds": labelled(
                    "instance", [fold.folds for fold in folds.found], "number of folds on the curve"
                ),
            }
        ),
        "/fold_lines": xr.Dataset(
            {
                "annealed": labelled("M_line", folds.annealed, f"annealed mean field, {b}"),
                "rem": labelled("M_line", folds.rem, r"$\kappa_c(b/d)$ for $d \to \infty$"),
            },
            coords={"M_line": labelled("M_line", folds.line_M, "number of patterns $M$")},
        ),
        "/storage": xr.Dataset(
            {
                "b": labelled(("setting", "point"), storage.b, b),
                "by_margin": labelled(("setting", "point"), storage.by_margin, "stored: margin"),
                "by_relaxation": labelled(("setting", "point"), storage.by_relaxation, "stored: relaxation"),
                "disagreements": labelled(("setting", "point"), storage.disagreements, "told differently"),
                "probability": labelled(("setting", "point"), storage.probability, "probability of storage"),
                "line_b": labelled(("setting", "line"), storage.line_b, b),
                "line_probability": labelled(
                    ("setting", "line"), storage.line_probability, "probability of storage"
                ),
            },
            coords={
                "M": labelled("setting", [M for M, _, _ in storage.settings], "number of patterns $M$"),
                "d": labelled("setting", [d for _, d, _ in storage.settings], "dimension $d$"),
                "alpha": labelled("setting", [alpha for _, _, alpha in storage.settings], r"$\alpha$"),
            },
        ),
        "/scaling": xr.Dataset(
            {
                "M": labelled("dimension", scaling.M, "number of patterns $M$"),
                "softmax": labelled(("dimension", "set"), scaling.softmax, f"fold of softmax retrieval, {b}"),
                "stored": labelled(
                    ("dimension", "set", "alpha"), scaling.relaxed, f"onset of storage by relaxation, {b}"
                ),
                "margin": labelled(
                    ("dimension", "set", "alpha"), scaling.margins, f"onset of storage by the margin, {b}"
                ),
            },
            coords={
                "dimension": labelled("dimension", scaling.dimensions, "dimension $d$"),
                "alpha": labelled("alpha", scaling.alphas, r"Tsallis index $\alpha$"),
            },
        ),
        "/scaling_lines": xr.Dataset(
            {
                "annealed": labelled("d_line", scaling.annealed, f"annealed mean field, {b}"),
                "rem": labelled("d_line", scaling.rem, r"$\lambda_c(\kappa)\,d$"),
                "fixed_M": labelled("d_line", scaling.fixed_M, f"annealed mean field at fixed $M$, {b}"),
                "median": labelled(("d_line", "alpha"), scaling.median, f"median onset of storage, {b}"),
            },
            coords={
                "d_line": labelled("d_line", scaling.line_d, "dimension $d$"),
                "alpha": labelled("alpha", scaling.alphas, r"Tsallis index $\alpha$"),
            },
        ),
    }  # fmt: skip
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    title = "random patterns: retrieval and exact storage beside large-dimension theory"
    return measurement(STUDY, title, groups, listed | {"trials": storage.trials})


def large_d_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What was measured and what the theory says, as JSON values.

    Returns
    -------
    dict
        `folds` (at the reference number of patterns: sets, those that fold and those that never do, mean,
        standard error and deviation, annealed fold and REM threshold, how many go on as a mixture below the
        fold and on how many curves folds pair; `loads`: the same for every number of patterns), `storage`
        (points, trials, largest deviation from the closed form in standard errors, χ² a point, disagreements
        of margin and relaxation), `scaling` (for softmax and each α the exponent of β in d: simulated with
        its error, of the theory over the same dimensions, and of the theory at the largest ones), and
        `unconverged`, what contradicts the theory or itself, in words.
    """
    storage, failures = _storage_summary(tree)
    lost = [end for end in tree["folds"].to_dataset()["end"].values.tolist() if end not in _ENDS]
    failures += [
        f"a retrieval state could not be followed to its fold: its branch ends at a {end}" for end in lost
    ]
    return {
        "study": STUDY,
        "folds": _folds_summary(tree),
        "storage": storage,
        "scaling": _scaling_summary(tree),
        "unconverged": failures,
    }


def large_d_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, on lines of at most 80 columns."""
    folds, storage, scaling = summary["folds"], summary["storage"], summary["scaling"]
    reference = folds["reference"]
    lines = [
        f"softmax retrieval, d = {folds['d']}, M = {reference['M']}: it folds in {reference['folded']} of "
        f"{reference['sets']} sets",
        f"  at b = {_value(reference['mean'])} +- {_value(reference['standard_error'], 2)} "
        f"(s.d. {_value(reference['standard_deviation'])}); annealed {_value(reference['annealed'])}, "
        f"REM {_value(reference['rem'])}",
        f"  {reference['never']} go over smoothly, "
        f"{reference['as_mixture']} go on as a mixture below the fold",
        f"exact storage: {storage['points']} points of {storage['trials']} sets, largest deviation "
        f"{storage['largest_z']:.2f} s.e.,",
        f"  chi^2 per point {storage['chi_square']:.2f}, margin and relaxation differ in "
        f"{storage['disagreements']} sets",
        f"critical beta ~ d^y at load log(M)/d = {scaling['kappa']:g}:",
    ]
    return lines + [
        f"  {name:<10} y = {_value(part['simulated'], 3)} +- {_value(part['error'], 1)} simulated, "
        f"{_value(part['theory'])} theory, {_value(part['far'])} at d = {scaling['far_d']:g}"
        for name, part in scaling["exponents"].items()
    ]


def _folds_summary(tree: xr.DataTree) -> dict[str, Any]:
    data, lines = tree["folds"].to_dataset(), tree["fold_lines"].to_dataset()
    loads = [_load(data, lines, int(M)) for M in np.unique(data["M"].values)]
    reference = next(load for load in loads if load["M"] == tree.attrs["M"])
    return {"d": tree.attrs["d"], "reference": reference, "loads": loads}


def _load(data: xr.Dataset, lines: xr.Dataset, M: int) -> dict[str, Any]:
    chosen = data.isel(instance=np.flatnonzero(data["M"].values == M))
    folds = chosen["fold"].values
    folds = folds[np.isfinite(folds)]
    deviation = float(folds.std(ddof=1)) if folds.size > 1 else math.nan
    theory = lines.sel(M_line=M)
    return {
        "M": M,
        "sets": chosen.sizes["instance"],
        "folded": int(folds.size),
        "never": int((chosen["end"] != str(PointKind.FOLD)).sum()),
        "as_mixture": int((chosen["overlap_beyond"] > MIXTURE).sum()),
        "paired": int((chosen["curve_folds"] > 1).sum()),
        "mean": _finite(folds.mean() if folds.size else math.nan),
        "standard_error": _finite(deviation / math.sqrt(max(folds.size, 1))),
        "standard_deviation": _finite(deviation),
        "annealed": _finite(theory["annealed"]),
        "rem": _finite(theory["rem"]),
    }


def _storage_summary(tree: xr.DataTree) -> tuple[dict[str, Any], list[str]]:
    data, trials = tree["storage"].to_dataset(), int(tree.attrs["trials"])
    p = data["probability"].values
    count = data["by_relaxation"].values.astype(float)
    at_most, at_least = bdtr(count, trials, p), bdtrc(count - 1, trials, p)  # binomial tails
    z = (count - trials * p) / np.sqrt(trials * p * (1 - p))
    failures = [
        f"exact storage at M = {int(data['M'][i])}, d = {int(data['d'][i])}, "
        f"alpha = {float(data['alpha'][i]):g}, b = {float(data['b'][i, j]):.4g}: "
        f"{z[i, j]:.1f} standard errors from the closed form"
        for i, j in np.argwhere(2 * np.minimum(at_most, at_least) < LEAST_CHANCE)
    ]
    disagreements = int(data["disagreements"].sum())
    if disagreements:
        failures.append(f"margin and relaxation tell differently in {disagreements} pattern sets")
    summary = {
        "points": int(z.size),
        "trials": trials,
        "largest_z": float(np.abs(z).max()),
        "chi_square": float(np.mean(z**2)),
        "disagreements": disagreements,
    }
    return summary, failures


def _scaling_summary(tree: xr.DataTree) -> dict[str, Any]:
    data, lines = tree["scaling"].to_dataset(), tree["scaling_lines"].to_dataset()
    exponents = {"softmax": _exponent(data["softmax"], lines["annealed"])}
    for alpha in data["alpha"].values.tolist():
        exponents[f"alpha {alpha:g}"] = _exponent(
            data["stored"].sel(alpha=alpha), lines["median"].sel(alpha=alpha)
        )
    deviation = np.abs(data["stored"] / data["margin"] - 1)
    return {
        "kappa": float(tree.attrs["kappa"]),
        "M": data["M"].values.tolist(),
        "dimensions": data["dimension"].values.tolist(),
        "never": int(np.isnan(data["softmax"]).sum()),
        "onset_deviation": float(deviation.max()),
        "far_d": int(lines["d_line"][-1]),
        "exponents": exponents,
    }


def _exponent(critical: xr.DataArray, theory: xr.DataArray) -> dict[str, float | None]:
    """Exponents of β = b d in d: weighted fit to means of ln β, theory alike, and theory at its far end."""
    d = critical["dimension"].values
    logs = np.log(critical.values)
    count = np.isfinite(logs).sum(axis=1)
    kept = count > 1
    last = theory["d_line"].values[-2:]
    far = np.diff(np.log(theory.values[-2:])) / np.diff(np.log(last))
    if kept.sum() < 2:  # so few patterns that most states never vanish: no slope
        return {"simulated": None, "error": None, "theory": None, "far": _finite(1 + float(far[0]))}
    error = np.nanstd(logs[kept], axis=1, ddof=1) / np.sqrt(count[kept])
    x, slope_error = _weighted(np.log(d[kept]), error)
    at = theory.sel(d_line=d[kept]).values
    return {
        "simulated": 1 + float(x @ np.nanmean(logs[kept], axis=1)),
        "error": slope_error,
        "theory": _finite(1 + float(x @ np.log(at))),
        "far": _finite(1 + float(far[0])),
    }


def _weighted(x: Floats, error: Floats) -> tuple[Floats, float]:
    """Coefficients that make the slope of a weighted linear fit out of the values, and its standard error."""
    weight = 1 / error**2
    centred = x - np.average(x, weights=weight)
    curvature = float(weight @ centred**2)
    return weight * centred / curvature, curvature**-0.5


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(float(value)) else None


def _value(value: float | None, digits: int = 4) -> str:
    return "none" if value is None else f"{value:.{digits}g}"
