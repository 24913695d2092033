"""The uniform state on a set of patterns: where it exists and where it loses stability."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.closed_forms._common import ROUNDING, gram_matrix, index
from hopfieldphase.core.errors import InputError


def uniform_spinodal(gram: Any, alpha: float) -> float:
    """Inverse temperature at which the uniform state on k patterns loses stability.

    α k^(2−α) / λ_max(P G P), P = I − 11ᵀ/k, for the Gram matrix G of these k patterns.

    Parameters
    ----------
    gram : array-like, shape (k, k)
        Gram matrix of the patterns that carry the weight; cosines give b = β s², s² Ξ Ξᵀ gives β.
    alpha : float
        Tsallis index in (0, inf). For α ≤ 1 every pattern carries weight: k = M only.

    Returns
    -------
    float
        The state is a strict minimum below it (and above `uniform_existence`); `inf` where λ_max is zero
        to rounding: one pattern, or equal ones.

    Raises
    ------
    InputError
        If gram is not a symmetric matrix or alpha lies outside (0, inf). At α = ∞ there is no such point:
        the Hessian is β I in every state.

    Notes
    -----
    Premise: the uniform state is stationary, that is, the rows of G have equal sums
    (`is_uniform_stationary`). For α = 2 the value holds for every stationary state on this support, uniform
    or not: Proposition 4.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347). Other α
    from the Hessian β I − β² s² Ξᵀ J Ξ with J = P k^(α−2)/α.
    """
    matrix = gram_matrix(gram)
    alpha = index(alpha)
    k = matrix.shape[0]
    rows = matrix.mean(axis=1)
    centred = matrix - rows - rows[:, None] + rows.mean()
    largest = float(np.linalg.eigvalsh(centred)[-1])
    if largest <= 4 * k * ROUNDING * float(np.max(np.abs(matrix))):
        return math.inf
    return alpha * k ** (2 - alpha) / largest


def uniform_existence(gram: Any, support: Sequence[int], alpha: float) -> float:
    """Inverse temperature from which the uniform state on a support is stationary.

    α k^(1−α) / ((α−1)(r_in − max r_out)), r_μ the mean inner product of pattern μ with the k patterns of the
    support; from there on no other pattern exceeds the threshold.

    Parameters
    ----------
    gram : array-like, shape (M, M)
        Gram matrix of all patterns; cosines give b = β s², s² Ξ Ξᵀ gives β.
    support : sequence of int
        The k patterns that carry the weight.
    alpha : float
        Tsallis index in (0, inf).

    Returns
    -------
    float
        0 where the support is all patterns, `inf` where no temperature keeps the others out: r_in ≤
        max r_out, or α ≤ 1 with k < M.

    Raises
    ------
    InputError
        If gram, the support or alpha lies outside its domain.

    Notes
    -----
    Premise: equal row sums of the Gram matrix of the support (`is_uniform_stationary`). Source: the
    threshold of Lemma F.1 in arXiv:2610.17347, with p = 1/k on the support.
    """
    matrix = gram_matrix(gram)
    alpha = index(alpha)
    M = matrix.shape[0]
    inside = sorted({whole_number("support index", pattern, at_least=0) for pattern in support})
    k = len(inside)
    if k == 0 or k != len(support) or inside[-1] >= M:
        raise InputError(
            f"support = {list(support)} is not a set of patterns: give different indices below {M}"
        )
    if k == M:
        return 0.0
    mean = matrix[:, inside].mean(axis=1)
    outside = np.delete(mean, inside)
    gap = float(mean[inside].mean() - outside.max())
    if alpha <= 1 or gap <= 4 * ROUNDING * float(np.max(np.abs(matrix))):
        return math.inf
    return alpha * k ** (1 - alpha) / ((alpha - 1) * gap)


def is_uniform_stationary(gram: Any, tolerance: float = 1e-9) -> bool:
    """Whether the uniform state on these patterns is stationary: equal row sums of the Gram matrix.

    Parameters
    ----------
    gram : array-like, shape (k, k)
    tolerance : float, default 1e-9
        Spread of the row means allowed, relative to the largest entry.
    """
    matrix = gram_matrix(gram)
    means = matrix.mean(axis=1)
    return bool(means.max() - means.min() <= tolerance * np.max(np.abs(matrix)))
