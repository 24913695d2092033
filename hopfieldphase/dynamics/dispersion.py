"""How attention spreads as the context grows: random scores, two levels of scores, and one token more."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from hopfieldphase.core.attention import (
    Attention,
    Entmax,
    LengthScaled,
    Logarithmic,
    PowerOfLogarithm,
    TopK,
    Yarn,
)
from hopfieldphase.core.closed_forms import dispersion_bounds
from hopfieldphase.kernels.attention import weights as compiled_weights

Floats = NDArray[np.float64]

_SMALLEST = 1e-300  # below, weights and their bound lose digits to underflow
_GAP_TOLERANCE = 1e-14  # relative, that of the root of the mass in the gap


class Spreading(NamedTuple):
    """What a map makes of one set of scores; entropies in nats.

    `slack` is the least distance to the four bounds on softmax, as a share of each; NaN for other maps.
    """

    entropy: float
    support: int
    slack: float


class Appended(NamedTuple):
    """A token appended to a context: its weight, and the largest change of a weight that was there."""

    share: float
    change: float


def length_maps(alpha: float, k: int, slope: float, trained_length: float) -> dict[str, Attention]:
    """The maps of the study by name: dense, sparse, a fixed number, and three scaled with the length."""
    return {
        "softmax": Entmax(1.0),
        "yarn-softmax": LengthScaled(Entmax(1.0), Yarn(trained_length)),
        "scalable-softmax": LengthScaled(Entmax(1.0), Logarithmic(slope)),
        "entmax": Entmax(alpha),
        "sparsemax": Entmax(2.0),
        "asentmax": LengthScaled(Entmax(alpha), PowerOfLogarithm()),
        "top-k": TopK(k),
    }


def factor(attention: Attention, n: int) -> float:
    """Factor c(n) of the scores of n patterns; 1 for maps without one."""
    return attention.scaling.factor(n) if isinstance(attention, LengthScaled) else 1.0


def map_weights(attention: Attention, scores: Floats) -> Floats:
    """Weights of one row of scores, shape (n,), on the compiled path of the inner map."""
    n = scores.shape[-1]
    if isinstance(attention, LengthScaled):
        return np.asarray(compiled_weights(attention.inner, factor(attention, n) * scores))
    if isinstance(attention, TopK) and attention.k > n:
        attention = TopK(n, attention.inner)
    return np.asarray(compiled_weights(attention, scores))


def is_softmax(attention: Attention) -> bool:
    """Whether the map is softmax of scaled scores, to which the dispersion bounds apply."""
    inner = attention.inner if isinstance(attention, LengthScaled) else attention
    return isinstance(inner, Entmax) and inner.alpha == 1


def spreading(attention: Attention, scores: Floats) -> Spreading:
    """Entropy, support size, and for softmax the slack of the dispersion bounds.

    Parameters
    ----------
    attention : Attention
    scores : ndarray, shape (n,), n ≥ 2

    Returns
    -------
    Spreading
    """
    p = map_weights(attention, scores)
    entropy = float(special.entr(p).sum())
    slack = math.nan
    if is_softmax(attention):
        n, spread = len(scores), float(np.ptp(scores))
        bounds = dispersion_bounds(spread, n, factor(attention, n))
        slack = min(
            float(p.min()) / bounds.weight_min - 1 if bounds.weight_min > _SMALLEST else math.inf,
            1 - float(p.max()) / bounds.weight_max,
            (entropy - bounds.entropy_min) / bounds.entropy_max,
            1 - entropy / bounds.entropy_max,
        )
    return Spreading(entropy, int(np.count_nonzero(p)), slack)


def least_entropy(spread: float, n: int, beta: float = 1.0) -> float:
    """Largest lower bound on the entropy of softmax that holds for every n: ln n − (q − 1 − ln q).

    Parameters
    ----------
    spread : float
        Δ = max z − min z ≥ 0.
    n : int
        Number of scores.
    beta : float, default 1.0
        Inverse temperature.

    Returns
    -------
    float
        With q = βΔ/(1 − e^(−βΔ)), in nats; 0 where that is negative.

    Notes
    -----
    ∂H/∂z_i = −p_i (z_i − ⟨z⟩), so that at a minimum every score lies at one of the ends. With a share f of
    them at the top, H = ln n − KL(m ‖ f), m = f e^(βΔ)/(f e^(βΔ) + 1 − f), which is smallest at
    f = (q − 1)/(e^(βΔ) − 1). The bound ln n − βΔ leaves out 1 + ln βΔ at large βΔ.
    """
    reach = beta * spread
    # q − 1 − ln q loses its digits at small reach, where it is reach²/8
    excess = reach / -math.expm1(-reach) - 1 if reach > 0 else 0.0
    return max(0.0, math.log(n) - (excess - math.log1p(excess)))


def edge_support(alpha: float, n: int, spread: float) -> float:
    """Number of scores that α-entmax keeps of n uniform ones, for n → ∞; it grows like n^(1/α).

    Parameters
    ----------
    alpha : float
        Tsallis index, 1 < α < ∞.
    n : int
    spread : float
        Width of the interval of the scores, times the factor of a length-scaled map.

    Returns
    -------
    float
        n u/Δ with the depth u = (Δ (r + 1)/(n (α−1)^r))^(1/(r+1)), r = 1/(α−1), of the support below the
        largest score; n where u ≥ Δ.

    Notes
    -----
    From the normalization (n/Δ) ∫₀^u ((α−1) t)^r dt = 1. Any density that is positive at the largest score
    has the same exponent, and H/ln n → 1/α.
    """
    r = 1 / (alpha - 1)
    depth = (math.log(spread * (r + 1) / n) - r * math.log(alpha - 1)) / (r + 1)
    return n * math.exp(min(0.0, depth - math.log(spread)))


def holding_gap(alpha: float, k: int, n: int, mass: float) -> float:
    r"""Gap at which k equal top scores of n hold a given mass under α-entmax, in closed form.

    Parameters
    ----------
    alpha : float
        Tsallis index, 1 ≤ α < ∞.
    k, n : int
        1 ≤ k < n.
    mass : float
        k/n ≤ mass ≤ 1.

    Returns
    -------
    float
        (α−1) Δ = (m/k)^(α−1) − ((1−m)/(n−k))^(α−1); for softmax the difference of the logarithms. At m = 1
        it is the isolation gap k^(1−α)/(α−1), for every n, and ∞ for softmax.
    """
    high, low = mass / k, (1 - mass) / (n - k)
    if alpha == 1:
        return math.log(high) - math.log(low) if low > 0 else math.inf
    return (high ** (alpha - 1) - low ** (alpha - 1)) / (alpha - 1)


def two_level(k: int, n: int, gap: float) -> Floats:
    """Scores of which k stand at `gap` above n − k others, which are zero; shape (n,)."""
    return np.where(np.arange(n) < k, gap, 0.0)


def measured_gap(attention: Attention, k: int, n: int, mass: float) -> float:
    """Gap at which the weights of k equal top scores of n sum to `mass`, found on the map itself.

    Parameters
    ----------
    attention : Attention
        A map of scores; with a finite gap for this mass.
    k, n : int
        1 ≤ k < n.
    mass : float
        k/n < mass < 1.

    Returns
    -------
    float
        To the rounding of a sum of weights, 1e-12 relatively at n = 10⁶.
    """

    def missing(gap: float) -> float:
        return float(map_weights(attention, two_level(k, n, gap))[:k].sum()) - mass

    high = 1.0
    while missing(high) <= 0:
        high *= 2
    found: Any = optimize.brentq(missing, 0.0, high, xtol=_GAP_TOLERANCE, rtol=_GAP_TOLERANCE)  # pyright: ignore[reportArgumentType]
    return float(found)


def isolating_gap(attention: Attention, k: int, n: int) -> float:
    """Least gap at which only k equal top scores of n have weight, bisected on the support of the map.

    NaN where even a gap of 2²⁰ does not suffice.
    """

    def isolates(gap: float) -> bool:
        return bool(np.count_nonzero(map_weights(attention, two_level(k, n, gap))) <= k)

    low, high = 0.0, 1.0
    while not isolates(high):
        low, high = high, 2 * high
        if high > 2**20:
            return math.nan
    while (middle := 0.5 * (low + high)) not in (low, high) and high - low > 1e-13 * high:
        low, high = (low, middle) if isolates(middle) else (middle, high)
    return high


def append(attention: Attention, scores: Floats, score: float) -> Appended:
    """Append a token of one score to a context.

    Parameters
    ----------
    attention : Attention
    scores : ndarray, shape (n,)
    score : float

    Returns
    -------
    Appended
    """
    before = map_weights(attention, scores)
    after = map_weights(attention, np.append(scores, score))
    return Appended(float(after[-1]), float(np.abs(after[:-1] - before).max()))
