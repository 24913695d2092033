"""What this installation has: versions, compiled kernels, threads, a GPU, optional extras."""

import ctypes
import platform
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from hopfieldphase import __version__
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.device import backend_of
from hopfieldphase.kernels.disk import all_held, cache_folder
from hopfieldphase.kernels.threads import thread_count
from hopfieldphase.runs.warmup import USUAL

PACKAGE = "hopfieldphase"

EXTRAS = {
    "app": "hopfieldphase app: sweeps and branches solved live",
    "cluster": "--executor dask: grids on the workers of a Dask cluster",
    "digits": "--generator digits: images of scikit-learn as patterns",
    "explore": "hopfieldphase explore: a result as a page for the browser",
    "gpu": "--device cuda: sweeps on an NVIDIA GPU through CuPy",
    "learn": "hopfieldphase learn: attention trained with PyTorch",
}
"""What each extra gives."""


def check_extras(names: Sequence[str]) -> None:
    """Refuse a name that is no extra.

    Raises
    ------
    InputError
        With the names that there are.
    """
    for name in names:
        if name not in EXTRAS:
            near = get_close_matches(name, EXTRAS, n=1)
            hint = f"; the nearest is {near[0]}" if near else ""
            raise InputError(f"there is no extra {name!r}{hint}: choose from {', '.join(EXTRAS)}")


def diagnosis(extras: Sequence[str] = ()) -> dict[str, Any]:
    """Look at this installation.

    Parameters
    ----------
    extras : sequence of str
        Which extras to look at; by default all.

    Returns
    -------
    dict
        JSON values: `version`, `folder`, `python`, `platform`, `packages` (what is installed, what is needed,
        and whether that fits), `kernels` (whether those of each usual command are on disk), `cache`,
        `threads`, `device` and `extras` (what each gives, whether it is there, what is missing of it).

    Raises
    ------
    InputError
        For a name that is no extra, or a HOPFIELDPHASE_THREADS that is no number.
    """
    check_extras(extras)
    return {
        "version": __version__,
        "folder": str(Path(__file__).resolve().parents[1]),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": {needed.name: _installed(needed) for needed in _requirements(None)},
        "kernels": {usual.command: usual.is_compiled for usual in USUAL},
        "cache": _cache(),
        "threads": thread_count(),
        "device": _device(),
        "extras": {name: _extra(name) for name in extras or EXTRAS},
    }


def _requirements(extra: str | None) -> list[Requirement]:
    """What the package needs, without an extra or for one alone; extras that an extra names are followed."""
    found: list[Requirement] = []
    for needed in map(Requirement, requires(PACKAGE) or ()):
        always = needed.marker is None or needed.marker.evaluate({"extra": ""})
        chosen = needed.marker is not None and needed.marker.evaluate({"extra": extra or ""})
        if not (always if extra is None else chosen and not always):
            continue
        if needed.name == PACKAGE:
            found += [inner for name in sorted(needed.extras) for inner in _requirements(name)]
        else:
            found.append(needed)
    return found


def _installed(needed: Requirement) -> dict[str, Any]:
    try:
        there = version(needed.name)
    except PackageNotFoundError:
        there = None
    fits = there is not None and needed.specifier.contains(there, prereleases=True)
    return {"installed": there, "needed": str(needed.specifier), "fits": fits}


def _extra(name: str) -> dict[str, Any]:
    packages = {needed.name: _installed(needed) for needed in _requirements(name)}
    return {
        "gives": EXTRAS[name],
        "installed": all(package["fits"] for package in packages.values()),
        "packages": packages,
        "install": f"pip install '{PACKAGE}[{name}]'",
    }


def _cache() -> dict[str, Any]:
    try:
        folder = str(cache_folder())
    except InputError as error:
        return {"folder": None, "problem": str(error)}
    held = all_held()
    return {"folder": folder, "functions": held.current, "stale": held.stale, "bytes": held.size}


def _device() -> str:
    """The GPU in words; without a driver no library needs to be loaded to know that there is none."""
    try:
        ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return "cpu (no NVIDIA driver is found)"
    try:
        return f"{backend_of('cuda').name} (--device cuda), cpu"
    except InputError:
        return "cpu (there is an NVIDIA driver, but neither CuPy nor PyTorch finds a GPU)"
