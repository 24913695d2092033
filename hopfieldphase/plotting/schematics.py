"""The schematic figures of the paper from the functions they picture; here 1, 7 and 9.

A Gibbs ensemble, one pattern, a source. Source: arXiv:2610.17347, Sections 2.1, B.2 and C.2.
"""

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from hopfieldphase.core.closed_forms import (
    hopfield_one_pattern_energy,
    hopfield_one_pattern_limit,
    hopfield_one_pattern_overlap,
)
from hopfieldphase.dynamics.classical_source import overlap_levels, selected_overlap
from hopfieldphase.dynamics.deformed import DeformedEnsemble
from hopfieldphase.plotting import style
from hopfieldphase.plotting.schematics_landscapes import plot_figure_6, plot_figure_8
from hopfieldphase.plotting.schematics_panels import BLUE, RED, three_panels

__all__ = ["plot_figure_1", "plot_figure_6", "plot_figure_7", "plot_figure_8", "plot_figure_9"]


def _tilted_well(x: np.ndarray) -> np.ndarray:
    """H(x) = x⁴/4 − x²/2 + x/10: two wells of unequal depth."""
    return x**4 / 4 - x**2 / 2 + x / 10


def plot_figure_1(axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """From microscopic fluctuations to the macroscopic landscape: density, W[J] and its conjugate Γ[φ].

    Computed for H(x) = x⁴/4 − x²/2 + x/10 on [−2.5, 2.5] at β = 3 and source J = 0.6.

    Parameters
    ----------
    axes : three matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure of two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    beta, source = 3.0, 0.6
    ensemble = DeformedEnsemble(_tilted_well, (-2.5, 2.5), beta)
    with style.style():
        left, middle, right = three_panels(axes, 2.4)
        _draw_density(left, ensemble, source)
        phi, log = ensemble.response(source).value, ensemble.log_partition(source).value
        sources = np.linspace(-3, 3, 61)
        middle.plot(sources, [ensemble.log_partition(j).value for j in sources], color=BLUE)
        near = source + np.array([-1.6, 1.6])
        middle.plot(near, log + phi * (near - source), color=RED, linestyle="--")
        middle.plot(source, log, "o", color=RED)
        middle.text(0.25, log - 0.42, rf"slope $\varphi = {phi:.2f}$", fontsize=8, color=RED)
        middle.set(xlabel=r"source $J$", ylabel=r"$W[J] = \ln\, Z[J]$", xlim=(-3, 3), ylim=(0.9, 4.5))
        middle.set_title("Gibbs average")
        _draw_conjugate(right, ensemble, source, phi)
    return left, middle, right


def _draw_density(ax: Axes, ensemble: DeformedEnsemble, source: float) -> None:
    x = np.linspace(-2.2, 2.2, 400)
    exponent = ensemble.beta * _tilted_well(x) - source * x
    lowest = float(x[np.argmin(exponent)])
    mean = ensemble.response(source).value
    spread = math.sqrt(ensemble.susceptibility(source).value)
    height = 2.2 / ensemble.density(x, source).max()
    ax.plot(x, exponent, color=BLUE, label=r"$\beta H(x) - Jx$")
    ax.fill_between(
        x, -2.6, -2.6 + height * ensemble.density(x, source), color=RED, alpha=0.3, linewidth=0.8,
        label=r"$p_J(x)$",
    )  # fmt: skip
    ax.plot(lowest, exponent.min(), "o", color=BLUE)
    ax.annotate(
        "$x_J$", (lowest, exponent.min()), (0, 5), textcoords="offset points", ha="center", color=BLUE
    )
    ax.errorbar(mean, -2.35, xerr=spread, fmt="D", color="0.1", markersize=3, capsize=2, linewidth=0.8)
    ax.text(
        mean - spread - 0.08, -2.35, r"$\langle x\rangle \pm \sigma$", ha="right", va="center", fontsize=8
    )
    ax.set(xlabel="$x$", ylabel="energy, density (arb. units)", xlim=(-2.2, 2.2), ylim=(-2.6, 3.2))
    ax.set_yticks([])
    ax.set_title("microscopic fluctuations")
    ax.legend(loc="upper center", bbox_to_anchor=(0.48, 1.0))


def _draw_conjugate(ax: Axes, ensemble: DeformedEnsemble, source: float, phi: float) -> None:
    rest = ensemble.response(0.0).value
    fields = np.linspace(-1.35, 1.35, 55)
    ax.plot(fields, [ensemble.free_energy(f).value for f in fields], color=BLUE)
    at = ensemble.free_energy(phi).value
    near = phi + np.array([-0.55, 0.55])
    ax.plot(near, at + source * (near - phi), color=RED, linestyle="--")
    ax.plot(phi, at, "o", color=RED)
    ax.annotate(
        rf"slope $J = {source:g}$", (phi, at), (-2, -13), textcoords="offset points", fontsize=8, color=RED
    )
    ax.plot(rest, ensemble.free_energy(rest).value, "D", color="0.1", markersize=3.5)
    ax.annotate(
        rf"$\varphi^\star = {rest:.2f}$ at $J = 0$", (rest, ensemble.free_energy(rest).value), (2, 32),
        textcoords="offset points", ha="center", fontsize=8,
    )  # fmt: skip
    ax.set(xlabel=r"field $\varphi$", ylabel=r"$\Gamma[\varphi]$", xlim=(-1.35, 1.35))
    ax.set_title("Fenchel conjugate")


def plot_figure_7(axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """Free energy of one pattern at β = 0.7, 1 and 1.5: large d, its minima q*, and d = 50 spins.

    Lines are (Γ_∞(q) − Γ_∞(0))/d, Eq. (B.4); points β (Γ(z) − Γ(0))/d of Proposition B.1 at the overlaps that
    d = 50 spins have; q* solves Eq. (B.6).

    Parameters
    ----------
    axes : three matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure of two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    d = 50
    m, levels = np.linspace(-0.999, 0.999, 401), overlap_levels(d)
    panels = ((0.7, "high temperature"), (1.0, "critical"), (1.5, "low temperature"))
    with style.style():
        drawn = three_panels(axes, 2.3)
        for ax, (beta, name) in zip(drawn, panels, strict=True):
            limit = hopfield_one_pattern_limit(m * math.sqrt(d), beta, d) - hopfield_one_pattern_limit(
                0, beta, d
            )
            exact = hopfield_one_pattern_energy(levels, beta, d) - hopfield_one_pattern_energy(0, beta, d)
            ax.axhline(0, color=style.THEORY, linewidth=0.4)
            ax.plot(m, limit / d, color=BLUE, label=r"$d \to \infty$")
            ax.plot(
                levels / math.sqrt(d), beta * exact / d, "+", color="0.2", markersize=4, label=f"$d = {d}$"
            )
            q = hopfield_one_pattern_overlap(beta, d)
            depth = hopfield_one_pattern_limit(q, beta, d) - hopfield_one_pattern_limit(0, beta, d)
            places = np.unique([-q, q]) / math.sqrt(d)
            ax.plot(places, np.full(places.size, depth / d), "o", color=RED, label=r"$q^\star$", zorder=4)
            ax.set_title(rf"$\beta = {beta:g}$, {name}")
            ax.set(xlabel=r"overlap $q/\sqrt{d}$", xlim=(-1, 1), ylim=(-0.14, 0.16))
            if q:
                ax.text(
                    0, 0.012, rf"$q^\star = \pm{q / math.sqrt(d):.3f}\sqrt{{d}}$", ha="center", fontsize=8
                )
        drawn[0].set_ylabel(r"$[\Gamma_\infty(q) - \Gamma_\infty(0)]/d$")
        drawn[0].legend(loc="lower center")
        for ax in drawn[1:]:
            ax.tick_params(labelleft=False)
    return drawn


def plot_figure_9(axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes, Axes]:
    """How a source selects one of two degenerate states: Γ at h = 0, tilted by h > 0, and after h → 0+.

    One pattern at β = 1.5, Γ_∞(q) − h √d q per spin; the selected overlap solves q = √d tanh(βq/√d + h).

    Parameters
    ----------
    axes : three matplotlib.axes.Axes, optional
        Where to draw; without it in a new figure of two columns in the shipped style.

    Returns
    -------
    tuple of matplotlib.axes.Axes
    """
    beta, tilt = 1.5, 0.06
    m = np.linspace(-0.999, 0.999, 401)

    def landscape(q: np.ndarray | float, h: float) -> np.ndarray:
        return (
            hopfield_one_pattern_limit(q, beta, 1)
            - hopfield_one_pattern_limit(0, beta, 1)
            - h * np.asarray(q)
        )

    with style.style():
        drawn = three_panels(axes, 2.3)
        titles = ("$h = 0$: two states", rf"$h = {tilt:g}$: one preferred", r"$h \to 0^+$: selected state")
        sources = (0.0, tilt, 0.0)
        for ax, title, h in zip(drawn, titles, sources, strict=True):
            ax.plot(m, landscape(m, h), color=BLUE)
            ax.set_title(title)
            ax.set(xlabel=r"overlap $q/\sqrt{d}$", xlim=(-1, 1), ylim=(-0.2, 0.08))
        left, middle, right = drawn
        star, tilted = selected_overlap(beta, 1), selected_overlap(beta, 1, tilt)
        left.plot([-star, star], landscape(np.array([-star, star]), 0), "o", color=RED)
        for sign, text in ((-1, r"$-q^\star$"), (1, r"$+q^\star$")):
            place = (sign * star, float(landscape(sign * star, 0)))
            left.annotate(text, place, (-sign * 6, -13), textcoords="offset points", ha="center")
        middle.plot(m, landscape(m, 0), color=style.THEORY, linestyle=":", linewidth=0.8, zorder=1)
        middle.plot(tilted, landscape(tilted, tilt), "o", color=RED)
        low, high = float(landscape(-0.2, tilt)), float(landscape(0.6, tilt))
        arrow = {"arrowstyle": "-|>", "color": RED, "shrinkA": 0, "shrinkB": 0, "linewidth": 1.0}
        bent = {**arrow, "connectionstyle": "arc3,rad=-0.2"}
        middle.annotate("", (0.66, high + 0.01), (-0.1, low + 0.025), arrowprops=bent)
        middle.text(0.36, 0.02, "flow", color=RED, ha="left", fontsize=8)
        right.plot(-star, landscape(-star, 0), "o", color=RED, markerfacecolor="white")
        right.plot(star, landscape(star, 0), "o", color=RED)
        right.annotate(
            rf"$+q^\star = {star:.3f}\sqrt{{d}}$", (star, float(landscape(star, 0))), (6, -12),
            textcoords="offset points", ha="right",
        )  # fmt: skip
        for ax in (middle, right):
            ax.tick_params(labelleft=False)
        left.set_ylabel(r"$[\Gamma_\infty(q) - \Gamma_\infty(0)]/d - h q/\sqrt{d}$")
    return drawn
