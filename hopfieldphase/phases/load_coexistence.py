"""Where two branches in the memory load swap the order of their free energies."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hopfieldphase.continuation.branch import Branch
from hopfieldphase.continuation.load_pieces import ConstantPiece, SteppedPiece
from hopfieldphase.core.errors import InputError

EQUAL = 1e-10
"""Free energies this close, relative to max(1, |Γ|), are equal and have no order."""


@dataclass(frozen=True, eq=False)
class LoadSwap:
    """Two branches whose free energies swap their order with one pattern.

    As patterns are whole, the energies themselves need not be equal anywhere.

    Attributes
    ----------
    M : int
        The first number of patterns with the new order.
    M_before : int
        The last one with the old order: M − 1, or less where the energies are equal in between.
    kappa : float
        log(M)/d.
    free_energy : tuple of float
        Γ of the first and of the second branch at M.
    free_energy_before : tuple of float
        Both at `M_before`.
    overlap_max : tuple of float
        z_max of both at M.
    """

    M: int
    M_before: int
    kappa: float
    free_energy: tuple[float, float]
    free_energy_before: tuple[float, float]
    overlap_max: tuple[float, float]


def coexistence_kappa(first: Branch, second: Branch) -> tuple[LoadSwap, ...]:
    """Every M at which two branches in κ swap the order of their free energies.

    At α > 1 complete, as energies change at events only. At α ≤ 1, where they change with every pattern,
    they are compared at the loads of the grid and at both ends. Where the order differs between two of
    these, one swap in between is found to the single pattern; close energies may swap more often.

    Parameters
    ----------
    first, second : Branch
        Of one set of branches in κ.

    Returns
    -------
    tuple of LoadSwap
        Ascending in M.

    Raises
    ------
    InputError
        If a branch is not one in κ, or both have no common M.

    Notes
    -----
    Γ as the free energy of a state: Theorem 3.1 and Eq. (3.5) of "On the Statistical Mechanics of Attention"
    (arXiv:2610.17347).
    """
    low, high = max(first.lower, second.lower), min(first.upper, second.upper)
    if low > high:
        raise InputError(
            f"the branches have no common kappa: they live on [{first.lower:.6g}, {first.upper:.6g}] and "
            f"[{second.lower:.6g}, {second.upper:.6g}]; choose two that overlap"
        )
    return _swaps(_Energies(first), _Energies(second))


def all_swaps(branches: Sequence[Branch]) -> tuple[tuple[int, int, LoadSwap], ...]:
    """`coexistence_kappa` of all pairs, with the positions of both branches; ascending in M."""
    tables = [_Energies(branch) for branch in branches]
    found = [
        (i, j, swap) for j in range(len(tables)) for i in range(j) for swap in _swaps(tables[i], tables[j])
    ]
    return tuple(sorted(found, key=lambda row: row[2].M))


class _Energies:
    """The free energies of a branch in κ at the loads where they are known, and at any other."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.d = branch.model.d
        known: list[tuple[int, float]] = []
        for piece in branch.pieces:
            if isinstance(piece, ConstantPiece):
                known.append((piece.counts[0], piece.held.free_energy))
                self.last = piece.counts[1]
            elif isinstance(piece, SteppedPiece):
                known += [(held.M, held.free_energy) for held in piece.known]
                self.last = piece.counts[1]
            else:
                raise InputError(f"the branch is one in {branch.parameter}: give branches in kappa")
        self.constant = isinstance(branch.pieces[0], ConstantPiece)
        self.counts = np.array([M for M, _ in known])
        self.values = np.array([energy for _, energy in known])

    def __call__(self, M: int) -> float:
        row = int(np.searchsorted(self.counts, M, side="right")) - 1
        if self.constant or self.counts[row] == M:
            return float(self.values[row])
        return self.branch.at(self.kappa(M)).free_energy

    def kappa(self, M: int) -> float:
        return math.log(M) / self.d

    def overlap_max(self, M: int) -> float:
        return self.branch.at(self.kappa(M)).overlap_max


def _swaps(first: _Energies, second: _Energies) -> tuple[LoadSwap, ...]:
    low, high = int(max(first.counts[0], second.counts[0])), min(first.last, second.last)
    if low > high:
        return ()
    knots = np.unique([low, *first.counts.tolist(), *second.counts.tolist(), high])

    def order(M: int) -> int:
        a, b = first(M), second(M)
        return 0 if abs(a - b) <= EQUAL * max(1.0, abs(a), abs(b)) else int(np.sign(a - b))

    found: list[LoadSwap] = []
    before, known = 0, low
    for M in (int(knot) for knot in knots if low <= knot <= high):
        now = order(M)
        if before * now < 0:
            new = _first(order, now, known, M)
            old = new - 1
            while not order(old):
                old -= 1
            found.append(_swap(first, second, new, old))
        if now:
            before, known = now, M
    return tuple(found)


def _first(order: Callable[[int], int], sign: int, outside: int, inside: int) -> int:
    """An M with this order whose predecessor has another, between `outside` and `inside`."""
    while abs(inside - outside) > 1:
        middle = (inside + outside) // 2
        if order(middle) == sign:
            inside = middle
        else:
            outside = middle
    return inside


def _swap(first: _Energies, second: _Energies, M: int, M_before: int) -> LoadSwap:
    return LoadSwap(
        M=M,
        M_before=M_before,
        kappa=first.kappa(M),
        free_energy=(first(M), second(M)),
        free_energy_before=(first(M_before), second(M_before)),
        overlap_max=(first.overlap_max(M), second.overlap_max(M)),
    )
