"""Random streams: each use of each realization of a seed has its own, independent of all others."""

import numpy as np

from hopfieldphase.core.checks import whole_number

# What is drawn from a stream; the number is part of the spawn key, so it must never change.
CENTRES, ROWS, ROTATION, FEATURES = range(4)


def stream(seed: int, realization: int, use: int, block: int = 0) -> np.random.Generator:
    """Random generator of one use of realization k of a seed; it depends on these numbers alone."""
    key = (whole_number("realization", realization, at_least=0), use, block)
    return np.random.default_rng(
        np.random.SeedSequence(whole_number("seed", seed, at_least=0), spawn_key=key)
    )
