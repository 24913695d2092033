"""Branches as labelled results: found, followed, written."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.continuation import branches as continuation
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.errors import InputError
from hopfieldphase.data.branch_summary import branches_summary
from hopfieldphase.data.branches import LabelledBranchSet
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.branch_spec import BranchSpec
from hopfieldphase.runs.ranges import format_grid, parse_grid, suggest_grid
from hopfieldphase.runs.results import Draw, write_result
from hopfieldphase.runs.sources import digest, make_patterns, suggest_betas
from hopfieldphase.runs.spec_base import ALL
from hopfieldphase.runs.specs import DEFAULT_BETAS

FEWEST = 201
"""Points of the grid of the curves where only the ends of the range are given."""

Grid = tuple[float, ...]


def branches(
    model: HopfieldModel | BranchSpec,
    at: float | None = None,
    betas: Any = None,
    *,
    top: int | None = None,
    states: Sequence[Any] = (),
    seed: int = 0,
) -> LabelledBranchSet:
    """Find the minima at a reference β₀ and follow the branch of each through a range of β.

    Start states are every pattern, mixtures of clusters, pairs and random sets of patterns, the state of
    lowest β and the user's own. α = 2 is followed exactly, any other α by pseudo-arclength through folds.

    Parameters
    ----------
    model : HopfieldModel or BranchSpec
        Patterns, α and scale; or a spec, which brings the further options with it.
    at : float
        The reference β₀, inside the range.
    betas : str or array, optional
        The range reaches from the smallest to the largest value; all are values at which the curves of the
        tree are given. Text as in `sweep_beta`. None, at α = 2 only: from zero to infinity.
    top : int, optional
        Follow the first ones only: by falling z_max, then rising Γ. By default all.
    states : sequence of arrays (d,)
        Further start states.
    seed : int
        Seed of the random mixtures among the starts.

    Returns
    -------
    LabelledBranchSet
        A sequence of `Branch` (``branches[0].at(beta)``, ``.pieces``, ``.ends``), with ``special_points`` and
        ``to_datatree()``. Minima that folds join to one curve give one branch.

    Raises
    ------
    InputError
        If β₀ lies outside the range, `top` is not positive, no minimum is found, α = ∞, or options are given
        next to a spec.

    Notes
    -----
    Source: Eq. (3.5) and Section 4 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> model = hp.HopfieldModel(hp.patterns.two_keys(0.5, d=4), scale=1.0)
    >>> keys = hp.branches(model, at=5.0)
    >>> [(round(branch.lower, 12), branch.upper) for branch in keys]
    [(4.0, inf), (4.0, inf)]
    >>> keys.to_datatree()["branches"]["support"].values.tolist()
    [[0], [1]]
    """
    if isinstance(model, BranchSpec):
        if (at, betas, top, tuple(states), seed) != (None, None, None, (), 0):
            raise InputError(
                "options are given next to a spec, which holds all of them: change them in the spec"
            )
        return _of_spec(resolve(model))
    if at is None:
        raise InputError("at is not given: name the inverse temperature at which minima are searched")
    at = inverse_temperature(at)
    given, grid = _range_and_grid(betas)
    grid = grid or _suggested(model, at)
    options = {
        "betas": None if betas is None else format_grid(grid),
        "top": ALL if top is None else top,
        "search_seed": seed,
    }
    found = continuation.branches(model, at, given, top=top, states=states, seed=seed)
    return _labelled(found, grid, options)


def branches_tree(spec: BranchSpec) -> xr.DataTree:
    """The branches of a spec as a labelled tree; errors as `branches`."""
    return branches(spec).to_datatree()


def resolve(spec: BranchSpec) -> BranchSpec:
    """Complete a spec from its data: the digest of a pattern file, range and reference where none is given.

    Raises
    ------
    InputError
        If the patterns cannot be read.
    """
    if spec.is_resolved:
        return spec
    stored = make_patterns(spec.patterns)
    source = spec.patterns
    if source.path is not None:
        source = source.model_copy(update={"sha256": digest(stored)})
    betas = spec.betas
    if betas is None and (spec.alpha != 2.0 or spec.at is None):
        betas = suggest_betas(stored, spec.alpha)
    at = spec.at
    if at is None and betas is not None:
        at = spec.reference_in(betas)
    update = {"patterns": source, "at": at, "betas": spec.betas if spec.alpha == 2.0 else betas}
    return BranchSpec(**spec.model_copy(update=update).model_dump(exclude_none=True))


def compute_branches(
    spec: BranchSpec, path: Path, *, draw: Draw[xr.DataTree] | None = None
) -> dict[str, Any]:
    """Find and follow branches and write their result folder.

    Parameters
    ----------
    spec : BranchSpec
        Resolved.
    path : Path
        A folder that this process holds (`runs.folder.claim_folder`).
    draw : callable, optional
        Called as ``draw(tree, file)`` to write the figure to the PNG file `file`.

    Returns
    -------
    dict
        The content of `summary.json`.

    Raises
    ------
    InputError
        See `branches`.
    OutputError
        If the file system refuses; nothing of the result is left then.
    """
    start = time.perf_counter()
    tree = branches_tree(spec)
    seconds = time.perf_counter() - start
    return write_result(spec, path, branches_summary(tree), seconds, tree, draw)


def _of_spec(spec: BranchSpec) -> LabelledBranchSet:
    model = HopfieldModel(make_patterns(spec.patterns, spec.realization), spec.alpha)
    at = float(spec.at or 0.0)
    if spec.betas is not None:
        given, grid = _range_and_grid(spec.betas)
    else:
        base = None if spec.patterns.is_data else parse_grid(DEFAULT_BETAS)
        given, grid = None, _around(base, at) if base else _suggested(model, at)
    found = continuation.branches(model, at, given, top=spec.count)
    source = spec.patterns.model_dump(exclude_none=True, exclude={"path", "M", "d"})
    options = {
        "study": spec.study,
        "betas": None if spec.betas is None else format_grid(spec.betas),
        "top": spec.top,
        "realization": spec.realization,
        "search_seed": 0,
    }
    return _labelled(found, grid, options | source)


def _labelled(found: continuation.BranchSet, grid: Grid, options: dict[str, Any]) -> LabelledBranchSet:
    return LabelledBranchSet(
        model=found.model,
        at=found.at,
        betas=found.betas,
        branches=found.branches,
        n_states=found.n_states,
        n_starts=found.n_starts,
        n_undecided=found.n_undecided,
        lowest_energy=found.lowest_energy,
        grid=grid,
        options=options,
    )


def _range_and_grid(betas: Any) -> tuple[Any, Grid]:
    """What `continuation.branches` takes, and the grid of the curves: empty where the patterns decide."""
    if betas is None:
        return None, ()
    if isinstance(betas, str):
        betas = parse_grid(betas)
    values = np.unique(np.asarray(betas, dtype=np.float64).ravel())
    if values.size == 2:
        values = np.linspace(values[0], values[1], FEWEST)
    return values, tuple(values.tolist())


def _suggested(model: HopfieldModel, at: float) -> Grid:
    """A grid from the mean of the patterns to the storage of the hardest one, with the reference inside."""
    try:
        base = suggest_betas(model.patterns, model.alpha, model.scale)
    except InputError:  # patterns whose states never change have no scale of beta
        base = None
    return _around(base, at)


def _around(base: Grid | None, at: float) -> Grid:
    low, high = (base[0], base[-1]) if base else (at / 2, 2 * at)
    if base and low <= at <= high:
        return base
    return parse_grid(suggest_grid(min(low, at / 2), max(high, 2 * at)))
