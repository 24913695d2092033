"""Branches of stationary states as objects: pieces, special points, and the state at any parameter.

A branch is a curve of stationary states x = T(x) in one control parameter. It is cut into pieces on
which the support and the number of unstable directions stay as they are and the parameter is monotone;
special points stand between the pieces and at both ends.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel

Vector = NDArray[np.float64]


class PointKind(StrEnum):
    """What happens at a special point of a branch."""

    LEAVES = "leaves"
    """The weight of a support pattern reaches zero."""
    ENTERS = "enters"
    """The overlap of an outside pattern reaches the threshold θ."""
    SPINODAL = "spinodal"
    """λ_min of the Hessian reaches zero and no stationary arm turns back (α = 2)."""
    FOLD = "fold"
    """λ_min reaches zero and the branch turns back: a saddle-node."""
    PITCHFORK = "pitchfork"
    """An eigenvalue reaches zero while the branch goes on, by symmetry: other branches cross here."""
    BRANCH_POINT = "branch_point"
    """Several eigenvalues reach zero at once, or a crossing that is neither fold nor pitchfork."""
    COEXISTENCE = "coexistence"
    """Two branches have the same free energy."""
    RANGE = "range"
    """The end of the range that was asked for; the branch goes on beyond it."""
    CLOSED = "closed"
    """The branch has come back to where it started."""
    UNBOUNDED = "unbounded"
    """The branch goes on to zero or to infinity."""
    LIMIT = "limit"
    """The cap on events or steps was reached; the branch may go on."""


@dataclass(frozen=True, eq=False)
class State:
    """A stationary state and its observables at one value of the control parameter.

    Attributes
    ----------
    parameter : float
        Value of the control parameter (β or κ).
    beta : float
        Inverse temperature.
    x : ndarray, shape (d,)
        The state.
    weights : ndarray, shape (M,)
        p, exactly zero outside the support.
    support : tuple of int
        Indices of the patterns with p > 0, ascending.
    free_energy : float
        Γ(x).
    overlap_max : float
        z_max = max |z|.
    threshold : float
        θ; NaN where the map has none (α = 1, ∞).
    hessian_min : float
        λ_min(∇²Γ)/β at the fixed support.
    """

    parameter: float
    beta: float
    x: Vector = field(repr=False)
    weights: Vector = field(repr=False)
    support: tuple[int, ...]
    free_energy: float
    overlap_max: float
    threshold: float
    hessian_min: float


@dataclass(frozen=True, eq=False, repr=False)
class SpecialPoint:
    """A located event on a branch, or a crossing of two branches.

    Attributes
    ----------
    kind : PointKind
        What happens here: in `Branch.special_points` as seen along the branch (rising parameter where there
        are no folds), in `Piece.lower_event` and `Piece.upper_event` as seen on leaving the piece.
    parameter : float
        Value of the control parameter.
    goes_on : bool
        True where the branch goes on beyond the point (a kink, a fold, a pitchfork), False at an end.
    patterns : tuple of int
        The patterns that enter or leave.
    multiplicity : int
        Number of patterns or eigenvalues that act at this value.
    degenerate : bool
        Several events meet at this value and what follows rests on a tie rule (lower Γ, then lower index).
    state : State or None
        The state at the point; None for an unbounded end. At a coexistence point the one of the first
        branch.
    bracket : tuple of float
        Interval of the parameter known to contain the point.
    precision : float
        Relative uncertainty of `parameter`.
    status : Status
        Whether the point was located as asked.
    landing : State or None
        Where the state relaxes to just beyond an end at which it loses stability; at a coexistence point the
        state of the second branch; None elsewhere.
    """

    kind: PointKind
    parameter: float
    goes_on: bool
    patterns: tuple[int, ...] = ()
    multiplicity: int = 1
    degenerate: bool = False
    state: State | None = None
    bracket: tuple[float, float] = (math.nan, math.nan)
    precision: float = 0.0
    status: Status = Status.CONVERGED
    landing: State | None = None

    def __repr__(self) -> str:
        status = "" if self.status is Status.CONVERGED else f", {self.status.name.lower()}"
        return f"{type(self).__name__}({self.label} at {self.parameter:.9g}{status})"

    @property
    def label(self) -> str:
        """The kind and the patterns involved in one word, as in ``"enters:7"`` or ``"leaves:2,5"``."""
        return f"{self.kind}:{','.join(map(str, self.patterns))}" if self.patterns else str(self.kind)

    @property
    def is_jump(self) -> bool:
        """Whether the state has to jump when the parameter passes this point."""
        return not self.goes_on and self.kind not in (PointKind.RANGE, PointKind.UNBOUNDED, PointKind.LIMIT)


@dataclass(frozen=True, eq=False)
class Piece(ABC):
    """Part of a branch: one support, one number of unstable directions, a monotone parameter.

    Attributes
    ----------
    support : tuple of int
        Indices of the patterns with p > 0, ascending.
    lower, upper : float
        The parameter interval; `upper` may be inf and `lower` 0.
    lower_event, upper_event : SpecialPoint
        What ends the piece at either side, named as one leaves the piece there.
    index : int
        Number of negative eigenvalues of the Hessian; 0 for a minimum.
    """

    support: tuple[int, ...]
    lower: float
    upper: float
    lower_event: SpecialPoint
    upper_event: SpecialPoint
    index: int

    @abstractmethod
    def at(self, parameter: float) -> State:
        """The state of this piece at a parameter value inside [lower, upper]."""

    def contains(self, parameter: float) -> bool:
        """Whether the parameter value lies inside the closed interval of the piece."""
        return self.lower <= parameter <= self.upper


@dataclass(frozen=True, eq=False, repr=False)
class Branch:
    """A followed curve of stationary states.

    Attributes
    ----------
    model : HopfieldModel
        The patterns, α and the scale (at the reference, where the parameter changes the patterns).
    parameter : str
        Name of the control parameter, ``"beta"`` or ``"kappa"``.
    reference : float
        The parameter value from which the branch was followed both ways.
    pieces : tuple of Piece
        In order along the branch: ascending in the parameter unless there are folds.
    special_points : tuple of SpecialPoint
        In the same order; the first and the last are the ends.
    status : Status
        CONVERGED when both ends are events, range ends or unbounded.
    """

    model: HopfieldModel = field(repr=False)
    parameter: str
    reference: float
    pieces: tuple[Piece, ...] = field(repr=False)
    special_points: tuple[SpecialPoint, ...] = field(repr=False)
    status: Status = Status.CONVERGED

    def __repr__(self) -> str:
        first, last = self.ends
        pieces = f"{len(self.pieces)} piece{'' if len(self.pieces) == 1 else 's'}"
        return (
            f"{type(self).__name__}({self.parameter} in [{self.lower:.6g}, {self.upper:.6g}], "
            f"{first.label} to {last.label}, {pieces}, {self.status.name.lower()})"
        )

    @property
    def ends(self) -> tuple[SpecialPoint, SpecialPoint]:
        """The first and the last special point: the ends at low and at high parameter without folds."""
        return self.special_points[0], self.special_points[-1]

    @property
    def lower(self) -> float:
        """The lowest parameter value on the branch (0 where unbounded)."""
        return min(piece.lower for piece in self.pieces)

    @property
    def upper(self) -> float:
        """The highest parameter value on the branch (inf where unbounded)."""
        return max(piece.upper for piece in self.pieces)

    def arms(self, parameter: float) -> tuple[State, ...]:
        """Every state of the branch at one parameter value, in order along the branch.

        Where the value is the joint of two pieces their common state appears once.
        """
        states: list[State] = []
        previous: Piece | None = None
        for piece in self.pieces:
            if piece.contains(parameter):
                state = piece.at(parameter)
                at_joint = previous is not None and parameter in (
                    {piece.lower, piece.upper} & {previous.lower, previous.upper}
                )
                if not (at_joint and np.allclose(state.x, states[-1].x, rtol=1e-8, atol=1e-12)):
                    states.append(state)
            previous = piece
        return tuple(states)

    def at(self, parameter: float) -> State:
        """The state at one parameter value; of several arms the one with fewest unstable directions.

        Parameters
        ----------
        parameter : float
            Inside [`lower`, `upper`], and finite.

        Raises
        ------
        InputError
            Where the branch does not exist.
        """
        value = float(parameter)
        holding = [piece for piece in self.pieces if piece.contains(value)]
        if not holding or not math.isfinite(value):
            first, last = self.ends
            raise InputError(
                f"{self.parameter} = {parameter} is not on this branch, which lives on "
                f"[{self.lower:.12g}, {self.upper:.12g}] (ends: {first.label}, {last.label}): "
                f"ask for a value inside"
            )
        return min(holding, key=lambda piece: piece.index).at(value)
