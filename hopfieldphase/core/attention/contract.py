"""The one contract of all attention maps: weights, Jacobian action, support, and what only some have."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.errors import InputError


@dataclass(frozen=True)
class Attention(ABC):
    """A map from scores to weights; subclasses are frozen dataclasses of their few parameters.

    Scores hold the patterns along their last axis, of any array library; −∞ marks an absent pattern, whose
    weight is zero. Weights are non-negative and sum to 1, or to the budget of a map that has one.

    Attributes
    ----------
    name : str
        The name under which the command line knows the map.
    has_conjugate : bool
        Whether the weights are the gradient of a convex function of the scores, so that a Hopfield model with
        this map has a free energy.
    has_threshold : bool
        Whether the support is the set of scores above a threshold.
    """

    name: ClassVar[str]
    has_conjugate: ClassVar[bool] = False
    has_threshold: ClassVar[bool] = False

    @abstractmethod
    def weights(self, scores: Array) -> Array:
        """Weights p(z), shape (..., n) for scores of shape (..., n), in their floating type."""

    @abstractmethod
    def jacobian_action(self, scores: Array, direction: Array) -> Array:
        """Derivative of the weights along a direction, J(z) v, shape (..., n).

        Where the map has a kink, that of the pieces with the support as it is.
        """

    def support(self, scores: Array) -> Array:
        """Which patterns have positive weight, booleans of shape (..., n)."""
        return self.weights(scores) > 0

    def threshold(self, scores: Array) -> Array:
        """Score above which weights are positive, shape (...); −∞ where no weight vanishes.

        Raises
        ------
        InputError
            Where the map has none (`has_threshold` is False).
        """
        raise InputError(f"{self.name} attention has no threshold: ask for its support")

    def conjugate(self, scores: Array) -> Array:
        """The convex function Ω*(z) whose gradient the weights are, shape (...).

        Raises
        ------
        InputError
            Where there is none (`has_conjugate` is False).
        """
        raise InputError(
            f"{self.name} attention is not the gradient of a convex function of its scores: "
            "it has no conjugate"
        )

    def regularizer(self, p: Array) -> Array:
        """The function Ω(p) of which `conjugate` is the conjugate, shape (...), for weights (..., n).

        Raises
        ------
        InputError
            Where there is none (`has_conjugate` is False), or it is not known.
        """
        raise InputError(f"{self.name} attention has no regularizer in closed form")

    def separation_margin(self, top: int = 1) -> float:
        """Smallest gap between `top` equal scores and all others at which the others have no weight.

        For `top` = 1 it is the separation margin of the Fenchel–Young loss, which vanishes from this gap on.

        Parameters
        ----------
        top : int
            How many scores are equal and largest.

        Returns
        -------
        float
            In the units of the scores; ∞ where no gap suffices.

        Raises
        ------
        InputError
            Where it is not known in closed form.
        """
        raise InputError(f"{self.name} attention has no separation margin in closed form")
