"""Projection onto a permutahedron: a cap on every sum of the k largest weights, for all k at once."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import scipy  # type: ignore[import-untyped]
from array_api_compat import array_namespace, is_array_api_strict_namespace, is_numpy_namespace, to_device

from hopfieldphase.core.arrays import (
    Array,
    DType,
    Namespace,
    distribution,
    float_array,
    pattern_array,
    score_array,
)
from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.errors import InputError

_EXCESS = 1e-6  # of the total weight: float32 weights are on the permutahedron within their rounding
_Rows: TypeAlias = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Permutahedron(Attention):
    r"""Euclidean projection of the scores onto the hull of all permutations of a vector w.

    .. math:: p = \arg\min_p \tfrac12 |p - z|^2 \quad\text{s.t. } p \in P(w),

    where P(w) holds the p with Σp = Σw whose k largest entries sum to at most the k largest of w, for every
    k. In descending order of the scores, :math:`p = z - \mathrm{isotonic}(z - w)`: a threshold for every
    block of pooled scores instead of one for all, so that the map has no single threshold. Tied scores get
    equal weights. For w = (1, …, 1, 0, …, 0) with k ones P(w) is the capped simplex of `CappedSimplex`.

    Parameters
    ----------
    w : array, shape (n,)
        Non-negative, finite, in any order; the weights sum to Σw. A row of scores may have as many absent
        patterns as w has zeros.

    Raises
    ------
    InputError
        If w is not such a vector.

    Notes
    -----
    Negrinho and Martins, "Orbit Regularization" (2014), Proposition 14. The pooling is SciPy's
    `isotonic_regression`, row by row on the CPU: other libraries' scores are copied to NumPy and the
    results back.

    Examples
    --------
    >>> Permutahedron(np.array([0.5, 0.5, 0.0])).weights(np.array([2.0, 0.25, 0.0]))
    array([0.5  , 0.375, 0.125])
    """

    w: Array
    name: ClassVar[str] = "permutahedron"
    has_conjugate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _, values, _ = float_array(self.w, "w")
        w = _to_numpy(values)
        if w.ndim != 1 or w.size == 0 or not np.all((w >= 0) & (w < math.inf)) or not np.any(w > 0):
            raise InputError(
                f"w of shape {tuple(values.shape)} is no vector of finite numbers >= 0, not all 0: give one"
            )
        object.__setattr__(self, "w", np.flip(np.sort(w)))

    def weights(self, scores: Array) -> Array:
        """Weights p, which sum to Σw.

        Raises
        ------
        InputError
            If a row has NaN or +∞, or more absent patterns than w has zeros, or another length than w.
        """
        xp, z, dtype = self._rows(scores)
        return _back(xp, self._project(z), scores, dtype)

    def conjugate(self, scores: Array) -> Array:
        """Ω*(z) = max_p z·p − |p|²/2 over P(w). Errors as `weights`."""
        xp, z, dtype = self._rows(scores)
        p = self._project(z)
        value = np.sum(p * (np.where(p > 0, z, 0.0) - p / 2), axis=-1)
        return _back(xp, value, scores, dtype)

    def regularizer(self, p: Array) -> Array:
        """Ω(p) = |p|²/2 on P(w), +∞ off it."""
        xp, p, dtype = distribution(p, "p")
        rows = _to_numpy(p)
        if rows.shape[-1] != self.w.size:
            raise InputError(f"p has {rows.shape[-1]} weights, w {self.w.size}: give as many")
        excess = np.cumsum(np.flip(np.sort(rows, axis=-1), axis=-1), axis=-1) - np.cumsum(self.w)
        inside = np.all(excess <= _EXCESS * np.sum(self.w), axis=-1)
        return _back(xp, np.where(inside, np.sum(rows * rows, axis=-1) / 2, math.inf), p, dtype)

    def separation_margin(self, top: int = 1) -> float:
        """Σw/k for k = `top` equal scores if w has no more than k entries above zero, else ∞."""
        k = whole_number("top", top)
        return float(np.sum(self.w)) / k if np.sum(self.w > 0) <= k else math.inf

    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """J v: in each pooled block, v less its mean over the block; 0 where w is constant in the block.

        Errors as `weights`.
        """
        xp, z, dtype = self._rows(scores)
        _, v, v_dtype = pattern_array(direction, "direction")
        z, directions = np.broadcast_arrays(z, _to_numpy(v))
        action = np.empty(z.shape)
        for index in np.ndindex(z.shape[:-1]):
            action[index] = self._project_direction(z[index], directions[index])
        return _back(xp, action, scores, xp.result_type(dtype, v_dtype))

    def _rows(self, scores: Array) -> tuple[Namespace, _Rows, DType]:
        """Namespace, scores as a NumPy array, and the dtype of results."""
        xp, z, _, dtype = score_array(scores)
        if z.shape[-1] != self.w.size:
            raise InputError(f"scores have {z.shape[-1]} patterns, w {self.w.size}: give a weight for each")
        rows = _to_numpy(z)
        absent, zeros = int(np.max(np.sum(np.isneginf(rows), axis=-1), initial=0)), int(np.sum(self.w == 0))
        if absent > zeros:
            raise InputError(
                f"scores have {absent} absent patterns in a row, w has {zeros} zeros: an absent pattern has "
                "weight zero, so give w a zero for each"
            )
        return xp, rows, dtype

    def _pooled(self, z: _Rows) -> tuple[_Rows, _Rows, _Rows]:
        """Descending order of the patterns present in one row, their weights, and where blocks begin."""
        order = np.argsort(-z)[: int(np.sum(z > -math.inf))]
        ordered, w = z[order], self.w[: order.size]
        # Scores further apart than any two of the w are never pooled. Larger gaps are cut, so that
        # the difference to w keeps its digits under large scores.
        fall = np.cumsum(np.minimum(-np.diff(ordered, prepend=ordered[0]), 2 * (w[0] - w[-1]) or 1.0))
        blocks: _Rows = scipy.optimize.isotonic_regression(-fall - w, increasing=False).blocks[:-1]
        # Within a block p = z − mean(z) + mean(w), with differences that keep their digits.
        sizes = np.diff(blocks, append=order.size)
        rise = ordered - np.repeat(ordered[blocks], sizes)
        shift = (np.add.reduceat(w, blocks) - np.add.reduceat(rise, blocks)) / sizes
        return order, np.maximum(rise + np.repeat(shift, sizes), 0.0), blocks

    def _project(self, z: _Rows) -> _Rows:
        weights = np.zeros(z.shape)
        for index in np.ndindex(z.shape[:-1]):
            order, p, _ = self._pooled(z[index])
            weights[index][order] = p
        return weights

    def _project_direction(self, z: _Rows, v: _Rows) -> _Rows:
        order, _, blocks = self._pooled(z)
        w, ordered, sizes = self.w[: order.size], v[order], np.diff(blocks, append=order.size)
        change = ordered - np.repeat(np.add.reduceat(ordered, blocks) / sizes, sizes)
        level = np.minimum.reduceat(w, blocks) == np.maximum.reduceat(w, blocks)
        action = np.zeros_like(v)
        action[order] = np.where(np.repeat(level, sizes), 0.0, change)
        return action


def _to_numpy(array: Array) -> _Rows:
    xp: Namespace = array_namespace(array)
    if is_numpy_namespace(xp):
        values: _Rows = array
        return values
    # array-api-strict has no device of that name, and no other than the processor.
    return np.from_dlpack(array if is_array_api_strict_namespace(xp) else to_device(array, "cpu"))


def _back(xp: Namespace, values: _Rows, like: Array, dtype: DType) -> Array:
    """NumPy values in the library, dtype and on the device of the scores."""
    return xp.asarray(values, dtype=dtype, device=like.device if hasattr(like, "device") else None)
