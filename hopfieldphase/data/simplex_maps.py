r"""Attention maps on two and three scores as one tree, its summary, and that in words.

`/pair` has weight and slope of the first of two scores over (map, difference); `/plane` the weights of three
scores over (map, v, u, token), their support sizes and the norm of the Jacobian; `/boundary` the places where
the piece of a map changes over (map, point), with the jump of the weights there; unused points are NaN.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.measurement import labelled, measurement

TITLE = "attention maps on two and three scores"

JUMPS = 1e-9
"""Changes of a weight across a boundary above this are jumps, not rounding."""


def simplex_maps_tree(
    names: Sequence[str],
    differences: Any,
    pairs: Sequence[Any],
    axis: Any,
    planes: Sequence[Any],
    options: Mapping[str, Any],
) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    names : sequence of str
        Of the maps.
    differences : ndarray
        Of the two scores.
    pairs : sequence of PairCurve
    axis : ndarray
        Of both coordinates of the plane of three scores.
    planes : sequence of PlaneMap
    options : mapping
        The resolved options of the spec.

    Returns
    -------
    xarray.DataTree
    """
    name = labelled("map", list(names), "attention map")
    pair = xr.Dataset(
        {
            "weight": labelled(("map", "difference"), [one.weight for one in pairs], "weight $p_1$"),
            "slope": labelled(
                ("map", "difference"), [one.slope for one in pairs], r"derivative $\partial p_1/\partial z_1$"
            ),
        },
        coords={
            "map": name,
            "difference": labelled("difference", differences, "score difference $z_1 - z_2$"),
        },
    )
    weights = np.stack([one.weights for one in planes])
    plane = xr.Dataset(
        {
            "weight": labelled(("map", "v", "u", "token"), weights, "weight $p_i$"),
            "support": labelled(("map", "v", "u"), np.count_nonzero(weights, axis=-1), "support size $|S|$"),
            "sensitivity": labelled(
                ("map", "v", "u"),
                [one.sensitivity for one in planes],
                r"norm of the Jacobian $\|\partial p/\partial z\|_F$",
            ),
        },
        coords={
            "map": name,
            "u": labelled("u", axis, r"$(z_1 - z_2)/\sqrt{2}$"),
            "v": labelled("v", axis, r"$(z_1 + z_2 - 2 z_3)/\sqrt{6}$"),
            "token": labelled("token", [1, 2, 3], "token"),
        },
    )
    most = max(1, *(len(one.jump) for one in planes))
    places = np.full((len(planes), most, 2), np.nan)
    jumps = np.full((len(planes), most), np.nan)
    for i, one in enumerate(planes):
        places[i, : len(one.jump)], jumps[i, : len(one.jump)] = one.boundary, one.jump
    boundary = xr.Dataset(
        {
            "place_u": labelled(("map", "point"), places[..., 0], "boundary, $u$"),
            "place_v": labelled(("map", "point"), places[..., 1], "boundary, $v$"),
            "jump": labelled(("map", "point"), jumps, "largest jump of a weight"),
        },
        coords={"map": name},
    )
    groups = {"/": xr.Dataset(), "/pair": pair, "/plane": plane, "/boundary": boundary}
    return measurement("simplex-maps", TITLE, groups, options)


def simplex_maps_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What the maps do, as plain JSON values.

    Returns
    -------
    dict
        `reach`, and `maps`, one entry each: `name`, `supports`, the shares of the square that have 1, 2 and 3
        positive weights, `jump`, the largest change of a weight across a boundary (0 for continuous maps),
        `sensitivity`, the largest norm of the Jacobian, and `slope`, the largest derivative on two scores.
        `unconverged`, always empty.
    """
    pair, maps = tree["pair"].to_dataset(), []
    for name in pair["map"].values.tolist():
        plane, boundary = (tree[part].to_dataset().sel(map=name) for part in ("plane", "boundary"))
        support, jumps = plane["support"].values, boundary["jump"].values
        jump = float(np.nanmax(jumps, initial=0.0))
        maps.append(
            {
                "name": name,
                "supports": [float((support == size).mean()) for size in (1, 2, 3)],
                "jump": jump if jump > JUMPS else 0.0,
                "sensitivity": float(plane["sensitivity"].max()),
                "slope": float(pair["slope"].sel(map=name).max()),
            }
        )
    return {"reach": tree.attrs["reach"], "maps": maps, "unconverged": []}


def simplex_maps_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    lines = [
        f"three scores with |u|, |v| up to {summary['reach']:g}: shares of the square by support size,",
        "largest jump of a weight, largest Jacobian; two scores: largest derivative",
        "",
        f"{'map':<22} {'one':>6} {'two':>6} {'three':>6} {'jump':>8} {'|J|':>8} {'slope':>8}",
    ]
    for one in summary["maps"]:
        shares = " ".join(f"{share:6.3f}" for share in one["supports"])
        jump = f"{one['jump']:8.4f}" if one["jump"] else f"{'none':>8}"
        lines.append(f"{one['name']:<22} {shares} {jump} {one['sensitivity']:8.4f} {one['slope']:8.4f}")
    return lines
