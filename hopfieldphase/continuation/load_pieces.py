"""Pieces of a branch in the memory load: states that hold on stretches of M, exactly or step by step."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hopfieldphase.continuation.branch import Piece, State, Vector
from hopfieldphase.continuation.load import DOWN, UP, Point, Walk
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.kernels.kappa import Crowd
from hopfieldphase.model import HopfieldModel


@dataclass(frozen=True, eq=False)
class Held:
    """A minimum as a walk leaves it at M patterns.

    Attributes
    ----------
    M : int
        Number of patterns at which the walk met it first.
    x : ndarray, shape (d,)
    support : tuple of int
        Patterns with p > 0, ascending.
    weights : ndarray
        p on the support.
    free_energy, threshold, hessian_min : float
        As in `State`.
    status : Status
        Of its relaxation.
    """

    M: int
    x: Vector = field(repr=False)
    support: tuple[int, ...]
    weights: Vector = field(repr=False)
    free_energy: float
    threshold: float
    hessian_min: float
    status: Status

    def among(self, crowd: Crowd, M: int, kappa: float, beta: float) -> State:
        """The state at κ, among the first M patterns."""
        weights = np.zeros(M)
        weights[list(self.support)] = self.weights
        return State(
            parameter=kappa,
            beta=beta,
            x=self.x,
            weights=weights,
            support=self.support,
            free_energy=self.free_energy,
            overlap_max=crowd.scale * float(np.abs(crowd.patterns[:M] @ self.x).max()),
            threshold=self.threshold,
            hessian_min=self.hessian_min,
        )


def held(walk: Walk) -> Held:
    """The minimum at which a walk is."""
    size = walk.state.size[0]
    members, p = walk.state.members[:size], walk.state.p[:size]
    return _held(walk.M, walk.state.x, members[p > 0], p[p > 0], walk.outcome)


def held_before(walk: Walk, point: Point) -> Held:
    """The minimum at which a walk was."""
    crowd = walk.crowd
    model = HopfieldModel(crowd.patterns[: point.M], crowd.alpha, crowd.scale)
    p = model.weights(point.x, walk.beta)
    return _held(point.M, point.x, np.flatnonzero(p), p[p > 0], point.outcome)


def _held(M: int, x: Vector, support: np.ndarray, p: Vector, outcome: tuple[Any, ...]) -> Held:
    status, energy, theta, _, inner, outer, _ = outcome
    return Held(
        M=M,
        x=x.copy(),
        support=tuple(support.tolist()),
        weights=p,
        free_energy=float(energy),
        threshold=float(theta),
        hessian_min=float(min(inner, outer)),
        status=Status(int(status)),
    )


def count_at(kappa: float, d: int) -> int:
    """M(κ) = round(exp(κ d)); 0 where this is no number of patterns."""
    return round(math.exp(kappa * d)) if -math.inf < kappa * d < 700 else 0


@dataclass(frozen=True, eq=False)
class LoadPiece(Piece):
    """States of a branch between two numbers of patterns; `lower` and `upper` are log(M)/d of these.

    Attributes
    ----------
    crowd : Crowd
        All patterns, of which the first M are stored.
    beta : float
        Inverse temperature.
    """

    crowd: Crowd = field(repr=False)
    beta: float

    @property
    def counts(self) -> tuple[int, int]:
        """The first and the last number of patterns of the piece."""
        d = self.crowd.patterns.shape[1]
        return count_at(self.lower, d), count_at(self.upper, d)

    def contains(self, parameter: float) -> bool:
        """Whether M(κ) lies between the first and the last number of patterns of the piece."""
        first, last = self.counts
        return first <= count_at(parameter, self.crowd.patterns.shape[1]) <= last


@dataclass(frozen=True, eq=False)
class ConstantPiece(LoadPiece):
    """A stretch of M on which no pattern acts on the state as it joins or leaves (α > 1).

    Attributes
    ----------
    held : Held
        The state, the same for every M of the piece.
    """

    held: Held

    def at(self, parameter: float) -> State:
        """The state among the M(κ) patterns; x, weights and free energy are the same everywhere."""
        M = count_at(parameter, self.crowd.patterns.shape[1])
        return self.held.among(self.crowd, M, parameter, self.beta)


@dataclass(frozen=True, eq=False)
class SteppedPiece(LoadPiece):
    """A whole branch at α ≤ 1, where every pattern moves the state.

    Attributes
    ----------
    known : tuple of Held
        The states that the walks kept, ascending in M: those on the grid, the reference and both ends.
    walk : callable
        ``walk(loads, keep)`` gives a `Walk` through `loads`, which calls ``keep`` with what it observes.
    """

    known: tuple[Held, ...] = field(repr=False)
    walk: Callable[[list[int], list[Held]], Walk] = field(repr=False)

    def at(self, parameter: float) -> State:
        """The state among the M(κ) patterns, followed there from the nearest one that is known.

        Raises
        ------
        InputError
            If the state jumps on the way, where it is absent for less than a smooth step of the walk.
        """
        M = count_at(parameter, self.crowd.patterns.shape[1])
        nearest = min(self.known, key=lambda known: abs(math.log(known.M / M)))
        if nearest.M != M:
            nearest = self._followed(nearest, M)
        return nearest.among(self.crowd, M, parameter, self.beta)

    def _followed(self, start: Held, M: int) -> Held:
        kept: list[Held] = []
        walk = self.walk([start.M, M], kept)
        walk.begin(start.x)
        walk.go(UP if start.M < M else DOWN)
        if walk.stopped:
            raise InputError(
                f"the state cannot be followed from M = {start.M} to M = {M}: "
                f"it jumps at M = {walk.M}; ask for a value of the grid"
            )
        return kept[-1]
