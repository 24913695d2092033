"""Order of the transition from a mixture to a single one of M equidistant patterns, against α.

Everything depends on the coupling K = b (1 − c) alone, c the common cosine. With u = 1/k, the free energy of
the uniform state on k patterns is, up to a constant,

    F(u) = u^(α−1)/(α−1) − K u/2,

concave in u for α < 2 and convex for α > 2: below α = 2 equilibrium passes from all patterns to one at once,
above it loses them one by one, and at α = 2 all sizes are equal at K = 2. Where two of the states are stable
together the transition is first order. Two patterns (M = 2) are the pair of keys of App. G.4 of "On the
Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from hopfieldphase.continuation.branches import follow
from hopfieldphase.core import closed_forms
from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.patterns import equicorrelated
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.coexistence import coexistence
from hopfieldphase.phases.stretches import stable_stretches
from hopfieldphase.solvers import relax

Floats = NDArray[np.float64]

# Where mixture and single pattern are met: below every critical K, and above those that are looked for.
_LOW, _HIGH = 0.05, 1.5
# Couplings at which a state is looked for, and the bisection of the ends of its window.
_PROBES = np.geomspace(0.03, 40, 241)
_PRECISION = 1e-11
# Distance, relative to the state, up to which a relaxation stays.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class OrderLines:
    """Critical couplings of M equidistant patterns over α; NaN where one does not exist.

    Attributes
    ----------
    M : int
    alpha : ndarray, shape (n,)
    instability : ndarray, shape (n,)
        K at which the uniform state on all M loses stability.
    vertex : ndarray, shape (n,)
        K from which a single pattern is stored exactly; inf for α ≤ 1.
    spinodal : ndarray, shape (n,)
        K from which a state on one pattern mainly exists, M ≥ 3 and α < 2 (two patterns: continuous).
    coexistence : ndarray, shape (n,)
        K at which it has the energy of the uniform state, likewise.
    lower, upper : ndarray, shape (n, M)
        Ends of the window of the uniform state on k = 1 … M patterns, α > 2; 0 and inf where it has none.
    exchange : ndarray, shape (n, M)
        K at which the uniform states on k and on k − 1 patterns have equal energy while both are stable.
    """

    M: int
    alpha: Floats
    instability: Floats
    vertex: Floats
    spinodal: Floats
    coexistence: Floats
    lower: Floats
    upper: Floats
    exchange: Floats

    @property
    def first_order(self) -> tuple[Floats, Floats]:
        """Ends of the intervals of K in which two of the states are stable, each of shape (n, M).

        Column 0 is that of the uniform state on all and the state on one, α < 2; column k − 1 that of the
        uniform states on k and k − 1, α > 2. NaN where there is none.
        """
        low, high = np.full((2, self.alpha.size, self.M), math.nan)
        low[:, 0], high[:, 0] = self.spinodal, self.instability
        low[:, 1:], high[:, 1:] = self.lower[:, :-1], self.upper[:, 1:]
        empty = ~(low < high)
        low[empty] = high[empty] = math.nan
        return low, high


def order_lines(M: int, alphas: Floats) -> OrderLines:
    """Every critical coupling of M equidistant patterns over a grid of α, from the closed forms.

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 2.
    alphas : array, shape (n,)
        In (0, inf).

    Returns
    -------
    OrderLines
    """
    whole_number("M", M, at_least=2)
    grid = [real_number("alpha", alpha, 0, math.inf, ends="()") for alpha in np.ravel(alphas).tolist()]
    below = [alpha < 2 and M > 2 for alpha in grid]
    lower, upper, exchange = np.full((3, len(grid), M), math.nan)
    for i, alpha in enumerate(grid):
        if alpha > 2:
            for k in range(1, M + 1):
                lower[i, k - 1], upper[i, k - 1] = closed_forms.potts_window(k, M, alpha)
                exchange[i, k - 1] = size_exchange(k, alpha) if k > 1 else math.nan
    between = (np.roll(lower, 1, axis=1) < exchange) & (exchange < upper)
    return OrderLines(
        M=M,
        alpha=np.array(grid),
        instability=np.array([closed_forms.potts_instability(M, alpha) for alpha in grid]),
        vertex=np.array([closed_forms.potts_vertex(alpha) for alpha in grid]),
        spinodal=_where(below, grid, lambda alpha: closed_forms.potts_spinodal(M, alpha)),
        coexistence=_where(below, grid, lambda alpha: closed_forms.potts_coexistence(M, alpha)),
        lower=lower,
        upper=upper,
        exchange=np.where(between, exchange, math.nan),
    )


def size_exchange(k: int, alpha: float) -> float:
    """Coupling at which the uniform states on k and on k − 1 of equidistant patterns have equal free energy.

    K = 2 (j^(1−α) − k^(1−α)) / ((α−1) (1/j − 1/k)), j = k − 1; for k = 2 the coexistence of two keys.

    Parameters
    ----------
    k : int
        Size of the larger support, ≥ 2.
    alpha : float
        Tsallis index in (2, inf): below, equilibrium does not pass through intermediate sizes.
    """
    k = whole_number("k", k, at_least=2)
    alpha = real_number("alpha", alpha, 2, math.inf, ends="()")
    gained = ((k - 1) ** (1 - alpha) - k ** (1 - alpha)) / (alpha - 1)
    return 2 * gained * k * (k - 1)


@dataclass(frozen=True)
class OrderCheck:
    """One critical coupling, measured and by its closed form.

    Attributes
    ----------
    M : int
    alpha : float
    name : str
        Which one, as the attributes of `OrderLines`; with the size k where there are several.
    measured, formula : float
        Values of K.
    """

    M: int
    alpha: float
    name: str
    measured: float
    formula: float

    @property
    def deviation(self) -> float:
        """|measured − formula| relative to the formula; inf where only one of them exists."""
        if self.measured == self.formula or (math.isnan(self.measured) and math.isnan(self.formula)):
            return 0.0
        deviation = abs(self.measured - self.formula) / abs(self.formula) if self.formula else math.inf
        return deviation if math.isfinite(deviation) else math.inf


def check_order(M: int, alpha: float, cosine: float = 0.3) -> tuple[OrderCheck, ...]:
    """Measure the critical couplings of M equidistant patterns at one α, without their closed forms.

    For α < 2 the branches of the uniform state and of a single pattern are followed by arclength: ends of
    their stable parts, the point at which the support is one pattern, the crossing of the free energies. For
    α > 2 relaxations from the uniform states on k = 1, 2, 3 and M patterns tell where each stays a minimum.

    Parameters
    ----------
    M : int
        Number of patterns, ≥ 2.
    alpha : float
        Tsallis index in (0, inf), not 2: there all states have equal energy at K = 2.
    cosine : float, default 0.3
        Common cosine of the patterns, −1/(M−1) ≤ c < 1; K does not depend on it.

    Returns
    -------
    tuple of OrderCheck
    """
    lines = order_lines(M, np.array([alpha]))
    frame, _ = np.linalg.qr(np.random.default_rng(M).standard_normal((M, M)))  # no axis is special
    model = HopfieldModel(equicorrelated(M, M, cosine) @ frame, alpha, scale=1.0)
    measured = _followed(model, cosine, lines) if alpha < 2 else _relaxed(model, cosine, lines)
    return tuple(OrderCheck(M, float(alpha), *found) for found in measured)


def _followed(model: HopfieldModel, cosine: float, lines: OrderLines) -> Iterator[tuple[str, float, float]]:
    unit = 1 / (1 - cosine)
    vertex, instability = float(lines.vertex[0]), float(lines.instability[0])
    high = _HIGH * unit * max(instability, vertex if math.isfinite(vertex) else 0.0, 12.0)
    low = _LOW * unit * instability
    span = (low, high)
    uniform = follow(model, model.patterns.mean(axis=0), 1.1 * low, span)
    single = follow(model, model.patterns[0], 0.95 * high, span)
    end = next(part.upper for part in stable_stretches(uniform) if part.lower <= 1.1 * low <= part.upper)
    yield "instability", end / unit, instability
    alone = [piece.lower for piece in single.pieces if piece.support == (0,)]
    yield "vertex", min(alone, default=math.inf) / unit, vertex
    if lines.M > 2:
        stretches = stable_stretches(single)
        lowest = next(part.lower for part in stretches if part.lower <= 0.95 * high <= part.upper)
        yield "spinodal", lowest / unit, float(lines.spinodal[0])
        points = coexistence(uniform, single)
        crossing = points[0].parameter if len(points) == 1 else math.nan
        yield "coexistence", crossing / unit, float(lines.coexistence[0])


def _relaxed(model: HopfieldModel, cosine: float, lines: OrderLines) -> Iterator[tuple[str, float, float]]:
    unit = 1 / (1 - cosine)
    windows: dict[int, tuple[float, float]] = {}
    for k in sorted({1, 2, min(3, lines.M), lines.M}):
        windows[k] = _window(model, k, unit)
        for side, found, formula in zip(
            ("lower", "upper"), windows[k], (lines.lower[0, k - 1], lines.upper[0, k - 1]), strict=True
        ):
            yield f"{side} end, {k} of {lines.M}", found, float(formula)
    for k in (size for size in windows if size - 1 in windows):
        low, high = windows[k - 1][0], windows[k][1]
        found = _crossing(model, k, low, high, unit) if low < high else math.nan
        yield f"exchange, {k} and {k - 1}", found, float(lines.exchange[0, k - 1])


def _window(model: HopfieldModel, k: int, unit: float) -> tuple[float, float]:
    """Couplings between which relaxing from the uniform state on the first k patterns stays there."""
    x = np.asarray(model.patterns)[:k].mean(axis=0)

    def stays(coupling: float) -> bool:
        found = relax(model, x, coupling * unit)
        near = float(np.linalg.norm(found.x - x)) <= _SAME * model.state_scale
        return near and found.status.is_minimum

    held = np.flatnonzero([stays(coupling) for coupling in _PROBES.tolist()])
    if held.size == 0:
        return math.nan, math.nan
    first, last = int(held[0]), int(held[-1])
    lower = 0.0 if first == 0 else _edge(stays, float(_PROBES[first]), float(_PROBES[first - 1]))
    if last == _PROBES.size - 1:
        return lower, math.inf
    return lower, _edge(stays, float(_PROBES[last]), float(_PROBES[last + 1]))


def _edge(stays: Callable[[float], bool], inside: float, outside: float) -> float:
    while abs(outside - inside) > _PRECISION * inside:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if stays(middle) else (inside, middle)
    return (inside + outside) / 2


def _crossing(model: HopfieldModel, k: int, low: float, high: float, unit: float) -> float:
    """Coupling at which Γ of the uniform states on k and k − 1 patterns agree."""
    larger, smaller = (np.asarray(model.patterns)[:size].mean(axis=0) for size in (k, k - 1))

    def gap(coupling: float) -> float:
        return float(model.free_energy(larger, coupling * unit) - model.free_energy(smaller, coupling * unit))

    if gap(low) * gap(high) > 0:
        return math.nan
    return float(scipy.optimize.brentq(gap, low, high, xtol=1e-300, rtol=1e-14))


def _where(kept: list[bool], grid: list[float], formula: Callable[[float], float]) -> Floats:
    return np.array([formula(alpha) if keep else math.nan for keep, alpha in zip(kept, grid, strict=True)])
