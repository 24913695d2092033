r"""The smoothness of attention maps as one tree, its summary, and that in words.

The root has fitted exponents over (alpha) and the entering weights over (alpha, distance); `/path` the four
weights over (map, score, token) as the fourth score moves; `/crossings` the boundaries on that path over
(crossing).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.dynamics.map_smoothness import HIGHEST_ORDER, continuity_class, expected_exponent

TITLE = "smoothness of attention maps"

_CROSSOVER = 0.05

KINDS = {"support": "the support changes", "cap": "a weight reaches its cap", "gate": "none; at score 0"}


def smoothness_tree(
    exponents: Sequence[float],
    distances: Any,
    entering: Any,
    names: Sequence[str],
    positions: Any,
    weights: Sequence[Any],
    found: Sequence[Sequence[Any]],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    exponents : sequence of float
        Fitted for each α.
    distances, entering : ndarray
        Distances to the boundary, and the weights there, shape (alphas, distances).
    names : sequence of str
        Of the maps.
    positions, weights : ndarray
        Of the moved score, and of each map, shape (positions, 4).
    found : sequence of sequences of Crossing
        Of each map.
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    alphas = list(options["alphas"])
    root = xr.Dataset(
        {
            "exponent": labelled("alpha_entered", exponents, "exponent of the entering weight"),
            "expected_exponent": labelled(
                "alpha_entered", [expected_exponent(a) for a in alphas], r"$\max(1, 1/(\alpha-1))$"
            ),
            "entering": labelled(
                ("alpha_entered", "distance"), np.array(entering), "weight of the entering pattern"
            ),
        },
        coords={
            "alpha_entered": labelled("alpha_entered", alphas, r"Tsallis index $\alpha$"),
            "distance": labelled("distance", distances, "distance to the boundary $t$"),
        },
    )
    moved = xr.Dataset(
        {"weight": labelled(("map", "score", "token"), np.stack(weights), "weight $p_i$")},
        coords={
            "map": labelled("map", list(names), "attention map"),
            "score": labelled("score", positions, "moved score $z_4$"),
            "token": labelled("token", [1, 2, 3, 4], "token"),
        },
    )
    rows = [(name, *one) for name, own in zip(names, found, strict=True) for one in own]
    owner, position, kind, order, jump, kink = (list(column) for column in zip(*rows, strict=True))
    crossings = xr.Dataset(
        {
            "owner": labelled("crossing", owner, "attention map"),
            "position": labelled("crossing", position, "position $z_4$"),
            "kind_of_boundary": labelled("crossing", kind, "boundary"),
            "order": labelled("crossing", order, "order of continuity $r$"),
            "jump": labelled("crossing", jump, "largest jump of a weight"),
            "kink": labelled("crossing", kink, "largest jump of a derivative"),
        }
    )
    listed = {name: list(item) if isinstance(item, tuple) else item for name, item in options.items()}
    return measurement("smoothness", TITLE, {"/": root, "/path": moved, "/crossings": crossings}, listed)


def smoothness_summary(tree: xr.DataTree) -> dict[str, Any]:
    """Exponents and orders of continuity, as plain JSON values.

    Returns
    -------
    dict
        `exponents`, one entry for each α: `alpha`, `measured`, `expected`, `class` (the t of C^t) and
        `expected_class` (the largest t with 1 < α < (t+1)/t, 0 from α = 2 on); `crossings`, one for each
        boundary on the path: `map`, `kind`, `position`, `order`, `class` (−1 for a jump; the highest order
        for a smooth map), `jump` and `kink`. `worst`: largest relative error of an exponent. `unconverged`
        names α whose exponent is more than 5 % off, more than what doubles leave open near α = 2.
    """
    root, boundaries = tree.to_dataset(), tree["crossings"].to_dataset()
    exponents = []
    for i, alpha in enumerate(root["alpha_entered"].values.tolist()):
        measured, expected = (float(root[name][i]) for name in ("exponent", "expected_exponent"))
        exponents.append(
            {
                "alpha": alpha,
                "measured": measured,
                "expected": expected,
                "class": continuity_class(measured, 0.02 * measured),
                "expected_class": continuity_class(expected, 1e-9 * expected),
            }
        )
    crossings = [
        {
            "map": str(boundaries["owner"].values[i]),
            "kind": str(boundaries["kind_of_boundary"].values[i]),
            **{name: float(boundaries[name][i]) for name in ("position", "order", "jump", "kink")},
            "class": continuity_class(float(boundaries["order"][i])),
        }
        for i in range(boundaries.sizes["crossing"])
    ]
    return {
        "exponents": exponents,
        "crossings": crossings,
        "worst": max(abs(one["measured"] / one["expected"] - 1) for one in exponents),
        "unconverged": [
            f"alpha = {one['alpha']:g}: exponent {one['measured']:.4g}, expected {one['expected']:.4g}"
            for one in exponents
            if abs(one["measured"] / one["expected"] - 1) > _CROSSOVER
        ],
    }


def smoothness_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [
        "how a weight of alpha-entmax enters the support, p ~ t^r",
        "",
        "   alpha    r measured    expected   smoothness",
    ]
    for one in summary["exponents"]:
        level = f"C^{one['class']}"
        if one["class"] != one["expected_class"]:
            level += f", for t -> 0 C^{one['expected_class']}"
        lines.append(f"{one['alpha']:8.5g} {one['measured']:13.7f} {one['expected']:11.7f}   {level}")
    lines += [
        "",
        "boundaries as the fourth score rises past 0.6, 0.1, -0.3",
        f"{'map':<22} {'boundary':<25} {'score':>8} {'order':>6} {'':>6} {'jump':>8}",
    ]
    for one in summary["crossings"]:
        order, jump = abs(one["order"]), one["jump"]
        smooth = one["order"] > HIGHEST_ORDER - 0.1
        level = "smooth" if smooth else ("jump" if one["class"] < 0 else f"C^{one['class']}")
        lines.append(
            f"{one['map']:<22} {KINDS[one['kind']]:<25} {one['position']:8.4f} "
            f"{'-' if smooth else format(order, '.3f'):>6} {level:>6} "
            f"{format(jump, '.4f') if one['class'] < 0 else 'none':>8}"
        )
    return lines
