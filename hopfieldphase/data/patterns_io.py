"""Pattern files: .npy, .npz, .csv, .nc and .zarr in and out, and the handwritten digits of scikit-learn."""

import os
import warnings
import zipfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import check_patterns
from hopfieldphase.core.patterns.blocks import StoredRows
from hopfieldphase.data.limits import (
    check_hdf5,
    check_links,
    check_memory,
    check_npy,
    check_zarr,
    listed,
    reason,
)

LARGE = 2**28
"""Bytes from which on patterns in .npy and .zarr files stay on disk."""

_TEXT = 4
"""Bytes of memory for every byte of a .csv file while it is read."""


def load(path: str | os.PathLike[str]) -> NDArray[Any] | StoredRows:
    """Read stored patterns from a file.

    Parameters
    ----------
    path : str or path
        A ``.npy``, ``.npz``, ``.csv`` (commas, no header, lines after ``#`` are skipped) or netCDF-4
        ``.nc`` file, or a ``.zarr`` folder. Where one holds several arrays, the one to take is named after
        a colon: ``"keys.npz:trained"``, ``"sweep.nc:group/variable"``.

    Returns
    -------
    ndarray or StoredRows, shape (M, d)
        float64, one pattern per row; the values as they stand in the file, not scaled to unit norm. Large
        arrays (256 MiB) in ``.npy`` and ``.zarr`` files keep their type and stay on disk, the former as a
        memory map, the latter to be read block by block.

    Raises
    ------
    InputError
        If the file is missing, unreadable, empty, of an unknown kind, holds Python objects or more than
        one array, or if what it holds is not a set of patterns (`check_patterns`). One line, with the
        file's name.
    """
    file, name = _split(os.fspath(path))
    read = _READERS.get(file.suffix.lower())
    if read is None:
        raise InputError(f"pattern file {file} is of an unknown kind: use {', '.join(_READERS)}")
    try:
        exists = file.exists()
        readable = file.is_file() or (file.suffix.lower() == ".zarr" and file.is_dir())
    except OSError as error:
        raise InputError(f"pattern file {file} cannot be read: {error.strerror}") from error
    if not readable:
        problem = "is not a file" if exists else "does not exist"
        raise InputError(f"pattern file {file} {problem}: give the path of a {file.suffix} file")
    try:
        if file.stat().st_size == 0:
            raise InputError("it is empty")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of other things that lie in a folder or a file
            array = check_patterns(read(file, name))
        large = array.dtype.itemsize * array.shape[0] * array.shape[1] >= LARGE
        return array if large else np.asarray(array, dtype=np.float64)
    except ImportError:
        raise
    except InputError as error:
        raise InputError(f"pattern file {file}: {error}") from error
    # Damaged content surfaces as almost any exception of the readers; the cause stays attached.
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"pattern file {file} cannot be read: {error.strerror}") from error
        raise InputError(
            f"pattern file {file}: it is damaged or no {_KINDS[file.suffix.lower()]} ({reason(error)}): "
            "save it again"
        ) from error


def save(path: str | os.PathLike[str], patterns: Any) -> Path:
    """Write stored patterns to a .npy, .npz, .csv or .nc file that `load` reads back equal.

    The file appears complete or not at all; an existing one is replaced.

    Parameters
    ----------
    path : str or path
        Its ending chooses the format.
    patterns : array-like, shape (M, d)

    Returns
    -------
    Path
        The file written.

    Raises
    ------
    InputError
        If the patterns are unsound (`check_patterns`), the ending is unknown or the folder missing or
        not writable.
    """
    file = Path(path)
    write = _WRITERS.get(file.suffix.lower())
    if write is None:
        raise InputError(f"pattern file {file} is of an unknown kind: use {', '.join(_WRITERS)}")
    array = np.asarray(check_patterns(patterns), dtype=np.float64)
    if not file.parent.is_dir():
        raise InputError(f"folder {file.parent} does not exist: create it first")
    temporary = file.with_name(f".{file.stem}-{os.getpid()}{file.suffix}")
    try:
        write(temporary, array)
        temporary.replace(file)
    except PermissionError as error:
        raise InputError(f"pattern file {file} cannot be written: choose a writable folder") from error
    finally:
        temporary.unlink(missing_ok=True)
    return file


def digits() -> NDArray[np.float64]:
    """The 1797 handwritten digits of scikit-learn, shape (1797, 64): 8 × 8 pixels of 0…16, not scaled.

    Real, un-normalised data of the examples; `unit_rows` scales them to unit norm.

    Raises
    ------
    InputError
        If scikit-learn is not installed.
    """
    try:
        datasets = import_module("sklearn.datasets")
    except ModuleNotFoundError as error:
        raise InputError(
            "the digits come with scikit-learn, which is not installed: "
            "run `pip install 'hopfieldphase[digits]'`"
        ) from error
    return np.asarray(datasets.load_digits().data, dtype=np.float64)


def _split(path: str) -> tuple[Path, str | None]:
    """Part "file.npz:name" into file and array name; a colon elsewhere belongs to the path."""
    head, colon, name = path.rpartition(":")
    if colon and name and Path(head).suffix.lower() in (".npz", ".nc", ".zarr") and not Path(path).exists():
        return Path(head), name
    return Path(path), None


def _read_npy(file: Path, name: str | None) -> Any:
    size = file.stat().st_size
    with file.open("rb") as stream:
        check_npy(stream, size, mapped=size >= LARGE)
        # Mapped copy-on-write: the file cannot change, and kernels take the rows like any others.
        if size >= LARGE:
            return np.load(file, mmap_mode="c", allow_pickle=False)
        stream.seek(0)
        return np.load(stream, allow_pickle=False)


def _read_npz(file: Path, name: str | None) -> Any:
    with zipfile.ZipFile(file) as archive:
        names = [member.removesuffix(".npy") for member in archive.namelist()]
        member = archive.getinfo(f"{_choose(name, names, file)}.npy")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InputError("it is compressed in a way that NumPy does not use: save it with numpy.savez")
        with archive.open(member) as stream:
            check_npy(stream, member.file_size)
        with archive.open(member) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)


def _choose(name: str | None, names: list[str], file: Path) -> str:
    """The array that was asked for, or the only one."""
    if name is not None and name not in names:
        raise InputError(f"it has no array {name!r}: it holds {listed(names)}")
    if name is None and len(names) != 1:
        example = f'"{file}:{listed(names[:1])}"' if names else "a file that holds one array"
        raise InputError(f"it holds {len(names)} arrays ({listed(names)}): choose one as in {example}")
    return names[0] if name is None else name


def _read_csv(file: Path, name: str | None) -> Any:
    check_memory(_TEXT * file.stat().st_size)
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError("it is not a text file in UTF-8: export it as comma-separated values") from error
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line.partition("#")[0].strip()]
    if not rows:
        raise InputError("it holds no numbers: give one pattern per line, values separated by commas")
    try:
        return np.loadtxt([line for _, line in rows], delimiter=",", ndmin=2)
    except ValueError:
        raise InputError(_csv_complaint(rows)) from None


def _csv_complaint(rows: list[tuple[int, str]]) -> str:
    """What is wrong with a table that NumPy refused, by line and column."""
    columns = len(rows[0][1].partition("#")[0].split(","))
    for number, line in rows:
        cells = line.partition("#")[0].split(",")
        for column, cell in enumerate(cells, start=1):
            try:
                float(cell)
            except ValueError:
                header = " (a header?)" if number == rows[0][0] else ""
                return (
                    f"line {number}, column {column} holds {cell.strip()[:40]!r}, not a number{header}: "
                    "give numbers separated by commas, without a header"
                )
        if len(cells) != columns:
            return (
                f"line {number} has {len(cells)} values, the first has {columns}: give rows of equal length"
            )
    return "it is not a table of numbers: give one pattern per line, values separated by commas"


def _read_netcdf(file: Path, name: str | None) -> Any:
    xarray = import_module("xarray")
    group, _, variable = (name or "").rpartition("/")
    try:
        check_hdf5(file)
        with xarray.open_dataset(file, engine="h5netcdf", group=group or None, decode_times=False) as dataset:
            array = dataset[_choose(variable or None, list(map(str, dataset.data_vars)), file)]
            check_memory(array.size * max(array.dtype.itemsize, 8))
            return array.to_numpy()
    except OSError as error:
        if group and f"group not found: {group}" in str(error):
            raise InputError(f"it has no group {group!r}") from error
        raise InputError("it is damaged or not a netCDF-4 (HDF5) file: export it as netCDF-4") from error


def _read_zarr(file: Path, name: str | None) -> Any:
    zarr = import_module("zarr")
    check_links(file)
    try:
        # Consolidated metadata can name arrays anywhere; the folders themselves cannot.
        group = zarr.open_group(file, mode="r", use_consolidated=False)
    except (OSError, ValueError, KeyError, TypeError):
        found = zarr.open_array(file, mode="r")
    else:
        names = [key for key, member in group.members(max_depth=None) if isinstance(member, zarr.Array)]
        found = group[_choose(name, names, file)]
    check_zarr(found, file)
    return found


def _write_csv(file: Path, patterns: NDArray[np.float64]) -> None:
    np.savetxt(file, patterns, delimiter=",", fmt="%.17g")


def _write_npz(file: Path, patterns: NDArray[np.float64]) -> None:
    np.savez(file, patterns=patterns)


def _write_netcdf(file: Path, patterns: NDArray[np.float64]) -> None:
    xarray = import_module("xarray")
    attrs = {"long_name": "stored patterns", "units": "1"}
    dataset = xarray.Dataset({"patterns": (("pattern", "component"), patterns, attrs)})
    dataset.to_netcdf(file, engine="h5netcdf")


_READERS: dict[str, Callable[[Path, str | None], Any]] = {
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".csv": _read_csv,
    ".nc": _read_netcdf,
    ".zarr": _read_zarr,
}
_KINDS = {
    ".npy": "NumPy file of plain numbers",
    ".npz": "NumPy archive",
    ".csv": "table of numbers",
    ".nc": "netCDF-4 (HDF5) file",
    ".zarr": "Zarr array",
}
_WRITERS: dict[str, Callable[[Path, NDArray[np.float64]], None]] = {
    ".npy": np.save,
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".nc": _write_netcdf,
}
