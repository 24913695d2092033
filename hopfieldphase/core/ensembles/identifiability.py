"""Whether the input law tells which output law belongs to it: recovery in closed form, and a counterexample.

"Attention Kernels for Learning Maps Between Heavy-Tailed Measures", Appendix D.3.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.core.checks import real_number
from hopfieldphase.core.ensembles.gaussian import Gaussian
from hopfieldphase.core.ensembles.laws import Floats, points
from hopfieldphase.core.ensembles.operators import Instance, MatrixInverse
from hopfieldphase.core.errors import InputError


def shear_from_centre(centre: Any, location: float = 1.0) -> tuple[float, float]:
    """(j, k) of a sheared swap from the centre c of its input law: k = c_y/λ − 1, j = (c_x − λ)/c_y.

    Parameters
    ----------
    centre : array-like, shape (2,)
    location : float
        λ > 0, the common centre of the marginals.

    Returns
    -------
    tuple of float

    Raises
    ------
    InputError
        On the edge c_y = 0 (k = −1), where the centre does not tell j; see `shear_from_covariance`.

    Notes
    -----
    Equation (27).
    """
    location = real_number("location", location, 0, math.inf, ends="()")
    x, y = _pair("centre", centre)
    if y == 0:
        raise InputError("the centre has c_y = 0 (k = -1), where it does not tell j: use the covariance")
    return (x - location) / y, y / location - 1


def shear_from_covariance(covariance: Any) -> float:
    """The j of a sheared swap of Gaussian marginals with σ₁ ≤ σ₂ on the edge k = −1.

    With S = Var(X_y) = v + w and det C = v w the smaller root v of t(S − t) = det C is σ₁², and
    C_xy = j S − v.

    Parameters
    ----------
    covariance : array-like, shape (2, 2)
        Of the input law.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If the matrix is not symmetric and positive definite.

    Notes
    -----
    Proof of Proposition 4.
    """
    matrix = _positive_definite("covariance", covariance)
    total, product = float(matrix[1, 1]), float(np.linalg.det(matrix))
    root = math.sqrt(max(total**2 / 4 - product, 0.0))
    smaller = product / (total / 2 + root)
    return (float(matrix[0, 1]) + smaller) / total


def matrix_from_tail_axis(axis: Any, centre: Any, location: float = 1.0) -> Floats:
    """The matrix B of a mirrored Pareto input law from the axis of its heavier tail, known up to sign.

    The columns add up to m = c/λ, so that B = (m ∓ b, ±b); exactly one sign has a positive determinant.

    Parameters
    ----------
    axis : array-like, shape (2,)
        ± the column b of the marginal with the smaller tail index, the second one.
    centre : array-like, shape (2,)
        Of the input law.
    location : float
        λ > 0.

    Returns
    -------
    ndarray, shape (2, 2)

    Raises
    ------
    InputError
        If axis and centre are parallel: no invertible matrix has them.

    Notes
    -----
    Proof of Proposition 5, unequal indices.
    """
    b, m = _pair("axis", axis), _pair("centre", centre) / real_number("location", location, 0, math.inf)
    determinant = float(m[0] * b[1] - m[1] * b[0])
    if determinant == 0:
        raise InputError("the axis is parallel to the centre: no invertible matrix has such columns")
    b = math.copysign(1.0, determinant) * b
    return np.column_stack([m - b, b])


def matrix_from_tail_form(form: Any, centre: Any, location: float = 1.0) -> Floats:
    """The matrix B of a mirrored Pareto input law with equal indices 2 from the form G = B Bᵀ of its tail.

    The columns have the sum m = c/λ and the difference d with d dᵀ = 2G − m mᵀ; exactly one sign of d has a
    positive determinant.

    Parameters
    ----------
    form : array-like, shape (2, 2)
    centre : array-like, shape (2,)
    location : float
        λ > 0.

    Returns
    -------
    ndarray, shape (2, 2)

    Raises
    ------
    InputError
        If no matrix has this form and this centre.

    Notes
    -----
    Proof of Proposition 5, equal indices.
    """
    matrix = _positive_definite("form", form)
    m = _pair("centre", centre) / real_number("location", location, 0, math.inf)
    square = 2 * matrix - np.outer(m, m)
    column = int(np.argmax(np.diag(square)))
    largest = float(square[column, column])
    difference = square[:, column] / math.sqrt(largest) if largest > 0 else np.zeros(2)
    if largest <= 0 or np.max(np.abs(np.outer(difference, difference) - square)) > 1e-8 * np.trace(matrix):
        raise InputError("2 G - m m^T is not of rank one: no matrix has this tail form and this centre")
    found = np.column_stack([m + difference, m - difference]) / 2
    return found if np.linalg.det(found) > 0 else found[:, ::-1]


@dataclass(frozen=True)
class GaussianTwins:
    """Two matrix inverses of Gaussian marginals with one input law and two output laws.

    Attributes
    ----------
    first, second : Instance
    output_gap : float
        Difference of the first components of the two output means, (B′⁻¹ − B⁻¹)(1, 1)ᵀ.
    """

    first: Instance
    second: Instance
    output_gap: float


def gaussian_twins(
    scales: tuple[float, float] = (0.9, 1.3),
    sigmas: tuple[float, float] = (1.5, 2.5),
    perturbation: float = 0.05,
) -> GaussianTwins:
    """The counterexample of Proposition 6: the matrix inverse cannot be identified on Gaussian marginals.

    H = [[1 + h, −h], [g, 1 − g]] with g = hσ₂²/((1 + h)σ₁² + hσ₂²) leaves (1, 1) in place and H D Hᵀ
    diagonal; B′ = B H⁻¹ with D′ = H D Hᵀ has the mean and the covariance of B = diag(b₁, b₂) with D.

    Parameters
    ----------
    scales : pair of float
        b₁ ≠ b₂ inside (0.75, 1.5).
    sigmas : pair of float
        σ₁ inside (1, 2), σ₂ inside (2, 3).
    perturbation : float
        h ≠ 0, small.

    Returns
    -------
    GaussianTwins

    Raises
    ------
    InputError
        If a parameter, or one of the perturbed instance, leaves its interval, or b₁ = b₂ or h = 0.

    Notes
    -----
    Equation (29); the output means differ by h(b₂ − b₁)/(b₁b₂) in their first component.

    Examples
    --------
    >>> twins = gaussian_twins((0.8, 1.25), perturbation=0.02)
    >>> round(twins.output_gap, 12)
    0.009
    """
    h = perturbation
    if scales[0] == scales[1] or h == 0:
        raise InputError("equal scales, or a perturbation of 0, change nothing: give b_1 != b_2 and h != 0")
    first = _gaussian_instance(MatrixInverse(0.0, 0.0, *scales), sigmas)
    low, high = sigmas[0] ** 2, sigmas[1] ** 2
    g = h * high / ((1 + h) * low + h * high)
    change = np.array([[1 + h, -h], [g, 1 - g]])
    matrix = first.operator.input_matrix @ np.linalg.inv(change)
    spread = np.sqrt(np.diag(change @ np.diag([low, high]) @ change.T))
    second = _gaussian_instance(MatrixInverse.from_matrix(matrix), (float(spread[0]), float(spread[1])))
    gap = (second.operator.output_matrix - first.operator.output_matrix)[0].sum()
    return GaussianTwins(first, second, float(gap))


def _gaussian_instance(operator: MatrixInverse, sigmas: tuple[float, float]) -> Instance:
    lower = real_number("sigma_1", sigmas[0], 1, 2)
    upper = real_number("sigma_2", sigmas[1], 2, 3)
    return Instance(operator, (Gaussian(lower), Gaussian(upper)))


def _pair(name: str, values: Any) -> Floats:
    pair = points(values, name)
    if pair.shape != (2,) or not np.isfinite(pair).all():
        raise InputError(f"{name} has shape {pair.shape}: give two finite numbers")
    return pair


def _positive_definite(name: str, values: Any) -> Floats:
    matrix = points(values, name)
    if matrix.shape != (2, 2) or not np.isfinite(matrix).all():
        raise InputError(f"{name} has shape {matrix.shape}: give a finite matrix of shape (2, 2)")
    if abs(matrix[0, 1] - matrix[1, 0]) > 1e-8 * np.abs(matrix).max() or np.linalg.eigvalsh(matrix)[0] <= 0:
        raise InputError(f"{name} is not symmetric and positive definite: give such a matrix")
    return matrix
