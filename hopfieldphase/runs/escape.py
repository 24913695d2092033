"""Escape times as a labelled result: from a spec to its tree and its result folder."""

import xarray as xr

from hopfieldphase.data.escape import EscapePoint, escape_tree
from hopfieldphase.dynamics.backward import backward_time
from hopfieldphase.dynamics.escape import escape_times, kramers_time
from hopfieldphase.dynamics.escape_systems import equidistant, facet_saddle
from hopfieldphase.runs.escape_spec import EscapeSpec
from hopfieldphase.runs.parallel import Progress


def escape(spec: EscapeSpec, *, progress: Progress | None = None) -> xr.DataTree:
    """Simulate escapes at several temperatures, next to the law of Kramers and the backward equation.

    Parameters
    ----------
    spec : EscapeSpec
    progress : callable, optional
        Called as ``progress(done, total)`` after every temperature of every system.

    Returns
    -------
    xarray.DataTree
        See `hopfieldphase.data.escape`.

    Raises
    ------
    InputError
        If a pattern has no minimum of its own at this coupling.
    """
    pairs = zip(spec.counts, spec.alphas, strict=True)
    systems = [equidistant(count, alpha, spec.coupling) for count, alpha in pairs]
    systems.append(facet_saddle(spec.facet))
    points: list[list[EscapePoint]] = []
    total = len(systems) * len(spec.heights)
    for system in systems:
        points.append([])
        for height in spec.heights:
            temperature = system.height / height
            # every simulation draws from a stream of its own
            seed = spec.seed * total + sum(map(len, points))
            found = escape_times(system.ways, temperature, walkers=spec.walkers, step=spec.step, seed=seed)
            exact = backward_time(system.ways, temperature)
            points[-1].append(EscapePoint(found, kramers_time(system.ways, temperature), exact))
            if progress is not None:
                progress(sum(map(len, points)), total)
    return escape_tree(systems, spec.heights, points, spec.model_dump(exclude_none=True))
