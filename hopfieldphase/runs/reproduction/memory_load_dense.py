"""Section 5.2, dense case: the panels of Figure 5."""

import numpy as np

from hopfieldphase.core.patterns import sequence
from hopfieldphase.runs.kappa import sweep_kappa
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, small, verdict

SHOW = "hopfieldphase run sweeps/figure-5.toml"
MONOTONE = 0.05


@claim(
    "figure-5a-hysteresis",
    "Section 5.2, Figure 5(a)",
    r"Softmax: the sweeps up and down in $\kappa$ coincide, no states coexist.",
    "hopfieldphase sweep kappa --alpha 1 --kappas 0.015:0.06:0.005",
)
def no_hysteresis() -> Finding:
    """In the range of the figure, and below it."""
    sweep = figures.sweep_of(5)
    difference = float(np.abs(np.diff(sweep["overlap_max"].values, axis=1)).max()) * 48
    rows = [sequence("clustered", d=48, seed=0, realization=k) for k in range(figures.REALIZATIONS)]
    few = sweep_kappa(rows, "0.015:0.06:0.005", 180.0, 1.0)
    differ, agrees = figures.differing(few), not figures.differing(sweep).any()
    count, M = int(differ.any(axis=1).sum()), few["M"].values[differ.any(axis=0)]
    most = int(M.max(initial=0))
    return Finding(
        verdict(agrees and count == 0, Verdict.SCANNED if agrees else Verdict.FAILS),
        rf"True from $\kappa$ = 0.06 (18 patterns) on: the two $z_{{max}}$ differ by {small(difference)} of "
        f"1/d at most. Among fewer patterns retrieval is stable too: {count} of {len(differ)} realizations "
        f"differ somewhere among {int(M.min(initial=most))} to {most} patterns.",
        {"difference": difference, "below": float(count), "most_patterns": float(most)},
    )


@claim(
    "figure-5a-overlap",
    "Section 5.2, Figure 5(a)",
    r"As $\kappa$ increases $z_{max}$ decreases: delocalisation.",
    SHOW,
)
def overlap_decreases() -> Finding:
    """The mean over realizations, its lowest point, and the share of the largest weight."""
    sweep = figures.sweep_of(5)
    kappa, mean = sweep["kappa"].values, figures.mean_curves(sweep, "overlap_max")[0]
    lowest, back = int(mean.argmin()), figures.backward(mean)
    return Finding(
        verdict(back < MONOTONE and mean[-1] < mean[0]),
        rf"It decreases from {mean[0]:.5f} to {mean[lowest]:.5f} at $\kappa$ = {kappa[lowest]:g}, then "
        f"grows again to {mean[-1]:.5f} ({100 * back:.0f} % of its variation goes up): the state becomes "
        "the mean of all patterns, and the largest overlap with it is a maximum over ever more of them.",
        {
            "first": mean[0],
            "lowest": mean[lowest],
            "lowest_at": kappa[lowest],
            "last": mean[-1],
            "backward": back,
        },
    )


@claim(
    "figure-5b-support",
    "Section 5.2, Figure 5(b)",
    r"The support remains full, all weights being positive.",
    SHOW,
)
def support_full() -> Finding:
    """Support by p > 1e-10 against M."""
    sweep = figures.sweep_of(5)
    missing = int((sweep["M"].values - sweep["support_size"].values).max())
    return Finding(
        verdict(missing == 0),
        f"At every point of all realizations all M = {int(sweep['M'][0])} to {int(sweep['M'][-1])} weights "
        f"exceed $10^{{-10}}$ ({missing} missing).",
        {"missing": float(missing)},
    )


@claim(
    "figure-5b-ipr",
    "Section 5.2, Figure 5(b)",
    r"The IPR grows exponentially with $\kappa$.",
    SHOW,
)
def ipr_grows() -> Finding:
    """Slope of log IPR against κ d."""
    sweep = figures.sweep_of(5)
    x = np.log(sweep["M"].values)
    logs = np.log(sweep["ipr"].values[:, 0])
    slopes = np.polynomial.polynomial.polyfit(x, logs.T, 1)[1]
    residual = float(np.abs(logs - logs.mean(axis=0)).max())
    share = figures.mean_curves(sweep, "ipr")[0] / sweep["M"].values
    return Finding(
        verdict(float(np.abs(slopes - 1).max()) < 0.05),
        rf"$\log$ IPR grows with $\kappa d$ with slope {slopes.mean():.4f} ({slopes.min():.4f} to "
        f"{slopes.max():.4f} in the ten realizations): the IPR is a constant share of M, {share[0]:.3f} at "
        rf"$\kappa$ = 0.06 and {share[-1]:.3f} at 0.19.",
        {"slope": float(slopes.mean()), "least": float(slopes.min()), "most": float(slopes.max()),
         "spread_of_logs": residual},
    )  # fmt: skip


@claim(
    "figure-5c-branch",
    "Section 5.2, Figure 5(c)",
    r"A single branch continues from $\kappa_0 = 0.08$ through the whole range.",
    "hopfieldphase branches kappa --alpha 1 --at 0.08 --top all",
)
def one_branch() -> Finding:
    """Minima found at the reference, and the reach of the branch."""
    facts, table = figures.facts(5), figures.branch_table(5, "branches")
    reach = float(table["kappa_min"].min()), float(table["kappa_max"].max())
    M = int(table["M_max"].max())
    return Finding(
        verdict(facts["n_states"] == 1 and int(figures.sweep_of(5)["M"][-1]) == M),
        f"{facts['n_states']} minimum is found from {facts['n_starts']} starts; its branch reaches from "
        rf"$\kappa$ = {reach[0]:.4f} to {reach[1]:.4f}, M = {M}, without a jump.",
        {"minima": float(facts["n_states"]), "reach": reach[1]},
    )


@claim(
    "figure-5d-energy",
    "Section 5.2, Figure 5(d)",
    r"The branch energy decreases monotonically with $\kappa$.",
    SHOW,
)
def energy_decreases() -> Finding:
    """Γ along the branch, and its slope against log M."""
    followed = figures.followed(5)
    energies, x = followed["free_energy"].values[0], np.log(figures.sweep_of(5)["M"].values)
    slope = float(np.polynomial.polynomial.polyfit(x, energies, 1)[1])
    return Finding(
        verdict(float(np.diff(energies).max()) < 0),
        rf"$\Gamma$ falls at every step, from {energies[0]:.3f} to {energies[-1]:.3f}; its slope against "
        rf"$\log M$ is {slope:.3f}, close to the $-1$ of $-\log M$, the entropy of equal weights.",
        {"slope": slope, "largest_step": float(np.diff(energies).max())},
    )


CLAIMS = (
    no_hysteresis, overlap_decreases, support_full, ipr_grows, one_branch, energy_decreases,
)  # fmt: skip
