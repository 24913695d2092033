"""Thermal attention: Gibbs and escort averages of the weights at a fixed query, over simplex or vertices.

Sources: Propositions D.7, D.8 and Lemma D.2 of "On the Statistical Mechanics of Attention"
(arXiv:2610.17347).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from hopfieldphase.core import tsallis
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.domain import inverse_temperature, tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.simplex import (
    Matrix,
    SimplexIntegral,
    Vector,
    exponential_covariance,
    exponential_integral,
    falling_power_integral,
    rising_power_integral,
    singular_power_integral,
)


@dataclass(frozen=True, eq=False)
class ThermalAttention:
    """Average weights of the deformed Gibbs ensemble ρ(p) = exp_α(−βH)/Z at a fixed query.

    Attributes
    ----------
    weights : array, shape (M,)
        The normalised escort average p^(esc)/C, which sums to one; the Gibbs average at α = 1.
    log_normalisation : float
        log C, C = ∫ρ^α or Σρ^α; 0 at α = 1.
    log_partition : float
        log Z.
    """

    weights: Vector
    log_normalisation: float
    log_partition: float

    @property
    def escort_moment(self) -> Vector:
        """The unnormalised moment p^(esc) = ∫ p ρ^α of Eq. (D.10), shape (M,): C times the weights.

        With many patterns C, of the order ((M − 1)!)^{α−1}, leaves the range of doubles: it is then infinite.
        """
        with np.errstate(over="ignore"):
            return np.exp(self.log_normalisation + np.log(self.weights))


def thermal_attention(
    scores: Vector, alpha: float = 1.0, beta: float = 1.0, *, lowest_energy: float = 0.0
) -> ThermalAttention:
    r"""Thermal attention over the simplex, exact for any α and any number of patterns.

    The weights are :math:`\int p\,\rho^\alpha dp / \int \rho^\alpha dp` with
    :math:`\rho = \exp_\alpha(-\beta H(p))/Z` and :math:`H(p) = H_{\min} + \max z - z \cdot p`. At α = 1 they
    are ratios of divided differences of the exponential function, and `lowest_energy` drops out of them.

    Parameters
    ----------
    scores : array, shape (M,)
        Overlaps z, finite.
    alpha : float
        Tsallis index, 0 < α < ∞.
    beta : float
        Inverse temperature, 0 < β < ∞.
    lowest_energy : float
        H_min, the energy of the best vertex: ½|x|² − max z − J·x/β for a query x in a source J. By default 0,
        the assumption of Lemma D.2 and Proposition D.8.

    Returns
    -------
    ThermalAttention

    Raises
    ------
    InputError
        If α or β lies outside its domain, the scores are not a finite vector, or the ensemble does not exist:
        for α > 1, 1 + (α − 1) β H_min must be positive, for α < 1, 1 − (1 − α) β H_min.

    Notes
    -----
    Proposition D.7 and Remark D.5. The measure is dp₁ … dp_{M−1}, of volume 1/(M − 1)!. Relative errors are
    near 1e-14 (`dynamics.simplex`); the cost is that of some hundred evaluations of the weights.

    Examples
    --------
    >>> average = thermal_attention(np.array([0.0, 1.0, 2.0, -1.0]), lowest_energy=-2.0)
    >>> average.weights.round(6)
    array([0.218376, 0.265533, 0.332162, 0.183928])
    >>> round(math.exp(average.log_partition), 9)
    0.311055195
    """
    alpha, beta, gaps = _checked(scores, alpha, beta)
    if alpha == 1:
        found = exponential_integral(-beta * gaps)
        return ThermalAttention(found.mean, 0.0, found.log_value - beta * lowest_energy)
    plain = _power_integral(gaps, alpha, beta, lowest_energy, 1.0)
    escort = _power_integral(gaps, alpha, beta, lowest_energy, alpha)
    return ThermalAttention(escort.mean, escort.log_value - alpha * plain.log_value, plain.log_value)


def vertex_attention(
    scores: Vector, alpha: float = 1.0, beta: float = 1.0, *, lowest_energy: float = 0.0
) -> ThermalAttention:
    r"""Thermal attention over the vertices of the simplex: the softmax at α = 1.

    As `thermal_attention`, with sums over the M single patterns in place of integrals:
    :math:`\rho_\mu = \exp_\alpha(-\beta H_\mu)/Z`, :math:`H_\mu = H_{\min} + \max z - z_\mu`.

    Notes
    -----
    Lemma D.2 and Proposition D.8, the discrete case. These are not the attention weights of index α: for
    α > 1 they fall like (z_max − z_μ)^{−α/(α−1)} and have full support.

    Examples
    --------
    >>> vertex_attention(np.array([0.0, 0.5, 1.0]), beta=2).weights.round(4)
    array([0.09  , 0.2447, 0.6652])
    """
    alpha, beta, gaps = _checked(scores, alpha, beta)
    if alpha == 1:
        weights = np.exp(-beta * gaps)
        total = float(np.sum(weights))
        log_partition = math.log(total) - beta * lowest_energy
        return ThermalAttention(weights / total, 0.0, log_partition)
    base = _base(alpha, beta, lowest_energy)
    bracket = 1 + (alpha - 1) * beta * gaps / base
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(bracket, 0.0)) / (1 - alpha)
    total = float(np.sum(np.exp(logs)))
    density = np.exp(logs) / total
    log_partition = math.log(total) + math.log(base) / (1 - alpha)
    # The best vertex has logs = 0: no sum of powers underflows.
    log_normalisation = math.log(float(np.sum(np.exp(alpha * logs)))) - alpha * math.log(total)
    return ThermalAttention(tsallis.escort(density, alpha), log_normalisation, log_partition)


def gibbs_covariance(scores: Vector, beta: float = 1.0) -> Matrix:
    r"""Covariance of the weights under the Gibbs measure over the simplex, α = 1, shape (M, M).

    It is the response :math:`\beta^{-1} \partial \langle p_\mu \rangle / \partial z_\nu` of thermal attention
    to the scores. Parameters and errors as for `thermal_attention`.
    """
    _, beta, gaps = _checked(scores, 1.0, beta)
    return exponential_covariance(-beta * gaps)


def zero_temperature_attention(scores: Vector, alpha: float = 1.0) -> Vector:
    r"""The limit β → ∞ of thermal attention over the simplex, shape (M,).

    For α ≤ 1 the hardmax, ties shared. For α > 1 the escort density tends to one proportional to
    :math:`(\max z - z \cdot p)^{-\alpha/(\alpha-1)}`: with n patterns at the maximum it is not integrable
    there, and everything concentrates on them, for M − n ≤ α/(α − 1) only. With more patterns it is a proper
    density, and its mean is the limit: the weights stay mixed.

    Parameters
    ----------
    scores : array, shape (M,)
        Overlaps z, finite.
    alpha : float
        Tsallis index, 0 < α < ∞.

    Notes
    -----
    Proposition D.8 states the hardmax for every α > 1 and M. At M − n = α/(α − 1) it is reached like 1/log β.

    Examples
    --------
    >>> zero_temperature_attention(np.array([1.0, 0.0, 0.0]), alpha=3).round(6)
    array([0.666667, 0.166667, 0.166667])
    """
    alpha, _, gaps = _checked(scores, alpha, 1.0)
    top = gaps == 0
    away = int(np.sum(~top))
    if alpha <= 1 or away <= alpha / (alpha - 1):
        return top / np.sum(top)
    return singular_power_integral(gaps, alpha / (alpha - 1)).mean


def normalisation_growth(alpha: float, M: int) -> float:
    r"""The exponent of C = ∫ρ^α ~ β^a over the simplex of M patterns as β → ∞, one of them best, α > 1.

    With k = 1/(α − 1), ρ falls like (β gap)^{−k} away from its vertex. Its integral over the M − 1 directions
    converges at the scale 1/β for M − 1 < k only, that of ρ^α for M − 1 < k + 1 only; beyond, they are
    carried by the whole simplex. Hence

        a = (α − 1)(M − 1) for M − 1 ≤ k,    k + 2 − M for k ≤ M − 1 ≤ k + 1,    0 for M − 1 ≥ k + 1,

    with logarithms at M − 1 = k and k + 1.

    Raises
    ------
    InputError
        If α is not in (1, ∞) or M < 2.

    Notes
    -----
    Lemma D.2 states the first case for every M. In the last, ρ^α does not concentrate: the escort weights
    stay mixed at zero temperature, in contrast to Proposition D.8.

    Examples
    --------
    >>> [normalisation_growth(alpha, M) for alpha, M in ((1.5, 2), (2, 2), (3, 2), (3, 3))]
    [0.5, 1.0, 0.5, 0.0]
    """
    alpha = real_number("alpha", alpha, 1, math.inf, ends="()")
    M = whole_number("M", M, 2)
    k = 1 / (alpha - 1)
    if k >= M - 1:
        return (alpha - 1) * (M - 1)
    return max(k + 2 - M, 0.0)


def local_growth(scores: Vector, alpha: float, beta: float) -> float:
    r"""The local exponent :math:`d \log C / d \log \beta` of C over the simplex, exact, α > 1.

    Parameters and errors as for `thermal_attention` with H_min = 0. It tends to `normalisation_growth`.
    """
    alpha, beta, gaps = _checked(scores, real_number("alpha", alpha, 1, math.inf, ends="()"), beta)

    def logarithmic_derivative(power: float) -> float:
        # d/dβ (1 + (α−1)βg·p)^{−power/(α−1)} = −power (g·p)(1 + …)^{−(power+α−1)/(α−1)}
        plain = _power_integral(gaps, alpha, beta, 0.0, power)
        lowered = _power_integral(gaps, alpha, beta, 0.0, power + alpha - 1)
        ratio = math.exp(lowered.log_value - plain.log_value)
        return -power * beta * ratio * float(gaps @ lowered.mean)

    return logarithmic_derivative(alpha) - alpha * logarithmic_derivative(1.0)


def _power_integral(
    gaps: Vector, alpha: float, beta: float, lowest_energy: float, power: float
) -> SimplexIntegral:
    """The integral of exp_α(−βH)^power over the simplex, α ≠ 1."""
    base = _base(alpha, beta, lowest_energy)
    scaled = abs(alpha - 1) * beta * gaps / base
    exponent = power / abs(alpha - 1)
    found = (falling_power_integral if alpha > 1 else rising_power_integral)(scaled, exponent)
    return replace(found, log_value=found.log_value + power * math.log(base) / (1 - alpha))


def _base(alpha: float, beta: float, lowest_energy: float) -> float:
    """The bracket of exp_α(−βH) at the best vertex, which must be positive."""
    base = 1 + (alpha - 1) * beta * lowest_energy
    if base > 0:
        return base
    what = "diverges" if alpha > 1 else "vanishes on the whole simplex"
    limit = 1 / ((1 - alpha) * beta)
    raise InputError(
        f"lowest_energy = {lowest_energy:.12g}: exp_alpha(-beta H) {what} for alpha = {alpha:g} at beta = "
        f"{beta:.12g}: it must be {'above' if alpha > 1 else 'below'} {limit:.12g}; use a smaller beta"
    )


def _checked(scores: Vector, alpha: float, beta: float) -> tuple[float, float, Vector]:
    """α, β and the gaps max z − z."""
    alpha, beta = tsallis_index(alpha), inverse_temperature(beta)
    if math.isinf(alpha):
        raise InputError("alpha = inf has no deformed Gibbs ensemble: give a finite alpha")
    z = np.asarray(scores, dtype=np.float64)
    if z.ndim != 1 or z.size == 0 or not bool(np.all(np.isfinite(z))):
        raise InputError(f"scores of shape {z.shape}: give a vector of M >= 1 finite overlaps")
    return alpha, beta, np.max(z) - z
