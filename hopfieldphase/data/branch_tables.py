"""The groups of a tree of branches, from the branches themselves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import xarray as xr

from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State, Vector
from hopfieldphase.continuation.branches import BranchSet
from hopfieldphase.continuation.discovery import SAME_STATE
from hopfieldphase.data import branch_schema as schema
from hopfieldphase.data.branch_arcs import ArcPoint, equations_of, points_of
from hopfieldphase.data.branch_schema import NOTHING, PHASES
from hopfieldphase.data.state_columns import Columns, columns_dataset, filled, lists, observed, vectors
from hopfieldphase.phases.coexistence import all_coexistence
from hopfieldphase.phases.equilibrium import Equilibrium, equilibrium
from hopfieldphase.phases.stretches import Stretch, stable_stretches

EQUAL = 1e-10
"""Relative difference below which free energies are one: rounding of the states is smaller."""

# Relative length below which an interval of equal energies is a point.
_NO_LENGTH = 1e-6

ABSENT, EQUILIBRIUM, METASTABLE, UNSTABLE = range(len(PHASES))

_KINDS = {kind: i for i, kind in enumerate(PointKind)}

Coexistence = tuple[int, int, SpecialPoint]


def tables(branches: BranchSet, grid: Vector) -> dict[str, xr.Dataset]:
    """Every group of the tree under its name.

    Parameters
    ----------
    branches : BranchSet
    grid : ndarray
        Ascending values of β for `/curves`; its ends bound `/arcs` where pieces are closed forms.
    """
    line = MaxwellLine(branches)
    crossings = all_coexistence(branches)
    numbered = _Numbered.of(branches)
    arcs = _arcs(branches, numbered, grid, line)
    columns = {
        "branches": _branch_columns(branches, numbered, crossings),
        "pieces": _piece_columns(numbered),
        "special_points": _point_columns(branches, numbered, crossings),
        "arcs": _arc_columns(arcs),
        "curves": _curve_columns(branches, grid, arcs),
        "equilibrium": _equilibrium_columns(line.intervals),
        "patterns": {"pattern": np.asarray(branches.model.patterns, dtype=np.float64)},
    }
    layouts = dict(schema.GROUPS)
    if "unknown" in columns["arcs"]:
        layouts["arcs"] = {**layouts["arcs"], **schema.SOLUTIONS}
    return {
        group: columns_dataset(found, layouts[group], schema.FLAGS, schema.COMMENTS[group])
        for group, found in columns.items()
    }


class MaxwellLine:
    """The lowest Γ over the minima of all branches as a function of β."""

    def __init__(self, branches: BranchSet) -> None:
        self.intervals: tuple[Equilibrium, ...] = equilibrium(branches)
        self._cuts = [interval.upper for interval in self.intervals[:-1]]
        self._arms = [stable_stretches(branches[interval.branch]) for interval in self.intervals]
        self._known: dict[float, float] = {}

    def energy(self, beta: float) -> float:
        """The lowest Γ; NaN where no branch has a minimum."""
        if beta not in self._known:
            found = [
                arm.at(beta).free_energy
                for interval, arms in zip(self.intervals, self._arms, strict=True)
                if interval.lower <= beta <= interval.upper
                for arm in arms
                if arm.lower <= beta <= arm.upper
            ]
            self._known[beta] = min(found, default=math.nan)
        return self._known[beta]

    def cuts_inside(self, piece: Piece) -> list[float]:
        """The transitions at which the phase of a piece may change, ascending."""
        # A piece can be as short as rounding: a flat edge of Γ, along which β stays as it is.
        margin = EQUAL * piece.lower
        return [
            cut
            for cut in self._cuts
            if piece.index == 0 and piece.lower + margin < cut < piece.upper - margin
        ]

    def phase(self, piece: Piece, lower: float, upper: float) -> int:
        """Phase of the states of a piece between two neighbouring cuts."""
        if piece.index > 0:
            return UNSTABLE
        middle = lower + (upper - lower) / 2
        lowest = self.energy(middle)
        excess = piece.at(middle).free_energy - lowest
        return EQUILIBRIUM if excess <= EQUAL * max(1.0, abs(lowest)) else METASTABLE


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Pieces and special points of all branches in one row each, with the place where each branch begins."""

    pieces: list[tuple[int, Piece]] = field(default_factory=list)
    points: list[tuple[int, SpecialPoint]] = field(default_factory=list)
    starts: list[SpecialPoint] = field(default_factory=list)
    """Where the branch enters each piece."""
    sides: list[tuple[int, int]] = field(default_factory=list)
    """Rows of the special points at the lower and the upper end of each piece."""

    @classmethod
    def of(cls, branches: Sequence[Branch]) -> "_Numbered":
        found = cls()
        for i, branch in enumerate(branches):
            first = len(found.points)
            found.points.extend((i, point) for point in branch.special_points)
            for k, piece in enumerate(branch.pieces):
                start, stop = branch.special_points[k], branch.special_points[k + 1]
                rising = start.parameter < stop.parameter
                found.pieces.append((i, piece))
                found.starts.append(start)
                found.sides.append((first + k, first + k + 1) if rising else (first + k + 1, first + k))
        return found


@dataclass(frozen=True, eq=False)
class _Run:
    """Consecutive points of one piece in one phase."""

    branch: int
    piece: int
    index: int
    phase: int
    points: list[ArcPoint]
    excess: list[float]


def _arcs(branches: BranchSet, numbered: _Numbered, grid: Vector, line: MaxwellLine) -> list[_Run]:
    runs: list[_Run] = []
    window = (float(grid[0]), float(grid[-1]))
    for row, ((branch, piece), start) in enumerate(zip(numbered.pieces, numbered.starts, strict=True)):
        inside = line.cuts_inside(piece)
        points = points_of(piece, start, grid, inside, window)
        if not points:
            continue
        rising = points[0].beta < points[-1].beta
        low, high = sorted((points[0].beta, points[-1].beta))
        cuts = [low, *sorted(cut for cut in inside if low < cut < high), high]
        spans = list(pairwise(cuts)) if len(cuts) > 2 else [(-math.inf, math.inf)]
        for lower, upper in spans if rising else reversed(spans):
            met = [point for point in points if lower <= point.beta <= upper]
            excess = [point.state.free_energy - line.energy(point.beta) for point in met]
            phase = line.phase(piece, max(lower, low), min(upper, high))
            runs.append(_Run(branch, row, piece.index, phase, met, excess))
    return runs


def _branch_columns(branches: BranchSet, numbered: _Numbered, crossings: Sequence[Coexistence]) -> Columns:
    states = [branch.at(branches.at) for branch in branches]
    lower = [_row_at(numbered, i, branch.lower) for i, branch in enumerate(branches)]
    upper = [_row_at(numbered, i, branch.upper) for i, branch in enumerate(branches)]
    return {
        "branch": range(len(branches)),
        "support": lists([state.support for state in states]),
        **observed(states),
        "leading": [int(np.argmax(state.weights)) for state in states],
        "leading_weight": [float(np.max(state.weights)) for state in states],
        "beta_min": [branch.lower for branch in branches],
        "beta_max": [branch.upper for branch in branches],
        "beta_min_end": [_KINDS[numbered.points[row][1].kind] for row in lower],
        "beta_max_end": [_KINDS[numbered.points[row][1].kind] for row in upper],
        "beta_min_point": lower,
        "beta_max_point": upper,
        "equal_to": _equal_to(branches, crossings),
        "status": [int(branch.status) for branch in branches],
    }


def _row_at(numbered: _Numbered, i: int, beta: float) -> int:
    """Row of the first special point of a branch at a value of β."""
    return next(
        row for row, (branch, point) in enumerate(numbered.points) if branch == i and point.parameter == beta
    )


def _equal_to(branches: BranchSet, crossings: Sequence[Coexistence]) -> list[int]:
    """For each branch the first that has the same free energy wherever both are stable, else itself."""
    first = list(range(len(branches)))
    for i, j, point in crossings:
        low, high = point.bracket
        if i < j and _on_interval(point):
            both = [(arm.lower, arm.upper) for k in (i, j) for arm in stable_stretches(branches[k])]
            common = (max(lower for lower, _ in both), min(upper for _, upper in both))
            if low <= common[0] * (1 + EQUAL) and high >= common[1] * (1 - EQUAL):
                first[j] = min(first[j], first[i])
    return first


def _on_interval(point: SpecialPoint) -> bool:
    """Whether two energies agree on more than a point."""
    return point.degenerate and point.bracket[1] > point.bracket[0] * (1 + _NO_LENGTH)


def _distinct(crossings: Sequence[Coexistence], equal_to: Sequence[int]) -> list[Coexistence]:
    """The crossings without those of branches that have the same energy as others that cross there."""
    single = [(i, j, point) for i, j, point in crossings if not _on_interval(point)]
    of_first = {(i, j): [] for i, j, _ in single}
    for i, j, point in single:
        of_first[i, j].append(point.parameter)

    def repeats(i: int, j: int, point: SpecialPoint) -> bool:
        first = (min(equal_to[i], equal_to[j]), max(equal_to[i], equal_to[j]))
        known = of_first.get(first, []) if first != (i, j) else []
        return any(abs(beta - point.parameter) <= EQUAL * beta for beta in known)

    return [crossing for crossing in single if not repeats(*crossing)]


def _piece_columns(numbered: _Numbered) -> Columns:
    pieces = [piece for _, piece in numbered.pieces]
    return {
        "branch": [branch for branch, _ in numbered.pieces],
        "support": lists([piece.support for piece in pieces]),
        "support_size": [len(piece.support) for piece in pieces],
        "beta_min": [piece.lower for piece in pieces],
        "beta_max": [piece.upper for piece in pieces],
        "beta_min_event": [_KINDS[piece.lower_event.kind] for piece in pieces],
        "beta_max_event": [_KINDS[piece.upper_event.kind] for piece in pieces],
        "beta_min_point": [lower for lower, _ in numbered.sides],
        "beta_max_point": [upper for _, upper in numbered.sides],
        "index": [piece.index for piece in pieces],
        "equations": [equations_of(piece) for piece in pieces],
    }


def _point_columns(branches: BranchSet, numbered: _Numbered, crossings: Sequence[Coexistence]) -> Columns:
    equal = _distinct(crossings, _equal_to(branches, crossings))
    rows = [*numbered.points, *((i, point) for i, _, point in equal)]
    points = [point for _, point in rows]
    landings = [point.landing for point in points]
    landed = observed(landings)
    arms = [(i, arm) for i, branch in enumerate(branches) for arm in stable_stretches(branch)]
    near = SAME_STATE * branches.model.state_scale
    landing = [_branch_of(arms, point.landing, near) for _, point in numbered.points]
    onset = [_is_onset(branches[i], point) for i, point in rows]
    return {
        "branch": [i for i, _ in rows],
        "kind": [_KINDS[point.kind] for point in points],
        "beta": [point.parameter for point in points],
        "patterns": lists([point.patterns for point in points]),
        "multiplicity": [point.multiplicity for point in points],
        "goes_on": [point.goes_on for point in points],
        "jump": [point.is_jump for point in points],
        "degenerate": [point.degenerate for point in points],
        "storage_onset": onset,
        "bracket_min": [point.bracket[0] for point in points],
        "bracket_max": [point.bracket[1] for point in points],
        "precision": [point.precision for point in points],
        "status": [int(point.status) for point in points],
        **observed([point.state for point in points]),
        "state": vectors([point.state for point in points], branches.model.d),
        "landing_branch": landing + [j for _, j, _ in equal],
        "landing_beta": [math.nan if state is None else state.beta for state in landings],
        "landing_free_energy": landed["free_energy"],
        "landing_overlap_max": landed["overlap_max"],
        "landing_support": lists([() if state is None else state.support for state in landings]),
        "landing_state": vectors(landings, branches.model.d),
    }


def _branch_of(arms: Sequence[tuple[int, Stretch]], state: State | None, near: float) -> int:
    """Position of the branch on which a state lies."""
    if state is None:
        return NOTHING
    for i, arm in arms:
        if arm.lower <= state.beta <= arm.upper:
            met = arm.at(state.beta)
            if float(np.linalg.norm(met.x - state.x)) <= near:
                return i
    return NOTHING


def _is_onset(branch: Branch, point: SpecialPoint) -> bool:
    """Whether a single pattern is the state on one side of the point only."""
    if point.kind not in (PointKind.ENTERS, PointKind.LEAVES):
        return False
    k = branch.special_points.index(point)
    sides = branch.pieces[max(k - 1, 0) : k + 1]
    stored = [piece for piece in sides if len(piece.support) == 1]
    return len(stored) == 1 and stored[0].index == 0


def _arc_columns(runs: Sequence[_Run]) -> Columns:
    rows = [
        (run, point, excess) for run in runs for point, excess in zip(run.points, run.excess, strict=True)
    ]
    columns: Columns = {
        "piece": [run.piece for run, _, _ in rows],
        "beta": [point.beta for _, point, _ in rows],
        **observed([point.state for _, point, _ in rows]),
        "excess": [excess for _, _, excess in rows],
        "phase": [run.phase for run, _, _ in rows],
    }
    unknowns = [point.unknown for _, point, _ in rows if point.unknown is not None]
    tangents = [point.tangent for _, point, _ in rows if point.tangent is not None]
    if unknowns:
        columns["unknown"] = filled(unknowns)
        columns["tangent"] = filled([tangent[:-1] for tangent in tangents])
        columns["tangent_beta"] = [float(tangent[-1]) for tangent in tangents]
    return columns


def _curve_columns(branches: BranchSet, grid: Vector, runs: Sequence[_Run]) -> Columns:
    """Of several states of one branch at one β the most stable one, then that of lowest Γ."""
    place = {beta: k for k, beta in enumerate(grid.tolist())}
    best: dict[tuple[int, int], tuple[_Run, State]] = {}
    for run in runs:
        for point in run.points:
            key = (run.branch, place.get(point.beta, NOTHING))
            if key[1] == NOTHING:
                continue
            known = best.get(key)
            rank = (run.index, point.state.free_energy)
            if known is None or rank < (known[0].index, known[1].free_energy):
                best[key] = (run, point.state)
    shape = (len(branches), grid.size)
    columns: Columns = {"branch": range(len(branches)), "beta": grid}
    for name in observed([]):
        columns[name] = np.full(shape, 0 if name == "support_size" else math.nan)
    columns |= {"index": np.full(shape, NOTHING), "phase": np.full(shape, ABSENT)}
    for where, (run, state) in best.items():
        for name, values in observed([state]).items():
            columns[name][where] = values[0]
        columns["index"][where] = run.index
        columns["phase"][where] = run.phase
    return columns


def _equilibrium_columns(intervals: Sequence[Equilibrium]) -> Columns:
    kinds = [
        interval.transition.kind
        if interval.transition is not None
        else (PointKind.UNBOUNDED if math.isinf(interval.upper) else PointKind.RANGE)
        for interval in intervals
    ]
    return {
        "branch": [interval.branch for interval in intervals],
        "beta_min": [interval.lower for interval in intervals],
        "beta_max": [interval.upper for interval in intervals],
        "transition": [_KINDS[kind] for kind in kinds],
    }
