"""Two keys alone, pairs among others, and the barrier between two stored patterns, by the general engine."""

import math
from collections.abc import Iterator

import numpy as np
import scipy

from hopfieldphase.continuation.active_set import trace
from hopfieldphase.continuation.branch import Branch
from hopfieldphase.continuation.branches import follow
from hopfieldphase.continuation.discovery import discover
from hopfieldphase.core import closed_forms
from hopfieldphase.core.closed_forms import Transition
from hopfieldphase.core.patterns import spherical, two_keys
from hopfieldphase.core.tsallis import tsallis_entropy
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.coexistence import coexistence
from hopfieldphase.phases.validation.numerics import (
    energy_crossing,
    minimum_near,
    stable_interval,
)
from hopfieldphase.phases.validation.record import Case, agreement, check, relative_error
from hopfieldphase.solvers import relax

COSINES = (-0.6, 0.0, 0.35, 0.85)
ALPHAS = (0.5, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5, 2.9, 3.0, 3.5, 5.0)

# Special points as the engine locates them, and bisected crossings of energies.
LOCATED = 1e-10
CROSSING = 1e-10
# Golden-section search for the height of a smooth maximum.
HEIGHT = 1e-12

# In units of 1/(1 − ε): low enough for the mixture alone, high enough for single keys alone.
_LOW, _HIGH = 0.2, 9.0


def _model(cosine: float, alpha: float) -> HopfieldModel:
    return HopfieldModel(two_keys(cosine, d=5), alpha, scale=1.0)


def _mixture(model: HopfieldModel, cosine: float) -> Branch:
    low, high = _LOW / (1 - cosine), _HIGH / (1 - cosine)
    return follow(model, model.patterns.mean(axis=0), 1.1 * low, (low, high))


def _single(model: HopfieldModel, cosine: float) -> Branch:
    low, high = _LOW / (1 - cosine), _HIGH / (1 - cosine)
    return follow(model, model.patterns[0], 0.95 * high, (low, high))


@check(
    "two-keys-instability",
    "loss of stability of the mixture of two keys",
    "continuation",
    "Proposition 4.2 for every alpha",
    LOCATED,
)
def two_keys_instability() -> Iterator[Case]:
    """Upper end of the stable part of the branch followed from low b."""
    for alpha in ALPHAS:
        for cosine in COSINES:
            model = _model(cosine, alpha)
            _, found = stable_interval(_mixture(model, cosine), 1.1 * _LOW / (1 - cosine))
            formula = closed_forms.two_keys_instability(cosine, alpha)
            yield Case(f"alpha {alpha:g}, cosine {cosine:g}", relative_error(found, formula))


@check(
    "two-keys-vertex",
    "where one of two keys is stored exactly",
    "continuation",
    "margin of the entmax",
    LOCATED,
)
def two_keys_vertex() -> Iterator[Case]:
    """Lower end of the piece of the retrieval branch that has one key as its support."""
    for alpha in ALPHAS:
        for cosine in COSINES:
            branch = _single(_model(cosine, alpha), cosine)
            alone = [piece.lower for piece in branch.pieces if piece.support == (0,)]
            formula = closed_forms.two_keys_vertex(cosine, alpha)
            found = alone[0] if alone else math.inf
            yield Case(f"alpha {alpha:g}, cosine {cosine:g}", relative_error(found, formula))


@check(
    "two-keys-coexistence",
    "equal free energies of mixture and key, 2 <= alpha <= 3",
    "continuation, crossing of free energies",
    "Proposition 4.1 for every alpha",
    CROSSING,
)
def two_keys_coexistence() -> Iterator[Case]:
    """Crossing of the two branches where both are minima together; of Γ at the two states at α = 2 and 3."""
    for cosine in COSINES:
        for alpha in (2.0, 3.0):
            model = _model(cosine, alpha)
            found = energy_crossing(model, model.patterns[0], model.patterns.mean(axis=0))
            formula = closed_forms.two_keys_coexistence(cosine, alpha)
            yield Case(f"alpha {alpha:g}, cosine {cosine:g}", relative_error(found, formula))
        for alpha in (2.1, 2.5, 2.9):
            model = _model(cosine, alpha)
            points = coexistence(_mixture(model, cosine), _single(model, cosine))
            formula = closed_forms.two_keys_coexistence(cosine, alpha)
            # the branch of one key leads on to the other: each crosses once
            errors = [relative_error(point.parameter, formula) for point in points]
            yield Case(f"alpha {alpha:g}, cosine {cosine:g}", max(errors, default=math.inf))
    for alpha in (1.0, 1.9, 3.1):
        formula = closed_forms.two_keys_coexistence(0.3, alpha)
        yield Case(f"alpha {alpha:g}: none", relative_error(math.nan, formula))


@check(
    "two-keys-transition",
    "order of the transition from the mixture to one key",
    "stability of both branches, by continuation",
    "stability of both branches",
    0.0,
)
def two_keys_transition() -> Iterator[Case]:
    """First order where both states are stable together; degenerate where the state jumps without that."""
    for alpha in (0.5, 1.0, 1.5, 1.9, 2.0, 2.1, 2.5, 2.9, 3.0, 3.1, 4.0, 6.0):
        for cosine in (0.0, 0.6):
            model = _model(cosine, alpha)
            low, high = _LOW / (1 - cosine), _HIGH / (1 - cosine)
            _, mixed_until = stable_interval(_mixture(model, cosine), 1.1 * low)
            single_from, _ = stable_interval(_single(model, cosine), 0.95 * high)
            just_beyond = relax(
                model, 0.55 * model.patterns[0] + 0.45 * model.patterns[1], 1.001 * mixed_until
            )
            if single_from < mixed_until * (1 - 1e-6):
                found = Transition.FIRST_ORDER
            elif np.max(just_beyond.weights) > 0.9:
                found = Transition.DEGENERATE
            else:
                found = Transition.CONTINUOUS
            words = f"alpha {alpha:g}, cosine {cosine:g}"
            yield Case(words, agreement(found, closed_forms.two_keys_transition(alpha)))


@check(
    "pair-interval",
    "alpha = 2: where pairs among other patterns are minima",
    "exact tracer",
    "Proposition 4.2 for a pair",
    LOCATED,
)
def pair_interval() -> Iterator[Case]:
    """Both ends of the piece with this support; that no pair is a minimum where none is said to be."""
    sets = {"spherical": spherical(9, 5), "longer": 1.7 * spherical(8, 4, seed=3)}
    betas = np.geomspace(0.05, 60, 24)
    for words, patterns in sets.items():
        model = HopfieldModel(patterns, alpha=2.0, scale=1.0)
        seen = {state.support for beta in betas for state in discover(model, float(beta)).states}
        for i in range(model.M):
            for j in range(i):
                name = f"{words}, pair {j}, {i}"
                formula = closed_forms.pair_interval(model.gram, i, j)
                inside = minimum_near(model, (patterns[i] + patterns[j]) / 2, betas)
                if formula is None:
                    yield Case(name, agreement(None, formula if math.isnan(inside) else inside))
                elif math.isnan(inside):  # the window may lie between two values of the grid
                    yield Case(name, agreement((j, i) in seen, False))
                else:
                    branch = trace(model, (j, i), inside)
                    piece = next(piece for piece in branch.pieces if piece.contains(inside))
                    ends = ((piece.lower, formula[0]), (piece.upper, formula[1]))
                    yield Case(name, max(relative_error(found, end) for found, end in ends))


@check(
    "pair-barrier",
    "barrier between two stored patterns along their edge",
    "search along the edge",
    "F of Theorem 3.1",
    HEIGHT,
)
def pair_barrier() -> Iterator[Case]:
    """Highest F on the edge minus F of a pattern."""
    for alpha in (1.2, 1.5, 2.0, 2.5, 3.5):
        model = _model(0.35, alpha)
        for coupling in (7.0, 20.0):
            beta = coupling / (1 - 0.35)

            def energy(share: float, model: HopfieldModel = model, beta: float = beta) -> float:
                p = np.array([share, 1 - share])
                return -float(tsallis_entropy(p, model.alpha)) - beta / 2 * float(p @ model.gram @ p)

            top = scipy.optimize.minimize_scalar(
                lambda share: -energy(share), bounds=(0.2, 0.8), method="bounded", options={"xatol": 1e-9}
            )
            formula = closed_forms.pair_barrier(coupling, alpha)
            words = f"alpha {alpha:g}, K {coupling:g}"
            yield Case(words, relative_error(-float(top.fun) - energy(1.0), formula))


@check(
    "two-keys-magnetisation",
    "softmax: m = tanh(K m/2) beyond the pitchfork of two keys",
    "relaxation",
    "mean-field Ising model",
    CROSSING,
)
def two_keys_magnetisation() -> Iterator[Case]:
    """The coupling that belongs to the weights of relaxed states."""
    for cosine in COSINES:
        model = _model(cosine, 1.0)
        for coupling in (2.05, 2.5, 4.0, 8.0):
            state = relax(model, model.patterns[0], coupling / (1 - cosine))
            magnetisation = float(state.weights[0] - state.weights[1])
            found = math.tanh(
                closed_forms.potts_coupling(float(state.weights[0]), 2, 1.0) * magnetisation / 2
            )
            yield Case(f"cosine {cosine:g}, K {coupling:g}", relative_error(found, magnetisation))


CHECKS = (
    two_keys_instability, two_keys_vertex, two_keys_coexistence, two_keys_transition, two_keys_magnetisation,
    pair_interval, pair_barrier,
)  # fmt: skip
