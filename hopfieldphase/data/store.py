"""Datasets and trees to and from files: Zarr v3 folders (.zarr) and netCDF 4 files (.nc).

The sweep is the root group, so that plain `xarray.open_zarr(path)` and `xarray.open_dataset(path)` show it.
Files are written whole or not at all, with a checksum on every chunk; reading trusts nothing: a file that is
not ours, was torn or was tampered with gives one line, never half of the data.
"""

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr
from zarr.codecs import ZstdCodec

from hopfieldphase.core.errors import HopfieldPhaseError, InputError
from hopfieldphase.data import attributes, branch_schema, diagram, load_branch_schema, measurement, schema
from hopfieldphase.data import structure as structures
from hopfieldphase.data.files import replacing
from hopfieldphase.data.limits import check_hdf5, check_links, check_memory, check_zarr, reason

Labelled = xr.Dataset | xr.DataTree

_ZARR_METADATA = "zarr.json"


def write(data: Labelled, path: str | os.PathLike[str]) -> None:
    """Write a sweep, alone or as the root of a tree, or a tree of branches, replacing an earlier one there.

    Parameters
    ----------
    data : xarray.Dataset or xarray.DataTree
        As made by `build`; attributes as `attributes.encode` allows.
    path : path-like
        Ends in `.zarr` (a folder, Zarr v3) or `.nc` (a file, netCDF 4); its parent exists.

    Raises
    ------
    InputError
        For another ending, data of another schema, or a path that holds something else.
    OutputError
        If the file system refuses; nothing is left behind then, and what was there before stays.
    """
    target = Path(path)
    if target.suffix not in (".zarr", ".nc"):
        raise InputError(
            f"{target} ends in {target.suffix or 'nothing'}: give a name that ends in .zarr or .nc"
        )
    tree = data if isinstance(data, xr.DataTree) else xr.DataTree(data)
    _check(tree)
    # Replacing removes: never a folder of files that are no store.
    if target.is_dir() != (target.suffix == ".zarr") and target.exists():
        raise InputError(f"{target} is there and of another kind than its ending says: choose another name")
    if target.is_dir() and any(target.iterdir()) and not (target / _ZARR_METADATA).is_file():
        raise InputError(f"{target} is a folder that holds other files: choose another name")
    with replacing(target) as partial:
        if target.suffix == ".zarr":
            write_zarr(tree, partial)
        else:
            _write_netcdf(tree, partial)


def open(path: str | os.PathLike[str]) -> Labelled:
    """Read what `write` wrote, completely, into memory.

    Parameters
    ----------
    path : path-like
        A Zarr folder or a netCDF file.

    Returns
    -------
    xarray.Dataset or xarray.DataTree
        The sweep, as the root of a tree where the file has further groups; or the tree that any other study
        gives.

    Raises
    ------
    InputError
        If there is nothing, something else, an incomplete or damaged file, or a newer schema.
    """
    source = Path(path)
    if not source.exists():
        raise InputError(f"{source} does not exist: give a .zarr folder or .nc file that hopfieldphase wrote")
    try:
        if source.is_dir():
            check_links(source)
            with warnings.catch_warnings():
                # A folder of an array without its metadata: something is missing.
                warnings.filterwarnings("error", message="Object at .* is not recognized")
                check_zarr(zarr.open_group(source, mode="r", zarr_format=3, use_consolidated=False), source)
                tree = _load(source, engine="zarr", zarr_format=3, consolidated=False)
        elif source.is_file():
            check_hdf5(source)
            tree = _load(source, engine="h5netcdf")
        else:
            raise InputError(f"{source} is neither a folder nor a file: give a .zarr folder or .nc file")
        tree = _each(tree, _decoded)
        _check(tree)
    except ImportError:
        raise
    except HopfieldPhaseError as error:
        raise InputError(f"cannot read {source}: {error}") from error
    # Damaged content surfaces as almost any exception of the readers; the cause stays attached.
    except Exception as error:
        raise InputError(
            f"cannot read {source}: not a file of hopfieldphase, or damaged ({reason(error)})"
        ) from error
    return tree if tree.children or measurement.holds_measurement(tree) else tree.to_dataset()


def _check(tree: xr.DataTree) -> None:
    """Raise `InputError` unless the tree holds what some study gives."""
    if measurement.holds_measurement(tree):
        measurement.check(tree)
    elif structures.holds_structure(tree):
        schema.check_version(tree.attrs)
        for name in (structures.SWEEP, structures.BRANCHES, structures.CONTINUED):
            if name not in tree.children:
                raise InputError(f"the group {name} is missing: the data is incomplete")
        _check(tree.children[structures.SWEEP])
        _check(tree.children[structures.BRANCHES])
    elif branch_schema.holds_branches(tree):
        branch_schema.check(tree)
    elif load_branch_schema.holds_load_branches(tree):
        load_branch_schema.check(tree)
    elif diagram.holds_diagram(tree):
        diagram.check(tree)
    else:
        schema.check(tree.to_dataset())


def write_zarr(tree: xr.DataTree, path: Path) -> None:
    """Write a tree to a free path, with its metadata consolidated."""
    # Text of fixed length has no Zarr v3 type, text of variable length has.
    tree = _each(tree, lambda dataset: _encoded(dataset, np.dtypes.StringDType()))
    compressors = (ZstdCodec(level=3, checksum=True),)
    # Chunks of zeros are written as well: a chunk that is not there is then a damaged file.
    with warnings.catch_warnings(), zarr.config.set({"array.write_empty_chunks": True}):
        # Readers look for consolidated metadata first, and warn without it.
        warnings.filterwarnings("ignore", message="Consolidated metadata is currently not part")
        tree.to_zarr(path, zarr_format=3, encoding=_encoding(tree, lambda _: {"compressors": compressors}))


def _write_netcdf(tree: xr.DataTree, path: Path) -> None:
    tree = _each(tree, lambda dataset: _encoded(dataset, np.dtype(object)))
    filters = {"zlib": True, "complevel": 4, "shuffle": True, "fletcher32": True}

    def filtered(variable: xr.Variable) -> dict[str, Any]:
        return filters if variable.ndim and variable.dtype.kind in "biuf" else {}

    # Formed in memory: the HDF5 library does not report a full disk reliably, a plain write does.
    content = tree.to_netcdf(None, engine="h5netcdf", encoding=_encoding(tree, filtered))
    path.write_bytes(content)


def _each(tree: xr.DataTree, function: Callable[[xr.Dataset], xr.Dataset]) -> xr.DataTree:
    """The tree with every group replaced by the function's value of what is stored in it itself."""
    return xr.DataTree.from_dict(
        {node.path: function(node.to_dataset(inherit=False)) for node in tree.subtree}, name=tree.name
    )


def _encoding(
    tree: xr.DataTree, of: Callable[[xr.Variable], dict[str, Any]]
) -> dict[str, dict[str, dict[str, Any]]]:
    """How every variable of every group is stored: never with missing values."""
    return {
        node.path: {
            str(name): {**of(variable), "_FillValue": None}
            for name, variable in node.to_dataset(inherit=False).variables.items()
        }
        for node in tree.subtree
    }


def _encoded(dataset: xr.Dataset, text: "np.dtype[Any]") -> xr.Dataset:
    """The dataset with attributes that a file can hold and text of the given type."""
    dataset = dataset.drop_encoding()
    dataset.attrs = attributes.encode(dataset.attrs)
    for name, variable in dataset.variables.items():
        if variable.dtype.kind == "U":
            dataset[name] = variable.astype(text)
        dataset[name].attrs = attributes.encode(variable.attrs)
        if "flag_values" in variable.attrs:
            # CF: of the type of the variable itself.
            dataset[name].attrs["flag_values"] = np.asarray(variable.attrs["flag_values"], variable.dtype)
    return dataset


def _decoded(dataset: xr.Dataset) -> xr.Dataset:
    """The inverse of `_encoded`."""
    dataset = dataset.drop_encoding()
    dataset.attrs = attributes.decode(dataset.attrs)
    for name, variable in dataset.variables.items():
        if variable.dtype.kind in "OT":
            dataset[name] = variable.astype(object).astype(str)
        dataset[name].attrs = attributes.decode(variable.attrs)
    return dataset


def _load(source: Path, **options: Any) -> xr.DataTree:
    with xr.open_datatree(source, decode_times=False, **options) as tree:
        check_memory(sum(node.to_dataset(inherit=False).nbytes for node in tree.subtree))
        return tree.load()
