r"""Hysteresis of an up and a down sweep: where the two disagree, how wide, and where they jump.

Every array holds the up sweep in row 0 and the down sweep in row 1, both on the same ascending axis of the
control parameter (inverse temperature β or memory load κ).

The middle of a hysteresis window is not a transition point. Its edges are where a followed state ceased to
exist or lost its stability, which bounds the spinodals from inside by at most one grid step; coexistence
(equal Γ) is a different point and is not measured here.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hopfieldphase.core.errors import InputError

UP, DOWN = 0, 1

TOLERANCE = 1e-3
"""Two states are told apart from this relative difference on.

Loops of the sparse map on the paper's data (α = 2, ten realizations) are the same for every value from
1e-11 to 1e-3: two states differ by more, or by rounding. The dense map (α = 1) needs it: above its jump the
two sweeps hold different patterns whose Γ and z_max differ by an exponentially small admixture of the other
patterns, which is one phase, not two.
"""


@dataclass(frozen=True)
class Interval:
    """A run of grid points, both ends included: parameter values and their indices."""

    lower: float
    upper: float
    first: int
    last: int


@dataclass(frozen=True)
class Jump:
    """One discontinuous step of a sweep, in the order in which the sweep walked.

    `before` and `after` are the neighbouring parameter values that bracket it; `size` is the change of the
    maximal overlap z_max across it, from `before` to `after`.
    """

    before: float
    after: float
    size: float


@dataclass(frozen=True)
class Hysteresis:
    """The loop of one realization: its intervals, the area between the sweeps, and the jumps of each."""

    intervals: tuple[Interval, ...]
    area: float
    jumps_up: tuple[Jump, ...]
    jumps_down: tuple[Jump, ...]

    @property
    def edges(self) -> tuple[float, float] | None:
        """The outermost parameter values at which the sweeps differ; None without hysteresis."""
        return (self.intervals[0].lower, self.intervals[-1].upper) if self.intervals else None


@dataclass(frozen=True)
class Window:
    """Hysteresis over all realizations.

    `any` are the intervals on which at least one realization shows hysteresis, `all` those on which every
    one does. `lower` and `upper` are mean and standard deviation of the outer edges over the `count`
    realizations that show hysteresis at all (None when there is none).
    """

    any: tuple[Interval, ...]
    all: tuple[Interval, ...]
    count: int
    lower: tuple[float, float] | None
    upper: tuple[float, float] | None


def hysteresis(
    values: ArrayLike,
    free_energy: ArrayLike,
    overlap_max: ArrayLike,
    jumped: ArrayLike,
    *,
    tolerance: float = TOLERANCE,
) -> Hysteresis:
    r"""Hysteresis loop of one realization.

    Parameters
    ----------
    values : array_like, shape (n,)
        Control parameter, strictly ascending.
    free_energy, overlap_max : array_like, shape (2, n)
        Γ and z_max of the up (row 0) and the down sweep (row 1).
    jumped : array_like of bool, shape (2, n)
        True at the point that a sweep reached by a jump.
    tolerance : float
        See `sweeps_differ`.

    Returns
    -------
    Hysteresis

    Raises
    ------
    InputError
        For shapes that do not fit, an axis that does not ascend, or a tolerance outside [0, 1).

    Notes
    -----
    Hysteresis windows of retrieval states: Section 5 and Figures 2 and 4 of "On the Statistical Mechanics of
    Attention" (arXiv:2610.17347).
    """
    axis, overlaps, flags = (
        _axis(values),
        np.asarray(overlap_max, dtype=float),
        np.asarray(jumped, dtype=bool),
    )
    if not np.shape(free_energy) == overlaps.shape == flags.shape == (2, axis.size):
        raise InputError(
            f"free_energy, overlap_max and jumped have shapes {np.shape(free_energy)}, {overlaps.shape} and "
            f"{flags.shape}: all must be (2, {axis.size}), up and down on the axis of the parameter"
        )
    differ, known = sweeps_differ(free_energy, overlaps, tolerance=tolerance)
    return Hysteresis(
        intervals=intervals(axis, differ, known),
        area=loop_area(axis, overlaps),
        jumps_up=_jumps(axis, overlaps[UP], flags[UP], step=1),
        jumps_down=_jumps(axis, overlaps[DOWN], flags[DOWN], step=-1),
    )


def sweeps_differ(
    free_energy: ArrayLike, overlap_max: ArrayLike, *, tolerance: float = TOLERANCE
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    r"""Where the up and the down sweep are in different states, and where that can be told.

    They differ where |ΔΓ| > tolerance · max(1, |Γ|) or |Δz_max| > tolerance · Z, with Z the largest z_max of
    the two sweeps. Γ is measured in units of the temperature, so that 1 is its natural scale; z_max is
    bounded by s² max|ξ|², so that Z does not depend on the range of the grid.

    Parameters
    ----------
    free_energy, overlap_max : array_like, shape (..., 2, n)
        Γ and z_max, up and down along the last axis but one.
    tolerance : float
        Relative difference, 0 ≤ tolerance < 1.

    Returns
    -------
    differ, known : ndarray of bool, shape (..., n)
        `known` is False where one of the values is not finite; `differ` is False there.

    Raises
    ------
    InputError
        For a tolerance outside [0, 1).
    """
    if not 0 <= tolerance < 1:
        raise InputError(
            f"tolerance = {tolerance} is outside [0, 1): give a relative difference such as 1e-3"
        )
    energies, overlaps = np.asarray(free_energy, dtype=float), np.asarray(overlap_max, dtype=float)
    known = np.asarray((np.isfinite(energies) & np.isfinite(overlaps)).all(axis=-2))
    energies, overlaps = (np.where(known[..., None, :], a, 0.0) for a in (energies, overlaps))
    energy_scale = np.maximum(1.0, np.abs(energies).max(axis=-2))
    overlap_scale = np.abs(overlaps).max(axis=(-2, -1), initial=0.0)[..., None]
    differ = (np.abs(energies[..., UP, :] - energies[..., DOWN, :]) > tolerance * energy_scale) | (
        np.abs(overlaps[..., UP, :] - overlaps[..., DOWN, :]) > tolerance * overlap_scale
    )
    return differ, known


def intervals(values: ArrayLike, differ: ArrayLike, known: ArrayLike | None = None) -> tuple[Interval, ...]:
    """Maximal runs of the parameter on which the sweeps differ.

    A single point of agreement with disagreement on both sides does not split a run: between different
    branches Γ and z_max agree together by accident only, never on an interval. Points that are not known
    neither open, extend nor split a run.

    Parameters
    ----------
    values : array_like, shape (n,)
        Control parameter, strictly ascending.
    differ, known : array_like of bool, shape (n,)
        As `sweeps_differ` returns them; `known=None` means everywhere.

    Returns
    -------
    tuple of Interval
        In ascending order; the ends are the outermost grid points at which the sweeps differ.
    """
    axis = _axis(values)
    flags = np.asarray(differ, dtype=bool)
    decided = np.flatnonzero(np.ones(axis.size, bool) if known is None else np.asarray(known, dtype=bool))
    inside = flags[decided]
    inside[1:-1] |= inside[:-2] & inside[2:]
    steps = np.diff(np.concatenate(([0], inside.astype(np.int8), [0])))
    starts, stops = decided[np.flatnonzero(steps == 1)], decided[np.flatnonzero(steps == -1) - 1]
    return tuple(
        Interval(float(axis[first]), float(axis[last]), int(first), int(last))
        for first, last in zip(starts, stops, strict=True)
    )


def loop_area(values: ArrayLike, overlap_max: ArrayLike) -> float:
    r"""Area ∫ |z_max^up − z_max^down| dp between the two sweeps, by the trapezoidal rule.

    A sweep that jumps between two grid points makes the area uncertain by half that cell times the jump.

    Parameters
    ----------
    values : array_like, shape (n,)
        Control parameter, strictly ascending.
    overlap_max : array_like, shape (2, n)
        z_max, up and down; points that are not finite are left out.

    Returns
    -------
    float
        In units of the parameter times those of z_max.
    """
    gap = np.abs(np.subtract(*np.asarray(overlap_max, dtype=float)))
    finite = np.isfinite(gap)
    return float(np.trapezoid(gap[finite], _axis(values)[finite]))


def window(values: ArrayLike, loops: Sequence[Hysteresis]) -> Window:
    """Hysteresis over all realizations of one sweep.

    Parameters
    ----------
    values : array_like, shape (n,)
        Control parameter on which every loop was measured.
    loops : sequence of Hysteresis
        One per realization, at least one.

    Returns
    -------
    Window

    Raises
    ------
    InputError
        Without a loop.
    """
    if not loops:
        raise InputError("no hysteresis loop was given: at least one realization is needed")
    axis = _axis(values)
    inside = np.zeros((len(loops), axis.size), dtype=bool)
    for row, loop in zip(inside, loops, strict=True):
        for interval in loop.intervals:
            row[interval.first : interval.last + 1] = True
    edges = np.array([loop.edges for loop in loops if loop.edges is not None]).reshape(-1, 2)
    spread = [(float(e.mean()), float(e.std())) for e in edges.T] if len(edges) else [None, None]
    return Window(
        any=intervals(axis, inside.any(axis=0)),
        all=intervals(axis, inside.all(axis=0)),
        count=len(edges),
        lower=spread[0],
        upper=spread[1],
    )


def _jumps(
    axis: NDArray[np.float64], overlaps: NDArray[np.float64], flags: NDArray[np.bool_], step: int
) -> tuple[Jump, ...]:
    """The jumps of one sweep that walks the axis with the given step (+1 or −1)."""
    reached = np.flatnonzero(flags)[::step]
    left = reached - step
    if reached.size and not 0 <= left[0] < axis.size:
        raise InputError(
            f"jumped is set at {axis[reached[0]]}, where the sweep starts: a jump needs a point before it"
        )
    return tuple(
        Jump(float(axis[i]), float(axis[j]), float(overlaps[j] - overlaps[i]))
        for i, j in zip(left, reached, strict=True)
    )


def _axis(values: ArrayLike) -> NDArray[np.float64]:
    """The control parameter as a strictly ascending array of at least one value."""
    axis = np.asarray(values, dtype=float)
    if axis.ndim != 1 or axis.size == 0 or not (np.diff(axis) > 0).all():
        raise InputError(
            f"the parameter axis of shape {axis.shape} is not one: give values that ascend strictly"
        )
    return axis
