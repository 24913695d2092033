"""Where a trained attention head lies among the phases of the Hopfield model that its keys make.

The M keys of a head are the stored patterns Ξ, raw, and s = 1/√d. Then one step x ↦ s Ξᵀ p(β s Ξ x) at
β = 1, α = 1 and x = q has the attention weights of the head. What happens when the step is repeated depends
on what is fed back:

- the state x = s Ξᵀ p of arXiv:2610.17347, Proposition 3.2: the head then works at β = 1, b = β s² = 1/d;
- the attended key Ξᵀ p itself, in the place of the query (Ramsauer et al. 2020): b = 1/√d, which is β = √d.

Raw keys enter by their inner products alone: where b times a cosine stands for unit-norm patterns, here it
is β s² ξ_μ·ξ_ν, and a key of large norm acts as one at a higher β. Keys can be shifted together, k ↦ k + c,
without a change of any attention weight, as q·c is the same for all of them; their Hopfield model changes.
"""

import math
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from hopfieldphase.continuation.discovery import SAME_STATE
from hopfieldphase.core import closed_forms
from hopfieldphase.core.entmax import weights
from hopfieldphase.core.status import Status
from hopfieldphase.core.tsallis import effective_support
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.critical import critical_points
from hopfieldphase.solvers.relaxation import relax_many

Array = NDArray[np.float64]

ABOVE_ONSET = 1.01
"""Relaxations "at the onset" are at this multiple of it: at the onset itself states can be marginal."""

_SAME_KEY = 1e-9  # relative to the largest norm


@dataclass(frozen=True)
class KeyStatistics:
    """What the keys of a head are like, and the attention over them.

    Attributes
    ----------
    key_norm, key_norm_min, key_norm_max, query_norm : float
        Norms: mean, smallest and largest |k|, mean |q|.
    cosine, cosine_max : float
        Mean and largest cosine of two different keys.
    cosine_repeated : float
        Mean cosine of the keys of one repeated token; NaN where none is repeated.
    common_share : float
        |mean key|²/mean |k|²: the share that a common shift can remove.
    coupling : float
        β s² (mean |k|² − mean k·k′) at β = 1, the K of equidistant patterns with the same means.
    duplicates : int
        Keys that equal another one.
    storable : int
        Keys with |ξ_μ|² > max_ν ξ_μ·ξ_ν: those that some β stores exactly, for every α > 1.
    attention_ipr, attention_ipr_min : float
        1/Σp² of the model's own attention: mean and smallest over the queries.
    """

    key_norm: float
    key_norm_min: float
    key_norm_max: float
    query_norm: float
    cosine: float
    cosine_max: float
    cosine_repeated: float
    common_share: float
    coupling: float
    duplicates: int
    storable: int
    attention_ipr: float
    attention_ipr_min: float


@dataclass(frozen=True)
class KeyPhases:
    """Critical points of keys at one α, in β.

    Attributes
    ----------
    storage, storage_all : float
        Where the first key, and all that can be, are stored exactly; inf where none ever is.
    second_minimum : float
        Lowest β at which a followed branch of minima begins beside another: the first spinodal found. An
        upper bound of where the first one is, as `top` branches are followed; inf where none begins.
    coexistence : float
        Lowest β at which the free energies of two followed minima cross; inf where none do.
    instability : float
        Where the state of low β loses stability; inf where it goes on to the end of the range.
    reference : float
        Where minima were searched with many starts.
    minima : int
        How many there are.
    """

    storage: float
    storage_all: float
    second_minimum: float
    coexistence: float
    instability: float
    reference: float
    minima: int


@dataclass(frozen=True)
class HeadPhases(KeyPhases):
    """Critical points of a head at one α, in β, and the states that its own queries reach.

    Attributes
    ----------
    equidistant : float
        Retrieval spinodal of equidistant patterns with the same mean inner products (α ≤ 2, else NaN).
    onset : float
        `storage` for α > 1, and `second_minimum` for α ≤ 1, where no key is ever stored.
    betas : tuple of float
        Where the queries were relaxed: 1, √d and 1.01 times the onset (NaN without one).
    states : tuple of int
        Distinct minima reached there; −1 without an onset.
    ipr : tuple of float
        Mean 1/Σp² of the minima reached, over the queries.
    undecided : tuple of int
        Queries that reached no verified minimum.
    """

    equidistant: float
    onset: float
    betas: tuple[float, float, float]
    states: tuple[int, int, int]
    ipr: tuple[float, float, float]
    undecided: tuple[int, int, int]


def key_statistics(keys: Array, queries: Array, tokens: tuple[str, ...]) -> KeyStatistics:
    """Norms, cosines and attention of one head.

    Parameters
    ----------
    keys, queries : ndarray, shape (M, d)
    tokens : tuple of str
        What each key stands for.

    Returns
    -------
    KeyStatistics
    """
    norms = np.linalg.norm(keys, axis=1)
    cosines = keys @ keys.T / np.outer(norms, norms)
    apart = ~np.eye(len(keys), dtype=bool)
    names = np.array(tokens)
    repeated = (names[:, None] == names) & apart
    equal = (cdist(keys, keys) <= _SAME_KEY * norms.max()) & apart
    ipr = effective_support(own_attention(keys, queries))
    mean = keys.mean(axis=0)
    return KeyStatistics(
        key_norm=float(norms.mean()),
        key_norm_min=float(norms.min()),
        key_norm_max=float(norms.max()),
        query_norm=float(np.linalg.norm(queries, axis=1).mean()),
        cosine=float(cosines[apart].mean()),
        cosine_max=float(cosines[apart].max()),
        cosine_repeated=float(cosines[repeated].mean()) if repeated.any() else math.nan,
        common_share=float(mean @ mean / (norms**2).mean()),
        coupling=key_coupling(keys),
        duplicates=int(equal.any(axis=1).sum()),
        storable=int((closed_forms.pattern_separation(keys) > 0).sum()),
        attention_ipr=float(ipr.mean()),
        attention_ipr_min=float(ipr.min()),
    )


def own_attention(keys: Array, queries: Array) -> Array:
    """The attention weights of the model, softmax of q·k/√d, shape (M, M)."""
    return weights(HopfieldModel(keys, 1.0).overlaps(queries), 1.0, 1.0)


def head_phases(keys: Array, queries: Array, alpha: float, top: int | None = 5) -> HeadPhases:
    """Critical points of the keys of one head, and the minima that its own queries relax to.

    Every relaxation starts from s Ξᵀ p with the model's own attention weights p, that is after one attention
    step of the trained head: the operating point is the same for every α and β.

    Parameters
    ----------
    keys, queries : ndarray, shape (M, d)
        M ≥ 2.
    alpha : float
        Tsallis index, finite.
    top : int, optional
        Branches to follow, by falling z_max at the reference; None for all.

    Returns
    -------
    HeadPhases

    Raises
    ------
    InputError
        If all keys are equal, or alpha = inf.
    """
    model = HopfieldModel(keys, alpha)
    phases = key_phases(keys, alpha, top)
    onset = phases.storage if alpha > 1 else phases.second_minimum
    starts = model.scale * own_attention(keys, queries) @ keys
    betas = (1.0, math.sqrt(model.d), ABOVE_ONSET * onset if math.isfinite(onset) else math.nan)
    reached = [_reached(model, starts, beta) for beta in betas]
    return HeadPhases(
        **asdict(phases),
        equidistant=closed_forms.potts_spinodal(model.M, alpha) / key_coupling(keys)
        if alpha <= 2
        else math.nan,
        onset=onset,
        betas=betas,
        states=(reached[0][0], reached[1][0], reached[2][0]),
        ipr=(reached[0][1], reached[1][1], reached[2][1]),
        undecided=(reached[0][2], reached[1][2], reached[2][2]),
    )


def key_phases(keys: Array, alpha: float, top: int | None = 5) -> KeyPhases:
    """Critical points of the Hopfield model of the keys of one head.

    Parameters
    ----------
    keys : ndarray, shape (M, d)
        M ≥ 2.
    alpha, top
        See `head_phases`.

    Returns
    -------
    KeyPhases

    Raises
    ------
    InputError
        If all keys are equal, or alpha = inf.
    """
    model = HopfieldModel(keys, alpha)
    onsets = closed_forms.onset_of_separation(closed_forms.pattern_separation(keys), alpha) * model.d
    stored = onsets[np.isfinite(onsets)]
    table = critical_points(model, betas=_range(model), top=top)
    begins = [point.beta for point in table.ends if point.rising is False]
    crossings = [point.beta for point in table.coexistence if point.interval is None]
    return KeyPhases(
        storage=float(stored.min()) if stored.size else math.inf,
        storage_all=float(stored.max()) if stored.size else math.inf,
        second_minimum=min(begins, default=math.inf),
        coexistence=min(crossings, default=math.inf),
        instability=math.inf if table.mean is None else table.mean.beta,
        reference=table.at,
        minima=table.n_states,
    )


def key_coupling(keys: Array) -> float:
    """β s² (mean |k|² − mean k·k′) at β = 1: the variance of the keys, M/(M − 1) Σ_i var k_i/d."""
    return float(keys.var(axis=0, ddof=1).sum()) / keys.shape[1]


def single_minimum_below(keys: Array, alpha: float) -> float:
    """α/(s² λ_max(P K Kᵀ P)): below this β the free energy is convex, and has one minimum only, α ≤ 2.

    There w_μ = p_μ^{2−α}/α ≤ 1/α bounds the response of the weights, J ≼ diag(w), so that
    β s² λ_max(Kᵀ J K) < 1 and ∇²Γ is positive everywhere (arXiv:2610.17347, Eq. (3.5) for Γ).
    """
    centred = keys - keys.mean(axis=0)
    return alpha * keys.shape[1] / float(np.linalg.norm(centred, 2) ** 2)


def _range(model: HopfieldModel) -> tuple[float, float] | None:
    """Where branches are followed: for α < 2 from below all second minima; else the range of its own."""
    if model.alpha >= 2:
        return None
    suggested = closed_forms.suggest_beta_range(model.patterns, model.alpha)
    return min(suggested.low, single_minimum_below(model.patterns, model.alpha)), suggested.high


def _reached(model: HopfieldModel, starts: Array, beta: float) -> tuple[int, float, int]:
    """Distinct minima, their mean IPR over the starts, and starts that reached none."""
    if not math.isfinite(beta):
        return -1, math.nan, 0
    solutions = [s for s in relax_many(model, starts, beta) if s.status is Status.CONVERGED]
    undecided = len(starts) - len(solutions)
    if not solutions:
        return 0, math.nan, undecided
    distinct: list[Array] = []
    for solution in solutions:
        x = np.asarray(solution.x, dtype=np.float64)
        length = max(model.state_scale, float(np.linalg.norm(x)))
        if all(np.linalg.norm(x - other) > SAME_STATE * length for other in distinct):
            distinct.append(x)
    ipr = effective_support(np.array([solution.weights for solution in solutions]))
    return len(distinct), float(ipr.mean()), undecided
