"""Thermal states: samples of exp(−Γ_α/T) by Metropolis-adjusted Langevin dynamics."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from arviz_stats.base.array import array_stats
from numpy.typing import NDArray

from hopfieldphase.core.checks import real_number, whole_number
from hopfieldphase.core.domain import inverse_temperature
from hopfieldphase.kernels.langevin import metropolis_chain
from hopfieldphase.kernels.threads import run_chunks
from hopfieldphase.model import HopfieldModel
from hopfieldphase.solvers.options import kernel_problem, start_state

Floats = NDArray[np.float64]

ACCEPTANCE = 0.574
"""Acceptance at which the step size settles: the best in high dimension (Roberts and Rosenthal 1998)."""


@dataclass(frozen=True, eq=False)
class Samples:
    """States drawn from exp(−Γ/T).

    Attributes
    ----------
    states : ndarray, shape (chains, draws, d)
    free_energy : ndarray, shape (chains, draws)
        Γ_α of each state.
    beta, temperature : float
    acceptance : ndarray, shape (chains,)
        Mean acceptance probability after the burn-in.
    step : ndarray, shape (chains,)
        Adapted step h of each chain, in units of T/β.
    ess : ndarray, shape (d,)
        Effective number of independent samples for the mean of each component, all chains together.
    r_hat : ndarray, shape (d,)
        Rank-normalised split R̂ of each component; above 1.01 the chains have not mixed.
    """

    states: Floats
    free_energy: Floats
    beta: float
    temperature: float
    acceptance: Floats
    step: Floats
    ess: Floats
    r_hat: Floats

    @property
    def mean(self) -> Floats:
        """Mean state ⟨x⟩, shape (d,)."""
        return self.states.mean(axis=(0, 1))

    @property
    def mean_error(self) -> Floats:
        """Standard error of `mean`, √(variance/ess), shape (d,)."""
        return self.states.std(axis=(0, 1)) / np.sqrt(self.ess)

    @property
    def covariance(self) -> Floats:
        """Covariance ⟨x xᵀ⟩ − ⟨x⟩⟨x⟩ᵀ, shape (d, d)."""
        flat = self.states.reshape(-1, self.states.shape[-1])
        return np.atleast_2d(np.cov(flat, rowvar=False))


def effective_size(values: Floats) -> Floats:
    """Effective number of independent samples for the mean of each quantity.

    Parameters
    ----------
    values : array, shape (chains, draws, n)

    Returns
    -------
    ndarray, shape (n,)
    """
    return np.asarray(array_stats.ess(values, chain_axis=0, draw_axis=1, method="mean"), dtype=np.float64)


def sample(
    model: HopfieldModel,
    beta: float,
    temperature: float = 1.0,
    *,
    draws: int = 2000,
    burn_in: int = 1000,
    thin: int = 1,
    chains: int = 4,
    start: Any = None,
    seed: int = 0,
    threads: int | None = None,
) -> Samples:
    """Draw states from the thermal distribution exp(−Γ_α(x)/T).

    Parameters
    ----------
    model : HopfieldModel
    beta : float
        Inverse temperature β inside Γ_α: it sets the scores, not the noise.
    temperature : float, default 1
        T > 0, the strength of the noise.
    draws : int, default 2000
        States kept of each chain, at least 4.
    burn_in : int, default 1000
        Steps thrown away, during which the step size is adapted towards an acceptance of 0.574.
    thin : int, default 1
        Every so many-th state is kept.
    chains : int, default 4
    start : array, shape (d,), optional
        Where every chain starts. By default each starts at a pattern of its own choice, s ξ plus noise of
        variance T/β, so that `r_hat` shows when minima are not left.
    seed : int
        Chain k draws from stream k of this seed.
    threads : int, optional
        The samples do not depend on it.

    Returns
    -------
    Samples

    Raises
    ------
    InputError
        If β, T, a count or the start lies outside its domain.

    Notes
    -----
    Exact for any step size, up to the length of the chains. For α = 1 and T = 1 the distribution is the
    mixture of Gaussians Σ_μ exp(β s²|ξ_μ|²/2) N(s ξ_μ, I/β). Sources: Theorem 3.1 and Eq. (3.5) of "On the
    Statistical Mechanics of Attention" (arXiv:2610.17347); G. O. Roberts and R. L. Tweedie, Bernoulli 2, 341
    (1996); effective sizes: A. Vehtari et al., Bayesian Analysis 16, 667 (2021).

    Examples
    --------
    >>> import hopfieldphase as hp
    >>> from hopfieldphase.dynamics.sampling import sample
    >>> model = hp.HopfieldModel(hp.patterns.two_keys(0.5, d=4), alpha=1.0, scale=1.0)
    >>> thermal = sample(model, beta=4.0, draws=5000)
    >>> thermal.states.shape, bool((thermal.r_hat < 1.01).all())
    ((4, 5000, 4), True)
    """
    beta = inverse_temperature(beta)
    temperature = real_number("temperature", temperature, 0, np.inf, ends="()")
    whole_number("draws", draws, at_least=4)
    whole_number("burn_in", burn_in, at_least=0)
    whole_number("thin", thin)
    whole_number("chains", chains)
    whole_number("seed", seed, at_least=0)
    given = None if start is None else start_state(model, start)
    problem = kernel_problem(model)
    d = model.d
    states, energies = np.empty((chains, draws, d)), np.empty((chains, draws))
    step, acceptance = np.empty(chains), np.empty(chains)
    streams = np.random.SeedSequence(seed).spawn(chains)
    unit = temperature / beta

    def run(first: int, last: int) -> None:
        for k in range(first, last):
            rng = np.random.Generator(np.random.PCG64(streams[k]))
            x = _start(problem.patterns * problem.scale, unit, rng) if given is None else given.copy()
            step[k], acceptance[k] = metropolis_chain(
                rng, problem, beta, temperature, x, unit * d ** (-1 / 3), ACCEPTANCE, burn_in, thin,
                states[k], energies[k],
            )  # fmt: skip

    run_chunks(run, chains, threads)
    return Samples(
        states=states,
        free_energy=energies,
        beta=beta,
        temperature=temperature,
        acceptance=acceptance,
        step=step / unit,
        ess=effective_size(states),
        r_hat=np.asarray(array_stats.rhat(states, chain_axis=0, draw_axis=1), dtype=np.float64),
    )


def _start(centres: Floats, variance: float, rng: np.random.Generator) -> Floats:
    return rng.choice(centres) + np.sqrt(variance) * rng.standard_normal(centres.shape[1])
