"""Labelled data of studies that are no sweep and no set of branches: variables, options, what made them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

import hopfieldphase
from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, schema
from hopfieldphase.data.provenance import git_revision

_KIND = "measurement"
_OWN = ("title", "kind", "study", "schema_version", "package_version", "git_revision")


def labelled(
    dims: str | tuple[str, ...], values: Any, long_name: str, units: str = "1", **attrs: Any
) -> xr.Variable:
    """A variable with its label in mathtext, its unit ("1": none), and further attributes."""
    return xr.Variable(dims, np.asarray(values), {"long_name": long_name, "units": units, **attrs})


def measurement(
    study: str, title: str, groups: Mapping[str, xr.Dataset], options: Mapping[str, Any]
) -> xr.DataTree:
    """A tree that can be written and read back: what was measured, with every option as an attribute.

    Parameters
    ----------
    study : str
        Name of the study, as in its spec.
    title : str
        What the data is, in words.
    groups : mapping
        Datasets by path; ``"/"`` is the root. Every variable has `long_name` and `units` (see `labelled`).
    options : mapping
        The resolved options of the study; `study` and `patterns` among them may stand as the spec dumps them.

    Returns
    -------
    xarray.DataTree

    Raises
    ------
    InputError
        For a variable without label or unit, and for options that no file can hold or whose name is taken.
    """
    for path, group in groups.items():
        for name, variable in group.variables.items():
            if not {"long_name", "units"} <= variable.attrs.keys():
                raise InputError(f"the variable {name} of {path} has no long_name or no units: give both")
    given = {name: value for name, value in options.items() if name != "study"}
    taken = given.keys() & set(_OWN)
    if taken:
        raise InputError(f"the option {min(taken)} has the name of an attribute of every dataset: rename it")
    attrs = {
        "title": title,
        "kind": _KIND,
        "study": study,
        "schema_version": schema.SCHEMA_VERSION,
        "package_version": hopfieldphase.__version__,
        "git_revision": git_revision(),
        **given,
    }
    attributes.encode(attrs)  # said now, not when a long run wants to be written
    tree = xr.DataTree.from_dict(dict(groups))
    tree.attrs = attrs
    return tree


def holds_measurement(tree: xr.DataTree | xr.Dataset) -> bool:
    """Whether this is the data of such a study."""
    return tree.attrs.get("kind") == _KIND


def check(tree: xr.DataTree) -> None:
    """Raise `InputError` unless the tree is complete: a version, a study, and labels on every variable."""
    schema.check_version(tree.attrs)
    if not isinstance(tree.attrs.get("study"), str):
        raise InputError("no study among the attributes: not a dataset that hopfieldphase wrote")
    for node in tree.subtree:
        for name, variable in node.to_dataset(inherit=False).variables.items():
            if not {"long_name", "units"} <= variable.attrs.keys():
                raise InputError(
                    f"the variable {name} of {node.path} has no label: the dataset is incomplete"
                )
