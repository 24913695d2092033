"""Stored patterns: seeded generators, and the check that every set of patterns passes.

Every generator returns a float64 array of shape (M, d), one pattern per row. Realization k of a seed
depends on (seed, k) alone.
"""

from hopfieldphase.core.patterns.keys import circulant, equicorrelated, two_keys
from hopfieldphase.core.patterns.nested import clustered, gaussian, heavy_tailed, spherical
from hopfieldphase.core.patterns.rows import check_patterns, duplicate_rows, norm_range, unit_rows
from hopfieldphase.core.patterns.sequence import PatternSequence, sequence

__all__ = [
    "PatternSequence",
    "check_patterns",
    "circulant",
    "clustered",
    "duplicate_rows",
    "equicorrelated",
    "gaussian",
    "heavy_tailed",
    "norm_range",
    "sequence",
    "spherical",
    "two_keys",
    "unit_rows",
]
