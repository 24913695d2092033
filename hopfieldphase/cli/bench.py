"""`hopfieldphase bench`: how fast the two main jobs run on this machine."""

import math
import time
from collections.abc import Callable
from typing import Any

from hopfieldphase.cli import options
from hopfieldphase.cli.console import Console
from hopfieldphase.cli.study import tell_compilation

SIZES = ((1024, 64), (256, 1024), (256, 4096))
ALPHAS = (1.0, 1.3, 1.5, 2.0, math.inf)
SWEEP_ALPHAS = (2.0, 1.0)

# Long enough that the timer and a moment's disturbance do not matter, short enough to wait for.
_SECONDS, _LEAST_REPEATS = 0.2, 3


def bench(
    json: options.Json = False,
    quiet: options.Quiet = False,
    no_color: options.NoColor = False,
    debug: options.Debug = False,
) -> None:
    """Time the attention maps and one realization of the default sweep, warm."""
    console = Console(quiet=quiet, color=not no_color)
    console.say("timing weights and sweeps, best of several runs, compilation left out")
    tell_compilation(console)
    steps = len(SIZES) * len(ALPHAS) + len(SWEEP_ALPHAS)
    with console.progress("timings", steps) as progress:
        found = _measure(lambda done: progress(done, steps))
    if json:
        console.data(found)
    else:
        console.report("\n".join(_table(found)))


def _measure(progress: Callable[[int], object]) -> dict[str, Any]:
    import numpy as np

    import hopfieldphase
    from hopfieldphase.continuation.sweep import sweep
    from hopfieldphase.core.patterns import clustered
    from hopfieldphase.core.status import Status
    from hopfieldphase.kernels.maps import weights
    from hopfieldphase.kernels.threads import thread_count
    from hopfieldphase.model import HopfieldModel
    from hopfieldphase.runs.ranges import parse_grid
    from hopfieldphase.runs.specs import DEFAULT_BETAS

    maps, sweeps = [], []
    for rows, M in SIZES:
        scores = np.random.default_rng(0).standard_normal((rows, M))
        for alpha in ALPHAS:
            seconds = _best(lambda scores=scores, alpha=alpha: weights(scores, alpha))
            maps.append({"rows": rows, "M": M, "alpha": alpha, "seconds": seconds})
            progress(len(maps))
    stored, betas = clustered(100, 64), parse_grid(DEFAULT_BETAS)
    for alpha in SWEEP_ALPHAS:
        model = HopfieldModel(stored, alpha)
        found = sweep(model, betas)
        seconds = _best(lambda model=model: sweep(model, betas))
        minima = int((found.status == Status.CONVERGED).sum())
        sweeps.append(
            {"alpha": alpha, "seconds": seconds, "points": found.status.size, "verified_minima": minima,
             "steps": int(found.n_steps.sum())}
        )  # fmt: skip
        progress(len(maps) + len(sweeps))
    return {
        "version": hopfieldphase.__version__,
        "threads": thread_count(),
        "weights": maps,
        "sweep": sweeps,
    }


def _best(function: Callable[[], object]) -> float:
    """Shortest of several warm runs, in seconds."""
    function()
    times: list[float] = []
    while len(times) < _LEAST_REPEATS or sum(times) < _SECONDS:
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def _table(found: dict[str, Any]) -> list[str]:
    lines = [f"weights, float64, {found['threads']} threads: milliseconds"]
    lines.append(f"  {'rows x M':<14}" + "".join(f"{'alpha ' + format(alpha, 'g'):>12}" for alpha in ALPHAS))
    for rows, M in SIZES:
        times = (entry["seconds"] for entry in found["weights"] if (entry["rows"], entry["M"]) == (rows, M))
        lines.append(f"  {f'{rows} x {M}':<14}" + "".join(f"{1e3 * seconds:>12.3f}" for seconds in times))
    lines += ["", "default sweep, one realization: milliseconds, verified minima, solver steps"]
    for entry in found["sweep"]:
        lines.append(
            f"  {'alpha ' + format(entry['alpha'], 'g'):<14}{1e3 * entry['seconds']:>12.3f}"
            f"{entry['verified_minima']:>8} of {entry['points']}{entry['steps']:>10}"
        )
    return lines
