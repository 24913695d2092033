"""A sweep and the branches beside it, as one tree and in words."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.continuation.sweep import Sweep
from hopfieldphase.data import schema
from hopfieldphase.data.branch_summary import branches_lines, branches_summary
from hopfieldphase.data.load_branch_summary import load_branches_lines, load_branches_summary
from hopfieldphase.data.measurement import labelled
from hopfieldphase.data.summary import summary_lines
from hopfieldphase.data.sweep_report import sweep_report

SWEEP, BRANCHES, CONTINUED = "sweep", "branches", "continued"
"""The groups: what the studies of a sweep and of branches give, and the warm-started continuation."""

_FOLLOWED = ("overlap_max", "free_energy", "support_size", "jumped")

_KIND = "structure"
_SHARED = ("schema_version", "package_version", "git_revision")


def structure_tree(
    sweep: xr.Dataset | xr.DataTree, branches: xr.DataTree, followed: xr.Dataset
) -> xr.DataTree:
    """Join a sweep, a tree of branches and their continuation; no group inherits from another."""
    whole = sweep if isinstance(sweep, xr.DataTree) else xr.DataTree(sweep)
    tree = xr.DataTree(children={SWEEP: whole, BRANCHES: branches, CONTINUED: xr.DataTree(followed)})
    shared = {name: sweep.attrs[name] for name in _SHARED}
    study = f"structure-{schema.parameter_of(whole.to_dataset())}"
    tree.attrs = {"title": "a sweep, and branches beside it", "kind": _KIND, "study": study, **shared}
    return tree


def structure_parts(tree: xr.DataTree) -> tuple[xr.Dataset | xr.DataTree, xr.DataTree, xr.Dataset]:
    """The sweep (a tree where it has events), the tree of branches, and their continuation."""
    sweep = tree.children[SWEEP]
    alone = sweep.copy() if sweep.children else sweep.to_dataset(inherit=False)
    branches = tree.children[BRANCHES].copy()
    branches.name = None
    return alone, branches, tree.children[CONTINUED].to_dataset(inherit=False)


def continued(parts: Sequence[tuple[Sweep, Sweep]]) -> xr.Dataset:
    """What warm starts find from one reference downwards and upwards, for each branch.

    Parameters
    ----------
    parts : sequence of (Sweep, Sweep)
        Per branch: a sweep whose down direction starts at the reference, its largest value, and one whose up
        direction starts there, its smallest value.

    Returns
    -------
    xarray.Dataset
        Dimensions (branch, beta or kappa); `jumped` marks values that a jump on the way from the reference
        reaches.
    """
    low, high = parts[0]
    values = np.concatenate([low.values, high.values[1:]])
    tables = {
        name: np.array([np.r_[getattr(down, name)[1], getattr(up, name)[0, 1:]] for down, up in parts])
        for name in _FOLLOWED
    }
    variables = {
        name: xr.Variable(("branch", low.parameter), tables[name], schema.OBSERVABLES[name].attrs)
        for name in _FOLLOWED
    }
    coordinates = {
        "branch": labelled("branch", np.arange(len(parts)), "branch, as in the group of branches"),
        low.parameter: xr.Variable((low.parameter,), values, schema.COORDINATES[low.parameter].attrs),
    }
    return xr.Dataset(variables, coords=coordinates)


def holds_structure(tree: xr.DataTree | xr.Dataset) -> bool:
    """Whether this is such a tree."""
    return tree.attrs.get("kind") == _KIND


def structure_summary(tree: xr.DataTree) -> dict[str, Any]:
    """The summary of the sweep under `sweep`, that of the branches under `branches`, and `unconverged`."""
    loop, followed, _ = structure_parts(tree)
    swept = sweep_report(loop)
    found = load_branches_summary(followed) if swept["parameter"] == "kappa" else branches_summary(followed)
    failed = [
        f"sweep {point['direction']} of realization {point['realization']} at "
        f"{swept['parameter']} {point[swept['parameter']]:g}: {point['status'].replace('_', ' ')}"
        for point in swept["unconverged"]
    ]
    failed += [
        f"branch {point['branch']}, {point['type']}: {point['status'].replace('_', ' ')}"
        for point in found["unconverged"]
    ]
    return {"sweep": swept, "branches": found, "unconverged": failed}


def structure_lines(summary: Mapping[str, Any]) -> list[str]:
    """The two summaries in words."""
    branches = summary["branches"]
    in_words = load_branches_lines if branches["parameter"] == "kappa" else branches_lines
    return [*summary_lines(summary["sweep"]), "", *in_words(branches)]
