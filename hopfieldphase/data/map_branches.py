r"""Branches of fixed points of an attention map as one tree, its summary, and that in words.

`/branches` has one row for each branch, `/points` the points along them in order, `/special_points` where
they lose stability, turn back or end. Where the attention map has a free energy it stands in `/points`, and
`/coexistence` says where those of two branches are equal.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.continuation.map_branches import MapBranchSet
from hopfieldphase.continuation.map_curve import MapPointKind
from hopfieldphase.data import schema
from hopfieldphase.data.measurement import labelled, measurement
from hopfieldphase.data.wording import attention_text, section_lines
from hopfieldphase.phases.map_coexistence import map_coexistence

TITLE = "branches of fixed points in beta"

KINDS = tuple(str(kind) for kind in MapPointKind)
"""Kinds of special points, in the order of their flags."""

_BETA = schema.COORDINATES["beta"].long_name
_ENDS = ("start", "range", "closed", "limit", "jump")
_SHOWN = 12


def map_branches_tree(found: MapBranchSet, options: Mapping[str, Any]) -> xr.DataTree:
    """One labelled tree; every option becomes an attribute.

    Parameters
    ----------
    found : MapBranchSet
    options : mapping
        The options of the spec.

    Returns
    -------
    xarray.DataTree
        Attributes also hold the numbers of states, starts and undecided starts of the search.
    """
    search = {name: getattr(found, name) for name in ("n_states", "n_starts", "n_undecided")}
    groups = {
        "/": xr.Dataset(),
        "/branches": _branches(found),
        "/points": _points(found),
        "/special_points": _special_points(found),
    }
    if found.model.has_free_energy:
        groups["/coexistence"] = _coexistence(found)
    given = {name: value for name, value in options.items() if name != "at"}
    attrs = {**given, "reference": found.at, "M": found.model.M, "d": found.model.d, **search}
    return measurement("branches-map", TITLE, groups, attrs)


def _branches(found: MapBranchSet) -> xr.Dataset:
    model, x = found.model, found.states
    z = model.overlaps(x)
    weights = model.weights(x, found.at)
    parameters = [branch.parameter for branch in found]
    radius = model.spectral_radius(x, found.at)

    def row(values: Any, text: str) -> xr.Variable:
        return labelled("branch", values, text)

    return xr.Dataset(
        {
            "beta_min": row([p.min() for p in parameters], r"lower end $\beta_{\min}$"),
            "beta_max": row([p.max() for p in parameters], r"upper end $\beta_{\max}$"),
            "overlap_max": row(np.abs(z).max(axis=1), schema.OBSERVABLES["overlap_max"].long_name),
            "support_size": row((weights > 0).sum(axis=1), schema.OBSERVABLES["support_size"].long_name),
            "spectral_radius": row(radius, schema.STABILITY["spectral_radius"].long_name),
            "leading": row(weights.argmax(axis=1), "pattern of the largest weight"),
            "leading_weight": row(weights.max(axis=1), r"largest weight $\max_\mu p_\mu$"),
        },
        coords={"branch": row(range(len(found)), "branch, in the order of rank at the reference")},
    )


def _points(found: MapBranchSet) -> xr.Dataset:
    model = found.model
    beta = np.concatenate([branch.parameter for branch in found])
    x = np.concatenate([branch.state for branch in found])
    leading = np.concatenate([branch.eigenvalues[:, 0] for branch in found])
    z = model.overlaps(x)
    weights = model.attention.weights(beta[:, None] * z)
    share = weights / weights.sum(axis=1, keepdims=True)
    values: dict[str, Any] = {
        "overlap_max": np.abs(z).max(axis=1),
        "support_size": (weights > 0).sum(axis=1),
        "ipr": 1.0 / (share**2).sum(axis=1),
        "spectral_radius": np.abs(leading),
        "eigenvalue_real": leading.real,
        "eigenvalue_imag": leading.imag,
    }
    if model.has_free_energy:
        conjugate = model.attention.conjugate(beta[:, None] * z)
        values["free_energy"] = beta / 2 * (x**2).sum(axis=1) - conjugate
    texts = {
        name: quantity.long_name for name, quantity in {**schema.OBSERVABLES, **schema.STABILITY}.items()
    }
    branch = np.concatenate([np.full(len(b.parameter), i) for i, b in enumerate(found)])
    unstable = np.concatenate([b.unstable for b in found])
    return xr.Dataset(
        {
            "branch": labelled("point", branch, "branch"),
            "beta": labelled("point", beta, _BETA),
            **{name: labelled("point", column, texts[name]) for name, column in values.items()},
            "unstable": labelled("point", unstable, "eigenvalues outside the unit circle"),
        }
    )


def _special_points(found: MapBranchSet) -> xr.Dataset:
    rows = [(i, point) for i, branch in enumerate(found) for point in branch.special_points]
    x = np.array([point.state for _, point in rows])
    flags = {"flag_values": list(range(len(KINDS))), "flag_meanings": " ".join(KINDS)}
    kinds = np.array([KINDS.index(str(point.kind)) for _, point in rows], dtype=np.int8)
    columns = {
        "beta": ("parameter", _BETA),
        "rotation": ("rotation", r"rotation per update $\arg\mu / 2\pi$"),
        "unstable_before": ("unstable_before", "eigenvalues outside the unit circle before"),
        "unstable_after": ("unstable_after", "eigenvalues outside the unit circle after"),
        "precision": ("precision", r"uncertainty of $\beta$"),
    }
    real, imag = ([getattr(point.eigenvalue, part) for _, point in rows] for part in ("real", "imag"))
    firsts = np.cumsum([0, *(len(branch.parameter) for branch in found)])
    overlap = np.abs(found.model.overlaps(x)).max(axis=1)
    return xr.Dataset(
        {
            "branch": labelled("special", [i for i, _ in rows], "branch"),
            "point": labelled("special", [firsts[i] + point.row for i, point in rows], "row in /points"),
            "kind": labelled("special", kinds, "what happens here", **flags),
            **{
                name: labelled("special", [getattr(point, attribute) for _, point in rows], text)
                for name, (attribute, text) in columns.items()
            },
            "eigenvalue_real": labelled("special", real, r"critical eigenvalue $\mathrm{Re}\,\mu$"),
            "eigenvalue_imag": labelled("special", imag, r"critical eigenvalue $\mathrm{Im}\,\mu$"),
            "overlap_max": labelled("special", overlap, schema.OBSERVABLES["overlap_max"].long_name),
            "state": labelled(("special", "component"), x, schema.STATE.long_name),
        }
    )


def _coexistence(found: MapBranchSet) -> xr.Dataset:
    points = map_coexistence(found)
    overlaps = [np.abs(found.model.overlaps(point.states)).max(axis=1) for point in points]
    z_max = schema.OBSERVABLES["overlap_max"].long_name
    columns = {
        "first": ("first", "branch of the first state", np.int64),
        "second": ("second", "branch of the second state", np.int64),
        "beta": ("beta", _BETA, np.float64),
        "free_energy": ("free_energy", schema.OBSERVABLES["free_energy"].long_name, np.float64),
        "transition": ("is_transition", "no branch is lower there", np.bool_),
    }
    return xr.Dataset(
        {
            name: labelled("crossing", np.array([getattr(p, attribute) for p in points], dtype=dtype), text)
            for name, (attribute, text, dtype) in columns.items()
        }
        | {"overlap_max": labelled(("crossing", "side"), np.reshape(overlaps, (-1, 2)), z_max)}
    )


def map_branches_summary(tree: xr.DataTree) -> dict[str, Any]:
    """What following the branches found, as plain JSON values.

    Returns
    -------
    dict
        `model`, `reference`, `range`, `search` (states, starts, undecided, followed), `branches` (each with
        its ends, its state at the reference, and the parts of it on which it attracts), `special_points`
        (all that are no ends), `coexistence` (None without a free energy), and `unconverged`, in words.
    """
    attrs = tree.attrs
    table, points = tree["branches"].to_dataset(), tree["points"].to_dataset()
    special = tree["special_points"].to_dataset()
    kinds = [KINDS[code] for code in special["kind"].values]
    owner, beta = special["branch"].values, special["beta"].values
    rows = []
    for i in range(table.sizes["branch"]):
        ends = np.flatnonzero(owner == i)[[0, -1]]
        along = points.isel(point=points["branch"].values == i)
        rows.append(
            {
                "branch": i,
                **{name: float(table[name][i]) for name in ("beta_min", "beta_max", "overlap_max")},
                "spectral_radius": float(table["spectral_radius"][i]),
                "support_size": int(table["support_size"][i]),
                "leading_pattern": int(table["leading"][i]),
                "leading_weight": float(table["leading_weight"][i]),
                "ends": [{"kind": kinds[row], "beta": float(beta[row])} for row in ends],
                "attracts": _attracts(along["beta"].values, along["unstable"].values),
            }
        )
    found = [
        {
            "branch": int(owner[row]),
            "kind": kind,
            **{name: float(special[name][row]) for name in ("beta", "overlap_max", "rotation")},
            "unstable": [int(special["unstable_before"][row]), int(special["unstable_after"][row])],
        }
        for row, kind in enumerate(kinds)
        if kind not in _ENDS
    ]
    grid = points["beta"].values
    return {
        "model": {name: attrs[name] for name in ("attention", "M", "d")},
        "reference": attrs["reference"],
        "range": [float(grid.min()), float(grid.max())],
        "search": {
            "states": attrs["n_states"],
            "starts": attrs["n_starts"],
            "undecided": attrs["n_undecided"],
            "followed": len(rows),
        },
        "coexistence": _crossings(tree["coexistence"].to_dataset()) if "coexistence" in tree else None,
        "branches": rows,
        "special_points": found,
        "unconverged": [
            f"branch {row['branch']} was followed to the cap on steps, at beta {end['beta']:.6g}"
            for row in rows
            for end in row["ends"]
            if end["kind"] == "limit"
        ],
    }


def _crossings(table: xr.Dataset) -> list[dict[str, Any]]:
    return [
        {
            "branches": [int(table["first"][row]), int(table["second"][row])],
            "beta": float(table["beta"][row]),
            "free_energy": float(table["free_energy"][row]),
            "overlap_max": table["overlap_max"].values[row].tolist(),
            "equilibrium": bool(table["transition"][row]),
        }
        for row in range(table.sizes["crossing"])
    ]


def _attracts(beta: Any, unstable: Any) -> list[list[float]]:
    """Parts of a branch without an eigenvalue outside the unit circle: first and last β, along it."""
    steps = np.diff(np.concatenate(([0], (unstable == 0).astype(np.int8), [0])))
    starts, stops = np.flatnonzero(steps == 1), np.flatnonzero(steps == -1) - 1
    pairs = [(a, b) for a, b in zip(starts, stops, strict=True) if b > a or len(beta) == 1]
    return [[float(beta[a]), float(beta[b])] for a, b in pairs]


def map_branches_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary in words, in lines of at most 80 columns."""
    model, search = summary["model"], summary["search"]
    low, high = summary["range"]
    states = search["states"]
    found = f"{states} attracting fixed point{'' if states == 1 else 's'} from {search['starts']} starts"
    if search["undecided"]:
        found += f", {search['undecided']} starts undecided"
    crossings = summary["coexistence"]
    energy = "; the update has no free energy, and no coexistence" if crossings is None else ""
    parts = {
        "model": [f"{attention_text(model['attention'])}, M = {model['M']}, d = {model['d']}{energy}"],
        "reference": [
            f"beta = {summary['reference']:.12g}: {found}, {search['followed']} followed from {low:g} "
            f"to {high:g}"
        ],
        "special": _special_lines(summary),
    }
    if crossings is not None:
        parts["coexistence"] = _coexistence_lines(crossings)
    lines = [*section_lines(parts), ""]
    lines.append(f"{'branch':>6} {'z_max':>10} {'radius':>8} {'support':>7}  {'exists':<22}attracts")
    for row in summary["branches"][:_SHOWN]:
        attracts = ", ".join(_interval(*sorted(pair)) for pair in row["attracts"][:1]) or "nowhere"
        more = f" +{len(row['attracts']) - 1}" if len(row["attracts"]) > 1 else ""
        lines.append(
            f"{row['branch']:>6} {row['overlap_max']:>10.6g} {row['spectral_radius']:>8.5f} "
            f"{row['support_size']:>7}  {_interval(row['beta_min'], row['beta_max']):<22}{attracts}{more}"
        )
    if len(summary["branches"]) > _SHOWN:
        lines.append(f"and {len(summary['branches']) - _SHOWN} more, all in summary.json")
    return lines


def _coexistence_lines(crossings: Sequence[Mapping[str, Any]]) -> list[str]:
    if not crossings:
        return ["no two branches have equal energies at a single beta"]
    shown = [point for point in crossings if point["equilibrium"]] or list(crossings)
    lines = [
        "branches {0} and {1} at beta = {beta:.12g}, z_max = {z[0]:.6g} and {z[1]:.6g}".format(
            *point["branches"], beta=point["beta"], z=point["overlap_max"]
        )
        for point in shown[:_SHOWN]
    ]
    if len(crossings) > len(lines):
        lines.append(f"and {len(crossings) - len(lines)} more, all in summary.json")
    return lines


def _interval(low: float, high: float) -> str:
    return f"{low:.6g} to {high:.6g}"


def _special_lines(summary: Mapping[str, Any]) -> list[str]:
    points, lines = summary["special_points"], []
    if not points:
        lines.append("no fold, corner, crossing, flip or Neimark-Sacker point in the range")
    for point in points[:_SHOWN]:
        turn = ""
        if point["kind"] == "neimark_sacker":
            turn = f", {point['rotation']:.6g} of a turn per update"
        before, after = point["unstable"]
        lines.append(
            f"branch {point['branch']}: {point['kind'].replace('_', '-')} at beta = {point['beta']:.12g}, "
            f"z_max = {point['overlap_max']:.6g}, unstable directions {before} to {after}{turn}"
        )
    if len(points) > _SHOWN:
        lines.append(f"and {len(points) - _SHOWN} more, all in summary.json")
    jumps = sum(end["kind"] == "jump" for row in summary["branches"] for end in row["ends"])
    if jumps:
        lines.append(f"ends of branches where the attention map jumps: {jumps}")
    return lines
