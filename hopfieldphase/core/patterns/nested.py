"""Random patterns of any number: the first M rows never depend on M.

Rows are drawn in blocks of `BLOCK` rows, each block from its own generator, so that row μ depends on
(seed, realization, μ) alone and a million rows need no more memory than the array they fill.
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.errors import InputError
from hopfieldphase.core.patterns.blocks import check_size
from hopfieldphase.core.patterns.rows import Patterns, unit_rows
from hopfieldphase.core.patterns.streams import CENTRES, ROWS, stream

BLOCK = 1024
"""Rows that share one random generator; a change would change every stored realization."""


def _blocks(
    M: int, d: int, seed: int, realization: int, draw: Callable[[np.random.Generator, slice], Patterns]
) -> Patterns:
    """Fill (M, d) block by block: draw(generator, rows) gives the rows of one block from its own stream."""
    patterns = np.empty((M, d))
    for block, start in enumerate(range(0, M, BLOCK)):
        rows = slice(start, min(start + BLOCK, M))
        patterns[rows] = draw(stream(seed, realization, ROWS, block), rows)
    return patterns


def _check_shape(M: int, d: int) -> None:
    check_size(whole_number("M", M), whole_number("d", d))


def clustered(
    M: int,
    d: int,
    clusters: int = 4,
    delta: float = 0.04,
    seed: int = 0,
    realization: int = 0,
    noise: Literal["gaussian", "unit"] = "gaussian",
) -> Patterns:
    r"""Unit patterns around C random centres, the data of the paper.

    ξ^μ ∝ √(1−δ) η^{c(μ)} + √δ ζ^μ with c(μ) = μ mod C and unit-norm centres η, rows then scaled to unit
    norm.

    Parameters
    ----------
    M, d : int
        Number and dimension of the patterns, both ≥ 1.
    clusters : int, default 4
        Number C ≥ 1 of centres.
    delta : float, default 0.04
        Noise strength δ in [0, 1]: 0 stores the centres, 1 independent patterns.
    seed, realization : int
        Both ≥ 0; realization k depends on (seed, k) alone.
    noise : {"gaussian", "unit"}
        How the noise ζ of the printed formula is read. "gaussian": raw ζ ~ N(0, I_d), as Appendix G.2
        spells out; the mean in-cluster cosine is about (1−δ)/(1−δ+δd), 0.27 at δ = 0.04, d = 64.
        "unit": ζ scaled to unit norm as well; the in-cluster cosine is about 1−δ. Only the first
        reading gives the figures of the paper.

    Returns
    -------
    ndarray, shape (M, d), unit rows

    Raises
    ------
    InputError
        If an argument lies outside the domain above.

    Notes
    -----
    Source: Appendix F.2 (data) and G.2 of "On the Statistical Mechanics of Attention"
    (arXiv:2610.17347).
    """
    _check_shape(M, d)
    clusters = whole_number("clusters", clusters)
    check_size(clusters, d)
    delta = real_number("delta", delta, 0, 1)
    if noise not in ("gaussian", "unit"):
        raise InputError(
            f"noise = {noise!r} is unknown: use 'gaussian' (raw N(0, I_d), the paper's figures) or "
            "'unit' (noise of unit norm)"
        )
    centres = unit_rows(stream(seed, realization, CENTRES).standard_normal((clusters, d)))

    def draw(generator: np.random.Generator, rows: slice) -> Patterns:
        zeta = _normal(generator, rows, d)
        if noise == "unit":
            zeta = unit_rows(zeta)
        centre = centres[np.arange(rows.start, rows.stop) % clusters]
        return unit_rows(math.sqrt(1 - delta) * centre + math.sqrt(delta) * zeta)

    return _blocks(M, d, seed, realization, draw)


def spherical(M: int, d: int, seed: int = 0, realization: int = 0) -> Patterns:
    """Independent patterns, uniform on the unit sphere of R^d.

    Parameters
    ----------
    M, d : int
        Number and dimension of the patterns, both ≥ 1.
    seed, realization : int
        Both ≥ 0; realization k depends on (seed, k) alone.

    Returns
    -------
    ndarray, shape (M, d), unit rows
    """
    _check_shape(M, d)
    return _blocks(M, d, seed, realization, lambda generator, rows: unit_rows(_normal(generator, rows, d)))


def gaussian(M: int, d: int, seed: int = 0, realization: int = 0) -> Patterns:
    """Independent N(0, 1/d) entries: rows of mean square norm 1, left as drawn, not scaled to unit norm.

    For studies of un-normalised patterns; `spherical` gives the directions of the same rows.

    Parameters
    ----------
    M, d : int
        Number and dimension of the patterns, both ≥ 1.
    seed, realization : int
        Both ≥ 0; realization k depends on (seed, k) alone.

    Returns
    -------
    ndarray, shape (M, d)
    """
    _check_shape(M, d)
    return _blocks(
        M, d, seed, realization, lambda generator, rows: _normal(generator, rows, d) / math.sqrt(d)
    )


def _normal(generator: np.random.Generator, rows: slice, d: int) -> Patterns:
    return generator.standard_normal((rows.stop - rows.start, d))


def heavy_tailed(
    M: int, d: int, degrees_of_freedom: float = 2.0, seed: int = 0, realization: int = 0
) -> Patterns:
    """Unit patterns with independent Student-t components before the scaling: a few large entries each.

    Parameters
    ----------
    M, d : int
        Number and dimension of the patterns, both ≥ 1.
    degrees_of_freedom : float, default 2.0
        Tail exponent ν in [0.1, 1e6] of the components, P(|ξ| > t) ~ t^(−ν). A small ν gives patterns
        close to the coordinate axes, a large one approaches `spherical`.
    seed, realization : int
        Both ≥ 0; realization k depends on (seed, k) alone.

    Returns
    -------
    ndarray, shape (M, d), unit rows
    """
    _check_shape(M, d)
    # Below 0.1 a component overflows with a probability that a long sequence would meet.
    degrees_of_freedom = real_number("degrees_of_freedom", degrees_of_freedom, 0.1, 1e6)

    def draw(generator: np.random.Generator, rows: slice) -> Patterns:
        return unit_rows(generator.standard_t(degrees_of_freedom, (rows.stop - rows.start, d)))

    return _blocks(M, d, seed, realization, draw)
