"""Which of several branches has the lowest free energy, from transition to transition."""

from collections.abc import Sequence
from dataclasses import dataclass

from hopfieldphase.continuation.branch import Branch, PointKind, SpecialPoint
from hopfieldphase.continuation.face import RESOLUTION
from hopfieldphase.core.errors import InputError
from hopfieldphase.phases.coexistence import check_parameter, crossings
from hopfieldphase.phases.stretches import Stretch, stable_stretches

# Relative distance beyond a transition at which the energies are compared.
_BESIDE = 1e-9


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """An interval of β on which one branch has the lowest free energy of all branches given.

    Attributes
    ----------
    lower, upper : float
        The interval.
    branch : int
        Position of the branch in the sequence given.
    transition : SpecialPoint or None
        What ends the interval at `upper`: a crossing, the end of this branch, or the lower end of the one
        that takes over; None at the end of the range.
    """

    lower: float
    upper: float
    branch: int
    transition: SpecialPoint | None


def equilibrium(branches: Sequence[Branch]) -> tuple[Equilibrium, ...]:
    """Lowest free energy over the branches found: the Maxwell line, from transition to transition.

    Parameters
    ----------
    branches : sequence of Branch
        Followed in β, with the same patterns. Only minima count; of branches with equal energies the first.

    Returns
    -------
    tuple of Equilibrium
        Ascending in β; β where no branch has a minimum is left out. Where two stable arms of one branch have
        the same energy, both intervals name that branch.

    Raises
    ------
    InputError
        If there is no branch, or one is not followed in β.
    """
    if not branches:
        raise InputError("there is no branch to choose from: give at least one Branch")
    for branch in branches:
        check_parameter(branch)
    arms = [(i, stretch) for i, branch in enumerate(branches) for stretch in stable_stretches(branch)]
    if not arms:
        return ()
    stretches = [stretch for _, stretch in arms]
    alpha = branches[0].model.alpha
    beta, last = min(arm.lower for arm in stretches), max(arm.upper for arm in stretches)
    segments: list[Equilibrium] = []
    opened, point = beta, None
    winner = _lowest(stretches, beta)
    while beta < last:
        if winner is None:
            beta = min(arm.lower for arm in stretches if arm.lower > beta)
            opened, winner = beta, _lowest(stretches, beta)
            continue
        beta, point = _next_transition(stretches, winner, beta, alpha)
        following = _lowest(stretches, beta) if beta < last else None
        if following != winner:
            segments.append(Equilibrium(opened, beta, arms[winner][0], point))
            opened, winner = beta, following
    return tuple(segments)


def _lowest(stretches: Sequence[Stretch], beta: float) -> int | None:
    """Position of the stretch of lowest Γ just above β."""
    just_above = beta * (1 + _BESIDE) if beta > 0 else min(1.0, *(arm.upper for arm in stretches)) * 1e-6
    energies = {
        i: arm.at(just_above).free_energy
        for i, arm in enumerate(stretches)
        if arm.lower <= just_above <= arm.upper
    }
    if not energies:
        return None
    lowest = min(energies.values())
    return next(i for i, energy in energies.items() if energy <= lowest + RESOLUTION * abs(lowest))


def _next_transition(
    stretches: Sequence[Stretch], winner: int, beta: float, alpha: float
) -> tuple[float, SpecialPoint | None]:
    """The next β above which another stretch may be lower, and the special point that makes it so."""
    current = stretches[winner]
    goes_on = current.upper_event.kind in (PointKind.RANGE, PointKind.UNBOUNDED, PointKind.LIMIT)
    best: tuple[float, SpecialPoint | None] = (current.upper, None if goes_on else current.upper_event)
    for arm in stretches:
        if arm is current or arm.upper <= beta or arm.lower >= best[0]:
            continue
        start = arm.lower
        if start > beta * (1 + _BESIDE) and arm.at(start).free_energy < current.at(start).free_energy:
            best = (start, arm.lower_event)
            continue
        for crossing in crossings(current, arm, alpha):
            if beta * (1 + _BESIDE) < crossing.parameter < best[0] and not crossing.degenerate:
                best = (crossing.parameter, crossing)
    return best
