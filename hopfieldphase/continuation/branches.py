"""Follow one branch, or all that are found at a reference: exact at α = 2, by arclength at every other α."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.branch import Branch, SpecialPoint, State
from hopfieldphase.continuation.discovery import SAME_STATE, discover, verified_minimum
from hopfieldphase.continuation.following import follow_arclength
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel


@dataclass(frozen=True, eq=False, repr=False)
class BranchSet(Sequence[Branch]):
    """The branches found at one reference, in the order of their rank there.

    Attributes
    ----------
    model : HopfieldModel
    at : float
        The reference β₀.
    betas : tuple of float
        The range in which they were followed.
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
    at: float
    betas: tuple[float, float]
    branches: tuple[Branch, ...]
    n_states: int
    n_starts: int
    n_undecided: int
    lowest_energy: float

    def __repr__(self) -> str:
        low, high = self.betas
        return (
            f"{type(self).__name__}({len(self)} of {self.n_states} minima at beta={self.at:.6g}, "
            f"followed in [{low:.6g}, {high:.6g}]; {self.model!r})"
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

    @property
    def special_points(self) -> tuple[tuple[int, SpecialPoint], ...]:
        """Every special point with the position of its branch."""
        return tuple((i, point) for i, branch in enumerate(self.branches) for point in branch.special_points)


def follow(model: HopfieldModel, x: Any, beta: float, betas: Any = None) -> Branch:
    """Follow the branch of the minimum that a state relaxes to, both ways in β.

    Parameters
    ----------
    model : HopfieldModel
        The patterns, α and the scale. α = 2 is followed exactly, any other α by pseudo-arclength.
    x : array, shape (d,)
        A state; the branch is that of the minimum it relaxes to at `beta`.
    beta : float
        The reference, inside the range.
    betas : array, optional
        The range is from its smallest to its largest value; values away from α = 2 are also hit
        exactly by the points of the curve. None, at α = 2 only: from zero to infinity.

    Returns
    -------
    Branch
        ``branch.at(beta)`` is the state, ``branch.pieces`` its supports, ``branch.ends`` what ends it.

    Raises
    ------
    InputError
        If β lies outside the range, no strict minimum is reached, or α = ∞.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> model = hp.HopfieldModel(hp.patterns.two_keys(0.5, d=4), scale=1.0)
    >>> pair = hp.follow(model, model.patterns.mean(axis=0), 2.0)
    >>> pair.ends[1].label, round(pair.upper, 12), pair.at(3.0).support
    ('spinodal', 4.0, (0, 1))
    """
    beta = inverse_temperature(beta)
    lower, upper, requested = _range(model, beta, betas)
    state = verified_minimum(model, x, beta)
    return _follow(model, state, beta, lower, upper, requested)


def branches(
    model: HopfieldModel,
    at: float,
    betas: Any = None,
    *,
    top: int | None = None,
    states: Sequence[Any] = (),
    seed: int = 0,
) -> BranchSet:
    """Find the minima at a reference β₀ and follow the branch of each through a range of β.

    Parameters
    ----------
    model : HopfieldModel
    at : float
        The reference β₀, inside the range.
    betas : array, optional
        As in `follow`.
    top : int, optional
        Follow the first ones only: by falling z_max, then rising Γ, then the first start that led there.
        By default all.
    states : sequence of arrays (d,)
        Start states beside the patterns, their mixtures and the low-β state.
    seed : int
        Seed of the random mixtures among the starts.

    Returns
    -------
    BranchSet
        A sequence of `Branch`. Minima that folds join to one curve give one branch.

    Raises
    ------
    InputError
        If β₀ lies outside the range, `top` is not positive, or no minimum is found.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> model = hp.HopfieldModel(hp.patterns.clustered(100, 64))
    >>> found = hp.branches(model, at=290.0, betas=(20.0, 400.0), top=3)
    >>> [(branch.at(290.0).support, branch.ends[0].label) for branch in found]
    [((0,), 'enters:56'), ((1,), 'enters:53'), ((2,), 'enters:86')]
    """
    at = inverse_temperature(at)
    lower, upper, requested = _range(model, at, betas)
    if top is not None and top < 1:
        raise InputError(f"top = {top}: follow at least one branch, or None for all")
    low = lower if lower > 0 else at / 16
    found = discover(model, at, beta_low=low, states=states, seed=seed)
    if not found.states:
        raise InputError(
            f"none of {found.n_starts} starts reaches a strict minimum at beta = {at:.12g}: choose another "
            "reference, away from a critical point"
        )
    followed: list[Branch] = []
    for state in found.states:
        if top is not None and len(followed) == top:
            break
        if model.alpha == 2.0 or not any(_holds(branch, state, at) for branch in followed):
            followed.append(_follow(model, state, at, lower, upper, requested))
    return BranchSet(
        model=model,
        at=at,
        betas=(lower, upper),
        branches=tuple(followed),
        n_states=len(found.states),
        n_starts=found.n_starts,
        n_undecided=found.n_undecided,
        lowest_energy=min(state.free_energy for state in found.states),
    )


def _follow(
    model: HopfieldModel, state: State, beta: float, lower: float, upper: float, requested: list[float]
) -> Branch:
    if model.alpha == 2.0:
        return trace(model, state.support, beta, lower, upper)
    return follow_arclength(model, state.x, beta, lower, upper, requested=requested)


def _holds(branch: Branch, state: State, beta: float) -> bool:
    """Whether a branch passes through a state."""
    length = max(branch.model.state_scale, float(np.linalg.norm(state.x)))
    return any(float(np.linalg.norm(arm.x - state.x)) <= SAME_STATE * length for arm in branch.arms(beta))


def _range(model: HopfieldModel, beta: float, betas: Any) -> tuple[float, float, list[float]]:
    """The range of β and the values in it that were asked for."""
    if betas is None:
        if model.alpha != 2.0:
            raise InputError(
                f"alpha = {model.alpha:g} is followed step by step and needs a range: give betas, "
                "such as (lowest, highest); only alpha = 2 goes from zero to infinity"
            )
        return 0.0, math.inf, []
    values = np.asarray(betas, dtype=np.float64).ravel()
    if values.size < 2 or not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError(
            f"betas has {values.size} values or one that is not positive and finite: "
            "give at least the lowest and the highest inverse temperature"
        )
    lower, upper = float(values.min()), float(values.max())
    if not lower <= beta <= upper:
        raise InputError(
            f"the reference beta = {beta:.12g} lies outside the range [{lower:.12g}, {upper:.12g}]: "
            "choose a reference inside the range, or a wider range"
        )
    return lower, upper, np.unique(values).tolist()
