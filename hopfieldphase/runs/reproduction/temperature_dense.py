"""Section 5.1, dense case: the panels of Figure 3."""

import numpy as np

from hopfieldphase.continuation.discovery import discover
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, small, verdict
from hopfieldphase.solvers import relax

SHOW = "hopfieldphase run sweeps/figure-3.toml"
BEYOND = "hopfieldphase run sweeps/softmax-loop.toml"


@claim(
    "figure-3a-hysteresis",
    "Section 5.1, Figure 3(a)",
    r"Softmax: the sweeps up and down in $\beta$ coincide, there is no hysteresis.",
    BEYOND,
)
def no_hysteresis() -> Finding:
    """In the range of the figure, and up to β = 1000."""
    sweep, loop = figures.sweep_of(3), figures.softmax_loop()
    inside = float(np.abs(np.diff(sweep["overlap_max"].values, axis=1)).max()) * 64
    beta, differ = loop["beta"].values, figures.differing(loop)
    first = [float(beta[row][0]) for row in differ if row.any()]
    jumps = [float(beta[row].min()) for row in loop["jumped"].values[:, 0] if row.any()]
    agrees = not figures.differing(sweep).any()
    return Finding(
        verdict(agrees and not first, Verdict.SCANNED if agrees else Verdict.FAILS),
        rf"True up to $\beta$ = 400: the two $z_{{max}}$ differ by {small(inside)} of 1/d at most. Beyond, "
        f"{len(first)} of {len(differ)} realizations show hysteresis: retrieved patterns are stable from "
        rf"$\beta$ = {min(first):g} to {max(first):g} on, and the sweep up jumps at {min(jumps):g} to "
        f"{max(jumps):g}."
        if first
        else "The two sweeps agree up to the highest value tried.",
        {"difference": inside, "loops": float(len(first)), "first_lower": min(first, default=np.inf),
         "last_lower": max(first, default=np.inf), "first_jump": min(jumps, default=np.inf),
         "last_jump": max(jumps, default=np.inf)},
    )  # fmt: skip


@claim(
    "figure-3a-one-state",
    "Section 5.1, Figure 3(a) and (c)",
    r"There is one stable solution for each $\beta$; other minima may lie far away.",
    "hopfieldphase branches beta --alpha 1 --at 140 --betas 20:400:2 --top all",
)
def one_state() -> Finding:
    """Starts that would find other minima, and a bound below which there are none."""
    model = figures.model(1.0)
    counts = {beta: len(discover(model, beta).states) for beta in (140.0, 400.0, 700.0)}
    starts = discover(model, 140.0).n_starts
    certain = 2 * model.d / (1 - float((model.patterns @ model.patterns.T).min()))
    inside = counts[140.0] == counts[400.0] == 1
    return Finding(
        verdict(inside and counts[700.0] == 1, Verdict.SCANNED if inside else Verdict.FAILS),
        rf"All {starts} starts (every pattern, mixtures, random sets) lead to one minimum at $\beta$ = 140 "
        rf"and 400, but to {counts[700.0]} at 700. That there is only one is certain below $\beta = 2d/(1 - "
        rf"\min C)$ = {certain:.1f}, where no variance of the patterns can make $\nabla^2\Gamma$ negative.",
        {"at_140": float(counts[140.0]), "at_400": float(counts[400.0]), "at_700": float(counts[700.0]),
         "certain_below": certain},
    )  # fmt: skip


@claim(
    "figure-3a-overlap",
    "Section 5.1, Figure 3(a)",
    r"$z_{max}$ grows with $\beta$ without a jump, and its spread over seeds broadens.",
    SHOW,
)
def overlap_grows() -> Finding:
    """Steps of every realization, and the standard deviation."""
    sweep = figures.sweep_of(3)
    steps = np.diff(sweep["overlap_max"].values, axis=-1)
    spread = figures.spreads(sweep, "overlap_max")
    jumps = int(sweep["jumped"].values.sum())
    mean = figures.mean_curves(sweep, "overlap_max")[0]
    return Finding(
        verdict(steps.min() > 0 and jumps == 0 and bool((np.diff(spread) > 0).all())),
        f"It grows at every step of every realization, from {mean[0]:.4f} to {mean[-1]:.4f} on average, "
        f"with {jumps} jumps; the standard deviation grows from {spread[0, 0]:.5f} to {spread[0, -1]:.5f}.",
        {"smallest_step": float(steps.min()), "jumps": float(jumps), "spread": float(spread[0, -1])},
    )


@claim(
    "figure-3c-target",
    "Section 5.1, Figure 3(c)",
    r"The alignment with the target pattern sharpens as $\beta$ grows.",
    "hopfieldphase reproduce figure-3c-target",
)
def target() -> Finding:
    """Which pattern has the largest overlap when the state is started on pattern 0, and how large it is."""
    kept, shares = 0, []
    for realization in range(figures.REALIZATIONS):
        model = figures.model(1.0, realization)
        state = relax(model, model.scale * model.patterns[0], 400.0)
        kept += int(state.overlaps.argmax()) == 0
        shares.append(float(state.weights.max()))
    return Finding(
        verdict(kept == figures.REALIZATIONS, Verdict.READING),
        r"No pattern is targeted in this range: started on pattern 0 at $\beta$ = 400, the state has its "
        f"largest overlap with pattern 0 in {kept} of {figures.REALIZATIONS} realizations. It is one "
        f"mixture of all 100, in which the largest weight is {min(shares):.3f} to {max(shares):.3f}; "
        f"$z_{{max}}$ only names the pattern nearest to it.",
        {"kept": float(kept), "largest_weight": max(shares)},
    )


@claim(
    "figure-3b-support",
    "Section 5.1, Figure 3(b)",
    r"The support stays full for all $\beta$ while the IPR decreases; the spread of the IPR broadens.",
    SHOW,
)
def support_full() -> Finding:
    """Support by p > 1e-10, and steps of mean and spread of the IPR."""
    sweep = figures.sweep_of(3)
    full = bool((sweep["support_size"].values == 100).all())
    mean, spread = figures.mean_curves(sweep, "ipr")[0], figures.spreads(sweep, "ipr")[0]
    beyond = int(figures.softmax_loop()["support_size"].values.min())
    return Finding(
        verdict(full and bool((np.diff(mean) < 0).all()) and bool((np.diff(spread) > 0).all())),
        f"All 100 weights exceed $10^{{-10}}$ at every point (and still {beyond} at every point up to "
        rf"$\beta$ = 1000). The mean IPR falls at every step, from {mean[0]:.2f} to {mean[-1]:.2f}, and its "
        f"standard deviation grows from {spread[0]:.4f} to {spread[-1]:.2f}.",
        {"ipr_first": float(mean[0]), "ipr_last": float(mean[-1]), "spread": float(spread[-1]),
         "support_beyond": float(beyond)},
    )  # fmt: skip


@claim(
    "figure-3c-spinodal",
    "Section 5.1, Figure 3(c)",
    "There is no discontinuity and no spinodal: the Hessian does not vanish.",
    SHOW,
)
def no_spinodal() -> Finding:
    """λ_min/β in the range of the figure and beyond it."""
    inside = float(figures.sweep_of(3)["hessian_min"].values.min())
    beyond = float(figures.softmax_loop()["hessian_min"].values.min())
    return Finding(
        verdict(inside > 0.05 and beyond > 0.05, Verdict.SCANNED if inside > 0.05 else Verdict.FAILS),
        rf"$\lambda_{{\min}}/\beta$ is {inside:.3f} or more at every point of the ten sweeps up to $\beta$ "
        f"= 400; on the way to 1000 it goes down to {beyond:.3f} before the state jumps.",
        {"least_inside": inside, "least_beyond": beyond},
    )


@claim(
    "figure-3d-energy",
    "Section 5.1, Figure 3(d)",
    r"The energy decreases along the single branch of $\beta_0 = 140$.",
    SHOW,
)
def energy_decreases() -> Finding:
    """Γ along the branch, and how many branches there are."""
    energies = figures.followed(3)["free_energy"].values
    steps = np.diff(energies, axis=1)
    return Finding(
        verdict(len(energies) == 1 and steps.max() < 0),
        rf"{len(energies)} branch; $\Gamma$ falls at every step, from {energies[0, 0]:.4f} to "
        f"{energies[0, -1]:.4f}.",
        {"branches": float(len(energies)), "largest_step": float(steps.max())},
    )


CLAIMS = (
    no_hysteresis, one_state, overlap_grows, support_full, no_spinodal, target, energy_decreases,
)  # fmt: skip
