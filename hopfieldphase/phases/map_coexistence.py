"""Where branches of fixed points have equal free energies, for attention maps that have one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.optimize import brentq

from hopfieldphase.continuation.equations import Vector
from hopfieldphase.continuation.map_branches import MapBranchSet
from hopfieldphase.continuation.map_curve import MapCurve
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import AttentionModel

EQUAL = 1e-10
"""Free energies closer than this, relative to max(1, |Γ|), are the same."""


@dataclass(frozen=True, eq=False)
class MapCoexistence:
    """Two attracting states of equal free energy.

    Attributes
    ----------
    first, second : int
        Their branches; the same one where both are on one curve.
    beta : float
    free_energy : float
        Γ of both.
    states : ndarray, shape (2, d)
    is_transition : bool
        Whether no other branch that was followed has a lower attracting state there.
    """

    first: int
    second: int
    beta: float
    free_energy: float
    states: Vector = field(repr=False)
    is_transition: bool


def map_coexistence(found: MapBranchSet) -> tuple[MapCoexistence, ...]:
    """All points at which two attracting stretches of branches have equal free energies.

    Parameters
    ----------
    found : MapBranchSet
        Crossings are brackets between the values of β that the branches share: its grid.

    Returns
    -------
    tuple of MapCoexistence
        By rising β, located to rounding.

    Raises
    ------
    InputError
        Where the attention map has no free energy: fixed points cannot be compared then.
    """
    model = found.model
    if not model.has_free_energy:
        raise InputError(
            f"{model.attention.name} attention has no free energy: its fixed points have no weights in an "
            "equilibrium, so that there is no coexistence; compare where they attract instead"
        )
    stretches = [stretch for i, branch in enumerate(found) for stretch in _stretches(model, i, branch)]
    points = [
        _point(stretches, a, b, beta) for a, b in combinations(stretches, 2) for beta in _crossings(a, b)
    ]
    return tuple(sorted(points, key=lambda point: point.beta))


class _Stretch:
    """Consecutive attracting points of one branch with ascending or descending β."""

    def __init__(self, model: AttentionModel, owner: int, branch: MapCurve, rows: range) -> None:
        self.owner = owner
        self._model, self._curve, self._rows = model, branch.curve, rows
        self.beta = branch.parameter[rows.start : rows.stop]
        self._states = branch.state[rows.start : rows.stop]
        self.low, self.high = float(self.beta.min()), float(self.beta.max())

    def state(self, beta: float) -> Vector:
        """The state at a value inside the stretch."""
        at = np.flatnonzero(self.beta == beta)
        if at.size:
            return self._states[at[0]]
        rising = self.beta if self.beta[-1] > self.beta[0] else self.beta[::-1]
        step = int(np.searchsorted(rising, beta)) - 1
        row = step if rising is self.beta else len(self.beta) - 2 - step
        node = self._curve.node_between(self._rows.start + row, beta)
        return self._curve.equations.state(node.y)

    def energy(self, beta: float) -> float:
        """Γ at a value inside the stretch."""
        return float(self._model.free_energy(self.state(beta), beta))


def _stretches(model: AttentionModel, owner: int, branch: MapCurve) -> Iterator[_Stretch]:
    beta, attracts = branch.parameter, branch.unstable == 0
    start = 0
    for row in range(1, len(beta) + 1):
        goes_on = (
            row < len(beta)
            and attracts[row - 1]
            and attracts[row]
            and beta[row] != beta[row - 1]
            and (row - 1 == start or (beta[row] > beta[row - 1]) == (beta[row - 1] > beta[row - 2]))
        )
        if goes_on:
            continue
        if row - start > 1:
            yield _Stretch(model, owner, branch, range(start, row))
        # A point where β turns back begins the next stretch.
        turned = row < len(beta) and attracts[row - 1] and attracts[row] and beta[row] != beta[row - 1]
        start = row - 1 if turned else row


def _crossings(a: _Stretch, b: _Stretch) -> list[float]:
    low, high = max(a.low, b.low), min(a.high, b.high)
    if low >= high:
        return []
    shared = np.intersect1d(a.beta, b.beta)
    grid = np.unique([low, *shared[(shared > low) & (shared < high)], high])

    def gap(beta: float) -> float:
        return a.energy(beta) - b.energy(beta)

    gaps = np.array([gap(beta) for beta in grid])
    same = np.abs(gaps) <= EQUAL * np.maximum(1.0, [abs(a.energy(beta)) for beta in grid])
    return [
        float(brentq(gap, grid[n], grid[n + 1], xtol=1e-13 * high))  # pyright: ignore[reportArgumentType]
        for n in np.flatnonzero(gaps[:-1] * gaps[1:] < 0)
        if not (same[n] or same[n + 1])
    ]


def _point(stretches: list[_Stretch], a: _Stretch, b: _Stretch, beta: float) -> MapCoexistence:
    energy = a.energy(beta)
    others = [stretch.energy(beta) for stretch in stretches if stretch.low <= beta <= stretch.high]
    return MapCoexistence(
        first=a.owner,
        second=b.owner,
        beta=beta,
        free_energy=energy,
        states=np.array([a.state(beta), b.state(beta)]),
        is_transition=energy <= min(others) + EQUAL * max(1.0, abs(energy)),
    )
