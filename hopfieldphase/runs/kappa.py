"""Sweeps in the memory load as labelled results: all realizations and directions over threads."""

import inspect
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from hopfieldphase.continuation.kappa import join, most_patterns, pattern_counts, pattern_facts
from hopfieldphase.continuation.load import DOWN, UP, Trail, follow_load
from hopfieldphase.continuation.starts import continues
from hopfieldphase.core import patterns
from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import PatternSequence
from hopfieldphase.data.events import kappa_tree
from hopfieldphase.kernels.threads import thread_count
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.solvers.options import solver_options


def sweep_kappa(
    sequences: PatternSequence | Sequence[PatternSequence],
    kappas: str | float | Iterable[float],
    beta: float = 180.0,
    alpha: float = 2.0,
    *,
    start_up: str | ArrayLike = "mean",
    start_down: str | ArrayLike = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    polish: bool = True,
    keep_states: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Sweep the memory load κ = log(M)/d up and down at fixed β and return every observable, labelled.

    M(κ) = round(exp(κ d)) patterns are the first of one sequence: going up patterns join, going down they
    leave, one by one. At α > 1 the sweep visits every pattern that acts on its state; jumps are then exact to
    the single pattern on any grid. At α ≤ 1 it takes steps of several patterns where the state follows them
    smoothly, and single ones elsewhere; see `hopfieldphase.continuation.kappa.kappa_sweep`.

    Parameters
    ----------
    sequences : PatternSequence or sequence of PatternSequence
        One sequence of patterns, or several, which are the realizations of one study: they differ in their
        seed or realization only.
    kappas : str or array, shape (n,)
        Strictly ascending, positive; `start:stop:step` (stop included when hit) or a comma list as text.
    beta : float, default 180.0
        Inverse temperature β > 0.
    alpha : float, default 2.0
        Tsallis index in (0, inf].
    start_up, start_down : str or array, shape (d,)
        "mean", "pattern:k", "best" (the minimum of lowest Γ that a pattern relaxes to), "continue" (where the
        other sweep ended), or a state; for the sweep up at the lowest κ, for the sweep down at the highest.
    solver : {"auto", "newton", "fixed-point", "gradient-descent"}
    tol : float, optional
        Bound on |x − T(x)| / max(|x|, s·max|ξ|).
    polish : bool
        False runs the solver literally, and returns saddles as such.
    keep_states : bool
        Also keep the states, as the variable `state`.
    threads : int, optional
        By default every core that this process may use; results do not depend on it.
    progress : callable, optional
        Called as ``progress(done, total)`` after each sweep, up or down; without it nothing is shown.

    Returns
    -------
    xarray.Dataset
        Dimensions (realization, direction, kappa), without `realization` for a single sequence; M(κ) is the
        coordinate `M`, and `jump_M` the M of the last jump on the way to each value. All events are in the
        tree that `sweep_kappa_tree` returns.

    Raises
    ------
    InputError
        If the grid, β, α, a start, an option or a number of threads lies outside its domain, if the largest M
        exceeds the memory, or if the sequences differ in more than their randomness.

    Notes
    -----
    Source: Section 5.2 and Appendix F.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347),
    with κ = log(M)/d.

    Examples
    --------
    >>> from hopfieldphase.patterns import sequence
    >>> from hopfieldphase.runs.kappa import sweep_kappa
    >>> ds = sweep_kappa(sequence("clustered", d=48), "0.06:0.16:0.02")
    >>> ds["M"].values.tolist()
    [18, 47, 122, 317, 829, 2165]
    """
    return sweep_kappa_tree(
        sequences, kappas, beta, alpha, start_up=start_up, start_down=start_down, solver=solver, tol=tol,
        polish=polish, keep_states=keep_states, threads=threads, progress=progress,
    ).to_dataset()  # fmt: skip


def sweep_kappa_tree(
    sequences: PatternSequence | Sequence[PatternSequence],
    kappas: str | float | Iterable[float],
    beta: float = 180.0,
    alpha: float = 2.0,
    *,
    start_up: str | ArrayLike = "mean",
    start_down: str | ArrayLike = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    polish: bool = True,
    keep_states: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
) -> xr.DataTree:
    """`sweep_kappa` with every event: the dataset is the root, the group `/events` lists the events.

    Parameters and errors are those of `sweep_kappa`.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.events.kappa_tree`.
    """
    rows = [sequences] if isinstance(sequences, PatternSequence) else list(sequences)
    source = _common_source(rows)
    grid = parse_grid(kappas, "kappas")
    axis, counts = pattern_counts(grid, rows[0].d)
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    starts = (start_up, start_down)
    follows = continues(starts)
    given = {"solver": solver, "tol": tol, "polish": polish}
    options = solver_options(solver, tol, None, polish, np.float64)
    # A sweep that begins where the other one ends is part of its task.
    ways = [(DOWN, UP) if follows[UP] else (UP, DOWN)] if any(follows) else [(UP,), (DOWN,)]
    stored = [_Stored(row, int(counts[-1]), alpha, users=len(ways)) for row in rows]
    trails: list[dict[int, Trail]] = [{} for _ in rows]

    def task(number: int) -> None:
        realization, part = divmod(number, len(ways))
        with stored[realization] as model:
            found: list[Trail] = []
            for way in ways[part]:
                start = found[0].last if follows[way] else starts[way]
                found.append(follow_load(model, counts, beta, way, start, options, keep_states))
                trails[realization][way] = found[-1]

    total = 2 * len(rows)
    tell = None if progress is None else lambda done, count: progress(done * total // count, total)
    # Every sweep holds arrays as large as its patterns.
    at_once = max(2 * most_patterns(rows[0].d) // int(counts[-1]), 1)
    run_tasks(task, len(rows) * len(ways), min(thread_count(threads), at_once), tell)
    sweeps = [
        join(axis, counts, (trail[UP], trail[DOWN]), starts, row.facts)
        for trail, row in zip(trails, stored, strict=True)
    ]
    study = {"alpha": alpha, "beta": beta, "kappas": format_grid(grid), "scale": rows[0].d ** -0.5}
    return kappa_tree(
        sweeps[0] if isinstance(sequences, PatternSequence) else sweeps,
        study | source | given | {"keep_states": keep_states},
    )


class _Stored:
    """The patterns of one realization: made for the first of its sweeps, dropped after the last."""

    def __init__(self, sequence: PatternSequence, N: int, alpha: float, users: int) -> None:
        self._sequence, self._N, self._alpha, self._users = sequence, N, alpha, users
        self._lock = threading.Lock()
        self._model: HopfieldModel | None = None
        self.facts: dict[str, Any] = {}

    def __enter__(self) -> HopfieldModel:
        with self._lock:
            if self._model is None:
                self._model = HopfieldModel(self._sequence.take(self._N), self._alpha)
                self.facts = pattern_facts(self._model, self._N)
            return self._model

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._model = None


def _common_source(sequences: Sequence[PatternSequence]) -> dict[str, Any]:
    """Where the patterns of all realizations come from, with every option of the generator."""
    if not sequences:
        raise InputError("no sequence of patterns was given: a sweep needs at least one")
    first = sequences[0]
    if not isinstance(first, PatternSequence):
        raise InputError(f"{type(first).__name__} is no sequence of patterns: use patterns.sequence(name, d)")
    arguments = inspect.signature(getattr(patterns, first.name)).parameters.values()
    options = {argument.name: argument.default for argument in arguments} | first.params
    for i, row in enumerate(sequences):
        if (row.name, row.d, row.params) != (first.name, first.d, first.params):
            raise InputError(
                f"sequence {i} is {row}, but sequence 0 is {first}: "
                "realizations of one study differ in their seed or realization only"
            )
    del options["M"]
    seeds = [row.seed for row in sequences]
    return options | {
        "generator": first.name,
        "d": first.d,
        "seed": seeds[0] if len(set(seeds)) == 1 else seeds,
        "realization": [row.realization for row in sequences],
    }
