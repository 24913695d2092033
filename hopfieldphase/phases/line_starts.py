"""Where lines of a phase diagram begin: the ends of the states of both sweeps at one y, and coexistence."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hopfieldphase.continuation.branch import Branch, PointKind, SpecialPoint, State
from hopfieldphase.continuation.branches import follow
from hopfieldphase.continuation.equations import Vector
from hopfieldphase.core.closed_forms import exact_storage_onset
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.coexistence import coexistence
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.phases.stretches import Stretch, stable_stretches
from hopfieldphase.solvers import relax

SAME_ENERGY = 1e-9
"""Relative difference of free energies below which a state counts as one of lowest free energy."""

_MAX_STRETCHES = 8
# Relative step in β beyond the end of a state, where the sweep lands.
_BEYOND = 1e-3
# Crossings with a wider relative bracket are states that symmetry makes equal at every β.
_POINT = 1e-6

_KINDS = {
    PointKind.FOLD: LineKind.FOLD,
    PointKind.PITCHFORK: LineKind.INSTABILITY,
    PointKind.BRANCH_POINT: LineKind.INSTABILITY,
    PointKind.SPINODAL: LineKind.INSTABILITY,
    PointKind.ENTERS: LineKind.ENTRY,
}


@dataclass(frozen=True, eq=False)
class LineStart:
    """A point of a line.

    Attributes
    ----------
    kind : LineKind
    y, beta : float
        Where it lies.
    weights : tuple of ndarray, shape (M,)
        Weights of the state, or of both states that coexist.
    entering : tuple of int
        The patterns that enter (entry and storage onset).
    side : str
        "up" or "down", the sweep that loses its state here; empty for coexistence and storage onset.
    """

    kind: LineKind
    y: float
    beta: float
    weights: tuple[Vector, ...]
    entering: tuple[int, ...] = ()
    side: str = ""


@dataclass(frozen=True, eq=False)
class _Held:
    """A stretch of minima that a sweep follows, and its branch."""

    branch: Branch
    stretch: Stretch
    end: SpecialPoint


def line_starts(model: HopfieldModel, y: float, betas: tuple[float, float]) -> tuple[LineStart, ...]:
    """Every point at one y at which a line of the phase diagram begins.

    The sweep up is followed from the mean state at the lowest β, the sweep down from pattern 0 at the
    highest, from one end of stability to the next. Their ends, the storage onset of pattern 0, and the
    crossings of free energies at which the lowest state of all that were met changes, are the points.

    Parameters
    ----------
    model : HopfieldModel
        The model at y; α finite.
    y : float
        Recorded in the points.
    betas : tuple of float
        Range of β.

    Returns
    -------
    tuple of LineStart
        Sweep up, sweep down, storage onset, coexistence.
    """
    patterns = model.scale * np.asarray(model.patterns, dtype=np.float64)
    up = _held(model, patterns.mean(axis=0), betas, rising=True)
    down = _held(model, patterns[0], betas, rising=False)
    starts = [*_ends(up, y, "up"), *_ends(down, y, "down")]
    onset = float(exact_storage_onset(np.asarray(model.gram), model.alpha)[0])
    if model.M > 1 and betas[0] < onset < betas[1]:
        gram = np.asarray(model.gram)[0].copy()
        gram[0] = -np.inf
        stored = np.eye(model.M)[0]
        starts.append(LineStart(LineKind.STORAGE, y, onset, (stored,), (int(np.argmax(gram)),)))
    return (*starts, *_coexistences([*up, *down], y))


def _held(model: HopfieldModel, x: Vector, betas: tuple[float, float], rising: bool) -> list[_Held]:
    """The stretches of minima that a slow sweep holds, one after the other."""
    beta = betas[0] if rising else betas[1]
    held: list[_Held] = []
    while len(held) < _MAX_STRETCHES:
        solution = relax(model, x, beta)
        try:
            branch = follow(model, solution.x, beta, betas)
        except InputError:  # no strict minimum there: a critical point at the edge of the range
            break
        found = [stretch for stretch in stable_stretches(branch) if stretch.lower <= beta <= stretch.upper]
        if not found:
            break
        stretch = min(found, key=lambda s: float(np.linalg.norm(s.at(beta).x - solution.x)))
        end = stretch.upper_event if rising else stretch.lower_event
        held.append(_Held(branch, stretch, end))
        if end.kind not in _KINDS or end.state is None:
            break
        beta = end.parameter * (1 + _BEYOND if rising else 1 - _BEYOND)
        if not betas[0] < beta < betas[1]:
            break
        x = (end.landing or end.state).x
    return held


def _ends(held: Sequence[_Held], y: float, side: str) -> list[LineStart]:
    starts: list[LineStart] = []
    for end in (one.end for one in held):
        if end.kind not in _KINDS or end.state is None:
            continue
        # The end of a single pattern is its storage onset, which has a line of its own.
        if end.kind is PointKind.ENTERS and len(end.state.support) == 1:
            continue
        entering = end.patterns[:1] if end.kind is PointKind.ENTERS else ()
        starts.append(LineStart(_KINDS[end.kind], y, end.parameter, (end.state.weights,), entering, side))
    return starts


def _coexistences(held: Sequence[_Held], y: float) -> list[LineStart]:
    """Crossings of free energies at which the lowest of all states that were met changes."""
    starts: list[LineStart] = []
    for n, first in enumerate(held):
        for second in held[n + 1 :]:
            try:
                crossings = coexistence(first.branch, second.branch)
            except InputError:  # no common interval
                continue
            for point in crossings:
                narrow = point.bracket[1] - point.bracket[0] <= _POINT * point.parameter
                states = (point.state, point.landing)
                if not narrow or states[0] is None or states[1] is None:
                    continue
                known = any(abs(start.beta / point.parameter - 1) <= _POINT for start in starts)
                if not known and _lowest(held, point.parameter, states[0]):
                    weights = (states[0].weights, states[1].weights)
                    starts.append(LineStart(LineKind.COEXISTENCE, y, point.parameter, weights))
    return starts


def _lowest(held: Sequence[_Held], beta: float, state: State) -> bool:
    """Whether no state that was met has a lower free energy."""
    tolerance = SAME_ENERGY * max(1.0, abs(state.free_energy))
    return all(
        one.stretch.at(beta).free_energy >= state.free_energy - tolerance
        for one in held
        if one.stretch.lower <= beta <= one.stretch.upper
    )
