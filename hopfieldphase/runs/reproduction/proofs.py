"""Appendices C.8 and C.9: the energies and the Hessian behind Propositions 4.1 and 4.2."""

import numpy as np

from hopfieldphase.core.patterns import equicorrelated
from hopfieldphase.model import HopfieldModel
from hopfieldphase.runs.reproduction import figures
from hopfieldphase.runs.reproduction.record import Finding, claim, small, verdict

ROUNDING = 1e-12


@claim(
    "well-separated-energy",
    "Appendix C.8, Eq. (C.14)",
    r"$\Gamma = (1 - \frac\beta2(1-\varepsilon))|p|^2 - 1 - \frac\beta2\varepsilon$; on one and on two "
    r"patterns $-\frac\beta2$ and $-\frac12 - \frac\beta4(1+\varepsilon)$.",
    "hopfieldphase reproduce well-separated-energy",
)
def well_separated_energy() -> Finding:
    """Against Γ of the uniform states on 1 to 6 patterns, at the β at which each is stationary."""
    errors, counted = [], 0
    for cosine in (0.0, 0.3, 0.8):
        keys = HopfieldModel(equicorrelated(6, 8, cosine), alpha=2.0, scale=1.0)
        for k in range(1, 7):
            for beta in np.array([0.5, 0.9, 1.0, 1.5, 4.0]) * 2 / (1 - cosine):
                x = keys.patterns[:k].mean(axis=0)
                if keys.gradient_residual(x, beta) > ROUNDING:
                    continue
                counted += 1
                printed = (1 - beta / 2 * (1 - cosine)) / k - 1 - beta / 2 * cosine
                own = {1: -beta / 2, 2: -1 / 2 - beta / 4 * (1 + cosine)}.get(k, printed)
                gamma = float(keys.free_energy(x, beta))
                errors.append(max(abs(gamma - printed), abs(gamma - own)))
    return Finding(
        verdict(max(errors) < ROUNDING),
        rf"Within {small(max(errors))} of $\Gamma$ at {counted} stationary states on 1 to 6 of 6 patterns, "
        "cosines 0, 0.3 and 0.8.",
        {"states": float(counted), "error": max(errors)},
    )


@claim(
    "sparse-hessian",
    "Appendix C.9, Eq. (C.15)",
    r"$\nabla^2\Gamma = \beta I - \frac{\beta^2}{2d}\,\Xi^\top P\,\Xi$ on the support, with the projector "
    "$P$.",
    "hopfieldphase reproduce sparse-hessian",
)
def sparse_hessian() -> Finding:
    """Against central differences of the gradient, at minima of every support size found at two β."""
    model, errors, sizes = figures.model(), [], set()
    for beta in (60.0, 150.0, 200.0):
        for branch in figures.sparse_branches(beta):
            state = branch.at(beta)
            if len(state.support) in sizes:
                continue
            sizes.add(len(state.support))
            rows = model.patterns[list(state.support)]
            P = np.eye(len(rows)) - 1 / len(rows)
            printed = beta * np.eye(model.d) - beta**2 / (2 * model.d) * rows.T @ P @ rows
            step = 1e-7 * np.eye(model.d)
            slopes = [(model.gradient(state.x + one, beta) - model.gradient(state.x - one, beta)) / 2e-7
                      for one in step]  # fmt: skip
            errors.append(float(np.abs(np.array(slopes) - printed).max()) / beta)
    return Finding(
        verdict(max(errors) < 1e-6 and len(sizes) > 3),
        rf"Central differences of $\nabla\Gamma$ agree within {small(max(errors))} of $\beta$ at "
        f"{len(sizes)} minima with {min(sizes)} to {max(sizes)} patterns (Figure 2, realization 0).",
        {"minima": float(len(sizes)), "error": max(errors)},
    )


CLAIMS = (well_separated_energy, sparse_hessian)
