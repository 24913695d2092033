"""Appendix D.1: fluctuations at a temperature, the loop expansion and the Laplace approximation."""

import math
from functools import cache
from typing import Any

import numpy as np

from hopfieldphase.dynamics.loops import (
    EffectiveAction,
    QuarticWell,
    effective_action,
    field_action,
    fitted_order,
    grid_cumulants,
    one_loop,
    reducible_two_loop,
    two_loop,
)
from hopfieldphase.runs.reproduction.record import Claim, Finding, Verdict, claim, verdict

BETAS = np.array([100.0, 200.0, 400.0, 800.0, 1600.0])
ORDER = 0.1
"""What a fitted exponent may be off: the next order is 1/β smaller, and so is its effect."""

AGREEMENT = 1e-3
"""Relative, of coefficients extrapolated to β → ∞ from the two largest β."""

PHI = 0.4


def _show(name: str) -> str:
    return (
        'python -c "from hopfieldphase.runs.reproduction.appendix_d1 import CLAIMS; '
        f"print(next(c for c in CLAIMS if c.name == '{name}')().sentence)\""
    )


WELL = QuarticWell(0.1, 0.25)
"""A convex single well without symmetry."""


@cache
def _action(beta: float) -> EffectiveAction:
    _, gradient, hessian, _, _ = WELL.derivatives(PHI)
    return field_action(WELL, beta, [PHI], gradient, hessian)


def _remainders() -> Any:
    """Γ[φ] less its tree and one-loop terms, over BETAS."""
    energy, _, hessian, _, _ = WELL.derivatives(PHI)
    return np.array([_action(beta).value - one_loop(beta, energy, hessian) for beta in BETAS])


def _extrapolated(values: Any) -> float:
    """The limit β → ∞ of values with corrections of order 1/β, from the last two, a factor 2 apart."""
    return float(2 * values[-1] - values[-2])


@claim(
    "d-saddle-point",
    "Appendix D.1, Proposition D.1",
    r"For $\beta \to \infty$ the macroscopic state tends to the stationary point, $\varphi \to x_J$.",
    _show("d-saddle-point"),
)
def saddle_point() -> Finding:
    """The distance of ⟨x⟩ from the maximizer of −βH + Jx at fixed J."""
    J, distances = 0.5, []
    for beta in BETAS:
        x = WELL.state(J / beta)
        mean = grid_cumulants(WELL, beta, [x], [12 / math.sqrt(beta)])(np.array([J]))[1]
        distances.append(abs(float(mean[0]) - x))
    order = fitted_order(BETAS, distances)
    return Finding(
        verdict(distances[-1] < distances[0] / 8 and abs(order - 1) < ORDER),
        rf"For $H = x^2/2 + x^3/10 + x^4/4$, $J = {J:g}$, the distance $|\varphi - x_J|$ falls like "
        rf"$\beta^{{-{order:.3f}}}$, to {distances[-1]:.2e} at $\beta = {BETAS[-1]:g}$.",
        {"order": order, "distance": distances[-1]},
    )


@claim(
    "d-one-loop",
    "Appendix D.1, Proposition D.2, Eq. (D.1)",
    r"$\Gamma[\varphi] = \beta H - \frac d2 \log 2\pi + \frac12 \log\det(\beta \nabla^2 H) + O(\beta^{-1})$.",
    "hopfieldphase run sweeps/loops.toml",
)
def one_loop_order() -> Finding:
    """The order of what is left of the exact Γ."""
    order = fitted_order(BETAS, _remainders())
    return Finding(
        verdict(abs(order - 1) < ORDER),
        rf"What the exact $\Gamma$ has besides falls like $\beta^{{-{order:.3f}}}$ over $\beta = "
        rf"{BETAS[0]:g}$ to "
        rf"${BETAS[-1]:g}$ (quartic well, $\varphi = {PHI:g}$).",
        {"order": order},
    )


@claim(
    "d-two-loop",
    "Appendix D.1, Proposition D.2, Eq. (D.2)",
    r"The two-loop term is of order $\beta^{-1}$, the three-loop term of order $\beta^{-2}$.",
    "hopfieldphase run sweeps/loops.toml",
)
def two_loop_order() -> Finding:
    """The coefficient of 1/β against the irreducible diagrams, and the order of what is left."""
    _, _, hessian, third, fourth = WELL.derivatives(PHI)
    theory = two_loop(hessian, third, fourth)
    remainders = _remainders()
    measured = _extrapolated(BETAS * remainders)
    order = fitted_order(BETAS, remainders - theory / BETAS)
    return Finding(
        verdict(abs(measured / theory - 1) < AGREEMENT and abs(order - 2) < ORDER),
        rf"The coefficient of $1/\beta$ is {measured:.6f}; the irreducible diagrams "
        rf"$\frac18 H''''/H''^2 - \frac1{{12}} H'''^2/H''^3$ give {theory:.6f}. The rest falls like "
        rf"$\beta^{{-{order:.3f}}}$.",
        {"measured": measured, "theory": theory, "order": order},
    )


@claim(
    "d-two-loop-proof",
    "Appendix D.1, proof of Proposition D.2",
    r"$\Gamma$ follows from the integral at the source $J = \beta \nabla H(\varphi)$, where the cubic "
    r"term, an odd "
    r"function, drops out.",
    "hopfieldphase run sweeps/loops.toml",
)
def two_loop_proof() -> Finding:
    """The coefficient of 1/β in −log ∫ exp(−βH + J·(x − φ)) with the source of the proof."""
    energy, gradient, hessian, third, fourth = WELL.derivatives(PHI)
    values = []
    for beta in BETAS[-2:]:
        cumulants = grid_cumulants(WELL, beta, [PHI], [12 / math.sqrt(beta * hessian)])
        log_value = cumulants(np.array([beta * gradient]))[0] - beta * gradient * PHI
        values.append(beta * (-log_value - one_loop(beta, energy, hessian)))
    measured, exact = _extrapolated(values), _extrapolated(BETAS * _remainders())
    without_cubic = fourth / (8 * hessian**2)
    expected = two_loop(hessian, third, fourth) + reducible_two_loop(hessian, third)
    agrees = abs(measured / exact - 1) < AGREEMENT and abs(measured / without_cubic - 1) < AGREEMENT
    return Finding(
        verdict(agrees, Verdict.READING),
        rf"At order $1/\beta$ that integral gives {measured:.6f}, $\Gamma$ itself {exact:.6f}. The square "
        rf"of the "
        rf"cubic term contributes (without it: {without_cubic:.6f}), and at the fixed source so does the "
        rf"reducible "
        rf"diagram $-\frac18 H'''^2/H''^3$, which the supremum over $J$ removes (with it: {expected:.6f}). "
        rf"The "
        r"orders claimed are not touched.",
        {"integral": measured, "exact": exact, "without_cubic": without_cubic, "expected": expected},
    )


@claim(
    "d-perturbation-breaks-down",
    "Appendix D.1, Remark D.2",
    "The loop expansion works at low temperature only; above some temperature higher loops make it worse.",
    _show("d-perturbation-breaks-down"),
)
def breakdown() -> Finding:
    """Errors of one and two loops at high and low temperature."""
    _, _, hessian, third, fourth = WELL.derivatives(0.0)
    coefficient = two_loop(hessian, third, fourth)
    errors = {}
    for beta in (0.3, 100.0):
        cumulants = grid_cumulants(WELL, beta, [0.0], [12 / math.sqrt(beta)])
        exact = effective_action(cumulants, [0.0]).value
        one = one_loop(beta, 0.0, hessian)
        errors[beta] = (abs(exact - one), abs(exact - one - coefficient / beta))
    (hot_one, hot_two), (cold_one, cold_two) = errors[0.3], errors[100.0]
    return Finding(
        verdict(hot_two > hot_one and cold_two < cold_one / 10),
        rf"At $\beta = 0.3$ the error of $\Gamma[0]$ is {hot_one:.3f} with one loop and {hot_two:.3f} with "
        rf"two, at "
        rf"$\beta = 100$ {cold_one:.2e} and {cold_two:.2e}.",
        {"hot_one": hot_one, "hot_two": hot_two, "cold_one": cold_one, "cold_two": cold_two},
    )


@claim(
    "d-laplace",
    "Appendix D.1, Proposition D.3 and Remark D.1",
    r"$\frac1\beta W[J] = \sup_x \{-H + \frac1\beta J \cdot x\} + O(\log\beta/\beta)$, so that $W/\beta$ "
    r"tends to the "
    "Fenchel conjugate of $H$.",
    _show("d-laplace"),
)
def laplace() -> Finding:
    """The coefficient of log β in W − β sup at a source βj."""
    x = PHI
    energy, gradient, hessian, _, _ = WELL.derivatives(x)
    rests = []
    for beta in BETAS:
        cumulants = grid_cumulants(WELL, beta, [x], [12 / math.sqrt(beta * hessian)])
        rests.append(cumulants(np.array([beta * gradient]))[0] - beta * (gradient * x - energy))
    slope = float((rests[-1] - rests[-2]) / math.log(BETAS[-1] / BETAS[-2]))
    order = fitted_order(BETAS, np.array(rests) - math.log(2 * math.pi / hessian) / 2 + np.log(BETAS) / 2)
    return Finding(
        verdict(abs(slope + 0.5) < 1e-3 and abs(order - 1) < ORDER),
        rf"$W - \beta \sup = {slope:.5f} \log\beta$ + constant, the exact coefficient being $-d/2 = -1/2$; "
        rf"what is "
        rf"left falls like $\beta^{{-{order:.3f}}}$.",
        {"slope": slope, "order": order},
    )


@claim(
    "d-laplace-discrete",
    "Appendix D.1, Proposition D.3, Eq. (D.3)",
    r"For discrete states the error of $\frac1\beta W$ is between 0 and $\log|X|/\beta$.",
    _show("d-laplace-discrete"),
)
def laplace_discrete() -> Finding:
    """The least and the largest error in units of log|X|/β over random and degenerate energies."""
    rng = np.random.default_rng(0)
    shares = []
    for size in (2, 30, 1000):
        for energies in (rng.normal(size=size), np.zeros(size)):
            for beta in (0.1, 1.0, 100.0):
                logs = -beta * energies
                error = math.log(float(np.sum(np.exp(logs - logs.max()))))
                shares.append(error / math.log(size))
    low, high = min(shares), max(shares)
    return Finding(
        verdict(low >= 0 and high <= 1 + 1e-12),
        rf"In units of $\log|X|/\beta$ the error lies between {low:.3g} and {high:.12g}; the upper bound "
        rf"is reached "
        "where all energies are equal.",
        {"low": low, "high": high},
    )


CLAIMS: tuple[Claim, ...] = (
    saddle_point,
    one_loop_order,
    two_loop_order,
    two_loop_proof,
    breakdown,
    laplace,
    laplace_discrete,
)
