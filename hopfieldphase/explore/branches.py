"""The views of branches: exact curves in β with their unstable arms, and minima in the memory load."""

from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import Piece
from hopfieldphase.core.status import Status
from hopfieldphase.data import load_branch_schema
from hopfieldphase.data.branch_schema import columns, group
from hopfieldphase.data.branch_summary import support_text
from hopfieldphase.data.branches import from_datatree
from hopfieldphase.explore.labels import label
from hopfieldphase.explore.states import MOST_STATES, Weights, load_weights
from hopfieldphase.explore.sweeps import EQUAL, STATUSES, facts, mark_table
from hopfieldphase.explore.view import STRONGEST, Array, Axis, Kind, Link, Phase, Table, View, strongest
from hopfieldphase.runs.load_branch_spec import LoadBranchSpec
from hopfieldphase.runs.spec_base import TomlSpec

QUANTITIES: tuple[str, ...] = ("overlap_max", "free_energy", "excess", "ipr", "support_size", "hessian_min")

_PHASES = {"absent": Phase.ABSENT, "equilibrium": Phase.EQUILIBRIUM, "metastable": Phase.METASTABLE,
           "unstable": Phase.UNSTABLE}  # fmt: skip
_NO_POINTS = ("range", "unbounded", "closed", "limit", "coexistence")


def branches_view(tree: xr.DataTree, _: TomlSpec | None, *, weights: bool = True) -> View:
    """The view of a tree of branches in β: every point along them, folds and unstable arms included.

    Weights cost as much again as the branches; without them the view is there at once.
    """
    arcs, pieces = columns(tree, "arcs"), columns(tree, "pieces")
    branch = pieces["branch"][arcs["piece"]]
    count = len(columns(tree, "branches")["branch"])
    starts = np.searchsorted(branch, np.arange(count + 1)).astype(np.int32)
    phase = np.array([_PHASES[word] for word in arcs["phase"]], dtype=np.uint8)
    link = np.full(branch.size, Link.LINE, dtype=np.uint8)
    link[starts[1:][starts[1:] > starts[:-1]] - 1] = Link.NONE
    # Pieces of one branch follow each other along it, or meet at a point inside it.
    apart = ~np.isclose(arcs["beta"][1:], arcs["beta"][:-1], rtol=1e-9, atol=0)
    link[:-1][(arcs["piece"][1:] != arcs["piece"][:-1]) & apart] = Link.NONE
    status = columns(tree, "branches")["status"]
    nodes: Table = {name: np.asarray(arcs[name]) for name in QUANTITIES}
    nodes["excess"] = np.where(phase == Phase.EQUILIBRIUM, 0.0, nodes["excess"])
    nodes |= {
        "parameter": arcs["beta"],
        "phase": phase,
        "link": link,
        "status": np.array([Status[word.upper()] for word in status], dtype=np.uint8)[branch],
    }
    table = group(tree, "arcs")
    enough = branch.size <= MOST_STATES
    missing = "no weights are shown: of so many states they would not fit on a page"
    return View(
        title="branches in beta",
        facts=facts(tree.attrs),
        outer=(),
        curves=_branch_axis(columns(tree, "branches")),
        parameter="beta",
        parameter_label=label(table["beta"].attrs, "beta"),
        grid=group(tree, "curves")["beta"].values,
        starts=starts,
        nodes=nodes,
        labels={name: label(table[name].attrs, name) for name in QUANTITIES},
        phases=_phase_words(tree),
        statuses=STATUSES,
        position=_start(tree, nodes, starts, float(tree.attrs["reference"])),
        weights=_weights(tree, arcs) if weights and enough else None,
        marks=_marks(tree, nodes, starts),
        leading=_leading(tree),
        notes=() if enough or not weights else (missing,),
    )


def load_branches_view(tree: xr.DataTree, spec: TomlSpec | None) -> View:
    """The view of a tree of branches in the memory load, on its grid of κ."""
    curves, table = columns(tree, "curves"), group(tree, "curves")
    count, n = curves["overlap_max"].shape
    lowest = np.nanmin(np.where(np.isnan(curves["free_energy"]), np.inf, curves["free_energy"]), axis=0)
    excess = curves["free_energy"] - lowest
    there = np.isfinite(curves["overlap_max"])
    higher = excess > EQUAL * np.maximum(1.0, np.abs(lowest))
    phase = np.where(there, np.where(higher, Phase.METASTABLE, Phase.EQUILIBRIUM), Phase.ABSENT)
    names = [name for name in QUANTITIES if name != "excess"]
    nodes: Table = {name: curves[name].reshape(-1) for name in names}
    status = [Status[word.upper()] for word in columns(tree, "branches")["status"]]
    link = np.full((count, n), Link.LINE, dtype=np.uint8)
    link[:, -1] = Link.NONE
    nodes |= {
        "excess": excess.reshape(-1),
        "parameter": np.tile(curves["kappa"], count),
        "phase": phase.astype(np.uint8).reshape(-1),
        "link": link.reshape(-1),
        "status": np.repeat(np.array(status, dtype=np.uint8), n),
    }
    starts = np.arange(0, count * n + 1, n, dtype=np.int32)
    found = _load_weights(tree, spec, curves["M"])
    return View(
        title="branches in kappa",
        facts=facts(tree.attrs),
        outer=(),
        curves=_branch_axis(columns(tree, "branches")),
        parameter="kappa",
        parameter_label=label(table["kappa"].attrs, "kappa"),
        grid=curves["kappa"],
        starts=starts,
        nodes=nodes,
        labels={name: label(table[name].attrs, name) for name in names}
        | {"excess": "free energy above the lowest of these branches"},
        phases=("", "lowest Γ of these branches", "minimum of higher Γ", "unstable", "not there"),
        statuses=STATUSES,
        position=_start(tree, nodes, starts, float(tree.attrs["reference"])),
        weights=None if isinstance(found, str) else found,
        marks=_load_marks(tree),
        notes=(found,) if isinstance(found, str) else (),
    )


def _branch_axis(table: dict[str, Any]) -> Axis:
    """Branches by number, with the support at the reference in words."""
    rows = zip(table["branch"], table["support"], table["leading"], table["leading_weight"], strict=True)
    names = tuple(f"{number} {support_text(support, lead, weight)}" for number, support, lead, weight in rows)
    return Axis("branch", "branch, by its support at the reference", tuple(table["branch"].tolist()), names)


def _leading(tree: xr.DataTree) -> tuple[int, ...]:
    """The branches of the Maxwell line, then by rank, of many with the same energy one."""
    equal = columns(tree, "branches")["equal_to"].tolist()
    ranked = [branch for branch, first in enumerate(equal) if branch == first]
    return tuple(
        dict.fromkeys([*columns(tree, "equilibrium")["branch"].tolist(), *ranked, *range(len(equal))])
    )


def _phase_words(tree: xr.DataTree) -> tuple[str, ...]:
    lowest = float(np.min(columns(tree, "branches")["free_energy"]))
    complete = tree.attrs["lowest_energy"] >= lowest - EQUAL * max(1.0, abs(lowest))
    words = ("equilibrium", "metastable") if complete else ("lowest of these branches", "minimum")
    return ("", *words, "unstable", "not there")


def _start(tree: xr.DataTree, nodes: Table, starts: NDArray[np.int32], reference: float) -> tuple[int, int]:
    """The branch of lowest Γ at the reference, and its point nearest to that."""
    branch = int(np.argmin(columns(tree, "branches")["free_energy"]))
    values = nodes["parameter"][starts[branch] : starts[branch + 1]]
    return branch, int(np.argmin(np.abs(values - reference))) if values.size else 0


def _weights(tree: xr.DataTree, arcs: dict[str, Any]) -> Weights:
    """Weights at every point, from the branches evaluated again."""
    found = from_datatree(tree)
    pieces: list[Piece] = [piece for branch in found.branches for piece in branch.pieces]
    runs = pairwise([0, *(np.flatnonzero(np.diff(arcs["piece"])) + 1).tolist(), len(arcs["piece"])])
    patterns = np.full((len(arcs["piece"]), STRONGEST), -1, dtype=np.int32)
    values = np.zeros(patterns.shape, dtype=np.float32)
    for first, last in runs:
        piece = pieces[int(arcs["piece"][first])]
        states = [piece.at(beta) for beta in arcs["beta"][first:last].tolist()]
        which, p = strongest(np.array([state.weights for state in states]))
        patterns[first:last, : which.shape[1]], values[first:last, : p.shape[1]] = which, p
    return patterns, values


def _marks(tree: xr.DataTree, nodes: Table, starts: NDArray[np.int32]) -> Table:
    points = columns(tree, "special_points")
    names = list(QUANTITIES)
    rows: list[dict[str, Any]] = []

    def add(branch: int, row: int, kind: Kind, text: str, overlap: float) -> None:
        beta = float(points["beta"][row])
        here = _values_at(nodes, starts, branch, beta, overlap)
        if here is not None:
            rows.append({"place": 0, "curve": branch, "kind": kind, "parameter": beta, "text": text, **here})

    for row, word in enumerate(points["kind"].tolist()):
        branch, overlap = int(points["branch"][row]), float(points["overlap_max"][row])
        located = "" if points["status"][row] in ("converged", "boundary") else " (not converged)"
        if word == "coexistence":
            other = int(points["landing_branch"][row])
            text = f"coexistence of branches {branch} and {other}{located}"
            add(branch, row, Kind.COEXISTENCE, text, overlap)
            add(other, row, Kind.COEXISTENCE, text, float(points["landing_overlap_max"][row]))
        elif word not in _NO_POINTS:
            acting = ", ".join(map(str, points["patterns"][row]))
            text = f"{word}{f' {acting}' if acting else ''}{located}"
            if points["storage_onset"][row]:
                kind, text = Kind.ONSET, f"{text}: onset of exact storage"
            elif word in ("pitchfork", "branch_point"):
                kind = Kind.SYMMETRIC
            elif word in ("enters", "leaves") and points["goes_on"][row]:
                kind = Kind.CHANGE
            else:
                kind, text = Kind.SPINODAL, f"{text}: loss of stability"
            add(branch, row, kind, text, overlap)
    return mark_table(rows, names)


def _values_at(
    nodes: Table, starts: NDArray[np.int32], branch: int, beta: float, overlap: float
) -> dict[str, float] | None:
    """Every quantity on a branch where it has this z_max at β, between neighbouring points; None outside."""
    part = slice(starts[branch], starts[branch + 1])
    t, z = nodes["parameter"][part], nodes["overlap_max"][part]
    low, high = np.minimum(t[:-1], t[1:]), np.maximum(t[:-1], t[1:])
    joined = nodes["link"][part][:-1] == Link.LINE
    steps = np.flatnonzero((low <= beta) & (beta <= high) & joined)
    if not steps.size:
        return None
    width = t[steps + 1] - t[steps]
    share = np.divide(beta - t[steps], width, out=np.zeros(steps.size), where=width != 0)
    seen = z[steps] + share * (z[steps + 1] - z[steps])
    best = int(np.argmin(np.abs(seen - overlap)))
    i, s = int(steps[best]), float(share[best])
    values = {name: nodes[name][part].astype(float) for name in QUANTITIES}
    return {name: float(v[i] + s * (v[i + 1] - v[i])) for name, v in values.items()}


def _load_weights(tree: xr.DataTree, spec: TomlSpec | None, counts: Array) -> Weights | str:
    if not isinstance(spec, LoadBranchSpec):
        return "no weights are shown: what these patterns were made from is not stored"
    if spec.alpha <= 1:
        return "no weights are shown: at alpha <= 1 the state changes with every pattern and is not stored"
    pieces = columns(tree, "pieces")
    total = len(columns(tree, "branches")["branch"])
    patterns = np.full((total * counts.size, STRONGEST), -1, dtype=np.int32)
    values = np.zeros(patterns.shape, dtype=np.float32)
    rows = [
        (branch * counts.size + i, piece, int(M))
        for piece, branch in enumerate(pieces["branch"].tolist())
        for i, M in enumerate(counts.tolist())
        if pieces["M_min"][piece] <= M <= pieces["M_max"][piece]
    ]
    which, p = load_weights(spec, [(pieces["state"][piece], M) for _, piece, M in rows])
    where = [row for row, _, _ in rows]
    patterns[where], values[where] = which, p
    return patterns, values


def _load_marks(tree: xr.DataTree) -> Table:
    """Jumps, and support changes, of branches in κ; swaps of the order of energies."""
    points, swaps = columns(tree, "special_points"), columns(tree, "coexistence")
    energies = group(tree, "curves")["free_energy"].values
    kappas = group(tree, "curves")["kappa"].values
    lowest = np.fmin.reduce(energies, axis=0)
    rows: list[dict[str, Any]] = []

    def add(curve: int, kind: Kind, kappa: float, text: str, seen: dict[str, float]) -> None:
        base = dict.fromkeys(QUANTITIES, np.nan) | seen
        base["excess"] = base["free_energy"] - float(np.interp(kappa, kappas, lowest))
        rows.append({"place": 0, "curve": curve, "kind": kind, "parameter": kappa, "text": text, **base})

    for row, word in enumerate(points["kind"].tolist()):
        if word in _NO_POINTS:
            continue
        acting = ", ".join(map(str, points["patterns"][row]))
        kind = Kind.CHANGE if points["goes_on"][row] else Kind.SPINODAL
        end = "" if points["goes_on"][row] else ": end of the branch"
        text = f"{word} {acting} at M = {points['M'][row]}{end}"
        seen = {name: float(points[name][row]) for name in load_branch_schema.OBSERVED}
        add(int(points["branch"][row]), kind, float(points["kappa"][row]), text, seen)
    for row, pair in enumerate(np.asarray(swaps["branches"]).tolist()):
        text = f"coexistence of branches {pair[0]} and {pair[1]}: order of Γ swaps at M = {swaps['M'][row]}"
        for side, curve in enumerate(pair):
            seen = {name: float(swaps[name][row, side]) for name in ("free_energy", "overlap_max")}
            add(curve, Kind.COEXISTENCE, float(swaps["kappa"][row]), text, seen)
    return mark_table(rows, list(QUANTITIES))
