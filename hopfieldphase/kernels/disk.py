"""What of the machine code of this package is on disk, and where."""

import tempfile
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from numba.core import config
from numba.core.caching import FunctionCache

from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.cache import KernelCache, sources_digest

_ROOM = __name__.rpartition(".")[0]
_DIGEST = sha256().digest_size


@dataclass(frozen=True)
class Held:
    """Compiled functions in the cache folder.

    Attributes
    ----------
    current, stale : int
        Files of these sources, and of other ones, which are compiled anew when they are needed.
    size : int
        Of all of them, in bytes.
    """

    current: int
    stale: int
    size: int


def cache_folder() -> Path:
    """The folder that keeps the machine code of this package.

    Raises
    ------
    InputError
        If it cannot be written: the folder that NUMBA_CACHE_DIR names, or without it every place tried.
    """
    wanted = config.CACHE_DIR  # pyright: ignore[reportAttributeAccessIssue]
    if wanted:
        try:
            Path(wanted).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=wanted).close()
        except OSError as reason:
            raise InputError(
                f"NUMBA_CACHE_DIR = {wanted!r} cannot be written ({reason.strerror}): "
                "name a folder that can, or unset it"
            ) from None
    try:
        return Path(FunctionCache(cache_folder).cache_path)
    except RuntimeError:
        raise InputError(
            "compiled kernels cannot be kept on disk: neither the folder of the package nor that of the user "
            "can be written; set NUMBA_CACHE_DIR to a folder that can"
        ) from None


def on_disk(kernel: str) -> bool:
    """Whether machine code of a kernel, given as ``"module:function"``, is there for the sources of today."""
    module, _, name = kernel.partition(":")
    return _held(getattr(import_module(f"{_ROOM}.{module}"), name)).current > 0


def all_held() -> Held:
    """Count what the cache folder holds of every kernel of the package."""
    folder = import_module(_ROOM).__path__
    modules = [import_module(f"{_ROOM}.{found.name}") for found in iter_modules(folder)]
    own = {
        id(value): value
        for module in modules
        for value in vars(module).values()
        if isinstance(getattr(value, "_cache", None), KernelCache)
    }
    parts = [_held(kernel) for kernel in own.values()]
    return Held(*(sum(getattr(part, name) for part in parts) for name in ("current", "stale", "size")))


def _held(kernel: Any) -> Held:
    cache = kernel._cache
    if not isinstance(cache, KernelCache):  # there is no folder for it
        return Held(0, 0, 0)
    source = sources_digest(Path(kernel.py_func.__code__.co_filename))
    contents = [
        path.read_bytes() for path in Path(cache.cache_path).glob(f"{cache._impl.filename_base}.*.nbc")
    ]
    current = sum(content[:_DIGEST] == sha256(source + content[_DIGEST:]).digest() for content in contents)
    return Held(current, len(contents) - current, sum(map(len, contents)))
