"""Isolated and dispersed attention, and what holds at every stationary state."""

from collections.abc import Iterator

import numpy as np

from hopfieldphase.continuation.discovery import discover
from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import clustered, gaussian, spherical
from hopfieldphase.core.tsallis import tsallis_entropy
from hopfieldphase.kernels.maps import weights
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.validation.numerics import vanishing_point
from hopfieldphase.phases.validation.record import Case, check, relative_error
from hopfieldphase.solvers import relax_many

# Rounding in sums of some hundred terms.
ROUNDING = 1e-12
# Relaxed states are stationary to about 1e-12; energies are stationary there.
RELAXED = 1e-12


@check(
    "isolation-gap",
    "score gap that isolates k equal scores",
    "vanishing weights",
    "threshold of Lemma F.1",
    ROUNDING,
)
def isolation_gap() -> Iterator[Case]:
    """At β = 1 the smallest gap that leaves the other scores without weight."""
    for alpha in (1.1, 1.5, 2.0, 3.0, 6.0):
        for k in (1, 2, 4, 9):
            for n in (k + 1, 40):
                scores = np.where(np.arange(n) < k, 0.0, -1.0)
                # a gap of 1 at the inverse temperature found is that gap at β = 1
                (found,) = vanishing_point(scores, alpha, np.arange(n) >= k)
                words = f"alpha {alpha:g}, k {k}, n {n}"
                yield Case(words, relative_error(float(found), closed_forms.isolation_gap(k, alpha)))
                halved = closed_forms.isolation_gap(k, alpha, beta=2.0)
                yield Case(f"{words}, beta 2", relative_error(float(found) / 2, halved))


@check(
    "dispersion-bounds",
    "bounds on softmax weights and entropy from the spread",
    "random scores, and scores that meet the bounds",
    "Velickovic et al. (2025), Lemma 2.1",
    ROUNDING,
)
def dispersion_bounds() -> Iterator[Case]:
    """Random scores stay inside; scores that put the bounds to the test reach them up to spread/n."""
    generator = np.random.default_rng(7)
    for n in (2, 5, 50, 1000):
        for spread in (1e-12, 0.1, 1.0, 8.0):
            scores = spread * generator.uniform(size=(20, n))
            scores[:, :2] = 0.0, spread
            p = weights(scores, 1.0)
            entropies = tsallis_entropy(p, 1.0)
            bound = closed_forms.dispersion_bounds(spread, n)
            beyond = max(
                bound.weight_min / float(p.min()) - 1,
                float(p.max()) / bound.weight_max - 1,
                bound.entropy_min - float(entropies.min()),
                float(entropies.max()) - bound.entropy_max,
                0.0,
            )
            yield Case(f"n {n}, spread {spread:g}: crossed", beyond)
    n, spread = 1_000_000, 1e-7
    for odd, name in ((0.0, "weight_min"), (spread, "weight_max")):
        scores = np.full(n, spread - odd)
        scores[0] = odd
        bound = getattr(closed_forms.dispersion_bounds(1.0, n, beta=spread), name)
        yield Case(f"{name} met", relative_error(float(weights(scores, 1.0)[0]), bound))
    for spread in (0.0, 1e-13):
        bound = closed_forms.dispersion_bounds(spread, 100)
        entropy = float(tsallis_entropy(weights(spread * np.linspace(0, 1, 100), 1.0), 1.0))
        for name in ("entropy_min", "entropy_max"):
            yield Case(f"{name} met at spread {spread:g}", relative_error(entropy, getattr(bound, name)))


@check(
    "duality",
    "free energies of states and of their weights",
    "relaxation from every pattern, seven alphas",
    "Theorem 3.1",
    RELAXED,
)
def duality() -> Iterator[Case]:
    """Γ(x) = −Ψ(p) − ½ β pᵀGp at the minima that all patterns and their mean relax to, seven alphas."""
    sets = {"clustered": clustered(20, 12), "spherical": spherical(15, 8), "gaussian": gaussian(12, 9)}
    for alpha in (0.6, 1.0, 1.3, 1.5, 2.0, 2.5, 4.0):
        for words, patterns in sets.items():
            model = HopfieldModel(patterns, alpha)
            starts = model.scale * np.vstack([patterns, patterns.mean(axis=0)])
            for beta in (8.0, 40.0, 150.0):
                for found in relax_many(model, list(starts), beta):
                    p = found.weights
                    dual = -float(tsallis_entropy(p, alpha)) - beta / 2 * float(p @ model.gram @ p)
                    error = relative_error(found.free_energy, dual, max(1.0, abs(dual)))
                    yield Case(f"alpha {alpha:g}, beta {beta:g}, {words}", error)


@check(
    "proposition-4-1",
    "alpha = 2: energy from the scores above the threshold",
    "all minima found at four beta",
    "Proposition 4.1",
    RELAXED,
)
def proposition_4_1() -> Iterator[Case]:
    """Γ(x) of the minima found at four β in three sets of patterns."""
    sets = {"clustered": clustered(24, 16), "spherical": spherical(20, 8), "gaussian": gaussian(14, 9)}
    for words, patterns in sets.items():
        model = HopfieldModel(patterns, alpha=2.0)
        for beta in (10.0, 40.0, 80.0, 160.0):
            for state in discover(model, beta).states:
                energy = float(model.free_energy(state.x, beta))
                z, theta = model.overlaps(state.x), state.threshold
                given = (z, theta, model.gram, beta)
                size = max(1.0, abs(energy))
                name = f"beta {beta:g}, {words}, support of {len(state.support)}"
                found = float(closed_forms.proposition_4_1_energy(*given))
                yield Case(name, relative_error(energy, found, size))
                residual = float(closed_forms.proposition_4_1_residual(*given, energy))
                yield Case(f"residual, {name}", relative_error(residual, energy - found, size))


CHECKS = (
    isolation_gap, dispersion_bounds, duality, proposition_4_1,
)  # fmt: skip
