"""The numerical validation of Appendix G.4 in full: 90 two-key systems and 50 k-support systems, α = 2.

All keys are taken at unit scale: the appendix prints b = 2/(1 − ε), and only so does its finite-difference
estimator, h = 2·10⁻⁵, have the errors that it reports.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import circulant, two_keys
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.validation.numerics import (
    energy_crossing,
    finite_difference_spinodal,
    spinodal_of,
)
from hopfieldphase.phases.validation.record import Case, check, relative_error

STEP = 2e-5
"""h of the appendix."""

DIMENSION, ROTATIONS = 16, 5
COSINES = tuple(n / 20 for n in range(18))
SUPPORT_DIMENSION, SYSTEMS = 20, 10
SUPPORT_SIZES = (3, 4, 5, 6, 8)

# Rounding of Γ, about 4·10⁻¹⁶, over h² and the slope of the curvature is 10⁻⁶, and this an order more.
DIFFERENCES = 1e-5


@dataclass(frozen=True)
class CriticalValues:
    """Critical inverse temperatures of one system of keys, by formula and by numerics.

    Attributes
    ----------
    words : str
        Which system.
    control : float
        What the systems differ in: the cosine ε of two keys, or the number k of keys.
    formula : float
        2/((1 − ε) s²), or 2/λ_max(PGP).
    coexistence : float
        Where Γ(k₁) = Γ((k₁ + k₂)/2); NaN for more than two keys.
    spinodal : float
        Where λ_min(∇²Γ) of the uniform state vanishes.
    differences : float
        Where its second difference vanishes, the estimator of the appendix.
    """

    words: str
    control: float
    formula: float
    coexistence: float
    spinodal: float
    differences: float

    def error(self, of: str) -> float:
        """Relative deviation of `coexistence`, `spinodal` or `differences` from the formula."""
        return relative_error(getattr(self, of), self.formula)


def two_key_values(
    cosines: Sequence[float] = COSINES, d: int = DIMENSION, rotations: int = ROTATIONS, scale: float = 1.0
) -> Iterator[CriticalValues]:
    """Two unit keys with each cosine, in random orientations, α = 2."""
    for epsilon in cosines:
        for rotation in range(rotations):
            keys = two_keys(epsilon, d=d, realization=rotation)
            model = HopfieldModel(keys, alpha=2.0, scale=scale)
            one, both = scale * model.patterns[0], scale * model.patterns.mean(axis=0)
            apart = model.patterns[0] - model.patterns[1]
            yield CriticalValues(
                f"cosine {epsilon:.2f}, rotation {rotation}",
                epsilon,
                closed_forms.two_keys_coexistence(epsilon, 2.0) / scale**2,
                energy_crossing(model, one, both),
                spinodal_of(model, both),
                finite_difference_spinodal(model, both, apart / np.linalg.norm(apart), STEP),
            )


def support_values(
    sizes: Sequence[int] = SUPPORT_SIZES,
    d: int = SUPPORT_DIMENSION,
    systems: int = SYSTEMS,
    scale: float = 1.0,
) -> Iterator[CriticalValues]:
    """Circulant systems of k keys, α = 2: the spinodal of the state on all of them, u its soft direction."""
    for k in sizes:
        for system in range(systems):
            model = HopfieldModel(circulant(k, d=d, realization=system), alpha=2.0, scale=scale)
            x = scale * model.patterns.mean(axis=0)
            soft = np.linalg.eigh(model.hessian(x, 1.0))[1][:, 0]
            yield CriticalValues(
                f"k = {k}, system {system}",
                k,
                closed_forms.uniform_spinodal(model.gram, 2.0),
                np.nan,
                spinodal_of(model, x),
                finite_difference_spinodal(model, x, soft, STEP),
            )


@cache
def _two_keys() -> tuple[CriticalValues, ...]:
    return tuple(two_key_values())


@cache
def _supports() -> tuple[CriticalValues, ...]:
    return tuple(support_values())


@check(
    "g4-two-keys-coexistence",
    "coexistence of one of two keys and their mixture",
    "crossing of free energies",
    "App. G.4, Proposition 4.1",
    1e-13,
    published=5.73e-15,
)
def two_keys_coexistence() -> Iterator[Case]:
    """Γ(k₁) = Γ((k₁ + k₂)/2)."""
    for values in _two_keys():
        yield Case(values.words, values.error("coexistence"))


@check(
    "g4-two-keys-spinodal",
    "spinodal of the mixture of two keys",
    "zero of the analytic Hessian",
    "App. G.4, Proposition 4.2",
    1e-12,
)
def two_keys_spinodal() -> Iterator[Case]:
    """λ_min(∇²Γ) = 0."""
    for values in _two_keys():
        yield Case(values.words, values.error("spinodal"))


@check(
    "g4-two-keys-differences",
    "spinodal of the mixture of two keys",
    "second difference of the free energy, h = 2e-5",
    "App. G.4, Proposition 4.2",
    DIFFERENCES,
    published=1.72e-6,
)
def two_keys_differences() -> Iterator[Case]:
    """The appendix's estimator: Γ(x + hu) + Γ(x − hu) − 2Γ(x) = 0 with u along k₁ − k₂."""
    for values in _two_keys():
        yield Case(values.words, values.error("differences"))


@check(
    "g4-supports-spinodal",
    "spinodal of uniform states on 3 to 8 keys",
    "zero of the analytic Hessian",
    "App. G.4, Proposition 4.2",
    1e-12,
)
def supports_spinodal() -> Iterator[Case]:
    """λ_min(∇²Γ) = 0."""
    for values in _supports():
        yield Case(values.words, values.error("spinodal"))


@check(
    "g4-supports-differences",
    "spinodal of uniform states on 3 to 8 keys",
    "second difference of the free energy, h = 2e-5",
    "App. G.4, Proposition 4.2",
    DIFFERENCES,
    published=1.92e-6,
)
def supports_differences() -> Iterator[Case]:
    """The appendix's estimator, u the soft direction of the Hessian."""
    for values in _supports():
        yield Case(values.words, values.error("differences"))


CHECKS = (
    two_keys_coexistence, two_keys_spinodal, two_keys_differences, supports_spinodal, supports_differences,
)  # fmt: skip
