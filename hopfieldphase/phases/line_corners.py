"""What a line can go on with where a condition of its equations fails: another support, another cluster."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hopfieldphase.continuation.equations import Vector
from hopfieldphase.phases.families import Family
from hopfieldphase.phases.line_parts import Condition, Limit, Part
from hopfieldphase.phases.line_problems import (
    ZERO,
    CoexistenceProblem,
    EntryProblem,
    FoldProblem,
    InstabilityProblem,
    LineKind,
    LineProblem,
)

# On a flat segment the ends lie apart by at least this much weight.
_APART = 1e-6


@dataclass(frozen=True)
class Corner:
    """A point at which one condition of a line fails.

    Attributes
    ----------
    family : Family
    ys, betas : tuple of float
        Ranges of y and β.
    problem : LineProblem
        The system that ends here.
    condition : Condition
        The condition that fails.
    unknowns : ndarray
        The unknowns of the system at the corner.
    y : float
    """

    family: Family
    ys: tuple[float, float]
    betas: tuple[float, float]
    problem: LineProblem
    condition: Condition
    unknowns: Vector
    y: float

    @property
    def tau(self) -> float:
        """ln(βg)."""
        return float(self.unknowns[-1])

    def part(self, state: int, weights: Vector, support: np.ndarray) -> Part:
        """The equations of a state with another support."""
        weights = np.where(support, np.maximum(weights, 0.0), 0.0)
        unit = self.problem.parts[0].unit
        chart = self.problem.parts[state].chart
        return Part(self.family, weights, support, self.tau, self.y, self.ys, chart, unit, state)

    def support(self, state: int) -> np.ndarray:
        """The patterns that may have weight before the corner."""
        part = self.problem.parts[state]
        return np.isin(np.arange(len(part.family.patterns(self.y))), part.equations.inside)


Successor = tuple[LineProblem, tuple[int, ...]]


def successors(corner: Corner) -> Iterator[Successor]:
    """Systems that may hold beyond a corner, each with the monitors that must become positive there."""
    problem, limit = corner.problem, corner.condition.limit
    if isinstance(problem, EntryProblem):
        if limit in (Limit.ENTERS, Limit.LEAVES):
            yield from _exchanged(corner, problem)
        elif limit in (Limit.KINK, Limit.CURVATURE) and corner.family.alpha_at(corner.y) == 2.0:
            yield from _across(corner, problem)
    elif isinstance(problem, InstabilityProblem) and limit is Limit.CURVATURE:
        yield from _other_cluster(corner, problem)
    elif isinstance(problem, CoexistenceProblem | FoldProblem) and limit in (Limit.ENTERS, Limit.LEAVES):
        yield _other_support(corner)


def _exchanged(corner: Corner, problem: EntryProblem) -> Iterator[Successor]:
    """One of the two patterns that reach the threshold together enters first, or takes the other's place."""
    acting, entering = corner.condition.patterns, problem.entering
    (weights,) = problem.weights(corner.unknowns, corner.y)
    support = corner.support(0)
    support[list(acting)] = False
    if not support.any():
        return
    first = entering if corner.condition.limit is Limit.LEAVES else acting
    second = acting if first is entering else entering
    yield _entry(corner, weights, support, first, problem.kind, Limit.ENTERS, second)
    if problem.kind is LineKind.ENTRY:
        support = support.copy()
        support[list(first)] = True
        yield _entry(corner, weights, support, second, problem.kind, Limit.LEAVES, first)


def _across(corner: Corner, problem: EntryProblem) -> Iterator[Successor]:
    """At α = 2 a vanishing eigenvalue means a flat segment of states: the line goes on at its other end."""
    (weights,) = problem.weights(corner.unknowns, corner.y)
    support = corner.support(0)
    if corner.condition.limit is Limit.KINK:
        support[list(problem.entering)] = True
    part = corner.part(0, weights, support)
    found = part.curvature(part.start, corner.tau, corner.y)
    way = np.zeros(len(weights))
    way[found.support] = found.changes[:, 0]
    gram = corner.family.gram(corner.y) / part.unit
    gaps = float(part.start[-1]) - 2.0 * np.exp(-corner.tau) - gram @ weights
    # The threshold moves with the overlaps of the support, all by the same amount.
    drift = gram @ way
    slopes = float(np.mean(drift[support] - 2.0 * np.exp(-corner.tau) * way[support])) - drift
    for sign in (1.0, -1.0):
        with np.errstate(divide="ignore", invalid="ignore"):
            leave = np.where(support & (sign * way < 0), -weights / (sign * way), np.inf)
            enter = np.where(~support & (sign * slopes < 0), -gaps / (sign * slopes), np.inf)
        reach = np.minimum(leave, enter)
        pattern = int(np.argmin(reach))
        if not _APART < reach[pattern] < np.inf:
            continue
        end, inner = weights + sign * reach[pattern] * way, support.copy()
        inner[pattern] = False
        opening = Limit.KINK if leave[pattern] <= enter[pattern] else Limit.CURVATURE
        yield _entry(corner, end, inner, (pattern,), problem.kind, opening, ())


def _other_cluster(corner: Corner, problem: InstabilityProblem) -> Iterator[Successor]:
    """Another cluster of eigenvalues vanishes first."""
    (weights,) = problem.weights(corner.unknowns, corner.y)
    state = corner.part(0, weights, corner.support(0))
    found = state.curvature(state.start, corner.tau, corner.y)
    small = np.abs(found.values) <= ZERO * max(1.0, float(np.abs(found.values).max()))
    vanishing = small & ~problem.cluster(found.vectors)
    if vanishing.any():
        other = InstabilityProblem(state, corner.tau, corner.y, corner.betas, found.vectors[:, vanishing])
        yield other, _openings(other, Limit.CURVATURE)


def _other_support(corner: Corner) -> Successor:
    """A pattern has entered or left a state at its fold, or one of two states that coexist."""
    weights = corner.problem.weights(corner.unknowns, corner.y)
    condition = corner.condition
    entered = condition.limit is Limit.ENTERS
    parts = []
    for state, p in enumerate(weights):
        support = corner.support(state)
        if state == condition.state:
            support[list(condition.patterns)] = entered
        parts.append(corner.part(state, p, support))
    if len(parts) == 1:
        joined = FoldProblem(parts[0], corner.tau, corner.y, corner.betas)
    else:
        joined = CoexistenceProblem(parts[0], parts[1], corner.tau, corner.y, corner.betas)
    limit = Limit.LEAVES if entered else Limit.ENTERS
    return joined, _openings(joined, limit, condition.patterns, condition.state)


def _entry(
    corner: Corner,
    weights: Vector,
    support: np.ndarray,
    entering: tuple[int, ...],
    kind: LineKind,
    limit: Limit,
    patterns: tuple[int, ...],
) -> Successor:
    part = corner.part(0, weights, support)
    problem = EntryProblem(part, entering, corner.tau, corner.y, corner.betas, kind)
    return problem, _openings(problem, limit, patterns)


def _openings(
    problem: LineProblem, limit: Limit, patterns: tuple[int, ...] = (), state: int = 0
) -> tuple[int, ...]:
    """The monitors of one kind, those that hold some of the patterns where any are given."""
    return tuple(
        problem.position(n)
        for n, condition in enumerate(problem.conditions)
        if condition.limit is limit
        and condition.state == state
        and (not patterns or set(patterns) & set(condition.patterns))
    )
