"""Zeros of a function of one variable in a bracket."""

import math
from collections.abc import Callable

MAX_ROOT_STEPS = 60
# Close to the zero, a step that does not shrink |f| by this factor moves in the rounding noise of f.
NOISE = 0.25
CLOSE = 1e-8


def find_root(f: Callable[[float], float], f0: float, f1: float, guess: float, *, goal: float = 0.0) -> float:
    """Zero of f between 0 and 1, where it has the values f0 and f1 of opposite sign, to rounding.

    Secant steps inside the bracket, halved whenever three of them have not halved it, until |f| ≤ goal or
    rounding takes over. Returns an argument at which f was evaluated, or an end where f is zero.
    """
    if f0 == 0.0 or f1 == 0.0:
        return 0.0 if f0 == 0.0 else 1.0
    low, high = 0.0, 1.0
    older, f_older = (0.0, f0) if abs(f0) < abs(f1) else (1.0, f1)
    u, best, f_best = guess, math.nan, math.inf
    width, since = 1.0, 0
    for _ in range(MAX_ROOT_STEPS):
        if not low < u < high:
            u = 0.5 * (low + high)
        value = f(u)
        noise = abs(u - older) <= CLOSE and abs(value) >= NOISE * abs(f_older)
        if abs(value) < abs(f_best):
            best, f_best = u, value
        if abs(value) <= goal or noise:
            break
        if (value < 0.0) == (f0 < 0.0):
            low = u
        else:
            high = u
        slope = (value - f_older) / (u - older) if u != older else 0.0
        older, f_older = u, value
        step = -value / slope if slope else math.inf
        if abs(step) <= 1e-16 or high - low <= 1e-16:
            break
        since += 1
        if since == 3:
            if high - low > 0.5 * width and abs(step) > 1e-6 * width:
                step = math.inf
            width, since = high - low, 0
        u = u + step
    return best
