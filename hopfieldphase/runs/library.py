"""The study files that come with the package: one for each figure of the paper and for what goes beyond."""

from pathlib import Path

import hopfieldphase
from hopfieldphase.core.errors import InputError


def study_files() -> dict[str, Path]:
    """Every study file by its name, like "figure-2"; `InputError` if they are not installed."""
    package = Path(hopfieldphase.__file__).parent
    folders = (package / "sweeps", package.parent / "sweeps")  # in a wheel, in a checkout
    for folder in folders:
        files = {file.stem: file for file in folder.glob("*.toml")}
        if files:
            return dict(sorted(files.items(), key=lambda item: (len(item[0]), item[0])))
    raise InputError(
        f"there are no study files in {' or '.join(map(str, folders))}: install hopfieldphase again"
    )
