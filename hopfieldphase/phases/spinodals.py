"""Where a branch loses stability, next to the closed form for uniform states."""

from dataclasses import dataclass

import numpy as np

from hopfieldphase.continuation.branch import Branch, PointKind, SpecialPoint
from hopfieldphase.core.closed_forms import uniform_spinodal
from hopfieldphase.core.errors import InputError

UNIFORM = 1e-9
"""Largest relative spread of the weights of a uniform state."""

TIED = 1e-9
"""Relative distance from the threshold within which an outside pattern makes the support change."""

_KINDS = (PointKind.SPINODAL, PointKind.FOLD, PointKind.PITCHFORK, PointKind.BRANCH_POINT)


@dataclass(frozen=True, eq=False)
class Spinodal:
    """A zero of λ_min(∇²Γ) on a branch, and what the closed form says there.

    Attributes
    ----------
    point : SpecialPoint
        The zero as it was located on the branch.
    formula : float
        β = α k^{2−α} / λ_max(P G_SS P) for the k patterns of the support there, P = I − 11ᵀ/k; inf where
        λ_max = 0 (k = 1, or copies of one pattern).
    uniform : bool
        Whether all k weights are equal, as the formula assumes. For α = 2 it holds without that.
    fixed_support : bool
        Whether no outside pattern ties with the threshold, and for α ≤ 1 all patterns are in the support.
    """

    point: SpecialPoint
    formula: float
    uniform: bool
    fixed_support: bool
    alpha: float

    @property
    def premises_hold(self) -> bool:
        """Whether the formula applies to the state at the point."""
        return self.fixed_support and (self.uniform or self.alpha == 2.0)

    @property
    def premises(self) -> str:
        """In one sentence, whether the formula applies and why not."""
        if self.premises_hold:
            return "the formula applies: fixed support" + (
                ", uniform weights" if self.uniform else ", alpha = 2"
            )
        missing = [] if self.fixed_support else ["the support changes here"]
        missing += [] if self.uniform or self.alpha == 2.0 else ["the weights are not uniform"]
        return "the formula does not apply: " + " and ".join(missing)


def spinodals(branch: Branch) -> tuple[Spinodal, ...]:
    """Every zero of λ_min along a branch in β, with the formula for uniform states beside it.

    Parameters
    ----------
    branch : Branch
        Exact or followed by arclength.

    Returns
    -------
    tuple of Spinodal
        In order along the branch.

    Raises
    ------
    InputError
        If it is no branch of the Tsallis family.

    Notes
    -----
    The formula extends Proposition 4.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347), its
    case α = 2, to every α. A pattern that enters and thereby unmakes the minimum (α ≥ 2) ends a branch
    with λ_min > 0: no spinodal, see `Branch.ends`.
    """
    if not isinstance(branch, Branch):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"a {type(branch).__name__} is no branch of the Tsallis family, for which the formula holds: its "
            "folds are among its special_points"
        )
    found: list[Spinodal] = []
    for point in branch.special_points:
        if point.kind not in _KINDS or point.state is None:
            continue
        model, state = branch.model, point.state
        support = list(state.support)
        k = len(support)
        weights = state.weights[support]
        scaled = model.scale * np.asarray(model.patterns, dtype=np.float64)
        overlaps = scaled @ state.x
        outside = np.delete(overlaps, support)
        gap = state.threshold - outside.max(initial=-np.inf)
        tied = outside.size > 0 and gap <= TIED * np.abs(overlaps).max()
        found.append(
            Spinodal(
                point=point,
                formula=uniform_spinodal(scaled[support] @ scaled[support].T, model.alpha),
                uniform=bool(np.ptp(weights) <= UNIFORM * weights.max()),
                fixed_support=k == model.M if model.alpha <= 1 else not tied,
                alpha=model.alpha,
            )
        )
    return tuple(found)
