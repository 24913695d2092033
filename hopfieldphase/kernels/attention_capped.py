"""Compiled water-filling and constrained softmax: the values of `hopfieldphase.core.attention.capped`."""

import math

import numpy as np

from hopfieldphase.core.arrays import Array
from hopfieldphase.core.attention.capped import ConstrainedSoftmax, GreedyFilling, WaterFilling
from hopfieldphase.kernels.attention_rows import filled_rows, is_numpy
from hopfieldphase.kernels.elementary import exp
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.row_batches import acceptable
from hopfieldphase.kernels.screening import largest

_EPSILON = 2.220446049250313e-16
_NEWTON_STEPS = 12  # passes over the whole row, in SIMD; where they do not end, breakpoints are searched
_NEAR = 16.0  # free weights whose roundings, of their level each, are small against the budget
_MAX_STEPS = 1000  # a backstop
_SAMPLE = 64
_NO_SHARE = 1e-300  # above zero, so that +inf times it stays above every cap
_RENEWALS = 2  # after so many, the scores are far apart and the threshold is bisected
_DEEP = 1e-250  # exponentials below are taken anew from the largest score left
_SETTLED = 8 * _EPSILON


def capped_weights(
    attention: WaterFilling | ConstrainedSoftmax,
    scores: Array,
    *,
    out: Array | None = None,
    threads: int | None = None,
) -> Array:
    """Weights of a map under caps, ``attention.weights(scores)``, compiled for NumPy scores.

    Parameters
    ----------
    attention : WaterFilling, CappedSimplex, ConstrainedSparsemax or ConstrainedSoftmax
        The map. Scores of other libraries than NumPy take its own method.
    scores : array, shape (..., n)
        Scores; −∞ marks an absent pattern.
    out : array, shape (..., n), optional
        NumPy array of the dtype of the result to write into; undefined after an error.
    threads : int, optional
        Threads to use; by default the environment variable HOPFIELDPHASE_THREADS, else all cores. The
        result does not depend on it.

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    InputError
        As the map, or if `out` does not fit.

    Notes
    -----
    Water-filling takes Newton steps in a bracket over whole rows; where those do not end soon, it searches
    random breakpoints in the bracket and drops every pattern whose side is decided, in expected linear time
    (Pardalos and Kovoor 1990). For the constrained softmax the total is concave in the share that multiplies
    e^z: Newton's steps rise to the root, and the product of what is missing and of the slope falls by four
    in each.
    """
    if not is_numpy(scores):
        return attention.weights(scores)
    caps = cap_rows(attention, np.shape(scores))
    if caps is None:
        return attention.weights(scores)  # says what is wrong
    kernel = _soft_rows if isinstance(attention, ConstrainedSoftmax) else _filled_rows
    return filled_rows(
        attention, scores, lambda z, p, i, j: kernel(z, caps, attention.budget, p, i, j), out, threads
    )


def cap_rows(
    attention: WaterFilling | ConstrainedSoftmax | GreedyFilling, shape: tuple[int, ...]
) -> np.ndarray | None:
    """Caps as one row for all scores of a shape, or one for each; None where they do not fit."""
    # No weight exceeds the budget, and sums of infinite caps would be no use.
    caps = np.minimum(np.asarray(attention.caps, dtype=np.float64), attention.budget)
    if not shape or shape[-1] == 0:
        return None
    try:
        every = np.broadcast_to(caps, shape)
    except ValueError:
        return None
    shared = caps.ndim < 2 or math.prod(caps.shape[:-1]) == 1
    if shared:
        every = np.broadcast_to(caps.reshape(-1), (1, shape[-1]))
    return np.array(every, order="C").reshape(-1, shape[-1])


@jit
def _filled_rows(rows, caps, budget, out, start, stop):
    uz = np.empty(rows.shape[1])
    uc = np.empty(rows.shape[1])
    for i in range(start, stop):
        u = caps[i if len(caps) > 1 else 0]
        held = caps_held(rows[i], u)
        if not held >= budget * (1.0 - rows.shape[1] * _EPSILON):
            return False
        fill_row(rows[i], u, min(held, budget), uz, uc, out[i])
    return True


@jit
def _soft_rows(rows, caps, budget, out, start, stop):
    e = np.empty(rows.shape[1])
    for i in range(start, stop):
        u = caps[i if len(caps) > 1 else 0]
        held = caps_held(rows[i], u)
        if not held >= budget * (1.0 - rows.shape[1] * _EPSILON):
            return False
        _spread_row(rows[i], u, min(held, budget), e, out[i])
    return True


@jit(reorder=True)
def caps_held(z, caps):
    """Sum of the caps of the patterns present, NaN where the scores are no scores."""
    total, product = 0.0, 0.0
    for i in range(z.size):
        score, cap = float(z[i]), caps[i]
        product += score * 0.0
        total += cap if score > -np.inf else 0.0
    return total if product == 0.0 or acceptable(z) else np.nan


@jit
def fill_row(z, caps, budget, uz, uc, p):
    """Fill p with min(u, [z − τ]₊), which sum to the budget."""
    origin = top = largest(z)
    guess = _first_guess(z, caps, budget, top)
    level, free = _level(z, caps, budget, top, origin, guess, budget, uz, uc)
    if free * abs(level) > _NEAR * budget:
        # z − τ keeps its digits where τ is the sum of a large number and a small one.
        rounding = 4.0 * _EPSILON * (abs(origin) + abs(level))
        origin += level
        level, _ = _level(z, caps, budget, top, origin, 0.0, rounding, uz, uc)
    _pour(z, caps, origin, level, 8.0 * _EPSILON * budget, p)


@jit
def _level(z, caps, budget, top, origin, level, stride, uz, uc):
    """Level τ − origin, from a guess and the distance to step where the total is flat at it.

    Returns
    -------
    level, and at most how many patterns lie between 0 and their caps
    """
    low, high = -np.inf, top - origin
    for _ in range(_NEWTON_STEPS):
        excess, free = _excess(z, caps, budget, origin, level)
        step = level + excess / free if free > 0 else np.nan
        if abs(excess) <= _SETTLED * budget:
            return (step if free > 0 else level), free
        if excess > 0.0:
            low = max(low, level)
        else:
            high = min(high, level)
        if not low < step < high:
            step = level + stride if excess > 0.0 else level - stride
            stride *= 16.0
        level = step if low < step < high else 0.5 * (low + high)
    level = _search(z, caps, budget, origin, low, high, uz, uc)
    return level, z.size


@jit(element=True)
def _above(score, origin, level):
    """Score less threshold, in this order: the loops that call it may reorder their sums."""
    return (score - origin) - level


@jit(reorder=True)
def _excess(z, caps, budget, origin, level):
    """Σ min(u, [z − origin − level]₊) − R, and how many patterns lie between 0 and their caps."""
    total = 0.0
    free = 0
    for i in range(z.size):
        above = _above(float(z[i]), origin, level)
        free += (above > 0.0) & (above < caps[i])
        above = above if above > 0.0 else 0.0
        total += above if above < caps[i] else caps[i]
    return total - budget, free


@jit(reorder=True)
def _pour(z, caps, origin, level, rounding, p):
    for i in range(z.size):
        above = _above(float(z[i]), origin, level)
        above = above if above > 0.0 else 0.0
        full = (above > 0.0) & (above >= caps[i] - rounding)
        p[i] = caps[i] if full else above


@jit
def _first_guess(z, caps, budget, top):
    """Level that every so many scores would have for a budget in proportion."""
    stride = z.size // _SAMPLE
    if stride < 2:
        return -budget
    sample, bounds = np.empty(_SAMPLE), np.empty(_SAMPLE)
    for i in range(_SAMPLE):
        sample[i] = z[i * stride]
        bounds[i] = caps[i * stride]
    part = budget * _SAMPLE / z.size
    low, high, level = -np.inf, 0.0, -budget
    for _ in range(_NEWTON_STEPS):
        excess, free = _excess(sample, bounds, part, top, level)
        if abs(excess) <= 0.1 * part:
            break
        if excess > 0.0:
            low = level
        else:
            high = level
        step = level + excess / free if free > 0 else level - budget
        level = step if low < step < high else max(0.5 * (low + high), 2.0 * level)
    return level


@jit
def _search(z, caps, budget, origin, low, high, uz, uc):
    """Level in (low, high] by random breakpoints; patterns whose side is decided leave the scratch uz, uc."""
    held, free, linear = 0.0, 0, 0.0
    size = 0
    for i in range(z.size):
        if z[i] > -np.inf:
            uz[size] = float(z[i]) - origin
            uc[size] = caps[i]
            size += 1
    state = np.uint64(0x9E3779B97F4A7C15)
    pivot = low
    for _ in range(2 * z.size + 1):
        undecided = 0
        for i in range(size):
            above, cap = uz[i], uc[i]
            if above <= low:
                continue
            if above - cap >= high:
                held += cap
            elif above >= high and above - cap <= low:
                linear += above - high
                free += 1
            else:
                uz[undecided] = above
                uc[undecided] = cap
                undecided += 1
        size = undecided
        if size == 0:
            break
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        at = np.int64((state >> np.uint64(33)) % np.uint64(size))
        pivot = uz[at] if low < uz[at] < high else uz[at] - uc[at]
        total = held + linear + free * (high - pivot)
        for i in range(size):
            total += min(max(uz[i] - pivot, 0.0), uc[i])
        if total < budget:
            linear += free * (high - pivot)
            high = pivot
        else:
            low = pivot
    # Between low and high the total is held + linear + free (high − level).
    return high - (budget - held - linear) / free if free > 0 else high


@jit
def _spread_row(z, caps, budget, e, p):
    """Fill p with min(u, share e^z), which sum to the budget.

    The scratch e holds e^z relative to the largest score below its cap, +inf for those set aside at theirs.
    """
    _exponentials(z, largest(z), e)
    share, previous, renewals = _NO_SHARE, -1, 0
    for _ in range(_MAX_STEPS):
        total, held, count = _below(e, caps, share)
        if total < _DEEP and count < z.size:
            renewals += 1
            if renewals > _RENEWALS:
                _set_aside(z, caps, budget, e)
            if not _renew(z, caps, share, e):
                break
            total, held, count = _below(e, caps, _NO_SHARE)
            previous = -1
        if count in (previous, z.size):
            break
        previous = count
        share = max(budget - held, _NO_SHARE) / total
    _pour_shares(e, caps, share, p)


@jit(reorder=True)
def _below(e, caps, share):
    """Sum of e below the caps at a share, sum of the caps of the others, and how many they are."""
    total, held = 0.0, 0.0
    count = 0
    for i in range(e.size):
        # Loaded before the choice: a load inside of it would keep the loop from SIMD code.
        weight, cap = e[i], caps[i]
        capped = weight * share > cap
        below = 0.0 if capped else weight
        above = cap if capped else 0.0
        total += below
        held += above
        count += capped
    return total, held, count


@jit
def _renew(z, caps, share, e):
    """Set aside the patterns at their caps and take e anew from the largest score of the others, if any."""
    top = -np.inf
    for i in range(z.size):
        if e[i] * share > caps[i] or caps[i] == 0.0:
            e[i] = np.inf
        elif e[i] < np.inf:
            top = max(top, float(z[i]))
    if top == -np.inf:
        return False
    for i in range(z.size):
        if e[i] < np.inf:
            e[i] = exp(float(z[i]) - top)
    return True


@jit(reorder=True)
def _exponentials(z, top, e):
    for i in range(z.size):
        e[i] = exp(float(z[i]) - top)


@jit
def _set_aside(z, caps, budget, e):
    """Set e to +inf for the patterns that are at their caps for a threshold less than one above τ."""
    low, high = np.inf, -np.inf
    for i in range(z.size):
        if caps[i] > 0.0 and z[i] > -np.inf:
            edge = float(z[i]) - math.log(caps[i])
            low = min(low, edge)
            high = max(high, float(z[i]) + math.log(z.size))
    while high - low > 1.0:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            break
        if _soft_total(z, caps, middle) > budget:
            low = middle
        else:
            high = middle
    for i in range(z.size):
        capped = float(z[i]) - high > math.log(caps[i]) if caps[i] > 0.0 else True
        e[i] = np.inf if capped else e[i]


@jit(reorder=True)
def _soft_total(z, caps, threshold):
    """Σ min(u, e^{z − τ}) for caps of at most one."""
    total = 0.0
    for i in range(z.size):
        score = float(z[i]) - threshold
        weight = exp(score if score < 0.0 else 0.0)
        total += weight if weight < caps[i] else caps[i]
    return total


@jit(reorder=True)
def _pour_shares(e, caps, share, p):
    for i in range(e.size):
        weight = e[i] * share
        p[i] = weight if weight < caps[i] else caps[i]
