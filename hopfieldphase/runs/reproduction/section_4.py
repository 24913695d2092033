"""Section 4: branches, coexistence, spinodals; Propositions 4.1 and 4.2."""

import math
from functools import cache

import numpy as np

from hopfieldphase.continuation.branch import Branch, PointKind, SpecialPoint
from hopfieldphase.core import closed_forms
from hopfieldphase.core.patterns import equicorrelated, two_keys
from hopfieldphase.core.tsallis import tsallis_entropy
from hopfieldphase.model import HopfieldModel
from hopfieldphase.phases.coexistence import all_coexistence
from hopfieldphase.phases.enumeration import enumerate_minima
from hopfieldphase.runs.branches import branches
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, Verdict, claim, small, verdict

AT = 200.0
"""A β at which singles, pairs and larger supports are minima together (patterns of Figure 2, α = 2)."""

ROUNDING = 1e-9
SHOW = "hopfieldphase branches beta --alpha 2 --at 200 --top all"


def _jumps(found: list[Branch]) -> list[SpecialPoint]:
    return [end for branch in found for end in branch.ends if end.is_jump]


@cache
def _branches() -> list[Branch]:
    return list(figures.sparse_branches(AT))


@cache
def _crossings() -> list[SpecialPoint]:
    """Where two of the branches have the same free energy at one β, not throughout an interval."""
    return [point for *_, point in all_coexistence(_branches()) if not point.degenerate]


@claim(
    "memory-load-definition",
    "Section 4",
    r"The memory load is $\kappa := \exp(M)/d$.",
    "hopfieldphase sweep kappa --alpha 2 --realizations 1 --kappas 0.06,0.12,0.19 --no-plot",
)
def memory_load_definition() -> Finding:
    """Only log(M)/d fits the numbers of Figure 4."""
    counts = figures.sweep_of(4)["M"].values
    d = 48
    logs = np.log(counts) / d
    smallest = math.exp(float(counts[0])) / d
    return Finding(
        verdict(smallest < 1, Verdict.READING),
        rf"Section 5.2 and Appendix F have $\kappa = \log(M)/d$, and so do the figures: M = {counts[0]} to "
        rf"{counts[-1]} patterns at d = {d} are $\kappa$ = {logs[0]:.3f} to {logs[-1]:.3f}, while "
        rf"$\exp(M)/d$ is {smallest:.1e} for the fewest of them.",
        {"smallest_printed": smallest, "lowest": float(logs[0]), "highest": float(logs[-1])},
    )


@claim(
    "branch-continuity",
    "Section 4, Definition 4.1",
    "A branch is a continuous family of strict local minima.",
    SHOW,
)
def branch_continuity() -> Finding:
    """The states on either side of every kink, and of every jump."""
    steps, least = [], math.inf
    for branch in _branches():
        for left, right in zip(branch.pieces[:-1], branch.pieces[1:], strict=True):
            a, b = left.at(left.upper).x, right.at(right.lower).x
            steps.append(float(np.linalg.norm(a - b) / np.linalg.norm(b)))
        least = min(
            least, *(piece.at((piece.lower + piece.upper) / 2).hessian_min for piece in branch.pieces)
        )
    return Finding(
        verdict(max(steps) <= ROUNDING and least > 0),
        rf"At $\alpha = 2$ a branch is made of pieces with one support each: over the {len(steps)} joints "
        rf"of the {len(_branches())} branches found at $\beta$ = {AT:g} the state moves by "
        rf"{small(max(steps))} of its length at most, and $\lambda_{{\min}}/\beta$ is {least:.4f} or more "
        "in the middle of every piece.",
        {"joints": float(len(steps)), "largest_step": max(steps), "least_curvature": least},
    )


@claim(
    "coexistence-barrier",
    "Section 4, Definition 4.2",
    "At a coexistence point an energy barrier still separates the two states.",
    SHOW,
)
def coexistence_barrier() -> Finding:
    """Two strict minima of equal energy have a barrier between them."""
    found = _crossings()
    curvatures = [min(point.state.hessian_min, point.landing.hessian_min)
                  for point in found if point.state and point.landing]  # fmt: skip
    strict = sum(curvature > 1e-6 for curvature in curvatures)
    keys = HopfieldModel(two_keys(0.5, d=4), alpha=2.0, scale=1.0)
    flat = float(np.linalg.eigvalsh(keys.hessian(keys.patterns.mean(axis=0), 4.0))[0]) / 4
    return Finding(
        verdict(strict == len(curvatures), Verdict.READING),
        f"Both states are strict minima, and so behind a barrier, at {strict} of the {len(curvatures)} "
        rf"crossings of the branches found at $\beta$ = {AT:g}; at the others a pair of patterns has just "
        "become flat and ends, with the energy of a stored pattern. The paper's own example, two keys at "
        rf"$2/(1-\varepsilon)$, has no barrier: $\lambda_{{\min}}/\beta$ = {small(abs(flat))}.",
        {"crossings": float(len(curvatures)), "strict": float(strict), "two_keys_curvature": flat},
    )


@claim(
    "spinodal-ends-branch",
    "Section 4, Definition 4.3",
    r"A branch breaks down where $\lambda_{\min}(\nabla^2\Gamma) = 0$.",
    SHOW,
)
def spinodal_ends_branch() -> Finding:
    """What ends the branches that end."""
    ends = _jumps(_branches())
    spinodals = [end for end in ends if end.kind is PointKind.SPINODAL]
    return Finding(
        verdict(len(spinodals) == len(ends), Verdict.READING),
        rf"Only with Remark 4.1: of the {len(ends)} ends of branches found at $\beta$ = {AT:g} ($\alpha = "
        f"2$) {len(spinodals)} are such spinodals, and {len(ends) - len(spinodals)} come from a pattern "
        "that enters the support.",
        {"ends": float(len(ends)), "spinodals": float(len(spinodals))},
    )


@claim(
    "support-change-jump",
    "Section 4, Remark 4.1",
    "Jumps also occur where the support changes suddenly; Eq. (4.2) need not hold there.",
    SHOW,
)
def support_change_jump() -> Finding:
    """λ_min at the ends that are no spinodals, and the support changes that are no jumps."""
    found = _branches()
    changes = [end for end in _jumps(found) if end.kind is not PointKind.SPINODAL]
    curvatures = [end.state.hessian_min for end in changes if end.state]
    kinks = sum(point.goes_on for branch in found for point in branch.special_points)
    return Finding(
        verdict(bool(curvatures) and min(curvatures) > 0),
        rf"$\lambda_{{\min}}/\beta$ is {min(curvatures):.3f} to {max(curvatures):.3f} at the {len(changes)} "
        f"ends at which a pattern enters. Not every such event is a jump: {kinks} changes of the support "
        "on the same branches are kinks, through which the state goes on.",
        {"jumps": float(len(changes)), "kinks": float(kinks), "least_curvature": min(curvatures)},
    )


@claim(
    "softmax-jumps",
    "Section 4, Remark 4.1",
    r"At $\alpha = 1$ the retrieval changes discontinuously only where the Hessian loses rank.",
    "hopfieldphase branches beta --alpha 1 --at 700 --betas 20,1000 --top 6",
)
def softmax_jumps() -> Finding:
    """Folds of retrieval branches far above the range of Figure 3."""
    found = branches(figures.model(1.0), 700.0, (20.0, 1000.0), top=6)
    turns = [[point for point in branch.special_points if point.kind is not PointKind.RANGE]
             for branch in found]  # fmt: skip
    lost = [min(points, key=lambda point: point.parameter) for points in turns if points]
    curvatures = [abs(point.state.hessian_min) for point in lost if point.state]
    values = [point.parameter for point in lost]
    return Finding(
        verdict(len(lost) == len(found) and all(point.kind is PointKind.FOLD for point in lost)
                and max(curvatures) < 1e-6),
        rf"The retrieval states of the patterns of Figure 2 end at folds with $|\lambda_{{\min}}|/\beta$ "
        rf"below {small(max(curvatures))}: {len(lost)} of them at $\beta$ = {min(values):.1f} to "
        f"{max(values):.1f}, above the range of Figure 3.",
        {"lowest_fold": min(values), "highest_fold": max(values), "curvature": max(curvatures)},
    )  # fmt: skip


@claim(
    "coexistence-condition",
    "Section 4, Proposition 4.1",
    r"Two branches coexist where $\sum [z_\mu-\theta]_+[z_\nu-\theta]_+ K_{\mu\nu}$ is the same on both.",
    "hopfieldphase reproduce coexistence-condition",
)
def coexistence_condition() -> Finding:
    """Both sides at every crossing, and the energy that they stand for."""
    gram, errors = figures.model().gram, []
    for point in _crossings():
        if point.state and point.landing:
            sides = [closed_forms.proposition_4_1_energy(figures.model().overlaps(state.x), state.threshold,
                                                         gram, point.parameter)
                     for state in (point.state, point.landing)]  # fmt: skip
            errors.append(
                max(abs(float(sides[0] - sides[1])), abs(float(sides[0]) - point.state.free_energy))
            )
    return Finding(
        verdict(bool(errors) and max(errors) <= ROUNDING),
        rf"At all {len(errors)} crossings of the branches found at $\beta$ = {AT:g} the two sums differ by "
        rf"{small(max(errors))} at most, and $(\beta/2)^2$ times the sum, minus one, is $\Gamma$. The "
        f"supports have 1 to {max(len(point.state.support) for point in _crossings() if point.state)} "
        "patterns with unequal weights.",
        {"crossings": float(len(errors)), "error": max(errors)},
    )


@claim(
    "coexistence-closed-form",
    "Section 4, Proposition 4.1",
    r"For uniform weights and equal cosines $\varepsilon \ll 1$, a state on one pattern and one on two "
    r"have equal energies at $\beta = 2/(1-\varepsilon)$.",
    "hopfieldphase validate two-keys-coexistence",
)
def coexistence_closed_form() -> Finding:
    """Γ of the uniform states on 1 to 10 of 10 patterns at this β, for cosines that are not small."""
    spread = {}
    for cosine in (0.0, 0.3, 0.6, 0.85, 0.95):
        keys = HopfieldModel(equicorrelated(10, 10, cosine), alpha=2.0, scale=1.0)
        beta = 2 / (1 - cosine)
        states = [keys.patterns[:k].mean(axis=0) for k in range(1, 11)]
        energies = keys.free_energy(np.array(states), beta)
        spread[cosine] = float(np.ptp(energies) / np.abs(energies).max())
    worst = max(spread.values())
    return Finding(
        verdict(worst <= ROUNDING),
        r"More is true: at this $\beta$ the uniform states on 1, 2, …, 10 of 10 patterns have the same "
        rf"energy (relative spread {small(worst)}), and $\varepsilon$ need not be small: tried up to 0.95. "
        r"With the scale $1/\sqrt d$ the value is $2d/(1-\varepsilon)$.",
        {"spread": worst},
    )


@claim(
    "coexistence-degenerate",
    "Section 4, Proposition 4.1",
    r"At $\beta = 2/(1-\varepsilon)$ every $p$ is a global minimum of the joint free energy.",
    "hopfieldphase reproduce coexistence-degenerate",
)
def coexistence_degenerate() -> Finding:
    """F(p) at random p: its spread, and that nothing lies below."""
    worst = 0.0
    for M in (2, 3, 10):
        gram, beta = 0.7 * np.eye(M) + 0.3, 2 / 0.7
        p = np.random.default_rng(M).dirichlet(np.full(M, 0.3), size=2000)
        energy = -tsallis_entropy(p, 2.0) - beta / 2 * np.einsum("nm,mk,nk->n", p, gram, p)
        worst = max(worst, float(np.ptp(energy)))
    return Finding(
        verdict(worst <= ROUNDING),
        f"The energy of 2000 random $p$ spreads by {small(worst)}, for 2, 3 and 10 patterns of cosine 0.3, "
        r"at the state $x = \Xi^\top p/\sqrt d$ that belongs to $p$.",
        {"spread": worst},
    )


@claim(
    "coexistence-stable-states",
    "Section 4, Proposition 4.1",
    "It is a coexistence of two branches, hence of two strict minima, one on one pattern and one on two.",
    "hopfieldphase reproduce coexistence-stable-states",
)
def coexistence_stable_states() -> Finding:
    """All strict minima of two keys around the point, and nested supports among those of many patterns."""
    keys = HopfieldModel(two_keys(0.5, d=4), alpha=2.0, scale=1.0)
    together = 0
    for beta in 4.0 * np.array([0.9, 0.999, 1.001, 1.1]):
        sizes = {len(state.support) for state in enumerate_minima(keys, float(beta)).minima}
        together += sizes == {1, 2}
    supports = [set(branch.at(AT).support) for branch in _branches()]
    nested = sum(a < b for a in supports for b in supports)
    return Finding(
        verdict(together > 0, Verdict.READING),
        rf"The two never are minima together ({together} of 4 values of $\beta$ tried around the point): "
        "below it only the mixture is a strict minimum, above only the single patterns, and at it the "
        r"whole segment is flat. At $\alpha = 2$ no strict minimum has a support inside that of another: "
        rf"{nested} such pairs among the {len(supports)} minima found at $\beta$ = {AT:g} on the patterns "
        "of Figure 2.",
        {"together": float(together), "nested": float(nested), "minima": float(len(supports))},
    )


@claim(
    "spinodal-formula",
    "Section 4, Proposition 4.2",
    r"A state with a support of k patterns becomes unstable at $\beta = 2/\lambda_{\max}(PGP)$.",
    "hopfieldphase validate unequal-weights",
)
def spinodal_formula() -> Finding:
    """λ_min/β = 1 − (β/2) λ_max(PGP) at every minimum, and the ends that are spinodals."""
    gram, errors, ends, uneven = figures.model().gram, [], [], 0.0
    for at in (60.0, 150.0, AT):
        for branch in figures.sparse_branches(at):
            state = branch.at(at)
            predicted = 1 - at / 2 * _softest(gram, state.support)
            errors.append(abs(state.hessian_min - predicted))
            on = state.weights[list(state.support)]
            uneven = max(uneven, float(on.max() / on.min()))
    for branch in _branches():
        for end, piece in zip(branch.ends, (branch.pieces[0], branch.pieces[-1]), strict=True):
            if end.kind is PointKind.SPINODAL:
                ends.append(abs(end.parameter * _softest(gram, piece.support) / 2 - 1))
    return Finding(
        verdict(max(errors) <= ROUNDING and max(ends) <= ROUNDING),
        rf"Also for unequal weights: $\lambda_{{\min}}/\beta = 1 - \frac\beta2\lambda_{{\max}}(PGP)$ within "
        f"{small(max(errors))} at {len(errors)} minima of the patterns of Figure 2 (weights differ by "
        rf"factors of up to {uneven:.0f}), and the {len(ends)} spinodals of the branches found at $\beta$ = "
        f"{AT:g} lie there within {small(max(ends))}.",
        {"curvature_error": max(errors), "spinodal_error": max(ends), "spinodals": float(len(ends))},
    )


def _softest(gram: np.ndarray, support: tuple[int, ...]) -> float:
    """λ_max(PGP) on a support, 0 for one pattern."""
    k = len(support)
    P = np.eye(k) - 1 / k
    return float(np.linalg.eigvalsh(P @ gram[np.ix_(support, support)] @ P)[-1])


@claim(
    "spinodal-critical-value",
    "Section 4, Proposition 4.2",
    r"The critical value of a branch with support size k is $\beta_{jump} = 2/\lambda_{\max}(PGP)$.",
    "hopfieldphase branches beta --alpha 2 --at 290 --top all",
)
def spinodal_critical_value() -> Finding:
    """Stored patterns have PGP = 0, and still a lower end."""
    found = figures.sparse_branches(290.0)
    singles = [branch for branch in found if len(branch.at(290.0).support) == 1]
    ends = [branch.ends[0] for branch in singles if branch.ends[0].is_jump]
    spinodals = sum(end.kind is PointKind.SPINODAL for end in ends)
    onset = closed_forms.exact_storage_onset(figures.model().gram, 2.0)
    errors = [abs(branch.lower / float(onset[branch.at(290.0).support[0]]) - 1) for branch in singles]
    return Finding(
        verdict(spinodals == len(ends), Verdict.READING),
        r"Not where the support changes first: for one pattern $PGP = 0$ and the formula names no $\beta$, "
        rf"but all {len(ends)} single-pattern branches found at $\beta$ = 290 end, at "
        f"{min(e.parameter for e in ends):.1f} to {max(e.parameter for e in ends):.1f}, where another "
        rf"pattern enters ({spinodals} are spinodals), at $\beta = 2d/(1 - \max_\nu C_{{\mu\nu}})$ (within "
        f"{small(max(errors))}).",
        {"ends": float(len(ends)), "spinodals": float(spinodals), "onset_error": max(errors)},
    )


@claim(
    "coexistence-and-spinodal",
    "Section 4, Remark 4.2",
    r"Jump and coexistence coincide for uniform weights and equal cosines, but not in general.",
    SHOW,
)
def coexistence_and_spinodal() -> Finding:
    """For every end of a branch the nearest crossing with another one."""
    crossings: dict[int, list[float]] = {}
    for i, j, point in all_coexistence(_branches()):
        for place in (i, j) if not point.degenerate else ():
            crossings.setdefault(place, []).append(point.parameter)
    distances = []
    for place, branch in enumerate(_branches()):
        for end in branch.ends if place in crossings else ():
            if end.is_jump:
                near = min(abs(value / end.parameter - 1) for value in crossings[place])
                distances.append((near, len(end.state.support) if end.state else 0))
    together = [size for near, size in distances if near < ROUNDING]
    apart = [near for near, _ in distances if near >= ROUNDING]
    keys = two_keys(0.3, d=4)
    error = abs(closed_forms.uniform_spinodal(keys @ keys.T, 2.0) * (1 - 0.3) / 2 - 1)
    return Finding(
        verdict(error < ROUNDING and len(apart) > 0),
        rf"For two keys both are $2/(1-\varepsilon)$ (within {small(error)}). Of {len(distances)} ends of "
        rf"branches found at $\beta$ = {AT:g}, {len(apart)} lie away from every crossing of their branch, "
        f"by a median of {100 * float(np.median(apart)):.1f} %; the other {len(together)}, on "
        f"{max(together, default=0)} patterns each, end at one: for a pair the two coincide whatever the "
        "other cosines are.",
        {"ends": float(len(distances)), "apart": float(len(apart)), "together": float(len(together)),
         "largest_together": float(max(together, default=0)), "median": float(np.median(apart))},
    )  # fmt: skip


CLAIMS = (
    memory_load_definition, branch_continuity, coexistence_barrier, spinodal_ends_branch, support_change_jump,
    softmax_jumps, coexistence_condition, coexistence_closed_form, coexistence_degenerate,
    coexistence_stable_states, spinodal_formula, spinodal_critical_value,
    coexistence_and_spinodal,
)  # fmt: skip
