"""The free-energy barrier between two minima: the path of least energy, and the saddles on it."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.maps import conjugate, weights
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.saddles import Saddle, SaddleStatus, find_saddle
from hopfieldphase.solvers.relaxation import Solution, relax

Vector = NDArray[np.float64]
States = NDArray[np.float64]

# The string stops when no image moves by more than this fraction of its length.
_SETTLED = 1e-7
_MAX_ITERATIONS = 4000
# Images further apart than this many spacings are not the same place.
_NEAR = 3.0
# A string that runs over a maximum in two directions is pushed off it, at most so often.
_MAX_KICKS = 4
_MAX_ZOOMS = 4
# Relative distance below which two minima are one.
_SAME = 1e-6
_DEEPEST = 8
# Step aside from a saddle, in spacings of the string, from which updates T lead to its minima.
_ASIDE = 0.01


@dataclass(frozen=True, eq=False)
class Barrier:
    """A path of least energy between two minima at one β.

    Attributes
    ----------
    model : HopfieldModel
    beta : float
    path : ndarray, shape (n, d)
        States along the path, every minimum and every saddle among them.
    arclength : ndarray, shape (n,)
        Distance along the path from its start.
    energies : ndarray, shape (n,)
        Γ along the path.
    minima : tuple of Solution
        The two ends and the minima in between, in their order.
    saddles : tuple of Saddle
        One between each minimum and the next.
    """

    model: HopfieldModel
    beta: float
    path: States
    arclength: Vector
    energies: Vector
    minima: tuple[Solution, ...]
    saddles: tuple[Saddle, ...]

    @property
    def saddle(self) -> Saddle:
        """The highest saddle: the one that makes the barrier."""
        return max(self.saddles, key=lambda saddle: saddle.free_energy)

    @property
    def height(self) -> float:
        """Γ(saddle) − Γ(start)."""
        return self.saddle.free_energy - self.minima[0].free_energy

    @property
    def height_back(self) -> float:
        """Γ(saddle) − Γ(end)."""
        return self.saddle.free_energy - self.minima[-1].free_energy

    @property
    def status(self) -> SaddleStatus:
        """`VERIFIED` or `FACET` where every saddle is a verified one, else what is known of the worst."""
        order = list(SaddleStatus)
        return max((saddle.status for saddle in self.saddles), key=order.index)


def barrier(
    model: HopfieldModel, start: Any, end: Any, beta: float, *, images: int = 41, via: Any = ()
) -> Barrier:
    """Find the path of least energy between two minima of Γ_α at one β, and the barrier on it.

    Parameters
    ----------
    model : HopfieldModel
        With finite α.
    start, end : array, shape (d,)
        Two different minima; they are relaxed first, and must stay where they are given.
    beta : float
        Inverse temperature, β > 0.
    images : int, default 41
        States between two minima of the path, at least 5.
    via : sequence of arrays (d,)
        Where the first guess goes through, by default straight from start to end.

    Returns
    -------
    Barrier
        Its ``height`` is Γ(highest saddle) − Γ(start). Minima that the path runs through are reported, with
        a saddle between each two. ``status`` says whether each saddle is stationary with exactly one
        negative Hessian eigenvalue; for α ≥ 2, where the Hessian jumps if a pattern ties with the
        threshold, that must hold on both sides of the facet.

    Raises
    ------
    InputError
        If an end is no minimum, both are the same one, or α = ∞.

    Notes
    -----
    The simplified string method (E, Ren and Vanden-Eijnden, J. Chem. Phys. 126, 164103, 2007), whose step
    downhill is one update T, a gradient step of length 1/β that never overshoots because no eigenvalue of
    ∇²Γ exceeds β. The highest image is then refined by Newton steps, uphill along one direction, so that the
    height does not depend on the number of images. The path is the one next to the first guess: another one,
    given by `via`, may have a lower barrier.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.phases.barriers import barrier
    >>> model = hp.HopfieldModel(hp.patterns.two_keys(0.0, d=4), alpha=2.0, scale=1.0)
    >>> round(barrier(model, model.patterns[0], model.patterns[1], beta=6.0).height, 12)
    1.0
    """
    beta = inverse_temperature(beta)
    whole_number("images", images, at_least=5)
    if np.isinf(model.alpha):
        raise InputError("alpha = inf: the free energy has kinks instead of saddles, give a finite alpha")
    ends = [_minimum(model, x, beta, name) for x, name in ((start, "start"), (end, "end"))]
    if _same(model, *ends):
        raise InputError("start and end are the same minimum at this beta: give two different ones")
    corners = np.array([ends[0].x, *(np.asarray(x, dtype=np.float64) for x in via), ends[1].x])
    string = _even(corners, images + 2)
    minima, saddles, pieces = _connect(model, beta, ends[0], ends[1], string, _DEEPEST)
    path = np.concatenate([pieces[0], *(piece[1:] for piece in pieces[1:])])
    return Barrier(
        model=model,
        beta=beta,
        path=path,
        arclength=_arclength(path),
        energies=np.asarray(model.free_energy(path, beta)),
        minima=tuple(minima),
        saddles=tuple(saddles),
    )


def _minimum(model: HopfieldModel, x: Any, beta: float, name: str) -> Solution:
    found = relax(model, x, beta)
    moved = float(np.linalg.norm(found.x - np.asarray(x, dtype=np.float64)))
    if not found.status.is_minimum:
        raise InputError(
            f"{name} does not relax to a verified minimum at beta = {beta:.12g} "
            f"({found.status.name.lower()}): give a minimum, like the x of a converged relax(...)"
        )
    if moved > 1e-3 * model.state_scale:
        raise InputError(
            f"{name} is no minimum at beta = {beta:.12g}: it relaxes to a state {moved:.3g} away; "
            "give the x of relax(...)"
        )
    return found


def _connect(
    model: HopfieldModel, beta: float, a: Solution, b: Solution, string: States, depth: int
) -> tuple[list[Solution], list[Saddle], list[States]]:
    """Minima, saddles and pieces of the path from a to b, divided at every minimum on the way."""
    marks: list[tuple[int, Solution]] = []
    for kick in range(_MAX_KICKS + 1):
        string = _settle(model, beta, string)
        marks = _minima_between(model, beta, a, b, string)
        if marks and depth:
            break
        saddle = _top(model, beta, string)
        if saddle.status is SaddleStatus.HIGHER_INDEX and kick < _MAX_KICKS:
            string = _pushed(model, beta, string, saddle)
            continue
        i = _next_to(string, saddle.x)
        marks = _landings(model, beta, saddle, i, string) if saddle.status.is_saddle else []
        marks = [mark for mark in marks if not any(_same(model, mark[1], end) for end in (a, b))]
        if not marks or not depth:
            if marks:
                saddle = replace(saddle, status=SaddleStatus.ELSEWHERE)
            string = np.concatenate([string[:i], saddle.x[None], string[i + 1 :]])
            return [a, b], [saddle], [string]
        break
    minima: list[Solution] = [a]
    saddles: list[Saddle] = []
    pieces: list[States] = []
    for (i, left), (j, right) in pairwise([(0, a), *marks, (len(string) - 1, b)]):
        corners = np.concatenate([left.x[None], string[i + 1 : j], right.x[None]])
        found = _connect(model, beta, left, right, _even(corners, len(string)), depth - 1)
        minima += found[0][1:]
        saddles += found[1]
        pieces += found[2]
    return minima, saddles, pieces


def _settle(model: HopfieldModel, beta: float, string: States) -> States:
    """Move every image downhill by one update T and space them evenly, until nothing moves."""
    patterns = np.asarray(model.patterns, dtype=np.float64)
    for _ in range(_MAX_ITERATIONS):
        inner = string[1:-1]
        p = weights(model.scale * (inner @ patterns.T), model.alpha, beta, threads=1)
        moved = _even(np.concatenate([string[:1], model.scale * (p @ patterns), string[-1:]]), len(string))
        largest = float(np.abs(moved - string).max())
        string = moved
        if largest <= _SETTLED * _arclength(string)[-1]:
            break
    return string


def _minima_between(
    model: HopfieldModel, beta: float, a: Solution, b: Solution, string: States
) -> list[tuple[int, Solution]]:
    """Verified minima next to the images that lie lower than both neighbours."""
    energies = _energies(model, beta, string)
    spacing = _arclength(string)[-1] / (len(string) - 1)
    found: list[tuple[int, Solution]] = []
    known = [a, b]
    for i in range(1, len(string) - 1):
        if not (energies[i] < energies[i - 1] and energies[i] <= energies[i + 1]):
            continue
        there = relax(model, string[i], beta)
        near = np.linalg.norm(there.x - string[i]) <= _NEAR * spacing
        new = not any(_same(model, there, other) for other in known)
        if there.status.is_minimum and near and new:
            found.append((i, there))
            known.append(there)
    return found


def _top(model: HopfieldModel, beta: float, string: States) -> Saddle:
    """The saddle next to the highest image, sought on ever shorter strings around it."""
    zooms = 0
    while True:
        i = int(np.argmax(_energies(model, beta, string)[1:-1])) + 1
        tangent = string[i + 1] - string[i - 1]
        size = float(np.linalg.norm(tangent))
        saddle = find_saddle(model, string[i], beta, tangent / size, size / 2)
        if saddle.status is not SaddleStatus.NOT_STATIONARY or zooms == _MAX_ZOOMS:
            return saddle
        string = _settle(model, beta, _even(string[i - 1 : i + 2], len(string)))
        zooms += 1


def _pushed(model: HopfieldModel, beta: float, string: States, saddle: Saddle) -> States:
    """The string, bent off a stationary point along its second direction of descent."""
    vectors = np.linalg.eigh(model.hessian(saddle.x, beta))[1]
    bend = np.sin(np.linspace(0.0, np.pi, len(string)))
    spacing = _arclength(string)[-1] / (len(string) - 1)
    bent = string + spacing * bend[:, None] * vectors[:, 1]
    bent[[0, -1]] = string[[0, -1]]
    return _even(bent, len(string))


def _landings(
    model: HopfieldModel, beta: float, saddle: Saddle, i: int, string: States
) -> list[tuple[int, Solution]]:
    """The minima to which updates T lead from both sides of a saddle, with their places on the string."""
    tangent = string[i + 1] - string[i - 1]
    along = np.copysign(_ASIDE * float(np.linalg.norm(tangent)), saddle.direction @ tangent)
    sides = [relax(model, saddle.x + side * along * saddle.direction, beta, solver="fixed-point")
             for side in (-1, 1)]  # fmt: skip
    return [(i - 1, sides[0]), (i + 1, sides[1])]


def _same(model: HopfieldModel, a: Solution, b: Solution) -> bool:
    return float(np.linalg.norm(a.x - b.x)) <= _SAME * model.state_scale


def _next_to(string: States, x: Vector) -> int:
    """Which inner image lies next to a state."""
    return 1 + int(np.argmin(((string[1:-1] - x) ** 2).sum(axis=1)))


def _energies(model: HopfieldModel, beta: float, string: States) -> Vector:
    scores = model.scale * (string @ np.asarray(model.patterns, dtype=np.float64).T)
    return beta / 2 * (string**2).sum(axis=1) - conjugate(scores, model.alpha, beta, threads=1)


def _arclength(path: States) -> Vector:
    steps = np.sqrt((np.diff(path, axis=0) ** 2).sum(axis=1))
    return np.concatenate([[0.0], np.cumsum(steps)])


def _even(path: States, count: int) -> States:
    """Points at equal distances along a polygon."""
    length = _arclength(path)
    places = np.linspace(0.0, length[-1], count)
    segment = np.clip(np.searchsorted(length, places, side="right") - 1, 0, len(path) - 2)
    width = length[segment + 1] - length[segment]
    share = (places - length[segment]) / np.where(width > 0, width, 1.0)
    even = path[segment] + share[:, None] * (path[segment + 1] - path[segment])
    even[[0, -1]] = path[[0, -1]]
    return even
