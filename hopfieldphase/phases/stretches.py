"""The stable part of a branch as single-valued functions of the parameter."""

from dataclasses import dataclass, field

from hopfieldphase.continuation.branch import Branch, Piece, SpecialPoint, State


@dataclass(frozen=True, eq=False)
class Stretch:
    """Consecutive pieces of minima that join in the parameter: one state at every value.

    Attributes
    ----------
    pieces : tuple of Piece
        Ascending in the parameter, each beginning where the one before ends.
    """

    pieces: tuple[Piece, ...] = field(repr=False)

    @property
    def lower(self) -> float:
        """The lowest parameter value (0 where unbounded)."""
        return self.pieces[0].lower

    @property
    def upper(self) -> float:
        """The highest parameter value (inf where unbounded)."""
        return self.pieces[-1].upper

    @property
    def lower_event(self) -> SpecialPoint:
        """What ends the stretch at low parameter."""
        return self.pieces[0].lower_event

    @property
    def upper_event(self) -> SpecialPoint:
        """What ends the stretch at high parameter."""
        return self.pieces[-1].upper_event

    def at(self, parameter: float) -> State:
        """The state at a parameter value inside [lower, upper]."""
        last = self.pieces[-1]
        return next((piece for piece in self.pieces if parameter <= piece.upper), last).at(parameter)


def stable_stretches(branch: Branch) -> tuple[Stretch, ...]:
    """Cut a branch into stretches of minima, in order along it.

    A stretch ends where the state loses stability, and where the branch turns back without losing it.

    Parameters
    ----------
    branch : Branch
        In any control parameter.

    Returns
    -------
    tuple of Stretch
        Empty for a branch of unstable states.
    """
    runs: list[list[Piece]] = []
    rising = falling = False
    for piece in branch.pieces:
        if piece.index > 0:
            rising = falling = False
            continue
        before = runs[-1][-1] if runs else piece
        if rising and before.upper == piece.lower:
            runs[-1].append(piece)
            falling = False
        elif falling and before.lower == piece.upper:
            runs[-1].append(piece)
            rising = False
        else:
            runs.append([piece])
            rising = falling = True
    return tuple(Stretch(tuple(sorted(run, key=lambda piece: piece.lower))) for run in runs)
