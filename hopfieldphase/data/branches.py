"""Sets of branches as labelled trees, and branches again from a tree or a file."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

import hopfieldphase
from hopfieldphase.continuation.branches import BranchSet
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, branch_schema, schema, store
from hopfieldphase.data.branch_reading import read_branches
from hopfieldphase.data.branch_tables import tables
from hopfieldphase.data.provenance import git_revision
from hopfieldphase.model import HopfieldModel

_OWN = (
    "title", "schema_version", "package_version", "git_revision", "alpha", "M", "d", "scale", "reference",
    "lower", "upper", "n_states", "n_starts", "n_undecided", "lowest_energy",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class LabelledBranchSet(BranchSet):
    """A `BranchSet` that knows the options it was made with, and becomes a labelled tree.

    Attributes
    ----------
    grid : tuple of float
        Values of β at which `/curves` of the tree holds the branches.
    options : mapping
        Every resolved option of the study, for the attributes of the tree.
    """

    grid: tuple[float, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_datatree(self) -> xr.DataTree:
        """The branches with all that was found on them, labelled.

        Returns
        -------
        xarray.DataTree
            Groups `/branches`, `/pieces`, `/special_points` (where branches coexist included), `/arcs`
            (points along the pieces), `/curves` (the branches on the grid), `/equilibrium` (the Maxwell
            line) and `/patterns`; variables, labels and units as in `hopfieldphase.data.branch_schema`.
            Attributes: schema version, package version, git revision, the model, the reference and the
            options.
        """
        return branches_tree(self, self.grid, self.options)


def branches_tree(branches: BranchSet, grid: Sequence[float], options: Mapping[str, Any]) -> xr.DataTree:
    """The labelled tree of a set of branches; see `LabelledBranchSet.to_datatree`.

    Raises
    ------
    InputError
        For an empty grid, and for options that no file can hold or whose name is taken.
    """
    if not len(grid):
        raise InputError("the grid is empty: give the values of beta at which the curves are wanted")
    attrs: dict[str, Any] = {
        "title": "branches in beta",
        "schema_version": schema.SCHEMA_VERSION,
        "package_version": hopfieldphase.__version__,
        "git_revision": git_revision(),
        "alpha": branches.model.alpha,
        "M": branches.model.M,
        "d": branches.model.d,
        "scale": branches.model.scale,
        "reference": branches.at,
        "lower": branches.betas[0],
        "upper": branches.betas[1],
        "n_states": branches.n_states,
        "n_starts": branches.n_starts,
        "n_undecided": branches.n_undecided,
        "lowest_energy": branches.lowest_energy,
    }
    taken = sorted(attrs.keys() & options.keys())
    if taken:
        raise InputError(f"the option {taken[0]} has the name of an attribute of every tree: rename it")
    attrs |= options
    # Said now, not when a long run wants to be written.
    attributes.encode(attrs)
    groups = {f"/{name}": table for name, table in tables(branches, np.asarray(grid)).items()}
    return xr.DataTree.from_dict({"/": xr.Dataset(attrs=attrs)} | groups)


def from_datatree(tree: xr.DataTree) -> LabelledBranchSet:
    """The branches of a tree again; each is evaluated as the one that the tree was made from.

    Parameters
    ----------
    tree : xarray.DataTree
        As made by `LabelledBranchSet.to_datatree`.

    Returns
    -------
    LabelledBranchSet
        ``branches[i].at(beta)`` to rounding: closed forms at α = 2, interpolation between stored points and
        Newton's method otherwise.

    Raises
    ------
    InputError
        If the tree is none of branches, incomplete or damaged.
    """
    if not branch_schema.holds_branches(tree):
        raise InputError(
            "the data hold no group of branches: give a tree that to_datatree() of a set of branches made"
        )
    branch_schema.check(tree)
    attrs = tree.attrs
    try:
        model = HopfieldModel(
            branch_schema.group(tree, "patterns")["pattern"].values,
            alpha=attrs["alpha"],
            scale=attrs["scale"],
        )
        return LabelledBranchSet(
            model=model,
            at=float(attrs["reference"]),
            betas=(float(attrs["lower"]), float(attrs["upper"])),
            branches=read_branches(tree, model),
            n_states=int(attrs["n_states"]),
            n_starts=int(attrs["n_starts"]),
            n_undecided=int(attrs["n_undecided"]),
            lowest_energy=float(attrs["lowest_energy"]),
            grid=tuple(branch_schema.group(tree, "curves")["beta"].values.tolist()),
            options={str(name): value for name, value in attrs.items() if name not in _OWN},
        )
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"the groups of the tree do not belong together ({error}): damaged") from error


def open(path: str | os.PathLike[str]) -> xr.Dataset | xr.DataTree | LabelledBranchSet:
    """Read what a study wrote, completely, into memory.

    Parameters
    ----------
    path : path-like
        A Zarr folder or a netCDF file.

    Returns
    -------
    xarray.Dataset, xarray.DataTree or LabelledBranchSet
        A sweep is a dataset, or a tree where it has further groups; branches are `Branch` objects again, with
        their tree at ``to_datatree()`` (`xarray.open_datatree` shows it without making them).

    Raises
    ------
    InputError
        If there is nothing, something else, an incomplete or damaged file, or a newer schema.
    """
    data = store.open(path)
    return from_datatree(data) if branch_schema.holds_branches(data) else data
