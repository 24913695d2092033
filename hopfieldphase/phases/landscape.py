"""The free energy on a plane through stored patterns, and how retrieval falls into its minima.

The plane passes the states x = s ξ_μ, at which a single pattern is retrieved: three of them span it, two of
them together with the origin. A retrieval path is the sequence of updates x ← T(x), along which Γ never rises
(arXiv:2610.17347, Section 3); it leaves the plane as soon as other patterns take part, and is shown by its
orthogonal projection.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.relaxation import Solution, relax_many
from hopfieldphase.solvers.screening import floating_type

Array = NDArray[np.float64]

# A point nearer to the line of the others, in lengths of a single-pattern state, spans no plane with them.
_FLAT = 1e-6
# Solutions at one minimum agree far better than this, in the same unit.
_SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane in state space with orthonormal axes.

    Attributes
    ----------
    patterns : tuple of int
        The two or three patterns whose states lie in it.
    origin : array, shape (d,)
        The point with coordinates (0, 0).
    axes : array, shape (2, d)
        Orthonormal.
    """

    patterns: tuple[int, ...]
    origin: Array
    axes: Array

    def states(self, coordinates: Any) -> Array:
        """The states at in-plane coordinates of shape (..., 2): shape (..., d)."""
        return self.origin + np.asarray(coordinates, dtype=np.float64) @ self.axes

    def coordinates(self, x: Any) -> Array:
        """In-plane coordinates of the orthogonal projections of states (..., d): shape (..., 2)."""
        return (np.asarray(x, dtype=np.float64) - self.origin) @ self.axes.T

    def distance(self, x: Any) -> Array:
        """Euclidean distance of states (..., d) from the plane, shape (...)."""
        return np.linalg.norm(np.asarray(x) - self.states(self.coordinates(x)), axis=-1)


@dataclass(frozen=True, eq=False)
class Landscape:
    """The free energy Γ on a regular grid of a plane.

    Attributes
    ----------
    u, v : array, shape (n,)
        In-plane coordinates of the columns and of the rows; both have the same step.
    free_energy : array, shape (n, n)
        Γ at (v, u).
    """

    u: Array
    v: Array
    free_energy: Array


@dataclass(frozen=True, eq=False)
class RetrievalPaths:
    """Updates x ← T(x) from several starts, and the minima that they lead to.

    Attributes
    ----------
    paths : tuple of arrays, shape (n, d)
        The states from the start to the minimum, both included; the updates between end where the state
        moves no more than 1e-3 of the length of a single-pattern state.
    minima : tuple of Solution
        Each minimum once, by rising Γ; their status says whether they are verified.
    basin : array of int, shape (starts,)
        The minimum at the end of each path.
    """

    paths: tuple[Array, ...]
    minima: tuple[Solution, ...]
    basin: NDArray[np.int64]


def pattern_plane(model: HopfieldModel, patterns: Sequence[int]) -> Plane:
    """The plane through the states s ξ_μ of two or three patterns; of two, through the origin as well.

    The coordinates are centred at the mean of the points that span it, the first axis is parallel to the line
    from the first to the second pattern.

    Raises
    ------
    InputError
        If there are not two or three different patterns of the model, or their states lie on one line.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> model = hp.HopfieldModel(hp.patterns.two_keys(0.0, d=4), scale=1.0)
    >>> plane = pattern_plane(model, [0, 1])
    >>> plane.coordinates(model.patterns).round(6).tolist()
    [[-0.707107, 0.235702], [0.707107, 0.235702]]
    """
    chosen = tuple(patterns)
    text = ", ".join(map(str, chosen))
    if len(chosen) not in (2, 3) or len(set(chosen)) != len(chosen):
        raise InputError(f"patterns {text or 'none'} span no plane: choose two or three different ones")
    outside = next((index for index in chosen if not 0 <= index < model.M), None)
    if outside is not None:
        raise InputError(f"pattern {outside} is not there: choose from 0 to {model.M - 1}")
    points = model.scale * np.asarray(model.patterns[list(chosen)], dtype=np.float64)
    third = points[2] if len(chosen) == 3 else np.zeros(model.d)
    along, other = points[1] - points[0], third - points[0]
    length = np.linalg.norm(along)
    first = along / length if length else along
    across = other - (other @ first) * first
    height = np.linalg.norm(across)
    if length <= _FLAT * model.state_scale or height <= _FLAT * model.state_scale:
        other_point = "" if len(chosen) == 3 else " with the origin"
        raise InputError(f"the states of patterns {text} lie on one line{other_point}: choose other patterns")
    upward = 1.0 if len(chosen) == 3 else -1.0  # the patterns above the origin, a third one above the others
    origin = (points[0] + points[1] + third) / 3
    return Plane(chosen, origin, np.stack([first, upward * across / height]))


def landscape(
    model: HopfieldModel, beta: float, plane: Plane, *, points: int = 101, margin: float = 0.5
) -> Landscape:
    """The free energy on a square grid of a plane, around the states that span it.

    Parameters
    ----------
    model : HopfieldModel
        NumPy arrays.
    beta : float
        Inverse temperature, β > 0.
    plane : Plane
    points : int, default 101
        Along each side.
    margin : float, default 0.5
        Free room around the states, relative to the longer side of the rectangle that holds them.

    Raises
    ------
    InputError
        If `points` is below 2 or `beta` is not positive.
    """
    if points < 2:
        raise InputError(f"points = {points}: a grid has at least 2 on each side")
    spanning = model.scale * np.asarray(model.patterns[list(plane.patterns)], dtype=np.float64)
    corners = plane.coordinates(np.vstack([spanning, np.zeros(model.d)]))
    low, high = corners.min(axis=0), corners.max(axis=0)
    half = (0.5 + margin) * float((high - low).max())
    u, v = (np.linspace(middle - half, middle + half, points) for middle in (low + high) / 2)
    states = plane.states(np.stack(np.meshgrid(u, v), axis=-1))
    return Landscape(u, v, np.asarray(model.free_energy(states, beta)))


def retrieval_paths(model: HopfieldModel, beta: float, starts: Any, *, updates: int = 200) -> RetrievalPaths:
    """Follow the updates x ← T(x) from several starts and find the minimum below each.

    Once an update moves little, or after `updates` of them, the solver of `relax` goes on: it leaves saddles,
    on which updates may stop, and verifies the minimum.

    Parameters
    ----------
    model : HopfieldModel
        NumPy arrays.
    beta : float
        Inverse temperature, β > 0.
    starts : array, shape (k, d)
    updates : int, default 200
        Largest number of updates.

    Raises
    ------
    InputError
        If a start has another dimension or β is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> import hopfieldphase as hp
    >>> model = hp.HopfieldModel(np.eye(3), alpha=2.0, scale=1.0)
    >>> found = retrieval_paths(model, 3.0, [[0.9, 0.2, 0.0], [0.0, 0.1, 0.3]])
    >>> found.basin.tolist(), [end.x.tolist() for end in found.minima]
    ([0, 1], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    """
    x = np.array(starts, dtype=np.float64)
    trace, still = [x], np.zeros(len(x), dtype=np.int64)  # number of updates that moved a state
    for count in range(1, updates + 1):
        moved = np.asarray(model.retrieve(x, beta), dtype=np.float64)
        active = np.linalg.norm(moved - x, axis=-1) > 1e-3 * model.state_scale
        still[active] = count
        if not active.any():
            break
        x = moved
        trace.append(x)
    history = np.stack(trace)
    lasts = [history[min(last, len(history) - 1), i] for i, last in enumerate(still)]
    ends = relax_many(model, np.array(lasts, dtype=floating_type(model)), beta)
    minima, basin = _distinct(ends, _SAME * model.state_scale)
    paths = tuple(np.vstack([history[: last + 1, i], ends[i].x]) for i, last in enumerate(still))
    return RetrievalPaths(paths, minima, basin)


def _distinct(ends: Sequence[Solution], tolerance: float) -> tuple[tuple[Solution, ...], NDArray[np.int64]]:
    """Each end once, by rising Γ, and which of them every end is."""
    found: list[Solution] = []
    which = np.empty(len(ends), dtype=np.int64)
    order = sorted(range(len(ends)), key=lambda i: ends[i].free_energy)
    for i in order:
        same = (k for k, one in enumerate(found) if np.linalg.norm(one.x - ends[i].x) <= tolerance)
        which[i] = next(same, len(found))
        if which[i] == len(found):
            found.append(ends[i])
    return tuple(found), which
