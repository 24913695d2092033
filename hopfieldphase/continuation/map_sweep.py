"""Warm-started sweeps of the fixed points of any attention map, up and down."""

from typing import Any

import numpy as np

from hopfieldphase.continuation.starts import continues, in_words, named_state
from hopfieldphase.continuation.sweep import OVERLAP_THRESHOLD, Sweep, ascending_axis
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns import duplicate_rows
from hopfieldphase.core.status import Status
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.model import AttentionModel
from hopfieldphase.solvers.fixed_points import (
    MAX_STEPS,
    Settled,
    Vector,
    numpy_model,
    polish,
    residual_tolerance,
    settle,
)

SAME_STATE = 1e-6
"""States closer than this, relative to max(|x|, s·max|ξ|), are one."""


def sweep_map(
    model: AttentionModel,
    betas: Any,
    *,
    start_up: Any = "mean",
    start_down: Any = "pattern:0",
    tol: float | None = None,
    max_steps: int | None = None,
    keep_states: bool = False,
    threads: int | None = None,
) -> Sweep:
    """Sweep the inverse temperature up and down, each fixed point found from its neighbour.

    Parameters
    ----------
    model : AttentionModel
        The stored patterns, the attention map and the overlap scale.
    betas : array, shape (n,)
        Inverse temperatures, strictly ascending.
    start_up, start_down : str or array of shape (d,)
        As in `continuation.sweep.sweep`; "best" needs a free energy.
    tol, max_steps
        See `hopfieldphase.solvers.fixed_points.find_fixed_point`.
    keep_states : bool
        Also return the states; memory is 16 n d bytes.
    threads : int, optional
        Threads for the two directions.

    Returns
    -------
    Sweep
        With the leading eigenvalue of the Jacobian of the update at every fixed point. `free_energy` and
        `hessian_min` are None unless the map has a conjugate. A status `CONVERGED` is a fixed point of
        spectral radius below 1.

    Raises
    ------
    InputError
        If the axis, a start or an option lies outside its domain.
    """
    axis = ascending_axis(betas, "betas")
    plain = numpy_model(model)
    tolerance = residual_tolerance(tol)
    limit = MAX_STEPS if max_steps is None else max_steps
    starts = (start_up, start_down)
    follows = continues(starts)
    states: list[Vector | None] = [
        None if follows[i] else _start(plain, starts[i], float(axis[-i]), tolerance, limit) for i in range(2)
    ]
    paths: list[list[Settled]] = [[], []]
    jumped = np.zeros((2, axis.size), dtype=bool)

    def run(direction: int, x: Vector) -> None:
        order = axis if direction == 0 else axis[::-1]
        path, flags = _path(plain, order, x, tolerance, limit)
        paths[direction] = path if direction == 0 else path[::-1]
        jumped[direction] = flags if direction == 0 else flags[::-1]

    own = [i for i in range(2) if states[i] is not None]

    def chunk(first: int, stop: int) -> None:
        for i in own[first:stop]:
            run(i, states[i])  # pyright: ignore[reportArgumentType]

    run_chunks(chunk, len(own), threads)
    for i in range(2):
        if follows[i]:
            run(i, paths[1 - i][-1 if i == 1 else 0].x)
    return _observed(plain, axis, paths, jumped, starts, keep_states)


def _start(model: AttentionModel, start: Any, beta: float, tolerance: float, limit: int) -> Vector:
    if not (isinstance(start, str) and start == "best"):
        return named_state(model, start)
    if not model.has_free_energy:
        raise InputError(
            f"start 'best' compares free energies, which {model.attention.name} attention does not have: "
            "start from mean, pattern:k or a state"
        )
    found = [settle(model, x, beta, tolerance, limit) for x in model.scale * model.patterns]
    fixed = [point.x for point in found if point.status is Status.CONVERGED] or [point.x for point in found]
    return min(fixed, key=lambda x: float(model.free_energy(x, beta)))


def _path(
    model: AttentionModel, betas: Vector, x: Vector, tolerance: float, limit: int
) -> tuple[list[Settled], list[bool]]:
    """The fixed points along one direction, and which of them a jump leads to."""
    path: list[Settled] = []
    jumped: list[bool] = []
    for n, beta in enumerate(betas.tolist()):
        last = path[-1] if path else None
        found = settle(model, x, beta, tolerance, limit, last.inverse if last else None)
        before = float(betas[n - 1])
        jumped.append(last is not None and not _comes_back(model, found, last, before, tolerance, limit))
        path.append(found)
        x = found.x
    return path, jumped


def _comes_back(
    model: AttentionModel, found: Settled, last: Settled, beta: float, tolerance: float, limit: int
) -> bool:
    """Whether the state before is reached again from this one; of two states of cycles none jumps."""
    if Status.CONVERGED not in (found.status, last.status):
        return True
    if found.status is not last.status:
        return False
    length = SAME_STATE * max(model.state_scale, float(np.linalg.norm(last.x)))
    back = polish(model, found.x, beta, tolerance, found.inverse)
    if back is not None and float(np.linalg.norm(back[0] - last.x)) <= length:
        return True
    settled = settle(model, found.x, beta, tolerance, limit)
    return float(np.linalg.norm(settled.x - last.x)) <= length


def _observed(
    model: AttentionModel,
    axis: Vector,
    paths: list[list[Settled]],
    jumped: np.ndarray,
    starts: tuple[Any, Any],
    keep_states: bool,
) -> Sweep:
    """The observables of both paths, each (2, n)."""
    x = np.array([[point.x for point in path] for path in paths])
    z = model.overlaps(x)
    p = model.attention.weights(axis[:, None] * z)
    share = p / p.sum(axis=-1, keepdims=True)
    leading = np.array([[complex(point.eigenvalues[0]) for point in path] for path in paths])
    real, imag = np.real(leading), np.imag(leading)

    def column(name: str, dtype: type) -> np.ndarray:
        return np.array([[getattr(point, name) for point in path] for path in paths], dtype=dtype)

    energy = curvature = None
    if model.has_free_energy:
        energy = axis / 2 * (x**2).sum(axis=-1) - model.attention.conjugate(axis[:, None] * z)
        curvature = 1.0 - real
    norms = np.asarray(model.pattern_norms)
    return Sweep(
        parameter="beta",
        values=axis,
        overlap_max=np.abs(z).max(axis=-1),
        support_size=model.attention.support(axis[:, None] * z).sum(axis=-1),
        ipr=1.0 / (share**2).sum(axis=-1),
        threshold_count=(z > OVERLAP_THRESHOLD).sum(axis=-1),
        free_energy=energy,  # pyright: ignore[reportArgumentType]  # None without a conjugate
        hessian_min=curvature,  # pyright: ignore[reportArgumentType]
        residual=column("residual", float),
        status=column("status", np.int8),
        jumped=jumped,
        n_steps=column("n_steps", np.int64),
        state=x if keep_states else None,
        saturation=model.state_scale**2,
        start_up=in_words(starts[0]),
        start_down=in_words(starts[1]),
        pattern_norms=(float(norms.min()), float(norms.max())),
        duplicates=sum(len(rows) - 1 for rows in duplicate_rows(model.patterns)),
        spectral_radius=np.abs(leading),
        eigenvalue_real=real,
        eigenvalue_imag=imag,
    )
