"""Find the minima that coexist at one β: many starts, relaxed, de-duplicated and ranked."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage

from hopfieldphase.continuation.branch import State, Vector
from hopfieldphase.continuation.face import Face, StoredPatterns
from hopfieldphase.continuation.landing import settle
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel, RetrievalModel
from hopfieldphase.solvers import Solution, relax, relax_many

SAME_STATE = 1e-6
"""States closer than this, relative to max(|x|, s·max|ξ|), are one."""

TIED = 1e-9
"""Relative difference below which z_max or Γ do not decide a rank."""

LARGEST_TREE = 2048
"""Cluster mixtures are taken from the average-linkage tree of at most this many patterns."""

_WARM_STEPS = 16
_NEIGHBOURS = 4
_LARGEST_MIXTURE = 8


@dataclass(frozen=True, eq=False)
class Discovery:
    """The minima found at one β.

    Attributes
    ----------
    beta : float
        The reference β₀.
    states : tuple of State
        Distinct verified minima in order of falling z_max, then rising Γ, then first start.
    origins : tuple of str
        The first start that led to each state, such as ``"pattern:3"``.
    n_starts : int
        Number of starts.
    n_undecided : int
        Starts that did not end at a verified strict minimum.
    """

    beta: float
    states: tuple[State, ...]
    origins: tuple[str, ...]
    n_starts: int
    n_undecided: int


def start_states(
    model: HopfieldModel, beta: float, *, beta_low: float, states: Sequence[Any] = (), seed: int = 0
) -> list[tuple[str, Vector]]:
    """Start states from which the minima at β are searched, each with its name.

    Every pattern; every pattern with each of its four nearest others; the means over the nodes of the
    average-linkage tree of the patterns (clusters at every scale, up to all patterns); as many random
    mixtures of two to eight patterns; the state of lowest β carried to β in small steps; and the user's own.

    Parameters
    ----------
    model : HopfieldModel
    beta : float
        The reference β₀.
    beta_low : float
        Where the low-β state is relaxed from the mean pattern, at most `beta`.
    states : sequence of arrays (d,)
        Further start states.
    seed : int
        Seed of the random mixtures.
    """
    starts = pattern_starts(model, seed)
    x = model.scale * np.asarray(model.patterns, dtype=np.float64).mean(axis=0)
    for value in np.geomspace(beta_low, beta, _WARM_STEPS):
        x = np.asarray(relax(model, x, float(value)).x, dtype=np.float64)
    starts.append(("low-beta", x))
    starts += [(f"state:{n}", np.asarray(state, dtype=np.float64)) for n, state in enumerate(states)]
    return starts


def pattern_starts(model: RetrievalModel, seed: int = 0) -> list[tuple[str, Vector]]:
    """Those of `start_states` that the patterns alone decide: single ones, pairs, clusters and mixtures."""
    scaled = model.scale * np.asarray(model.patterns, dtype=np.float64)
    starts = [(f"pattern:{mu}", scaled[mu]) for mu in range(model.M)]
    tree = scaled[:LARGEST_TREE]
    if len(tree) > 1:
        whole = np.asarray(model.gram, dtype=np.float64) if len(tree) == model.M else tree @ tree.T
        norms = np.sqrt(whole.diagonal())
        cosines = whole / norms / norms[:, None]
        np.fill_diagonal(cosines, -math.inf)
        nearest = np.argsort(-cosines, axis=1, kind="stable")[:, : min(_NEIGHBOURS, len(tree) - 1)]
        pairs = sorted({(min(mu, nu), max(mu, nu)) for mu, row in enumerate(nearest.tolist()) for nu in row})
        starts += [(f"pair:{mu},{nu}", (tree[mu] + tree[nu]) / 2) for mu, nu in pairs]
        starts += _cluster_means(tree, cosines)
    generator = np.random.default_rng(seed)
    largest = min(_LARGEST_MIXTURE, model.M)
    for n in range(model.M if largest > 1 else 0):
        chosen = generator.choice(model.M, generator.integers(2, largest + 1), replace=False)
        starts.append((f"mixture:{n}", generator.dirichlet(np.ones(chosen.size)) @ scaled[chosen]))
    return starts


def _cluster_means(tree: Vector, cosines: NDArray[np.float64]) -> list[tuple[str, Vector]]:
    """Mean state of every inner node of the average-linkage tree under the distance 1 − cosine."""
    n = len(tree)
    rows, columns = np.triu_indices(n, 1)
    sums = [*tree]
    sizes = [1] * n
    means: list[tuple[str, Vector]] = []
    for node, (a, b, _, _) in enumerate(linkage(np.maximum(1 - cosines[rows, columns], 0), "average")):
        sums.append(sums[int(a)] + sums[int(b)])
        sizes.append(sizes[int(a)] + sizes[int(b)])
        means.append((f"cluster:{node}", sums[-1] / sizes[-1]))
    return means


def discover(
    model: HopfieldModel,
    beta: float,
    *,
    beta_low: float | None = None,
    states: Sequence[Any] = (),
    seed: int = 0,
) -> Discovery:
    """Find the strict minima of Γ at one β.

    Parameters
    ----------
    model : HopfieldModel
    beta : float
        The reference β₀.
    beta_low : float, optional
        Where the low-β state starts, by default β₀ itself.
    states : sequence of arrays (d,)
        Start states beside those of `start_states`.
    seed : int
        Seed of the random mixtures.

    Returns
    -------
    Discovery
        At α = 2 every state is exact on its support, and verified on the support's closed form.

    Raises
    ------
    InputError
        If β lies outside its domain or beta_low above β.
    """
    beta = inverse_temperature(beta)
    low = beta if beta_low is None else inverse_temperature(beta_low)
    if low > beta:
        raise InputError(f"beta_low = {low:.12g} lies above beta = {beta:.12g}: give a lower value")
    starts = start_states(model, beta, beta_low=low, states=states, seed=seed)
    solutions = relax_many(model, [x for _, x in starts], beta)
    found: list[tuple[State, int]] = []
    undecided = 0
    for n, state in enumerate(_minima(model, solutions, beta)):
        if state is None:
            undecided += 1
        else:
            found.append((state, n))
    distinct = _distinct(found, model.state_scale)
    order = _ranked([state for state, _ in distinct])
    return Discovery(
        beta=beta,
        states=tuple(distinct[i][0] for i in order),
        origins=tuple(starts[distinct[i][1]][0] for i in order),
        n_starts=len(starts),
        n_undecided=undecided,
    )


def verified_minimum(model: HopfieldModel, x: Any, beta: float) -> State:
    """The strict minimum that a state relaxes to at β, exact at α = 2.

    Raises
    ------
    InputError
        If the search ends at a state that is not verified to be a strict minimum.
    """
    solution = relax(model, x, beta)
    state = next(iter(_minima(model, [solution], beta)))
    if state is None:
        raise InputError(
            f"the state relaxes to no strict minimum at beta = {beta:.12g} ({solution.status.sentence}): "
            "start from another state, or at a beta away from a critical point"
        )
    return state


def _minima(model: HopfieldModel, solutions: list[Solution], beta: float) -> Iterable[State | None]:
    """The verified minimum each relaxation leads to, exact at α = 2."""
    if model.alpha != 2.0:
        for solution in solutions:
            yield _state(solution) if solution.status.is_minimum else None
        return
    t = 2 / beta
    stored = StoredPatterns(model)
    known: dict[tuple[int, ...], State | None] = {}
    for solution in solutions:
        support = tuple(solution.support.tolist())
        if support not in known:
            face: Face | None = Face(stored, support)
            if not face.is_strict_minimum(t):
                face = settle(stored, t, np.asarray(solution.weights, dtype=np.float64))
            known[support] = None if face is None else face.state(beta)
        yield known[support]


def _state(solution: Solution) -> State:
    return State(
        parameter=solution.beta,
        beta=solution.beta,
        x=np.asarray(solution.x, dtype=np.float64),
        weights=np.asarray(solution.weights, dtype=np.float64),
        support=tuple(solution.support.tolist()),
        free_energy=solution.free_energy,
        overlap_max=float(np.abs(solution.overlaps).max()),
        threshold=solution.threshold,
        hessian_min=solution.hessian_min,
    )


def _distinct(found: list[tuple[State, int]], length: float) -> list[tuple[State, int]]:
    """The first of each group of equal states."""
    distinct: list[tuple[State, int]] = []
    positions = np.empty((len(found), found[0][0].x.size if found else 0))
    for state, n in found:
        known = positions[: len(distinct)]
        distances = np.linalg.norm(known - state.x, axis=1)
        if not (distances <= SAME_STATE * max(length, float(np.linalg.norm(state.x)))).any():
            positions[len(distinct)] = state.x
            distinct.append((state, n))
    return distinct


def _ranked(states: list[State]) -> list[int]:
    """Order by falling z_max, then rising Γ, then position; values within `TIED` count as equal."""
    overlap = _levels([-state.overlap_max for state in states])
    energy = _levels([state.free_energy for state in states])
    return sorted(range(len(states)), key=lambda i: (overlap[i], energy[i], i))


def _levels(values: list[float]) -> list[int]:
    """Ordinal of each value among the distinct values, ascending."""
    order = sorted(range(len(values)), key=values.__getitem__)
    levels = [0] * len(values)
    for before, after in pairwise(order):
        gap = values[after] - values[before]
        levels[after] = levels[before] + (gap > TIED * abs(values[after]))
    return levels
