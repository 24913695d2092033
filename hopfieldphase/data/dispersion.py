r"""The dispersion of attention as one tree, its summary, and that in words.

The root has entropies and supports of random scores over (map, length, draw), the bounds on them over
(length), and over (map, length) what two levels of scores make of each map: mass and entropy at the gap of
the study, the gap that holds its mass, and the gap that isolates the relevant scores, measured and in closed
form. `/appended` has weight and effect of one more token over (map, score).
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.attention import Attention, Entmax, LengthScaled
from hopfieldphase.core.closed_forms import dispersion_bounds, isolation_gap
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.dispersion import edge_support, factor, holding_gap, least_entropy

TITLE = "dispersion of attention in long contexts"

QUOTED_LENGTH, QUOTED_SPREAD = 10**6, 5.7
"""Context and score spread (that of a trained model's heads) for which the source quotes the bound."""


def dispersion_tree(
    maps: Mapping[str, Attention],
    spread: Any,
    levels: Any,
    base: Any,
    positions: Any,
    appended: Any,
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    maps : mapping
        The maps by name.
    spread : ndarray, shape (3, maps, lengths, draws)
        Entropy, support and slack of random scores.
    levels : ndarray, shape (4, maps, lengths)
        Of two levels of scores: mass and entropy at the gap, gap of the mass, isolating gap.
    base : ndarray
        Scores of the context to which one is appended.
    positions : ndarray
        The appended scores.
    appended : ndarray, shape (maps, positions, 2)
        Its weight, and the largest change of a weight.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    lengths, k = np.array(options["lengths"]), options["relevant"]
    sizes = np.log(lengths)
    expected = np.array([_expected(one, options) for one in maps.values()])
    bounds = [dispersion_bounds(options["spread"], int(n)).entropy_min for n in lengths]
    least = [least_entropy(options["spread"], int(n)) for n in lengths]
    both = ("map", "length")
    coords = {
        "map": labelled("map", list(maps), "attention map"),
        "length": labelled("length", lengths, "number of scores $n$"),
    }
    normalized = r"normalized entropy $H/\ln n$"
    root = xr.Dataset(
        {
            "entropy": labelled((*both, "draw"), spread[0] / sizes[:, None], normalized),
            "support": labelled((*both, "draw"), spread[1].astype(int), "support size $|S|$"),
            "slack": labelled((*both, "draw"), spread[2], "least distance to a dispersion bound"),
            "expected_support": labelled(both, expected[:, 0], "support size of uniform scores"),
            "entropy_bound": labelled("length", bounds / sizes, r"bound $1 - \Delta/\ln n$"),
            "least_entropy": labelled("length", least / sizes, r"least entropy $1 - (q - 1 - \ln q)/\ln n$"),
            "mass": labelled(both, levels[0], "weight of the relevant scores"),
            "level_entropy": labelled(both, levels[1] / sizes, normalized),
            "gap": labelled(both, levels[2], f"gap that holds the weight {options['mass']:g}"),
            "expected_gap": labelled(both, expected[:, 1], "gap in closed form"),
            "isolation": labelled(both, levels[3], f"gap that isolates {k} scores"),
            "expected_isolation": labelled(both, expected[:, 2], "isolation gap in closed form"),
        },
        coords=coords,
    )
    thresholds = [_threshold(one, base) for one in maps.values()]
    added = xr.Dataset(
        {
            "share": labelled(("map", "score"), appended[..., 0], "weight of the appended token"),
            "change": labelled(("map", "score"), appended[..., 1], "largest change of another weight"),
            "threshold": labelled("map", thresholds, "threshold of the context"),
        },
        coords={
            "map": coords["map"],
            "score": labelled("score", positions, "appended score $b$"),
            "context": labelled("context", base, "scores of the context"),
        },
    )
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    return measurement("dispersion", TITLE, {"/": root, "/appended": added}, listed)


def _alpha(attention: Attention) -> float:
    """Tsallis index of the map or of its inner map; ∞ for a fixed number, which any gap isolates."""
    inner = attention.inner if isinstance(attention, LengthScaled) else attention
    return inner.alpha if isinstance(inner, Entmax) else math.inf


def _expected(attention: Attention, options: Mapping[str, Any]) -> Any:
    """Support of uniform scores, gap of the mass and isolation gap in closed form, shape (3, lengths)."""
    alpha, k, mass = _alpha(attention), options["relevant"], options["mass"]
    found = []
    for n in options["lengths"]:
        if math.isinf(alpha):
            found.append((min(k, n), 0.0, 0.0) if n > k else (min(k, n), math.nan, math.nan))
            continue
        c = factor(attention, n)
        support = edge_support(alpha, n, c * options["spread"]) if alpha > 1 else n
        gap = holding_gap(alpha, k, n, mass) / c if mass * n > k else math.nan
        found.append((support, gap, isolation_gap(k, alpha, alpha) / c if n > k else math.nan))
    return np.array(found).T


def _threshold(attention: Attention, scores: Any) -> float:
    """Score that a token has to pass to change anything; −∞ where any does, NaN where more changes."""
    if isinstance(attention, LengthScaled):
        return math.nan if _alpha(attention) > 1 else -math.inf
    if attention.has_threshold:
        return float(attention.threshold(scores))
    return float(np.sort(scores)[-getattr(attention, "k", len(scores)) :][0])


def dispersion_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What disperses and what does not, as plain JSON values.

    Returns
    -------
    dict
        `length` (the largest), `spread`, `relevant`, `draws`, and `maps`, one entry each: `name`; at the
        largest length `entropy` (normalized, mean of the draws), `support` (mean) and `expected_support`;
        `exponent`, of the support in the length over the upper half, and `expected_exponent`; `slack`, the
        least distance to the dispersion bounds in any draw (None but for softmax); `mass` held at the gap,
        `gap` of the mass and `isolation` gap at the largest length (None where there is none), with their
        largest relative `gap_error` and `isolation_error` against the closed forms at any length; and
        `unmoved`, the largest change of another weight by a token below the threshold (None where there is
        no threshold). `bounds`: normalized entropy at the quoted length and spread, by the `simple` bound and
        the `least` one. `unconverged` names bounds that were broken.
    """
    data, added = tree.to_dataset(), tree["appended"].to_dataset()
    maps = [_of_map(data.sel(map=name), added.sel(map=name)) for name in data["map"].values.tolist()]
    size = math.log(QUOTED_LENGTH)
    return {
        "length": int(data["length"][-1]),
        "spread": tree.attrs["spread"],
        "gap": tree.attrs["gap"],
        "share": tree.attrs["mass"],
        "relevant": tree.attrs["relevant"],
        "draws": data.sizes["draw"],
        "maps": maps,
        "bounds": {
            "length": QUOTED_LENGTH,
            "spread": QUOTED_SPREAD,
            "simple": dispersion_bounds(QUOTED_SPREAD, QUOTED_LENGTH).entropy_min / size,
            "least": least_entropy(QUOTED_SPREAD, QUOTED_LENGTH) / size,
        },
        "unconverged": [
            f"{one['name']}: a dispersion bound is broken by {-one['slack']:.1e}"
            for one in maps
            if one["slack"] is not None and one["slack"] < -1e-12  # rounding of sums over 10⁶ weights
        ],
    }


def _of_map(data: xr.Dataset, added: xr.Dataset) -> dict[str, Any]:
    supports = data["support"].mean("draw").values
    upper = slice(data.sizes["length"] // 2, None)
    sizes = np.log(data["length"].values[upper])
    exponents = [
        float(np.polyfit(sizes, np.log(values[upper]), 1)[0]) if np.ptp(values[upper]) else 0.0
        for values in (supports, data["expected_support"].values)
    ]
    slack, threshold = data["slack"].values, float(added["threshold"])
    below = added["change"].values[added["score"].values <= threshold]
    return {
        "name": data["map"].item(),
        "entropy": float(data["entropy"].mean("draw")[-1]),
        "support": float(supports[-1]),
        "expected_support": float(data["expected_support"][-1]),
        "exponent": exponents[0],
        "expected_exponent": exponents[1],
        "slack": None if np.isnan(slack).all() else float(np.nanmin(slack)),
        "mass": _finite(data["mass"].values[-1]),
        "level_entropy": _finite(data["level_entropy"].values[-1]),
        "gap": _finite(data["gap"].values[-1]),
        "gap_error": _worst(data["gap"].values, data["expected_gap"].values),
        "isolation": _finite(data["isolation"].values[-1]),
        "isolation_error": _worst(data["isolation"].values, data["expected_isolation"].values),
        "unmoved": float(below.max()) if below.size else None,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _worst(found: Any, expected: Any) -> float | None:
    """Largest relative error, where there is a finite value to be found."""
    known = np.isfinite(expected) & np.isfinite(found) & (expected > 0)
    return float(np.abs(found[known] / expected[known] - 1).max()) if known.any() else None


def dispersion_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    quoted, k, n = summary["bounds"], summary["relevant"], summary["length"]
    lines = [
        f"n = {n} scores uniform in [0, {summary['spread']:g}], {summary['draws']} draws; support ~ n^e",
        "",
        "map               H/ln n    support   expected  e measured  expected  bounds",
    ]
    for one in summary["maps"]:
        held = "" if one["slack"] is None else ("broken" if one["slack"] < -1e-12 else "hold")
        lines.append(
            f"{one['name']:<16} {one['entropy']:7.4f} {one['support']:10.1f} {one['expected_support']:10.1f} "
            f"{one['exponent']:11.4f} {one['expected_exponent']:9.4f}  {held:>6}"
        )
    lines += [
        "",
        f"{k} relevant of n = {n}: weight and H/ln n at the gap {summary['gap']:g}, gap that holds",
        f"the weight {summary['share']:g}, gap that isolates them; errors against closed forms at all n",
        "",
        "map                weight   H/ln n        gap   error   isolation   error",
    ]
    for one in summary["maps"]:
        lines.append(
            f"{one['name']:<16} {_text(one['mass'], '.2g'):>8} {_text(one['level_entropy'], '.4f'):>8} "
            f"{_text(one['gap'], '.6f'):>10} {_text(one['gap_error'], '.0e'):>7} "
            f"{_text(one['isolation'], '.6f'):>11} {_text(one['isolation_error'], '.0e'):>7}"
        )
    lines += ["", "one more token below the threshold changes the other weights by at most"]
    lines += [
        f"  {one['name']}: {one['unmoved']:.1e}" for one in summary["maps"] if one["unmoved"] is not None
    ]
    lines += [
        "",
        f"softmax, spread {quoted['spread']:g}, n = {quoted['length']}: H/ln n >= "
        f"{quoted['simple']:.4f}, in fact >= {quoted['least']:.4f}",
    ]
    return lines


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
