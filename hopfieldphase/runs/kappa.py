"""Sweeps in the memory load as labelled results: all realizations and directions over threads."""

import inspect
import math
import threading
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from hopfieldphase.continuation.kappa import (
    KappaSweep,
    join,
    kappa_sweep,
    most_patterns,
    pattern_counts,
    pattern_facts,
)
from hopfieldphase.continuation.load import DOWN, UP, Tell, Trail, follow_load
from hopfieldphase.continuation.starts import continues
from hopfieldphase.core import patterns
from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import PatternSequence, sequence
from hopfieldphase.data.events import kappa_tree
from hopfieldphase.kernels.threads import thread_count
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.checkpoint import Checkpoint, run_kept
from hopfieldphase.runs.device import sweep_kappa_on_device
from hopfieldphase.runs.kappa_spec import DEFAULT_KAPPAS, KappaSpec
from hopfieldphase.runs.parallel import Progress
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.spec_base import refuse_beside_spec
from hopfieldphase.runs.sweep_parts import Part, trails_from_part, trails_to_part
from hopfieldphase.solvers.options import solver_options

_OPTIONS = ("start_up", "start_down", "solver", "tol", "polish", "keep_states")


def sweep_kappa(
    sequences: PatternSequence | Sequence[PatternSequence] | KappaSpec,
    kappas: str | float | Iterable[float] = DEFAULT_KAPPAS,
    beta: float = 180.0,
    alpha: float = 2.0,
    *,
    start_up: str | ArrayLike = "mean",
    start_down: str | ArrayLike = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    polish: bool = True,
    keep_states: bool = False,
    device: str = "cpu",
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
    sequences : PatternSequence, sequence of PatternSequence, or KappaSpec
        One sequence of patterns; several, which are the realizations of one study and differ in their seed or
        realization only; or a spec, which brings all further options with it.
    kappas : str or array, shape (n,), default "0.06:0.19:0.005"
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
    device : {"cpu", "cuda"}
        Where to compute: with compiled kernels on the processor, or with CuPy or PyTorch on a GPU, there all
        realizations and both directions at once (`hopfieldphase.continuation.batched_kappa`).
    threads : int, optional
        By default every core that this process may use; results do not depend on it.
    progress : callable, optional
        Called as ``progress(done, total)`` on the way and after each sweep, up or down; a sweep that goes on
        counts as the part of its work that is done, which grows with M. Without it nothing is shown.

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
        exceeds the memory, if the sequences differ in more than their randomness, or if options are given
        next to a spec.

    Notes
    -----
    Source: Section 5.2 and Appendix F.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347),
    with κ = log(M)/d.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> ds = hp.sweep_kappa(hp.patterns.sequence("clustered", d=48), "0.06:0.16:0.02")
    >>> ds["M"].values.tolist()
    [18, 47, 122, 317, 829, 2165]
    """
    return sweep_kappa_tree(
        sequences, kappas, beta, alpha, start_up=start_up, start_down=start_down, solver=solver, tol=tol,
        polish=polish, keep_states=keep_states, device=device, threads=threads, progress=progress,
    ).to_dataset()  # fmt: skip


def sweep_kappa_tree(
    sequences: PatternSequence | Sequence[PatternSequence] | KappaSpec,
    kappas: str | float | Iterable[float] = DEFAULT_KAPPAS,
    beta: float = 180.0,
    alpha: float = 2.0,
    *,
    start_up: str | ArrayLike = "mean",
    start_down: str | ArrayLike = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    polish: bool = True,
    keep_states: bool = False,
    device: str = "cpu",
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
    given = {"start_up": start_up, "start_down": start_down, "solver": solver, "tol": tol, "polish": polish,
             "keep_states": keep_states}  # fmt: skip
    study = {"alpha": alpha, "beta": beta}
    if isinstance(sequences, KappaSpec):
        _refuse_options({"kappas": kappas, "device": device} | study | given)
        return kappa_spec_tree(sequences, threads, progress)
    rows = [sequences] if isinstance(sequences, PatternSequence) else list(sequences)
    source = _common_source(rows)
    grid = parse_grid(kappas, "kappas")
    sweeps = _sweep_rows(rows, grid, beta, alpha, given, device, threads, progress)
    single = isinstance(sequences, PatternSequence)
    return kappa_tree(
        sweeps[0] if single else sweeps,
        {name: float(value) for name, value in study.items()}
        | source
        | given
        | {"device": device}
        | _shape(grid, rows[0].d),
    )


def warm_up_kappa(spec: KappaSpec) -> None:
    """Load or compile every kernel that the sweep needs, so that its progress can be timed."""
    pattern_counts(spec.kappas, spec.patterns.d or 1)  # no memory for these: say so before compiling
    if spec.device != "cpu":
        return
    twice = HopfieldModel(np.concatenate([np.eye(2), np.eye(2)]), spec.alpha)  # the third pattern is an event
    kappa_sweep(
        twice, (0.4, 0.7), 1.0, start_up="pattern:0", solver=spec.solver, polish=spec.polish, threads=1
    )


def spec_kappa_sweep(spec: KappaSpec, realization: int, threads: int | None = None) -> KappaSweep:
    """The sweep of one realization of a spec, up and down with all events."""
    arguments = spec.patterns.model_dump(exclude_none=True, exclude={"generator"})
    stored = sequence(str(spec.patterns.generator), realization=realization, **arguments)
    _, counts = pattern_counts(spec.kappas, stored.d)
    model = HopfieldModel(stored.take(int(counts[-1])), spec.alpha)
    given = {name: getattr(spec, name) for name in _OPTIONS}
    return kappa_sweep(model, spec.kappas, spec.beta, **given, threads=threads)


def kappa_spec_tree(
    spec: KappaSpec,
    threads: int | None = None,
    progress: Progress | None = None,
    checkpoint: Checkpoint | None = None,
) -> xr.DataTree:
    """`sweep_kappa_tree` of a spec; directions that a checkpoint has are not swept again."""
    options = spec.model_dump(exclude_none=True, exclude={"patterns"})
    source = spec.patterns.model_dump(exclude_none=True)
    arguments = {name: value for name, value in source.items() if name != "generator"}
    rows = [
        sequence(str(spec.patterns.generator), realization=k, **arguments)
        for k in range(spec.realizations or 1)
    ]
    given = {name: options.get(name) for name in _OPTIONS}
    sweeps = _sweep_rows(
        rows, spec.kappas, spec.beta, spec.alpha, given, spec.device, threads, progress, checkpoint
    )
    return kappa_tree(sweeps, options | source | given | _shape(spec.kappas, rows[0].d))


def _shape(grid: Sequence[float], d: int) -> dict[str, Any]:
    return {"kappas": format_grid(grid), "scale": 1 / math.sqrt(d)}


def _refuse_options(options: dict[str, Any]) -> None:
    """Raise `InputError` for an option that is not left at its default."""
    parameters = inspect.signature(sweep_kappa_tree).parameters
    refuse_beside_spec(options, {name: parameters[name].default for name in options})


def _sweep_rows(
    rows: Sequence[PatternSequence],
    grid: Sequence[float],
    beta: float,
    alpha: float,
    given: dict[str, Any],
    device: str,
    threads: int | None,
    progress: Progress | None,
    checkpoint: Checkpoint | None = None,
) -> list[KappaSweep]:
    """Sweep every realization, up and down, each direction a task of its own; a checkpoint keeps them."""
    axis, counts = pattern_counts(grid, rows[0].d)
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    if device != "cpu":

        def make(k: int) -> HopfieldModel:
            return HopfieldModel(rows[k].take(int(counts[-1])), alpha)

        return sweep_kappa_on_device(make, len(rows), grid, beta, given, device, progress)
    starts = (given["start_up"], given["start_down"])
    follows = continues(starts)
    options = solver_options(given["solver"], given["tol"], None, given["polish"], np.float64)
    # A sweep that begins where the other one ends is part of its task.
    ways = [(DOWN, UP) if follows[UP] else (UP, DOWN)] if any(follows) else [(UP,), (DOWN,)]
    kept = {} if checkpoint is None else checkpoint.parts
    tasks = [(k, part) for k in range(len(rows)) for part in ways]
    users = Counter(k for i, (k, _) in enumerate(tasks) if i not in kept)
    stored = [_Stored(row, int(counts[-1]), alpha, users[k]) for k, row in enumerate(rows)]

    def task(number: int, tell: Tell) -> Part:
        realization, part = tasks[number]
        trails: dict[int, Trail] = {}
        with stored[realization] as model:
            for done, way in enumerate(part):
                start = trails[part[0]].last if follows[way] else starts[way]

                def share(inside: float, done: int = done) -> None:
                    tell((done + inside) / len(part))

                trails[way] = follow_load(
                    model, counts, beta, way, start, options, given["keep_states"], share
                )
        return trails_to_part(trails, stored[realization].facts)

    total = 2 * len(rows)
    tell = None if progress is None else lambda done, count: progress(done * total / count, total)
    # Every sweep holds arrays as large as its patterns.
    at_once = max(2 * most_patterns(rows[0].d) // int(counts[-1]), 1)
    parts = run_kept(task, len(tasks), min(thread_count(threads), at_once), tell, checkpoint)
    found: list[dict[int, Trail]] = [{} for _ in rows]
    facts: list[dict[str, Any]] = [{} for _ in rows]
    for (realization, _), part in zip(tasks, parts, strict=True):
        trails, facts[realization] = trails_from_part(part)
        found[realization] |= trails
    return [
        join(axis, counts, (trails[UP], trails[DOWN]), starts, told)
        for trails, told in zip(found, facts, strict=True)
    ]


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
