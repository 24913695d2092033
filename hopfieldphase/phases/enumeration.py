"""Every strict minimum at α = 2 by going through all supports: the certificate of the equilibrium state."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.branch import State, Vector
from hopfieldphase.continuation.face import RESOLUTION, Face, StoredPatterns
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel

MAX_PATTERNS = 16
"""2^16 supports take about a second where all of them are convex (low β), milliseconds elsewhere."""


@dataclass(frozen=True, eq=False)
class Enumeration:
    """All strict minima of one α = 2 model at one β.

    Attributes
    ----------
    beta : float
        Inverse temperature.
    minima : tuple of State
        Every strict local minimum, by rising free energy.
    equilibrium_energy : float
        The global minimum of Γ; it may be lower than that of every strict minimum only where the global
        minimum is degenerate (a flat edge).
    n_supports : int
        Number of supports on which the free energy is strictly convex; no other can carry a minimum.
    """

    beta: float
    minima: tuple[State, ...]
    equilibrium_energy: float
    n_supports: int

    def certifies(self, state: State) -> bool:
        """Whether a state has the lowest free energy there is, to 1e-12."""
        return state.free_energy <= self.equilibrium_energy + 1e-12 * max(1.0, abs(self.equilibrium_energy))


def enumerate_minima(model: HopfieldModel, beta: float) -> Enumeration:
    """Find every strict local minimum of Γ at α = 2 by exhausting the supports.

    Parameters
    ----------
    model : HopfieldModel
        α = 2 and M ≤ 16.
    beta : float
        Inverse temperature β > 0.

    Returns
    -------
    Enumeration
        The minima, and the energy of the equilibrium state.

    Raises
    ------
    InputError
        If α is not 2 or M is too large.

    Notes
    -----
    In t = 2/β the minima are those of the standard quadratic program t|p|² − pᵀGp on the simplex. A strict
    minimum needs tI − G positive definite on the tangent space of its support, a property that every
    subset inherits; so supports grow pattern by pattern from those that have it. The global minimum is the
    lowest stationary value among them: from a minimum on any other face one can slide, at equal energy,
    to a smaller one (Bomze, J. Global Optim. 13 (1998) 369).
    """
    beta = inverse_temperature(beta)
    if model.alpha != 2.0:
        raise InputError(
            f"alpha = {model.alpha:g}: supports are enumerated at alpha = 2 only; use "
            "hopfieldphase.branches and the lowest free energy found"
        )
    if model.M > MAX_PATTERNS:
        raise InputError(
            f"M = {model.M} patterns have 2^{model.M} supports: enumerate up to M = {MAX_PATTERNS}, beyond "
            "that use hopfieldphase.branches and the lowest free energy found"
        )
    t = 2 / beta
    stored = StoredPatterns(model)
    stiffness = t * np.eye(model.M) - stored.scaled @ stored.scaled.T
    convex = np.arange(model.M)[:, None]
    minima: list[State] = []
    lowest, count = np.inf, 0
    while convex.size:
        count += len(convex)
        weights, energies = _stationary(stiffness, convex)
        inside = (weights > 0).all(axis=1)
        lowest = min(lowest, energies[inside].min(initial=np.inf))
        for support in convex[inside][_holds_outside(stiffness, convex[inside], weights[inside], t)]:
            face = Face(stored, support.tolist())
            if face.is_strict_minimum(t):
                minima.append(face.state(beta))
        convex = _convex_extensions(stiffness, convex, t)
    minima.sort(key=lambda state: state.free_energy)
    return Enumeration(beta, tuple(minima), float(lowest / t - 1), count)


def _stationary(stiffness: Vector, supports: NDArray[np.int64]) -> tuple[Vector, Vector]:
    """Stationary weights (n, k) and values (n,) of pᵀ(tI − G)p on each of n supports of one size."""
    n, k = supports.shape
    bordered = np.zeros((n, k + 1, k + 1))
    bordered[:, :k, :k] = stiffness[supports[:, :, None], supports[:, None, :]]
    bordered[:, :k, k] = bordered[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    solution: Vector = np.asarray(np.linalg.solve(bordered, right)[:, :, 0], dtype=np.float64)
    return solution[:, :k], -solution[:, k]


def _holds_outside(stiffness: Vector, supports: NDArray[np.int64], p: Vector, t: float) -> NDArray[np.bool_]:
    """Whether z ≤ θ outside the support, up to rounding that the exact test on the face settles."""
    weights = np.zeros((len(supports), stiffness.shape[0]))
    np.put_along_axis(weights, supports, p, axis=1)
    forces = weights @ stiffness
    energies = np.take_along_axis(forces, supports[:, :1], axis=1)
    return np.all(forces - energies >= -1e-9 * t, axis=1)


def _convex_extensions(stiffness: Vector, supports: NDArray[np.int64], t: float) -> NDArray[np.int64]:
    """Strictly convex supports of one more pattern, all of whose subsets are among the given ones."""
    n = stiffness.shape[0]
    known = np.zeros(2**n, dtype=np.bool_)
    known[(1 << supports).sum(axis=1)] = True
    parent = np.repeat(np.arange(len(supports)), n)
    added = np.tile(np.arange(n), len(supports))
    higher = added > supports[parent, -1]
    candidates = np.column_stack([supports[parent[higher]], added[higher]])
    masks = (1 << candidates).sum(axis=1)
    for i in range(candidates.shape[1]):
        keep = known[masks ^ (1 << candidates[:, i])]
        candidates, masks = candidates[keep], masks[keep]
    blocks = stiffness[candidates[:, :, None], candidates[:, None, :]]
    # tangent directions are differences to the last pattern: definiteness asks for no orthonormal basis
    differences = blocks[:, :-1, :-1] - blocks[:, :-1, -1:] - blocks[:, -1:, :-1] + blocks[:, -1:, -1:]
    softest = np.linalg.eigvalsh(differences)[:, 0]
    return candidates[softest > RESOLUTION * t]
