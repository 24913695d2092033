"""What a file from elsewhere may claim and point to, asked before memory is taken for it.

A header of a hundred bytes can claim 10¹⁵ numbers, a folder or a file can hold links that lead out of it.
Each check reads such claims alone, and raises an `InputError` that says what is wrong.
"""

import math
import os
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from hopfieldphase.core.errors import InputError, one_line
from hopfieldphase.core.patterns.blocks import memory
from hopfieldphase.data import hdf5_probe

_HEADER = 2**16
"""Bytes from the start of a .npy file that hold any header which NumPy reads."""

_ADVICE = "give the numbers themselves, not a name for what lies elsewhere"


def check_memory(size: int, what: str = "it") -> None:
    """Raise `InputError` if so many bytes are more than the memory of this machine."""
    if size > memory():
        raise InputError(
            f"{what} declares {size / 2**30:.3g} GiB, more than the {memory() / 2**30:.3g} GiB of memory of "
            "this machine: it is damaged, or too large to be read at once"
        )


def check_npy(stream: IO[bytes], size: int, *, mapped: bool = False) -> None:
    """Check the .npy header at the start of a stream of `size` bytes.

    Parameters
    ----------
    stream : binary file
        Its first bytes are read.
    size : int
        Bytes of the whole, header included.
    mapped : bool, default False
        Whether floating numbers stay on disk, so that they need no memory.

    Raises
    ------
    InputError
        If it is no header of plain numbers, if it claims another number of bytes than are there, or more than
        the memory holds.
    """
    start = BytesIO(stream.read(_HEADER))
    read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(start)
    if version not in read:
        raise InputError(
            f"it has the NumPy format {version[0]}.{version[1]}: save plain numbers with numpy.save"
        )
    shape, _, dtype = read[version](start)
    if dtype.hasobject:
        raise InputError("it holds Python objects: save plain numbers with numpy.save")
    if dtype.kind not in "iuf":
        raise InputError(f"it holds values of type {str(dtype)[:40]}: give real numbers")
    if any(length < 0 for length in shape):
        raise InputError(f"its header claims the shape {shape}: the file is damaged")
    count, there = math.prod(shape), size - start.tell()
    if count * dtype.itemsize != there:
        raise InputError(
            f"its header claims {_shape(shape)} numbers of {dtype.itemsize} bytes each, but {there} bytes "
            "follow it: the file is damaged"
        )
    if not (mapped and dtype in (np.float32, np.float64)):
        check_memory(count * (8 if dtype == np.float64 else 8 + dtype.itemsize))


def check_links(folder: Path) -> None:
    """Raise `InputError` if a folder holds links: what they lead to is not part of it, or has no end."""
    for name in _walk(folder):
        raise InputError(f"it holds the link {_relative(name, folder)}: {_ADVICE}")


def check_zarr(group: Any, folder: Path, *, whole: bool = True) -> None:
    """Check every array of a Zarr group, or one array, in a folder without links.

    Parameters
    ----------
    group : zarr.Group or zarr.Array
    folder : Path
        Where it lies.
    whole : bool, default True
        Whether every chunk must be there; Zarr would read a missing one as a constant.

    Raises
    ------
    InputError
        If a chunk of an array is missing, or a chunk or a coordinate is larger than the memory.
    """
    zarr = import_module("zarr")
    files = sum(len(names) for _, _, names in os.walk(folder)) if whole else 0
    members = group.members(max_depth=None) if isinstance(group, zarr.Group) else [(folder.name, group)]
    for name, array in members:
        if not isinstance(array, zarr.Array):
            continue
        stored = array.shards or array.chunks
        count = math.prod(-(-length // size) for length, size in zip(array.shape, stored, strict=True))
        # The first comparison is cheap; it keeps a false shape from being counted through.
        if whole and (count > files or array.nchunks_initialized != array.nchunks):
            raise InputError(f"the variable {name} lacks some of its chunks: the store is incomplete")
        check_memory(math.prod(stored) * array.dtype.itemsize, f"a chunk of {name}")
        if array.ndim <= 1:  # coordinates are read as soon as the store is opened
            check_memory(array.nbytes, f"the coordinate {name}")


def check_hdf5(path: Path) -> None:
    """Check where the parts of a netCDF-4 (HDF5) file lie.

    Raises
    ------
    InputError
        If the library cannot stand the file, if it refers to other files, if a group lies in itself, or if a
        coordinate is larger than the memory.
    OSError
        If it is no HDF5 file.
    """
    h5py = import_module("h5py")
    if not hdf5_probe.survives(path):
        raise InputError("the HDF5 library crashes on it or never ends: the file is damaged")

    def check_link(name: str, link: Any) -> None:
        if not isinstance(link, h5py.HardLink):
            raise InputError(f"it holds the link {one_line(name, 60)}: {_ADVICE}")

    def check_object(name: str, found: Any) -> None:
        name = one_line(name, 60)
        if isinstance(found, h5py.Group) and h5py.h5o.get_info(found.id).rc > 1:
            raise InputError(f"the group {name} lies in itself or in several places: {_ADVICE}")
        if isinstance(found, h5py.Dataset):
            if found.external or found.is_virtual:
                raise InputError(f"the numbers of {name} lie in another file: {_ADVICE}")
            if found.ndim <= 1:  # coordinates are read as soon as the file is opened
                check_memory(found.nbytes, f"the coordinate {name}")
            if found.chunks:
                check_memory(math.prod(found.chunks) * found.dtype.itemsize, f"a chunk of {name}")

    with h5py.File(path, "r") as file:
        if h5py.h5o.get_info(file["/"].id).rc > 1:
            raise InputError(f"its root lies in itself: {_ADVICE}")
        file.visititems_links(check_link)
        file.visititems(check_object)


def listed(names: list[str], most: int = 12) -> str:
    """Names from a file on one short line."""
    shown = ", ".join(one_line(name, 60) for name in names[:most])
    return (shown + (", …" if len(names) > most else "")) or "none"


def reason(error: BaseException) -> str:
    """What a reader said of damaged content, on one short line."""
    return one_line(str(error) or type(error).__name__, 200)


def _shape(shape: tuple[int, ...]) -> str:
    return "×".join(map(str, shape)) if 0 < len(shape) <= 8 else str(math.prod(shape))


def _walk(folder: Path) -> Any:
    """Every link in a folder."""
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(root, name)
            if path.is_symlink():
                yield path


def _relative(path: Path, folder: Path) -> str:
    return one_line(str(path.relative_to(folder)), 60)
