"""Section 3: the modern Hopfield model, its free energy, and the maps that follow from it."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from hopfieldphase.continuation.branches import follow
from hopfieldphase.core.entmax import conjugate, entmax, weights
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, small, verdict
from hopfieldphase.solvers import relax

ROUNDING = 1e-12
DIFFERENCES = 1e-7
"""Central differences of step 1e-5 in double precision."""


@cache
def _scores() -> np.ndarray:
    """Scores without ties, shape (200, 20)."""
    return np.random.default_rng(0).normal(size=(200, 20))


def _differences(function: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Central differences of a scalar function."""
    units = step * np.eye(at.size)
    return np.array([(function(at + unit) - function(at - unit)) / (2 * step) for unit in units])


@claim(
    "free-energy-hard",
    "Section 3.1, Theorem 3.1",
    r"Minimised over the weights, the joint free energy is $\Gamma = \beta|x|^2/2 - \beta\max_\mu z_\mu$.",
    "hopfieldphase reproduce free-energy-hard",
)
def free_energy_hard() -> Finding:
    """Against α = ∞ of the package, and against random weights."""
    hard, beta = figures.model(math.inf), 40.0
    rng = np.random.default_rng(1)
    states = rng.normal(size=(50, hard.d))
    kinetic, z = beta / 2 * np.sum(states**2, axis=1), hard.overlaps(states)
    found = hard.free_energy(states, beta)
    error = float(np.abs(found - (kinetic - beta * z.max(axis=1))).max())
    mixed = rng.dirichlet(np.full(hard.M, 0.1), size=(50, 200))
    joint = kinetic[:, None] - beta * np.einsum("nkm,nm->nk", mixed, z)
    closest = float((joint - found[:, None]).min())
    return Finding(
        verdict(error <= ROUNDING * kinetic.max() and closest >= 0),
        rf"The free energy at $\alpha = \infty$ differs by {small(error)} from the formula at {len(states)} "
        f"states, and none of {joint.size} random weights gives less (the closest is {closest:.2f} above).",
        {"error": error, "closest": closest},
    )


@claim(
    "free-energy-zero-temperature",
    "Section 3.1, Remark 3.1",
    r"For $\beta \to \infty$ the relaxed free energy becomes the hard one of Theorem 3.1.",
    "hopfieldphase reproduce free-energy-zero-temperature",
)
def free_energy_zero_temperature() -> Finding:
    """Γ/β against that of α = ∞: their difference is at most Ψ(uniform)/β."""
    states = np.random.default_rng(2).normal(size=(50, 64))
    hard = figures.model(math.inf)
    gaps = {}
    for alpha, most in ((1.0, math.log(100)), (2.0, 1 - 1 / 100)):
        soft = figures.model(alpha)
        for beta in (1e2, 1e4, 1e6):
            gap = np.abs(soft.free_energy(states, beta) - hard.free_energy(states, beta)).max()
            gaps[alpha, beta] = float(gap) / most
    largest = max(gaps.values())
    return Finding(
        verdict(largest <= 1 + 1e-6),
        r"$|\Gamma_\alpha - \Gamma_\infty|/\beta$ is bounded by the largest entropy over $\beta$, "
        r"$\log M/\beta$ (softmax) or $(1 - 1/M)/\beta$ (sparsemax): "
        f"the largest share of the bound at 50 states and $\\beta = 10^2, 10^4, 10^6$ is {largest:.3f}.",
        {"largest_share": largest},
    )


@claim(
    "query-probability",
    "Section 3.1, Proposition 3.1",
    r"A state and its weights obey $x = \Xi^\top p/\sqrt d + J/\beta$.",
    "hopfieldphase reproduce query-probability",
)
def query_probability() -> Finding:
    """With J the numerical gradient of Γ at random states."""
    errors = {}
    for alpha in (1.0, 1.5, 2.0):
        soft = HopfieldModel(figures.patterns()[:20], alpha)
        for seed, beta in enumerate((5.0, 50.0)):
            x = np.random.default_rng(seed).normal(size=soft.d) / 8
            source = _differences(lambda y, m=soft, b=beta: float(m.free_energy(y, b)), x)
            p = soft.weights(x, beta)
            errors[alpha, beta] = float(np.abs(x - soft.scale * p @ soft.patterns - source / beta).max())
    worst = max(errors.values())
    return Finding(
        verdict(worst <= DIFFERENCES),
        r"With $J = \nabla\Gamma$ by central differences at random states, $\alpha = 1, 1.5, 2$, the two "
        f"sides differ by {worst:.1e} at most.",
        {"worst": worst},
    )


@claim(
    "overlap-derivative",
    "Section 3.2, Proposition 3.2",
    r"The derivative of the free energy with respect to the overlaps is $-\beta p$.",
    "hopfieldphase reproduce overlap-derivative",
)
def overlap_derivative() -> Finding:
    """∂/∂z of −Ω*(βz) at fixed |x|², and the derivative along z = sΞx at a minimum."""
    worst, beta = 0.0, 4.0
    for alpha in (1.0, 1.5, 2.0):
        z = _scores()[0]
        slope = _differences(lambda y, a=alpha: -float(conjugate(y, a, beta)), z)
        worst = max(worst, float(np.abs(slope + beta * weights(z, alpha, beta)).max()))
    state = relax(figures.model(), figures.patterns()[0], 150.0)
    along = float(np.linalg.norm(figures.model().gradient(state.x, 150.0)))
    return Finding(
        verdict(worst <= DIFFERENCES),
        rf"At fixed $|x|^2$ central differences agree to {worst:.1e}, $\alpha = 1, 1.5, 2$. The derivative "
        rf"along $z = \Xi x/\sqrt d$, in which $|x|^2$ moves too, is another one: it is {small(along)} at a "
        "minimum.",
        {"worst": worst, "along_at_minimum": along},
    )


@claim(
    "maps-hardmax",
    "Section 3.2, Proposition 3.3",
    r"For $\alpha \to \infty$ attention is hardmax.",
    "hopfieldphase reproduce maps-hardmax",
)
def maps_hardmax() -> Finding:
    """The weight that the top of two scores closer than 1/β misses: log(1/βδ)/(α − 1)."""
    gap, scaled, missing = 0.5, [], []
    for alpha in (1e2, 1e3, 1e4):
        p = weights(np.array([gap, 0.0]), alpha)
        missing.append(1 - float(p[0]))
        scaled.append(missing[-1] * (alpha - 1))
    limit = math.log(1 / gap)
    own = bool(np.all(weights(_scores(), math.inf).argmax(axis=1) == _scores().argmax(axis=1)))
    return Finding(
        verdict(own and missing[-1] < 1e-3 and abs(scaled[-1] / limit - 1) < 1e-2),
        rf"True, and slow: two scores with $\beta\,\Delta z = {gap:g}$ miss the weight {missing[0]:.1e}, "
        rf"{missing[1]:.1e}, {missing[2]:.1e} at $\alpha = 10^2, 10^3, 10^4$; times $\alpha - 1$ this goes "
        rf"to $\log 2$ ({scaled[-1]:.4f}). Scores closer than $1/\beta$ share the weight at every finite "
        r"$\alpha$.",
        {"missing_100": missing[0], "missing_10000": missing[-1], "scaled": scaled[-1]},
    )


@claim(
    "maps-hardmax-ties",
    "Section 3.2, Proposition 3.3",
    r"Hardmax is $p_\mu = 1$ for the maximal $z_\mu$ and 0 otherwise.",
    "hopfieldphase reproduce maps-hardmax-ties",
)
def maps_hardmax_ties() -> Finding:
    """With two maximal scores, ones would not sum to one."""
    z = np.array([1.0, 1.0, 0.0])
    p, large = weights(z, math.inf), weights(z, 1e6)
    printed = float(np.sum(z == z.max()))
    limit = float(np.abs(p - large).max())
    return Finding(
        verdict(printed == 1, Verdict.READING),
        f"Right for one maximum. With two of them the printed weights sum to {printed:g}; the limit of "
        rf"large $\alpha$, and the map here, is an equal share ({p[0]:g}, {p[1]:g}, {p[2]:g}; at $\alpha = "
        f"10^6$ within {small(limit)}).",
        {"printed_sum": printed, "share": float(p[0])},
    )


@claim(
    "maps-sparsemax",
    "Section 3.2, Proposition 3.3",
    r"For $\alpha = 2$ attention is sparsemax, $p_\mu = \frac\beta2[z_\mu - \theta]_+$.",
    "hopfieldphase reproduce maps-sparsemax",
)
def maps_sparsemax() -> Finding:
    """Against the Euclidean projection of βz/2 on the simplex, by sorting."""
    beta, z = 3.0, _scores()
    ordered = -np.sort(-beta * z / 2, axis=1)
    excess = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, z.shape[1] + 1)
    size = np.sum(ordered > excess, axis=1)
    theta = np.take_along_axis(excess, size[:, None] - 1, axis=1)
    projected = np.maximum(beta * z / 2 - theta, 0)
    error = float(np.abs(projected - weights(z, 2.0, beta)).max())
    return Finding(
        verdict(error <= ROUNDING),
        rf"The weights are the Euclidean projection of $\beta z/2$ on the simplex, to {error:.1e} at 200 "
        f"random scores of 20 patterns; {size.min()} to {size.max()} weights are positive.",
        {"error": error, "fewest": float(size.min()), "most": float(size.max())},
    )


@claim(
    "maps-convention",
    "Section 3.2, Proposition 3.3",
    r"For $1 < \alpha < 2$ attention is the entmax of Peters et al. (2019), for $\alpha = 2$ sparsemax.",
    "hopfieldphase reproduce maps-convention",
)
def maps_convention() -> Finding:
    """weights(z, α, β) against entmax_α of βz/α and of βz."""
    beta, z = 3.0, _scores()
    scaled, plain = 0.0, 0.0
    for alpha in (1.25, 1.5, 1.75, 2.0):
        p = weights(z, alpha, beta)
        scaled = max(scaled, float(np.abs(p - entmax(beta * z / alpha, alpha)).max()))
        plain = max(plain, float(np.abs(p - entmax(beta * z, alpha)).max()))
    holds = scaled <= ROUNDING
    return Finding(
        verdict(holds and plain <= ROUNDING, Verdict.READING if holds else Verdict.FAILS),
        r"The entropy here, $\Psi_\alpha = (1 - \sum p^\alpha)/(\alpha - 1)$, is $\alpha$ times that of "
        rf"Peters et al.: the weights are their $\mathrm{{entmax}}_\alpha(\beta z/\alpha)$ (to "
        rf"{small(scaled)}), not that of $\beta z$ (off by up to {plain:.2f}).",
        {"against_scaled": scaled, "against_plain": plain},
    )


@claim(
    "maps-softmax",
    "Section 3.2, Proposition 3.3",
    r"For $\alpha \to 1$ attention is softmax.",
    "hopfieldphase reproduce maps-softmax",
)
def maps_softmax() -> Finding:
    """The distance shrinks in proportion to α − 1, from both sides."""
    z, beta = _scores(), 3.0
    shifted = beta * (z - z.max(axis=1, keepdims=True))
    softmax = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    exact = float(np.abs(weights(z, 1.0, beta) - softmax).max())
    steps = (1e-2, 1e-4, 1e-6)
    above, below = ([float(np.abs(weights(z, 1 + sign * step, beta) - softmax).max()) for step in steps]
                    for sign in (1, -1))  # fmt: skip
    rate = [error / step for errors in (above, below) for error, step in zip(errors, steps, strict=True)]
    return Finding(
        verdict(exact <= ROUNDING and max(rate) < 2 * min(rate)),
        rf"At $\alpha = 1$ to {small(exact)}. From above and below the distance is proportional to $|\alpha "
        f"- 1|$: {above[0]:.1e} and {below[0]:.1e} at 0.01, {above[2]:.1e} and {below[2]:.1e} at "
        f"$10^{{-6}}$.",
        {"exact": exact, "above": above[2], "below": below[2], "smallest_rate": min(rate),
         "largest_rate": max(rate)},
    )  # fmt: skip


@claim(
    "maps-sparsity",
    "Section 3.1, Remark 3.1",
    r"For $\alpha > 1$ the maximiser is sparse: some of its components are zero.",
    "hopfieldphase reproduce maps-sparsity",
)
def maps_sparsity() -> Finding:
    """The exact branch of lowest β on the patterns of Figure 2."""
    branch = follow(figures.model(), figures.patterns().mean(axis=0), 0.5, (0.05, 20.0))
    full = [piece.upper for piece in branch.pieces if len(piece.support) == 100]
    until, at_20 = max(full, default=0.0), len(branch.at(20.0).support)
    return Finding(
        verdict(not full, Verdict.READING),
        r"Sparsity needs scores that differ by more than $\alpha/((\alpha - 1)\beta)$ can bridge: on the "
        r"patterns of Figure 2 at $\alpha = 2$ all 100 weights of the minimum are positive up to $\beta = "
        rf"{until:.3f}$; at $\beta = 20$ {at_20} are.",
        {"full_until": until, "support_at_20": float(at_20)},
    )


@claim(
    "noise-suppression",
    "Section 3.1, Remark 3.1",
    r"For $\alpha > 1$ the maximiser suppresses noisy patterns, which averages keep.",
    "hopfieldphase reproduce noise-suppression",
)
def noise_suppression() -> Finding:
    """Weight on all other patterns when pattern 0 is the query."""
    beta, others = 290.0, {}
    for alpha in (1.0, 1.5, 2.0):
        model = figures.model(alpha)
        p = model.weights(model.scale * model.patterns, beta)
        others[alpha] = 1 - np.diagonal(p)
    exact = int((others[2.0] == 0).sum())
    return Finding(
        verdict(exact > 90 and float(others[1.5].max()) < float(others[1.0].min())),
        rf"With each pattern of Figure 2 as the query at $\beta$ = {beta:g}, the weight on the other 99 is "
        rf"{others[1.0].mean():.2f} on average at $\alpha = 1$, {others[1.5].mean():.3f} at 1.5, and "
        f"exactly 0 for {exact} of 100 at 2.",
        {"softmax": float(others[1.0].mean()), "between": float(others[1.5].mean()), "exact": float(exact)},
    )


CLAIMS = (
    free_energy_hard, free_energy_zero_temperature, maps_sparsity, noise_suppression, query_probability,
    overlap_derivative,
    maps_hardmax, maps_hardmax_ties, maps_sparsemax, maps_convention, maps_softmax,
)  # fmt: skip
