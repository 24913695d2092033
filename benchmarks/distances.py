"""Energy distance of two samples: on the line beside SciPy, in the plane beside the arithmetic of all pairs.

    python -m benchmarks.distances [--contest line plane] [--rounds 5] [--threads 2]

line: N = 65536 points each, of mirrored Pareto laws of indices 1.5 and 1.8. SciPy's `energy_distance` (its
square is the same number) sorts in one thread; so does ours. Values must agree to 1e-10.

plane: N = 16384 points each. The V-statistic needs N² distances across and N²/2 within each sample, together
2 N² square roots in double precision; nothing that sums over all pairs can do with less. `bound` is that many
square roots and additions of numbers that stay in the first-level cache, in a compiled loop over the same
threads, and nothing else: no differences, no squares, no second coordinate. `cdist` is SciPy's distance
matrix, summed block by block. Values of ours and `cdist` must agree to 1e-10 of the mean distance.

Times are medians over a second of repetitions in fresh processes.
"""

import argparse
import os
import statistics
import time
from importlib.metadata import version

import numpy as np

from benchmarks.contest import Contestant, report, run_contest

LINE, PLANE = 65536, 16384
SECONDS = 1.0
LARGEST_ERROR = 1e-10
OURS, SCIPY, CDIST, BOUND = "hopfieldphase", "scipy", "cdist", "bound"
CONTESTS = {"line": [OURS, SCIPY], "plane": [OURS, BOUND, CDIST]}


def samples(contest):
    from hopfieldphase.core.ensembles import MirroredPareto

    shape = LINE if contest == "line" else (PLANE, 2)
    return MirroredPareto(1.5).sample(shape, 0), MirroredPareto(1.8).sample(shape, 1)


def ours(x, y, threads):
    from hopfieldphase.kernels.distances import energy_distance

    return lambda: energy_distance(x, y, threads=threads)


def scipys(x, y, threads):
    from scipy.stats import energy_distance

    return lambda: energy_distance(x, y) ** 2


def cdist_sums(x, y, threads):
    from scipy.spatial.distance import cdist

    def mean(a, b):
        return sum(float(cdist(a[i : i + 512], b).sum()) for i in range(0, len(a), 512)) / (len(a) * len(b))

    return lambda: 2 * mean(x, y) - mean(x, x) - mean(y, y)


def bound(x, y, threads):
    from hopfieldphase.kernels.jit import jit
    from hopfieldphase.kernels.threads import run_chunks

    @jit(reorder=True)
    def roots(numbers, start, stop, sums):
        total = 0.0
        for k in range(start, stop):
            shift = 1e-9 * k
            for j in range(numbers.size):
                total += np.sqrt(numbers[j] + shift)
        sums[start] = total

    numbers = np.random.default_rng(0).random(512)
    sums = np.zeros(2 * len(x) ** 2 // numbers.size)

    def call():
        run_chunks(lambda i, j: roots(numbers, i, j, sums), sums.size, threads)
        return float(sums.sum())

    return call


CONTESTANTS = {OURS: ours, SCIPY: scipys, CDIST: cdist_sums, BOUND: bound}


def measure(name, contest, threads):
    """Median seconds of one call in this process, warm."""
    x, y = samples(contest)
    call = CONTESTANTS[name](x, y, threads)
    value = call()
    times = []
    while sum(times) < SECONDS or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    unit = float(np.mean(np.abs(x - y))) if contest == "plane" else value
    return {"seconds": statistics.median(times), "value": f"{value:.6g}", "values": [value / unit]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--contest", nargs="+", choices=CONTESTS, default=list(CONTESTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--measure", choices=CONTESTANTS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        report(measure(arguments.measure, arguments.contest[0], arguments.threads))
        return
    print(", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy")))
    for contest in arguments.contest:
        size, shared = (LINE, PLANE)[contest == "plane"], {"contest": contest, "threads": arguments.threads}
        contestants = [Contestant(name, {"measure": name, **shared}) for name in CONTESTS[contest]]
        results = run_contest("benchmarks.distances", contestants, arguments.rounds)
        for name in CONTESTS[contest]:
            error = float(np.max(np.abs(results.values(name) - results.values(OURS))))
            if name != BOUND and not error < LARGEST_ERROR:
                raise SystemExit(f"{name} and {OURS} differ by {error:.1e}")
        print(f"\n{contest}, N = {size}, {arguments.threads} threads, load {os.getloadavg()[0]:.1f}")
        results.print_table(baseline=OURS, extra=("value",))


if __name__ == "__main__":
    main()
