"""Branches in the memory load κ = log(M)/d: each minimum followed both ways, pattern by pattern."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np

from hopfieldphase.continuation.branch import Branch, Piece, PointKind, SpecialPoint, State
from hopfieldphase.continuation.discovery import discover
from hopfieldphase.continuation.kappa import pattern_counts
from hopfieldphase.continuation.load import DOWN, UP, Point, Walk, crowd_of, follow_load
from hopfieldphase.continuation.load_pieces import (
    ConstantPiece,
    Held,
    SteppedPiece,
    count_at,
    held,
    held_before,
)
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import PatternSequence
from hopfieldphase.core.status import Status
from hopfieldphase.kernels.kappa import Crowd
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import solver_options

_OPTIONS = solver_options("auto", None, None, True, np.dtype(np.float64))


@dataclass(frozen=True, eq=False, repr=False)
class LoadBranchSet(Sequence[Branch]):
    """The branches in κ found at one reference, in the order of their rank there.

    Attributes
    ----------
    model : HopfieldModel
        All patterns up to the largest κ; M(κ) = round(exp(κ d)) of them are its first rows.
    beta : float
        Inverse temperature β.
    at : float
        The reference κ₀.
    kappas : ndarray, shape (n,)
        The grid; its ends are the range in which the branches were followed.
    counts : ndarray of int, shape (n,)
        M on the grid.
    branches : tuple of Branch
    n_states : int
        Distinct minima found at the reference, also those that were not followed.
    n_starts : int
        Start states of the search.
    n_undecided : int
        Starts that did not end at a verified strict minimum.
    lowest_energy : float
        Γ of the lowest minimum found at the reference, followed or not.
    """

    model: HopfieldModel
    beta: float
    at: float
    kappas: np.ndarray
    counts: np.ndarray
    branches: tuple[Branch, ...]
    n_states: int
    n_starts: int
    n_undecided: int
    lowest_energy: float

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} of {self.n_states} minima at kappa={self.at:.6g}, "
            f"followed in [{self.kappas[0]:.6g}, {self.kappas[-1]:.6g}] at beta={self.beta:.6g}; "
            f"{self.model!r})"
        )

    def __len__(self) -> int:
        return len(self.branches)

    @overload
    def __getitem__(self, index: int) -> Branch: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Branch, ...]: ...
    def __getitem__(self, index: int | slice) -> Branch | tuple[Branch, ...]:
        return self.branches[index]

    def __iter__(self) -> Iterator[Branch]:
        return iter(self.branches)


def load_branches(
    sequence: PatternSequence,
    at: float,
    kappas: Any,
    beta: float = 180.0,
    alpha: float = 2.0,
    *,
    top: int | None = None,
    states: Sequence[Any] = (),
    seed: int = 0,
    threads: int | None = None,
) -> LoadBranchSet:
    """Find the minima at a reference κ₀ and follow each through a range of κ, patterns joining and leaving.

    At α > 1 a state stays exactly as it is until a pattern passes θ as it joins, or one of its support
    leaves. Every such event is met to the single pattern, whatever the grid. It is a kink where the new
    state, relaxed among the patterns of before, returns to the old one; otherwise the branch ends there.

    At α ≤ 1 every pattern moves every state. A branch then is one piece, kept on the grid and followed in
    steps as in `hopfieldphase.continuation.kappa.kappa_sweep`: its ends are single patterns whose joining
    (leaving) cannot be undone; not seen is a state that ceases to exist and is back again within one smooth
    step.

    Parameters
    ----------
    sequence : PatternSequence
        M(κ) = round(exp(κ d)) patterns are its first ones.
    at : float
        The reference κ₀, inside the range.
    kappas : array, shape (n,)
        Strictly ascending; the range is from the first to the last.
    beta : float
        Inverse temperature β > 0.
    alpha : float
        Tsallis index in (0, inf].
    top : int, optional
        Follow the first ones only: by falling z_max, then rising Γ, then the first start that led there.
        By default all.
    states : sequence of arrays (d,)
        Start states beside the patterns, their mixtures, the low-β state and the low-load state (of the mean
        pattern at the lowest κ, carried to κ₀).
    seed : int
        Seed of the random mixtures among the starts.
    threads : int, optional
        Threads over the branches; results do not depend on it.

    Returns
    -------
    LoadBranchSet
        A sequence of `Branch` with parameter "kappa". ``branch.at(kappa)`` is the state among M(κ) patterns.
        Piece ends are log(M)/d of the first and the last M on which the state holds. A special point stands
        at the M that is the first beyond, where the pattern has joined or left (`bracket`: this M and its
        neighbour); `landing` is the state there if it is a jump.

    Raises
    ------
    InputError
        If κ₀ lies outside the range, `top` is not positive, no minimum is found, or β, α or the grid lie
        outside their domain.
    """
    axis, counts = pattern_counts(kappas, sequence.d)
    beta = inverse_temperature(beta)
    at = float(at)
    if not axis[0] <= at <= axis[-1]:
        raise InputError(
            f"the reference kappa = {at:.12g} lies outside the range [{axis[0]:.12g}, {axis[-1]:.12g}]: "
            "choose a reference inside the range, or a wider range"
        )
    if top is not None and top < 1:
        raise InputError(f"top = {top}: follow at least one branch, or None for all")
    model = HopfieldModel(sequence.take(int(counts[-1])), alpha)
    start = count_at(at, model.d)
    reference = HopfieldModel(model.patterns[:start], model.alpha, model.scale)
    low_load = follow_load(reference, np.array([counts[0], start]), beta, UP, "mean", _OPTIONS, False).last
    found = discover(reference, beta, beta_low=beta / 16, states=(low_load, *states), seed=seed)
    if not found.states:
        raise InputError(
            f"none of {found.n_starts} starts reaches a strict minimum at kappa = {at:.12g}, M = {start}: "
            "choose another reference or beta"
        )
    chosen = found.states[:top]
    tracer = _Tracer(crowd_of(model, int(counts[-1])), reference, beta, at, counts)
    followed: dict[int, Branch] = {}

    def chunk(first: int, stop: int) -> None:
        for i in range(first, stop):
            followed[i] = tracer.follow(chosen[i])

    run_chunks(chunk, len(chosen), threads)
    return LoadBranchSet(
        model=model,
        beta=beta,
        at=at,
        kappas=axis,
        counts=counts,
        branches=tuple(followed[i] for i in range(len(chosen))),
        n_states=len(found.states),
        n_starts=found.n_starts,
        n_undecided=found.n_undecided,
        lowest_energy=min(state.free_energy for state in found.states),
    )


@dataclass(frozen=True, eq=False)
class _End:
    """Where one way ends: the last M, and the pattern and the landing state of a jump."""

    M: int
    pattern: int | None = None
    landing: Held | None = None


class _Tail(Walk):
    """A walk that keeps its states and ends at the first jump."""

    def __init__(self, crowd: Crowd, beta: float, loads: list[int], kept: list[Held]) -> None:
        super().__init__(crowd, beta, _OPTIONS, loads, False)
        self.kept = kept
        self.end = _End(loads[-1])

    def record(self, before: Point, moved: float, jumped: bool) -> None:
        now = held(self)
        if not jumped:
            self.kept.append(now)
            return
        if self.crowd.alpha <= 1.0 and self.kept[-1].M != before.M:
            self.kept.append(held_before(self, before))
        self.end = _End(before.M, min(before.M, self.M), now)
        self.stopped = True

    def observe(self, M: int) -> None:
        # At α > 1 the state of an event holds up to the next one.
        if not self.kept or (self.crowd.alpha <= 1.0 and self.kept[-1].M != M):
            self.kept.append(held(self))


@dataclass(frozen=True, eq=False)
class _Tracer:
    """Follows minima at the reference through the range."""

    crowd: Crowd
    reference: HopfieldModel
    beta: float
    at: float
    counts: np.ndarray

    def follow(self, state: State) -> Branch:
        """The branch of a minimum at the reference, both ways."""
        down, low = self._tail(state, DOWN)
        up, high = self._tail(state, UP)
        known = [*down[:0:-1], *up]
        if self.crowd.alpha <= 1.0:
            pieces, points = self._one_piece(known, low, high)
        else:
            pieces, points = self._pieces(down, up, low, high)
        bad = [one.status for one in known if one.status is not Status.CONVERGED]
        return Branch(
            model=self.reference,
            parameter="kappa",
            reference=self.at,
            pieces=pieces,
            special_points=points,
            status=bad[0] if bad else Status.CONVERGED,
        )

    def _tail(self, state: State, way: int) -> tuple[list[Held], _End]:
        start = self.reference.M
        if way == UP:
            beyond = self.counts[self.counts > start].tolist()
        else:
            beyond = self.counts[self.counts < start][::-1].tolist()
        if self.crowd.alpha > 1.0:
            beyond = beyond[-1:]
        kept: list[Held] = []
        walk = _Tail(self.crowd, self.beta, [start, *beyond], kept)
        walk.begin(state.x)
        walk.go(way)
        return kept, walk.end

    def _one_piece(
        self, known: list[Held], low: _End, high: _End
    ) -> tuple[tuple[Piece, ...], tuple[SpecialPoint, ...]]:
        reference = next(one for one in known if one.M == self.reference.M)
        ends = [
            self._end(end, sign, next(one for one in known if one.M == end.M))
            for end, sign in ((low, -1), (high, 1))
        ]
        piece = SteppedPiece(
            support=reference.support,
            lower=self._kappa(low.M),
            upper=self._kappa(high.M),
            lower_event=ends[0],
            upper_event=ends[1],
            index=0,
            crowd=self.crowd,
            beta=self.beta,
            known=tuple(known),
            walk=partial(_Tail, self.crowd, self.beta),
        )
        return (piece,), (ends[0], ends[1])

    def _pieces(
        self, down: list[Held], up: list[Held], low: _End, high: _End
    ) -> tuple[tuple[Piece, ...], tuple[SpecialPoint, ...]]:
        # A state met going down holds up to its first M, one met going up from its first M on.
        firsts = [low.M, *(one.M + 1 for one in down[:0:-1]), *(one.M for one in up[1:])]
        lasts = [*(first - 1 for first in firsts[1:]), high.M]
        states = [*down[:0:-1], *up]
        bounds = [self._end(low, -1, states[0])]
        bounds += [self._event(first, state) for first, state in zip(firsts[1:], states[1:], strict=True)]
        bounds.append(self._end(high, 1, states[-1]))
        pieces = []
        for k, (state, first, last) in enumerate(zip(states, firsts, lasts, strict=True)):
            left = bounds[0] if k == 0 else self._leaving(first, states[k - 1])
            pieces.append(
                ConstantPiece(
                    support=state.support,
                    lower=self._kappa(first),
                    upper=self._kappa(last),
                    lower_event=left,
                    upper_event=bounds[k + 1],
                    index=0,
                    crowd=self.crowd,
                    beta=self.beta,
                    held=state,
                )
            )
        return tuple(pieces), tuple(bounds)

    def _event(self, M: int, state: Held) -> SpecialPoint:
        """A kink, met going up: the last of M patterns enters."""
        return self._point(PointKind.ENTERS, M, (M - 1,), True, state, (M - 1, M))

    def _leaving(self, M: int, state: Held) -> SpecialPoint:
        """The same kink as it is met going down: the last of M patterns leaves, `state` is that beyond."""
        return self._point(PointKind.LEAVES, M - 1, (M - 1,), True, state, (M - 1, M))

    def _end(self, end: _End, sign: int, last: Held) -> SpecialPoint:
        if end.landing is None or end.pattern is None:
            return self._point(PointKind.RANGE, end.M, (), False, last, (end.M, end.M))
        kind = PointKind.ENTERS if sign > 0 else PointKind.LEAVES
        return self._point(
            kind, end.M + sign, (end.pattern,), False, last, (end.pattern, end.pattern + 1), end.landing
        )

    def _point(
        self,
        kind: PointKind,
        M: int,
        patterns: tuple[int, ...],
        goes_on: bool,
        state: Held,
        counts: tuple[int, int],
        landing: Held | None = None,
    ) -> SpecialPoint:
        # The state at a jump is the last one on the branch, one pattern before.
        own = M if landing is None else sum(counts) - M
        met = [one.status for one in (state, landing) if one and one.status is not Status.CONVERGED]
        return SpecialPoint(
            kind=kind,
            parameter=self._kappa(M),
            goes_on=goes_on,
            patterns=patterns,
            state=state.among(self.crowd, own, self._kappa(own), self.beta),
            bracket=(self._kappa(counts[0]), self._kappa(counts[1])),
            status=met[0] if met else Status.CONVERGED,
            landing=None if landing is None else landing.among(self.crowd, M, self._kappa(M), self.beta),
        )

    def _kappa(self, M: int) -> float:
        return math.log(M) / self.crowd.patterns.shape[1]
