"""Figures 6 and 8 of the paper from real runs: retrieval and frustration, metastability and a spinodal.

Source: arXiv:2610.17347, Appendices B.1 and B.3.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnnotationBbox, DrawingArea
from matplotlib.patches import Circle
from matplotlib.text import Text
from scipy.optimize import minimize_scalar

from hopfieldphase.core.closed_forms import (
    potts_barrier,
    potts_coexistence,
    potts_coupling,
    potts_free_energy,
    potts_instability,
    potts_spinodal,
)
from hopfieldphase.dynamics.classical import (
    hebbian_couplings,
    noisy_query,
    spin_energy,
    zero_temperature,
)
from hopfieldphase.model import HopfieldModel
from hopfieldphase.plotting import style
from hopfieldphase.plotting.schematics_panels import BLUE, GREEN, RED, three_panels


def plot_figure_6(axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """Retrieval and frustration in the classical Hopfield model.

    A zero-temperature run from a query with 25 of 100 spins wrong, five random memories: overlaps and energy
    after each flip. Beside it every state of three spins with two ferromagnetic bonds and one
    antiferromagnetic bond, up to a global flip, at its energy.

    Parameters
    ----------
    axes : three matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure of two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    d, wrong = 100, 25
    patterns = np.random.default_rng(0).choice([-1, 1], size=(5, d))
    run = zero_temperature(noisy_query(patterns[0], wrong, seed=1), hebbian_couplings(patterns), seed=2)
    overlaps, steps = run.overlaps(patterns), np.arange(len(run.flips) + 1)
    with style.style():
        left, middle, right = three_panels(axes, 2.4)
        left.plot(steps, overlaps[:, 1:], color="0.6", linewidth=0.7, linestyle="--")
        left.plot(steps, overlaps[:, 0], color=BLUE, marker="o", markersize=2.5)
        left.text(steps[-1] * 0.45, 8.6, r"memory $\xi^1$", color=BLUE, ha="right", fontsize=8)
        left.text(steps[-1] * 0.95, 3.1, "other memories", color="0.4", ha="right", fontsize=8)
        left.set(ylabel=r"overlap $z_\mu$", ylim=(-4, 10.6), title="overlap rises")
        middle.plot(steps, run.energies / d**2, color=RED, marker="s", markersize=2.5)
        middle.set(ylabel=r"energy per spin $\mathcal{H}/d$", title="energy falls")
        for ax in (left, middle):
            ax.set(xlabel="spins flipped", xlim=(-0.5, steps[-1] + 0.5))
        _draw_triangle_states(right)
    return left, middle, right


def _draw_triangle_states(ax: Axes) -> None:
    couplings = np.array([[0, 1, -1], [1, 0, 1], [-1, 1, 0]])
    states = np.array([[1, 1, 1], [1, 1, -1], [1, -1, -1], [1, -1, 1]])
    for column, (state, energy) in enumerate(zip(states, spin_energy(states, couplings), strict=True)):
        ax.plot([column - 0.36, column + 0.36], [energy, energy], color="0.1", linewidth=1.6)
        below = energy > 0
        drawing = AnnotationBbox(
            _triangle(state, couplings), (column, energy), (0, -24 if below else 24), xycoords="data",
            boxcoords="offset points", frameon=False, pad=0,
        )  # fmt: skip
        ax.add_artist(drawing)
    ax.set(ylabel="energy", ylim=(-1.6, 3.6), xlim=(-0.55, 3.55), title="frustrated triangle")
    ax.set_xticks([])
    ax.set_xlabel("states (up to a global flip)")
    ax.legend(
        handles=[
            Line2D([], [], color=GREEN, label="satisfied"),
            Line2D([], [], color=RED, linestyle=":", marker="x", label="unsatisfied"),
        ],
        loc="upper left",
    )


def _triangle(state: np.ndarray, couplings: np.ndarray) -> DrawingArea:
    """The three spins and their bonds, J₁₂, J₂₃ > 0 > J₁₃, in points."""
    area = DrawingArea(29, 30, 0, 0)
    corners = np.array([[4.5, 5.0], [14.5, 24.0], [24.5, 5.0]])
    for i, j in ((0, 1), (1, 2), (0, 2)):
        satisfied = couplings[i, j] * state[i] * state[j] > 0
        ends = corners[[i, j]]
        look = {
            "color": GREEN if satisfied else RED,
            "linestyle": "-" if satisfied else ":",
            "linewidth": 1.3,
        }
        area.add_artist(Line2D(*ends.T, **look))
        if not satisfied:
            area.add_artist(Line2D(*ends.mean(axis=0)[:, None], marker="x", color=RED, markersize=5))
    for (x, y), spin in zip(corners, state, strict=True):
        area.add_artist(Circle((x, y), 4.0, facecolor="white", edgecolor="0.1", linewidth=0.7))
        area.add_artist(Text(x, y - 0.3, "$+$" if spin > 0 else "$-$", ha="center", va="center", fontsize=7))
    return area


def plot_figure_8(axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """Metastability and a spinodal: ten orthonormal patterns under softmax retrieval, unit scale.

    Free energy of the states with weight p₁ on one pattern and the rest shared equally, at three β; the
    branches of stationary states with the jumps at their ends; the smallest Hessian eigenvalue on them.

    Parameters
    ----------
    axes : three matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure of two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    M = 10
    with style.style():
        left, middle, right = three_panels(axes, 2.5)
        _draw_metastability(left, M)
        _draw_branches(middle, right, M)
    return left, middle, right


def _draw_metastability(ax: Axes, M: int) -> None:
    weights = np.linspace(1 / M, 0.995, 300)
    equal = potts_coexistence(M, 1)
    cases = ((equal - 0.3, ":", "0.35"), (equal, "-", BLUE), (equal + 0.3, "--", RED))
    for beta, line, colour in cases:
        values = [potts_free_energy(p, beta, M, 1) for p in weights]
        ax.plot(weights, values, color=colour, linestyle=line, label=rf"$\beta = {beta:.2f}$")
    height = potts_barrier(M, 1)
    ax.plot([1 / M, 1 - 1 / M], [0, 0], "D", color=BLUE, zorder=4)
    ax.annotate(
        "",
        (0.5, 0),
        (0.5, height),
        arrowprops={"arrowstyle": "<->", "shrinkA": 0, "shrinkB": 0, "linewidth": 0.8},
    )
    ax.text(0.46, -0.012, f"barrier {height:.4f}", fontsize=8, ha="center", va="top")
    ax.axhline(0, color=style.THEORY, linewidth=0.4)
    ax.set(xlabel="weight $p_1$", ylabel=r"$\Gamma - \Gamma_{\mathrm{uniform}}$", title="metastability")
    ax.set(xlim=(0.05, 1), ylim=(-0.2, 0.33))
    ax.legend(loc="upper left")


def _draw_branches(middle: Axes, right: Axes, M: int) -> None:
    fold, equal, end = potts_spinodal(M, 1), potts_coexistence(M, 1), potts_instability(M, 1)
    model = HopfieldModel(np.eye(M), alpha=1, scale=1)
    found: Any = minimize_scalar(
        lambda p: potts_coupling(p, M, 1), bounds=(1 / M, 0.99), options={"xatol": 1e-10}
    )
    at_fold = float(found.x)
    window = (3.0, 12.0)
    spread = 1 - np.geomspace(1e-5, 1 - at_fold, 300)
    dashed = (0, (4, 2))
    arms = (
        ("retrieval", BLUE, "-", spread, None),
        ("unstable", "0.4", dashed, np.linspace(at_fold, 1 / M + 1e-9, 300), None),
        ("uniform", RED, "-.", np.full(50, 1 / M), np.linspace(window[0], end, 50)),
        ("uniform, unstable", RED, dashed, np.full(50, 1 / M), np.linspace(end, window[1], 50)),
    )
    for name, colour, line, weights, betas in arms:
        beta = np.array([potts_coupling(float(w), M, 1) for w in weights]) if betas is None else betas
        softest = [_softest(model, w, b) for w, b in zip(weights, beta, strict=True)]
        for values, ax in ((weights, middle), (softest, right)):
            ax.plot(
                beta,
                values,
                color=colour,
                linestyle=line,
                linewidth=0.9 if line == dashed else 1.4,
                label=name,
            )
    for ax, ends in ((middle, (at_fold, 1 / M)), (right, (0.0, 0.0))):
        ax.plot(fold, ends[0], "o", color=BLUE, zorder=5)
        ax.plot(end, ends[1], "s", color=RED, markerfacecolor="white", zorder=5)
        ax.set(xlabel=r"inverse temperature $\beta$", xlim=window)
    arrow = {
        "arrowstyle": "-|>",
        "color": "0.2",
        "linestyle": ":",
        "shrinkA": 3,
        "shrinkB": 1,
        "linewidth": 0.8,
    }
    middle.annotate("", (fold, 1 / M), (fold, at_fold), arrowprops=arrow)
    middle.annotate("", (end, _stored(end, M)), (end, 1 / M), arrowprops=arrow)
    middle.axvline(equal, color=style.THEORY, linewidth=0.6, linestyle=(0, (1, 3)))
    middle.plot([equal, equal], [1 / M, 1 - 1 / M], "D", color="0.2", markersize=3.5, zorder=4)
    middle.text(7.6, 0.86, "retrieval", color=BLUE, fontsize=8)
    middle.text(5.6, 0.025, "uniform", color=RED, fontsize=8)
    middle.text(6.2, 0.36, "unstable", color="0.3", fontsize=8)
    middle.set(ylabel="weight $p_1$", ylim=(0, 1.03), title="branches and jumps")
    right.axhline(0, color=style.THEORY, linewidth=0.4)
    right.text(fold + 0.35, 0.045, rf"fold, $\beta = {fold:.3f}$", fontsize=8, color=BLUE)
    right.text(end + 0.25, 0.05, rf"$\beta = {end:g}$", fontsize=8, color=RED)
    right.set(ylabel=r"$\lambda_{\min}(\nabla^2\Gamma)/\beta$", ylim=(-0.55, 1.03), title="softest direction")


def _softest(model: HopfieldModel, weight: float, beta: float) -> float:
    """λ_min(∇²Γ)/β at the state of that weight on the first pattern; x = p for orthonormal patterns."""
    M = model.M
    x = np.full(M, (1 - weight) / (M - 1))
    x[0] = weight
    return float(np.linalg.eigvalsh(model.hessian(x, beta))[0]) / beta


def _stored(beta: float, M: int) -> float:
    """Weight p₁ of the retrieval state at β, by the map p₁ → softmax from p₁ = 1."""
    p = 1.0
    for _ in range(200):
        p = 1 / (1 + (M - 1) * math.exp(-beta * (p - (1 - p) / (M - 1))))
    return p
