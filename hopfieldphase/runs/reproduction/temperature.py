"""Section 5.1, sparse case: the panels of Figure 2."""

from functools import cache

import numpy as np

from hopfieldphase.continuation.branch import SpecialPoint
from hopfieldphase.continuation.branches import follow
from hopfieldphase.phases.coexistence import all_coexistence, coexistence
from hopfieldphase.phases.equilibrium import equilibrium
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, small, verdict
from hopfieldphase.solvers import relax

SHOW = "hopfieldphase run sweeps/figure-2.toml"
UP, DOWN = 0, 1
FIVE = tuple((pattern,) for pattern in range(5))
"""Supports of the five branches that lead the ranking of panels (c) and (d)."""
EXACT = 1e-12
"""Relative: z_max and IPR of a stored pattern are exact to rounding."""
MONOTONE = 0.05
"""Share of the variation of a mean over ten realizations that may go the other way."""


@claim(
    "figure-2a-hysteresis",
    "Section 5.1, Figure 2(a)",
    r"The sweeps up and down in $\beta$ do not coincide: there is a hysteresis window.",
    SHOW,
)
def hysteresis() -> Finding:
    """Realizations that differ somewhere, and where."""
    sweep = figures.sweep_of(2)
    beta, differ = sweep["beta"].values, figures.differing(sweep)
    count = int(differ.any(axis=1).sum())
    last = [float(beta[row][-1]) for row in differ if row.any()] or [0.0]
    return Finding(
        verdict(count == len(differ)),
        rf"In {count} of {len(differ)} realizations the two directions hold different states, up to $\beta$ "
        f"= {min(last):g} to {max(last):g}, depending on the realization.",
        {"realizations": float(count), "earliest_end": min(last), "latest_end": max(last)},
    )


@claim(
    "figure-2a-window",
    "Section 5.1, Figure 2(a)",
    r"The states differ inside a window of $\beta$.",
    SHOW,
)
def hysteresis_window() -> Finding:
    """At the lowest β the sweeps still differ; where the minimum is proven to be the only one."""
    sweep = figures.sweep_of(2)
    differ = figures.differing(sweep)
    open_ends = int(differ[:, :2].any(axis=1).sum())
    single = []
    for realization in range(figures.REALIZATIONS):
        gram = figures.model(2.0, realization).gram
        P = np.eye(len(gram)) - 1 / len(gram)
        single.append(2 / float(np.linalg.eigvalsh(P @ gram @ P)[-1]))
    return Finding(
        verdict(open_ends == 0, Verdict.READING),
        f"The window is closed above only: in {open_ends} of {len(differ)} realizations the sweeps still "
        rf"differ at the low end of the range, $\beta$ = {float(sweep['beta'][0]):g}. One minimum is "
        rf"certain below $2/\lambda_{{\max}}(PGP)$ of all patterns, where $\Gamma$ is convex in $p$: "
        f"{min(single):.1f} to {max(single):.1f}.",
        {"open": float(open_ends), "convex_below": min(single)},
    )


@claim(
    "figure-2a-stepwise",
    "Section 5.1, Figure 2(a)",
    r"As $\beta$ increases the maximal overlap grows stepwise.",
    SHOW,
)
def stepwise_growth() -> Finding:
    """Jumps, the trend of the mean, and single steps down."""
    sweep = figures.sweep_of(2)
    mean, steps = figures.mean_curves(sweep, "overlap_max"), np.diff(sweep["overlap_max"].values, axis=-1)
    jumps = sweep["jumped"].values.sum(axis=(1, 2))
    falls = int((steps < -EXACT).sum())
    back = max(figures.backward(row) for row in mean)
    return Finding(
        verdict(back < MONOTONE and bool((mean[:, -1] > mean[:, 0]).all()) and jumps.min() > 0),
        f"The mean over realizations rises from {mean[UP, 0]:.4f} (up) and {mean[DOWN, 0]:.4f} (down) to "
        f"{mean[UP, -1]:.4f} ({100 * back:.1f} % of its variation goes down), with {jumps.min()} to "
        f"{jumps.max()} jumps in a realization. Single realizations also step down: {falls} of "
        rf"{steps.size} steps in $\beta$.",
        {"backward": back, "fewest_jumps": float(jumps.min()), "steps_down": float(falls)},
    )


@claim(
    "figure-2a-saturation",
    "Section 5.1, Figure 2(a)",
    r"The maximal overlap saturates at $1/d = 1/64 \approx 0.0156$, whatever the seed.",
    SHOW,
)
def saturation() -> Finding:
    """From which β on all realizations have it."""
    sweep = figures.sweep_of(2)
    beta, there = sweep["beta"].values, np.abs(64 * sweep["overlap_max"].values - 1) < EXACT
    from_here_on = np.logical_and.accumulate(np.all(there, axis=0)[:, ::-1], axis=1)[:, ::-1]
    firsts = np.where(from_here_on[:, -1], beta[from_here_on.argmax(axis=1)], np.inf)
    ends = [float(first) for first in firsts]
    spread = float(figures.spreads(sweep, "overlap_max")[:, -1].max())
    return Finding(
        verdict(bool(np.isfinite(ends).all())),
        rf"All {figures.REALIZATIONS} realizations are at 1/64 to rounding from $\beta$ = {ends[DOWN]:g} on "
        rf"(down) and {ends[UP]:g} on (up); their standard deviation at $\beta$ = {beta[-1]:g} is "
        f"{small(spread)}.",
        {"from_up": float(ends[UP]), "from_down": float(ends[DOWN]), "spread": spread},
    )


@claim(
    "figure-2b-sparse",
    "Section 5.1, Figure 2(b)",
    r"As $\beta$ increases the exact support size and the IPR decrease, to one pattern.",
    SHOW,
)
def supports_shrink() -> Finding:
    """Trends and last values of both."""
    sweep = figures.sweep_of(2)
    back, ends = [], []
    for name in ("support_size", "ipr"):
        curves = figures.mean_curves(sweep, name)
        back += [figures.backward(row) for row in curves]
        ends += [float(row[-1]) for row in curves]
    first = figures.mean_curves(sweep, "support_size")[:, 0]
    return Finding(
        verdict(max(back) < MONOTONE and max(abs(end - 1) for end in ends) < EXACT),
        f"The means fall from {first[UP]:.1f} (up) and {first[DOWN]:.1f} (down) patterns to exactly 1 in "
        f"every realization ({100 * max(back):.1f} % of the variation goes up).",
        {"backward": max(back), "first_up": float(first[UP]), "first_down": float(first[DOWN])},
    )


@claim(
    "figure-2b-threshold-low",
    "Section 5.1, Figure 2(b)",
    r"$K_\Delta$ is zero at high temperature: no overlap exceeds $\Delta = 0.01$.",
    SHOW,
)
def threshold_count_low() -> Finding:
    """The lowest β with a positive count."""
    sweep = figures.sweep_of(2)
    beta, some = sweep["beta"].values, (sweep["threshold_count"].values > 0).any(axis=(0, 1))
    first = float(beta[np.argmax(some)]) if some.any() else float("inf")
    return Finding(
        verdict(first > beta[0]),
        rf"It is zero in all realizations and both directions below $\beta$ = {first:g}.",
        {"zero_below": first},
    )


@claim(
    "figure-2b-disordered",
    "Section 5.1, Figure 2(b)",
    r"$K_\Delta = 0$ suggests a disordered regime, dominated by noise.",
    "hopfieldphase branches beta --alpha 2 --at 30 --top all",
)
def low_beta_order() -> Finding:
    """The share of the largest cluster in the weights at β = 20, and the minima at β = 30."""
    shares, beta = [], 20.0
    for realization in range(figures.REALIZATIONS):
        model = figures.model(2.0, realization)
        p = relax(model, model.patterns.mean(axis=0), beta).weights
        shares.append(max(float(p[cluster::4].sum()) for cluster in range(4)))
    minima = figures.sparse_branches(30.0).n_states
    return Finding(
        verdict(max(shares) < 0.5, Verdict.READING),
        rf"Not without order: at $\beta$ = {beta:g}, $K_\Delta = 0$, one of the four clusters carries "
        f"{min(shares):.2f} to {max(shares):.2f} of the weight (mean {np.mean(shares):.2f}; a quarter "
        rf"without order), and at $\beta$ = 30 realization 0 has {minima} minima. $K_\Delta$ tells that no "
        "single pattern is retrieved.",
        {"least_share": min(shares), "mean_share": float(np.mean(shares)), "minima": float(minima)},
    )


@claim(
    "figure-2b-threshold-high",
    "Section 5.1, Figure 2(b)",
    r"At low temperature all support sizes approach one, $K_\Delta$ among them.",
    SHOW,
)
def threshold_count_high() -> Finding:
    """K_Δ counts neighbours too."""
    sweep = figures.sweep_of(2)
    last = sweep["threshold_count"].values[..., -1]
    exceptions = int((last > 1).any(axis=1).sum())
    return Finding(
        verdict(exceptions == 0, Verdict.FAILS),
        rf"Support and IPR do; $K_\Delta$ is {last.max()} in {exceptions} of {len(last)} realizations at "
        rf"the highest $\beta$, for any: a stored pattern has $z_\nu = C_{{\mu\nu}}/d$, so that every "
        r"neighbour with a cosine above $\Delta d = 0.64$ counts.",
        {"exceptions": float(exceptions), "largest": float(last.max())},
    )


@claim(
    "figure-2c-branches",
    "Section 5.1, Figure 2(c)",
    r"At $\beta_0 = 290$ several stable retrieval branches compete.",
    "hopfieldphase branches beta --alpha 2 --at 290 --top 5",
)
def many_branches() -> Finding:
    """Strict minima found there."""
    found = figures.sparse_branches(290.0)
    singles = sum(len(branch.at(290.0).support) == 1 for branch in found)
    return Finding(
        verdict(found.n_states > 1),
        f"{found.n_states} strict minima are found from {found.n_starts} starts: {singles} stored patterns "
        f"and {found.n_states - singles} others.",
        {"minima": float(found.n_states), "stored": float(singles)},
    )


@claim(
    "figure-2c-crossings",
    "Section 5.1, Figure 2(c)",
    r"The top five branches, ranked by $z_{max}$, cross, and their $z_{max}$ jumps.",
    SHOW,
)
def top_five() -> Finding:
    """They are stored patterns with one and the same z_max, and Γ."""
    table = figures.branch_table(2, "branches")
    followed = figures.followed(2)
    singles = int((table["support_size"].values == 1).sum())
    overlaps, energies = np.ptp(table["overlap_max"].values), np.ptp(table["free_energy"].values)
    jumps = followed["jumped"].values.sum(axis=1)
    ties = sum(
        abs(64 * branch.at(290.0).overlap_max - 1) < EXACT for branch in figures.sparse_branches(290.0)
    )
    return Finding(
        verdict(singles == 0, Verdict.READING),
        rf"All {singles} are stored patterns: $z_{{max}}$ = 1/64 and $\Gamma$ are equal (spread "
        f"{small(max(overlaps, energies))}), {ties} patterns tie for these five places, and nothing "
        "crosses while they exist. What crosses and jumps is the warm-started continuation below their "
        f"ends: {jumps.min()} to {jumps.max()} jumps each.",
        {"stored": float(singles), "spread": float(max(overlaps, energies)), "jumps": float(jumps.sum())},
    )


@claim(
    "figure-2d-energies",
    "Section 5.1, Figure 2(d)",
    "The five branches have a coexistence point.",
    SHOW,
)
def top_five_energies() -> Finding:
    """Exact Γ of stored patterns, their crossings, and the first β at which two continuations differ."""
    followed = figures.followed(2)
    beta, energies = followed["beta"].values, followed["free_energy"].values
    singles = [branch for branch in figures.sparse_branches(290.0) if branch.at(290.0).support in FIVE]
    crossings = sum(not point.degenerate for *_, point in all_coexistence(singles))
    ends = [branch.lower for branch in singles]
    exact = float(np.abs(energies[:, beta >= 290] + beta[beta >= 290] / 128).max())
    parts = float(beta[np.ptp(energies, axis=0) > 1e-9].max(initial=0.0))
    return Finding(
        verdict(crossings > 0, Verdict.READING),
        rf"They coexist throughout and cross at {crossings} points: every stored pattern has $\Gamma = "
        rf"-\beta/2d$ (within {small(exact)}) as long as it is a minimum, here down to $\beta$ = "
        rf"{min(ends):.1f} to {max(ends):.1f}. The plotted curves part at $\beta$ = {parts:g}, where the "
        "first of the five has ended.",
        {
            "crossings": float(crossings),
            "apart_below": parts,
            "lowest_end": min(ends),
            "highest_end": max(ends),
        },
    )


@claim(
    "figure-2d-global-minimum",
    "Section 5.1, Figure 2(d)",
    r"As $\beta$ varies the global minimiser switches between branches.",
    "hopfieldphase branches beta --alpha 2 --at 200 --top all",
)
def global_minimum() -> Finding:
    """Equilibrium among all branches found at β = 200."""
    intervals = equilibrium(list(figures.sparse_branches(200.0)))
    switches = [f"{interval.upper:.1f}" for interval in intervals[:-1]]
    return Finding(
        verdict(len(switches) > 0),
        rf"Among the {figures.sparse_branches(200.0).n_states} branches found at $\beta$ = 200 the lowest "
        f"one changes {len(switches)} times between 20 and 400, at {', '.join(switches)}.",
        {"switches": float(len(switches))},
    )


@cache
def _falls() -> tuple[tuple[SpecialPoint, tuple[float, ...]], ...]:
    """The lower ends of all branches at β = 290 whose state falls to a lower energy, with their crossings."""
    found = []
    for branch in figures.sparse_branches(290.0):
        end = branch.ends[0]
        if not end.is_jump or end.state is None or end.landing is None:
            continue
        if end.state.free_energy - end.landing.free_energy < 1e-6:  # a pair of the same energy takes over
            continue
        other = follow(figures.model(), end.landing.x, end.parameter * (1 - 1e-6), (20.0, 400.0))
        found.append((end, tuple(point.parameter for point in coexistence(branch, other))))
    return tuple(found)


@claim(
    "figure-2d-before-crossing",
    "Section 5.1, Figure 2(d)",
    "Under continuation the transition occurs before the exact crossing is reached.",
    "hopfieldphase reproduce figure-2d-before-crossing",
)
def after_the_crossing() -> Finding:
    """Where a branch that ends below β = 290 and the branch it falls to have equal energies."""
    after = [
        max(points) - end.parameter for end, points in _falls() if points and max(points) > end.parameter
    ]
    others = len(figures.sparse_branches(290.0)) - len(_falls())
    return Finding(
        verdict(not after, Verdict.READING),
        rf"After it, in the direction of the continuation: going down from $\beta$ = 290 {len(after)} of "
        f"the {len(_falls())} states that fall to a lower energy had crossed the state they fall to, "
        f"{min(after, default=0):.1f} to {max(after, default=0):.1f} earlier. The jump lies before the "
        rf"crossing only on the axis of $\beta$, read from the left. The other {others} branches end "
        "without a step of the energy.",
        {
            "after": float(len(after)),
            "falls": float(len(_falls())),
            "least_distance": min(after, default=0.0),
        },
    )


@claim(
    "figure-2d-within-retrieval",
    "Section 5.1, Figure 2(d)",
    "These are transitions within the retrieval phase, not to a disordered phase.",
    "hopfieldphase reproduce figure-2d-within-retrieval",
)
def within_retrieval() -> Finding:
    """Supports and overlaps of the states into which the stored patterns fall."""
    landings = [end.landing for end, _ in _falls() if end.landing]
    sizes, overlaps = [len(state.support) for state in landings], [state.overlap_max for state in landings]
    hot = float(figures.mean_curves(figures.sweep_of(2), "overlap_max")[:, 0].max())
    return Finding(
        verdict(max(sizes) < 10 and min(overlaps) > 1.25 * hot),
        rf"The {len(landings)} stored patterns that fall to a lower energy below $\beta$ = 290 land on "
        rf"{min(sizes)} to {max(sizes)} patterns, with $z_{{max}}$ = {64 * min(overlaps):.2f}/d to "
        rf"{64 * max(overlaps):.2f}/d, against {64 * hot:.2f}/d at $\beta$ = 20.",
        {"fewest": float(min(sizes)), "most": float(max(sizes)), "least_overlap": min(overlaps)},
    )


CLAIMS = (
    hysteresis, hysteresis_window, stepwise_growth, saturation, supports_shrink, threshold_count_low,
    low_beta_order, threshold_count_high, many_branches, top_five, top_five_energies, global_minimum,
    after_the_crossing, within_retrieval,
)  # fmt: skip
