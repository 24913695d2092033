"""What a tree of branches in the memory load shows, as one dictionary of plain values and in words."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data import branch_schema
from hopfieldphase.data.branch_summary import support_text
from hopfieldphase.data.load_branch_schema import OBSERVED
from hopfieldphase.data.wording import section_lines

SHOWN = 12
"""Branches that the table in words shows."""

_SHOWN_SWAPS = 4
_TOLD = ("converged", "boundary")


def load_branches_summary(tree: xr.DataTree) -> dict[str, Any]:
    """All that a tree of branches in the memory load shows, as plain JSON values (never NaN).

    Parameters
    ----------
    tree : xarray.DataTree
        Of the schema `load_branch_schema`.

    Returns
    -------
    dict
        `reference` (κ₀) and `reference_M`, `grid`, `model`, `search` (how many minima were found and
        followed, the lowest energy), `exact` (whether events are met pattern by pattern, α > 1), `branches`,
        `coexistence` (swaps of the order of two free energies) and `unconverged`. Each of `branches` has at
        the reference its `support`, the observables and the pattern of largest weight; then `kappa_min`,
        `kappa_max`, `M_min`, `M_max`, `kappa_min_end` and `kappa_max_end` (`type`, the `pattern` involved,
        the first `M` beyond, whether it is a `jump`, and where the state lands) and `pieces`, each with
        `support`, its ends and the event at each.
    """
    tables = {name: branch_schema.columns(tree, name) for name in tree.children}
    attrs, curves = tree.attrs, tables["curves"]
    count = len(tables["branches"]["branch"])
    return {
        "parameter": "kappa",
        "reference": float(attrs["reference"]),
        "reference_M": int(attrs["M"]),
        "grid": {
            **{end: float(curves["kappa"][k]) for end, k in (("first", 0), ("last", -1))},
            **{f"M_{end}": int(curves["M"][k]) for end, k in (("first", 0), ("last", -1))},
            "points": len(curves["kappa"]),
        },
        "model": {name: _plain(attrs[name]) for name in ("alpha", "beta", "d", "scale")},
        "search": {
            "minima": attrs["n_states"],
            "followed": count,
            "starts": attrs["n_starts"],
            "undecided": attrs["n_undecided"],
            "lowest_energy": attrs["lowest_energy"],
        },
        "exact": bool(attrs["alpha"] > 1),
        "branches": [_branch(tables, i) for i in range(count)],
        "coexistence": _coexistence(tables["coexistence"]),
        "unconverged": _unconverged(tables),
    }


def _branch(tables: Mapping[str, Mapping[str, Any]], i: int) -> dict[str, Any]:
    table, points = tables["branches"], tables["special_points"]
    pieces = tables["pieces"]
    return {
        "branch": i,
        "support": list(table["support"][i]),
        **{name: table[name][i].item() for name in OBSERVED},
        "leading_pattern": int(table["leading"][i]),
        "leading_weight": float(table["leading_weight"][i]),
        **_reach(table, i),
        "kappa_min_end": _end(points, table["kappa_min_point"][i]),
        "kappa_max_end": _end(points, table["kappa_max_point"][i]),
        "status": str(table["status"][i]),
        "pieces": [
            {
                "support": list(pieces["support"][row]),
                **_reach(pieces, row),
                "free_energy": float(pieces["free_energy"][row]),
                "kappa_min_event": _label(points, pieces["kappa_min_point"][row], "leaves"),
                "kappa_max_event": _label(points, pieces["kappa_max_point"][row], "enters"),
            }
            for row in np.flatnonzero(pieces["branch"] == i).tolist()
        ],
    }


def _plain(value: Any) -> Any:
    """A number as JSON can hold it: an infinite one as text."""
    return str(value) if math.isinf(value) else value


def _reach(table: Mapping[str, Any], row: int) -> dict[str, Any]:
    return {name: table[name][row].item() for name in ("kappa_min", "kappa_max", "M_min", "M_max")}


def _label(points: Mapping[str, Any], row: int, sense: str) -> str:
    """What happens on leaving a piece: a kink in the sense of the walk."""
    acting = points["patterns"][row]
    return f"{sense}:{acting[0]}" if acting else str(points["kind"][row])


def _end(points: Mapping[str, Any], row: int) -> dict[str, Any]:
    acting, jump = points["patterns"][row], bool(points["jump"][row])
    landing = None
    if jump:
        met = int(points["landing_branch"][row])
        landing = {
            "branch": None if met == branch_schema.NOTHING else met,
            "support": list(points["landing_support"][row]),
            "free_energy": float(points["landing_free_energy"][row]),
            "overlap_max": float(points["landing_overlap_max"][row]),
        }
    return {
        "type": str(points["kind"][row]),
        "pattern": acting[0] if acting else None,
        "M": int(points["M"][row]),
        "jump": jump,
        "landing": landing,
    }


def _coexistence(table: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "branches": table["branches"][row].tolist(),
            "M": int(table["M"][row]),
            "M_before": int(table["M_before"][row]),
            "kappa": float(table["kappa"][row]),
            **{
                name: table[name][row].tolist()
                for name in ("free_energy", "free_energy_before", "overlap_max")
            },
        }
        for row in range(len(table["M"]))
    ]


def _unconverged(tables: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Special points whose states are no verified minima, and branches with such a state elsewhere."""
    points, branches = tables["special_points"], tables["branches"]
    found = [
        {
            "branch": int(points["branch"][row]),
            "M": int(points["M"][row]),
            "type": str(points["kind"][row]),
            "status": str(status),
        }
        for row, status in enumerate(points["status"])
        if status not in _TOLD
    ]
    named = {point["branch"] for point in found}
    return found + [
        {"branch": i, "M": None, "type": None, "status": str(status)}
        for i, status in enumerate(branches["status"])
        if status not in _TOLD and i not in named
    ]


def load_branches_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary of a tree of branches in the memory load in words: sentences and a table.

    Parameters
    ----------
    summary : mapping
        As made by `load_branches_summary`.

    Returns
    -------
    list of str
        Lines of at most `wording.WIDTH` characters, ASCII only.
    """
    search, model, grid = summary["search"], summary["model"], summary["grid"]
    minima = "1 minimum" if search["minima"] == 1 else f"{search['minima']} minima"
    found = f"{minima} from {search['starts']} starts"
    if search["undecided"]:
        found += f", {search['undecided']} starts undecided"
    reference = f"kappa = {summary['reference']:.12g}, M = {summary['reference_M']}"
    parts = {
        "model": [f"alpha = {float(model['alpha']):g}, beta = {model['beta']:.12g}, d = {model['d']}"],
        "reference": [f"{reference}: {found}, {search['followed']} followed"],
        "range": [
            f"kappa = {grid['first']:g} to {grid['last']:g}, M = {grid['M_first']} to {grid['M_last']}, "
            + (
                "exact to the single pattern"
                if summary["exact"]
                else "in steps of several patterns where states follow smoothly"
            )
        ],
        "coexistence": _swaps(summary["coexistence"]),
    }
    return [*section_lines(parts), "", *_table(summary["branches"])]


def _swaps(swaps: list[dict[str, Any]]) -> list[str]:
    if not swaps:
        return ["no two of these branches swap the order of their energies"]
    sentences = [
        "branches {0} and {1} swap at M = {M}: Gamma = {a[0]:.6g}, {a[1]:.6g} before, {b[0]:.6g}, {b[1]:.6g} "
        "then".format(*swap["branches"], M=swap["M"], a=swap["free_energy_before"], b=swap["free_energy"])
        for swap in swaps[:_SHOWN_SWAPS]
    ]
    if len(swaps) > len(sentences):
        sentences.append(f"and {len(swaps) - len(sentences)} more, all in summary.json")
    return sentences


def _table(branches: list[dict[str, Any]]) -> list[str]:
    ends = f"{'M_min':>7} {'ends by':<12}{'M_max':>7} {'ends by'}"
    lines = [f"{'branch':>6} {'support':<12}{'Gamma':>10}{'z_max':>11}{ends}"]
    lines += [
        f"{row['branch']:>6} {_support(row):<12}{row['free_energy']:>10.6g}{row['overlap_max']:>11.6g}"
        f"{row['M_min']:>7} {_end_text(row['kappa_min_end']):<12}"
        f"{row['M_max']:>7} {_end_text(row['kappa_max_end'])}"
        for row in branches[:SHOWN]
    ]
    if len(branches) > SHOWN:
        lines.append(f"and {len(branches) - SHOWN} more, all in summary.json")
    return lines


def _support(row: Mapping[str, Any]) -> str:
    return support_text(row["support"], row["leading_pattern"], row["leading_weight"], 3)


def _end_text(end: Mapping[str, Any]) -> str:
    return end["type"] if end["pattern"] is None else f"{end['type']}:{end['pattern']}"
