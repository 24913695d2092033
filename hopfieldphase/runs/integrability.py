"""Attention integrals under heavy tails as a labelled result."""

import numpy as np
import xarray as xr

from hopfieldphase.core.ensembles.gaussian import Gaussian
from hopfieldphase.core.ensembles.integrability import KERNELS
from hopfieldphase.core.ensembles.pareto import MirroredPareto
from hopfieldphase.data.integrability import integrability_tree
from hopfieldphase.dynamics.integrability import running_integrals
from hopfieldphase.runs.integrability_spec import IntegrabilitySpec
from hopfieldphase.runs.parallel import Progress, run_tasks


def integrability(spec: IntegrabilitySpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Follow denominators and numerators of attention as the sample grows.

    Parameters
    ----------
    spec : IntegrabilitySpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every sample.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.integrability`.

    Notes
    -----
    Section 2 and Appendix A of "Attention Kernels for Learning Maps Between Heavy-Tailed Measures".
    """
    pareto, control = MirroredPareto(spec.index), Gaussian(spec.sigma)

    def sample(i: int) -> tuple[np.ndarray, np.ndarray]:
        streams = [np.random.SeedSequence(spec.seed, spawn_key=(i, law)) for law in (0, 1)]
        first, second = (np.random.default_rng(stream) for stream in streams)
        return (
            running_integrals(pareto, list(KERNELS.values()), spec.score, spec.sizes, first),
            running_integrals(control, [KERNELS["exponential"]], spec.score, spec.sizes, second)[0, 0],
        )

    found = run_tasks(sample, spec.draws, None, progress)
    heavy, light = (np.stack(values, axis=-1) for values in zip(*found, strict=True))
    return integrability_tree(heavy, light, spec.model_dump())
