"""Equidistant patterns by the general engine, which does not know their symmetry."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hopfieldphase.continuation.branch import Branch, Piece, State
from hopfieldphase.continuation.branches import follow
from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import equicorrelated
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.coexistence import coexistence
from hopfieldphase.phases.validation.numerics import (
    ends_of,
    energy_crossing,
    minimum_near,
    rotated,
    stable_interval,
)
from hopfieldphase.phases.validation.record import Case, check, relative_error

# Folds, crossings of curves and support changes as the engine locates them, in units of the coupling.
LOCATED = 1e-10
# Bisected crossings of energies.
CROSSING = 1e-10
# Energies of states that Newton's method has converged to, against barriers of 1e-3.
ENERGY = 1e-10

SYSTEMS = (
    (0.6, 6, 0.0), (1.0, 3, 0.0), (1.0, 10, 0.3), (1.0, 100, 0.0), (1.25, 10, 0.0), (1.5, 3, -0.2),
    (1.5, 10, 0.0), (1.5, 100, 0.5), (1.75, 10, 0.0),
)  # fmt: skip
"""α, M and the common cosine."""


class _Followed(NamedTuple):
    """The branch of the uniform state from low K, that of a single pattern from high K; and the unit of K."""

    model: HopfieldModel
    unit: float
    start: float
    uniform: Branch
    retrieval: Branch


@lru_cache(maxsize=32)
def _followed(alpha: float, M: int, cosine: float) -> _Followed:
    model = HopfieldModel(rotated(equicorrelated(M, M, cosine)), alpha, scale=1.0)
    unit = 1 / (1 - cosine)
    suggested = closed_forms.suggest_beta_range(model.patterns, alpha, scale=1.0)
    low, high = 0.1 * unit, suggested.high
    uniform = follow(model, model.patterns.mean(axis=0), 1.1 * low, (low, high))
    # with many patterns the range reaches far beyond the retrieval transition: the walk starts closer
    start = min(0.95 * high, 12 * unit)
    retrieval = follow(model, model.patterns[0], start, (low, high))
    return _Followed(model, unit, start, uniform, retrieval)


def _systems() -> Iterator[tuple[str, float, int, _Followed]]:
    for alpha, M, cosine in SYSTEMS:
        yield f"alpha {alpha:g}, M {M}, cosine {cosine:g}", alpha, M, _followed(alpha, M, cosine)


@check(
    "potts-spinodal",
    "equidistant patterns: where retrieval vanishes",
    "fold by arclength",
    "Curie-Weiss Potts model, K_spin",
    LOCATED,
)
def potts_spinodal() -> Iterator[Case]:
    """Lower end of the stable part of the branch of one pattern; two patterns: the pitchfork."""
    for words, alpha, M, followed in _systems():
        found, _ = stable_interval(followed.retrieval, followed.start)
        formula = closed_forms.potts_spinodal(M, alpha)
        yield Case(words, relative_error(found / followed.unit, formula))
    for alpha in (0.7, 1.5):
        followed = _followed(alpha, 2, 0.0)
        _, found = stable_interval(followed.uniform, 0.11)
        yield Case(f"alpha {alpha:g}, M 2", relative_error(found, closed_forms.potts_spinodal(2, alpha)))


@check(
    "potts-coexistence",
    "equidistant patterns: coexistence of retrieval and uniform",
    "crossing of followed branches",
    "Wu (1982), K_coex",
    CROSSING,
)
def potts_coexistence() -> Iterator[Case]:
    """The one crossing of the two branches; none for two patterns; of Γ at the two states at α = 2."""
    for words, alpha, M, followed in _systems():
        (point,) = coexistence(followed.uniform, followed.retrieval)
        formula = closed_forms.potts_coexistence(M, alpha)
        yield Case(words, relative_error(point.parameter / followed.unit, formula))
    for alpha in (0.7, 1.5):
        followed = _followed(alpha, 2, 0.0)
        _, mixed_until = stable_interval(followed.uniform, 0.11)
        single_from, _ = stable_interval(followed.retrieval, followed.start)
        together = single_from < mixed_until * (1 - 1e-9)
        found = single_from if together else math.nan
        yield Case(f"alpha {alpha:g}, M 2", relative_error(found, closed_forms.potts_coexistence(2, alpha)))
    model = HopfieldModel(rotated(equicorrelated(7, 7)), 2.0, scale=1.0)
    found = energy_crossing(model, model.patterns[0], model.patterns.mean(axis=0))
    yield Case("alpha 2, M 7", relative_error(found, closed_forms.potts_coexistence(7, 2.0)))


@check(
    "potts-instability",
    "equidistant patterns: loss of stability of the uniform state",
    "continuation",
    "Proposition 4.2 for every alpha, K_inst",
    LOCATED,
)
def potts_instability() -> Iterator[Case]:
    """Upper end of the stable part of the uniform branch: one event, M − 1 eigenvalues at once."""
    for alpha, M, cosine in (*SYSTEMS, (2.0, 5, 0.0), (2.5, 6, 0.0), (4.0, 4, 0.3)):
        _, unit, _, uniform, _ = _followed(alpha, M, cosine)
        _, found = stable_interval(uniform, 0.11 * unit)
        multiplicity = [point.multiplicity for point in uniform.special_points if point.parameter == found]
        error = relative_error(found / unit, closed_forms.potts_instability(M, alpha))
        words = f"alpha {alpha:g}, M {M}, cosine {cosine:g}"
        yield Case(words, error if multiplicity == [M - 1] else math.inf)


@check(
    "potts-vertex",
    "equidistant patterns: where a pattern is stored exactly",
    "continuation",
    "margin of the entmax, K_vertex",
    LOCATED,
)
def potts_vertex() -> Iterator[Case]:
    """Lower end of the piece with one pattern as its support; none for α ≤ 1."""
    for alpha, M, cosine in (*SYSTEMS, (2.0, 5, 0.0), (2.5, 6, 0.0), (4.0, 4, 0.3)):
        _, unit, _, _, retrieval = _followed(alpha, M, cosine)
        alone = [piece.lower for piece in retrieval.pieces if len(piece.support) == 1]
        found = min(alone) / unit if alone else math.inf
        words = f"alpha {alpha:g}, M {M}, cosine {cosine:g}"
        yield Case(words, relative_error(found, closed_forms.potts_vertex(alpha)))


@check(
    "potts-barrier",
    "equidistant patterns: barrier at coexistence",
    "unstable arm by arclength",
    "F of Theorem 3.1 on the symmetric ray",
    ENERGY,
)
def potts_barrier() -> Iterator[Case]:
    """Γ of the unstable state of the retrieval branch minus Γ of the uniform state, at their crossing."""
    for words, alpha, M, followed in _systems():
        (point,) = coexistence(followed.uniform, followed.retrieval)
        top = max(arm.free_energy for arm in followed.retrieval.arms(point.parameter))
        found = top - followed.uniform.at(point.parameter).free_energy
        yield Case(words, relative_error(found, closed_forms.potts_barrier(M, alpha), 1e-2))


@check(
    "potts-ray",
    "equidistant patterns: coupling and energy along the branch",
    "states by arclength",
    "F of Theorem 3.1 on the symmetric ray",
    ENERGY,
)
def potts_ray() -> Iterator[Case]:
    """K(p₁) and F(p₁) − F(1/M) of the states of the retrieval branch at the middle of each of its pieces."""
    for words, alpha, M, followed in _systems():
        for piece in followed.retrieval.pieces:
            for state in _inside(piece):
                largest = float(np.max(state.weights))
                if not math.isclose(float(np.sort(state.weights)[-2]) * (M - 1), 1 - largest, abs_tol=1e-9):
                    continue  # off the ray, beyond the crossing with the uniform state
                coupling = state.beta / followed.unit
                name = f"{words}, K {coupling:.4g}, p {largest:.4g}"
                if 1 - largest > 1e-4:  # nearer to 1 the rounding of p₁ takes the digits of 1 − p₁
                    formula = closed_forms.potts_coupling(largest, M, alpha)
                    yield Case(f"coupling, {name}", relative_error(coupling, formula))
                mean = followed.model.patterns.mean(axis=0)
                rise = state.free_energy - float(followed.model.free_energy(mean, state.beta))
                formula = closed_forms.potts_free_energy(largest, coupling, M, alpha)
                yield Case(f"energy, {name}", relative_error(rise, formula, max(1.0, abs(formula))))


def _inside(piece: Piece) -> list[State]:
    return [piece.at(piece.lower + share * (piece.upper - piece.lower)) for share in (0.2, 0.6)]


@check(
    "potts-window",
    "alpha > 2: where k of M equidistant patterns are a minimum",
    "continuation",
    "Proposition 4.2 and Lemma F.1 for every alpha",
    LOCATED,
)
def potts_window() -> Iterator[Case]:
    """Both ends of the stable piece around a value at which the state was found to be a minimum."""
    M, cosine = 5, 0.2
    patterns = rotated(equicorrelated(M, M, cosine))
    betas = np.geomspace(0.05, 50, 60)
    for alpha in (2.3, 3.0, 4.0):
        model = HopfieldModel(patterns, alpha, scale=1.0)
        for k in range(1, M + 1):
            x = patterns[:k].mean(axis=0)
            inside = minimum_near(model, x, betas)
            branch = follow(model, x, inside, (0.04, 60.0))
            on_these = (p for p in branch.pieces if p.support == tuple(range(k)) and p.contains(inside))
            piece = next(p for p in on_these if p.index == 0)
            found = ends_of(piece)
            formula = closed_forms.potts_window(k, M, alpha)
            ends = zip(found, formula, strict=True)
            words = f"alpha {alpha:g}, {k} of {M}"
            yield Case(words, max(relative_error(end * (1 - cosine), limit) for end, limit in ends))


CHECKS = (
    potts_spinodal, potts_coexistence, potts_instability, potts_vertex, potts_barrier, potts_ray,
    potts_window,
)  # fmt: skip
