"""Section G.1, Figures 10 and 11: descent below, at and above the critical step size."""

from functools import cache
from itertools import pairwise

import numpy as np
import xarray as xr

from hopfieldphase.data.stability import stability_summary
from hopfieldphase.dynamics.minimum import Forecast, Minimum, find_minimum
from hopfieldphase.dynamics.stability import Descent, Outcome, descend
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.library import study_files
from hopfieldphase.runs.reproduction.record import Claim, Finding, Verdict, claim, small, verdict
from hopfieldphase.runs.sources import make_patterns
from hopfieldphase.runs.spec_base import read_toml
from hopfieldphase.runs.stability import stability
from hopfieldphase.runs.stability_spec import StabilitySpec

ROUNDING = 1e-9
SHOW = {number: f"hopfieldphase run sweeps/figure-{number}.toml" for number in (10, 11)}


@cache
def _spec(number: int) -> StabilitySpec:
    return StabilitySpec(**read_toml(study_files()[f"figure-{number}"]))


@cache
def _figure(number: int) -> xr.DataTree:
    return stability(_spec(number))


@cache
def _mixture() -> Minimum:
    """The minimum of Figure 11."""
    spec = _spec(11)
    model = HopfieldModel(make_patterns(spec.patterns, spec.realization), spec.alpha)
    return find_minimum(model, model.scale * model.patterns[0], spec.beta)


@cache
def _descent(factor: float, amplitude: float | None = None) -> Descent:
    point = _mixture()
    amplitude = _spec(11).amplitude if amplitude is None else amplitude
    return descend(point, factor * point.critical_step, amplitude=amplitude, iterations=5000)


def _path(number: int, name: str, factor: float) -> np.ndarray:
    """One curve of a figure, without what comes after its end."""
    values = _figure(number).to_dataset(inherit=False)[name].sel(factor=factor).values
    return values[np.isfinite(values)]


def _outcomes(number: int) -> tuple[bool, dict[str, float], str]:
    """Whether what happens is what η/η_crit says, for all step sizes of a figure; numbers and words."""
    summary = stability_summary(_figure(number))
    expected = {
        Forecast.STABLE: Outcome.CONVERGES,
        Forecast.MARGINAL: Outcome.PERSISTS,
        Forecast.UNSTABLE: Outcome.DIVERGES,
    }
    right = all(
        step["outcome"] == expected[Forecast(step["forecast"])]
        and (step["forecast"] == Forecast.UNSTABLE) == (step["factor"] > 1)
        for step in summary["steps"]
    )
    words = "; ".join(
        f"{step['factor']:g}: {step['outcome']} ({step['distance']:.1e} after {step['iterations']})"
        for step in summary["steps"]
    )
    numbers = {f"distance_{step['factor']:g}": step["distance"] for step in summary["steps"]}
    critical = summary["critical_step"] * summary["beta"]
    return right, {"critical_step_beta": critical, **numbers}, words


def _nearest(path: np.ndarray) -> tuple[int, float]:
    t = int(path.argmin())
    return t, float(path[t])


@claim(
    "figure-10a-critical-step",
    "Appendix G.1, Figure 10(a)",
    r"$\eta_{\mathrm{crit}} = 2/\lambda_{\max}$ separates convergence from divergence; at it convergence is "
    "marginal.",
    SHOW[10],
)
def sparse_critical_step() -> Finding:
    """What happens at each step size; the distance at η_crit and its growth above."""
    right, numbers, words = _outcomes(10)
    at = _path(10, "distance", 1.0)
    drift = float(np.ptp(at) / at[0])
    return Finding(
        verdict(right and drift < ROUNDING),
        rf"$\eta_{{\mathrm{{crit}}}}$ = {numbers['critical_step_beta']:.6f}$/\beta$. Distances at the end, "
        rf"for $\eta/\eta_{{\mathrm{{crit}}}}$ — {words}. At $\eta_{{\mathrm{{crit}}}}$ the distance stays "
        f"{at[0]:.4f} (within {small(drift)}), and above it grows from the first step on.",
        {**numbers, "drift": drift},
    )


@claim(
    "figure-10-soft-direction",
    "Appendix G.1, Setup, Figure 10",
    r"The start is $x^\star + A u_{\mathrm{soft}}$, along the eigenvector of the smallest eigenvalue, with "
    "tiny numerical components in the others.",
    SHOW[10],
)
def soft_direction() -> Finding:
    """Dimension of the lowest eigenspace in the sparse and the dense figure."""
    sparse, dense = (_figure(number)["modes"].to_dataset() for number in (10, 11))
    spread = float(np.ptp(sparse["eigenvalue"].values))
    sizes = [int(each["soft_dimension"]) for each in (sparse, dense)]
    return Finding(
        verdict(sizes == [1, 1], Verdict.READING),
        rf"In the sparse regime it is not defined: at a stored pattern the Hessian is $\beta$ times the "
        rf"identity ({sizes[0]} equal eigenvalues, within {small(spread)}), so that any direction is exact, "
        r"all modes grow or decay together, and nothing decays first. Here the direction of $x^\star$ is "
        f"taken. In the dense regime the lowest eigenvalue is single ({sizes[1]}).",
        {"sparse": float(sizes[0]), "dense": float(sizes[1]), "spread": spread},
    )


@claim(
    "figure-10b-overlap",
    "Appendix G.1, Figure 10(b)",
    r"Below $\eta_{\mathrm{crit}}$ $z_{\max} \to 1/d \approx 0.0156$; at it $z_{\max}$ oscillates "
    "persistently, above it the oscillations grow.",
    SHOW[10],
)
def sparse_overlap() -> Finding:
    """The last overlaps, and the size of the oscillation over the iterations."""
    limit = 1 / _figure(10)["modes"].sizes["mode"]
    last = [float(_path(10, "overlap_max", factor)[-1]) for factor in (0.5, 0.9)]
    off = max(abs(value - limit) for value in last)
    at, above = (np.abs(_path(10, "overlap_max", factor) - limit) for factor in (1.0, 1.02))
    swings = np.sign(np.diff(_path(10, "overlap_max", 1.0)))
    steady = bool((swings[1:] == -swings[:-1]).all()) and float(np.ptp(at) / at[0]) < ROUNDING
    grows = bool((np.diff(above[:10]) > 0).all())
    return Finding(
        verdict(off < ROUNDING and steady and grows),
        rf"$z_{{\max}}$ ends at {last[0]:.6f} and {last[1]:.6f}, $1/d$ within {small(off)}; at "
        rf"$\eta_{{\mathrm{{crit}}}}$ it alternates by $\pm${at[0]:.6f} for all {at.size - 1} iterations; at "
        f"1.02 of it the swing is {above[9] / above[0]:.3f} times the first after 9 iterations.",
        {"last": last[1], "deviation": off, "swing": float(at[0]), "growth": float(above[9] / above[0])},
    )


@claim(
    "figure-11a-critical-step",
    "Appendix G.1, Figure 11(a)",
    r"Below $\eta_{\mathrm{crit}}$ the iteration converges to $x^\star$; above it a divergence follows after "
    "a decay.",
    SHOW[11],
)
def dense_critical_step() -> Finding:
    """What happens at each step size; how far the distance falls before it grows."""
    right, numbers, words = _outcomes(11)
    first = _spec(11).amplitude
    low = {factor: _nearest(_path(11, "distance", factor)) for factor in (1.02, 1.1)}
    falls = all(t > 0 and least < first / 10 for t, least in low.values())
    return Finding(
        verdict(right and falls),
        rf"$\eta_{{\mathrm{{crit}}}}$ = {numbers['critical_step_beta']:.6f}$/\beta$. Distances at the end, "
        rf"for $\eta/\eta_{{\mathrm{{crit}}}}$ — {words}. Above, the distance first falls from {first:g}: "
        + "; ".join(f"at {factor:g} to {least:.1e} at iteration {t}" for factor, (t, least) in low.items())
        + ".",
        {**numbers, **{f"nearest_{factor:g}": least for factor, (_, least) in low.items()}},
    )


@claim(
    "figure-11a-larger-steps",
    "Appendix G.1, Figure 11(a), (b)",
    r"Below $\eta_{\mathrm{crit}}$: the larger the learning rate, the more rapid the convergence.",
    "hopfieldphase stability --alpha 1 --steps 0.3,0.5,0.65,0.7,0.9,0.95 --iterations 1000",
)
def larger_steps() -> Finding:
    """Iterations until rounding over the step size, and the best step size of the spectrum."""
    factors = (0.3, 0.5, 0.65, 0.7, 0.9, 0.95)
    counts = [_descent(factor).distance.size - 1 for factor in factors]
    low, high = (float(_mixture().eigenvalues[k]) for k in (0, -1))
    best, soft = high / (low + high), high / (2 * low)
    early = [float(_descent(factor).distance[1]) for factor in factors]
    faster = all(a > b for a, b in pairwise(counts))
    return Finding(
        verdict(faster),
        r"Iterations to convergence, for $\eta/\eta_{\mathrm{crit}}$ — "
        + "; ".join(f"{factor:g}: {count}" for factor, count in zip(factors, counts, strict=True))
        + rf". The largest $|1 - \eta \lambda_i|$ is least at $2/(\lambda_{{\min}} + \lambda_{{\max}})$, "
        rf"{best:.3f} of $\eta_{{\mathrm{{crit}}}}$. Only the first decay, along the soft direction, is the "
        f"faster the larger $\\eta$, up to $1/\\lambda_{{\\min}}$, {soft:.3f} of it (after one step "
        f"{early[1]:.1e} at 0.5, {early[-2]:.1e} at 0.9).",
        {
            **{f"iterations_{factor:g}": float(n) for factor, n in zip(factors, counts, strict=True)},
            "best": best,
            "soft": soft,
        },
    )


@claim(
    "figure-11a-two-stages",
    "Appendix G.1, Figure 11(a)",
    r"Above $\eta_{\mathrm{crit}}$ modes with $\lambda_i < 2/\eta$ decay first, then those with $\lambda_i > "
    r"2/\eta$ dominate.",
    SHOW[11],
)
def two_stages() -> Finding:
    """Shares of the unstable modes before and after the onset, and the rate of the growth."""
    parts, numbers, holds = [], {}, True
    for factor in (1.02, 1.1):
        path = _descent(factor)
        share = path.unstable_distance / path.distance
        onset = path.onset or 0
        grown = slice(onset + 5, onset + 15)
        growth = float((path.unstable_distance[grown][-1] / path.unstable_distance[grown][0]) ** (1 / 9))
        modes = _mixture().unstable_modes(path.step)
        highest = float(np.abs(_mixture().rates(path.step)).max())
        holds &= onset > 0 and bool(share[:onset].max() < 0.75 < share[grown].min())
        holds &= 1 < growth < highest + 0.01
        parts.append(
            rf"At {factor:g} of $\eta_{{\mathrm{{crit}}}}$ {modes.sum()} of {modes.size} modes have "
            rf"$\lambda_i > 2/\eta$; their share of the distance is {share[1]:.3f} after one step, the "
            f"larger one from iteration {onset} on, where it grows by {growth:.4f} per step (largest rate "
            f"{highest:.4f})"
        )
        numbers |= {f"onset_{factor:g}": float(onset), f"growth_{factor:g}": growth}
    return Finding(verdict(holds), ". ".join(parts) + ".", numbers)


@claim(
    "figure-11a-mode-coordinates",
    "Appendix G.1, Figure 11(a)",
    r"$\delta_i(t+1) = (1 - \eta \lambda_i)\, \delta_i(t)$ with $\delta_i = x_i - x_i^\star$ and the $i$-th "
    r"eigenvalue $\lambda_i$.",
    "hopfieldphase reproduce figure-11a-mode-coordinates",
)
def mode_coordinates() -> Finding:
    """One step from a displacement along each coordinate and along each mode: what leaves its direction."""
    point = _mixture()
    a, step = 1e-4 * point.length, 0.9 * point.critical_step
    leaves = []
    for directions in (np.eye(point.model.d), point.modes.T):
        starts = point.x + a * np.stack([directions, -directions])
        ahead, behind = starts - step * point.model.gradient(starts, point.beta)
        moved = (ahead - behind) / (2 * a) @ directions.T
        leaves.append(float(np.linalg.norm(moved - np.diag(np.diag(moved)), axis=1).max()))
    coordinates, modes = leaves
    return Finding(
        verdict(coordinates < 1e-6, Verdict.READING if modes < 1e-6 else Verdict.FAILS),
        r"For the components along the eigenvectors, $\delta_i = u_i \cdot (x - x^\star)$: one step at 0.9 "
        rf"of $\eta_{{\mathrm{{crit}}}}$ turns at most {modes:.1e} of a displacement along a mode to the "
        f"others, but up to {coordinates:.3f} of one along a coordinate.",
        {"coordinates": coordinates, "modes": modes},
    )


@claim(
    "figure-11a-seed",
    "Appendix G.1, Setup and Figure 11(a)",
    r"The growth starts from small components of the numerical $u_{\mathrm{soft}}$ in the unstable modes, by "
    "(E.6).",
    SHOW[11],
)
def seed() -> Finding:
    """What the start has in the unstable modes against what is there after one step, and its power of A."""
    amplitude = _spec(11).amplitude
    paths = {factor: _descent(factor) for factor in (1.02, 1.1)}
    power = {
        factor: float(
            np.log2(path.unstable_distance[1] / _descent(factor, amplitude / 2).unstable_distance[1])
        )
        for factor, path in paths.items()
    }
    single = _mixture().soft.astype(np.float32).astype(np.float64) @ _mixture().modes
    coarse = amplitude * float(np.linalg.norm(single[_mixture().unstable_modes(paths[1.02].step)]))
    holds = all(path.unstable_distance[1] < 10 * path.seed_linear for path in paths.values())
    return Finding(
        verdict(holds),
        ". ".join(
            f"At {factor:g} the start has {path.seed_linear:.1e} in the unstable modes, but one step later "
            f"they have {path.unstable_distance[1]:.1e}, like $A^{{{power[factor]:.2f}}}$: the cubic terms "
            rf"of $\Gamma$ (predicted seed {path.seed:.1e}). Onset {path.onset}; with them "
            f"{path.onset_predicted}, by (E.6) alone {path.onset_linear}"
            for factor, path in paths.items()
        )
        + rf". Even $u_{{\mathrm{{soft}}}}$ in single precision would start from {coarse:.0e} only. Which "
        "modes grow, and at what rates, is right; where they come from is not.",
        {
            "single_precision": coarse,
            **{f"start_{factor:g}": path.seed_linear for factor, path in paths.items()},
            **{f"after_one_{factor:g}": float(path.unstable_distance[1]) for factor, path in paths.items()},
            **{f"power_{factor:g}": value for factor, value in power.items()},
            **{f"onset_{factor:g}": float(path.onset or 0) for factor, path in paths.items()},
            **{f"onset_linear_{factor:g}": float(path.onset_linear or 0) for factor, path in paths.items()},
        },
    )


@claim(
    "figure-11b-overlap",
    "Appendix G.1, Figure 11(b)",
    r"Below $\eta_{\mathrm{crit}}$ $z_{\max} \to z_{\max}(x^\star)$; above it growing oscillations follow "
    "after an initial convergence.",
    SHOW[11],
)
def dense_overlap() -> Finding:
    """The last overlaps below, and the distance from z_max(x*) above."""
    target = float(_figure(11).to_dataset(inherit=False)["fixed_overlap_max"])
    off = max(abs(float(_path(11, "overlap_max", factor)[-1]) - target) for factor in (0.5, 0.9))
    parts, holds, numbers = [], off < ROUNDING, {"overlap": target, "deviation": off}
    for factor in (1.02, 1.1):
        apart = np.abs(_path(11, "overlap_max", factor) - target)
        t, least = _nearest(apart)
        last = float(apart[t:].max())
        swings = np.sign(np.diff(_path(11, "overlap_max", factor)[-11:]))
        holds &= t > 0 and least < apart[0] / 10 and last > apart[0]
        holds &= bool((swings[1:] == -swings[:-1]).all())
        parts.append(
            f"at {factor:g} the difference from it falls from {apart[0]:.1e} to {least:.1e} at iteration {t} "
            f"and grows to {last:.1e}, up and down at every step"
        )
        numbers |= {f"nearest_{factor:g}": least, f"last_{factor:g}": last}
    return Finding(
        verdict(holds),
        rf"$z_{{\max}}(x^\star)$ = {target:.6f} is reached within {small(off)} at 0.5 and 0.9; "
        + "; ".join(parts) + ".",
        numbers,
    )  # fmt: skip


CLAIMS: tuple[Claim, ...] = (
    sparse_critical_step,
    soft_direction,
    sparse_overlap,
    dense_critical_step,
    larger_steps,
    two_stages,
    mode_coordinates,
    seed,
    dense_overlap,
)
