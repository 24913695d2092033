"""Attention as kernel regression: a labelled result."""

from typing import Any

import numpy as np
import xarray as xr

from hopfieldphase.data.regression import KERNELS, regression_tree
from hopfieldphase.dynamics import regression as physics
from hopfieldphase.runs.parallel import Progress, run_tasks
from hopfieldphase.runs.regression_spec import RegressionSpec

POWERS = tuple(2.0**e for e in range(11))
"""Powers r along which the compact kernels approach the Gaussian."""


def regression(spec: RegressionSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Fit a function on the circle by attention, and measure how exactly that is kernel regression.

    Parameters
    ----------
    spec : RegressionSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every kernel.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.regression`.

    Notes
    -----
    Santos et al. (2026), Proposition 1: α = 1 + 1/r on unit queries and keys.
    """
    streams = np.random.SeedSequence(spec.seed).spawn(1 + len(spec.dimensions))
    data = physics.circle_data(spec.keys, spec.concentration, spec.noise, np.random.default_rng(streams[0]))
    angle = np.linspace(-np.pi, np.pi, spec.queries)
    queries, keys = physics.on_circle(angle), physics.on_circle(data.angle)
    truth, density = physics.circle_function(angle), data.density(angle)
    clouds = []
    for stream, d in zip(streams[1:], spec.dimensions, strict=True):
        rng = np.random.default_rng(stream)
        clouds.append((physics.unit_rows(spec.queries, d, rng), physics.unit_rows(spec.keys, d, rng)))
    gamma = spec.temperature

    def kernel(i: int) -> dict[str, Any]:
        r = list(KERNELS.values())[i]
        weights = physics.attention_weights(queries, keys, r, gamma)
        rms = [
            np.sqrt(np.mean((physics.attention_weights(queries, keys, r, t) @ data.value - truth) ** 2))
            for t in spec.temperatures
        ]
        expected = (
            np.full_like(density, np.sqrt(gamma))
            if np.isinf(r)
            else physics.expected_bandwidth(r, gamma, density)
        )
        return {
            "fit": weights @ data.value,
            "keys_used": np.count_nonzero(weights, axis=1),
            "bandwidth": physics.attention_bandwidth(queries, keys, r, gamma),
            "expected_bandwidth": expected,
            "rms": rms,
            "identity": [physics.identity_error(q, k, r, gamma) for q, k in clouds],
            "identity_circle": physics.identity_error(queries, keys, r, gamma),
        }

    found = run_tasks(kernel, len(KERNELS), None, progress)
    softmax = physics.attention_weights(queries, keys, np.inf, gamma)
    distance = [np.abs(physics.attention_weights(queries, keys, r, gamma) - softmax).max() for r in POWERS]
    stacked = {name: np.array([one[name] for one in found]) for name in found[0]}
    return regression_tree(data, angle, truth, stacked, POWERS, distance, spec.model_dump())
