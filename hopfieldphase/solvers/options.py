"""What every solver needs before it starts: the compiled view of a model and checked options."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels import relax as kernel
from hopfieldphase.kernels.bounds import nothing
from hopfieldphase.kernels.steps import Problem
from hopfieldphase.model import HopfieldModel, RetrievalModel

SOLVERS = {
    "auto": kernel.NEWTON,
    "newton": kernel.NEWTON,
    "fixed-point": kernel.FIXED_POINT,
    "gradient-descent": kernel.GRADIENT_DESCENT,
}
"""Names of the solvers. `auto` is the fastest that is safe: Newton, which falls back to updates T."""

MAX_STEPS = 100_000

_LARGEST_COPY = 2**26  # bytes


@dataclass(frozen=True)
class SolverOptions:
    """Options of a relaxation, checked and in the form the kernels take."""

    method: int
    tolerance: float
    max_steps: int
    polish: bool


def solver_options(
    solver: str, tol: float | None, max_steps: int | None, polish: bool, dtype: Any
) -> SolverOptions:
    """Check the options of a relaxation.

    The default tolerance is ε^{3/4} of the state's floating type, 1.8e-12 for float64, and 1e-7 for
    `polish=False`: below about 1e-8 differences of Γ drown in rounding, and the paper's descent stalls.
    """
    if solver not in SOLVERS:
        raise InputError(f"solver = {solver!r} is unknown: choose one of {', '.join(SOLVERS)}")
    epsilon = float(np.finfo(dtype).eps)
    if tol is None:
        tolerance = max(epsilon**0.75, 0.0 if polish else 1e-7)
    else:
        tolerance = float(tol)
        if not 4 * epsilon <= tolerance < 1:
            raise InputError(
                f"tol = {tol} is outside [{4 * epsilon:.2g}, 1): "
                f"{np.dtype(dtype).name} states cannot be resolved below that, give a tolerance in this range"
            )
    steps = MAX_STEPS if max_steps is None else int(max_steps)
    if steps < 1:
        raise InputError(f"max_steps = {max_steps} must be at least 1")
    return SolverOptions(SOLVERS[solver], tolerance, steps, bool(polish))


def kernel_problem(model: HopfieldModel) -> Problem:
    """The model as the compiled kernels read it: contiguous float64 patterns, plain floats."""
    patterns = np.ascontiguousarray(model.patterns, dtype=np.float64)
    # To the compiler a read-only array is another type, for which it would compile everything anew.
    if not patterns.flags.writeable and patterns.nbytes <= _LARGEST_COPY:
        patterns = patterns.copy()
    return Problem(patterns, model.scale, model.alpha, model.state_scale, nothing(model.d))


def start_state(model: RetrievalModel, x0: Any) -> np.ndarray:
    """Check a start state: shape (d,), finite; returned as float64."""
    x = np.array(x0, dtype=np.float64)
    if x.shape != (model.d,):
        raise InputError(f"the start state has shape {x.shape}: give one state of shape ({model.d},)")
    if not np.isfinite(x).all():
        raise InputError(
            f"the start state has {np.count_nonzero(~np.isfinite(x))} components that are not finite: "
            "give a state of finite numbers"
        )
    return x
