"""Exact storage of single patterns: onset, character at the onset, probability for random patterns."""

import math
from collections.abc import Iterator

import numpy as np
import scipy

from hopfieldphase.core import closed_forms
from hopfieldphase.core.closed_forms import OnsetCharacter
from hopfieldphase.core.patterns import clustered, gaussian, spherical
from hopfieldphase.core.tsallis import tsallis_entropy
from hopfieldphase.kernels.maps import weights
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.validation.numerics import Floats, vanishing_point
from hopfieldphase.phases.validation.record import (
    STANDARD_ERRORS,
    Case,
    agreement,
    check,
    relative_error,
)

ALPHAS = (1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0)

# Rounding, times the ratio of the overlaps to their difference (up to 30 in these sets).
ONSET = 1e-12
# Adaptive quadrature of a smooth density.
QUADRATURE = 1e-11

# α, d, M, b; the first two are printed with six digits in the conventions.
LOADS = ((1.5, 10, 50, 6.0), (2.0, 16, 200, 8.0), (3.0, 4, 12, 3.0), (1.2, 24, 60, 14.0), (2.0, 3, 5, 1.7))
SAMPLES, BATCH = 8000, 500


def _sets() -> Iterator[tuple[str, Floats]]:
    yield "clustered patterns", clustered(24, 16)
    yield "spherical patterns", spherical(24, 12)
    yield "patterns of many norms", gaussian(24, 10) * np.linspace(0.6, 1.4, 24)[:, None]
    repeated = spherical(8, 6)
    repeated[5] = repeated[2]
    yield "patterns with a repeated one", repeated


@check(
    "storage-onset",
    "where each pattern is stored exactly",
    "vanishing weights",
    "margin of the entmax, Peters et al. (2019), Blondel et al. (2020)",
    ONSET,
)
def storage_onset() -> Iterator[Case]:
    """The β from which on x = s ξ_μ retrieves itself with all weight, from three functions of the package."""
    for alpha in ALPHAS:
        for words, patterns in _sets():
            model = HopfieldModel(patterns, alpha)
            found = vanishing_point(model.gram, alpha, ~np.eye(model.M, dtype=bool))
            separation = closed_forms.pattern_separation(patterns)
            answers = {
                "gram": closed_forms.exact_storage_onset(model.gram, alpha),
                "separation": closed_forms.onset_of_separation(separation, alpha) / model.scale**2,
            }
            for route, onset in answers.items():
                for mu in range(model.M):
                    name = f"pattern {mu}, alpha {alpha:g}, {words} ({route})"
                    yield Case(name, relative_error(float(found[mu]), float(onset[mu])))
            last = closed_forms.all_stored_onset(model.gram, alpha)
            yield Case(f"all, alpha {alpha:g}, {words}", relative_error(float(found.max()), last))
    for alpha in (0.5, 0.9):
        model = HopfieldModel(spherical(6, 5), alpha)
        ever = bool(np.any(weights(1e6 * model.gram, alpha) == 0))
        never = np.all(np.isinf(closed_forms.exact_storage_onset(model.gram, alpha)))
        yield Case(f"alpha {alpha:g}: never", agreement(bool(never), not ever))


@check(
    "onset-character",
    "whether a pattern is a minimum exactly at its onset",
    "free energy around the pattern",
    "expansion of F in the weight of the competitor",
    0.0,
)
def onset_character() -> Iterator[Case]:
    """F along the edge to the competitor, at small weights: rising, falling or flat."""
    small = np.geomspace(1e-4, 3e-3, 12)
    for alpha in (1.2, 1.5, 1.9, 2.0, 2.1, 2.5, 2.9, 3.0, 3.1, 4.0, 6.0):
        (coupling,) = vanishing_point(np.array([1.0, 0.0]), alpha, np.array([False, True]))
        p = np.stack([1 - small, small], axis=-1)
        rise = -tsallis_entropy(p, alpha) - coupling / 2 * (np.sum(p**2, axis=-1) - 1)
        if np.all(np.abs(rise) < 1e-14):
            found = OnsetCharacter.MARGINAL
        else:
            found = OnsetCharacter.MINIMUM if rise[0] > 0 else OnsetCharacter.NO_MINIMUM
        yield Case(f"alpha {alpha:g}", agreement(found, closed_forms.onset_character(alpha)))


@check(
    "storage-probability",
    "probability of exact storage of a random pattern",
    "quadrature over the cosine",
    "cosine of independent uniform unit vectors",
    QUADRATURE,
)
def storage_probability() -> Iterator[Case]:
    """The density of the cosine, (1 − q²)^((d−3)/2), integrated up to the largest cosine that is harmless."""
    for alpha, d, M, b in LOADS:
        # the cosine at which a single competitor begins to share the weight
        harmless = 1 - float(vanishing_point([[0.0, -1.0]], alpha, [False, True])[0]) / b
        below, whole = (
            scipy.integrate.quad(
                lambda angle, d=d: math.sin(angle) ** (d - 2), start, math.pi, epsabs=0, epsrel=1e-13
            )[0]
            for start in (math.acos(harmless), 0.0)
        )
        formula = closed_forms.exact_storage_probability(M, d, b, alpha)
        words = f"alpha {alpha:g}, d {d}, M {M}, b {b:g}"
        yield Case(words, relative_error((below / whole) ** (M - 1), formula))


@check(
    "storage-sampled",
    "probability of exact storage of a random pattern",
    f"{SAMPLES} drawn sets of patterns",
    "Monte Carlo, one standard error",
    4.0,
    measure=STANDARD_ERRORS,
)
def storage_sampled() -> Iterator[Case]:
    """Whether pattern 0 of a drawn set has all the weight when it is the query."""
    generator = np.random.default_rng(20_000)
    for alpha, d, M, b in LOADS:
        stored = 0
        for _ in range(SAMPLES // BATCH):
            xi = generator.standard_normal((BATCH, M, d))
            xi /= np.linalg.norm(xi, axis=-1, keepdims=True)
            scores = np.einsum("nmd,nd->nm", xi, xi[:, 0])
            stored += int(np.count_nonzero(weights(scores, alpha, b)[:, 0] == 1))
        formula = closed_forms.exact_storage_probability(M, d, b, alpha)
        standard_error = math.sqrt(formula * (1 - formula) / SAMPLES)
        words = f"alpha {alpha:g}, d {d}, M {M}, b {b:g}: {stored} of {SAMPLES}"
        yield Case(words, relative_error(stored / SAMPLES, formula, standard_error))


CHECKS = (
    storage_onset, onset_character, storage_probability, storage_sampled,
)  # fmt: skip
