"""The numerical validation of Appendix G.4 in full: 90 two-key systems and 50 k-support systems, α = 2.

All keys are taken at unit scale: the appendix prints b = 2/(1 − ε), and only so does its finite-difference
estimator, h = 2·10⁻⁵, have the errors that it reports.
"""

from collections.abc import Iterator

import numpy as np

from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import circulant, two_keys
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.validation.numerics import (
    Floats,
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


def _pairs() -> Iterator[tuple[str, float, HopfieldModel]]:
    for epsilon in COSINES:
        for rotation in range(ROTATIONS):
            keys = two_keys(epsilon, d=DIMENSION, realization=rotation)
            yield (
                f"cosine {epsilon:.2f}, rotation {rotation}",
                epsilon,
                HopfieldModel(keys, alpha=2.0, scale=1.0),
            )


def _supports() -> Iterator[tuple[str, HopfieldModel, Floats]]:
    for k in SUPPORT_SIZES:
        for system in range(SYSTEMS):
            keys = circulant(k, d=SUPPORT_DIMENSION, realization=system)
            model = HopfieldModel(keys, alpha=2.0, scale=1.0)
            yield f"k = {k}, system {system}", model, model.patterns.mean(axis=0)


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
    for words, epsilon, model in _pairs():
        found = energy_crossing(model, model.patterns[0], model.patterns.mean(axis=0))
        yield Case(words, relative_error(found, closed_forms.two_keys_coexistence(epsilon, 2.0)))


@check(
    "g4-two-keys-spinodal",
    "spinodal of the mixture of two keys",
    "zero of the analytic Hessian",
    "App. G.4, Proposition 4.2",
    1e-12,
)
def two_keys_spinodal() -> Iterator[Case]:
    """λ_min(∇²Γ) = 0."""
    for words, epsilon, model in _pairs():
        found = spinodal_of(model, model.patterns.mean(axis=0))
        yield Case(words, relative_error(found, closed_forms.two_keys_instability(epsilon, 2.0)))


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
    for words, epsilon, model in _pairs():
        apart = model.patterns[0] - model.patterns[1]
        found = finite_difference_spinodal(
            model, model.patterns.mean(axis=0), apart / np.linalg.norm(apart), STEP
        )
        yield Case(words, relative_error(found, closed_forms.two_keys_instability(epsilon, 2.0)))


@check(
    "g4-supports-spinodal",
    "spinodal of uniform states on 3 to 8 keys",
    "zero of the analytic Hessian",
    "App. G.4, Proposition 4.2",
    1e-12,
)
def supports_spinodal() -> Iterator[Case]:
    """λ_min(∇²Γ) = 0."""
    for words, model, x in _supports():
        yield Case(
            words, relative_error(spinodal_of(model, x), closed_forms.uniform_spinodal(model.gram, 2.0))
        )


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
    for words, model, x in _supports():
        soft = np.linalg.eigh(model.hessian(x, 1.0))[1][:, 0]
        found = finite_difference_spinodal(model, x, soft, STEP)
        yield Case(words, relative_error(found, closed_forms.uniform_spinodal(model.gram, 2.0)))


CHECKS = (
    two_keys_coexistence, two_keys_spinodal, two_keys_differences, supports_spinodal, supports_differences,
)  # fmt: skip
