"""Appendix E up to Remark E.1: the dynamics of the states, and when it is stable."""

import math
from functools import cache

import numpy as np
from scipy.integrate import solve_ivp

from hopfieldphase.core.patterns import clustered, equicorrelated, spherical, two_keys
from hopfieldphase.dynamics.loops import fitted_order
from hopfieldphase.dynamics.minimum import Minimum, find_minimum
from hopfieldphase.dynamics.modes import measured_rates
from hopfieldphase.dynamics.stability import Outcome, descend
from hopfieldphase.dynamics.stability_bounds import check_degenerate_stability
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Claim, Finding, Verdict, claim, small, verdict

ROUNDING = 1e-12
DIFFERENCES = 1e-6
"""Relative, of central differences and of rates measured at a small displacement."""

BETA = 300.0
EPSILON = 0.4
EDGE_BETA = 2 / (1 - EPSILON)
"""Two keys at unit scale: the edge between them is flat at α = 2, their mixture loses stability at α = 1."""


@cache
def reached(alpha: float) -> tuple[Minimum, ...]:
    """The minima reached from every pattern of Figures 10 and 11."""
    model = figures.model(alpha)
    return tuple(find_minimum(model, model.scale * pattern, BETA) for pattern in model.patterns)


@cache
def stored_point(alpha: float) -> Minimum:
    """The minimum reached from the first pattern of Figures 10 and 11."""
    model = figures.model(alpha)
    return find_minimum(model, model.scale * model.patterns[0], BETA)


def _edge(alpha: float) -> tuple[HopfieldModel, np.ndarray, np.ndarray]:
    """Two keys in five dimensions, their mixture, and the unit vector along the edge."""
    model = HopfieldModel(two_keys(EPSILON, d=5), alpha=alpha, scale=1.0)
    along = model.patterns[0] - model.patterns[1]
    return model, model.patterns.mean(axis=0), along / np.linalg.norm(along)


@claim(
    "e-gradient-flow",
    "Appendix E, Definition E.1, Eq. (E.1)",
    r"The continuous dynamics $\dot x = -\nabla_x \Gamma$ lowers $\Gamma$ and ends at the stable point.",
    "hopfieldphase reproduce e-gradient-flow",
)
def gradient_flow() -> Finding:
    """The flow by a Runge-Kutta method, from a far start; its last rate against λ_min."""
    point = stored_point(1.0)
    model, slowest = point.model, float(point.eigenvalues[0])
    start = point.x + 0.5 * np.random.default_rng(0).normal(size=model.d) * model.state_scale
    times = np.linspace(0, 14 / slowest, 57)
    found = solve_ivp(
        lambda _, x: -model.gradient(x, BETA), (0, times[-1]), start, "DOP853", times, rtol=1e-11, atol=1e-14
    )
    energies = np.asarray(model.free_energy(found.y.T, BETA))
    slow = np.abs((found.y.T - point.x) @ point.modes[:, 0])
    rate = math.log(slow[-21] / slow[-1]) / (times[-1] - times[-21])
    rises = float(np.diff(energies).max())
    nearer = float(np.linalg.norm(found.y[:, -1] - point.x) / np.linalg.norm(start - point.x))
    return Finding(
        verdict(rises <= ROUNDING * abs(energies[0]) and nearer < 1e-4 and abs(rate / slowest - 1) < 1e-4),
        rf"Patterns of Figure 11, $\beta$ = {BETA:g}: $\Gamma$ never rises, the distance falls to "
        rf"{nearer:.1e} of that of the start, at last at the rate {rate:.4f} ($\lambda_{{\min}}$ = "
        f"{slowest:.4f}).",
        {"largest_rise": rises, "distance_ratio": nearer, "rate": rate, "lowest_eigenvalue": slowest},
    )


@claim(
    "e-converges-to-a-set",
    "Appendix E, text after Definition E.1",
    "The dynamics converges to a set rather than to a point in general.",
    "hopfieldphase reproduce e-converges-to-a-set",
)
def converges_to_a_set() -> Finding:
    """The lowest curvature of the minima reached from the patterns: none is flat."""
    lowest = {
        alpha: min(float(point.eigenvalues[0]) for point in reached(alpha)) / BETA
        for alpha in (1.0, 1.5, 2.0)
    }
    model, x, along = _edge(2.0)
    flat = check_degenerate_stability(model, x, EDGE_BETA, 0.1 * along)
    return Finding(
        verdict(min(lowest.values()) <= ROUNDING, Verdict.READING),
        rf"It can, but not in general: from each of the {figures.model().M} patterns of Figures 10 "
        rf"and 11 at $\beta$ = {BETA:g} it ends at an isolated minimum, with $\lambda_{{\min}}/\beta \ge$ "
        + ", ".join(rf"{value:.3f} ($\alpha$ = {alpha:g})" for alpha, value in lowest.items())
        + rf". A whole edge is flat at single values of $\beta$: two keys at $\alpha = 2$, $2/(1 - "
        rf"\varepsilon)$ (kernel of dimension {flat.kernel_dimension}).",
        {
            **{f"curvature_{alpha:g}": value for alpha, value in lowest.items()},
            "kernel": float(flat.kernel_dimension),
        },
    )


@claim(
    "e-projection-degeneracy",
    "Appendix E, text after Definition E.1",
    r"That $x \mapsto z$ is not injective does not make $\Gamma$ degenerate, because of "
    r"$\frac\beta2 |x|^2$.",
    "hopfieldphase reproduce e-projection-degeneracy",
)
def projection_degeneracy() -> Finding:
    """Curvature and contraction in the directions that no score sees."""
    model, beta, factor = HopfieldModel(spherical(4, 9, seed=3), alpha=1.5), 6.0, 0.3
    point = find_minimum(model, model.scale * model.patterns[0], beta)
    unseen = np.linalg.svd(model.patterns)[2][model.M :]
    curvature = float(
        np.abs(unseen @ model.hessian(point.x, beta) @ unseen.T / beta - np.eye(len(unseen))).max()
    )
    x = point.x + unseen.sum(axis=0)
    moved = x - factor / beta * model.gradient(x, beta)
    hidden = float(np.linalg.norm(unseen @ (moved - point.x)) / np.linalg.norm(unseen @ (x - point.x)))
    return Finding(
        verdict(curvature < ROUNDING and abs(hidden - (1 - factor)) < ROUNDING),
        f"4 patterns in 9 dimensions: in the {len(unseen)} directions that no score sees the curvature is "
        rf"$\beta$ within {small(curvature)}, and one step multiplies them by {hidden:.6f} $= 1 - "
        r"\eta \beta$. So the proposition has nothing to exempt there: these directions contract too.",
        {"deviation": curvature, "rate": hidden, "unseen": float(len(unseen))},
    )


@claim(
    "e-stability-modulo-degeneracy",
    "Appendix E, Proposition E.1",
    r"Where $\Gamma$ is constant along the kernel $\mathcal K$ of its Hessian, the dynamics near $x^\star$ "
    r"ends at $x^\star + v$, $v \in \mathcal K$.",
    "hopfieldphase reproduce e-stability-modulo-degeneracy",
)
def stability_modulo_degeneracy() -> Finding:
    """A flat edge and a flat triangle at α = 2: the end, next to the start."""
    rng = np.random.default_rng(0)
    edge, mixture, along = _edge(2.0)
    displaced = 0.05 * rng.normal(size=5)
    line = check_degenerate_stability(edge, mixture, EDGE_BETA, displaced)
    triangle = HopfieldModel(equicorrelated(3, 4, 0.25), alpha=2.0, scale=1.0)
    plane = check_degenerate_stability(
        triangle, triangle.patterns.mean(axis=0), 2 / (1 - 0.25), 0.02 * rng.normal(size=4)
    )
    left = max(line.complement_end, plane.complement_end)
    spread = max(line.energy_spread, plane.energy_spread)
    moved = abs(line.shift - abs(float(displaced @ along)))
    return Finding(
        verdict(max(left, spread, moved) < ROUNDING and min(line.shift, plane.shift) > 1e-3),
        rf"At $\alpha = 2$, a flat edge ({line.kernel_dimension} dimension) and a flat triangle "
        rf"({plane.kernel_dimension}): $\Gamma$ is constant along $v$ within {small(spread)}, the rest of "
        f"the displacement falls from {line.complement_start:.3f} and {plane.complement_start:.3f} to at "
        f"most {small(left)}, and $|v|$ = {line.shift:.4f} and {plane.shift:.4f} stay; on the edge that is "
        rf"the part of the start in $\mathcal K$ within {small(moved)}. So the path does not flow back to "
        r"$x^\star$, as a line of the proof has it.",
        {
            "complement": left,
            "energy_spread": spread,
            "shift_edge": line.shift,
            "shift_triangle": plane.shift,
        },
    )


@claim(
    "e-kernel-premise",
    "Appendix E, Proposition E.1",
    r"The premise: through $x^\star$ there is a manifold with tangent space $\mathcal K$ along which "
    r"$\Gamma$ is constant.",
    "hopfieldphase reproduce e-kernel-premise",
)
def kernel_premise() -> Finding:
    """Softmax at the continuous transition of two keys: a kernel along which Γ rises."""
    model, x, along = _edge(1.0)
    counts = (100, 1_000, 10_000, 100_000)
    found = [check_degenerate_stability(model, x, EDGE_BETA, 0.3 * along, iterations=n) for n in counts]
    order = fitted_order(list(map(float, counts[1:])), [each.shift for each in found[1:]])
    premise = found[0].energy_spread < ROUNDING
    return Finding(
        verdict(premise, Verdict.READING),
        rf"Zero curvature does not give it, and without it the conclusion fails: two keys at $\alpha = 1$, "
        rf"$\beta = 2/(1-\varepsilon)$ have a kernel of dimension {found[0].kernel_dimension} along which "
        rf"$\Gamma$ rises (by {found[0].energy_spread:.1e} relatively). From $|v| = 0.3$ the path does not "
        f"stay at $x^\\star + v$, but creeps back to $x^\\star$: {found[0].shift:.4f} after {counts[0]} "
        rf"steps, {found[-1].shift:.4f} after {counts[-1]}, like $t^{{{-order:.3f}}}$.",
        {
            "kernel": float(found[0].kernel_dimension),
            "energy_spread": found[0].energy_spread,
            "first_shift": found[0].shift,
            "last_shift": found[-1].shift,
            "exponent": -order,
        },
    )


@claim(
    "e-symmetry-degeneracy",
    "Appendix E, Remark E.1",
    "Proposition E.1 applies to the degeneracy that symmetries make.",
    "hopfieldphase reproduce e-symmetry-degeneracy",
)
def symmetry_degeneracy() -> Finding:
    """Rotations of the directions off the patterns leave Γ alone, and leave every minimum where it is."""
    model, beta = HopfieldModel(spherical(4, 9, seed=3), alpha=1.0), 6.0
    point = find_minimum(model, model.scale * model.patterns[0], beta)
    _, _, right = np.linalg.svd(model.patterns)
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(5, 5)))
    rotation = right.T @ np.block([[np.eye(4), np.zeros((4, 5))], [np.zeros((5, 4)), turn]]) @ right
    x = np.random.default_rng(2).normal(size=(20, 9))
    energies = [np.asarray(model.free_energy(states, beta)) for states in (x, x @ rotation.T)]
    energy = float(np.abs(energies[1] / energies[0] - 1).max())
    moved = float(np.linalg.norm(rotation @ point.x - point.x) / np.linalg.norm(point.x))
    lowest = float(point.eigenvalues[0]) / beta
    return Finding(
        verdict(
            energy < ROUNDING and moved > ROUNDING, Verdict.READING if energy < ROUNDING else Verdict.FAILS
        ),
        r"Symmetries of $\Gamma$ make none: the continuous ones that given patterns leave, rotations of the "
        rf"directions off all patterns ($\Gamma$ unchanged within {small(energy)} at random states), leave "
        f"the minimum, in the span of the patterns, where it is (within {small(moved)}), and "
        rf"$\lambda_{{\min}}/\beta$ = {lowest:.4f} there (4 patterns, 9 dimensions). Kernels occur at "
        "single temperatures.",
        {"energy": energy, "moved": moved, "curvature": lowest},
    )


@claim(
    "e-step-bound",
    "Appendix E, Proposition E.1, Eq. (E.5)",
    r"Descent needs $0 < \eta < 2/\lambda_{\max}$ on the complement of the kernel.",
    "hopfieldphase reproduce e-step-bound",
)
def step_bound() -> Finding:
    """Below and above the bound: degenerate and ordinary minima."""
    model, x, _ = _edge(2.0)
    displaced = 1e-3 * np.random.default_rng(0).normal(size=5)
    ratios = []
    for factor in (0.95, 1.05):
        end = check_degenerate_stability(model, x, EDGE_BETA, displaced, factor=factor, iterations=40)
        ratios.append((end.complement_end / end.complement_start) ** (1 / 40))
    growth, agree = [], True
    for alpha in (0.6, 1.0, 1.5, 2.0):
        hidden = HopfieldModel(clustered(20, 16, seed=1), alpha=alpha)
        point = find_minimum(hidden, hidden.scale * hidden.patterns[0], 40.0)
        below, above = (
            descend(point, f * point.critical_step, amplitude=1e-5 * point.length, iterations=3000)
            for f in (0.97, 1.03)
        )
        agree &= below.outcome is Outcome.CONVERGES and above.distance[-1] > above.distance[0]
        growth.append(float(above.distance[-1] / above.distance[0]))
    return Finding(
        verdict(agree and ratios[0] < 1 < ratios[1]),
        f"It is sharp: per step the distance from the flat edge is multiplied by {ratios[0]:.4f} at 0.95 and "
        rf"by {ratios[1]:.4f} at 1.05 of the bound; at minima for $\alpha$ = 0.6, 1, 1.5, 2 (20 patterns, 16 "
        f"dimensions) descent converges at 0.97 and leaves at 1.03 of it, by a factor of {min(growth):.1e} "
        "at least.",
        {"below": ratios[0], "above": ratios[1], "least_growth": min(growth)},
    )


@claim(
    "e-mode-rates",
    "Appendix E, Eq. (E.6)",
    r"$\delta(t+1) = (1 - \eta \nabla^2\Gamma(x^\star))\, \delta(t)$.",
    "hopfieldphase stability --alpha 1",
)
def mode_rates() -> Finding:
    """Contraction of every mode, measured on the full update."""
    worst = 0.0
    for alpha in (1.0, 1.5, 2.0):
        point = stored_point(alpha)
        for factor in (0.5, 0.9, 1.0, 1.1):
            step = factor * point.critical_step
            worst = max(worst, float(np.abs(measured_rates(point, step) - point.rates(step)).max()))
    return Finding(
        verdict(worst < DIFFERENCES),
        rf"The measured rates of all 64 modes are $1 - \eta \lambda_i$ within {worst:.1e} at four step sizes "
        r"and $\alpha$ = 1, 1.5, 2. Its middle line has $\Gamma_\alpha$ for $\Gamma_\alpha^{(mod)}$.",
        {"deviation": worst},
    )


@claim(
    "e-basin",
    "Appendix E, Proposition E.1",
    r"The gradient flow converges to $x^\star + v$.",
    "hopfieldphase reproduce e-basin",
)
def basin() -> Finding:
    """Near and far starts beside a minimum that coexists with others."""
    model = HopfieldModel(two_keys(0.3, d=4), alpha=2.5, scale=1.0)
    point = find_minimum(model, model.patterns.mean(axis=0), 2.45)
    near, far = (
        descend(point, 0.5 * point.critical_step, amplitude=amplitude, iterations=5000)
        for amplitude in (1e-3, 0.5)
    )
    returns = [path.outcome is Outcome.CONVERGES for path in (near, far)]
    return Finding(
        Verdict.HOLDS if all(returns) else Verdict.READING if returns[0] else Verdict.FAILS,
        "From near by only, as the infinitesimal displacements of the proof: the mixture of two keys at "
        rf"$\alpha = 2.5$, $\varepsilon = 0.3$, $\beta = 2.45$ takes back a start at 0.001 ({near.outcome}), "
        f"while one at 0.5 ({far.outcome}) ends {far.distance[-1]:.4f} away, at a key.",
        {"near": float(near.distance[-1]), "far": float(far.distance[-1])},
    )


CLAIMS: tuple[Claim, ...] = (
    gradient_flow,
    converges_to_a_set,
    projection_degeneracy,
    stability_modulo_degeneracy,
    kernel_premise,
    step_bound,
    mode_rates,
    basin,
    symmetry_degeneracy,
)
