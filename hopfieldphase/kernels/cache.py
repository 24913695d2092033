"""Machine code on disk: Numba's cache, made safe for what happens to this package.

Numba stamps the code of a function with the file that holds it, although code of other files is merged
into it; it numbers its files through an index, so that two processes that compile different signatures at
once can each write number 1 and load the other's code; and it fails where a folder cannot be written.
"""

import hashlib
import os
import pickle
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba.core.caching import FunctionCache
from numba.core.serialize import dumps

_ROOT = Path(__file__).resolve().parents[2]
_DIGEST = 32
_IMPORT = re.compile(rf"^from ({__name__.partition('.')[0]}[.\w]*) import (\([^)]*\)|.*)", re.MULTILINE)


class KernelCache(FunctionCache):
    """Numba's cache of one function: it calls `give_up` with the reason, instead of failing."""

    def __init__(self, function: Callable[..., Any], give_up: Callable[[Exception], None]) -> None:
        super().__init__(function)
        source = sources_digest(Path(function.__code__.co_filename))
        self._cache_file = _SignatureFiles(Path(self.cache_path), self._impl.filename_base, source)
        self._give_up = give_up

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function of a signature, or None."""
        try:
            return super().load_overload(sig, target_context)
        except OSError as reason:
            self.disable()
            self._give_up(reason)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled function of a signature."""
        try:
            super().save_overload(sig, data)
        except OSError as reason:
            self.disable()
            self._give_up(reason)


class _SignatureFiles:
    """One file per signature and processor, replaced as a whole, with a digest of sources and content."""

    def __init__(self, folder: Path, base: str, source: bytes) -> None:
        self._folder = folder
        self._base = base
        self._source = source

    def load(self, key: Any) -> Any:
        try:
            content = self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        digest, payload = content[:_DIGEST], content[_DIGEST:]
        return pickle.loads(payload) if digest == self._stamp(payload) else None

    def save(self, key: Any, data: Any) -> None:
        payload = dumps(data)
        handle, temporary = tempfile.mkstemp(dir=self._folder, prefix=self._base, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(self._stamp(payload) + payload)
            Path(temporary).replace(self._path(key))
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def flush(self) -> None:
        for path in self._folder.glob(f"{self._base}.*.nbc"):
            path.unlink(missing_ok=True)

    def _stamp(self, payload: bytes) -> bytes:
        return hashlib.sha256(self._source + payload).digest()

    def _path(self, key: Any) -> Path:
        return self._folder / f"{self._base}.{hashlib.sha256(repr(key).encode()).hexdigest()[:16]}.nbc"


@cache
def sources_digest(path: Path) -> bytes:
    """Digest of Numba's version, a source file, and all files of this package that it leads to."""
    digest = hashlib.sha256(numba.__version__.encode())
    found: set[Path] = set()
    waiting = [path]
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported(file)
    for file in sorted(found):
        digest.update(file.read_bytes())
    return digest.digest()


@cache
def _imported(path: Path) -> list[Path]:
    """Files of this package that a source file imports by name."""
    files = []
    for module, names in _IMPORT.findall(path.read_text(encoding="utf-8")):
        for name in (module, *(f"{module}.{name}" for name in re.findall(r"\w+", names))):
            files.append(_ROOT.joinpath(*name.split(".")).with_suffix(".py"))
    return [file for file in files if file.is_file()]
