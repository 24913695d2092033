"""Compiled overdamped Langevin dynamics in Γ_α: chains that sample exp(−Γ/T), and first passages.

Each function runs one chain or one walker on a random generator of its own, so that results do not depend on
how the work is spread over threads.
"""

import math

import numpy as np

from hopfieldphase.kernels.dense import add_weighted_rows, inner, rows_times
from hopfieldphase.kernels.jit import jit
from hopfieldphase.kernels.rows import weights_row
from hopfieldphase.kernels.steps import apart, evaluate
from hopfieldphase.kernels.vectors import assign

# Robbins-Monro gain n^-GAIN of ln h during burn-in: its sum diverges, that of its square does not.
GAIN = 0.6


@jit
def metropolis_chain(generator, problem, beta, temperature, x, step, target, burn_in, thin, states, energies):
    """Run one Metropolis-adjusted Langevin chain from x and fill `states` (draws, d) and `energies`.

    A proposal is x − h∇(Γ/T) + √(2h) ξ. During burn-in ln h moves by n^−0.6 (a − target) with the acceptance
    probability a; afterwards it stays at its mean over the second half of the burn-in, and every `thin`-th
    state is kept. Returns h and the mean of a.
    """
    M, d = problem.patterns.shape
    z, p = apart(M)
    image, trial, trial_image = np.empty(d), np.empty(d), np.empty(d)
    gamma = evaluate(problem, beta, x, z, p, image)[0]
    rate = beta / temperature
    accepted = 0.0
    log_step = math.log(step)
    settled = 0.0
    for n in range(burn_in + len(states) * thin):
        if n == burn_in and burn_in > 1:
            log_step = settled / (burn_in - burn_in // 2)
        h = math.exp(log_step)
        noise = math.sqrt(2.0 * h)
        for i in range(d):
            trial[i] = x[i] + h * rate * (image[i] - x[i]) + noise * generator.standard_normal()
        trial_gamma = evaluate(problem, beta, trial, z, p, trial_image)[0]
        forth = 0.0
        back = 0.0
        for i in range(d):
            forth += (trial[i] - x[i] - h * rate * (image[i] - x[i])) ** 2
            back += (x[i] - trial[i] - h * rate * (trial_image[i] - trial[i])) ** 2
        log_ratio = (gamma - trial_gamma) / temperature + (forth - back) / (4.0 * h)
        chance = math.exp(min(log_ratio, 0.0))
        if generator.random() < chance:
            assign(x, trial)
            assign(image, trial_image)
            gamma = trial_gamma
        if n < burn_in:
            log_step += (n + 1.0) ** -GAIN * (chance - target)
            settled += log_step if n >= burn_in // 2 else 0.0
            continue
        accepted += chance
        draw, rest = divmod(n - burn_in + 1, thin)
        if rest == 0:
            states[draw - 1] = x
            energies[draw - 1] = gamma
    return math.exp(log_step), accepted / (len(states) * thin)


@jit
def _retrieved(problem, beta, x, z, p, image):
    """Fill `image` with T(x), without the free energy."""
    rows_times(problem.patterns, x, problem.scale, z)
    weights_row(z, problem.alpha, beta, p)
    image[:] = 0.0
    add_weighted_rows(problem.patterns, p, problem.scale, image)


@jit
def first_passage(generator, problem, beta, temperature, x, step, normals, offsets, max_steps):
    """Steps of dx = −∇Γ dt + √(2T) dW from x until n·x > offset for one of the exits (n, offset).

    Heun's scheme, of weak order two for constant noise: the drift is the mean of that at x and at the end of
    an Euler step with the same noise. Returns the number of steps and the exit, −1 for none within
    `max_steps`.
    """
    M, d = problem.patterns.shape
    z, p = apart(M)
    image, noise, trial = np.empty(d), np.empty(d), np.empty(d)
    rate = beta * step
    amplitude = math.sqrt(2.0 * temperature * step)
    for n in range(1, max_steps + 1):
        _retrieved(problem, beta, x, z, p, image)
        for i in range(d):
            noise[i] = amplitude * generator.standard_normal()
            drift = rate * (image[i] - x[i])
            trial[i] = x[i] + drift + noise[i]
            x[i] += 0.5 * drift + noise[i]
        _retrieved(problem, beta, trial, z, p, image)
        for i in range(d):
            x[i] += 0.5 * rate * (image[i] - trial[i])
        for k in range(len(offsets)):
            if inner(normals[k], x) > offsets[k]:
                return n, k
    return max_steps, -1
