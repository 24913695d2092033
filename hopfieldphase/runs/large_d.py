"""Simulated sets of random patterns beside the theory of large dimension: from spec to result folder."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core.closed_forms import annealed_fold, exact_storage_probability, rem_threshold
from hopfieldphase.core.patterns import spherical
from hopfieldphase.data.large_d import (
    FoldTable,
    LargeD,
    ScalingTable,
    StorageTable,
    large_d_tree,
)
from hopfieldphase.phases.retrieval import (
    RetrievalFold,
    margin_onset,
    relaxation_onset,
    retrieval_fold,
    storage_quantile,
    storage_trial,
)
from hopfieldphase.runs.large_d_spec import LargeDSpec
from hopfieldphase.runs.parallel import Progress, run_tasks

ALPHAS = (1.5, 2.0)
"""Tsallis indices of exact storage."""

PROBABILITIES = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)
"""Where the Monte Carlo points of a storage curve lie, by the closed form."""

# Points of the theory lines, and how far beyond the simulated dimensions they reach.
_LINE_POINTS, _FARTHEST = 61, 512
_LARGEST_LOG = 300.0  # log M of a line: no further than round(exp(log M)) is a float

Task = Callable[[], Any]


def large_d(spec: LargeDSpec, *, threads: int | None = None, progress: Progress | None = None) -> xr.DataTree:
    """Simulate all three parts of the study.

    Parameters
    ----------
    spec : LargeDSpec
    threads : int, optional
        By default every core that this process may use; results do not depend on it beyond rounding.
    progress : callable, optional
        Called as ``progress(done, total)`` after every pattern set of the folds and of the scaling, and after
        every point of the storage curves.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.large_d`.
    """
    # Every set has a realization of its own: points and parts are independent of each other.
    loads = [(M, spec.d) for M in sorted({spec.M, *spec.loads}) for _ in range(_sets(spec, M))]
    points = [
        (M, d, alpha, storage_quantile(probability, M, d, alpha))
        for alpha in ALPHAS
        for M, d in zip(spec.storage_M, spec.storage_d, strict=True)
        for probability in PROBABILITIES
    ]
    sizes = [(spec.patterns_in(d), d) for d in spec.dimensions for _ in range(spec.scaling_instances)]
    first_point = len(loads)
    first_size = first_point + len(points) * spec.trials
    tasks: list[Task] = [_fold_task(size, spec.seed, i) for i, size in enumerate(loads)]
    tasks += [
        _storage_task(point, spec.seed, first_point + i * spec.trials, spec.trials)
        for i, point in enumerate(points)
    ]
    tasks += [_scaling_task(size, spec.seed, first_size + i) for i, size in enumerate(sizes)]
    found = run_tasks(lambda i: tasks[i](), len(tasks), threads, progress)
    counts = found[len(loads) : len(loads) + len(points)]
    result = LargeD(
        folds=FoldTable([M for M, _ in loads], found[: len(loads)], *_fold_lines(spec)),
        storage=_storage_table(points, counts, spec.trials),
        scaling=_scaling_table(spec, sizes, found[len(loads) + len(points) :]),
    )
    options = spec.model_dump()
    return large_d_tree(result, {name: options[name] for name in options if name != "study"})


def _sets(spec: LargeDSpec, M: int) -> int:
    return spec.instances if M == spec.M else spec.load_instances


def _fold_task(size: tuple[int, int], seed: int, realization: int) -> Task:
    return lambda: retrieval_fold(spherical(*size, seed, realization))


def _storage_task(point: tuple[int, int, float, float], seed: int, first: int, trials: int) -> Task:
    M, d, alpha, b = point

    def count() -> tuple[int, int, int]:
        found = [storage_trial(spherical(M, d, seed, first + i), b, alpha) for i in range(trials)]
        return (
            sum(trial.by_margin for trial in found),
            sum(trial.by_relaxation for trial in found),
            sum(trial.by_margin != trial.by_relaxation for trial in found),
        )

    return count


def _scaling_task(size: tuple[int, int], seed: int, realization: int) -> Task:
    def locate() -> tuple[RetrievalFold, list[float], list[float]]:
        patterns = spherical(*size, seed, realization)
        return (
            retrieval_fold(patterns),
            [relaxation_onset(patterns, alpha) for alpha in ALPHAS],
            [margin_onset(patterns, alpha) for alpha in ALPHAS],
        )

    return locate


def _fold_lines(spec: LargeDSpec) -> tuple[list[int], list[float], list[float]]:
    """Numbers of patterns, annealed fold and REM threshold over the simulated loads and a little beyond."""
    simulated = (spec.M, *spec.loads)
    low, high = max(3.0, min(simulated) / 1.5), 1.5 * max(simulated)
    sizes = sorted({*simulated, *np.geomspace(low, high, _LINE_POINTS).round().astype(int).tolist()})
    rem = [spec.d * rem_threshold(math.log(M) / spec.d) for M in sizes]
    return sizes, [annealed_fold(M, spec.d) for M in sizes], rem


def _storage_table(
    points: Sequence[tuple[int, int, float, float]], counts: Sequence[tuple[int, int, int]], trials: int
) -> StorageTable:
    settings = list(dict.fromkeys((M, d, alpha) for M, d, alpha, _ in points))
    b = np.array([point[3] for point in points]).reshape(len(settings), -1)
    ends = [(0.85 * row[0], 1.15 * row[-1]) for row in b]
    lines = np.array([np.linspace(*end, _LINE_POINTS) for end in ends])

    def probability(values: Any) -> Any:
        rows = zip(settings, values, strict=True)
        return [
            [exact_storage_probability(M, d, float(x), alpha) for x in row] for (M, d, alpha), row in rows
        ]

    table = np.array(counts).reshape(*b.shape, 3)
    return StorageTable(
        settings, trials, b, np.array(probability(b)), table[..., 0], table[..., 1], table[..., 2], lines,
        np.array(probability(lines)),
    )  # fmt: skip


def _scaling_table(
    spec: LargeDSpec,
    sizes: Sequence[tuple[int, int]],
    found: Sequence[tuple[RetrievalFold, list[float], list[float]]],
) -> ScalingTable:
    farthest = max(spec.dimensions[-1], min(_FARTHEST, int(_LARGEST_LOG / spec.kappa)))
    grid = np.geomspace(spec.dimensions[0], farthest, _LINE_POINTS).round().astype(int).tolist()
    ds = sorted({*spec.dimensions, *grid})
    sizes_on_line = [max(3, round(math.exp(spec.kappa * d))) for d in ds]
    shape = len(spec.dimensions), spec.scaling_instances
    return ScalingTable(
        alphas=ALPHAS,
        dimensions=spec.dimensions,
        M=tuple(spec.patterns_in(d) for d in spec.dimensions),
        softmax=np.array([fold.b for fold, _, _ in found]).reshape(shape),
        relaxed=np.array([onsets for _, onsets, _ in found]).reshape(*shape, len(ALPHAS)),
        margins=np.array([onsets for _, _, onsets in found]).reshape(*shape, len(ALPHAS)),
        line_d=np.array(ds),
        annealed=np.array([annealed_fold(M, d) for M, d in zip(sizes_on_line, ds, strict=True)]),
        rem=np.array(ds) * rem_threshold(spec.kappa),
        fixed_M=np.array([annealed_fold(spec.M, d) for d in ds]),
        median=np.array(
            [
                [storage_quantile(0.5, M, d, alpha) for alpha in ALPHAS]
                for M, d in zip(sizes_on_line, ds, strict=True)
            ]
        ),
    )
