"""From the spec of a phase diagram to its tree and its result folder."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.core import patterns
from hopfieldphase.core.closed_forms import suggest_beta_range
from hopfieldphase.data.diagram import diagram_summary, diagram_tree
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.diagram import DiagramLines, closed_lines, diagram_lines, stepped_lines
from hopfieldphase.phases.families import (
    Family,
    alpha_family,
    equicorrelated_family,
    noise_family,
    two_keys_family,
)
from hopfieldphase.phases.maps import Queries, Row, map_row
from hopfieldphase.runs.diagram_spec import DiagramSpec
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.ranges import format_grid, parse_grid, suggest_grid
from hopfieldphase.runs.results import Draw, write_result
from hopfieldphase.runs.sources import digest, make_patterns

SUGGESTED_CELLS = 41
CLOSED_POINTS = 241
"""Values of y at which closed forms are drawn."""


def resolve_diagram(spec: DiagramSpec) -> DiagramSpec:
    """Complete a spec: the digest of a pattern file, and a range of β where none was given.

    The range covers those that `closed_forms.suggest_beta_range` gives at the ends and in the middle of y.

    Raises
    ------
    InputError
        If the patterns cannot be read.
    """
    if spec.is_resolved:
        return spec
    source = spec.patterns
    if source.path is not None and source.sha256 is None:
        source = source.model_copy(update={"sha256": digest(make_patterns(source))})
        spec = spec.model_copy(update={"patterns": source})
    if spec.betas is None:
        model = diagram_models(spec, 0)
        ys = (spec.y_values[0], spec.y_values[len(spec.y_values) // 2], spec.y_values[-1])
        ranges = [suggest_beta_range(m.patterns, m.alpha, m.scale) for m in map(model, ys)]
        grid = suggest_grid(min(r.low for r in ranges), max(r.high for r in ranges), SUGGESTED_CELLS)
        spec = spec.model_copy(update={"betas": parse_grid(grid)})
    return spec


def diagram(
    spec: DiagramSpec, *, threads: int | None = None, progress: Progress | None = None
) -> xr.DataTree:
    """Compute the maps and the lines of a phase diagram.

    Parameters
    ----------
    spec : DiagramSpec
        What to compute; resolved here where it is not.
    threads : int, optional
        By default every core that this process may use; results do not depend on it.
    progress : callable, optional
        Called as ``progress(done, total)`` after every row of the maps and every step of the lines.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.diagram`.

    Raises
    ------
    InputError
        If the patterns cannot be made.

    Notes
    -----
    Lines are followed for realization 0. In κ, where M is a whole number, they are step functions: exact at
    every row of the maps, not continued between them.
    """
    spec = resolve_diagram(spec)
    betas = spec.betas or (math.nan,)  # resolved: never empty
    ys = spec.y_values
    models = [diagram_models(spec, realization) for realization in range(spec.realizations)]
    count = len(ys) * spec.realizations
    line_steps = len(ys) if spec.y == "kappa" else 3
    total = count + line_steps

    def tell(done: int) -> None:
        if progress is not None:
            progress(done, total)

    def one(task: int) -> Row:
        realization, row = divmod(task, len(ys))
        queries = Queries(spec.queries, spec.query_noise, realization)
        return map_row(models[realization](ys[row]), betas, queries, threads=1)

    rows = run_tasks(one, count, threads, lambda done, _: tell(done))
    span = (betas[0], betas[-1])
    found: DiagramLines
    if spec.y == "kappa":
        found = stepped_lines([models[0](y) for y in ys], ys, span, lambda done, _: tell(count + done))
        between = ys
    else:
        family = _family(spec, 0)
        found = diagram_lines(family, (ys[0], ys[-1]), span, ys, lambda done, _: tell(count + done))
        between = np.linspace(ys[0], ys[-1], CLOSED_POINTS).tolist()
    closed = closed_lines([models[0](y) for y in between], between)
    options = spec.model_dump(exclude_none=True, exclude={"patterns", "betas", "y_values"})
    source = spec.patterns.model_dump(exclude_none=True, exclude={"path"})
    grids = {"betas": format_grid(betas), "y_values": format_grid(ys)}
    table = [rows[start : start + len(ys)] for start in range(0, count, len(ys))]
    return diagram_tree(spec.coordinate, ys, betas, table, found, closed, options | source | grids)


def compute_diagram(
    spec: DiagramSpec,
    path: Path,
    *,
    draw: Draw[xr.DataTree] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Compute a phase diagram and write its result folder.

    Parameters
    ----------
    spec : DiagramSpec
        Resolved.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    draw : callable, optional
        Called as ``draw(tree, file)`` to write the figure to the PNG file `file`.
    progress : callable, optional
        See `diagram`.

    Returns
    -------
    dict
        The content of `summary.json`.

    Raises
    ------
    OutputError
        If the file system refuses; nothing of the result is left then.
    """
    start = time.perf_counter()
    tree = diagram(spec, progress=progress)
    seconds = time.perf_counter() - start
    return write_result(spec, path, diagram_summary(tree), seconds, tree, draw)


def diagram_models(spec: DiagramSpec, realization: int) -> Callable[[float], HopfieldModel]:
    """The model at each y of one realization."""
    if spec.y != "kappa":
        return _family(spec, realization).model
    source = spec.patterns
    d = int(source.d or 0)
    params = source.model_dump(
        exclude_none=True, include={"clusters", "delta", "noise", "degrees_of_freedom"}
    )
    endless = patterns.sequence(str(source.generator), d, int(source.seed or 0), realization, **params)
    largest = endless.take(spec.size(spec.y_values[-1], d))
    return lambda kappa: HopfieldModel(largest[: spec.size(kappa, d)], spec.alpha)


def _family(spec: DiagramSpec, realization: int) -> Family:
    """The family of one realization."""
    source = spec.patterns
    if spec.y == "alpha":
        return alpha_family(np.asarray(make_patterns(source, realization)))
    M, d, seed = source.M or 0, source.d or 0, source.seed or 0
    if spec.y == "noise-strength":
        return noise_family(
            M, d, spec.alpha, clusters=source.clusters or 1, seed=seed, realization=realization,
            noise=source.noise or "gaussian",
        )  # fmt: skip
    if source.generator == "two_keys":
        return two_keys_family(spec.alpha, d, seed, realization)
    return equicorrelated_family(M, d, spec.alpha)
