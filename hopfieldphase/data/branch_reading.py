"""Branches again from their labelled tree."""

import math
from dataclasses import replace

import numpy as np
import xarray as xr

from hopfieldphase.continuation.active_set import ExactPiece
from hopfieldphase.continuation.arc_pieces import ArcPiece
from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State
from hopfieldphase.continuation.problems import state_at
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.data import branch_schema as schema
from hopfieldphase.data.branch_arcs import EXACT, Restorer
from hopfieldphase.model import HopfieldModel


def read_branches(tree: xr.DataTree, model: HopfieldModel) -> tuple[Branch, ...]:
    """Every branch of a tree, evaluated as those that the tree was made from.

    Closed forms (α = 2) come from the patterns and the supports; all other pieces from their stored points,
    between which states are interpolated and corrected by Newton's method.

    Parameters
    ----------
    tree : xarray.DataTree
        Of the schema, see `branch_schema.check`.
    model : HopfieldModel
        Its patterns, α and scale.

    Raises
    ------
    InputError
        If the rows of the groups do not belong together.
    """
    reader = _Reader(tree, model)
    return tuple(reader.branch(i) for i in range(schema.group(tree, "branches").sizes["branch"]))


class _Reader:
    """The tables of one tree as plain arrays."""

    def __init__(self, tree: xr.DataTree, model: HopfieldModel) -> None:
        self._model = model
        self._reference = float(tree.attrs["reference"])
        self._restorer = Restorer(model, float(tree.attrs["upper"]) - float(tree.attrs["lower"]))
        self._branches = schema.columns(tree, "branches")
        self._pieces = schema.columns(tree, "pieces")
        self._points = schema.columns(tree, "special_points")
        self._arcs = schema.columns(tree, "arcs")
        on_curve = self._points["kind"] != str(PointKind.COEXISTENCE)
        self._owner = np.where(on_curve, self._points["branch"], schema.NOTHING)

    def branch(self, i: int) -> Branch:
        """One branch with its pieces and special points."""
        points = {row: self._point(row) for row in np.flatnonzero(self._owner == i).tolist()}
        rows_of_pieces = np.flatnonzero(self._pieces["branch"] == i).tolist()
        pieces = [self._piece(row, points) for row in rows_of_pieces]
        if len(pieces) != len(points) - 1:
            raise InputError(f"branch {i} has {len(pieces)} pieces and {len(points)} special points: damaged")
        points = {
            row: self._with_state(row, point, before, after)
            for (row, point), before, after in zip(
                points.items(), [None, *pieces], [*pieces, None], strict=True
            )
        }
        whole = []
        for row, piece in zip(rows_of_pieces, pieces, strict=True):
            lower, upper = self._events(row, points)
            whole.append(replace(piece, lower_event=lower, upper_event=upper))
        return Branch(
            model=self._model,
            parameter="beta",
            reference=self._reference,
            pieces=tuple(whole),
            special_points=tuple(points.values()),
            status=Status[self._branches["status"][i].upper()],
        )

    def _point(self, row: int) -> SpecialPoint:
        points = self._points
        return SpecialPoint(
            kind=PointKind(points["kind"][row]),
            parameter=float(points["beta"][row]),
            goes_on=bool(points["goes_on"][row]),
            patterns=points["patterns"][row],
            multiplicity=int(points["multiplicity"][row]),
            degenerate=bool(points["degenerate"][row]),
            bracket=(float(points["bracket_min"][row]), float(points["bracket_max"][row])),
            precision=float(points["precision"][row]),
            status=Status[points["status"][row].upper()],
        )

    def _piece(self, row: int, points: dict[int, SpecialPoint]) -> Piece:
        """A piece whose events have no states yet."""
        pieces = self._pieces
        lower, upper = self._events(row, points)
        support = pieces["support"][row]
        index = int(pieces["index"][row])
        equations = schema.EQUATIONS.index(pieces["equations"][row])
        if equations == EXACT:
            return self._restorer.exact_piece(support, (lower, upper), index)
        arcs = self._arcs
        mine = np.flatnonzero(arcs["piece"] == row)
        # Where the phase changes inside a piece its point is there twice.
        moved = np.diff(arcs["beta"][mine]) != 0
        moved |= (np.diff(np.nan_to_num(arcs["unknown"][mine]), axis=0) != 0).any(axis=1)
        mine = mine[np.append(True, moved)]
        n = np.count_nonzero(~np.isnan(arcs["unknown"][mine[0]]))
        unknowns = np.ascontiguousarray(arcs["unknown"][mine, :n])
        tangents = np.column_stack([arcs["tangent"][mine, :n], arcs["tangent_beta"][mine]])
        return self._restorer.arc_piece(
            equations, support, (lower, upper), index, arcs["beta"][mine], unknowns, tangents
        )

    def _events(self, row: int, points: dict[int, SpecialPoint]) -> tuple[SpecialPoint, SpecialPoint]:
        """What ends a piece at either side, named as one leaves it there."""
        pieces = self._pieces
        lower, upper = points[int(pieces["beta_min_point"][row])], points[int(pieces["beta_max_point"][row])]
        return (
            replace(lower, kind=PointKind(pieces["beta_min_event"][row])),
            replace(upper, kind=PointKind(pieces["beta_max_event"][row])),
        )

    def _with_state(
        self, row: int, point: SpecialPoint, before: Piece | None, after: Piece | None
    ) -> SpecialPoint:
        """A special point with its state, which ends the pieces beside it, and the state where it lands."""
        exact = isinstance(before or after, ExactPiece)
        state = landing = None
        if not np.isnan(self._points["free_energy"][row]):
            sides = [(before, True), (after, False)]
            states = [_end(piece, point.parameter, last=last) for piece, last in sides if piece is not None]
            # At a joint both agree in x, but not in what their supports say about stability.
            hessian_min = float(self._points["hessian_min"][row])
            state = min(states, key=lambda found: abs(found.hessian_min - hessian_min))
        beta = float(self._points["landing_beta"][row])
        if not math.isnan(beta):
            support, x = self._points["landing_support"][row], self._points["landing_state"][row]
            landing = self._restorer.exact_state(support, beta) if exact else state_at(self._model, x, beta)
        return replace(point, state=state, landing=landing)


def _end(piece: Piece, parameter: float, *, last: bool) -> State:
    """The state at one end of a restored piece, whose rows run along the branch."""
    if not isinstance(piece, ArcPiece):
        return piece.at(parameter)
    unknown = piece.curve.state[piece.last_row if last else piece.first_row]
    return piece.space.state(unknown, parameter)
