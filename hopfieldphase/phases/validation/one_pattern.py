"""The classical Hopfield model with one pattern."""

import cmath
import math
from collections.abc import Iterator

import numpy as np

from hopfieldphase.core import closed_forms
from hopfieldphase.core.tsallis import tsallis_entropy
from hopfieldphase.phases.validation.numerics import first_zero
from hopfieldphase.phases.validation.record import Case, check, relative_error

# Rounding of a few operations.
ROUNDING = 1e-12


def _mean_spin(field: complex) -> complex:
    """⟨σ⟩ of one spin, from its two states."""
    up, down = cmath.exp(field), cmath.exp(-field)
    return (up - down) / (up + down)


@check(
    "hopfield-overlap",
    "overlap of the one-pattern Hopfield model",
    "iteration over the states of a spin",
    "Eq. (B.6), Proposition B.2",
    ROUNDING,
)
def hopfield_overlap() -> Iterator[Case]:
    """Iterate q ← √d ⟨σ⟩ in the field βq/√d from full overlap; find where the map has slope 1 at zero."""
    for d in (1, 16, 100):
        for beta in (0.5, 1.02, 1.1, 1.5, 4.0, 30.0):
            q = math.sqrt(d)
            for _ in range(2000):
                q = math.sqrt(d) * _mean_spin(beta * q / math.sqrt(d)).real
            formula = closed_forms.hopfield_one_pattern_overlap(beta, d)
            yield Case(f"beta {beta:g}, d {d}", relative_error(q, formula, math.sqrt(d)))
    # an imaginary step: the slope without a difference
    step = 1e-9
    found = first_zero(lambda beta: _mean_spin(1j * beta * step).imag / step - 1)
    yield Case("critical beta", relative_error(found, closed_forms.HOPFIELD_CRITICAL_BETA))


@check(
    "hopfield-energy",
    "free energy of the one-pattern Hopfield model, finite d",
    "counting all spin states",
    "Proposition B.1",
    ROUNDING,
)
def hopfield_energy() -> Iterator[Case]:
    """−z²/2 − ln(number of states of overlap z)/β over all 2^d states."""
    for d in (1, 7, 14):
        bits = np.arange(2**d)[:, None] >> np.arange(d) & 1
        totals = np.sum(2 * bits - 1, axis=1)
        sums, counts = np.unique(totals, return_counts=True)
        z = sums / math.sqrt(d)
        for beta in (0.6, 1.7):
            found = -(z**2) / 2 - np.log(counts) / beta
            formula = closed_forms.hopfield_one_pattern_energy(z, beta, d)
            for n, value in enumerate(found):
                words = f"beta {beta:g}, d {d}, sum of spins {sums[n]}"
                yield Case(words, relative_error(float(value), float(formula[n]), d / beta))


@check(
    "hopfield-limit",
    "free energy of the one-pattern Hopfield model, large d",
    "entropy of a spin",
    "Eqs. (B.4), (B.5)",
    ROUNDING,
)
def hopfield_limit() -> Iterator[Case]:
    """−β q²/2 − d [H(p) − ln 2] with p = (1 ± m)/2, H the Shannon entropy."""
    for d in (4, 64):
        for beta in (0.7, 1.6):
            for m in (-0.95, -0.4, 0.0, 0.1, 0.7, 1.0):
                q = m * math.sqrt(d)
                entropy = float(tsallis_entropy(np.array([(1 + m) / 2, (1 - m) / 2]), 1.0))
                found = -beta * q**2 / 2 - d * (entropy - math.log(2))
                formula = float(closed_forms.hopfield_one_pattern_limit(q, beta, d))
                yield Case(f"beta {beta:g}, d {d}, m {m:g}", relative_error(found, formula, d))


CHECKS = (
    hopfield_overlap, hopfield_energy, hopfield_limit,
)  # fmt: skip
