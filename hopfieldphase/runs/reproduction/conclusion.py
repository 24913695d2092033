"""Section 6: what the paper concludes, and its first three practical implications."""

import numpy as np

from hopfieldphase.continuation.branch import PointKind
from hopfieldphase.continuation.discovery import discover
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, verdict
from hopfieldphase.solvers import relax


@claim(
    "conclusion-support-change",
    "Section 6",
    "In the sparse regime discontinuous transitions occur due to support change.",
    "hopfieldphase branches beta --alpha 2 --at 200 --top all",
)
def support_change() -> Finding:
    """Ends of branches: a pattern enters, or the curvature vanishes at fixed support."""
    ends = [end for branch in figures.sparse_branches(200.0) for end in branch.ends if end.is_jump]
    spinodals = sum(end.kind is PointKind.SPINODAL for end in ends)
    changed = sum(
        bool(end.state and end.landing and end.state.support != end.landing.support) for end in ends
    )
    return Finding(
        verdict(spinodals == 0, Verdict.READING),
        f"The support changes at {changed} of {len(ends)} jumps, but it is the cause in "
        rf"{len(ends) - spinodals} only (ends of branches found at $\beta$ = 200): at the other {spinodals} "
        "the curvature vanishes first, at fixed support.",
        {"ends": float(len(ends)), "spinodals": float(spinodals)},
    )


@claim(
    "conclusion-softmax",
    "Section 6, and Remark 5.1",
    "The softmax regime evolves smoothly, without hysteresis, as a mixture of all patterns.",
    "hopfieldphase run sweeps/softmax-loop.toml",
)
def softmax_smooth() -> Finding:
    """IPR at the end of the range of Figure 3 and beyond, and jumps."""
    inside, beyond = figures.sweep_of(3), figures.softmax_loop()
    jumps = int(inside["jumped"].values.sum()), int(beyond["jumped"].values.sum())
    last = float(beyond["ipr"].values[..., -1].max())
    mixed = float(inside["ipr"].values.min())
    return Finding(
        verdict(jumps[1] == 0, Verdict.SCANNED if jumps[0] == 0 else Verdict.FAILS),
        rf"Up to $\beta$ = 400 there are {jumps[0]} jumps and the IPR stays above {mixed:.0f} of 100. Up to "
        f"1000 the ten realizations jump {jumps[1]} times, and end with one pattern retrieved (IPR at most "
        f"{last:.2f}).",
        {"jumps_inside": float(jumps[0]), "jumps_beyond": float(jumps[1]), "last_ipr": last},
    )


@claim(
    "implication-support",
    "Section 6, first implication",
    "Sparse attention is support-efficient.",
    "hopfieldphase run sweeps/figure-2.toml",
)
def support_efficient() -> Finding:
    """Supports of Figures 2 and 3 on the same patterns and β."""
    sparse, dense = (figures.sweep_of(number)["support_size"].values for number in (2, 3))
    middle = sparse[..., sparse.shape[-1] // 2]
    return Finding(
        verdict(sparse.max() < dense.min()),
        f"On the same patterns the sparse states use {sparse.min()} to {sparse.max()} of 100 patterns "
        rf"({middle.mean():.1f} on average at $\beta$ = 210), the dense ones all {dense.min()}. What this "
        "costs when many values count is measured with Appendix G.3.",
        {"most": float(sparse.max()), "middle": float(middle.mean()), "dense": float(dense.min())},
    )


@claim(
    "implication-path",
    "Section 6, second implication",
    r"In the sparse case raising and lowering $\beta$ select different memories; the outcome depends on "
    "the query.",
    "hopfieldphase run sweeps/figure-2.toml",
)
def path_dependence() -> Finding:
    """Realizations in different states at one β, and different outcomes of 100 queries."""
    sweep, beta = figures.sweep_of(2), 240.0
    at = int(np.abs(sweep["beta"].values - beta).argmin())
    differ = int(figures.differing(sweep)[:, at].sum())
    model = figures.model()
    ends = {tuple(relax(model, model.scale * row, beta).support) for row in model.patterns}
    return Finding(
        verdict(differ > 0 and len(ends) > 1),
        rf"At $\beta$ = {beta:g} the two sweeps hold different states in {differ} of {figures.REALIZATIONS} "
        f"realizations, and the 100 patterns of realization 0, taken as queries, end in {len(ends)} "
        "different states.",
        {"realizations": float(differ), "outcomes": float(len(ends))},
    )


@claim(
    "implication-temperature",
    "Section 6, third implication",
    r"Raising $\beta$ strengthens $z_{max}$: sparse attention saturates at one memory, dense attention "
    "sharpens with full support.",
    "hopfieldphase run sweeps/figure-3.toml",
)
def temperature() -> Finding:
    """Gain of z_max over the range in both cases, and single steps on a branch that lower it."""
    gain = {}
    for number in (2, 3):
        mean = figures.mean_curves(figures.sweep_of(number), "overlap_max")
        gain[number] = float((mean[:, -1] / mean[:, 0]).min())
    sweep = figures.sweep_of(2)
    falls = np.diff(sweep["overlap_max"].values, axis=-1) < -1e-12
    jumped = sweep["jumped"].values
    smooth = int((falls[:, 0] & ~jumped[:, 0, 1:]).sum() + (falls[:, 1] & ~jumped[:, 1, :-1]).sum())
    full = bool((figures.sweep_of(3)["support_size"].values == 100).all())
    return Finding(
        verdict(min(gain.values()) > 1 and full),
        rf"From $\beta$ = 20 to 400 the mean $z_{{max}}$ grows by a factor {gain[2]:.2f} (sparse, to 1/d) "
        f"and {gain[3]:.2f} (dense, all 100 patterns in the support). It is no law for a single sparse "
        f"state: {smooth} of the {falls.size} steps of the sweeps lower it without a jump.",
        {"sparse_gain": gain[2], "dense_gain": gain[3], "falling_steps": float(smooth)},
    )


@claim(
    "glassy-regime",
    "Section 1, contributions",
    "Retrieval has a glassy regime of competing metastable states and a regime of stable, target-aligned "
    "retrieval.",
    "hopfieldphase branches beta --alpha 2 --at 200 --top all",
)
def glassy_regime() -> Finding:
    """Number of minima against β, and how many of them are stored patterns."""
    counts = {}
    for beta in (10.0, 30.0, 100.0, 200.0, 250.0, 290.0, 350.0):
        states = discover(figures.model(), beta).states
        counts[beta] = len(states), sum(len(state.support) == 1 for state in states)
    mixed = {beta: total - single for beta, (total, single) in counts.items()}
    last, most = max(counts), max(mixed, key=lambda beta: mixed[beta])
    return Finding(
        verdict(counts[last] == (100, 100) and 20 < most < last and mixed[most] > 10),
        r"Minima found at $\beta$ = " + ", ".join(f"{beta:g}" for beta in counts) + ": "
        + ", ".join(str(total) for total, _ in counts.values())
        + rf". Most mixtures at {most:g} ({mixed[most]}); at {last:g} there are the {counts[last][1]} stored "
        "patterns and nothing else.",
        {"mixtures": float(mixed[most]), "most_at": most, "stored": float(counts[last][1])},
    )  # fmt: skip


CLAIMS = (
    glassy_regime, support_change, softmax_smooth, support_efficient, path_dependence, temperature,
)  # fmt: skip
