r"""Distances between samples, in plain NumPy: energy distance, 2-Wasserstein distance, tail index, floors.

The energy distance of exponent r between samples x (n points) and y (m points) is

.. math:: \mathcal{E}^2 = \frac{2}{nm}\sum_{ij} |x_i - y_j|^r - \frac{1}{n^2}\sum_{ij} |x_i - x_j|^r
   - \frac{1}{m^2}\sum_{ij} |y_i - y_j|^r,

the squared one: SciPy's `energy_distance` is its root. With n(n − 1) and m(m − 1) below the last two sums it
is unbiased (the U-statistic). "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", equations
(9), (10) and (41).
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.ensembles.laws import SymmetricLaw
from hopfieldphase.core.errors import InputError

Floats = NDArray[np.float64]

_ROWS = 2**22  # numbers of one block of differences


def energy_distance(x: Any, y: Any, *, exponent: float = 1.0, unbiased: bool = False) -> float:
    """Energy distance (squared) between two samples.

    Parameters
    ----------
    x, y : array-like, shape (n,) or (n, d) and (m,) or (m, d)
        Points; n and m may differ.
    exponent : float
        r in (0, 2).
    unbiased : bool
        The U-statistic, which has mean zero for equal laws and may be negative. Else the V-statistic, which
        is never negative, and zero for equal samples only.

    Returns
    -------
    float
        In units of the data to the power r.

    Raises
    ------
    InputError
        If the samples have different dimensions, too few points (one; two for the U-statistic) or NaN or inf.
    """
    x, y, scale = sample_pair(x, y, least=2 if unbiased else 1)
    exponent = distance_exponent(exponent)
    cross, first, second = (mean_distance(a, b, exponent) for a, b in ((x, y), (x, x), (y, y)))
    return scale**exponent * combined(cross, first, second, len(x), len(y), unbiased=unbiased)


def mean_distance(x: Floats, y: Floats, exponent: float) -> float:
    """Mean of |x_i − y_j|^r over all pairs, for points of shape (n, d) and (m, d)."""
    block = max(_ROWS // y.size, 1)
    sums = [
        float(np.sum(np.sum((x[i : i + block, None] - y) ** 2, axis=2) ** (exponent / 2)))
        for i in range(0, len(x), block)
    ]
    return math.fsum(sums) / (len(x) * len(y))


def combined(cross: float, first: float, second: float, n: int, m: int, *, unbiased: bool = False) -> float:
    """The energy distance from the mean distances across and within samples of n and m points."""
    if unbiased:
        first, second = first * n / (n - 1), second * m / (m - 1)
    return 2 * cross - first - second


def wasserstein_2(x: Any, y: Any) -> float:
    r"""2-Wasserstein distance between two samples on the line, :math:`\sqrt{\sum_i (x_{(i)} - y_{(i)})^2/n}`.

    Parameters
    ----------
    x, y : array-like, shape (n,)
        Of equal size: points are coupled in their order.

    Returns
    -------
    float
        In units of the data.

    Raises
    ------
    InputError
        If the samples are not one-dimensional, of different sizes, empty, or hold NaN or inf.
    """
    x, y, scale = sample_pair(x, y)
    if x.shape[1] != 1 or len(x) != len(y):
        raise InputError(
            f"samples of {len(x)} points in {x.shape[1]} dimensions and {len(y)} points: "
            "give two one-dimensional samples of equal size"
        )
    return scale * math.sqrt(float(np.mean((np.sort(x[:, 0]) - np.sort(y[:, 0])) ** 2)))


def hill(x: Any, k: int) -> float:
    r"""Hill's estimate of the upper tail index from the k largest values, x_(1) ≥ x_(2) ≥ ….

    .. math:: \hat a = \Bigl(\frac1k \sum_{l=1}^{k} \ln \frac{x_{(l)}}{x_{(k+1)}}\Bigr)^{-1}

    Parameters
    ----------
    x : array-like, shape (n,)
    k : int
        How many of the largest values are taken, 1 ≤ k < n.

    Returns
    -------
    float
        Dimensionless; inf where the k + 1 largest values are equal. Its standard error is a/√k for an exact
        Pareto tail.

    Raises
    ------
    InputError
        If k is outside its domain, the (k + 1)st largest value is not positive, or x holds NaN or inf.

    Notes
    -----
    Equation (38) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".
    """
    values = _line(sample(x, "x", least=2), "a tail index")
    n, k = len(values), whole_number("k", k)
    if k >= n:
        raise InputError(f"k = {k} of {n} values: give k < {n}, the next one is the threshold")
    top = np.partition(values, n - k - 1)[n - k - 1 :]
    if not top[0] > 0:
        raise InputError(f"value number {k + 1} from above is {top[0]:g}, not positive: give a smaller k")
    excess: Floats = np.log(top[1:] / top[0])
    mean = float(np.mean(excess))
    return 1 / mean if mean > 0 else math.inf


def iid_floor(mean_difference: float, n: int) -> float:
    """Mean V-statistic of two independent samples of n points of one law, 2δ/n with δ = E|Y − Y′|.

    Raises
    ------
    InputError
        If δ is negative or n < 1.

    Notes
    -----
    Equation (34) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".
    """
    return 2 * real_number("mean_difference", mean_difference, 0, math.inf) / whole_number("n", n)


def deterministic_mean(distance: float, mean_difference: float, n: int) -> float:
    """Mean V-statistic of a fixed point set against n independent draws, E²(R, P) + δ/n.

    It lies below `iid_floor` where the distance E²(R, P) between set and law (`distance_to_law`) is below
    δ/n: a score under the floor does not mean that a set is better than the target.

    Raises
    ------
    InputError
        If a number is negative or n < 1.

    Notes
    -----
    Equation (35) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".
    """
    excess = real_number("distance", distance, 0, math.inf)
    return excess + real_number("mean_difference", mean_difference, 0, math.inf) / whole_number("n", n)


def distance_to_law(x: Any, law: SymmetricLaw) -> float:
    """Energy distance between a point set on the line and a whole law, 2E|U − Y| − E|U − U′| − δ.

    Parameters
    ----------
    x : array-like, shape (n,)
        U takes each of these points with probability 1/n.
    law : SymmetricLaw
        Of Y; has a mean.

    Returns
    -------
    float
        ≥ 0 up to rounding of the mean distances.

    Raises
    ------
    InputError
        If x is not a sample on the line, or the law has no mean.
    """
    values = np.sort(_line(sample(x, "x"), "the law"))
    difference = law.mean_difference()
    if math.isinf(difference):
        raise InputError(f"{law} has no mean: the energy distance to it is not defined")
    rank = np.arange(1, len(values)) / len(values)
    own = 2 * float(np.sum(rank * (1 - rank) * np.diff(values)))
    return 2 * float(np.mean(law.expected_distance(values))) - own - difference


def sample_pair(x: Any, y: Any, least: int = 1) -> tuple[Floats, Floats, float]:
    """Two samples of one dimension as (n, d) and (m, d) arrays, and the unit that they are given in.

    The unit is 1 but for extreme numbers, whose squares would leave the range of floats.
    """
    x, y = sample(x, "x", least), sample(y, "y", least)
    if x.shape[1] != y.shape[1]:
        raise InputError(
            f"x has {x.shape[1]} and y has {y.shape[1]} dimensions: give points of one space, one per row"
        )
    largest = max(float(np.max(np.abs(x))), float(np.max(np.abs(y))))
    if largest == 0 or 1e-100 < largest < 1e150:
        return x, y, 1.0
    return x / largest, y / largest, largest


def sample(x: Any, name: str, least: int = 1) -> Floats:
    """Points as an (n, d) float64 array, or `InputError`."""
    try:
        values: Floats = np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} does not hold real numbers ({error}): give one point per row") from error
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or values.shape[1] == 0 or len(values) < least:
        raise InputError(
            f"{name} has shape {np.shape(x)}: give at least {least} point{'s' if least > 1 else ''}, "
            "of shape (n,) or (n, d)"
        )
    if not np.isfinite(values).all():
        raise InputError(f"{name} holds NaN or inf: give finite points")
    return values


def distance_exponent(exponent: float) -> float:
    """The exponent of an energy distance as a float, or `InputError` unless 0 < r < 2."""
    return real_number("exponent", exponent, 0, 2, ends="()")


def _line(values: Floats, what: str) -> Floats:
    if values.shape[1] != 1:
        raise InputError(f"x has {values.shape[1]} dimensions, {what} is one-dimensional: give shape (n,)")
    return values[:, 0]
