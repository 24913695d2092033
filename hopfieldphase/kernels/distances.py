"""Energy distance of samples with compiled loops: on the line by sorting, in d dimensions over all pairs."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.distances import Floats, combined, distance_exponent, sample_pair
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.pair_sums import cross_sums, sorted_difference, sorted_energy, within_sums
from hopfieldphase.kernels.threads import run_chunks

_LEAST_PAIRS = 2**18  # a fraction of a millisecond: less is not worth a thread


def energy_distance(
    x: Any, y: Any, *, exponent: float = 1.0, unbiased: bool = False, threads: int | None = None
) -> float:
    r"""Energy distance (squared) between two samples.

    .. math:: \mathcal{E}^2 = \frac{2}{nm}\sum_{ij} |x_i - y_j|^r - \frac{1}{n^2}\sum_{ij} |x_i - x_j|^r
       - \frac{1}{m^2}\sum_{ij} |y_i - y_j|^r

    On the line with r = 1 it is 2 ∫ (F − G)² over the sorted samples, in O(n log n) and without
    cancellation; otherwise all pairs are summed, in blocks that stay in the cache.

    Parameters
    ----------
    x, y : array-like, shape (n,) or (n, d) and (m,) or (m, d)
        Points; n and m may differ.
    exponent : float
        r in (0, 2).
    unbiased : bool
        The U-statistic, with n(n − 1) and m(m − 1) below the last two sums: it has mean zero for equal laws
        and may be negative. Else the V-statistic, which is never negative, and zero for equal samples only.
    threads : int, optional
        See `kernels.threads.thread_count`. The result does not depend on it.

    Returns
    -------
    float
        In units of the data to the power r; SciPy's `energy_distance` is its root.

    Raises
    ------
    InputError
        If the samples have different dimensions, too few points (one; two for the U-statistic) or NaN or inf.

    Notes
    -----
    Equations (10) and (41) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".

    Examples
    --------
    >>> energy_distance([0.0, 1.0], [0.0, 3.0])
    1.0
    >>> energy_distance([0.0, 1.0], [0.0, 3.0], unbiased=True)
    -1.0
    """
    x, y, scale = sample_pair(x, y, least=2 if unbiased else 1)
    exponent = distance_exponent(exponent)
    return scale**exponent * _energy(x, y, exponent, unbiased, threads)


@dataclass(frozen=True)
class BlockDistances:
    """The energy distance of two ensembles, and of blocks of them.

    Attributes
    ----------
    pooled : float
        Of the whole ensembles, D(A).
    blockwise : float
        Mean of the blocks' own, D(I).
    off_block : float or None
        Contrast averaged over the pairs of different blocks, D(O); None for a single block.
    """

    pooled: float
    blockwise: float
    off_block: float | None


def block_distances(
    x: Any, y: Any, blocks: int, *, exponent: float = 1.0, threads: int | None = None
) -> BlockDistances:
    """Energy distances of whole ensembles and of consecutive blocks of equal size.

    With N₁ blocks, pooled = blockwise/N₁ + (1 − 1/N₁) off_block: training on blocks is another objective
    than training on the whole.

    Parameters
    ----------
    x, y : array-like, shape (n,) or (n, d)
        Of equal size.
    blocks : int
        N₁ ≥ 1, a divisor of n.
    exponent, threads
        As for `energy_distance`.

    Returns
    -------
    BlockDistances

    Raises
    ------
    InputError
        If the sizes differ or cannot be divided, and as `energy_distance` does.

    Notes
    -----
    Proposition 2, equations (16) and (17), of "Attention Kernels for Learning Maps Between Heavy-Tailed
    Measures". Each of the three values is summed over its own pairs: none is inferred from the identity.
    """
    x, y, scale = sample_pair(x, y)
    exponent, blocks, n = distance_exponent(exponent), whole_number("blocks", blocks), len(x)
    if len(y) != n or n % blocks:
        raise InputError(
            f"{blocks} blocks of samples of {n} and {len(y)} points: give equal sizes that {blocks} divides"
        )
    xs, ys = np.split(x, blocks), np.split(y, blocks)
    own = [_energy(a, b, exponent, False, threads) for a, b in zip(xs, ys, strict=True)]
    off = []
    for i in range(blocks if blocks > 1 else 0):
        others = np.arange(n) // (n // blocks) != i
        cross, first, second = (
            _mean_cross(a, b, exponent, threads)
            for a, b in ((xs[i], y[others]), (xs[i], x[others]), (ys[i], y[others]))
        )
        off.append(2 * cross - first - second)
    unit = scale**exponent
    return BlockDistances(
        unit * _energy(x, y, exponent, False, threads),
        unit * math.fsum(own) / blocks,
        unit * math.fsum(off) / blocks if off else None,
    )


def _energy(x: Floats, y: Floats, exponent: float, unbiased: bool, threads: int | None) -> float:
    n, m = len(x), len(y)
    if x.shape[1] == 1 and exponent == 1:
        x, y = np.sort(x[:, 0]), np.sort(y[:, 0])
        value = sorted_energy(x, y)
        if not unbiased:
            return value
        return value - sorted_difference(x) / (n - 1) - sorted_difference(y) / (m - 1)
    cross = _mean_cross(x, y, exponent, threads)
    first, second = (_mean_within(points, exponent, threads) for points in (x, y))
    return combined(cross, first, second, n, m, unbiased=unbiased)


def _mean_cross(x: Floats, y: Floats, exponent: float, threads: int | None) -> float:
    sums, least = np.empty(len(x)), max(_LEAST_PAIRS // len(y), 1)
    left, right = np.ascontiguousarray(x.T), np.ascontiguousarray(y.T)
    run_chunks(lambda i, j: cross_sums(left, right, 0.5 * exponent, i, j, sums), len(x), threads, least=least)
    return float(np.sum(sums)) / (len(x) * len(y))


def _mean_within(x: Floats, exponent: float, threads: int | None) -> float:
    sums, least = np.empty(len(x)), max(_LEAST_PAIRS // len(x), 1)
    points = np.ascontiguousarray(x.T)
    run_chunks(lambda i, j: within_sums(points, 0.5 * exponent, i, j, sums), len(x), threads, least=least)
    return 2 * float(np.sum(sums)) / len(x) ** 2
