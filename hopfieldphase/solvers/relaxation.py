"""Relax a state to a verified minimum of the free energy at fixed β."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.core.status import Status
from hopfieldphase.kernels import relax as kernel
from hopfieldphase.kernels.steps import workspace
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import SolverOptions, kernel_problem, solver_options, start_state
from hopfieldphase.solvers.screening import floating_type, is_screened, overlaps, reaches, relax_screened
from hopfieldphase.solvers.softmax import is_chunked, relax_softmax

__all__ = ["Solution", "relax", "relax_many"]


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """Where a relaxation ended, with the evidence for it.

    Attributes
    ----------
    x : ndarray, shape (d,)
        The state.
    beta : float
        Inverse temperature β.
    free_energy : float
        Γ_α(x).
    residual : float
        |x − T(x)| / max(|x|, s·max|ξ|).
    hessian_min : float
        λ_min(∇²Γ)/β, dimensionless. Where a pattern ties with the threshold (α ≥ 2) the Hessian jumps;
        this is its value without the tied patterns.
    hessian_min_tied : float
        The same with the tied patterns in the support; equal to `hessian_min` without ties, −inf
        where it does not exist (α > 2).
    status : Status
        `Status.CONVERGED` is a verified minimum, and nothing else is.
    n_steps : int
        Accepted steps, saddle escapes included.
    weights : ndarray, shape (M,)
        Retrieval weights p.
    overlaps : ndarray, shape (M,)
        Overlaps z = s Ξ x.
    threshold : float
        θ; NaN for α = 1 and α = ∞, which have none.
    """

    x: np.ndarray
    beta: float
    free_energy: float
    residual: float
    hessian_min: float
    hessian_min_tied: float
    status: Status
    n_steps: int
    weights: np.ndarray
    overlaps: np.ndarray
    threshold: float

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.status.name.lower()}, beta={self.beta:.6g}, "
            f"free_energy={self.free_energy:.9g}, support {self.support.size} of {self.weights.size}, "
            f"overlap_max={np.abs(self.overlaps).max():.6g}, residual={self.residual:.1e}, "
            f"hessian_min={self.hessian_min:.3g}, n_steps={self.n_steps})"
        )

    @property
    def support(self) -> np.ndarray:
        """Indices of the patterns with positive weight."""
        return np.flatnonzero(self.weights)


def relax(
    model: HopfieldModel,
    x0: Any,
    beta: float,
    *,
    solver: str = "auto",
    tol: float | None = None,
    max_steps: int | None = None,
    polish: bool = True,
) -> Solution:
    """Relax a start state to a minimum of Γ_α at inverse temperature β.

    Of very many patterns at α > 1 only those are touched that can have weight on the way, which the overlaps
    of the state with all patterns certify.

    Parameters
    ----------
    model : HopfieldModel
        The stored patterns, α and the overlap scale.
    x0 : array, shape (d,)
        Start state.
    beta : float
        Inverse temperature, β > 0.
    solver : {"auto", "newton", "fixed-point", "gradient-descent"}
        `newton` solves on the current support and falls back to prolonged updates x ← T(x) where that
        would raise Γ; `fixed-point` iterates T; `gradient-descent` is the paper's x ← x − η∇Γ with
        η = η₀2^{−m}, η₀ = 0.5, m the smallest integer for which Γ does not rise (App. F.2).
    tol : float, optional
        Bound on |x − T(x)| / max(|x|, s·max|ξ|); see `solver_options` for the default.
    max_steps : int, optional
        Limit on accepted steps, by default 100 000.
    polish : bool, default True
        Finish first-order solvers with Newton steps and leave saddles along the soft direction.
        With False the method runs literally, and a saddle is returned as such.

    Returns
    -------
    Solution
        Its status says whether the state is a verified minimum.

    Raises
    ------
    InputError
        If the start state, β or an option lies outside its domain.
    ScreeningError
        If the certificate fails: the patterns changed while they were read.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> model = hp.HopfieldModel(hp.patterns.clustered(100, 64, seed=0), alpha=2.0)
    >>> hp.relax(model, model.patterns[0] / 8, beta=400.0).support
    array([0])
    """
    return relax_many(
        model, [x0], beta, solver=solver, tol=tol, max_steps=max_steps, polish=polish, threads=1
    )[0]


def relax_many(
    model: HopfieldModel,
    starts: Sequence[Any] | np.ndarray,
    beta: float,
    *,
    solver: str = "auto",
    tol: float | None = None,
    max_steps: int | None = None,
    polish: bool = True,
    threads: int | None = None,
) -> list[Solution]:
    """Relax many start states at one β, in parallel over threads; see `relax`.

    Each result depends on its own start alone, whatever the number of threads.
    """
    beta = inverse_temperature(beta)
    states = [start_state(model, x0) for x0 in starts]
    dtype = floating_type(model)
    options = solver_options(solver, tol, max_steps, polish, dtype)
    if is_screened(model):
        reach = reaches(model)
        screened = [relax_screened(model, reach, beta, x0, options) for x0 in states]
        return [_solution(one.outcome, one.x, one.overlaps, one.weights, beta, dtype) for one in screened]
    if is_chunked(model):
        return [_softmax_solution(model, beta, x0, options, dtype) for x0 in states]
    problem = kernel_problem(model)
    solutions: list[Solution | None] = [None] * len(states)

    def chunk(first: int, last: int) -> None:
        work = workspace(model.M, model.d)
        for n in range(first, last):
            work.curvature.at[0] = 0.0  # each result depends on its own start alone
            outcome = kernel.relax(
                problem, beta, states[n], options.method, options.tolerance, options.max_steps,
                options.polish, work,
            )  # fmt: skip
            solutions[n] = _solution(outcome, work.x, work.z, work.p, beta, dtype)

    run_chunks(chunk, len(states), threads)
    return [solution for solution in solutions if solution is not None]


def _softmax_solution(
    model: HopfieldModel, beta: float, x0: np.ndarray, options: SolverOptions, dtype: Any
) -> Solution:
    """What `relax_softmax` finds, with all overlaps and weights."""
    found = relax_softmax(model, beta, x0, options)
    point, z = found.point, np.empty(model.M)
    overlaps(model, point.x, z)
    outcome = (
        found.status,
        point.energy,
        np.nan,
        point.residual,
        found.curvature,
        found.curvature,
        found.steps,
    )
    return _solution(outcome, point.x, z, np.exp(beta * (z - point.level)), beta, dtype)


def _solution(
    outcome: tuple[Any, ...], x: np.ndarray, z: np.ndarray, p: np.ndarray, beta: float, dtype: Any
) -> Solution:
    """What `kernels.relax` found, with copies of its arrays."""
    status, gamma, theta, residual, inner, outer, steps = outcome
    return Solution(
        x=x.astype(dtype),
        beta=beta,
        free_energy=gamma,
        residual=residual,
        hessian_min=inner,
        hessian_min_tied=outer,
        status=Status(status),
        n_steps=steps,
        weights=p.astype(dtype),
        overlaps=z.astype(dtype),
        threshold=theta,
    )
