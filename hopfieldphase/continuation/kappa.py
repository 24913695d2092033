"""Sweeps in the memory load κ = log(M)/d: minima followed while patterns join and leave one by one.

The patterns are nested: M(κ) = round(exp(κ d)) takes the first M rows of one sequence.
"""

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.continuation.load import DOWN, UP, LoadEvents, Trail, follow_load
from hopfieldphase.continuation.starts import continues, in_words
from hopfieldphase.continuation.sweep import Sweep, ascending_axis
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import duplicate_rows
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import solver_options


@dataclass(frozen=True, eq=False)
class KappaSweep:
    """A sweep in the memory load: observables on the grid, and every event between its points.

    Attributes
    ----------
    sweep : Sweep
        The observables at each κ, among the first M(κ) patterns. `jumped` says that a jump lies on the way
        from the previous value.
    M : ndarray of int, shape (n,)
        Number of patterns at each κ.
    events : tuple of LoadEvents
        Of the up and of the down sweep. At α > 1 every pattern that acts on the state; at α ≤ 1, where every
        pattern does, the jumps.
    """

    sweep: Sweep
    M: np.ndarray
    events: tuple[LoadEvents, LoadEvents]


def kappa_sweep(
    model: HopfieldModel,
    kappas: Any,
    beta: float,
    *,
    start_up: Any = "mean",
    start_down: Any = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    max_steps: int | None = None,
    polish: bool = True,
    keep_states: bool = False,
    threads: int | None = None,
) -> KappaSweep:
    """Sweep the memory load κ = log(M)/d up and down at fixed β.

    At α > 1 a new pattern changes nothing unless its overlap exceeds θ, and a leaving one only if it has
    weight. The sweep therefore goes from event to event, each the exact next one, and relaxes there with just
    that pattern added or removed: events, jumps and states are those of a sweep through every single M,
    whatever the grid.

    At α ≤ 1 every pattern acts. A step changes M by at most a factor `load.LARGEST_GROWTH` and is taken again
    from its start in halves, each followed from where the one before ended, until its first Newton step
    explains it (`load.SMOOTH`) or one pattern is left. Every jump that is reported is thus one pattern whose
    joining (leaving) cannot be undone. Not seen is a state that ceases to exist and is back again within one
    smooth step.

    Parameters
    ----------
    model : HopfieldModel
        At least as many patterns as the largest κ takes; smaller loads take its first rows, and the same α
        and overlap scale.
    kappas : array, shape (n,)
        Memory loads, strictly ascending; M(κ) = round(exp(κ d)).
    beta : float
        Inverse temperature β > 0.
    start_up, start_down : str or array of shape (d,)
        State that the sweep relaxes first, at the lowest κ (up) or the highest (down); names as for
        `hopfieldphase.continuation.sweep.sweep`.
    solver, tol, max_steps, polish
        See `hopfieldphase.relax`.
    keep_states : bool
        Also return the states on the grid.
    threads : int, optional
        Threads for the two directions; results do not depend on it.

    Returns
    -------
    KappaSweep

    Raises
    ------
    InputError
        If κ, β, a start or an option lies outside its domain, or the model has too few patterns.

    Notes
    -----
    Source: Section 5.2 and Appendix F.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
    """
    axis, counts = pattern_counts(kappas, model.d)
    beta = inverse_temperature(beta)
    options = solver_options(solver, tol, max_steps, polish, np.asarray(model.patterns).dtype)
    starts = (start_up, start_down)
    follows = continues(starts)
    trails: dict[int, Trail] = {}
    own = [way for way in (UP, DOWN) if not follows[way]]

    def chunk(first: int, stop: int) -> None:
        for way in own[first:stop]:
            trails[way] = follow_load(model, counts, beta, way, starts[way], options, keep_states)

    run_chunks(chunk, len(own), threads)
    for way in (UP, DOWN):
        if follows[way]:
            start = trails[1 - way].last
            trails[way] = follow_load(model, counts, beta, way, start, options, keep_states)
    return join(axis, counts, (trails[UP], trails[DOWN]), starts, pattern_facts(model, int(counts[-1])))


def pattern_counts(kappas: Any, d: int) -> tuple[np.ndarray, np.ndarray]:
    """The checked axis of memory loads and M(κ) = round(exp(κ d)), both of shape (n,).

    Raises
    ------
    InputError
        If the axis is not strictly ascending, positive and finite, or its last M exceeds the memory.
    """
    axis = ascending_axis(kappas, "kappas")
    limit = most_patterns(d)
    if axis[-1] * d > math.log(limit):
        raise InputError(
            f"kappa = {axis[-1]:g} at d = {d} means M = 10^{axis[-1] * d / math.log(10):.1f} patterns, but "
            f"the memory of this machine holds {limit}: end the range at kappa <= {math.log(limit) / d:.4f}"
        )
    return axis, np.rint(np.exp(axis * d)).astype(np.int64)


def most_patterns(d: int) -> int:
    """The most patterns of dimension d that an up and a down sweep together can hold in memory."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**34
    # The patterns, and for either direction the rows that act and as many of the curvature.
    return memory // (8 * (5 * d + 32))


def pattern_facts(model: HopfieldModel, N: int) -> dict[str, Any]:
    """What `Sweep` tells of the first N patterns."""
    norms = np.asarray(model.pattern_norms)[:N]
    return {
        "saturation": (model.scale * float(norms.max())) ** 2,
        "pattern_norms": (float(norms.min()), float(norms.max())),
        "duplicates": sum(len(rows) - 1 for rows in duplicate_rows(model.patterns[:N])),
    }


def join(
    axis: np.ndarray,
    counts: np.ndarray,
    trails: tuple[Trail, Trail],
    starts: tuple[Any, Any],
    facts: dict[str, Any],
) -> KappaSweep:
    """One sweep from its up and its down trail, given the axis, M on it, both starts and `pattern_facts`."""
    up, down = trails
    table = {name: np.stack([up.columns[name], down.columns[name]]) for name in up.columns}
    table["status"] = table["status"].astype(np.int8)
    table["jumped"] = table["jumped"].astype(bool)
    swept = Sweep(
        parameter="kappa",
        values=axis,
        state=None if up.states is None or down.states is None else np.stack([up.states, down.states]),
        start_up=in_words(starts[UP]),
        start_down=in_words(starts[DOWN]),
        **table,
        **facts,
    )
    return KappaSweep(swept, counts, (up.events, down.events))
