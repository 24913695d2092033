"""Search for minima of Γ_α from many states at once, on any array library: `kernels.relax` in batches.

Iterations run in chunks in which every state takes its own step or waits; only between two chunks does the
host ask, once, whether all states are done. A verification, once per round, costs one more look.
"""

from typing import Any, NamedTuple

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.kernels import relax as single
from hopfieldphase.kernels.batched_steps import (
    Batch,
    States,
    choose,
    evaluate,
    newton_step,
    norm,
    response,
    spectrum,
)
from hopfieldphase.kernels.relax import FIXED_POINT, GRADIENT_DESCENT, NEWTON
from hopfieldphase.kernels.steps import EPSILON, FIRST_STEP_SIZE

RUNNING = -1
# Iterations between two looks: a descent takes dozens to thousands, Newton's method a few.
CHUNK = {GRADIENT_DESCENT: 32, FIXED_POINT: 16, NEWTON: 3}
_LONGEST_RETRIEVAL = 1e6
# Rounding of the normalization of the weights; more means that their iteration was cut short.
_NORMALIZED = 1e-11


class Outcome(NamedTuple):
    """Where relaxations ended, (R, S) each: `kernels.relax.relax` names the same things."""

    states: States
    status: Array
    inner: Array
    outer: Array
    steps: Array


class Run(NamedTuple):
    """Where an iteration stands, (R, S) each: `tries` counts halvings of the step, or is a prolongation."""

    status: Array
    steps: Array
    stalled: Array
    best: Array
    tries: Array


def ask(xp: Any, values: Array) -> bool:
    """Whether any of the values holds: the one place where the host waits for the device."""
    return bool(xp.any(values))


@np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")
def relax(
    batch: Batch,
    x0: Array,
    method: int,
    tolerance: float,
    max_steps: int,
    polish: bool,
    active: Array | None = None,
    verified: bool = True,
) -> Outcome:
    """Relax the states x0 (R, S, d) to verified minima.

    Parameters
    ----------
    batch : Batch
        The patterns, and β of each state.
    x0 : array, shape (R, S, d)
    method, tolerance, max_steps, polish
        As `kernels.relax.relax`.
    active : array of bool, shape (R, S), optional
        States to relax; the others are evaluated and left where they are, with the status `CONVERGED`.
    verified : bool
        False ends where the states are stationary; λ_min is NaN then.
    """
    xp = batch.xp
    states = evaluate(batch, x0)
    pending = xp.ones_like(states.energy, dtype=xp.bool) if active is None else active
    zeros = xp.zeros_like(states.energy)
    status, steps = xp.astype(zeros, xp.int64), xp.astype(zeros, xp.int64)
    inner, outer = zeros + np.nan, zeros + np.nan
    floor = 16.0 * EPSILON * (1.0 + batch.beta * batch.length * batch.length)
    by_hand = polish and method != NEWTON
    for _ in range(single.MAX_ESCAPES):
        goal = max(tolerance, single.HANDOVER) if by_hand else tolerance
        states, verdict, steps = _converge(batch, states, steps, pending, method, goal, max_steps)
        if by_hand:
            on = pending & ((verdict == single.CONVERGED) | (verdict == single.NO_PROGRESS))
            states, found, steps = _converge(batch, states, steps, on, NEWTON, tolerance, max_steps)
            verdict = xp.where(on, found, verdict)
        resolved = (verdict == single.NO_PROGRESS) & (states.residual <= floor)
        verdict = xp.where(resolved, single.CONVERGED, verdict)
        if not verified:
            return Outcome(states, xp.where(pending, verdict, status), inner, outer, steps)
        if polish:
            states, took = _last_step(batch, states, pending & (verdict == single.CONVERGED))
            steps = steps + xp.astype(took, xp.int64)
        verdict, low, high, soft = _verify(batch, states, verdict)
        status = xp.where(pending, verdict, status)
        inner, outer = xp.where(pending, low, inner), xp.where(pending, high, outer)
        stuck = (verdict == single.NO_PROGRESS) & (states.residual <= single.BESIDE_SADDLE)
        saddle = (verdict == single.SADDLE_NOT_ESCAPED) | (stuck & (low < -single.FLAT))
        pending = pending & saddle
        if not polish or not ask(xp, pending):
            break
        states, pending = _escape(batch, states, soft, pending)
        steps = steps + xp.astype(pending, xp.int64)
        if not ask(xp, pending):
            break
    return Outcome(states, status, inner, outer, steps)


def _converge(
    batch: Batch, states: States, steps: Array, active: Array, method: int, tolerance: float, max_steps: int
) -> tuple[States, Array, Array]:
    """Iterate one method until every active state is within the tolerance, or ends in another way."""
    xp = batch.xp
    begin = xp.where(active, RUNNING, xp.zeros_like(steps))
    first = xp.ones_like(states.energy) if method == NEWTON else xp.zeros_like(states.energy)
    run = Run(begin, steps, xp.zeros_like(steps), states.residual, first)
    run = _judge(batch, states, run, tolerance, max_steps)
    while ask(xp, run.status == RUNNING):
        states, run = chunk(batch, states, run, method, tolerance, max_steps)
    return states, run.status, run.steps


def chunk(
    batch: Batch, states: States, run: Run, method: int, tolerance: float, max_steps: int
) -> tuple[States, Run]:
    """A fixed number of iterations, none of which waits for the device."""
    for _ in range(CHUNK[method]):
        if method == GRADIENT_DESCENT:
            states, run = _descend(batch, states, run)
        elif method == FIXED_POINT:
            trial = evaluate(batch, states.image)
            states, run = _accept(batch, states, run, trial, run.status == RUNNING, run.tries)
        else:
            states, run = _newton(batch, states, run)
        run = _judge(batch, states, run, tolerance, max_steps)
    return states, run


def _descend(batch: Batch, states: States, run: Run) -> tuple[States, Run]:
    """One trial of the paper's step x − η∇Γ, η = η₀2^{−m}: where Γ would rise, m grows by one instead."""
    xp = batch.xp
    eta = FIRST_STEP_SIZE * batch.beta * 2.0**-run.tries
    trial = evaluate(batch, states.x + eta[..., None] * (states.image - states.x))
    lower = trial.energy <= states.energy + states.rounding()
    took = (run.status == RUNNING) & lower
    return _accept(batch, states, run, trial, took, xp.where(lower, 0.0, run.tries + 1))


def _newton(batch: Batch, states: States, run: Run) -> tuple[States, Run]:
    """A Newton step where it lowers Γ, or the residual at equal Γ; else an update T, prolonged while it pays.

    `tries` is the prolongation: it doubles with each update taken, and falls back to one.
    """
    xp = batch.xp
    step, usable = newton_step(batch, states)
    trial = evaluate(batch, states.x + step)
    rounding = states.rounding()
    lower = trial.energy < states.energy - rounding
    level = (trial.energy <= states.energy + rounding) & (trial.residual < states.residual)
    usable = usable & (lower | level)
    update = evaluate(batch, states.x + run.tries[..., None] * (states.image - states.x))
    falls = (run.tries == 1) | (update.energy < states.energy - rounding)
    longer = xp.clip(2.0 * run.tries, max=_LONGEST_RETRIEVAL)
    tries = xp.where(falls & ~usable, longer, xp.ones_like(run.tries))
    took = (run.status == RUNNING) & (usable | falls)
    return _accept(batch, states, run, choose(xp, usable, trial, update), took, tries)


def _accept(
    batch: Batch, states: States, run: Run, trial: States, took: Array, tries: Array
) -> tuple[States, Run]:
    """Make the trial the state where it is taken, unless Γ rises there; count steps without progress."""
    xp = batch.xp
    rounding = states.rounding()
    rises = took & (trial.energy > states.energy + 4.0 * rounding)
    took = took & ~rises
    progress = (trial.energy < states.energy - rounding) | (trial.residual < 0.999 * run.best)
    return choose(xp, took, trial, states), Run(
        xp.where(rises, single.NO_PROGRESS, run.status),
        run.steps + xp.astype(took, xp.int64),
        xp.where(took, xp.where(progress, 0, run.stalled + 1), run.stalled),
        xp.where(took, xp.minimum(run.best, trial.residual), run.best),
        tries,
    )


def _judge(batch: Batch, states: States, run: Run, tolerance: float, max_steps: int) -> Run:
    """End what has converged, stalls, has taken all steps, or is not finite."""
    xp = batch.xp
    running = xp.full_like(run.status, RUNNING)
    ends = xp.where(run.steps >= max_steps, single.ITERATION_LIMIT, running)
    stalls = (run.stalled > single.STALLED_STEPS) | (run.tries > _LONGEST_RETRIEVAL)
    ends = xp.where(stalls, single.NO_PROGRESS, ends)
    summed = xp.abs(xp.sum(states.p, axis=-1) - 1) <= _NORMALIZED
    ends = xp.where((states.residual <= tolerance) & summed, single.CONVERGED, ends)
    ends = xp.where(xp.isfinite(states.residual + states.energy), ends, single.BAD_INPUT)
    return run._replace(status=xp.where(run.status == RUNNING, ends, run.status))


def _last_step(batch: Batch, states: States, active: Array) -> tuple[States, Array]:
    """One more Newton step where it is of use: states to rounding."""
    step, usable = newton_step(batch, states)
    trial = evaluate(batch, states.x + step)
    rounding = states.rounding()
    lower = trial.energy < states.energy - rounding
    level = (trial.energy <= states.energy + rounding) & (trial.residual < states.residual)
    took = active & (states.residual > 64.0 * EPSILON) & usable & (lower | level)
    return choose(batch.xp, took, trial, states), took


def _verify(batch: Batch, states: States, verdict: Array) -> tuple[Array, Array, Array, Array]:
    """Status of stationary states, both one-sided λ_min/β, and the soft direction; see `relax.verify`."""
    xp, alpha = batch.xp, batch.alpha
    curve, soft = spectrum(batch, response(xp, states.p, alpha))
    inner = outer = curve
    saddle = xp.full_like(verdict, single.SADDLE_NOT_ESCAPED)
    found = xp.where(curve > single.FLAT, single.CONVERGED, saddle)
    if 2 <= alpha < np.inf:
        support = states.p > 0
        size = xp.max(xp.where(support, xp.abs(states.z), 0.0), axis=-1)
        size = xp.maximum(size, xp.abs(states.theta))[..., None]
        gap = states.z - states.theta[..., None]
        near = single.TIE * size
        closest = near if alpha == 2 else 64.0 * EPSILON * size
        ties = (gap >= -near) & (gap <= xp.where(support, closest, 0.0))
        tied = xp.any(ties, axis=-1) & (verdict == single.CONVERGED)
        if ask(xp, tied):
            if alpha > 2:
                found = xp.where(tied & (found == single.CONVERGED), single.BOUNDARY, found)
                outer = xp.where(tied, -np.inf, outer)
            else:
                without, _ = spectrum(batch, 0.5 * xp.astype(gap > near, states.p.dtype))
                with_all, _ = spectrum(batch, 0.5 * xp.astype(gap >= -near, states.p.dtype))
                inner, outer = xp.where(tied, without, inner), xp.where(tied, with_all, outer)
                one_sided = xp.where(inner > single.FLAT, single.BOUNDARY, saddle)
                both = xp.where(outer > single.FLAT, single.CONVERGED, one_sided)
                found = xp.where(tied, both, found)
    return xp.where(verdict == single.CONVERGED, found, verdict), inner, outer, soft


def _escape(batch: Batch, states: States, soft: Array, active: Array) -> tuple[States, Array]:
    """Leave saddles along the soft direction by a line search; the lower side wins, + on a tie."""
    xp = batch.xp
    unit = xp.maximum(norm(xp, states.x), batch.length)
    rounding = states.rounding()
    best, best_length = states.energy - 2.0 * rounding, xp.zeros_like(unit)
    for side in (1.0, -1.0):
        for n in range(single.ESCAPE_DOUBLINGS):
            length = side * single.FIRST_ESCAPE * 2.0**n * unit
            energy = evaluate(batch, states.x + length[..., None] * soft).energy
            margin = xp.where(side * best_length < 0, 2.0 * rounding, xp.zeros_like(rounding))
            lower = energy < best - margin
            best, best_length = xp.where(lower, energy, best), xp.where(lower, length, best_length)
    left = active & (best_length != 0)
    there = evaluate(batch, states.x + best_length[..., None] * soft)
    return choose(xp, left, there, states), left
