"""What a tree of branches shows, as one dictionary of plain values and in words."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.patterns import duplicate_rows, norm_range
from hopfieldphase.core.status import Status
from hopfieldphase.data import branch_schema as schema
from hopfieldphase.data.wording import section_lines

SHOWN = 12
"""Branches that the table in words shows, beside those that are somewhere in equilibrium."""

_NAMED_PATTERNS = 5
_SHOWN_CROSSINGS = 4
_OBSERVED = ("free_energy", "overlap_max", "ipr", "support_size", "hessian_min")
_TOLD = tuple(status.name.lower() for status in (Status.CONVERGED, Status.BOUNDARY))


def branches_summary(tree: xr.DataTree) -> dict[str, Any]:
    """All that a tree of branches shows, as plain JSON values (never NaN; None where there is nothing).

    Parameters
    ----------
    tree : xarray.DataTree
        Of the schema `branch_schema`.

    Returns
    -------
    dict
        `reference`, `range` (None where unbounded), `grid`, `model`, `search` (how many minima were found and
        followed, the lowest energy), `branches`, `equilibrium` (the Maxwell line over the branches),
        `coexistence` (points of equal energies, each once for branches of equal energy), `unconverged` and
        `patterns`. Each of `branches` has at the reference its `support`, the observables and the pattern of
        largest weight; then `beta_min`, `beta_max` (None where unbounded), `beta_min_end` and `beta_max_end`
        (`type`, the `pattern` involved, and where the state lands beyond), `equal_to` (the first branch of
        equal energy) and `pieces`, each with `support`, `beta_min`, `beta_max`, the event at each end and its
        number of unstable directions.
    """
    tables = _Tables(tree)
    attrs = tree.attrs
    grid = schema.group(tree, "curves")["beta"].values
    patterns = schema.group(tree, "patterns")["pattern"].values
    low, high = norm_range(patterns)
    return {
        "parameter": "beta",
        "reference": float(attrs["reference"]),
        "range": {"lower": _bound(attrs["lower"]), "upper": _bound(attrs["upper"])},
        "grid": {"first": float(grid[0]), "last": float(grid[-1]), "points": int(grid.size)},
        "model": {name: attrs[name] for name in ("alpha", "M", "d", "scale")},
        "search": {
            "minima": attrs["n_states"],
            "followed": tables.count,
            "starts": attrs["n_starts"],
            "undecided": attrs["n_undecided"],
            "lowest_energy": attrs["lowest_energy"],
        },
        "branches": [tables.branch(i) for i in range(tables.count)],
        "equilibrium": tables.equilibrium(),
        "coexistence": tables.coexistence(),
        "unconverged": tables.unconverged(),
        "patterns": {"norm_min": low, "norm_max": high, "duplicates": len(duplicate_rows(patterns))},
    }


class _Tables:
    """The groups of a tree as columns, and their rows as plain values."""

    def __init__(self, tree: xr.DataTree) -> None:
        self._branches = schema.columns(tree, "branches")
        self._pieces = schema.columns(tree, "pieces")
        self._points = schema.columns(tree, "special_points")
        self._line = schema.columns(tree, "equilibrium")
        self.count = len(self._branches["branch"])

    def branch(self, i: int) -> dict[str, Any]:
        """One branch at the reference, with its ends and pieces."""
        table = self._branches
        first = int(table["equal_to"][i])
        return {
            "branch": i,
            "support": list(table["support"][i]),
            **{name: table[name][i].item() for name in _OBSERVED},
            "leading_pattern": int(table["leading"][i]),
            "leading_weight": float(table["leading_weight"][i]),
            "beta_min": _bound(table["beta_min"][i]),
            "beta_max": _bound(table["beta_max"][i]),
            "beta_min_end": self._end(table["beta_min_point"][i]),
            "beta_max_end": self._end(table["beta_max_point"][i]),
            "equal_to": None if first == i else first,
            "status": str(table["status"][i]),
            "pieces": [self._piece(row) for row in np.flatnonzero(self._pieces["branch"] == i).tolist()],
        }

    def _end(self, row: int) -> dict[str, Any]:
        table = self._points
        acting = list(table["patterns"][row])
        landing = None
        if not np.isnan(table["landing_beta"][row]):
            met = int(table["landing_branch"][row])
            landing = {
                "branch": None if met == schema.NOTHING else met,
                "support": list(table["landing_support"][row]),
                "free_energy": float(table["landing_free_energy"][row]),
                "overlap_max": float(table["landing_overlap_max"][row]),
            }
        return {
            "type": str(table["kind"][row]),
            "pattern": acting[0] if len(acting) == 1 else None,
            "patterns": acting,
            "jump": bool(table["jump"][row]),
            "landing": landing,
        }

    def _piece(self, row: int) -> dict[str, Any]:
        table = self._pieces
        ends = {
            f"beta_{side}_event": _label(
                str(table[f"beta_{side}_event"][row]),
                self._points["patterns"][table[f"beta_{side}_point"][row]],
            )
            for side in ("min", "max")
        }
        return {
            "support": list(table["support"][row]),
            "beta_min": _bound(table["beta_min"][row]),
            "beta_max": _bound(table["beta_max"][row]),
            **ends,
            "unstable_directions": int(table["index"][row]),
        }

    def equilibrium(self) -> list[dict[str, Any]]:
        """The intervals of the Maxwell line."""
        table = self._line
        return [
            {
                "branch": int(table["branch"][row]),
                "beta_min": _bound(table["beta_min"][row]),
                "beta_max": _bound(table["beta_max"][row]),
                "transition": str(kind),
            }
            for row, kind in enumerate(table["transition"])
        ]

    def coexistence(self) -> list[dict[str, Any]]:
        """The points at which two branches have equal energies."""
        table, line = self._points, self._line
        transitions = line["beta_max"][np.isfinite(line["beta_max"])]
        return [
            {
                "branches": [int(table["branch"][row]), int(table["landing_branch"][row])],
                "beta": float(table["beta"][row]),
                "free_energy": float(table["free_energy"][row]),
                "overlap_max": [float(table["overlap_max"][row]), float(table["landing_overlap_max"][row])],
                "equilibrium": bool(np.isclose(transitions, table["beta"][row], rtol=1e-9, atol=0).any()),
            }
            for row, kind in enumerate(table["kind"])
            if kind == "coexistence"
        ]

    def unconverged(self) -> list[dict[str, Any]]:
        """Special points that were not located as asked, and branches that were not followed to an end."""
        table = self._points
        points = [
            {
                "branch": int(table["branch"][row]),
                "beta": _bound(table["beta"][row]),
                "type": str(table["kind"][row]),
                "status": str(status),
            }
            for row, status in enumerate(table["status"])
            if status not in _TOLD
        ]
        named = {point["branch"] for point in points}
        return points + [
            {"branch": i, "beta": None, "type": None, "status": str(status)}
            for i, status in enumerate(self._branches["status"])
            if status not in _TOLD and i not in named
        ]


def branches_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary of a tree of branches in words: sentences and a table.

    Parameters
    ----------
    summary : mapping
        As made by `branches_summary`.

    Returns
    -------
    list of str
        Lines of at most `wording.WIDTH` characters, ASCII only.
    """
    search, model = summary["search"], summary["model"]
    lower, upper = summary["range"]["lower"], summary["range"]["upper"]
    walk = f"from {0 if lower is None else lower:g} to {'inf' if upper is None else format(upper, 'g')}"
    minima = "1 minimum" if search["minima"] == 1 else f"{search['minima']} minima"
    found = f"{minima} from {search['starts']} starts"
    if search["undecided"]:
        found += f", {search['undecided']} starts undecided"
    parts = {
        "model": [f"alpha = {model['alpha']:g}, M = {model['M']}, d = {model['d']}"],
        "reference": [f"beta = {summary['reference']:.12g}: {found}, {search['followed']} followed {walk}"],
        "equilibrium": _equilibrium(summary),
        "coexistence": _coexistence(summary),
    }
    return [*section_lines(parts), "", *_table(summary)]


def support_text(support: Sequence[int], leading: int, weight: float, named: int = _NAMED_PATTERNS) -> str:
    """A support as in ``{3, 17}``; a large one as ``{3} + 9`` if one pattern has most of the weight."""
    if len(support) <= named:
        return "{" + ", ".join(map(str, support)) + "}"
    return f"{{{leading}}} + {len(support) - 1}" if weight > 0.5 else f"{len(support)} patterns"


def _equilibrium(summary: Mapping[str, Any]) -> list[str]:
    """The Maxwell line, and whether the lowest state at the reference is on it."""
    branches = summary["branches"]
    sentences = [
        f"branch {row['branch']}, beta = {_beta(row['beta_min'], 0)} to {_beta(row['beta_max'], math.inf)}"
        + ("" if row["transition"] in ("range", "unbounded") else f" ({row['transition'].replace('_', ' ')})")
        for row in summary["equilibrium"]
    ] or ["no branch is stable anywhere"]
    lowest = min(branch["free_energy"] for branch in branches)
    if summary["search"]["lowest_energy"] < lowest - 1e-10 * max(1.0, abs(lowest)):
        sentences.append(
            "of the branches followed only: a lower minimum was found at the reference, see --top all"
        )
    return sentences


def _coexistence(summary: Mapping[str, Any]) -> list[str]:
    points = summary["coexistence"]
    if not points:
        return ["no two branches have equal energies at a single beta"]
    shown = [point for point in points if point["equilibrium"]] or points[:_SHOWN_CROSSINGS]
    sentences = [
        "branches {0} and {1} at beta = {beta:.12g}, z_max = {z[0]:.6g} and {z[1]:.6g}".format(
            *point["branches"], beta=point["beta"], z=point["overlap_max"]
        )
        for point in shown
    ]
    if len(points) > len(shown):
        sentences.append(f"and {len(points) - len(shown)} more among the metastable branches")
    return sentences


def _table(summary: Mapping[str, Any]) -> list[str]:
    """One line for each branch, of at most `wording.WIDTH` characters."""
    branches = summary["branches"]
    lowest = {row["branch"] for row in summary["equilibrium"]}
    shown = [row for row in branches if row["branch"] < SHOWN or row["branch"] in lowest]
    ends = f"{'beta_min':>9} {'ends by':<11}{'beta_max':>9} {'ends by'}"
    lines = [f"{'branch':>6} {'support':<12}{'Gamma':>10}{'z_max':>11}{ends}"]
    lines += [
        f"{row['branch']:>6} {_support(row):<12}{row['free_energy']:>10.6g}"
        f"{row['overlap_max']:>11.6g}{_end(row, 'min', 0):<21}{_end(row, 'max', math.inf)}"
        for row in shown
    ]
    if len(branches) > len(shown):
        lines.append(f"and {len(branches) - len(shown)} more, all in summary.json")
    return lines


def _support(row: Mapping[str, Any]) -> str:
    return support_text(row["support"], row["leading_pattern"], row["leading_weight"], 3)


def _end(row: Mapping[str, Any], side: str, unbounded: float) -> str:
    end = row[f"beta_{side}_end"]
    return f"{_beta(row[f'beta_{side}'], unbounded):>9} {_label(end['type'], end['patterns'][:1])}"


def _beta(value: float | None, unbounded: float) -> str:
    return f"{unbounded if value is None else value:.6g}"


def _label(kind: str, patterns: Sequence[int]) -> str:
    return f"{kind}:{','.join(map(str, patterns))}" if patterns else kind


def _bound(value: float) -> float | None:
    """An end of an interval; None where it is unbounded."""
    return float(value) if 0 < value < math.inf else None
