"""The classical Hopfield model: energy, zero-temperature dynamics, frustration, the landscape of few spins.

Spins x ∈ {−1, +1}^d, memories ξ^μ ∈ {−1, +1}^d as rows of `patterns`, shape (M, d). Source: Appendix B.1 of
"On the Statistical Mechanics of Attention" (arXiv:2610.17347) and Hopfield (1982).
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order

from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.errors import InputError

Array = NDArray[np.float64]
Spins = NDArray[np.int64]

_LARGEST_ENUMERATION = 20


@dataclass(frozen=True)
class Descent:
    """A zero-temperature run: the spins flipped one after another, and the energy after each flip.

    `start` and `state` have shape (d,), `flips` (n,), `energies` (n + 1,) from the start on.
    """

    start: Spins
    state: Spins
    flips: NDArray[np.int64]
    energies: Array

    def overlaps(self, patterns: ArrayLike) -> Array:
        """Overlaps z with every pattern along the run, shape (n + 1, M)."""
        xi, before = check_spins("patterns", patterns, ndim=2), self.start.copy()
        changes = np.empty((len(self.flips), len(xi)))
        for step, i in enumerate(self.flips):
            changes[step] = -2 * xi[:, i] * before[i]
            before[i] *= -1
        first = xi @ self.start
        path = np.vstack([first, first + np.cumsum(changes, axis=0)]).astype(np.float64)
        return path / math.sqrt(xi.shape[1])


@dataclass(frozen=True)
class SpinLandscape:
    """What all 2^d states of a few spins say; of each pair x, −x only the state with x_1 = +1 is kept.

    `ground_states` have the lowest energy, `minima` are strict: every single flip raises the energy.
    `unsatisfied` counts the bonds with J_ij x_i x_j < 0 in each ground state, `fewest_unsatisfied` is the
    smallest count over all states; frustration (Definition B.3) is `fewest_unsatisfied > 0`.
    """

    ground_energy: float
    ground_states: Spins
    unsatisfied: NDArray[np.int64]
    fewest_unsatisfied: int
    minima: Spins
    minima_energies: Array


def check_spins(name: str, values: ArrayLike, ndim: int) -> Spins:
    """Return an integer array of the given number of axes with entries ±1 only, or raise `InputError`."""
    array = np.asarray(values)
    if (
        array.ndim != ndim
        or array.size == 0
        or array.dtype.kind not in "iuf"
        or not np.all(np.abs(array) == 1)
    ):
        raise InputError(
            f"{name} has shape {array.shape} or entries other than -1, +1: give {ndim} axes of ±1"
        )
    return array.astype(np.int64)


def check_couplings(couplings: ArrayLike) -> Any:
    """Return a symmetric matrix (d, d) with zero diagonal, integers kept exact, or raise `InputError`."""
    array: NDArray[Any] = np.asarray(couplings)
    square = array.ndim == 2 and array.shape[0] == array.shape[1] > 0
    if not square or array.dtype.kind not in "iuf" or not np.all(np.isfinite(array)):
        raise InputError(f"couplings have shape {array.shape} or are no finite numbers: give a matrix (d, d)")
    if np.any(array != array.T) or np.any(np.diag(array)):
        raise InputError("couplings are not symmetric with zero diagonal: set J_ij = J_ji and J_ii = 0")
    return array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(np.float64)


def hebbian_couplings(patterns: ArrayLike) -> Spins:
    """Couplings times d of the classical Hopfield model: d J_ij = Σ_μ ξ_i^μ ξ_j^μ, J_ii = 0; integers.

    As integers they make every field, tie and energy difference exact; divide by d for J_ij of
    Definition B.1.
    """
    xi = check_spins("patterns", patterns, ndim=2)
    couplings = xi.T @ xi
    np.fill_diagonal(couplings, 0)
    return couplings


def spin_overlaps(x: ArrayLike, patterns: ArrayLike) -> Array:
    """Overlaps z_μ = ξ^μ·x/√d of spins x (..., d) with M patterns, shape (..., M) (Eq. (B.2))."""
    xi = check_spins("patterns", patterns, ndim=2)
    return np.asarray(x) @ xi.T / math.sqrt(xi.shape[1])


def spin_energy(x: ArrayLike, couplings: ArrayLike) -> Array:
    """Energy −½ Σ_{i≠j} J_ij x_i x_j of spins x (..., d), shape (...).

    With `hebbian_couplings(patterns) / d` this is Eq. (B.1) and equals (M − Σ_μ z_μ²)/2.
    """
    spins, matrix = np.asarray(x), check_couplings(couplings)
    return -np.sum((spins @ matrix) * spins, axis=-1) / 2


def zero_temperature(x: ArrayLike, couplings: ArrayLike, seed: int = 0) -> Descent:
    """Asynchronous dynamics at T = 0: spins against their field flip one at a time, in random order.

    A spin flips when x_i h_i < 0, h_i = Σ_j J_ij x_j, and keeps its value at a tie h_i = 0. Each flip lowers
    the energy by 2|h_i|, so that the run ends, in a state no single flip improves.

    Parameters
    ----------
    x : array of ±1, shape (d,)
        Query.
    couplings : array, shape (d, d)
        Symmetric, zero diagonal; integers (`hebbian_couplings`) decide ties exactly.
    seed : int
        Decides which of the spins against their field flips next.

    Returns
    -------
    Descent
    """
    start, matrix = check_spins("x", x, ndim=1), check_couplings(couplings)
    if matrix.shape[0] != start.size:
        raise InputError(f"x has {start.size} spins, the couplings {matrix.shape[0]}: give the same number")
    random = np.random.default_rng(seed)
    state, flips = start.copy(), []
    field = matrix @ state
    energies = [float(spin_energy(state, matrix))]
    while (against := np.flatnonzero(state * field < 0)).size:
        i = int(random.choice(against))
        energies.append(energies[-1] + 2 * float(state[i] * field[i]))
        state[i] *= -1
        field += 2 * state[i] * matrix[:, i]
        flips.append(i)
    return Descent(start, state, np.array(flips, dtype=np.int64), np.array(energies))


def noisy_query(pattern: ArrayLike, flipped: int, seed: int = 0) -> Spins:
    """The pattern with that many different spins flipped, chosen at random."""
    spins = check_spins("pattern", pattern, ndim=1).copy()
    if whole_number("flipped", flipped, at_least=0) > spins.size:
        raise InputError(f"flipped = {flipped} is outside [0, {spins.size}]: flip at most every spin")
    spins[np.random.default_rng(seed).choice(spins.size, flipped, replace=False)] *= -1
    return spins


def satisfying_state(couplings: ArrayLike) -> Spins | None:
    """A state with J_ij x_i x_j > 0 on every bond, or None: the bonds are frustrated (Definition B.3).

    Spins are fixed along a spanning tree of each connected part; the bonds left decide. Equivalent to the
    product of the signs of J around every cycle being positive; O(d²) work.
    """
    matrix = check_couplings(couplings)
    signs = np.sign(matrix).astype(np.int64)
    graph = csr_array(np.abs(signs))
    state = np.zeros(len(signs), dtype=np.int64)
    for root in range(len(signs)):
        if state[root]:
            continue
        order, before = breadth_first_order(graph, root, directed=False)
        state[root] = 1
        for i in order[1:]:
            state[i] = signs[before[i], i] * state[before[i]]
    return None if np.any(signs * np.outer(state, state) < 0) else state


def is_frustrated(couplings: ArrayLike) -> bool:
    """Whether no spin state satisfies every bond (Definition B.3; Kirkpatrick 1977)."""
    return satisfying_state(couplings) is None


def unsatisfied_bonds(x: ArrayLike, couplings: ArrayLike) -> NDArray[np.int64]:
    """Number of bonds with J_ij x_i x_j < 0 in each state x (..., d)."""
    spins, signs = np.asarray(x), np.sign(check_couplings(couplings)).astype(np.int64)
    bonds = np.count_nonzero(np.triu(signs))
    return (bonds - np.sum((spins @ signs) * spins, axis=-1).astype(np.int64) // 2) // 2


def spin_landscape(couplings: ArrayLike) -> SpinLandscape:
    """Ground states, strict minima and unsatisfied bonds of up to 20 spins, from all states.

    Energies within 1e-12 of the largest possible one count as equal; integer couplings are exact.
    """
    matrix = check_couplings(couplings)
    d = len(matrix)
    if d > _LARGEST_ENUMERATION:
        raise InputError(
            f"couplings of d = {d} spins: all states are listed up to d = {_LARGEST_ENUMERATION}"
        )
    codes = np.arange(2 ** (d - 1))[:, None]
    states = np.hstack([np.ones_like(codes), 1 - 2 * ((codes >> np.arange(d - 1)) & 1)])
    fields = states @ matrix
    energies = -np.sum(fields * states, axis=1) / 2
    rounding = 1e-12 * float(np.abs(matrix).sum())
    ground = energies <= energies.min() + rounding
    strict = np.all(states * fields > rounding, axis=1)
    unsatisfied = unsatisfied_bonds(states, matrix)
    return SpinLandscape(
        float(energies.min()),
        states[ground],
        unsatisfied[ground],
        int(unsatisfied.min()),
        states[strict],
        energies[strict],
    )
