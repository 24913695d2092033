"""Section 5.2, sparse case: the panels of Figure 4."""

import numpy as np

from hopfieldphase.data import branch_schema
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, small, verdict

SHOW = "hopfieldphase run sweeps/figure-4.toml"
BRANCHES = "hopfieldphase branches kappa --alpha 2 --at 0.12 --top 5"
UP, DOWN = 0, 1
MONOTONE = 0.05
STORED = 1 / 48


@claim(
    "figure-4a-hysteresis",
    "Section 5.2, Figure 4(a)",
    r"The sweeps up and down in $\kappa$ do not coincide: there is a hysteresis window, with transitions "
    "of first order.",
    SHOW,
)
def hysteresis() -> Finding:
    """Realizations that differ, and the jumps with their change of z_max."""
    sweep = figures.sweep_of(4)
    differ = figures.differing(sweep)
    count, jumps = int(differ.any(axis=1).sum()), sweep["jumped"].values.sum(axis=(1, 2))
    return Finding(
        verdict(count == len(differ) and jumps.min() > 0),
        f"In {count} of {len(differ)} realizations the two directions hold different states somewhere, and "
        f"each has steps with a jump ({jumps.min()} to {jumps.max()} of {2 * (differ.shape[1] - 1)}).",
        {"realizations": float(count), "fewest_jumps": float(jumps.min()), "most_jumps": float(jumps.max())},
    )


@claim(
    "figure-4a-window",
    "Section 5.2, Figure 4(a)",
    r"The difference is a window in $\kappa$.",
    SHOW,
)
def window() -> Finding:
    """Whether the sweeps meet at the ends of the range."""
    differ = figures.differing(figures.sweep_of(4))
    low, high = (int(column.sum()) for column in (differ[:, 0], differ[:, -1]))
    return Finding(
        verdict(low == high == 0, Verdict.READING),
        f"The range has no end at which the sweeps meet: they still differ in {low} of {len(differ)} "
        rf"realizations at $\kappa$ = 0.06 and in {high} at 0.19. It shows many states together throughout, "
        "not a window.",
        {"open_below": float(low), "open_above": float(high)},
    )


@claim(
    "figure-4a-overlap",
    "Section 5.2, Figure 4(a)",
    r"As $\kappa$ increases $z_{max}$ decreases stepwise: delocalisation.",
    SHOW,
)
def overlap_decreases() -> Finding:
    """Means over realizations, their lowest points, and how many states are stored patterns."""
    sweep = figures.sweep_of(4)
    kappa, mean = sweep["kappa"].values, figures.mean_curves(sweep, "overlap_max")
    back = [figures.backward(row) for row in mean]
    falls = [row[-1] < row[0] for row in mean]
    stored = (np.abs(sweep["overlap_max"].values / STORED - 1) < 1e-9).sum(axis=0)
    lowest = [kappa[row.argmin()] for row in mean]
    return Finding(
        verdict(all(falls) and max(back) < MONOTONE),
        f"The mean goes from {mean[UP, 0]:.4f} to {mean[UP, -1]:.4f} (up) and from {mean[DOWN, 0]:.4f} to "
        rf"{mean[DOWN, -1]:.4f} (down), with its lowest value at $\kappa$ = {lowest[UP]:g} and "
        f"{lowest[DOWN]:g} and {100 * min(back):.0f} to {100 * max(back):.0f} % of its variation against "
        f"the net direction. What delocalises is retrieval: stored patterns ($z_{{max}}$ = 1/48) are "
        rf"{stored[UP, 0]} and {stored[DOWN, 0]} of ten states at $\kappa$ = 0.06, {stored[UP, -1]} and "
        f"{stored[DOWN, -1]} at 0.19.",
        {"first_up": mean[UP, 0], "last_up": mean[UP, -1], "first_down": mean[DOWN, 0],
         "last_down": mean[DOWN, -1],
         "least_backward": min(back), "most_backward": max(back)},
    )  # fmt: skip


@claim(
    "figure-4b-support",
    "Section 5.2, Figure 4(b)",
    r"Additional overlaps enter the support as $\kappa$ increases.",
    SHOW,
)
def support_grows() -> Finding:
    """Means at both ends of the range."""
    mean = figures.mean_curves(figures.sweep_of(4), "support_size")
    return Finding(
        verdict(bool((mean[:, -1] > 2 * mean[:, 0]).all())),
        f"The mean support grows from {mean[UP, 0]:.1f} to {mean[UP, -1]:.1f} patterns (up) and from "
        f"{mean[DOWN, 0]:.1f} to {mean[DOWN, -1]:.1f} (down); the most in any realization are "
        f"{int(figures.sweep_of(4)['support_size'].values.max())} of 9136.",
        {"first_up": mean[UP, 0], "last_up": mean[UP, -1], "first_down": mean[DOWN, 0],
         "last_down": mean[DOWN, -1]},
    )  # fmt: skip


@claim(
    "figure-4b-ipr",
    "Section 5.2, Figure 4(b)",
    "The IPR remains close to one: a single dominant memory controls the retrieval.",
    SHOW,
)
def ipr_stays() -> Finding:
    """The IPR at 0.12 and at the end; a weight above one half needs an IPR below four."""
    sweep = figures.sweep_of(4)
    kappa, mean, values = sweep["kappa"].values, figures.mean_curves(sweep, "ipr"), sweep["ipr"].values
    middle = int(np.abs(kappa - 0.12).argmin())
    shared = int((values[..., -1] > 4).sum())
    last = float(mean[:, -1].min())
    return Finding(
        verdict(float(mean.max()) < 1.5),
        rf"It grows from {mean[UP, 0]:.1f} and {mean[DOWN, 0]:.1f} (up, down) at $\kappa$ = 0.06 over "
        f"{mean[UP, middle]:.1f} and {mean[DOWN, middle]:.1f} at 0.12 to {mean[UP, -1]:.1f} and "
        f"{mean[DOWN, -1]:.1f} at 0.19. There {shared} of {values[..., -1].size} states have an IPR above "
        "four, and so no pattern with half of the weight.",
        {
            "first_up": mean[UP, 0],
            "middle_up": mean[UP, middle],
            "last": last,
            "without_majority": float(shared),
        },
    )


@claim(
    "figure-4b-threshold",
    "Section 5.2, Figure 4(b)",
    r"The variance of $K_\Delta$ grows with $\kappa$.",
    SHOW,
)
def threshold_variance() -> Finding:
    """Standard deviations over realizations."""
    spread = figures.spreads(figures.sweep_of(4), "threshold_count")
    mean = figures.mean_curves(figures.sweep_of(4), "threshold_count")
    return Finding(
        verdict(bool((spread[:, -1] > 10 * spread[:, 0]).all())),
        f"The standard deviation grows from {spread[UP, 0]:.1f} to {spread[UP, -1]:.0f} (up) and from "
        f"{spread[DOWN, 0]:.1f} to {spread[DOWN, -1]:.0f} (down). So does the mean, from {mean[UP, 0]:.1f} "
        f"to {mean[UP, -1]:.0f}: it counts neighbours among ever more patterns, their share does not grow "
        f"({mean[UP, 0] / 18:.3f} and {mean[UP, -1] / 9136:.3f} of M).",
        {"first_up": spread[UP, 0], "last_up": spread[UP, -1], "first_down": spread[DOWN, 0],
         "last_down": spread[DOWN, -1]},
    )  # fmt: skip


@claim(
    "figure-4c-branches",
    "Section 5.2, Figure 4(c)",
    r"At $\kappa_0 = 0.12$ several branches coexist.",
    BRANCHES,
)
def many_branches() -> Finding:
    """Strict minima found there, and the five that lead the ranking."""
    facts, table = figures.facts(4), figures.branch_table(4, "branches")
    minima, singles = int(facts["n_states"]), int((table["support_size"].values == 1).sum())
    return Finding(
        verdict(minima > 1),
        f"{minima} strict minima are found among the 317 patterns from {facts['n_starts']} starts. Of the "
        f"five with the largest $z_{{max}}$, {singles} are stored patterns.",
        {"minima": float(minima), "stored": float(singles)},
    )


@claim(
    "figure-4c-trapped",
    "Section 5.2, Figure 4(c)",
    "The state stays trapped in its basin until stability is lost.",
    BRANCHES,
)
def trapped() -> Finding:
    """What ends the five branches, and the curvature there."""
    points = figures.branch_table(4, "special_points")
    kinds = points["kind"].values
    names = branch_schema.FLAGS["kind"]["flag_meanings"].split()
    real = np.array([names[kind] not in ("range", "limit") for kind in kinds])
    curvatures = points["hessian_min"].values[real]
    upper = figures.branch_table(4, "branches")["kappa_max"].values
    return Finding(
        verdict(float(curvatures.max()) < 1e-6, Verdict.READING),
        rf"Until a pattern comes or goes: the five branches end at $\kappa$ = {upper.min():.4f} to "
        rf"{upper.max():.4f} with $\lambda_{{\min}}/\beta$ = {curvatures.min():g} at all {curvatures.size} "
        "ends inside the range. A new pattern nearer than the margin enters the support (Remark 4.1), the "
        "curvature gives no warning.",
        {"ends": float(curvatures.size), "least_curvature": float(curvatures.min()),
         "first_upper_end": float(upper.min()), "last_upper_end": float(upper.max())},
    )  # fmt: skip


@claim(
    "figure-4d-energies",
    "Section 5.2, Figure 4(d)",
    r"As $\kappa$ grows all branch energies decrease.",
    SHOW,
)
def energies_decrease() -> Finding:
    """Along exact branches, upwards by continuation, and downwards by continuation."""
    exact = figures.branch_table(4, "curves")["free_energy"].values
    along = max(float(np.ptp(row[np.isfinite(row)])) for row in exact)
    followed = figures.followed(4)
    kappa, energies = followed["kappa"].values, followed["free_energy"].values
    steps = np.diff(energies, axis=1)
    above = steps[:, kappa[:-1] >= 0.12 - 1e-9]
    rises = int((steps > 1e-9).any(axis=1).sum())
    return Finding(
        verdict(along > 0 and rises == 0, Verdict.READING),
        rf"A branch on a stored pattern has constant energy, $-\beta/2d$ = {exact[0, 4]:g}, as long as it "
        f"exists (spread {small(along)}); what falls are the energies after its end. Upwards from "
        rf"$\kappa_0$ none of the {len(energies)} continuations ever rises (largest step "
        f"{small(above.max())}) and all end lower, at {energies[:, -1].min():.2f} to "
        f"{energies[:, -1].max():.2f}; downwards {rises} of them fall too, so that their curves rise with "
        r"$\kappa$ there.",
        {"spread": along, "largest_step_up": float(above.max()), "rising": float(rises)},
    )


@claim(
    "integer-patterns",
    "Section 5.2, Remark 5.2",
    r"The curves are not smooth in $\kappa$ because M is an integer.",
    SHOW,
)
def integer_patterns() -> Finding:
    """Between single patterns nothing changes; what rounding of M adds is less."""
    sweep = figures.sweep_of(4)
    kappa, M = sweep["kappa"].values, sweep["M"].values
    rounding = float(np.abs(np.log(M) / 48 - kappa).max())
    dense = figures.sweep_of(5)["overlap_max"].values[:, 0]
    slope = np.abs(np.diff(dense)).mean() / (kappa[1] - kappa[0])
    rough = np.abs(np.diff(dense, n=2)).mean()
    share = float(rounding * slope / rough)
    return Finding(
        verdict(share > 0.5, Verdict.READING),
        r"In the sense that patterns join one by one: at $\alpha = 2$ a state is constant between two of "
        rf"them. That M is rounded moves $\kappa$ by {small(rounding)} at most, and the softmax $z_{{max}}$ "
        f"of one realization by {100 * share:.0f} % of its second differences on the grid: the roughness "
        "is the chance of single patterns.",
        {"rounding": rounding, "share": share},
    )


CLAIMS = (
    hysteresis, window, overlap_decreases, support_grows, ipr_stays, threshold_variance, many_branches,
    trapped, energies_decrease, integer_patterns,
)  # fmt: skip
