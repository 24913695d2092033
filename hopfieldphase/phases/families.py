"""One-parameter families of models y ↦ (Ξ(y), α(y)) with exact derivatives: the second axis of a diagram."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hopfieldphase.continuation.equations import Matrix
from hopfieldphase.core import patterns as generators
from hopfieldphase.core.domain import tsallis_index
from hopfieldphase.core.errors import InputError
from hopfieldphase.model import HopfieldModel


@dataclass(frozen=True, eq=False)
class Family:
    """Models that depend smoothly on one parameter y beside β.

    Parameters
    ----------
    parameter : str
        Name of y.
    patterns : callable
        Ξ(y), shape (M, d).
    rate : callable
        Its derivative dΞ/dy, shape (M, d).
    alpha : float or None
        Tsallis index α, finite; None where y itself is α.
    domain : tuple of float
        Open interval of y inside which `patterns` is smooth; its ends are allowed where finite.
    scale : float, optional
        Overlap scale s, by default 1/√d.
    """

    parameter: str
    patterns: Callable[[float], Matrix] = field(repr=False)
    rate: Callable[[float], Matrix] = field(repr=False)
    alpha: float | None
    domain: tuple[float, float]
    scale: float | None = None
    _known: dict[str, tuple[float, tuple[Matrix, Matrix]]] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        if self.alpha is not None and not tsallis_index(self.alpha) < math.inf:
            raise InputError("alpha = inf has no lines to follow: give a finite Tsallis index")

    def check(self, y: float) -> float:
        """The value as a float, or `InputError` outside the domain."""
        low, high = self.domain
        value = float(y)
        if not low <= value <= high:
            raise InputError(
                f"{self.parameter} = {y:g} is outside the domain [{low:g}, {high:g}] of this family: "
                "give values inside"
            )
        return value

    def model(self, y: float) -> HopfieldModel:
        """The model at y."""
        patterns, alpha = self.patterns(self.check(y)), self.alpha_at(y)
        return (
            HopfieldModel(patterns, alpha)
            if self.scale is None
            else HopfieldModel(patterns, alpha, self.scale)
        )

    def alpha_at(self, y: float) -> float:
        """Tsallis index at y."""
        return y if self.alpha is None else self.alpha

    @property
    def alpha_rate(self) -> float:
        """dα/dy: 1 or 0."""
        return 1.0 if self.alpha is None else 0.0

    def gram(self, y: float) -> Matrix:
        """Gram matrix G = s² Ξ Ξᵀ at y, shape (M, M); not to be written to."""
        return self._grams(y)[0]

    def gram_rate(self, y: float) -> Matrix:
        """Its derivative dG/dy, shape (M, M); not to be written to."""
        return self._grams(y)[1]

    def _grams(self, y: float) -> tuple[Matrix, Matrix]:
        """Both, kept for the last value of y: along a line it is asked for many times."""
        last, grams = self._known.get("last", (math.nan, None))
        if grams is None or last != y:
            xi = self.patterns(y)
            product = self.rate(y) @ xi.T
            square = self._scale_squared(xi)
            grams = (square * (xi @ xi.T), square * (product + product.T))
            self._known["last"] = (y, grams)
        return grams

    def _scale_squared(self, xi: Matrix) -> float:
        return 1.0 / xi.shape[1] if self.scale is None else self.scale**2


def alpha_family(patterns: Matrix, scale: float | None = None) -> Family:
    """Fixed patterns (M, d), the Tsallis index as y."""
    xi = np.asarray(generators.check_patterns(patterns), dtype=np.float64)
    still = np.zeros_like(xi)
    return Family("alpha", lambda _: xi, lambda _: still, None, (1e-3, 100.0), scale)


def two_keys_family(
    alpha: float, d: int = 16, seed: int = 0, realization: int = 0, scale: float | None = None
) -> Family:
    """Two unit keys, their cosine ε as y: those of `patterns.two_keys`."""
    # Two orthogonal rows: the frame in which the keys turn.
    first, second = generators.two_keys(0.0, d, seed, realization)

    def patterns(epsilon: float) -> Matrix:
        return np.array([first, epsilon * first + math.sqrt(1 - epsilon**2) * second])

    def rate(epsilon: float) -> Matrix:
        return np.array([0 * first, first - epsilon / math.sqrt(1 - epsilon**2) * second])

    return Family("epsilon", patterns, rate, alpha, (-1.0 + 1e-12, 1.0 - 1e-12), scale)


def equicorrelated_family(M: int, d: int, alpha: float, scale: float | None = None) -> Family:
    """M unit patterns of one common cosine, the cosine as y: those of `patterns.equicorrelated`."""
    generators.equicorrelated(M, d)  # refuses a d that is too small
    columns = np.arange(M)

    def pieces(cosine: float) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        above, here = 1 + (columns - 1) * cosine, 1 + columns * cosine
        diagonal = np.sqrt((1 - cosine) * here / above)
        below = cosine * np.sqrt((1 - cosine) / (above * here))
        # Logarithmic derivatives; that of `below` without its factor c.
        loss, up, on = -1 / (1 - cosine), (columns - 1) / above, columns / here
        diagonal_rate = diagonal * 0.5 * (loss + on - up)
        below_rate = np.sqrt((1 - cosine) / (above * here)) + below * 0.5 * (loss - up - on)
        return diagonal, below, diagonal_rate, below_rate

    def filled(diagonal: Matrix, below: Matrix) -> Matrix:
        rows = np.zeros((M, d))
        rows[:, :M] = np.tril(np.broadcast_to(below, (M, M)), -1) + np.diag(diagonal)
        return rows

    lowest = -1.0 / (M - 1) if M > 1 else -1.0
    return Family(
        "epsilon",
        lambda cosine: filled(*pieces(cosine)[:2]),
        lambda cosine: filled(*pieces(cosine)[2:]),
        alpha,
        (lowest + 1e-12, 1.0 - 1e-12),
        scale,
    )


def circulant_family(
    k: int, constant: float, amplitudes: dict[int, float], mode: int, alpha: float, scale: float = 1.0
) -> Family:
    """Unit keys with a circulant Gram matrix as a family, one of its feature amplitudes as y.

    ξ_μ ∝ (b, a_ℓ cos(2πℓμ/k), a_ℓ sin(2πℓμ/k), …) as in `patterns.circulant`, unrotated.

    Parameters
    ----------
    k : int
        Number of keys.
    constant : float
        Common feature b.
    amplitudes : dict of int to float
        Amplitude a_ℓ of each mode ℓ; that of `mode` is replaced by y.
    mode : int
        The mode whose amplitude is y.
    alpha, scale : float
    """
    modes = sorted({*amplitudes, mode})
    angle = 2 * np.pi * (np.outer(np.arange(k), modes) % k) / k
    waves = np.stack([np.cos(angle), np.sin(angle)], axis=-1)  # (k, modes, 2)
    chosen = np.array([float(ell == mode) for ell in modes])

    def raw(a: float) -> tuple[Matrix, float]:
        sizes = np.array([a if ell == mode else amplitudes[ell] for ell in modes])
        rows = np.concatenate([np.full((k, 1), constant), (sizes[:, None] * waves).reshape(k, -1)], axis=1)
        return rows, math.sqrt(constant**2 + float(sizes @ sizes))

    def patterns(a: float) -> Matrix:
        rows, norm = raw(a)
        return rows / norm

    def rate(a: float) -> Matrix:
        rows, norm = raw(a)
        turned = np.concatenate([np.zeros((k, 1)), (chosen[:, None] * waves).reshape(k, -1)], axis=1)
        return turned / norm - rows * (a / norm**3)

    return Family("amplitude", patterns, rate, alpha, (1e-6, 1e6), scale)


def noise_family(
    M: int,
    d: int,
    alpha: float,
    *,
    clusters: int = 4,
    seed: int = 0,
    realization: int = 0,
    noise: str = "gaussian",
    scale: float | None = None,
) -> Family:
    """Clustered patterns, their noise strength δ as y, the random numbers kept: `patterns.clustered`."""
    options = {"clusters": clusters, "seed": seed, "realization": realization}
    centres = generators.clustered(M, d, delta=0.0, noise=noise, **options)  # pyright: ignore[reportArgumentType]
    if noise == "unit":
        zeta = generators.spherical(M, d, seed, realization)
    else:
        zeta = generators.gaussian(M, d, seed, realization) * math.sqrt(d)

    def raw(delta: float) -> tuple[Matrix, Matrix]:
        rows = math.sqrt(1 - delta) * centres + math.sqrt(delta) * zeta
        return rows, np.linalg.norm(rows, axis=1, keepdims=True)

    def patterns(delta: float) -> Matrix:
        rows, norms = raw(delta)
        return rows / norms

    def rate(delta: float) -> Matrix:
        rows, norms = raw(delta)
        unit = rows / norms
        turn = zeta / (2 * math.sqrt(delta)) - centres / (2 * math.sqrt(1 - delta))
        return (turn - unit * np.sum(unit * turn, axis=1, keepdims=True)) / norms

    return Family("noise-strength", patterns, rate, alpha, (1e-9, 1.0 - 1e-9), scale)
