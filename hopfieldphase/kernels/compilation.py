"""Notice of compilation: whoever shows progress can say why nothing moves for a while."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event


class _FirstCompilation(event.Listener):
    """Calls back at the first function that is compiled, not at those that are read from the cache."""

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback = callback
        self._told = False

    def on_start(self, event: Any) -> None:
        if not self._told:
            self._told = True
            self._callback()

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


class _Names(event.Listener):
    """Appends the name of each function that is compiled to a list."""

    def __init__(self, names: list[str]) -> None:
        self._names = names

    def on_start(self, event: Any) -> None:
        self._names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


_waiting: list[_FirstCompilation] = []


def on_first_compilation(callback: Callable[[], object]) -> None:
    """Call `callback()` once, just before the next kernel is compiled; only the last callback given counts.

    Kernels that load from the disk cache do not count: when all of them do, the callback never
    comes. It may come from any thread.
    """
    while _waiting:
        event.unregister("numba:compile", _waiting.pop())
    _waiting.append(_FirstCompilation(callback))
    event.register("numba:compile", _waiting[0])


@contextmanager
def compilations() -> Iterator[list[str]]:
    """Collect the names of the kernels that are compiled meanwhile, without those read from the cache."""
    names: list[str] = []
    with event.install_listener("numba:compile", _Names(names)):
        yield names
