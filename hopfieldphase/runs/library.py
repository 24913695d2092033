"""What comes with the package: a study file for each figure, and results that take long to compute."""

from pathlib import Path

import hopfieldphase
from hopfieldphase.core.errors import InputError


def study_files() -> dict[str, Path]:
    """Every study file by its name, like "figure-2"; `InputError` if they are not installed."""
    files = _files("sweeps", "*.toml")
    if not files:
        folders = " or ".join(map(str, _folders("sweeps")))
        raise InputError(f"there are no study files in {folders}: install hopfieldphase again")
    return files


def shipped_results() -> dict[str, Path]:
    """The results that come with the package, netCDF files, by the names of their study files."""
    return _files("results", "*.nc")


def _files(room: str, pattern: str) -> dict[str, Path]:
    for folder in _folders(room):
        files = {file.stem: file for file in folder.glob(pattern)}
        if files:
            return dict(sorted(files.items(), key=lambda item: (len(item[0]), item[0])))
    return {}


def _folders(room: str) -> tuple[Path, Path]:
    """Where it lies in a wheel, and in a checkout."""
    package = Path(hopfieldphase.__file__).parent
    return package / room, package.parent / room
