"""Sets of branches in the memory load as labelled trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

import hopfieldphase
from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, Vector
from hopfieldphase.continuation.discovery import SAME_STATE
from hopfieldphase.continuation.load_branches import LoadBranchSet
from hopfieldphase.continuation.load_pieces import ConstantPiece, count_at
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, schema
from hopfieldphase.data import load_branch_schema as layout
from hopfieldphase.data.branch_schema import NOTHING
from hopfieldphase.data.provenance import git_revision
from hopfieldphase.data.state_columns import Columns, columns_dataset, lists, observed, vectors
from hopfieldphase.phases.load_coexistence import all_swaps

_KINDS = {kind: position for position, kind in enumerate(PointKind)}


@dataclass(frozen=True, eq=False, repr=False)
class LabelledLoadBranchSet(LoadBranchSet):
    """A `LoadBranchSet` that knows the options it was made with, and becomes a labelled tree.

    Attributes
    ----------
    options : mapping
        Every resolved option of the study, for the attributes of the tree.
    """

    options: Mapping[str, Any] = field(default_factory=dict)

    def to_datatree(self) -> xr.DataTree:
        """The branches with all that was found on them, labelled.

        Returns
        -------
        xarray.DataTree
            Groups `/branches`, `/pieces`, `/special_points`, `/curves` (the branches on the grid) and
            `/coexistence` (where two swap the order of their free energies); variables, labels and units as
            in `hopfieldphase.data.load_branch_schema`. Attributes: schema version, package version, git
            revision, the reference and the options.

        Raises
        ------
        InputError
            For options that no file can hold or whose name is taken.
        """
        attrs: dict[str, Any] = {
            "title": layout.TITLE,
            "schema_version": schema.SCHEMA_VERSION,
            "package_version": hopfieldphase.__version__,
            "git_revision": git_revision(),
            "alpha": self.model.alpha,
            "beta": self.beta,
            "d": self.model.d,
            "scale": self.model.scale,
            "reference": self.at,
            "M": count_at(self.at, self.model.d),
            "n_states": self.n_states,
            "n_starts": self.n_starts,
            "n_undecided": self.n_undecided,
            "lowest_energy": self.lowest_energy,
        }
        taken = sorted(attrs.keys() & self.options.keys())
        if taken:
            raise InputError(f"the option {taken[0]} has the name of an attribute of every tree: rename it")
        attrs |= self.options
        attributes.encode(attrs)
        columns = {
            "branches": _branches(self),
            "pieces": _pieces(self),
            "special_points": _points(self),
            "curves": _curves(self),
            "coexistence": _coexistence(self),
        }
        groups = {
            f"/{name}": columns_dataset(table, layout.GROUPS[name], layout.FLAGS, layout.COMMENTS[name])
            for name, table in columns.items()
        }
        return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs)} | groups)


def _branches(found: LoadBranchSet) -> Columns:
    states = [branch.at(found.at) for branch in found]
    last = np.cumsum([len(branch.special_points) for branch in found]) - 1
    first = last + 1 - [len(branch.special_points) for branch in found]
    return {
        "branch": range(len(found)),
        "support": lists([state.support for state in states]),
        **observed(states),
        "leading": [int(np.argmax(state.weights)) for state in states],
        "leading_weight": [float(np.max(state.weights)) for state in states],
        **_reach(found, [(branch.lower, branch.upper) for branch in found]),
        "kappa_min_point": first,
        "kappa_max_point": last,
        "status": [int(branch.status) for branch in found],
    }


def _pieces(found: LoadBranchSet) -> Columns:
    pieces = [(i, piece) for i, branch in enumerate(found) for piece in branch.pieces]
    states = [piece.at(piece.lower) for _, piece in pieces]
    # Each branch has one special point more than pieces.
    lower = np.array([row + i for row, (i, _) in enumerate(pieces)], dtype=np.int64)
    return {
        "branch": [i for i, _ in pieces],
        "support": lists([state.support for state in states]),
        **_reach(found, [(piece.lower, piece.upper) for _, piece in pieces]),
        "kappa_min_point": lower,
        "kappa_max_point": lower + 1,
        **observed(states),
        "state": vectors(states, found.model.d),
    }


def _points(found: LoadBranchSet) -> Columns:
    rows = [(i, point) for i, branch in enumerate(found) for point in branch.special_points]
    points = [point for _, point in rows]
    landings = [point.landing for point in points]
    seen = observed(landings)
    return {
        "branch": [i for i, _ in rows],
        "kind": [_KINDS[point.kind] for point in points],
        "M": [count_at(point.parameter, found.model.d) for point in points],
        "kappa": [point.parameter for point in points],
        "patterns": lists([point.patterns for point in points]),
        "goes_on": [point.goes_on for point in points],
        "jump": [point.is_jump for point in points],
        "status": [int(point.status) for point in points],
        **observed([point.state for point in points]),
        "landing_branch": [_landing(found, point) for point in points],
        "landing_free_energy": seen["free_energy"],
        "landing_overlap_max": seen["overlap_max"],
        "landing_support": lists([() if state is None else state.support for state in landings]),
        "landing_state": vectors(landings, found.model.d),
    }


def _landing(found: Sequence[Branch], point: SpecialPoint) -> int:
    """Position of the branch on which the state lands."""
    if point.landing is None:
        return NOTHING
    x, kappa = point.landing.x, point.parameter
    near = SAME_STATE * float(np.linalg.norm(x))
    for i, branch in enumerate(found):
        if branch.lower <= kappa <= branch.upper:
            piece = next(piece for piece in branch.pieces if piece.contains(kappa))
            if float(np.linalg.norm(_position(piece, kappa) - x)) <= near:
                return i
    return NOTHING


def _position(piece: Piece, kappa: float) -> Vector:
    return piece.held.x if isinstance(piece, ConstantPiece) else piece.at(kappa).x


def _curves(found: LoadBranchSet) -> Columns:
    rows = [
        observed([branch.at(kappa) if _lives(branch, M) else None for kappa, M in _grid(found)])
        for branch in found
    ]
    return {
        "branch": range(len(found)),
        "kappa": found.kappas,
        "M": found.counts,
        **{name: [row[name] for row in rows] for name in layout.OBSERVED},
    }


def _grid(found: LoadBranchSet) -> list[tuple[float, int]]:
    return list(zip(found.kappas.tolist(), found.counts.tolist(), strict=True))


def _lives(branch: Branch, M: int) -> bool:
    first, last = (count_at(end, branch.model.d) for end in (branch.lower, branch.upper))
    return first <= M <= last


def _coexistence(found: LoadBranchSet) -> Columns:
    swaps = all_swaps(found)
    return {
        "branches": np.array([(i, j) for i, j, _ in swaps]).reshape(-1, 2),
        **{name: [getattr(swap, name) for *_, swap in swaps] for name in ("M", "M_before", "kappa")},
        **{
            name: np.array([getattr(swap, name) for *_, swap in swaps]).reshape(-1, 2)
            for name in ("free_energy", "free_energy_before", "overlap_max")
        },
    }


def _reach(found: LoadBranchSet, ends: Sequence[tuple[float, float]]) -> Columns:
    d = found.model.d
    return {
        "M_min": [count_at(lower, d) for lower, _ in ends],
        "M_max": [count_at(upper, d) for _, upper in ends],
        "kappa_min": [lower for lower, _ in ends],
        "kappa_max": [upper for _, upper in ends],
    }
