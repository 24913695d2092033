"""Bootstrap intervals of evaluation scores against their i.i.d. sampling reference."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import scipy  # type: ignore[import-untyped]

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.distances import Floats, sample
from hopfieldphase.core.errors import InputError

Summary = Literal["median", "mean"]


@dataclass(frozen=True)
class RatioInterval:
    """A ratio of two summaries with the ends of its bootstrap interval."""

    ratio: float
    low: float
    high: float


def bootstrap_ratio(
    distances: Any,
    reference: Any,
    summary: Summary = "median",
    *,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> RatioInterval:
    """Ratio S(d₁ … d_n)/S(d̂₁ … d̂_m) with its percentile bootstrap interval over trials.

    Both groups are resampled with replacement, independently of each other.

    Parameters
    ----------
    distances, reference : array-like, shape (n,) and (m,)
        Distances of n trials to their targets, and between two target ensembles of m other trials.
    summary : {"median", "mean"}
        S. Of heavy-tailed distances the interval of the mean describes, its coverage is not established.
    level : float
        Between 0 and 1.
    resamples : int
    seed : int

    Returns
    -------
    RatioInterval

    Raises
    ------
    InputError
        For fewer than two trials, NaN or inf, an unknown summary, a level outside (0, 1), or a reference
        whose summary is not positive.

    Notes
    -----
    Equations (36) and (37) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".
    """
    d = sample(distances, "distances", least=2)[:, 0]
    floor = sample(reference, "reference", least=2)[:, 0]
    if summary not in get_args(Summary):
        raise InputError(f"summary = {summary!r} is unknown: use median or mean")
    level = real_number("level", level, 0, 1, ends="()")
    of = np.median if summary == "median" else np.mean
    if not float(of(floor)) > 0:
        raise InputError(f"the {summary} of the reference is {of(floor):g}: give positive distances")

    def ratio(above: Floats, below: Floats, axis: int = -1) -> Floats:
        return np.asarray(of(above, axis=axis) / of(below, axis=axis))

    found = _bootstrap(
        (d, floor),
        ratio,
        n_resamples=whole_number("resamples", resamples),
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(whole_number("seed", seed, 0)),
    ).confidence_interval
    interval = RatioInterval(float(ratio(d, floor)), float(found.low), float(found.high))
    if not all(map(math.isfinite, (interval.ratio, interval.low, interval.high))):
        raise InputError("resampled references reach zero: the ratio has no interval")
    return interval


def _bootstrap(*args: Any, **options: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):  # a ratio to zero is reported in words
        return scipy.stats.bootstrap(*args, **options)  # pyright: ignore[reportUnknownMemberType]
