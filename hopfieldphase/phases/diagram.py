"""The lines of a whole phase diagram: every line met at a few values of y, and closed forms beside them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.continuation.equations import Vector
from hopfieldphase.core import closed_forms
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.families import Family
from hopfieldphase.phases.line_problems import LineKind
from hopfieldphase.phases.line_starts import LineStart, line_starts
from hopfieldphase.phases.lines import Line, LinePoint, follow_line
from hopfieldphase.solvers import relax_many

REFERENCES = (0.47, 0.13, 0.81)
"""Parts of the range of y at which lines are looked for; away from round values, at which they may meet."""

SAME_LINE = 1e-6
"""Relative difference in β below which a start lies on a line that is known."""

CONTINUOUS = 0.1
"""A transition is continuous where the state moves by less than this part of s·max|ξ| just beyond it."""

_JUST_BEYOND = 1e-4
_EQUAL = 1e-12


@dataclass(frozen=True, eq=False)
class DiagramLine:
    """A line of a phase diagram as it is stored and drawn.

    Attributes
    ----------
    kind : LineKind
    side : str
        "up" or "down": the sweep whose state ends here; empty for coexistence and storage onset.
    beta, y : ndarray, shape (N,)
        The points, in order along the line.
    continuous : ndarray of bool, shape (N,)
        Whether the transition is continuous there; only an instability may be.
    step : bool
        A step function: y takes the values of whole numbers of patterns only.
    special_points : tuple of LinePoint
        Cusps, turning points, kinks and ends.
    """

    kind: LineKind
    side: str
    beta: Vector
    y: Vector
    continuous: NDArray[np.bool_]
    step: bool
    special_points: tuple[LinePoint, ...]


@dataclass(frozen=True, eq=False)
class DiagramLines:
    """All lines of a diagram, and what could not be followed, each in one sentence."""

    lines: tuple[DiagramLine, ...]
    failures: tuple[str, ...]


def diagram_lines(
    family: Family,
    ys: tuple[float, float],
    betas: tuple[float, float],
    requested: Iterable[float] = (),
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> DiagramLines:
    """Follow every line that starts at one of a few values of y.

    Parameters
    ----------
    family : Family
    ys, betas : tuple of float
        The ranges.
    requested : iterable of float
        Values of y at which every line has a point, exactly.
    progress : callable
        Called as ``progress(done, total)`` after each value of y.

    Returns
    -------
    DiagramLines
        A line that meets none of `REFERENCES` is not found.
    """
    values = tuple(requested)
    found: list[tuple[LineStart, Line]] = []
    failures: list[str] = []
    for n, part in enumerate(REFERENCES):
        y = ys[0] + part * (ys[1] - ys[0])
        for start in line_starts(family.model(y), y, betas):
            if any(_on(line, first, start) for first, line in found):
                continue
            try:
                found.append((start, follow_line(family, start, ys, betas, values)))
            except InputError as error:
                failures.append(
                    f"{start.kind} at {family.parameter} = {y:.4g}, beta = {start.beta:.6g}: {error}"
                )
        progress(n + 1, len(REFERENCES))
    return DiagramLines(tuple(_stored(family, *pair) for pair in found), tuple(failures))


def _on(line: Line, first: LineStart, start: LineStart) -> bool:
    """Whether a start lies on a line; the two sweeps may lose a state on one and the same instability."""
    if first.kind is not start.kind:
        return False
    return bool((np.abs(line.at(start.y) / start.beta - 1) <= SAME_LINE).any())


def _stored(family: Family, start: LineStart, line: Line) -> DiagramLine:
    continuous = np.zeros(len(line.y), dtype=bool)
    if line.kind is LineKind.INSTABILITY:
        continuous = np.array(
            [
                _is_continuous(family.model(float(y)), piece.weights(row)[0], float(piece.beta[row]))
                for piece in line.pieces
                for row, y in enumerate(piece.y)
            ]
        )
    return DiagramLine(line.kind, start.side, line.beta, line.y, continuous, False, line.special_points)


def _is_continuous(model: HopfieldModel, weights: Vector, beta: float) -> bool:
    """Whether the state moves little when β passes the point, either way."""
    x = model.scale * weights @ np.asarray(model.patterns, dtype=np.float64)
    moved = [
        relax_many(model, [x], beta * (1 + step), threads=1)[0].x for step in (_JUST_BEYOND, -_JUST_BEYOND)
    ]
    return max(float(np.linalg.norm(there - x)) for there in moved) <= CONTINUOUS * model.state_scale


def stepped_lines(
    models: Sequence[HopfieldModel],
    ys: Sequence[float],
    betas: tuple[float, float],
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> DiagramLines:
    """Lines in a parameter that counts patterns: their points at every value, joined as steps.

    Parameters
    ----------
    models : sequence of HopfieldModel
        One for each value of y.
    ys : sequence of float
        Ascending.
    betas : tuple of float
        Range of β.
    progress : callable
        Called as ``progress(done, total)`` after each value.

    Returns
    -------
    DiagramLines
        For each sweep the first end of its state, the storage onset of pattern 0, and the coexistence of
        lowest β: exact for each model, with no continuation between them.
    """
    points: dict[tuple[str, str], list[tuple[float, float, LineKind]]] = {}
    for n, (model, y) in enumerate(zip(models, ys, strict=True)):
        seen: set[tuple[str, str]] = set()
        for start in sorted(line_starts(model, y, betas), key=_order):
            group = (start.side or str(start.kind), start.side)
            if group not in seen:
                seen.add(group)
                points.setdefault(group, []).append((y, start.beta, start.kind))
        progress(n + 1, len(models))
    lines = []
    for (_, side), found in points.items():
        y, beta = np.array([p[0] for p in found]), np.array([p[1] for p in found])
        kinds = [p[2] for p in found]
        ends = (LinePoint("range", y[0], beta[0]), LinePoint("range", y[-1], beta[-1]))
        kind = max(set(kinds), key=kinds.count)
        lines.append(DiagramLine(kind, side, beta, y, np.zeros(len(y), dtype=bool), True, ends))
    return DiagramLines(tuple(lines), ())


def _order(start: LineStart) -> float:
    """The first end that a sweep meets comes first."""
    return -start.beta if start.side == "down" else start.beta


@dataclass(frozen=True, eq=False)
class ClosedLine:
    """A line known in closed form: β at given values of y, NaN where there is none."""

    name: str
    y: Vector
    beta: Vector


def closed_lines(models: Sequence[HopfieldModel], ys: Sequence[float]) -> tuple[ClosedLine, ...]:
    """The closed forms that apply to the patterns of each model.

    The storage onset of pattern 0 (α > 1) and, where the rows of the Gram matrix have equal sums, the
    instability of the uniform state; for two keys and for patterns of one common cosine also the spinodal
    and the coexistence.

    Parameters
    ----------
    models : sequence of HopfieldModel
    ys : sequence of float
        The value of y of each.

    Returns
    -------
    tuple of ClosedLine
    """
    rows = [_closed_forms(np.asarray(model.gram), model.alpha) for model in models]
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [
        ClosedLine(name, np.array(ys), np.array([row.get(name, np.nan) for row in rows])) for name in names
    ]
    lines = [replace(line, beta=np.where(np.isinf(line.beta), np.nan, line.beta)) for line in lines]
    return tuple(line for line in lines if np.isfinite(line.beta).any())


def _closed_forms(gram: NDArray[np.float64], alpha: float) -> dict[str, float]:
    M = len(gram)
    found = {"storage onset": float(closed_forms.exact_storage_onset(gram, alpha)[0])}
    if closed_forms.is_uniform_stationary(gram):
        found["instability"] = closed_forms.uniform_spinodal(gram, alpha)
    size = float(np.abs(gram).max())
    off = gram[~np.eye(M, dtype=bool)]
    if M < 2 or max(float(np.ptp(off)), float(np.ptp(np.diagonal(gram)))) > _EQUAL * size:
        return found
    distance = float(gram[0, 0] - off.mean())
    if M == 2:
        cosine = 1 - distance / float(gram[0, 0])
        found["coexistence"] = closed_forms.two_keys_coexistence(cosine, alpha) / float(gram[0, 0])
    elif alpha <= 2:
        found["spinodal"] = closed_forms.potts_spinodal(M, alpha) / distance
        found["coexistence"] = closed_forms.potts_coexistence(M, alpha) / distance
    return found
