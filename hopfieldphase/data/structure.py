"""A sweep and the branches beside it, as one tree and in words."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from hopfieldphase.data.branch_summary import branches_lines
from hopfieldphase.data.load_branch_summary import load_branches_lines
from hopfieldphase.data.summary import summary_lines

SWEEP, BRANCHES = "sweep", "branches"
"""The two groups: each holds what the study of it alone gives."""

_KIND = "structure"
_SHARED = ("schema_version", "package_version", "git_revision")


def structure_tree(sweep: xr.Dataset | xr.DataTree, branches: xr.DataTree) -> xr.DataTree:
    """Join a sweep and a tree of branches; coordinates stay apart, since no group inherits from another."""
    tree = xr.DataTree(children={SWEEP: xr.DataTree(), BRANCHES: branches})
    tree[SWEEP] = sweep if isinstance(sweep, xr.DataTree) else xr.DataTree(sweep)
    shared = {name: sweep.attrs[name] for name in _SHARED}
    tree.attrs = {"title": "a sweep, and branches beside it", "kind": _KIND, **shared}
    return tree


def structure_parts(tree: xr.DataTree) -> tuple[xr.DataTree, xr.DataTree]:
    """The sweep and the tree of branches, each as a tree of its own."""
    return tree.children[SWEEP].copy(), tree.children[BRANCHES].copy()


def holds_structure(tree: xr.DataTree | xr.Dataset) -> bool:
    """Whether this is such a tree."""
    return tree.attrs.get("kind") == _KIND


def structure_lines(summary: Mapping[str, Any]) -> list[str]:
    """The two summaries in words."""
    branches = summary["branches"]
    in_words = load_branches_lines if branches["parameter"] == "kappa" else branches_lines
    return [*summary_lines(summary["sweep"]), "", *in_words(branches)]
