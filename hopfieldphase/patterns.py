"""Stored patterns: generators, files and the real data of the examples, one public name for each.

Every function gives an (M, d) float64 array with one pattern per row. `check_patterns`,
`duplicate_rows`, `norm_range` and `unit_rows` say and mend what is special about a set of patterns.
"""

from hopfieldphase.core.patterns import (
    PatternSequence,
    check_patterns,
    circulant,
    clustered,
    duplicate_rows,
    equicorrelated,
    gaussian,
    heavy_tailed,
    norm_range,
    sequence,
    spherical,
    two_keys,
    unit_rows,
)
from hopfieldphase.data.patterns_io import digits, load, save

__all__ = [
    "PatternSequence",
    "check_patterns",
    "circulant",
    "clustered",
    "digits",
    "duplicate_rows",
    "equicorrelated",
    "gaussian",
    "heavy_tailed",
    "load",
    "norm_range",
    "save",
    "sequence",
    "spherical",
    "two_keys",
    "unit_rows",
]
