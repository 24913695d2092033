"""Gradient descent in the space of sources against the gradient flow of the free energy (Remark C.4)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from hopfieldphase.core.errors import InputError
from hopfieldphase.dynamics.deformed import DeformedEnsemble

Array = NDArray[np.float64]

_RELATIVE, _ABSOLUTE = 1e-8, 1e-10


@dataclass(frozen=True)
class DualFlows:
    """Two flows of the field φ from one start, at the same times; arrays have shape (n, dim).

    `sources` is J(t) of dJ/dt = −∇W, `image` its φ = ∇W(J), `carried` the solution of dφ/dt = −∇²W φ beside
    it, and `gradient_flow` that of dφ/dt = −∇Γ(φ) = −J(φ). `residual` is the largest |image − carried|,
    `separation` the largest |image − gradient_flow|.
    """

    times: Array
    sources: Array
    image: Array
    carried: Array
    gradient_flow: Array
    residual: float
    separation: float


def dual_flows(ensemble: DeformedEnsemble, source: Any, times: ArrayLike) -> DualFlows:
    """Follow Remark C.4 from J: descent of W in J-space, its image, and the gradient flow of Γ.

    The flow of Γ is integrated as dJ/dt = −(∇²W)⁻¹ J, which is dφ/dt = −J(φ) in the coordinates J. The two
    end at different points: descent of W where φ = 0, the flow of Γ where J = 0.

    Parameters
    ----------
    ensemble : DeformedEnsemble
    source : float or array, shape (2,)
        Start J, in the domain of W.
    times : array, shape (n,)
        Ascending, from 0 on.

    Returns
    -------
    DualFlows
    """
    t = np.asarray(times, dtype=np.float64)
    if t.ndim != 1 or t.size < 2 or t[0] != 0 or not np.all(np.diff(t) > 0):
        raise InputError(f"times of shape {t.shape} do not ascend from 0: give at least two, the first 0")
    start = np.atleast_1d(np.asarray(source, dtype=np.float64))
    dim = start.size

    def derivatives(vector: Array) -> tuple[Array, Array]:
        return ensemble.derivatives(float(vector[0]) if np.ndim(ensemble.bounds) == 1 else vector)

    def response(vector: Array) -> Array:
        return derivatives(vector)[0]

    def descent(_: float, state: Array) -> Array:
        gradient, curvature = derivatives(state[:dim])
        return np.concatenate([-gradient, -curvature @ state[dim:]])

    def flow(_: float, vector: Array) -> Array:
        step: Any = np.linalg.solve(derivatives(vector)[1], vector)
        return -step

    both = _solve(descent, np.concatenate([start, response(start)]), t)
    sources, carried = both[:, :dim], both[:, dim:]
    image = np.array([response(vector) for vector in sources])
    gradient_flow = np.array([response(vector) for vector in _solve(flow, start, t)])
    return DualFlows(
        t,
        sources,
        image,
        carried,
        gradient_flow,
        float(np.abs(image - carried).max()),
        float(np.linalg.norm(image - gradient_flow, axis=1).max()),
    )


def _solve(right_hand_side: Any, start: Array, times: Array) -> Array:
    solution = solve_ivp(
        right_hand_side, (times[0], times[-1]), start, "DOP853", times, rtol=_RELATIVE, atol=_ABSOLUTE
    )
    if not solution.success:
        raise InputError(f"the flow cannot be followed to t = {times[-1]:g}: {solution.message}; end earlier")
    return solution.y.T
