"""Retrieval in simulated pattern sets: where softmax retrieval folds, whether and from where entmax stores.

Inverse temperatures are b = β s², those of unit patterns with the scale s = 1. Closed forms of the same
quantities: `annealed_fold`, `rem_threshold`, `exact_storage_onset`, `exact_storage_probability`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.following import follow_arclength
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.closed_forms import exact_storage_probability, onset_of_separation
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.stretches import stable_stretches
from hopfieldphase.solvers import relax

Floats = NDArray[np.float64]

RETRIEVED = 0.99
"""Weight of its pattern that the retrieval state has where its branch is met, far above the fold."""

CONVEX = 1.0
"""Value of b up to which Γ of unit patterns has one minimum: no variance of unit vectors exceeds 1."""

SAME_STATE = 1e-9
"""Distance from its pattern, relative to the pattern, up to which a state is stored exactly."""

# Where the branch is met: doubled until the pattern is retrieved.
_FIRST_START, _LAST_START = 20.0, 1e6
_HIGHEST_ONSET = 1e9


@dataclass(frozen=True)
class RetrievalFold:
    """The lower end of the branch of a softmax retrieval state.

    Attributes
    ----------
    b : float
        β s² at which the state vanishes; nan where it never does (`exists` is False).
    end : PointKind
        What ends the branch: FOLD; RANGE or PITCHFORK where the state goes over smoothly into the one state
        at low b; anything else where it could not be followed.
    overlap : float
        x·ξ/s of the state there, 1 for perfect retrieval; nan likewise.
    overlap_beyond : float
        The same of the state that is reached just below: close to `overlap` where retrieval goes on as a
        mixture of the pattern with its neighbours.
    folds : int
        Number of folds on the whole curve, 1 for a simple saddle-node; 3 and more where folds pair.
    """

    b: float
    end: PointKind
    overlap: float
    overlap_beyond: float
    folds: int

    @property
    def exists(self) -> bool:
        """Whether the state vanishes in a fold."""
        return self.end is PointKind.FOLD

    @property
    def is_smooth(self) -> bool:
        """Whether it goes over smoothly into the one state at low b."""
        return self.end in (PointKind.RANGE, PointKind.PITCHFORK)


def retrieval_fold(patterns: Any, pattern: int = 0) -> RetrievalFold:
    """Follow the softmax retrieval state of one pattern downward in b until it vanishes.

    Parameters
    ----------
    patterns : array, shape (M, d)
        Rows of unit norm.
    pattern : int, default 0
        Which of them is retrieved.

    Returns
    -------
    RetrievalFold
        The fold (λ_min(∇²Γ) = 0) that ends the stable stretch of the retrieval state, by pseudo-arclength to
        about 1e-12.

    Raises
    ------
    InputError
        If the rows are not of unit norm, or the pattern is never retrieved (another one repeats it).

    Notes
    -----
    The search ends at b = 1: below, ∇²Γ/β = I − b Ξᵀ J Ξ is positive for every state, because no variance of
    unit vectors exceeds 1. Mean-field prediction: `hopfieldphase.core.closed_forms.annealed_fold`.
    """
    model = _unit_model(patterns, 1.0)
    xi = np.asarray(model.patterns)[_index(model, pattern)]
    start = _FIRST_START
    state = relax(model, xi, start)
    while not (state.status.is_minimum and state.weights[pattern] >= RETRIEVED):
        start *= 2
        if start > _LAST_START:
            raise InputError(
                f"pattern {pattern} is not retrieved at any b up to {_LAST_START:g}: another pattern "
                "repeats it, drop repeated rows"
            )
        state = relax(model, xi, start)
    branch = follow_arclength(model, state.x, start, CONVEX, start)
    stable = next(part for part in stable_stretches(branch) if part.lower <= start <= part.upper)
    end = stable.lower_event
    if end.kind is not PointKind.FOLD or end.state is None:
        return RetrievalFold(math.nan, end.kind, math.nan, math.nan, 0)
    beyond = math.nan if end.landing is None else float(end.landing.x @ xi)
    folds = sum(point.kind is PointKind.FOLD for point in branch.special_points)
    return RetrievalFold(end.parameter, end.kind, float(end.state.x @ xi), beyond, folds)


@dataclass(frozen=True)
class StorageTrial:
    """Whether one pattern of one set is stored exactly, told in two ways.

    Attributes
    ----------
    by_margin : bool
        b (1 − max_ν C_μν) > α/(α−1).
    by_relaxation : bool
        Relaxing from the pattern ends at the pattern, with all weight on it, and it is a verified minimum.
    """

    by_margin: bool
    by_relaxation: bool


def storage_trial(patterns: Any, b: float, alpha: float, pattern: int = 0) -> StorageTrial:
    """Test in two ways whether one of a set of unit patterns is stored exactly.

    Parameters
    ----------
    patterns : array, shape (M, d)
        Rows of unit norm.
    b : float
        β s² > 0.
    alpha : float
        Tsallis index in (1, inf).
    pattern : int, default 0
        Which of them.

    Raises
    ------
    InputError
        If the rows are not of unit norm, or b, α or the index lies outside its domain.

    Notes
    -----
    The margin is that of `hopfieldphase.core.closed_forms.exact_storage_onset`; its probability over uniform
    patterns is `exact_storage_probability`.
    """
    model = _unit_model(patterns, _entmax_index(alpha))
    b = real_number("b", b, 0, math.inf, ends="()")
    onset = margin_onset(model.patterns, alpha, pattern)
    return StorageTrial(b > onset, _stays(model, pattern, b))


def margin_onset(patterns: Any, alpha: float, pattern: int = 0) -> float:
    """Value of b from which one of a set of unit patterns is stored exactly, from its largest cosine.

    (α/(α−1)) / (1 − max_ν C_μν), one row of `exact_storage_onset`; see `storage_trial` for the arguments.
    """
    model = _unit_model(patterns, _entmax_index(alpha))
    xi = np.asarray(model.patterns, dtype=np.float64)
    cosines = np.delete(xi @ xi[_index(model, pattern)], pattern)
    return float(onset_of_separation(1 - cosines.max(initial=-math.inf), alpha))


def relaxation_onset(patterns: Any, alpha: float, pattern: int = 0, *, precision: float = 1e-4) -> float:
    """Value of b from which relaxing from a pattern stays there: the onset of storage without its formula.

    Parameters
    ----------
    patterns, alpha, pattern
        As for `storage_trial`.
    precision : float, default 1e-4
        Relative width to which the onset is bisected.

    Returns
    -------
    float
        inf for a pattern that is not stored at b = 1e9 either.
    """
    precision = real_number("precision", precision, 1e-12, 1, ends="[)")
    model = _unit_model(patterns, _entmax_index(alpha))
    low = high = CONVEX
    while not _stays(model, pattern, high):
        low, high = high, 2 * high
        if high > _HIGHEST_ONSET:
            return math.inf
    if low == high:  # stored already there: a single pattern, or a very large α
        low = 0.0
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _stays(model, pattern, middle) else (middle, high)
    return (low + high) / 2


def storage_quantile(probability: float, M: int, d: int, alpha: float) -> float:
    """Value of b at which a given one of M uniform unit patterns is stored exactly with this probability.

    The inverse of `exact_storage_probability`; at ½ it is the median of the storage onset over pattern sets.

    Parameters
    ----------
    probability : float
        In (0, 1).
    M : int
        Number of patterns, ≥ 2; a whole number of any size.
    d : int
        Dimension, ≥ 2.
    alpha : float
        Tsallis index in (1, inf).
    """
    probability = real_number("probability", probability, 0, 1, ends="()")
    whole_number("M", M, at_least=2)
    alpha = _entmax_index(alpha)

    def excess(b: float) -> float:
        return exact_storage_probability(M, d, b, alpha) - probability

    low = alpha / (alpha - 1) / 2  # from opposite patterns on
    high = 2 * low
    while excess(high) < 0:
        low, high = high, 2 * high
    return float(scipy.optimize.brentq(excess, low, high, xtol=1e-12, rtol=1e-14))


def _stays(model: HopfieldModel, pattern: int, b: float) -> bool:
    xi = np.asarray(model.patterns)[_index(model, pattern)]
    found = relax(model, xi, b)
    alone = found.support.size == 1 and int(found.support[0]) == pattern
    return found.status.is_minimum and alone and float(np.linalg.norm(found.x - xi)) <= SAME_STATE


def _unit_model(patterns: Any, alpha: float) -> HopfieldModel:
    model = HopfieldModel(patterns, alpha, scale=1.0)
    norms = np.asarray(model.pattern_norms)
    if np.max(np.abs(norms - 1)) > 1e-6:
        raise InputError(
            f"pattern norms run from {norms.min():.6g} to {norms.max():.6g}: give rows of unit norm"
        )
    return model


def _index(model: HopfieldModel, pattern: int) -> int:
    if whole_number("pattern", pattern, at_least=0) >= model.M:
        raise InputError(f"pattern = {pattern}, but there are {model.M}: give an index below {model.M}")
    return pattern


def _entmax_index(alpha: float) -> float:
    return real_number("alpha", alpha, 1, math.inf, ends="()")
