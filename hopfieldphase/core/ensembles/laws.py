"""What every law on the line offers, and the checks of points, probabilities and sizes."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import whole_number
from hopfieldphase.core.errors import InputError

Floats = NDArray[np.float64]


class Law(ABC):
    """A continuous law on the line; subclasses are frozen dataclasses of their parameters."""

    @abstractmethod
    def density(self, z: Any) -> Floats:
        """Density f(z), elementwise."""

    @abstractmethod
    def survival(self, z: Any) -> Floats:
        """P(Z > z), elementwise, with full relative precision far out on the right."""

    @abstractmethod
    def upper_quantile(self, s: Any) -> Floats:
        """The point z with P(Z > z) = s, elementwise for 0 ≤ s ≤ 1, precise for small s."""

    def cdf(self, z: Any) -> Floats:
        """P(Z ≤ z), elementwise."""
        return 1.0 - self.survival(z)

    def quantile(self, q: Any) -> Floats:
        """The point z with P(Z ≤ z) = q, elementwise for 0 ≤ q ≤ 1."""
        return self.upper_quantile(1.0 - probabilities(q))

    def sample(self, size: int | tuple[int, ...], seed: int | np.random.Generator = 0) -> Floats:
        """Independent draws by inversion of the survival function.

        Parameters
        ----------
        size : int or tuple of int
            Shape of the result.
        seed : int or numpy.random.Generator
            A generator moves on by one uniform number for each draw.

        Returns
        -------
        ndarray, float64

        Raises
        ------
        InputError
            If a size or the seed is no whole number in its domain.
        """
        shape = tuple(whole_number("size", n, 0) for n in (size if isinstance(size, tuple) else (size,)))
        return self.upper_quantile(1.0 - random_generator(seed).random(shape))


class SymmetricLaw(Law):
    """A law that is symmetric about its centre, and has closed forms for mean distances."""

    @property
    @abstractmethod
    def centre(self) -> float:
        """The point of symmetry; the mean, where there is one."""

    @abstractmethod
    def variance(self) -> float:
        """E(Z − centre)²; inf where it does not exist."""

    @abstractmethod
    def expected_distance(self, z: Any) -> Floats:
        """E|z − Z|, elementwise; inf where the law has no mean."""

    @abstractmethod
    def mean_difference(self) -> float:
        """δ = E|Z − Z′| of two independent draws; inf where the law has no mean."""

    def cdf(self, z: Any) -> Floats:
        """P(Z ≤ z), elementwise, with full relative precision on the left too."""
        return self.survival(2 * self.centre - points(z))

    def quantile(self, q: Any) -> Floats:
        """The point z with P(Z ≤ z) = q, elementwise for 0 ≤ q ≤ 1, precise for small q."""
        return 2 * self.centre - self.upper_quantile(q)


def points(z: Any, name: str = "z") -> Floats:
    """Real numbers as float64, or `InputError` where one is NaN."""
    try:
        values: Floats = np.asarray(z, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} does not hold real numbers ({error}): give numbers") from error
    if np.isnan(values).any():
        raise InputError(f"{name} holds NaN: give real numbers")
    return values


def probabilities(q: Any) -> Floats:
    """Numbers in [0, 1] as float64, or `InputError`."""
    values = points(q, "probability")
    outside = values[(values < 0) | (values > 1)]
    if outside.size:
        raise InputError(f"probability = {outside.flat[0]:g} is outside [0, 1]: give numbers inside it")
    return values


def random_generator(seed: int | np.random.Generator) -> np.random.Generator:
    """The generator itself, or a new one from a seed ≥ 0."""
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(whole_number("seed", seed, 0))
