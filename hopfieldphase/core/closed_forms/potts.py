"""Equidistant patterns: the mean-field (Curie–Weiss) Potts model with q = M at α = 1, and its Tsallis kin.

M unit patterns with one common cosine c depend on K = b(1 − c) alone: F(p) + bc/2 = −Ψ_α(p) − (K/2) Σp².
On the symmetric ray one pattern has weight p₁ and every other q = (1 − p₁)/(M−1). Everything below is
written in y = ln(p₁/q) ∈ [0, ∞), in which no difference of nearly equal numbers appears.
"""

import math

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.closed_forms._common import decay, index, root
from hopfieldphase.core.errors import InputError

# Beyond this y the weight off the pattern is below every float that matters (e^-600).
_LARGEST_Y = 600.0
# As α → 2, K(y) flattens as 2 − α while the y sought converge: their limit is taken from this α.
_NEAREST_TO_2 = 2 - 1e-6


def potts_instability(M: int, alpha: float) -> float:
    """Coupling at which the uniform state of M equidistant patterns loses stability: K_inst = α M^(2−α).

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 2.
    alpha : float
        Tsallis index in (0, inf).
    """
    whole_number("M", M, at_least=2)
    alpha = index(alpha)
    return alpha * M ** (2 - alpha)


def potts_vertex(alpha: float) -> float:
    """Coupling from which a pattern is stored exactly: K_vertex = α/(α−1); `inf` for α ≤ 1.

    Parameters
    ----------
    alpha : float
        Tsallis index in (0, inf).
    """
    alpha = index(alpha)
    return alpha / (alpha - 1) if alpha > 1 else math.inf


def potts_coupling(p: float, M: int, alpha: float) -> float:
    """Coupling K(p₁) at which the state of weight p₁ on one pattern is stationary on the symmetric ray.

    K(p₁) = (α/(α−1)) (p₁^(α−1) − q^(α−1))/(p₁ − q), q = (1−p₁)/(M−1); α = 1: ln(p₁/q)/(p₁ − q).

    Parameters
    ----------
    p : float
        Weight p₁ in [1/M, 1]; the ends give `potts_instability` and `potts_vertex`.
    M : int
        Number of patterns, ≥ 2.
    alpha : float
        Tsallis index in (0, inf).
    """
    whole_number("M", M, at_least=2)
    alpha = index(alpha)
    p = real_number("p", p, 1 / M, 1)
    if p == 1:
        return potts_vertex(alpha)
    q = (1 - p) / (M - 1)
    if p <= q:
        return potts_instability(M, alpha)
    return _coupling(math.log1p((p - q) / q), M, alpha)


def potts_free_energy(p: float, coupling: float, M: int, alpha: float) -> float:
    """Free energy along the symmetric ray, measured from the uniform state: F(p₁) − F(1/M).

    Parameters
    ----------
    p : float
        Weight p₁ on one pattern, in [1/M, 1].
    coupling : float
        K = b(1 − c), in [0, inf).
    M : int
        Number of patterns, ≥ 2.
    alpha : float
        Tsallis index in (0, inf).
    """
    whole_number("M", M, at_least=2)
    alpha = index(alpha)
    p = real_number("p", p, 1 / M, 1)
    coupling = real_number("coupling", coupling, 0, math.inf, ends="[)")
    if p == 1:
        return (1 - 1 / M) / 2 * (_vertex_crossing(M, alpha) - coupling)
    q = (1 - p) / (M - 1)
    return _excess(max(0.0, math.log1p((p - q) / q)), coupling, M, alpha)


def potts_spinodal(M: int, alpha: float) -> float:
    """Coupling at which retrieval of one of M equidistant patterns vanishes: K_spin = min K(p₁).

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 2; for M = 2 the transition is continuous, K_spin = K_inst.
    alpha : float
        Tsallis index in (0, 2]; every state is stationary at K = 2 for α = 2.

    Raises
    ------
    InputError
        If an argument lies outside its domain; for α > 2 see `potts_window`.
    """
    alpha = _ray_index(M, alpha)
    if M == 2 or alpha == 2:
        return potts_instability(M, alpha)
    return _coupling(_fold(M, alpha), M, alpha)


def potts_coexistence(M: int, alpha: float) -> float:
    """Coupling at which retrieval of one of M equidistant patterns and the uniform state have equal F.

    Softmax: 2(M−1) ln(M−1)/(M−2), with p₁ = 1 − 1/M. 1 < α ≤ 2: V = 2(1−M^(1−α))/((α−1)(1−1/M)) where
    V ≥ α/(α−1), the retrieval state being the pattern itself; else, as for α < 1, the crossing of
    F(p₁) and F(1/M) inside the ray.

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 2.
    alpha : float
        Tsallis index in (0, 2].

    Returns
    -------
    float
        `nan` for M = 2 and α < 2: the transition is continuous.

    Raises
    ------
    InputError
        If an argument lies outside its domain; for α > 2 see `potts_window`.

    Notes
    -----
    Source, α = 1: F. Y. Wu, "The Potts model", Rev. Mod. Phys. 54, 235 (1982), mean-field theory.
    """
    alpha = _ray_index(M, alpha)
    if alpha == 2:
        return 2.0
    if M == 2:
        return math.nan
    if alpha == 1:
        return 2 * (M - 1) * math.log(M - 1) / (M - 2)
    crossing = _vertex_crossing(M, alpha)
    if crossing >= potts_vertex(alpha):
        return crossing

    near = min(alpha, _NEAREST_TO_2)

    def excess(y: float) -> float:
        return _excess(y, _coupling(y, M, near), M, near)

    low = _fold(M, alpha)
    high = low + 1
    while excess(high) > 0:
        high *= 1.5
        if high > _LARGEST_Y:  # the crossing has run into the vertex, to rounding
            return crossing
    return _coupling(root(excess, low, high), M, alpha)


def potts_barrier(M: int, alpha: float) -> float:
    """Free-energy barrier between the uniform and the retrieval state at their coexistence.

    Height of F(p₁) on the unstable arm of the symmetric ray above the two minima. Softmax:
    ln(M/(2√(M−1))) − ((M−2)/(4M)) ln(M−1).

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 3.
    alpha : float
        Tsallis index in (0, 2]; 0 for α = 2, where the energy is flat at K = 2.

    Raises
    ------
    InputError
        If an argument lies outside its domain.
    """
    whole_number("M", M, at_least=3)
    alpha = _ray_index(M, alpha)
    if alpha == 2:
        return 0.0
    if alpha == 1:
        return math.log(M / (2 * math.sqrt(M - 1))) - (M - 2) / (4 * M) * math.log(M - 1)
    coupling = potts_coexistence(M, alpha)
    top = root(lambda y: _coupling(y, M, alpha) - coupling, 1e-6, _fold(M, alpha))
    return _excess(top, coupling, M, alpha)


def potts_window(k: int, M: int, alpha: float) -> tuple[float, float]:
    """Couplings between which the uniform state on k of M equidistant patterns is a strict minimum, α > 2.

    (α/(α−1)) k^(2−α) < K < α k^(2−α); no lower end for k = M (0), no upper end for k = 1 (`inf`).

    Parameters
    ----------
    k : int
        Number of patterns that share the weight, 1 ≤ k ≤ M.
    M : int
        Number of patterns.
    alpha : float
        Tsallis index in (2, inf).

    Returns
    -------
    tuple of float
        (lower, upper).

    Raises
    ------
    InputError
        If an argument lies outside its domain.
    """
    whole_number("M", M)
    whole_number("k", k)
    alpha = index(alpha, above=2)
    if k > M:
        raise InputError(f"k = {k} is larger than M = {M}: give 1 <= k <= M")
    upper = math.inf if k == 1 else alpha * k ** (2 - alpha)
    return (0.0 if k == M else alpha / (alpha - 1) * k ** (2 - alpha)), upper


def _ray_index(M: int, alpha: float) -> float:
    whole_number("M", M, at_least=2)
    return index(alpha, to=2)


def _vertex_crossing(M: int, alpha: float) -> float:
    """V: the coupling at which the pattern itself and the uniform state have equal energy."""
    return 2 * decay(alpha - 1, math.log(M)) / (1 - 1 / M)


def _weight(y: float, M: int) -> float:
    return 1 / (1 + (M - 1) * math.exp(-y))


def _coupling(y: float, M: int, alpha: float) -> float:
    """K along the ray; p₁ − q = p₁ (1 − e^(−y)) and p₁^(α−1) − q^(α−1) = p₁^(α−1) (1 − e^(−(α−1)y))."""
    return alpha * _weight(y, M) ** (alpha - 2) * decay(alpha - 1, y) / decay(1, y)


def _excess(y: float, coupling: float, M: int, alpha: float) -> float:
    """F(p₁) − F(1/M) as a relative entropy to the uniform state, less the energy gained."""
    a = alpha - 1
    p = _weight(y, M)
    q = p * math.exp(-y)
    gain_p = math.log(M * p)
    entropy = M**-a * (-p * decay(a, -gain_p) - (M - 1) * q * decay(a, y - gain_p))
    order = p * decay(1, y)
    return entropy - coupling / 2 * order**2 * (1 - 1 / M)


def _fold(M: int, alpha: float) -> float:
    """The y at which K(y) is smallest, M ≥ 3 and α < 2: zero of d ln K/dy."""
    alpha = min(alpha, _NEAREST_TO_2)

    def slope(y: float) -> float:
        others = (M - 1) * _weight(y, M) * math.exp(-y)
        return (alpha - 2) * others + _rate(alpha - 1, y) - _rate(1, y)

    high = 2.0
    while slope(high) < 0:
        high *= 2
    return root(slope, 1e-2, high)


def _rate(a: float, y: float) -> float:
    """Logarithmic derivative of (1 − e^(−a y))/a in y."""
    return math.exp(-a * y) / decay(a, y)
