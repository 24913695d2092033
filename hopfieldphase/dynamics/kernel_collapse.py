r"""Retrieval of heavy-tailed patterns: which attention kernels find the pattern that is asked for.

Patterns have independent coordinates of a symmetric law about its centre and keep their norms. All are
divided by the median norm of their set, so that the inverse temperature is b = β s² median|ξ|²: the score of
a typical pattern at itself. The scores of one query at many patterns then have the tail index a of the
coordinates, and g of order q makes of them numbers with the index a/q: below 1 the largest holds a finite
share of their sum.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.attention.contract import Attention
from hopfieldphase.core.attention.positive import Exponential, LinearElu, LogElu, SquaredElu
from hopfieldphase.core.attention.tsallis import Entmax
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.ensembles.laws import SymmetricLaw, random_generator
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.status import Status
from hopfieldphase.kernels.attention import weights
from hopfieldphase.kernels.products import row_products
from hopfieldphase.model import AttentionModel
from hopfieldphase.solvers.fixed_points import MAX_STEPS, residual_tolerance, settle

Floats = NDArray[np.float64]

MAPS: dict[str, Attention] = {
    "exponential": Exponential(),
    "squared-elu": SquaredElu(),
    "linear-elu": LinearElu(),
    "log-elu": LogElu(),
    "entmax-1.5": Entmax(1.5),
    "sparsemax": Entmax(2.0),
}
"""The maps that are compared, by name; entmax in the convention of the field."""

OUTCOMES = ("retrieved", "collapsed", "other", "leads", "cosine", "ipr")
"""What `Ends.outcomes` gives, in this order."""

# Plain updates until a state moves by less than SETTLED of its norm; what still moves after UPDATES of them
# is left to the search that knows cycles.
SETTLED = 1e-8
UPDATES = 1000

# Scores at themselves at which a pattern is tried for `onsets`: a coarse grid, then a finer one around its
# best.
_COARSE = np.geomspace(0.05, 1e7, 87)
_FINE = 33


@dataclass(frozen=True, eq=False)
class KeySet:
    """Patterns of unit median norm, and which of them are queried.

    Attributes
    ----------
    patterns : ndarray, shape (M, d)
    queried : ndarray of int, shape (Q,)
        Never the extreme pattern.
    """

    patterns: Floats
    queried: NDArray[np.intp]

    @cached_property
    def gram(self) -> Floats:
        """Scores of all patterns at all patterns at b = 1, shape (M, M)."""
        return row_products(self.patterns, self.patterns)

    @cached_property
    def extreme(self) -> int:
        """The pattern of largest norm."""
        return int(np.argmax(np.diag(self.gram)))

    @property
    def queries(self) -> Floats:
        """The queried patterns, shape (Q, d)."""
        return self.patterns[self.queried]


def draw_keys(law: SymmetricLaw, M: int, d: int, queries: int, seed: int | np.random.Generator = 0) -> KeySet:
    """Draw a set of patterns with independent coordinates, measured from the centre of their law.

    Parameters
    ----------
    law : SymmetricLaw
        Of one coordinate, as `MirroredPareto` or `Gaussian`. The same seed draws patterns of another law from
        the same uniform numbers.
    M, d : int
        Number and dimension of the patterns.
    queries : int
        How many are queried: the first ones that are not the extreme one.
    seed : int or numpy.random.Generator

    Returns
    -------
    KeySet

    Raises
    ------
    InputError
        If there are fewer than `queries` + 1 patterns.
    """
    whole_number("M", M, 2)
    if whole_number("queries", queries, 1) >= M:
        raise InputError(
            f"queries = {queries}, but of {M} patterns {M - 1} can be queried: give at most these"
        )
    patterns = law.sample((M, whole_number("d", d, 1)), random_generator(seed)) - law.centre
    norms = np.linalg.norm(patterns, axis=1)
    others = np.delete(np.arange(M), np.argmax(norms))
    return KeySet(patterns / np.median(norms), others[:queries])


@dataclass(frozen=True, eq=False)
class Ends:
    """Weights that queries lead to.

    Attributes
    ----------
    weights : ndarray, shape (B, Q, M)
        By inverse temperature and query.
    settled : ndarray of bool, shape (B, Q)
        Whether they are those of a fixed point.
    """

    weights: Floats
    settled: NDArray[np.bool_]

    def outcomes(self, keys: KeySet) -> Floats:
        """Fractions and means over the queries, shape (6, B), by `OUTCOMES`.

        More than half of the weight is on the queried pattern (retrieved), on the extreme one (collapsed),
        or on another one; the queried pattern has the largest weight (leads); cosine of the state and the
        queried pattern; inverse participation ratio 1/Σp².
        """
        p = self.weights
        own = np.take_along_axis(p, keys.queried[None, :, None], axis=-1)[..., 0]
        extreme, top = p[..., keys.extreme], p.max(axis=-1)
        retrieved, collapsed = own > 0.5, extreme > 0.5
        columns, queries = np.ascontiguousarray(keys.patterns.T), keys.queries
        states = row_products(p.reshape(-1, p.shape[-1]), columns).reshape(*p.shape[:2], -1)
        lengths = np.linalg.norm(states, axis=-1) * np.linalg.norm(queries, axis=-1)
        cosine = (states * queries).sum(axis=-1) / lengths
        other = (top > 0.5) & ~retrieved & ~collapsed
        columns = (retrieved, collapsed, other, own >= top, cosine, 1 / (p**2).sum(axis=-1))
        return np.array([column.mean(axis=1) for column in columns])


def update(attention: Attention, keys: KeySet, bs: Floats) -> Ends:
    """One update from every queried pattern at every b."""
    p = weights(attention, bs[:, None, None] * keys.gram[keys.queried], threads=1)
    return Ends(p, np.zeros(p.shape[:-1], dtype=bool))


def follow(attention: Attention, keys: KeySet, bs: Floats) -> Ends:
    """Update every queried pattern at every b until it no longer moves.

    A state at rest has moved by less than `SETTLED` times its norm in its last update. The few that still
    move after `UPDATES` are settled one by one by the search of `find_fixed_point`, which tells cycles
    apart.

    Parameters
    ----------
    attention : Attention
    keys : KeySet
    bs : ndarray, shape (B,)
        Inverse temperatures b > 0.

    Returns
    -------
    Ends
    """
    patterns, count = keys.patterns, len(keys.queried)
    columns = np.ascontiguousarray(patterns.T)
    p = np.empty((len(bs) * count, len(patterns)))
    settled = np.ones(len(p), dtype=bool)
    moving, b, x = np.arange(len(p)), np.repeat(bs, count), np.tile(keys.queries, (len(bs), 1))
    for _ in range(UPDATES):
        current = weights(attention, b[:, None] * row_products(x, patterns), threads=1)
        new = row_products(current, columns)
        rest = _lengths(new - x) <= SETTLED * _lengths(new)
        x = new
        if rest.any():
            p[moving[rest]] = current[rest]
            moving, b, x = moving[~rest], b[~rest], x[~rest]
            if not moving.size:
                break
    model = AttentionModel(patterns, attention, 1.0)
    for i, beta, state in zip(moving.tolist(), b.tolist(), x, strict=True):
        found = settle(model, state, beta, residual_tolerance(None), MAX_STEPS)
        settled[i] = found.status is Status.CONVERGED
        p[i] = model.weights(found.x, beta)
    return Ends(p.reshape(len(bs), count, -1), settled.reshape(len(bs), count))


def hard_limit(keys: KeySet) -> tuple[float, float]:
    """Fractions of the queries that are retrieved, and that end at the extreme pattern, by hardmax.

    The limit b → ∞ of the exponential and of entmax. A pattern is left for the one with the largest score at
    it, ξ^ν·ξ^μ > |ξ^μ|², which is longer by Cauchy's inequality: every query climbs to longer and longer
    patterns up to one that no other outscores, by way of no cycle.
    """
    following = np.argmax(keys.gram, axis=1)
    ends = keys.queried
    while np.any(following[ends] != ends):
        ends = following[ends]
    return float(np.mean(ends == keys.queried)), float(np.mean(ends == keys.extreme))


def _lengths(states: Floats) -> Floats:
    return np.sqrt(np.einsum("nd,nd->n", states, states))


def onsets(attention: Attention, keys: KeySet, which: NDArray[np.intp]) -> Floats:
    r"""Smallest b at which patterns hold more than half of the weight by themselves; inf where none is found.

    A state with weight p on pattern μ is taken as :math:`x = p\,\xi^\mu`: the others pull by their scores at
    ξ^μ but do not bend the state. Then :math:`p = p_\mu(h\,\Xi \xi^\mu)` with h = b p, so that b(h) = h/p,
    least over all h with p > 1/2. It is an estimate from below: a small weight on a much longer pattern, as
    the slower kernels leave it, bends the state away.

    Parameters
    ----------
    attention : Attention
    keys : KeySet
    which : ndarray of int, shape (n,)
        Patterns.

    Returns
    -------
    ndarray, shape (n,)
        To about one percent, the step of the search over h.

    Notes
    -----
    For a pattern of squared norm N orthogonal to M − 1 others it is, with g(z) of squared ELU 2(√(M−1) −
    1)/N, of linear ELU 2(M − 2)/N, of log-ELU 2(e^(M−2) − 1)/N, of sparsemax (M − 2)/((M − 1)N), and of the
    exponential min_p ln(p(M − 1)/(1 − p))/(pN).
    """
    gram = keys.gram
    found = np.empty(len(which))
    for n, pattern in enumerate(which.tolist()):
        scores = gram[pattern] / gram[pattern, pattern]
        grid = _COARSE
        b = _alone(attention, scores, pattern, grid)
        if np.isfinite(b).any():
            best = int(np.argmin(b))
            low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
            b = _alone(attention, scores, pattern, np.geomspace(low, high, _FINE))
        found[n] = b.min() / gram[pattern, pattern]
    return found


def mean_onset(attention: Attention, keys: KeySet) -> float:
    r"""The b at which the state of equal weights turns unstable: 1/(r λ_max), λ_max of the covariance.

    At equal scores the Jacobian of the weights is (r/M)(1 − 11ᵀ/M): r = 1 for the exponential, linear ELU
    and log-ELU, 2 for squared ELU, M^(α−1) for entmax. It holds as far as the mean of the patterns is small.
    Heavy tails make λ_max ≈ max|ξ|²/M, in the direction of the extreme pattern.
    """
    M = len(keys.patterns)
    probe = np.zeros(M)
    probe[0] = 1.0
    slope = -(M**2) * float(attention.jacobian_action(np.zeros(M), probe)[1])
    covariance = np.cov(keys.patterns, rowvar=False, bias=True)
    return 1 / (slope * float(np.linalg.eigvalsh(np.atleast_2d(covariance))[-1]))


def _alone(attention: Attention, scores: Floats, pattern: int, own: Floats) -> Floats:
    p = weights(attention, own[:, None] * scores, threads=1)[:, pattern]
    return np.where(p > 0.5, own / np.maximum(p, 0.5), np.inf)


@dataclass(frozen=True, eq=False)
class Measured:
    """What one set of patterns shows, for every map of `MAPS` in this order.

    Attributes
    ----------
    outcomes : ndarray, shape (maps, 2, 6, B)
        By `OUTCOMES`, after one update and at the end of all.
    unsettled : ndarray, shape (maps, B)
        Fraction of the queries that come to no attracting fixed point.
    onset_extreme, onset_queried : ndarray, shape (maps,)
        Onset of the extreme pattern, and the median one of the queried patterns.
    onset_mean : ndarray, shape (maps,)
        See `mean_onset`.
    alone : ndarray, shape (maps, B)
        Fraction of the queried patterns whose onset is below b.
    share : ndarray, shape (maps,)
        Mean Σp² of one update from Gaussian queries at the largest b.
    hard_retrieved, hard_collapsed : float
        See `hard_limit`.
    """

    outcomes: Floats
    unsettled: Floats
    onset_extreme: Floats
    onset_queried: Floats
    onset_mean: Floats
    alone: Floats
    share: Floats
    hard_retrieved: float
    hard_collapsed: float


def measure(keys: KeySet, bs: Floats, seed: int | np.random.Generator = 0) -> Measured:
    """Follow all queries of one set with every map; the seed draws the Gaussian queries."""
    generator = random_generator(seed)
    probes = generator.standard_normal(keys.queries.shape) / np.sqrt(keys.patterns.shape[1])
    maps = list(MAPS.values())
    outcomes, unsettled = [], []
    for attention in maps:
        ends = follow(attention, keys, bs)
        outcomes.append([update(attention, keys, bs).outcomes(keys), ends.outcomes(keys)])
        unsettled.append(1 - ends.settled.mean(axis=1))
    own = np.array([onsets(attention, keys, keys.queried) for attention in maps])
    hard_retrieved, hard_collapsed = hard_limit(keys)
    return Measured(
        outcomes=np.array(outcomes),
        unsettled=np.array(unsettled),
        onset_extreme=np.array([onsets(attention, keys, np.array([keys.extreme]))[0] for attention in maps]),
        onset_queried=np.median(own, axis=1),
        onset_mean=np.array([mean_onset(attention, keys) for attention in maps]),
        alone=(own[..., None] <= bs).mean(axis=1),
        share=np.array(
            [_share(attention, bs[-1] * row_products(probes, keys.patterns)) for attention in maps]
        ),
        hard_retrieved=hard_retrieved,
        hard_collapsed=hard_collapsed,
    )


def _share(attention: Attention, scores: Floats) -> float:
    return float((weights(attention, scores, threads=1) ** 2).sum(axis=-1).mean())


def condensed_share(index: float, order: float) -> float:
    r"""Mean Σp² of one update from a generic query at large b and many patterns: max(0, 1 − a/q).

    Independent scores of tail index a have under g ~ z^q the index γ = a/q. For γ < 1 the shares of the
    largest in their sum follow the Poisson–Dirichlet law PD(γ, 0), of which E Σp² = 1 − γ; for γ ≥ 1 every
    share vanishes. It is positive exactly where the denominator E g(Z) of attention is infinite.

    Parameters
    ----------
    index : float
        Tail index a > 0.
    order : float
        Growth order q ≥ 0, inf for the exponential.

    Returns
    -------
    float

    Notes
    -----
    B. Derrida, "From random walks to spin glasses", Physica D 107, 186 (1997).
    """
    a = real_number("tail index", index, 0, np.inf, ends="()")
    q = real_number("order", order, 0, np.inf)
    return max(0.0, 1 - a / q) if q > 0 else 0.0
