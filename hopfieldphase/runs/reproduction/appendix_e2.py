"""Appendix E.2 to E.4: what the stability of states says of scores and weights."""

import numpy as np

from hopfieldphase.core import entmax
from hopfieldphase.core.patterns import clustered, equicorrelated, spherical
from hopfieldphase.core.tsallis import tsallis_divergence
from hopfieldphase.dynamics.divergence_bounds import check_divergence, hidden_change
from hopfieldphase.dynamics.loops import fitted_order
from hopfieldphase.dynamics.minimum import find_minimum
from hopfieldphase.dynamics.stability_bounds import check_score_bound, check_spectral_stability
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.appendix_e import BETA, reached, stored_point
from hopfieldphase.runs.reproduction.record import Claim, Finding, Verdict, claim, small, verdict

ROUNDING = 1e-12

DIFFERENCES = 1e-6
"""Relative, of bounds that are reached and of eigenvalues of a matrix that is not symmetric."""


INTERIOR_BETA = 1.5
"""At which all 12 patterns have weight."""


def _retrieval(model: HopfieldModel, x: np.ndarray, beta: float, steps: int) -> np.ndarray:
    """States along x ← T(x), shape (steps, d)."""
    states = [x]
    for _ in range(steps - 1):
        states.append(model.retrieve(states[-1], beta))
    return np.array(states)


@claim(
    "e-scores-and-states",
    "Appendix E, Proposition E.2, Eqs. (E.7) to (E.9)",
    r"$z \to z^\star$ exactly where $\Pi x \to \Pi x^\star$, with $|\Pi \delta x| \le "
    r"(\sqrt d/\sigma_{\min}) |\delta z|$.",
    "hopfieldphase reproduce e-scores-and-states",
)
def scores_and_states() -> Finding:
    """Both bounds along paths and for random displacements; the direction of equality."""
    rng = np.random.default_rng(0)
    largest = growth = equality = hidden = 0.0
    for M, d in ((4, 9), (9, 4), (30, 30)):
        model = HopfieldModel(spherical(M, d, seed=3), alpha=1.5)
        point = find_minimum(model, model.scale * model.patterns[0], 6.0)
        path = _retrieval(model, rng.normal(size=d), 6.0, 8) - point.x
        found = check_score_bound(model, np.vstack([path, rng.normal(size=(200, d))]))
        largest, growth = max(largest, found.largest), max(growth, found.growth)
        equality, hidden = max(equality, abs(found.equality - 1)), max(hidden, found.hidden)
    return Finding(
        verdict(max(largest, growth) <= 1 + ROUNDING and hidden < ROUNDING and equality < DIFFERENCES),
        f"4 and 9 patterns in 9 and 4 dimensions and 30 in 30, paths and random displacements: "
        rf"$|\Pi \delta x|$ is {largest:.3f} of the bound at most, $|\delta z| \le \sigma_{{\max}} "
        rf"|\Pi \delta x|/\sqrt d$ too ({growth:.3f}), and the singular direction of $\sigma_{{\min}}$ "
        f"reaches the bound within {small(equality)}. Directions in $D$ change no score "
        f"(within {small(hidden)}).",
        {"largest": largest, "growth": growth, "equality": equality, "hidden": hidden},
    )


@claim(
    "e-score-jacobian",
    "Appendix E, Proposition E.3, Eq. (E.10)",
    r"The update of the scores has the Jacobian $-\frac1\beta G\, \nabla_z^2 \tilde\Gamma$.",
    "hopfieldphase reproduce e-score-jacobian",
)
def score_jacobian() -> Finding:
    """Differences of z ↦ G p(z) against second differences of Γ̃'s part in z, −Ω*(βz)."""
    beta, h, errors = 6.0, 1e-4, []
    for alpha in (0.7, 1.0, 1.5):
        model = HopfieldModel(spherical(6, 4, seed=2), alpha=alpha)
        z = model.overlaps(find_minimum(model, model.scale * model.patterns[0], 2.0).x)

        def update(z: np.ndarray, model: HopfieldModel = model) -> np.ndarray:
            return entmax.weights(z, model.alpha, beta) @ model.gram

        steps = h * np.eye(model.M)
        jacobian = np.array([(update(z + e) - update(z - e)) / (2 * h) for e in steps]).T
        second = np.array([
            [
                -(entmax.conjugate(z + e + f, alpha, beta) - entmax.conjugate(z + e - f, alpha, beta)
                  - entmax.conjugate(z - e + f, alpha, beta) + entmax.conjugate(z - e - f, alpha, beta))
                / (4 * h**2) for f in steps
            ] for e in steps
        ])  # fmt: skip
        printed = -model.gram @ second / beta
        errors.append(float(np.abs(printed - jacobian).max() / np.abs(jacobian).max()))
    # Second differences: h² and ε/h², both 1e-8, times constants of order βz.
    return Finding(
        verdict(max(errors) < 1e-5),
        rf"Within {max(errors):.1e}, relatively, of the differences of the update for $\alpha$ = 0.7, 1, 1.5 "
        r"(6 patterns, 4 dimensions), with $\tilde\Gamma$ minimised over $p$ first: at fixed $p$, as in "
        r"(3.8), it is linear in $z$, with zero second derivatives.",
        {"deviation": max(errors)},
    )


@claim(
    "e-spectral-radius",
    "Appendix E, Proposition E.3",
    r"The update is stable at $z^\star$ if the spectral radius of its Jacobian is below 1.",
    "hopfieldphase reproduce e-spectral-radius",
)
def spectral_radius() -> Finding:
    """The radius against the lowest curvature at random states and on both sides of an instability."""
    worst, both = 0.0, 0
    agree = True
    rng = np.random.default_rng(0)
    for alpha in (0.7, 1.0, 1.5, 2.0):
        for _ in range(25):
            model = HopfieldModel(rng.normal(size=(6, 5)), alpha=alpha)
            found = check_spectral_stability(model, rng.normal(size=5), float(rng.uniform(0.5, 4)))
            worst = max(worst, found.deviation / (1 + found.spectral_radius))
            agree &= (found.spectral_radius < 1) == (found.hessian_min > 0)
            both += found.spectral_radius < 1
    uniform = HopfieldModel(equicorrelated(4, 6, 0.2), alpha=1.0, scale=1.0)
    sides = []
    for K in (0.9, 1.1):
        beta = K * 4 / (1 - 0.2)
        x = uniform.patterns.mean(axis=0)
        radius = check_spectral_stability(uniform, x, beta).spectral_radius
        kicked = _retrieval(uniform, x + 1e-6 * uniform.patterns[0], beta, 200) @ uniform.patterns.T
        sides.append((radius, float(np.ptp(kicked[-1]) / np.ptp(kicked[0]))))
    (low, falls), (high, rises) = sides
    return Finding(
        verdict(agree and worst < DIFFERENCES and low < 1 and falls < 1 < high and rises > 1),
        r"And only if: the radius is $1 - \lambda_{\min}(\nabla^2\Gamma)/\beta$ (within "
        rf"{worst:.1e} at 100 random states, {both} with a radius below 1, $\alpha$ = 0.7, 1, 1.5, 2), so "
        rf"that a radius below 1 is positive curvature. Four equal cosines, $\alpha = 1$: at radius "
        f"{low:.3f} the updates take a difference of the scores to {falls:.0e} of it, at {high:.3f} to "
        f"{rises:.0e} times it.",
        {"deviation": worst, "below": low, "above": high, "falls": falls, "rises": rises},
    )


@claim(
    "e-update-no-gradient",
    "Appendix E, Remark E.2",
    "The update map is neither a gradient flow nor a gradient descent in general.",
    "hopfieldphase reproduce e-update-no-gradient",
)
def update_no_gradient() -> Finding:
    """The Jacobian of the scores is not symmetric; in x the update is descent with the step 1/β."""
    point = stored_point(1.0)
    model = point.model
    jacobian = model.score_jacobian(point.x, BETA)
    asymmetry = float(np.abs(jacobian - jacobian.T).max() / np.abs(jacobian).max())
    x = np.random.default_rng(0).normal(size=(20, model.d))
    step = x - model.gradient(x, BETA) / BETA
    apart = float(np.abs(step - model.retrieve(x, BETA)).max())
    largest = max(float(stored_point(alpha).eigenvalues[-1]) / BETA for alpha in (1.0, 1.5, 2.0))
    return Finding(
        verdict(asymmetry > DIFFERENCES and apart > ROUNDING, Verdict.READING),
        rf"Of the scores only: there the Jacobian is not symmetric (by {asymmetry:.3f} of its largest entry, "
        rf"$\alpha = 1$, Figure 11). Of the states the same update is gradient descent on $\Gamma$ with "
        rf"$\eta = 1/\beta$ (within {small(apart)}); as $\lambda_{{\max}} \le \beta$ "
        rf"($\lambda_{{\max}}/\beta$ = {largest:.6f} at most for $\alpha$ = 1, 1.5, 2), that is at most half "
        r"of $\eta_{\mathrm{crit}}$.",
        {"asymmetry": asymmetry, "deviation": apart, "largest_curvature": largest},
    )


@claim(
    "e-divergence-limit",
    "Appendix E, Definition E.2 and Remark E.3",
    r"$D_\alpha$ in its two forms, and $D_\alpha \to D_{KL}$ for $\alpha \to 1$.",
    "hopfieldphase reproduce e-divergence-limit",
)
def divergence_limit() -> Finding:
    """The power form against the package, and the distance to KL against |α − 1|."""
    p, q = np.random.default_rng(0).dirichlet(np.ones(12), size=2)
    forms = max(
        abs(float(tsallis_divergence(p, q, a)) - (float(np.sum(p**a * q ** (1 - a))) - 1) / (a - 1))
        for a in (0.5, 1.5, 2.0, 3.0)
    )
    kl = float(np.sum(p * np.log(p / q)))
    sizes = [1e-2, 1e-3, 1e-4]
    orders, last = [], 0.0
    for sign in (1, -1):
        gaps = [abs(float(tsallis_divergence(p, q, 1 + sign * s)) - kl) for s in sizes]
        orders.append(-fitted_order(sizes, gaps))
        last = max(last, gaps[-1])
    return Finding(
        verdict(forms < 1e-10 and all(abs(order - 1) < 0.1 for order in orders)),
        rf"The forms agree within {small(forms)}; $|D_\alpha - D_{{KL}}|$ falls like $|\alpha - "
        rf"1|^{{{orders[0]:.3f}}}$ from above and $|\alpha - 1|^{{{orders[1]:.3f}}}$ from below, to "
        f"{last:.1e} at $10^{{-4}}$ ($D_{{KL}}$ = {kl:.4f}).",
        {"forms": forms, "above": orders[0], "below": orders[1], "last": last},
    )


@claim(
    "e-divergence-bounds",
    "Appendix E, Proposition E.4",
    r"For $p^\star$ in the interior of the simplex $c_1 |z - z^\star|^2 \le D_\alpha(p \| p^\star) \le c_2 "
    r"|p - p^\star|^2$, where $z = Gp + b$.",
    "hopfieldphase reproduce e-divergence-bounds",
)
def divergence_bounds() -> Finding:
    """Explicit constants along paths and all over their neighbourhood."""
    rng, slacks, counted, interior = np.random.default_rng(0), [], 0, True
    for alpha in (0.7, 1.0, 1.2, 1.5, 2.0):
        model, beta = HopfieldModel(clustered(12, 6, clusters=3, seed=2), alpha=alpha), INTERIOR_BETA
        target = model.weights(find_minimum(model, model.scale * model.patterns[0], beta).x, beta)
        interior &= bool((target > 0).all())
        path = model.weights(_retrieval(model, model.scale * model.patterns[0], beta, 20), beta)
        around = rng.normal(size=(200, model.M))
        around -= around.mean(axis=1, keepdims=True)
        around *= rng.uniform(0.05, 0.5, (200, 1)) / np.abs(around / target).max(axis=1, keepdims=True)
        found = check_divergence(model, np.vstack([path, target + around]), target)
        counted += int(found.inside.sum())
        slacks.append((found.lower_slack, found.upper_slack))
    low, high = (float(min(column)) for column in zip(*slacks, strict=True))
    return Finding(
        verdict(interior and min(low, high) >= 1 - DIFFERENCES),
        r"With $c_2 = \frac\alpha2 \max \tau^{\alpha-2}/\min p^\star$ and $c_1 = \frac\alpha2 \min "
        r"\tau^{\alpha-2}/(\max p^\star \|G\|^2)$ for $\tau = p_\mu/p^\star_\mu$ from 1/2 to 3/2 both hold "
        rf"at all {counted} weights on paths and around them ($\alpha$ = 0.7, 1, 1.2, 1.5, 2; 12 patterns, 6 "
        rf"dimensions, $\beta$ = {beta:g}): $D_\alpha$ is {low:.3f} times the lower bound or more, the upper "
        rf"one {high:.3f} times $D_\alpha$ or more. $\alpha > 1$ is not needed.",
        {"weights": float(counted), "lower_slack": low, "upper_slack": high},
    )


@claim(
    "e-divergence-scores",
    "Appendix E, Proposition E.4",
    r"$c_1 |z(t) - z^\star|^2 \le D_\alpha(p(t) \| p^\star)$ along the update.",
    "hopfieldphase reproduce e-divergence-scores",
)
def divergence_scores() -> Finding:
    """Scores that all differ by one constant have the weights of the fixed point."""
    model, beta = HopfieldModel(spherical(3, 6, seed=0), alpha=1.5), 2.0
    point = find_minimum(model, model.scale * model.patterns[0], beta)
    target = model.weights(point.x, beta)
    shift = np.linalg.pinv(model.patterns) @ np.ones(model.M)
    now, later = _retrieval(model, point.x + shift, beta, 2)
    gap, after = (float(np.linalg.norm(model.overlaps(x - point.x))) for x in (now, later))
    divergence = abs(float(tsallis_divergence(model.weights(now, beta), target, model.alpha)))
    bounded = divergence > ROUNDING * gap**2
    return Finding(
        verdict(bounded, Verdict.READING if after < ROUNDING else Verdict.FAILS),
        r"With $z(t) - z^\star = G(p(t) - p^\star)$, as the proof has it, so for the scores after the step: "
        r"$z(t+1) = Gp(t) + b$. The scores $z(t)$ that give the weights $p(t)$ are not bounded: 3 patterns "
        rf"in 6 dimensions, $\alpha = 1.5$, all scores moved by one constant, $|z(t) - z^\star|$ = "
        rf"{gap:.4f}, but $D_\alpha$ = {small(divergence)} and $|z(t+1) - z^\star|$ = {small(after)}.",
        {"score_distance": gap, "divergence": divergence, "next_score_distance": after},
    )


@claim(
    "e-divergence-interior",
    "Appendix E, Proposition E.4",
    r"$\alpha > 1$ and $p^\star$ in the interior of the simplex.",
    "hopfieldphase reproduce e-divergence-interior",
)
def divergence_interior() -> Finding:
    """Supports of the minima reached from the patterns; D along a path to a face."""
    sizes = {
        alpha: max(int((point.model.weights(point.x, BETA) > 0).sum()) for point in reached(alpha))
        for alpha in (1.5, 2.0)
    }
    model, beta = HopfieldModel(clustered(12, 6, clusters=3, seed=2), alpha=2.0), 22.0
    start = model.scale * (0.4 * model.patterns[0] + 0.6 * model.patterns.mean(axis=0))
    path = model.weights(_retrieval(model, start, beta, 60), beta)
    target = model.weights(find_minimum(model, start, beta).x, beta)
    found = check_divergence(model, path, target)
    infinite = int(np.isinf(found.divergence).sum())
    on_face = (
        bool(np.isfinite(found.divergence[infinite:]).all())
        and min(found.lower_slack, found.upper_slack) >= 1 - DIFFERENCES
    )
    M = figures.model().M
    return Finding(
        verdict(max(sizes.values()) == M and infinite == 0, Verdict.READING if on_face else Verdict.FAILS),
        rf"Retrieval at $\alpha > 1$ is what the premise leaves out: at $\beta$ = {BETA:g} the minima that "
        f"are reached from the {M} patterns of Figure 10 have at most "
        + " and ".join(rf"{size} ($\alpha$ = {alpha:g})" for alpha, size in sizes.items())
        + rf" of the {M} weights. On the boundary $D_\alpha(p(t)\|p^\star) = \infty$ until $p(t)$ is within "
        rf"the support: for the first {infinite} of {len(path)} steps of a path at $\alpha = 2$ (12 "
        f"patterns, support {int((target > 0).sum())}). From then on the bounds hold, with the weights on "
        "the support.",
        {**{f"support_{alpha:g}": float(size) for alpha, size in sizes.items()}, "infinite": float(infinite)},
    )


@claim(
    "e-divergence-hidden",
    "Appendix E, Remark E.4",
    r"If $G$ is singular, as correlated patterns make it, the convergence of $z$ does not control that of "
    r"$p$ and $D_\alpha$.",
    "hopfieldphase reproduce e-divergence-hidden",
)
def divergence_hidden() -> Finding:
    """Weights moved without moving the scores, and weights along the update."""
    model = figures.model(1.0)
    point = stored_point(1.0)
    target = model.weights(point.x, BETA)
    hidden = hidden_change(model, target)
    rank = int(np.linalg.matrix_rank(model.gram))
    uncorrelated = HopfieldModel(spherical(100, 64, seed=0))
    other = int(np.linalg.matrix_rank(uncorrelated.gram))
    ratio = 0.0
    for alpha in (0.7, 1.0, 1.5, 2.0):
        follower = figures.model(alpha)
        end = stored_point(alpha).x
        start = end + 0.5 * np.random.default_rng(0).normal(size=follower.d) * follower.state_scale
        states = _retrieval(follower, start, BETA, 15)
        weights = follower.weights(states, BETA) - follower.weights(end, BETA)
        scores = np.linalg.norm(follower.overlaps(states - end), axis=1)
        seen = scores > 1e-9
        ratio = max(ratio, float((np.linalg.norm(weights, axis=1) / scores)[seen].max() * alpha / BETA))
    hides = hidden.score_change < ROUNDING and hidden.divergence > 1e-3
    return Finding(
        verdict(hides and ratio > 1 + DIFFERENCES, Verdict.READING if hides else Verdict.FAILS),
        rf"True of weights moved by themselves: beside $p^\star$ of Figure 11 there are others with "
        rf"$D_\alpha$ = {hidden.divergence:.4f} and the same scores (within {small(hidden.score_change)}). "
        f"$G$ has rank {rank} there because {model.M} patterns are more than {model.d} dimensions "
        f"({other} for uncorrelated ones). But along the dynamics $p$ is a function of $z$, and for $\\alpha "
        r"\le 2$ $|p - p^\star| \le (\beta/\alpha)|z - z^\star|$ whatever $G$ is: "
        rf"{ratio:.3f} of that bound at most on paths at $\alpha$ = 0.7, 1, 1.5, 2. So $p$ does converge.",
        {
            "divergence": hidden.divergence,
            "score_change": hidden.score_change,
            "rank": float(rank),
            "rank_uncorrelated": float(other),
            "largest_ratio": ratio,
        },
    )


CLAIMS: tuple[Claim, ...] = (
    scores_and_states,
    score_jacobian,
    spectral_radius,
    update_no_gradient,
    divergence_limit,
    divergence_bounds,
    divergence_scores,
    divergence_interior,
    divergence_hidden,
)
