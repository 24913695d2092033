"""Appendix F: effective support sizes, thresholds, and the settings of the simulations."""

import math
from functools import cache
from typing import Literal

import numpy as np

from hopfieldphase.continuation.sweep import Sweep, sweep
from hopfieldphase.core.entmax import threshold, weights
from hopfieldphase.core.patterns import clustered
from hopfieldphase.core.status import Status
from hopfieldphase.core.tsallis import effective_support, tsallis_entropy
from hopfieldphase.runs.ranges import parse_grid
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, small, verdict
from hopfieldphase.runs.specs import PatternSpec, SweepSpec
from hopfieldphase.runs.sweeps import sweep_beta

ROUNDING = 1e-12
ORDERS = (0.3, 0.7, 1.5, 2.0, 5.0)


@cache
def _distributions() -> np.ndarray:
    """Random weights from nearly uniform to nearly a peak, shape (3000, 30)."""
    rng = np.random.default_rng(0)
    return np.concatenate([rng.dirichlet(np.full(30, spread), size=1000) for spread in (0.05, 0.5, 20.0)])


@claim(
    "effective-support-range",
    "Appendix F.1, Proposition F.1",
    r"$1 \le K_{eff} \le M$, with 1 for a peak and M for uniform weights.",
    "hopfieldphase reproduce effective-support-range",
)
def effective_support_range() -> Finding:
    """Five orders on random weights, and both extremes."""
    values = np.array([effective_support(_distributions(), order) for order in ORDERS])
    peak, even = np.eye(30)[0], np.full(30, 1 / 30)
    extremes = [abs(float(effective_support(peak, order)) - 1) for order in ORDERS]
    extremes += [abs(float(effective_support(even, order)) / 30 - 1) for order in ORDERS]
    inside = values.min() >= 1 - ROUNDING and values.max() <= 30 * (1 + ROUNDING)
    return Finding(
        verdict(bool(inside) and max(extremes) < ROUNDING),
        rf"For {values.size} values (orders 0.3 to 5, 30 patterns) it lies between {values.min():.6f} and "
        rf"{values.max():.4f}; a peak and uniform weights give 1 and 30 within {small(max(extremes))}.",
        {"least": float(values.min()), "most": float(values.max()), "extremes": max(extremes)},
    )


@claim(
    "effective-support-slope",
    "Appendix F.1, Remark F.1",
    r"$K_{eff}$ rises strictly with the entropy, with the derivative $(K_{eff})^{\alpha/(1-\alpha)}$.",
    "hopfieldphase reproduce effective-support-slope",
)
def effective_support_slope() -> Finding:
    """The derivative between neighbouring entropies, against the printed one and against K^α."""
    printed, right, least = 0.0, 0.0, math.inf
    for order in ORDERS:
        p = _distributions()[1000:1100]
        near = (1 - 1e-6) * p + 1e-6 / 30  # towards the uniform weights
        slope = (effective_support(near, order) - effective_support(p, order)) / (
            tsallis_entropy(near, order) - tsallis_entropy(p, order)
        )
        middle = (effective_support(near, order) + effective_support(p, order)) / 2
        right = max(right, float(np.abs(slope / middle**order - 1).max()))
        printed = max(printed, float(np.abs(slope / middle ** (order / (1 - order)) - 1).max()))
        least = min(least, float(slope.min()))
    holds = least > 0 and right < 1e-3
    return Finding(
        verdict(holds and printed < 1e-3, Verdict.READING if holds else Verdict.FAILS),
        f"It rises strictly (the smallest slope found is {least:.2f}), but the derivative is "
        rf"$K_{{eff}}^\alpha$ (within {small(right)}): the printed power belongs to $\sum p^\alpha$, not to "
        f"$K_{{eff}}$, from which it differs by a factor of up to {printed + 1:.0e}.",
        {"least_slope": least, "error": right, "printed_error": printed},
    )


@claim(
    "threshold-lemma",
    "Appendix F.1, Lemma F.1",
    r"The weights are $(\frac{\alpha-1}\alpha\beta[z_\mu-\theta]_+)^{1/(\alpha-1)}$, zero exactly where "
    r"$z_\mu \le \theta$.",
    "hopfieldphase reproduce threshold-lemma",
)
def threshold_lemma() -> Finding:
    """The formula at the computed θ, and that no other weights have a larger objective."""
    z, beta, error, better = np.random.default_rng(1).normal(size=(100, 30)), 2.0, 0.0, -math.inf
    for alpha in (1.25, 1.5, 2.0, 3.0):
        p, theta = weights(z, alpha, beta), threshold(z, alpha, beta)
        formula = ((alpha - 1) / alpha * beta * np.maximum(z - theta[:, None], 0)) ** (1 / (alpha - 1))
        error = max(error, float(np.abs(p - formula).max()))
        others = 0.9 * p[:, None, :] + 0.1 * _distributions()[None, ::30, :]
        gain = (beta * np.einsum("nkm,nm->nk", others, z) + tsallis_entropy(others, alpha)
                - (beta * np.sum(p * z, axis=1) + tsallis_entropy(p, alpha))[:, None])  # fmt: skip
        better = max(better, float(gain.max()))
    return Finding(
        verdict(error < 1e-9 and better < 0),
        rf"At $\alpha = 1.25, 1.5, 2, 3$ the weights have this form within {small(error)} and their "
        r"objective $\beta z\cdot p + \Psi_\alpha(p)$ exceeds that of 10000 other weights each, by "
        f"{-better:.1e} or more.",
        {"error": error, "closest": -better},
    )


@claim(
    "no-truncation",
    "Appendix F.1, Remark F.2",
    r"For $0 < \alpha \le 1$ there is no truncation: all weights are positive.",
    "hopfieldphase reproduce no-truncation",
)
def no_truncation() -> Finding:
    """The smallest weight."""
    z = np.random.default_rng(2).normal(size=(200, 50))
    least = {alpha: float(weights(z, alpha, 20.0).min()) for alpha in (0.3, 0.7, 1.0)}
    cut = int((weights(z, 1.1, 20.0) == 0).sum(axis=1).min())
    return Finding(
        verdict(min(least.values()) > 0 and cut > 0),
        rf"At $\beta$ = 20 and 200 random scores of 50 patterns the smallest weight is {least[0.3]:.0e}, "
        rf"{least[0.7]:.0e} and {least[1.0]:.0e} at $\alpha$ = 0.3, 0.7 and 1, while at $\alpha$ = 1.1 at "
        f"least {cut} weights are zero.",
        {"least": min(least.values()), "zeros_above": float(cut)},
    )


@claim(
    "ipr-below-support",
    "Appendix F.2",
    r"A large IPR means many non-zero weights; the two differ since the IPR counts non-uniformly.",
    "hopfieldphase run sweeps/figure-2.toml",
)
def ipr_below_support() -> Finding:
    """IPR ≤ |supp p| at every point of Figures 2 to 5, equality where the weights are equal."""
    largest, equal, total = 0.0, 0, 0
    for number in (2, 3, 4, 5):
        data = figures.sweep_of(number)
        ratio = data["ipr"].values / data["support_size"].values
        largest = max(largest, float(ratio.max()))
        equal, total = equal + int((ratio > 1 - ROUNDING).sum()), total + ratio.size
    return Finding(
        verdict(largest <= 1 + ROUNDING),
        rf"IPR $\le$ support at all {total} points of Figures 2 to 5; they are equal at {equal} of them, "
        "where the weights are.",
        {"largest_ratio": largest, "equal": float(equal), "points": float(total)},
    )


@claim(
    "data-formula",
    "Appendix F.2",
    r"Clustered patterns $\sqrt{1-\delta}\,\eta + \sqrt\delta\,\zeta$ with “i.i.d. normalized noise vectors” "
    r"$\zeta \sim N(0, 1_d)$.",
    "hopfieldphase sweep beta --alpha 2 --noise unit --realizations 10",
)
def data_formula() -> Finding:
    """Both readings of the noise, judged by what Figure 2 reports."""
    C = {"gaussian": _cosine_in_cluster("gaussian"), "unit": _cosine_in_cluster("unit")}
    source = PatternSpec(generator="clustered", noise="unit")
    unit = sweep_beta(SweepSpec(alpha=2.0, betas=parse_grid("20:400:20"), realizations=10, patterns=source))
    count = int(unit["threshold_count"].values[..., 0].min())
    last, overlap = (
        float(unit["ipr"].values[..., -1].min()),
        float(unit["overlap_max"].values[..., -1].max()) * 64,
    )
    contradicts = count > 0 and last > 2
    return Finding(
        verdict(not contradicts, Verdict.READING),
        r"Two readings. With unit-norm $\eta$ and raw Gaussian noise the cosine in a cluster is "
        rf"{C['gaussian']:.3f}, close to $(1-\delta)/(1-\delta+\delta d)$ = "
        f"{0.96 / (0.96 + 0.04 * 64):.3f}: Figure 2 follows. With unit-norm noise it is {C['unit']:.3f}, "
        rf"and nothing in Figure 2 does: $K_\Delta$ is {count} or more already at $\beta$ = 20, and at 400 "
        f"the state is still a cluster mean (IPR {last:.1f} or more, $z_{{max}}$ at most {overlap:.3f}/d).",
        {
            "cosine_gaussian": C["gaussian"],
            "cosine_unit": C["unit"],
            "count_unit": float(count),
            "ipr_unit": last,
        },
    )


def _cosine_in_cluster(noise: Literal["gaussian", "unit"]) -> float:
    """Mean cosine of two patterns of one cluster."""
    cosines = []
    for realization in range(figures.REALIZATIONS):
        rows = clustered(100, 64, noise=noise, realization=realization)[::4]
        gram = rows @ rows.T
        cosines.append((gram.sum() - len(rows)) / (len(rows) * (len(rows) - 1)))
    return float(np.mean(cosines))


@cache
def _sweeps() -> tuple[Sweep, Sweep]:
    """Realization 0 of Figure 2 by the descent as printed, and with every state verified."""
    betas = np.arange(20.0, 402.0, 2.0)
    literal = sweep(figures.model(), betas, solver="gradient-descent", polish=False)
    return literal, sweep(figures.model(), betas)


@claim(
    "descent-finds-minima",
    "Appendix F.2",
    "Warm-started gradient descent with backtracking tracks branches of local minima.",
    "hopfieldphase reproduce descent-finds-minima",
)
def descent_finds_minima() -> Finding:
    """Points of the literal descent at which the Hessian has a negative eigenvalue, and their excess of Γ."""
    literal, verified = _sweeps()
    saddles = literal.hessian_min < -1e-9
    excess = np.where(saddles, literal.free_energy - verified.free_energy, 0.0)
    beta = literal.values[saddles.any(axis=0)]
    stuck = int(np.isin(literal.status, [Status.CONVERGED]).sum())
    support = {int(k) for k in literal.support_size[saddles]}
    good = int((verified.status == Status.CONVERGED).sum())
    return Finding(
        verdict(not saddles.any()),
        "Not without a look at the curvature: on realization 0 the descent as printed sits on a saddle at "
        rf"{saddles.sum()} of {saddles.size} points ($\beta$ = {beta.min():g} to {beta.max():g} of the "
        f"sweep up: the equal mixture of {min(support)} patterns after their symmetry has broken), with "
        rf"$\Gamma$ up to {excess.max():.3f} too high; {good} of {saddles.size} points are verified minima "
        "when saddles are left along their soft direction.",
        {"saddles": float(saddles.sum()), "excess": float(excess.max()), "converged": float(stuck),
         "verified": float(good)},
    ) if saddles.any() else Finding(Verdict.HOLDS, "No point is a saddle.", {"saddles": 0.0})  # fmt: skip


@claim(
    "descent-precision",
    "Appendix F.2",
    r"The step is $\eta_0 2^{-m}$ with the smallest m for which $\Gamma$ does not rise; iterated, it "
    "converges.",
    "hopfieldphase reproduce descent-precision",
)
def descent_precision() -> Finding:
    """How small a residual the descent as printed reaches, within 2000 steps a point."""
    betas, tolerance, limit = np.arange(20.0, 401.0, 20.0), 1e-9, 2000
    literal = sweep(
        figures.model(), betas, solver="gradient-descent", polish=False, tol=tolerance, max_steps=limit
    )
    stalled = literal.status == Status.NO_PROGRESS
    reached = literal.residual <= tolerance
    residual = float(np.median(literal.residual[stalled])) if stalled.any() else 0.0
    return Finding(
        verdict(bool(reached.all()), Verdict.READING),
        f"To about half of the digits: asked for a relative residual of {tolerance:g}, {reached.sum()} of "
        f"{reached.size} points of realization 0 reach it within {limit} steps, and {stalled.sum()} stop "
        rf"where the decrease of $\Gamma$ drowns in its rounding (median residual {residual:.0e}).",
        {"reached": float(reached.sum()), "stalled": float(stalled.sum()), "residual": residual},
    )


@claim(
    "distinct-energies",
    "Appendix F.2",
    "Distinct stable points have distinct free energies in general.",
    "hopfieldphase branches beta --alpha 2 --at 290 --top all",
)
def distinct_energies() -> Finding:
    """Γ of all minima at β = 290, α = 2, told apart at 1e-9."""
    energies = np.sort([branch.at(290.0).free_energy for branch in figures.sparse_branches(290.0)])
    distinct = 1 + int((np.diff(energies) > 1e-9).sum())
    return Finding(
        verdict(distinct == energies.size),
        rf"The {energies.size} minima found at $\beta$ = 290 ($\alpha = 2$) have {distinct} different "
        r"energies: every unit pattern that is stored exactly has $\Gamma = -\beta/2d$.",
        {"minima": float(energies.size), "energies": float(distinct)},
    )


@claim(
    "sparse-at-least-one",
    "Appendix F.1, Definition F.2",
    r"A k-sparse p has $0 \le k \le M$ non-zero components.",
    "hopfieldphase reproduce sparse-at-least-one",
)
def sparse_at_least_one() -> Finding:
    """The smallest support there is."""
    z = np.random.default_rng(3).normal(size=(500, 30))
    sizes = [int((weights(z, alpha, 50.0) > 0).sum(axis=1).min()) for alpha in (1.5, 2.0, 5.0, math.inf)]
    return Finding(
        verdict(min(sizes) == 0, Verdict.READING),
        rf"The smallest support found is {min(sizes)}: weights that sum to one cannot all vanish, so $k \ge "
        "1$.",
        {"least": float(min(sizes))},
    )


CLAIMS = (
    effective_support_range, effective_support_slope, threshold_lemma, no_truncation, sparse_at_least_one,
    ipr_below_support, data_formula, descent_finds_minima, descent_precision,
    distinct_energies,
)  # fmt: skip
