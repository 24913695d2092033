"""Patterns that a problem leaves out, and the proof at every state that they carry no weight there.

From a reference state r, at which every overlap was computed, an overlap can rise by no more than
s|ξ_ν||x − r|. The largest of these bounds over the patterns left out is convex in the distance; the chord
between its values at 0 and at `radius` lies above it. Where the chord of ANY reference stays below the
threshold that the patterns at hand give, those left out have no weight, and with them nothing would change.
Source: α > 1, weights with exact zeros (Lemma F.1 of arXiv:2610.17347).
"""

from typing import NamedTuple

import numpy as np

from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.vectors import assign

# Relative to s·max|ξ||x|, an upper bound of all overlaps: wider than their rounding, and than a tie with θ.
MARGIN = 1e-9


class LeftOut(NamedTuple):
    """What is known of the patterns left out; no reference means that there are none.

    Attributes
    ----------
    references : ndarray, shape (L, d)
        States at which their overlaps were computed.
    chords : ndarray, shape (L, 3)
        For each: the largest overlap there, its bound's rise per distance, and the radius up to which it
        holds.
    broken : ndarray of int, shape (2,)
        Whether a state has been evaluated that no reference covers (what was computed since is void), and how
        many states have been evaluated.
    where : ndarray, shape (d,)
        The first such state.
    """

    references: np.ndarray
    chords: np.ndarray
    broken: np.ndarray
    where: np.ndarray


@jit
def nothing(d):
    """The `LeftOut` of a problem that has all patterns."""
    return LeftOut(np.empty((0, d)), np.empty((0, 3)), np.zeros(2, np.int64), np.empty(d))


@jit
def covers(left_out, x, level, length):
    """Whether no pattern left out reaches `level`, a threshold, at x; remembers the first x where one may."""
    n = left_out.references.shape[0]
    if n == 0:
        return True
    left_out.broken[1] += 1
    norm = 0.0
    for i in range(x.size):
        norm += x[i] * x[i]
    level -= MARGIN * length * np.sqrt(norm)
    for k in range(n):
        distance = 0.0
        for i in range(x.size):
            distance += (x[i] - left_out.references[k, i]) ** 2
        distance = np.sqrt(distance)
        height, slope, radius = left_out.chords[k]
        if distance <= radius and height + slope * distance < level:
            return True
    if left_out.broken[0] == 0:
        left_out.broken[0] = 1
        assign(left_out.where, x)
    return False
