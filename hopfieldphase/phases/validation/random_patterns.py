"""Softmax retrieval of random patterns: the annealed mean field and its large-d limit."""

import math
from collections.abc import Callable, Iterator

import numpy as np
import scipy

from hopfieldphase.core import closed_forms
from hopfieldphase.phases.validation.record import Case, check, relative_error

# Gauss quadrature with this many nodes is exact to rounding for every e^(u cos) used here.
NODES = 300

# Enough for the iteration 5 % beyond a fold.
STEPS = 2000

# Rounding of sums of positive terms, and of exponents up to 100.
ROUNDING = 1e-12

LOADS = ((30, 5), (121, 16), (1000, 8), (200, 40), (1_000_000, 64))
SMOOTH = ((2, 5), (20, 40))
"""Loads so low that retrieval sets in without a fold."""


def _field(M: int, d: int) -> Callable[[float], float]:
    """f(u) = p + (1 − p)⟨cos⟩ with the averages over the sphere by Gauss–Gegenbauer quadrature."""
    cosines, masses = scipy.special.roots_gegenbauer(NODES, (d - 2) / 2)
    masses = masses / masses.sum()

    def field(u: float) -> float:
        tilted = masses * np.exp(u * (cosines - 1))
        total = float(tilted.sum())
        others = (M - 1) * total
        return (1 + others * float(tilted @ cosines) / total) / (1 + others)

    return field


def _fold(field: Callable[[float], float]) -> float:
    """Last local minimum of b(u) = u/f(u), or nan."""

    def coupling(u: float) -> float:
        return u / field(u)

    grid = np.geomspace(0.05, 300, 600)
    values = np.array([coupling(u) for u in grid.tolist()])
    (turns,) = np.nonzero((values[1:-1] < values[:-2]) & (values[1:-1] < values[2:]))
    if turns.size == 0:
        return math.nan
    low, high = grid[turns[-1]], grid[turns[-1] + 2]
    best = scipy.optimize.minimize_scalar(
        coupling, bounds=(low, high), method="bounded", options={"xatol": 1e-9}
    )
    return float(best.fun)


@check(
    "annealed-fold",
    "where annealed retrieval of random patterns vanishes",
    "quadrature over the sphere, search",
    "annealed mean field at finite d",
    ROUNDING,
)
def annealed_fold() -> Iterator[Case]:
    """min_u u/f(u), the averages over the sphere by quadrature."""
    for M, d in (*LOADS, *SMOOTH):
        found = _fold(_field(M, d))
        yield Case(f"M {M}, d {d}", relative_error(found, closed_forms.annealed_fold(M, d)))


@check(
    "annealed-overlap",
    "overlap of annealed retrieval",
    "quadrature over the sphere, iteration",
    "annealed mean field at finite d",
    ROUNDING,
)
def annealed_overlap() -> Iterator[Case]:
    """Iterate m ← f(b m) from m = 1, which converges to the largest solution."""
    for M, d in (*LOADS, *SMOOTH):
        field = _field(M, d)
        fold = _fold(field)
        for factor in (0.9, 1.05, 1.3, 3.0):
            b = factor * (d if math.isnan(fold) else fold)
            m = 1.0
            for _ in range(STEPS):
                m = field(b * m)
            found = math.nan if b < fold else m
            formula = closed_forms.annealed_overlap(b, M, d)
            yield Case(f"M {M}, d {d}, b {b:.4g}", relative_error(found, formula))


@check(
    "rem-cumulant",
    "large-d moment of the overlap with a random pattern",
    "maximisation",
    "Lucibello and Mezard (2024)",
    ROUNDING,
)
def rem_cumulant() -> Iterator[Case]:
    """g(λ) = max_φ [½ ln(1 − φ²) + λφ], and the identity λ − g(√(λ² + λ)) = ½ ln(1 + λ)."""
    for inverse in (0.1, 0.5, 1.0, 2.0, 10.0, 100.0):
        found = _cumulant(inverse)
        yield Case(f"b/d = {inverse:g}", relative_error(found, float(closed_forms.rem_cumulant(inverse))))
        root = math.sqrt(inverse**2 + inverse)
        identity = inverse - float(closed_forms.rem_cumulant(root))
        yield Case(
            f"identity at {inverse:g}", relative_error(identity, math.log1p(inverse) / 2, max(inverse, 1.0))
        )


@check(
    "rem-capacity",
    "load up to which random patterns are retrieved, large d",
    "maximisation",
    "Lucibello and Mezard (2024)",
    ROUNDING,
)
def rem_capacity() -> Iterator[Case]:
    """λ − g(λ) with g by maximisation; the threshold of a load by a root of that."""
    for inverse in (0.1, 0.5, 1.0, 2.0, 10.0, 100.0):
        load = inverse - _cumulant(inverse)
        formula = float(closed_forms.rem_capacity(inverse))
        yield Case(f"capacity at b/d = {inverse:g}", relative_error(load, formula, max(formula, inverse)))
        threshold = closed_forms.rem_threshold(formula)
        yield Case(f"threshold of load {formula:.3g}", relative_error(inverse, threshold))


def _cumulant(inverse: float) -> float:
    """Largest ½ ln(1 − φ²) + λφ over φ, sought in tanh⁻¹ φ."""
    best = scipy.optimize.minimize_scalar(
        lambda y: math.log(math.cosh(y)) - inverse * math.tanh(y),
        bounds=(0.0, 12.0),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return -float(best.fun)


CHECKS = (
    annealed_fold, annealed_overlap, rem_cumulant, rem_capacity,
)  # fmt: skip
