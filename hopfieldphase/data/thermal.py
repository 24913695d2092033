r"""Thermal attention over β as one tree, its summary, and that in words.

The root has the weights over (ensemble, beta, pattern) with their entropy, inverse participation ratio and
the weight of the best pattern; for α ≠ 1 the normalisation C of the escort average over the simplex, and for
α > 1 its local growth exponent. `/zero_temperature` has the limits of the weights and of the exponent.
"""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.core.tsallis import effective_support, tsallis_entropy
from hopfieldphase.data import schema
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.thermal import normalisation_growth

TITLE = "thermal attention"

_WEIGHTS = ("ensemble", "beta", "pattern")
_CURVES = _WEIGHTS[:2]


class Ensemble(StrEnum):
    """What the weights are: attention at a fixed query, or an average over the weights."""

    DETERMINISTIC = "deterministic"
    SOFTMAX = "softmax"
    ESCORT_VERTICES = "escort over vertices"
    GIBBS = "Gibbs over the simplex"
    ESCORT = "escort over the simplex"

    @classmethod
    def of(cls, alpha: float) -> tuple["Ensemble", ...]:
        """Those that differ at this α: at α = 1 attention, softmax and the average over vertices are one."""
        return (cls.SOFTMAX, cls.GIBBS) if alpha == 1 else tuple(cls)


def thermal_tree(
    scores: NDArray[np.float64],
    betas: Sequence[float],
    found: Mapping[Ensemble, Sequence[NDArray[np.float64]]],
    limits: Mapping[Ensemble, NDArray[np.float64]],
    normalisation: Sequence[float],
    growth: Sequence[float],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    scores : ndarray, shape (M,)
    betas : sequence of float
    found : mapping
        For each ensemble its weights, one array of shape (M,) for each β.
    limits : mapping
        For each ensemble its weights at β → ∞.
    normalisation, growth : sequence of float
        log C and d log C/d log β of the escort average over the simplex; empty at α = 1, the growth NaN for
        α < 1.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    alpha, best = float(options["alpha"]), int(np.argmax(scores))
    p = np.array([found[name] for name in found])
    variables = {
        "weights": labelled(_WEIGHTS, p, r"attention weight $p_\mu$"),
        "top_weight": labelled(_CURVES, p[:, :, best], r"weight of the best pattern $p_{\mathrm{top}}$"),
        "entropy": labelled(
            _CURVES, tsallis_entropy(p, 1.0), r"Shannon entropy $-\Sigma_\mu\,p_\mu \ln p_\mu$"
        ),
        "ipr": labelled(_CURVES, effective_support(p), schema.OBSERVABLES["ipr"].long_name),
        "score": labelled("pattern", scores, r"overlap $z_\mu$"),
    }
    if normalisation:
        variables["log_normalisation"] = labelled(
            "beta",
            normalisation,
            r"normalisation of the escort average, $\ln C$, $C = \int_\Delta \rho^\alpha$",
        )
    if alpha > 1:
        variables["growth"] = labelled("beta", growth, r"local exponent $d \ln C / d \ln \beta$")
    root = xr.Dataset(
        variables,
        coords={
            "ensemble": labelled("ensemble", [str(name) for name in found], "ensemble of the weights"),
            "beta": labelled("beta", betas, schema.COORDINATES["beta"].long_name),
            "pattern": labelled("pattern", np.arange(scores.size), r"pattern $\mu$"),
        },
    )
    cold = {
        "limit": labelled(
            ("ensemble", "pattern"),
            [limits[name] for name in found],
            r"zero-temperature weight $p_\mu(\beta \to \infty)$",
        )
    }
    if alpha > 1:
        # Ties at the maximum act as one vertex: what counts is the number of directions away from them.
        away = int(np.sum(scores < np.max(scores)))
        exponent = normalisation_growth(alpha, away + 1) if away else 0.0
        cold["growth"] = labelled((), exponent, r"zero-temperature exponent $a$, $C \sim \beta^a$")
    return measurement("thermal", TITLE, {"/": root, "/zero_temperature": xr.Dataset(cold)}, options)


def thermal_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What a comparison of thermal with deterministic attention found, as plain JSON values.

    Returns
    -------
    dict
        `alpha`, `M`, `query`, `betas` (first and last); `best` (the best `pattern`, its `score`, the `gap` to
        the next and how many are `tied`); `ensembles`, one entry for each with its `name`, the `half_beta`
        at which the best pattern comes to hold half of the weight (interpolated on the grid; the first β if
        it does so there, None if never), `top_weight`, `entropy` and `ipr` at the last β, and the `limit` of
        the top weight at β → ∞; `concentrates`, whether the escort average over the simplex becomes a hard
        argmax; `growth` (`last` and `limit`; None for α ≤ 1); and `unconverged`, always empty.
    """
    root, cold, alpha = tree.to_dataset(), tree["zero_temperature"].to_dataset(), tree.attrs["alpha"]
    scores = root["score"].values
    best, top = int(np.argmax(scores)), float(np.max(scores))
    tied = int(np.sum(scores == top))
    below = scores[scores < top]
    last = root.isel(beta=-1)
    entries = [
        {
            "name": str(name),
            "half_beta": _crossing(root["beta"].values, root["top_weight"].sel(ensemble=name).values),
            "top_weight": float(last["top_weight"].sel(ensemble=name)),
            "entropy": float(last["entropy"].sel(ensemble=name)),
            "ipr": float(last["ipr"].sel(ensemble=name)),
            "limit": float(cold["limit"].sel(ensemble=name, pattern=best)),
        }
        for name in root["ensemble"].values
    ]
    growth = None
    if "growth" in root:
        growth = {"last": float(last["growth"]), "limit": float(cold["growth"])}
    return {
        "alpha": alpha,
        "M": int(scores.size),
        "query": tree.attrs["query"],
        "betas": [float(root["beta"][0]), float(root["beta"][-1])],
        "best": {
            "pattern": best,
            "score": top,
            "gap": top - float(below.max()) if below.size else None,
            "tied": tied,
        },
        "ensembles": entries,
        "concentrates": alpha <= 1 or below.size <= alpha / (alpha - 1),
        "growth": growth,
        "unconverged": [],
    }


def thermal_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    best, alpha, M = summary["best"], summary["alpha"], summary["M"]
    last = summary["betas"][1]
    gap = "" if best["gap"] is None else f", gap to the next {best['gap']:.6g}"
    ties = f", shared by {best['tied']} patterns" if best["tied"] > 1 else ""
    lines = [
        f"query {summary['query']}: best pattern {best['pattern']}, overlap {best['score']:.6g}{ties}{gap}",
        "",
        f"{'':<25}half at    at beta {last:<23.6g}at beta inf",
        f"{'weight of pattern ' + str(best['pattern']):<25}{'beta':<11}weight     IPR       entropy  weight",
    ]
    for entry in summary["ensembles"]:
        half = "-" if entry["half_beta"] is None else f"{entry['half_beta']:.6g}"
        half = f"<= {half}" if entry["half_beta"] == summary["betas"][0] else half
        lines.append(
            f"{entry['name']:<24} {half:<10} {entry['top_weight']:<10.6g} {entry['ipr']:<9.5g} "
            f"{entry['entropy']:<8.4g} {entry['limit']:.6g}"
        )
    away = M - best["tied"]
    if alpha > 1 and away:
        bound = alpha / (alpha - 1)
        verb, sign = ("becomes", "<=") if summary["concentrates"] else ("does not become", ">")
        lines += [
            "",
            f"escort over the simplex: {verb} a hard argmax, as {away} patterns",
            f"  off the maximum {sign} alpha/(alpha - 1) = {bound:.6g}",
            f"its normalisation C ~ beta^a: a -> {summary['growth']['limit']:.6g}, "
            f"at beta {last:.6g} it is {summary['growth']['last']:.6g}",
        ]
    return lines


def _crossing(betas: NDArray[np.float64], weights: NDArray[np.float64], level: float = 0.5) -> float | None:
    """Where a rising curve passes a level, linear in log β between the grid points."""
    above = np.flatnonzero(weights >= level)
    if above.size == 0:
        return None
    k = int(above[0])
    if k == 0:
        return float(betas[0])
    share = (level - weights[k - 1]) / (weights[k] - weights[k - 1])
    return math.exp((1 - share) * math.log(betas[k - 1]) + share * math.log(betas[k]))
