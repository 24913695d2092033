"""A million patterns: a warm-started β sweep by screening, side by side with all patterns at every step.

    python -m benchmarks.million [--M 1000000] [--d 64] [--points 400] [--rounds 1] [--alpha 2]

Contestants at α = 2 sweep the same clustered patterns up from their mean and down from pattern 0, over values
of β at which every state has fewer than 500 patterns with weight. `active set` is the same solver with all
patterns at every evaluation; `fixed point` iterates x ← T(x) with all patterns to the same residual, at some
of the points, each from the state at its neighbour, and its time is scaled to all points. States are compared
first. At α = 1 one pass over the patterns for log-sum-exp and update stands against the usual two.
"""

import argparse
import os
import time

import numpy as np

from benchmarks.contest import Contestant, report, run_contest
from hopfieldphase.continuation import sweep as sweeping
from hopfieldphase.kernels.dense import add_weighted_rows, rows_times
from hopfieldphase.kernels.relax import FIXED_POINT, converge
from hopfieldphase.kernels.steps import workspace
from hopfieldphase.model import HopfieldModel
from hopfieldphase.patterns import clustered
from hopfieldphase.solvers.options import kernel_problem
from hopfieldphase.solvers.screening import SCREENED_FROM, blocks_of, overlaps
from hopfieldphase.solvers.softmax import Landscape

LOWEST, HIGHEST = 60.0, 400.0
SAMPLED = 8
LARGEST_SUPPORT = 500


def measure(name, M, d, points):
    model = HopfieldModel(clustered(M, d))
    betas = np.linspace(LOWEST, HIGHEST, points)
    small = HopfieldModel(clustered(SCREENED_FROM, d))
    if name == "fixed point":
        return fixed_point(model, betas)
    if name == "active set":
        sweeping.is_screened = lambda model: False
    sweeping.sweep(small, betas[-2:])  # compiles, imports, fills caches
    passes, touched = [], []
    follow = sweeping.screened_path

    def watched(*arguments):
        path = follow(*arguments)
        passes.append(path.passes)
        touched.append(path.touched)
        return path

    sweeping.screened_path = watched
    start = time.perf_counter()
    found = sweeping.sweep(model, betas, keep_states=True)
    seconds = time.perf_counter() - start
    values = np.concatenate([found.free_energy.ravel(), found.state.ravel()])
    return {
        "seconds": seconds,
        "values": values.tolist(),
        "minima": f"{np.count_nonzero(found.status == 0)}/{found.status.size}",
        "support": found.support_size.tolist(),
        "jumps": int(found.jumped.sum()),
        "passes": sum(passes),
        "touched": sum(touched) / M,
    }


def fixed_point(model, betas):
    """The update with all patterns, between neighbours of the sweep down; the time of both whole sweeps."""
    found = sweeping.sweep(model, betas, keep_states=True)
    problem = kernel_problem(model)
    work = workspace(model.M, model.d)
    sampled = [n for n in np.linspace(1, betas.size - 2, SAMPLED).astype(int) if not found.jumped[1, n]]
    gaps, seconds = [], 0.0
    for n in [sampled[0], *sampled]:  # the first one twice: it compiles
        work.x[:] = found.state[1, n + 1]
        start = time.perf_counter()
        converge(problem, betas[n], FIXED_POINT, 1.8e-12, 100_000, work)
        seconds += time.perf_counter() - start
        if not gaps:
            seconds = 0.0
        gaps.append(float(np.abs(work.x - found.state[1, n]).max()))
    seconds *= 2 * betas.size / len(sampled)
    return {"seconds": seconds, "values": gaps, "minima": "-", "support": [], "jumps": 0}


def one_pass(M, d):
    """Seconds of one read of all patterns with a product, over both cores, and its bytes per second."""
    model = HopfieldModel(clustered(M, d))
    x, z = model.patterns[0].copy(), np.empty(M)

    def read():
        blocks_of(model.patterns, lambda i, rows: rows_times(rows, x, 1.0, z[i : i + len(rows)]))

    read()
    times = []
    for _ in range(5):
        start = time.perf_counter()
        read()
        times.append(time.perf_counter() - start)
    return min(times), model.patterns.nbytes / min(times)


def softmax_passes(M, d, rounds=5):
    """Seconds of an evaluation at α = 1 in one pass, and in two: overlaps and weights, then the update."""
    model = HopfieldModel(clustered(M, d), alpha=1.0)
    x, z, beta = model.scale * model.patterns[0], np.empty(M), 200.0
    images = {}

    def accumulate(first, rows):
        images[first] = np.zeros(d)
        add_weighted_rows(rows, z[first : first + len(rows)], model.scale, images[first])

    def two():
        overlaps(model, x, z)
        top = z.max()
        np.exp(beta * (z - top), out=z)
        blocks_of(model.patterns, accumulate)
        return sum(images.values()) / z.sum()

    landscape = Landscape(model, beta)
    gap = np.abs(landscape.at(x).image - two()).max()
    landscape.at(x, curved=True)
    times = {"one pass": [], "two passes": [], "with the curvature": []}
    for _ in range(rounds):
        for name, evaluate in zip(
            times, (lambda: landscape.at(x), two, lambda: landscape.at(x, curved=True)), strict=True
        ):
            start = time.perf_counter()
            evaluate()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(row)) for name, row in times.items()}, gap


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--M", type=int, default=1_000_000)
    parser.add_argument("--d", type=int, default=64)
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--alpha", type=float, choices=(1.0, 2.0))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    M, d, points = arguments.M, arguments.d, arguments.points
    if arguments.measure:
        report(measure(arguments.measure, M, d, points))
        return
    print(f"M = {M}, d = {d}, {points} values of beta from {LOWEST:g} to {HIGHEST:g}, up and down")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    seconds, bandwidth = one_pass(M, d)
    print(f"one pass over the patterns: {1e3 * seconds:.1f} ms, {bandwidth / 1e9:.1f} GB/s")
    if arguments.alpha != 2.0:
        seconds, gap = softmax_passes(M, d)
        print("alpha = 1, an evaluation: " + ", ".join(f"{k} {1e3 * s:.1f} ms" for k, s in seconds.items()))
        print(f"one pass / two passes {seconds['one pass'] / seconds['two passes']:.2f}, equal to {gap:.1e}")
    if arguments.alpha == 1.0:
        return
    names = ("screening", "active set", "fixed point")
    shape = {"M": M, "d": d, "points": points}
    results = run_contest(
        "benchmarks.million",
        [Contestant(name, {"measure": name} | shape) for name in names],
        arguments.rounds,
    )
    ours = results.rounds["screening"][0]
    support = np.array(ours["support"])
    betas = np.linspace(LOWEST, HIGHEST, points)
    for direction, row in zip(("up", "down"), support, strict=True):
        shown = ", ".join(f"{betas[n]:.0f}: {row[n]}" for n in np.linspace(0, points - 1, 9).astype(int))
        print(f"support, {direction}: {shown}")
    print(f"largest support {support.max()} ({'below' if support.max() < LARGEST_SUPPORT else 'ABOVE'} 500)")
    results.print_table(baseline="screening", extra=("minima", "jumps"))
    gap = np.abs(results.values("active set") - results.values("screening")).max()
    print(f"free energies and states: largest difference to the active set {gap:.1e}")
    print(f"largest difference to the fixed point {results.values('fixed point').max():.1e}")
    n = 2 * points
    print(
        f"per point: {ours['passes'] / n:.2f} full passes and {ours['touched'] / n:.2f} equivalents "
        "on the patterns at hand; one product of all states with all patterns at the end"
    )


if __name__ == "__main__":
    main()
