"""Which scores of a row can carry weight at all: for alpha > 1 usually few, found without sorting.

In units of y = (alpha−1)/alpha β (z − max z) the weights are (y − t)₊^{1/(alpha−1)} with one unknown t in
[−1, 0), where Σp = 1. Leaving scores out of that sum can only lower it, so the t of ANY subset is a lower
bound of the t of the row. The subset taken here holds the largest of every few scores, which the search
for max z needs anyway. By Jensen's inequality m scores of mean ȳ obey t >= ȳ − m^{−(alpha−1)} for
1 < alpha <= 2. For alpha > 2 the weights, between 0 and 1, exceed the y − t, and the bound of alpha = 2
holds.
"""

import numpy as np

from hopfieldphase.kernels.jit import jit

LANES = 16  # scores side by side in one block
DEPTH = 8  # rows of a block: each lane keeps the largest of so many scores
BLOCK = LANES * DEPTH


@jit(reorder=True)
def top_score(z, p):
    """Return max z; in long rows leave the maxima of all lanes at the end of p, for `gather`."""
    n_blocks = z.size // BLOCK
    if n_blocks == 0:
        return largest(z)
    maxima = p[z.size - n_blocks * LANES :]
    for block in range(n_blocks):
        for j in range(LANES):
            highest = z[block * BLOCK + j]
            for i in range(1, DEPTH):
                score = z[block * BLOCK + i * LANES + j]
                highest = score if score > highest else highest
            maxima[block * LANES + j] = highest
    top = largest(maxima)
    for i in range(n_blocks * BLOCK, z.size):
        top = max(top, float(z[i]))
    return top


@jit(reorder=True)
def gather(z, top, scale, power, p):
    """Return the scores that can carry weight and a lower bound of t; call `top_score` with the same p first.

    They are copied to the front of p, in any order; a short row is returned as it is, with the bound -1.
    scale is (alpha−1)/alpha β and power is min(alpha−1, 1), alpha > 1.
    """
    n_blocks = z.size // BLOCK
    if n_blocks == 0:
        return z, -1.0
    first = z.size - n_blocks * LANES
    bound = lower_bound(p[first:], top, scale, power, -1.0)
    cut = cut_at(bound, top, scale)
    # Branches would be guessed wrong half of the time; so each store is made, and kept by moving on. Scores
    # never overtake the maxima still to be read: the first j lanes have at most DEPTH j of them.
    count = 0
    for block in range(n_blocks):
        maxima = first + block * LANES
        n_hits = 0
        for j in range(LANES):
            hit = p[maxima + j] >= cut
            p[maxima + n_hits] = j
            n_hits += hit
        for hit in range(n_hits):
            start = block * BLOCK + np.int64(p[maxima + hit])
            for i in range(DEPTH):
                score = z[start + i * LANES]
                p[count] = score
                count += score >= cut
    for i in range(n_blocks * BLOCK, z.size):
        p[count] = z[i]
        count += z[i] >= cut
    return p[:count], bound


@jit
def cut_at(bound, top, scale):
    """Return the score below which no weight can be, given a lower bound of t.

    The margin covers the rounding of the bound; that of this sum asks to compare with `>=`.
    """
    return top + bound * (1.0 + 1e-12) / scale


@jit(reorder=True)
def lower_bound(scores, top, scale, power, bound):
    """Raise the lower bound of t as far as the mean of the scores above it allows."""
    previous = 0
    while True:
        count = 0
        total = 0.0
        for i in range(scores.size):
            above = scale * (float(scores[i]) - top) - bound
            above = above if above > 0.0 else 0.0
            total += above
            count += above > 0.0
        if count == previous:
            return bound
        previous = count
        bound = max(bound, bound + (total - count ** (1.0 - power)) / count)


@jit
def keep(scores, cut, p):
    """Return the scores of at least `cut`, moved to the front of p (which may hold `scores` itself)."""
    count = 0
    for i in range(scores.size):
        score = scores[i]
        p[count] = score
        count += score >= cut
    return p[:count]


@jit
def largest(scores):
    """Return the maximum, by eight comparisons at a time: one chain would wait for each of them."""
    a = b = c = d = e = f = g = h = scores[0]
    for i in range(8, scores.size, 8):
        a = max(a, scores[i - 7])
        b = max(b, scores[i - 6])
        c = max(c, scores[i - 5])
        d = max(d, scores[i - 4])
        e = max(e, scores[i - 3])
        f = max(f, scores[i - 2])
        g = max(g, scores[i - 1])
        h = max(h, scores[i])
    a, b, c, d = max(a, b), max(c, d), max(e, f), max(g, h)
    top = max(a, b, c, d)
    for i in range((scores.size - 1) // 8 * 8 + 1, scores.size):
        top = max(top, scores[i])
    return float(top)
