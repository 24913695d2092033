"""Branches in the memory load as labelled results: found, followed, written."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from hopfieldphase.continuation.kappa import pattern_counts
from hopfieldphase.continuation.load_branches import LoadBranchSet, load_branches
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import PatternSequence, sequence
from hopfieldphase.data.load_branch_summary import load_branches_summary
from hopfieldphase.data.load_branches import LabelledLoadBranchSet
from hopfieldphase.runs.kappa_spec import DEFAULT_KAPPAS
from hopfieldphase.runs.load_branch_spec import LoadBranchSpec
from hopfieldphase.runs.ranges import format_grid, parse_grid
from hopfieldphase.runs.results import Draw, write_result
from hopfieldphase.runs.spec_base import ALL


def branches_kappa(
    patterns: PatternSequence,
    at: float,
    kappas: str | float | Iterable[float] = DEFAULT_KAPPAS,
    beta: float = 180.0,
    alpha: float = 2.0,
    *,
    top: int | None = None,
    states: Sequence[Any] = (),
    seed: int = 0,
    threads: int | None = None,
) -> LabelledLoadBranchSet:
    """Find the minima at a reference memory load κ₀ and follow each while patterns join and leave.

    M(κ) = round(exp(κ d)) patterns are the first of one sequence. At α > 1 a state stays exactly as it is
    until a pattern passes θ as it joins, or one of its support leaves: pieces and ends of the branches are
    exact to the single pattern, whatever the grid. At α ≤ 1 every pattern moves every state, and a branch is
    one piece, followed on the grid and in smooth steps between its values.

    Parameters
    ----------
    patterns : PatternSequence
        See `hopfieldphase.patterns.sequence`.
    at : float
        The reference κ₀, inside the range.
    kappas : str or array, shape (n,), default "0.06:0.19:0.005"
        The range reaches from the first to the last value; all are values at which the curves of the tree are
        given. Text as in `sweep_kappa`.
    beta : float, default 180.0
        Inverse temperature β > 0.
    alpha : float, default 2.0
        Tsallis index in (0, inf].
    top : int, optional
        Follow the first ones only: by falling z_max, then rising Γ, then the first start that led there.
        By default all.
    states : sequence of arrays (d,)
        Start states beside every pattern, mixtures of clusters, pairs and random sets, the low-β state and
        the low-load state.
    seed : int
        Seed of the random mixtures among the starts.
    threads : int, optional
        By default every core that this process may use; results do not depend on it.

    Returns
    -------
    LabelledLoadBranchSet
        A sequence of `Branch` with the parameter "kappa": ``branches[0].at(kappa)`` is the state among M(κ)
        patterns, ``.pieces`` the stretches of M with one state, ``.ends`` what ends it; and
        ``to_datatree()``. A branch ends where the state relaxes elsewhere and does not return among the
        patterns of before.

    Raises
    ------
    InputError
        If κ₀ lies outside the range, `top` is not positive, no minimum is found, or the grid, β or α lie
        outside their domain.

    Notes
    -----
    Source: Section 5.2 and Appendix F.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> found = hp.branches_kappa(hp.patterns.sequence("clustered", d=48), at=0.12, top=3)
    >>> [(branch.at(0.12).support, branch.ends[1].label) for branch in found]
    [((1,), 'enters:693'), ((17,), 'enters:417'), ((24,), 'enters:512')]
    """
    grid = parse_grid(kappas, "kappas")
    found = load_branches(patterns, at, grid, beta, alpha, top=top, states=states, seed=seed, threads=threads)
    options = {"top": ALL if top is None else top, "realization": patterns.realization, "search_seed": seed}
    source = {"generator": patterns.name, "seed": patterns.seed} | patterns.params
    return _labelled(found, {"kappas": format_grid(grid)} | options | source)


def compute_load_branches(
    spec: LoadBranchSpec, path: Path, *, draw: Draw[xr.DataTree] | None = None
) -> dict[str, Any]:
    """Find and follow branches in the memory load and write their result folder.

    Parameters
    ----------
    spec : LoadBranchSpec
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
        See `branches_kappa`.
    OutputError
        If the file system refuses; nothing of the result is left then.
    """
    start = time.perf_counter()
    tree = load_branches_tree(spec)
    seconds = time.perf_counter() - start
    return write_result(spec, path, load_branches_summary(tree), seconds, tree, draw)


def load_branches_tree(spec: LoadBranchSpec) -> xr.DataTree:
    """The branches of a spec as a labelled tree; errors as `branches_kappa`."""
    return branches_of_spec(spec).to_datatree()


def branches_of_spec(spec: LoadBranchSpec) -> LabelledLoadBranchSet:
    """The branches that a spec asks for; errors as `branches_kappa`."""
    source = spec.patterns.model_dump(exclude_none=True)
    pattern_counts(spec.kappas, source["d"])  # no memory for these: said before anything is made
    given = {name: value for name, value in source.items() if name != "generator"}
    patterns = sequence(source["generator"], realization=spec.realization, **given)
    if spec.at is None:
        raise InputError("the spec has no reference: give at")
    found = load_branches(patterns, spec.at, spec.kappas, spec.beta, spec.alpha, top=spec.count)
    options = {
        "study": spec.study,
        "kappas": format_grid(spec.kappas),
        "top": spec.top,
        "realization": spec.realization,
        "search_seed": 0,
    }
    source.pop("d")
    return _labelled(found, options | source)


def _labelled(found: LoadBranchSet, options: dict[str, Any]) -> LabelledLoadBranchSet:
    return LabelledLoadBranchSet(**vars(found), options=options)
