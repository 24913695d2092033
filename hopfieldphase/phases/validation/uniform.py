"""Uniform states on a set of patterns, Proposition 4.2 away from them, and the suggested range of β."""

from collections.abc import Iterator

import numpy as np

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.following import follow_arclength
from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import circulant, clustered, equicorrelated, spherical
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.validation.numerics import (
    Floats,
    first_zero,
    rotated,
    spinodal_of,
    vanishing_point,
)
from hopfieldphase.phases.validation.record import Case, agreement, check, relative_error
from hopfieldphase.solvers import relax

ALPHAS = (0.3, 0.5, 0.8, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 5.0)

# Zeros of a smooth function of computed eigenvalues, or thresholds of the computed weights: rounding,
# times the condition of an eigenvalue or of a difference of overlaps.
ROUNDING = 1e-12
# What the continuation engine promises for a crossing of two curves.
LOCATED = 1e-11


def _sets() -> Iterator[tuple[str, Floats]]:
    for k in (3, 4, 5, 8):
        yield f"{k} circulant keys", circulant(k, d=10)
    for M, cosine in ((2, -1.0), (2, 0.85), (6, 0.0), (10, 0.4)):
        yield f"{M} equidistant keys of cosine {cosine:g}", rotated(equicorrelated(M, M, cosine))


def _isolated() -> Iterator[tuple[str, Floats, int]]:
    """Two circulant sets in orthogonal spaces: the uniform state on the first k patterns."""
    for k in (3, 4, 5, 8):
        first, second = circulant(k, d=9, seed=1), circulant(k, d=9, seed=2)
        yield f"{k} of {2 * k} keys", np.block([[first, 0 * second], [0 * first, second]]), k


@check(
    "uniform-spinodal",
    "loss of stability of uniform states, twelve alphas",
    "zero of the analytic Hessian",
    "Proposition 4.2 for every alpha",
    ROUNDING,
)
def uniform_spinodal() -> Iterator[Case]:
    """λ_min(∇²Γ) = 0 at the mean of all patterns, and of the first half of them where it is stationary."""
    for alpha in ALPHAS:
        for words, patterns in _sets():
            model = HopfieldModel(patterns, alpha)
            found = spinodal_of(model, model.scale * patterns.mean(axis=0))
            formula = closed_forms.uniform_spinodal(model.gram, alpha)
            yield Case(f"alpha {alpha:g}, {words}", relative_error(found, formula))
        for words, patterns, k in _isolated() if alpha > 1 else ():
            model = HopfieldModel(patterns, alpha)
            x = model.scale * patterns[:k].mean(axis=0)
            (start,) = vanishing_point(model.overlaps(x), alpha, np.arange(2 * k) >= k)
            # at the start itself the other patterns tie, and for α ≥ 2 the Hessian jumps
            found = spinodal_of(model, x, start * (1 + 1e-9))
            formula = closed_forms.uniform_spinodal(model.gram[:k, :k], alpha)
            yield Case(f"alpha {alpha:g}, {words}", relative_error(found, formula))


@check(
    "uniform-existence",
    "where uniform states become stationary",
    "vanishing weights",
    "Lemma F.1",
    ROUNDING,
)
def uniform_existence() -> Iterator[Case]:
    """The β from which on the weights of all other patterns are exactly zero."""
    for alpha in (alpha for alpha in ALPHAS if alpha > 1):
        for words, patterns, k in _isolated():
            model = HopfieldModel(patterns, alpha)
            x = model.scale * patterns[:k].mean(axis=0)
            (found,) = vanishing_point(model.overlaps(x), alpha, np.arange(2 * k) >= k)
            formula = closed_forms.uniform_existence(model.gram, range(k), alpha)
            yield Case(f"alpha {alpha:g}, {words}", relative_error(float(found), formula))
        model = HopfieldModel(circulant(5, d=10), alpha)
        formula = closed_forms.uniform_existence(model.gram, range(5), alpha)
        yield Case(f"alpha {alpha:g}, all 5 keys", relative_error(0.0, formula))


@check(
    "uniform-stationary",
    "whether the mean of all patterns is stationary",
    "retrieval updates",
    "Eq. (3.5), equal row sums",
    0.0,
)
def uniform_stationary() -> Iterator[Case]:
    """One retrieval update of the mean at three β."""
    others = [("clustered patterns", clustered(12, 8)), ("spherical patterns", spherical(9, 6))]
    for words, patterns in (*_sets(), *others):
        model = HopfieldModel(patterns, alpha=1.5)
        x = model.scale * patterns.mean(axis=0)
        stationary = all(model.gradient_residual(x, beta) < 1e-9 for beta in (1.0, 10.0, 40.0))
        yield Case(words, agreement(closed_forms.is_uniform_stationary(model.gram), stationary))


@check(
    "unequal-weights",
    "alpha = 2: spinodal of states with unequal weights",
    "continuation",
    "Proposition 4.2",
    LOCATED,
)
def unequal_weights() -> Iterator[Case]:
    """Three keys, the third with a larger cosine to the other two, which are mirror images."""
    for base, apex in ((0.2, 0.5), (0.0, 0.3), (-0.3, 0.1), (0.4, 0.6), (0.5, 0.8)):
        gram = np.array([[1, base, apex], [base, 1, apex], [apex, apex, 1]])
        model = HopfieldModel(rotated(np.linalg.cholesky(gram)), alpha=2.0, scale=1.0)
        start = relax(model, model.patterns.mean(axis=0), 0.5)
        branch = follow_arclength(model, start.x, 0.5, 0.3, 8.0)
        unequal = [
            point.parameter
            for point in branch.special_points
            if point.kind is PointKind.PITCHFORK and point.state and len(point.state.support) == 3
        ]
        formula = closed_forms.uniform_spinodal(gram, 2.0)
        words = f"cosines {base:g} and {apex:g}"
        yield Case(words, relative_error(min(unequal, default=np.nan), formula))


@check(
    "suggested-range",
    "instability and storage onset of the suggested range",
    "zero of the Hessian, vanishing weights",
    "Proposition 4.2, margin of the entmax",
    ROUNDING,
)
def suggested_range() -> Iterator[Case]:
    """The two critical values, and that the range reaches from half the smaller to 5/4 of the larger."""
    for alpha in (0.6, 1.0, 1.5, 2.0, 3.0):
        for words, patterns in _sets():
            found = closed_forms.suggest_beta_range(patterns, alpha)
            model = HopfieldModel(patterns, alpha)
            instability = spinodal_of(model, model.scale * patterns.mean(axis=0))
            storage = _hardest(model)
            low, high = min(instability, storage) / 2, 1.25 * max(instability, storage)
            for name, value, formula in zip(
                ("low", "high", "instability", "storage"),
                (low, high, instability, storage),
                found,
                strict=True,
            ):
                yield Case(f"{name}, alpha {alpha:g}, {words}", relative_error(value, formula))


def _hardest(model: HopfieldModel) -> float:
    """The largest β from which on a pattern is stored exactly, or (α ≤ 1) keeps 99 % of the weight."""
    own = np.eye(model.M, dtype=bool)
    if model.alpha > 1:
        return float(np.max(vanishing_point(model.gram, model.alpha, ~own)))
    return max(
        first_zero(lambda beta, mu=mu: model.weights(model.scale * model.patterns[mu], beta)[mu] - 0.99)
        for mu in range(model.M)
    )


CHECKS = (
    uniform_spinodal, uniform_existence, uniform_stationary, unequal_weights, suggested_range,
)  # fmt: skip
