"""One pattern in an external source: exact averages, the convex conjugate, and the state a source selects.

p_J(x) ∝ exp(β z²/2 + J·x) over x ∈ {−1, +1}^d with J = h ξ, so that J·x = h √d z. Source: Appendices B.2
and C.2 of "On the Statistical Mechanics of Attention" (arXiv:2610.17347).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root_scalar
from scipy.special import logsumexp

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.closed_forms import hopfield_one_pattern_energy, hopfield_one_pattern_overlap
from hopfieldphase.core.domain import inverse_temperature

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OnePatternGibbs:
    """Exact one-pattern ensemble at source h: W = log Z, mean overlap ⟨z⟩ and variance of z."""

    log_partition: float
    overlap: float
    variance: float


def overlap_levels(d: int) -> Array:
    """The d + 1 overlaps z = (2k − d)/√d that d spins have."""
    whole_number("d", d)
    return (2 * np.arange(d + 1) - d) / math.sqrt(d)


def one_pattern_gibbs(beta: float, d: int, source: float = 0.0) -> OnePatternGibbs:
    """Exact Gibbs averages of the one-pattern model from the sum over its d + 1 overlaps.

    The number of states at z times e^{βz²/2} is e^{−βΓ(z)}, Γ as in Proposition B.1: that Γ is the free
    energy at fixed overlap, −(1/β) ln of the unnormalised probability of z.

    Parameters
    ----------
    beta : float
        Inverse temperature > 0.
    d : int
        Number of spins, ≥ 1.
    source : float
        Source h per spin along the pattern.
    """
    z = overlap_levels(d)
    exponent = real_number("source", source, -math.inf, math.inf, ends="()") * math.sqrt(d) * z
    exponent = exponent - beta * hopfield_one_pattern_energy(z, beta, d)
    log_partition = float(np.asarray(logsumexp(exponent)))
    p = np.exp(exponent - log_partition)
    mean = float(p @ z)
    return OnePatternGibbs(log_partition, mean, float(p @ (z - mean) ** 2))


def one_pattern_conjugate(phi: float, beta: float, d: int) -> float:
    """Fenchel conjugate sup_h (h √d φ − log Z) at mean overlap φ: convex in φ at every β.

    Parameters
    ----------
    phi : float
        Mean overlap in (−√d, √d).
    beta : float
        Inverse temperature > 0.
    d : int
        Number of spins, ≥ 1.
    """
    whole_number("d", d)
    edge = math.sqrt(d)
    phi = real_number("phi", phi, -edge, edge, ends="()")

    # Without coupling ⟨z⟩ = √d tanh h, and ferromagnetic couplings only raise it (Griffiths): h lies between.
    free = math.atanh(abs(phi) / edge)
    found = root_scalar(
        lambda h: one_pattern_gibbs(beta, d, h).overlap - abs(phi),
        bracket=(-1e-9, free + 1e-9),
        xtol=1e-15,
        rtol=1e-15,
    )
    source = float(found.root)
    return source * edge * abs(phi) - one_pattern_gibbs(beta, d, source).log_partition


def selected_overlap(beta: float, d: int, source: float = 0.0) -> float:
    """Overlap of the lowest minimum of Γ_∞(q) − h √d q, which solves q = √d tanh(βq/√d + h).

    Parameters
    ----------
    beta : float
        Inverse temperature > 0.
    d : int
        Number of spins, ≥ 1; it only scales q.
    source : float, default 0
        Source h ≥ 0; 0 stands for the limit h → 0+, which selects +q*, and −h selects the opposite state.

    Returns
    -------
    float
        q ≥ 0.
    """
    beta, h = inverse_temperature(beta), real_number("source", source, 0, math.inf, ends="[)")
    if h == 0:
        return hopfield_one_pattern_overlap(beta, d)
    whole_number("d", d)
    # On m > 0 the right-hand side is concave and positive at m = 0: one solution, in (tanh h, 1).
    low = math.tanh(h)
    found = root_scalar(lambda m: math.tanh(beta * m + h) - m, bracket=(low, 1.0), xtol=1e-16, rtol=1e-15)
    return math.sqrt(d) * float(found.root)
