"""Problems of a few patterns that stand for all: exact where α > 1, and certified (see `kernels.bounds`)."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hopfieldphase.core.errors import HopfieldPhaseError, InputError
from hopfieldphase.core.patterns.blocks import StoredRows, block_bounds, memory, take_rows
from hopfieldphase.kernels import million as kernel
from hopfieldphase.kernels.bounds import MARGIN, LeftOut, nothing
from hopfieldphase.kernels.dense import rows_times
from hopfieldphase.kernels.relax import relax
from hopfieldphase.kernels.steps import Problem, workspace
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import SolverOptions

SCREENED_FROM = 50_000
"""Patterns from which on relaxations and sweeps screen them (α > 1)."""

LEAST_POOL = 1024
POOL_SHARE = 128
"""A reference keeps at least so many patterns at hand, or one in so many."""

_LATER = 8
MOST_LOST, LEAST_LOST = 2, 8
"""A relaxation that begins again is made with all patterns when so many times their cost is lost."""


class ScreeningError(HopfieldPhaseError, ArithmeticError):
    """A pattern that was left out has weight: the patterns changed while they were read."""


def is_screened(model: HopfieldModel) -> bool:
    """Whether only the patterns that can matter are touched: α > 1 and many patterns, or they are on disk."""
    return model.alpha > 1 and is_large(model)


def is_large(model: HopfieldModel) -> bool:
    """Whether the patterns are many, or in chunks on disk."""
    return model.M >= SCREENED_FROM or isinstance(model.patterns, StoredRows)


def floating_type(model: HopfieldModel) -> np.dtype[Any]:
    """The type of the patterns, without reading them."""
    known = isinstance(model.patterns, np.ndarray | StoredRows)
    return model.patterns.dtype if known else np.asarray(model.patterns).dtype


def blocks_of(patterns: Any, task: Any, threads: int | None = None) -> None:
    """Call ``task(first, rows)`` for every block of rows, over threads; the kernels take what it gets."""
    bounds = block_bounds(patterns.shape)

    def chunk(first: int, last: int) -> None:
        for start, stop in bounds[first:last]:
            task(start, np.require(patterns[start:stop], requirements=["C", "W"]))

    run_chunks(chunk, len(bounds), threads)


@dataclass(eq=False)
class Screen:
    """The patterns of a model near a path of states: those that can matter, and proof for all others.

    Attributes
    ----------
    passes : int
        How often all patterns were read.
    """

    model: HopfieldModel
    reach: np.ndarray
    passes: int = 0
    rows: np.ndarray = field(init=False)
    _references: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(init=False, default_factory=list)
    _left_out: LeftOut = field(init=False)
    _z: np.ndarray = field(init=False)
    _distance: np.ndarray = field(init=False)
    _scratch: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        M = self.model.M
        self._z, self._distance, self._scratch = np.empty(M), np.empty(M), np.empty(2 * M)

    def clear(self) -> None:
        """Forget all references."""
        self._references.clear()

    def refer(self, x: np.ndarray, beta: float) -> Problem:
        """Compute all overlaps at x: the problem of the patterns that can matter near this or any reference.

        All patterns are taken where that is most of them.

        Raises
        ------
        InputError
            If these do not fit into memory.
        """
        model = self.model
        overlaps(model, x, self._z)
        self.passes += 1
        level = kernel.threshold_of(self._z, model.alpha, beta, self._scratch)
        # Patterns that tie with the threshold are among those that matter.
        level -= 2.0 * MARGIN * model.state_scale * float(np.linalg.norm(x))
        inside = kernel.distances(self._z, self.reach, level, self._distance)
        # The first of several references is likely to serve a whole stretch, the others a moment.
        share = _LATER if self._references else 1
        wanted = max(LEAST_POOL // share, model.M // (POOL_SHARE * share), 4 * inside)
        if 2 * wanted >= model.M:
            return self.everything()
        limit = np.partition(self._distance, wanted)[wanted]
        chosen, chord = np.empty(model.M, dtype=np.int64), np.empty(3)
        n = kernel.choose(self._distance, limit, self._z, self.reach, chosen, chord)
        self._references.append((x.copy(), chosen[:n].copy(), chord))
        self.rows = np.unique(np.concatenate([rows for _, rows, _ in self._references]))
        if 2 * self.rows.size >= model.M:
            return self.everything()
        self._left_out = LeftOut(
            np.array([at for at, _, _ in self._references]),
            np.array([bound for _, _, bound in self._references]),
            np.zeros(2, dtype=np.int64),
            np.empty(model.d),
        )
        patterns = take_rows(model.patterns, self.rows)
        return Problem(patterns, model.scale, model.alpha, model.state_scale, self._left_out)

    @property
    def touched(self) -> int:
        """Overlaps that were computed of the patterns at hand since the last reference."""
        return int(self._left_out.broken[1]) * self.rows.size

    def broken_at(self) -> np.ndarray | None:
        """The first state that needed a pattern left out, None where there was none."""
        return self._left_out.where.copy() if self._left_out.broken[0] else None

    def gives_up(self, lost: int) -> bool:
        """Whether so many overlaps lost by beginning again are more than all patterns would have cost.

        Never where the patterns exceed the memory.
        """
        evaluations = max(int(self._left_out.broken[1]), LEAST_LOST)
        return lost > MOST_LOST * evaluations * self.model.M and self._fits

    @property
    def _fits(self) -> bool:
        """Whether the kernels can have all patterns: where they lie, or as a copy."""
        patterns = self.model.patterns
        as_it_is = isinstance(patterns, np.ndarray) and patterns.dtype == np.float64
        return as_it_is or self.model.M * self.model.d * 8 <= memory() // 2

    def everything(self) -> Problem:
        """The problem of all patterns; `InputError` where they do not fit into memory."""
        model = self.model
        if not self._fits:
            raise InputError(
                f"the state needs most of the {model.M} patterns at once, which is more than half of the "
                "memory: choose larger beta, where fewer patterns have weight"
            )
        self.rows = np.arange(model.M)
        self._left_out = nothing(model.d)
        patterns = np.ascontiguousarray(np.asarray(model.patterns), dtype=np.float64)
        return Problem(patterns, model.scale, model.alpha, model.state_scale, self._left_out)


def reaches(model: HopfieldModel, threads: int | None = None) -> np.ndarray:
    """s|ξ| of every pattern, shape (M,): how fast its overlap can change."""
    out = np.empty(model.M)
    blocks_of(
        model.patterns,
        lambda start, rows: kernel.norms(rows, model.scale, out[start : start + len(rows)]),
        threads,
    )
    return out


def overlaps(model: HopfieldModel, x: np.ndarray, z: np.ndarray) -> None:
    """Fill z with all overlaps s Ξ x, block by block."""
    blocks_of(
        model.patterns,
        lambda start, rows: rows_times(rows, x, model.scale, z[start : start + len(rows)]),
    )


@dataclass(frozen=True, eq=False)
class Relaxed:
    """The outcome of `kernels.relax`, the state, and its overlaps and weights with all patterns."""

    outcome: tuple[Any, ...]
    x: np.ndarray
    overlaps: np.ndarray
    weights: np.ndarray


def relax_screened(
    model: HopfieldModel, reach: np.ndarray, beta: float, x0: np.ndarray, options: SolverOptions
) -> Relaxed:
    """Relax x0 among the patterns that can matter on the way; the overlaps with all others certify the end.

    Raises
    ------
    ScreeningError
        If the certificate fails.
    """
    screen = Screen(model, reach)
    lost = 0
    problem = screen.refer(x0, beta)
    while True:
        work = workspace(screen.rows.size, model.d)
        outcome = relax(
            problem, beta, x0, options.method, options.tolerance, options.max_steps, options.polish, work
        )
        where = screen.broken_at()
        if where is None:
            break
        lost += screen.touched
        problem = screen.everything() if screen.gives_up(lost) else screen.refer(where, beta)
    z, p = np.empty(model.M), np.zeros(model.M)
    overlaps(model, work.x, z)
    p[screen.rows] = work.p
    level = z.max() if np.isinf(model.alpha) and p[z.argmax()] else outcome[2]
    gap = np.max(z, where=p == 0, initial=-np.inf) - level
    _refuse(gap, beta, model, work.x)
    return Relaxed(outcome, work.x, z, p)


def _refuse(gap: float, beta: float, model: HopfieldModel, x: np.ndarray) -> None:
    """Raise `ScreeningError` where a pattern without weight lies above the threshold."""
    if gap > MARGIN * model.state_scale * float(np.linalg.norm(x)):
        raise ScreeningError(
            f"a pattern that was left out at beta = {beta:g} has an overlap {gap:.3g} above the threshold: "
            "the patterns have changed while they were read"
        )


@dataclass(frozen=True, eq=False)
class Seen:
    """What all patterns are to the states of a path, by one product of both.

    Attributes
    ----------
    gap : ndarray, shape (n,)
        The largest z − θ of a pattern without weight; −inf where all have weight.
    overlap_max, above : ndarray, shape (n,)
        max |z|, and the number of overlaps above a threshold.
    """

    gap: np.ndarray
    overlap_max: np.ndarray
    above: np.ndarray


def certify(
    model: HopfieldModel,
    betas: np.ndarray,
    states: np.ndarray,
    thresholds: np.ndarray,
    supports: list[np.ndarray],
    overlap_threshold: float,
    threads: int | None = None,
) -> Seen:
    """Check by one blocked product that no pattern outside the supports has weight in any of the states.

    Parameters
    ----------
    model : HopfieldModel
    betas, states, thresholds : ndarray, shapes (n,), (n, d), (n,)
        The states, and θ as it was found among the patterns at hand.
    supports : list of ndarray of int
        The patterns with weight, ascending.
    overlap_threshold : float
        Overlaps above it are counted.

    Raises
    ------
    ScreeningError
        If one has: the first such state is named.
    """
    n = len(states)
    starts = np.concatenate([[0], np.cumsum([rows.size for rows in supports])]).astype(np.int64)
    members = np.concatenate(supports).astype(np.int64)
    states, thresholds = np.ascontiguousarray(states), np.ascontiguousarray(thresholds)
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []

    def part(first: int, rows: np.ndarray) -> None:
        gap, largest, above = np.full(n, -np.inf), np.zeros(n), np.zeros(n, dtype=np.int64)
        kernel.tally(
            rows, first, states, model.scale, thresholds, starts, members, overlap_threshold, gap, largest,
            above,
        )  # fmt: skip
        parts.append((gap, largest, above))

    blocks_of(model.patterns, part, threads)
    gap = np.max([part[0] for part in parts], axis=0)
    for k in range(n):
        _refuse(float(gap[k]), float(betas[k]), model, states[k])
    return Seen(gap, np.max([part[1] for part in parts], axis=0), np.sum([part[2] for part in parts], axis=0))
