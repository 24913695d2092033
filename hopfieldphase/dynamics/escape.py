"""Escape from metastable minima by noise: simulated first passages and the law of Eyring and Kramers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.errors import InputError
from hopfieldphase.kernels.langevin import first_passage
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.phases.barriers import Barrier
from hopfieldphase.phases.saddles import Matrix, one_sided_hessians
from hopfieldphase.solvers.options import kernel_problem

Floats = NDArray[np.float64]

# Entries of a direction below this are zero, and a cosine this close to 1 is 1.
_ALIGNED = 1e-6
# Other eigenvalues of a jump of the Hessian, relative to the first, below which it has rank one.
_RANK_ONE = 1e-9


@dataclass(frozen=True)
class Kramers:
    """Mean escape time of the law of Eyring and Kramers.

    Attributes
    ----------
    time : float
        1/τ = Σ_k |λ₋|/(2π) √(det H_min / |det H_k|) e^{−ΔΓ_k/T} over all ways out. Where the minimum or a
        saddle lies on a facet of the support (α = 2), the Gaussian integrals over both half-spaces are added
        up; NaN where that has no closed form.
    inner, outer : float
        The same law with the Hessians of one side only, without and with the patterns that tie with the
        threshold; equal to `time` where none does.
    """

    time: float
    inner: float
    outer: float


@dataclass(frozen=True, eq=False)
class Escapes:
    """Simulated first passages out of a minimum.

    Attributes
    ----------
    times : ndarray, shape (walkers,)
        First-passage times in the time unit of dx = −∇Γ dt + √(2T) dW; the time spent where `ways` is −1.
    ways : ndarray of int, shape (walkers,)
        Which way out each walker took; −1 if it was still inside at the end.
    temperature : float
    step : float
        Time step dt in units of 1/β.
    """

    times: Floats
    ways: NDArray[np.int64]
    temperature: float
    step: float

    @property
    def n_escaped(self) -> int:
        """How many walkers escaped."""
        return int(np.count_nonzero(self.ways >= 0))

    @property
    def mean(self) -> float:
        """Mean escape time: all time spent inside over the number of escapes (exponential law)."""
        return float(self.times.sum()) / self.n_escaped if self.n_escaped else np.inf

    @property
    def error(self) -> float:
        """Standard error of `mean`, mean/√n."""
        return self.mean / np.sqrt(self.n_escaped) if self.n_escaped else np.inf


def kramers_time(ways: Sequence[Barrier], temperature: float) -> Kramers:
    """Mean escape time from a minimum over one or more saddles, in the limit of low temperature.

    Parameters
    ----------
    ways : sequence of Barrier
        All with the same start; the first saddle of each counts. Equivalent saddles each count once: three
        of them make the escape three times as fast.
    temperature : float
        T > 0 in dx = −∇Γ dt + √(2T) dW. The law holds up to relative corrections of order T/ΔΓ.

    Returns
    -------
    Kramers
        Times to reach another minimum; the time to reach the ridge between them is half of it.

    Raises
    ------
    InputError
        If there is no way out, the starts differ, or a first saddle is not one of index one.

    Notes
    -----
    Sources: H. A. Kramers, Physica 7, 284 (1940); J. S. Langer, Ann. Phys. 54, 258 (1969); A. Bovier et al.,
    J. Eur. Math. Soc. 6, 399 (2004). Across a facet where one pattern ties with the threshold, with normal n,
    the Hessians of both sides differ by κ n nᵀ: one quadratic form on each half-space, with half of its
    Gaussian integral. For a saddle the flow separates if n is orthogonal or parallel to its direction of
    descent.

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.phases.barriers import barrier
    >>> from hopfieldphase.dynamics.escape import kramers_time
    >>> keys = hp.HopfieldModel(hp.patterns.two_keys(-1.0, d=2), alpha=2.0, scale=1.0)
    >>> way = barrier(keys, keys.patterns[0], keys.patterns[1], beta=2.0)
    >>> round(way.height, 12), round(kramers_time([way], 0.05).time, 6)
    (0.5, 69198.183126)
    """
    temperature = real_number("temperature", temperature, 0, np.inf, ends="()")
    _check(ways)
    first = ways[0]
    inner, outer = one_sided_hessians(first.model, first.minima[0].x, first.beta)
    well = (_volume(inner), _volume(outer))
    one_facet = inner is outer or _normal(inner, outer) is not None
    volume = float(np.mean(well)) if one_facet else np.nan
    rates = np.zeros(3)
    for way in ways:
        saddle = way.saddles[0]
        factor = np.exp(-(saddle.free_energy - way.minima[0].free_energy) / temperature) / (2 * np.pi)
        inner, outer = one_sided_hessians(way.model, saddle.x, way.beta)
        flux = (_flux(inner), _flux(outer))
        rates += factor * np.array([flux_over(inner, outer) / volume, flux[0] / well[0], flux[1] / well[1]])
    return Kramers(*(float(1 / rate) for rate in rates))


def escape_times(
    ways: Sequence[Barrier],
    temperature: float,
    *,
    walkers: int = 1000,
    step: float = 0.1,
    max_steps: int = 10**9,
    seed: int = 0,
    threads: int | None = None,
) -> Escapes:
    """Simulate dx = −∇Γ dt + √(2T) dW from a minimum until another one is reached.

    Parameters
    ----------
    ways : sequence of Barrier
        All with the same start. A walker has left by a way once it is past the plane half way from its first
        saddle to the minimum behind it: from there the return is improbable, whereas every second one that
        reaches the saddle returns.
    temperature : float
        T > 0.
    walkers : int, default 1000
    step : float, default 0.1
        dt in units of 1/β, in (0, 1]; no relaxation rate exceeds β.
    max_steps : int
        Steps after which a walker is given up; `Escapes.mean` accounts for that.
    seed : int
        Walker k draws from stream k of this seed.
    threads : int, optional
        The result does not depend on it.

    Returns
    -------
    Escapes

    Raises
    ------
    InputError
        See `kramers_time`; or if the start lies beyond a plane of passage.

    Notes
    -----
    Heun's scheme with constant noise, of weak order two. At β dt = 0.2 escape times are 2 % long (measured
    against `backward_time` at ΔΓ/T = 6), at 0.1 about 0.5 %; with Euler's scheme the flux over a saddle alone
    is off by |λ₋| dt/2.
    """
    temperature = real_number("temperature", temperature, 0, np.inf, ends="()")
    whole_number("walkers", walkers)
    step = real_number("step", step, 0, 1, ends="(]")
    whole_number("max_steps", max_steps)
    whole_number("seed", seed, at_least=0)
    normals, offsets = passage_planes(ways)
    first = ways[0]
    start = np.asarray(first.minima[0].x, dtype=np.float64)
    problem = kernel_problem(first.model)
    beta = first.beta
    streams = np.random.SeedSequence(seed).spawn(walkers)
    steps, taken = np.empty(walkers, dtype=np.int64), np.empty(walkers, dtype=np.int64)

    def run(begin: int, stop: int) -> None:
        for k in range(begin, stop):
            rng = np.random.Generator(np.random.PCG64(streams[k]))
            steps[k], taken[k] = first_passage(
                rng, problem, beta, temperature, start.copy(), step / beta, normals, offsets, max_steps
            )

    run_chunks(run, walkers, threads)
    return Escapes(np.asarray(steps * (step / beta), dtype=np.float64), taken, temperature, step)


def passage_planes(ways: Sequence[Barrier]) -> tuple[Floats, Floats]:
    """Unit normals and offsets of the planes half way from each first saddle to the minimum behind it.

    Raises
    ------
    InputError
        See `kramers_time`; or if the start lies beyond one of the planes.
    """
    _check(ways)
    saddles = np.array([way.saddles[0].x for way in ways])
    behind = np.array([way.minima[1].x for way in ways])
    normals = behind - saddles
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    offsets = (normals * (saddles + behind) / 2).sum(axis=1)
    if (normals @ ways[0].minima[0].x >= offsets).any():
        raise InputError("the start lies beyond the plane of a way out: give ways that lead away from it")
    return normals, offsets


def _check(ways: Sequence[Barrier]) -> None:
    if not ways:
        raise InputError("no way out is given: give at least one barrier")
    first = ways[0]
    for way in ways:
        if way.model is not first.model or way.beta != first.beta:
            raise InputError("the barriers belong to different models or beta: give those of one minimum")
        if np.linalg.norm(way.minima[0].x - first.minima[0].x) > 1e-6 * first.model.state_scale:
            raise InputError("the barriers start from different minima: give those of one minimum")
        if not way.saddles[0].status.is_saddle:
            raise InputError(
                f"a way out has no saddle of index one ({way.saddles[0].status.value}): compute the barrier "
                "with more images or by another path"
            )


def _volume(hessian: Matrix) -> float:
    """1/√|det H|: the Gaussian integral without its powers of 2πT."""
    return float(np.exp(-np.linalg.slogdet(hessian)[1] / 2))


def _flux(hessian: Matrix) -> float:
    """|λ₋|/√|det H|."""
    return float(-np.linalg.eigvalsh(hessian)[0]) * _volume(hessian)


def _normal(inner: Matrix, outer: Matrix) -> Floats | None:
    """Unit normal of the facet across which the Hessian jumps by κ n nᵀ; None where several facets meet."""
    jumps, normals = np.linalg.eigh(inner - outer)
    sizes = np.abs(jumps)
    if (np.sort(sizes)[:-1] > _RANK_ONE * sizes.max()).any():
        return None
    return normals[:, np.argmax(sizes)]


def flux_over(inner: Matrix, outer: Matrix) -> float:
    """The flux |λ₋|/√|det H| over a saddle with these Hessians on both sides of a facet.

    Parameters
    ----------
    inner, outer : array, shape (d, d)
        As `one_sided_hessians` gives them.

    Returns
    -------
    float
        The mean of both sides where the normal of the facet is orthogonal to the direction of descent, the
        harmonic mean where it is parallel; NaN in between, and where several patterns tie.
    """
    if inner is outer:
        return _flux(inner)
    normal = _normal(inner, outer)
    if normal is None:
        return np.nan
    across = abs(float(normal @ np.linalg.eigh(inner)[1][:, 0]))
    fluxes = _flux(inner), _flux(outer)
    if across < _ALIGNED:
        return (fluxes[0] + fluxes[1]) / 2
    # along the descent the integrals of e^{+|λ|u²/2T} add up, and the flux is one over their sum
    return 2 / (1 / fluxes[0] + 1 / fluxes[1]) if across > 1 - _ALIGNED else np.nan
