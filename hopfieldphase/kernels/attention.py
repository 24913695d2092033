"""Every attention map of the field, their weights for batches of any size, and their losses.

A map is a small immutable object with methods `weights`, `jacobian_action`, `support`, `threshold`,
`conjugate`, `regularizer` and `separation_margin`; which of them it has, `core.attention.contract.Attention`
says. `weights` below gives the same weights faster, for NumPy arrays, wherever a compiled routine exists.
"""

from typing import Any, Protocol

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.attention import (
    Attention,
    CappedEntmax,
    CappedSimplex,
    ConstrainedSoftmax,
    ConstrainedSparsemax,
    Entmax,
    Exponential,
    FixedTemperature,
    GreedyFilling,
    LengthScaled,
    LinearElu,
    Logarithmic,
    LogElu,
    Normmax,
    Permutahedron,
    PositiveKernel,
    PowerOfLogarithm,
    Scaling,
    Separable,
    SparsemaxK,
    SquaredElu,
    TopK,
    TopP,
    WaterFilling,
    Yarn,
    fenchel_young_gradient,
    fenchel_young_loss,
)
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import maps
from hopfieldphase.kernels.attention_capped import capped_weights
from hopfieldphase.kernels.attention_greedy import greedy_weights
from hopfieldphase.kernels.attention_normmax import normmax_weights
from hopfieldphase.kernels.attention_positive import positive_weights
from hopfieldphase.kernels.attention_selection import selected_weights
from hopfieldphase.kernels.attention_separable import separable_weights
from hopfieldphase.kernels.row_batches import checked_out

__all__ = [
    "Attention",
    "CappedEntmax",
    "CappedSimplex",
    "ConstrainedSoftmax",
    "ConstrainedSparsemax",
    "Entmax",
    "Exponential",
    "FixedTemperature",
    "GreedyFilling",
    "LengthScaled",
    "LinearElu",
    "LogElu",
    "Logarithmic",
    "Normmax",
    "Permutahedron",
    "PositiveKernel",
    "PowerOfLogarithm",
    "Scaling",
    "Separable",
    "SparsemaxK",
    "SquaredElu",
    "TopK",
    "TopP",
    "WaterFilling",
    "Yarn",
    "fenchel_young_gradient",
    "fenchel_young_loss",
    "weights",
]


class _Compiled(Protocol):
    def __call__(
        self, attention: Any, scores: Array, *, out: Array | None = None, threads: int | None = None
    ) -> Array: ...


def _entmax_weights(
    attention: Entmax, scores: Array, *, out: Array | None = None, threads: int | None = None
) -> Array:
    return maps.entmax(scores, attention.alpha, out=out, threads=threads)


_COMPILED: tuple[tuple[tuple[type[Attention], ...], _Compiled], ...] = (
    ((Entmax,), _entmax_weights),
    ((TopK, CappedEntmax, SparsemaxK, TopP), selected_weights),
    ((Separable,), separable_weights),
    ((WaterFilling, ConstrainedSoftmax), capped_weights),
    ((GreedyFilling,), greedy_weights),
    ((Normmax,), normmax_weights),
    ((Exponential, SquaredElu, LinearElu, LogElu), positive_weights),
)


def weights(
    attention: Attention, scores: Array, *, out: Array | None = None, threads: int | None = None
) -> Array:
    """Weights of any attention map, ``attention.weights(scores)``, compiled wherever that exists.

    Parameters
    ----------
    attention : Attention
        The map.
    scores : array, shape (..., n)
        Scores of n patterns along the last axis; −∞ marks an absent pattern. Arrays of other libraries than
        NumPy take the map's own method.
    out : array, shape (..., n), optional
        NumPy array of the dtype of the result to write into; undefined after an error.
    threads : int, optional
        Threads to use; by default the environment variable HOPFIELDPHASE_THREADS, else all cores. The
        result does not depend on it.

    Returns
    -------
    array, shape (..., n)
        In the dtype of the scores (float32 or float64; float64 for integers).

    Raises
    ------
    InputError
        If `attention` is no attention map, a row of scores is not in its domain, or `out` does not fit.

    Examples
    --------
    >>> weights(TopK(2), [1.0, 3.0, 2.0, 2.0]).round(4)
    array([0.    , 0.7311, 0.2689, 0.    ])
    """
    for kinds, compiled in _COMPILED:
        if isinstance(attention, kinds):
            return compiled(attention, scores, out=out, threads=threads)
    if not isinstance(attention, Attention):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(
            f"attention = {attention!r} is no attention map: give one, as Entmax(1.5) or TopK(8)"
        )
    result = attention.weights(scores)
    if out is None:
        return result
    out = checked_out(out, result)
    out[...] = result
    return out
