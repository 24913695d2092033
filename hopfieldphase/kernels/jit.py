"""The one decorator of every compiled function."""

import sys
from collections.abc import Callable
from typing import Any

import numba

from hopfieldphase.kernels.cache import KernelCache


def jit(function: Callable[..., Any] | None = None, *, reorder: bool = False, element: bool = False) -> Any:
    """Compile `function` to machine code on its first call, without the GIL, cached on disk.

    Parameters
    ----------
    function : callable
        A function in the subset of Python that Numba compiles.
    reorder : bool
        Let the compiler reorder and fuse floating-point sums, which is what SIMD needs. Tests for
        NaN and inf keep their meaning; no flag that assumes them away is ever set.
    element : bool
        A function of scalars to be merged into the loops that call it. Products and sums may be
        fused, but never reordered: compensated arithmetic stays what it is.

    Returns
    -------
    callable
        The compiled function. Where no cache folder can be written it is compiled anew in every
        process; one line on stderr says so, once.
    """
    if function is None:
        return lambda inner: jit(inner, reorder=reorder, element=element)
    compiled: Any = numba.njit(
        nogil=True,
        error_model="numpy",
        forceinline=element,
        fastmath={"reassoc", "contract", "nsz"} if reorder else {"contract"} if element else False,
    )(function)
    try:
        compiled._cache = KernelCache(function, _tell_once)
    except (OSError, RuntimeError) as reason:
        _tell_once(reason)
    return compiled


def _tell_once(reason: Exception) -> None:
    if not _told:
        _told.append(reason)
        sys.stderr.write(
            f"hopfieldphase: compiled kernels cannot be kept on disk ({reason}), so that each process "
            "compiles them anew: set NUMBA_CACHE_DIR to a folder that can be written\n"
        )


_told: list[Exception] = []
