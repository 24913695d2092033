"""A Zarr store that many processes fill: made once with all its metadata, one region of it to each of them.

A region is one chunk of every variable, and a chunk is a file of its own, put in place as a whole. No two
processes write one file, so that none waits for another.
"""

import hashlib
import warnings
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xarray as xr
import zarr
from zarr.codecs import ZstdCodec

from hopfieldphase.core.errors import InputError
from hopfieldphase.data import attributes, store
from hopfieldphase.data.files import replacing
from hopfieldphase.data.grid import Column
from hopfieldphase.data.limits import check_links, check_zarr, reason

Place = tuple[int, ...]

_FILE_KEYS: Any = {"name": "default", "separator": "."}  # all chunks of a variable in one folder


def create(path: Path, frame: xr.Dataset, columns: Mapping[str, Column], shape: Place, batch: Place) -> None:
    """Make a store in which nothing is computed yet; plain `xarray.open_zarr` opens it from now on.

    Parameters
    ----------
    path : Path
        Ends in `.zarr`; an earlier store there is replaced.
    frame : xarray.Dataset
        Coordinates and attributes (`data.grid.frame`).
    columns : mapping
        The variables (`data.grid.columns`).
    shape, batch : tuple of int
        Of the whole grid, and of one region of it.

    Raises
    ------
    OutputError
        If the file system refuses; nothing is left behind then.
    """
    outer = tuple(str(name) for name in frame.dims)[: len(shape)]
    with replacing(path) as partial, warnings.catch_warnings():
        # Readers look for consolidated metadata first, and warn without it.
        warnings.filterwarnings("ignore", message="Consolidated metadata is currently not part")
        store.write_zarr(xr.DataTree(frame), partial)
        group = zarr.open_group(partial, mode="r+", zarr_format=3)
        for name, column in columns.items():
            group.create_array(
                name,
                shape=(*shape, *column.shape),
                chunks=(*batch, *column.shape),
                dtype=column.quantity.dtype,
                fill_value=column.fill,
                compressors=(ZstdCodec(level=1, checksum=True),),
                dimension_names=(*outer, *column.dims),
                chunk_key_encoding=_FILE_KEYS,
                attributes=attributes.encode(column.attrs),
            )
        zarr.consolidate_metadata(partial, zarr_format=3)


@contextmanager
def reading(path: Path) -> Iterator[xr.Dataset]:
    """Open a store, finished or not, without reading its variables: regions not yet there are fill values.

    Raises
    ------
    InputError
        If it holds links, claims more than the memory, or is damaged.
    """
    try:
        check_links(path)
        check_zarr(zarr.open_group(path, mode="r", zarr_format=3, use_consolidated=False), path, whole=False)
        with xr.open_zarr(path, chunks=None, decode_times=False) as data:
            yield data
    # What is damaged, or being written, surfaces as almost any exception of the readers.
    except Exception as error:
        raise InputError(f"cannot read {path}: {reason(error)}") from error


class Regions:
    """The regions of a store, for one process that writes some of them.

    Parameters
    ----------
    path : Path
    columns : mapping
        The variables, as the store was made with.
    """

    def __init__(self, path: Path, columns: Mapping[str, Column]) -> None:
        self._path, self._columns = path, columns
        # A chunk of nothing but fill values is written as well: a missing one is then a damaged store.
        with zarr.config.set({"array.write_empty_chunks": True}):
            group = zarr.open_group(path, mode="r+", zarr_format=3)
            self._arrays: dict[str, Any] = {name: group[name] for name in columns}

    def write(self, place: Place, region: tuple[slice, ...], tables: Mapping[str, Any]) -> str:
        """Write every variable of one region; return the digest of the files (`digest`).

        Raises
        ------
        OSError
            If the file system refuses.
        """
        for name, array in self._arrays.items():
            array[region] = tables[name]
        found = digest(self._path, self._columns, place)
        if found is None:
            raise FileNotFoundError(f"{self._path} lost a region while it was written")
        return found


def digest(path: Path, columns: Mapping[str, Column], place: Place) -> str | None:
    """SHA-256 of the files of the region at a place; None where one is missing."""
    found = hashlib.sha256()
    try:
        for name, column in columns.items():
            found.update((path / name / _file(column, place)).read_bytes())
    except OSError:
        return None
    return found.hexdigest()


def clear(path: Path, columns: Mapping[str, Column], keep: Set[Place]) -> None:
    """Remove what stands in the store of other regions than some, and what killed processes left half."""
    for name, column in columns.items():
        kept = {_file(column, place) for place in keep}
        for file in (path / name).glob("c.*"):
            if file.name not in kept:
                file.unlink(missing_ok=True)
    for file in path.rglob("*.partial"):
        file.unlink(missing_ok=True)


def _file(column: Column, place: Place) -> str:
    """The file of a region: its place, then zeros for the dimensions that are not divided."""
    return ".".join(("c", *map(str, (*place, *(0 for _ in column.shape)))))
