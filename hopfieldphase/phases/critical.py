"""The critical points of one set of patterns: storage, the mean state, ends of branches, coexistence."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.branch import Branch, PointKind, SpecialPoint, State, Vector
from hopfieldphase.continuation.branches import branches, follow
from hopfieldphase.continuation.discovery import SAME_STATE
from hopfieldphase.core import closed_forms
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.coexistence import all_coexistence
from hopfieldphase.phases.critical_forms import (
    ClosedForm,
    common_distance,
    existence,
    mean_and_retrieval,
    mean_instability,
    retrieval_fold,
)
from hopfieldphase.phases.spinodals import spinodals
from hopfieldphase.phases.stretches import stable_stretches

LARGEST_WHOLE = 500
"""Up to this many patterns α = 2 is followed over all β: from the mean on, each leaves in an event."""

REACH = 64.0
"""With more of them, over this factor below the reference and above the suggested range."""

# An interval of equal energies that is longer than this, relative to β, is no crossing.
_POINT = 1e-6
# Relative length below which a stretch of stable states is none.
_NO_LENGTH = 1e-9
_OPEN = (PointKind.RANGE, PointKind.UNBOUNDED)


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """A critical point of one or two branches, with the closed form that speaks about it.

    Attributes
    ----------
    point : SpecialPoint
        Type, β, state, landing state, precision and status.
    branches : tuple of int
        Positions in `CriticalTable.branches`: one, or the two that coexist.
    rising : bool or None
        Whether the stable state ends when β rises (False: when it falls); None for coexistence.
    closed_form : ClosedForm or None
        None where no closed form speaks about such a point.
    """

    point: SpecialPoint
    branches: tuple[int, ...]
    rising: bool | None = None
    closed_form: ClosedForm | None = None

    @property
    def beta(self) -> float:
        """Inverse temperature of the point."""
        return self.point.parameter

    @property
    def interval(self) -> tuple[float, float] | None:
        """Where the energies of two branches are equal on an interval, that interval."""
        low, high = self.point.bracket
        is_long = self.point.degenerate and high > low * (1 + _POINT)
        return (low, high) if self.point.kind is PointKind.COEXISTENCE and is_long else None


@dataclass(frozen=True, eq=False)
class StorageOnset:
    """Where one pattern is stored exactly.

    Attributes
    ----------
    pattern : int
    beta : float
        Closed form (α/(α−1))/(s² Δ_μ), Δ_μ = |ξ_μ|² − max_ν ξ_μ·ξ_ν; inf where never.
    traced : SpecialPoint or None
        α = 2: where a second pattern enters on the branch of this one, found without the closed form. The
        branch ends there, or (with unequal norms) goes on with both.
    """

    pattern: int
    beta: float
    traced: SpecialPoint | None = None


@dataclass(frozen=True, eq=False)
class CriticalTable:
    """Every critical point that was looked for.

    Attributes
    ----------
    model : HopfieldModel
    at : float
        The reference β at which branches were searched.
    betas : tuple of float
        The range in which they were followed, (0, inf) for all β.
    storage : tuple of StorageOnset
        One for each pattern, by rising onset.
    mean : CriticalPoint or None
        Where the state of lowest β loses stability; None where it does not in this range.
    ends : tuple of CriticalPoint
        Where a branch loses stability, on either side, ascending in β.
    coexistence : tuple of CriticalPoint
        Equal free energies of two stable states, ascending in β: crossings, and intervals on which they
        agree (`CriticalPoint.interval`), whose β is their lower end.
    branches : tuple of Branch
        Those found at the reference in order of their rank, then that of lowest β if it is another one.
    low_branch : int
        Position of the branch of lowest β.
    n_states, n_starts, n_undecided : int
        Of the search at the reference: minima found, starts, and starts that led to none.
    """

    model: HopfieldModel = field(repr=False)
    at: float
    betas: tuple[float, float]
    storage: tuple[StorageOnset, ...] = field(repr=False)
    mean: CriticalPoint | None
    ends: tuple[CriticalPoint, ...] = field(repr=False)
    coexistence: tuple[CriticalPoint, ...] = field(repr=False)
    branches: tuple[Branch, ...] = field(repr=False)
    low_branch: int
    n_states: int
    n_starts: int
    n_undecided: int


def critical_points(
    model: HopfieldModel, *, at: float | None = None, betas: Any = None, top: int | None = 10
) -> CriticalTable:
    """Find the critical points of one set of patterns.

    Parameters
    ----------
    model : HopfieldModel
        The patterns, α and the scale; α = 2 is exact, every other finite α follows arclength.
    at : float, optional
        The reference β at which minima are searched; by default `reference_beta`.
    betas : array, optional
        The range is from its smallest to its largest value. By default `suggest_beta_range`; at α = 2 all
        β > 0 (beyond 500 patterns, 64 times below the reference to 64 times above the suggested range).
    top : int, optional
        Follow the first branches only, by falling z_max, and trace as many storage onsets; None for all.

    Returns
    -------
    CriticalTable

    Raises
    ------
    InputError
        If α = ∞ (its states do not depend on β), the reference lies outside the range, `top` is not positive,
        or nothing can be suggested for these patterns.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.phases.critical import critical_points
    >>> model = hp.HopfieldModel(hp.patterns.equicorrelated(3, 3), alpha=1.0, scale=1.0)
    >>> table = critical_points(model)
    >>> crossings = [point for point in table.coexistence if point.interval is None]
    >>> round(table.mean.beta, 9), {round(point.beta, 9) for point in crossings}
    (3.0, {2.772588722})
    """
    if model.alpha == math.inf:
        raise InputError(
            "alpha = inf has no critical points, its states do not depend on beta: give a finite alpha"
        )
    given = None if betas is None else _ends_of_range(betas)
    reference = reference_beta(model, given) if at is None else inverse_temperature(at)
    span = given or _default_range(model, reference)
    found = branches(model, reference, span, top=top)
    low, start = _low_branch(model, span, reference)
    followed, distance = list(found), common_distance(model)
    place = next((i for i, branch in enumerate(followed) if _passes(branch, low.at(start))), len(followed))
    if place == len(followed):
        followed.append(low)
    return CriticalTable(
        model=model,
        at=found.at,
        betas=found.betas,
        storage=storage_onsets(model, top),
        mean=_mean_instability(low, place, start),
        ends=_ends(followed, distance),
        coexistence=_coexistence(followed, distance),
        branches=tuple(followed),
        low_branch=place,
        n_states=found.n_states,
        n_starts=found.n_starts,
        n_undecided=found.n_undecided,
    )


def reference_beta(model: HopfieldModel, betas: tuple[float, float] | None = None) -> float:
    """A β at which several branches can be expected: above the first storage onset, inside the range.

    The geometric mean of that onset (α ≤ 1: of the storage value of `suggest_beta_range`) and the upper end
    of the suggested range; of the ends of `betas` where that lies outside.

    Raises
    ------
    InputError
        If no range can be suggested.
    """
    suggested = closed_forms.suggest_beta_range(model.patterns, model.alpha, model.scale)
    onsets = _onsets(model)
    first = float(onsets.min()) if np.isfinite(onsets).any() else suggested.storage
    best = math.sqrt(first * suggested.high)
    if betas is None or betas[0] <= best <= betas[1]:
        return best
    return math.sqrt(betas[0] * betas[1])


def storage_onsets(model: HopfieldModel, traced: int | None = None) -> tuple[StorageOnset, ...]:
    """Where each pattern is stored exactly, by rising β.

    Parameters
    ----------
    model : HopfieldModel
        α < ∞.
    traced : int, optional
        At α = 2 follow the branches of only so many patterns down to their onsets; by default of all.
    """
    onsets = _onsets(model)
    found: list[StorageOnset] = []
    for pattern in np.argsort(onsets, kind="stable").tolist():
        onset = float(onsets[pattern])
        end = None
        if model.alpha == 2 and 0 < onset < math.inf and (traced is None or len(found) < traced):
            branch = trace(model, (pattern,), 2 * onset, onset / 4)
            end = next(piece.lower_event for piece in branch.pieces if piece.contains(2 * onset))
        found.append(StorageOnset(pattern, onset, end))
    return tuple(found)


def _onsets(model: HopfieldModel) -> Vector:
    separation = closed_forms.pattern_separation(model.patterns)
    return closed_forms.onset_of_separation(separation, model.alpha) / model.scale**2


def _ends_of_range(betas: Any) -> tuple[float, float]:
    values = np.asarray(betas, dtype=np.float64).ravel()
    if values.size < 2 or not (np.isfinite(values).all() and (values > 0).all()):
        raise InputError(
            f"betas has {values.size} values or one that is not positive and finite: give at least the "
            "lowest and the highest inverse temperature"
        )
    return float(values.min()), float(values.max())


def _default_range(model: HopfieldModel, reference: float) -> tuple[float, float] | None:
    """The range to follow in; None for all β > 0."""
    if model.alpha == 2 and model.M <= LARGEST_WHOLE:
        return None
    suggested = closed_forms.suggest_beta_range(model.patterns, model.alpha, model.scale)
    if model.alpha != 2:
        return suggested.low, suggested.high
    return reference / REACH, REACH * max(reference, suggested.high)


def _low_branch(
    model: HopfieldModel, span: tuple[float, float] | None, reference: float
) -> tuple[Branch, float]:
    """The branch of the state that the mean pattern relaxes to at the lowest β, and that β."""
    if span is None:
        # below this β all of F is convex: there is one minimum
        instability = closed_forms.uniform_spinodal(model.gram, 2.0)
        start = min(instability / 2, reference)
    else:
        start = span[0]
    mean = model.scale * np.asarray(model.patterns, dtype=np.float64).mean(axis=0)
    return follow(model, mean, start, span), start


def _passes(branch: Branch, state: State) -> bool:
    """Whether a branch goes through a state."""
    if not branch.lower <= state.parameter <= branch.upper:
        return False
    length = max(branch.model.state_scale, float(np.linalg.norm(state.x)))
    return any(
        float(np.linalg.norm(arm.x - state.x)) <= SAME_STATE * length for arm in branch.arms(state.parameter)
    )


def _mean_instability(low: Branch, place: int, start: float) -> CriticalPoint | None:
    """Upper end of the stable states that begin at the lowest β."""
    stretch = next(part for part in stable_stretches(low) if part.lower <= start <= part.upper)
    point = stretch.upper_event
    if point.kind in _OPEN or point.state is None:
        return None
    return CriticalPoint(point, (place,), True, mean_instability(low.model, point.state))


def _ends(followed: list[Branch], distance: float | None) -> tuple[CriticalPoint, ...]:
    """Both ends of every stable stretch, each event once for a branch."""
    found: list[CriticalPoint] = []
    for i, branch in enumerate(followed):
        formulas = {
            spinodal.point.parameter: ClosedForm(spinodal.formula, spinodal.premises_hold, spinodal.premises)
            for spinodal in spinodals(branch)
        }
        seen: set[tuple[float, PointKind]] = set()
        for stretch in stable_stretches(branch):
            if stretch.upper <= stretch.lower * (1 + _NO_LENGTH):
                continue  # a flat edge, all of it at one β (α = 3)
            for point, rising in ((stretch.lower_event, False), (stretch.upper_event, True)):
                if point.kind in _OPEN or (point.parameter, point.kind) in seen:
                    continue
                seen.add((point.parameter, point.kind))
                formula = existence(branch.model, point) or retrieval_fold(branch.model, point, distance)
                if formula is None and point.kind is not PointKind.ENTERS:
                    formula = formulas.get(point.parameter)
                found.append(CriticalPoint(point, (i,), rising, formula))
    return tuple(sorted(found, key=_by_beta))


def _coexistence(followed: list[Branch], distance: float | None) -> tuple[CriticalPoint, ...]:
    found = [
        CriticalPoint(point, (i, j), None, mean_and_retrieval(followed[i].model, point, distance))
        for i, j, point in all_coexistence(followed)
    ]
    return tuple(sorted(found, key=_by_beta))


def _by_beta(point: CriticalPoint) -> tuple[float, tuple[int, ...]]:
    """Order by β; values that are equal up to rounding by branch."""
    return float(f"{point.beta:.11g}"), point.branches
