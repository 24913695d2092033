"""Warm-started sweeps: the same minima followed up and down, with the steps where they jump."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from hopfieldphase.continuation.chunked import softmax_path
from hopfieldphase.continuation.screened import Path, screened_path
from hopfieldphase.continuation.starts import continues, in_words, initial_state
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import duplicate_rows
from hopfieldphase.kernels import sweep as kernel
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import SolverOptions, kernel_problem, solver_options
from hopfieldphase.solvers.screening import Screen, certify, floating_type, is_screened, reaches
from hopfieldphase.solvers.softmax import is_chunked

DIRECTIONS = ("up", "down")

OVERLAP_THRESHOLD = 0.01
"""Δ of the fixed score-threshold count K_Δ (App. F.2)."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """Observables of one up and one down sweep; every table is (2, n), row 0 up, row 1 down.

    Attributes
    ----------
    parameter : str
        "beta" or "kappa".
    values : ndarray, shape (n,)
        The parameter, ascending, for both directions.
    overlap_max : ndarray
        z_max = max |z_μ|.
    support_size : ndarray of int
        Patterns with positive weight (α = 1: p > 1e-10).
    ipr : ndarray
        Inverse participation ratio 1/Σp².
    threshold_count : ndarray of int
        K_Δ, the number of overlaps above Δ = 0.01.
    free_energy : ndarray, or None
        Γ; None where the attention map has no free energy.
    hessian_min : ndarray, or None
        λ_min(∇²Γ)/β, the smaller of both one-sided values at a tie; None without a free energy.
    residual : ndarray
        |x − T(x)| / max(|x|, s·max|ξ|).
    status : ndarray of int8
        `Status` of each point.
    jumped : ndarray of bool
        Whether relaxing back from this state at the previous value does not return to the previous state.
    n_steps : ndarray of int
        Solver steps.
    state : ndarray, shape (2, n, d), or None
        The states, when they were asked for.
    saturation : float
        s²·max|ξ|², the overlap of a state on one pattern.
    start_up, start_down : str
        The start states in words.
    pattern_norms : tuple of float
        Smallest and largest |ξ_μ|.
    duplicates : int
        Patterns that equal an earlier one.
    spectral_radius : ndarray, or None
        Largest modulus of an eigenvalue of the Jacobian of the update; None for the Tsallis family.
    eigenvalue_real, eigenvalue_imag : ndarray, or None
        That eigenvalue; of a conjugate pair the one with positive imaginary part.
    """

    parameter: str
    values: np.ndarray
    overlap_max: np.ndarray
    support_size: np.ndarray
    ipr: np.ndarray
    threshold_count: np.ndarray
    free_energy: np.ndarray
    hessian_min: np.ndarray
    residual: np.ndarray
    status: np.ndarray
    jumped: np.ndarray
    n_steps: np.ndarray
    state: np.ndarray | None
    saturation: float
    start_up: str
    start_down: str
    pattern_norms: tuple[float, float]
    duplicates: int
    spectral_radius: np.ndarray | None = None
    eigenvalue_real: np.ndarray | None = None
    eigenvalue_imag: np.ndarray | None = None


def ascending_axis(values: Any, name: str) -> np.ndarray:
    """Check a parameter axis: not empty, finite, positive and strictly ascending."""
    axis = np.array(values, dtype=np.float64)
    if axis.ndim != 1 or axis.size == 0:
        raise InputError(f"{name} has shape {axis.shape}: give a list of at least one value")
    if not (np.isfinite(axis).all() and (axis > 0).all()):
        worst = axis[~(np.isfinite(axis) & (axis > 0))][0]
        raise InputError(f"{name} contains {worst}: every value must be positive and finite")
    if (np.diff(axis) <= 0).any():
        n = int(np.argmax(np.diff(axis) <= 0))
        raise InputError(
            f"{name} goes from {axis[n]} to {axis[n + 1]}: give strictly ascending values, "
            "both directions are swept anyway"
        )
    return axis


def sweep(
    model: HopfieldModel,
    betas: Any,
    *,
    start_up: Any = "mean",
    start_down: Any = "pattern:0",
    solver: str = "auto",
    tol: float | None = None,
    max_steps: int | None = None,
    polish: bool = True,
    keep_states: bool = False,
    threads: int | None = None,
) -> Sweep:
    """Sweep the inverse temperature up and down, each point relaxed from its neighbour.

    Of very many patterns at α > 1 only those are touched that can have weight in a state on the way
    (`solvers.screening`): the states are those of all patterns to rounding, which one product of all states
    with all patterns certifies at the end.

    Parameters
    ----------
    model : HopfieldModel
        The stored patterns, α and the overlap scale.
    betas : array, shape (n,)
        Inverse temperatures, strictly ascending.
    start_up, start_down : str or array of shape (d,)
        State that the sweep relaxes first, at the lowest β (up) or the highest (down): "mean" (the
        state on all patterns equally), "pattern:k", "best" (the minimum of lowest Γ that a pattern
        relaxes to), "continue" (where the other sweep ended), or a state.
    solver, tol, max_steps, polish
        See `hopfieldphase.relax`.
    keep_states : bool
        Also return the states; memory is 16 n d bytes.
    threads : int, optional
        Threads for the two directions.

    Returns
    -------
    Sweep

    Raises
    ------
    InputError
        If the axis, a start or an option lies outside its domain.
    ScreeningError
        If the certificate fails: the patterns changed while they were read.
    """
    axis = ascending_axis(betas, "betas")
    options = solver_options(solver, tol, max_steps, polish, floating_type(model))
    starts = (start_up, start_down)
    follows = continues(starts)
    ends = (axis[0], axis[-1])
    states = [
        None if follows[i] else initial_state(model, starts[i], float(ends[i]), options) for i in range(2)
    ]
    n = axis.size
    floats = np.empty((2, n, len(kernel.FLOAT_COLUMNS)))
    ints = np.empty((2, n, len(kernel.INT_COLUMNS)), dtype=np.int64)
    kept = np.empty((2, n if keep_states else 0, model.d))
    last = np.empty((2, model.d))
    screened = _Screened(model, threads) if is_screened(model) else None
    chunked = is_chunked(model)
    problem = None if chunked or screened is not None else kernel_problem(model)

    def run(direction: int, x0: np.ndarray) -> None:
        order = slice(None) if direction == 0 else slice(None, None, -1)
        if screened is not None:
            path = screened.run(direction, axis[order], x0, options)
            floats[direction], ints[direction] = path.floats[order], path.ints[order]
            kept[direction] = path.states[order][: kept.shape[1]]
            last[direction] = path.states[-1]
            return
        if chunked:
            betas = np.ascontiguousarray(axis[order])
            rows, counts, path = softmax_path(model, betas, x0, options, OVERLAP_THRESHOLD)
            floats[direction], ints[direction] = rows[order], counts[order]
            kept[direction] = path[order][: kept.shape[1]]
            last[direction] = path[-1]
            return
        rows, counts = floats[direction].copy(), ints[direction].copy()
        path = kept[direction].copy()
        kernel.sweep_path(
            problem, np.ascontiguousarray(axis[order]), x0, options.method, options.tolerance,
            options.max_steps, options.polish, OVERLAP_THRESHOLD, rows, counts, path, last[direction],
        )  # fmt: skip
        floats[direction], ints[direction], kept[direction] = rows[order], counts[order], path[order]

    own = [i for i in range(2) if states[i] is not None]

    def chunk(first: int, stop: int) -> None:
        for i in own[first:stop]:
            run(i, states[i])  # pyright: ignore[reportArgumentType]

    run_chunks(chunk, len(own), threads)
    for i in range(2):
        if follows[i]:
            run(i, last[1 - i].copy())
    if screened is not None:
        screened.certify(axis, floats, ints)
    columns = {name: floats[:, :, i] for i, name in enumerate(kernel.FLOAT_COLUMNS)}
    counts = {name: ints[:, :, i] for i, name in enumerate(kernel.INT_COLUMNS)}
    norms = np.asarray(model.pattern_norms)
    return Sweep(
        parameter="beta",
        values=axis,
        overlap_max=columns["overlap_max"],
        support_size=counts["support_size"],
        ipr=columns["ipr"],
        threshold_count=counts["threshold_count"],
        free_energy=columns["free_energy"],
        hessian_min=columns["hessian_min"],
        residual=columns["residual"],
        status=counts["status"].astype(np.int8),
        jumped=counts["jumped"].astype(bool),
        n_steps=counts["n_steps"],
        state=kept if keep_states else None,
        saturation=model.state_scale**2,
        start_up=in_words(start_up),
        start_down=in_words(start_down),
        pattern_norms=(float(norms.min()), float(norms.max())),
        duplicates=sum(len(rows) - 1 for rows in duplicate_rows(model.patterns)),
    )


class _Screened:
    """Both directions of a sweep over very many patterns, and their common certificate."""

    def __init__(self, model: HopfieldModel, threads: int | None) -> None:
        self._model, self._threads = model, threads
        self._reach = reaches(model, threads)
        self._paths: dict[int, Path] = {}

    def run(self, direction: int, betas: np.ndarray, x0: np.ndarray, options: SolverOptions) -> Path:
        """One direction, in its own order."""
        screen = Screen(self._model, self._reach)
        path = screened_path(screen, np.ascontiguousarray(betas), x0, options, OVERLAP_THRESHOLD)
        self._paths[direction] = path
        return path

    def certify(self, axis: np.ndarray, floats: np.ndarray, ints: np.ndarray) -> None:
        """Prove every point, and fill in what is seen of all patterns only; the tables ascend in β."""
        paths = [self._paths[0], self._paths[1]]
        seen = certify(
            self._model,
            np.concatenate([axis, axis[::-1]]),
            np.concatenate([path.states for path in paths]),
            np.concatenate([path.thresholds for path in paths]),
            [rows for path in paths for rows in path.supports],
            OVERLAP_THRESHOLD,
            self._threads,
        )
        n = axis.size
        for direction, part in enumerate((slice(None, n), slice(None, n - 1, -1))):
            floats[direction, :, kernel.FLOAT_COLUMNS.index("overlap_max")] = seen.overlap_max[part]
            ints[direction, :, kernel.INT_COLUMNS.index("threshold_count")] = seen.above[part]
