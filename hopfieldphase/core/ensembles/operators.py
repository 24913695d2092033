r"""Two operators between laws on the plane with known targets: the sheared swap and the matrix inverse.

Input and output are linear images of the same pair of independent marginals, so that one draw of the
parameters gives both laws in closed form.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, get_args

import numpy as np

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.ensembles.gaussian import Gaussian
from hopfieldphase.core.ensembles.laws import Floats, SymmetricLaw, random_generator
from hopfieldphase.core.ensembles.pareto import MirroredPareto
from hopfieldphase.core.errors import InputError

Family = Literal["pareto", "gaussian"]

LOWEST_INDEX = float(np.nextafter(np.float32(1), np.float32(2)))
"""1 + ε: the smallest index above 1 in 32-bit floats."""

EXCHANGE = np.array([[0.0, 1.0], [1.0, 0.0]])


class PlaneOperator(ABC):
    """A map between laws on the plane: input matrix, output matrix, and the law of the parameters."""

    @property
    @abstractmethod
    def input_matrix(self) -> Floats:
        """T with input law T_♯ η, shape (2, 2)."""

    @property
    @abstractmethod
    def output_matrix(self) -> Floats:
        """Matrix of the output law, shape (2, 2)."""

    @property
    def transport(self) -> Floats:
        """Matrix that takes the input law to the output law, shape (2, 2)."""
        return self.output_matrix @ np.linalg.inv(self.input_matrix)

    @classmethod
    @abstractmethod
    def draw(cls, seed: int | np.random.Generator = 0) -> Self:
        """One operator from the law of its parameters."""


@dataclass(frozen=True)
class ShearedSwap(PlaneOperator):
    """M = [[1 + jk, j], [k, 1]] before, M P after, with P the exchange of the coordinates; det M = 1.

    Parameters
    ----------
    j, k : float
        In [−1, 1]; drawn independently and uniformly.

    Raises
    ------
    InputError
        If one lies outside.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", equation (23).
    """

    j: float
    k: float

    RANGE: ClassVar[tuple[float, float]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        real_number("j", self.j, *self.RANGE)
        real_number("k", self.k, *self.RANGE)

    @property
    def input_matrix(self) -> Floats:
        """M."""
        return np.array([[1 + self.j * self.k, self.j], [self.k, 1.0]])

    @property
    def output_matrix(self) -> Floats:
        """M P."""
        return self.input_matrix @ EXCHANGE

    @classmethod
    def draw(cls, seed: int | np.random.Generator = 0) -> Self:
        """Both j and k uniform in [−1, 1]."""
        j, k = random_generator(seed).uniform(*cls.RANGE, 2)
        return cls(float(j), float(k))


@dataclass(frozen=True)
class MatrixInverse(PlaneOperator):
    """B before and B⁻¹ after, B a rotation by ϑ times the shear [[1, s], [0, 1]] times diag(λ₁, λ₂).

    Parameters
    ----------
    angle : float
        ϑ in [−0.7, 0.7].
    shear : float
        s in [−0.35, 0.35].
    first, second : float
        λ₁ and λ₂ in [0.75, 1.5].

    Raises
    ------
    InputError
        If one lies outside; all are drawn independently and uniformly from these intervals.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", equations (24) and (25).
    """

    angle: float
    shear: float
    first: float
    second: float

    RANGES: ClassVar[dict[str, tuple[float, float]]] = {
        "angle": (-0.7, 0.7),
        "shear": (-0.35, 0.35),
        "first": (0.75, 1.5),
        "second": (0.75, 1.5),
    }

    def __post_init__(self) -> None:
        for name, ends in self.RANGES.items():
            real_number(name, getattr(self, name), *ends)

    @property
    def input_matrix(self) -> Floats:
        """B."""
        cosine, sine = math.cos(self.angle), math.sin(self.angle)
        rotation = np.array([[cosine, -sine], [sine, cosine]])
        return rotation @ np.array([[1.0, self.shear], [0.0, 1.0]]) @ np.diag([self.first, self.second])

    @property
    def output_matrix(self) -> Floats:
        """B⁻¹."""
        inverse: Floats = np.linalg.inv(self.input_matrix).astype(np.float64)
        return inverse

    @classmethod
    def draw(cls, seed: int | np.random.Generator = 0) -> Self:
        """The four parameters uniform in their intervals."""
        generator = random_generator(seed)
        return cls(**{name: float(generator.uniform(*ends)) for name, ends in cls.RANGES.items()})

    @classmethod
    def from_matrix(cls, matrix: Floats) -> Self:
        """The parameters of a matrix of positive determinant (QR with a positive diagonal).

        Raises
        ------
        InputError
            If the determinant is not positive, or a parameter lies outside its interval.
        """
        first, determinant = float(np.hypot(*matrix[:, 0])), float(np.linalg.det(matrix))
        if not determinant > 0:
            raise InputError(f"det B = {determinant:g}: the operator needs a positive determinant")
        second = determinant / first
        along = float(matrix[:, 0] @ matrix[:, 1]) / first
        return cls(math.atan2(matrix[1, 0], matrix[0, 0]), along / second, first, second)


@dataclass(frozen=True)
class Ensembles:
    """Independent samples of the input and the output law, each of shape (n, 2)."""

    inputs: Floats
    targets: Floats


@dataclass(frozen=True)
class Instance:
    """One operator with the two independent marginals of η that it acts on.

    Attributes
    ----------
    operator : PlaneOperator
    marginals : pair of SymmetricLaw
        The second one has the greater spread.
    """

    operator: PlaneOperator
    marginals: tuple[SymmetricLaw, SymmetricLaw]

    @property
    def centre(self) -> Floats:
        """Centre of symmetry of the input law, T (λ, λ)ᵀ."""
        return self.operator.input_matrix @ [law.centre for law in self.marginals]

    def inputs(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """Independent draws from the input law, shape (n, 2)."""
        return self._latent(n, seed) @ self.operator.input_matrix.T

    def targets(self, n: int, seed: int | np.random.Generator = 0) -> Floats:
        """Independent draws from the output law, shape (n, 2)."""
        return self._latent(n, seed) @ self.operator.output_matrix.T

    def ensembles(self, n: int, seed: int | np.random.Generator = 0) -> Ensembles:
        """An input and a target ensemble, independent of each other."""
        generator = random_generator(seed)
        return Ensembles(self.inputs(n, generator), self.targets(n, generator))

    def _latent(self, n: int, seed: int | np.random.Generator) -> Floats:
        generator = random_generator(seed)
        whole_number("n", n, 1)
        return np.column_stack([law.sample(n, generator) for law in self.marginals])


def draw_instance(
    operator: type[PlaneOperator], family: Family, seed: int | np.random.Generator = 0
) -> Instance:
    """One operator and one pair of marginals from their laws.

    Tail indices are uniform in [2, 3] and [1 + ε, 2], standard deviations in [1 + ε, 2] and [2, 3]; all
    centres are 1.

    Parameters
    ----------
    operator : type
        `ShearedSwap` or `MatrixInverse`.
    family : {"pareto", "gaussian"}
    seed : int or numpy.random.Generator

    Returns
    -------
    Instance

    Raises
    ------
    InputError
        If the family is unknown.

    Notes
    -----
    "Attention Kernels for Learning Maps Between Heavy-Tailed Measures", Section 3.2.1 and Appendix D.1.
    """
    if family not in get_args(Family):
        raise InputError(f"family = {family!r} is unknown: use pareto or gaussian")
    generator = random_generator(seed)
    chosen = operator.draw(generator)
    upper, lower = float(generator.uniform(2, 3)), float(generator.uniform(LOWEST_INDEX, 2))
    if family == "pareto":
        return Instance(chosen, (MirroredPareto(upper), MirroredPareto(lower)))
    return Instance(chosen, (Gaussian(lower), Gaussian(upper)))
