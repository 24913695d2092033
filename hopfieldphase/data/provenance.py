"""What differs between two runs of one study: when, where, with which versions, and how long it took.

Datasets never hold any of it but the revision of this package, so that the same study on two machines gives
the same dataset.
"""

import datetime as dt
import functools
import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import hopfieldphase

_PACKAGES = (
    "numpy", "scipy", "numba", "llvmlite", "xarray", "zarr", "h5netcdf", "h5py", "matplotlib", "pydantic",
    "typer", "dask", "distributed", "torch", "transformers", "tokenizers", "safetensors",
)  # fmt: skip
_PACKAGE_DIR = Path(hopfieldphase.__file__).resolve().parent


def provenance(wall_time: float) -> dict[str, Any]:
    """Record of this run, as plain JSON values.

    Parameters
    ----------
    wall_time : float
        Seconds that the computation took.

    Returns
    -------
    dict
        `created` (UTC, ISO 8601), `host`, `platform`, `machine`, `cpus` (usable by this process), `python`,
        `package_version`, `git_revision` (None outside a checkout), `packages` (name: version, None where it
        is not installed) and `wall_time_seconds`.
    """
    return {
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "host": platform.node(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpus": _usable_cpus(),
        "python": platform.python_version(),
        "package_version": hopfieldphase.__version__,
        "git_revision": git_revision(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "wall_time_seconds": round(float(wall_time), 3),
    }


@functools.cache
def git_revision() -> str | None:
    """Commit of the checkout that this package runs from, with "-dirty" after it where files differ from it.

    None where the package is installed rather than run from its own checkout (also when it is installed
    inside another project's repository), or where git is not there.
    """
    root = _PACKAGE_DIR.parent
    # A package installed below someone else's checkout must not report that project's commit.
    if not (root / ".git").exists():
        return None
    try:
        answer = subprocess.run(
            [
                "git",
                "--no-optional-locks",
                "-C",
                str(root),
                "describe",
                "--always",
                "--dirty",
                "--abbrev=40",
                "--exclude=*",
            ],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _usable_cpus() -> int:
    """Processors that this process may run on, which a batch system may restrict."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
