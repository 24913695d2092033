"""Branches of fixed points of retrieval with any attention map, in the inverse temperature."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import numpy as np

from hopfieldphase.continuation.discovery import pattern_starts
from hopfieldphase.continuation.map_curve import MapCurve, MapProblem, continue_map
from hopfieldphase.continuation.map_sweep import SAME_STATE
from hopfieldphase.continuation.stepping import Steps
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.model import AttentionModel
from hopfieldphase.solvers.fixed_points import (
    MAX_STEPS,
    Vector,
    fixed_point_sentence,
    numpy_model,
    residual_tolerance,
    settle,
)
from hopfieldphase.solvers.options import start_state

_FIRST_UPDATES = 32
_TIED = 1e-9


@dataclass(frozen=True, eq=False)
class MapBranchSet(Sequence[MapCurve]):
    """The branches of fixed points found at one reference, in the order of their rank there.

    Attributes
    ----------
    model : AttentionModel
    at : float
        The reference β₀.
    betas : tuple of float
        The range in which they were followed.
    branches : tuple of MapCurve
    states : ndarray, shape (n, d)
        The state at the reference from which each branch was followed.
    n_states : int
        Distinct attracting fixed points found at the reference, also those that were not followed.
    n_starts : int
        Start states of the search.
    n_undecided : int
        Starts that did not end at an attracting fixed point.
    """

    model: AttentionModel = field(repr=False)
    at: float
    betas: tuple[float, float]
    branches: tuple[MapCurve, ...] = field(repr=False)
    states: Vector = field(repr=False)
    n_states: int
    n_starts: int
    n_undecided: int

    def __len__(self) -> int:
        return len(self.branches)

    @overload
    def __getitem__(self, index: int) -> MapCurve: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[MapCurve, ...]: ...
    def __getitem__(self, index: int | slice) -> MapCurve | tuple[MapCurve, ...]:
        return self.branches[index]

    def __iter__(self) -> Iterator[MapCurve]:
        return iter(self.branches)


def map_problem(model: AttentionModel) -> MapProblem:
    """The update T(x, β) with its derivatives, for `continue_map`; NaN where β is not positive."""
    plain = numpy_model(model)
    nothing = np.full(plain.d, np.nan)

    def update(x: Vector, beta: float) -> Vector:
        return plain.retrieve(x, beta) if beta > 0 else nothing

    def jacobian(x: Vector, beta: float) -> Vector:
        return plain.map_jacobian(x, beta) if beta > 0 else np.diag(nothing)

    def slope(x: Vector, beta: float) -> Vector:
        return plain.beta_derivative(x, beta) if beta > 0 else nothing

    return MapProblem(update, jacobian, slope, plain.has_free_energy, plain.state_scale)


def follow_map(
    model: AttentionModel, x: Any, beta: float, betas: Any, *, steps: Steps | None = None
) -> MapCurve:
    """Follow the branch of the fixed point that a state runs into, both ways in β.

    Parameters
    ----------
    model : AttentionModel
    x : array, shape (d,)
        A state; the branch is that of the attracting fixed point that its updates lead to at `beta`.
    beta : float
        The reference, inside the range.
    betas : array
        The range is from its smallest to its largest value; all of them are points of the curve.
    steps : Steps, optional
        Step lengths and their cap.

    Returns
    -------
    MapCurve
        Through folds and along unstable arms, to the ends of the range or to where the map jumps.

    Raises
    ------
    InputError
        If β lies outside the range, or the updates reach no attracting fixed point.

    Notes
    -----
    Jumps of the map (a change of the selected patterns) end a branch. Corners (a weight that vanishes with a
    slope) do not: those that turn the branch much are special points, others are passed unnoticed.
    """
    plain = numpy_model(model)
    at, values = _range(beta, betas)
    found = settle(plain, start_state(plain, x), at, residual_tolerance(None), MAX_STEPS)
    if found.status is not Status.CONVERGED:
        instead = fixed_point_sentence(found.status)
        raise InputError(
            f"the state reaches no attracting fixed point at beta = {at:.12g} ({instead}): "
            "start from another state, or at another beta"
        )
    return _follow(plain, found.x, at, values, steps)


def map_branches(
    model: AttentionModel,
    at: float,
    betas: Any,
    *,
    top: int | None = None,
    states: Sequence[Any] = (),
    seed: int = 0,
) -> MapBranchSet:
    """Find the attracting fixed points at a reference β₀ and follow the branch of each through a range of β.

    Parameters
    ----------
    model : AttentionModel
    at : float
        The reference β₀, inside the range.
    betas : array
        As in `follow_map`.
    top : int, optional
        Follow the first ones only: by falling z_max, then the first start that led there. By default all.
    states : sequence of arrays (d,)
        Start states beside the patterns and their mixtures.
    seed : int
        Seed of the random mixtures among the starts.

    Returns
    -------
    MapBranchSet
        A sequence of `MapCurve`. Fixed points that folds join to one curve give one branch.

    Raises
    ------
    InputError
        If β₀ lies outside the range, `top` is not positive, or no attracting fixed point is found.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.core.attention.positive import SquaredElu
    >>> model = hp.HopfieldModel(hp.patterns.clustered(20, 8), attention=SquaredElu())
    >>> found = map_branches(model, at=40.0, betas=(10.0, 80.0))
    >>> [[str(point.kind) for point in curve.special_points] for curve in found]
    [['range', 'range'], ['range', 'fold', 'range']]
    """
    plain = numpy_model(model)
    at, values = _range(at, betas)
    if top is not None and top < 1:
        raise InputError(f"top = {top}: follow at least one branch, or None for all")
    starts = [x for _, x in pattern_starts(plain, seed)] + [start_state(plain, x) for x in states]
    x = np.array(starts)
    for _ in range(_FIRST_UPDATES):  # all at once, which is cheap
        x = plain.retrieve(x, at)
    tolerance = residual_tolerance(None)
    found = [settle(plain, state, at, tolerance, MAX_STEPS) for state in x]
    fixed = [point.x for point in found if point.status is Status.CONVERGED]
    distinct = _ranked(plain, _distinct(plain, fixed))
    if not distinct:
        raise InputError(
            f"none of {len(starts)} starts reaches an attracting fixed point at beta = {at:.12g}: choose "
            "another reference"
        )
    branches: list[MapCurve] = []
    origins: list[Vector] = []
    for state in distinct:
        if top is not None and len(branches) == top:
            break
        if not any(_holds(plain, branch, state, at) for branch in branches):
            branches.append(_follow(plain, state, at, values, None))
            origins.append(state)
    return MapBranchSet(
        model=plain,
        at=at,
        betas=(float(values[0]), float(values[-1])),
        branches=tuple(branches),
        states=np.array(origins),
        n_states=len(distinct),
        n_starts=len(starts),
        n_undecided=len(starts) - len(fixed),
    )


def _follow(model: AttentionModel, x: Vector, at: float, values: Vector, steps: Steps | None) -> MapCurve:
    low, high = float(values[0]), float(values[-1])
    requested = sorted({at, *values.tolist()})
    return continue_map(map_problem(model), x, at, p_min=low, p_max=high, requested=requested, steps=steps)


def _holds(model: AttentionModel, branch: MapCurve, state: Vector, at: float) -> bool:
    """Whether a branch passes through a state."""
    return any(_same(model, other, state) for other in branch.at(at))


def _distinct(model: AttentionModel, states: list[Vector]) -> list[Vector]:
    """The first of each group of equal states."""
    found: list[Vector] = []
    for state in states:
        if not any(_same(model, other, state) for other in found):
            found.append(state)
    return found


def _same(model: AttentionModel, a: Vector, b: Vector) -> bool:
    length = max(model.state_scale, float(np.linalg.norm(b)))
    return float(np.linalg.norm(a - b)) <= SAME_STATE * length


def _ranked(model: AttentionModel, states: list[Vector]) -> list[Vector]:
    """By falling z_max, those that are tied in their order."""
    unit = _TIED * model.state_scale**2
    return sorted(states, key=lambda x: -round(float(np.abs(model.overlaps(x)).max()) / unit))


def _range(at: Any, betas: Any) -> tuple[float, Vector]:
    at = inverse_temperature(at)
    values = np.unique(np.asarray(betas, dtype=np.float64).ravel())
    if values.size < 2 or not (np.isfinite(values).all() and values[0] > 0):
        raise InputError(
            f"betas has {values.size} values or one that is not positive and finite: "
            "give at least the lowest and the highest inverse temperature"
        )
    if not values[0] <= at <= values[-1]:
        raise InputError(
            f"the reference beta = {at:.12g} lies outside the range [{values[0]:.12g}, {values[-1]:.12g}]: "
            "choose a reference inside the range, or a wider range"
        )
    return at, values
