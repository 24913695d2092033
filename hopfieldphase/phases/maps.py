"""Maps of a phase diagram: what is found in every cell of one row, at one value of the second parameter."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.discovery import SAME_STATE
from hopfieldphase.continuation.equations import Matrix, Vector
from hopfieldphase.continuation.sweep import sweep
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.status import Status
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers import Solution, relax_many

RETRIEVED = 0.9
"""A query is retrieved when its pattern has most of the weight, and this part of its overlap with itself."""

MOST_STARTS = 48
"""Patterns, and pairs of patterns, from which coexisting states are searched in a cell."""

_STREAM = 7
_HALF = 0.5 + 1e-6


@dataclass(frozen=True)
class Queries:
    """Noisy queries x = s (ξ_μ + σ |ξ_μ| g/√d), g ~ N(0, I_d), the same in every cell of a realization.

    Attributes
    ----------
    count : int
        Their number; the patterns μ are drawn without repetition as long as there are enough.
    noise : float
        σ ≥ 0: norm of the noise relative to that of the pattern.
    seed : int
    """

    count: int = 16
    noise: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        whole_number("queries", self.count)
        real_number("query_noise", self.noise, 0, 100)
        whole_number("seed", self.seed, at_least=0)

    def draw(self, model: HopfieldModel) -> tuple[NDArray[np.int64], Matrix]:
        """The patterns asked for, (count,), and the states, (count, d)."""
        generator = np.random.default_rng([_STREAM, self.seed])
        noise = generator.standard_normal((self.count, model.d)) / np.sqrt(model.d)
        rounds = -(-self.count // model.M)
        order = np.concatenate([generator.permutation(model.M) for _ in range(rounds)])[: self.count]
        xi = np.asarray(model.patterns, dtype=np.float64)[order]
        norms = np.linalg.norm(xi, axis=1, keepdims=True)
        return order, model.scale * (xi + self.noise * norms * noise)


@dataclass(frozen=True, eq=False)
class Row:
    """The cells of one row, each table (n,) over β; NaN (counts −1) where a cell has failed.

    Attributes
    ----------
    overlap_max, ipr : ndarray
        z_max and 1/Σp² of the state of lowest free energy that was found.
    n_states : ndarray of int
        Number of different minima found from both sweep states, the mean, single patterns and pairs.
    retrieval : ndarray
        Fraction of noisy queries that are retrieved.
    hysteresis : ndarray
        z_max of the sweep down minus that of the sweep up.
    status : ndarray of int8
        Worse status of both sweeps; a cell fails where it is neither CONVERGED nor BOUNDARY.
    saturation : float
        s² max|ξ|², the overlap of a stored pattern with itself.
    """

    overlap_max: Vector
    ipr: Vector
    n_states: NDArray[np.int64]
    retrieval: Vector
    hysteresis: Vector
    status: NDArray[np.int8]
    saturation: float


def map_row(
    model: HopfieldModel,
    betas: Any,
    queries: Queries,
    *,
    threads: int | None = None,
    cell_done: Callable[[], object] = lambda: None,
) -> Row:
    """Everything that is mapped, in every cell of one row.

    Parameters
    ----------
    model : HopfieldModel
        The model of this row.
    betas : array, shape (n,)
        Cell centres, strictly ascending.
    queries : Queries
        The noisy queries.
    threads : int, optional
        Threads for the starts of a cell; results do not depend on it.
    cell_done : callable
        Called after each cell.

    Returns
    -------
    Row
    """
    swept = sweep(model, betas, keep_states=True, threads=threads)
    asked, states = queries.draw(model)
    starts = np.concatenate([_starts(model), states])
    own = np.sum(np.asarray(model.patterns, dtype=np.float64)[asked] ** 2, axis=1) * model.scale**2
    path = np.asarray(swept.state)
    n = len(swept.values)
    tables = {name: np.full(n, np.nan) for name in ("overlap_max", "ipr", "retrieval", "hysteresis")}
    n_states = np.full(n, -1)
    status = swept.status.max(axis=0).astype(np.int8)
    for cell, beta in enumerate(swept.values.tolist()):
        if status[cell] in (Status.CONVERGED, Status.BOUNDARY):
            found = relax_many(model, [*path[:, cell], *starts], beta, threads=threads)
            searched, answers = found[: len(found) - len(asked)], found[-len(asked) :]
            minima = _distinct(searched, model.state_scale)
            lowest = min(minima or searched[:2], key=lambda solution: solution.free_energy)
            tables["overlap_max"][cell] = np.abs(lowest.overlaps).max()
            tables["ipr"][cell] = 1.0 / np.sum(lowest.weights**2)
            n_states[cell] = len(minima)
            tables["retrieval"][cell] = np.mean(_retrieved(answers, asked, own))
            tables["hysteresis"][cell] = swept.overlap_max[1, cell] - swept.overlap_max[0, cell]
        cell_done()
    return Row(**tables, n_states=n_states, status=status, saturation=swept.saturation)


def _starts(model: HopfieldModel) -> Matrix:
    """The mean, single patterns, and the pair of each with its nearest other."""
    scaled = model.scale * np.asarray(model.patterns, dtype=np.float64)
    first = scaled[:MOST_STARTS]
    starts = [scaled.mean(axis=0, keepdims=True), first]
    if model.M > 1:
        cosines = first @ scaled.T
        cosines[np.arange(len(first)), np.arange(len(first))] = -np.inf
        pairs = {(min(mu, nu), max(mu, nu)) for mu, nu in enumerate(np.argmax(cosines, axis=1).tolist())}
        starts.append(np.array([(scaled[mu] + scaled[nu]) / 2 for mu, nu in sorted(pairs)]))
    return np.concatenate(starts)


def _distinct(solutions: list[Solution], length: float) -> list[Solution]:
    """The first of each group of equal verified minima."""
    kept: list[Solution] = []
    for solution in solutions:
        if not solution.status.is_minimum:
            continue
        reach = SAME_STATE * max(length, float(np.linalg.norm(solution.x)))
        if all(float(np.linalg.norm(solution.x - other.x)) > reach for other in kept):
            kept.append(solution)
    return kept


def _retrieved(answers: list[Solution], asked: NDArray[np.int64], own: Vector) -> list[bool]:
    """Whether each answer is its pattern; the equal mixture of two similar patterns is neither of them."""
    return [
        bool(answer.weights[mu] > _HALF and answer.overlaps[mu] >= RETRIEVED * full)
        for answer, mu, full in zip(answers, asked, own, strict=True)
    ]
