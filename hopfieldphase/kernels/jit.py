"""The one decorator of every compiled function, and the disk cache behind it.

Numba's own cache forgets three things that matter here, and each is handled below: machine code
is inlined across files, so that an edit of one kernel must also retire its callers; several
processes may compile at once; and no folder may be writable, or the disk full.
"""

import hashlib
import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache

_PACKAGE = Path(__file__).resolve().parent.parent
_reported = False


def jit(function: Callable[..., Any] | None = None, *, reorder: bool = False) -> Any:
    """Compile `function` to machine code on its first call, without the GIL, cached on disk.

    Parameters
    ----------
    function : callable
        A function in the subset of Python that Numba compiles.
    reorder : bool
        Let the compiler reorder and fuse floating-point sums, which is what SIMD needs. Tests for
        NaN and inf keep their meaning; no flag that assumes them away is ever set.

    Returns
    -------
    callable
        The compiled function. Where no cache folder can be written it is compiled anew in every
        process; one line on stderr says so, once.
    """
    if function is None:
        return lambda inner: jit(inner, reorder=reorder)
    compiled = numba.njit(
        nogil=True,
        error_model="numpy",
        fastmath={"reassoc", "contract", "nsz"} if reorder else False,
    )(function)
    try:
        compiled._cache = _RoomCache(compiled.py_func)
    except (OSError, RuntimeError) as reason:
        _report(reason)
    return compiled


class _RoomCache(FunctionCache):
    """Numba's cache of one function, stamped with the sources of all kernels, never fatal."""

    def __init__(self, py_func: Callable[..., Any]) -> None:
        super().__init__(py_func)
        self._cache_file = _SignatureFiles(Path(self.cache_path), self._impl.filename_base)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        try:
            return super().load_overload(sig, target_context)
        except OSError as reason:
            self._give_up(reason)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as reason:
            self._give_up(reason)

    def _give_up(self, reason: OSError) -> None:
        self.disable()
        _report(reason)


class _SignatureFiles:
    """One file per compiled signature, replaced as a whole.

    Numba keeps an index next to numbered files; two processes that compile different signatures
    at once can then each write number 1 and load the other's machine code. Here the name follows
    from the signature and the processor, and the content carries its own checksum.
    """

    def __init__(self, folder: Path, base: str) -> None:
        self._folder = folder
        self._base = base

    def load(self, key: Any) -> Any:
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        stamp, payload = content[:32], content[32:]
        return pickle.loads(payload) if stamp == _stamp(payload) else None

    def save(self, key: Any, data: Any) -> None:
        payload = pickle.dumps(data, protocol=pickle.HIGHEST_PROTOCOL)
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=self._base)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_stamp(payload) + payload)
            os.replace(temporary, self._path(key))
        except BaseException:
            os.unlink(temporary)
            raise

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"


def _stamp(payload: bytes) -> bytes:
    return hashlib.sha256(_sources() + payload).digest()


@cache
def _sources() -> bytes:
    """Digest of everything that ends up in machine code: Numba, the kernels, and the core they use."""
    digest = hashlib.sha256(numba.__version__.encode())
    for room in ("core", "kernels"):
        for path in sorted((_PACKAGE / room).glob("*.py")):
            digest.update(path.read_bytes())
    return digest.digest()


def _report(reason: Exception) -> None:
    global _reported
    if not _reported:
        _reported = True
        print(
            f"hopfieldphase: compiled kernels cannot be kept on disk ({reason}); they are compiled anew in "
            "this process: set NUMBA_CACHE_DIR to a folder that can be written",
            file=sys.stderr,
        )
