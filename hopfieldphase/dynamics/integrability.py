"""Empirical attention integrals under heavy tails, against the size of the sample."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from hopfieldphase.core.ensembles.integrability import ScoreKernel
from hopfieldphase.core.ensembles.laws import Law

Floats = NDArray[np.float64]

POWERS = (0, 1)
"""Powers of |z| below the sum: 0 for the denominator of attention, 1 for its numerator."""


def running_integrals(
    law: Law,
    kernels: Sequence[ScoreKernel],
    score: float,
    sizes: Sequence[int],
    seed: int | np.random.Generator = 0,
) -> Floats:
    """Logarithms of the means of g(cz)|z|^p over the first n draws from a law, for each n.

    Parameters
    ----------
    law : Law
    kernels : sequence of ScoreKernel
    score : float
        c > 0.
    sizes : sequence of int
        Ascending.
    seed : int or numpy.random.Generator

    Returns
    -------
    ndarray, shape (kernels, powers, sizes)
        In logarithms nothing overflows: of softmax the mean passes e^1000 within a thousand draws.

    Notes
    -----
    Equation (3) of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures" on empirical measures.
    """
    z = law.sample(int(sizes[-1]), seed)
    starts = np.array([0, *sizes[:-1]])
    with np.errstate(divide="ignore"):
        log_sizes = np.log(np.abs(z))
    found = np.empty((len(kernels), len(POWERS), len(sizes)))
    for i, kernel in enumerate(kernels):
        logs = kernel.log(score * z)
        for k, power in enumerate(POWERS):
            terms = logs + log_sizes if power else logs
            parts = [_log_sum(terms[first:last]) for first, last in zip(starts, sizes, strict=True)]
            found[i, k] = np.logaddexp.accumulate(np.array(parts)) - np.log(sizes)
    return found


def _log_sum(terms: Floats) -> Any:
    return scipy.special.logsumexp(terms)
