"""The points through which pieces of branches are drawn and stored, and pieces from stored points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hopfieldphase.continuation.active_set import ExactPiece
from hopfieldphase.continuation.arc_pieces import ArcPiece, Space
from hopfieldphase.continuation.branch import Piece, SpecialPoint, State, Vector
from hopfieldphase.continuation.corrector import Arc, Node, node_at, node_on_arc
from hopfieldphase.continuation.curve import Curve, CurvePoint, CurvePointKind
from hopfieldphase.continuation.equations import Equations, Matrix
from hopfieldphase.continuation.face import Face, StoredPatterns
from hopfieldphase.continuation.problems import FaceProblem, MotionProblem
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.branch_schema import EQUATIONS
from hopfieldphase.model import HopfieldModel

FEWEST = 9
"""Points of a piece that is given in closed form, at least."""

TURN = 0.1
"""Angle between the tangents of neighbouring points above which there are further ones in between."""

EXACT, MOTION, MOTION_ON_SUPPORT, WEIGHTS_ON_SUPPORT = range(len(EQUATIONS))


@dataclass(frozen=True, eq=False)
class ArcPoint:
    """A state on a piece; away from α = 2 also as a solution of the equations of the piece.

    Attributes
    ----------
    state : State
    unknown : ndarray, shape (n,), or None
        Its unknowns.
    tangent : ndarray, shape (n + 1,), or None
        Unit tangent of the curve in scaled units, in the direction of the branch; its last part is along β.
    """

    state: State
    unknown: Vector | None = field(default=None, repr=False)
    tangent: Vector | None = field(default=None, repr=False)

    @property
    def beta(self) -> float:
        """Inverse temperature."""
        return self.state.beta


def equations_of(piece: Piece) -> int:
    """Position in `EQUATIONS` of what the states of a piece solve."""
    if isinstance(piece, ExactPiece):
        return EXACT
    space = _arc(piece).space
    if isinstance(space, FaceProblem):
        return WEIGHTS_ON_SUPPORT
    return MOTION if space.support is None else MOTION_ON_SUPPORT


def points_of(
    piece: Piece, start: SpecialPoint, betas: Vector, cuts: Sequence[float], window: tuple[float, float]
) -> list[ArcPoint]:
    """Points of a piece in the direction of its branch, both ends and every cut among them.

    Parameters
    ----------
    piece : Piece
    start : SpecialPoint
        The end of the piece at which the branch enters it.
    betas : ndarray
        Values of β at which a closed form is evaluated; other pieces have their own points.
    cuts : sequence of float
        Further values of β, inside the piece.
    window : tuple of float
        Closed forms are evaluated inside this range only, which may hold none of the piece.
    """
    if isinstance(piece, ExactPiece):
        low, high = max(piece.lower, window[0]), min(piece.upper, window[1])
        if low > high:
            return []
        values = np.unique([*betas, *cuts, *np.linspace(low, high, FEWEST)])
        values = values[(values >= low) & (values <= high)]
        rising = start.parameter == piece.lower
        return [ArcPoint(piece.at(beta)) for beta in (values if rising else values[::-1]).tolist()]
    arc = _arc(piece)
    nodes = _nodes(arc, cuts)
    points = [_arc_point(arc, node) for node in nodes]
    if _distance(points[-1], start) < _distance(points[0], start):
        points = [_arc_point(arc, node.reversed()) for node in reversed(nodes)]
    return points


def _nodes(arc: ArcPiece, cuts: Sequence[float]) -> list[Node]:
    """The nodes of a piece in the order of its curve, with further ones at the cuts and where it turns."""
    equations, values = arc.curve.equations, arc.curve.parameter
    nodes: list[Node] = []
    for row in range(arc.first_row, arc.last_row):
        start, stop = arc.curve.nodes[row], arc.curve.nodes[row + 1]
        low, high = sorted((float(values[row]), float(values[row + 1])))
        between = [arc.curve.node_between(row, beta) for beta in cuts if low < beta < high]
        angle = math.acos(min(1.0, max(-1.0, float(start.tangent @ stop.tangent))))
        parts = math.ceil(angle / TURN)
        for k in range(1, parts):
            node = node_on_arc(equations, Arc(start, stop), k / parts)
            if node is not None and low < equations.parameter(node.y) < high:
                between.append(node)
        between.sort(key=lambda node: float(node.y[-1]), reverse=bool(values[row] > values[row + 1]))
        nodes += [start, *between]
    return [*nodes, arc.curve.nodes[arc.last_row]]


def _distance(point: ArcPoint, other: SpecialPoint) -> float:
    return math.inf if other.state is None else float(np.linalg.norm(point.state.x - other.state.x))


def _arc(piece: Piece) -> ArcPiece:
    if not isinstance(piece, ArcPiece):
        raise InputError(
            f"a {type(piece).__name__} has no stored form: label branches that branches or follow returned"
        )
    return piece


def _arc_point(arc: ArcPiece, node: Node) -> ArcPoint:
    equations = arc.curve.equations
    unknown = equations.state(node.y)
    return ArcPoint(arc.space.state(unknown, equations.parameter(node.y)), unknown, node.tangent)


class Restorer:
    """Makes pieces again from what a file holds of them.

    Parameters
    ----------
    model : HopfieldModel
    span : float
        Length of the range of β in which the branches were followed; inf for closed forms.
    """

    def __init__(self, model: HopfieldModel, span: float) -> None:
        self._model = model
        self._span = span
        self._stored = StoredPatterns(model)

    def exact_piece(
        self, support: tuple[int, ...], events: tuple[SpecialPoint, SpecialPoint], index: int
    ) -> Piece:
        """A piece between two events, in closed form."""
        lower, upper = (event.parameter for event in events)
        return ExactPiece(support, lower, upper, *events, index, self._stored)

    def arc_piece(
        self,
        equations: int,
        support: tuple[int, ...],
        events: tuple[SpecialPoint, SpecialPoint],
        index: int,
        betas: Vector,
        unknowns: Matrix,
        tangents: Matrix,
    ) -> Piece:
        """A piece between two events through stored points, (N,), (N, n) and (N, n + 1), along its branch."""
        space: Space
        if equations == WEIGHTS_ON_SUPPORT:
            space = FaceProblem(self._model, support)
        else:
            space = MotionProblem(self._model, support if equations == MOTION_ON_SUPPORT else None)
        system = Equations(space, unknowns[0], float(betas[0]), self._span)
        nodes: list[Node] = []
        for beta, unknown, tangent in zip(betas.tolist(), unknowns, tangents, strict=True):
            y = system.scaled(unknown, beta)
            linear = system.linearize(y)
            if linear is None:
                raise InputError(f"the state stored at beta = {beta:.12g} is none of this model: damaged")
            node = node_at(system, (y, linear, 0.0), tangent, nodes[-1] if nodes else None)
            nodes.append(replace(node, tangent=tangent))
        ends = [
            CurvePoint(CurvePointKind.START, row, system.parameter(nodes[row].y), unknowns[row], index, index)
            for row in (0, len(nodes) - 1)
        ]
        curve = Curve(system, tuple(nodes), tuple(ends))
        lower, upper = (event.parameter for event in events)
        return ArcPiece(support, lower, upper, *events, index, space, curve, 0, len(nodes) - 1)

    def exact_state(self, support: tuple[int, ...], beta: float) -> State:
        """The state on a support in closed form."""
        return Face(self._stored, support).state(beta)
