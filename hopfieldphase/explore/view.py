"""What a page shows, in plain arrays: curves of states over one parameter, beside every other dimension.

The states of all curves stand one after the other as nodes. Curve c at place o of the other dimensions (in
row-major order) owns the nodes from ``starts[o * curves + c]`` to the next start, in the order along it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError

Array = NDArray[np.float64]
Table = dict[str, NDArray[Any]]

STRONGEST = 12
"""Weights that are kept of every state."""


class Phase(IntEnum):
    """What is known of a state, and so how its line is drawn."""

    UNKNOWN = 0
    EQUILIBRIUM = 1
    METASTABLE = 2
    UNSTABLE = 3
    ABSENT = 4


class Link(IntEnum):
    """How a node is joined with the next one of its curve."""

    NONE = 0
    LINE = 1
    JUMP = 2


class Kind(IntEnum):
    """Special points, each with a marker of its own."""

    SPINODAL = 0
    COEXISTENCE = 1
    SYMMETRIC = 2
    CHANGE = 3
    ONSET = 4


@dataclass(frozen=True)
class Axis:
    """One dimension: its name on the command line, its label, its values (numbers or words), their texts."""

    name: str
    label: str
    values: tuple[Any, ...]
    texts: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """Every value in words."""
        return self.texts or tuple(f"{v:.8g}" if isinstance(v, float) else str(v) for v in self.values)

    def nearest(self, wanted: str) -> int:
        """Position of a value, or of the number nearest to it; `InputError` for what is neither."""
        words = [str(value) for value in self.values]
        if wanted in words:
            return words.index(wanted)
        try:
            numbers = np.array(self.values, dtype=float)
            target = float(wanted)
        except ValueError:
            raise InputError(
                f"{self.name} = {wanted} is none of {_listed(words)}: give one of them"
            ) from None
        return int(np.nanargmin(np.abs(numbers - target)))


@dataclass(frozen=True, eq=False)
class Cells:
    """One quantity over the parameter and every other dimension: (places of the other dimensions, values)."""

    label: str
    values: Array
    limits: tuple[float, float]
    differences: bool = False


@dataclass(frozen=True, eq=False)
class View:
    """Everything that a page shows.

    Attributes
    ----------
    title, facts, notes : str, tuple of str, tuple of str
        The kind of result, the model in words, and what a reader has to know.
    outer : tuple of Axis
        Every dimension beside curve and parameter.
    curves : Axis
        Directions of a sweep, or branches.
    parameter, parameter_label : str
    grid : ndarray
        Values of the parameter on the map; nodes of branches lie between them, too.
    starts : ndarray of int
    nodes : dict of ndarray
        `parameter`, `phase`, `link`, `status` and every quantity.
    labels : dict of str
        Label of every quantity.
    phases, statuses : tuple of str
        In words.
    weights : tuple of ndarray, or None
        Patterns (−1: none) and their weights, (nodes, kept), the strongest first.
    marks : dict of ndarray
        Special points: `place`, `curve`, `kind`, `parameter`, quantities, and `text`.
    rules : dict of ndarray
        Values of the parameter at which a diagram has a line: `place`, `kind`, `parameter`, `text`.
    cells : dict of Cells
    lines : list of dict
        Lines on the map: `kind`, `text`, `x`, `y`.
    levels : dict of ndarray
        For a quantity the level that it saturates at, one for each place.
    vertical : str
        The dimension along the second axis of the map; "" where the curves stand there, or nothing.
    leading : tuple of int
        The curves that have a colour of their own, as far as there are colours; empty for all.
    position : tuple of int
        Where the page opens: places in `outer`, curve, node of the curve.
    """

    title: str
    facts: tuple[str, ...]
    outer: tuple[Axis, ...]
    curves: Axis
    parameter: str
    parameter_label: str
    grid: Array
    starts: NDArray[np.int32]
    nodes: Table
    labels: dict[str, str]
    phases: tuple[str, ...]
    statuses: tuple[str, ...]
    position: tuple[int, ...]
    weights: tuple[NDArray[np.int32], NDArray[np.float32]] | None = None
    marks: Table = field(default_factory=dict)
    rules: Table = field(default_factory=dict)
    cells: dict[str, Cells] = field(default_factory=dict)
    lines: list[dict[str, Any]] = field(default_factory=list)
    levels: dict[str, Array] = field(default_factory=dict)
    vertical: str = ""
    leading: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def places(self) -> int:
        """Number of places in the outer dimensions."""
        return int(np.prod([len(axis.values) for axis in self.outer], dtype=int))

    def at(self, wanted: Mapping[str, str]) -> tuple[int, ...]:
        """Where the page opens, with some dimensions at the given values.

        Raises
        ------
        InputError
            For an unknown dimension, and for a value that it cannot have.
        """
        axes = (*self.outer, self.curves)
        known = [*(axis.name for axis in axes), self.parameter]
        for name in wanted:
            if name not in known:
                raise InputError(f"{name} is no dimension of these data: they have {', '.join(known)}")
        found = [
            axis.nearest(wanted[axis.name]) if axis.name in wanted else place
            for axis, place in zip(axes, self.position[:-1], strict=True)
        ]
        curve = int(np.ravel_multi_index(found, [len(axis.values) for axis in axes]))
        values = self.nodes["parameter"][self.starts[curve] : self.starts[curve + 1]]
        if self.parameter in wanted:
            node = Axis(self.parameter, "", tuple(values.tolist())).nearest(wanted[self.parameter])
        elif found == list(self.position[:-1]):
            node = self.position[-1]
        else:
            old = int(np.ravel_multi_index(self.position[:-1], [len(axis.values) for axis in axes]))
            beta = self.nodes["parameter"][self.starts[old] + self.position[-1]]
            node = int(np.argmin(np.abs(values - beta))) if values.size else 0
        return (*found, node)


def strongest(weights: Array) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The largest weights of each row, descending, and their patterns; −1 and 0 where there are no more."""
    kept = min(STRONGEST, weights.shape[-1])
    order = np.argsort(-weights, axis=-1, kind="stable")[..., :kept]
    values = np.take_along_axis(weights, order, axis=-1)
    return np.where(values > 0, order, -1).astype(np.int32), values.astype(np.float32)


def equal_energies(first: Array, second: Array, differ: NDArray[np.bool_]) -> list[tuple[int, float]]:
    """Where two free energies on a grid are equal between neighbours at which the states differ.

    Returns the index before each crossing, and the part of the step at which straight lines meet.
    """
    gap = np.where(differ, first - second, np.nan)
    rows = np.flatnonzero(gap[:-1] * gap[1:] < 0)
    return [(int(i), float(gap[i] / (gap[i] - gap[i + 1]))) for i in rows]


def _listed(words: list[str], most: int = 8) -> str:
    return ", ".join(words[:most]) + (", …" if len(words) > most else "")
